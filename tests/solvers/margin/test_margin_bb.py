"""`margin-bb` beside enumeration on a thousand problems, Gurobi and SCIP; its envelopes and bounds beside the loss itself."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from data import clouds
from effort import trials
from facts import about
from scipy.optimize import linprog

import marginopt as mo
from marginopt import margin
from marginopt.errors import InputError
from marginopt.models.views import MarginProblem, PiecewiseLinearLoss
from marginopt.solvers import Options, Status
from marginopt.solvers.exact.rotation import choose_coordinates
from marginopt.solvers.margin import MarginBB, loops

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


def points(seed: int, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    return clouds(seed, n, p - 1, order="turns", first=-1.0)


def enumerated(A: np.ndarray, costs: np.ndarray, height: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least objectives of problems A (k, n, p) by all 2^n choices of the points to give up, from below and from above.

    What is left of a choice is a hinge problem, solved by coordinate ascent of its dual Σα - ||A'α||²/4, 0 ≤ α ≤ c h/d; the dual
    value bounds it, and the primal objective at w = A'α/2 is attained.
    """
    value = np.array(list(itertools.product([0.0, 1.0], repeat=A.shape[1])))
    top = value[None] * (costs * height / width)[:, None, None]
    squares = np.einsum("kij,kij->ki", A, A)
    alpha, v = np.zeros(top.shape), np.zeros((*top.shape[:2], A.shape[2]))
    low, high = np.zeros(len(A)), np.full(len(A), np.inf)
    left = np.arange(len(A))
    for _ in range(200):
        a, w, rows = alpha[left], v[left], A[left]
        for i in list(range(A.shape[1])) * 100:
            gradient = 1.0 - 0.5 * np.einsum("ksj,kj->ks", w, rows[:, i])
            after = np.clip(a[:, :, i] + 2.0 * gradient / squares[left, None, i], 0.0, top[left, :, i])
            w += (after - a[:, :, i])[:, :, None] * rows[:, None, i]
            a[:, :, i] = after
        alpha[left], v[left] = a, w
        lost = (1.0 - value).sum(axis=1) * (costs * height)[left, None]
        low[left] = (a.sum(axis=2) - 0.25 * (w**2).sum(axis=2) + lost).min(axis=1)
        clipped = np.clip(1.0 - 0.5 * np.einsum("ksj,kij->ksi", w, rows), 0.0, width[left, None, None])
        ramp = (height / width)[left, None] * clipped.sum(axis=2)
        high[left] = (0.25 * (w**2).sum(axis=2) + costs[left, None] * ramp).min(axis=1)
        left = np.flatnonzero(high - low > 1e-7 * high)
        if left.size == 0:
            break
    return low, high


def squares(A: np.ndarray, costs: np.ndarray, height: float, width: float) -> MarginProblem:
    """A ramp with ||w||²."""
    p = A.shape[1]
    return MarginProblem.unrestricted(
        A, costs, PiecewiseLinearLoss.ramp(height, width), np.ones(p), np.zeros((0, p)), intercept=False
    )


def test_problems_beside_enumeration() -> None:
    rng = np.random.default_rng(0)
    k, n, p = trials(100, 1000), 5, 2
    A = rng.normal(size=(k, n, p))
    costs, height, width = rng.uniform(0.1, 3.0, size=k), rng.uniform(0.5, 3.0, size=k), rng.uniform(0.3, 3.0, size=k)
    low, high = enumerated(A, costs, height, width)
    assert (high - low <= 1e-7 * high).all()
    solver = MarginBB()
    for j in range(k):
        problem = squares(A[j], np.full(n, costs[j]), float(height[j]), float(width[j]))
        state = solver.init(problem, Options(), np.random.default_rng(0))
        outcome = solver.advance(state, 10.0)
        measured = solver.measure(state)
        assert outcome.name == "CONVERGED", j
        assert measured.objective == pytest.approx(high[j], rel=2e-6), j
        assert measured.bound <= high[j] * (1.0 + 1e-12), j
        assert measured.bound >= low[j] * (1.0 - 1e-6), j


@pytest.mark.parametrize("solver", ["gurobi", "scip"])
@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_the_optimum_is_that_of_a_mixed_integer_solver(solver: str, intercept: str) -> None:
    for seed in range(2):
        X, y = points(seed, 10, 3)
        model = mo.RampSVM(X, y, 0.7, intercept=intercept)
        ours, theirs = mo.solve(model, "margin-bb"), mo.solve(model, solver)
        assert ours.status is theirs.status is Status.OPTIMAL
        assert ours.objective == pytest.approx(theirs.objective, rel=3e-6)
        assert ours.bound_kind == "proved"
        assert ours.bound <= theirs.objective * (1.0 + 1e-6)


ATOMS = np.array([[1.0, 0.5], [-0.2, 1.0], [0.7, -0.6], [0.1, 0.1]])


@pytest.mark.parametrize("loss", [margin.Ramp(1.0, 1.5), margin.Ramp(2.0, 2.0, second_width=3.0)])
@pytest.mark.parametrize("regulariser", ["l2", "half-l2", "l1", margin.ElasticNet(0.3, 0.2), margin.KernelWeightsL1(ATOMS, 0.4)])
@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_compositions_are_read(loss: margin.Ramp, regulariser: str, intercept: str) -> None:
    X, y = points(3, 10, 3)
    X = X if intercept == "free" else X[:, 1:]
    model = mo.Margin(X, y, loss, regulariser, sample_weight=np.linspace(0.3, 1.0, 10), intercept=intercept)
    ours = mo.solve(model, "margin-bb")
    assert ours.status is Status.OPTIMAL
    assert ours.objective == pytest.approx(model.objective(ours.values["w"]), rel=1e-9)
    assert ours.objective == pytest.approx(mo.solve(model, "scip").objective, rel=3e-6)


def test_a_kernel_is_read() -> None:
    X, y = points(5, 10, 2)
    model = mo.Margin(X[:, 1:], y, "ramp", sample_weight=0.8, kernel=mo.RBF(0.05))
    assert model.view(MarginProblem) is not None


@pytest.mark.parametrize(
    "parts",
    [
        {"regulariser": margin.GroupL1((0, 1), 0.3)},
        {"regulariser": margin.KernelWeightsL1(np.array([[1.0, 2.0]]))},
        {"loss": margin.PiecewiseLinear(((0.0, 2.0), (1.0, 0.0), (2.0, 1.0), (3.0, 0.5))), "domain": margin.Box(-1.0, 1.0)},
        {"loss": "zero-one", "regulariser": "none"},
    ],
)
def test_what_is_not_read_is_refused(parts: dict[str, object]) -> None:
    X, y = points(0, 8, 2)
    model = mo.Margin(X, y, **{"loss": "ramp", **parts})  # type: ignore[arg-type]
    assert model.view(MarginProblem) is None
    with pytest.raises(mo.errors.UnsupportedModelError, check=about("margin-bb")):
        mo.solve(model, "margin-bb")


def test_many_features_are_left_to_others() -> None:
    X, y = points(0, 12, 8)
    model = mo.RampSVM(X, y, 0.5)
    with pytest.raises(mo.errors.UnsupportedModelError, check=about("margin-bb")):
        mo.solve(model, "margin-bb")
    assert mo.solve(model, MarginBB(max_coefficients=8), node_limit=3).status is Status.NODE_LIMIT


def test_a_node_limit_leaves_a_proved_bound_and_a_start_is_taken() -> None:
    X, y = points(7, 40, 4)
    model = mo.RampSVM(X, y, 1.0)
    stopped = mo.solve(model, "margin-bb", node_limit=5)
    assert stopped.status is Status.NODE_LIMIT
    whole = mo.solve(model, "margin-bb")
    assert stopped.bound <= whole.bound <= whole.objective <= stopped.objective
    again = mo.solve(model, ("margin-bb", {"restarts": 0}), start=dict(whole.values))
    assert again.objective <= whole.objective * (1.0 + 1e-12)
    with pytest.raises(InputError, check=about("restarts")):
        mo.solve(model, ("margin-bb", {"restarts": -1}))


def objective(at: MarginProblem, w: np.ndarray) -> float:
    """Of squares and losses, and of the norm, a linear program."""
    k, held = len(at.atoms), np.arange(w.size) >= at.intercept
    norm = linprog(np.ones(2 * k), A_eq=np.hstack([at.atoms.T, -at.atoms.T]), b_eq=np.where(held, w, 0.0)).fun if k else 0.0
    return float(at.curvature @ (w * w)) + norm + float(at.costs @ at.loss.values(at.A @ w))


@pytest.mark.parametrize("atoms", [0, 5])
def test_the_rotation_costs_what_it_says(atoms: int) -> None:
    X, y = points(9, 20, 4)
    rng = np.random.default_rng(0)
    held = np.array([0.0, 1.0, 1.0, 1.0])
    A, loss, drawn = y[:, None] * X, PiecewiseLinearLoss.ramp(2.0, 1.5, 3.0), held * rng.normal(size=(atoms, 4))
    problem = MarginProblem.unrestricted(A, np.full(20, 0.5), loss, 0.5 * held, drawn, intercept=True)
    axes = choose_coordinates(problem)
    for _ in range(50):
        w = rng.normal(size=4)
        v, true = axes.rotate(w), objective(problem, w)
        off = axes.skew @ np.abs(v)
        assert (np.abs(axes.problem.A @ v - problem.A @ w) <= off).all()
        lost = loss.largest_slope * float(problem.costs @ off)
        assert objective(axes.problem, v) <= true * (1.0 + axes.stretch) + lost + 1e-13 * true
    assert axes.skew.max() < 1e-11


def test_descent_never_rises() -> None:
    X, y = points(11, 20, 3)
    A, loss, atoms = y[:, None] * X, PiecewiseLinearLoss.ramp(2.0, 2.0, 2.5), np.vstack([np.eye(3), X[:9]])
    axes = choose_coordinates(MarginProblem.unrestricted(A, np.full(20, 0.5), loss, np.ones(3), atoms, intercept=False))
    problem = loops.loop_problem(axes.problem)
    node = loops.new_node(problem)
    node.lo[:], node.hi[:] = axes.coordinate_bounds(30.0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        w = rng.normal(size=3)
        before = objective(axes.problem, w)
        after = loops.descend(problem, node, w, 30.0)
        assert after <= before * (1.0 + 1e-12)
        assert after == pytest.approx(objective(axes.problem, w), rel=1e-12)


@pytest.mark.parametrize("atoms", [np.zeros((0, 3)), np.eye(3)], ids=["squares", "l1"])
def test_a_cost_that_begins_again_elsewhere_does_not_end_a_descent(atoms: np.ndarray) -> None:
    """Points that keep their hinges, or cost nothing, have another one of no height."""
    X, y = points(12, 12, 3)
    rng = np.random.default_rng(1)
    costs, loss = np.where(np.arange(12) < 8, 0.5, 0.0), PiecewiseLinearLoss.ramp(2.0, 2.0, 6.0)
    again = MarginProblem.unrestricted(y[:, None] * X, costs, loss, np.full(3, 0.3), atoms, intercept=False)
    for _ in range(10):
        w = 0.1 * rng.normal(size=3)
        values = []
        for stated in (again, replace(again, loss=PiecewiseLinearLoss.ramp(2.0, 2.0))):
            problem = loops.loop_problem(stated)
            node = loops.new_node(problem)
            node.hi[:], node.lo[:] = 10.0, -10.0
            values.append(loops.descend(problem, node, w.copy(), 30.0))
        assert values[0] == pytest.approx(values[1], rel=1e-6)
