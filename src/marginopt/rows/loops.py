"""Compiled loops (Numba) over a block of rows, for `StoredBlock`, `ColumnSummary` and the reader of rows on disk.

A block of rows x_i of the matrix X is dense in C order, or CSR arrays ``data``, ``indices`` and ``ends``. Its entries of row i
are those at positions ends[i] - ends[0] to ends[i + 1] - ends[0] - 1: ``ends`` is a part of the whole matrix's ``indptr``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..code_cache import cached_njit

#: The results of `check_columns`. SORTED: column indices increase along each row. UNSORTED: they do not. COLUMN_OUT_OF_RANGE: an
#: index is negative or too large. DECREASING_ENDS: an entry of ``ends`` is below its predecessor.
SORTED, UNSORTED, COLUMN_OUT_OF_RANGE, DECREASING_ENDS = 0, 1, 2, 3

#: Decorators that compile a loop in the order of its operations, and one whose sums may be in any order.
_exact, _sums = cached_njit(frozenset()), cached_njit(frozenset({"reassoc", "contract", "nsz"}))


@_exact
def check_columns(indices: Any, ends: Any, columns: int) -> tuple[int, int]:
    """Check the column indices of CSR rows; return one of the results above, and the row at fault (0 if there is none).

    Rows are in order if an index is no larger than its predecessor only where a row begins. The loop counts these indices, and
    subtracts those that begin a row.
    """
    for i in range(ends.size - 1):
        if ends[i + 1] < ends[i]:
            return DECREASING_ENDS, i
    low, high, falls = 0, -1, 0
    for k in range(indices.size):
        low, high = min(low, indices[k]), max(high, indices[k])
    for k in range(1, indices.size):
        falls += indices[k] <= indices[k - 1]
    if low < 0 or high >= columns:
        for i in range(ends.size - 1):
            for k in range(ends[i] - ends[0], ends[i + 1] - ends[0]):
                if indices[k] < 0 or indices[k] >= columns:
                    return COLUMN_OUT_OF_RANGE, i
    for i in range(ends.size - 1):
        k = ends[i] - ends[0]
        if k > 0 and ends[i + 1] > ends[i]:
            falls -= indices[k] <= indices[k - 1]
    return (SORTED if falls == 0 else UNSORTED), 0


@_exact
def write_rows(data: Any, indices: Any, ends: Any, ones: int, values: Any, places: Any) -> None:
    """Copy CSR entries to ``values``, their columns to ``places``, converting types; if ``ones`` is 1, rows begin with a 1."""
    position = 0
    for i in range(ends.size - 1):
        if ones:
            values[position], places[position] = 1.0, 0
            position += 1
        for k in range(ends[i] - ends[0], ends[i + 1] - ends[0]):
            values[position], places[position] = data[k], indices[k] + ones
            position += 1


@_sums
def matvec(data: Any, indices: Any, ends: Any, w: Any, out: Any) -> None:
    """Write Xw to ``out``."""
    for i in range(out.size):
        total = 0.0
        for k in range(ends[i] - ends[0], ends[i + 1] - ends[0]):
            total += data[k] * w[indices[k]]
        out[i] = total


@_sums
def rmatvec(data: Any, indices: Any, ends: Any, v: Any, out: Any) -> None:
    """Add X'v = Σ v_i x_i to ``out``."""
    for i in range(v.size):
        if v[i] != 0.0:
            for k in range(ends[i] - ends[0], ends[i + 1] - ends[0]):
                out[indices[k]] += v[i] * data[k]


@_sums
def row_squares(data: Any, ends: Any, out: Any) -> None:
    """Write ||x_i||² of each row to ``out``."""
    for i in range(out.size):
        total = 0.0
        for k in range(ends[i] - ends[0], ends[i + 1] - ends[0]):
            x = np.float64(data[k])
            total += x * x
        out[i] = total


@_sums
def column_squares(data: Any, indices: Any, ends: Any, d: Any, out: Any) -> None:
    """Add Σ_i d_i x_ij² of each column j to ``out``."""
    for i in range(d.size):
        if d[i] != 0.0:
            for k in range(ends[i] - ends[0], ends[i + 1] - ends[0]):
                x = np.float64(data[k])
                out[indices[k]] += d[i] * x * x


@_exact
def summarise_sparse(data: Any, indices: Any, low: Any, high: Any, squares: Any, counts: Any) -> None:
    """Update each column's minimum, maximum, sum of squares and number of entries by those of CSR rows.

    The sum of squares is not finite if an entry is not.
    """
    for k in range(data.size):
        j, x = indices[k], data[k]
        low[j] = x if x < low[j] else low[j]
        high[j] = x if x > high[j] else high[j]
        squares[j] += x * x
        counts[j] += 1


@_exact
def summarise_dense(X: Any, low: Any, high: Any, squares: Any) -> None:
    """Update each column's minimum, maximum and sum of squares by those of a dense block."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = X[i, j]
            low[j] = x if x < low[j] else low[j]
            high[j] = x if x > high[j] else high[j]
            squares[j] += x * x


@_exact
def write_singles(values: Any, out: Any) -> bool:
    """Convert numbers to float32 in ``out``; return False at the first one that float32 cannot represent."""
    for begin in range(0, values.size, 64):
        equal = True
        for k in range(begin, min(begin + 64, values.size)):
            out[k] = values[k]
            equal &= out[k] == values[k]
        if not equal:
            return False
    return True
