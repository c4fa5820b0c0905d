"""Blocks of consecutive rows of a sparse matrix X, which solvers read one after the other (`Rows.blocks`).

`SparseBlock` is the interface of their products; `CsrBlock` holds a SciPy CSR array.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

#: An array in float64.
FloatArray: TypeAlias = npt.NDArray[np.float64]


class _HasRmatvec(Protocol):
    def rmatvec(self, v: FloatArray) -> FloatArray: ...


@final
@dataclass(frozen=True)
class TransposedRows:
    """The transpose X' of rows as an operator: ``X.T @ v`` is X'v."""

    #: X, whose ``rmatvec`` computes X'v.
    matrix: _HasRmatvec

    def __matmul__(self, v: FloatArray) -> FloatArray:
        """Return X'v."""
        return self.matrix.rmatvec(v)


#: The arrays ``data`` (float64), ``indices`` and ``indptr`` of a `scipy.sparse.csr_array`.
CSR: TypeAlias = tuple[FloatArray, npt.NDArray[Any], npt.NDArray[Any]]


class SparseBlock(ABC):
    """The interface of a block of sparse rows x_i; column indices increase along each row."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""

    @abstractmethod
    def __matmul__(self, w: FloatArray) -> FloatArray:
        """Return Xw."""

    @property
    def T(self) -> TransposedRows:
        """X', which can be multiplied by a vector."""
        return TransposedRows(self)

    @abstractmethod
    def rmatvec(self, v: FloatArray) -> FloatArray:
        """Return X'v."""

    @abstractmethod
    def row_squares(self) -> FloatArray:
        """Return ||x_i||² of each row."""

    @abstractmethod
    def column_squares(self, d: FloatArray) -> FloatArray:
        """Return Σ_i d_i x_ij² of each column j."""

    @abstractmethod
    def arrays(self) -> CSR:
        """Return the block as CSR arrays."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class CsrBlock(SparseBlock):
    """A block of rows in memory, as a SciPy CSR array."""

    #: The rows, with sorted column indices.
    rows: sp.csr_array

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return int(self.rows.shape[0]), int(self.rows.shape[1])

    def __matmul__(self, w: FloatArray) -> FloatArray:
        """Return Xw."""
        return np.asarray(self.rows @ w)

    def rmatvec(self, v: FloatArray) -> FloatArray:
        """Return X'v."""
        return np.asarray(self.rows.T @ v)

    def row_squares(self) -> FloatArray:
        """Return ||x_i||² of each row."""
        return np.asarray(self._squares() @ np.ones(self.rows.shape[1]))

    def column_squares(self, d: FloatArray) -> FloatArray:
        """Return Σ_i d_i x_ij² of each column j."""
        return np.asarray(self._squares().T @ d)

    def arrays(self) -> CSR:
        """Return the arrays themselves."""
        return self.rows.data, self.rows.indices, self.rows.indptr

    def _squares(self) -> sp.csr_array:
        return sp.csr_array((self.rows.data * self.rows.data, self.rows.indices, self.rows.indptr), shape=self.rows.shape)


def stack_blocks(blocks: Sequence[CSR], columns: int) -> sp.csr_array:
    """Return the rows of blocks, given as CSR arrays, one block below the other."""
    data, indices = (np.concatenate([block[k] for block in blocks]) for k in (0, 1))
    before = np.cumsum([0, *(block[0].size for block in blocks)])
    indptr = np.concatenate([[0], *(block[2][1:] + start for block, start in zip(blocks, before, strict=False))])
    return sp.csr_array((data, indices, indptr), shape=(indptr.size - 1, columns))
