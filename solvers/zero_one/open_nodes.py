"""`OpenNodes`, the open nodes of the box search of `zero-one-bb` for exchange between files, workers and pools.

A node is a box of w with the points that it leaves undecided: a point is kept if its margin g_i'w is at least 1, else violated.
`BoxPool` holds the open nodes of a running search (`solvers.zero_one.loops.box_records`): a *record* for each branched node, and
*pages* for the undecided points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from ...models.arrays import FloatArray, IntArray
from .loops.box_records import PAGE, BoxPool, allocate_pool, initialise_pool
from .loops.box_search import gather_points, scatter_points

#: Data type of each array in the compiled kernels.
_TYPES = dict.fromkeys(("key", "lo", "hi", "w", "base", "lower"), np.float64) | {
    "ident": np.int64, "side": np.int64, "count": np.int64, "point": np.int32, "state": np.int8,
}  # fmt: skip
_POINT_ARRAYS = ("point", "state", "lower")


@dataclass(frozen=True, eq=False)
class OpenNodes:
    """Open nodes in order of their bounds, with all data that their search depends on, so that any process can continue it."""

    key: FloatArray  #: (m,) proved lower bounds, in units of the reduced problem
    lo: FloatArray  #: (m, p) lower ends of the boxes
    hi: FloatArray  #: (m, p) upper ends of the boxes
    w: FloatArray  #: (m, p) starting points of the relaxations
    base: FloatArray  #: (m,) summed weights of the points that are violated throughout each box
    ident: IntArray  #: (m,) number of the parent in the proof log
    side: IntArray  #: (m,) which child of the parent, 0 or 1
    count: IntArray  #: (m,) number of undecided points of each node
    point: IntArray  #: (Σ count,) the undecided points of all nodes
    state: IntArray  #: (Σ count,) their states
    lower: FloatArray  #: (Σ count,) lower ends l_i of their margins

    def __len__(self) -> int:
        return len(self.key)

    @property
    def least_bound(self) -> float:
        """The least lower bound; ∞ without nodes."""
        return float(self.key[0]) if len(self.key) else math.inf

    @cached_property
    def nbytes(self) -> int:
        """The number of bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, Any]:
        """Return the arrays by name, for a file or a message."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> OpenNodes:
        """Return the open nodes that these arrays, as `arrays` returns them, describe."""
        return cls(**{f.name: arrays[f.name] for f in fields(cls)})

    @classmethod
    def from_pool(cls, pool: BoxPool, below: float) -> OpenNodes:
        """Return the open nodes of a pool with bounds below ``below``; the pool is not modified."""
        scalars = pool.scalars
        codes = np.concatenate(
            [pool.heap[: scalars.waiting], np.array([scalars.current] if scalars.current >= 0 else [], dtype=np.int32)]
        )
        key = pool.key[codes >> 1, codes & 1]
        ranking = np.argsort(key, kind="stable")
        codes, key = codes[ranking], key[ranking]
        codes, key = codes[key < below], key[key < below]
        records, side = (codes >> 1).astype(np.int64), (codes & 1).astype(np.int64)
        point, state, lower = _points(pool, records)
        lo, hi, count = pool.lo[records], pool.hi[records], pool.count[records].astype(np.int64)
        split, mid, indices = pool.split[records], pool.mid[records], np.arange(len(records))
        first = np.concatenate([[0], np.cumsum(count)[:-1]]) if len(records) else np.zeros(0, np.int64)
        on_point = split < 0
        state[(first - 1 - split)[on_point]] = side[on_point]
        for end, branched, tighten in (
            (hi, (split >= 0) & (side == 0), np.minimum),
            (lo, (split >= 0) & (side == 1), np.maximum),
        ):
            i, j = indices[branched], split[branched]
            end[i, j] = tighten(end[i, j], mid[i])
        return cls(key, lo, hi, pool.w[records], pool.base[records], pool.ident[records], side, count, point, state, lower)

    def to_pool(self, n: int, log: int, incumbent_value: float) -> BoxPool:
        """Return a pool with these nodes open.

        Parameters
        ----------
        n : int
            Number of points.
        log : int
            Length of the log buffer.
        incumbent_value : float
            Value below which the search reports candidates.
        """
        m, p = self.lo.shape
        pages = -(-self.count // PAGE)
        pool = allocate_pool(n, p, log, records=2 * m, pages=2 * int(pages.sum()))
        initialise_pool(pool, None, None)
        pool.lo[:m], pool.hi[:m], pool.w[:m], pool.base[:m] = self.lo, self.hi, self.w, self.base
        pool.key[:m] = self.key[:, None]
        pool.ident[:m], pool.count[:m], pool.refs[:m] = self.ident, self.count, 1
        # a trivial branching: the box is already that of the child
        pool.split[:m] = 0
        pool.mid[:m] = np.where(self.side == 0, self.hi[:, 0], self.lo[:, 0])
        used_pages = int(pages.sum())
        last_page = np.cumsum(pages) - 1
        pool.page[:m] = np.where(pages > 0, last_page - pages + 1, -1)
        pool.link[:used_pages] = np.arange(1, used_pages + 1)
        pool.link[last_page[pages > 0]] = -1
        # received arrays may be read-only or not aligned, and the kernels are compiled for writable aligned arrays
        scatter_points(
            pool, *(np.require(array, requirements=["C", "A", "W"]) for array in (self.count, self.point, self.state, self.lower))
        )
        # the first records and pages are in use: they are on top of both stacks of free ones
        pool.scalars.records -= m
        pool.scalars.pages -= used_pages
        pool.heap[:m] = 2 * np.arange(m) + self.side
        pool.scalars.waiting = m
        pool.candidate[p] = incumbent_value
        return pool

    def check(self, n: int, p: int) -> None:
        """Raise ValueError unless compiled loops may read these nodes of n points in p coordinates: all indices are valid."""
        m, arrays = len(self), self.arrays()
        valid = all(type(array) is np.ndarray and array.dtype == _TYPES[name] for name, array in arrays.items())
        valid = valid and self.lo.shape == self.hi.shape == self.w.shape == (m, p)
        valid = valid and all(a.shape == (m,) for a in (self.key, self.base, self.ident, self.side, self.count))
        valid = valid and bool(((self.count >= 0) & (self.count <= n)).all()) and int(self.count.sum()) == len(self.point)
        valid = valid and self.point.shape == self.state.shape == self.lower.shape == (len(self.point),)
        valid = valid and bool((np.diff(self.key) >= 0).all())
        valid = valid and _within(self.side, 0, 1) and _within(self.point, 0, n - 1) and _within(self.state, -1, 1)
        valid = valid and all(bool(np.isfinite(a).all()) for a in (self.lo, self.hi, self.w, self.base, self.key))
        if not valid or math.isnan(self.lower.min(initial=math.inf)):
            raise ValueError("its open nodes are none of this problem")

    def select(self, rows: slice) -> OpenNodes:
        """Return a contiguous part of the nodes as views, which keep the memory of all nodes alive; `copy` copies them."""
        begin, end, _ = rows.indices(len(self))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.count)])
        points = slice(int(offsets[begin]), int(offsets[max(begin, end)]))
        return OpenNodes(**{name: array[points if name in _POINT_ARRAYS else rows] for name, array in self.arrays().items()})

    def copy(self) -> OpenNodes:
        """Return a copy of the nodes in memory of their own."""
        return OpenNodes(**{name: array.copy() for name, array in self.arrays().items()})

    def below(self, cut: float) -> OpenNodes:
        """Return the nodes with bounds below ``cut``."""
        return self if not len(self) or self.key[-1] < cut else self.select(slice(0, int(np.searchsorted(self.key, cut))))

    @classmethod
    def concatenate(cls, parts: Sequence[OpenNodes]) -> OpenNodes:
        """Return the nodes of all parts as one object, in order of their bounds."""
        if len(parts) == 1:
            return parts[0]
        joined = cls(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)})
        return joined._sorted()

    def _sorted(self) -> OpenNodes:
        order = np.argsort(self.key, kind="stable")
        if (order == np.arange(len(order))).all():
            return self
        first = np.cumsum(self.count) - self.count
        starts = np.repeat(first[order], self.count[order])
        offsets = np.arange(len(starts)) - np.repeat(np.cumsum(self.count[order]) - self.count[order], self.count[order])
        points = starts + offsets
        by_node = {name: getattr(self, name)[order] for name in ("key", "lo", "hi", "w", "base", "ident", "side", "count")}
        return OpenNodes(**by_node, **{name: getattr(self, name)[points] for name in ("point", "state", "lower")})


def _within(array: IntArray, lower: int, upper: int) -> bool:
    """Return True if all entries are within the bounds; no temporary array, since there may be millions of entries."""
    return int(array.min(initial=lower)) >= lower and int(array.max(initial=upper)) <= upper


def _points(pool: BoxPool, records: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return points, states and lower ends of the records, concatenated."""
    size = int(pool.count[records].sum(dtype=np.int64))
    point, state, lower = (np.empty(size, array.dtype) for array in (pool.point, pool.state, pool.lower))
    gather_points(pool, records, point, state, lower)
    return point, state, lower
