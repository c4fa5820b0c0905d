"""Rows that stay in files: dense ones, and CSR in three arrays; a column of ones may be put before them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np

from ...rows import Rows, SparseBlock
from ..arrays import FloatArray
from .stored_rows import Buffer, StoredArray

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
        raw, ones = Buffer(self.array.dtype), np.empty((0, p))
        with self.array.opened() as handle:

            def read(start: int, stop: int) -> FloatArray:
                nonlocal ones
                count = stop - start
                rows = self.array.read(handle, start, stop, raw)
                if plain:
                    return rows
                if ones.shape[0] < count:
                    ones = np.ones((count, p))
                ones[:count, first:] = rows
                return ones[:count]

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

    def reading(self) -> AbstractContextManager[Callable[[int, int], SparseBlock]]:
        """Reads three pieces for each block."""
        return self._reading()

    @contextmanager
    def _reading(self) -> Iterator[Callable[[int, int], SparseBlock]]:
        from .reader import SparseReader  # with compiled loops, which not everybody who reads a data set needs

        with ExitStack() as stack:
            yield SparseReader(self.data, self.indices, self.indptr, (self.columns_stored, int(self.intercept)), stack).read
