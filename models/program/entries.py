"""Sparse rows while a form is put together: the three arrays of CSR, without the checks that SciPy makes of every matrix.

A small form passes through a hundred of them, and the checks took most of the time that stating it took.
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
Places: TypeAlias = "npt.NDArray[np.signedinteger[Any]]"

#: Numbers of a matrix that are multiplied as they are, zeros with them.
_SMALL = 1 << 16
#: The same where at least this share is not zero.
_LARGE, _FULL = 1 << 24, 0.05


@dataclass(frozen=True, eq=False, slots=True)
class Entries:
    """A sparse matrix by rows: those of row i are ``data[indptr[i]:indptr[i + 1]]``, in the columns ``indices`` says.

    The arrays are shared and never written to.
    """

    data: FloatArray
    indices: Places
    indptr: Places
    width: int

    @staticmethod
    def of(matrix: Any) -> Entries:
        """Return the entries of a dense matrix that are not zero, or those of a sparse one."""
        if isinstance(matrix, np.ndarray):
            return _of_dense(matrix)
        rows = matrix if isinstance(matrix, sp.csr_array) else sp.csr_array(matrix)
        return Entries(np.asarray(rows.data, dtype=np.float64), rows.indices, rows.indptr, rows.shape[1])

    @staticmethod
    def identity(size: int) -> Entries:
        """Return the identity of this order."""
        ends = np.arange(size + 1, dtype=np.int32)
        return Entries(np.ones(size), ends[:-1], ends, size)

    @staticmethod
    def hstack(parts: Sequence[tuple[Entries, int]], rows: int, width: int) -> Entries:
        """The parts side by side, each from its first column on."""
        kind = _kind(max(width, sum(part.data.size for part, _ in parts)))
        if not parts:
            return Entries(np.zeros(0), np.zeros(0, dtype=kind), np.zeros(rows + 1, dtype=kind), width)
        indptr = np.array([part.indptr for part, _ in parts]).sum(axis=0, dtype=kind)
        indices, data = np.empty(indptr[-1], dtype=kind), np.empty(indptr[-1])
        before = indptr[:-1].copy()  # where each row's next entries go: SciPy's hstack takes twenty times as many calls
        for part, shift in parts:
            places = part.places(before)
            indices[places], data[places] = part.indices + shift, part.data
            before += part.counts
        return Entries(data, indices, indptr, width)

    @staticmethod
    def vstack(*parts: Entries) -> Entries:
        """The parts of one width, one below the other."""
        data = np.concatenate([part.data for part in parts])
        kind = _kind(max(parts[0].width, data.size))
        ends = np.cumsum(np.concatenate([[0], *(part.counts for part in parts)])).astype(kind)
        return Entries(data, np.concatenate([part.indices for part in parts]).astype(kind, copy=False), ends, parts[0].width)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.indptr.size - 1

    @property
    def counts(self) -> Places:
        """Entries of each row."""
        return np.asarray(self.indptr[1:] - self.indptr[:-1])  # np.diff takes five times as long where there are few

    @property
    def overlap_counts(self) -> FloatArray:
        """Count, for each column, the entries of its rows: at least as many as its column of A'A has."""
        return np.asarray(
            np.bincount(self.indices, weights=np.repeat(self.counts, self.counts) * 1.0, minlength=self.width), dtype=np.float64
        )

    @property
    def csr(self) -> sp.csr_array:
        """The matrix as SciPy has it."""
        return sp.csr_array((self.data, self.indices, self.indptr), shape=(self.rows, self.width))

    @property
    def columns(self) -> sp.csc_matrix:
        """Matrix by columns, as native interfaces take it."""
        return sp.csr_matrix((self.data, self.indices, self.indptr), shape=(self.rows, self.width)).tocsc()

    @property
    def absolute(self) -> Entries:
        """|A|, entry by entry."""
        return replace(self, data=np.abs(self.data))

    def dense(self) -> FloatArray:
        """Return the whole matrix as a dense array."""
        return np.asarray(self.csr.toarray())

    def __neg__(self) -> Entries:
        return Entries(-self.data, self.indices, self.indptr, self.width)

    def times(self, factors: FloatArray | float) -> Entries:
        """Each row times its factor, or all times one."""
        if np.ndim(factors) == 0:
            return Entries(self.data * factors, self.indices, self.indptr, self.width)
        return Entries(self.data * np.repeat(factors, self.counts), self.indices, self.indptr, self.width)

    def at(self, rows: Any) -> Entries:
        """Some of the rows: a slice, numbers or a mask."""
        chosen = np.arange(self.rows)[rows]
        counts = self.counts[chosen]
        ends = np.zeros(chosen.size + 1, dtype=self.indptr.dtype)
        np.cumsum(counts, out=ends[1:])
        places = np.arange(ends[-1]) + np.repeat(self.indptr[chosen] - ends[:-1], counts)
        return Entries(self.data[places], self.indices[places], ends, self.width)

    def take_columns(self, columns: Places) -> Entries:
        """Some of the columns, in ascending order."""
        place = np.full(self.width, -1, dtype=self.indices.dtype)
        place[columns] = np.arange(columns.size)
        places = place[self.indices]
        return Entries(self.data, places, self.indptr, columns.size).where(places >= 0)

    def where(self, mask: BoolArray) -> Entries:
        """Some of the entries."""
        places = np.flatnonzero(mask)
        ends = np.searchsorted(places, self.indptr).astype(self.indptr.dtype)
        return Entries(self.data[places], self.indices[places], ends, self.width)

    def weighted_sum(self, weights: FloatArray) -> FloatArray:
        """Σ weights_i row_i."""
        return np.asarray(np.bincount(self.indices, weights=self.times(weights).data, minlength=self.width), dtype=np.float64)

    def dot(self, x: FloatArray) -> FloatArray:
        """Return the product A x."""
        rows = np.repeat(np.arange(self.rows), self.counts)
        return np.asarray(np.bincount(rows, weights=self.data * x[self.indices], minlength=self.rows), dtype=np.float64)

    @property
    def column_squares(self) -> FloatArray:
        """Σ_i A_ij² for every column j."""
        return np.asarray(np.bincount(self.indices, weights=self.data**2, minlength=self.width), dtype=np.float64)

    @property
    def single(self) -> bool:
        """Return whether no row and no column has more than one entry, and later rows have theirs in later columns."""
        return self.counts.max(initial=0) <= 1 and bool((self.indices[1:] > self.indices[:-1]).all())

    def product(self, other: Entries) -> Entries:
        """A B. Where B is `single` nothing is summed, and SciPy's product of small matrices takes ten times as long."""
        if not other.single:
            return Entries.of(self.csr @ other.csr)
        single_entry = other.counts == 1
        place, factor = np.full(other.rows, -1, dtype=other.indices.dtype), np.zeros(other.rows)
        place[single_entry], factor[single_entry] = other.indices, other.data
        places = place[self.indices]
        return Entries(self.data * factor[self.indices], places, self.indptr, other.width).where(places >= 0)

    def gram(self) -> FloatArray:
        """A A', dense; SciPy's product of sparse ones takes ten times as long where there is little to multiply or few zeros."""
        size = self.rows * self.width
        if size <= _SMALL or (size <= _LARGE and self.data.size >= _FULL * size):
            dense = self.dense()
            return np.asarray(dense @ dense.T)
        A = self.csr
        return np.asarray((A @ A.T).toarray())

    def places(self, starts: Places) -> Places:
        """Return the places of the entries if those of row i begin at starts_i."""
        return np.asarray(np.arange(self.data.size) + np.repeat(starts - self.indptr[:-1], self.counts))


def _kind(largest: int) -> type[np.signedinteger[Any]]:
    """Return the integer type that SciPy takes for numbers up to this one."""
    return np.int32 if largest < 2**31 else np.int64


def _of_dense(matrix: np.ndarray) -> Entries:
    rows, columns = np.nonzero(matrix)
    ends = np.zeros(matrix.shape[0] + 1, dtype=_kind(rows.size))
    np.cumsum(np.bincount(rows, minlength=matrix.shape[0]), out=ends[1:])
    return Entries(matrix[rows, columns].astype(np.float64), columns.astype(ends.dtype), ends, matrix.shape[1])


def by_column(dense: FloatArray) -> sp.csc_array:
    """A dense matrix without zeros as CSC: no search for the entries that are not zero."""
    rows, columns = dense.shape
    kind = _kind(dense.size)
    ends = np.arange(0, dense.size + 1, rows, dtype=kind)
    return sp.csc_array((dense.ravel(order="F"), np.tile(np.arange(rows, dtype=kind), columns), ends), shape=dense.shape)


def triangle(P: FloatArray | sp.csc_array, *, upper: bool) -> sp.csc_matrix:
    """A triangle of a square matrix with its diagonal; of a dense one all of it, zeros too."""
    n = P.shape[0]
    if isinstance(P, np.ndarray):
        mask = np.tri(n, dtype=bool) if upper else np.tri(n, dtype=bool).T  # of column j its rows i, at (j, i)
        places = np.broadcast_to(np.arange(n, dtype=_kind(P.size)), (n, n))[mask]
        data, counts = P.T[mask], np.arange(1, n + 1) if upper else np.arange(n, 0, -1)
        ends = np.concatenate([[0], np.cumsum(counts)]).astype(places.dtype)
        return sp.csc_matrix((data, places, ends), shape=(n, n))
    columns = np.repeat(np.arange(n), np.diff(P.indptr))
    mask = P.indices <= columns if upper else P.indices >= columns
    ends = np.concatenate([[0], np.cumsum(mask)])[P.indptr].astype(P.indptr.dtype)
    return sp.csc_matrix((P.data[mask], P.indices[mask], ends), shape=P.shape)
