"""A sparse matrix by rows without SciPy's checks, used while a standard form is put together and its multipliers are repaired.

Stating a small form builds a hundred such matrices, and SciPy's checks of each took most of that time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..arrays import BoolArray, FloatArray

#: Index arrays as SciPy has them: int32 where that is enough, else int64.
IndexArray: TypeAlias = "npt.NDArray[np.signedinteger[Any]]"

#: Sizes (rows × columns) up to which `CSRRows.gram` multiplies dense matrices; measured against SciPy's sparse product.
_SMALL = 1 << 16
#: The size up to which it multiplies dense matrices if at least this share of the entries is stored.
_LARGE, _FULL = 1 << 24, 0.05


@dataclass(frozen=True, eq=False, slots=True)
class CSRRows:
    """A sparse matrix by rows (CSR), without checks of its arrays, which are shared and never written to.

    The entries of row i are ``data[indptr[i]:indptr[i + 1]]``.

    Parameters
    ----------
    data : ndarray (entries,)
        The entries, row by row.
    indices : ndarray of int (entries,)
        Their columns.
    indptr : ndarray of int (rows + 1,)
        Where the entries of each row begin; the last number is that of all entries.
    width : int
        Number of columns.
    """

    data: FloatArray
    indices: IndexArray
    indptr: IndexArray
    width: int

    @staticmethod
    def from_matrix(matrix: Any) -> CSRRows:
        """Return the entries of a dense matrix that are not zero, or those of a sparse one."""
        if isinstance(matrix, np.ndarray):
            return _of_dense(matrix)
        rows = matrix if isinstance(matrix, sp.csr_array) else sp.csr_array(matrix)
        return CSRRows(np.asarray(rows.data, dtype=np.float64), rows.indices, rows.indptr, rows.shape[1])

    @staticmethod
    def identity(size: int) -> CSRRows:
        """Return the identity matrix of this order."""
        ends = np.arange(size + 1, dtype=np.int32)
        return CSRRows(np.ones(size), ends[:-1], ends, size)

    @staticmethod
    def hstack(parts: Sequence[tuple[CSRRows, int]], rows: int, width: int) -> CSRRows:
        """Put the parts side by side in a matrix of this size; each part is given with its first column."""
        kind = _kind(max(width, sum(part.data.size for part, _ in parts)))
        if not parts:
            return CSRRows(np.zeros(0), np.zeros(0, dtype=kind), np.zeros(rows + 1, dtype=kind), width)
        indptr = np.array([part.indptr for part, _ in parts]).sum(axis=0, dtype=kind)
        indices, data = np.empty(indptr[-1], dtype=kind), np.empty(indptr[-1])
        before = indptr[:-1].copy()  # where each row's next entries go; SciPy's hstack takes twenty times as many calls
        for part, shift in parts:
            places = part.entry_positions(before)
            indices[places], data[places] = part.indices + shift, part.data
            before += part.row_counts
        return CSRRows(data, indices, indptr, width)

    @staticmethod
    def vstack(*matrices: CSRRows | sp.csr_array) -> CSRRows:
        """Put matrices of one width one below the other."""
        parts = [part if isinstance(part, CSRRows) else CSRRows.from_matrix(part) for part in matrices]
        data = np.concatenate([part.data for part in parts])
        kind = _kind(max(parts[0].width, data.size))
        ends = np.cumsum(np.concatenate([[0], *(part.row_counts for part in parts)])).astype(kind)
        return CSRRows(data, np.concatenate([part.indices for part in parts]).astype(kind, copy=False), ends, parts[0].width)

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return self.indptr.size - 1

    @property
    def row_counts(self) -> IndexArray:
        """Return the number of entries of each row."""
        return np.asarray(self.indptr[1:] - self.indptr[:-1])  # np.diff takes five times as long where there are few

    @property
    def overlap_counts(self) -> FloatArray:
        """Return, for each column j, the number of entries of the rows with an entry in j: at least the non-zeros of A'A e_j."""
        return np.asarray(
            np.bincount(self.indices, weights=np.repeat(self.row_counts, self.row_counts) * 1.0, minlength=self.width),
            dtype=np.float64,
        )

    @property
    def csr(self) -> sp.csr_array:
        """Return the matrix as SciPy's csr_array, which shares the arrays."""
        return sp.csr_array((self.data, self.indices, self.indptr), shape=(self.rows, self.width))

    @property
    def csc(self) -> sp.csc_matrix:
        """Return the matrix as SciPy's csc_matrix, which native interfaces take."""
        return sp.csr_matrix((self.data, self.indices, self.indptr), shape=(self.rows, self.width)).tocsc()

    @property
    def absolute(self) -> CSRRows:
        """Return |A|, entry by entry."""
        return replace(self, data=np.abs(self.data))

    def dense(self) -> FloatArray:
        """Return the whole matrix as a dense array."""
        return np.asarray(self.csr.toarray())

    def __neg__(self) -> CSRRows:
        return CSRRows(-self.data, self.indices, self.indptr, self.width)

    def scale_rows(self, factors: FloatArray | float) -> CSRRows:
        """Multiply each row by its factor, or all rows by one number."""
        if np.ndim(factors) == 0:
            return CSRRows(self.data * factors, self.indices, self.indptr, self.width)
        return CSRRows(self.data * np.repeat(factors, self.row_counts), self.indices, self.indptr, self.width)

    def take_rows(self, rows: Any) -> CSRRows:
        """Return some of the rows, chosen by a slice, by numbers or by a mask."""
        chosen = np.arange(self.rows)[rows]
        counts = self.row_counts[chosen]
        ends = np.zeros(chosen.size + 1, dtype=self.indptr.dtype)
        np.cumsum(counts, out=ends[1:])
        places = np.arange(ends[-1]) + np.repeat(self.indptr[chosen] - ends[:-1], counts)
        return CSRRows(self.data[places], self.indices[places], ends, self.width)

    def take_columns(self, columns: IndexArray) -> CSRRows:
        """Return some of the columns, in ascending order."""
        place = np.full(self.width, -1, dtype=self.indices.dtype)
        place[columns] = np.arange(columns.size)
        places = place[self.indices]
        return CSRRows(self.data, places, self.indptr, columns.size).keep_entries(places >= 0)

    def keep_entries(self, mask: BoolArray) -> CSRRows:
        """Return the matrix with the entries of this mask over ``data`` alone."""
        places = np.flatnonzero(mask)
        ends = np.searchsorted(places, self.indptr).astype(self.indptr.dtype)
        return CSRRows(self.data[places], self.indices[places], ends, self.width)

    def weighted_sum(self, weights: FloatArray) -> FloatArray:
        """Return A'·weights, the weighted sum of the rows."""
        return np.asarray(
            np.bincount(self.indices, weights=self.scale_rows(weights).data, minlength=self.width), dtype=np.float64
        )

    def dot(self, x: FloatArray) -> FloatArray:
        """Return the product A x."""
        rows = np.repeat(np.arange(self.rows), self.row_counts)
        return np.asarray(np.bincount(rows, weights=self.data * x[self.indices], minlength=self.rows), dtype=np.float64)

    @property
    def column_squares(self) -> FloatArray:
        """Return Σ_i A_ij² for every column j."""
        return np.asarray(np.bincount(self.indices, weights=self.data**2, minlength=self.width), dtype=np.float64)

    @property
    def is_scaled_selection(self) -> bool:
        """Return whether each row and column has one entry at most, later rows in later columns."""
        return self.row_counts.max(initial=0) <= 1 and bool((self.indices[1:] > self.indices[:-1]).all())

    def product(self, other: CSRRows) -> CSRRows:
        """Return A B; where B is a scaled selection, ten times as fast as SciPy's product of small matrices."""
        if not other.is_scaled_selection:
            return CSRRows.from_matrix(self.csr @ other.csr)
        single_entry = other.row_counts == 1
        place, factor = np.full(other.rows, -1, dtype=other.indices.dtype), np.zeros(other.rows)
        place[single_entry], factor[single_entry] = other.indices, other.data
        places = place[self.indices]
        return CSRRows(self.data * factor[self.indices], places, self.indptr, other.width).keep_entries(places >= 0)

    def gram(self) -> FloatArray:
        """Return A A', dense; SciPy's sparse product takes ten times as long for small matrices or those with few zeros."""
        size = self.rows * self.width
        if size <= _SMALL or (size <= _LARGE and self.data.size >= _FULL * size):
            dense = self.dense()
            return np.asarray(dense @ dense.T)
        A = self.csr
        return np.asarray((A @ A.T).toarray())

    def entry_positions(self, starts: IndexArray) -> IndexArray:
        """Return the positions that the entries get in an array where those of row i begin at ``starts[i]``."""
        return np.asarray(np.arange(self.data.size) + np.repeat(starts - self.indptr[:-1], self.row_counts))


def _kind(largest: int) -> type[np.signedinteger[Any]]:
    """Return the integer type that SciPy takes for numbers up to this one."""
    return np.int32 if largest < 2**31 else np.int64


def _of_dense(matrix: np.ndarray) -> CSRRows:
    rows, columns = np.nonzero(matrix)
    ends = np.zeros(matrix.shape[0] + 1, dtype=_kind(rows.size))
    np.cumsum(np.bincount(rows, minlength=matrix.shape[0]), out=ends[1:])
    return CSRRows(matrix[rows, columns].astype(np.float64), columns.astype(ends.dtype), ends, matrix.shape[1])


def dense_to_csc(dense: FloatArray) -> sp.csc_array:
    """Return a dense matrix without zeros as CSC, without searching for zeros."""
    rows, columns = dense.shape
    kind = _kind(dense.size)
    ends = np.arange(0, dense.size + 1, rows, dtype=kind)
    return sp.csc_array((dense.ravel(order="F"), np.tile(np.arange(rows, dtype=kind), columns), ends), shape=dense.shape)


def csc_triangle(P: FloatArray | sp.csc_array, *, upper: bool) -> sp.csc_matrix:
    """Return the upper or lower triangle of a square matrix, diagonal included, as CSC; zeros of a dense matrix are stored."""
    n = P.shape[0]
    if isinstance(P, np.ndarray):
        mask = np.tri(n, dtype=bool) if upper else np.tri(n, dtype=bool).T  # at (j, i): whether row i of column j is taken
        places = np.broadcast_to(np.arange(n, dtype=_kind(P.size)), (n, n))[mask]
        data, counts = P.T[mask], np.arange(1, n + 1) if upper else np.arange(n, 0, -1)
        ends = np.concatenate([[0], np.cumsum(counts)]).astype(places.dtype)
        return sp.csc_matrix((data, places, ends), shape=(n, n))
    columns = np.repeat(np.arange(n), np.diff(P.indptr))
    mask = P.indices <= columns if upper else P.indices >= columns
    ends = np.concatenate([[0], np.cumsum(mask)])[P.indptr].astype(P.indptr.dtype)
    return sp.csc_matrix((P.data[mask], P.indices[mask], ends), shape=P.shape)


def changed_entries(old: Any, new: Any) -> tuple[list[int], list[int], list[float]]:
    """Return row, column and new value of the entries that differ between two sparse matrices of one sparsity pattern."""
    before, after = sp.coo_array(old), sp.coo_array(new)
    changed = np.flatnonzero(before.data != after.data)
    return after.row[changed].tolist(), after.col[changed].tolist(), after.data[changed].tolist()
