"""Gram operators: the matrix Q of a kernel model's quadratic objective, computed by columns, blocks and products on demand.

`KernelGram` has Q_ij = scale·[s_i s_j (k(x_i, x_j) + offset) + δ_ij·ridge_i] for points x_i, a kernel k, signs s_i and δ_ij = 1
for i = j, else 0. Columns and products in float64 have bounds of their rounding errors, from those of the kernel
(`Kernel.rounding`), and serve certificates; columns in float32 serve solver steps alone. A *panel* keeps float32 columns of some
points, from which steps read any rows. γ_m = m·2⁻⁵³/(1 - m·2⁻⁵³) bounds the relative error of m roundings.

*Centring.* x'z of points at distance D from the origin is rounded by 1e-16·D², whatever the distances between the points are. A
model whose feasible weights sum to zero is invariant under translation, so for the linear kernel x - c may replace x. So is a
model whose weights sum to one if its linear term, the kernel's diagonal, is computed from x - c too. For kernels of x - z every
model is invariant.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import FloatArray, IntArray, Points, SingleArray, frozen, row_norms_squared, to_dense
from ..deadline import PANEL, check_deadline, check_scan
from ..rounding import UNIT, cancels, gamma, total, transposed_product
from .float32 import SparseProducts, float32_kernel_rows, points_in_float32
from .kernels import RBF, Kernel, Linear, Polynomial, Precomputed, RadialKernel
from .panels import BitDistances, BlockPanel, EntryEncoding, Panel
from .rbf import RBFExponents, TaylorSeries

#: Columns of the kernel matrix computed at once in a product: 64 columns of 1e5 points are 51 MB.
BLOCK = 64


#: Points are centred if ||mean||² is above this multiple of their mean squared distance to the mean; else two digits are lost at
#: most.
_FAR = 1e2


@dataclass(frozen=True, eq=False)
class CentredPoints:
    """Points from which their mean is subtracted, or unchanged points.

    Parameters
    ----------
    points : ndarray or csr_array (n, p)
        The points, with the mean subtracted if ``centre`` is given.
    centre : ndarray (p,), optional
        The mean that was subtracted; None where the points are unchanged.
    """

    points: Points
    centre: FloatArray | None = None

    def of(self, rows: Points) -> Points:
        """Return other rows with the same centre subtracted."""
        return rows if self.centre is None else to_dense(rows) - self.centre


def centre_points(kernel: Kernel, X: Points) -> CentredPoints:
    """Centre dense points if they are far from the origin and the kernel is linear or translation invariant.

    Sparse points stay as they are, to remain sparse. The caller's model must be invariant (see the module's docstring).
    """
    if not isinstance(X, np.ndarray) or not (isinstance(kernel, Linear) or kernel.translation_invariant):
        return CentredPoints(X)
    centre = X.mean(axis=0)
    centred = X - centre
    if not float(centre @ centre) > _FAR * float(np.vdot(centred, centred)) / len(X):
        return CentredPoints(X)
    return CentredPoints(frozen(centred), frozen(centre))


def piece_sizes(n: int) -> tuple[int, int]:
    """Return the length and the number of the pieces in which `product_in_pieces` sums n terms."""
    length = max(BLOCK, math.isqrt(n))
    return length, -(-n // length)


def product_in_pieces(A: Points, x: FloatArray) -> FloatArray:
    """Return A x; of a dense A piece by piece of x, so that a term goes through about 2√n roundings in place of n."""
    length, count = piece_sizes(x.size)
    if count == 1 or sp.issparse(A):
        return np.asarray(A @ x)
    if A.shape[0] > BLOCK:
        result = A[:, :length] @ x[:length]
        for k in range(1, count):
            result += A[:, k * length : (k + 1) * length] @ x[k * length : (k + 1) * length]
        return np.asarray(result)
    piece_count = x.size // length  # for few rows all pieces at once: a call for each would take longer than its product
    stacked = A[:, : piece_count * length].reshape(A.shape[0], piece_count, length).transpose(1, 0, 2)
    sums = (stacked @ x[: piece_count * length].reshape(piece_count, length, 1))[:, :, 0]
    return np.asarray(sums.sum(axis=0) + A[:, piece_count * length :] @ x[piece_count * length :])


def weighted_sum(X: Points, weights: FloatArray) -> FloatArray:
    """Return X'·weights; where most points have no weight, they are not read."""
    support = np.flatnonzero(weights)
    small_support = not sp.issparse(X) and 4 * support.size < weights.size
    return product_in_pieces(X[support].T, weights[support]) if small_support else product_in_pieces(X.T, weights)


class GramOperator(ABC):
    """The abstract symmetric n × n matrix Q that is known by its columns."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Return the order of the matrix."""

    @property
    @abstractmethod
    def diagonal(self) -> FloatArray:
        """Return the diagonal Q_ii."""

    @property
    def loading(self) -> FloatArray:
        """Return a part (n,) of the diagonal, such as a ridge, without which Q stays positive semidefinite if it is; zeros if
        unknown.
        """
        return np.zeros(self.n)

    @property
    def rank_bound(self) -> int:
        """Return an upper bound of the rank of Q, by construction; n where none is known."""
        return self.n

    @property
    def semidefinite_reason(self) -> str:
        """Return the reason why Q is positive semidefinite, by construction; empty where that is not known."""
        return ""

    def product_error(self, a: FloatArray) -> FloatArray:
        """Return a bound of |computed - exact| for every entry of Q a, errors of Q's own entries included, in O(n) operations.

        The bound of this class holds if Q ⪰ 0 and the errors of entries are a few roundings of √(Q_ii Q_jj).
        """
        size = np.sqrt(np.abs(self.diagonal))
        return np.asarray(gamma(self.n + 8) * size * float(size @ np.abs(a)))

    def rounded_product(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Q a and a bound of the error of every entry: for certificates, where its terms may cancel."""
        return self.product(a), self.product_error(a)

    @property
    def diagonal_error(self) -> FloatArray:
        """Return a bound of |computed - exact| for the diagonal."""
        return np.zeros(self.n)

    @property
    def has_fast_blocks(self) -> bool:
        """Return whether `single_block` computes a few entries in less time than reading them from cached columns takes."""
        return False

    @property
    def entry_dtype(self) -> np.dtype[Any]:
        """Return the type of the entries that a panel's rows hold."""
        return np.dtype(np.float32)

    def load(self, *, single: bool, panels: bool = False) -> None:
        """Load the compiled loops before a run's clock starts: those of products, of float32 columns if ``single``, and of panels
        if ``panels``.
        """
        return

    @abstractmethod
    def columns(self, indices: IntArray) -> FloatArray:
        """Return the columns of Q, n × len(indices), float64."""

    def column(self, i: int) -> FloatArray:
        """Return column i of Q, float64."""
        return np.ascontiguousarray(self.columns(np.array([i]))[:, 0])

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return Q[rows, columns], float64."""
        return np.asarray(self.columns(columns)[rows])

    def single_columns(self, indices: IntArray, out: SingleArray | None = None) -> SingleArray:
        """Return the columns of Q as the rows of a len(indices) × n array of float32: for steps only, never for a certificate.

        Written into ``out`` where that is given.
        """
        block = np.ascontiguousarray(self.columns(indices).T, dtype=np.float32)
        if out is None:
            return block
        out[:] = block
        return out

    def single_block(self, rows: IntArray, columns: IntArray) -> SingleArray:
        """Return Q[rows, columns] in float32, C-contiguous: for steps only. Neither rows nor columns may hold an index twice."""
        return np.ascontiguousarray(self.block(rows, columns), dtype=np.float32)

    def panel(self, points: IntArray) -> Panel:
        """Return the columns of Q that belong to these points in float32, for any rows and for steps only. No point may be given
        twice.
        """
        return BlockPanel(self.single_block, points)

    def rounded_panel(self, points: IntArray) -> Panel | None:
        """Return the panel of these points with entries rounded to two bytes each; None where Q has no such panel."""
        del points
        return None

    def taylor_series(self, count: int) -> TaylorSeries | None:
        """Return at most ``count`` rows B with Q - diag(loading) - B'B ⪰ 0, a low-rank approximation by the kernel's Taylor
        series, leading rows first; None where none are known.
        """
        del count
        return None

    def product(self, a: FloatArray) -> FloatArray:
        """Return Q a in float64, over the non-zero entries of a only, in blocks of columns."""
        result = np.zeros(self.n)
        support = np.flatnonzero(a)
        for start in range(0, support.size, BLOCK):
            chosen = support[start : start + BLOCK]
            result += self.columns(chosen) @ a[chosen]
        return result

    def combination(self, points: IntArray, weights: FloatArray, out: FloatArray) -> None:
        """Write Q[:, points]·weights in float64 into ``out``: for solver steps; certificates take `product`."""
        out[:] = self.columns(points) @ weights

    @cached_property
    def dense(self) -> FloatArray:
        """Return the whole matrix; the caller has checked that it fits.

        Raises
        ------
        OutOfTimeError
            The deadline has passed.
        """
        check_scan(self.n**2)
        matrix = np.empty((self.n, self.n), order="F")
        for start in range(0, self.n, PANEL):
            if start:
                check_deadline()
            columns = np.arange(start, min(start + PANEL, self.n))
            matrix[:, columns] = self.columns(columns)
        return np.asarray(0.5 * (matrix + matrix.T))


class MatrixGram(GramOperator):
    """The Gram operator of a matrix in memory.

    Parameters
    ----------
    matrix : ndarray (n, n)
        Q, symmetric.
    semidefinite : str
        Why Q is positive semidefinite, in words; empty where that is not known.
    """

    def __init__(self, matrix: FloatArray, semidefinite: str = "") -> None:
        self.matrix = matrix
        self._why = semidefinite

    @property
    def semidefinite_reason(self) -> str:
        """Return the reason that was given with the matrix."""
        return self._why

    @cached_property
    def _largest(self) -> float:
        return float(np.abs(self.matrix).max(initial=0.0))

    def product_error(self, a: FloatArray) -> FloatArray:
        """Return γ_n max|Q_ij| Σ|a_j|."""
        return np.full(self.n, gamma(self.n) * self._largest * float(np.abs(a).sum()))

    @property
    def n(self) -> int:
        """Return the order of the matrix."""
        return int(self.matrix.shape[0])

    @cached_property
    def diagonal(self) -> FloatArray:
        """Return Q_ii."""
        return np.ascontiguousarray(np.diagonal(self.matrix))

    def columns(self, indices: IntArray) -> FloatArray:
        """Return the columns of the matrix."""
        return self.matrix[:, indices]

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return the entries of the matrix."""
        return self.matrix[np.ix_(rows, columns)]

    def rounded_product(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Q a and a bound of the error of every entry; where the terms of a'Qa cancel, its sums are compensated."""
        product, error = self.product(a), self.product_error(a)
        return transposed_product(self.matrix, a) if cancels(a, product, error, self.matrix.size) else (product, error)


#: Order up to which the matrix of a kernel not known to be positive semidefinite is computed whole, for a bound of its entries.
_LOOKED_AT = 3000
#: Features up to which a kernel value of dense points costs less than a scattered read.
_FEW_FEATURES = 64
#: Kernel values from which a product is worth loading compiled code.
_COMPILED_FROM = 2_000_000


@dataclass(frozen=True, eq=False)
class KernelGram(GramOperator):
    """The Gram operator of a kernel: Q_ij = scale·[s_i s_j (k(x_i, x_j) + offset) + δ_ij·ridge_i], signs s = y or 1.

    Parameters
    ----------
    X : ndarray or csr_array (n, p)
        The points x_i as rows; the kernel matrix itself with a precomputed kernel.
    kernel : Kernel
        k, fitted.
    signs : ndarray (n,), optional
        s; ones where it is not given.
    offset, scale : float
        Number added to the kernel, 1 in the dual of the L2-SVM (Frandi et al., 2013, (12)); factor of the whole matrix.
    ridge : float or ndarray (n,)
        Added to the diagonal: 1/C in that dual; one number for each point where the points have weights.
    """

    X: Points
    kernel: Kernel
    signs: FloatArray | None = None
    offset: float = 0.0
    ridge: float | FloatArray = 0.0
    scale: float = 1.0

    @property
    def n(self) -> int:
        """Return the number of points."""
        return int(self.X.shape[0])

    @cached_property
    def diagonal(self) -> FloatArray:
        """Return scale·(k(x_i, x_i) + offset + ridge_i)."""
        return np.asarray(self.scale * (self._own + self.offset + self.ridge))

    @cached_property
    def _own(self) -> FloatArray:
        """Return k(x_i, x_i)."""
        return self.kernel.diagonal(self.X)

    @property
    def loading(self) -> FloatArray:
        """Return scale·ridge."""
        return np.asarray(np.broadcast_to(self.scale * np.asarray(self.ridge), (self.n,)))

    @property
    def rank_bound(self) -> int:
        """Return the number of features, plus one for the offset, of the linear kernel without a ridge; else n."""
        if not isinstance(self.kernel, Linear) or np.any(self.ridge):
            return self.n
        return min(self.n, self.X.shape[1] + int(self.offset != 0.0))

    @property
    def semidefinite_reason(self) -> str:
        """Return the theorem for the kernel: signs, an offset ≥ 0 and a ridge ≥ 0 keep Q positive semidefinite."""
        is_theorem = self.kernel.positive_semidefinite and self.offset >= 0.0 and bool(np.all(np.asarray(self.ridge) >= 0.0))
        return f"the {self.kernel.name} kernel is positive semidefinite by theorem" if is_theorem else ""

    @cached_property
    def centred(self) -> CentredPoints:
        """Return the points, less their mean where the kernel is translation invariant and the points are far from the origin."""
        return centre_points(self.kernel, self.X) if self.kernel.translation_invariant else CentredPoints(self.X)

    @cached_property
    def _by_differences(self) -> bool:
        """Return whether distances are those of differences."""
        return not self._exact and self.kernel.needs_differences(self.centred.points)

    @cached_property
    def _exact(self) -> bool:
        """Return whether squared distances are whole numbers, free of rounding: points of zeros and one other integer."""
        return self._bits and float(self.X.data[0]).is_integer() and float(row_norms_squared(self.X).max()) < 2.0**50

    def _values(self, rows: IntArray | None, columns: IntArray) -> FloatArray:
        """Return k(x_i, x_j) of the given rows, or of all, and the given columns."""
        if isinstance(self.kernel, Precomputed):
            return to_dense((self.X if rows is None else self.X[rows])[:, columns])
        if self._by_differences:  # of the points as given: to centre them would round once more
            return self.kernel.matrix_by_differences(self.X if rows is None else self.X[rows], self.X[columns])
        points = self.centred.points
        if rows is None:
            return self.kernel.columns(points, columns, self._norms)
        return self.kernel.matrix(points[rows], points[columns])

    @cached_property
    def _norms(self) -> FloatArray:
        """Return ||x_i||² of the centred points."""
        return row_norms_squared(self.centred.points)

    @cached_property
    def _rounding(self) -> tuple[FloatArray, FloatArray]:
        """Return e with |error of k(x_i, x_j)| ≤ e_i e_j, and m with |k(x_i, x_j)| ≤ m_i m_j.

        The entries of a kernel that is not known to be positive semidefinite are all read for m if n is at most `_LOOKED_AT`. For
        larger n they are taken to be at most the largest entry of the diagonal, which holds if Q ⪰ 0.
        """
        fine = self._by_differences or self._exact
        entry = self.kernel.rounding_by_differences(self.X) if fine else self.kernel.rounding(self.centred.points)
        if isinstance(self.kernel, Precomputed):
            return entry, np.full(self.n, np.sqrt(abs(self.X).max()))
        if not self.kernel.positive_semidefinite:
            magnitudes = self.dense / self.scale if self.n <= _LOOKED_AT else self.diagonal / self.scale
            largest = float(np.abs(magnitudes).max())
            return np.maximum(entry, np.sqrt(gamma(64) * largest)), np.full(self.n, np.sqrt(largest))
        return entry, np.sqrt(np.abs(self._own))

    def product_error(self, a: FloatArray) -> FloatArray:
        """Return a bound of the errors of the entries, of the sums, of the offset and of the ridge; cached for the last a."""
        return self._kept("error", a, self._product_error)

    def _product_error(self, a: FloatArray) -> FloatArray:
        entry, size = self._rounding
        absolute, depth = np.abs(a), self._depth(int(np.count_nonzero(a)))
        error = entry * float(entry @ absolute) + gamma(depth) * size * float(size @ absolute)
        error += gamma(depth) * abs(self.offset) * float(absolute.sum()) + gamma(8) * np.abs(self.ridge * a)
        return np.asarray(abs(self.scale) * (1.0 + 1e-12) * error)

    def rounded_product(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Q a and a bound of the error of every entry; cached for the last a.

        Where the terms of a'Qa cancel, the sums of a linear or a precomputed kernel are compensated. The entries of other kernels
        have rounding errors that no summation removes.
        """
        value, error = self._kept("rounded", a, self._rounded_product)
        return value, error

    def _rounded_product(self, a: FloatArray) -> FloatArray:
        product, error = self.product(a), self.product_error(a)
        exact_entries = isinstance(self.kernel, (Linear, Precomputed))
        if exact_entries and cancels(a, product, error, self.X.size):
            product, error = self._compensated_product(a)
        return np.stack([product, error])

    def _compensated_product(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Q a of a linear or precomputed kernel by compensated sums, and a bound of the error of every entry."""
        signed = a if self.signs is None else self.signs * a
        if isinstance(self.kernel, Linear):
            direction, inner = transposed_product(self.X, signed)
            value, error = transposed_product(self.X.T, direction)
            error = error + (1.0 + gamma(inner.size)) * np.asarray(abs(self.X) @ inner)
        else:
            value, error = transposed_product(self.X.T, signed)
        shift, ridge = total(signed).times(self.offset), self.ridge * a
        value, error = value + shift.value, error + shift.error
        error = error + 2.0 * UNIT * np.abs(value)
        if self.signs is not None:
            value = self.signs * value
        value = value + ridge
        error = error + 2.0 * UNIT * (np.abs(ridge) + np.abs(value))
        return self.scale * value, abs(self.scale) * (error + UNIT * np.abs(value)) * (1.0 + 16.0 * UNIT)

    def _depth(self, support: int) -> int:
        """Return the most roundings that a term of a sum in `product` goes through, for a vector with ``support`` non-zeros."""
        if isinstance(self.kernel, (Linear, Precomputed)):
            size = self.X.shape[1] if isinstance(self.kernel, Linear) else 0
            return size + 8 + (self.n if sp.issparse(self.X) else sum(piece_sizes(self.n)))
        if (self._radial is not None or sp.issparse(self.X)) and support * self.n > _COMPILED_FROM:
            return support + 16
        return min(support, BLOCK) + support // BLOCK + 16

    @property
    def diagonal_error(self) -> FloatArray:
        """Return |scale|·e_i² plus the rounding of the sum, with e_i² the error bound of k(x_i, x_i)."""
        entry = self._rounding[0]
        return np.asarray((abs(self.scale) * entry * entry + gamma(8) * np.abs(self.diagonal)) * (1.0 + 1e-12))

    def _ridge_at(self, indices: IntArray) -> FloatArray | float:
        """Return ridge_i of the given points; one number where it is the same for all."""
        return self.ridge[indices] if isinstance(self.ridge, np.ndarray) else self.ridge

    def _signed_values(self, rows: IntArray | None, columns: IntArray) -> FloatArray:
        """Return s_i s_j (k(x_i, x_j) + offset) of the given rows, or of all, and the given columns: a new array."""
        block = np.array(self._values(rows, columns))
        block += self.offset
        if self.signs is not None:
            block *= (self.signs if rows is None else self.signs[rows])[:, None]
            block *= self.signs[columns][None, :]
        return block

    def columns(self, indices: IntArray) -> FloatArray:
        """Return the columns of Q, n × len(indices)."""
        block = self._signed_values(None, indices)
        block[indices, np.arange(len(indices))] += self._ridge_at(indices)
        block *= self.scale
        return block

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Return Q[rows, columns] from the points of these rows and columns alone."""
        block = self._signed_values(rows, columns)
        block += self._ridge_at(columns) * (rows[:, None] == columns[None, :])
        block *= self.scale
        return block

    @cached_property
    def _single(self) -> SingleArray | SparseProducts:
        return points_in_float32(self.centred.points)

    @cached_property
    def _bits(self) -> bool:
        """Return whether `_radial` is computed by bits (`BitDistances`)."""
        return isinstance(self.kernel, RadialKernel) and sp.issparse(self.X) and BitDistances.suits(self.X)

    @property
    def has_fast_blocks(self) -> bool:
        """Return True for points stored as bits (`BitDistances`), and for dense points of few features."""
        is_dense = not (sp.issparse(self.X) or isinstance(self.kernel, Precomputed))
        return self._bits or (is_dense and self.X.shape[1] <= _FEW_FEATURES)

    @property
    def entry_dtype(self) -> np.dtype[Any]:
        """Return float32; for points stored as bits the integer type of their Hamming distances."""
        return BitDistances.distance_type(self.X) if self._bits else super().entry_dtype

    def load(self, *, single: bool, panels: bool = False) -> None:
        """Load the compiled loops of bits, or of the RBF kernel on dense points, as `_radial` will choose them."""
        large = self.n**2 > _COMPILED_FROM
        if not (single or large):
            return
        if self._bits:
            BitDistances.load()
            if panels:
                BitDistances.load_panel(self.entry_dtype)
        elif isinstance(self.kernel, RBF) and not (sp.issparse(self.X) or self._by_differences):
            RBFExponents.load(rows=single, products=large, panels=panels)

    @cached_property
    def _radial(self) -> RBFExponents | BitDistances | None:
        if self._bits:
            assert isinstance(self.kernel, RadialKernel)
            return BitDistances.of(self.kernel, self.X)
        if not isinstance(self.kernel, RBF) or self._by_differences:
            return None
        return RBFExponents.of(self.kernel, self.centred.points)

    @cached_property
    def _counts(self) -> EntryEncoding:
        assert isinstance(self._radial, BitDistances)
        return self._radial.entries(self.entry_dtype, self._single_signs, self.offset, self.scale, self.loading)

    @cached_property
    def _single_signs(self) -> SingleArray:
        return np.ones(self.n, dtype=np.float32) if self.signs is None else self.signs.astype(np.float32)

    def single_columns(self, indices: IntArray, out: SingleArray | None = None) -> SingleArray:
        """Return the columns in float32 from float32 data: BLAS products, then the kernel's function in place."""
        signs, plain = self._single_signs, self._single if isinstance(self.kernel, Linear) else None
        if self._radial is not None:
            block = self._radial.single_rows(indices, signs, self.offset, self.scale, out)
        elif isinstance(plain, np.ndarray) and self.signs is None and not self.offset:  # saves a pass over the block
            block = np.matmul(np.float32(self.scale) * plain[indices], plain.T, out=out)
        else:
            values = float32_kernel_rows(self.kernel, self._single, indices)
            if values is None:
                return super().single_columns(indices, out)
            block = np.add(values, np.float32(self.offset), out=values if out is None else out)
            block *= signs
            block *= (np.float32(self.scale) * signs[indices])[:, None]
        block[np.arange(len(indices)), indices] += np.asarray(self.scale * self._ridge_at(indices), dtype=np.float32)
        return block

    def single_block(self, rows: IntArray, columns: IntArray) -> SingleArray:
        """Return Q[rows, columns] in float32 from float32 data."""
        signs = self._single_signs
        if self._radial is not None:
            block = self._radial.single_block(rows, columns, signs, self.offset, self.scale)
        else:
            values = float32_kernel_rows(self.kernel, self._single, rows, columns)
            if values is None:
                return super().single_block(rows, columns)
            block = np.add(values, np.float32(self.offset), out=values)
            block *= signs[columns]
            block *= (np.float32(self.scale) * signs[rows])[:, None]
        place = np.full(self.n, -1, dtype=np.int64)
        place[columns] = np.arange(columns.size)
        cached = np.flatnonzero(place[rows] >= 0)
        block[cached, place[rows[cached]]] += np.asarray(self.scale * self._ridge_at(rows[cached]), dtype=np.float32)
        return block

    def panel(self, points: IntArray) -> Panel:
        """Return the panel of these points: tiles for RBF kernels of dense points, distances for points stored as bits."""
        if isinstance(self._radial, BitDistances):
            return self._radial.panel(points, self._counts)
        if not isinstance(self._radial, RBFExponents) or sp.issparse(self.X):
            return super().panel(points)
        return self._radial.panel(points, self._single_signs, self.offset, self.scale, self.loading)

    def rounded_panel(self, points: IntArray) -> Panel | None:
        """Return the rounded panel of an RBF kernel; None for other kernels, for points stored as bits, and where distances are
        computed by differences.
        """
        if not isinstance(self._radial, RBFExponents):
            return None
        return self._radial.rounded_panel(points, self._single_signs, self.offset, self.scale, self.loading)

    def taylor_series(self, count: int) -> TaylorSeries | None:
        """Return leading rows of the Taylor series of an RBF kernel on dense points with fewer than ``count`` features.

        Return None otherwise, and with a negative offset.
        """
        radial = self._radial if self.offset >= 0.0 else None
        return (
            radial.taylor_series(count, self._single_signs, self.offset, self.scale) if isinstance(radial, RBFExponents) else None
        )

    def combination(self, points: IntArray, weights: FloatArray, out: FloatArray) -> None:
        """Write the combination; for the linear kernel through X'(s∘weights), without any column of Q."""
        if not isinstance(self.kernel, Linear):
            super().combination(points, weights, out)
            return
        signed = weights if self.signs is None else self.signs[points] * weights
        total = self.scale * np.asarray(self.X[points].T @ signed)
        if sp.issparse(self.X):
            out[:] = self.X @ total
        else:
            np.matmul(self.X, total, out=out)
        if self.offset:
            out += self.scale * self.offset * float(signed.sum())
        if self.signs is not None:
            out *= self.signs
        out[points] += self.scale * self._ridge_at(points) * weights

    @cached_property
    def _last(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        return {}

    def _kept(self, name: str, a: FloatArray, compute: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return compute(a), kept under this name for the next call with the same a."""
        last = self._last.get(name)
        if last is None or not np.array_equal(last[0], a):
            last = self._last[name] = a.copy(), compute(a)
        return last[1].copy()

    def product(self, a: FloatArray) -> FloatArray:
        """Return Q a in float64; cached for the last a, since a solver and its certificate ask for the same product.

        For the linear kernel through X'(s∘a), without any column of Q.
        """
        return self._kept("product", a, self._product)

    def _product(self, a: FloatArray) -> FloatArray:
        signed = a if self.signs is None else self.signs * a
        if isinstance(self.kernel, Linear):
            value = np.asarray(self.X @ weighted_sum(self.X, signed))
        elif isinstance(self.kernel, Precomputed):
            value = product_in_pieces(self.X, signed)
        else:
            value = self._kernel_product(signed)
        value = value + self.offset * float(signed.sum())
        if self.signs is not None:
            value = self.signs * value
        return np.asarray(self.scale * (value + self.ridge * a))

    def _kernel_product(self, weights: FloatArray) -> FloatArray:
        """Return K·weights, K the matrix of k(x_i, x_j), over the non-zero weights, in blocks of columns."""
        support = np.flatnonzero(weights)
        if self._radial is not None and support.size * self.n > _COMPILED_FROM:
            return self._radial.product(weights)
        features = SparseProducts(self.X) if sp.issparse(self.X) and support.size * self.n > _COMPILED_FROM else None
        result = np.zeros(self.n)
        for start in range(0, support.size, BLOCK):
            chosen = support[start : start + BLOCK]
            if features is not None and isinstance(self.kernel, Polynomial):
                result += weights[chosen] @ self.kernel.of_products(features.rows(chosen))
            else:
                result += self._values(None, chosen) @ weights[chosen]
        return result


class PaddedGram(GramOperator):
    """The Gram operator of [[Q, 0], [0, 0]]: that of Q (``inner``) with ``extra`` rows and columns of zeros appended."""

    def __init__(self, inner: GramOperator, extra: int) -> None:
        self._inner = inner
        self._extra = extra

    @property
    def n(self) -> int:
        """Return the order of the matrix."""
        return self._inner.n + self._extra

    @property
    def diagonal(self) -> FloatArray:
        """Return Q_ii, then zeros."""
        return self._padded(self._inner.diagonal)

    @property
    def loading(self) -> FloatArray:
        """Return the loading of Q, then zeros."""
        return self._padded(self._inner.loading)

    @property
    def semidefinite_reason(self) -> str:
        """Return the reason why Q is positive semidefinite."""
        return self._inner.semidefinite_reason

    @property
    def diagonal_error(self) -> FloatArray:
        """Return the error of Q's diagonal."""
        return self._padded(self._inner.diagonal_error)

    def product_error(self, a: FloatArray) -> FloatArray:
        """Return the error of products with Q."""
        return self._padded(self._inner.product_error(a[: self._inner.n]))

    def rounded_product(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the product with Q and its error, and zeros."""
        value, error = self._inner.rounded_product(a[: self._inner.n])
        return self._padded(value), self._padded(error)

    def columns(self, indices: IntArray) -> FloatArray:
        """Return the columns of Q, and zeros."""
        columns = np.zeros((self.n, len(indices)))
        inside = np.flatnonzero(np.asarray(indices) < self._inner.n)
        columns[: self._inner.n, inside] = self._inner.columns(np.asarray(indices)[inside])
        return columns

    def product(self, a: FloatArray) -> FloatArray:
        """Return Q a, and zeros."""
        return self._padded(self._inner.product(a[: self._inner.n]))

    def _padded(self, values: FloatArray) -> FloatArray:
        return np.concatenate([values, np.zeros(self._extra)])
