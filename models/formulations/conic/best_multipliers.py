"""The best v for a fixed γ, and the best μ: the inner problems of the conic bound, solved in floating point.

Nothing here is a bound: `bound` proves what these find.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dtrtrs as trtrs

from ....errors import InputError
from ...arrays import FloatArray
from ...views import ConicProblem
from .piecewise_newton import Slopes, newton_piecewise
from .point import Coordinates

__all__ = ["INNER_GAP", "best_mu", "best_v", "conjugate", "cost_and_constant", "slack_factor"]


#: Relative gap of the inner problem (fixed γ) at which it counts as solved.
INNER_GAP = 1e-10


def slack_factor(rows: FloatArray, gamma: FloatArray) -> FloatArray | None:
    """Lower Cholesky factor of S; None where S is not positive definite."""
    try:
        return np.asarray(np.linalg.cholesky(np.eye(rows.shape[1]) - (rows * gamma[:, None]).T @ rows), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None


def conjugate(gamma: FloatArray, v: FloatArray, cost: float) -> FloatArray:
    """ψ*_i(v_i)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        square = np.where(v == 0.0, 0.0, v * v / (4.0 * gamma))
    return np.where(v < 0.0, square, np.maximum(square - cost, 0.0))


def _value(rows: FloatArray, factor: FloatArray | None, gamma: FloatArray, v: FloatArray, cost: float, constant: float) -> float:
    """D(γ, v) in floating point: to choose by. What is called a bound is `proved_value`."""
    if factor is None:
        return -np.inf
    penalty = float(conjugate(gamma, v, cost).sum())
    if not np.isfinite(penalty):
        return -np.inf
    half, _ = trtrs(factor, rows.T @ (2.0 * gamma - v), lower=1)  # SciPy's doors to it take longer than it does
    quadratic = 0.25 * float(half @ half)
    return float((v - gamma).sum()) - penalty - quadratic - constant


def best_v(
    rows: FloatArray, factor: FloatArray | None, gamma: FloatArray, cost: float, start: FloatArray | None
) -> tuple[FloatArray, float]:
    """A v that (nearly) maximises D(γ, ·), and the value of the inner primal problem, which no v exceeds.

    The term -½ Σ δ v_i²/(2γ_i) makes the maximiser over v for given w unique and Lipschitz in w: a clipped linear function
    of r, the derivative of a smoothed ψ. Its p-dimensional primal is piecewise quadratic; `newton_piecewise` minimises it
    for δ = 1e-1, 1e-2, ..., each from the solution before.
    """
    v = np.zeros_like(gamma)
    support = np.flatnonzero(gamma > 0.0)
    if factor is None or support.size == 0 or cost <= 0.0:
        return v, np.inf
    inner = _SmoothedInner(rows[support], gamma[support], cost)
    w = np.zeros(rows.shape[1]) if start is None else start
    best, best_value, attained = v, -np.inf, np.inf
    for delta in 10.0 ** -np.arange(1.0, 13.0):
        w = inner.minimise(w, delta)
        v = np.zeros_like(gamma)
        v[support] = inner.slopes(delta)(1.0 - inner.rows @ w)[0]
        value = _value(rows, factor, gamma, v, cost, 0.0)
        attained = min(attained, inner.exact(w))
        if value > best_value:
            best, best_value = v, value
        if attained - best_value <= INNER_GAP * abs(best_value):
            break
    return best, attained


class _SmoothedInner:
    """min over w of w'Sw + 2Σγu - Σγ + Σψ_δ(1 - u) for fixed γ > 0."""

    def __init__(self, rows: FloatArray, gamma: FloatArray, cost: float) -> None:
        self.rows, self.gamma, self.cost = rows, gamma, cost
        self.corner = 2.0 * np.sqrt(cost * gamma)  # v at the end of the linear piece
        self.S = np.eye(rows.shape[1]) - (rows * gamma[:, None]).T @ rows
        self.linear = 2.0 * rows.T @ gamma

    def slopes(self, delta: float) -> Slopes:
        """v = ψ_δ'(r) and its derivative, as a function of r."""
        corner, slack = self.corner, delta / (2.0 * self.gamma)
        outer, steep = 2.0 * self.gamma / (1.0 + delta), 1.0 / slack
        bend = slack * corner  # the linear piece is reached here
        reach = bend + 0.5 * corner / self.gamma  # and left here

        def at(r: FloatArray) -> tuple[FloatArray, FloatArray]:
            outside = (r < 0.0) | (r >= reach)
            v = np.where(outside, outer * r, np.minimum(r / slack, corner))
            return v, np.where(outside, outer, np.where(r < bend, steep, 0.0))

        return at

    def exact(self, w: FloatArray) -> float:
        """The objective with ψ itself."""
        u = self.rows @ w
        r = 1.0 - u
        square = self.gamma * r * r
        psi = np.where(r < 0.0, square, np.where(r * r * self.gamma < self.cost, self.corner * r, self.cost + square))
        return float(w @ self.S @ w + (self.gamma * (2.0 * u - 1.0)).sum() + psi.sum())

    def minimise(self, w: FloatArray, delta: float) -> FloatArray:
        """Newton's method from w."""
        floor = 1e-15 * max(abs(self.exact(w)), self.cost)
        return newton_piecewise(self.rows, self.S, self.linear, self.slopes(delta), w, floor, 40)


def best_mu(problem: ConicProblem, space: Coordinates, gamma: FloatArray, start: FloatArray | None) -> float:
    """μ that (nearly) maximises the concave max_v D(γ, v, μ), by golden section over log μ."""
    factor = slack_factor(space.rows, gamma)

    def value(log_mu: float) -> float:
        cost, constant = cost_and_constant(problem, float(np.exp(log_mu)))
        return _value(space.rows, factor, gamma, best_v(space.rows, factor, gamma, cost, start)[0], cost, constant)

    guess = 2.0 * np.log(max(float(np.sqrt(gamma).sum()), 1e-150) / max((problem.kappa or 0.0) * gamma.size, 1e-150))
    return float(np.exp(_golden(value, guess - 25.0, guess + 5.0)))


def _golden(function: Callable[[float], float], low: float, high: float) -> float:
    ratio = 0.5 * (np.sqrt(5.0) - 1.0)
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > 1e-7:
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
    return 0.5 * (low + high)


def cost_and_constant(problem: ConicProblem, mu: float | None) -> tuple[float, float]:
    """Cost of a violated point (λ or μ) and the constant that is subtracted (μκn)."""
    if problem.kappa is None:
        assert problem.lam is not None
        return float(problem.lam), 0.0
    if mu is None or not np.isfinite(mu):
        raise InputError(f"the κ form needs the budget's multiplier mu ≥ 0; it is {mu!r}")
    cost = max(float(mu), 0.0)
    return cost, cost * problem.kappa * problem.A.shape[0]
