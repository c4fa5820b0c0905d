"""The quadratic term ½x'Px of a standard form: `Quadratic` keeps P dense, sparse, as a factor R of R'R, or as an operator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...errors import InputError
from ..arrays import FloatArray, IntArray, check_bytes
from ..deadline import check_scan
from ..kernels.gram import GramOperator
from ..rounding import Rounded, cancels, dot, gamma, transposed_product
from .convexity import LARGEST_VERIFIED_ORDER, Convexity, Evidence, matrix_convexity
from .csr_rows import CSRRows, csc_triangle, dense_to_csc


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The symmetric matrix P of ½x'Px, perhaps indefinite: dense, sparse, factored as P = R'R, or given by an operator.

    Parameters
    ----------
    matrix : ndarray or csc_array (n, n), optional
        P itself, symmetric.
    factor : ndarray or csr_array (k, n), optional
        R of P = R'R, which is positive semidefinite by construction.
    operator : GramOperator, optional
        Computes columns of P, and products with P, on demand.

    Raises
    ------
    InputError
        Not exactly one of the three, or a ``matrix`` that is not square, symmetric (up to rounding) and finite.
    """

    matrix: FloatArray | sp.csc_array | None = None
    factor: FloatArray | sp.csr_array | None = None
    operator: GramOperator | None = None

    def __post_init__(self) -> None:
        if sum(data is not None for data in (self.matrix, self.factor, self.operator)) != 1:
            raise InputError("give one of the matrix P, its factor R and an operator", name="matrix")
        if self.matrix is not None:
            _check_symmetric(self.matrix)

    @property
    def n(self) -> int:
        """Return the number of variables."""
        if self.operator is not None:
            return self.operator.n
        data = self.matrix if self.matrix is not None else self.factor
        assert data is not None
        return int(data.shape[1])

    @property
    def bytes(self) -> int:
        """Return the bytes that P takes as a matrix."""
        if self.matrix is not None and not isinstance(self.matrix, np.ndarray):
            return int(self.matrix.data.nbytes + self.matrix.indices.nbytes)
        return 8 * self.n**2

    @cached_property
    def materialised(self) -> FloatArray | sp.csc_array:
        """Return P as a matrix, dense or CSC.

        Raises
        ------
        TooLargeError
            It would need more than `models.arrays.materialise_limit` bytes.
        """
        if self.matrix is not None:
            return self.matrix
        check_bytes(self.bytes, "the matrix P of the quadratic objective")
        check_scan(self.bytes // 8)
        if self.operator is not None:
            return self.operator.dense
        assert self.factor is not None
        product = self.factor.T @ self.factor
        return sp.csc_array(product) if sp.issparse(product) else np.asarray(product)

    @cached_property
    def csc(self) -> sp.csc_array:
        """Return P as CSC with sorted indices and without stored zeros; the given matrix itself if it is in that form."""
        stored = self.materialised
        check_scan(stored.size)
        if isinstance(stored, np.ndarray) and stored.all():
            return dense_to_csc(stored)
        if isinstance(stored, sp.csc_array) and stored.has_sorted_indices and stored.data.all():
            return stored
        matrix = sp.csc_array(stored, copy=True)  # it may be shared with other forms
        matrix.eliminate_zeros()
        matrix.sort_indices()
        return matrix

    def submatrix(self, chosen: IntArray) -> FloatArray:
        """Return the chosen rows and columns of P, in ascending order, as a dense matrix."""
        P = self.materialised
        if isinstance(P, np.ndarray):
            return np.asarray(P[np.ix_(chosen, chosen)])
        return (
            CSRRows(P.data, P.indices, P.indptr, self.n).take_rows(chosen).take_columns(chosen).dense()
        )  # symmetric: columns are rows

    @cached_property
    def upper(self) -> sp.csc_matrix:
        """Return the upper triangle of P, as native interfaces take it."""
        return csc_triangle(self._full_or_csc, upper=True)

    @cached_property
    def lower(self) -> sp.csc_matrix:
        """Return the lower triangle of P, by columns."""
        return csc_triangle(self._full_or_csc, upper=False)

    @property
    def _full_or_csc(self) -> FloatArray | sp.csc_array:
        check_scan(self.materialised.size)
        return P if isinstance(P := self.materialised, np.ndarray) and P.all() else self.csc

    @property
    def column_count_bounds(self) -> FloatArray:
        """Return an upper bound of the number of non-zeros of each column of P, without materialising it."""
        P, R = self.matrix, self.factor
        if P is not None and not isinstance(P, np.ndarray):
            return np.diff(P.indptr) * 1.0
        return np.minimum(CSRRows.from_matrix(R).overlap_counts, self.n) if sp.issparse(R) else np.full(self.n, float(self.n))

    @cached_property
    def convexity(self) -> Convexity:
        """Return the evidence for P ⪰ 0: its factor, its kernel's theorem, or a factorisation (`models.program.convexity`)."""
        if self.factor is not None:
            return Convexity(Evidence.CONSTRUCTION, "P = R'R")
        if self.operator is not None:
            if self.operator.semidefinite_reason:
                return Convexity(Evidence.CONSTRUCTION, self.operator.semidefinite_reason)
            if self.n > LARGEST_VERIFIED_ORDER:
                return Convexity(Evidence.UNKNOWN, f"no theorem says so, and order {self.n} is too large to factor")
        return matrix_convexity(self.materialised)

    @cached_property
    def _row_norms(self) -> FloatArray:
        data = self.matrix if self.matrix is not None else self.factor
        assert data is not None
        if isinstance(data, np.ndarray):
            return np.asarray(np.sqrt((data * data).sum(axis=0)))
        if not data.has_canonical_format:
            (data := data.copy()).sum_duplicates()
        squares = np.bincount(data.indices, weights=data.data * data.data, minlength=self.n)
        return np.asarray(np.sqrt(squares))  # of columns; P is symmetric: its rows are its columns

    def evaluate(self, x: FloatArray) -> Rounded:
        """Return x'Px with a bound of its rounding error; ||R x||² where P is factored."""
        if not isinstance(self.factor, np.ndarray):
            return dot(x, *self.rounded_product(x))
        y, error = transposed_product(self.factor.T, x)
        square = dot(y, y)
        return Rounded(square.value, (square.error + 2.0 * float(np.abs(y) @ error) + float(error @ error)) * (1.0 + 1e-9))

    def rounded_product(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return P x and a bound of the error of every entry; where the terms of x'Px cancel, its sums are compensated."""
        if self.operator is not None:
            return self.operator.rounded_product(x)
        product, error = self.product(x), self.product_error(x)
        data = self.matrix if self.matrix is not None else self.factor
        assert data is not None
        if not cancels(x, product, error, data.size):
            return product, error
        if self.matrix is not None:
            return transposed_product(self.matrix, x)  # P is symmetric
        assert self.factor is not None
        inner, inner_error = transposed_product(self.factor.T, x)
        product, error = transposed_product(self.factor, inner)
        return product, error + (1.0 + gamma(inner.size)) * np.asarray(abs(self.factor).T @ inner_error)

    def product_error(self, x: FloatArray) -> FloatArray:
        """Return a bound of |computed - exact| for every entry of `product`."""
        if self.operator is not None:
            return self.operator.product_error(x)
        norm = float(np.linalg.norm(x))
        if self.matrix is not None:
            return np.asarray(gamma(self.n + 8) * self._row_norms * norm)
        assert self.factor is not None
        frobenius = float(np.linalg.norm(self._row_norms))
        return np.asarray(2.0 * gamma(self.n + self.factor.shape[0] + 16) * self._row_norms * frobenius * norm)

    @property
    def diagonal(self) -> FloatArray:
        """Return the diagonal P_jj."""
        if self.operator is not None:
            return self.operator.diagonal
        return np.asarray(self._row_norms**2 if self.matrix is None else self.matrix.diagonal(), dtype=np.float64)

    def product(self, x: FloatArray) -> FloatArray:
        """Return ``P x``, without forming P where it is factored."""
        if self.factor is not None:
            return np.asarray(self.factor.T @ (self.factor @ x))
        if self.operator is not None:
            return self.operator.product(x)
        assert self.matrix is not None
        return np.asarray(self.matrix @ x)


def _exactly_symmetric(P: FloatArray | sp.csc_array) -> bool:
    """Return whether P = P' to the bit, in the order stored; the difference of sparse matrices takes ten times as long."""
    if isinstance(P, np.ndarray):
        return bool(np.array_equal(P, P.T))
    rows = P.tocsr()
    return all(bool((getattr(P, name) == getattr(rows, name)).all()) for name in ("indptr", "indices", "data"))


def _check_symmetric(P: FloatArray | sp.csc_array) -> None:
    data = P if isinstance(P, np.ndarray) else P.data
    if P.ndim != 2 or P.shape[0] != P.shape[1] or not np.isfinite(data).all():
        raise InputError(f"P must be a finite square matrix; its shape is {P.shape}", name="P")
    if _exactly_symmetric(P):
        return
    asymmetry = float(abs(P - P.T).max()) if data.size else 0.0
    if asymmetry > 1e-12 * max(float(np.abs(data).max(initial=0.0)), 1.0):
        raise InputError(f"P must be symmetric; it differs from its transpose by {asymmetry:.3g}", name="P")
