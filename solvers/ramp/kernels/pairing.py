"""Pairs of points that a box does not let off together.

Where m_i + m_j ≤ 2 - t on the box, 0 < t, the two losses are at least s min{t, width}: at best one of the points has margin 1
and the other what is left. A matching pays that from both points' costs; what is left of these stays in the relaxation. Pairs
that pay the whole height are matched first, then cheaper ones, each where it pays more than both envelopes at w.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...zero_one.kernels.boxes.matching import match
from ...zero_one.kernels.boxes.newton import margins
from ...zero_one.kernels.boxes.records import WIDEST
from .compiled import EPS, SINGLE, inner
from .records import Node, Ramp

__all__ = ["pair_up"]

#: Parts of the height that pairs of one matching pay at least.
_LEAST = (0.999999, 0.5, 0.2)


@inner
def _sides(r: Ramp, k: Node) -> tuple[int, int]:
    """How many undecided points each side has; their places are in ``k.sides``."""
    rows = columns = 0
    for i in range(r.costs.size):
        if not k.undecided[i]:
            continue
        if r.positive[i]:
            if rows < WIDEST:
                k.sides[0, rows] = i
                rows += 1
        elif columns < WIDEST:
            k.sides[1, columns] = i
            columns += 1
    return rows, columns


@inner
def _distances(r: Ramp, k: Node, rows: Any, columns: Any) -> None:
    """``k.pays``: for each two how far the sum of their margins stays below 2 in the box, rounding taken off.

    Single precision: a sum of p + 4 terms, in any order, is off by at most (p + 6)·SINGLE·Σ|terms| with the rounding of each;
    twice that is allowed.
    """
    A, half, mid, at, P, above, spare = r.rows, k.half, k.mid, k.at, k.pairs, k.relaxation.most, k.relaxation.err
    M, sums = P.scaled, P.sums
    (p, n), words = A.shape, (columns.size + 63) >> 6
    for i in range(n):
        spare[i] = 2.0 * SINGLE * (p + 6) * abs(at[i] - 1.0)
    for j in range(p):
        wide = 8.0 * EPS * (p + 4) * abs(mid[j]) + 2.0 * SINGLE * (p + 6) * half[j]
        for i in range(n):
            spare[i] += abs(A[j, i]) * wide
    for i in range(n):
        above[i] = at[i] - 1.0 + spare[i]
    for t in range(words << 6):
        sums[t] = above[columns[t]] if t < columns.size else np.inf
        for j in range(p):
            M[j, t] = A[j, columns[t]] * half[j] if t < columns.size else 0.0
    for s in range(rows.size):
        i, acc = rows[s], k.pays[s]
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
def _pairs_that_pay(r: Ramp, k: Node, rows: Any, columns: Any, least: float) -> None:
    """Bits of ``k.pairs.adjacent``: pairs that pay at least that much, and more than the envelopes of both at w."""
    P, share, words = k.pairs, k.relaxation.env, (columns.size + 63) >> 6
    width, need, adjacent = np.float32(r.width), np.float32(least * r.width), P.adjacent
    envs = P.envs
    for t in range(words << 6):
        envs[t] = share[columns[t]] if t < columns.size else np.inf
    for s in range(rows.size):
        own, pays = np.float32(share[rows[s]]), k.pays[s]
        for q in range(words):
            paid, others = pays[q << 6 : (q << 6) + 64], envs[q << 6 : (q << 6) + 64]
            bits = np.uint64(0)
            for b in range(64):
                pay = min(paid[b], width)
                bits |= np.uint64((pay >= need) & (pay > own + others[b])) << np.uint64(b)
            adjacent[s, q] = bits


@inner
def pair_up(r: Ramp, k: Node) -> float:
    """What pairs cost at least; ``k.left`` is what they leave of the points' costs."""
    u, share, left = k.relaxation.u, k.relaxation.env, k.left
    n_rows, n_columns = _sides(r, k)
    k.counts[0] = 0
    if n_rows == 0 or n_columns == 0:
        return 0.0
    rows, columns = k.sides[0, :n_rows], k.sides[1, :n_columns]
    margins(r.rows, r.costs.size, k.w, u)
    for i in range(r.costs.size):
        if k.undecided[i]:
            share[i] = k.slopes[i] * max(k.begins[i] - u[i], 0.0) / r.slope + max(1.0 - k.begins[i], 0.0)
    _distances(r, k, rows, columns)
    total = 0.0
    for level in range(len(_LEAST)):
        _pairs_that_pay(r, k, rows, columns, _LEAST[level])
        match(k.pairs, rows, columns, left)
        for s in range(n_rows):
            if k.pairs.column_of[s] < 0:
                continue
            i, j = rows[s], columns[k.pairs.column_of[s]]
            price = min(left[i], left[j])
            total += price * r.slope * min(np.float64(k.pays[s, k.pairs.column_of[s]]), r.width)
            k.paired[0, k.counts[0]], k.paired[1, k.counts[0]], k.paired[2, k.counts[0]] = level, i, j
            k.counts[0] += 1
            for t in (i, j):
                left[t] = 0.0 if left[t] == price else (left[t] - price) * (1.0 - 4.0 * EPS)
    return total
