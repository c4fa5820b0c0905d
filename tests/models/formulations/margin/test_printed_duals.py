"""The closed-form duals as they are printed: each is stated once more in CVXPY, and has the optimum of the problem."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from effort import part

import marginopt as mo

rng = np.random.default_rng(7)
X = np.column_stack([np.ones(14), rng.normal(size=(14, 2))])
Y = np.where(X[:, 1] + 0.8 * rng.normal(size=14) > 0, 1.0, -1.0)
RESIDUAL = X[:, 1] - 0.4 * X[:, 2] + 0.3 * rng.normal(size=14)
C = rng.uniform(0.3, 0.8, size=14)
SQUARES = (X * X).sum(axis=1)
I, J = np.nonzero(Y[:, None] > Y[None, :])
SIGNED = Y[:, None] * X

#: A loss, its labels; how the objective, the sum in the norm and the conditions are printed; the same in CVXPY.
Restated = tuple[Any, np.ndarray, str, str, tuple[str, ...], Callable[[], tuple[Any, Any, list[Any], Any]]]


def _hinge() -> tuple[Any, Any, list[Any], Any]:
    alpha = cp.Variable(14)
    return cp.sum(alpha), SIGNED.T @ alpha, [alpha >= 0, alpha <= C], Y @ alpha


def _squared() -> tuple[Any, Any, list[Any], Any]:
    alpha = cp.Variable(14)
    return cp.sum(alpha - cp.multiply(0.25 / C, alpha**2)), SIGNED.T @ alpha, [alpha >= 0], Y @ alpha


def _logistic() -> tuple[Any, Any, list[Any], Any]:
    alpha = cp.Variable(14)
    entropies = cp.sum(-cp.rel_entr(alpha, C) - cp.rel_entr(C - alpha, C))
    return entropies, SIGNED.T @ alpha, [alpha >= 0, alpha <= C], Y @ alpha


def _exponential() -> tuple[Any, Any, list[Any], Any]:
    alpha = cp.Variable(14)
    return cp.sum(alpha) - cp.sum(cp.rel_entr(alpha, C)), SIGNED.T @ alpha, [alpha >= 0], Y @ alpha


def _huber() -> tuple[Any, Any, list[Any], Any]:
    beta = cp.Variable(14)
    return RESIDUAL @ beta - cp.sum(cp.multiply(0.5 / C, beta**2)), X.T @ beta, [cp.abs(beta) <= 0.2 * C], cp.sum(beta)


def _nu() -> tuple[Any, Any, list[Any], Any]:
    alpha = cp.Variable(14)
    return 0.0, SIGNED.T @ alpha, [alpha >= 0, alpha <= C, cp.sum(alpha) >= 0.1 * C.sum()], Y @ alpha


def _one_class() -> tuple[Any, Any, list[Any], Any]:
    alpha = cp.Variable(14)
    return 0.0, X.T @ alpha, [alpha >= 0, alpha <= C, cp.sum(alpha) >= 0.1 * C.sum()], cp.sum(alpha)


def _insensitive() -> tuple[Any, Any, list[Any], Any]:
    beta = cp.Variable(14)
    return RESIDUAL @ beta - 0.1 * cp.norm1(beta), X.T @ beta, [cp.abs(beta) <= C], cp.sum(beta)


def _pairs() -> tuple[Any, Any, list[Any], Any]:
    alpha = cp.Variable(I.size)
    return cp.sum(alpha), (X[I] - X[J]).T @ alpha, [alpha >= 0, alpha <= C[I] * C[J]], 0.0


def _ball() -> tuple[Any, Any, list[Any], Any]:
    alpha = cp.Variable(14)
    return SQUARES @ alpha, 2.0 * (X.T @ alpha), [alpha >= 0, alpha <= C, cp.sum(alpha) == 1], cp.sum(alpha)


def _hulls() -> tuple[Any, Any, list[Any], Any]:
    alpha = cp.Variable(14)
    sums = [cp.sum(alpha[chosen]) == 1 for chosen in (Y > 0, Y < 0)]
    return -cp.sum(cp.multiply(0.5 / C, alpha**2)), SIGNED.T @ alpha, [alpha >= 0, *sums], Y @ alpha


BOX, SHARE = "0 <= alpha_i <= c_i", "sum_i alpha_i >= 0.1 sum_i c_i"
HULLS = ("sum over y_i = 1 of alpha_i = 1", "sum over y_i = -1 of alpha_i = 1", "alpha_i >= 0")
ROWS, POINTS = "sum_i alpha_i y_i x_i", "sum_i alpha_i x_i"
DIFFERENCES = "sum_(y_i > y_j) alpha_ij (x_i - x_j)"
CASES: dict[str, Restated] = {
    "hinge": (mo.margin.Hinge(), Y, "sum_i alpha_i", ROWS, (BOX,), _hinge),
    "squared": (mo.margin.SquaredHinge(), Y, "sum_i (alpha_i - alpha_i^2/(4 c_i))", ROWS, ("alpha_i >= 0",), _squared),
    "logistic": (
        mo.margin.Logistic(), Y, "sum_i c_i H(alpha_i/c_i)", ROWS, (BOX, "H(p) = -p log p - (1 - p) log(1 - p)"), _logistic,
    ),
    "exponential": (
        mo.margin.ExponentialLoss(), Y, "sum_i alpha_i (1 - log(alpha_i/c_i))", ROWS, ("alpha_i >= 0",), _exponential,
    ),
    "huber": (
        mo.margin.Huber(0.2), RESIDUAL, "sum_i (y_i beta_i - beta_i^2/(2 c_i))", "sum_i beta_i x_i",
        ("|beta_i| <= 1/5 c_i",), _huber,
    ),
    "nu": (mo.margin.NuHinge(0.1), Y, "", ROWS, (BOX, SHARE), _nu),
    "one-class": (mo.margin.OneClass(0.1), Y, "", POINTS, (BOX, SHARE), _one_class),
    "insensitive": (
        mo.margin.EpsilonInsensitive(0.1), RESIDUAL, "sum_i (y_i beta_i - 0.1 |beta_i|)", "sum_i beta_i x_i",
        ("|beta_i| <= c_i",), _insensitive,
    ),
    "pairs": (mo.margin.PairwiseHinge(), Y, "sum_(y_i > y_j) alpha_ij", DIFFERENCES, ("0 <= alpha_ij <= c_i c_j",), _pairs),
    "ball": (mo.margin.SoftBall(), Y, "sum_i alpha_i x_i'x_i", POINTS, (BOX, "sum_i alpha_i = 1"), _ball),
    "hulls": (mo.margin.NearestHulls(), Y, "-sum_i alpha_i^2/(2 c_i)", ROWS, HULLS, _hulls),
}  # fmt: skip
BALANCE = {"insensitive": "sum_i beta_i = 0", "huber": "sum_i beta_i = 0", "pairs": None}


#: A free intercept moves a ball and a halfspace of one class without end: their duals are empty.
ENDLESS = ("one-class", "ball")


PRINTED = [*((name, "penalised") for name in CASES), *((name, "free") for name in CASES if name not in ENDLESS)]


@pytest.mark.parametrize(("printed", "mu"), part(product(PRINTED, [0.25, 0.5, 1.0]), 1, kind=lambda cell: cell[0]), ids=str)
def test_a_printed_dual_has_the_optimum_of_the_problem(printed: tuple[str, Any], mu: float) -> None:
    name, intercept = printed
    loss, y, part, total, conditions, binary_restatement = CASES[name]
    model = mo.Margin(X, y, loss, mo.margin.SquaredNorm(mu), intercept=intercept, sample_weight=C)
    dual = model.statement.dual
    assert dual is not None
    factor = ({0.25: "4 ", 0.5: "2 ", 1.0: ""} if name == "ball" else {0.25: "", 0.5: "1/2 ", 1.0: "1/4 "})[mu]
    assert dual.objective.text == (f"{part} - " if part else "-") + f"{factor}||{total}||^2"
    balance = BALANCE.get(name, "sum_i alpha_i y_i = 0") if intercept == "free" else None
    assert [line.text for line in dual.constraints] == [*conditions, *([balance] if balance else [])]
    linear, summed, rows, balanced = binary_restatement()
    if balance:
        rows = [*rows, balanced == 0]
    problem = cp.Problem(cp.Maximize(linear - cp.sum_squares(summed) / (4.0 * mu)), rows)
    problem.solve(solver=cp.CLARABEL)
    result = mo.solve(model, "clarabel")
    assert result.objective == pytest.approx(problem.value, rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(result.values["w"][1:], np.asarray(summed.value)[1:] / (2.0 * mu), atol=1e-3)


def test_a_ball_with_a_norm_has_no_dual_in_closed_form() -> None:
    """The dual of the ball alone is printed; with a norm beside it that would be another problem's."""
    assert mo.Margin(X, Y, mo.margin.EnclosingBall(), "none").statement.dual is not None
    assert mo.Margin(X, Y, mo.margin.EnclosingBall(), "l2").statement.dual is None
