"""Scaled points in the order in which `powers` reads them: by strips of columns, a strip's features one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...arrays import FloatArray
from ..float32 import SingleArray

__all__ = ["STRIP", "Strips"]

#: Columns of a strip in float32 and in float64, of 128 bytes both; pieces of a computation begin at a multiple of the longer one.
STRIP = 32
_BYTES = 128


class Strips:
    """2^min(0, z_i'z_j - h_i - h_j) between any points i and fixed ones j.

    Parameters
    ----------
    Z : ndarray (n, p)
        The fixed points, in float32 or float64.
    half : ndarray (n,)
        h, of the same type.
    """

    def __init__(self, Z: FloatArray | SingleArray, half: FloatArray | SingleArray) -> None:
        self._width = _BYTES // Z.dtype.itemsize
        columns = _rows(Z, half, -(-half.size // self._width) * self._width)
        count, p = columns.shape[0] // self._width, columns.shape[1]
        self._strips = _aligned((count, p, self._width), Z.dtype)
        self._strips[:] = columns.reshape(count, self._width, p).transpose(0, 2, 1)

    def powers(self, Z: FloatArray | SingleArray, half: FloatArray | SingleArray, first: int, out: npt.NDArray[Any]) -> None:
        """Into ``out`` for the given points and so many fixed ones from ``first`` on, a multiple of `STRIP`."""
        from .powers import ROWS, powers

        left, room = _rows(Z, half, -(-half.size // ROWS) * ROWS), np.empty((ROWS, self._width), dtype=out.dtype)
        powers(left, self._strips, first // self._width, room, out)


def _rows(Z: FloatArray | SingleArray, half: FloatArray | SingleArray, count: int) -> npt.NDArray[Any]:
    """z and h in a row for every point, one feature at least, and rows of zeros up to the count."""
    n, p = Z.shape
    rows = np.zeros((count, max(p, 1) + 1), dtype=Z.dtype)
    rows[:n, :p], rows[:n, -1] = Z, half
    return rows


def _aligned(shape: tuple[int, ...], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Zeros that begin where a vector of 64 bytes does: one that lies in two lines of the cache takes two reads."""
    size = int(np.prod(shape)) * kind.itemsize
    raw = np.zeros(size + 64, dtype=np.uint8)
    begin = -raw.ctypes.data % 64
    return raw[begin : begin + size].view(kind).reshape(shape)
