"""Losses at a margin, the least cost of a pair of points, and the objective of a point."""

from __future__ import annotations

import math
from typing import Any

from ...exact.loops.newton import margins
from .compiled import EPS, inner
from .norm import steepest
from .rates import rates_met
from .records import LoopNode, LoopProblem

__all__ = ["bounded_part", "loss", "objective", "pair_bound"]

#: A margin or a row counts as met if its violation, relative to its terms, is at most this.
_SHORT = 1e-9


@inner
def bounded_part(r: LoopProblem, kind: Any, m: float) -> float:
    """Return the bounded part of a loss, the lesser value at a jump."""
    last, corners = r.sizes[kind] - 1, r.corners
    if m < corners[kind, 0]:
        return float(r.below[kind, 0])
    if m >= corners[kind, last]:
        return 0.0
    k = 0
    while corners[kind, k + 1] <= m:
        k += 1
    start, end = r.at[kind, k], r.below[kind, k + 1]
    part = (m - corners[kind, k]) / (corners[kind, k + 1] - corners[kind, k])
    return float(start + part * (end - start))


@inner
def loss(r: LoopProblem, kind: Any, m: float) -> float:
    """Return ρ(m); a margin that is short of a jump by its rounding counts as at the jump."""
    tail = r.tail[kind] * (r.again[kind] - m) if m < r.again[kind] else 0.0
    if r.jumps[kind]:
        for k in range(r.sizes[kind]):
            t = r.corners[kind, k]
            if r.below[kind, k] > r.at[kind, k] and m < t and t - m <= _SHORT * (1.0 + abs(t)):
                return float(r.at[kind, k] + tail)
    return bounded_part(r, kind, m) + tail


@inner
def pair_bound(r: LoopProblem, one: Any, other: Any, distance: float) -> float:
    """Return the least cost of two points: min ρ(x) + ρ'(y), their bounded parts, over x + y ≤ t + t' - apart, t, t' the last
    corners.

    As no loss rises, x + y is as large as possible; the minimum is at a corner of one of them, or one margin is far out and the
    other costs its height.
    """
    last, end = r.corners[one, r.sizes[one] - 1], r.corners[other, r.sizes[other] - 1]
    minimum = min(r.height[one], r.height[other])
    rounding = 8.0 * EPS * (abs(last) + abs(end) + abs(distance))
    for turn in range(2):
        a, b = (one, other) if turn == 0 else (other, one)
        for k in range(r.sizes[a]):
            y = (last - r.corners[a, k]) + (end - distance)
            y += rounding + 8.0 * EPS * abs(r.corners[a, k])
            minimum = min(minimum, r.at[a, k] + bounded_part(r, b, y))
    return max(minimum * (1.0 - 16.0 * EPS), 0.0)


@inner
def _feasible(r: LoopProblem, k: LoopNode) -> bool:
    """Return whether the node's w, whose margins are in ``relaxation.u``, is feasible up to rounding."""
    w, u, used = k.w, k.relaxation.u, 0
    for j in range(w.size):
        used += r.counted[j] and w[j] != 0.0
        if r.whole[j] and w[j] != math.floor(w[j]):
            return False
    if used > r.most:
        return False
    for t in range(r.least.size):
        value, size = -r.least[t], abs(r.least[t])
        for j in range(w.size):
            value += r.limits[t, j] * w[j]
            size += abs(r.limits[t, j] * w[j])
        if value < -_SHORT * (1.0 + size):
            return False
    for i in range(r.points):
        if r.kept[i] and u[i] < 1.0 - _SHORT:
            return False
    for b in range(r.allowed.size):
        wrong = 0
        for i in range(r.begins[b], r.begins[b + 1]):
            wrong += u[i] < 1.0 - _SHORT
        if wrong > r.allowed[b]:
            return False
    return rates_met(r, k, u)


@inner
def objective(r: LoopProblem, k: LoopNode, limit: float) -> float:
    """Return the objective at the node's w, or a part that is above ``limit`` already; infinite if w is infeasible."""
    w, u = k.w, k.relaxation.u
    margins(r.rows, r.point.size, w, u)
    if r.restricted and not _feasible(r, k):
        return math.inf
    total = steepest(r, k, w)
    for j in range(w.size):
        total += r.curvature[j] * w[j] * w[j]
        if w[j] != 0.0:
            total += r.price[j]
    end, costs = r.corners[0, r.sizes[0] - 1], r.costs
    end -= 16.0 * EPS * (1.0 + abs(end))  # the shortage of a margin by its own rounding
    for i in range(r.points):
        if u[i] < end and costs[i] > 0.0:
            total += costs[i] * loss(r, 0, u[i])
            if total > limit:
                break
    return total
