"""Compiled loops of `ramp-bb`: envelopes on a box, the hinge problem of a node and its dual bound, the tree.

A point's ramp c (h/d) min{(1-u)_+, d} on margins l ≤ u ≤ U has the convex lower bound

    c h                            where U ≤ 1 - d,                  0 where l ≥ 1,
    c (ρ(U) + s (U - u))           where l < 1 - d and U < 1,        s = (h - ρ(U))/(U - l),
    c h (1-u)_+ / max(d, 1 - l)    else,

so a node is min Σ_j d_j w_j² + const - q'w + Σ s_i (1 - a_i'w)_+ over its box. For *any* 0 ≤ α ≤ s

    L(α) = const + Σα + Σ_j min { d_j w_j² - v_j w_j : lo_j ≤ w_j ≤ hi_j },   v = q + A'α,

bounds it from below, and L(α) + Σ_j d_j (w_j - ŵ_j)² bounds it at w, ŵ the minimiser: a better w lies in the ball about ŵ of
squared radius UB - L. What rounding may do is taken off L.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba as nb
import numpy as np

from ...models.arrays import BoolArray, FloatArray, IntArray

__all__ = ["DONE", "FULL", "PAUSED", "descend", "explore", "loss"]

#: What `explore` ends with: no open nodes, no room, its nodes are used up.
DONE, FULL, PAUSED = 0, 1, 2
EPS = 2.0**-53
#: Times that a node's box is tightened by its ball; a width that falls to less than this part is worth another.
_ROUNDS, _SHRUNK = 6, 0.9
#: Newton steps for each smoothing; smoothings of a node, and of one whose bound is within this part of what closes it.
_STEPS, _ROUGH, _FINE, _NEAR = 12, 4, 8, 1e-2

_njit: Any = nb.njit  # its options are not in the published types
F = TypeVar("F", bound=Callable[..., Any])


def _compiled(function: F) -> F:
    """These loops make small arrays, so they keep reference counts (`interface.compiled` has none); infinities are met here."""
    flags = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}, "no_cfunc_wrapper": True}
    return cast("F", _njit(cache=True, **flags)(function))


@_compiled
def loss(u: float, height: float, width: float) -> float:
    """(h/d) min{(1-u)_+, d}."""
    return height / width * min(max(1.0 - u, 0.0), width)


@_compiled
def _objective(A: FloatArray, costs: FloatArray, penalised: BoolArray, height: float, width: float, w: FloatArray) -> float:
    """Σ_penalised w_j² + Σ c_i ρ(a_i'w)."""
    total = 0.0
    for j in range(w.size):
        if penalised[j]:
            total += w[j] * w[j]
    for i in range(costs.size):
        u = 0.0
        for j in range(w.size):
            u += A[i, j] * w[j]
        total += costs[i] * loss(u, height, width)
    return total


@_compiled
def _solve_hinge(
    A: FloatArray, slopes: FloatArray, q: FloatArray, penalised: BoolArray, lo: FloatArray, hi: FloatArray, w: FloatArray,
    alpha: FloatArray, smoothings: int,
) -> None:
    """w and α of min Σ d_j w_j² - q'w + Σ s_i (1 - a_i'w)_+ over the box, hinges smoothed.

    Any w and α that come out are valid; each smoothing is a tenth of the one before.
    """
    n, p = A.shape
    u, gradient, step, trial = np.empty(n), np.empty(p), np.empty(p), np.empty(p)
    H = np.empty((p, p))
    smooth = 0.3
    for _ in range(smoothings):
        for _ in range(_STEPS):
            value = _smoothed(A, slopes, q, penalised, w, smooth, u)
            for j in range(p):
                gradient[j] = (2.0 * w[j] if penalised[j] else 0.0) - q[j]
                for k in range(p):
                    H[j, k] = 0.0
                H[j, j] = 2.0 if penalised[j] else 1e-9
            for i in range(n):
                r = 1.0 - u[i]
                if slopes[i] <= 0.0 or r <= 0.0:
                    continue
                a = slopes[i] * min(r / smooth, 1.0)
                for j in range(p):
                    gradient[j] -= a * A[i, j]
                if r < smooth:
                    curve = slopes[i] / smooth
                    for j in range(p):
                        for k in range(j + 1):
                            H[j, k] += curve * A[i, j] * A[i, k]
            slope = _direction(H, gradient, lo, hi, w, step)
            if slope > -1e-12 * (1.0 + abs(value)):
                break
            t = 1.0
            for _ in range(20):
                for j in range(p):
                    trial[j] = min(max(w[j] + t * step[j], lo[j]), hi[j])
                if _smoothed(A, slopes, q, penalised, trial, smooth, u) <= value + 1e-4 * t * slope:
                    break
                t *= 0.5
            w[:] = trial
        smooth *= 0.1
    smooth *= 10.0
    _smoothed(A, slopes, q, penalised, w, smooth, u)
    for i in range(n):
        alpha[i] = slopes[i] * min(max((1.0 - u[i]) / smooth, 0.0), 1.0)


@_compiled
def _smoothed(
    A: FloatArray, slopes: FloatArray, q: FloatArray, penalised: BoolArray, w: FloatArray, smooth: float, u: FloatArray
) -> float:
    """The node's objective with smoothed hinges; u = Aw."""
    value = 0.0
    for j in range(w.size):
        value += (w[j] * w[j] if penalised[j] else 0.0) - q[j] * w[j]
    for i in range(slopes.size):
        at = 0.0
        for j in range(w.size):
            at += A[i, j] * w[j]
        u[i] = at
        r = 1.0 - at
        if r > 0.0 and slopes[i] > 0.0:
            value += slopes[i] * (r - 0.5 * smooth if r > smooth else 0.5 * r * r / smooth)
    return value


@_compiled
def _direction(
    H: FloatArray, gradient: FloatArray, lo: FloatArray, hi: FloatArray, w: FloatArray, step: FloatArray
) -> float:
    """Newton's step in the coordinates that the box leaves free (Cholesky, lower part of H); returns gradient · step."""
    p = w.size
    free = np.empty(p, dtype=np.bool_)
    for j in range(p):
        free[j] = not ((w[j] <= lo[j] and gradient[j] > 0.0) or (w[j] >= hi[j] and gradient[j] < 0.0))
    for j in range(p):
        step[j] = 0.0
        for k in range(j + 1):
            if not (free[j] and free[k]):
                H[j, k] = 1.0 if j == k else 0.0
    for j in range(p):
        for k in range(j + 1):
            total = H[j, k]
            for m in range(k):
                total -= H[j, m] * H[k, m]
            H[j, k] = np.sqrt(max(total, 1e-300)) if j == k else total / H[k, k]
    for j in range(p):
        total = -gradient[j] if free[j] else 0.0
        for k in range(j):
            total -= H[j, k] * step[k]
        step[j] = total / H[j, j]
    for j in range(p - 1, -1, -1):
        total = step[j]
        for k in range(j + 1, p):
            total -= H[k, j] * step[k]
        step[j] = total / H[j, j]
    along = 0.0
    for j in range(p):
        along += gradient[j] * step[j]
    return along


@_compiled
def descend(
    A: FloatArray, costs: FloatArray, penalised: BoolArray, height: float, width: float, lo: FloatArray, hi: FloatArray,
    w: FloatArray,
) -> float:
    """Give up the points beyond the ramp, solve for the rest as hinges, and again, as long as the objective falls; w in place.

    The concave part of the ramp is linearised at w: each turn lowers the objective, or ends (the convex-concave procedure).
    """
    n, p = A.shape
    slopes, alpha, q, at = np.empty(n), np.empty(n), np.zeros(p), w.copy()
    best = _objective(A, costs, penalised, height, width, w)
    for _ in range(50):
        for i in range(n):
            u = 0.0
            for j in range(p):
                u += A[i, j] * at[j]
            slopes[i] = costs[i] * height / width if u >= 1.0 - width else 0.0
        _solve_hinge(A, slopes, q, penalised, lo, hi, at, alpha, _FINE)
        value = _objective(A, costs, penalised, height, width, at)
        if not value < best - 1e-12 * abs(best):
            break
        best = value
        w[:] = at
    return best


@_compiled
def _envelopes(
    A: FloatArray, costs: FloatArray, height: float, width: float, lo: FloatArray, hi: FloatArray, floor: FloatArray,
    slopes: FloatArray, lines: FloatArray, q: FloatArray,
) -> float:
    """Slopes, q and the constant of the node's hinge problem; ``floor`` are further lower bounds of the margins.

    ``lines`` (n, 2): value at 0 and slope of the chords.
    """
    n, p = A.shape
    constant = 0.0
    q[:] = 0.0
    lines[:] = 0.0
    for i in range(n):
        low, high, size = 0.0, 0.0, 0.0
        for j in range(p):
            a = A[i, j]
            low += a * lo[j] if a > 0.0 else a * hi[j]
            high += a * hi[j] if a > 0.0 else a * lo[j]
            size += abs(a) * max(abs(lo[j]), abs(hi[j]))
        spare = 4.0 * (p + 4) * EPS * (size + 1.0)
        low, high = max(low - spare, floor[i]), high + spare
        slopes[i] = 0.0
        if high <= 1.0 - width:
            constant += costs[i] * height
        elif low >= 1.0:
            continue
        elif low < 1.0 - width and high < 1.0:
            at = loss(high, height, width)
            s = costs[i] * (height - at) / (high - low) * (1.0 - 8.0 * EPS)
            lines[i, 0], lines[i, 1] = costs[i] * at + s * high, s
            constant += lines[i, 0]
            for j in range(p):
                q[j] += s * A[i, j]
        else:
            slopes[i] = costs[i] * height / max(width, 1.0 - low) * (1.0 - 8.0 * EPS)
    return constant


@_compiled
def _bound(
    A: FloatArray, alpha: FloatArray, q: FloatArray, constant: float, penalised: BoolArray, lo: FloatArray, hi: FloatArray,
    best: FloatArray,
) -> float:
    """L(α) less what rounding may have added; its minimiser ŵ in ``best``."""
    n, p = A.shape
    total, size = constant, abs(constant)
    for i in range(n):
        total += alpha[i]
        size += alpha[i]
    for j in range(p):
        v, sum_of_sizes = q[j], abs(q[j])
        for i in range(n):
            v += alpha[i] * A[i, j]
            sum_of_sizes += abs(alpha[i] * A[i, j])
        if penalised[j]:
            w = min(max(0.5 * v, lo[j]), hi[j])
            total += w * w - v * w
            size += w * w
        else:
            w = hi[j] if v > 0.0 else lo[j]
            total -= v * w
        best[j] = w
        size += sum_of_sizes * max(abs(lo[j]), abs(hi[j]))
    return total - 4.0 * (n + p + 8) * EPS * size


@_compiled
def _tightened(
    A: FloatArray, penalised: BoolArray, room: float, at: FloatArray, lo: FloatArray, hi: FloatArray, floor: FloatArray
) -> bool:
    """The box and the margins' floors by the ball of squared radius ``room`` about ``at``; whether a width fell much."""
    n, p = A.shape
    radius = np.sqrt(max(room, 0.0)) * (1.0 + 4.0 * EPS) + 1e-300
    shrunk = False
    for j in range(p):
        if not penalised[j]:
            continue
        before = hi[j] - lo[j]
        reach = radius + 4.0 * EPS * (abs(at[j]) + radius)
        lo[j], hi[j] = max(lo[j], at[j] - reach), min(hi[j], at[j] + reach)
        if hi[j] < lo[j]:
            lo[j] = hi[j] = at[j]
        shrunk = shrunk or hi[j] - lo[j] < _SHRUNK * before
    for i in range(n):
        low, norm, size = 0.0, 0.0, 0.0
        for j in range(p):
            a = A[i, j]
            if penalised[j]:
                low += a * at[j]
                norm += a * a
                size += abs(a * at[j])
            else:
                low += a * lo[j] if a > 0.0 else a * hi[j]
                size += abs(a) * max(abs(lo[j]), abs(hi[j]))
        norm = np.sqrt(norm) * radius
        floor[i] = max(floor[i], low - norm - 8.0 * (p + 4) * EPS * (size + norm + 1.0))
    return shrunk


@_compiled
def _coordinate(
    A: FloatArray, costs: FloatArray, height: float, width: float, slopes: FloatArray, lines: FloatArray, lo: FloatArray,
    hi: FloatArray, w: FloatArray,
) -> int:
    """The coordinate whose width has the largest share in the gaps between ramps and envelopes at w; the widest without gaps."""
    n, p = A.shape
    score, spread = np.zeros(p), np.empty(p)
    for i in range(n):
        u, total = 0.0, 0.0
        for j in range(p):
            u += A[i, j] * w[j]
            spread[j] = abs(A[i, j]) * (hi[j] - lo[j])
            total += spread[j]
        under = lines[i, 0] - lines[i, 1] * u if lines[i, 1] > 0.0 else slopes[i] * max(1.0 - u, 0.0)
        gap = costs[i] * loss(u, height, width) - under
        if (slopes[i] > 0.0 or lines[i, 1] > 0.0) and gap > 0.0 and total > 0.0:
            for j in range(p):
                score[j] += gap * spread[j] / total
    j = int(np.argmax(score))
    return j if score[j] > 0.0 else int(np.argmax(hi - lo))


@_compiled
def _push(heap: IntArray, keys: FloatArray, count: int, node: int) -> None:
    """A binary heap's push, least key first; ``count`` nodes are there."""
    k = count
    while k > 0:
        parent = (k - 1) // 2
        if keys[heap[parent]] <= keys[node]:
            break
        heap[k] = heap[parent]
        k = parent
    heap[k] = node


@_compiled
def _pop(heap: IntArray, keys: FloatArray, count: int) -> int:
    """Its pop."""
    first, last = heap[0], heap[count - 1]
    k, size = 0, count - 1
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and keys[heap[child + 1]] < keys[heap[child]]:
            child += 1
        if keys[last] <= keys[heap[child]]:
            break
        heap[k] = heap[child]
        k = child
    if size > 0:
        heap[k] = last
    return int(first)


@_compiled
def explore(
    A: FloatArray, costs: FloatArray, penalised: BoolArray, ramp: FloatArray, boxes: FloatArray, keys: FloatArray, heap: IntArray,
    count: IntArray, state: FloatArray, found: FloatArray, nodes: int,
) -> int:
    """Work on up to ``nodes`` nodes, least bound first.

    Parameters
    ----------
    A, costs, penalised, ramp
        The problem; ``ramp`` is (height, width).
    boxes : ndarray (room, 2, p)
    keys : ndarray (room,)
        Bounds of the nodes' parents.
    heap, count : ndarray of int
        Open nodes; how many, the free places behind them in ``heap``, and the nodes so far.
    state : ndarray (3,)
        The objective to beat, the part of it that may be left, the least bound of nodes that could not be branched on.
    found : ndarray (p,)
        The incumbent.
    """
    n, p = A.shape
    height, width = ramp[0], ramp[1]
    slopes, alpha, q, floor = np.empty(n), np.empty(n), np.empty(p), np.empty(n)
    lo, hi, w, best, lines = np.empty(p), np.empty(p), np.empty(p), np.empty(p), np.empty((n, 2))
    for _ in range(nodes):
        if count[0] == 0:
            return DONE
        if count[0] + 2 >= heap.size:
            return FULL
        node = _pop(heap, keys, count[0])
        count[0] -= 1
        heap[count[0]] = node  # its place is free again
        cut = state[0] * (1.0 - state[1])
        bound = keys[node]
        if bound >= cut:
            continue
        count[1] += 1
        lo[:], hi[:] = boxes[node, 0], boxes[node, 1]
        floor[:] = -np.inf
        for j in range(p):
            w[j] = min(max(found[j], lo[j]), hi[j])
        for _ in range(_ROUNDS):
            constant = _envelopes(A, costs, height, width, lo, hi, floor, slopes, lines, q)
            _solve_hinge(A, slopes, q, penalised, lo, hi, w, alpha, _ROUGH)
            here = _bound(A, alpha, q, constant, penalised, lo, hi, best)
            if cut - _NEAR * abs(cut) < here < cut:  # smoothing may be what is missing
                _solve_hinge(A, slopes, q, penalised, lo, hi, w, alpha, _FINE)
                here = _bound(A, alpha, q, constant, penalised, lo, hi, best)
            bound = max(bound, here)
            value = _objective(A, costs, penalised, height, width, w)
            if value < state[0]:
                state[0] = value
                found[:] = w
                cut = value * (1.0 - state[1])
            if bound >= cut:
                break
            if not _tightened(A, penalised, cut - here, best, lo, hi, floor):
                break
        if bound >= cut:
            continue
        j = _coordinate(A, costs, height, width, slopes, lines, lo, hi, w)
        span = hi[j] - lo[j]
        if not span > 1e-13 * (1.0 + max(abs(lo[j]), abs(hi[j]))):
            state[2] = min(state[2], bound)
            continue
        split = min(max(0.5 * (w[j] + 0.5 * (lo[j] + hi[j])), lo[j] + 0.2 * span), hi[j] - 0.2 * span)
        for side in range(2):
            child = int(heap[count[0]])
            boxes[child, 0], boxes[child, 1] = lo, hi
            boxes[child, 1 - side, j] = split
            keys[child] = bound
            _push(heap, keys, count[0], child)
            count[0] += 1
    return PAUSED
