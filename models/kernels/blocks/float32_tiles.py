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
from .strips import Strips

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
        entries, total = self.entries, np.zeros(indices.size)
        given = entries.given(self.points, weights)
        for first, last, tile in self.tiles(indices, self.points.size):
            total += tile @ given[first:last]
        if entries.signs is None:
            return total
        own = np.zeros(entries.signs.size, dtype=np.float32)
        own[self.points] = weights
        return entries.finished(indices, total, own[indices], float(given.sum(dtype=np.float64)))


class BlockPanel(Panel):
    """Panel of any Q: one tile, by a function that gives Q[rows, columns]."""

    def __init__(self, block: Callable[[IntArray, IntArray], SingleArray], points: IntArray) -> None:
        super().__init__(points)
        self._block = block

    def tiles(self, indices: IntArray, stop: int) -> Iterator[tuple[int, int, SingleArray]]:
        """The whole block."""
        if stop:
            yield 0, stop, self._block(indices, self.points[:stop])


class ExponentPanel(Panel):
    """Panel of Q_ij = scale·s_i s_j (2^(z_i'z_j - h_i - h_j) + offset) + δ_ij·loading_i, the RBF kernel on dense points.

    What is stored, and what tiles hold, are the powers alone: float32 would lose digits of them in a sum with the offset.

    Parameters
    ----------
    Z, half : ndarray of float32
        z of all points as rows, and h.
    entries : Entries
        Signs, offset, scale and loading.
    points : ndarray of int
    """

    def __init__(self, Z: SingleArray, half: SingleArray, entries: Entries, points: IntArray) -> None:
        super().__init__(points)
        self.entries = entries
        self._Z, self._half, self._strips = Z, half, Strips(Z[points], half[points])

    def tiles(self, indices: IntArray, stop: int) -> Iterator[tuple[int, int, SingleArray]]:
        """Powers of two."""
        left, half = self._Z[indices], self._half[indices]
        store = np.empty(indices.size * min(stop, _WIDTH), dtype=np.float32)
        for first in range(0, stop, _WIDTH):
            last = min(first + _WIDTH, stop)
            tile = store[: indices.size * (last - first)].reshape(indices.size, last - first)
            self._strips.powers(left, half, first, tile)
            yield first, last, tile

    def rows(self, indices: IntArray, out: Tile) -> None:
        """Powers between indices and points[:m], written in place: a tile's copy would take half as long as its values."""
        self._strips.powers(self._Z[indices], self._half[indices], 0, out)
