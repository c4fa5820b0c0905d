"""Several classes in one program, against CVXPY, enumeration, and the two-class problem."""

from __future__ import annotations

import itertools
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models.digest import fingerprint

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
RNG = np.random.default_rng(4)
LABELS = np.repeat(["a", "b", "c", "d"], 7)
CODES = np.repeat(np.arange(4), 7)
X = np.column_stack([np.ones(28), RNG.normal(size=(28, 3)) + np.eye(4)[CODES][:, :3] * 1.5])
COSTS = RNG.uniform(0.3, 1.5, 28)


def stated(loss: str, X: np.ndarray, codes: np.ndarray, costs: np.ndarray) -> cp.Problem:
    """Written point by point."""
    K = codes.max() + 1
    W = cp.Variable((K, X.shape[1]))
    total: Any = 0.5 * cp.sum_squares(W)
    for x, k, c in zip(X, codes, costs, strict=True):
        losses = [cp.pos(1 - (W[k] - W[j]) @ x) for j in range(K) if j != k]
        total = total + c * (cp.max(cp.hstack(losses)) if loss == "crammer-singer" else cp.sum(cp.hstack(losses)))
    return cp.Problem(cp.Minimize(total))


@pytest.mark.parametrize("loss", ["crammer-singer", "weston-watkins"])
def test_the_optimum_is_cvxpys_and_the_dual_value_proves_it(loss: str) -> None:
    model = mo.MulticlassSVM(X, LABELS, loss, COSTS)
    result = mo.solve(model, "clarabel", tol=1e-9)
    theirs = stated(loss, X, CODES, COSTS)
    theirs.solve(solver="CLARABEL")
    assert result.objective == pytest.approx(theirs.value, rel=1e-6)
    assert model.objective(result.values["W"]) == pytest.approx(theirs.value, rel=1e-6)
    assert result.certificate.bound == pytest.approx(theirs.value, rel=1e-6)
    assert result.certificate.bound <= theirs.value + 1e-7
    alpha = result.multipliers["margin"]
    again = model.primal_from_dual(alpha)
    np.testing.assert_allclose(again["W"], result.values["W"], atol=1e-5)


@pytest.mark.parametrize("loss", ["crammer-singer", "weston-watkins"])
def test_any_multipliers_give_a_bound_below_the_optimum(loss: str) -> None:
    model = mo.MulticlassSVM(X, LABELS, loss, COSTS)
    best = mo.solve(model, "clarabel").objective
    rng = np.random.default_rng(0)
    values = [model.bound(None, {"margin": rng.normal(scale=s, size=84)}).value for s in (0.01, 0.1, 1.0, 10.0)]
    assert max(values) < best
    assert np.isfinite(values).all()
    assert model.bound(None, {"margin": np.full(84, 1e-3)}).value > 0


def test_two_classes_of_crammer_and_singer_are_the_hinge_svm() -> None:
    """w_1 = -w_0 = v: ||v||² + Σ c (1 - 2 y v'x)_+, so with u = 2v a quarter of the norm."""
    two = CODES < 2
    y = np.where(CODES[two] == 1, 1.0, -1.0)
    model = mo.MulticlassSVM(X[two], LABELS[two], sample_weight=0.7)
    hinge = mo.HingeSVM(X[two], y, 4 * 0.7)
    assert mo.solve(model, "clarabel").objective == pytest.approx(mo.solve(hinge, "clarabel").objective / 4, rel=1e-6)


def test_the_zero_one_problem_against_enumeration() -> None:
    """Every set of points that keep their margins, a convex problem each; in one program, big-M cuts nothing off."""
    rng = np.random.default_rng(1)
    codes = np.array([0, 1, 2, 0, 1, 2])
    points = np.column_stack([np.ones(6), rng.normal(size=(6, 1))])
    model = mo.MulticlassSVM(points, codes, "zero-one", 0.8)
    result = mo.solve(model, "scip")
    best = np.inf
    for value in itertools.product([False, True], repeat=6):
        W = cp.Variable((3, 2))
        rows = [(W[codes[i]] - W[k]) @ points[i] >= 1 for i in range(6) if value[i] for k in range(3) if k != codes[i]]
        problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(W)), rows)
        problem.solve(solver="CLARABEL")
        if problem.status == "optimal":
            best = min(best, problem.value + 0.8 * (6 - sum(value)))
    assert result.objective == pytest.approx(best, rel=1e-4)
    assert model.objective(result.values["W"] * (1 + 1e-6)) == pytest.approx(best, rel=1e-4)


def test_scores_points_kernel_and_statement() -> None:
    model = mo.MulticlassSVM(X, LABELS, sample_weight=2.0)
    result = mo.solve(model, "clarabel")
    scores = model.decision_function(result.values, X)
    np.testing.assert_allclose(scores, X @ result.values["W"].T)
    wrong = int((model.classes[scores.argmax(axis=1)] != LABELS).sum())
    assert result.summary["misclassified"] == wrong == len(model.explain(result).misclassified)
    assert "dual:" in str(model)
    assert r"\mathbb{R}^{K\times p}" in model.latex()
    kernel = mo.Polynomial(1, 1.0, 0.0)
    images = mo.MulticlassSVM(X[:, 1:], LABELS, sample_weight=2.0, kernel=kernel)
    assert mo.solve(images, "clarabel").objective == pytest.approx(result.objective, rel=1e-6)
    changed = model.with_constraint(lambda v: cp.sum(v.W, axis=0)[1:] == 1)
    np.testing.assert_allclose(mo.solve(changed, "clarabel").values["W"].sum(axis=0)[1:], 1, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"loss": "hinge"}, "hinge"),
        ({"loss": 3}, "loss"),
        ({"y": np.zeros(28)}, "y"),
        ({"y": np.zeros(3)}, "y"),
        ({"sample_weight": 0.0}, "sample_weight"),
    ],
)
def test_refusals(arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        mo.MulticlassSVM(**{"X": X, "y": LABELS, **arguments})


@pytest.mark.parametrize("loss", ["crammer-singer", "weston-watkins"])
def test_the_estimator_solves_the_standardised_problem(loss: str) -> None:
    fitted = mo.estimators.MulticlassSVC(loss, lam=0.6, tol=1e-9).fit(X[:, 1:], LABELS, sample_weight=COSTS)
    centre = np.average(X[:, 1:], axis=0, weights=COSTS)
    spread = np.sqrt(np.average((X[:, 1:] - centre) ** 2, axis=0, weights=COSTS))
    Z = np.column_stack([np.ones(28), (X[:, 1:] - centre) / spread])
    theirs = stated(loss, Z, CODES, 0.6 * COSTS)
    theirs.solve(solver="CLARABEL")
    assert fitted.result_.objective == pytest.approx(theirs.value, rel=1e-6)
    np.testing.assert_allclose(fitted.decision_function(X[:, 1:]), Z @ theirs.variables()[0].value.T, atol=1e-3)
    assert fitted.score(X[:, 1:], LABELS) > 0.5


def test_labels_that_are_objects_have_a_fingerprint() -> None:
    X, names = np.random.default_rng(0).normal(size=(6, 2)), ["a", "b", "c"] * 2
    first, again, other = (
        fingerprint(mo.MulticlassSVM(X, np.array(y, dtype=object))) for y in (names, list(names), names[::-1])
    )  # fmt: skip
    assert first == again != other
    assert first
