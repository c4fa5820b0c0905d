"""`sparse-bb` against the enumeration of all supports, each refitted by SciPy or another solver."""

import dataclasses
import itertools

import numpy as np
import pytest
from effort import trials
from scipy.optimize import minimize

import marginopt as mo
from marginopt.models.formulations.margin.problems import SparseProblem
from marginopt.models.views import LinearLoss
from marginopt.solvers.exact.search import Incumbent, TreeSearch
from marginopt.solvers.sparse import _implies, search as sparse_search
from marginopt.solvers.sparse.search import SparseRule

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

#: Blocks of ten instances; one more than the most features.
BLOCKS, LARGEST = trials(4, 100), trials(7, 13)
LOSSES = {"hinge": LinearLoss.HINGE, "squared-hinge": LinearLoss.SQUARED_HINGE, "logistic": LinearLoss.LOGISTIC}


def _data(seed, largest=7):
    """Draw gaussian, heavy-tailed, binary, shifted or duplicate columns, and labels of signal or of noise."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(6, 25)), int(rng.integers(2, largest))
    X = rng.standard_normal((n, p))
    kind = seed % 5
    if kind == 1:
        X = (X > 0.3).astype(float)
    elif kind == 2:
        X[:, p // 2] = X[:, 0]
    elif kind == 3:
        X += rng.uniform(-5.0, 5.0, p)
    elif kind == 4:
        X = X / np.abs(rng.standard_normal((n, 1)) + 0.05)
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0.0, 1.0, -1.0)
    if seed % 7 == 0:
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y, 10.0 ** rng.uniform(-1.5, 1.5), int(rng.integers(1, p + 1)), rng


def _fit(A, costs, loss):
    """Return a lower and an upper bound of min ||w||²/2 + Σ c ℓ(Aw), by L-BFGS-B on the dual (hinge) or the primal problem.

    The first one of smooth losses follows from strong convexity: f(w) - ||∇f(w)||²/2.
    """
    if not A.shape[1]:
        return 2 * (float(costs @ loss.values(np.zeros(costs.size))),)
    if loss is LinearLoss.HINGE:

        def negative_dual(a):
            v = A.T @ a
            return 0.5 * v @ v - a.sum(), A @ v - 1.0

        optimum = minimize(
            negative_dual, costs / 2, jac=True, bounds=[(0.0, c) for c in costs], method="L-BFGS-B",
            options={"maxiter": 100, "ftol": 1e-12},
        )  # fmt: skip
        w = A.T @ optimum.x
        return -float(optimum.fun), float(costs @ loss.values(A @ w) + 0.5 * w @ w)

    def primal(w):
        m = A @ w
        slope = (
            -2.0 * np.maximum(1.0 - m, 0.0) if loss is LinearLoss.SQUARED_HINGE else -1.0 / (1.0 + np.exp(np.minimum(m, 500.0)))
        )
        return float(costs @ loss.values(m)) + 0.5 * w @ w, A.T @ (costs * slope) + w

    optimum = minimize(primal, np.zeros(A.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 300, "ftol": 1e-14})
    return float(optimum.fun - 0.5 * optimum.jac @ optimum.jac), float(optimum.fun)


def _enumerated(X, y, costs, loss, k, price=0.0):
    """Return lower and upper bounds of the optimum."""
    A, p = y[:, None] * X, X.shape[1]
    sizes = range(k + 1) if price else [k]
    bounds = [
        tuple(b + price * len(T) for b in _fit(A[:, T], costs, loss))
        for size in sizes for T in map(list, itertools.combinations(range(p), size))
    ]  # fmt: skip
    return min(low for low, _ in bounds), min(high for _, high in bounds)


def _searched(problem):
    search = TreeSearch(SparseRule(problem), Incumbent(1e-6))
    while not search.done:
        search.process_node()
    return search


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("name", LOSSES)
def test_optimum_is_that_of_the_best_support(name, block, monkeypatch):
    """Ten instances each: bound ≤ optimum ≤ value, both within the tolerance; every other block bounds largest coefficients."""
    if block % 2:
        monkeypatch.setattr(sparse_search, "_WEAK", 2.0)
        monkeypatch.setattr(sparse_search, "_WHOLE", 3)
    for seed in range(10 * block, 10 * block + 10):
        X, y, C, k, rng = _data(seed, LARGEST)
        costs = C * rng.uniform(0.2, 2.0, y.size) if seed % 2 else np.full(y.size, C)
        model = mo.Margin(X, y, loss=name, regulariser="half-l2", sample_weight=costs, subject_to=[mo.at_most(k).nonzero])
        view = model.view(SparseProblem)
        if k == X.shape[1]:
            assert view is None
            continue
        low, high = _enumerated(X, y, costs, LOSSES[name], k)
        search = _searched(view)
        assert search.bound <= high * (1 + 1e-12), seed
        assert search.incumbent.value >= low * (1 - 1e-9), seed
        assert search.incumbent.value <= high * (1 + 1e-6), seed
        assert search.bound >= search.incumbent.value * (1 - 2e-6), seed
        assert np.count_nonzero(search.incumbent.w) <= k


@pytest.mark.parametrize("seed", range(trials(6, 20)))
@pytest.mark.parametrize("name", LOSSES)
def test_a_price_for_each_coefficient(name, seed):
    """Supports of every size, with a price for each feature."""
    X, y, C, _, rng = _data(1000 + seed, 6)
    p, costs = X.shape[1], np.full(y.size, C)
    one, price = np.ones(p), 0.3 * C * rng.uniform(0.5, 2.0)
    problem = SparseProblem(
        y[:, None] * X, costs, LOSSES[name], one, price * one, -np.inf * one, np.inf * one, one > 0, p
    )  # fmt: skip
    low, high = _enumerated(X, y, costs, LOSSES[name], p, price)
    search = _searched(problem)
    assert search.bound <= high * (1 + 1e-12)
    assert low * (1 - 1e-9) <= search.incumbent.value <= high * (1 + 1e-6)
    assert search.bound >= search.incumbent.value * (1 - 2e-6)


@pytest.mark.parametrize("seed", range(trials(3, 6)))
@pytest.mark.parametrize("name", LOSSES)
def test_free_intercept(name, seed):
    """Each support by Clarabel."""
    X, y, C, _, _ = _data(2000 + seed, 5)
    X, k = np.column_stack([np.ones(y.size), X + 3.0]), 1
    parts = {"loss": name, "regulariser": "half-l2", "sample_weight": C, "intercept": "free"}
    best = min(mo.solve(mo.Margin(X[:, [0, j]], y, **parts), "clarabel", tol=1e-8).objective for j in range(1, X.shape[1]))
    model = mo.Margin(X, y, subject_to=[mo.at_most(k).nonzero], **parts)
    if X.shape[1] == 2:
        assert model.view(SparseProblem) is None
        return
    result = mo.solve(model, "sparse-bb")
    assert result.objective == pytest.approx(best, rel=2e-6)
    assert result.bound <= best * (1 + 1e-7)


@pytest.mark.parametrize("seed", range(trials(2, 4)))
@pytest.mark.parametrize("name", ["hinge", "squared-hinge"])
def test_prices_in_a_box(name, seed):
    """`regulariser="l0"` within a box, against HiGHS or Clarabel's enumeration."""
    X, y, C, _, _ = _data(3000 + seed, 5)
    parts = {"loss": name, "sample_weight": C}
    model = mo.Margin(X, y, regulariser="l0", domain="box", **parts)
    result = mo.solve(model, "sparse-bb")
    values = [float(model.objective(np.zeros(X.shape[1])))]
    for size in range(1, X.shape[1] + 1):
        for T in map(list, itertools.combinations(range(X.shape[1]), size)):
            fit = mo.solve(mo.Margin(X[:, T], y, regulariser="none", domain="box", **parts), "clarabel", tol=1e-9)
            values.append(fit.objective + size)
    assert result.objective == pytest.approx(min(values), rel=1e-5)
    assert result.bound <= min(values) * (1 + 1e-6)


def test_auto_takes_it_and_limits_hold():
    """`auto` picks it; node limits, time limits, starts and repetition."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((80, 30))
    y = np.where(X[:, :3].sum(axis=1) + rng.standard_normal(80) > 0, 1.0, -1.0)
    model = mo.Margin(X, y, loss="squared-hinge", regulariser="half-l2", subject_to=[mo.at_most(3).nonzero])
    whole = mo.solve(model, tol=1e-4)
    assert str(whole.details["picked"]).startswith("sparse-bb")
    few = mo.solve(model, "sparse-bb", node_limit=1)
    assert few.bound <= whole.objective <= few.objective * (1 + 1e-9)
    timed = mo.solve(model, "sparse-bb", time_limit=0.01)
    assert timed.bound <= whole.objective * (1 + 1e-9)
    again = mo.solve(model, "sparse-bb", tol=1e-4)
    assert again.objective == whole.objective
    assert again.nodes == mo.solve(model, "sparse-bb", tol=1e-4).nodes
    warm = mo.solve(model, "sparse-bb", start=whole.values, node_limit=1)
    assert warm.objective == pytest.approx(whole.objective, rel=1e-9)


def test_points_of_cost_zero_and_no_coefficient():
    """Points of cost 0 change nothing; with k = 0 only the intercept is left."""
    X, y, C, _, _ = _data(3, 6)
    weights = np.append(np.full(y.size, C), [0.0, 0.0])
    more = np.vstack([X, 50.0 * np.ones((2, X.shape[1]))])
    parts = {"loss": "hinge", "regulariser": "half-l2", "subject_to": [mo.at_most(1).nonzero]}
    with_points = mo.solve(mo.Margin(more, np.append(y, [1.0, -1.0]), sample_weight=weights, **parts), "sparse-bb")
    without = mo.solve(mo.Margin(X, y, sample_weight=C, **parts), "sparse-bb")
    assert with_points.objective == pytest.approx(without.objective, rel=1e-6)
    none = mo.Margin(X, y, loss="hinge", regulariser="half-l2", sample_weight=C, subject_to=[mo.at_most(0).nonzero])
    assert mo.solve(none, "sparse-bb").objective == pytest.approx(C * y.size, rel=1e-6)


@pytest.mark.parametrize("wrong", [np.ones(3), np.full(4, np.nan)])
def test_bad_starts_are_refused(wrong):
    """A start of the wrong length, or not finite."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((10, 4)), np.where(np.arange(10) % 2, 1.0, -1.0)
    model = mo.Margin(X, y, regulariser="half-l2", subject_to=[mo.at_most(2).nonzero])
    with pytest.raises(mo.errors.InputError):
        mo.solve(model, "sparse-bb", start={"w": wrong})


def test_other_models_are_not_read():
    """Convex models, other losses and other restrictions have no such view."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((10, 4)), np.where(np.arange(10) % 2, 1.0, -1.0)
    few = mo.at_most(2).nonzero
    for model in (
        mo.Margin(X, y), mo.Margin(X, y, loss="ramp", subject_to=[few]),
        mo.Margin(X, y, regulariser="l1", subject_to=[few], domain="box"),
        mo.Margin(X, y, subject_to=[few, mo.keep([0])]), mo.Margin(X, y, subject_to=[mo.at_most(4).nonzero]),
    ):  # fmt: skip
        assert model.view(SparseProblem) is None


def test_a_path_over_the_number_of_coefficients(tmp_path):
    """`mo.path(model, "k", ...)`: each value is that of its own model, and none rises with k."""
    X, y, _, _, _ = _data(4, 7)
    model = mo.Margin(X, y, "hinge", "half-l2", sample_weight=0.5, subject_to=[mo.at_most(1).nonzero])
    sizes = list(range(1, X.shape[1]))
    curve = mo.path(model, "k", sizes, solver="sparse-bb")
    objectives = [result.objective for result in curve]
    assert all(later <= earlier * (1 + 2e-6) for earlier, later in itertools.pairwise(objectives))
    for k, value in zip(sizes, objectives, strict=True):
        alone = mo.solve(mo.Margin(X, y, "hinge", "half-l2", sample_weight=0.5, subject_to=[mo.at_most(k).nonzero]), "sparse-bb")
        assert value == pytest.approx(alone.objective, rel=3e-6)
    with pytest.raises(mo.errors.InputError):
        mo.path(mo.Margin(X, y), "k", [1])
    with pytest.raises(mo.errors.InputError):
        mo.path(model, "k", [-1])


def test_a_path_carries_bounds_to_fewer_coefficients():
    """Searches that a limit ends: each bound holds for every smaller k, and none exceeds the optimum of its own."""
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal((40, 9)), np.where(rng.random(40) < 0.5, 1.0, -1.0)
    parts = {"loss": "hinge", "regulariser": "half-l2", "sample_weight": 3.0}
    model = mo.Margin(X, y, **parts, subject_to=[mo.at_most(1).nonzero])
    curve = mo.path(model, "k", [1, 2, 3, 4], solver="sparse-bb", node_limit=1)
    bounds = [result.bound for result in curve]
    assert bounds == sorted(bounds, reverse=True)
    for k, bound in enumerate(bounds, 1):
        _, optimum = _enumerated(X, y, np.full(40, 3.0), LinearLoss.HINGE, k)
        assert bound <= optimum * (1.0 + 1e-9)
    doubled = dataclasses.replace(model.view(SparseProblem), costs=np.full(40, 6.0))
    assert _implies(model.view(SparseProblem), model.view(SparseProblem))
    assert not _implies(model.view(SparseProblem), doubled)
    assert not _implies(model.view(SparseProblem), dataclasses.replace(model.view(SparseProblem), max_nonzeros=2))


def test_a_start_with_too_many_coefficients_keeps_the_largest():
    """The incumbent of a start is one of its largest coefficients, or better."""
    X, y, _, _, _ = _data(3, 7)
    model = mo.Margin(X, y, "hinge", "half-l2", sample_weight=0.5, subject_to=[mo.at_most(1).nonzero])
    w = np.zeros(X.shape[1])
    w[:2] = 1.0, 1e-6
    result = mo.solve(model, "sparse-bb", start={"w": w}, node_limit=1)
    alone = mo.solve(mo.Margin(X[:, :1], y, "hinge", "half-l2", sample_weight=0.5))
    assert result.objective <= alone.objective * (1.0 + 1e-6)


@pytest.mark.parametrize(("many", "tried"), [(1000, 8), (20, 0)])
def test_largest_coefficients_are_given_up(many, tried, monkeypatch):
    """Where none can be excluded at the root, no node below tries them; of too many none is tried."""
    calls = []
    monkeypatch.setattr(sparse_search, "_WEAK", 2.0)
    monkeypatch.setattr(sparse_search, "_MANY", many)
    monkeypatch.setattr(SparseRule, "_exclude_largest", lambda self, part, code, record: bool(calls.append(code)))
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 10))
    y = np.where(X[:, :2].sum(axis=1) + 2.0 * rng.standard_normal(40) > 0.0, 1.0, -1.0)
    model = mo.Margin(X, y, "hinge", "half-l2", sample_weight=1.0, subject_to=[mo.at_most(2).nonzero])
    search = _searched(model.view(SparseProblem))
    assert len(calls) == tried
    assert search.explored > 3
    low, high = _enumerated(X, y, np.ones(40), LinearLoss.HINGE, 2)
    assert low * (1 - 1e-9) <= search.incumbent.value <= high * (1 + 1e-6)
    assert search.bound >= search.incumbent.value * (1 - 2e-6)
