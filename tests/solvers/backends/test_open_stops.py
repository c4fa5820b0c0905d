"""Callbacks and Ctrl-C end the open solvers, which keep what they have."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from programs import knapsack, random_qp, solve

from marginopt.solvers.backends.piqp import Piqp
from marginopt.solvers.records import Status


def test_clarabel_traces_and_its_callback_stops_it():
    form = random_qp(0, 12)
    whole = solve(form, "clarabel")
    assert len(whole.trace) >= 3
    assert whole.trace[-1].bound == pytest.approx(whole.objective, rel=1e-5)
    # the first iterates are infeasible, so their dual objectives, some of them above the optimum, are no bounds
    assert np.isnan(whole.trace[0].bound)
    gaps = whole.trace.column("gap")
    assert (gaps[np.isfinite(gaps)] > -1e-4).all()
    result = solve(form, "clarabel", callback=lambda row: row.iteration >= 2)
    assert result.status is Status.INTERRUPTED and result.iterations <= 3 and result.values


@pytest.mark.parametrize("name", ["clarabel", "highs"])
def test_an_error_in_the_callback_comes_out(name):
    def broken(row):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, check=lambda error: error.args == ("mine",)):
        solve(knapsack() if name == "highs" else random_qp(0, 12), name, callback=broken)


_INTERRUPTED = """
import os, signal, threading
import numpy as np, scipy.sparse as sp
from marginopt.models import Block, Constraint, Nonnegative, StandardForm
from marginopt.solvers.records import Options
from marginopt.solvers.solve import solve_problem

rng = np.random.default_rng(0)
n, m = 200, 60
weight = rng.integers(10, 90, (m, n)).astype(float)
rows = (Constraint("capacity", sp.csr_array(-weight), np.floor(weight.sum(axis=1) / 3), Nonnegative(m)),)
q = -(weight.mean(axis=0) + rng.random(n))
form = StandardForm("hard", (Block("x", (n,)),), q, rows, np.zeros(n), np.ones(n), np.ones(n, bool))
seen = []
def note(row):
    if np.isfinite(row.objective) and not seen:
        seen.append(row)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
result = solve_problem(form, "highs", Options(time_limit=60, callback=note, threads=1))
print(result.status.name, bool(result.values), result.bound is not None)
"""


def test_ctrl_c_returns_the_incumbent_of_highs():
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED], capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    assert done.stdout.split() == ["INTERRUPTED", "True", "True"], done.stderr
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


_LONG = """
import os, signal, threading
import numpy as np, scipy.sparse as sp
from marginopt.models import Block, Constraint, Nonnegative, Quadratic, StandardForm
from marginopt.solvers.records import Options
from marginopt.solvers.solve import solve_problem

rng = np.random.default_rng(0)
n = 40
rows = (Constraint("rows", sp.csr_array(rng.normal(size=(n, n))), np.ones(n), Nonnegative(n)),)
P = Quadratic(matrix=np.eye(n))
form = StandardForm("long", (Block("x", (n,)),), rng.normal(size=n), rows, -np.ones(n), np.ones(n), np.zeros(n, bool), P)
never = {"scs": {"eps_abs": 0.0, "eps_rel": 0.0, "max_iters": 2_000_000_000},
         "osqp": {"eps_abs": 1e-300, "eps_rel": 0.0, "max_iter": 2_000_000_000}}
for solver, native in never.items():
    whole = solve_problem(form, solver, Options())  # loaded
    for limit in None, 60.0:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        result = solve_problem(form, solver, Options(time_limit=limit, native=native))
        near = bool(result.values) and abs(result.objective - whole.objective) <= 1e-3 * abs(whole.objective)
        print("result:", solver, result.claim.status.name, near, result.solve_seconds < 50)
"""

_MAX_MIN = """
import os, signal
import numpy as np
from marginopt.models import MaxMinSVM
from marginopt.solvers.records import Options
from marginopt.solvers.solve import solve_problem

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5))
y = np.where(X[:, 0] + 0.8 * rng.normal(size=300) > 0.0, 1.0, -1.0)
seen = []
def note(row):
    if not seen and np.isfinite(row.objective):
        seen.append(row)
        os.kill(os.getpid(), signal.SIGINT)
result = solve_problem(MaxMinSVM(X, y), "maxmin", Options(time_limit=60, tol=1e-14, callback=note))
a = result.values["a"]
print("result:", result.status.name, bool(a.min() >= 0.0 and abs(a.sum() - 2.0) < 1e-6), result.solve_seconds < 50)
"""


_PREPARING = """
import os, signal, threading
import highspy
import numpy as np
from marginopt.models import Block, Quadratic, StandardForm
from marginopt.solvers.records import Options
from marginopt.solvers.solve import solve_problem

def box(n):
    A = np.random.default_rng(0).normal(size=(n, n))
    P = Quadratic(matrix=A @ A.T / n + 1e-3 * np.eye(n))
    return StandardForm("box", (Block("x", (n,)),), A[0], (), np.zeros(n), np.ones(n), np.zeros(n, bool), P)

program, small = box(60), box(5)
solve_problem(small, "highs", Options())  # loaded
begin = highspy.Highs.run
def run(self):  # never returns, as the set-up of a large program that outlasts the limit
    if INTERRUPT:
        os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait()
highspy.Highs.run = run
result = solve_problem(program, "highs", Options(time_limit=TIME))
highspy.Highs.run = begin
again = solve_problem(small, "highs", Options())
print(result.status.name, bool(result.values), result.details.get("abandoned", ""), again.status.name, sep="|")
"""


@pytest.mark.parametrize("interrupt", [True, False])
def test_the_quadratic_solver_of_highs_is_left_where_it_hears_nothing(interrupt):
    """In its set-up it neither looks at its clock nor writes a line of its log; a run that never returns stands for it."""
    code = _PREPARING.replace("INTERRUPT", str(interrupt)).replace("TIME", "None" if interrupt else "1.0")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    status = "INTERRUPTED" if interrupt else "TIME_LIMIT"
    note = "HiGHS's quadratic solver did not return at the limit: it gives no point before it ends"
    assert done.stdout.strip() == f"{status}|False|{note}|OPTIMAL", done.stderr


def test_ctrl_c_ends_first_order_methods():
    """Without a limit and with one. OSQP's iterate is its answer, near the optimum here, which the certificate may prove.

    SCS returns none.
    """
    assert _said(_LONG) == ["scs INTERRUPTED False True"] * 2 + ["osqp INTERRUPTED True True"] * 2


def test_ctrl_c_keeps_the_point_of_the_ascent_in_the_kernel_parameter():
    assert _said(_MAX_MIN) == ["INTERRUPTED True True"]


def _said(code: str, **environment: str) -> list[str]:
    environment = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False, env=environment)
    lines = [line for line in done.stdout.splitlines() if line.startswith("result: ")] or [done.stderr]
    return [line.removeprefix("result: ") for line in lines]


_CTRL_C_IN_SET_UP = """
import ctypes, os, signal, time
import scs
from programs import random_qp, solve

api = ctypes.pythonapi
api.PyOS_getsig.restype = ctypes.c_void_p
api.PyOS_setsig.argtypes = [ctypes.c_int, ctypes.c_void_p]
api.PyOS_setsig.restype = ctypes.c_void_p
load = scs.SCS

def deaf():
    return api.PyOS_getsig(signal.SIGINT) == int(signal.SIG_IGN)

def catching(*arguments, **settings):
    solver = load(*arguments, **settings)
    before = api.PyOS_setsig(signal.SIGINT, int(signal.SIG_IGN))
    end = time.monotonic() + 60
    while deaf() and time.monotonic() < end:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)
    api.PyOS_setsig(signal.SIGINT, before)
    return solver

scs.SCS = catching
try:
    print("result:", solve(random_qp(0, 12), "scs").status)
except KeyboardInterrupt:
    print("result: interrupted")
"""


def test_ctrl_c_while_scs_factorises_is_not_forgotten():
    """SCS catches the signal in its set-up, in whichever thread, and drops it: 63 s of iterations followed one.

    The stand-in's handler is the process's as SCS's is, and the signal comes once it is not installed any more.
    """
    pytest.importorskip("scs", reason="scs is not installed")
    assert _said(f"import sys; sys.path[:0] = {sys.path!r}\n{_CTRL_C_IN_SET_UP}") == ["interrupted"]


def test_ctrl_c_keeps_what_piqp_found(monkeypatch):
    """It hears nothing before it ends; then its point is there."""
    pytest.importorskip("piqp", reason="piqp is not installed")
    built = Piqp._build

    class Interrupted:
        def __init__(self, solver):
            self.solver = solver

        def __getattr__(self, name):
            return getattr(self.solver, name)

        def solve(self):
            os.kill(os.getpid(), signal.SIGINT)
            return self.solver.solve()

    def build(self, rows, options):
        solver, dense = built(self, rows, options)
        return Interrupted(solver), dense

    monkeypatch.setattr(Piqp, "_build", build)
    try:
        result = solve(random_qp(0, 12), "piqp")
    except KeyboardInterrupt:
        pytest.fail("the point is lost")
    assert result.claim.status is Status.INTERRUPTED
    assert result.values and result.gap < 1e-6
