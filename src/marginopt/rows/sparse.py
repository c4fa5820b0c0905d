"""`StoredBlock`: a block of sparse rows in the number types of a file on disk, whose products convert and copy no array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from . import loops
from .blocks import CSR, FloatArray, SparseBlock


@final
@dataclass(frozen=True, slots=True, eq=False)
class StoredBlock(SparseBlock):
    """A block of sparse rows as CSR arrays of 32 or 64 bits, with a column of ones before the stored ones if ``ones`` is 1.

    Attributes
    ----------
    data : ndarray, float32 or float64
        The stored entries.
    indices : ndarray, int32 or int64
        The column of each entry.
    ends : ndarray of int64 (rows + 1,)
        A part of the file's ``indptr``: row i has the entries at positions ends[i] - ends[0] to ends[i + 1] - ends[0] - 1.
    columns : int
        Number of stored columns.
    ones : int
        1 if a column of ones, which is not stored, is the first column, else 0.
    """

    data: npt.NDArray[Any]
    indices: npt.NDArray[Any]
    ends: npt.NDArray[np.int64]
    columns: int
    ones: int

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.ends.size - 1, self.columns + self.ones

    def __matmul__(self, w: FloatArray) -> FloatArray:
        """Return Xw."""
        product = np.empty(self.ends.size - 1)
        loops.matvec(self.data, self.indices, self.ends, w[self.ones :], product)
        return product + w[0] if self.ones else product

    def rmatvec(self, v: FloatArray) -> FloatArray:
        """Return X'v."""
        product = np.zeros(self.columns + self.ones)
        loops.rmatvec(self.data, self.indices, self.ends, v, product[self.ones :])
        if self.ones:
            product[0] = v.sum()
        return product

    def row_squares(self) -> FloatArray:
        """Return ||x_i||² of each row."""
        squares = np.empty(self.ends.size - 1)
        loops.row_squares(self.data, self.ends, squares)
        return squares + 1.0 if self.ones else squares

    def column_squares(self, d: FloatArray) -> FloatArray:
        """Return Σ_i d_i x_ij² of each column j."""
        squares = np.zeros(self.columns + self.ones)
        loops.column_squares(self.data, self.indices, self.ends, d, squares[self.ones :])
        if self.ones:
            squares[0] = d.sum()
        return squares

    def arrays(self) -> CSR:
        """Return copies of data, column indices and row ends, with the column of ones."""
        height = self.ends.size - 1
        size = self.data.size + height * self.ones
        data, indices = np.empty(size), np.empty(size, dtype=np.int32)
        loops.write_rows(self.data, self.indices, self.ends, self.ones, data, indices)
        return data, indices, (self.ends - self.ends[0]) + self.ones * np.arange(height + 1)
