"""The problem that the checker of `margin-bb` bounds: a log's problem in the log's coordinates v, w = T v, with a root box.

`in_log_coordinates` derives it from the stated data in rational arithmetic. A *term* is a loss of one margin times its cost: of
each point, then of each point of each *budget* (a limit on the number of its points with margins m < 1) the loss 1{m < 1}. The
*bounded part* of a loss is the loss without its linear tail; linear pieces bound it (`LinearPieces`). A *demanded* margin or sign
of a margin is one that every feasible point of a node has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ....models.arrays import BoolArray, IntArray
from ....models.views import PiecewiseLinearLoss
from ...exact.check.arithmetic import Array, InvalidProofError, gram_eigenvalue_bound, rotate_rows, round_down, round_up
from .logged_problem import LoggedMarginProblem

_EPS, _TINY = 2.0**-52, 2.0**-1000


@dataclass(frozen=True, eq=False)
class LinearPieces:
    """A piecewise linear lower bound of a loss's bounded part: one piece left of each breakpoint, and one right of the last.

    Piece k is max{base_k - slope_k (m - anchor_k), floor_k} at the margin m.
    """

    loss: PiecewiseLinearLoss  #: the loss, of K breakpoints
    anchor: Array  #: (K + 1,) left ends of the pieces; of the first one its right end
    base: Array  #: (K + 1,) values at the anchors
    slope: Array  #: (K + 1,) rates of decrease, ≥ 0
    floor: Array  #: (K + 1,) least values of the pieces

    @classmethod
    def of(cls, loss: PiecewiseLinearLoss) -> LinearPieces:
        """Return the linear pieces below a loss."""
        t, below, values_at = loss.margins, loss.below, loss.at
        base = np.concatenate([below[:1], values_at[:-1] - 8.0 * _EPS * values_at[:-1] - _TINY, [0.0]])
        slope = np.concatenate([[0.0], (values_at[:-1] - below[1:]) / np.diff(t), [0.0]])
        return cls(loss, np.concatenate([t[:1], t]), base, slope, np.concatenate([below, [0.0]]))

    def lower_bound(self, m: Array) -> Array:
        """Return a lower bound of the loss's bounded part at margins m."""
        m = np.abs(m) if self.loss.symmetric else m
        k = np.searchsorted(self.loss.margins, m, side="right")
        return np.asarray(np.fmax(self.base[k] - self.slope[k] * (m - self.anchor[k]), self.floor[k]))


#: Factor that exceeds the rounding errors of a few products and quotients.
_UP = 1.0 + 2.0**-46


@dataclass(frozen=True, eq=False)
class RotatedProblem:
    """The problem in coordinates v: margins g_i'v ± e_i, squares of at least Σ_j squares_j v_j², and a root box.

    The root box contains every point that costs less than the target, every feasible point if the target is infinite. For a free
    intercept it contains some optimal value for each choice of the other coefficients.
    """

    original: LoggedMarginProblem  #: the problem as the log states it, in w
    T: Array  #: (p, p) w = T v
    g: Array  #: (n, p) rows of the margins, g_i'v
    e: Array  #: (n,) error bounds of the margins on the root box
    terms: IntArray  #: (N,) the point of each term: all points, then those of each budget
    #: (lines, p) the rows that multipliers belong to: those of the terms, of the linear constraints, and of the points again, for
    #: demanded margins; with equal rates also the points' rows and their negatives, for demanded signs
    lines: Array
    line_errors: Array  #: (lines,) error bounds of the rows' products
    squares: Array  #: (p,) coefficients of v_j²
    lo: Array  #: (p,) lower ends of the root box
    hi: Array  #: (p,) upper ends of the root box
    target: float  #: objective below which the root box contains the solutions
    pieces: tuple[LinearPieces, ...]  #: the losses, the last one 1{m < 1} for the terms of budgets
    kinds: IntArray  #: (N,) number of each term's loss in ``pieces``


def in_log_coordinates(logged: LoggedMarginProblem, T: Array, target: float) -> RotatedProblem:
    """Return the problem in the log's coordinates, with margins and a root box that hold for a claimed bound ``target`` > 0."""
    p = logged.curvature.size
    if T.shape != (p, p) or not np.isfinite(T).all():
        raise InvalidProofError("T must be a finite square matrix")
    if not logged.is_unrestricted and not np.array_equal(T, np.eye(p)):
        raise InvalidProofError("T must be the identity where w is not free")
    if logged.intercept and (T[0, 1:].any() or T[1:, 0].any() or T[0, 0] == 0.0):
        raise InvalidProofError("T mixes the intercept with other coefficients")
    in_norm = np.ones(p, dtype=np.bool_)
    in_norm[0] = not logged.intercept
    squares = _squares(logged, T, in_norm)
    half = _reach(logged, T, squares, target, in_norm)
    g, radius = rotate_rows(logged.A, T)
    lo, hi = np.maximum(-half, logged.lower), np.minimum(half, logged.upper)
    reach = np.where(in_norm, np.maximum(np.abs(lo), np.abs(hi)), 0.0)
    if not np.isfinite(reach).all():
        raise InvalidProofError(f"neither squares, the norm nor ends bound coefficient {int(np.argmin(np.isfinite(reach)))}")
    if logged.intercept:
        intercept_bound = _intercept(logged, T, np.abs(g), radius, reach)
        lo[0], hi[0] = max(-intercept_bound, logged.lower[0]), min(intercept_bound, logged.upper[0])
        reach[0] = max(abs(lo[0]), abs(hi[0]))
    e = round_up(radius @ reach * (1.0 + (p + 4) * 2.0**-52))
    terms = np.concatenate([np.arange(len(g)), *(budget.points for budget in logged.budgets)]).astype(np.int64)
    signed = [g, -g] if logged.rates else []
    lines = np.concatenate([g[terms], logged.rows, g, *signed])
    error = np.concatenate([e[terms], np.zeros(len(logged.rows)), e, *([e] * len(signed))])
    pieces = tuple(map(LinearPieces.of, (*logged.losses, PiecewiseLinearLoss.zero_one(1.0))))
    kinds = np.concatenate([logged.loss_numbers, np.full(terms.size - len(g), len(pieces) - 1, dtype=np.int64)])
    return RotatedProblem(logged, T, g, e, terms, lines, error, squares, lo, hi, target, pieces, kinds)


def _squares(logged: LoggedMarginProblem, T: Array, in_norm: BoolArray) -> Array:
    """Return coefficients of squares of v whose sum is at most that of w; if they differ, T must be the identity."""
    d = logged.curvature
    if not d.any() or np.array_equal(T, np.eye(d.size)):
        return d
    if np.ptp(d[in_norm]) > 0.0:
        raise InvalidProofError("T turns coordinates whose squares differ")
    return np.where(in_norm, round_down(d * gram_eigenvalue_bound(T[np.ix_(in_norm, in_norm)])), 0.0)


def _reach(logged: LoggedMarginProblem, T: Array, squares: Array, target: float, in_norm: BoolArray) -> Array:
    """Return bounds of |v_j| of points that cost less than the target: by their squares, and by the atoms x.

    v = T⁻¹w, and w is a combination of atoms whose weights sum to less than the target in size: |v_j| is at most the target times
    the largest |(T⁻¹x)_j|. T⁻¹x = T'x + T⁻¹(I - TT')x, and ||T⁻¹|| ≤ (1 - δ)^-½ if δ is at least the norm of I - TT'.
    """
    with np.errstate(divide="ignore"):
        reach = np.where(squares > 0.0, round_up(np.sqrt(round_up(target / squares))), np.inf)
    columns = np.asarray(logged.atoms.any(axis=0))
    if not columns.any() or target == math.inf:
        return np.asarray(reach)
    inner = T[np.ix_(in_norm, in_norm)]
    if not np.array_equal(inner, np.eye(len(inner))):
        if not columns[in_norm].all():
            raise InvalidProofError("T turns coordinates of which the norm does not know all")
        columns = in_norm
    inner = T[np.ix_(columns, columns)]
    rows = [[Fraction(x) for x in row] for row in inner.tolist()]
    squared = Fraction(0)
    for i, row in enumerate(rows):
        for j, other in enumerate(rows):
            squared += (sum((a * b for a, b in zip(row, other, strict=True)), Fraction(0)) - (i == j)) ** 2
    delta = math.nextafter(math.sqrt(math.nextafter(float(squared), math.inf)), math.inf)
    if delta >= 0.5:
        raise InvalidProofError("T is not close enough to a rotation")
    rotated_atoms, radius = rotate_rows(logged.atoms[:, columns], inner)
    lengths = np.sqrt(round_up((logged.atoms**2).sum(axis=1) * (1.0 + 2.0**-40)))
    error = round_up(2.0 * delta * lengths[:, None] * (1.0 + 2.0**-40))
    span = round_up(round_up(np.abs(rotated_atoms) + radius) + error).max(axis=0)
    reach[columns] = np.minimum(reach[columns], round_up(span * target))
    return np.asarray(reach)


def _intercept(logged: LoggedMarginProblem, T: Array, g: Array, radius: Array, reach: Array) -> float:
    """Return a bound of |v_0| of some point that is as good as any with the same other coefficients, |v_j| ≤ reach_j.

    Fix the other coefficients. The objective as a function of b = w_0 has finitely many breakpoints: b = 0; where a margin is at
    a breakpoint of its loss (or at the negative of one, for a symmetric loss), at the start of its tail, or at 0 or 1; where a
    row holds with equality; and the bounds of b. Between neighbouring breakpoints, and beyond the last, no margin passes a
    breakpoint, 0 or 1, no row or bound changes its state, and neither the price of b nor the number of coefficients used changes.
    So either all b there are feasible or none is, and the objective is linear. It is lower semicontinuous and the feasible set is
    closed, so the better end of a piece is as good as all of it. The objective is not negative, so on a half-line it does not
    fall towards infinity, and the finite end is as good. So some breakpoint is as good as any b. Among whole b, none in a piece
    is better than the first or the last of them, which is within 1 of a breakpoint.

    For a product a b + r'v = c, |b| is at most (|c| + |r|'reach)/|a|.
    """
    p = reach.size
    turns = [1.0, *(t for loss in logged.losses for t in loss.margins.tolist())]
    turns += [loss.rise_start for loss in logged.losses if loss.tail > 0.0]
    intercept_column = np.abs(logged.A[:, 0])
    radius_bound = (g + radius) @ reach * (1.0 + (p + 4) * 2.0**-52)  # reach_0 is 0
    ends = [0.0]
    ends += (
        (float(np.abs(turns).max()) + radius_bound[intercept_column > 0.0]) / intercept_column[intercept_column > 0.0] * _UP
    ).tolist()
    first = np.abs(logged.rows[:, 0])
    radius_bound = np.abs(logged.row_lower) + np.abs(logged.rows) @ reach * (1.0 + (p + 4) * 2.0**-52)
    ends += (radius_bound[first > 0.0] / first[first > 0.0] * _UP).tolist()
    ends += [abs(float(x)) for x in (logged.lower[0], logged.upper[0]) if math.isfinite(x)]
    bound = (max(ends) + (1.0 if logged.integer[0] else 0.0)) * _UP
    bound = float(round_up(bound / abs(float(T[0, 0]))))
    if not math.isfinite(bound):
        raise InvalidProofError("nothing bounds the intercept")
    return bound
