"""Starts of a search: points, an upper bound of the optimum, and descents into boxes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.margin_view import Corners, MarginProblem
from ..interface.subprocess_limit import beyond_fork

if TYPE_CHECKING:
    from . import loops

#: Coefficients that nothing bounds are sought up to so many times what makes a margin of 1 of a row of the median length.
_FAR = 1e4
#: Part of a common objective that is nothing.
_NOTHING = 1e-12

__all__ = ["Descents", "bounded", "convex_of", "most_of_the_domain", "reference", "starting_points"]


def starting_points(view: MarginProblem, given: object) -> list[FloatArray]:
    """0, or the nearest point of the domain, with an intercept of ±1; a point of the rows and integers; the one that is given.

    Raises
    ------
    InputError
        Not a coefficient for each, or numbers that are not finite.
    """
    p = view.A.shape[1]
    starts = [np.clip(np.zeros(p), view.lower, view.upper)]
    if view.intercept:
        starts += [np.clip(np.where(np.arange(p) == 0, b, 0.0), view.lower, view.upper) for b in (-1.0, 1.0)]
    if len(view.rows) or view.kept.any() or view.whole.any():
        starts += _allowed(view)
    if given is not None:
        w = np.asarray(given, dtype=np.float64)
        if w.shape != (p,) or not np.isfinite(w).all():
            raise InputError(f"start['w'] must hold {p} finite numbers; it has shape {w.shape}")
        starts.append(w)
    return starts


def _allowed(view: MarginProblem) -> list[FloatArray]:
    """The point of least ||w||_1 that satisfies domain, rows and integers, and keeps the points; none without one."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # imported here: it is slow, and few problems need it

    p = view.A.shape[1]
    rows, least = np.vstack([view.rows, view.A[view.kept]]), np.concatenate([view.least, np.ones(int(view.kept.sum()))])
    both = np.hstack([rows, -rows])
    low, high = np.maximum(view.lower, 0.0), np.maximum(view.upper, 0.0)
    below, above = np.maximum(-view.upper, 0.0), np.maximum(-view.lower, 0.0)
    bounds = Bounds(np.concatenate([low, below]), np.concatenate([high, above]))
    constraints = [LinearConstraint(both, least, np.inf)] if len(rows) else []
    cost, whole = np.ones(2 * p), np.tile(view.whole, 2).astype(np.int64)
    found = beyond_fork("scipy", lambda: milp(cost, integrality=whole, bounds=bounds, constraints=constraints))
    return [] if found.x is None else [np.asarray(found.x[:p] - found.x[p:])]


def bounded(view: MarginProblem) -> bool:
    """Return whether the domain is, but for a free intercept."""
    ends = np.isfinite(view.lower) & np.isfinite(view.upper)
    return bool(ends[int(view.intercept) :].all())


def most_of_the_domain(view: MarginProblem) -> float:
    """More than any point of the domain costs whose coefficients are at most 1e4 over the median length of a row."""
    free = int(view.intercept)
    far = np.maximum(np.abs(view.lower), np.abs(view.upper))
    lengths = np.linalg.norm(view.A[:, free:], axis=1)
    scale = float(np.median(lengths[lengths > 0.0])) if lengths.any() else 1.0
    far = np.where(np.isfinite(far), far, _FAR / scale)
    if view.intercept:
        rest = float((np.abs(view.A[:, 1:]) @ far[1:]).max(initial=0.0))
        far[0] = min(max(abs(view.lower[0]), abs(view.upper[0])), view.loss.farthest + 1.0 + rest)
    norm = 0.0
    if len(view.atoms):  # ||w||_X ≤ ||X^+ w||_1
        held = view.atoms.any(axis=0)
        norm = float(np.abs(np.linalg.pinv(view.atoms[:, held].T)).sum(axis=0) @ far[held])
    losses = view.costs @ (view.loss.height + view.loss.tail * (np.abs(view.A) @ far + abs(view.loss.farthest)))
    return 2.0 * float(view.curvature @ far**2 + norm + view.price.sum() + losses) + 1.0


def reference(view: MarginProblem, problem: loops.LoopProblem, node: loops.LoopNode, starts: list[FloatArray]) -> float:
    """The least objective of the starting points that are the problem's, or what points of the domain do not exceed."""
    from . import loops

    return min([most_of_the_domain(view), *(loops.objective(problem, node, w) for w in starts)])


def convex_of(loss: Corners) -> Corners:
    """A wider ramp, of which every margin of a first descent is on the slope."""
    last, span = float(loss.margins[-1]), float(np.ptp(loss.margins)) + 1.0
    height = (loss.steepest or loss.height) * span
    values = np.array([height, 0.0])
    return replace(loss, margins=np.array([last - span, last]), below=values, at=values, tail=0.0, again=-np.inf)


class Descents:
    """The convex-concave procedure in a box; the best point goes into the tree.

    Parameters
    ----------
    problem, node
        As the loops have them.
    low, high : ndarray (p,)
        The box.
    most : float
        What stands for the objective of points that are none of the problem's.
    tree : kernels.Tree, optional
        Its ``state`` and ``found`` are written to.
    """

    def __init__(
        self,
        problem: loops.LoopProblem,
        node: loops.LoopNode,
        low: FloatArray,
        high: FloatArray,
        most: float,
        tree: Any = None,
    ) -> None:
        self.problem, self.node, self._low, self._high, self._most, self._tree = problem, node, low, high, most, tree

    def descend(self, w: FloatArray) -> FloatArray:
        """The end of a descent from w; where zeros count, from there with ever more coefficients held at 0."""
        found = self._to(w.copy(), np.zeros(w.size, dtype=bool))
        if not self.problem.sparse:
            return found
        at, gone = found, np.zeros(w.size, dtype=bool)
        counts = ((self.problem.price > 0.0) | self.problem.counted) & (self._low <= 0.0) & (self._high >= 0.0)
        while (counts & (at != 0.0)).any():
            left = np.flatnonzero(counts & (at != 0.0))
            gone |= counts & (at == 0.0)
            gone[left[np.abs(at[left]).argmin()]] = True
            at = self._to(np.where(gone, 0.0, at), gone)
        return found

    def _to(self, w: FloatArray, gone: FloatArray) -> FloatArray:
        """A descent with some coefficients held at 0; w is changed."""
        from . import loops

        node = self.node
        node.lo[:], node.hi[:], node.marks[:] = np.where(gone, 0.0, self._low), np.where(gone, 0.0, self._high), 0.0
        np.clip(w, node.lo, node.hi, out=w)
        value = loops.descend(self.problem, node, w, self._most)
        if value < _NOTHING * self._most:  # an optimum of 0, where margins should not be short in their last digits
            for other in (np.array([float(f"{x:.10g}") for x in w.tolist()]), np.clip(w * (1.0 + 1e-9), node.lo, node.hi)):
                found = loops.objective(self.problem, node, other)
                value, w = (found, other) if found <= value else (value, w)
        if self._tree is not None and value < self._tree.state[0]:
            self._tree.state[0], self._tree.state[3], self._tree.found[:] = value, 1.0, w
        return w
