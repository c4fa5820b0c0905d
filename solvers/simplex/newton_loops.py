"""Compiled products with parts of SMO's matrix Q, cached columns or a stored triangle, for its Newton steps.

SMO minimises ½x'Qx + c'x on unit simplices; Q is symmetric. `newton_cg` multiplies by cached columns of Q, the rows (*slots*) of
an array; `projected_cg.KernelTriangle` by blocks of rows of the lower triangle of Q between the points of the support.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...models.kernels.panels import ROUNDED
from ..interface.numba_flags import entry, inner

#: Number of rows that are summed in their own precision before the sum is added to the float64 result.
_FLUSH = 64
#: Entries of a row that are added at once: their sums stay in the first-level cache.
WIDTH = 2048


@entry
def add_weighted_rows(columns: Any, slots: Any, weights: Any, out: Any, sums: Any) -> None:
    """Add Σ_k weights_k·columns[slots_k] to ``out``, eight rows a pass.

    Weights and ``sums``, a buffer of `WIDTH` numbers, are of the columns' type; ``out`` is float64.
    """
    n, count = columns.shape[1], slots.size
    for first in range(0, count, _FLUSH):
        last = min(count, first + _FLUSH)
        for b in range(0, n, WIDTH):
            e = min(n, b + WIDTH)
            part, total = sums[: e - b], out[b:e]
            part[:] = 0.0
            k = first
            while k + 8 <= last:
                r0, r1, r2, r3 = (
                    columns[slots[k], b:e],
                    columns[slots[k + 1], b:e],
                    columns[slots[k + 2], b:e],
                    columns[slots[k + 3], b:e],
                )
                r4, r5, r6, r7 = (
                    columns[slots[k + 4], b:e],
                    columns[slots[k + 5], b:e],
                    columns[slots[k + 6], b:e],
                    columns[slots[k + 7], b:e],
                )
                w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
                w4, w5, w6, w7 = weights[k + 4], weights[k + 5], weights[k + 6], weights[k + 7]
                for j in range(part.size):
                    low = w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j]
                    high = w4 * r4[j] + w5 * r5[j] + w6 * r6[j] + w7 * r7[j]
                    part[j] += low + high
                k += 8
            while k < last:
                row, w = columns[slots[k], b:e], weights[k]
                for j in range(part.size):
                    part[j] += w * row[j]
                k += 1
            for j in range(part.size):
                total[j] += part[j]


@entry
def gather_rows(columns: Any, slots: Any, members: Any, out: Any) -> None:
    """Copy the entries at the points ``members`` of cached columns: columns[slots_k, members_j] to out[k, j]."""
    for k in range(slots.size):
        row, target = columns[slots[k]], out[k]
        for j in range(members.size):
            target[j] = row[members[j]]


#: Entries of a row of a triangle that are multiplied at once: eight rows, weights and sums stay in the first-level cache.
TRIANGLE_WIDTH = 512


@inner
def _entry(stored: Any, table: Any, kind: Any) -> Any:
    """Q_ij from what a block holds of it."""
    return kind(stored) if table is None else table[stored]


@entry
def add_triangle_product(block: Any, table: Any, first: int, begin: int, weights: Any, out: Any, sums: Any) -> None:
    """Add the part of Q·weights that a block of Q's lower triangle gives to ``out``; the block begins at row ``first``, column
    ``begin``.

    The columns before ``first`` count twice, as Q_ij and as Q_ji; the square on the diagonal is whole and counts once.
    With a ``table`` Q_ij = table[block_ij], without (None) Q_ij = block_ij. Weights, table and ``sums``, a buffer of
    `TRIANGLE_WIDTH` numbers, have the type of the arithmetic; ``out`` is float64.
    """
    count, overlap = block.shape[0], max(0, min(first - begin, block.shape[1]))
    kind = weights.dtype.type
    zero = kind(0.0)
    for b in range(0, overlap, TRIANGLE_WIDTH):
        e = min(overlap, b + TRIANGLE_WIDTH)
        part, factors = sums[: e - b], weights[begin + b : begin + e]
        part[:] = 0.0
        k = 0
        while k + 4 <= count:
            r0, r1, r2, r3 = block[k, b:e], block[k + 1, b:e], block[k + 2, b:e], block[k + 3, b:e]
            w0, w1, w2, w3 = weights[first + k], weights[first + k + 1], weights[first + k + 2], weights[first + k + 3]
            s0, s1, s2, s3 = zero, zero, zero, zero
            for j in range(part.size):
                v = factors[j]
                q0, q1 = _entry(r0[j], table, kind), _entry(r1[j], table, kind)
                q2, q3 = _entry(r2[j], table, kind), _entry(r3[j], table, kind)
                s0 += q0 * v
                s1 += q1 * v
                s2 += q2 * v
                s3 += q3 * v
                part[j] += (w0 * q0 + w1 * q1) + (w2 * q2 + w3 * q3)
            out[first + k] += s0
            out[first + k + 1] += s1
            out[first + k + 2] += s2
            out[first + k + 3] += s3
            k += 4
        while k < count:
            row, w = block[k, b:e], weights[first + k]
            s0 = zero
            for j in range(part.size):
                q = _entry(row[j], table, kind)
                s0 += q * factors[j]
                part[j] += w * q
            out[first + k] += s0
            k += 1
        total = out[begin + b : begin + e]
        for j in range(part.size):
            total[j] += part[j]
    for k in range(count):
        row, factors, s0 = block[k, overlap:], weights[begin + overlap : begin + block.shape[1]], zero
        for j in range(row.size):
            s0 += _entry(row[j], table, kind) * factors[j]
        out[first + k] += s0


#: Number of points from which these loops are loaded before a solve; smaller runs compile them only if needed.
PRELOAD_FROM = 1000


@functools.cache
def load_newton_loops(*, single: bool, triangle: np.dtype[Any] | None) -> None:
    """Compile or load the loops: for columns in float32 (``single``) or float64; for a ``triangle`` with entries of that type."""
    one, short = np.zeros(1, dtype=np.int64), np.ones((1, 1), dtype=np.float32)
    if triangle is not None:
        buffer = np.empty(TRIANGLE_WIDTH, dtype=np.float32)
        for kind in (triangle, ROUNDED) if triangle == np.float32 else (triangle,):
            entries = np.zeros((1, 1), dtype=kind)
            table = None if triangle == np.float32 else short[0]
            add_triangle_product(entries, table, 0, 0, short[0], np.zeros(1), buffer)
            gather_rows(entries, one, one, entries.copy())
    rows = short if single else np.ones((1, 1))
    add_weighted_rows(rows, one, rows[0], np.zeros(1), np.empty(WIDTH, dtype=rows.dtype))
    gather_rows(rows, one, one, rows.copy())
