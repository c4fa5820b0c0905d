"""The iterate of the Frank-Wolfe family and its support, compiled: scans, entering and leaving points, columns.

The iterate is kept as a = σ·â and its product as Qa = σ·ĥ, so that a toward or away step, which rescales all of a, costs
one axpy with one column of Q.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....interface.numba_flags import entry, inner

__all__ = ["axpy", "column_of", "enter", "extremes", "fold", "leave", "scan"]

_BLOCK = 512


@entry
def scan(w: Any) -> None:
    """``vertex`` = argmin_i ∇_i, ∇ = σĥ + c."""
    scale = w.now.scale
    n = w.h.size
    best, at = np.inf, 0
    for b in range(0, n, _BLOCK):
        h = w.h[b : min(n, b + _BLOCK)]
        c = w.c[b : min(n, b + _BLOCK)]
        least = np.inf
        for k in range(h.size):
            v = scale * h[k] + c[k]
            if v < least:
                least = v
        if least < best:
            best, at = least, b
    for k in range(at, min(n, at + _BLOCK)):
        if scale * w.h[k] + w.c[k] <= best:
            at = k
            break
    w.now.vertex = at


@entry
def fold(w: Any) -> None:
    """Fold σ into â and ĥ, renormalise Σa = 1, and recompute a'Qa and c'a from the support."""
    scale = w.now.scale
    total = 0.0
    for t in range(w.now.active):
        total += w.a[w.support[t]]
    w.now.scale = 1.0
    for t in range(w.now.active):
        w.a[w.support[t]] /= total
    for k in range(w.h.size):
        w.h[k] /= total
    quadratic, linear = 0.0, 0.0
    for t in range(w.now.active):
        k = w.support[t]
        quadratic += w.a[k] * w.h[k]
        linear += w.a[k] * w.c[k]
    w.now.quadratic, w.now.linear = quadratic, linear
    if scale != 1.0:
        scan(w)


@inner
def axpy(h: Any, step: float, column: Any) -> None:
    """Add step times a column to ĥ."""
    for k in range(h.size):
        h[k] += step * column[k]


@inner
def enter(w: Any, i: int, weight: float) -> None:
    """Weight to â_i, which joins the support where it was not in it."""
    if w.place[i] < 0:
        t = w.now.active
        w.place[i], w.support[t] = t, i
        w.now.active = t + 1
    w.a[i] += weight


@inner
def leave(w: Any, j: int) -> None:
    """Take j out of the support: the last of it fills its place."""
    t = w.now.active - 1
    moved, hole = w.support[t], w.place[j]
    w.support[hole], w.place[moved] = moved, hole
    w.place[j] = -1
    w.now.active = t
    w.a[j] = 0.0


@inner
def extremes(w: Any) -> tuple[int, int]:
    """Support indices with the largest and the smallest ∇: the away vertex and the local toward vertex."""
    scale = w.now.scale
    high, low = -np.inf, np.inf
    j, i = w.support[0], w.support[0]
    for t in range(w.now.active):
        k = w.support[t]
        v = scale * w.h[k] + w.c[k]
        if v > high:
            high, j = v, k
        if v < low:
            low, i = v, k
    return j, i


@inner
def column_of(w: Any, i: int) -> int:
    """Slot of column i, its use noted; -1 (``missing`` = i) where it is not cached."""
    s = w.slot[i]
    if s < 0:
        w.now.missing = i
        return -1
    w.now.clock += 1
    w.stamp[s] = w.now.clock
    return int(s)
