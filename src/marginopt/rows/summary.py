"""`ColumnSummary`: ranges and mean squares of a matrix's columns and a digest of its entries, from one pass over its rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import DataError
from .blocks import CSR, FloatArray, SparseBlock
from .loops import summarise_dense, summarise_sparse, write_singles

#: The numbers of a block row by row, and where they are in sparse ones.
_Held: TypeAlias = CSR | tuple[FloatArray, None, None]


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """The ranges and mean squares of a matrix's columns, and a digest of the matrix.

    Attributes
    ----------
    low, high : ndarray (p,)
        Minimum and maximum of every column.
    mean_squares : ndarray (p,)
        (1/n) Σ_i x_ij² of every column j.
    digest : str
        SHA-256 of the shape and the stored entries, the same in memory and on disk; a dense and a sparse matrix differ.
    """

    low: FloatArray
    high: FloatArray
    mean_squares: FloatArray
    digest: str

    @classmethod
    def of(
        cls, shape: tuple[int, int], entries: int, blocks: Iterable[tuple[int, int, FloatArray | SparseBlock]]
    ) -> ColumnSummary:
        """Return the summary of a matrix by one pass over its blocks.

        Parameters
        ----------
        shape : (int, int)
            The numbers of rows and columns, (n, p).
        entries : int
            The number of stored entries; n × p of a dense matrix.
        blocks : iterable of (int, int, block)
            Start, stop and rows of each block, as `Rows.blocks` yields them.

        Raises
        ------
        DataError
            NaN or infinite entries; the first row that has one.
        """
        n, p = shape
        low, high, squares = np.full(p, np.inf), np.full(p, -np.inf), np.zeros(p)
        counts, digest = np.zeros(p, dtype=np.int64), _Digest(shape, entries)
        for start, _, block in blocks:
            if isinstance(block, np.ndarray):
                summarise_dense(block, low, high, squares)
                arrays: _Held = block.reshape(-1), None, None
            else:
                arrays = block.arrays()
                summarise_sparse(arrays[0], arrays[1], low, high, squares, counts)
            if not np.isfinite(squares).all():  # an entry is not finite, or its square too large
                _check_finite(start, p, arrays)
            digest.add(*arrays)
        if entries != n * p:  # an entry that is not stored is zero
            holes = counts < n
            low[holes], high[holes] = np.minimum(low[holes], 0.0), np.maximum(high[holes], 0.0)
        return cls(low, high, squares / n, digest.text())


class _Digest:
    """SHA-256 of a matrix, the same for every way of storing it: blocks are of the same rows and written in the same way.

    Numbers are written as float32 where that holds all of a block, which is half of the bytes; columns and lengths of rows as the
    shortest integers that hold p.
    """

    def __init__(self, shape: tuple[int, int], entries: int) -> None:
        self._whole = hashlib.sha256(repr((shape, entries)).encode())
        self._integer = np.min_scalar_type(shape[1])
        self._singles = np.empty(0, dtype=np.float32)

    def add(self, values: FloatArray, indices: npt.NDArray[Any] | None, indptr: npt.NDArray[Any] | None) -> None:
        self._numbers(values)
        if indices is not None and indptr is not None:
            self._write(indices.astype(self._integer))
            self._write(np.diff(indptr).astype(self._integer))

    def _numbers(self, values: FloatArray) -> None:
        if self._singles.size < values.size:
            self._singles = np.empty(values.size, dtype=np.float32)
        short = write_singles(values, self._singles)
        self._whole.update(b"single" if short else b"double")
        self._write(self._singles[: values.size] if short else values)

    def _write(self, values: npt.NDArray[Any]) -> None:
        self._whole.update(np.ascontiguousarray(values).data)

    def text(self) -> str:
        return self._whole.hexdigest()


def _check_finite(start: int, p: int, block: _Held) -> None:
    values, indices, indptr = block
    if np.isfinite(values).all():
        return
    bad = int(np.flatnonzero(~np.isfinite(values))[0])
    row, column = divmod(bad, p)
    if indices is not None and indptr is not None:
        row, column = int(np.searchsorted(indptr, bad, side="right")) - 1, int(indices[bad])
    raise DataError(f"X must be finite: row {start + row}, column {column}, counting from 0, is {values[bad]}", name="X")
