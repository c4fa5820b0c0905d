"""Kernel values in float32 between some fixed points and any others: for steps only, never for certificates.

The fixed points are gathered once, and values come in tiles that stay in a core's own cache: for 60 features and 128 rows
at once that takes less than half of the time of whole rows, each with its own gathering.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import numpy as np

from ...arrays import FloatArray, IntArray
from ..float32 import SingleArray
from .entries import Entries, Tile

__all__ = ["BlockPanel", "ExponentPanel", "Panel"]

#: Columns of a tile: with 128 rows half a megabyte.
_WIDTH = 1024


class Panel(ABC):
    """Q[:, points] in float32.

    Attributes
    ----------
    points : ndarray of int
        The columns; none may occur twice.
    entries : Entries
        What tiles and rows hold: values, or whole numbers that a table turns into them.
    """

    entries: Entries = Entries()

    def __init__(self, points: IntArray) -> None:
        self.points = points

    @abstractmethod
    def tiles(self, indices: IntArray, stop: int) -> Iterator[tuple[int, int, Tile]]:
        """first, last and Q[indices, points[first:last]] until ``stop`` is reached; a tile lasts until the next one."""

    def rows(self, indices: IntArray, out: Tile) -> None:
        """Q[indices, points[:m]] into ``out``, which has m columns."""
        for first, last, tile in self.tiles(indices, out.shape[1]):
            out[:, first:last] = tile

    def product(self, indices: IntArray, weights: SingleArray) -> FloatArray:
        """Q[indices, points] weights."""
        total = np.zeros(indices.size)
        for first, last, tile in self.tiles(indices, self.points.size):
            total += tile @ weights[first:last]
        return total


class BlockPanel(Panel):
    """Of any Q: one tile, by a function that gives Q[rows, columns]."""

    def __init__(self, block: Callable[[IntArray, IntArray], SingleArray], points: IntArray) -> None:
        super().__init__(points)
        self._block = block

    def tiles(self, indices: IntArray, stop: int) -> Iterator[tuple[int, int, SingleArray]]:
        """The whole block."""
        if stop:
            yield 0, stop, self._block(indices, self.points[:stop])


class ExponentPanel(Panel):
    """Of Q_ij = scale·s_i s_j (2^(z_i'z_j - h_i - h_j) + offset) + δ_ij·loading_i, the RBF kernel on dense points.

    Parameters
    ----------
    Z, half, signs : ndarray of float32
        z of all points as rows, h and s.
    offset, scale : float
    loading : ndarray (n,)
    points : ndarray of int
    """

    def __init__(
        self,
        Z: SingleArray,
        half: SingleArray,
        signs: SingleArray,
        offset: float,
        scale: float,
        loading: FloatArray,
        points: IntArray,
    ) -> None:
        super().__init__(points)
        self._Z, self._half, self._signs, self._loading = Z, half, signs, loading
        self._offset, self._scale = np.float32(offset), np.float32(scale)
        self._across, self._halves, self._own = np.ascontiguousarray(Z[points].T), half[points], signs[points]
        self._place = np.full(half.size, -1, dtype=np.int64)
        self._place[points] = np.arange(points.size)

    def tiles(self, indices: IntArray, stop: int) -> Iterator[tuple[int, int, SingleArray]]:
        """A product with the points, then the exponential in place."""
        from .rbf_loops import finish_single

        left, half, signs, at = self._Z[indices], self._half[indices], self._signs[indices], self._place[indices]
        loading = self._loading[indices].astype(np.float32)
        store = np.empty(indices.size * min(stop, _WIDTH), dtype=np.float32)
        for first in range(0, stop, _WIDTH):
            last = min(first + _WIDTH, stop)
            tile = store[: indices.size * (last - first)].reshape(indices.size, last - first)
            np.matmul(left, self._across[:, first:last], out=tile)
            finish_single(tile, self._halves[first:last], half, self._own[first:last], signs, self._offset, self._scale)
            here = np.flatnonzero((at >= first) & (at < last))
            tile[here, at[here] - first] += loading[here]
            yield first, last, tile
