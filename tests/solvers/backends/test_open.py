"""Clarabel, SCS, HiGHS, OSQP, PIQP and what qpsolvers, CVXPY and Pyomo reach: multipliers, rays, limits, options, starts, stops.

The known optima of every formulation are in test_conformance; here are bare forms that reach the corners.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.errors import InputError, UnsupportedModelError
from marginopt.models import (
    PSD,
    Block,
    ConicSVM,
    Constraint,
    HingeSVM,
    Nonnegative,
    Quadratic,
    RotatedSecondOrder,
    SecondOrder,
    StandardForm,
    Zero,
)
from marginopt.models.program.svec import smat, svec
from marginopt.solvers.backends import cvxpy as cvxpy_backend, pyomo as pyomo_backend, qpsolvers as qpsolvers_backend
from marginopt.solvers.backends.scs import psd_order
from marginopt.solvers.judging.rays import farkas_residual, ray_residual
from marginopt.solvers.records.options import Options
from marginopt.solvers.records.status import Status
from marginopt.solvers.registry import get_solver
from marginopt.solvers.solve import solve_problem

QP = ("clarabel", "scs", "highs", "osqp", "piqp", "proxqp", "daqp")
INF = np.inf


def form_of(q, constraints=(), lower=None, upper=None, P=None, integer=None, r=0.0):
    q = np.asarray(q, float)
    n = q.size
    rows = tuple(Constraint(label, sp.csr_array(np.array(F, float)), np.array(g, float), K) for label, F, g, K in constraints)
    return StandardForm(
        name="program",
        blocks=(Block("x", (n,)),),
        q=q,
        constraints=rows,
        lower=np.full(n, -INF) if lower is None else np.asarray(lower, float),
        upper=np.full(n, INF) if upper is None else np.asarray(upper, float),
        integer=np.zeros(n, bool) if integer is None else np.asarray(integer, bool),
        quadratic=None if P is None else Quadratic(matrix=np.asarray(P, float)),
        r=r,
    )


def bounded_qp(r=0.0):
    """x2 at its upper bound, x1 free inside its row, multipliers of every kind."""
    rows = [("sum", [[1, 1, 1]], [-1], Zero(1)), ("floor", [[1, 0, 0], [0, 1, 0]], [0.5, 1], Nonnegative(2))]
    return form_of([1, -5, 0], rows, [-INF, 0, 0], [INF, 0.7, INF], np.diag([1.0, 2, 3]), r=r)


def random_qp(seed, rank):
    """Feasible by construction, P of the given rank, every kind of row and bound."""
    rng = np.random.default_rng(seed)
    n = 12
    R = rng.normal(size=(rank, n))
    x = rng.uniform(-1, 1, n)
    E, G = rng.normal(size=(2, n)), rng.normal(size=(8, n))
    slack = np.where(rng.random(8) < 0.5, 0.0, rng.random(8))
    lower = np.where(rng.random(n) < 0.6, x - rng.random(n), -1.5)
    upper = np.where(rng.random(n) < 0.6, x + rng.random(n), 2.0)
    rows = [("equal", E, -E @ x, Zero(2)), ("greater", G, slack - G @ x, Nonnegative(8))]
    return form_of(3 * rng.normal(size=n), rows, lower, upper, R.T @ R)


def knapsack(n=20, seed=0):
    rng = np.random.default_rng(seed)
    weight = rng.integers(10, 60, (5, n))
    rows = [("capacity", -weight, weight.sum(axis=1) // 3, Nonnegative(5))]
    value = -(weight.sum(axis=0) + rng.integers(0, 20, n))
    return form_of(value, rows, np.zeros(n), np.ones(n), integer=np.ones(n, bool))


INFEASIBLE = {
    "linear": form_of([1, 1], [("apart", [[1, 0], [-1, 0]], [-1, 0], Nonnegative(2))], [0, 0], [5, 5]),
    "quadratic, bounds against a row": form_of([1, 1], [("sum", [[1, 1]], [1], Zero(1))], [0, 0], None, np.eye(2)),
}
UNBOUNDED = {
    "linear": form_of([0, -1], [("side", [[1, 0]], [0], Nonnegative(1))]),
    "quadratic": form_of([0, -1], [("side", [[1, 0]], [0], Nonnegative(1))], P=np.diag([1.0, 0])),
}


def solve(form, name, **options):
    return solve_problem(form, name, Options(**options))


# -- optima and multipliers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*QP, "quadprog"])
def test_bounds_rows_and_equalities_have_our_multipliers(name, assert_kkt):
    result = solve(bounded_qp(r=2.5), name, tol=1e-7)
    assert result.status is Status.OPTIMAL
    assert result.values["x"] == pytest.approx([-0.025, 0.7, 0.325], abs=1e-6)
    assert result.multipliers["sum"] == pytest.approx([0.975], abs=1e-5)
    assert result.reduced["x"] == pytest.approx([0.0, -4.575, 0.0], abs=1e-5)  # < 0: the upper bound is priced
    assert result.claim.objective == pytest.approx(-2.87625 + 2.5, abs=1e-6)  # the constant is in the claim
    assert_kkt(bounded_qp(), result, 1e-6)


@pytest.mark.parametrize("name", [*QP, "cvxpy:scipy"])
def test_linear_program(name, assert_kkt):
    rows = [("sum", [[1, 1, 1]], [-1], Zero(1)), ("order", [[1, -1, 0]], [0.1], Nonnegative(1))]
    form = form_of([1, 2, 0], rows, [0, 0, 0], [1, 1, 0.2])
    result = solve(form, name)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(0.8, abs=1e-5)
    assert_kkt(form, result, 1e-4 if get_solver(name).info.first_order else 2e-6)


@pytest.mark.parametrize("name", [n for n in QP if n not in ("clarabel", "daqp")])
@pytest.mark.parametrize("rank", [12, 4], ids=["definite", "semidefinite"])
@pytest.mark.parametrize("seed", range(4))
def test_random_quadratic_programs(name, rank, seed, assert_kkt):
    form = random_qp(seed, rank)
    truth = solve(form, "clarabel", tol=1e-8)
    result = solve(form, name, tol=1e-6)
    assert truth.solved and result.solved, result
    assert result.objective == pytest.approx(truth.objective, rel=1e-6, abs=1e-6)
    assert_kkt(form, result, 1e-5)


@pytest.mark.parametrize("name", QP)
def test_no_rows_and_no_bounds(name):
    result = solve(form_of([1.0, 1.0], P=np.eye(2)), name)
    assert result.solved
    assert result.values["x"] == pytest.approx([-1.0, -1.0], abs=1e-4)


@pytest.mark.parametrize("name", ["clarabel", "scs"])
def test_cones_of_every_kind_in_one_form(name, assert_kkt):
    """A stack of two second-order cones, a stack of two semidefinite cones of order 3, a rotated cone and bounds."""
    rng = np.random.default_rng(1)
    n, inner = 8, rng.normal(size=8)
    cones = (SecondOrder(3, 2), PSD.of_order(3), PSD(6, 2), RotatedSecondOrder(4, 1), Nonnegative(2), Zero(1))
    rows = []
    for k, cone in enumerate(cones):
        F = rng.normal(size=(cone.rows, n))
        inside = {
            SecondOrder: np.tile([2.0, 0.3, -0.4], 2),
            PSD: np.tile(svec(np.eye(3) + 0.2), cone.count),
            RotatedSecondOrder: np.array([1.0, 1.0, 0.2, 0.1]),
            Nonnegative: np.ones(2),
            Zero: np.zeros(1),
        }[type(cone)]
        rows.append((f"c{k}", F, inside - F @ inner, cone))
    form = form_of(rng.normal(size=n), rows, inner - 2, inner + 2, np.diag(np.arange(n) % 3).astype(float))
    result = solve(form, name, tol=1e-7)
    assert result.solved, result
    assert result.details["bridges"] == ["RotatedBridge", "BoundsToRows"]
    assert_kkt(form, result, 1e-5)
    assert result.objective == pytest.approx(solve(form, "clarabel", tol=1e-9).objective, rel=1e-6)


def test_scs_order_of_semidefinite_entries():
    S = np.arange(16.0).reshape(4, 4)
    S = S + S.T
    lower_by_columns = [S[i, j] * (1 if i == j else np.sqrt(2)) for j in range(4) for i in range(j, 4)]
    assert svec(S)[psd_order(4)] == pytest.approx(lower_by_columns)


@pytest.mark.parametrize("name", ["clarabel", "scs"])
def test_smallest_eigenvalue_by_a_semidefinite_cone(name):
    """max t with A - tI in the cone: the multiplier is the eigenvector's rank-one matrix."""
    rng = np.random.default_rng(2)
    A = rng.normal(size=(4, 4))
    A = A + A.T
    form = form_of([-1.0], [("shifted", -svec(np.eye(4))[:, None], svec(A), PSD.of_order(4))])
    result = solve(form, name, tol=1e-7)
    values, vectors = np.linalg.eigh(A)
    assert result.values["x"] == pytest.approx([values[0]], abs=1e-5)
    assert smat(result.multipliers["shifted"]) == pytest.approx(np.outer(vectors[:, 0], vectors[:, 0]), abs=1e-4)


# -- infeasible and unbounded ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["clarabel", "scs", "osqp", "piqp", "highs", "proxqp"])
@pytest.mark.parametrize("kind", INFEASIBLE)
def test_infeasible_with_its_proof(name, kind):
    form = INFEASIBLE[kind]
    result = solve(form, name)
    assert result.status is Status.INFEASIBLE
    assert not result.values
    assert farkas_residual(form, result.details["farkas"]) <= 1e-5  # HiGHS has none for quadratic programs: they are ours
    assert result.details["farkas_residual"] == farkas_residual(form, result.details["farkas"])


@pytest.mark.parametrize("name", ["clarabel", "scs", "osqp", "piqp", "highs", "proxqp"])
@pytest.mark.parametrize("kind", UNBOUNDED)
def test_unbounded_with_its_ray(name, kind):
    form = UNBOUNDED[kind]
    result = solve(form, name)
    assert result.status is Status.UNBOUNDED
    assert not result.values
    if (name, kind) != ("proxqp", "linear"):  # ProxQP's iterate overflows there
        assert ray_residual(form, result.details["ray"]["x"]) <= 1e-5


@pytest.mark.parametrize("name", ["daqp", "quadprog"])
def test_an_interface_without_reasons_is_not_believed_to_know_one(name):
    result = solve(INFEASIBLE["quadratic, bounds against a row"], name)
    assert result.status is Status.FAILED
    assert "passes on no reason" in result.claim.native_status


def test_rays_are_judged_from_the_data():
    form = INFEASIBLE["linear"]
    assert farkas_residual(form, {"apart": np.array([1.0, 1.0])}) == 0.0
    assert farkas_residual(form, {"apart": np.array([1.0, 0.0])}) == INF  # 1·x1 - 1 ≥ 0 alone excludes nothing
    free = form_of([0.0], [("apart", [[1], [-1]], [-1, 0], Nonnegative(2))])
    assert farkas_residual(free, {"apart": np.array([1.0, 0.9])}) == pytest.approx(0.1)  # Σ F'z = 0.1 on a free variable
    outside = {"apart": np.array([-1.0, -1.0])}
    assert farkas_residual(free, outside) == INF
    assert ray_residual(UNBOUNDED["quadratic"], np.array([0.0, 2.0])) == 0.0
    assert ray_residual(UNBOUNDED["quadratic"], np.array([1.0, 1.0])) == pytest.approx(1.0)  # P d = (1, 0)
    assert ray_residual(UNBOUNDED["linear"], np.array([0.0, -1.0])) == INF
    box = form_of([1.0, 1.0], lower=[0, -INF], upper=[INF, 0])
    assert ray_residual(box, np.array([-1.0, 0.0])) == pytest.approx(1.0)
    assert ray_residual(box, np.array([0.0, -1.0])) == 0.0


# -- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["clarabel", "scs", "osqp", "piqp", "highs"])
def test_iteration_limit(name):
    result = solve(random_qp(0, 12), name, iteration_limit=2, tol=1e-9)
    assert result.status is Status.ITERATION_LIMIT
    assert result.iterations is not None
    assert name == "highs" or result.iterations <= 3  # HiGHS counts those of its phase one, which has a limit of its own


@pytest.mark.parametrize("name", ["clarabel", "scs", "osqp", "highs"])
def test_time_limit(name):
    result = solve(knapsack() if name == "highs" else random_qp(0, 12), name, time_limit=1e-9, tol=1e-9)
    assert result.status is Status.TIME_LIMIT


@pytest.mark.parametrize("name", ["piqp", "proxqp", "quadprog"])
def test_a_limit_that_cannot_be_obeyed_is_noted(name):
    result = solve(bounded_qp(), name, time_limit=60)
    assert result.solved
    assert result.details["options_not_taken"] == ["time_limit"]


# -- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "wrong", "near"),
    [
        ("clarabel", "max_iters", "max_iter"),
        ("scs", "max_iter", "max_iters"),
        ("osqp", "max_iters", "max_iter"),
        ("piqp", "max_iters", "max_iter"),
        ("highs", "mip_relgap", "mip_rel_gap"),
        ("cvxpy:scipy", "scipy_option", "scipy_options"),
    ],
)
def test_unknown_native_option_names_the_near_miss(name, wrong, near):
    form = form_of([1.0], lower=[0.0])
    with pytest.raises(InputError, match=f"no option '{wrong}'; did you mean .*{near}"):
        solve(form, name, native={wrong: 5})


@pytest.mark.parametrize("name", ["proxqp", "daqp", "quadprog"])
def test_unknown_native_option_of_a_solver_without_a_list(name):
    with pytest.raises(InputError, match=f"{name} does not take the options .*'bogus'"):
        solve(bounded_qp(), name, native={"bogus": 5})


@pytest.mark.parametrize(
    ("name", "native"),
    [
        ("clarabel", {"max_iter": "many"}),
        ("scs", {"max_iters": "many"}),
        ("osqp", {"max_iter": "many"}),
        ("piqp", {"max_iter": "many"}),
        ("highs", {"mip_rel_gap": "small"}),
        ("highs", {"solver": "guess"}),
        ("highs", {"time_limit": [1]}),
        ("cvxpy:scipy", {"scipy_options": {"bogus": 1}}),
    ],
)
def test_wrong_native_value(name, native):
    form = form_of([1.0], lower=[0.0]) if name == "cvxpy:scipy" else bounded_qp()
    with pytest.raises(InputError, match="does not take"):
        solve(form, name, native=native)


@pytest.mark.parametrize(
    ("name", "native"),
    [
        ("clarabel", {"max_iter": 1}),
        ("scs", {"max_iters": 1, "linear_solver": "qdldl"}),
        ("osqp", {"max_iter": 1, "algebra": "builtin", "polishing": False}),
        ("piqp", {"max_iter": 1}),
        ("highs", {"qp_iteration_limit": 1}),
    ],
)
def test_native_options_reach_the_solver_and_win(name, native):
    assert solve(random_qp(0, 12), name, iteration_limit=1000, native=native).status is Status.ITERATION_LIMIT


def test_threads_may_change_between_solves():
    for threads in (1, 2, 1):
        assert solve(knapsack(12), "highs", threads=threads).solved


# -- starts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["scs", "osqp"])
def test_a_start_at_the_optimum_saves_iterations(name):
    form = random_qp(1, 12)
    cold = solve(form, name, tol=1e-6)
    warm = solve(form, name, tol=1e-6, start=cold.values)
    assert warm.solved and warm.iterations <= cold.iterations
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)


@pytest.mark.parametrize("name", ["scs", "osqp", "highs"])
def test_a_start_with_an_unknown_block(name):
    form = knapsack() if name == "highs" else form_of([1.0, 1.0], P=np.eye(2))
    with pytest.raises(InputError, match="start has no block y to set; the form has x"):
        get_solver(name).solve_form(form, Options(start={"y": np.zeros(2)}))


def test_an_incomplete_start_is_noted():
    rng = np.random.default_rng(0)
    model = HingeSVM(np.column_stack([np.ones(10), rng.normal(size=10)]), np.where(np.arange(10) % 2, 1.0, -1.0), lam=1.0)
    result = solve(model, "osqp", start={"w": np.zeros(2)})
    assert result.solved
    assert "without xi" in result.details["start"]


def test_highs_takes_starts_for_integer_programs_only():
    form = knapsack()
    best = solve(form, "highs")
    again = solve(form, "highs", start=best.values)
    assert again.solved and "start" not in again.details
    assert again.trace[0].objective == pytest.approx(best.objective)  # the start is the first incumbent
    assert "mixed-integer" in solve(bounded_qp(), "highs", start={"x": np.zeros(3)}).details["start"]


# -- HiGHS -----------------------------------------------------------------------------------------------------------


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
    with pytest.raises(UnsupportedModelError, match="integer variables together with quadratic objective"):
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


# -- stops -----------------------------------------------------------------------------------------------------------


def test_clarabel_traces_and_its_callback_stops_it():
    form = random_qp(0, 12)
    whole = solve(form, "clarabel")
    assert len(whole.trace) >= 3
    assert whole.trace[-1].bound == pytest.approx(whole.objective, rel=1e-5)
    result = solve(form, "clarabel", callback=lambda row: row.iteration >= 2)
    assert result.status is Status.INTERRUPTED and result.iterations <= 3 and result.values


@pytest.mark.parametrize("name", ["clarabel", "highs"])
def test_an_error_in_the_callback_comes_out(name):
    def broken(row):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        solve(knapsack() if name == "highs" else random_qp(0, 12), name, callback=broken)


_INTERRUPTED = """
import os, signal, threading
import numpy as np, scipy.sparse as sp
from marginopt.models import Block, Constraint, Nonnegative, StandardForm
from marginopt.solvers.records.options import Options
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
import scs
from marginopt.models import Block, Constraint, Nonnegative, Quadratic, StandardForm
from marginopt.solvers.records.options import Options
from marginopt.solvers.solve import solve_problem

rng = np.random.default_rng(0)
n = 40
rows = (Constraint("rows", sp.csr_array(rng.normal(size=(n, n))), np.ones(n), Nonnegative(n)),)
P = Quadratic(matrix=np.eye(n))
form = StandardForm("long", (Block("x", (n,)),), rng.normal(size=n), rows, -np.ones(n), np.ones(n), np.zeros(n, bool), P)
solve_problem(form, "scs", Options())  # loaded
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
never = {"eps_abs": 0.0, "eps_rel": 0.0, "max_iters": 2_000_000_000}
result = solve_problem(form, "scs", Options(time_limit=60, native=never))
print("result:", result.status.name, bool(result.values), result.solve_seconds < 50)
"""


_PREPARING = """
import os, signal, threading
import numpy as np
from marginopt.models import Block, Quadratic, StandardForm
from marginopt.solvers.records.options import Options
from marginopt.solvers.solve import solve_problem

def box(n):
    A = np.random.default_rng(0).normal(size=(n, n))
    P = Quadratic(matrix=A @ A.T / n + 1e-3 * np.eye(n))
    return StandardForm("box", (Block("x", (n,)),), A[0], (), np.zeros(n), np.ones(n), np.zeros(n, bool), P)

large, small = box(2000), box(5)
solve_problem(small, "highs", Options())  # loaded
if INTERRUPT:
    threading.Timer(3.0, os.kill, (os.getpid(), signal.SIGINT)).start()
result = solve_problem(large, "highs", Options(time_limit=TIME))
again = solve_problem(small, "highs", Options())
print(result.status.name, bool(result.values), result.details.get("left", ""), again.status.name, sep="|")
"""


@pytest.mark.parametrize("interrupt", [True, False])
def test_the_quadratic_solver_of_highs_is_left_where_it_hears_nothing(interrupt):
    """Of 2,000 variables it prepares for 15 s before it looks at its clock or writes a line of its log."""
    code = _PREPARING.replace("INTERRUPT", str(interrupt)).replace("TIME", "None" if interrupt else "2.0")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    status = "INTERRUPTED" if interrupt else "TIME_LIMIT"
    said = "HiGHS's quadratic solver was left: it gives no point before it ends"
    assert done.stdout.strip() == f"{status}|False|{said}|OPTIMAL", done.stderr


def test_ctrl_c_ends_scs():
    done = subprocess.run([sys.executable, "-c", _LONG], capture_output=True, text=True, timeout=120, check=False)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("result: ")]
    assert line.startswith("result: INTERRUPTED") and line.endswith("True"), done.stderr


# -- discovery -------------------------------------------------------------------------------------------------------


def test_nothing_heavy_is_imported_before_it_is_needed():
    code = (
        "import sys; from marginopt.solvers.registry import all_solvers; all_solvers(discover=False);"
        "print([m for m in ('cvxpy', 'qpsolvers', 'pyomo', 'highspy', 'osqp', 'scs', 'piqp', 'clarabel') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"


def test_discovered_solvers_leave_out_those_with_a_file():
    names = {solver.info.name for solver in qpsolvers_backend.discover()}
    assert {"proxqp", "daqp", "quadprog"} <= names
    assert not names & {"clarabel", "highs", "osqp", "piqp", "scs", "gurobi", "mosek"}
    through_cvxpy = {solver.info.name for solver in cvxpy_backend.discover()}
    assert "cvxpy:scipy" in through_cvxpy
    assert not through_cvxpy & {f"cvxpy:{name}" for name in ("clarabel", "highs", "scip", "proxqp", "daqp")}


def test_versions_are_those_of_the_solvers_own_packages():
    assert get_solver("proxqp").info.package == "proxsuite"
    assert get_solver("quadprog").info.package == "quadprog"
    assert "cvxpy" in get_solver("cvxpy:scipy").version()


def test_a_new_solver_of_qpsolvers_needs_nothing_written(monkeypatch):
    """An interface that swallows every option and wants both bounds, as they come."""
    import qpsolvers
    from qpsolvers.solvers import solve_function

    def picky(problem, initvals=None, verbose=False, **kwargs):
        """Options: ``max_iter`` is the limit, ``eps_abs`` the tolerance."""
        if problem.ub is not None and not np.isfinite(problem.ub).all():
            raise ValueError("no infinities, please")
        return solve_function["daqp"](problem)

    monkeypatch.setitem(solve_function, "picky", picky)
    monkeypatch.setattr(qpsolvers, "available_solvers", [*qpsolvers.available_solvers, "picky"])
    monkeypatch.setattr(qpsolvers, "dense_solvers", [*qpsolvers.dense_solvers, "picky"])
    solver = next(s for s in qpsolvers_backend.discover() if s.info.name == "picky")
    assert not solver.info.bounds and solver.info.package == "qpsolvers"
    result = solve_problem(bounded_qp(), solver, Options(iteration_limit=100))
    assert result.solved
    assert result.reduced["x"] == pytest.approx([0.0, -4.575, 0.0], abs=1e-6)
    with pytest.raises(InputError, match="picky has no option 'max_iters'; did you mean max_iter"):
        solve_problem(bounded_qp(), solver, Options(native={"max_iters": 3}))


def test_abilities_are_tried_not_believed():
    assert "semidefinite diagonal" not in qpsolvers_backend.abilities("quadprog")
    assert "linear" not in qpsolvers_backend.abilities("quadprog")
    semidefinite = form_of([-1, -1], [("sum", [[1, 1]], [-1], Zero(1))], [0, 0], P=[[2, -2], [-2, 2]])
    for name in ("quadprog", "daqp"):  # DAQP calls this one unbounded
        with pytest.raises(UnsupportedModelError, match="needs a positive definite quadratic objective"):
            solve(semidefinite, name)
    with pytest.raises(UnsupportedModelError, match="without a quadratic part"):
        solve(form_of([1.0], lower=[0.0]), "quadprog")


# -- CVXPY -----------------------------------------------------------------------------------------------------------


def test_scipy_through_cvxpy_solves_integer_programs():
    form = knapsack().replace(r=7.0)
    result = solve(form, "cvxpy:scipy")
    assert result.solved and result.gap <= 1e-6
    assert result.objective == pytest.approx(solve(form, "highs").objective, rel=1e-9)
    assert result.nodes is not None


@pytest.mark.parametrize(("kind", "status"), [("infeasible", Status.INFEASIBLE), ("unbounded", Status.UNBOUNDED)])
def test_scipy_through_cvxpy_statuses(kind, status):
    form = INFEASIBLE["linear"] if kind == "infeasible" else UNBOUNDED["linear"]
    assert solve(form, "cvxpy:scipy").status is status


def test_scipy_through_cvxpy_time_limit():
    result = solve(knapsack(60, 3), "cvxpy:scipy", time_limit=1e-6, tol=1e-12)
    assert result.status is Status.TIME_LIMIT


@pytest.mark.parametrize("kind", ["lam", "kappa"])
def test_cones_and_multipliers_through_cvxpy(kind, assert_kkt, overlapping):
    model = ConicSVM(overlapping.X, overlapping.y, **{kind: 0.5})
    result = solve_problem(model, cvxpy_backend.of_name("CLARABEL"), Options(tol=1e-6))
    assert result.objective == pytest.approx(solve(model, "clarabel").objective, rel=1e-6)
    assert_kkt(model.form, result, 1e-6)


def test_cvxpy_solvers_read_what_cvxpy_says():
    scip = cvxpy_backend.of_name("SCIP").info
    assert {f.name for f in scip.reads} == {"QUADRATIC", "SECOND_ORDER", "INTEGER"} and not scip.forbids
    highs = cvxpy_backend.of_name("HIGHS").info
    assert [{f.name for f in pair} for pair in highs.forbids] == [{"QUADRATIC", "INTEGER"}]
    assert cvxpy_backend.of_name("IPOPT") is None


# -- Pyomo -----------------------------------------------------------------------------------------------------------


def gurobi_through_pyomo():
    """An interface that is at hand, in the place of the executables that are not."""
    pyo = pytest.importorskip("pyomo.environ")
    if not pyo.SolverFactory("gurobi_direct").available(exception_flag=False):
        pytest.skip("gurobi_direct: Gurobi is not installed or not licensed")
    reads = get_solver("gurobi").info.reads
    suffixes, limits = ("dual", "rc"), {"iterations": "BarIterLimit", "time": "TimeLimit"}
    executable = pyomo_backend.Executable("gurobi_direct", "", reads, "", suffixes, **limits)
    return pyomo_backend.of_executable(executable)


def test_multipliers_through_pyomo(assert_kkt):
    solver = gurobi_through_pyomo()
    result = solve_problem(bounded_qp(), solver, Options(time_limit=10))
    assert result.solved and result.reduced["x"] == pytest.approx([0, -4.575, 0], abs=1e-5)
    assert_kkt(bounded_qp(), result, 1e-6)
    cones = [("ball", np.vstack([np.zeros(3), np.eye(3)]), [2, 0, 0, 0], SecondOrder(4)),
             ("bowl", [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [3, 1, 0.5], RotatedSecondOrder(3))]  # fmt: skip
    form = form_of([1.0, 2.0, -1.0], cones)
    result = solve_problem(form, solver, Options(native={"QCPDual": 1, "BarQCPConvTol": 1e-11}))
    assert result.objective == pytest.approx(solve(form, "clarabel").objective, rel=1e-6)
    assert_kkt(form, result, 1e-5)


def test_statuses_and_options_through_pyomo():
    solver = gurobi_through_pyomo()
    assert solve_problem(INFEASIBLE["linear"], solver, Options()).status is Status.INFEASIBLE
    assert solve_problem(random_qp(0, 12), solver, Options(iteration_limit=1)).status is Status.ITERATION_LIMIT
    with pytest.raises(InputError, match=r"does not take the options .*bogus"):
        solve_problem(bounded_qp(), solver, Options(native={"bogus": 1}))
    form = knapsack()
    result = solve_problem(form, solver, Options())
    assert result.solved and result.objective == pytest.approx(solve(form, "highs").objective)


_IPOPT = """#!{python}
import pathlib, sys
if "-v" in sys.argv:
    print("Ipopt 3.14.0")
else:
    stub = pathlib.Path(sys.argv[1])
    stub = stub.with_suffix("") if stub.suffix == ".nl" else stub
    text = "stand-in: Optimal Solution Found\\n\\nOptions\\n3\\n1\\n1\\n0\\n1\\n1\\n2\\n2\\n0.5\\n1\\n0.25\\nobjno 0 0\\n"
    text += "suffix 4 1 13 0 0\\nipopt_zL_out\\n0 1.5\\nsuffix 4 1 13 0 0\\nipopt_zU_out\\n1 -2\\n"
    pathlib.Path(f"{{stub}}.sol").write_text(text)
"""


def test_an_executable_appears_when_it_is_found_and_its_answer_is_read(tmp_path, monkeypatch):
    """A stand-in for Ipopt that writes a fixed answer: what is tested is what we read from it, and in which sign."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert pyomo_backend.discover() == ()
    program = tmp_path / "ipopt"
    program.write_text(_IPOPT.format(python=sys.executable), encoding="utf-8")
    program.chmod(0o755)
    assert shutil.which("ipopt") == str(program)
    (solver,) = pyomo_backend.discover()
    assert solver.info.name == "pyomo:ipopt" and solver.version().startswith("pyomo")
    form = form_of([0.0, 0.0], [("sum", [[1, 1]], [-1], Nonnegative(1))], [0, 0], [1, 1], np.eye(2))
    raw = solver.solve_form(form, Options(time_limit=5, iteration_limit=100, threads=1))
    assert raw.status is Status.OPTIMAL
    assert raw.values is not None
    assert raw.values["x"] == pytest.approx([1.0, 0.25])
    assert raw.multipliers["sum"] == pytest.approx([0.5])
    assert raw.reduced == pytest.approx([1.5, -2.0])
    assert raw.details["options_not_taken"] == ["threads"]
