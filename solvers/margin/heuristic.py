"""The primal heuristic of `margin-bb`: starting points, an upper bound of the optimum, and convex-concave descents in a box.

The problem is a `MarginProblem`: piecewise linear losses of margins plus a regulariser of w, under restrictions of w. Its
*domain* is the box of the bounds of w.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...models.arrays import BoolArray, FloatArray
from ...models.views import MarginProblem, PiecewiseLinearLoss
from ..interface.timeouts import call_outside_fork

if TYPE_CHECKING:
    from . import loops

#: Bound of coefficients that have no other, in units of 1/(median length of a row).
_FAR = 1e4
#: Share of an initial objective below which a value counts as zero.
_NOTHING = 1e-12


def starting_points(view: MarginProblem, start: object) -> list[FloatArray]:
    """Return the points (p,) from which descents begin: 0, an intercept of ±1, a feasible one, and ``start``.

    0 and ±1 are clipped to the domain. The feasible point satisfies bounds, linear constraints, integers and required margins; it
    is left out if none is found, or the problem has none of the last three. ``start`` is the last one, if it is not None.
    """
    p = view.A.shape[1]
    starts = [np.clip(np.zeros(p), view.lower, view.upper)]
    if view.intercept:
        starts += [np.clip(np.where(np.arange(p) == 0, b, 0.0), view.lower, view.upper) for b in (-1.0, 1.0)]
    if len(view.rows) or view.kept_points.any() or view.integer.any():
        starts += _feasible_point(view)
    if start is not None:
        w = np.asarray(start, dtype=np.float64)
        if w.shape != (p,) or not np.isfinite(w).all():
            raise InputError(f"start['w'] must hold {p} finite numbers; it has shape {w.shape}", name="start")
        starts.append(w)
    return starts


def _feasible_point(view: MarginProblem) -> list[FloatArray]:
    """Return the point of least ||w||_1 that satisfies domain, rows, integers and demanded points, in a list; [] without one."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # imported here: the import is slow, and few problems need it

    p = view.A.shape[1]
    rows, limits = (
        np.vstack([view.rows, view.A[view.kept_points]]),
        np.concatenate([view.row_lower, np.ones(int(view.kept_points.sum()))]),
    )
    signed_rows = np.hstack([rows, -rows])
    low, high = np.maximum(view.lower, 0.0), np.maximum(view.upper, 0.0)
    below, above = np.maximum(-view.upper, 0.0), np.maximum(-view.lower, 0.0)
    bounds = Bounds(np.concatenate([low, below]), np.concatenate([high, above]))
    constraints = [LinearConstraint(signed_rows, limits, np.inf)] if len(rows) else []
    cost, integrality = np.ones(2 * p), np.tile(view.integer, 2).astype(np.int64)
    solution = call_outside_fork("scipy", lambda: milp(cost, integrality=integrality, bounds=bounds, constraints=constraints))
    return [] if solution.x is None else [np.asarray(solution.x[:p] - solution.x[p:])]


def has_bounded_domain(view: MarginProblem) -> bool:
    """Return whether the domain bounds every coefficient but a free intercept."""
    is_finite = np.isfinite(view.lower) & np.isfinite(view.upper)
    return bool(is_finite[int(view.intercept) :].all())


def domain_cost_bound(view: MarginProblem) -> float:
    """Return a strict upper bound of the objective over the domain; unbounded |w_j| count up to 1e4/(median length of a row)."""
    free = int(view.intercept)
    largest = np.maximum(np.abs(view.lower), np.abs(view.upper))
    lengths = np.linalg.norm(view.A[:, free:], axis=1)
    scale = float(np.median(lengths[lengths > 0.0])) if lengths.any() else 1.0
    largest = np.where(np.isfinite(largest), largest, _FAR / scale)
    if view.intercept:
        largest_margin = float((np.abs(view.A[:, 1:]) @ largest[1:]).max(initial=0.0))
        largest[0] = min(max(abs(view.lower[0]), abs(view.upper[0])), _farthest(view) + 1.0 + largest_margin)
    norm = 0.0
    if len(view.atoms):  # ||w||_X ≤ ||X^+ w||_1
        in_norm = view.atoms.any(axis=0)
        norm = float(np.abs(np.linalg.pinv(view.atoms[:, in_norm].T)).sum(axis=0) @ largest[in_norm])
    tails = view.per_point(lambda loss: loss.tail) * (np.abs(view.A) @ largest + _farthest(view))
    losses = view.costs @ (view.per_point(lambda loss: loss.height) + tails)
    return 2.0 * float(view.curvature @ largest**2 + norm + view.price.sum() + losses) + 1.0


def _farthest(view: MarginProblem) -> float:
    """Return the largest |margin| at which the slope of a loss changes."""
    return max(loss.largest_breakpoint for loss in view.losses)


def wide_ramp(loss: PiecewiseLinearLoss) -> PiecewiseLinearLoss:
    """Return a ramp with the largest slope of the loss, wider by 1 than its breakpoints' span, for descents from random points;
    return a symmetric loss unchanged.
    """
    if loss.symmetric:
        return loss
    last, span = float(loss.margins[-1]), float(np.ptp(loss.margins)) + 1.0
    height = (loss.largest_slope or loss.height) * span
    values = np.array([height, 0.0])
    return replace(loss, margins=np.array([last - span, last]), below=values, at=values, tail=0.0, rise_start=-np.inf)


@dataclass(eq=False)
class ConvexConcaveDescents:
    """The convex-concave procedure (difference of convex functions) in a box; its best point becomes the tree's incumbent."""

    problem: loops.LoopProblem  #: the problem
    node: loops.LoopNode  #: workspace
    low: FloatArray  #: (p,) lower ends of the box
    high: FloatArray  #: (p,) upper ends of the box
    infeasible_value: float  #: value that counts as the objective of an infeasible point
    tree: Any = None  #: `loops.SearchTree` whose incumbent is improved; None without one

    def descend(self, w: FloatArray) -> FloatArray:
        """Return the end of a descent from w; if zeros count, also try descents with ever more coefficients fixed at 0."""
        end = self._descend_to(w.copy(), np.zeros(w.size, dtype=bool))
        if not self.problem.sparse:
            return end
        point, dropped = end, np.zeros(w.size, dtype=bool)
        counts = ((self.problem.price > 0.0) | self.problem.counted) & (self.low <= 0.0) & (self.high >= 0.0)
        while (counts & (point != 0.0)).any():
            support = np.flatnonzero(counts & (point != 0.0))
            dropped |= counts & (point == 0.0)
            dropped[support[np.abs(point[support]).argmin()]] = True
            point = self._descend_to(np.where(dropped, 0.0, point), dropped)
        return end

    def _descend_to(self, w: FloatArray, fixed: BoolArray) -> FloatArray:
        """Run a descent with some coefficients held at 0; w is changed."""
        from . import loops

        node = self.node
        node.lo[:], node.hi[:], node.marks[:] = np.where(fixed, 0.0, self.low), np.where(fixed, 0.0, self.high), 0.0
        np.clip(w, node.lo, node.hi, out=w)
        value = loops.descend(self.problem, node, w, self.infeasible_value)
        if value < _NOTHING * self.infeasible_value:  # an optimum of 0, at which margins should not be short in their last digits
            rounded = np.array([float(f"{x:.10g}") for x in w.tolist()])
            rounded_value = loops.objective(self.problem, node, rounded)
            value, w = (rounded_value, rounded) if rounded_value <= value else (value, w)
            stretched = np.clip(w * (1.0 + 1e-9), node.lo, node.hi)
            stretched_value = loops.objective(self.problem, node, stretched)
            value, w = (stretched_value, stretched) if stretched_value < value else (value, w)  # it may violate a row
        if self.tree is not None and value < self.tree.state[0]:
            self.tree.state[0], self.tree.state[3], self.tree.incumbent[:] = value, 1.0, w
        return w
