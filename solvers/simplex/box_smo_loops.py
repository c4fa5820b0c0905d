"""Compiled pair steps of SMO with second-order choice on a box with one equality s'a = r; `box_smo` calls them.

The problem is min ½a'Qa + c'a over 0 ≤ a ≤ u, s'a = r with signs s_i = ±1 and the gradient ∇ = Qa + c; a point is a variable
a_i. ``w`` is the `BoxIterate`: a, gradient, directions in which points can move, and cached columns of K.

With d = s∘∇ and K_ij = s_i s_j Q_ij: i = argmin d over the points that can move by +s_i (up), and j, of those that can move by
-s_j (low), maximises (d_j - d_i)²/(K_ii + K_jj - 2K_ij); optimal within ε where max_low d - min_up d ≤ ε (Fan, Chen, Lin 2005).
Points are in an order of the run, the active ones first; the loops see only these.

Minima and maxima are taken of the bits of floats, read as integers in the same order: LLVM turns a reduction of integers into
vector instructions and, under Numba's flags, one of floats into none (5,000 numbers: 0.7 against 4.5 µs).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..interface.numba_flags import entry, inlined, inner

# Reasons why `run_pairs` returned: steps used up, a column missing, the violation small enough, no descent left.
BUDGET, COLUMN, RULE, STUCK = 0, 1, 2, 3

#: Entries that are processed at once: they stay in the first-level cache.
BLOCK = 512
#: Value of ``rise`` for points that cannot rise, above every d.
_FAR = 1e300
#: Largest integer of 64 bits, above the bits of every float; shift that leaves a number's sign.
_MOST = np.int64(0x7FFFFFFFFFFFFFFF)
_SIGN = np.int64(63)
#: As NumPy's integers: literals would have each helper compiled for them too.
_FIRST: Any = np.int64(0)
_NOWHERE: Any = np.int64(-1)


@inner
def _mark(w: Any, k: int) -> None:
    below, above = w.a[k] < w.upper[k], w.a[k] > 0.0
    up = below if w.s[k] > 0.0 else above
    low = above if w.s[k] > 0.0 else below
    w.rise[k] = 0.0 if up else _FAR
    w.fall[k] = 1.0 if low else 0.0


@inner
def _place(w: Any, block: int, n: int) -> int:
    """argmin d over the points of a block that can rise; -1 where none can."""
    best, place = 0.5 * _FAR, _NOWHERE
    for k in range(block, min(n, block + BLOCK)):
        value = w.d[k] + w.rise[k]
        if value < best:
            best, place = value, k
    return place


@inlined
def _lowest(w: Any) -> int:
    """argmin d over the active points that can rise; -1 where none can."""
    n = w.scalars.active
    store, bits = w.store, w.bits
    best, block = _MOST, _FIRST
    for b in range(0, n, BLOCK):
        e = min(n, b + BLOCK)
        d, rise = w.d[b:e], w.rise[b:e]
        for k in range(d.size):
            store[k] = d[k] + rise[k]
        smallest = _MOST
        for k in range(d.size):
            smallest = min(smallest, bits[k] ^ ((bits[k] >> _SIGN) & _MOST))
        if smallest < best:
            best, block = smallest, b
    return _place(w, block, n)


@inlined
def _partner(w: Any, i: int, column: Any) -> int:
    """The point that can fall with the largest second-order gain; -1 where none has d_j > d_i. Notes the violation."""
    n, di = w.scalars.active, w.d[i]
    diagonal_entry, floor = w.short[i], np.float32(1e-7 * max(abs(w.diagonal[i]), 1e-30))
    two, zero_index = np.float32(2.0), np.int32(0)
    slope, gain, slopes, gains = w.slope, w.gain, w.slopes, w.gains
    best, partner, violation = zero_index, _NOWHERE, zero_index
    for b in range(0, n, BLOCK):
        e = min(n, b + BLOCK)
        d, fall, diagonal, q = w.d[b:e], w.fall[b:e], w.short[b:e], column[b:e]
        for k in range(d.size):
            slope[k] = np.float32(d[k] - di) * fall[k]
        for k in range(d.size):
            slopes[k] = max(slopes[k], zero_index)
        for k in range(d.size):
            gain[k] = slope[k] * slope[k] / max(diagonal_entry + diagonal[k] - two * np.float32(q[k]), floor)
        if b <= i < e:
            gain[i - b] = 0.0
        high = zero_index
        for k in range(d.size):
            violation = max(violation, slopes[k])
        for k in range(d.size):
            high = max(high, gains[k])
        if high > best:
            best = high
            for k in range(d.size):
                if gains[k] >= high:
                    partner = b + k
                    break
    slopes[0] = violation
    w.scalars.violation = slope[0]
    return partner


@inner
def _cached(w: Any, i: int) -> int:
    slot = w.slot[i]
    if slot < 0:
        w.scalars.missing = i
    else:
        w.scalars.clock += 1
        w.stamp[slot] = w.scalars.clock
    return int(slot)


@inlined
def _step(w: Any, i: int, j: int, qi: Any) -> float:
    """Exact step along s_i e_i - s_j e_j, clipped to the box."""
    si, sj = w.s[i], w.s[j]
    slope = w.d[j] - w.d[i]
    curvature = max(w.diagonal[i] + w.diagonal[j] - 2.0 * qi[j], 1e-12 * abs(w.diagonal[i]) + 1e-300)
    room_i = w.upper[i] - w.a[i] if si > 0.0 else w.a[i]
    room_j = w.a[j] if sj > 0.0 else w.upper[j] - w.a[j]
    step = slope / curvature
    full_i, full_j = room_i <= step, room_j <= step
    if full_i or full_j:
        step = min(room_i, room_j)
    w.a[i] += si * step
    w.a[j] -= sj * step
    if full_i and room_i <= room_j:
        w.a[i] = w.upper[i] if si > 0.0 else 0.0
    if full_j and room_j <= room_i:
        w.a[j] = 0.0 if sj > 0.0 else w.upper[j]
    w.a[i] = min(max(w.a[i], 0.0), w.upper[i])
    w.a[j] = min(max(w.a[j], 0.0), w.upper[j])
    _mark(w, i)
    _mark(w, j)
    w.scalars.objective += step * (0.5 * step * curvature - slope)
    return float(step)


@inlined
def _update(w: Any, step: float, qi: Any, qj: Any) -> int:
    """d += step·(K_i - K_j), and the next i, in one pass over the memory."""
    n = w.scalars.active
    store, bits = w.store, w.bits
    best, block = _MOST, _FIRST
    for b in range(0, n, BLOCK):
        e = min(n, b + BLOCK)
        d, rise, p, q = w.d[b:e], w.rise[b:e], qi[b:e], qj[b:e]
        for k in range(d.size):
            d[k] += step * np.float64(p[k] - q[k])
            store[k] = d[k] + rise[k]
        smallest = _MOST
        for k in range(d.size):
            smallest = min(smallest, bits[k] ^ ((bits[k] >> _SIGN) & _MOST))
        if smallest < best:
            best, block = smallest, b
    return _place(w, block, n)


@entry
def mark_shrinkable(w: Any, keep: Any) -> int:
    """Set ``keep`` for the active points that must stay active; return the number of the others.

    A point at a bound that can only rise takes part in no violating pair where d is above max_low d, one that can only fall
    where d is below min_up d (LIBSVM's rule).
    """
    n = w.scalars.active
    low, high, count = _FAR, -_FAR, 0
    for k in range(n):
        if w.rise[k] == 0.0:
            low = min(low, w.d[k])
        if w.fall[k] > 0.0:
            high = max(high, w.d[k])
    for k in range(n):
        up, down = w.rise[k] == 0.0, w.fall[k] > 0.0
        keep[k] = (up and down) or (up and w.d[k] <= high) or (down and w.d[k] >= low)
        count += not keep[k]
    return count


@entry
def swap_entries(columns: Any, rows: int, first: Any, second: Any) -> None:
    """Exchange entries first[t] and second[t] of the first ``rows`` columns."""
    for r in range(rows):
        column = columns[r]
        for t in range(first.size):
            p, q = first[t], second[t]
            column[p], column[q] = column[q], column[p]


@entry
def add_columns(w: Any, slots: Any, steps: Any) -> None:
    """Add Σ_k steps_k K_k to d over the active points, K_k the column in ``slots[k]``; block by block, which the cache holds."""
    n = w.scalars.active
    for b in range(0, n, BLOCK):
        e = min(n, b + BLOCK)
        d = w.d[b:e]
        for t in range(slots.size):
            step, column = steps[t], w.columns[slots[t], b:e]
            for k in range(d.size):
                d[k] += step * np.float64(column[k])


@entry
def mark_directions(w: Any, places: Any) -> None:
    """Update ``rise`` and ``fall`` of the points at ``places``, the directions in which they can move."""
    for k in places:
        _mark(w, k)


@entry
def active_gap(w: Any) -> float:
    """Return the least duality gap of the active points at ν = min_up d, max_low d and the middle.

    The gap at the multiplier ν of s'a = r is Σ_i a_i ζ_i - u_i min(0, ζ_i) with ζ_i = s_i (d_i - ν); each term is at least 0. A
    point that is no longer active satisfies its condition, so its term is 0. The gap is infinite if no point can move by +s_i, or
    none by -s_i.
    """
    n = w.scalars.active
    low, high = _FAR, -_FAR
    for k in range(n):
        if w.rise[k] == 0.0:
            low = min(low, w.d[k])
        if w.fall[k] > 0.0:
            high = max(high, w.d[k])
    if low == _FAR or high == -_FAR:
        return np.inf
    middle = 0.5 * (low + high)
    first, second, third = 0.0, 0.0, 0.0
    for k in range(n):
        r = w.s[k] * (w.d[k] - low)
        first += w.a[k] * r - w.upper[k] * min(0.0, r)
        r = w.s[k] * (w.d[k] - middle)
        second += w.a[k] * r - w.upper[k] * min(0.0, r)
        r = w.s[k] * (w.d[k] - high)
        third += w.a[k] * r - w.upper[k] * min(0.0, r)
    return min(first, second, third)


@entry
def run_pairs(w: Any, iterations: int, epsilon: float) -> int:
    """Take up to ``iterations`` pair steps, to a violation of at most ``epsilon``; return the reason for the end."""
    i = _lowest(w)
    for _ in range(iterations):
        if i < 0:
            return STUCK
        first = _cached(w, i)
        if first < 0:
            return COLUMN
        j = _partner(w, i, w.columns[first])
        if w.scalars.violation <= epsilon:
            return RULE
        if j < 0:
            return STUCK
        second = _cached(w, j)
        if second < 0:
            return COLUMN
        step = _step(w, i, j, w.columns[first])
        i = _update(w, step, w.columns[first], w.columns[second])
        w.scalars.iteration += 1
    return BUDGET
