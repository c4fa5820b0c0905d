"""Compiled pair steps of SMO with second-order choice on one or several simplices; `smo` calls them.

The problem is min f(a) = ½a'Qa + c'a over a ≥ 0 with sum 1 in each simplex; ∇ = Qa + c, and a point is a variable a_i. ``w`` is
the `SmoIterate`: a, gradient, support and cached columns of Q.

A pair step moves weight from a point j to a point i. The vertex i is the worst violator, argmin ∇ (in the simplex with the
largest violation); its partner j, of the support, maximises (∇_j - ∇_i)²/(Q_ii + Q_jj - 2Q_ij), twice the decrease of an
unclipped step ("WSS2" of Fan, Chen, Lin 2005, whose set I_low is the support here). Columns may be float32; the gradient is
float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..interface.numba_flags import entry, inlined, inner

# Reasons why `run_pairs` returned: steps used up, a column missing (of the point ``missing`` of the scalars), the gap small
# enough, no descent left.
BUDGET, COLUMN, RULE, STUCK = 0, 1, 2, 3

#: Entries that are processed at once: they stay in the first-level cache.
BLOCK = 512
#: Steps after which objective and gap are summed anew, so that rounding does not add up.
_RESUM = 2000
#: No point. A NumPy integer: a literal would have each helper compiled for it too.
_NOWHERE: Any = np.int64(-1)
# Floors of a curvature: two variables whose columns are zero have none, and 0/0 is undefined with ``nnan``.
_TINY, _TINY_SINGLE = 1e-300, 1e-30


@entry
def find_vertices(w: Any) -> None:
    """Set vertex_s to the argmin of ∇ over simplex s, for every s."""
    for s in range(w.vertex.size):
        vertex, best = -1, np.inf
        for t in range(w.offset[s], w.offset[s + 1]):
            k = w.members[t]
            if w.g[k] < best:
                vertex, best = k, w.g[k]
        w.vertex[s] = vertex


@inlined
def _update(g: Any, step: float, up: Any, down: Any) -> int:
    """g += step·(up - down) and its argmin, as separate short loops over blocks."""
    n = g.size
    best, block = np.inf, 0
    for b in range(0, n, BLOCK):
        e = min(n, b + BLOCK)
        gb, ub, db = g[b:e], up[b:e], down[b:e]
        for k in range(gb.size):
            gb[k] += step * (ub[k] - db[k])
        smallest = np.inf
        for k in range(gb.size):
            if gb[k] < smallest:
                smallest = gb[k]
        if smallest < best:
            best, block = smallest, b
    for k in range(block, min(n, block + BLOCK)):
        if g[k] <= best:
            return k
    return block


@entry
def recompute_gap(w: Any) -> None:
    """Recompute a'∇ and c'a, and with them objective and gap, from the support."""
    slope, linear, lowest = 0.0, 0.0, 0.0
    for s in range(w.size.size):
        for t in range(w.offset[s], w.offset[s] + w.size[s]):
            k = w.support[t]
            slope += w.a[k] * w.g[k]
            linear += w.a[k] * w.c[k]
        lowest += w.g[w.vertex[s]]
    w.scalars.objective = 0.5 * (slope + linear)
    w.scalars.linear = linear
    w.scalars.gap = slope - lowest


@inlined
def _worst(w: Any) -> int:
    """The simplex with the largest violation max_{support} ∇ - min ∇."""
    if w.size.size == 1:
        return 0
    chosen, largest_gap = 0, -1.0
    for s in range(w.size.size):
        high = -np.inf
        for t in range(w.offset[s], w.offset[s] + w.size[s]):
            if w.g[w.support[t]] > high:
                high = w.g[w.support[t]]
        if high - w.g[w.vertex[s]] > largest_gap:
            chosen, largest_gap = s, high - w.g[w.vertex[s]]
    return chosen


@inlined
def _partner(w: Any, s: int, i: int, column: Any) -> int:
    """The support point j of simplex s whose pair with i decreases the objective most; -1 if none does."""
    first, size = w.offset[s], w.size[s]
    if w.vertex.size == 1 and 6 * size > w.g.size:
        return int(_partner_dense(w.g, w.diagonal, column, w.live, w.gain, i))
    gi, di = w.g[i], w.diagonal[i]
    j, best = _NOWHERE, 0.0
    floor = 1e-12 * abs(di) + _TINY
    for t in range(first, first + size):
        k = w.support[t]
        slope = max(w.g[k] - gi, 0.0)
        gain = slope * slope / max(di + w.diagonal[k] - 2.0 * column[k], floor)
        if gain > best and k != i:
            j, best = k, gain
    return j


@inner
def _partner_dense(g: Any, diagonal: Any, column: Any, live: Any, gain: Any, i: int) -> int:
    """The same over all points in memory order, those outside the support masked: faster than gathering a large one.

    Gains in float32 suffice: any pair with a positive slope descends.
    """
    n = g.size
    gi, di, floor = g[i], np.float32(diagonal[i]), np.float32(1e-7 * abs(diagonal[i]) + _TINY_SINGLE)
    zero, two = np.float32(0.0), np.float32(2.0)
    best, partner = zero, _NOWHERE
    for b in range(0, n, BLOCK):
        e = min(n, b + BLOCK)
        gb, db, cb, lb = g[b:e], diagonal[b:e], column[b:e], live[b:e]
        for k in range(gb.size):
            slope = max(np.float32(gb[k] - gi), zero)
            gain[k] = lb[k] * slope * slope / max(di + np.float32(db[k]) - two * np.float32(cb[k]), floor)
        if b <= i < e:
            gain[i - b] = zero
        largest_gain = zero
        for k in range(gb.size):
            largest_gain = max(largest_gain, gain[k])
        if largest_gain > best:
            best = largest_gain
            for k in range(gb.size):
                if gain[k] >= largest_gain:
                    partner = b + k
                    break
    return partner


@inlined
def _leave(w: Any, s: int, j: int) -> None:
    last = w.offset[s] + w.size[s] - 1
    last_point, hole = w.support[last], w.place[j]
    w.support[hole], w.place[last_point] = last_point, hole
    w.place[j] = -1
    w.live[j] = 0.0
    w.size[s] -= 1
    w.a[j] = 0.0


@inner
def _cached(w: Any, i: int) -> int:
    s = w.slot[i]
    if s < 0:
        w.scalars.missing = i
    else:
        w.scalars.clock += 1
        w.stamp[s] = w.scalars.clock
    return int(s)


@inlined
def _move(w: Any, s: int, i: int, j: int, up: Any, down: Any) -> None:
    """Exact step from j to i, clipped at a_j; objective and gradient follow."""
    slope = w.g[j] - w.g[i]
    curvature = max(w.diagonal[i] + w.diagonal[j] - 2.0 * up[j], 1e-12 * abs(w.diagonal[i]) + _TINY)
    step = slope / curvature
    if w.place[i] < 0:
        end = w.offset[s] + w.size[s]
        w.place[i], w.support[end] = end, i
        w.live[i] = 1.0
        w.size[s] += 1
    if step >= w.a[j]:
        step = w.a[j]
        _leave(w, s, j)
        w.scalars.drops += 1
    else:
        w.a[j] -= step
    w.a[i] += step
    w.scalars.linear += step * (w.c[i] - w.c[j])
    w.scalars.objective += step * (0.5 * step * curvature - slope)
    nearest = _update(w.g, step, up, down)
    if w.vertex.size == 1:
        w.vertex[0] = nearest
    else:
        find_vertices(w)


@entry
def run_pairs(w: Any, iterations: int, tol: float) -> int:
    """Take up to ``iterations`` pair steps, to a gap of at most tol·max(|f|, |f - gap|); return the reason for the end."""
    for _ in range(iterations):
        if w.scalars.iteration % _RESUM == _RESUM - 1:
            recompute_gap(w)
        f, lowest = w.scalars.objective, 0.0
        for s in range(w.vertex.size):
            lowest += w.g[w.vertex[s]]
        gap = 2.0 * f - w.scalars.linear - lowest
        w.scalars.gap = gap
        if gap <= tol * max(abs(f), abs(f - gap)):
            recompute_gap(w)
            f, gap = w.scalars.objective, w.scalars.gap
            if gap <= tol * max(abs(f), abs(f - gap)):
                return RULE
        s = _worst(w)
        i = w.vertex[s]
        up = _cached(w, i)
        if up < 0:
            return COLUMN
        j = _partner(w, s, i, w.columns[up])
        if j < 0:
            return STUCK
        down = _cached(w, j)
        if down < 0:
            return COLUMN
        _move(w, s, i, j, w.columns[up], w.columns[down])
        w.scalars.iteration += 1
    recompute_gap(w)
    return BUDGET
