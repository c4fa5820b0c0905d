"""Radial kernels on sparse points of zeros and ones: whole-number distances by bits, and a table of the kernel's values."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray, IntArray
from .blocks.count_tiles import CountPanel
from .blocks.entries import Entries
from .float32 import SingleArray
from .functions.kernel import RadialKernel
from .threads import cuts, share, workers

__all__ = ["BitDistances"]

#: Bits of a word, and the words that cost as much as one stored number of a point, or as its row without any (by trial).
_BITS, _WORDS = 32, 2


@dataclass(frozen=True, eq=False)
class BitDistances:
    """The points as columns of bits, and k for every number of features in which two may differ, in float64.

    Distances are exact, so that a value is as good as the kernel's function; float32 is rounded once.

    Parameters
    ----------
    words : ndarray of uint32 (words, n)
    table : ndarray (32·words + 1,)
    """

    words: npt.NDArray[np.uint32]
    table: FloatArray

    @staticmethod
    def suit(X: Any) -> bool:
        """Return whether all stored numbers are the same, and bits cost no more than they."""
        n, p = X.shape
        few = X.nnz > 0 and -(-p // _BITS) * n <= _WORDS * (X.nnz + n)
        return bool(few and X.has_canonical_format and (X.data == X.data[0]).all())

    @staticmethod
    @functools.cache
    def load() -> None:
        """Load (or compile, once for a machine) the loops of rows and products."""
        bits, one = BitDistances(np.zeros((1, 2), dtype=np.uint32), np.ones(_BITS + 1)), np.ones(2, dtype=np.float32)
        bits.single_rows(np.arange(2), one, 0.0, 1.0)
        bits.product(np.ones(2))

    @staticmethod
    @functools.cache
    def load_panel(kind: np.dtype[Any]) -> None:
        """The same for panels whose entries have this type."""
        one = np.ones(2, dtype=np.float32)
        bits = BitDistances(np.zeros((1, 2), dtype=np.uint32), np.ones(_BITS + 1))
        panel = bits.panel(np.arange(2), bits.entries(kind, one, 0.0, 1.0, np.zeros(2)))
        panel.rows(np.arange(2), np.empty((2, 2), dtype=kind))
        panel.product(np.arange(2), one)

    @classmethod
    def of(cls, kernel: RadialKernel, X: Any) -> BitDistances | None:
        """Return the distances of points with one stored number; None for others, and where bits of many features cost more."""
        if not cls.suit(X):
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
        """scale·s_i s_j (k(x_i, x_j) + offset) for the given i and every j in float32, len(indices) × n."""
        block = np.empty((indices.size, self.words.shape[1]), dtype=np.float32) if out is None else out
        return self._fill(block, self.words, self._rows(indices), signs, signs[indices], offset, scale)

    def single_block(self, rows: IntArray, columns: IntArray, signs: SingleArray, offset: float, scale: float) -> SingleArray:
        """scale·s_i s_j (k(x_i, x_j) + offset) for the given i and j in float32."""
        block, words = np.empty((rows.size, columns.size), dtype=np.float32), np.take(self.words, columns, axis=1)
        return self._fill(block, words, self._rows(rows), signs[columns], signs[rows], offset, scale)

    @staticmethod
    def kind(X: Any) -> np.dtype[Any]:
        """The least type that holds every distance: twice the largest number of ones, or all features."""
        return np.min_scalar_type(min(X.shape[1], 2 * int(np.diff(X.indptr).max(initial=0))))

    def entries(self, kind: np.dtype[Any], signs: SingleArray, offset: float, scale: float, loading: FloatArray) -> Entries:
        """scale·s_i s_j (k(x_i, x_j) + offset) + δ_ij·loading_i, distances stored in that type."""
        return Entries(kind, (scale * (self.table + offset)).astype(np.float32), signs, loading)

    def panel(self, points: IntArray, entries: Entries) -> CountPanel:
        """Q between these points and any others."""
        return CountPanel(self.words, entries, points)

    def _rows(self, indices: IntArray) -> npt.NDArray[np.uint32]:
        return np.ascontiguousarray(np.take(self.words, indices, axis=1).T)

    def _fill(
        self, block: SingleArray, words: Any, chosen: Any, signs: SingleArray, own: SingleArray, offset: float, scale: float
    ) -> SingleArray:
        from .blocks.bit_loops import table_rows

        table = (scale * (self.table + offset)).astype(np.float32)
        parts = cuts(block.shape[1], workers(block.size))
        share(lambda k: table_rows(words, chosen, table, signs, own, parts[k].start, parts[k].stop, block), len(parts))
        return block

    def product(self, weights: FloatArray) -> FloatArray:
        """Σ_i w_i k(x_i, x_j) for every j, over the non-zero weights, in float64."""
        from .blocks.bit_loops import accumulate_table

        support, result = np.flatnonzero(weights), np.zeros(weights.size)
        parts, chosen, given = cuts(weights.size, workers(support.size * weights.size)), self._rows(support), weights[support]
        share(
            lambda k: accumulate_table(self.words, chosen, self.table, given, parts[k].start, parts[k].stop, result), len(parts)
        )
        return result
