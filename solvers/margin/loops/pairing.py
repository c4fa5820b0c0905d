"""Pairs of loss terms that cannot both be zero on a box, and the matching of such pairs that bounds a node of `margin-bb`.

A term is a loss ρ of a margin m_i times its cost; the bounded part of ρ leaves out its linear tail, and its *height* is the
supremum of the bounded part. If m_i + m_j ≤ S on the box,
the bounded parts of the two losses sum to at least their minimum over x + y ≤ S (`envelopes.pair_bound`). A matched pair *pays*
this minimum times the lesser remaining cost of its terms: the product is added to the node's bound, and the cost is subtracted
from both terms. The relaxation of the node has the remaining costs. Several matchings follow each other (`LEVELS`); a pair is
taken only if it pays more than the sum of the two losses' convex envelopes on the box, at the solution w of the node's
relaxation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...exact.loops import EPS, EPS_SINGLE
from ...exact.loops.matching import WIDEST, match
from ...exact.loops.newton import margins
from .data_structures import LoopNode, LoopProblem, inner
from .envelopes import pair_bound

#: In the k-th matching a pair must pay at least this share of the smaller of its two losses' heights.
LEVELS = (0.999999, 0.5, 0.2)
#: Factor on the single-precision estimate of a pair's payment, so that rounding makes no pair look better than exact envelopes.
_GUESS = 1.0 - 1e-6


@inner
def _sides(r: LoopProblem, k: LoopNode) -> tuple[int, int]:
    """Return the numbers of undecided terms of each class, without even losses; their indices are in ``k.candidates``."""
    rows = columns = 0
    for i in range(r.point.size):
        if not k.undecided[i] or r.symmetric[r.kind[i]]:
            continue
        if r.positive[i]:
            if rows < WIDEST:
                k.candidates[0, rows] = i
                rows += 1
        elif columns < WIDEST:
            k.candidates[1, columns] = i
            columns += 1
    return rows, columns


@inner
def _distances(r: LoopProblem, k: LoopNode, rows: Any, columns: Any) -> None:
    """Compute ``k.pair_slack``: the distance of the sum of two terms' margins below their last corners, less rounding.

    Single precision: a sum of p + 4 terms, in any order, is wrong by at most (p + 6)·EPS_SINGLE·Σ|terms| with the rounding of
    each; twice that is allowed.
    """
    A, half, mid, centre, P, above, rounding = (
        r.rows,
        k.half,
        k.mid,
        k.centre,
        k.pairs,
        k.relaxation.largest_margin,
        k.relaxation.margin_size,
    )
    M, sums, errors = P.scaled, P.column_margins, r.row_errors
    (p, n), words = A.shape, (columns.size + 63) >> 6
    for i in range(n):
        above[i] = centre[i] - r.corners[r.kind[i], r.sizes[r.kind[i]] - 1]
    for i in range(n):
        rounding[i] = 2.0 * EPS_SINGLE * (p + 6) * abs(above[i]) + errors[i]
    for j in range(p):
        wide = 8.0 * EPS * (p + 4) * abs(mid[j]) + 2.0 * EPS_SINGLE * (p + 6) * half[j]
        for i in range(n):
            rounding[i] += abs(A[j, i]) * wide
    for i in range(n):
        above[i] += rounding[i]
    for t in range(words << 6):
        sums[t] = above[columns[t]] if t < columns.size else np.inf
        for j in range(p):
            M[j, t] = A[j, columns[t]] * half[j] if t < columns.size else 0.0
    for s in range(rows.size):
        i, acc = rows[s], k.pair_slack[s]
        base = np.float32(above[i])
        for t in range(words << 6):
            acc[t] = -(base + sums[t])
        j = 0  # three coordinates in a pass: the loop waits for ``acc``, not for the arithmetic
        while j + 2 < p:
            x, y, z = np.float32(A[j, i] * half[j]), np.float32(A[j + 1, i] * half[j + 1]), np.float32(A[j + 2, i] * half[j + 2])
            for t in range(words << 6):
                acc[t] -= abs(x + M[j, t]) + abs(y + M[j + 1, t]) + abs(z + M[j + 2, t])
            j += 3
        while j < p:
            x = np.float32(A[j, i] * half[j])
            for t in range(words << 6):
                acc[t] -= abs(x + M[j, t])
            j += 1


@inner
def _kinds(r: LoopProblem, k: LoopNode, columns: Any) -> None:
    """Set ``k.masks``: bits of the columns of each loss."""
    for kind in range(r.sizes.size):
        for q in range((columns.size + 63) >> 6):
            bits = np.uint64(0)
            for t in range(q << 6, min((q << 6) + 64, columns.size)):
                bits |= np.uint64(r.kind[columns[t]] == kind) << np.uint64(t & 63)
            k.masks[kind, q] = bits


@inner
def _pairs_that_pay(r: LoopProblem, k: LoopNode, rows: Any, columns: Any, level: Any) -> None:
    """Set the bits of ``k.pairs.adjacent``: pairs that pay at least ``level``, and more than the envelopes of both at w.

    A line up to the height estimates the payment of a pair; the matched pairs are computed exactly.
    """
    P, share, words = k.pairs, k.relaxation.least_margin, (columns.size + 63) >> 6
    envs, adjacent = P.column_losses, P.adjacent
    for t in range(words << 6):
        envs[t] = share[columns[t]] if t < columns.size else np.inf
    for s in range(rows.size):
        if not k.unpaid[rows[s]] > 0.0:  # paid by earlier levels: its bits are not read
            continue
        own_share, pays, kind = np.float32(share[rows[s]]), k.pair_slack[s], r.kind[rows[s]]
        for q in range(words):
            adjacent[s, q] = 0
        for other in range(r.sizes.size):
            if r.symmetric[other] or r.height[other] <= 0.0:
                continue
            height, whole_distance = min(r.height[kind], r.height[other]), r.full_pair_distance[kind, other]
            rate = np.float32(_GUESS * height / max(whole_distance, 1e-30 * height))
            distance, top = np.float32(r.pair_distance[level, kind, other]), np.float32(height)
            for q in range(words):
                distances, shares, bits = pays[q << 6 : (q << 6) + 64], envs[q << 6 : (q << 6) + 64], np.uint64(0)
                for t in range(64):
                    pay = min(distances[t] * rate, top)
                    bits |= np.uint64((distances[t] >= distance) & (pay > own_share + shares[t])) << np.uint64(t)
                adjacent[s, q] |= bits & k.masks[other, q]


@inner
def match_pairs(r: LoopProblem, k: LoopNode) -> float:
    """Match pairs and return the sum of their payments, a lower bound of the cost; the remaining costs are in ``k.unpaid``."""
    u, share, unpaid = k.relaxation.u, k.relaxation.least_margin, k.unpaid
    n_rows, n_columns = _sides(r, k)
    k.counts[0] = 0
    if n_rows == 0 or n_columns == 0:
        return 0.0
    rows, columns = k.candidates[0, :n_rows], k.candidates[1, :n_columns]
    margins(r.rows, r.point.size, k.w, u)
    for i in range(r.point.size):
        if k.undecided[i]:
            share[i] = k.base[i]
            for t in range(k.pieces[i]):
                share[i] += k.slopes[t, i] * max(k.begins[t, i] - u[i], 0.0)
    _distances(r, k, rows, columns)
    _kinds(r, k, columns)
    total = 0.0
    for level in range(len(LEVELS)):
        _pairs_that_pay(r, k, rows, columns, level)
        match(k.pairs, rows, columns, unpaid)
        for s in range(n_rows):
            if k.pairs.column_of[s] < 0:
                continue
            i, j = rows[s], columns[k.pairs.column_of[s]]
            price, pays = (
                min(unpaid[i], unpaid[j]),
                pair_bound(r, r.kind[i], r.kind[j], np.float64(k.pair_slack[s, k.pairs.column_of[s]])),
            )
            if pays <= share[i] + share[j]:  # the estimate was too high
                continue
            total += price * pays
            k.paired[0, k.counts[0]], k.paired[1, k.counts[0]], k.paired[2, k.counts[0]] = level, i, j
            k.counts[0] += 1
            for t in (i, j):
                unpaid[t] = 0.0 if unpaid[t] == price else (unpaid[t] - price) * (1.0 - 4.0 * EPS)
    return total
