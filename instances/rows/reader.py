"""Blocks of sparse rows as they are read: their arrays are used again, and looked at before anybody uses them as indices."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import scipy.sparse as sp

from ...errors import DataError
from ...rows.loops import NO_COLUMN, NO_ENDS, UNSORTED, check
from ...rows.sparse import StoredBlock
from .unpacked_arrays import Buffer, StoredArray

__all__ = ["SparseReader"]


class SparseReader:
    """Blocks of CSR rows in three open files.

    Parameters
    ----------
    data, indices, indptr : StoredArray
        As `SparseRows` has them.
    widths : (int, int)
        Stored columns, and columns of ones before them (1 or 0).
    stack : ExitStack
        What closes the files.
    """

    def __init__(
        self, data: StoredArray, indices: StoredArray, indptr: StoredArray, widths: tuple[int, int], stack: ExitStack
    ) -> None:
        self._stored, self._widths = (data, indices, indptr), widths
        self._files = [stack.enter_context(part.opened()) for part in self._stored]
        self._buffers = [Buffer(part.dtype) for part in self._stored]

    def _part(self, which: int, start: int, stop: int) -> np.ndarray:
        return self._stored[which].read(self._files[which], start, stop, self._buffers[which])

    def read(self, start: int, stop: int) -> StoredBlock:
        """Rows from start to stop.

        Raises
        ------
        DataError
            They are no CSR matrix's: row ends that decrease or lie beyond the data, a column that is not there.
        """
        columns, ones = self._widths
        ends = self._part(2, start, stop + 1).astype(np.int64, copy=False)
        first, last = int(ends[0]), int(ends[-1])
        if not 0 <= first <= last <= self._stored[0].shape[0]:
            raise self._no_ends(start, stop)
        data = _either(self._part(0, first, last), np.float32, np.float64)
        indices = _either(self._part(1, first, last), np.int32, np.int64)
        found, row = check(indices, ends, columns)
        if found == NO_ENDS:
            raise self._no_ends(start, stop)
        if found == NO_COLUMN:
            row_indices = indices[ends[row] - first : ends[row + 1] - first]
            wrong = row_indices[(row_indices < 0) | (row_indices >= columns)][0]
            raise DataError(f"{self._stored[1].path}: column {wrong} in row {start + row}; there are {columns}")
        if found == UNSORTED:
            ordered = sp.csr_array((data.astype(np.float64), indices, ends - first), shape=(stop - start, columns), copy=True)
            ordered.sum_duplicates()
            data, indices, ends = ordered.data, ordered.indices, ordered.indptr.astype(np.int64)
        return StoredBlock(data, indices, ends, columns, ones)

    def _no_ends(self, start: int, stop: int) -> DataError:
        return DataError(f"{self._stored[2].path}: row ends between rows {start} and {stop} are no CSR matrix's")


def _either(stored: np.ndarray, short: type[np.generic], long: type[np.generic]) -> np.ndarray:
    """Numbers of one of two types, those of any other type as the longer one."""
    return stored if stored.dtype in (short, long) and stored.dtype.isnative else stored.astype(long)
