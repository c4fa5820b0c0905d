"""The problem in coordinates that suit boxes, and what that may change of its optimum."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...models.arrays import FloatArray
from ...models.margin_view import MarginProblem
from ..zero_one.rotation import rotation, turned

__all__ = ["Rotated", "own", "rotated"]

_EPS = 2.0**-52
#: By how much a margin may be off where losses jump.
_SHORT = 1e-10


@dataclass(frozen=True, eq=False)
class Rotated:
    """The problem in v = V'w: boxes along these coordinates cut less off at a time.

    Parameters
    ----------
    problem : MarginProblem
        The rotated problem. Its norm of v is that of w, but for the rounding of the atoms, of which the kernels know.
    V : ndarray (p, p)
        Orthogonal up to rounding; the identity on a free intercept.
    skew : ndarray (n, p)
        Margins of v and of w differ by at most skew |v|.
    stretch : float
        ||v||² is at most (1 + stretch) ||w||².
    """

    problem: MarginProblem
    V: FloatArray
    skew: FloatArray
    stretch: float

    def into(self, w: FloatArray) -> FloatArray:
        """v of w."""
        return np.asarray(self.V.T @ w)

    def back(self, v: FloatArray) -> FloatArray:
        """w of v."""
        return np.asarray(self.V @ v)

    def reach(self, value: float) -> tuple[FloatArray, FloatArray]:
        """Ends of v_j at some optimal point of a value below that: of the domain, by squares, the norm, or an intercept's losses.

        For fixed other coefficients the objective is piecewise linear in an intercept: some best one stands at a corner of some
        point's loss, where a point that must be kept or is counted has margin 1, where a row that has it binds, at an end of its
        domain, or, an integer, within 1 of that.
        """
        at, held = self.problem, self.problem.curvature > 0.0
        squares = np.full(held.size, np.inf)  # at an optimum of 0 a quotient and a product would be 0/0 and 0·∞
        np.divide(value, at.curvature, out=squares, where=held)
        span = np.abs(at.atoms).max(axis=0, initial=0.0)  # |w_j| of a combination with ||α||_1 ≤ 1
        far = np.minimum(np.sqrt(squares), np.where(span > 0.0, span * value, np.inf)) * (1.0 + 1e-9) + 1e-12
        far[np.isnan(far)] = np.inf
        lower, upper = np.maximum(at.lower, -far), np.minimum(at.upper, far)
        if at.intercept:
            rest = np.maximum(np.abs(lower[1:]), np.abs(upper[1:]))
            b = max(1.0, at.loss.farthest) + float((np.abs(at.A[:, 1:]) @ rest).max(initial=0.0))
            for row, least in zip(at.rows, at.least, strict=True):
                if row[0] != 0.0:
                    b = max(b, (abs(least) + float(np.abs(row[1:]) @ rest)) / abs(row[0]))
            b = max(b, *(abs(end) for end in (at.lower[0], at.upper[0], 0.0) if np.isfinite(end)))
            b = (b + float(at.whole[0])) * (1.0 + 1e-9)
            lower[0], upper[0] = max(at.lower[0], -b), min(at.upper[0], b)
        return lower, upper

    def off(self, value: float) -> FloatArray:
        """Return the error of margins of points better than ``value``."""
        return np.asarray(self.skew @ np.abs(self.reach(value)).max(axis=0)) if self.skew.any() else np.zeros(len(self.skew))

    def lost(self, value: float) -> float:
        """Return the change of losses by that error: infinite where losses jump and a margin may be off by more than rounding."""
        at, off = self.problem, self.off(value)
        if (at.loss.below > at.loss.at).any():
            return np.inf if off.max(initial=0.0) > _SHORT else 0.0
        return float(at.costs @ off) * at.loss.steepest

    def proved(self, bound: float) -> float:
        """A bound of the rotated problem as one of the problem."""
        return float(bound / (1.0 + self.stretch)) if np.isfinite(bound) else bound


def own(problem: MarginProblem) -> Rotated:
    """The problem in its own coordinates, in which nothing is rounded."""
    return Rotated(problem, np.eye(problem.A.shape[1]), np.zeros(problem.A.shape), 0.0)


def rotated(problem: MarginProblem) -> Rotated:
    """The problem in coordinates in which boxes exclude pairs; in its own where squares differ, or anything restricts it."""
    A = problem.A
    p, V = A.shape[1], np.eye(A.shape[1])
    held = np.arange(p) >= problem.intercept
    if not problem.free or not held.any() or np.ptp(problem.curvature[held]) > 0.0:
        return own(problem)
    labels = A[:, 0] if problem.intercept else None
    V[np.ix_(held, held)] = turned(A[:, held], rotation(A[:, held], True), labels)
    turn = float(np.linalg.norm(V @ V.T - np.eye(p))) + 4.0 * p * _EPS
    within = replace(problem, A=np.ascontiguousarray(A @ V), atoms=problem.atoms @ V)
    skew = 2.0 * (p + 4) * _EPS * (np.abs(A) @ np.abs(V))
    skew[:, held] += 2.0 * turn * np.linalg.norm(A[:, held], axis=1)[:, None]
    return Rotated(within, V, skew, 2.0 * turn)
