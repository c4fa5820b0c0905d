"""Panels of a kernel matrix: the columns of some fixed points, for any rows, with entries of one, two or four bytes.

The matrix is Q_ij = scale·s_i s_j (k(x_i, x_j) + offset) + δ_ij·loading_i with a kernel k, signs s_i (class labels ±1, or ones),
numbers scale and offset, and addends loading_i of the diagonal (δ_ij = 1 for i = j, else 0). Solvers of kernel models read panels
for their steps through `GramOperator.panel`; certificates do not. Entries are computed in tiles, blocks that stay in a core's
cache. `BlockPanel` serves any matrix, and three panels encode the values of certain kernels:

- `ExponentPanel`: values of the RBF kernel exp(-γ||x_i - x_j||²) in float32, as powers 2^(z_i'z_j - h_i - h_j) of scaled points
  z_i = √(2γ log₂e) (x_i - mean), h_i = ½||z_i||².
- `CountPanel`: for points of zeros and one other number, the numbers of differing features, with a table of the kernel's values.
  Counts take a quarter or half of the memory, and a product with them takes no longer, since the table stays in the first-level
  cache.
- `RoundedPanel`: kernel values between 0 and 1 as whole numbers of two bytes. Rounding changes a product by about
  step/√12·||weights||, step = scale/65535 (`EntryEncoding.rounding`); a solver that needs more digits reads float32 values.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray, IntArray, SingleArray
from .kernels import RadialKernel
from .threads import run_on_threads, split_range, thread_count

#: A block of entries as they are stored.
Tile: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class EntryEncoding:
    """The encoding of stored entries e of Q: Q_ij = s_i s_j (step·t(e_ij) + shift) + δ_ij·loading_i, t(e) = table[e].

    Without a table t(e) = e; without signs Q_ij = e_ij.

    Parameters
    ----------
    kind : dtype
        Type of the stored entries e.
    table : ndarray of float32, optional
        t(e) by e.
    signs, loading : ndarray (n,), optional
        s_i and the addend loading_i of the diagonal, for all points; None where Q_ij = e_ij.
    step, shift : float
        Factor and addend of t(e).
    """

    kind: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float32))
    table: SingleArray | None = None
    signs: SingleArray | None = None
    loading: FloatArray | None = None
    step: float = 1.0
    shift: float = 0.0

    @property
    def rounding(self) -> float:
        """Return the standard deviation step/√12 of an entry's rounding to a whole number; 0 where entries are not rounded."""
        return self.step / math.sqrt(12.0) if self.table is None and self.kind.kind == "u" else 0.0

    def signed_weights(self, points: IntArray, weights: SingleArray) -> SingleArray:
        """Return the weights of these points times their signs: the factors of t(e) in a product with Q."""
        return weights if self.signs is None else weights * self.signs[points]

    def scaled_product(self, points: IntArray, sums: FloatArray, weights: FloatArray | SingleArray, total: float) -> FloatArray:
        """Return Σ_j Q_ij w_j for the points i, from ``sums`` Σ_j t(e_ij) s_j w_j, ``weights`` w_i, and ``total`` Σ_j s_j w_j."""
        if self.signs is None or self.loading is None:
            return sums
        return (self.step * sums + self.shift * total) * self.signs[points] + self.loading[points] * weights


#: Points of a strip (`PointStrips`) in float32; a strip in float64 has half as many. Blocks begin at multiples of this number.
STRIP = 32
#: Bytes of a row of a strip.
_BYTES = 128


class PointStrips:
    """Fixed points in strips, for blocks 2^min(0, z_i'z_j - h_i - h_j) of fixed points j and any points i.

    A strip holds some consecutive points, stored feature by feature so that a vector register takes one feature of several
    points.

    Parameters
    ----------
    Z : ndarray (n, p)
        The fixed points z_j as rows, in float32 or float64.
    half : ndarray (n,)
        h_j, of the same type.
    """

    def __init__(self, Z: FloatArray | SingleArray, half: FloatArray | SingleArray) -> None:
        self._width = _BYTES // Z.dtype.itemsize
        columns = _rows(Z, half, -(-half.size // self._width) * self._width)
        count, p = columns.shape[0] // self._width, columns.shape[1]
        self._strips = _aligned((count, p, self._width), Z.dtype)
        self._strips[:] = columns.reshape(count, self._width, p).transpose(0, 2, 1)

    def write_powers(
        self, Z: FloatArray | SingleArray, half: FloatArray | SingleArray, first: int, out: npt.NDArray[Any]
    ) -> None:
        """Write into ``out`` the block of points with rows z_i of ``Z`` and h_i of ``half``, and of the fixed points from number
        ``first`` on, a multiple of `STRIP`.
        """
        from .rbf_tiles import TILE_ROWS, write_rbf_tiles

        left, buffer = _rows(Z, half, -(-half.size // TILE_ROWS) * TILE_ROWS), np.empty((TILE_ROWS, self._width), dtype=out.dtype)
        write_rbf_tiles(left, self._strips, first // self._width, buffer, out)


def _rows(Z: FloatArray | SingleArray, half: FloatArray | SingleArray, count: int) -> npt.NDArray[Any]:
    """Return z and h as one row for each point, with one feature at least, and rows of zeros up to ``count``."""
    n, p = Z.shape
    rows = np.zeros((count, max(p, 1) + 1), dtype=Z.dtype)
    rows[:n, :p], rows[:n, -1] = Z, half
    return rows


def _aligned(shape: tuple[int, ...], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return zeros that begin at a multiple of 64 bytes: a vector that lies in two lines of the cache takes two reads."""
    size = int(np.prod(shape)) * kind.itemsize
    raw = np.zeros(size + 64, dtype=np.uint8)
    begin = -raw.ctypes.data % 64
    return raw[begin : begin + size].view(kind).reshape(shape)


#: Columns of a tile: with 128 rows half a megabyte.
_WIDTH = 1024


class Panel(ABC):
    """The abstract panel: the columns of Q that belong to some fixed points, for any rows, as encoded entries (`EntryEncoding`).

    Attributes
    ----------
    points : ndarray of int
        The fixed points; no point may occur twice.
    entries : EntryEncoding
        How entries of tiles and rows encode those of Q.
    """

    entries: EntryEncoding = EntryEncoding()

    def __init__(self, points: IntArray) -> None:
        self.points = points

    @abstractmethod
    def tiles(self, indices: IntArray, stop: int) -> Iterator[tuple[int, int, Tile]]:
        """Yield first, last and the entries e of Q[indices, points[first:last]] until ``stop``; each tile overwrites the last."""

    def rows(self, indices: IntArray, out: Tile) -> None:
        """Write the entries e of Q[indices, points[:m]] into ``out``, which has m columns."""
        for first, last, tile in self.tiles(indices, out.shape[1]):
            out[:, first:last] = tile

    def product(self, indices: IntArray, weights: SingleArray) -> FloatArray:
        """Return Q[indices, points] weights."""
        entries = self.entries
        signed_weights = entries.signed_weights(self.points, weights)
        sums = self._sums(indices, signed_weights)
        if entries.signs is None:
            return sums
        scattered = np.zeros(entries.signs.size, dtype=np.float32)
        scattered[self.points] = weights
        return entries.scaled_product(indices, sums, scattered[indices], float(signed_weights.sum(dtype=np.float64)))

    def _sums(self, indices: IntArray, weights: SingleArray) -> FloatArray:
        """Return Σ_j t(e_ij)·weights_j for the given rows i."""
        sums = np.zeros(indices.size)
        for first, last, tile in self.tiles(indices, self.points.size):
            sums += tile @ weights[first:last]
        return sums


class BlockPanel(Panel):
    """The panel of any Q: one tile, computed by the function ``block`` of rows and columns that returns Q[rows, columns]."""

    def __init__(self, block: Callable[[IntArray, IntArray], SingleArray], points: IntArray) -> None:
        super().__init__(points)
        self._block = block

    def tiles(self, indices: IntArray, stop: int) -> Iterator[tuple[int, int, SingleArray]]:
        """Yield the whole block."""
        if stop:
            yield 0, stop, self._block(indices, self.points[:stop])


class ExponentPanel(Panel):
    """The panel of Q_ij = scale·s_i s_j (2^(z_i'z_j - h_i - h_j) + offset) + δ_ij·loading_i, the RBF kernel on dense points.

    Entries are the powers alone: a sum with the offset would lose digits of them in float32.

    Parameters
    ----------
    Z, half : ndarray of float32
        z of all points as rows, and h.
    entries : EntryEncoding
        Signs, loading, the scale as ``step`` and scale·offset as ``shift``.
    points : ndarray of int
        The fixed points.
    """

    def __init__(self, Z: SingleArray, half: SingleArray, entries: EntryEncoding, points: IntArray) -> None:
        super().__init__(points)
        self.entries = entries
        self._Z, self._half, self._strips = Z, half, PointStrips(Z[points], half[points])

    def tiles(self, indices: IntArray, stop: int) -> Iterator[tuple[int, int, SingleArray]]:
        """Yield tiles of powers of two."""
        left, half = self._Z[indices], self._half[indices]
        store = np.empty(indices.size * min(stop, _WIDTH), dtype=np.float32)
        for first in range(0, stop, _WIDTH):
            last = min(first + _WIDTH, stop)
            tile = store[: indices.size * (last - first)].reshape(indices.size, last - first)
            self._strips.write_powers(left, half, first, tile)
            yield first, last, tile

    def rows(self, indices: IntArray, out: Tile) -> None:
        """Write the powers of indices and points[:m] into ``out`` directly: copying a tile takes half as long as computing it."""
        self._strips.write_powers(self._Z[indices], self._half[indices], 0, out)


#: Columns of a tile of counts, which take a byte or two each.
_COUNT_TILES_WIDTH = 4096


def _words_of(words: npt.NDArray[np.uint32], points: IntArray) -> npt.NDArray[np.uint32]:
    """Return the bits of some points, a row of words for each."""
    return np.ascontiguousarray(np.take(words, points, axis=1).T)


class CountPanel(Panel):
    """The panel of Q_ij = s_i s_j table[d_ij] + δ_ij·loading_i, d_ij the number of features in which two points differ.

    Parameters
    ----------
    words : ndarray of uint32 (words, n)
        All points as columns of bits.
    entries : EntryEncoding
        The type of d, table, signs and loading.
    points : ndarray of int
        The fixed points.
    """

    def __init__(self, words: npt.NDArray[np.uint32], entries: EntryEncoding, points: IntArray) -> None:
        super().__init__(points)
        self.entries = entries
        self._words, self._across = words, np.take(words, points, axis=1)

    def tiles(self, indices: IntArray, stop: int) -> Iterator[tuple[int, int, Tile]]:
        """Yield tiles of counts of differing bits."""
        from .loops import hamming_distances

        chosen = _words_of(self._words, indices)
        store = np.empty(indices.size * min(stop, _COUNT_TILES_WIDTH), dtype=self.entries.kind)
        for first in range(0, stop, _COUNT_TILES_WIDTH):
            last = min(first + _COUNT_TILES_WIDTH, stop)
            tile = store[: indices.size * (last - first)].reshape(indices.size, last - first)
            hamming_distances(self._across, chosen, first, tile)
            yield first, last, tile

    def rows(self, indices: IntArray, out: Tile) -> None:
        """Write the distances d between indices and points[:m]."""
        from .loops import hamming_distances

        hamming_distances(self._across, _words_of(self._words, indices), 0, out)

    def _sums(self, indices: IntArray, weights: SingleArray) -> FloatArray:
        """Return Σ_j table[d_ij]·weights_j, computed without storing tiles."""
        from .loops import add_kernel_products

        sums = np.zeros(indices.size)
        add_kernel_products(self._across, _words_of(self._words, indices), self.entries.table, weights, sums)
        return sums


#: Type of the entries of a `RoundedPanel`.
ROUNDED = np.dtype(np.uint16)
#: The stored entry of the kernel value 1.
_LARGEST = 65535.0


class RoundedPanel(Panel):
    """The panel of Q_ij = s_i s_j scale·(k_ij + offset) + δ_ij·loading_i, k from 0 to 1 rounded to two bytes.

    Parameters
    ----------
    values : Panel
        The panel of k in float32; products by tiles use it without rounding.
    signs : ndarray of float32 (n,)
        s of all points.
    offset, scale : float
        Offset and scale of Q.
    loading : ndarray (n,)
        Addends of the diagonal of Q, for all points.
    """

    def __init__(self, values: Panel, signs: SingleArray, offset: float, scale: float, loading: FloatArray) -> None:
        super().__init__(values.points)
        self.entries = EntryEncoding(ROUNDED, None, signs, loading, scale / _LARGEST, scale * offset)
        self._values = values

    def tiles(self, indices: IntArray, stop: int) -> Iterator[tuple[int, int, Tile]]:
        """Yield tiles of 65535·k in float32."""
        for first, last, tile in self._values.tiles(indices, stop):
            tile *= tile.dtype.type(_LARGEST)
            yield first, last, tile

    def rows(self, indices: IntArray, out: Tile) -> None:
        """Write 65535·k between indices and points[:m], rounded."""
        for first, last, tile in self.tiles(indices, out.shape[1]):
            tile += tile.dtype.type(0.5)
            np.copyto(out[:, first:last], tile, casting="unsafe")


#: Bits of a word, and the most words for each point and each of its stored numbers with which bits save time (by trial).
_BITS, _WORDS = 32, 2


@dataclass(frozen=True, eq=False)
class BitDistances:
    """A radial kernel on points whose non-zero entries are all one number c, by a table over the number of differing features.

    The squared distance of points that differ in d features is c²d. It is exact up to the rounding of c², so that a value is as
    accurate as the kernel's function; float32 is rounded once.

    Parameters
    ----------
    words : ndarray of uint32 (words, n)
        The features of each point as the bits of a column.
    table : ndarray (32·words + 1,)
        The kernel's value by the number of differing features.
    """

    words: npt.NDArray[np.uint32]
    table: FloatArray

    @staticmethod
    def suits(X: Any) -> bool:
        """Return whether X can be stored as bits: all stored numbers are equal and not too few for the number of features."""
        n, p = X.shape
        fits = X.nnz > 0 and -(-p // _BITS) * n <= _WORDS * (X.nnz + n)
        return bool(fits and X.has_canonical_format and (X.data == X.data[0]).all())

    @staticmethod
    @functools.cache
    def load() -> None:
        """Load the compiled loops of rows and products; they are compiled once for a machine."""
        bits, one = BitDistances(np.zeros((1, 2), dtype=np.uint32), np.ones(_BITS + 1)), np.ones(2, dtype=np.float32)
        bits.single_rows(np.arange(2), one, 0.0, 1.0)
        bits.product(np.ones(2))

    @staticmethod
    @functools.cache
    def load_panel(kind: np.dtype[Any]) -> None:
        """Load the compiled loops of panels whose entries have this type."""
        one = np.ones(2, dtype=np.float32)
        bits = BitDistances(np.zeros((1, 2), dtype=np.uint32), np.ones(_BITS + 1))
        panel = bits.panel(np.arange(2), bits.entries(kind, one, 0.0, 1.0, np.zeros(2)))
        panel.rows(np.arange(2), np.empty((2, 2), dtype=kind))
        panel.product(np.arange(2), one)

    @classmethod
    def of(cls, kernel: RadialKernel, X: Any) -> BitDistances | None:
        """Return the kernel on X by bits if X can be stored so (`suits`), else None."""
        if not cls.suits(X):
            return None
        n, p = X.shape
        size = -(-p // _BITS)
        features, points = X.indices.astype(np.int64), np.repeat(np.arange(n), np.diff(X.indptr))
        # sums of different powers of two below 2^32 are exact, and set each bit once
        words = np.bincount((features // _BITS) * n + points, np.exp2(features % _BITS), minlength=size * n)
        differing = np.arange(size * _BITS + 1, dtype=np.float64)
        table = kernel.of_distances(float(X.data[0]) ** 2 * differing)
        return cls(words.astype(np.uint32).reshape(size, n), table)

    def single_rows(
        self, indices: IntArray, signs: SingleArray, offset: float, scale: float, out: SingleArray | None = None
    ) -> SingleArray:
        """Return scale·s_i s_j (k(x_i, x_j) + offset), len(indices) × n in float32, s_i the ``signs``; in ``out`` if given."""
        block = np.empty((indices.size, self.words.shape[1]), dtype=np.float32) if out is None else out
        return self._fill(block, self.words, _words_of(self.words, indices), signs, signs[indices], offset, scale)

    def single_block(self, rows: IntArray, columns: IntArray, signs: SingleArray, offset: float, scale: float) -> SingleArray:
        """Return scale·s_i s_j (k(x_i, x_j) + offset) for the given i and j in float32."""
        block, words = np.empty((rows.size, columns.size), dtype=np.float32), np.take(self.words, columns, axis=1)
        return self._fill(block, words, _words_of(self.words, rows), signs[columns], signs[rows], offset, scale)

    @staticmethod
    def distance_type(X: Any) -> np.dtype[Any]:
        """Return the smallest type that holds every distance of rows of X: at most twice the longest row's entries, at most p."""
        return np.min_scalar_type(min(X.shape[1], 2 * int(np.diff(X.indptr).max(initial=0))))

    def entries(self, kind: np.dtype[Any], signs: SingleArray, offset: float, scale: float, loading: FloatArray) -> EntryEncoding:
        """Return the encoding of scale·s_i s_j (k(x_i, x_j) + offset) + δ_ij·loading_i with distances stored as type ``kind``."""
        return EntryEncoding(kind, (scale * (self.table + offset)).astype(np.float32), signs, loading)

    def panel(self, points: IntArray, entries: EntryEncoding) -> CountPanel:
        """Return the panel of these points with the encoding of `entries`."""
        return CountPanel(self.words, entries, points)

    def _fill(
        self,
        block: SingleArray,
        words: Any,
        chosen: Any,
        signs: SingleArray,
        row_factors: SingleArray,
        offset: float,
        scale: float,
    ) -> SingleArray:
        from .loops import signed_kernel_rows

        table = (scale * (self.table + offset)).astype(np.float32)
        parts = split_range(block.shape[1], thread_count(block.size))
        run_on_threads(
            lambda k: signed_kernel_rows(words, chosen, table, signs, row_factors, parts[k].start, parts[k].stop, block),
            len(parts),
        )
        return block

    def product(self, weights: FloatArray) -> FloatArray:
        """Return Σ_i w_i k(x_i, x_j) for every j, over the non-zero weights, in float64."""
        from .loops import add_weighted_rows

        support, result = np.flatnonzero(weights), np.zeros(weights.size)
        parts, chosen, signed_weights = (
            split_range(weights.size, thread_count(support.size * weights.size)),
            _words_of(self.words, support),
            weights[support],
        )
        run_on_threads(
            lambda k: add_weighted_rows(self.words, chosen, self.table, signed_weights, parts[k].start, parts[k].stop, result),
            len(parts),
        )
        return result
