"""The ramp problem in coordinates that suit boxes, and what that may change of its optimum."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...models.arrays import FloatArray
from ...models.views import RampProblem
from ..zero_one.rotation import rotation, turned

__all__ = ["Rotated", "own", "rotated"]

_EPS = 2.0**-52


@dataclass(frozen=True, eq=False)
class Rotated:
    """The problem in v, w = V v: boxes along these coordinates cut less off at a time.

    Parameters
    ----------
    problem : RampProblem
        The rotated problem. Its norm of v = V'w is that of w, but for the rounding of the atoms, of which the kernels know.
    V : ndarray (p, p)
        Orthogonal up to rounding; the identity on a free intercept.
    shift : float
        Losses of v differ by at most this times ||w|| from those of w, v = V'w.
    stretch : float
        ||v||² is at most (1 + stretch) ||w||².
    """

    problem: RampProblem
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
        """Bounds of |v_j| at some optimal point, of a value below that: by squares, by the norm, and for a free intercept.

        For a fixed w the objective is piecewise linear in an intercept, so some best one stands at a corner of some point's loss.
        """
        at, held = self.problem, self.problem.penalised
        squares = np.full(held.size, np.inf)  # at an optimum of 0 a quotient and a product would be 0/0 and 0·∞
        np.divide(value, at.curvature, out=squares, where=at.curvature > 0.0)
        span = np.abs(at.atoms).max(axis=0, initial=0.0)  # |w_j| of a combination with ||α||_1 ≤ 1
        norm = np.minimum(np.sqrt(squares), np.where(span > 0.0, span * value, np.inf)) * (1.0 + 1e-9) + 1e-12
        rows = np.abs(at.A[:, held]) @ norm[held]
        corner = max(1.0, abs(1.0 - at.width), at.beyond - 1.0 if np.isfinite(at.beyond) else 0.0)
        return np.where(held, norm, (corner + float(rows.max(initial=0.0))) * (1.0 + 1e-9))

    def lost(self, value: float) -> float:
        """What the roundings of the coordinates may change of the losses of points better than ``value``."""
        return self.shift * float(np.linalg.norm(self.reach(value)[self.problem.penalised]))

    def proved(self, bound: float, value: float) -> float:
        """A bound of the rotated problem as one of the problem, for points better than ``value``: the roundings taken off."""
        return float((bound - self.lost(value)) / (1.0 + self.stretch)) if np.isfinite(bound) else bound


def own(problem: RampProblem) -> Rotated:
    """The problem in its own coordinates, in which nothing is rounded."""
    return Rotated(problem, np.eye(problem.A.shape[1]), 0.0, 0.0)


def rotated(problem: RampProblem) -> Rotated:
    """The problem in coordinates in which boxes exclude pairs; where squares differ, in its own."""
    A, held = problem.A, problem.penalised
    p, V = A.shape[1], np.eye(A.shape[1])
    if not held.any() or np.ptp(problem.curvature[held]) > 0.0:
        return own(problem)
    labels = None if held.all() else A[:, int(np.flatnonzero(~held)[0])]
    V[np.ix_(held, held)] = turned(A[:, held], rotation(A[:, held], True), labels)
    skew = float(np.linalg.norm(V @ V.T - np.eye(p))) + 4.0 * p * _EPS
    lengths = float(problem.costs @ np.linalg.norm(A[:, held], axis=1)) * problem.height / problem.width
    shift = 2.0 * lengths * (skew + 4.0 * p * _EPS)
    within = replace(problem, A=np.ascontiguousarray(A @ V), atoms=problem.atoms @ V)
    return Rotated(within, V, shift, 2.0 * skew)
