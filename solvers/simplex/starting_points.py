"""Points from which the algorithms on unit simplices start: the rules of ``initial``, and column generation for low rank.

The problem is min f(a) = ½a'Qa + c'a over a ≥ 0 with sum 1 in each simplex; a point of the data is a variable a_i.
`starting_point` gives the a that the user or the parameter ``initial`` asks for. `growing_set` is the start of SMO for matrices
of low rank r, which have a solution on at most r + 1 points, so that pairs among all points and a cache of columns are the wrong
tools. Each round solves the problem on a few points to a share of the present gap, drops points without weight, and adds the
worst violators (those with the least ∇_i = (Qa + c)_i) of all. This is column generation. For the smallest enclosing ball the
farthest points join (Gärtner, "Fast and robust smallest enclosing balls", 1999, pivots by the farthest one alone). A round reads
the rows of the data once. The objective falls from round to round, so the rounds end.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Generator
from typing import Any, TypeAlias

import numpy as np

from ...errors import InputError, short_text
from ...models.arrays import FloatArray, IntArray
from ...models.views import SimplexQP
from ..interface.numba_flags import entry
from ..records import Options
from .common import FeasiblePoint, relative_gap_at


@entry
def solve_small_qp(Q: Any, c: Any, a: Any, h: Any, tol: float, iterations: int) -> int:
    """Minimise f(a) = ½a'Qa + c'a on one unit simplex by second-order pairs, in place; return the number of steps.

    It ends at a gap of at most tol·max(|f|, |f - gap|), or after ``iterations`` steps. On entry a is feasible and h = Qa. Q may
    be larger than a: its leading block is used.
    """
    m = a.size
    for iteration in range(iterations):
        i, quadratic, linear = 0, 0.0, 0.0
        for k in range(m):
            quadratic += a[k] * h[k]
            linear += a[k] * c[k]
            if h[k] + c[k] < h[i] + c[i]:
                i = k
        gap = quadratic + linear - h[i] - c[i]
        f = 0.5 * quadratic + linear
        if gap <= tol * max(abs(f), abs(f - gap)):
            return iteration
        j, best = -1, 0.0
        for k in range(m):
            slope = h[k] + c[k] - h[i] - c[i]
            if k != i and a[k] > 0.0 and slope > 0.0:  # reassociated sums can make the slope from i to i positive
                gain = slope * slope / max(Q[i, i] + Q[k, k] - 2.0 * Q[i, k], 1e-300)
                if gain > best:
                    j, best = k, gain
        if j < 0:
            return iteration
        slope = h[j] + c[j] - h[i] - c[i]
        curvature = Q[i, i] + Q[j, j] - 2.0 * Q[i, j]
        drop = slope >= a[j] * curvature
        step = a[j] if drop else slope / curvature
        a[i] += step
        a[j] = 0.0 if drop else a[j] - step
        for k in range(m):
            h[k] += step * (Q[i, k] - Q[j, k])
    return iterations


#: Value of the parameter ``initial``. ``"random20"``: the exact solution on 20 random points (Frandi et al., 2013, section
#: 5.2.2), or on another number of them; ``"farthest"``: a random point and the one farthest from it, weights ½; ``"vertex"``: the
#: point with the least objective alone; ``"uniform"``: equal weights.
StartRule: TypeAlias = str
# exempt (text): the number in the option initial="random20"
_RANDOM = re.compile(r"random([1-9]\d*)")


def starting_point(view: SimplexQP, rule: StartRule, options: Options, rng: np.random.Generator) -> FloatArray:
    """Return a feasible point: the user's (``options.start``), scaled into the simplices, or else that of the rule in each.

    Raise InputError for an unknown rule, or a start of another shape, not finite, or without positive weight in a simplex.
    """
    if options.start is not None and view.label in options.start:
        return _move_into_simplices(view, np.asarray(options.start[view.label], dtype=np.float64))
    random = _RANDOM.fullmatch(rule) if isinstance(rule, str) else None
    if random is None and rule not in _RULE:
        rules = ", ".join(_RULE)
        raise InputError(
            f"initial must be one of {rules}, or random20 or another number of points; it is {short_text(rule)}", name="initial"
        )
    choose: Callable[..., tuple[np.ndarray, FloatArray]] = (
        _RULE[rule] if random is None else functools.partial(_random, int(random[1]))
    )
    a = np.zeros(view.n)
    for group in range(view.simplices):
        members = np.flatnonzero(view.groups == group)
        chosen, weights = choose(view, members, rng)
        a[chosen] = weights
    return a


def _move_into_simplices(view: SimplexQP, start: FloatArray) -> FloatArray:
    if start.shape != (view.n,) or not np.isfinite(start).all():
        raise InputError(
            f"start[{short_text(view.label)}] must hold {view.n} finite numbers; it has shape {start.shape}", name="start"
        )
    a = np.maximum(start, 0.0)
    total = np.bincount(view.groups, weights=a, minlength=view.simplices)
    if (total <= 0).any():
        raise InputError(
            f"start[{short_text(view.label)}] has no positive weight in simplex {int(np.argmin(total))}", name="start"
        )
    return np.asarray(a / total[view.groups])


def _random(points: int, view: SimplexQP, members: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, FloatArray]:
    chosen = np.sort(rng.choice(members, size=min(points, members.size), replace=False))
    Q = np.ascontiguousarray(view.gram.block(chosen, chosen))
    a = np.full(chosen.size, 1.0 / chosen.size)
    solve_small_qp(Q, np.ascontiguousarray(view.c[chosen]), a, Q @ a, 1e-10, 100_000)
    return chosen, a / a.sum()


def _farthest(view: SimplexQP, members: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, FloatArray]:
    first = int(rng.choice(members))
    distance = view.gram.diagonal[members] - 2.0 * view.gram.column(first)[members]
    other = int(members[np.argmax(distance)])
    if other == first:
        return np.array([first]), np.ones(1)
    return np.array([first, other]), np.full(2, 0.5)


def _vertex(view: SimplexQP, members: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, FloatArray]:
    value = 0.5 * view.gram.diagonal[members] + view.c[members]
    return members[[int(np.argmin(value))]], np.ones(1)


def _uniform(view: SimplexQP, members: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, FloatArray]:
    return members, np.full(members.size, 1.0 / members.size)


#: The functions of the rules, which return points of a simplex and their weights.
_RULE = {"farthest": _farthest, "vertex": _vertex, "uniform": _uniform}


# Column generation for matrices of low rank.

#: Points from which the start is tried, the largest rank, and points for each rank.
_POINTS_FROM, _RANK_LIMIT, _POINTS_EACH = 1000, 256, 8
#: Number of pieces of the points; the worst violator of each piece joins.
_PIECES = 16
#: Rounds at most, rounds in a row without a smaller gap, and rounds between two points that are yielded.
_ROUNDS, _PATIENCE, _EVERY = 500, 20, 16
#: Gap on the few points, as a share of the gap of all or of the tolerance, and pair steps for it.
_SHARE_OF_GAP, _SHARE_OF_TOL, _PAIRS = 1e-2, 0.1, 20_000


def growing_set_applies(view: SimplexQP) -> bool:
    """Return whether `growing_set` is worth a try: one simplex, many points, a matrix Q of low rank."""
    rank = view.gram.rank_bound
    return view.simplices == 1 and view.n >= max(_POINTS_FROM, _POINTS_EACH * rank) and rank <= _RANK_LIMIT


def growing_set(
    view: SimplexQP, a: FloatArray, gradient: FloatArray, tol: float
) -> Generator[FeasiblePoint | None, None, FeasiblePoint]:
    """Return the point with the least gap of all rounds from ``a``; they end at a gap of tol·|f|/2, or when they no longer help.

    Yields after each round, every sixteenth time the best point, else None. ``gradient`` is Qa + c in float64 from the data.
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


def _finish(view: SimplexQP, points: IntArray, weights: FloatArray, rounds: int) -> FeasiblePoint:
    a = np.zeros(view.n)
    a[points] = weights
    return FeasiblePoint(a, view.gram.product(a) + view.c, rounds, exact=True)


def _lowest(slopes: FloatArray) -> IntArray:
    """Return the place of the least entry of each piece."""
    length = slopes.size // _PIECES
    pieces = slopes[: _PIECES * length].reshape(_PIECES, length).argmin(axis=1) + length * np.arange(_PIECES)
    remainder = slopes[_PIECES * length :]
    return np.append(pieces, _PIECES * length + remainder.argmin()) if remainder.size else pieces


def _solution(view: SimplexQP, points: IntArray, a: FloatArray, tol: float) -> tuple[IntArray, FloatArray]:
    """Return the points with weight, and their weights, of a solution on the given points; ``a`` is the start and written to."""
    Q = np.ascontiguousarray(view.gram.block(points, points))
    solve_small_qp(Q, view.c[points], a, Q @ a, tol, _PAIRS)
    inside = a > 0.0
    return points[inside], a[inside] / a.sum()
