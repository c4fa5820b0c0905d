"""Compiled second-order pair steps on a box with one equality s'a = 0.

With d = s∘∇: i = argmin d over the points that can move by +s_i (up), and j, of those that can move by -s_j (low), maximises
(d_j - d_i)²/(Q_ii + Q_jj - 2 s_i s_j Q_ij); optimal within ε where max_low d - min_up d ≤ ε (Fan, Chen, Lin 2005).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np

__all__ = ["BoxWork", "mark", "run"]

_njit = nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "nnan", "arcp"})

# Why `run` returned.
BUDGET, COLUMN, RULE, STUCK = 0, 1, 2, 3
# Integers and floats of the state.
ITERATION, MISSING, CLOCK = range(3)
OBJECTIVE, VIOLATION = range(2)

_BLOCK = 512
_FAR = 1e300


class BoxWork(NamedTuple):
    """State of the iteration; arrays only, so that compiled code changes it in place."""

    columns: Any  #: (slots, n)
    slot: Any  #: (n,)
    stamp: Any  #: (slots,)
    diagonal: Any  #: (n,)
    upper: Any  #: (n,)
    s: Any  #: (n,)
    a: Any  #: (n,)
    d: Any  #: (n,) s∘∇
    rise: Any  #: (n,) 0 where the point can move by +s_i, else a huge number
    fall: Any  #: (n,) 1 where the point can move by -s_i, else 0; float32
    integer: Any
    real: Any


@_njit
def mark(w: Any, k: int) -> None:
    """Note in which directions point k can move."""
    below, above = w.a[k] < w.upper[k], w.a[k] > 0.0
    up = below if w.s[k] > 0.0 else above
    low = above if w.s[k] > 0.0 else below
    w.rise[k] = 0.0 if up else _FAR
    w.fall[k] = 1.0 if low else 0.0


@_njit
def _lowest(w: Any) -> int:
    """argmin d over the points that can rise."""
    n = w.d.size
    best, at = _FAR, -1
    for b in range(0, n, _BLOCK):
        e = min(n, b + _BLOCK)
        d, rise = w.d[b:e], w.rise[b:e]
        least = _FAR
        for k in range(d.size):
            least = min(least, d[k] + rise[k])
        if least < best:
            best, at = least, b
    if at < 0:
        return -1
    for k in range(at, min(n, at + _BLOCK)):
        if w.d[k] + w.rise[k] <= best:
            return k
    return at


@_njit
def _partner(w: Any, i: int, column: Any) -> int:
    """The point that can fall with the largest second-order gain; -1 where none has d_j > d_i. Notes the violation."""
    n, di, si = w.d.size, w.d[i], np.float32(w.s[i])
    own, floor = np.float32(w.diagonal[i]), np.float32(1e-7 * max(abs(w.diagonal[i]), 1e-30))
    zero, two = np.float32(0.0), np.float32(2.0)
    gain = np.empty(_BLOCK, dtype=np.float32)
    best, at, violation = zero, -1, 0.0
    for b in range(0, n, _BLOCK):
        e = min(n, b + _BLOCK)
        d, s, fall, diagonal, q = w.d[b:e], w.s[b:e], w.fall[b:e], w.diagonal[b:e], column[b:e]
        most = 0.0
        for k in range(d.size):
            slope = max(d[k] - di, 0.0) * fall[k]
            most = max(most, slope)
            short = np.float32(slope)
            gain[k] = short * short / max(own + np.float32(diagonal[k]) - two * si * np.float32(s[k]) * np.float32(q[k]), floor)
        violation = max(violation, most)
        if b <= i < e:
            gain[i - b] = zero
        high = zero
        for k in range(d.size):
            high = max(high, gain[k])
        if high > best:
            best = high
            for k in range(d.size):
                if gain[k] >= high:
                    at = b + k
                    break
    w.real[VIOLATION] = violation
    return at


@_njit
def _cached(w: Any, i: int) -> int:
    slot = w.slot[i]
    if slot < 0:
        w.integer[MISSING] = i
    else:
        w.integer[CLOCK] += 1
        w.stamp[slot] = w.integer[CLOCK]
    return int(slot)


@_njit
def _move(w: Any, i: int, j: int, qi: Any, qj: Any) -> None:
    """Exact step along s_i e_i - s_j e_j, clipped to the box."""
    si, sj = w.s[i], w.s[j]
    slope = w.d[j] - w.d[i]
    curvature = max(w.diagonal[i] + w.diagonal[j] - 2.0 * si * sj * qi[j], 1e-12 * abs(w.diagonal[i]) + 1e-300)
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
    mark(w, i)
    mark(w, j)
    w.real[OBJECTIVE] += step * (0.5 * step * curvature - slope)
    n, up, down = w.d.size, step * si, step * sj
    for k in range(n):
        w.d[k] += w.s[k] * (up * qi[k] - down * qj[k])


@_njit
def run(w: Any, iterations: int, epsilon: float) -> int:
    """Up to ``iterations`` pair steps; stops where the violation is at most ``epsilon``."""
    for _ in range(iterations):
        i = _lowest(w)
        if i < 0:
            return STUCK
        first = _cached(w, i)
        if first < 0:
            return COLUMN
        j = _partner(w, i, w.columns[first])
        if w.real[VIOLATION] <= epsilon:
            return RULE
        if j < 0:
            return STUCK
        second = _cached(w, j)
        if second < 0:
            return COLUMN
        _move(w, i, j, w.columns[first], w.columns[second])
        w.integer[ITERATION] += 1
    return BUDGET
