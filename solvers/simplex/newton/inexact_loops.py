"""Compiled passes over cached columns: sums of scattered rows, and the compact matrix of a support."""

from __future__ import annotations

from typing import Any

from ...interface.numba_flags import entry

__all__ = ["WIDTH", "add_rows", "gather_rows"]

#: Rows summed in the columns' own precision before they are added to the float64 result.
_FLUSH = 64
#: Entries of a row at once: the sums stay in the first-level cache.
WIDTH = 2048


@entry
def add_rows(columns: Any, slots: Any, weights: Any, out: Any, sums: Any) -> None:
    """out += Σ_k weights_k·columns[slots_k], eight rows a pass.

    Weights and ``sums``, room of `WIDTH`, are of the columns' type, out is float64.
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
def gather_rows(columns: Any, slots: Any, own: Any, out: Any) -> None:
    """out_kj = columns[slots_k, own_j]."""
    for k in range(slots.size):
        row, target = columns[slots[k]], out[k]
        for j in range(own.size):
            target[j] = row[own[j]]
