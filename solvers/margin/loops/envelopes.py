"""Convex envelopes of the losses on a box, for the relaxation of a node of `margin-bb`, and the objective at a point.

A *term* is a loss ρ of a margin m = a'w times its cost. The loss is the sum of a bounded part, piecewise linear between
*corners*, and of a linear tail to the left. A *demanded* point must have a margin of at least 1. The bounded part has on margins
l ≤ m ≤ u the lower convex hull of its values at l, u and the corners between them: a constant and hinges, each from the right end
of a segment of the hull. A tail of slope s that begins at r, ρ + s (r - m)_+, adds a hinge. If l < r the hull may begin at r: if
it falls no faster than s there, slope t, hull + (s - t)(r - m)_+ is below the loss on both sides of r, and greater than the sum
of both hulls.

An even loss ρ(|m|) has a hull that does not rise where u ≥ -l. Elsewhere it is that of -m on -u ≤ -m ≤ -l, and its hinges are
those of the reversed row -a.
"""

from __future__ import annotations

import math
from typing import Any

from ...exact.loops import EPS
from ...exact.loops.newton import margins
from .data_structures import LoopNode, LoopProblem, inner
from .norm import norm_at
from .propagation import rates_are_met

#: Largest violation that counts as none: of a margin of 1, of a jump at t relative to 1 + |t|, of a row relative to 1 + its
#: terms.
_SHORT = 1e-9


@inner
def _bounded_part(r: LoopProblem, kind: Any, m: float) -> float:
    """Return the bounded part of a loss, without its tail, at the margin m; at a jump the lesser value."""
    last, corners = r.sizes[kind] - 1, r.corners
    m = abs(m) if r.symmetric[kind] else m
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
    """Return ρ(m) of the loss ``kind``; a margin that is short of a jump at t by at most 1e-9 (1 + |t|) counts as t."""
    tail = r.tail[kind] * (r.rise_start[kind] - m) if m < r.rise_start[kind] else 0.0
    m = abs(m) if r.symmetric[kind] else m
    if r.jumps[kind]:
        for k in range(r.sizes[kind]):
            t = r.corners[kind, k]
            if r.below[kind, k] > r.at[kind, k] and m < t and t - m <= _SHORT * (1.0 + abs(t)):
                return float(r.at[kind, k] + tail)
    return _bounded_part(r, kind, m) + tail


@inner
def pair_bound(r: LoopProblem, one: Any, other: Any, distance: float) -> float:
    """Return a lower bound of the bounded parts of two losses, numbers ``one`` and ``other``, at margins with a small sum.

    This is min ρ(x) + ρ'(y) over x + y ≤ t + t' - ``distance``, with t and t' the last corners. As no loss rises, x + y is as
    large as possible; the minimum is at a corner of one of them, or one margin is far out and the other costs its height.
    """
    last, end = r.corners[one, r.sizes[one] - 1], r.corners[other, r.sizes[other] - 1]
    minimum = min(r.height[one], r.height[other])
    rounding = 8.0 * EPS * (abs(last) + abs(end) + abs(distance))
    for turn in range(2):
        a, b = (one, other) if turn == 0 else (other, one)
        for k in range(r.sizes[a]):
            y = (last - r.corners[a, k]) + (end - distance)
            y += rounding + 8.0 * EPS * abs(r.corners[a, k])
            minimum = min(minimum, r.at[a, k] + _bounded_part(r, b, y))
    return max(minimum * (1.0 - 16.0 * EPS), 0.0)


@inner
def _feasible(r: LoopProblem, k: LoopNode) -> bool:
    """Return whether the node's w, whose margins are in ``relaxation.u``, is feasible up to rounding."""
    w, u, used = k.w, k.relaxation.u, 0
    for j in range(w.size):
        used += r.counted[j] and w[j] != 0.0
        if r.integer[j] and w[j] != math.floor(w[j]):
            return False
    if used > r.max_nonzeros:
        return False
    for t in range(r.row_lower.size):
        value, size = -r.row_lower[t], abs(r.row_lower[t])
        for j in range(w.size):
            value += r.constraints[t, j] * w[j]
            size += abs(r.constraints[t, j] * w[j])
        if value < -_SHORT * (1.0 + size):
            return False
    for i in range(r.points):
        if r.kept_points[i] and u[i] < 1.0 - _SHORT:
            return False
    for b in range(r.budget_limits.size):
        wrong = 0
        for i in range(r.budget_starts[b], r.budget_starts[b + 1]):
            wrong += u[i] < 1.0 - _SHORT
        if wrong > r.budget_limits[b]:
            return False
    return rates_are_met(r, k, u)


@inner
def objective(r: LoopProblem, k: LoopNode, limit: float) -> float:
    """Return the objective at the node's w, or a part of it that already exceeds ``limit``; infinite if w is infeasible."""
    w, u = k.w, k.relaxation.u
    margins(r.rows, r.point.size, w, u)
    if r.restricted and not _feasible(r, k):
        return math.inf
    total = norm_at(r, k, w)
    for j in range(w.size):
        total += r.curvature[j] * w[j] * w[j]
        if w[j] != 0.0:
            total += r.price[j]
    costs = r.costs
    for i in range(r.points):
        kind = r.kind[i]
        end = r.corners[kind, r.sizes[kind] - 1]
        end -= 16.0 * EPS * (1.0 + abs(end))  # the shortage of a margin by its own rounding
        if u[i] < end and costs[i] > 0.0:
            total += costs[i] * loss(r, kind, u[i])
            if total > limit:
                break
    return total


@inner
def _ranges(r: LoopProblem, k: LoopNode) -> None:
    """Compute the box's middle and half widths, and the margins of all terms."""
    A, lo, hi, mid, half, errors = r.rows, k.lo, k.hi, k.mid, k.half, r.row_errors
    p, n = A.shape
    for j in range(p):
        mid[j] = min(max(0.5 * (lo[j] + hi[j]), lo[j]), hi[j])
        half[j] = max(hi[j] - mid[j], mid[j] - lo[j]) * (1.0 + 2.0 * EPS)
    low, high, centre = k.low, k.high, k.centre
    margins(A, n, mid, centre)
    for i in range(n):
        low[i], high[i] = 0.0, 0.0  # the half ranges and the size of the terms, then the margins: loops over points are vectors
    for j in range(p):
        reach, size = half[j], abs(mid[j])
        for i in range(n):
            a = abs(A[j, i])
            low[i] += a * reach
            high[i] += a * size
    for i in range(n):
        reach, size = low[i], high[i]
        rounding = 4.0 * (p + 4) * EPS * (size + reach + 1.0) + errors[i]
        low[i], high[i] = centre[i] - reach - rounding, centre[i] + reach + rounding


@inner
def _demand(r: LoopProblem, k: LoopNode) -> bool:
    """Raise margins of demanded points, and of points of a used-up budget, to 1 at least; return False if they cannot be."""
    for b in range(r.budget_limits.size):
        wrong = 0
        for i in range(r.budget_starts[b], r.budget_starts[b + 1]):
            wrong += k.high[i] < 1.0
        if wrong > r.budget_limits[b]:
            return False
        if wrong == r.budget_limits[b]:
            for i in range(r.budget_starts[b], r.budget_starts[b + 1]):
                if k.high[i] >= 1.0:
                    k.demanded[r.point[i]] = True
    for i in range(r.point.size):
        if k.demanded[r.point[i]]:
            if k.high[i] < 1.0:
                return False
            k.low[i] = max(k.low[i], 1.0)
    return True


@inner
def store_hull(r: LoopProblem, k: LoopNode, i: int, vertices: int) -> None:
    """Store the envelope of term i: the lower convex hull of the first ``vertices`` points (k.vertices, k.vertex_values).

    Their margins increase and their values do not rise. From the left, the hull goes from each vertex to the later one to which
    the line falls fastest.
    """
    x, v, pieces, vertex = k.vertices, k.vertex_values, 0, 0
    last = vertices - 1
    k.base[i] = v[last]
    while vertex < last and v[vertex] > v[last]:
        steepest, best = vertex, 0.0
        for t in range(vertex + 1, vertices):
            fall = v[vertex] - v[t]
            slope = fall / max(x[t] - x[vertex], 1e-300)
            if fall > 0.0 and slope >= best:
                steepest, best = t, slope
        if steepest == vertex:
            break
        if pieces > 0 and best < k.slopes[pieces - 1, i]:
            k.slopes[pieces - 1, i] -= best
        elif pieces > 0:  # the slopes fall from piece to piece, up to rounding
            best, k.slopes[pieces - 1, i] = k.slopes[pieces - 1, i], 0.0
        else:
            k.first_slope[i] = best
        k.begins[pieces, i], k.slopes[pieces, i] = x[steepest], best
        pieces += 1
        vertex = steepest
    for t in range(pieces):
        k.slopes[t, i] *= 1.0 - 16.0 * EPS
    k.pieces[i] = pieces


@inner
def _vertices(r: LoopProblem, k: LoopNode, kind: int, lower: float, upper: float) -> int:
    """Store the bounded part at ``lower``, at the corners up to ``upper`` and there; return the number of vertices."""
    k.vertices[0], k.vertex_values[0] = lower, _bounded_part(r, kind, lower)
    count = 1
    for t in range(r.sizes[kind]):
        corner = r.corners[kind, t]
        if lower < corner <= upper:
            k.vertices[count], k.vertex_values[count] = corner, r.at[kind, t]
            count += 1
    if k.vertices[count - 1] < upper < r.corners[kind, r.sizes[kind] - 1]:
        k.vertices[count], k.vertex_values[count] = upper, _bounded_part(r, kind, upper)
        count += 1
    return count


@inner
def _piece(r: LoopProblem, k: LoopNode, i: int, kind: int, begins: float, upper: float) -> bool:
    """Store the loss itself if it is a hinge from ``begins`` to ``upper``; return whether it is.

    That is so between two corners, or about a last one without a jump. The hinge's corner is one of the loss, not an end of the
    box: hinges are smoothed about their corners.
    """
    corners, last = r.corners, r.sizes[kind] - 1
    if begins < corners[kind, 0] or begins >= corners[kind, last]:
        return False
    t = 0
    while corners[kind, t + 1] <= begins:
        t += 1
    end, value = corners[kind, t + 1], r.below[kind, t + 1]
    if upper >= end and (t + 1 < last or value > r.at[kind, last]):
        return False
    slope = (r.at[kind, t] - value) / (end - corners[kind, t])
    k.first_slope[i], k.base[i], k.pieces[i] = slope, value, 1 if slope > 0.0 else 0
    k.begins[0, i], k.slopes[0, i] = end, slope * (1.0 - 16.0 * EPS)
    return True


@inner
def _chord(r: LoopProblem, k: LoopNode, i: int, kind: int, begins: float, upper: float) -> None:
    """Store the envelope of a loss without a corner below a chord: the chord from ``begins`` to ``upper`` or the last corner."""
    last = r.corners[kind, r.sizes[kind] - 1]
    end, value = (last, 0.0) if upper >= last else (upper, _bounded_part(r, kind, upper))
    slope = (_bounded_part(r, kind, begins) - value) / max(end - begins, 1e-300)
    k.first_slope[i], k.base[i], k.pieces[i] = slope, value, 1
    k.begins[0, i], k.slopes[0, i] = end, slope * (1.0 - 16.0 * EPS)


@inner
def _envelope(r: LoopProblem, k: LoopNode, i: int, kind: int) -> None:
    """Store the envelope of a term whose bounded part is not constant on the box."""
    lower, upper = (k.low[i], k.high[i]) if k.orientation[i] > 0.0 else (-k.high[i], -k.low[i])
    begins = max(lower, r.rise_start[kind])
    plain = begins < upper and _piece(r, k, i, kind, begins, upper)
    if not plain and r.chords[kind] and begins < upper:
        _chord(r, k, i, kind, begins, upper)
        plain = True
    if plain and (begins == lower or k.first_slope[i] <= r.tail[kind]):
        k.base[i] -= 16.0 * EPS * r.height[kind]
        return
    store_hull(r, k, i, _vertices(r, k, kind, min(begins, upper), upper))
    if begins > lower and not k.first_slope[i] <= r.tail[kind]:
        store_hull(r, k, i, _vertices(r, k, kind, lower, upper))
        k.first_slope[i] = 0.0  # the tail is a separate hinge
    k.base[i] -= 16.0 * EPS * r.height[kind]


@inner
def compute_envelopes(r: LoopProblem, k: LoopNode) -> bool:
    """Compute margins and envelopes of all terms on the node's box; return False if no point of the box is feasible."""
    _ranges(r, k)
    if r.restricted and not _demand(r, k):
        return False
    costs, unpaid, low, high, undecided, base, first, pieces, turn = (
        k.costs, k.unpaid, k.low, k.high, k.undecided, k.base, k.first_slope, k.pieces, k.orientation
    )  # fmt: skip
    for kind in range(r.sizes.size):
        start, end, height, symmetric = r.corners[kind, 0], r.corners[kind, r.sizes[kind] - 1], r.height[kind], r.symmetric[kind]
        for i in range(r.point.size):
            if r.kind[i] != kind:
                continue
            unpaid[i], first[i], base[i], pieces[i] = costs[i], 0.0, 0.0, 0
            lower, upper, turn[i] = low[i], high[i], 1.0
            if symmetric and upper < -lower:
                lower, upper, turn[i] = -upper, -lower, -1.0
            undecided[i] = lower < end and (upper >= start or symmetric) and costs[i] > 0.0 and height > 0.0
            if undecided[i]:
                _envelope(r, k, i, kind)
            elif upper < start:
                base[i] = height
    return True
