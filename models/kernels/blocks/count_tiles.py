"""Distances between points of zeros and ones as the bytes they fit into, with the kernel's values in a table: for steps only.

They are a quarter of float32 values, and a product that reads them takes no longer: the memory gives less, and the table stays in
the first-level cache.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ...arrays import FloatArray, IntArray
from ..float32 import SingleArray
from .entries import Entries, Tile
from .float32_tiles import Panel

__all__ = ["CountPanel"]

#: Columns of a tile.
_WIDTH = 4096


class CountPanel(Panel):
    """Panel of Q_ij = s_i s_j table[d_ij] + δ_ij·loading_i, d the number of features in which two points differ.

    Parameters
    ----------
    words : ndarray of uint32 (words, n)
        All points as columns of bits.
    entries : Entries
        The type of d, table, signs and loading.
    points : ndarray of int
    """

    def __init__(self, words: npt.NDArray[np.uint32], entries: Entries, points: IntArray) -> None:
        super().__init__(points)
        self.entries = entries
        self._words, self._across = words, np.take(words, points, axis=1)

    def _chosen(self, indices: IntArray) -> npt.NDArray[np.uint32]:
        return np.ascontiguousarray(np.take(self._words, indices, axis=1).T)

    def tiles(self, indices: IntArray, stop: int) -> Iterator[tuple[int, int, Tile]]:
        """Counts of bits."""
        from .bit_loops import count_rows

        chosen, store = self._chosen(indices), np.empty(indices.size * min(stop, _WIDTH), dtype=self.entries.kind)
        for first in range(0, stop, _WIDTH):
            last = min(first + _WIDTH, stop)
            tile = store[: indices.size * (last - first)].reshape(indices.size, last - first)
            count_rows(self._across, chosen, first, tile)
            yield first, last, tile

    def rows(self, indices: IntArray, out: Tile) -> None:
        """d between indices and points[:m]."""
        from .bit_loops import count_rows

        count_rows(self._across, self._chosen(indices), 0, out)

    def product(self, indices: IntArray, weights: SingleArray) -> FloatArray:
        """Q[indices, points] weights, without any tile."""
        from .bit_loops import table_products

        entries, sums, given = self.entries, np.zeros(indices.size), self.entries.given(self.points, weights)
        table_products(self._across, self._chosen(indices), entries.table, given, sums)
        own = np.zeros(self._words.shape[1], dtype=np.float32)
        own[self.points] = weights
        return entries.finished(indices, sums, own[indices], float(given.sum()))
