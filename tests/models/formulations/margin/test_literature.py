"""Ten problems of the literature in a line or two, beside statements written independently: CVXPY, scikit-learn, enumeration."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from data import clouds
from sklearn.svm import SVR, NuSVC, OneClassSVM

import marginopt as mo
from marginopt import margin


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points with a column of ones, labels, and a group that goes with the labels."""
    rng = np.random.default_rng(7)
    X, y = clouds(rng, 28, 3, 0.7, order="halves", first=-1.0)
    return X, y, (X[:, 1] + rng.normal(size=28) > 0).astype(int)


def convex(model: mo.Model) -> mo.Result:
    """Two solvers agree, and the bound is close."""
    first, second = (mo.solve(model, solver, tol=1e-8) for solver in ("clarabel", "scs"))
    assert first.solved
    assert second.objective == pytest.approx(first.objective, rel=1e-3, abs=1e-4)
    return first


def cvxpy_value(cost: Any, rows: list[Any]) -> float:
    return float(cp.Problem(cp.Minimize(cost), rows).solve(solver="CLARABEL"))


def test_l1_svm_with_a_fairness_row(data: Any) -> None:
    X, y, group = data
    model = mo.Margin(X, y, regulariser=margin.L1(0.5), intercept="free", subject_to=mo.parity(group, 0.02))
    w = cp.Variable(4)
    covariance = np.mean((group - group.mean())[:, None] * X, axis=0)
    cost = 0.5 * cp.norm1(w[1:]) + cp.sum(cp.pos(1 - cp.multiply(y, X @ w)))
    expected = cvxpy_value(cost, [cp.abs(covariance @ w) <= 0.02])
    assert convex(model).objective == pytest.approx(expected, rel=1e-6)
    assert expected > cvxpy_value(cost, []) + 1e-3, "the row must bind"


def test_elastic_net_squared_hinge(data: Any) -> None:
    X, y, _ = data
    w = cp.Variable(4)
    cost = 0.3 * cp.norm1(w) + 0.2 * cp.sum_squares(w) + 2 * cp.sum_squares(cp.pos(1 - cp.multiply(y, X @ w)))
    model = mo.Margin(X, y, "squared-hinge", margin.ElasticNet(0.3, 0.2), sample_weight=2.0)
    assert convex(model).objective == pytest.approx(cvxpy_value(cost, []), rel=1e-6)


def test_monotone_svm(data: Any) -> None:
    X, y, _ = data
    w = cp.Variable(4)
    cost = 0.5 * cp.sum_squares(w[1:]) + cp.sum(cp.pos(1 - cp.multiply(y, X @ w)))
    model = mo.Margin(X, y, regulariser="half-l2", intercept="free", domain=margin.Signs((0, 1, -1, 0)))
    assert convex(model).objective == pytest.approx(cvxpy_value(cost, [w[1] >= 0, w[2] <= 0]), rel=1e-6)
    ordered = mo.Margin(X, y, regulariser="half-l2", intercept="free", domain=margin.Increasing((3, 2, 1)))
    assert convex(ordered).objective == pytest.approx(cvxpy_value(cost, [w[3] <= w[2], w[2] <= w[1]]), rel=1e-6)


def test_nu_svm_is_scikit_learns(data: Any) -> None:
    X, y, _ = data
    model = mo.Margin(X, y, margin.NuHinge(0.6), "half-l2", intercept="free", sample_weight=1 / 28)
    values = convex(model).values
    theirs = NuSVC(nu=0.6, kernel="linear", tol=1e-8).fit(X[:, 1:], y)
    rho = float(values["rho"][0])  # LIBSVM divides by the margin ρ
    np.testing.assert_allclose(values["w"][1:] / rho, theirs.coef_[0], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(values["w"][0] / rho, theirs.intercept_[0], rtol=1e-3, atol=1e-3)


def test_one_class_svm_is_scikit_learns(data: Any) -> None:
    X = data[0][:, 1:] + 2.0
    model = mo.Margin(X, np.zeros(28), margin.OneClass(0.4), "half-l2", sample_weight=1 / 28)
    values = convex(model).values
    theirs = OneClassSVM(nu=0.4, kernel="linear", tol=1e-9).fit(X)
    # ours is theirs with w and rho times nu n * (1/n): LIBSVM scales the sum of alphas to nu n
    direction, other = values["w"] / np.linalg.norm(values["w"]), theirs.coef_[0] / np.linalg.norm(theirs.coef_)
    np.testing.assert_allclose(direction, other, atol=1e-4)
    offset = values["rho"][0] / np.linalg.norm(values["w"])
    assert offset == pytest.approx(-theirs.intercept_[0] / np.linalg.norm(theirs.coef_), rel=1e-3)


@pytest.mark.parametrize("squared", [False, True])
def test_epsilon_svr(data: Any, squared: bool) -> None:
    X = data[0]
    target = X @ [0.5, 1.0, -2.0, 0.3] + np.random.default_rng(1).normal(size=28)
    loss = margin.EpsilonInsensitive(0.3, squared)
    model = mo.Margin(X, target, loss, "half-l2", intercept="free", sample_weight=2.0)
    result = convex(model)
    w = cp.Variable(4)
    excess = cp.pos(cp.abs(target - X @ w) - 0.3)
    cost = 0.5 * cp.sum_squares(w[1:]) + 2 * (cp.sum_squares(excess) if squared else cp.sum(excess))
    assert result.objective == pytest.approx(cvxpy_value(cost, []), rel=1e-6)
    if not squared:
        theirs = SVR(kernel="linear", C=2.0, epsilon=0.3, tol=1e-9).fit(X[:, 1:], target)
        np.testing.assert_allclose(result.values["w"][1:], theirs.coef_[0], atol=1e-3)


def test_ranking(data: Any) -> None:
    X, grades = data[0][::4, 1:], np.arange(7.0)
    w = cp.Variable(3)
    pairs = [(i, j) for i, j in product(range(7), repeat=2) if grades[i] > grades[j]]
    cost = cp.sum_squares(w) + 0.1 * sum(cp.pos(1 - (X[i] - X[j]) @ w) for i, j in pairs)
    model = mo.Margin(X, grades, "pairwise", sample_weight=np.sqrt(0.1))
    assert convex(model).objective == pytest.approx(cvxpy_value(cost, []), rel=1e-6)


def test_group_l1_and_kernel_weights(data: Any) -> None:
    X, y, _ = data
    w, alpha = cp.Variable(4), cp.Variable(28)
    hinge = cp.sum(cp.pos(1 - cp.multiply(y, X @ w)))
    groups = cp.norm(w[:2]) + cp.norm(w[2:])
    model = mo.Margin(X, y, regulariser=margin.GroupL1((0, 0, 1, 1), 0.7))
    assert convex(model).objective == pytest.approx(cvxpy_value(0.7 * groups + hinge, []), rel=1e-6)
    model = mo.Margin(X, y, regulariser=margin.KernelWeightsL1(X, 0.7))
    result = convex(model)
    assert result.objective == pytest.approx(cvxpy_value(0.7 * cp.norm1(alpha) + hinge, [w == X.T @ alpha]), rel=1e-6)
    assert model.objective(result.values["w"]) == pytest.approx(result.objective, rel=1e-5)


def test_a_loss_of_the_users_own(data: Any) -> None:
    X, y, _ = data
    w = cp.Variable(4)
    m = cp.multiply(y, X @ w)
    loss = cp.sum(cp.maximum(1 - 2 * m, 1 - m, 0))
    model = mo.Margin(X, y, margin.PiecewiseLinear(((-1.0, 3.0), (0.0, 1.0), (1.0, 0.0), (2.0, 0.0))))
    assert convex(model).objective == pytest.approx(cvxpy_value(cp.sum_squares(w) + loss, []), rel=1e-6)


# -- with integers ------------------------------------------------------------------------------------------------------


def best_by_enumeration(X: np.ndarray, y: np.ndarray, allowed: Any, cost: Any) -> float:
    """The least value over all choices of violated points that are allowed: the cost of w and one for each violated point."""
    n, p = X.shape
    best = np.inf
    for violated in product([False, True], repeat=n):
        mask = np.array(violated)
        if not allowed(mask) or mask.sum() >= best:
            continue
        w = cp.Variable(p)
        rows = [cp.multiply(y[~mask], X[~mask] @ w) >= 1] if (~mask).any() else []
        problem = cp.Problem(cp.Minimize(cost(w)), rows)
        problem.solve(solver="CLARABEL")
        if problem.status in ("optimal", "optimal_inaccurate"):
            best = min(best, float(problem.value) + float(mask.sum()))
    return best


@pytest.fixture(scope="module")
def few(data: Any) -> tuple[np.ndarray, np.ndarray]:
    X, y, _ = data
    chosen = [0, 3, 6, 9, 15, 18, 21, 24]
    return X[chosen, :3], y[chosen]


def test_neyman_pearson_zero_one(few: Any) -> None:
    X, y = few
    model = mo.Margin(X, y, "zero-one", "l2", subject_to=mo.error_budget(-1, 0.25))
    expected = best_by_enumeration(X, y, lambda v: v[y < 0].sum() <= 1, cp.sum_squares)
    for solver in ("scip", "gurobi"):
        assert mo.solve(model, solver, time_limit=60).objective == pytest.approx(expected, rel=1e-4)


def test_points_that_are_kept(few: Any) -> None:
    X, y = few
    model = mo.Margin(X, y, "zero-one", "l1", subject_to=[mo.keep([0, 5]), mo.fixed({2: 0.1})])
    w_fixed = 0.1

    def cost(w: Any) -> Any:
        return cp.norm1(w) + 1e6 * cp.abs(w[2] - w_fixed)

    expected = best_by_enumeration(X, y, lambda v: not v[0] and not v[5], cost)
    assert mo.solve(model, "scip", time_limit=60).objective == pytest.approx(expected, rel=1e-3, abs=1e-3)


@pytest.mark.filterwarnings("ignore:X has no constant column")
def test_sparse_zero_one(few: Any) -> None:
    X, y = few
    wide = np.column_stack([X, X[:, 1] ** 2, X[:, 2] ** 2])
    model = mo.Margin(wide, y, "zero-one", "l2", subject_to=mo.at_most(2).nonzero)
    supports = [wide[:, list(s)] for s in combinations(range(5), 2)]
    expected = min(mo.solve(mo.ZeroOneSVM(part, y, 1.0), "scip").objective for part in supports)
    result = mo.solve(model, "scip", time_limit=60)
    assert result.objective == pytest.approx(expected, rel=1e-4)
    assert result.summary["nonzero"] <= 2


def test_ramp_with_l1_equals_a_grid_of_hinge_programs(few: Any) -> None:
    """Which points are given up decides the rest, an L1 program: the best over all choices."""
    X, y = few
    model = mo.Margin(X, y, margin.Ramp(2.0, 2.0), margin.L1(0.5), intercept="free")
    best = np.inf
    for given_up in product([False, True], repeat=8):
        mask = np.array(given_up)
        w = cp.Variable(3)
        loss = cp.sum(cp.pos(1 - cp.multiply(y[~mask], X[~mask] @ w))) if (~mask).any() else 0
        best = min(best, float(cp.Problem(cp.Minimize(0.5 * cp.norm1(w[1:]) + loss)).solve(solver="CLARABEL")) + 2.0 * mask.sum())
    result = mo.solve(model, "scip", time_limit=60)
    assert result.objective == pytest.approx(best, rel=1e-5)
    assert model.objective(result.values["w"]) == pytest.approx(best, rel=1e-5)


def test_scoring_system_equals_enumeration() -> None:
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(20), rng.integers(0, 2, size=(20, 3))])
    y = np.where(X[:, 1] + X[:, 2] - X[:, 3] + rng.normal(scale=0.8, size=20) > 0.7, 1.0, -1.0)
    model = mo.Margin(
        X, y, "zero-one", margin.L0(0.01), intercept="free", domain=margin.Integers(-3, 3), sample_weight=1 / 20,
        subject_to=mo.at_most(2).nonzero,
    )  # fmt: skip
    best = np.inf
    for w in product(range(-3, 4), repeat=4):
        if np.count_nonzero(w[1:]) <= 2:
            best = min(best, float(np.mean(y * (X @ w) < 1)) + 0.01 * np.count_nonzero(w[1:]))
    for solver in ("scip", "highs"):
        result = mo.solve(model, solver, time_limit=60)
        assert result.objective == pytest.approx(best, abs=1e-6)
        assert model.objective(np.round(result.values["w"])) == pytest.approx(best, abs=1e-6)
