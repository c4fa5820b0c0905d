"""The quadratic of a class's problem over kernel features: every class works on the matrices that all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.linalg

from ....errors import InputError
from ...arrays import BoolArray, FloatArray
from .evaluation import Applied, Ridge, applied

__all__ = ["KernelRows", "PointsFactor", "pulled_each", "solve_each"]


@dataclass(frozen=True, eq=False)
class KernelRows:
    """Kernel features shared by all classes: Ψ, n × n lower triangular, ΨΨ' = K̃, and r of H = Ψ_A'Ψ_A + rI.

    (K̃ + rI)⁻¹ is found once, where a class with few points outside A needs it.
    """

    psi: FloatArray
    gram: FloatArray
    r: float

    @cached_property
    def norms(self) -> FloatArray:
        """Bounds of the norms of Ψ's rows."""
        return np.linalg.norm(self.psi, axis=1) * (1.0 + 1e-12)

    @cached_property
    def inverse(self) -> FloatArray:
        """(K̃ + rI)⁻¹."""
        shifted = self.gram.copy()
        shifted[np.diag_indices(self.gram.shape[0])] += self.r
        return _inverse(shifted)


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
    def few(self) -> bool:
        """Return whether A is the smaller set."""
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
        if self.few:
            small = self.rows.gram[np.ix_(self.near, self.near)]
            small[np.diag_indices(small.shape[0])] += self.rows.r
        else:
            small = self.rows.r * self.rows.inverse[np.ix_(~self.near, ~self.near)]
        return np.asarray(scipy.linalg.cholesky(small, lower=True, overwrite_a=True))

    @cached_property
    def gram(self) -> FloatArray:
        """ZZ', m × m."""
        if self.few:
            cross = scipy.linalg.solve_triangular(self._small, self.rows.gram[np.ix_(self.near, ~self.near)], lower=True)
            Q = self.rows.gram[np.ix_(~self.near, ~self.near)]
            Q -= cross.T @ cross  # of a matrix with itself: half of the work of a product
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

    @property
    def least(self) -> FloatArray:
        """ℓ with H ⪰ diag(ℓ): r, whatever Ψ is."""
        return np.full(self.near.size, self.rows.r)

    @cached_property
    def row_norms(self) -> FloatArray:
        """Bounds of ||g_j||."""
        return self.rows.norms[~self.near]

    def applied(self, u: FloatArray) -> Applied:
        """Hu and u'Hu with the errors of their evaluation."""
        f = self.rows.psi @ u
        f[~self.near] = 0.0
        return applied(f, self.rows.norms[self.near], self.rows.psi.T @ f, u, Ridge(self.rows.r))

    def solve(self, b: FloatArray) -> FloatArray:
        """H⁻¹ b, of a vector or of columns."""
        return solve_each([self], b[None])[0] if b.ndim == 1 else _solve(self.rows, [self], [b])[0]

    def weights(self, F: FloatArray, smooth: FloatArray | None) -> FloatArray:
        """z with z_B = 0 and z_A = (K̃_AA + rI)⁻¹F_A, from F or, where B is the smaller set, up to (K̃ + rI)⁻¹ of what is returned.

        There z = (K̃ + rI)⁻¹(F - s), s_B = [((K̃ + rI)⁻¹)_BB]⁻¹((K̃ + rI)⁻¹F)_B, s_A = 0; ``smooth`` is (K̃ + rI)⁻¹F.
        """
        if smooth is None:
            return self._spread(scipy.linalg.cho_solve((self._small, True), F[self.near], check_finite=False), self.near)
        few = scipy.linalg.cho_solve((self._small, True), smooth[~self.near], check_finite=False)
        return np.asarray(F - self._spread(self.rows.r * few, ~self.near))

    def _spread(self, values: FloatArray, where: BoolArray) -> FloatArray:
        """The values at their points, zeros elsewhere."""
        whole = np.zeros((self.near.size, *values.shape[1:]))
        whole[where] = values
        return whole


def solve_each(factors: Sequence[PointsFactor], B: FloatArray) -> FloatArray:
    """H_k⁻¹ b_k, one row of B (K, n) for each factor of the same kernel rows: one pass over Ψ and the inverse for all of them."""
    columns = _solve(factors[0].rows, factors, [b[:, None] for b in B])
    return np.stack([column[:, 0] for column in columns])


def pulled_each(factors: Sequence[PointsFactor], lams: Sequence[FloatArray]) -> FloatArray:
    """Ψ_B'λ of every factor, (K, n)."""
    whole = np.zeros((len(factors), factors[0].near.size))
    for row, factor, lam in zip(whole, factors, lams, strict=True):
        row[~factor.near] = lam
    return np.asarray(whole @ factors[0].rows.psi)


def _solve(rows: KernelRows, factors: Sequence[PointsFactor], blocks: Sequence[FloatArray]) -> list[FloatArray]:
    """H_k⁻¹ of every block of columns; refined against what the difference of two large terms loses, down to rounding."""
    ends = np.cumsum([0, *(block.shape[1] for block in blocks)])
    parts = [slice(*pair) for pair in pairwise(ends.tolist())]
    B = np.column_stack(list(blocks))
    X = _once(rows, factors, parts, B)
    for _ in range(2):
        F = rows.psi @ X
        for factor, part in zip(factors, parts, strict=True):
            F[~factor.near, part] = 0.0
        residual = B - rows.psi.T @ F - rows.r * X
        if (np.linalg.norm(residual, axis=0) <= 1e-13 * np.linalg.norm(B, axis=0)).all():
            break
        X += _once(rows, factors, parts, residual)
    return [X[:, part] for part in parts]


def _once(rows: KernelRows, factors: Sequence[PointsFactor], parts: Sequence[slice], B: FloatArray) -> FloatArray:
    """H⁻¹b = (b - Ψ'z)/r, z = (K̃_AA + rI)⁻¹(Ψb)_A at the points A and zero elsewhere."""
    F = rows.psi @ B
    smooth = None if all(factor.few for factor in factors) else rows.inverse @ F
    z = np.column_stack(
        [
            factor.weights(F[:, part], None if factor.few or smooth is None else smooth[:, part])
            for factor, part in zip(factors, parts, strict=True)
        ]
    )
    if smooth is not None:
        wide = np.concatenate(
            [np.full(part.stop - part.start, not factor.few) for factor, part in zip(factors, parts, strict=True)]
        )
        z[:, wide] = rows.inverse @ z[:, wide]
        for factor, part in zip(factors, parts, strict=True):
            z[~factor.near, part] = 0.0
    return np.asarray((B - rows.psi.T @ z) / rows.r)


def _inverse(matrix: FloatArray) -> FloatArray:
    """Of a positive definite matrix, which is overwritten."""
    factor, _ = scipy.linalg.lapack.dpotrf(matrix.T, lower=1, overwrite_a=1)  # .T: in Fortran's order, no copy
    inverse, info = scipy.linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    if info != 0:
        raise InputError("the kernel matrix plus r1 is not positive definite: give a larger r1 or ridge")
    for i in range(inverse.shape[0] - 1):
        inverse[i, i + 1 :] = inverse[i + 1 :, i]
    return np.asarray(inverse)
