"""Projected conjugate gradients for the Newton systems of SMO: the iteration, its preconditioner, and products with Q.

SMO minimises ½x'Qx + c'x over x ≥ 0, E'x = 1, where E has a column for each simplex. A Newton step on a guess S of the support
minimises ½d'Q_SS d + r'd over E'd = 0, where r is the gradient on S.
`conjugate_gradients` solves it, preconditioned by a low-rank model of Q (`Preconditioner`). `newton_cg` multiplies by cached
columns of Q, `lowrank_start` by a stored triangle of Q_SS (`KernelTriangle`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any, TypeAlias, TypeVar

import numpy as np
import scipy.linalg

from ...models.arrays import BoolArray, FloatArray, IntArray
from ...models.kernels.gram import GramOperator
from ...models.kernels.panels import Panel, Tile
from ...models.kernels.threads import run_on_threads, split_range, thread_count
from .newton_loops import TRIANGLE_WIDTH as WIDTH, add_triangle_product, gather_rows

#: Largest number of steps of `conjugate_gradients`.
CG_STEPS = 300
#: Number of columns of a factor B that are copied at once: the allocator keeps buffers of this size for reuse, not larger ones.
COLUMN_BLOCK = 2048
#: A residual so many times the first one has diverged: in float32 one loses at most about 3e3.
_DIVERGED = 1e6
#: A computation that yields often, so that its caller can stop it, and returns its result.
Steps: TypeAlias = Generator[None, None, Any]


def shifted_cholesky(A: FloatArray, shift: float) -> FloatArray:
    """Return L with LL' = A + shift·diag A, for the least shift, from the given one by tens, that makes it positive definite.

    A is overwritten. Sums of float32 products may need a shift where A is nearly singular. Raise LinAlgError if no shift up to 1
    suffices.
    """
    diagonal = np.diagonal(A).copy()
    while shift <= 1.0:
        A[np.diag_indices_from(A)] = diagonal * (1.0 + shift)
        lower, info = scipy.linalg.lapack.dpotrf(A, lower=1, clean=1)
        if info == 0:
            return np.asarray(lower)
        shift = max(10.0 * shift, 1e-7)
    raise np.linalg.LinAlgError("a matrix that should be positive semidefinite is far from it")


def weighted_gram(B: Any, weights: FloatArray, points: IntArray) -> FloatArray:
    """Return Σ weights_i b_i b_i' over the columns b_i of B in ``points``: products in B's precision, their sum in float64."""
    parts = split_range(points.size, thread_count(B.shape[0] * points.size))
    sums = np.zeros((len(parts), B.shape[0], B.shape[0]))

    def add(k: int) -> None:
        part_points = points[parts[k]]
        for start in range(0, part_points.size, COLUMN_BLOCK):
            chosen = part_points[start : start + COLUMN_BLOCK]
            scaled = B[:, chosen]
            scaled *= np.sqrt(weights[chosen]).astype(B.dtype)
            sums[k] += scaled @ scaled.T

    run_on_threads(add, len(parts))
    return np.asarray(sums.sum(axis=0))


class Preconditioner:
    """The inverse of D + B'B on a guess of the support, by Woodbury's formula, projected onto E'd = 0.

    Vectors have one entry for every point of a larger set, zero off the guess ``inside``.

    Parameters
    ----------
    groups : ndarray of int (m,)
        Simplex of every point of the set.
    simplices : int
        Number of simplices.
    B : ndarray (r, m)
        The rows of the model Q ≈ B'B + D.
    inverse : ndarray (m,)
        1/D.
    capacitance : ndarray (r, r)
        Woodbury's matrix I + B D⁻¹B' over the guess; it is overwritten.
    inside : ndarray of int
        Places of the guess's points.
    """

    def __init__(
        self, groups: IntArray, simplices: int, B: Any, inverse: FloatArray, capacitance: FloatArray, inside: IntArray
    ) -> None:
        self._factor = (shifted_cholesky(capacitance, 0.0), True)
        self._B = B
        self._E = np.zeros((groups.size, simplices))
        self._E[inside, groups[inside]] = 1.0
        self._inverse = np.zeros(groups.size)
        self._inverse[inside] = inverse[inside]
        self._PE = np.column_stack([self._apply(column) for column in self._E.T])
        self._small = np.linalg.inv(self._E.T @ self._PE)

    def _apply(self, r: FloatArray) -> FloatArray:
        scale = float(np.abs(r).max()) or 1.0
        h = self._inverse * (r / scale)
        inner = scipy.linalg.cho_solve(self._factor, (self._B @ h.astype(self._B.dtype)).astype(np.float64), check_finite=False)
        return np.asarray(scale * (h - self._inverse * (inner.astype(self._B.dtype) @ self._B)))

    def centred(self, r: FloatArray) -> FloatArray:
        """Return r less its mean in every simplex, whose size would hide the residual in float32's rounding."""
        return r - self._E @ ((self._E.T @ r) / self._E.sum(axis=0))

    def __call__(self, r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the inverse of r projected onto E'd = 0, and r - Eν, where ν are the multipliers of that constraint."""
        h = self._apply(r)
        nu = self._small @ (self._E.T @ h)
        return h - self._PE @ nu, r - self._E @ nu


def conjugate_gradients(
    product: Callable[[FloatArray], Steps],
    inside: IntArray,
    inverse: Preconditioner,
    r: FloatArray,
    accuracy: float,
    target: float,
) -> Steps:
    """Return the d that minimises ½d'Qd + r'd over E'd = 0, zero off the guess ``inside``, with Qd and the number of steps.

    ``product`` multiplies by Q. The iteration ends at a residual, in the largest entry, of ``accuracy`` times the first one or of
    ``target``, if a direction has no curvature, or after `CG_STEPS` steps. The result is d = 0 if the residual diverges in
    float32. Qd is on all points of the set.
    """
    block = np.zeros(r.size)
    block[inside] = 1.0
    d, Qd, steps = np.zeros(r.size), np.zeros(r.size), 0
    z, r = inverse(inverse.centred(r * block))
    first = float(np.abs(r).max())
    target_residual = max(target, accuracy * first)
    p, rho = -z, float(r @ z)
    while steps < CG_STEPS and rho > 0.0:
        steps += 1
        Qp = yield from product(p)
        curvature = float(p @ Qp)
        if curvature <= 0.0:
            break
        length = rho / curvature
        d += length * p
        Qd += length * Qp
        z, r = inverse(r + length * block * Qp)
        largest = float(np.abs(r).max())
        if not largest <= _DIVERGED * first:
            return np.zeros(r.size), np.zeros(r.size), steps  # float32 has no curvature left here: no step
        if largest <= target_residual:
            break
        before, rho = rho, float(r @ z)
        p = rho / before * p - z
        yield
    return d, Qd, steps


_T = TypeVar("_T")
#: First row, the row after the last one, and entries of a block; None if they are not stored.
_Block: TypeAlias = tuple[int, int, Tile | None]

#: Rows of a block, and blocks for each thread between two yields.
_ROWS, _TOGETHER = 128, 8
#: Ratio of the time to compute an entry to that of reading it.
_READ = 2
#: Entries are rounded if less than two thirds of the first points' triangle fits into the limit: less than this share of ``size``
#: in `KernelTriangle.extend`, which is 1.5 times that triangle.
_WORTH = 4 / 9


class KernelTriangle:
    """The lower triangle of Q_SS for the points ``members``, stored or computed by blocks of rows.

    Block k holds the rows of its points against all points up to its own last one, so new points are new blocks at the end.
    By symmetry one pass over the triangle serves a product. Half of |S|² entries are stored as far as ``limit`` reaches, as the
    Gram operator's panels give them: float32, or whole numbers of a byte or two that a table turns into values. Where float32
    does not fit, entries are rounded to two bytes if the operator can do that (`rounding`). Blocks beyond the limit are computed
    at every product: ten of those cost about as much as a virtual machine's first touch of the memory.

    Parameters
    ----------
    gram : GramOperator
        Q, the n × n matrix.
    limit : int
        Bytes that may be stored.

    Attributes
    ----------
    members : ndarray of int (m,)
        The points S, in the order of the rows.
    place : ndarray of int (n,)
        Place of each point in ``members``; -1 if it is not among them.
    """

    def __init__(self, gram: GramOperator, limit: int) -> None:
        self.gram = gram
        self.members: IntArray = np.zeros(0, dtype=np.int64)
        self.place = np.full(gram.n, -1, dtype=np.int64)
        self._panel = gram.panel(self.members)
        self._entries = self._panel.entries
        self._limit, self._rounded = int(limit), False
        self._store: Tile = np.empty(0, dtype=self._entries.kind)
        self._used = 0
        self._blocks: list[_Block] = []

    def extend(self, points: IntArray) -> Steps:
        """Add points; the first ones set the size of the store, 1.5 times the triangle of their own matrix."""
        begin = self.members.size
        self.members = np.concatenate([self.members, points])
        self.place[points] = np.arange(begin, self.members.size)
        if not self._blocks:
            size = 3 * self.members.size * (self.members.size + 2 * _ROWS) // 4
            self._rounded = 0 < self._limit < _WORTH * size * self._entries.kind.itemsize
            self._entries = self._panel_of(self.members).entries
            self._store = np.empty(min(self._limit // self._entries.kind.itemsize, size), dtype=self._entries.kind)
        self._panel = self._panel_of(self.members)
        empty = []
        for first in range(begin, self.members.size, _ROWS):
            last = min(first + _ROWS, self.members.size)
            block = self._allocate(last - first, last)
            self._blocks.append((first, last, block))
            if block is not None:
                empty.append((first, last, block))
        yield from self._fill(empty)

    @property
    def rounding(self) -> float:
        """Return the standard deviation of a stored entry's error; a product is wrong by it times the norm of its weights."""
        return self._entries.rounding

    def _panel_of(self, points: IntArray) -> Panel:
        panel = self.gram.rounded_panel(points) if self._rounded else None
        return self.gram.panel(points) if panel is None else panel

    def _fill(self, blocks: list[tuple[int, int, Tile]]) -> Steps:
        def rows(part: list[tuple[int, int, Tile]]) -> None:
            for first, last, block in part:
                self._panel.rows(self.members[first:last], block)

        yield from _shared(blocks, lambda part, _: rows(part), thread_count(sum(block.size for _, _, block in blocks)))

    def _allocate(self, rows: int, columns: int) -> Tile | None:
        begin, self._used = self._used, self._used + rows * columns
        if self._used > self._store.size:
            self._used = begin
            return None
        return self._store[begin : self._used].reshape(rows, columns)

    def compact(self, keep: BoolArray) -> Steps:
        """Drop the members that are not in the mask ``keep``; blocks that were not stored take the freed part of the store."""
        shift = np.cumsum(keep)
        blocks, self._blocks, self._used = self._blocks, [], 0
        self.place[self.members[~keep]] = -1
        self.members = self.members[keep]
        self.place[self.members] = np.arange(self.members.size)
        self._panel = self._panel_of(self.members)
        for first, last, block in blocks:
            rows, columns = np.flatnonzero(keep[first:last]), np.flatnonzero(keep[:last])
            if not rows.size:
                continue
            small = None
            if block is not None:  # moved down in place: nothing is written before it was read
                small = self._allocate(rows.size, columns.size)
                gather_rows(block, rows, columns, small)
                yield
            stop = int(shift[last - 1])
            self._blocks.append((stop - rows.size, stop, small))
        empty = []
        for number, (first, last, block) in enumerate(self._blocks):
            if block is None and (storage := self._allocate(last - first, last)) is not None:
                self._blocks[number] = (first, last, storage)
                empty.append((first, last, storage))
        yield from self._fill(empty)

    def product(self, weights: FloatArray) -> Steps:
        """Return the product of Q_SS with ``weights`` (m,); if few weights are not zero, only their columns are computed."""
        passed = self._computed() + self._used // _READ
        if np.count_nonzero(weights) * self.members.size < passed:
            return (yield from self.product_at(self.members, weights))
        return (yield from self._multiplied(weights, self._panel, self._blocks))

    def float32_product(self, weights: FloatArray) -> Steps:
        """Return the product of Q_SS with ``weights`` (m,) from float32 values, whatever is stored."""
        blocks: list[_Block] = [(first, last, None) for first, last, _ in self._blocks]
        return (yield from self._multiplied(weights, self.gram.panel(self.members), blocks))

    def _multiplied(self, weights: FloatArray, panel: Panel, blocks: list[_Block]) -> Steps:
        scale, entries = float(np.abs(weights).max()) or 1.0, panel.entries
        signed_weights = entries.signed_weights(self.members, (weights / scale).astype(np.float32))
        sums, table = np.zeros((thread_count(self.members.size**2 // 2), self.members.size)), entries.table

        def add(part: list[_Block], out: FloatArray) -> None:
            buffer = np.empty(WIDTH, dtype=np.float32)
            for first, last, block in part:
                if block is not None:
                    add_triangle_product(block, table, first, 0, signed_weights, out, buffer)
                    continue
                for begin, _, tile in panel.tiles(self.members[first:last], last):
                    add_triangle_product(tile, table, first, begin, signed_weights, out, buffer)

        yield from _shared(blocks, lambda part, k: add(part, sums[k]), len(sums))
        return entries.scaled_product(
            self.members, scale * sums.sum(axis=0), weights, scale * float(signed_weights.sum(dtype=np.float64))
        )

    def _computed(self) -> int:
        """Return the number of entries that every product computes."""
        return sum((last - first) * last for first, last, block in self._blocks if block is None)

    def product_at(self, points: IntArray, weights: FloatArray) -> Steps:
        """Return the product of Q[points, members] with ``weights`` (m,) in float32 for any points; no entry is stored."""
        used = np.flatnonzero(weights)
        scale = float(np.abs(weights).max()) or 1.0
        factors, panel = (weights[used] / scale).astype(np.float32), self.gram.panel(self.members[used])
        out = np.zeros(points.size)

        def multiply(part: list[int]) -> None:
            for start in part:
                chosen = points[start : start + _ROWS]
                out[start : start + chosen.size] = panel.product(chosen, factors)

        yield from _shared(
            list(range(0, points.size, _ROWS)), lambda part, _: multiply(part), thread_count(points.size * used.size)
        )
        return scale * out


def _shared(pieces: list[_T], work: Callable[[list[_T], int], object], count: int) -> Steps:
    """Run work(part, k) on ``count`` threads k for a few pieces at a time, whose cost grows from first to last."""
    for start in range(0, len(pieces), count * _TOGETHER):
        parts = [pieces[start + k : start + count * _TOGETHER : count] for k in range(count)]
        run_on_threads(functools.partial(_part, work, parts), count)
        yield


def _part(work: Callable[[list[_T], int], object], parts: list[list[_T]], k: int) -> None:
    work(parts[k], k)
