"""The quadratic of a class's problem with a row of each point, or two of its own ones, over features that all classes share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.linalg

from ...arrays import BoolArray, FloatArray
from .evaluation import Applied, Base, Ridge

__all__ = ["SharedRows", "SignedFactor"]


@dataclass(frozen=True, eq=False)
class SharedRows:
    """Kernel features Ψ, n × n, K̃ = ΨΨ', and H = R, rI or with a graph's regulariser: the same for all classes."""

    psi: FloatArray
    gram: FloatArray
    base: Ridge | Base

    @cached_property
    def norms(self) -> FloatArray:
        """Bounds of the norms of Ψ's rows."""
        return np.linalg.norm(self.psi, axis=1) * (1.0 + 1e-12)

    @cached_property
    def products(self) -> FloatArray:
        """ΨH⁻¹Ψ', found once: what every class's dual takes its entries from."""
        return self.base.between(self.psi, self.gram)


@dataclass(frozen=True, eq=False)
class SignedFactor:
    """H = R and the rows G = [Ψ_B; -Ψ_A; Ψ_A], or [Ψ_B; Ψ_A] unless ``twice``: A the class's points (``near``), B the others.

    ZZ' = GH⁻¹G' has the entries of ΨH⁻¹Ψ' with signs, so a class costs no product of matrices: m² numbers are copied.
    """

    rows: SharedRows
    near: BoolArray
    twice: bool = True

    @cached_property
    def points(self) -> npt.NDArray[np.intp]:
        """The point of each row of G."""
        A, B = np.flatnonzero(self.near), np.flatnonzero(~self.near)
        return np.concatenate([B, A, A] if self.twice else [B, A])

    @cached_property
    def signs(self) -> FloatArray:
        """The sign of each row of G."""
        signs = np.ones(self.points.size)
        if self.twice:
            others = int((~self.near).sum())
            signs[others : self.near.size] = -1.0
        return signs

    @property
    def shape(self) -> tuple[int, int]:
        """(m, n)."""
        return int(self.points.size), int(self.near.size)

    @property
    def H(self) -> FloatArray:
        """Dense, built when asked for."""
        return self.rows.base.dense(self.near.size)

    @property
    def G(self) -> FloatArray:
        """Dense, built when asked for."""
        return np.asarray(self.signs[:, None] * self.rows.psi[self.points])

    @property
    def Z(self) -> FloatArray:
        """G L^{-T} with H = LL', built when asked for."""
        root = scipy.linalg.cholesky(self.H, lower=True)
        return np.ascontiguousarray(scipy.linalg.solve_triangular(root, self.G.T, lower=True).T)

    @cached_property
    def gram(self) -> FloatArray:
        """ZZ', m × m."""
        Q = self.rows.products[np.ix_(self.points, self.points)]
        Q *= self.signs
        Q *= self.signs[:, None]
        return Q

    def times(self, u: FloatArray) -> FloatArray:
        """Gu, of a vector or of columns."""
        f = (self.rows.psi @ u)[self.points]
        return np.asarray(self.signs * f if f.ndim == 1 else self.signs[:, None] * f)

    def pulled(self, lam: FloatArray) -> FloatArray:
        """G'λ."""
        return np.asarray(self.rows.psi.T @ np.bincount(self.points, self.signs * lam, minlength=self.near.size))

    def quadratic(self, u: FloatArray) -> float:
        """u'Hu."""
        return self.rows.base.applied(u).quadratic.value

    @property
    def least(self) -> FloatArray | None:
        """ℓ > 0 with H ⪰ diag(ℓ), verified; None where rounding leaves it open."""
        return self.rows.base.least(self.near.size)

    @property
    def row_norms(self) -> FloatArray:
        """Bounds of ||g_j||."""
        return self.rows.norms[self.points]

    def applied(self, u: FloatArray) -> Applied:
        """Hu and u'Hu with the errors of their evaluation."""
        return self.rows.base.applied(u)

    def solve(self, b: FloatArray) -> FloatArray:
        """H⁻¹ b, of a vector or of columns."""
        return self.rows.base.solve(b)
