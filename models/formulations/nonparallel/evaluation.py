"""Hu and u'Hu of the class problems with bounds of their rounding errors, from the pieces that H = R + A'A is made of.

Where two columns of A are nearly equal, u is large along a direction that A hardly sees: u'Hu from H loses what ||Au||² keeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from ....errors import InputError
from ...arrays import FloatArray
from ...program.convexity import definite_on
from ...rounding import UNIT, Rounded, dot, gamma

__all__ = ["Applied", "Base", "Ridge", "applied"]


@dataclass(frozen=True, eq=False)
class Applied:
    """Hu, a bound of the norm of its error, and u'Hu."""

    product: FloatArray
    error: float
    quadratic: Rounded


@dataclass(frozen=True, eq=False)
class Ridge:
    """R = rI."""

    r: float

    def applied(self, u: FloatArray) -> Applied:
        """ru."""
        return Applied(self.r * u, UNIT * self.r * float(np.linalg.norm(u)) * (1.0 + 1e-9), dot(u, u).times(self.r))

    def dense(self, size: int) -> FloatArray:
        """rI of this order."""
        return self.r * np.eye(size)

    def least(self, size: int) -> FloatArray | None:
        """ℓ > 0 with R ⪰ diag(ℓ): r, whatever the order."""
        return np.full(size, self.r)

    def solve(self, b: FloatArray) -> FloatArray:
        """R⁻¹b."""
        return b / self.r

    def between(self, psi: FloatArray, gram: FloatArray) -> FloatArray:
        """ΨR⁻¹Ψ' of rows Ψ with ΨΨ' = ``gram``."""
        return gram / self.r


@dataclass(frozen=True, eq=False)
class Base:
    """R as a matrix."""

    matrix: FloatArray

    def applied(self, u: FloatArray) -> Applied:
        """Ru."""
        product = self.matrix @ u
        error = gamma(u.size) * (np.abs(self.matrix) @ np.abs(u)) * (1.0 + 1e-12)
        return Applied(product, float(np.linalg.norm(error)) * (1.0 + 1e-9), dot(u, product, error))

    @cached_property
    def cholesky(self) -> FloatArray:
        """L of R = LL', lower."""
        try:
            return np.asarray(scipy.linalg.cholesky(self.matrix, lower=True))
        except np.linalg.LinAlgError as error:
            raise InputError("the quadratic of the problem is not positive definite: give a larger r or a smaller μ") from error

    def dense(self, size: int) -> FloatArray:
        """R, of whose order it is."""
        return self.matrix

    def least(self, size: int) -> FloatArray | None:
        """ℓ > 0 with R ⪰ diag(ℓ), verified; None where rounding leaves it open."""
        factor = definite_on(self.matrix, np.ones(size, dtype=bool))
        return None if factor is None or not (factor[0] > 0.0).all() else factor[0]

    def solve(self, b: FloatArray) -> FloatArray:
        """R⁻¹b."""
        return np.asarray(scipy.linalg.cho_solve((self.cholesky, True), b, check_finite=False))

    def between(self, psi: FloatArray, gram: FloatArray) -> FloatArray:
        """ΨR⁻¹Ψ' of rows Ψ with ΨΨ' = ``gram``."""
        half = scipy.linalg.solve_triangular(self.cholesky, psi.T, lower=True)
        return np.asarray(half.T @ half)


def applied(f: FloatArray, norms: FloatArray, back: FloatArray, u: FloatArray, rest: Ridge | Base) -> Applied:
    """(R + A'A)u from f = Au, the rows' norms and A'f."""
    own, size = rest.applied(u), float(np.linalg.norm(u)) * (1.0 + 1e-12)
    frobenius = float(np.linalg.norm(norms))
    off = gamma(u.size) * frobenius * size  # of f
    error = frobenius * (off + gamma(f.size) * (float(np.linalg.norm(f)) + off)) + own.error
    product = back + own.product
    error += UNIT * float(np.linalg.norm(product))
    square = dot(f, f)
    square = Rounded(square.value, square.error + 2.0 * float(np.linalg.norm(f)) * off + off * off)
    return Applied(product, error * (1.0 + 1e-9), square + own.quadratic)
