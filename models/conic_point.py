"""Exactly feasible points of the conic SVM, Conic (21), from a w and a W of any quality.

With V = W - ww' ⪰ 0, r_i = 1 - u_i and d_i = a_i'V a_i the hull row reads x_i'W x_i - 2u_i + 1 = r_i² + d_i, so the best z
is z_i = (r_i)_+²/(r_i² + d_i) in closed form and any w, any V ⪰ 0 give a feasible point of the λ form. The κ form asks
Σz ≤ κn, which scaling V up achieves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from .arrays import FloatArray
from .views import ConicProblem

__all__ = ["ConicPoint", "Coordinates", "coordinates", "primal_point", "primal_value"]


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Coordinates w̃ in which the metric is the identity and there are at most min(n, p) of them.

    ``rows`` are the a_i there (n × r); w̃ = forward w, w = back w̃; None stands for the identity.
    """

    rows: FloatArray
    forward: FloatArray | None = None
    back: FloatArray | None = None

    def reduce(self, w: FloatArray) -> FloatArray:
        """w̃ of w (its part outside the span of the rows only adds to the norm)."""
        return w if self.forward is None else self.forward @ w

    def lift(self, w: FloatArray) -> FloatArray:
        """w of w̃."""
        return w if self.back is None else self.back @ w

    def lift_matrix(self, W: FloatArray) -> FloatArray:
        """W of W̃."""
        return W if self.back is None else self.back @ W @ self.back.T

    def reduce_matrix(self, W: FloatArray) -> FloatArray:
        """W̃ of W."""
        return W if self.forward is None else self.forward @ W @ self.forward.T


def coordinates(A: FloatArray, metric: FloatArray | None = None) -> Coordinates:
    """Whitened (for a metric) or reduced (for p > n) coordinates.

    A solution lies in the span of M⁻¹a_i, so nothing is lost. Eigenvalues of M below 1e-13 of the largest are
    dropped: they are rounding errors of a kernel matrix.

    Raises
    ------
    InputError
        The metric is not positive semidefinite, or a row leaves its range (the norm would not control it).
    """
    n, p = A.shape
    if metric is None:
        if p <= n:
            return Coordinates(np.ascontiguousarray(A))
        Q, R = np.linalg.qr(A.T)
        return Coordinates(np.ascontiguousarray(R.T), Q.T, Q)
    values, vectors = np.linalg.eigh(metric)
    largest = max(float(values[-1]), 0.0)
    keep = values > 1e-13 * max(largest, 1e-300)
    if values[0] < -1e-8 * largest or not keep.any():
        raise InputError(f"the metric must be positive semidefinite; its eigenvalues lie in [{values[0]:.3g}, {values[-1]:.3g}]")
    root = np.sqrt(values[keep])
    basis = vectors[:, keep]
    projected = A @ basis
    outside = np.abs(A - projected @ basis.T).max()
    if outside > 1e-6 * max(np.abs(A).max(), 1e-300):
        raise InputError(f"every row of A must lie in the range of the metric; one leaves it by {outside:.3g}")
    return Coordinates(np.ascontiguousarray(projected / root), root[:, None] * basis.T, basis / root)


@dataclass(frozen=True, eq=False)
class ConicPoint:
    """An exactly feasible point and its objective; ``values`` by the labels of `ConicSVM`'s form."""

    objective: float
    values: dict[str, FloatArray]


def primal_value(problem: ConicProblem, w: FloatArray, W: FloatArray | None = None, z: FloatArray | None = None) -> float:
    """Objective of `primal_point`: an upper bound of the optimum, whatever is given."""
    return primal_point(problem, w, W, z).objective


def primal_point(problem: ConicProblem, w: FloatArray, W: FloatArray | None = None, z: FloatArray | None = None) -> ConicPoint:
    """A feasible point of Conic (21) near (w, W).

    V = W - ww' is projected on the semidefinite cone (multiples of the inverse metric where W is not given) and
    multiplied by the t that is best in λ form, a convex problem in one variable, or that just meets the budget in κ form.
    z is then the best there is; a ``z`` that is given is kept where it is feasible and no worse.

    Raises
    ------
    InputError
        Wrong shapes, non-finite numbers, κ = 0 (the hard-margin problem is a QP), or a budget below the number of rows of zeros.
    """
    n, p = problem.A.shape
    w = np.asarray(w, dtype=np.float64)
    if w.shape != (p,) or not np.isfinite(w).all():
        raise InputError(f"w must hold {p} finite numbers; it has shape {w.shape}")
    if problem.kappa is not None and problem.kappa <= 0.0:
        raise InputError("kappa must be > 0 here; κ = 0 is the hard-margin problem, a QP")
    V = _spread(problem, w, W)
    r = 1.0 - problem.A @ w
    d = np.maximum(np.einsum("ij,ij->i", problem.A @ V, problem.A), 0.0)
    square = np.maximum(r, 0.0) ** 2
    if problem.kappa is not None and ((d == 0.0) & (square > 0.0) & problem.A.any(axis=1)).any():
        V = V + 1e-9 * max(float(np.trace(V)), 1.0) * _inverse_metric(problem)  # every violated point must be able to leave z = 1
        d = np.maximum(np.einsum("ij,ij->i", problem.A @ V, problem.A), 0.0)
    cost = float(np.trace(V)) if problem.metric is None else float((problem.metric * V).sum())
    t = _scale(problem, cost, d, square)
    V, d, cost = t * V, t * d, t * cost
    hull = r * r + d
    z_best = np.divide(square, hull, out=np.zeros(n), where=square > 0)
    z_best = np.clip(z_best, 0.0, 1.0)
    if z is not None:
        z_best = np.where((np.asarray(z) >= z_best) & (np.asarray(z) <= z_best * (1 + 1e-12)), z, z_best)
    values = {"w": w, "W": np.outer(w, w) + V, "z": z_best, "r_plus": np.maximum(r, 0.0), "r_minus": np.maximum(-r, 0.0)}
    values["s"] = np.where(r > 0.0, hull, 0.0)
    values["t"] = values["r_minus"] ** 2
    norm = float(w @ w) if problem.metric is None else float(w @ problem.metric @ w)
    objective = norm + cost + (0.0 if problem.lam is None else problem.lam * float(z_best.sum()))
    return ConicPoint(objective, values)


def _inverse_metric(problem: ConicProblem) -> FloatArray:
    space = coordinates(problem.A, problem.metric)
    return np.eye(problem.A.shape[1]) if space.back is None else np.asarray(space.back @ space.back.T)


def _spread(problem: ConicProblem, w: FloatArray, W: FloatArray | None) -> FloatArray:
    if W is None:
        return _inverse_metric(problem)
    W = np.asarray(W, dtype=np.float64)
    if W.shape != (w.size, w.size) or not np.isfinite(W).all():
        raise InputError(f"W must be a finite {w.size} × {w.size} matrix; it has shape {W.shape}")
    V = 0.5 * (W + W.T) - np.outer(w, w)
    values, vectors = np.linalg.eigh(V)
    return V if values[0] >= 0.0 else np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def _scale(problem: ConicProblem, cost: float, d: FloatArray, square: FloatArray) -> float:
    """The t ≥ 0 for t·V: argmin of t·cost + λΣ square/(square + t d), or the root of Σ square/(square + t d) = κn."""
    active = (square > 0.0) & (d > 0.0)
    if not active.any():
        return 0.0
    s, d = square[active], d[active]
    if problem.kappa is None:
        assert problem.lam is not None
        rate, target, power = problem.lam / max(cost, 1e-300), 1.0, 2
    else:
        stuck = float(((square > 0.0) & ~active).sum())  # rows of zeros: z = 1 whatever W is
        rate, target, power = 1.0, problem.kappa * square.size - stuck, 1
        if target <= 0.0:
            budget = problem.kappa * square.size
            raise InputError(f"the budget κn = {budget:g} is used up by {stuck:g} rows of zeros: no feasible point")

    def excess(t: float) -> float:
        """Decreasing in t; the root is sought. λ form: -(derivative of the loss) - cost; κ form: Σz - κn."""
        total = rate * (s * d / (s + t * d) ** 2).sum() if power == 2 else (s / (s + t * d)).sum()
        return float(total) - target

    if excess(0.0) <= 0.0:
        return 0.0
    low, high = 0.0, 1.0
    while excess(high) > 0.0:
        low, high = high, 4.0 * high
    for _ in range(200):
        middle = 0.5 * (low + high) if low == 0.0 or high < 4 * low else float(np.sqrt(low * high))
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
        if high - low <= 4e-16 * high:
            break
    return high
