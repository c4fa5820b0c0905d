"""Compiled loops for kernel matrices: binary points by Hamming distances, the exponential of RBF blocks, products of sparse
points.

*Binary points.* A kernel value depends on the Hamming distance d alone and is ``table[d]``. Points are packed as bits: column j
of ``words`` is point j, row i of ``chosen`` is chosen point i, and d_ij is the distance of these two. ``signs`` are labels ±1 of
the points. The modules ``panels``, ``rbf`` and ``float32`` of this folder call the loops.

*RBF kernels.* Callers scale points to z_i so that a kernel value is 2^x with x = z_i'z_j - h_i - h_j and h_i = ½||z_i||²; a
block holds the products z_i'z_j, ``half`` holds h_j of its columns and ``row_half`` h_i of its rows. 2^x = 2^k·2^r with k =
round(x) and |r| ≤ ½: the factor 2^r by its Taylor polynomial (degree 7 in float32 and 13 in float64, remainders 6e-9 and
5e-18), the factor 2^k by writing k into a float's exponent.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.extending import intrinsic

from ...code_cache import cached_njit

#: Compiles loops that may fuse products, take reciprocals, and ignore NaN and signs of zero, with sums in the order of the code.
_njit = cached_njit(frozenset({"contract", "nsz", "nnan", "arcp"}))
#: Also allows sums in any order: only for loops whose rounding need not be reproducible, as in steps of a solver.
_njit_reordered = cached_njit(frozenset({"reassoc", "contract", "nsz", "nnan", "arcp"}))
#: Most points in a pass of the loops over columns.
_BLOCK = 512


def _population(context: Any, number: Any) -> Any:
    """Return the number of set bits of an integer by LLVM's instruction, which LLVM vectorises."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return number(number), generate


_bits: Any = intrinsic(_population)


@_njit
def _distances(words: Any, point_words: Any, first: int, last: int, counts: Any) -> None:
    """counts_k ← the number of bits in which point ``first`` + k < ``last`` and the point ``point_words`` differ."""
    size = words.shape[0]
    one, first_word = words[0, first:last], point_words[0]
    for k in range(counts.size):
        counts[k] = _bits(one[k] ^ first_word)
    for m in range(1, size - 1, 2):
        one, first_word, two, other = words[m, first:last], point_words[m], words[m + 1, first:last], point_words[m + 1]
        for k in range(counts.size):
            counts[k] += _bits(one[k] ^ first_word) + _bits(two[k] ^ other)
    if size % 2 == 0:
        one, first_word = words[size - 1, first:last], point_words[size - 1]
        for k in range(counts.size):
            counts[k] += _bits(one[k] ^ first_word)


@_njit
def signed_kernel_rows(
    words: Any, chosen: Any, table: Any, signs: Any, row_factors: Any, first: int, last: int, out: Any
) -> None:
    """out_ij ← row_factors_i·signs_j·table[d_ij] for ``first`` ≤ j < ``last``."""
    buffer = np.empty(_BLOCK, dtype=np.uint32)
    for b in range(first, last, _BLOCK):
        e = min(last, b + _BLOCK)
        counts, sign = buffer[: e - b], signs[b:e]
        for i in range(chosen.shape[0]):
            _distances(words, chosen[i], b, e, counts)
            row, factor = out[i, b:e], row_factors[i]
            for k in range(row.size):
                row[k] = factor * sign[k] * table[counts[k]]


@_njit
def add_weighted_rows(words: Any, chosen: Any, table: Any, weights: Any, first: int, last: int, out: Any) -> None:
    """out_j += Σ_i weights_i·table[d_ij] for ``first`` ≤ j < ``last``."""
    buffer = np.empty(_BLOCK, dtype=np.uint32)
    for b in range(first, last, _BLOCK):
        e = min(last, b + _BLOCK)
        counts, sums = buffer[: e - b], out[b:e]
        for i in range(chosen.shape[0]):
            _distances(words, chosen[i], b, e, counts)
            weight = weights[i]
            for k in range(sums.size):
                sums[k] += weight * table[counts[k]]


@_njit
def hamming_distances(words: Any, chosen: Any, first: int, out: Any) -> None:
    """out_ij ← the number of bits in which row i of ``chosen`` and point ``first`` + j differ; the type of out must hold it."""
    buffer = np.empty(_BLOCK, dtype=np.uint32)
    for b in range(0, out.shape[1], _BLOCK):
        e = min(out.shape[1], b + _BLOCK)
        counts = buffer[: e - b]
        for i in range(chosen.shape[0]):
            _distances(words, chosen[i], first + b, first + e, counts)
            row = out[i, b:e]
            for k in range(row.size):
                row[k] = counts[k]


@_njit_reordered
def add_kernel_products(words: Any, chosen: Any, table: Any, weights: Any, out: Any) -> None:
    """out_i += Σ_j weights_j·table[d_ij] over all points j, summed in the table's type within each block of points."""
    buffer = np.empty(_BLOCK, dtype=np.uint32)
    for b in range(0, words.shape[1], _BLOCK):
        e = min(words.shape[1], b + _BLOCK)
        counts, factors = buffer[: e - b], weights[b:e]
        for i in range(chosen.shape[0]):
            _distances(words, chosen[i], b, e, counts)
            total = table.dtype.type(0.0)
            for k in range(factors.size):
                total += factors[k] * table[counts[k]]
            out[i] += total


#: Coefficients (log 2)^k/k! of the Taylor polynomials of 2^r, in float32 (_S) and float64 (_D).
_LN2 = math.log(2.0)
_S1, _S2, _S3, _S4, _S5, _S6, _S7 = (np.float32(_LN2**k / math.factorial(k)) for k in range(1, 8))
_D1, _D2, _D3, _D4, _D5, _D6, _D7, _D8, _D9, _D10, _D11, _D12, _D13 = (_LN2**k / math.factorial(k) for k in range(1, 14))


@_njit
def write_kernel_values_single(block: Any, half: Any, row_half: Any, signs: Any, row_signs: Any, offset: Any, scale: Any) -> None:
    """block_ij ← scale·row_signs_i·signs_j·(2^min(0, block_ij - half_j - row_half_i) + offset), all in float32."""
    power = np.empty(_BLOCK, dtype=np.int32)
    two = power.view(np.float32)
    one, zero, middle, lowest = np.float32(1.0), np.float32(0.0), np.float32(0.5), np.float32(-126.0)
    bias, shift = np.int32(127), np.int32(23)
    n = block.shape[1]
    for i in range(block.shape[0]):
        factor, shared = np.float32(scale * row_signs[i]), row_half[i]
        for b in range(0, n, _BLOCK):
            e = min(n, b + _BLOCK)
            row, halves, sign = block[i, b:e], half[b:e], signs[b:e]
            for k in range(row.size):
                x = max(min(row[k] - halves[k] - shared, zero), lowest)
                integer_part = np.floor(x + middle)
                r = x - integer_part
                row[k] = ((((((_S7 * r + _S6) * r + _S5) * r + _S4) * r + _S3) * r + _S2) * r + _S1) * r + one
                power[k] = (np.int32(integer_part) + bias) << shift
            for k in range(row.size):
                row[k] = factor * sign[k] * (row[k] * two[k] + offset)


@_njit
def _powers(row: Any, half: Any, shared: Any, power: Any) -> None:
    """row_k ← 2^r and ``power_k`` ← the bits of 2^n with n + r = min(0, row_k - half_k - shared), n whole, in float64."""
    bias, shift = np.int64(1023), np.int64(52)
    for k in range(row.size):
        x = max(min(row[k] - half[k] - shared, 0.0), -1022.0)
        integer_part = np.floor(x + 0.5)
        r = x - integer_part
        p = (((((_D13 * r + _D12) * r + _D11) * r + _D10) * r + _D9) * r + _D8) * r + _D7
        row[k] = ((((((p * r + _D6) * r + _D5) * r + _D4) * r + _D3) * r + _D2) * r + _D1) * r + 1.0
        power[k] = (np.int64(integer_part) + bias) << shift


@_njit
def add_weighted_exponentials(block: Any, half: Any, row_half: Any, weights: Any, out: Any) -> None:
    """out_j += Σ_i weights_i·2^min(0, block_ij - half_j - row_half_i), all in float64; the block is overwritten."""
    power = np.empty(_BLOCK, dtype=np.int64)
    two = power.view(np.float64)
    n = block.shape[1]
    for b in range(0, n, _BLOCK):
        e = min(n, b + _BLOCK)
        sums = out[b:e]
        for i in range(block.shape[0]):
            row, weight = block[i, b:e], weights[i]
            _powers(row, half[b:e], row_half[i], power)
            for k in range(row.size):
                sums[k] += weight * (row[k] * two[k])


#: Chosen points that `gather_rows` multiplies together (columns of ``dense``), and data points summed before a transposition.
LANES, PANEL = 32, 64


@_njit_reordered
def scatter_rows(chosen: Any, first: Any, features: Any, values: Any, start: Any, points: Any, data: Any, out: Any) -> None:
    """out_l = X x_i for i = chosen_l: the sum of v times column f of X over the stored numbers v, at features f, of point x_i.

    ``first``, ``features``, ``values`` are X by rows (CSR), ``start``, ``points``, ``data`` X by columns (CSC).
    """
    for r in range(chosen.size):
        row, i = out[r], chosen[r]
        for j in range(row.size):
            row[j] = 0.0
        for t in range(first[i], first[i + 1]):
            f, value = features[t], values[t]
            for k in range(start[f], start[f + 1]):
                row[points[k]] += value * data[k]


@_njit_reordered
def gather_rows(first: Any, features: Any, values: Any, dense: Any, buffer: Any, out: Any) -> None:
    """out_l = X times column l of ``dense``, X by rows (CSR); ``dense`` has `LANES` columns, ``buffer`` is `PANEL` × `LANES`.

    A stored number is multiplied by all columns at once, in vector instructions; sums stay in ``buffer`` until they are
    transposed.
    """
    n, lanes = first.size - 1, buffer.shape[1]
    for b in range(0, n, buffer.shape[0]):
        e = min(n, b + buffer.shape[0])
        for j in range(b, e):
            sums = buffer[j - b]
            for t in range(lanes):
                sums[t] = 0.0
            for k in range(first[j], first[j + 1]):
                value, row = values[k], dense[features[k]]
                for t in range(lanes):
                    sums[t] += value * row[t]
        for t in range(out.shape[0]):
            row = out[t]
            for j in range(b, e):
                row[j] = buffer[j - b, t]
