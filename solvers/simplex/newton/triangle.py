"""Q between the points of a support as its lower triangle: stored in blocks of rows, or computed anew each time."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeAlias, TypeVar

import numpy as np

from ....models.arrays import BoolArray, FloatArray, IntArray
from ....models.kernels.blocks.entries import Tile
from ....models.kernels.blocks.float32_tiles import Panel
from ....models.kernels.float32 import SingleArray
from ....models.kernels.gram import GramOperator
from ....models.kernels.threads import share, workers
from .inexact_loops import gather_rows
from .krylov import Steps
from .triangle_loops import WIDTH, symmetric_counts, symmetric_rows

__all__ = ["Triangle"]

T = TypeVar("T")
#: First row, last row and entries, where they are stored.
Block: TypeAlias = tuple[int, int, Tile | None]

#: Rows of a block, and blocks for each thread between two yields.
_ROWS, _TOGETHER = 128, 8
#: An entry is read so many times as fast as it is computed.
_READ = 2
#: Entries are rounded where less than two thirds of the first points' own ones fit into the limit: a part of what is `wanted`.
_WORTH = 4 / 9


class Triangle:
    """Q_SS for points ``own``.

    Block k holds the rows of its points against all points up to its own last one, so new points are new blocks at the end.
    By symmetry one pass over it serves a product. Half of |S|² entries are stored as far as ``limit`` reaches, as the
    Gram operator's panels give them: float32, or whole numbers of a byte or two that a table turns into values. Where float32
    does not fit, entries are rounded to two bytes if the operator can do that (`rounding`). Blocks beyond the limit are computed
    at every product: ten of those cost about as much as a virtual machine's first touch of the memory.

    Parameters
    ----------
    gram : GramOperator
    limit : int
        Bytes that may be stored.
    """

    def __init__(self, gram: GramOperator, limit: int) -> None:
        self.gram = gram
        self.own: IntArray = np.zeros(0, dtype=np.int64)
        self.place = np.full(gram.n, -1, dtype=np.int64)
        self._panel = gram.panel(self.own)
        self._entries = self._panel.entries
        self._limit, self._rounded = int(limit), False
        self._store: Tile = np.empty(0, dtype=self._entries.kind)
        self._used = 0
        self._blocks: list[Block] = []

    def extend(self, points: IntArray) -> Steps:
        """Take in points that are not there; the first ones decide how much may be stored: half again their own matrix's half."""
        begin = self.own.size
        self.own = np.concatenate([self.own, points])
        self.place[points] = np.arange(begin, self.own.size)
        if not self._blocks:
            size = 3 * self.own.size * (self.own.size + 2 * _ROWS) // 4
            self._rounded = 0 < self._limit < _WORTH * size * self._entries.kind.itemsize
            self._entries = self._over(self.own).entries
            self._store = np.empty(min(self._limit // self._entries.kind.itemsize, size), dtype=self._entries.kind)
        self._panel = self._over(self.own)
        empty = []
        for first in range(begin, self.own.size, _ROWS):
            last = min(first + _ROWS, self.own.size)
            block = self._room(last - first, last)
            self._blocks.append((first, last, block))
            if block is not None:
                empty.append((first, last, block))
        yield from self._fill(empty)

    @property
    def rounding(self) -> float:
        """The error of an entry as a standard deviation: a product of `weights` is off by so much times their norm."""
        return self._entries.rounding

    def _over(self, points: IntArray) -> Panel:
        panel = self.gram.rounded_panel(points) if self._rounded else None
        return self.gram.panel(points) if panel is None else panel

    def _fill(self, blocks: list[tuple[int, int, Tile]]) -> Steps:
        """Compute the entries of these blocks."""

        def rows(part: list[tuple[int, int, Tile]]) -> None:
            for first, last, block in part:
                self._panel.rows(self.own[first:last], block)

        yield from _shared(blocks, lambda part, _: rows(part), workers(sum(block.size for _, _, block in blocks)))

    def _room(self, rows: int, columns: int) -> Tile | None:
        begin, self._used = self._used, self._used + rows * columns
        if self._used > self._store.size:
            self._used = begin
            return None
        return self._store[begin : self._used].reshape(rows, columns)

    def compact(self, keep: BoolArray) -> Steps:
        """Forget points of ``own``, once; the room that this frees goes to blocks that had none."""
        shift = np.cumsum(keep)
        blocks, self._blocks, self._used = self._blocks, [], 0
        self.place[self.own[~keep]] = -1
        self.own = self.own[keep]
        self.place[self.own] = np.arange(self.own.size)
        self._panel = self._over(self.own)
        for first, last, block in blocks:
            rows, columns = np.flatnonzero(keep[first:last]), np.flatnonzero(keep[:last])
            if not rows.size:
                continue
            small = None
            if block is not None:  # moved down in place: nothing is written before it was read
                small = self._room(rows.size, columns.size)
                gather_rows(block, rows, columns, small)
                yield
            stop = int(shift[last - 1])
            self._blocks.append((stop - rows.size, stop, small))
        empty = []
        for at, (first, last, block) in enumerate(self._blocks):
            if block is None and (room := self._room(last - first, last)) is not None:
                self._blocks[at] = (first, last, room)
                empty.append((first, last, room))
        yield from self._fill(empty)

    def product(self, weights: FloatArray) -> Steps:
        """Q weights, for one weight a point of ``own``; few of them that are not zero ask for their own columns only."""
        passed = self._computed() + self._used // _READ
        if np.count_nonzero(weights) * self.own.size < passed:
            return (yield from self.outside(self.own, weights))
        return (yield from self._multiplied(weights, self._panel, self._blocks))

    def settled(self, weights: FloatArray) -> Steps:
        """Q weights from float32 values, whatever is stored."""
        blocks: list[Block] = [(first, last, None) for first, last, _ in self._blocks]
        return (yield from self._multiplied(weights, self.gram.panel(self.own), blocks))

    def _multiplied(self, weights: FloatArray, panel: Panel, blocks: list[Block]) -> Steps:
        scale, entries = float(np.abs(weights).max()) or 1.0, panel.entries
        given = entries.given(self.own, (weights / scale).astype(np.float32))
        sums, table = np.zeros((workers(self.own.size**2 // 2), self.own.size)), entries.table

        def multiply(block: Tile, first: int, begin: int, out: FloatArray, room: SingleArray) -> None:
            if table is None:
                symmetric_rows(block, first, begin, given, out, room)
            else:
                symmetric_counts(block, table, first, begin, given, out, room)

        def add(part: list[Block], out: FloatArray) -> None:
            room = np.empty(WIDTH, dtype=np.float32)
            for first, last, block in part:
                if block is not None:
                    multiply(block, first, 0, out, room)
                    continue
                for begin, _, tile in panel.tiles(self.own[first:last], last):
                    multiply(tile, first, begin, out, room)

        yield from _shared(blocks, lambda part, k: add(part, sums[k]), len(sums))
        return entries.finished(self.own, scale * sums.sum(axis=0), weights, scale * float(given.sum(dtype=np.float64)))

    def _computed(self) -> int:
        """Entries that every product computes."""
        return sum((last - first) * last for first, last, block in self._blocks if block is None)

    def outside(self, points: IntArray, weights: FloatArray) -> Steps:
        """Q[points, own] weights in float32, own points or others, without storing anything."""
        used = np.flatnonzero(weights)
        scale = float(np.abs(weights).max()) or 1.0
        given, panel = (weights[used] / scale).astype(np.float32), self.gram.panel(self.own[used])
        out = np.zeros(points.size)

        def multiply(part: list[int]) -> None:
            for start in part:
                chosen = points[start : start + _ROWS]
                out[start : start + chosen.size] = panel.product(chosen, given)

        yield from _shared(list(range(0, points.size, _ROWS)), lambda part, _: multiply(part), workers(points.size * used.size))
        return scale * out


def _shared(pieces: list[T], work: Callable[[list[T], int], object], count: int) -> Steps:
    """work(part, k) on so many threads k for a few pieces at a time, which get more costly from first to last."""
    for start in range(0, len(pieces), count * _TOGETHER):
        parts = [pieces[start + k : start + count * _TOGETHER : count] for k in range(count)]
        share(functools.partial(_part, work, parts), count)
        yield


def _part(work: Callable[[list[T], int], object], parts: list[list[T]], k: int) -> None:
    work(parts[k], k)
