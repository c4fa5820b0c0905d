"""Column generation as the start of SMO for matrices of low rank: solutions on a growing set of points.

A matrix of rank r has a solution on at most r + 1 points, so pairs among all points and a cache of columns are the wrong tools.
Here the problem on a few points is solved to a share of the present gap, points without weight leave, and the worst violators of
all join: this is column generation, and for the smallest enclosing ball the farthest points join (Gärtner, "Fast and robust
smallest enclosing balls", 1999, pivots by the farthest one alone). A round reads the rows of the data once. The objective falls
from round to round, so the rounds end.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from ....models.arrays import FloatArray, IntArray
from ....models.views import SimplexQP
from ..start import relative_gap_at, solve_dense
from .exact import FinishedPoint

#: Points from which the start is tried, the largest rank, and points for each rank.
_POINTS_FROM, _RANK_LIMIT, _POINTS_EACH = 1000, 256, 8
#: Pieces of the points whose worst violators join.
_PIECES = 16
#: Rounds at most, rounds in a row without a smaller gap, and rounds between two points that are yielded.
_ROUNDS, _PATIENCE, _EVERY = 500, 20, 16
#: Gap on the few points, as a share of the gap of all or of the tolerance, and pair steps for it.
_SHARE_OF_GAP, _SHARE_OF_TOL, _PAIRS = 1e-2, 0.1, 20_000


def growing_set_applies(view: SimplexQP) -> bool:
    """Return whether the start is worth a try: one simplex, many points, a low rank."""
    rank = view.gram.rank
    return view.simplices == 1 and view.n >= max(_POINTS_FROM, _POINTS_EACH * rank) and rank <= _RANK_LIMIT


def growing_set(
    view: SimplexQP, a: FloatArray, gradient: FloatArray, tol: float
) -> Generator[FinishedPoint | None, None, FinishedPoint]:
    """Return the point with the least gap: at most tol·|f|, or as far as the rounds help.

    Yields after each round, every sixteenth time with the best point. ``gradient`` is exact at the given point.
    """
    points = np.flatnonzero(a)
    weights, slopes = a[points], gradient.copy()
    best, best_gap, since, count = (points, weights), np.inf, 0, 0
    for count in range(1, _ROUNDS + 1):
        level = float(weights @ slopes[points])
        lowest = _lowest(slopes)
        gap = level - float(slopes[lowest].min())
        best, best_gap, since = ((points, weights), gap, 0) if gap < best_gap else (best, best_gap, since + 1)
        share = relative_gap_at(0.5 * (level + float(view.c[points] @ weights)), gap)
        if share <= 0.5 * tol or since > _PATIENCE:
            break
        inner_tol = max(_SHARE_OF_GAP * share, _SHARE_OF_TOL * tol)
        joining = lowest[(slopes[lowest] < level) & (lowest[:, None] != points).all(axis=1)]
        points, weights = np.concatenate([points, joining]), np.concatenate([weights, np.zeros(joining.size)])
        points, weights = _solution(view, points, weights, inner_tol)
        view.gram.combination(points, weights, slopes)
        slopes += view.c
        yield _finish(view, *best, count) if count % _EVERY == 0 else None
    return _finish(view, *best, count)


def _finish(view: SimplexQP, points: IntArray, weights: FloatArray, rounds: int) -> FinishedPoint:
    a = np.zeros(view.n)
    a[points] = weights
    return FinishedPoint(a, view.gram.product(a) + view.c, rounds, exact=True)


def _lowest(slopes: FloatArray) -> IntArray:
    """Return the place of the least entry of each piece."""
    length = slopes.size // _PIECES
    pieces = slopes[: _PIECES * length].reshape(_PIECES, length).argmin(axis=1) + length * np.arange(_PIECES)
    remainder = slopes[_PIECES * length :]
    return np.append(pieces, _PIECES * length + remainder.argmin()) if remainder.size else pieces


def _solution(view: SimplexQP, points: IntArray, a: FloatArray, tol: float) -> tuple[IntArray, FloatArray]:
    """Return the points with weight, and their weights, of a solution on the given points; ``a`` is the start and written to."""
    Q = np.ascontiguousarray(view.gram.block(points, points))
    solve_dense(Q, view.c[points], a, Q @ a, tol, _PAIRS)
    inside = a > 0.0
    return points[inside], a[inside] / a.sum()
