"""Open nodes of the box search by themselves: taken out of a pool, divided, sent, kept in a file, planted in another pool."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from ....models.arrays import FloatArray, IntArray
from ..kernels import boxes as k
from .box_pool import empty_pool, plant_root

__all__ = ["OpenNodes"]

#: What compiled loops read each array as.
_TYPES = dict.fromkeys(("key", "lo", "hi", "w", "base", "lower"), np.float64) | {
    "ident": np.int64, "side": np.int64, "count": np.int64, "point": np.int32, "state": np.int8,
}  # fmt: skip
_BY_POINT = ("point", "state", "lower")


@dataclass(frozen=True, eq=False)
class OpenNodes:
    """Nodes that wait, by rising bound: all that their search depends on, so that it goes on elsewhere as it would have here.

    Parameters
    ----------
    key : ndarray (m,)
        Proved lower bounds, reduced.
    lo, hi, w : ndarray (m, p)
        Boxes, and where their relaxations start.
    base : ndarray (m,)
        Cost of the points that the boxes violate.
    ident, side : ndarray of int (m,)
        Number of the branched node in the proof log, and which child this is.
    count : ndarray of int (m,)
        Undecided points of each.
    point, state, lower : ndarray (Σ count,)
        The points, their states, and lower ends l_i of their margins.
    """

    key: FloatArray
    lo: FloatArray
    hi: FloatArray
    w: FloatArray
    base: FloatArray
    ident: IntArray
    side: IntArray
    count: IntArray
    point: IntArray
    state: IntArray
    lower: FloatArray

    def __len__(self) -> int:
        return len(self.key)

    @property
    def least(self) -> float:
        """The least bound; ∞ without nodes."""
        return float(self.key[0]) if len(self.key) else math.inf

    @cached_property
    def nbytes(self) -> int:
        """Bytes of all arrays; whoever keeps many such parts asks again and again."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, Any]:
        """By name, for a file."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Any]) -> OpenNodes:
        """What `arrays` gave."""
        return cls(**{f.name: arrays[f.name] for f in fields(cls)})

    @classmethod
    def of_pool(cls, pool: k.Pool, below: float) -> OpenNodes:
        """The open nodes of a pool whose bounds are below ``below``; the pool stays as it is."""
        now = pool.now
        codes = np.concatenate([pool.heap[: now.waiting], np.array([now.current] if now.current >= 0 else [], dtype=np.int32)])
        key = pool.key[codes >> 1, codes & 1]
        ranked = np.argsort(key, kind="stable")
        codes, key = codes[ranked], key[ranked]
        codes, key = codes[key < below], key[key < below]
        r, side = (codes >> 1).astype(np.int64), (codes & 1).astype(np.int64)
        point, state, lower = _points(pool, r)
        lo, hi, count = pool.lo[r], pool.hi[r], pool.count[r].astype(np.int64)
        split, mid, each = pool.split[r], pool.mid[r], np.arange(len(r))
        first = np.concatenate([[0], np.cumsum(count)[:-1]]) if len(r) else np.zeros(0, np.int64)
        at = split < 0
        state[(first - 1 - split)[at]] = side[at]
        for end, which, nearer in ((hi, (split >= 0) & (side == 0), np.minimum), (lo, (split >= 0) & (side == 1), np.maximum)):
            i, j = each[which], split[which]
            end[i, j] = nearer(end[i, j], mid[i])
        return cls(key, lo, hi, pool.w[r], pool.base[r], pool.ident[r], side, count, point, state, lower)

    def planted(self, n: int, log: int, found: float) -> k.Pool:
        """A pool with these nodes open, for n points and a log of ``log`` numbers; candidates are wanted below ``found``."""
        m, p = self.lo.shape
        pages = -(-self.count // k.PAGE)
        pool = empty_pool(n, p, log, records=2 * m, pages=2 * int(pages.sum()))
        plant_root(pool, None, None)
        pool.lo[:m], pool.hi[:m], pool.w[:m], pool.base[:m] = self.lo, self.hi, self.w, self.base
        pool.key[:m] = self.key[:, None]
        pool.ident[:m], pool.count[:m], pool.refs[:m] = self.ident, self.count, 1
        # a branching that changes nothing: the box is the child's own already
        pool.split[:m] = 0
        pool.mid[:m] = np.where(self.side == 0, self.hi[:, 0], self.lo[:, 0])
        used = int(pages.sum())
        last = np.cumsum(pages) - 1
        pool.page[:m] = np.where(pages > 0, last - pages + 1, -1)
        pool.link[:used] = np.arange(1, used + 1)
        pool.link[last[pages > 0]] = -1
        # what came from elsewhere may be read-only, or not aligned: loops are compiled for arrays that are neither
        k.spread(
            pool, *(np.require(array, requirements=["C", "A", "W"]) for array in (self.count, self.point, self.state, self.lower))
        )
        # the first records and pages are in use: both stacks of free ones have them on top
        pool.now.records -= m
        pool.now.pages -= used
        pool.heap[:m] = 2 * np.arange(m) + self.side
        pool.now.waiting = m
        pool.found[p] = found
        return pool

    def check(self, n: int, p: int) -> None:
        """That compiled loops may be given these nodes, of n points in p coordinates: every index is one, every number a number.

        Raises
        ------
        ValueError
            They may not.
        """
        m, arrays = len(self), self.arrays()
        right = all(type(array) is np.ndarray and array.dtype == _TYPES[name] for name, array in arrays.items())
        right = right and self.lo.shape == self.hi.shape == self.w.shape == (m, p)
        right = right and all(a.shape == (m,) for a in (self.key, self.base, self.ident, self.side, self.count))
        right = right and bool(((self.count >= 0) & (self.count <= n)).all()) and int(self.count.sum()) == len(self.point)
        right = right and self.point.shape == self.state.shape == self.lower.shape == (len(self.point),)
        right = right and bool((np.diff(self.key) >= 0).all())
        right = right and _within(self.side, 0, 1) and _within(self.point, 0, n - 1) and _within(self.state, -1, 1)
        right = right and all(bool(np.isfinite(a).all()) for a in (self.lo, self.hi, self.w, self.base, self.key))
        if not right or math.isnan(self.lower.min(initial=math.inf)):
            raise ValueError("its open nodes are none of this problem")

    def chosen(self, rows: slice) -> OpenNodes:
        """Nodes one after the other: views, which keep the memory of all; `apart` gives them their own."""
        begin, end, _ = rows.indices(len(self))
        upto = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.count)])
        points = slice(int(upto[begin]), int(upto[max(begin, end)]))
        return OpenNodes(**{name: array[points if name in _BY_POINT else rows] for name, array in self.arrays().items()})

    def apart(self) -> OpenNodes:
        """The same nodes in memory of their own."""
        return OpenNodes(**{name: array.copy() for name, array in self.arrays().items()})

    def below(self, cut: float) -> OpenNodes:
        """Those that may hold something better than ``cut``."""
        return self if not len(self) or self.key[-1] < cut else self.chosen(slice(0, int(np.searchsorted(self.key, cut))))

    @classmethod
    def joined(cls, parts: Sequence[OpenNodes]) -> OpenNodes:
        """All of several, by rising bound."""
        if len(parts) == 1:
            return parts[0]
        joined = cls(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)})
        return joined._ranked()

    def _ranked(self) -> OpenNodes:
        order = np.argsort(self.key, kind="stable")
        if (order == np.arange(len(order))).all():
            return self
        first = np.cumsum(self.count) - self.count
        held = np.repeat(first[order], self.count[order])
        within = np.arange(len(held)) - np.repeat(np.cumsum(self.count[order]) - self.count[order], self.count[order])
        points = held + within
        by_node = {name: getattr(self, name)[order] for name in ("key", "lo", "hi", "w", "base", "ident", "side", "count")}
        return OpenNodes(**by_node, **{name: getattr(self, name)[points] for name in ("point", "state", "lower")})


def _within(array: IntArray, least: int, most: int) -> bool:
    """Whether all are; no array is made, since there may be millions."""
    return int(array.min(initial=least)) >= least and int(array.max(initial=most)) <= most


def _points(pool: k.Pool, records: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Points, states and lower ends of the records, one after the other."""
    size = int(pool.count[records].sum(dtype=np.int64))
    point, state, lower = (np.empty(size, array.dtype) for array in (pool.point, pool.state, pool.lower))
    k.gather(pool, records, point, state, lower)
    return point, state, lower
