"""Factors of the quadratics ½u'Hu of nonparallel class problems, computed once, with bounds of their rounding errors.

`HingeQuadratic` is min ½u'Hu + b'u + losses of Gu, and its dual over λ (m,) has the matrix GH⁻¹G'. Each factor stands for H
(p × p, positive definite) and the rows G = (g_j') (m × p) of the losses. `HingeFactor` holds both as matrices, `PointsFactor` and
`SignedFactor` take them from kernel rows that all classes share, and `DowndatedFactor` subtracts κPP' from H.
All have ``shape`` (m, p), ``times`` Gu, ``rmatvec`` G'λ, ``quadratic`` u'Hu, ``solve`` H⁻¹b, and of the dual's matrix
ZZ' = GH⁻¹G' either Z or, from p ≥ m on, ``gram`` = ZZ' itself; ``H`` and ``G`` are built where a form needs them.

*Rounding.* H = R + A'A with a regulariser R, and Hu and u'Hu are computed from R and A. Where two columns of A are nearly equal,
u may be large along a direction in which Au is small: u'Hu computed from H loses digits that ||Au||² keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrs

from ....errors import InputError
from ...arrays import BoolArray, FloatArray, as_array
from ...program.csr_rows import CSRRows
from ...program.quadratic import Quadratic, curvature_bounds
from ...rounding import UNIT, Rounded, dot, gamma
from ...views import CoarseFactor


def _cholesky(matrix: FloatArray, *, overwrite: bool = False) -> FloatArray:
    """Return the lower Cholesky factor.

    Raises
    ------
    numpy.linalg.LinAlgError
        The matrix is not finite, or not positive definite; a solver's run ends there as failed.
    """
    if not np.isfinite(matrix).all():
        raise np.linalg.LinAlgError("numbers overflow in the quadratic of a class's problem")
    return np.asarray(scipy.linalg.cholesky(matrix, lower=True, overwrite_a=overwrite, check_finite=False))


@dataclass(frozen=True, eq=False)
class QuadraticProduct:
    """The product Hu and the value u'Hu, with bounds of their rounding errors.

    Parameters
    ----------
    product : ndarray (p,)
        Hu.
    error : float
        A bound of the norm of Hu's rounding error.
    quadratic : Rounded
        u'Hu with its error bound.
    """

    product: FloatArray
    error: float
    quadratic: Rounded


@dataclass(frozen=True, eq=False)
class Ridge:
    """The regulariser R = rI of a class's quadratic, with the number r > 0."""

    r: float

    def quadratic_product(self, u: FloatArray) -> QuadraticProduct:
        """Return ru and r||u||² with the errors of their evaluation."""
        return QuadraticProduct(self.r * u, UNIT * self.r * float(np.linalg.norm(u)) * (1.0 + 1e-9), dot(u, u).times(self.r))

    def dense(self, size: int) -> FloatArray:
        """Return rI of this order."""
        return self.r * np.eye(size)

    def diagonal_lower_bound(self, size: int) -> FloatArray | None:
        """Return ℓ > 0 with R ⪰ diag(ℓ): r, whatever the order."""
        return np.full(size, self.r)

    def solve(self, b: FloatArray) -> FloatArray:
        """Return R⁻¹b."""
        return b / self.r

    def inverse_gram(self, psi: FloatArray, gram: FloatArray) -> FloatArray:
        """Return ΨR⁻¹Ψ' of rows Ψ with ΨΨ' = ``gram``."""
        return gram / self.r


@dataclass(frozen=True, eq=False)
class DenseRegulariser:
    """A regulariser R of a class's quadratic as a dense positive definite ``matrix`` (p, p), as with a neighbour graph."""

    matrix: FloatArray

    def quadratic_product(self, u: FloatArray) -> QuadraticProduct:
        """Return Ru and u'Ru with the errors of their evaluation."""
        product = self.matrix @ u
        error = gamma(u.size) * (np.abs(self.matrix) @ np.abs(u)) * (1.0 + 1e-12)
        return QuadraticProduct(product, float(np.linalg.norm(error)) * (1.0 + 1e-9), dot(u, product, error))

    @cached_property
    def cholesky(self) -> FloatArray:
        """Return the lower L of R = LL'."""
        try:
            return _cholesky(self.matrix)
        except np.linalg.LinAlgError as error:
            raise InputError("the quadratic of the problem is not positive definite: give a larger r or a smaller μ") from error

    def dense(self, size: int) -> FloatArray:
        """Return R; ``size`` is its order."""
        return self.matrix

    def diagonal_lower_bound(self, size: int) -> FloatArray | None:
        """Return ℓ > 0 with R ⪰ diag(ℓ), verified; None where rounding leaves it open."""
        factor = curvature_bounds(self.matrix, np.ones(size, dtype=bool))
        return None if factor is None or not (factor[0] > 0.0).all() else factor[0]

    def solve(self, b: FloatArray) -> FloatArray:
        """Return R⁻¹b."""
        return np.asarray(scipy.linalg.cho_solve((self.cholesky, True), b, check_finite=False))

    def inverse_gram(self, psi: FloatArray, gram: FloatArray) -> FloatArray:
        """Return ΨR⁻¹Ψ' of rows Ψ with ΨΨ' = ``gram``."""
        half = scipy.linalg.solve_triangular(self.cholesky, psi.T, lower=True)
        return np.asarray(half.T @ half)


def quadratic_product(
    f: FloatArray, norms: FloatArray, transposed: FloatArray, u: FloatArray, regulariser: Ridge | DenseRegulariser
) -> QuadraticProduct:
    """Return (R + A'A)u and its quadratic form, with error bounds, from f = Au, the ``norms`` of A's rows and A'f."""
    base_product, size = regulariser.quadratic_product(u), float(np.linalg.norm(u)) * (1.0 + 1e-12)
    frobenius = float(np.linalg.norm(norms))
    rounding = gamma(u.size) * frobenius * size  # of f
    error = frobenius * (rounding + gamma(f.size) * (float(np.linalg.norm(f)) + rounding)) + base_product.error
    product = transposed + base_product.product
    error += UNIT * float(np.linalg.norm(product))
    square = dot(f, f)
    square = Rounded(square.value, square.error + 2.0 * float(np.linalg.norm(f)) * rounding + rounding * rounding)
    return QuadraticProduct(product, error * (1.0 + 1e-9), square + base_product.quadratic)


@dataclass(frozen=True, eq=False)
class KernelRows:
    """Kernel features of all points, which the quadratics of all classes share, and their regulariser R.

    Parameters
    ----------
    psi : ndarray (n, n)
        Ψ, lower triangular.
    gram : ndarray (n, n)
        K̃ = ΨΨ'.
    base : Ridge or DenseRegulariser
        R; `PointsFactor` reads rI alone.
    """

    psi: FloatArray
    gram: FloatArray
    base: Ridge | DenseRegulariser

    @property
    def r(self) -> float:
        """Return r where R = rI; not defined for a `DenseRegulariser`."""
        assert isinstance(self.base, Ridge)
        return self.base.r

    @cached_property
    def norms(self) -> FloatArray:
        """Return bounds of the norms of Ψ's rows."""
        return np.linalg.norm(self.psi, axis=1) * (1.0 + 1e-12)

    @cached_property
    def inverse(self) -> FloatArray:
        """Return (K̃ + rI)⁻¹, which a `PointsFactor` with few points outside its set A needs."""
        shifted = self.gram.copy()
        shifted[np.diag_indices(self.gram.shape[0])] += self.r
        return _inverse(shifted)

    @cached_property
    def products(self) -> FloatArray:
        """Return ΨR⁻¹Ψ', from which the duals with H = R take their entries."""
        return self.base.inverse_gram(self.psi, self.gram)


@dataclass(frozen=True, eq=False)
class PointsFactor:
    """The factor of H = Ψ_A'Ψ_A + rI and G = Ψ_B, A and B = not A sets of the points: no n × n matrix for each class but ZZ'
    itself.

    With A the smaller set, ZZ' = (K̃_BB - K̃_BA(K̃_AA + rI)⁻¹K̃_AB)/r; with B the smaller, ZZ' = [((K̃ + rI)⁻¹)_BB]⁻¹/r - I. So
    one class costs O(min(|A|, |B|) |B|²) operations and |B|² numbers.

    Parameters
    ----------
    rows : KernelRows
        Ψ, K̃ and R of all points.
    near_points : ndarray of bool (n,)
        The set A.
    """

    rows: KernelRows
    near_points: BoolArray

    @cached_property
    def is_near_smaller(self) -> bool:
        """Return whether A is the smaller set."""
        return 2 * int(self.near_points.sum()) <= self.near_points.size

    @property
    def shape(self) -> tuple[int, int]:
        """Return (|B|, n)."""
        return int((~self.near_points).sum()), int(self.near_points.size)

    @property
    def H(self) -> FloatArray:
        """Return H as a matrix, built when asked for."""
        A = self.rows.psi[self.near_points]
        H = A.T @ A
        H[np.diag_indices(H.shape[0])] += self.rows.r
        return H

    @property
    def G(self) -> FloatArray:
        """Return Ψ_B, copied."""
        return np.asarray(self.rows.psi[~self.near_points])

    @property
    def Z(self) -> FloatArray:
        """Return a factor of ZZ', m × m, built when asked for."""
        return _cholesky(self.gram)

    @cached_property
    def _small(self) -> FloatArray:
        """Cholesky factor of K̃_AA + rI, or of r((K̃ + rI)⁻¹)_BB: the smaller set's."""
        if self.is_near_smaller:
            small = self.rows.gram[np.ix_(self.near_points, self.near_points)]
            small[np.diag_indices(small.shape[0])] += self.rows.r
        else:
            small = self.rows.r * self.rows.inverse[np.ix_(~self.near_points, ~self.near_points)]
        return _cholesky(small, overwrite=True)

    @cached_property
    def gram(self) -> FloatArray:
        """Return ZZ', m × m."""
        if self.is_near_smaller:
            cross = scipy.linalg.solve_triangular(
                self._small, self.rows.gram[np.ix_(self.near_points, ~self.near_points)], lower=True
            )
            Q = self.rows.gram[np.ix_(~self.near_points, ~self.near_points)]
            Q -= cross.T @ cross  # of a matrix with itself: half of the work of a product
            Q /= self.rows.r
            return Q
        Q = np.asarray(scipy.linalg.cho_solve((self._small, True), np.eye(self.shape[0]), overwrite_b=True))
        Q[np.diag_indices(Q.shape[0])] -= 1.0
        return Q

    def times(self, u: FloatArray) -> FloatArray:
        """Return Ψ_B u."""
        return np.asarray((self.rows.psi @ u)[~self.near_points])

    def rmatvec(self, lam: FloatArray) -> FloatArray:
        """Return Ψ_B'λ."""
        return np.asarray(self.rows.psi.T @ self._spread(lam, ~self.near_points))

    def quadratic(self, u: FloatArray) -> float:
        """Return ||Ψ_A u||² + r||u||²."""
        f = (self.rows.psi @ u)[self.near_points]
        return float(f @ f) + self.rows.r * float(u @ u)

    @property
    def diagonal_lower_bound(self) -> FloatArray:
        """Return ℓ with H ⪰ diag(ℓ): r, whatever Ψ is."""
        return np.full(self.near_points.size, self.rows.r)

    @cached_property
    def row_norms(self) -> FloatArray:
        """Return bounds of ||g_j||."""
        return self.rows.norms[~self.near_points]

    def quadratic_product(self, u: FloatArray) -> QuadraticProduct:
        """Return Hu and u'Hu with the errors of their evaluation."""
        f = self.rows.psi @ u
        f[~self.near_points] = 0.0
        return quadratic_product(f, self.rows.norms[self.near_points], self.rows.psi.T @ f, u, Ridge(self.rows.r))

    def solve(self, b: FloatArray) -> FloatArray:
        """Return H⁻¹ b, of a vector or of columns."""
        return solve_each([self], b[None])[0] if b.ndim == 1 else _solve(self.rows, [self], [b])[0]

    def weights(self, F: FloatArray, smooth: FloatArray | None) -> FloatArray:
        """Return z with z_B = 0 and z_A = (K̃_AA + rI)⁻¹F_A, or, given ``smooth`` = (K̃ + rI)⁻¹F, the vector (K̃ + rI)z.

        The latter is for a smaller set B: (K̃ + rI)z = F - s with s_A = 0 and s_B = [((K̃ + rI)⁻¹)_BB]⁻¹((K̃ + rI)⁻¹F)_B.
        """
        if smooth is None:
            return self._spread(
                scipy.linalg.cho_solve((self._small, True), F[self.near_points], check_finite=False), self.near_points
            )
        solution = scipy.linalg.cho_solve((self._small, True), smooth[~self.near_points], check_finite=False)
        return np.asarray(F - self._spread(self.rows.r * solution, ~self.near_points))

    def _spread(self, values: FloatArray, mask: BoolArray) -> FloatArray:
        """Return the values at the points of the mask, zeros elsewhere."""
        spread = np.zeros((self.near_points.size, *values.shape[1:]))
        spread[mask] = values
        return spread


def solve_each(factors: Sequence[PointsFactor], B: FloatArray) -> FloatArray:
    """Return H_k⁻¹ b_k, one row of B (K, n) for each factor of the same kernel rows: one pass over Ψ and the inverse for all of
    them.
    """
    columns = _solve(factors[0].rows, factors, [b[:, None] for b in B])
    return np.stack([column[:, 0] for column in columns])


def rmatvec_each(factors: Sequence[PointsFactor], lams: Sequence[FloatArray]) -> FloatArray:
    """Return Ψ_B'λ of every factor and its λ, (K, n); the factors have the same kernel rows."""
    gradients = np.zeros((len(factors), factors[0].near_points.size))
    for row, factor, lam in zip(gradients, factors, lams, strict=True):
        row[~factor.near_points] = lam
    return np.asarray(gradients @ factors[0].rows.psi)


def _solve(rows: KernelRows, factors: Sequence[PointsFactor], blocks: Sequence[FloatArray]) -> list[FloatArray]:
    """Return H_k⁻¹ times each block of columns, refined until the residual is a rounding error, at most twice."""
    ends = np.cumsum([0, *(block.shape[1] for block in blocks)])
    parts = [slice(*pair) for pair in pairwise(ends.tolist())]
    B = np.column_stack(list(blocks))
    X = _once(rows, factors, parts, B)
    for _ in range(2):
        F = rows.psi @ X
        for factor, part in zip(factors, parts, strict=True):
            F[~factor.near_points, part] = 0.0
        residual = B - rows.psi.T @ F - rows.r * X
        if (np.linalg.norm(residual, axis=0) <= 1e-13 * np.linalg.norm(B, axis=0)).all():
            break
        X += _once(rows, factors, parts, residual)
    return [X[:, part] for part in parts]


def _once(rows: KernelRows, factors: Sequence[PointsFactor], parts: Sequence[slice], B: FloatArray) -> FloatArray:
    """H⁻¹b = (b - Ψ'z)/r, z = (K̃_AA + rI)⁻¹(Ψb)_A at the points A and zero elsewhere."""
    F = rows.psi @ B
    smooth = None if all(factor.is_near_smaller for factor in factors) else rows.inverse @ F
    z = np.column_stack(
        [
            factor.weights(F[:, part], None if factor.is_near_smaller or smooth is None else smooth[:, part])
            for factor, part in zip(factors, parts, strict=True)
        ]
    )
    if smooth is not None:
        wide = np.concatenate(
            [np.full(part.stop - part.start, not factor.is_near_smaller) for factor, part in zip(factors, parts, strict=True)]
        )
        z[:, wide] = rows.inverse @ z[:, wide]
        for factor, part in zip(factors, parts, strict=True):
            z[~factor.near_points, part] = 0.0
    return np.asarray((B - rows.psi.T @ z) / rows.r)


def _inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse of a positive definite matrix, which is overwritten."""
    factor, _ = scipy.linalg.lapack.dpotrf(matrix.T, lower=1, overwrite_a=1)  # .T: in Fortran's order, no copy
    inverse, info = scipy.linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    if info != 0:
        raise InputError("the kernel matrix plus r1 is not positive definite: give a larger r1 or ridge", name="ridge")
    for i in range(inverse.shape[0] - 1):
        inverse[i, i + 1 :] = inverse[i + 1 :, i]
    return np.asarray(inverse)


@dataclass(frozen=True, eq=False)
class SignedFactor:
    """The factor of H = R and G, whose row j is ``signs[j]`` times ψ_i of point i = ``points[j]``; a point may have several rows.

    ZZ' = GH⁻¹G' has the entries of ΨH⁻¹Ψ' with signs, so a class costs no product of matrices: m² numbers are copied.

    Parameters
    ----------
    rows : KernelRows
        Ψ, whose rows are ψ_i, and R of all points.
    points : ndarray of int (m,)
        The point whose row ψ_i row j of G is.
    signs : ndarray (m,)
        +1 or -1.
    """

    rows: KernelRows
    points: npt.NDArray[np.intp]
    signs: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Return (m, n)."""
        return int(self.points.size), self._point_count

    @property
    def _point_count(self) -> int:
        return int(self.rows.psi.shape[0])

    @property
    def H(self) -> FloatArray:
        """Return H as a matrix, built when asked for."""
        return self.rows.base.dense(self._point_count)

    @property
    def G(self) -> FloatArray:
        """Return G as a matrix, built when asked for."""
        return np.asarray(self.signs[:, None] * self.rows.psi[self.points])

    @property
    def Z(self) -> FloatArray:
        """Return G L^{-T} with H = LL', built when asked for."""
        root = _cholesky(self.H)
        return np.ascontiguousarray(scipy.linalg.solve_triangular(root, self.G.T, lower=True).T)

    @cached_property
    def gram(self) -> FloatArray:
        """Return ZZ', m × m."""
        Q = self.rows.products[np.ix_(self.points, self.points)]
        Q *= self.signs
        Q *= self.signs[:, None]
        return Q

    def times(self, u: FloatArray) -> FloatArray:
        """Return Gu, of a vector or of columns."""
        f = (self.rows.psi @ u)[self.points]
        return np.asarray(self.signs * f if f.ndim == 1 else self.signs[:, None] * f)

    def rmatvec(self, lam: FloatArray) -> FloatArray:
        """Return G'λ."""
        return np.asarray(self.rows.psi.T @ np.bincount(self.points, self.signs * lam, minlength=self._point_count))

    def quadratic(self, u: FloatArray) -> float:
        """Return u'Hu."""
        return self.rows.base.quadratic_product(u).quadratic.value

    @property
    def diagonal_lower_bound(self) -> FloatArray | None:
        """Return ℓ > 0 with H ⪰ diag(ℓ), verified; None where rounding leaves it open."""
        return self.rows.base.diagonal_lower_bound(self._point_count)

    @property
    def row_norms(self) -> FloatArray:
        """Return bounds of ||g_j||."""
        return self.rows.norms[self.points]

    def quadratic_product(self, u: FloatArray) -> QuadraticProduct:
        """Return Hu and u'Hu with the errors of their evaluation."""
        return self.rows.base.quadratic_product(u)

    def solve(self, b: FloatArray) -> FloatArray:
        """Return H⁻¹ b, of a vector or of columns."""
        return self.rows.base.solve(b)


#: Columns from which on Z is worth computing in single precision first, and the ratio of L's diagonal up to which that is tried.
_COARSE, _SPREAD = 64, 1e4


@dataclass(frozen=True, eq=False)
class FormParts:
    """The parts of a standard form over (u, ξ) that H and G determine: ``quadratic`` ½u'Hu, and the margins' ``rows`` [G, I]."""

    quadratic: Quadratic
    rows: sp.csr_array

    @classmethod
    def of(cls, H: FloatArray, G: FloatArray) -> FormParts:
        """Return the parts for these H and G."""
        m, p = G.shape
        rows = CSRRows.hstack([(CSRRows.from_matrix(G), 0), (CSRRows.identity(m), p)], m, p + m)
        entries = CSRRows.from_matrix(0.5 * (H + H.T))  # symmetric: its rows are its columns
        ends = np.concatenate([entries.indptr, np.full(m, entries.indptr[-1])])
        return cls(Quadratic(matrix=sp.csc_array((entries.data, entries.indices, ends), shape=(p + m, p + m))), rows.csr)


@dataclass(frozen=True, eq=False)
class HingeFactor:
    """The factor of dense H = LL' with Z = G L^{-T}, computed once and shared by every problem with the same H and G.

    Parameters
    ----------
    H : ndarray (p, p)
        Symmetric positive definite.
    G : ndarray (m, p)
        Rows of the losses.
    root, base : ndarray (k, p), Ridge or DenseRegulariser, optional
        A and R where H was computed as R + A'A: bounds are then of that program, not of the rounded H.
    """

    H: FloatArray
    G: FloatArray
    root: FloatArray | None = None
    base: Ridge | DenseRegulariser | None = None

    def __post_init__(self) -> None:
        for name in ("H", "G"):
            matrix = as_array(getattr(self, name), name)
            if matrix.ndim != 2 or not np.isfinite(matrix).all():
                raise InputError(f"{name} must be a finite matrix; its shape is {matrix.shape}", name=name)
            object.__setattr__(self, name, matrix)

    @property
    def shape(self) -> tuple[int, int]:
        """Return (m, p)."""
        return int(self.G.shape[0]), int(self.G.shape[1])

    @cached_property
    def cholesky(self) -> FloatArray:
        """Return the lower L."""
        try:
            return _cholesky(self.H)
        except np.linalg.LinAlgError as error:
            raise InputError(
                "the quadratic of the problem is not positive definite: give a larger regularisation (r, r1, r2)", name="r"
            ) from error

    @cached_property
    def Z(self) -> FloatArray:
        """Return G L^{-T}, (m, p): ZZ' = G H⁻¹ G'."""
        return np.ascontiguousarray(scipy.linalg.solve_triangular(self.cholesky, self.G.T, lower=True).T)

    @property
    def coarse(self) -> CoarseFactor | None:
        """Return Z in single precision, where Z is wide enough to be most of the work and not known yet, and L well conditioned;
        else None.

        It refers to this object and so is not kept here: a circle of references would outlive the problem.
        """
        return None if self._rounded is None else CoarseFactor(self._rounded, self._product, lambda: self.Z)

    @cached_property
    def _rounded(self) -> npt.NDArray[np.float32] | None:
        m, p = self.shape
        if not _COARSE <= p < m or "Z" in vars(self):
            return None
        diagonal = np.diagonal(self.cholesky)
        if diagonal.max() > _SPREAD * diagonal.min():
            return None
        with np.errstate(over="ignore"):  # single precision may overflow where double does not
            L, rows = self.cholesky.astype(np.float32), self.G.T.astype(np.float32)
        Z = np.ascontiguousarray(scipy.linalg.blas.strsm(1.0, L, rows, lower=1, overwrite_b=1).T)
        return Z if np.isfinite(Z).all() else None

    @cached_property
    def form_parts(self) -> FormParts:
        """Return the form's parts of H and G, kept: an algorithm's steps differ in b alone."""
        return FormParts.of(self.H, self.G)

    def _product(self, a: FloatArray) -> FloatArray:
        """Return GH⁻¹G'a."""
        return self.times(self.solve(self.rmatvec(a)))

    @cached_property
    def gram(self) -> FloatArray | None:
        """Return ZZ' where Z has at least as many columns as rows; else None."""
        return np.asarray(self.Z @ self.Z.T) if self.G.shape[0] <= self.G.shape[1] else None

    def times(self, u: FloatArray) -> FloatArray:
        """Return Gu."""
        return np.asarray(self.G @ u)

    def rmatvec(self, lam: FloatArray) -> FloatArray:
        """Return G'λ."""
        return np.asarray(self.G.T @ lam)

    def quadratic(self, u: FloatArray) -> float:
        """Return u'Hu."""
        return float(u @ self.H @ u)

    @cached_property
    def diagonal_lower_bound(self) -> FloatArray | None:
        """Return ℓ > 0 with H ⪰ diag(ℓ), verified; None where rounding leaves it open."""
        return (DenseRegulariser(self.H) if self.base is None else self.base).diagonal_lower_bound(self.H.shape[0])

    @cached_property
    def row_norms(self) -> FloatArray:
        """Return bounds of ||g_j||."""
        return np.asarray(np.linalg.norm(self.G, axis=1) * (1.0 + 1e-12))

    @cached_property
    def _root_norms(self) -> FloatArray:
        assert self.root is not None
        return np.asarray(np.linalg.norm(self.root, axis=1) * (1.0 + 1e-12))

    def quadratic_product(self, u: FloatArray) -> QuadraticProduct:
        """Return Hu and u'Hu with the errors of their evaluation."""
        if self.root is None or self.base is None:
            return DenseRegulariser(self.H).quadratic_product(u)
        f = self.root @ u
        return quadratic_product(f, self._root_norms, self.root.T @ f, u, self.base)

    def solve(self, b: FloatArray) -> FloatArray:
        """Return H⁻¹ b."""
        return np.asarray(dpotrs(self.cholesky, b, lower=1)[0])  # LAPACK's own: on small systems SciPy's checks take longer


@dataclass(frozen=True, eq=False)
class DowndatedFactor:
    """The factor of H - κPP' (P'P = I, κ below H's least eigenvalue) with the same G, from the factor of H without another
    Cholesky.

    (H - κPP')⁻¹ = H⁻¹ + H⁻¹P M⁻¹ P'H⁻¹ with M = I/κ - P'H⁻¹P, so Z gains d columns G H⁻¹P M^{-½}.

    Parameters
    ----------
    base : HingeFactor or PointsFactor
        The factor of H.
    P : ndarray (p, d)
        Orthonormal columns.
    kappa : float
        κ.
    """

    base: HingeFactor | PointsFactor
    P: FloatArray
    kappa: float

    @property
    def shape(self) -> tuple[int, int]:
        """Return (m, p)."""
        return self.base.shape

    @property
    def G(self) -> FloatArray:
        """Return the rows of the losses."""
        return self.base.G

    @cached_property
    def H(self) -> FloatArray:
        """Return H - κPP'."""
        return np.asarray(self.base.H - self.kappa * (self.P @ self.P.T))

    @cached_property
    def _spread(self) -> FloatArray:
        """Return √κ H⁻¹P L^{-T} with I - κP'H⁻¹P = LL'."""
        columns = self.base.solve(self.P)
        M = np.eye(self.P.shape[1]) - self.kappa * (self.P.T @ columns)
        return np.sqrt(self.kappa) * np.asarray(
            scipy.linalg.solve_triangular(_cholesky(0.5 * (M + M.T)), columns.T, lower=True).T
        )

    @cached_property
    def Z(self) -> FloatArray:
        """Return Z of H with d more columns."""
        return np.ascontiguousarray(np.hstack([self.base.Z, self.base.times(self._spread)]))

    @property
    def gram(self) -> FloatArray | None:
        """Return ZZ' of H plus a matrix of rank d, built when asked for; None if the factor of H has no ZZ'."""
        if self.base.gram is None:
            return None
        added = self.base.times(self._spread)
        return np.asarray(self.base.gram + added @ added.T)

    def times(self, u: FloatArray) -> FloatArray:
        """Return Gu."""
        return self.base.times(u)

    def rmatvec(self, lam: FloatArray) -> FloatArray:
        """Return G'λ."""
        return self.base.rmatvec(lam)

    def quadratic(self, u: FloatArray) -> float:
        """Return u'Hu - κ||P'u||²."""
        projection = self.P.T @ u
        return self.base.quadratic(u) - self.kappa * float(projection @ projection)

    @property
    def diagonal_lower_bound(self) -> FloatArray | None:
        """Return ℓ of H less κ||P||²; None where that is not positive."""
        base_least = self.base.diagonal_lower_bound
        if base_least is None:
            return None
        lowered = base_least * (1.0 - 1e-12) - self.kappa * float(np.linalg.norm(self.P, 2)) ** 2 * (1.0 + 1e-12)
        return lowered if (lowered > 0.0).all() else None

    @property
    def row_norms(self) -> FloatArray:
        """Return bounds of ||g_j||."""
        return self.base.row_norms

    def quadratic_product(self, u: FloatArray) -> QuadraticProduct:
        """Return (H - κPP')u and u'(H - κPP')u with the errors of their evaluation."""
        base_product, size = self.base.quadratic_product(u), float(np.linalg.norm(u))
        projection = self.P.T @ u
        rounding = gamma(u.size) * float(np.linalg.norm(self.P)) * size * (1.0 + 1e-9)
        square = dot(projection, projection)
        square = Rounded(
            square.value, square.error + 2.0 * float(np.linalg.norm(projection)) * rounding + rounding * rounding
        ).times(self.kappa)
        product = base_product.product - self.kappa * (self.P @ projection)
        change = (
            self.kappa
            * float(np.linalg.norm(self.P))
            * (rounding + gamma(projection.size + 2) * float(np.linalg.norm(projection)))
        )
        error = (base_product.error + change + UNIT * float(np.linalg.norm(product))) * (1.0 + 1e-9)
        return QuadraticProduct(product, error, base_product.quadratic - square)

    def solve(self, b: FloatArray) -> FloatArray:
        """Return (H - κPP')⁻¹ b."""
        return np.asarray(self.base.solve(b) + self._spread @ (self._spread.T @ b))


#: The factors that `HingeQuadratic` takes.
Factor: TypeAlias = HingeFactor | PointsFactor | SignedFactor | DowndatedFactor
