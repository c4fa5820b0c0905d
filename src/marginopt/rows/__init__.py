"""Data matrices X that are read in blocks of rows: `Rows` is their interface, `MemoryRows` one for an array in memory.

Other classes read their rows from disk. Formulations that need only products with X are stated on `Rows`: ``X @ w``, ``X.T @ v``,
the shape and the blocks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np
import scipy.sparse as sp

from ..errors import InputError, count_text
from .blocks import CsrBlock, FloatArray, SparseBlock, TransposedRows, stack_blocks

if TYPE_CHECKING:
    from .summary import ColumnSummary

__all__ = ["DEFAULT_BLOCK_BYTES", "MAX_BLOCK_BYTES", "Block", "MemoryRows", "Rows", "SparseBlock", "sample_rows"]

#: A block of consecutive rows: dense in C order, or CSR.
Block: TypeAlias = FloatArray | SparseBlock

#: Largest block of rows, in bytes of float64.
MAX_BLOCK_BYTES = 2**25
#: Default size of a block in bytes: small enough to stay in the processor's cache while it is used several times.
DEFAULT_BLOCK_BYTES = 2**20


class Rows(ABC):
    """The interface of n × p matrices in float64 whose rows are read in blocks."""

    #: The number of dimensions, as of a NumPy array.
    ndim: ClassVar[int] = 2

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""

    @property
    @abstractmethod
    def entries(self) -> int:
        """The number of stored entries."""

    @abstractmethod
    def open_reader(self) -> AbstractContextManager[Callable[[int, int], Block]]:
        """Return a context manager that yields a function read(start, stop), which returns these rows as a block.

        The block is valid until the next call of the function.
        """

    @property
    def row_bytes(self) -> float:
        """The average bytes of a row in memory: 8 for each entry of a dense matrix; 16 for each of a sparse one, and 8 a row."""
        n, p = self.shape
        return 8.0 * p if self.entries == n * p else 16.0 * self.entries / n + 8.0

    @property
    def pass_bytes(self) -> int:
        """The size of blocks, in bytes, at which a pass over the rows is fastest: blocks that are copied should fit the cache."""
        return DEFAULT_BLOCK_BYTES

    def blocks(self, block_bytes: float = DEFAULT_BLOCK_BYTES) -> Iterator[tuple[int, int, Block]]:
        """Yield (start, stop, rows), one block after the other; a block is valid until the next one is read."""
        n = self.shape[0]
        height = max(int(block_bytes / self.row_bytes), 1)
        with self.open_reader() as read:
            for start in range(0, n, height):
                stop = min(start + height, n)
                yield start, stop, read(start, stop)

    def __matmul__(self, w: FloatArray) -> FloatArray:
        """Return Xw."""
        product = np.empty(self.shape[0])
        for start, stop, block in self.blocks():
            product[start:stop] = block @ w
        return product

    @property
    def T(self) -> TransposedRows:
        """X', which can be multiplied by a vector."""
        return TransposedRows(self)

    def rmatvec(self, v: FloatArray) -> FloatArray:
        """Return X'v, added up block by block."""
        product = np.zeros(self.shape[1])
        for start, stop, block in self.blocks():
            product += block.T @ v[start:stop]
        return product

    def sample_pieces(self, count: int, pieces: int = 64) -> list[tuple[int, int]]:
        """Return (start, stop) of at most ``pieces`` ranges of rows, evenly spaced, not random.

        All have the same length, max(min(count, n) // pieces, 1). They hold about ``count`` rows, or up to ``pieces`` rows if
        ``count`` is smaller.
        """
        n = self.shape[0]
        length = max(min(count, n) // pieces, 1)
        starts = np.unique(np.linspace(0, n - length, pieces).astype(np.int64))
        return [(int(start), int(start) + length) for start in starts]

    @cached_property
    def columns(self) -> ColumnSummary:
        """The ranges and mean squares of the columns and a digest of all entries, from one pass over the rows.

        Raises
        ------
        DataError
            NaN or infinite entries; the first row that has one.
        """
        from .summary import ColumnSummary

        return ColumnSummary.of(self.shape, self.entries, self.blocks())

    def __repr__(self) -> str:
        n, p = self.shape
        return f"{type(self).__name__}({n:,} x {p:,}, {count_text(self.entries, 'entry', 'entries', spec=',')})"


@final
@dataclass(frozen=True, eq=False, repr=False)
class MemoryRows(Rows):
    """An array in memory, whose blocks are views of it.

    Parameters
    ----------
    X : ndarray or csr_array, float64
        The matrix. CSR without sorted columns is copied and sorted, and duplicate entries are summed.

    Raises
    ------
    InputError
        The type is not float64.
    """

    X: FloatArray | sp.csr_array

    def __post_init__(self) -> None:
        if self.X.dtype != np.float64:
            raise InputError(f"rows in memory must be float64; they are {self.X.dtype}")
        if not isinstance(self.X, np.ndarray) and not self.X.has_canonical_format:
            ordered = self.X.copy()
            ordered.sum_duplicates()
            object.__setattr__(self, "X", ordered)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns, (n, p)."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    @property
    def entries(self) -> int:
        """The number of stored entries."""
        return int(self.X.size if isinstance(self.X, np.ndarray) else self.X.nnz)

    @property
    def pass_bytes(self) -> int:
        """The largest block for a dense array, whose slices are views; the default for CSR, whose slices are copied."""
        return MAX_BLOCK_BYTES if isinstance(self.X, np.ndarray) else DEFAULT_BLOCK_BYTES

    def open_reader(self) -> AbstractContextManager[Callable[[int, int], Block]]:
        """Return a context manager that yields a function of (start, stop), which returns slices of the array."""
        return nullcontext(_slices(self.X))


def _slices(X: FloatArray | sp.csr_array) -> Callable[[int, int], Block]:
    if isinstance(X, np.ndarray):
        return lambda start, stop: X[start:stop]

    def read(start: int, stop: int) -> CsrBlock:
        ends = X.indptr[start : stop + 1]
        part = slice(int(ends[0]), int(ends[-1]))
        rows = sp.csr_array((X.data[part], X.indices[part], ends - ends[0]), shape=(stop - start, X.shape[1]))
        rows.has_canonical_format = True
        return CsrBlock(rows)

    return read


def sample_rows(rows: Rows, count: int) -> MemoryRows:
    """Return a copy in memory of about ``count`` rows, in evenly spaced ranges (`Rows.sample_pieces`)."""
    parts: list[Any] = []
    with rows.open_reader() as read:
        for start, stop in rows.sample_pieces(count):
            block = read(start, stop)
            parts.append(block.copy() if isinstance(block, np.ndarray) else block.arrays())
    return MemoryRows(np.concatenate(parts) if isinstance(parts[0], np.ndarray) else stack_blocks(parts, rows.shape[1]))
