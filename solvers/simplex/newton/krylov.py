"""Projected conjugate gradients on a guess of the support, with a low-rank preconditioner."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg

from ....models.arrays import FloatArray, IntArray
from ....models.kernels.threads import cuts, share, workers

__all__ = ["COLUMNS", "Inverse", "Steps", "conjugate_gradients", "shifted_cholesky", "weighted_squares"]

CG_STEPS = 300
#: Columns of B that are copied at once: the allocator keeps what they need, where a copy of all is new memory each time.
COLUMNS = 2048
#: A residual so many times the first one will not come back: the square root of float32's condition is about 3e3.
_DIVERGED = 1e6
Steps: TypeAlias = Generator[None, None, Any]


def shifted_cholesky(A: FloatArray, shift: float) -> FloatArray:
    """L with LL' = A + shift·diag A, for the given shift or a larger one, by tens from 1e-7, that makes it positive definite.

    A is overwritten. Sums of float32 products may need it where A is nearly singular.
    """
    diagonal = np.diagonal(A).copy()
    while shift <= 1.0:
        A[np.diag_indices_from(A)] = diagonal * (1.0 + shift)
        lower, info = scipy.linalg.lapack.dpotrf(A, lower=1, clean=1)
        if info == 0:
            return np.asarray(lower)
        shift = max(10.0 * shift, 1e-7)
    raise np.linalg.LinAlgError("a matrix that should be positive semidefinite is far from it")


def weighted_squares(B: Any, weights: FloatArray, points: IntArray) -> FloatArray:
    """Σ weights_i b_i b_i' over the given columns of B: products of some of them in B's precision, their sum in float64."""
    parts = cuts(points.size, workers(B.shape[0] * points.size))
    sums = np.zeros((len(parts), B.shape[0], B.shape[0]))

    def add(k: int) -> None:
        own = points[parts[k]]
        for start in range(0, own.size, COLUMNS):
            chosen = own[start : start + COLUMNS]
            scaled = B[:, chosen]
            scaled *= np.sqrt(weights[chosen]).astype(B.dtype)
            sums[k] += scaled @ scaled.T

    share(add, len(parts))
    return np.asarray(sums.sum(axis=0))


class Inverse:
    """(D + B'B)⁻¹ on a guess, by Woodbury's formula, projected: the multipliers ν of E'd = 0 are split off.

    Vectors have one entry for every point of a larger set, zero off the guess ``inside``.

    Parameters
    ----------
    groups : ndarray of int (m,)
        Simplex of every point of the set.
    simplices : int
    B : ndarray (r, m)
    inverse : ndarray (m,)
        1/D.
    sums : ndarray (r, r)
        I + B D⁻¹B' over the guess; it is overwritten.
    inside : ndarray of int
        Places of the guess's points.
    """

    def __init__(self, groups: IntArray, simplices: int, B: Any, inverse: FloatArray, sums: FloatArray, inside: IntArray) -> None:
        self._factor = (shifted_cholesky(sums, 0.0), True)
        self._B = B
        self._E = np.zeros((groups.size, simplices))
        self._E[inside, groups[inside]] = 1.0
        self._inverse = np.zeros(groups.size)
        self._inverse[inside] = inverse[inside]
        self._PE = np.column_stack([self._apply(column) for column in self._E.T])
        self._small = np.linalg.inv(self._E.T @ self._PE)

    def _apply(self, r: FloatArray) -> FloatArray:
        scale = float(np.abs(r).max()) or 1.0
        h = self._inverse * (r / scale)
        inner = scipy.linalg.cho_solve(self._factor, (self._B @ h.astype(self._B.dtype)).astype(np.float64), check_finite=False)
        return np.asarray(scale * (h - self._inverse * (inner.astype(self._B.dtype) @ self._B)))

    def centred(self, r: FloatArray) -> FloatArray:
        """r less its mean in every simplex: the level of g would drown the residual in float32's rounding."""
        return r - self._E @ ((self._E.T @ r) / self._E.sum(axis=0))

    def __call__(self, r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The projected inverse of r, and r without its multipliers."""
        h = self._apply(r)
        nu = self._small @ (self._E.T @ h)
        return h - self._PE @ nu, r - self._E @ nu


def conjugate_gradients(
    product: Callable[[FloatArray], Steps], inside: IntArray, inverse: Inverse, r: FloatArray, accuracy: float, target: float
) -> Steps:
    """d with E'd = 0, zero off the guess, that minimises ½d'Qd + r'd.

    It ends at a residual of ``accuracy`` times the first one, or of ``target``.
    Returns d, Qd (on all points) and the steps taken; d = 0 where rounding leaves no curvature.
    """
    own = np.zeros(r.size)
    own[inside] = 1.0
    d, Qd, steps = np.zeros(r.size), np.zeros(r.size), 0
    z, r = inverse(inverse.centred(r * own))
    first = float(np.abs(r).max())
    target_residual = max(target, accuracy * first)
    p, rho = -z, float(r @ z)
    while steps < CG_STEPS and rho > 0.0:
        steps += 1
        Qp = yield from product(p)
        curvature = float(p @ Qp)
        if curvature <= 0.0:
            break
        length = rho / curvature
        d += length * p
        Qd += length * Qp
        z, r = inverse(r + length * own * Qp)
        largest = float(np.abs(r).max())
        if not largest <= _DIVERGED * first:
            return np.zeros(r.size), np.zeros(r.size), steps  # float32 has no curvature left here: no step
        if largest <= target_residual:
            break
        before, rho = rho, float(r @ z)
        p = rho / before * p - z
        yield
    return d, Qd, steps
