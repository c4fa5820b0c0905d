"""Compiled loops for points of zeros and ones, 32 features to a word: distances count bits, kernel values come from a table.

A distance of 123 features and its value take about 0.6 ns on one core with AVX-512, five times less than products by features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import intrinsic

from ....code_cache import kept

__all__ = ["accumulate_table", "count_rows", "table_products", "table_rows"]

_njit = kept(frozenset({"contract", "nsz", "nnan", "arcp"}))
#: Sums of a row in any order: for steps only.
_loose = kept(frozenset({"reassoc", "contract", "nsz", "nnan", "arcp"}))
_BLOCK = 512


def _population(context: Any, number: Any) -> Any:
    """Return the number of set bits of an integer by LLVM's own operation, which it vectorises."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return number(number), generate


_bits: Any = intrinsic(_population)


@_njit
def _distances(words: Any, mine: Any, first: int, last: int, counts: Any) -> None:
    """counts_k ← the number of bits in which point ``first`` + k and the point ``mine`` differ; two words in one pass."""
    size = words.shape[0]
    one, own = words[0, first:last], mine[0]
    for k in range(counts.size):
        counts[k] = _bits(one[k] ^ own)
    for m in range(1, size - 1, 2):
        one, own, two, other = words[m, first:last], mine[m], words[m + 1, first:last], mine[m + 1]
        for k in range(counts.size):
            counts[k] += _bits(one[k] ^ own) + _bits(two[k] ^ other)
    if size % 2 == 0:
        one, own = words[size - 1, first:last], mine[size - 1]
        for k in range(counts.size):
            counts[k] += _bits(one[k] ^ own)


@_njit
def table_rows(words: Any, chosen: Any, table: Any, signs: Any, own: Any, first: int, last: int, out: Any) -> None:
    """out_ij ← own_i·signs_j·table[d_ij] for ``first`` ≤ j < ``last``, d the distances of the rows of ``chosen``."""
    room = np.empty(_BLOCK, dtype=np.uint32)
    for b in range(first, last, _BLOCK):
        e = min(last, b + _BLOCK)
        counts, sign = room[: e - b], signs[b:e]
        for i in range(chosen.shape[0]):
            _distances(words, chosen[i], b, e, counts)
            row, factor = out[i, b:e], own[i]
            for k in range(row.size):
                row[k] = factor * sign[k] * table[counts[k]]


@_njit
def accumulate_table(words: Any, chosen: Any, table: Any, weights: Any, first: int, last: int, out: Any) -> None:
    """out_j += Σ_i weights_i·table[d_ij] for ``first`` ≤ j < ``last``."""
    room = np.empty(_BLOCK, dtype=np.uint32)
    for b in range(first, last, _BLOCK):
        e = min(last, b + _BLOCK)
        counts, sums = room[: e - b], out[b:e]
        for i in range(chosen.shape[0]):
            _distances(words, chosen[i], b, e, counts)
            weight = weights[i]
            for k in range(sums.size):
                sums[k] += weight * table[counts[k]]


@_njit
def count_rows(words: Any, chosen: Any, first: int, out: Any) -> None:
    """out_ij ← d_ij for the points from ``first`` on, so many as out has columns; its type holds every distance there is."""
    room = np.empty(_BLOCK, dtype=np.uint32)
    for b in range(0, out.shape[1], _BLOCK):
        e = min(out.shape[1], b + _BLOCK)
        counts = room[: e - b]
        for i in range(chosen.shape[0]):
            _distances(words, chosen[i], first + b, first + e, counts)
            row = out[i, b:e]
            for k in range(row.size):
                row[k] = counts[k]


@_loose
def table_products(words: Any, chosen: Any, table: Any, weights: Any, out: Any) -> None:
    """out_i += Σ_j weights_j·table[d_ij] over all points, in float32 for each block of them."""
    room = np.empty(_BLOCK, dtype=np.uint32)
    for b in range(0, words.shape[1], _BLOCK):
        e = min(words.shape[1], b + _BLOCK)
        counts, given = room[: e - b], weights[b:e]
        for i in range(chosen.shape[0]):
            _distances(words, chosen[i], b, e, counts)
            total = table.dtype.type(0.0)
            for k in range(given.size):
                total += given[k] * table[counts[k]]
            out[i] += total
