"""A Gram operator among further variables that its quadratic does not touch."""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray, IntArray
from .gram import GramOperator

__all__ = ["PaddedGram"]


class PaddedGram(GramOperator):
    """The matrix [[Q, 0], [0, 0]], with ``extra`` rows and columns of zeros."""

    def __init__(self, inner: GramOperator, extra: int) -> None:
        self._inner = inner
        self._extra = extra

    @property
    def n(self) -> int:
        """Order of the matrix."""
        return self._inner.n + self._extra

    @property
    def diagonal(self) -> FloatArray:
        """Q_ii, then zeros."""
        return self._padded(self._inner.diagonal)

    @property
    def loading(self) -> FloatArray:
        """The loading of Q."""
        return self._padded(self._inner.loading)

    @property
    def semidefinite(self) -> str:
        """Why Q is."""
        return self._inner.semidefinite

    @property
    def diagonal_error(self) -> FloatArray:
        """The error of Q's diagonal."""
        return self._padded(self._inner.diagonal_error)

    def product_error(self, a: FloatArray) -> FloatArray:
        """Return the error of products with Q."""
        return self._padded(self._inner.product_error(a[: self._inner.n]))

    def columns(self, indices: IntArray) -> FloatArray:
        """Columns of Q, and zeros."""
        columns = np.zeros((self.n, len(indices)))
        inside = np.flatnonzero(np.asarray(indices) < self._inner.n)
        columns[: self._inner.n, inside] = self._inner.columns(np.asarray(indices)[inside])
        return columns

    def product(self, a: FloatArray) -> FloatArray:
        """Q a, and zeros."""
        return self._padded(self._inner.product(a[: self._inner.n]))

    def _padded(self, values: FloatArray) -> FloatArray:
        return np.concatenate([values, np.zeros(self._extra)])
