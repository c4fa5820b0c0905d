"""Rows of data that come in blocks: a matrix of which products are asked for, kept in memory or left on disk.

`Rows` is what a formulation that needs no more than products is stated on. It is no array: ``X @ w``, ``X.T @ v``, its shape and
its blocks are all that there is.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .errors import DataError, InputError

__all__ = ["BLOCK_BYTES", "LOOK_BYTES", "Columns", "MemoryRows", "Rows"]

FloatArray: TypeAlias = npt.NDArray[np.float64]
#: Consecutive rows: dense in C order, or CSR.
Block: TypeAlias = "FloatArray | sp.csr_array"

#: Bytes of a block of rows, as float64, at most.
BLOCK_BYTES = 2**25
#: Bytes of a block where nothing else is asked for: several looks at it find it in the processor's cache, and what is done
#: outside a solver (the certificate, a summary) holds little.
LOOK_BYTES = 2**20


@dataclass(frozen=True, eq=False)
class Columns:
    """Least and largest entry and mean square of every column, and the digest of all entries."""

    low: FloatArray
    high: FloatArray
    mean_squares: FloatArray
    digest: str


class Rows(ABC):
    """An n × p matrix in float64 whose rows come in blocks."""

    ndim: ClassVar[int] = 2

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(n, p)."""

    @property
    @abstractmethod
    def entries(self) -> int:
        """Number of entries that are stored."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Callable[[int, int], Block]]:
        """A function (start, stop) to these rows, whose result holds until it is called again."""

    @property
    def row_bytes(self) -> float:
        """Bytes of a row on average."""
        n, p = self.shape
        return 8.0 * p if self.entries == n * p else 16.0 * self.entries / n + 8.0

    @property
    def pass_bytes(self) -> int:
        """Bytes of a block that serve a solver's pass best: what is read or put together should stay in the cache."""
        return LOOK_BYTES

    def blocks(self, block_bytes: float = LOOK_BYTES) -> Iterator[tuple[int, int, Block]]:
        """(start, stop, rows), one after the other; a block holds until the next one is asked for."""
        n = self.shape[0]
        height = max(int(block_bytes / self.row_bytes), 1)
        with self.reading() as read:
            for start in range(0, n, height):
                stop = min(start + height, n)
                yield start, stop, read(start, stop)

    def __matmul__(self, w: FloatArray) -> FloatArray:
        """Xw."""
        found = np.empty(self.shape[0])
        for start, stop, block in self.blocks():
            found[start:stop] = block @ w
        return found

    @property
    def T(self) -> Transposed:
        """X', which can be multiplied by a vector."""
        return Transposed(self)

    def sampled(self, count: int, pieces: int = 64) -> MemoryRows:
        """``count`` rows in pieces of equal length, evenly spread over all: their numbers do not depend on chance."""
        taken = [slice(start, stop) for start, stop in self.sample_pieces(count, pieces)]
        with self.reading() as read:
            parts = [read(piece.start, piece.stop).copy() for piece in taken]
        whole: Any = np.concatenate(parts) if isinstance(parts[0], np.ndarray) else sp.csr_array(sp.vstack(parts, format="csr"))
        return MemoryRows(whole)

    def sample_pieces(self, count: int, pieces: int = 64) -> list[tuple[int, int]]:
        """(start, stop) of what `sampled` takes."""
        n = self.shape[0]
        length = max(min(count, n) // pieces, 1)
        starts = np.unique(np.linspace(0, n - length, pieces).astype(np.int64))
        return [(int(start), int(start) + length) for start in starts]

    @cached_property
    def columns(self) -> Columns:
        """Extremes, squares and digest; one pass, in which every entry is looked at.

        Raises
        ------
        DataError
            NaN or infinite entries; the first row that has one.
        """
        n, p = self.shape
        low, high, squares = np.full(p, np.inf), np.full(p, -np.inf), np.zeros(p)
        streams = [hashlib.sha256() for _ in range(3)]
        counts = np.zeros(p, dtype=np.int64)
        for start, _, block in self.blocks():
            values = block if isinstance(block, np.ndarray) else block.data
            if not np.isfinite(values).all():
                raise DataError(_not_finite(start, block))
            streams[0].update(np.ascontiguousarray(values).data)
            if isinstance(block, np.ndarray):
                np.minimum(low, block.min(axis=0), out=low)
                np.maximum(high, block.max(axis=0), out=high)
                squares += np.einsum("ij,ij->j", block, block)
                continue
            streams[1].update(block.indices.astype(np.int64).data)
            streams[2].update(np.diff(block.indptr).astype(np.int64).data)
            np.minimum.at(low, block.indices, values)
            np.maximum.at(high, block.indices, values)
            squares += np.bincount(block.indices, weights=values * values, minlength=p)
            counts += np.bincount(block.indices, minlength=p)
        if self.entries != n * p:  # what is not stored is zero
            holes = counts < n
            low[holes], high[holes] = np.minimum(low[holes], 0.0), np.maximum(high[holes], 0.0)
        whole = hashlib.sha256(repr(self.shape).encode())
        for stream in streams:
            whole.update(stream.digest())
        return Columns(low, high, squares / n, whole.hexdigest())

    def __repr__(self) -> str:
        n, p = self.shape
        return f"{type(self).__name__}({n:,} x {p:,}, {self.entries:,} entries)"


def _not_finite(start: int, block: Block) -> str:
    rows = sp.csr_array(block) if isinstance(block, np.ndarray) else block
    bad = int(np.flatnonzero(~np.isfinite(rows.data))[0])
    row = int(np.searchsorted(rows.indptr, bad, side="right")) - 1
    return f"X must be finite: row {start + row}, column {int(rows.indices[bad])}, counting from 0, is {rows.data[bad]}"


@final
@dataclass(frozen=True)
class Transposed:
    """X' of rows in blocks."""

    rows: Rows

    def __matmul__(self, v: FloatArray) -> FloatArray:
        """X'v, added up block by block."""
        found = np.zeros(self.rows.shape[1])
        for start, stop, block in self.rows.blocks():
            found += block.T @ v[start:stop]
        return found


@final
@dataclass(frozen=True, eq=False, repr=False)
class MemoryRows(Rows):
    """An array in memory, whose blocks are views of it.

    Parameters
    ----------
    X : ndarray or csr_array, float64
    """

    X: Block

    def __post_init__(self) -> None:
        if self.X.dtype != np.float64:
            raise InputError(f"rows in memory must be float64; they are {self.X.dtype}")

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    @property
    def entries(self) -> int:
        """Stored entries."""
        return int(self.X.size if isinstance(self.X, np.ndarray) else self.X.nnz)

    @property
    def pass_bytes(self) -> int:
        """Dense slices cost nothing, and large products are better ones."""
        return BLOCK_BYTES if isinstance(self.X, np.ndarray) else LOOK_BYTES

    def reading(self) -> AbstractContextManager[Callable[[int, int], Block]]:
        """Slices."""
        return nullcontext(self._slice)

    def _slice(self, start: int, stop: int) -> Block:
        X = self.X
        if isinstance(X, np.ndarray):
            return X[start:stop]
        ends = X.indptr[start : stop + 1]
        part = slice(int(ends[0]), int(ends[-1]))
        block = sp.csr_array((X.data[part], X.indices[part], ends - ends[0]), shape=(stop - start, X.shape[1]))
        block.has_canonical_format = X.has_canonical_format
        return block
