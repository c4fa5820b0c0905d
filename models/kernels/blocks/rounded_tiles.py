"""Kernel values between 0 and 1 as whole numbers of two bytes: where float32 values would not fit, for steps only.

A product of rounded values is off by step/√12·||weights|| (`Entries.rounding`), so whoever multiplies with them looks at float32
values again where that is too much.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...arrays import FloatArray, IntArray
from ..float32 import SingleArray
from .entries import Entries, Tile
from .float32_tiles import Panel

__all__ = ["LARGEST", "ROUNDED", "RoundedPanel"]

ROUNDED = np.dtype(np.uint16)
#: What a kernel value of one is stored as.
LARGEST = 65535.0


class RoundedPanel(Panel):
    """Panel of Q_ij = s_i s_j scale·(k_ij + offset) + δ_ij·loading_i, k from 0 to 1.

    Parameters
    ----------
    values : Panel
        Of k; what is multiplied at once is not rounded.
    signs : ndarray of float32
    offset, scale : float
    loading : ndarray (n,)
    """

    def __init__(self, values: Panel, signs: SingleArray, offset: float, scale: float, loading: FloatArray) -> None:
        super().__init__(values.points)
        self.entries = Entries(ROUNDED, None, signs, loading, scale / LARGEST, scale * offset)
        self._values = values

    def tiles(self, indices: IntArray, stop: int) -> Iterator[tuple[int, int, Tile]]:
        """65535·k in float32."""
        for first, last, tile in self._values.tiles(indices, stop):
            tile *= tile.dtype.type(LARGEST)
            yield first, last, tile

    def rows(self, indices: IntArray, out: Tile) -> None:
        """65535·k between indices and points[:m], rounded."""
        for first, last, tile in self.tiles(indices, out.shape[1]):
            tile += tile.dtype.type(0.5)
            np.copyto(out[:, first:last], tile, casting="unsafe")
