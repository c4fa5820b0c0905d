"""Envelopes of the ramp on a box, and the dual bound of a node with its ball.

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

import numpy as np

from ....models.arrays import FloatArray
from .compiled import entry, inner
from .records import Node, Ramp

__all__ = ["dual_bound", "envelopes", "loss", "objective", "tightened"]

EPS = 2.0**-53
#: A width that falls to less than this part is worth another round.
_SHRUNK = 0.9


@entry
def loss(u: float, height: float, width: float) -> float:
    """(h/d) min{(1-u)_+, d}."""
    return height / width * min(max(1.0 - u, 0.0), width)


@inner
def objective(r: Ramp, w: FloatArray) -> float:
    """Σ_penalised w_j² + Σ c_i ρ(a_i'w)."""
    total = 0.0
    for j in range(w.size):
        if r.penalised[j]:
            total += w[j] * w[j]
    for i in range(r.costs.size):
        u = 0.0
        for j in range(w.size):
            u += r.A[i, j] * w[j]
        total += r.costs[i] * loss(u, r.height, r.width)
    return total


@inner
def envelopes(r: Ramp, k: Node) -> float:
    """Slopes, lines and q of the node's hinge problem from its box and its floors; returns the constant."""
    A, costs, height, width, lo, hi, q = r.A, r.costs, r.height, r.width, k.lo, k.hi, k.q
    n, p = A.shape
    constant = 0.0
    for j in range(p):
        q[j] = 0.0
    for i in range(n):
        k.slopes[i] = k.lines[i, 0] = k.lines[i, 1] = 0.0
        low, high, size = 0.0, 0.0, 0.0
        for j in range(p):
            a = A[i, j]
            low += a * lo[j] if a > 0.0 else a * hi[j]
            high += a * hi[j] if a > 0.0 else a * lo[j]
            size += abs(a) * max(abs(lo[j]), abs(hi[j]))
        spare = 4.0 * (p + 4) * EPS * (size + 1.0)
        low, high = max(low - spare, k.floor[i]), high + spare
        if high <= 1.0 - width:
            constant += costs[i] * height
        elif low >= 1.0:
            continue
        elif low < 1.0 - width and high < 1.0:
            at = loss(high, height, width)
            s = costs[i] * (height - at) / (high - low) * (1.0 - 8.0 * EPS)
            k.lines[i, 0], k.lines[i, 1] = costs[i] * at + s * high, s
            constant += k.lines[i, 0]
            for j in range(p):
                q[j] += s * A[i, j]
        else:
            k.slopes[i] = costs[i] * height / max(width, 1.0 - low) * (1.0 - 8.0 * EPS)
    return constant


@inner
def dual_bound(r: Ramp, k: Node, constant: float) -> float:
    """L(α) less what rounding may have added; its minimiser ŵ in ``best``."""
    A, alpha, lo, hi = r.A, k.alpha, k.lo, k.hi
    n, p = A.shape
    total, size = constant, abs(constant)
    for i in range(n):
        total += alpha[i]
        size += alpha[i]
    for j in range(p):
        v, sum_of_sizes = k.q[j], abs(k.q[j])
        for i in range(n):
            v += alpha[i] * A[i, j]
            sum_of_sizes += abs(alpha[i] * A[i, j])
        if r.penalised[j]:
            w = min(max(0.5 * v, lo[j]), hi[j])
            total += w * w - v * w
            size += w * w
        else:
            w = hi[j] if v > 0.0 else lo[j]
            total -= v * w
        k.best[j] = w
        size += sum_of_sizes * max(abs(lo[j]), abs(hi[j]))
    return total - 4.0 * (n + p + 8) * EPS * size


@inner
def tightened(r: Ramp, k: Node, room: float) -> bool:
    """The box and the margins' floors by the ball of squared radius ``room`` about ``best``; whether a width fell much."""
    A, at, lo, hi = r.A, k.best, k.lo, k.hi
    n, p = A.shape
    radius = np.sqrt(max(room, 0.0)) * (1.0 + 4.0 * EPS) + 1e-300
    shrunk = False
    for j in range(p):
        if not r.penalised[j]:
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
            if r.penalised[j]:
                low += a * at[j]
                norm += a * a
                size += abs(a * at[j])
            else:
                low += a * lo[j] if a > 0.0 else a * hi[j]
                size += abs(a) * max(abs(lo[j]), abs(hi[j]))
        norm = np.sqrt(norm) * radius
        k.floor[i] = max(k.floor[i], low - norm - 8.0 * (p + 4) * EPS * (size + norm + 1.0))
    return shrunk
