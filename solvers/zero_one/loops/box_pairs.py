"""Compiled pair bound of a box: a packing of pairs of points of which no w of the box keeps both.

Point i is kept if g_i'w ≥ 1, and costs its weight otherwise. Each pair has a price, which both points pay from their weights. One
point of each pair is violated, so the prices of a packing are a lower bound of the loss. The box search calls `pack_pairs` in
every round, before the relaxation. A node has m undecided points, with rows g_i in the columns of G, states z_i and lower ends
l_i of their margins; R and P are work arrays. The points of a pair are of opposite classes: a row and a column of a bipartite
graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...exact.loops import EPS, EPS_SINGLE
from ...exact.loops.matching import WIDEST, MatchArrays, match
from ...exact.loops.newton import BoxRelaxation, margins
from . import inner
from .box_records import FREE, KEPT, VIOLATED, BoxData, BoxNode

#: Zero in single precision: a double-precision zero would widen the comparison.
_SINGLE_ZERO = np.float32(0.0)


@inner
def sort_by_decreasing_key(key: Any, m: int, order: Any, P: MatchArrays) -> None:
    """Write the positions 0 .. m - 1 to ``order``, by decreasing key; arrays of ``P`` are buffers.

    A radix sort by sixteen bits of t/(1 + |t|), which avoids unpredictable branches, is followed by an insertion sort of
    neighbours with equal bits.
    """
    code, other, bins = P.code, P.row_of, P.bins
    for i in range(m):
        code[i] = np.int64(32767.0 - 32767.0 * (key[i] / (1.0 + abs(key[i]))))
    for digit in range(2):
        shift = 8 * digit
        source, target = (other, order) if digit == 1 else (order, other)
        for k in range(257):
            bins[k] = 0
        for i in range(m):
            bins[((code[i] >> shift) & 255) + 1] += 1
        for k in range(256):
            bins[k + 1] += bins[k]
        for t in range(m):
            i = t if digit == 0 else source[t]
            k = (code[i] >> shift) & 255
            target[bins[k]] = i
            bins[k] += 1
    for t in range(1, m):
        item = order[t]
        k = t
        while k > 0 and key[order[k - 1]] < key[item]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = item


@inner
def _select_side(data: BoxData, node: BoxNode, m: int, R: BoxRelaxation, P: MatchArrays, side_number: int) -> tuple[int, int]:
    """Write the points of one side that pairs can use to ``P.side[side_number]``, by decreasing margin; return the range to use.

    Side 1 has the points of ``data.positive``, side 0 the others. The range has at most `WIDEST` points, those with margins
    nearest to 1.
    """
    idx, order, u, residual, share, side = node.idx, P.queue, R.u, R.left, R.least_margin, P.side[side_number]
    positive = side_number == 1
    count = above = 0
    for t in range(m):
        i = order[t]
        if data.positive[idx[i]] == positive and residual[i] > 0.0 and share[i] < 1.0:
            side[count] = i
            count += 1
            above += u[i] >= 1.0
    first = max(min(above - WIDEST // 2, count - WIDEST), 0)
    return first, min(first + WIDEST, count)


@inner
def set_exclusion_edges(G: Any, rows: Any, columns: Any, mid_excess: Any, share: Any, half: Any, P: MatchArrays) -> None:
    """Set the bits of ``P.adjacent`` to the pairs of a row and a column that the box excludes and that may pay.

    Bit k of ``P.adjacent[r]`` is set if max (g_i + g_j)'w < 2 over the box for i = rows[r] and j = columns[k], and if the shares
    ``share`` of a full loss that both points pay at w add up to less than 1. ``half`` are the half-widths of the box;
    ``mid_excess`` is g_i'mid - 1 at its centre plus an allowance for the rounding of all later operations, which are in single
    precision.
    """
    p, nr, nc = half.size, rows.size, columns.size
    M, sums, shares, acc = P.scaled, P.column_margins, P.column_losses, P.row_excess
    words = (nc + 63) >> 6
    for k in range(nc, words << 6):
        sums[k], shares[k] = np.inf, 0.0  # NaN together with -∞ of a row, which is no pair either
        for c in range(p):
            M[c, k] = 0.0
    for k in range(nc):
        j = columns[k]
        sums[k], shares[k] = mid_excess[j], share[j]
        for c in range(p):
            M[c, k] = G[c, j] * half[c]
    for r in range(nr):
        i = rows[r]
        base, slack = np.float32(mid_excess[i]), np.float32(1.0 - share[i])
        for k in range(words << 6):
            acc[k] = base + sums[k]
        c = 0  # three coordinates per pass, since memory access to ``acc`` dominates
        while c + 2 < p:
            x, y, z = np.float32(G[c, i] * half[c]), np.float32(G[c + 1, i] * half[c + 1]), np.float32(G[c + 2, i] * half[c + 2])
            for k in range(words << 6):
                acc[k] += abs(x + M[c, k]) + abs(y + M[c + 1, k]) + abs(z + M[c + 2, k])
            c += 3
        while c < p:
            x = np.float32(G[c, i] * half[c])
            for k in range(words << 6):
                acc[k] += abs(x + M[c, k])
            c += 1
        for k in range(words << 6):
            acc[k] = max(acc[k], shares[k] - slack)
        for q in range(words):
            word = acc[q << 6 : (q << 6) + 64]
            bits = np.uint64(0)
            for k in range(64):
                bits |= np.uint64(word[k] < _SINGLE_ZERO) << np.uint64(k)
            P.adjacent[r, q] = bits


#: Largest number of matchings, each on the weights that the previous ones leave.
_MATCHINGS = 3


@inner
def _add_pair(P: MatchArrays, count: int, i: int, j: int, residual: Any) -> float:
    """Record a pair and subtract its price from the residual weights of both points."""
    price = min(residual[i], residual[j])
    P.points[count, 0], P.points[count, 1], P.price[count] = i, j, price
    for k in (i, j):
        residual[k] = 0.0 if residual[k] == price else (residual[k] - price) * (1.0 - 4.0 * EPS)
    return float(price)


@inner
def _fix_partners(P: MatchArrays, rows: Any, columns: Any, z: Any, residual: Any) -> tuple[float, int]:
    """Fix the partners of kept points as violated; return (weight, number) of them, or (∞, 1) if two kept points are a pair."""
    count, total, kept_columns = 0, 0.0, 0
    for k in range(columns.size):
        if z[columns[k]] == KEPT:
            P.queue[kept_columns] = k
            kept_columns += 1
    for r in range(rows.size):
        row_kept = z[rows[r]] == KEPT
        for t in range(columns.size if row_kept else kept_columns):
            k = t if row_kept else P.queue[t]
            i, j = rows[r], columns[k]
            if P.adjacent[r, k >> 6] >> np.uint64(k & 63) & np.uint64(1) == 0:
                continue
            if z[i] == z[j]:
                P.points[0, 0], P.points[0, 1], P.price[0] = i, j, 0.0
                return np.inf, 1
            free = j if z[i] == KEPT else i
            if z[free] == FREE:
                P.points[count, 0], P.points[count, 1], P.price[count] = i, j, residual[free]
                total += residual[free]
                count += 1
                z[free], residual[free] = VIOLATED, 0.0
    return total, count


@inner
def pack_pairs(data: BoxData, node: BoxNode, m: int, R: BoxRelaxation, P: MatchArrays) -> tuple[float, int]:
    """Pack pairs of points that no w of the box keeps both; return (a lower bound of the loss, number of pairs).

    Return (∞, 1) if two kept points exclude each other: the box is empty.

    The price of every pair is subtracted from the residual weights of its points, which stay in the relaxation. The partner of a
    kept point becomes violated. Two points are not paired if their hinge losses at w already add up to a full weight.

    Single precision suffices for the ranges. A sum of p + 4 terms, in any order, has an error of at most (p +
    6)·EPS_SINGLE·Σ|terms| with the rounding of each term. The terms are each point's own |g_i'mid - 1| and |g_ij| half_j, and
    twice that error is allowed. Underflow is negligible: near g_i'mid = 1 the allowance for double precision is at least 1e-15.
    NaN is no pair.
    """
    lo, hi, w, idx, z, l, G, residual = node.lo, node.hi, node.w, node.idx, node.z, node.l, node.G, R.left
    p = w.size
    u, offset, share, err = R.u, R.largest_margin, R.least_margin, R.margin_size
    mid, half, wide = R.mid, R.half, R.wide
    margins(G, m, w, u)
    for j in range(p):
        mid[j], half[j] = 0.5 * (lo[j] + hi[j]), 0.5 * (hi[j] - lo[j])
        wide[j] = 8.0 * EPS * (p + 4) * max(abs(lo[j]), abs(hi[j])) + 2.0 * EPS_SINGLE * (p + 6) * half[j]
    margins(G, m, mid, offset)
    for i in range(m):
        err[i] = 2.0 * EPS_SINGLE * (p + 6) * abs(offset[i] - 1.0)
    for j in range(p):
        for i in range(m):
            err[i] += abs(G[j, i]) * wide[j]
    for i in range(m):
        offset[i] = (offset[i] - 1.0) + err[i]
        residual[i] = data.weights[idx[i]] if z[i] == FREE else np.inf if z[i] == KEPT else 0.0
        share[i] = max(1.0 - u[i], 0.0) / max(1.0 - l[i], 1e-9) if z[i] == FREE else 0.0
    sort_by_decreasing_key(u, m, P.queue, P)
    rows = columns = P.side[0]
    for side in range(2):
        first, last = _select_side(data, node, m, R, P, side)
        rows, columns = columns, P.side[side, first:last]
    set_exclusion_edges(G, rows, columns, offset, share, half, P)
    total, count = _fix_partners(P, rows, columns, z, residual)
    if total == np.inf:
        return total, count
    for i in range(m):
        residual[i] = 0.0 if z[i] == KEPT else residual[i]
    for _ in range(_MATCHINGS):
        match(P, rows, columns, residual)
        remaining = False
        for r in range(rows.size):
            if P.column_of[r] >= 0 and count < P.price.size:
                i, j = rows[r], columns[P.column_of[r]]
                total += _add_pair(P, count, i, j, residual)
                count += 1
                remaining = remaining or residual[i] > 0.0 or residual[j] > 0.0
        if not remaining:
            break
    return total, count
