"""Rows in memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from .abstract import BLOCK_BYTES, LOOK_BYTES, Block, Rows
from .blocks import CsrBlock, stacked
from .transposed import FloatArray

__all__ = ["MemoryRows", "sampled"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class MemoryRows(Rows):
    """An array in memory, whose blocks are views of it.

    Parameters
    ----------
    X : ndarray or csr_array, float64
        CSR whose columns do not increase along each row is copied and put in order.
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


def sampled(rows: Rows, count: int) -> MemoryRows:
    """``count`` rows, evenly spread over all."""
    parts: list[Any] = []
    with rows.reading() as read:
        for start, stop in rows.sample_pieces(count):
            block = read(start, stop)
            parts.append(block.copy() if isinstance(block, np.ndarray) else block.arrays())
    return MemoryRows(np.concatenate(parts) if isinstance(parts[0], np.ndarray) else stacked(parts, rows.shape[1]))
