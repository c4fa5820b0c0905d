"""Gram operators: kernel matrices that hand-written algorithms read by column, diagonal and product, never whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..arrays import FloatArray, IntArray, Points, to_dense
from .float32 import SingleArray, SingleData, single_values
from .float32_tiles import BlockPanel, Panel
from .kernels import RBF, Kernel, Linear, Polynomial, Precomputed
from .rbf import RBFExponents
from .sparse_products import FeatureProducts

__all__ = ["GramOperator", "KernelGram", "MatrixGram"]

#: Rows of the kernel matrix computed at once in a product: 64 columns of 1e5 points are 51 MB.
_BLOCK = 64
#: Kernel values from which a product is worth loading compiled code.
_COMPILED_FROM = 2_000_000


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

    def product(self, a: FloatArray) -> FloatArray:
        """Q a in float64, over the non-zero entries of a only, in blocks of columns."""
        result = np.zeros(self.n)
        support = np.flatnonzero(a)
        for start in range(0, support.size, _BLOCK):
            chosen = support[start : start + _BLOCK]
            result += self.columns(chosen) @ a[chosen]
        return result

    @cached_property
    def dense(self) -> FloatArray:
        """The whole matrix; the caller has checked that it fits."""
        matrix = self.columns(np.arange(self.n))
        return np.asarray(0.5 * (matrix + matrix.T))


class MatrixGram(GramOperator):
    """A matrix that is there already."""

    def __init__(self, matrix: FloatArray) -> None:
        self.matrix = matrix

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


@dataclass(frozen=True, eq=False)
class KernelGram(GramOperator):
    """Q_ij = scale·[s_i s_j (k(x_i, x_j) + offset) + δ_ij·ridge_i], signs s = y or 1.

    Parameters
    ----------
    X : ndarray or csr_array (n, p)
    kernel : Kernel
        Fitted.
    signs : ndarray (n,), optional
        s; ones where it is not given.
    offset, scale : float
        The L2-SVM dual, FW (12), has offset 1.
    ridge : float or ndarray (n,)
        1/C for FW (12); one for each point where the points have weights of their own.
    """

    X: Points
    kernel: Kernel
    signs: FloatArray | None = None
    offset: float = 0.0
    ridge: float | FloatArray = 0.0
    scale: float = 1.0

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.X.shape[0])

    @cached_property
    def diagonal(self) -> FloatArray:
        """scale·(k_ii + offset + ridge)."""
        return np.asarray(self.scale * (self.kernel.diagonal(self.X) + self.offset + self.ridge))

    @property
    def loading(self) -> FloatArray:
        """scale·ridge."""
        return np.asarray(np.broadcast_to(self.scale * np.asarray(self.ridge), (self.n,)))

    def _ridge_at(self, indices: IntArray) -> FloatArray:
        """ridge_i of the given points."""
        return np.broadcast_to(self.ridge, (self.n,))[indices]

    def columns(self, indices: IntArray) -> FloatArray:
        """Columns of Q, n × len(indices)."""
        if isinstance(self.kernel, Precomputed):
            block = np.array(to_dense(self.X[:, indices]))
        else:
            block = np.array(self.kernel.matrix(self.X, self.X[indices]))
        block += self.offset
        if self.signs is not None:
            block *= self.signs[:, None]
            block *= self.signs[indices][None, :]
        block[indices, np.arange(len(indices))] += self._ridge_at(indices)
        block *= self.scale
        return block

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Q[rows, columns] from those points alone."""
        if isinstance(self.kernel, Precomputed):
            block = np.array(to_dense(self.X[rows][:, columns]))
        else:
            block = np.array(self.kernel.matrix(self.X[rows], self.X[columns]))
        block += self.offset
        if self.signs is not None:
            block *= self.signs[rows][:, None]
            block *= self.signs[columns][None, :]
        block += self._ridge_at(columns) * (rows[:, None] == columns[None, :])
        block *= self.scale
        return block

    @cached_property
    def _single(self) -> SingleData:
        return SingleData.of(self.X)

    @cached_property
    def _exponents(self) -> RBFExponents | None:
        return RBFExponents.of(self.kernel, self.X) if isinstance(self.kernel, RBF) else None

    @cached_property
    def _single_signs(self) -> SingleArray:
        return np.ones(self.n, dtype=np.float32) if self.signs is None else self.signs.astype(np.float32)

    def single_columns(self, indices: IntArray, out: SingleArray | None = None) -> SingleArray:
        """Columns in float32 from float32 data: BLAS products, then the kernel's function in place."""
        signs, diagonal = self._single_signs, (self.scale * self._ridge_at(indices)).astype(np.float32)
        if self._exponents is not None:
            block = self._exponents.single_rows(indices, signs, self.offset, self.scale, out)
            block[np.arange(len(indices)), indices] += diagonal
            return block
        values = single_values(self.kernel, self._single, indices)
        if values is None:
            return super().single_columns(indices, out)
        block = values if out is None else out
        block[:] = values
        block += np.float32(self.offset)
        block *= signs
        block *= (np.float32(self.scale) * signs[indices])[:, None]
        block[np.arange(len(indices)), indices] += diagonal
        return block

    def single_block(self, rows: IntArray, columns: IntArray) -> SingleArray:
        """Q[rows, columns] in float32 from float32 data."""
        signs = self._single_signs
        if self._exponents is not None:
            block = self._exponents.single_block(rows, columns, signs, self.offset, self.scale)
        else:
            values = single_values(self.kernel, self._single, rows, columns)
            if values is None:
                return super().single_block(rows, columns)
            block = values
            block += np.float32(self.offset)
            block *= signs[columns]
            block *= (np.float32(self.scale) * signs[rows])[:, None]
        place = np.full(self.n, -1, dtype=np.int64)
        place[columns] = np.arange(columns.size)
        here = np.flatnonzero(place[rows] >= 0)
        block[here, place[rows[here]]] += (self.scale * self._ridge_at(rows[here])).astype(np.float32)
        return block

    def panel(self, points: IntArray) -> Panel:
        """Q between these points and any others in float32; dense RBF kernels in tiles."""
        if self._exponents is None or sp.issparse(self.X):
            return super().panel(points)
        return self._exponents.panel(points, self._single_signs, self.offset, self.scale, self.loading)

    @cached_property
    def _last(self) -> dict[str, FloatArray]:
        return {}

    def product(self, a: FloatArray) -> FloatArray:
        """Q a in float64; the last one is kept, since a solver and its certificate ask for the same.

        For the linear kernel through X'(s∘a), without any column of Q.
        """
        last = self._last
        if "a" in last and np.array_equal(last["a"], a):
            return last["product"].copy()
        signed = a if self.signs is None else self.signs * a
        if isinstance(self.kernel, Linear):
            value = np.asarray(self.X @ (self.X.T @ signed))
        elif isinstance(self.kernel, Precomputed):
            value = np.asarray(self.X @ signed)
        else:
            value = self._kernel_product(signed)
        value = value + self.offset * signed.sum()
        if self.signs is not None:
            value = self.signs * value
        value = self.scale * (value + self.ridge * a)
        last["a"], last["product"] = a.copy(), value
        return value.copy()

    def _kernel_product(self, weights: FloatArray) -> FloatArray:
        """K·weights over the non-zero weights, in blocks of rows."""
        support = np.flatnonzero(weights)
        if self._exponents is not None and support.size * self.n > _COMPILED_FROM:
            return self._exponents.product(weights)
        features = FeatureProducts(self.X) if sp.issparse(self.X) and support.size * self.n > _COMPILED_FROM else None
        result = np.zeros(self.n)
        for start in range(0, support.size, _BLOCK):
            chosen = support[start : start + _BLOCK]
            if features is not None and isinstance(self.kernel, Polynomial):
                result += weights[chosen] @ self.kernel.of_products(features.rows(chosen))
            else:
                result += self.kernel.matrix(self.X, self.X[chosen]) @ weights[chosen]
        return result
