"""HiGHS: integer programs, quadratic ones on semidefinite matrices, and what it keeps when it is stopped."""

from __future__ import annotations

import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from facts import about
from programs import UNBOUNDED, bounded_qp, knapsack, random_qp, solve

from marginopt.errors import UnsupportedModelError
from marginopt.margin import L1, Integers
from marginopt.models import HingeSVM, Margin
from marginopt.solvers.backends import highs
from marginopt.solvers.backends.highs import Highs
from marginopt.solvers.interface.timeouts import ABANDONED_STATUS
from marginopt.solvers.records import Options, Status

#: A knapsack whose items may be taken any number of times.
UNBOUNDED_KNAPSACK = knapsack().replace(upper=np.full(knapsack().n, np.inf))


def test_highs_integer_program_has_bound_nodes_and_trace():
    form = knapsack()
    result = solve(form, "highs", tol=1e-6)
    reference = solve(form, "scip", tol=1e-6)
    assert result.objective == pytest.approx(reference.objective, rel=1e-9)
    assert result.bound_kind == "claimed by solver" and result.gap <= 1e-6
    assert result.nodes is not None and result.multipliers is None
    assert result.trace[-1].objective == pytest.approx(result.objective)
    assert result.trace[-1].bound == pytest.approx(result.objective)


def test_highs_limits_keep_incumbent_and_bound():
    rng = np.random.default_rng(0)
    form = knapsack(60, 3)
    form = form.replace(q=form.q - rng.random(60))
    result = solve(form, "highs", node_limit=1, tol=1e-12)
    assert result.status is Status.NODE_LIMIT
    assert result.values and result.bound is not None
    assert result.bound < result.objective


def test_highs_callback_stops_it():
    form = knapsack(60, 3)
    seen = []

    def stop(row):
        seen.append(row)
        return True

    result = solve(form, "highs", callback=stop, tol=1e-12)
    assert result.status is Status.INTERRUPTED and seen


def test_highs_refuses_mixed_integer_quadratic_programs():
    form = bounded_qp().replace(integer=np.array([True, False, False]))
    with pytest.raises(UnsupportedModelError, check=about("highs")):
        solve(form, "highs")


def test_highs_semidefinite_objectives(assert_kkt):
    """Where the active set meets a null space of P, HiGHS calls P non-convex; proximal steps lead on."""
    rng = np.random.default_rng(4)
    X = np.column_stack([np.ones(30), rng.normal(size=(30, 3))])
    result = solve(HingeSVM(X, np.where(np.arange(30) % 2, 1.0, -1.0), lam=1.0), "highs")
    assert result.solved
    for seed, rank in ((2, 4), (3, 1), (4, 4), (5, 1), (9, 2)):  # HiGHS alone: non-convex, or beside the optimum
        form = random_qp(seed, rank)
        form = form.replace(q=form.q / 3)
        result = solve(form, "highs", tol=1e-7)
        assert result.solved and 1 <= result.details["proximal_steps"] <= 10, result
        assert_kkt(form, result, 1e-8)
        assert result.claim.objective == pytest.approx(result.objective, rel=1e-8)
    unbounded = solve(UNBOUNDED["quadratic"], "highs")
    assert unbounded.status is Status.UNBOUNDED and unbounded.details["proximal_steps"] <= 5


_UNBOUNDED_INTEGERS = """
import numpy as np, scipy.sparse as sp
from marginopt.models import Block, Constraint, Nonnegative, StandardForm
from marginopt.solvers.records import Options
from marginopt.solvers.solve import solve_problem

def solved(F, g, q, integer, **native):
    F, free = np.array(F, dtype=float), np.full(len(q), np.inf)
    rows = (Constraint("rows", sp.csr_array(F), np.array(g, dtype=float), Nonnegative(len(g))),)
    form = StandardForm("free", (Block("x", (len(q),)),), np.array(q, dtype=float), rows, -free, free, np.array(integer))
    return solve_problem(form, "highs", Options(native=native)).objective

small = [[4, -4], [3, 2], [-1, -4], [1, 1], [1, -4], [-2, -4]], [-10, 7, -11, 4, -12, -10], [7, -11], [True, False]
rows = np.array([[-1, 3, 0], [2, -1, -1], [0, 4, 3], [2, -2, -3], [1, 0, 0]]), np.array([11, -2, 22, -9, 2])
sizes = 2.0 ** np.array([19, -13, 8, -3, -9])
scaled = rows[0] * sizes[:, None], rows[1] * sizes, [5, 9, 3], [False, True, True]
print(round(solved(*small), 6), round(solved(*scaled), 6))
"""


def test_highs_ends_on_integers_without_bounds():
    """Its feasibility jump ended the process by a segmentation fault, with presolve and without."""
    done = subprocess.run([sys.executable, "-c", _UNBOUNDED_INTEGERS], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["33.0", "-52.0"], (done.returncode, done.stderr)


def test_the_feasibility_jump_is_left_out_for_unbounded_integers_alone():
    import highspy

    for form, jumps in ((knapsack(), True), (UNBOUNDED_KNAPSACK, False)):
        highs = Highs()._load(highspy, form, Options())
        assert highs.getOptionValue("mip_heuristic_run_feasibility_jump")[1] is jumps
    native = Options(native={"mip_heuristic_run_feasibility_jump": True})
    assert Highs()._load(highspy, UNBOUNDED_KNAPSACK, native).getOptionValue("mip_heuristic_run_feasibility_jump")[1]


def test_a_run_that_never_returns_leaves_its_incumbent(monkeypatch):
    """HiGHS cycles on some integers without bounds, looks at no clock there, and calls nothing back."""
    stuck, release = threading.Event(), threading.Event()
    run = highs.run_to_decision

    def never(*arguments):
        run(*arguments)
        stuck.set()
        release.wait()

    def left(call, *_):
        threading.Thread(target=call, daemon=True).start()
        stuck.wait()
        return False

    monkeypatch.setattr(highs, "run_to_decision", never)
    monkeypatch.setattr(highs, "run_until", left)
    result = solve(knapsack(), "highs", time_limit=1000.0)
    release.set()
    assert result.status is Status.TIME_LIMIT and result.claim.native_status == ABANDONED_STATUS and result.details["abandoned"]
    assert result.objective == pytest.approx(solve(knapsack(), "scip").objective)


@pytest.mark.parametrize(("native", "runs"), [({}, 2), ({"mip_feasibility_tolerance": 1e-9}, 1)])
def test_a_failure_at_our_integrality_is_tried_at_that_of_highs(native, runs):
    """Unless the user has set it."""
    statuses, settings, ran = SimpleNamespace(kSolveError="error", kUnboundedOrInfeasible="either"), {}, []
    stub = SimpleNamespace(
        run=lambda: ran.append(1),
        getModelStatus=lambda: "optimal" if settings.get("mip_feasibility_tolerance") == 1e-6 else "error",
        setOptionValue=settings.__setitem__,
    )
    highs.run_to_decision(SimpleNamespace(HighsModelStatus=statuses), stub, native)
    assert len(ran) == runs and (stub.getModelStatus() == "optimal") is (runs == 2)


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
def test_integers_between_fractions_keep_their_optimum() -> None:
    """HiGHS 1.15's presolve ended at 7.4375 where the second integer is at least 0.5, and 7.25 is the optimum."""
    X, y = np.array([[-0.75, -1.25], [0.75, 1.25], [1.0, 1.5]]), np.array([1.0, 1.0, -1.0])
    model = Margin(X, y, "hinge", L1(0.25), sample_weight=np.array([2.0, 1.0, 1.0]), domain=Integers((0.0, 0.5), (3.0, 2.0)))
    result = solve(model, "highs")
    assert result.status is Status.OPTIMAL and result.objective == 7.25
    apart = knapsack(6, 2).replace(lower=np.full(6, 0.2), upper=np.full(6, 0.8))
    assert solve(apart, "highs").status is Status.INFEASIBLE
