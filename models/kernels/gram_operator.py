"""Gram operators: kernel matrices that hand-written algorithms read by column, diagonal and product, never whole."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import FloatArray, IntArray, Points
from ..rounding import gamma
from .blocks.float32_tiles import BlockPanel, Panel
from .float32 import SingleArray
from .series import Series

__all__ = ["BLOCK", "GramOperator", "MatrixGram", "in_pieces", "pieces", "weighted_sum"]

#: Columns of the kernel matrix computed at once in a product: 64 columns of 1e5 points are 51 MB.
BLOCK = 64


def pieces(n: int) -> tuple[int, int]:
    """Length and number of the pieces that `runs_in_pieces` sums n terms in."""
    length = max(BLOCK, math.isqrt(n))
    return length, -(-n // length)


def in_pieces(A: Points, x: FloatArray) -> FloatArray:
    """A x; dense, piece by piece of x, so that a term goes through √n roundings in place of n."""
    length, count = pieces(x.size)
    if count == 1 or sp.issparse(A):
        return np.asarray(A @ x)
    if A.shape[0] > BLOCK:
        result = A[:, :length] @ x[:length]
        for k in range(1, count):
            result += A[:, k * length : (k + 1) * length] @ x[k * length : (k + 1) * length]
        return np.asarray(result)
    whole = x.size // length  # of few rows all pieces at once: a call for each takes longer than what it multiplies
    stacked = A[:, : whole * length].reshape(A.shape[0], whole, length).transpose(1, 0, 2)
    sums = (stacked @ x[: whole * length].reshape(whole, length, 1))[:, :, 0]
    return np.asarray(sums.sum(axis=0) + A[:, whole * length :] @ x[whole * length :])


def weighted_sum(X: Points, weights: FloatArray) -> FloatArray:
    """X'·weights; where most points have no weight, they are not read."""
    support = np.flatnonzero(weights)
    few = not sp.issparse(X) and 4 * support.size < weights.size
    return in_pieces(X[support].T, weights[support]) if few else in_pieces(X.T, weights)


class GramOperator(ABC):
    """A symmetric positive semidefinite n × n matrix Q known by its columns."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Order of the matrix."""

    @property
    @abstractmethod
    def diagonal(self) -> FloatArray:
        """Q_ii."""

    @property
    def loading(self) -> FloatArray:
        """A known part of the diagonal without which Q is still positive semidefinite: a ridge; zero where none is known."""
        return np.zeros(self.n)

    @property
    def semidefinite(self) -> str:
        """Why Q is positive semidefinite, by construction; empty where that is not known."""
        return ""

    def product_error(self, a: FloatArray) -> FloatArray:
        """Bound of |computed - exact| for every entry of Q a, the errors of Q's own entries included, in O(n) operations."""
        size = np.sqrt(np.abs(self.diagonal))
        return np.asarray(gamma(self.n + 8) * size * float(size @ np.abs(a)))

    @property
    def diagonal_error(self) -> FloatArray:
        """Bound of |computed - exact| for the diagonal."""
        return np.zeros(self.n)

    @property
    def entry_kind(self) -> np.dtype[Any]:
        """Type of the entries that a panel's rows hold."""
        return np.dtype(np.float32)

    def load(self, *, single: bool, panels: bool = False) -> None:
        """Load the compiled loops of columns (in float32, or in float64), products and panels: before a run's clock starts."""
        return

    @abstractmethod
    def columns(self, indices: IntArray) -> FloatArray:
        """Columns of Q, n × len(indices), float64."""

    def column(self, i: int) -> FloatArray:
        """Column i of Q, float64."""
        return np.ascontiguousarray(self.columns(np.array([i]))[:, 0])

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Q[rows, columns], float64."""
        return np.asarray(self.columns(columns)[rows])

    def single_columns(self, indices: IntArray, out: SingleArray | None = None) -> SingleArray:
        """Columns of Q as the rows of a len(indices) × n array of float32: for steps only, never for a certificate.

        Written into ``out`` where that is given.
        """
        block = np.ascontiguousarray(self.columns(indices).T, dtype=np.float32)
        if out is None:
            return block
        out[:] = block
        return out

    def single_block(self, rows: IntArray, columns: IntArray) -> SingleArray:
        """Q[rows, columns] in float32, C-contiguous: for steps only. Neither rows nor columns may hold an index twice."""
        return np.ascontiguousarray(self.block(rows, columns), dtype=np.float32)

    def panel(self, points: IntArray) -> Panel:
        """Q between these points and any others in float32, for steps only. No point may be given twice."""
        return BlockPanel(self.single_block, points)

    def rounded_panel(self, points: IntArray) -> Panel | None:
        """The same with entries that are rounded to two bytes each; None where Q has none such."""
        del points
        return None

    def series(self, count: int) -> Series | None:
        """At most so many rows B, leading ones first, with Q - loading - B'B positive semidefinite; None where none are known."""
        del count
        return None

    def product(self, a: FloatArray) -> FloatArray:
        """Q a in float64, over the non-zero entries of a only, in blocks of columns."""
        result = np.zeros(self.n)
        support = np.flatnonzero(a)
        for start in range(0, support.size, BLOCK):
            chosen = support[start : start + BLOCK]
            result += self.columns(chosen) @ a[chosen]
        return result

    @cached_property
    def dense(self) -> FloatArray:
        """The whole matrix; the caller has checked that it fits."""
        matrix = self.columns(np.arange(self.n))
        return np.asarray(0.5 * (matrix + matrix.T))


class MatrixGram(GramOperator):
    """A matrix that is there already; ``semidefinite`` says why it is that, where it is known."""

    def __init__(self, matrix: FloatArray, semidefinite: str = "") -> None:
        self.matrix = matrix
        self._why = semidefinite

    @property
    def semidefinite(self) -> str:
        """The kernel's own argument."""
        return self._why

    @cached_property
    def _largest(self) -> float:
        return float(np.abs(self.matrix).max(initial=0.0))

    def product_error(self, a: FloatArray) -> FloatArray:
        """γ_n max|Q_ij| Σ|a_j|."""
        return np.full(self.n, gamma(self.n) * self._largest * float(np.abs(a).sum()))

    @property
    def n(self) -> int:
        """Order of the matrix."""
        return int(self.matrix.shape[0])

    @cached_property
    def diagonal(self) -> FloatArray:
        """Q_ii."""
        return np.ascontiguousarray(np.diagonal(self.matrix))

    def columns(self, indices: IntArray) -> FloatArray:
        """Columns of the matrix."""
        return self.matrix[:, indices]

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Entries of the matrix."""
        return self.matrix[np.ix_(rows, columns)]
