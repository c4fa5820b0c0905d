"""The quadratic term ½x'Px of a standard form (`Quadratic`), and proofs that it is convex (`Convexity`).

`Quadratic` keeps P dense, sparse, as a factor R of R'R, or as an operator. Its convexity is known by construction, or by a
factorisation with an error bound.

A diagonally dominant matrix needs no factorisation (Gershgorin's circles). For others, a Cholesky factorisation that succeeds
proves that the matrix is positive semidefinite up to a shift. P is scaled by powers of two, without rounding, to H of order m
with a diagonal between ½ and 2; the computed factor then belongs to a matrix within γ_{m+1}·trace(H) of H, with γ_k = k u/(1 -
k u) and u the unit roundoff (Demmel; Rump, *Verification of positive definiteness*, 2006). With t that error, a factorisation
of H - tI proves H ⪰ 0. A factorisation of H + tI proves H ⪰ -2tI, so P + diag(δ) ⪰ 0 for a known δ of rounding size, which a
bound over bounded variables subtracts. Small singular matrices are decided in rational arithmetic, and a direction of negative
curvature is kept as a witness. With equality rows A x = b only the directions with A d = 0 count: P + ρA'A ⪰ 0 for some ρ is
enough.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ...errors import InputError
from ..arrays import BoolArray, FloatArray, IntArray, blas_threads, check_bytes, to_dense
from ..deadline import check_scan
from ..kernels.gram import GramOperator
from ..rounding import Rounded, cancels, dot, gamma, transposed_product
from .csr_rows import CSRRows, csc_triangle, dense_to_csc

#: Order up to which a matrix is factored for a proof: 3,000³/3 operations take about a second.
LARGEST_VERIFIED_ORDER = 3000
#: Shares of the scaled diagonal that are tried as a lower bound of the curvature.
_SHARES = (0.25, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
#: A matrix with a diagonal entry up to this is not scaled: the squares of such scales are infinite.
_LEAST_SCALED = 2.0**-1000
#: Order up to which a matrix that float64 leaves open is decided in rational arithmetic.
_RATIONAL = 14


class Evidence(enum.Enum):
    """The argument by which a quadratic is known to be convex."""

    CONSTRUCTION = "by construction"
    VERIFIED = "verified"
    UNKNOWN = "not known"
    NEGATIVE = "negative curvature found"


@dataclass(frozen=True, eq=False)
class Convexity:
    """The evidence for or against the convexity of ½x'Px, that is, d'Pd ≥ 0 for all d.

    Parameters
    ----------
    evidence : Evidence
        Whether and how convexity is known.
    argument : str
        The argument, in words.
    deficit : ndarray (n,), optional
        δ ≥ 0 with d'Pd ≥ -Σδ_j d_j² - ρ||A d||² for all d; zero where it is not given.
    penalty : float
        ρ; zero unless only directions with A d = 0 count, A the equality rows.
    witness : ndarray (n,), optional
        A direction d with d'Pd < 0.
    curvature : float, optional
        d'Pd/d'd of the witness.
    """

    evidence: Evidence
    argument: str
    deficit: FloatArray | None = None
    penalty: float = 0.0
    witness: FloatArray | None = None
    curvature: float | None = None

    @property
    def is_proved(self) -> bool:
        """Return whether the quadratic is proved convex, up to the deficit."""
        return self.evidence in (Evidence.CONSTRUCTION, Evidence.VERIFIED)

    @property
    def is_exact(self) -> bool:
        """Return whether the quadratic is proved convex in exact arithmetic, without deficit or penalty."""
        return self.is_proved and self.deficit is None and self.penalty == 0.0

    @property
    def is_refuted(self) -> bool:
        """Return whether a direction of negative curvature is known."""
        return self.evidence is Evidence.NEGATIVE

    @property
    def largest_deficit(self) -> float:
        """Return max δ_j of the deficit; 0 without one."""
        return 0.0 if self.deficit is None else float(self.deficit.max(initial=0.0))

    @property
    def condition(self) -> str:
        """Return the condition, a clause with "if", under which a bound holds; empty where convexity is proved."""
        return "" if self.is_proved else f"if P is positive semidefinite, which is {self.evidence.value}: {self.argument}"


def _sums(P: FloatArray | sp.csc_array) -> FloatArray:
    """Return Σ_j |P_ij| for each row i."""
    if isinstance(P, np.ndarray):
        return np.asarray(np.abs(P).sum(axis=1))
    return np.asarray(np.bincount(P.indices, weights=np.abs(P.data), minlength=P.shape[0]), dtype=np.float64)


def matrix_convexity(P: FloatArray | sp.csc_array) -> Convexity:
    """Return the evidence that a symmetric matrix is positive semidefinite."""
    n = int(P.shape[0])
    diagonal = np.asarray(P.diagonal(), dtype=np.float64)
    sums = _sums(P) - np.abs(diagonal)
    if (diagonal >= sums * (1.0 + gamma(n))).all():
        return Convexity(Evidence.VERIFIED, "P is diagonally dominant")
    evidence = _two_by_two(P, diagonal, sums)
    if evidence is not None:
        return evidence
    nonzero = np.flatnonzero(sums + np.abs(diagonal))
    if nonzero.size > LARGEST_VERIFIED_ORDER:
        return Convexity(
            Evidence.UNKNOWN, f"P has order {nonzero.size}; up to {LARGEST_VERIFIED_ORDER} it is factored to find out"
        )
    block = P[nonzero][:, nonzero]
    dense = to_dense(block).astype(np.float64)
    scale = np.exp2(-np.round(0.5 * np.log2(diagonal[nonzero])))
    with blas_threads(nonzero.size):
        return _decide(dense * scale * scale[:, None], scale, nonzero, n)


def convexity_on_equalities(P: FloatArray, A: FloatArray) -> Convexity | None:
    """Return the evidence that P is convex on the directions with A d = 0, from P + ρA'A; None without a proof."""
    norms = np.linalg.norm(A, axis=1)
    largest = float(np.abs(P).max(initial=0.0))
    if not largest > 0.0 or not (norms > 0.0).all():
        return None
    for factor in (1.0, 64.0):
        penalty = factor * largest / float((norms**2).min()) * max(1.0, float(A.shape[1]) / float((A != 0.0).sum(axis=1).min()))
        raised = matrix_convexity(P + penalty * (A.T @ A))
        if raised.is_proved:
            rounding = gamma(A.shape[0] + 4) * (np.abs(P).max() + penalty * float((np.abs(A).T @ np.abs(A)).max())) * A.shape[1]
            deficit = (0.0 if raised.deficit is None else raised.deficit) + np.full(P.shape[0], rounding)
            return Convexity(Evidence.VERIFIED, "P is positive semidefinite where the equalities hold", deficit, penalty)
    return None


def curvature_bounds(
    P: FloatArray | sp.csc_array, chosen: BoolArray, rounding: float = 0.0
) -> tuple[FloatArray, FloatArray] | None:
    """Return ℓ ≥ 0 and δ ≥ 0 with d'Pd ≥ Σℓ_j d_j² - Σδ_j d_j² for all d; None without a proof.

    ℓ_j is positive for chosen variables and zero for others, δ_j zero for chosen variables; both are zero where the row of P is.
    ``rounding`` bounds the error of P itself, relative to √(P_ii P_jj), summed over a row.
    """
    n = int(P.shape[0])
    diagonal = np.asarray(P.diagonal(), dtype=np.float64)
    sums = _sums(P) - np.abs(diagonal)
    nonzero = np.flatnonzero(sums + np.abs(diagonal))
    inside = chosen[nonzero]
    if not inside.any() or (diagonal[nonzero] <= _LEAST_SCALED).any() or nonzero.size > LARGEST_VERIFIED_ORDER:
        return None if nonzero.size == 0 or not (diagonal >= sums).all() else _dominant(diagonal, sums, chosen, rounding)
    if not sums[nonzero].any():
        return _dominant(diagonal, sums, chosen, rounding)
    block = P[nonzero][:, nonzero]
    dense = to_dense(block).astype(np.float64)
    scale = np.exp2(-np.round(0.5 * np.log2(diagonal[nonzero])))
    H = dense * scale * scale[:, None]
    shift = 2.0 * gamma(nonzero.size + 2) * float(np.trace(H)) + 2.0 * rounding
    for mu in _SHARES:
        if mu <= 4.0 * shift:
            break
        shifted = H.copy()
        shifted[np.diag_indices(nonzero.size)] += np.where(inside, -mu - shift, shift)
        if _factors(shifted, 0.0):
            smallest, deficit = np.zeros(n), np.zeros(n)
            smallest[nonzero] = np.where(inside, 0.999 * mu / scale**2, 0.0)
            deficit[nonzero] = np.where(inside, 0.0, 3.0 * shift / scale**2)
            return smallest, deficit
    return None


def _dominant(diagonal: FloatArray, sums: FloatArray, chosen: BoolArray, rounding: float) -> tuple[FloatArray, FloatArray] | None:
    """Return `curvature_bounds` by Gershgorin's circles, ℓ_j = P_jj - Σ_{k≠j} |P_jk|; None unless they are positive."""
    row_bounds = (diagonal - sums * (1.0 + gamma(diagonal.size))) * (1.0 - 1e-12) - rounding * diagonal
    if not (row_bounds[chosen & (diagonal > 0.0)] > 0.0).all() or (row_bounds < 0.0).any():
        return None
    return np.where(chosen, row_bounds, 0.0), np.zeros(diagonal.size)


def _two_by_two(P: FloatArray | sp.csc_array, diagonal: FloatArray, sums: FloatArray) -> Convexity | None:
    """Return a witness on one or two variables, from a negative diagonal entry, or a zero one in a row that is not zero."""
    n = diagonal.size
    witness = np.zeros(n)
    if (diagonal < 0.0).any():
        j = int(np.argmin(diagonal))
        witness[j] = 1.0
        return _negative(witness, float(diagonal[j]))
    flat = np.flatnonzero((diagonal == 0.0) & (sums > 0.0))
    if not flat.size:
        return None
    j = int(flat[0])
    row = P[[j]]
    values = to_dense(row).ravel()
    k = int(np.argmax(np.abs(values)))
    slope, diagonal_entry = float(values[k]), float(diagonal[k])
    step = -np.sign(slope) * max(1.0, diagonal_entry / abs(slope))
    witness[j], witness[k] = step, 1.0
    return _negative(witness, (2.0 * step * slope + diagonal_entry) / (1.0 + step * step))


def _decide(H: FloatArray, scale: FloatArray, indices: IntArray, n: int) -> Convexity:
    """Return the evidence for P from the scaled matrix H, diagonal in [½, 2], of the variables ``indices`` out of n."""
    m = H.shape[0]
    shift = 2.0 * gamma(m + 2) * float(np.trace(H))
    if _factors(H, -shift):
        return Convexity(Evidence.VERIFIED, "P is positive definite: its Cholesky factor exists beyond rounding")
    if m <= _RATIONAL and is_semidefinite([[Fraction(v) for v in row] for row in H.tolist()]):
        return Convexity(Evidence.VERIFIED, "P is positive semidefinite: factored in rational arithmetic")
    if m > _RATIONAL and _factors(H, shift):
        deficit = np.zeros(n)
        deficit[indices] = 3.0 * shift / scale / scale
        return Convexity(Evidence.VERIFIED, f"P is positive semidefinite up to {3.0 * shift:.1e} of its diagonal", deficit)
    values, vectors = scipy.linalg.eigh(H, subset_by_index=(0, 0))
    v = vectors[:, 0]
    curvature = dot(v, H @ v, gamma(m) * (np.abs(H) @ np.abs(v)))
    if curvature.upper < 0.0:
        witness, largest = np.zeros(n), float(np.abs(scale * v).max())
        witness[indices] = scale * v / largest
        return _negative(witness, curvature.value / largest / largest / float(witness @ witness))
    return Convexity(Evidence.UNKNOWN, f"its smallest eigenvalue, {float(values[0]):.1e} of its diagonal, is lost in rounding")


def _negative(witness: FloatArray, curvature: float) -> Convexity:
    return Convexity(
        Evidence.NEGATIVE, f"P is not positive semidefinite: d'Pd/d'd = {curvature:.4g}", witness=witness, curvature=curvature
    )


def _factors(H: FloatArray, shift: float) -> bool:
    shifted = H.copy()
    shifted[np.diag_indices(H.shape[0])] += shift
    try:
        scipy.linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True


def is_semidefinite(S: Sequence[Sequence[Fraction]]) -> bool:
    """Return whether a symmetric matrix is S ⪰ 0, by the pivots of LDL': all nonnegative, and zero only with a zero column."""
    rows = [list(row) for row in S]
    for k, pivot_row in enumerate(rows):
        pivot = pivot_row[k]
        if pivot < 0 or (pivot == 0 and any(row[k] for row in rows[k + 1 :])):
            return False
        for row in rows[k + 1 :]:
            if row[k]:
                factor = row[k] / pivot
                row[k + 1 :] = [x - factor * y for x, y in zip(row[k + 1 :], pivot_row[k + 1 :], strict=True)]
    return True


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
        """Return the evidence for P ⪰ 0: its factor, its kernel's theorem, or a factorisation (`matrix_convexity`)."""
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
