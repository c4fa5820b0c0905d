"""The ramp problem in the principal axes of its points, and what that may change of its optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...models.arrays import BoolArray, FloatArray
from ...models.views import RampProblem

__all__ = ["Rotated", "rotated"]

_EPS = 2.0**-52


@dataclass(frozen=True, eq=False)
class Rotated:
    """min Σ d_j v_j² + Σ c_i ρ(a_i'v), w = V v, c divided by μ; boxes along principal axes of the points cut less off at a time.

    Parameters
    ----------
    A, costs, penalised, height, width
        The rotated problem.
    V : ndarray (p, p)
        Orthogonal up to rounding; the identity on a free intercept.
    shift : float
        Σ_i c_i (h/d) |a_i'v - (a_i as given)'w| is at most this times ||w||, and ||v||² at most (1 + stretch) ||w||², v = V'w.
    stretch : float
    """

    A: FloatArray
    costs: FloatArray
    penalised: BoolArray
    height: float
    width: float
    V: FloatArray
    shift: float
    stretch: float

    def into(self, w: FloatArray) -> FloatArray:
        """v of w."""
        return np.asarray(self.V.T @ w)

    def back(self, v: FloatArray) -> FloatArray:
        """w of v."""
        return np.asarray(self.V @ v)

    def reach(self, value: float) -> FloatArray:
        """Bounds of |v_j| at some optimal point: ||v||² ≤ UB, and a free intercept stands at a corner of some point's ramp."""
        norm = np.sqrt(value) * (1.0 + 1e-9) + 1e-12
        rows = np.linalg.norm(self.A[:, self.penalised], axis=1).max(initial=0.0)
        corner = max(1.0, abs(1.0 - self.width)) + norm * float(rows)
        return np.where(self.penalised, norm, corner * (1.0 + 1e-9))

    def proved(self, bound: float, value: float) -> float:
        """A bound of the rotated problem as one of the problem: the rotation's rounding taken off.

        For a better w, ||w|| ≤ √UB on the penalised coordinates.
        """
        lost = self.shift * np.sqrt(value) * (1.0 + 1e-9)
        return float((bound - lost) / (1.0 + self.stretch)) if np.isfinite(bound) else bound


def rotated(problem: RampProblem) -> Rotated:
    """The problem in its principal axes."""
    A, seen = problem.A, problem.penalised
    p = A.shape[1]
    V = np.eye(p)
    inner = A[:, seen]
    V[np.ix_(seen, seen)] = np.linalg.eigh(inner.T @ inner)[1]
    costs = problem.costs / problem.mu
    skew = float(np.linalg.norm(V @ V.T - np.eye(p))) + 4.0 * p * _EPS
    norms = np.linalg.norm(inner, axis=1)
    shift = float((costs * norms).sum()) * problem.height / problem.width * (skew + 4.0 * p * _EPS)
    return Rotated(
        np.ascontiguousarray(A @ V), costs, np.ascontiguousarray(seen), problem.height, problem.width, V, shift, 2.0 * skew
    )
