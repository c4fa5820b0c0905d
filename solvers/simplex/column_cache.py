"""A least-recently-used cache of kernel columns, which the compiled loops of SMO and of the Frank-Wolfe methods read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import InputError, count_text
from ...models.arrays import materialise_limit
from ...models.kernels.gram import GramOperator
from ..records import Options

#: Default size of a column cache, in bytes.
CACHE_BYTES = 2**30
#: Columns computed at a time if their slots are not neighbours: they stay in the processor's cache until they are copied.
_ROWS = 32


def cache_bytes(size: int | None, options: Options, minimum: float = 0.0) -> int:
    """Return the bytes that a cache may take: ``size``, or the solve's memory limit if that is smaller.

    Without a ``size`` it is 1 GiB or, if larger, ``minimum`` as far as this machine's memory allows (`materialise_limit`).
    """
    default = max(CACHE_BYTES, min(minimum, materialise_limit())) if size is None else size
    return int(default if options.memory_limit is None else min(default, options.memory_limit))


class ColumnCache:
    """Columns of a Gram operator within a limit of bytes; the least recently used ones make room for new ones.

    Parameters
    ----------
    gram : GramOperator
        The n × n matrix.
    limit : int
        Largest number of bytes of the columns.
    single : bool
        Whether columns are float32, which suffices for steps, or float64.

    Attributes
    ----------
    columns : ndarray (slots, n)
        Column i of the matrix is row ``slot[i]``.
    slot : ndarray of int (n,)
        The slot of each column; -1 if it is not cached.
    stamp : ndarray of int (slots,)
        The clock at the last use of a slot; compiled loops set it.
    owner : ndarray of int (slots,)
        The column in each slot; -1 if it is free.
    used, computed : int
        Number of slots in use, and of columns computed so far.

    Raises
    ------
    InputError
        The limit does not hold two columns, the least that a pair step needs.
    """

    def __init__(self, gram: GramOperator, limit: int, *, single: bool) -> None:
        n = gram.n
        kind: npt.DTypeLike = np.float32 if single else np.float64
        width = n * np.dtype(kind).itemsize
        slots = min(max(n, 2), int(limit) // width)
        if slots < 2:
            raise InputError(
                f"the column cache may hold {int(limit):,} bytes; "
                f"two columns of {count_text(n, 'point', spec=',')} need {2 * width:,}: "
                "raise cache_bytes (or memory_limit)",
                name="cache_bytes",
            )
        self.gram = gram
        self.single = single
        self.columns: npt.NDArray[Any] = np.empty((slots, n), dtype=kind)
        self.slot = np.full(n, -1, dtype=np.int64)
        self.stamp = np.zeros(slots, dtype=np.int64)
        self.owner = np.full(slots, -1, dtype=np.int64)
        self._buffer: npt.NDArray[Any] | None = None
        self.used = 0
        self.computed = 0

    @property
    def slots(self) -> int:
        """Return the number of columns that fit."""
        return int(self.columns.shape[0])

    def _free_slots(self, count: int) -> npt.NDArray[np.int64]:
        """Return slots for new columns: free ones, then those least recently used."""
        free = min(count, self.slots - self.used)
        slots = np.arange(self.used, self.used + free)
        self.used += free
        if free < count:
            evictions = count - free
            candidates = self.stamp[: self.used].copy()
            candidates[slots] = np.iinfo(np.int64).max
            oldest = np.argpartition(candidates, evictions - 1)[:evictions]
            slots = np.concatenate([slots, oldest])
        return slots

    def _load_apart(self, indices: npt.NDArray[np.int64], free_slots: npt.NDArray[np.int64]) -> None:
        """Compute columns for slots that are not neighbours, by way of a buffer of a few rows."""
        if self._buffer is None:
            self._buffer = np.empty((min(_ROWS, self.slots), self.gram.n), dtype=np.float32)
        for start in range(0, indices.size, len(self._buffer)):
            part = indices[start : start + len(self._buffer)]
            self.columns[free_slots[start : start + part.size]] = self.gram.single_columns(part, self._buffer[: part.size])

    def load(self, indices: npt.NDArray[np.int64], clock: int) -> None:
        """Compute the columns ``indices``, which must not be cached, and stamp them with ``clock`` as just used."""
        slots = self._free_slots(indices.size)
        evicted = self.owner[slots]
        self.slot[evicted[evicted >= 0]] = -1
        first, count = int(slots[0]), int(indices.size)
        if not self.single:
            self.columns[slots] = self.gram.columns(indices).T
        elif slots[-1] - first == count - 1 and bool((np.diff(slots) == 1).all()):
            self.gram.single_columns(indices, self.columns[first : first + count])
        else:
            self._load_apart(indices, slots)
        self.owner[slots] = indices
        self.slot[indices] = slots
        self.stamp[slots] = clock
        self.computed += int(indices.size)
