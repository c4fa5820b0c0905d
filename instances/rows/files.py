"""Rows that stay in files: dense ones, and CSR in three arrays; a column of ones may be put before them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...errors import DataError
from ...rows import Rows
from ..arrays import FloatArray
from .stored import StoredArray

__all__ = ["DenseRows", "SparseRows"]


@dataclass(frozen=True, eq=False, repr=False)
class DenseRows(Rows):
    """An n × p array in a file.

    Parameters
    ----------
    array : StoredArray
    intercept : bool
        Whether a column of ones comes first; it is not in the file.
    keep : object
        What lives as long as these rows do: a folder of unpacked data.
    """

    array: StoredArray
    intercept: bool = False
    keep: object = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""
        return self.array.shape[0], self.array.shape[1] + int(self.intercept)

    @property
    def entries(self) -> int:
        """All."""
        n, p = self.shape
        return n * p

    def reading(self) -> AbstractContextManager[Callable[[int, int], FloatArray]]:
        """Reads into a buffer that is used again."""
        return self._reading()

    @contextmanager
    def _reading(self) -> Iterator[Callable[[int, int], FloatArray]]:
        p, first = self.shape[1], int(self.intercept)
        plain = self.array.dtype == np.float64 and self.array.dtype.isnative and not self.intercept
        raw, block = np.empty(0, dtype=self.array.dtype), np.empty((0, p))
        with self.array.opened() as handle:

            def read(start: int, stop: int) -> FloatArray:
                nonlocal raw, block
                count = stop - start
                if raw.size < count * self.array.width:
                    raw = np.empty(count * self.array.width, dtype=self.array.dtype)
                rows = self.array.read(handle, start, stop, raw)
                if plain:
                    return rows
                if block.shape[0] < count:
                    block = np.ones((count, p))
                block[:count, first:] = rows
                return block[:count]

            yield read


@dataclass(frozen=True, eq=False, repr=False)
class SparseRows(Rows):
    """Compressed sparse rows in three arrays on disk.

    Parameters
    ----------
    data, indices, indptr : StoredArray
        As `scipy.sparse.csr_array` has them; ``indptr`` has n + 1 numbers.
    columns_stored : int
        Columns of the arrays.
    intercept, keep
        As `DenseRows`.
    """

    data: StoredArray
    indices: StoredArray
    indptr: StoredArray
    columns_stored: int
    intercept: bool = False
    keep: object = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""
        return self.indptr.shape[0] - 1, self.columns_stored + int(self.intercept)

    @property
    def entries(self) -> int:
        """Stored ones, and the column of ones."""
        return self.data.shape[0] + (self.shape[0] if self.intercept else 0)

    def reading(self) -> AbstractContextManager[Callable[[int, int], sp.csr_array]]:
        """Reads three pieces for each block."""
        return self._reading()

    @contextmanager
    def _reading(self) -> Iterator[Callable[[int, int], sp.csr_array]]:
        p = self.shape[1]
        with ExitStack() as stack:
            values, places, ends = (stack.enter_context(part.opened()) for part in (self.data, self.indices, self.indptr))

            def read(start: int, stop: int) -> sp.csr_array:
                indptr = self.indptr.read(ends, start, stop + 1).astype(np.int64)
                first, last = int(indptr[0]), int(indptr[-1])
                if (np.diff(indptr) < 0).any() or first < 0 or last > self.data.shape[0]:
                    raise DataError(f"{self.indptr.path}: row ends between rows {start} and {stop} are no CSR matrix's")
                data, indices = self.data.read(values, first, last), self.indices.read(places, first, last)
                return self._block(data, indices, indptr - first, p, start)

            yield read

    def _block(self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, p: int, start: int) -> sp.csr_array:
        if indices.size and not 0 <= indices.min() <= indices.max() < self.columns_stored:
            raise DataError(f"{self.indices.path}: column {indices.max()} after row {start}; there are {self.columns_stored}")
        if self.intercept:
            data, indices, indptr = _with_ones(data, indices, indptr)
        data = data.astype(np.float64, copy=False)
        block = sp.csr_array((data, indices.astype(np.int32, copy=False), indptr.astype(np.int32)), shape=(indptr.size - 1, p))
        if not block.has_canonical_format:
            block.sum_duplicates()
        return block


def _with_ones(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> tuple[FloatArray, np.ndarray, np.ndarray]:
    """CSR arrays with a column of ones before the others."""
    indptr = indptr + np.arange(indptr.size)
    stored = np.ones(int(indptr[-1]), dtype=np.bool_)
    stored[indptr[:-1]] = False
    values, places = np.ones(stored.size), np.zeros(stored.size, dtype=np.int32)
    values[stored], places[stored] = data, indices + 1
    return values, places, indptr
