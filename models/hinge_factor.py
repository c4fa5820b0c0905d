"""The quadratic of a class's problem, factored once: dense, over kernel features, or lowered by a projection.

Each factor stands for H (p × p, positive definite) and the rows G (m × p) of the losses. What the algorithms need of them is
``shape`` (m, p), ``times`` Gu, ``pulled`` G'λ, ``quadratic`` u'Hu, ``solve`` H⁻¹b, and of the dual's ZZ' = GH⁻¹G' either Z or,
from p ≥ m on, ``gram`` = ZZ' itself; ``H`` and ``G`` are built where a standard form wants them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import scipy.linalg

from ..errors import InputError
from .arrays import BoolArray, FloatArray
from .views import CoarseFactor

__all__ = ["Factor", "HingeFactor", "KernelRows", "LoweredFactor", "PointsFactor"]

#: Columns from which on Z is worth computing in single precision first, and the ratio of L's diagonal up to which that is tried.
_COARSE, _SPREAD = 64, 1e4


@dataclass(frozen=True, eq=False)
class HingeFactor:
    """H = LL' and Z = G L^{-T}, computed once and shared by every problem with the same H and G."""

    H: FloatArray
    G: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """(m, p)."""
        return int(self.G.shape[0]), int(self.G.shape[1])

    @cached_property
    def cholesky(self) -> FloatArray:
        """L, lower."""
        try:
            return np.asarray(scipy.linalg.cholesky(self.H, lower=True))
        except np.linalg.LinAlgError as error:
            raise InputError(
                "the quadratic of the problem is not positive definite: give a larger regularisation (r, r1, r2)"
            ) from error

    @cached_property
    def Z(self) -> FloatArray:
        """G L^{-T}, (m, p): ZZ' = G H⁻¹ G'."""
        return np.ascontiguousarray(scipy.linalg.solve_triangular(self.cholesky, self.G.T, lower=True).T)

    @cached_property
    def coarse(self) -> CoarseFactor | None:
        """Z in single precision, where Z is wide enough to be most of the work and not known yet, and L well conditioned."""
        m, p = self.shape
        if not _COARSE <= p < m or "Z" in vars(self):
            return None
        own = np.diagonal(self.cholesky)
        if own.max() > _SPREAD * own.min():
            return None
        with np.errstate(over="ignore"):  # single precision may overflow where double does not
            L, rows = self.cholesky.astype(np.float32), self.G.T.astype(np.float32)
        Z = np.ascontiguousarray(scipy.linalg.blas.strsm(1.0, L, rows, lower=1, overwrite_b=1).T)
        return CoarseFactor(Z, self._product, lambda: self.Z) if np.isfinite(Z).all() else None

    def _product(self, a: FloatArray) -> FloatArray:
        """GH⁻¹G'a."""
        return self.times(self.solve(self.pulled(a)))

    @cached_property
    def gram(self) -> FloatArray | None:
        """ZZ' where Z has at least as many columns as rows; else None."""
        return np.asarray(self.Z @ self.Z.T) if self.G.shape[0] <= self.G.shape[1] else None

    def times(self, u: FloatArray) -> FloatArray:
        """Gu."""
        return np.asarray(self.G @ u)

    def pulled(self, lam: FloatArray) -> FloatArray:
        """G'λ."""
        return np.asarray(self.G.T @ lam)

    def quadratic(self, u: FloatArray) -> float:
        """u'Hu."""
        return float(u @ self.H @ u)

    def solve(self, b: FloatArray) -> FloatArray:
        """H⁻¹ b."""
        return np.asarray(scipy.linalg.cho_solve((self.cholesky, True), b, check_finite=False))


@dataclass(frozen=True, eq=False)
class KernelRows:
    """Kernel features shared by all classes: Ψ, n × n lower triangular, ΨΨ' = K̃, and r of H = Ψ_A'Ψ_A + rI.

    (K̃ + rI)⁻¹ and the factor of Ψ'Ψ + rI are found once, where a class with few points outside A needs them.
    """

    psi: FloatArray
    gram: FloatArray
    r: float

    @cached_property
    def inverse(self) -> FloatArray:
        """(K̃ + rI)⁻¹."""
        shifted = self.gram.copy()
        shifted[np.diag_indices(self.gram.shape[0])] += self.r
        return _inverse(shifted)

    @cached_property
    def cholesky(self) -> FloatArray:
        """Of Ψ'Ψ + rI, lower."""
        M = self.psi.T @ self.psi
        M[np.diag_indices(M.shape[0])] += self.r
        return np.asarray(scipy.linalg.cholesky(M, lower=True, overwrite_a=True))


@dataclass(frozen=True, eq=False)
class PointsFactor:
    """H = Ψ_A'Ψ_A + rI and G = Ψ_B, A and B = not A sets of the points: no n × n matrix for each class but ZZ' itself.

    With A the smaller set, ZZ' = (K̃_BB - K̃_BA(K̃_AA + rI)⁻¹K̃_AB)/r; with B the smaller, ZZ' = [((K̃ + rI)⁻¹)_BB]⁻¹/r - I. So one
    class costs O(min(|A|, |B|) |B|²) operations and |B|² numbers.

    Parameters
    ----------
    rows : KernelRows
    near : ndarray of bool (n,)
        A.
    """

    rows: KernelRows
    near: BoolArray

    @cached_property
    def _few(self) -> bool:
        """Whether A is the smaller set."""
        return 2 * int(self.near.sum()) <= self.near.size

    @property
    def shape(self) -> tuple[int, int]:
        """(|B|, n)."""
        return int((~self.near).sum()), int(self.near.size)

    @property
    def H(self) -> FloatArray:
        """Dense, built when asked for."""
        A = self.rows.psi[self.near]
        H = A.T @ A
        H[np.diag_indices(H.shape[0])] += self.rows.r
        return H

    @property
    def G(self) -> FloatArray:
        """Ψ_B, copied."""
        return np.asarray(self.rows.psi[~self.near])

    @property
    def Z(self) -> FloatArray:
        """A factor of ZZ', m × m, built when asked for."""
        return np.asarray(scipy.linalg.cholesky(self.gram, lower=True))

    @cached_property
    def _small(self) -> FloatArray:
        """Cholesky factor of K̃_AA + rI, or of r((K̃ + rI)⁻¹)_BB: the smaller set's."""
        if self._few:
            small = self.rows.gram[np.ix_(self.near, self.near)]
            small[np.diag_indices(small.shape[0])] += self.rows.r
        else:
            small = self.rows.r * self.rows.inverse[np.ix_(~self.near, ~self.near)]
        return np.asarray(scipy.linalg.cholesky(small, lower=True, overwrite_a=True))

    @cached_property
    def gram(self) -> FloatArray:
        """ZZ', m × m."""
        if self._few:
            cross = scipy.linalg.solve_triangular(self._small, self.rows.gram[np.ix_(self.near, ~self.near)], lower=True)
            Q = self.rows.gram[np.ix_(~self.near, ~self.near)]
            Q -= cross.T @ cross
            Q /= self.rows.r
            return Q
        Q = np.asarray(scipy.linalg.cho_solve((self._small, True), np.eye(self.shape[0]), overwrite_b=True))
        Q[np.diag_indices(Q.shape[0])] -= 1.0
        return Q

    def times(self, u: FloatArray) -> FloatArray:
        """Ψ_B u."""
        return np.asarray((self.rows.psi @ u)[~self.near])

    def pulled(self, lam: FloatArray) -> FloatArray:
        """Ψ_B'λ."""
        return np.asarray(self.rows.psi.T @ self._spread(lam, ~self.near))

    def quadratic(self, u: FloatArray) -> float:
        """||Ψ_A u||² + r||u||²."""
        f = (self.rows.psi @ u)[self.near]
        return float(f @ f) + self.rows.r * float(u @ u)

    def solve(self, b: FloatArray) -> FloatArray:
        """H⁻¹ b; with A the smaller set one step of refinement, for what the difference of two large terms loses there."""
        x = self._once(b)
        if not self._few:
            return x
        f = self.rows.psi @ x
        f[~self.near] = 0.0
        return x + self._once(b - self.rows.psi.T @ f - self.rows.r * x)

    def _once(self, b: FloatArray) -> FloatArray:
        psi, inside = self.rows.psi, self.near if self._few else ~self.near
        y = b if self._few else scipy.linalg.cho_solve((self.rows.cholesky, True), b)
        few = scipy.linalg.cho_solve((self._small, True), (psi @ y)[inside])
        back = psi.T @ self._spread(few, inside)
        if self._few:
            return np.asarray((b - back) / self.rows.r)
        return np.asarray(y + scipy.linalg.cho_solve((self.rows.cholesky, True), back))

    def _spread(self, values: FloatArray, where: BoolArray) -> FloatArray:
        """The values at their points, zeros elsewhere."""
        whole = np.zeros((self.near.size, *values.shape[1:]))
        whole[where] = values
        return whole


@dataclass(frozen=True, eq=False)
class LoweredFactor:
    """The same for H - κPP' (P'P = I, κ below H's least eigenvalue), from the factor of H: no Cholesky of its own.

    (H - κPP')⁻¹ = H⁻¹ + H⁻¹P M⁻¹ P'H⁻¹ with M = I/κ - P'H⁻¹P, so Z gains d columns G H⁻¹P M^{-½}.
    """

    base: HingeFactor | PointsFactor
    P: FloatArray
    kappa: float

    @property
    def shape(self) -> tuple[int, int]:
        """(m, p)."""
        return self.base.shape

    @property
    def G(self) -> FloatArray:
        """Rows of the losses."""
        return self.base.G

    @cached_property
    def H(self) -> FloatArray:
        """H - κPP'."""
        return np.asarray(self.base.H - self.kappa * (self.P @ self.P.T))

    @cached_property
    def _spread(self) -> FloatArray:
        """H⁻¹P R^{-1} with M = R'R."""
        columns = self.base.solve(self.P)
        M = np.eye(self.P.shape[1]) / self.kappa - self.P.T @ columns
        upper = scipy.linalg.cholesky(0.5 * (M + M.T), lower=False)
        return np.asarray(scipy.linalg.solve_triangular(upper, columns.T, trans="T").T)

    @cached_property
    def Z(self) -> FloatArray:
        """Z of H with d more columns."""
        return np.ascontiguousarray(np.hstack([self.base.Z, self.base.times(self._spread)]))

    @cached_property
    def gram(self) -> FloatArray | None:
        """ZZ' where that of H is kept: a change of rank d."""
        if self.base.gram is None:
            return None
        added = self.base.times(self._spread)
        return np.asarray(self.base.gram + added @ added.T)

    def times(self, u: FloatArray) -> FloatArray:
        """Gu."""
        return self.base.times(u)

    def pulled(self, lam: FloatArray) -> FloatArray:
        """G'λ."""
        return self.base.pulled(lam)

    def quadratic(self, u: FloatArray) -> float:
        """u'Hu - κ||P'u||²."""
        learned = self.P.T @ u
        return self.base.quadratic(u) - self.kappa * float(learned @ learned)

    def solve(self, b: FloatArray) -> FloatArray:
        """(H - κPP')⁻¹ b."""
        return np.asarray(self.base.solve(b) + self._spread @ (self._spread.T @ b))


def _inverse(matrix: FloatArray) -> FloatArray:
    """Of a positive definite matrix, which is overwritten."""
    factor, _ = scipy.linalg.lapack.dpotrf(matrix, lower=1, overwrite_a=1)
    inverse, info = scipy.linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    if info != 0:
        raise InputError("the kernel matrix plus r1 is not positive definite: give a larger r1 or ridge")
    upper = np.triu_indices(inverse.shape[0], 1)
    inverse[upper] = inverse.T[upper]
    return np.asarray(inverse)


Factor: TypeAlias = HingeFactor | PointsFactor | LoweredFactor
