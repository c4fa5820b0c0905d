"""The Newton system of a step of ``conic-ipm``, solved in the smaller of two spaces.

The program is (21) of Cepeda, Gómez and Han (2024), in the symbols of `iterate`: over w, V = W - ww' ⪰ 0 and, for each row a_i =
y_i x_i with margin u_i = a_i'w and r_i = 1 - u_i, a share z_i of the 0-1 loss and ρ_i ≥ r_i with z_i q_i ≥ ρ_i², q_i = r_i² +
a_i'V a_i. ζ_i ≥ 0 is the multiplier of ρ_i ≥ r_i, γ_i ≥ 0 that of q_i in the cone of (q_i, z_i, ρ_i), and S that of the
semidefinite cone of order p + 1, the lifted cone. d marks the change of a quantity in a step.

Relative to the current w: dZ = [0 dw'; dw dV], b_i = (r_i, -a_i), dq_i = b_i'dZ b_i = a_i'dV a_i - 2r_i du_i and du_i = a_i'dw.
With the scaling Θ of the lifted cone, T = Θ⁻¹, and a 2 × 2 matrix C_i for each point (`Compliance`), a step solves

    T dZ T + dS = R,   dS = Σ e_γi b_i b_i' - Σ e_ζi sym(e_0 b_i') outside entry 00,   (dq, du)_i = c_i + C_i (e_γi, e_ζi),

e = -(dγ, dζ), e_0 is the first unit vector and sym(M) = ½(M + M'). Eliminating e leaves p(p+3)/2 unknowns (`GramSystem`),
eliminating dZ leaves 2n (`PointSystem`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import scipy.linalg as sl

from ...models.arrays import FloatArray
from ...models.program.cones import svec_indices, svec_rank_one, svec_size

#: Bytes of a chunk of rows in the Gram product, so that the scaled copy fits into the cache.
_CHUNK_BYTES = 1 << 22
#: Largest size of the stored rows svec(a_i a_i'); larger ones are recomputed in chunks.
_KEEP_BYTES = 1 << 28


class Compliance(NamedTuple):
    """The compliance matrices C_i of all points, which map multipliers to rates: (dq, du)_i = c_i + C_i (e_γi, e_ζi).

    C_i = [α² -αβ; -αβ 1/h + ½(αδ + β²)] with the point's scaling Θ_i = [α β; β δ] and h = ζ_i/(ρ_i - r_i). In inverse form
    (dq, du)C⁻¹(dq, du)' = ω1 dq² + ω2 (du + (β/α) dq)². Both forms are stored, since computing one from the other would cancel.
    """

    qq: FloatArray  #: (n,) first diagonal entry
    qu: FloatArray  #: (n,) off-diagonal entry
    uu: FloatArray  #: (n,) second diagonal entry
    omega1: FloatArray  #: (n,) ω1
    omega2: FloatArray  #: (n,) ω2
    ratio: FloatArray  #: (n,) β/α of the inverse form

    def solve(self, dq: FloatArray, du: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return C⁻¹(dq, du)."""
        shared = self.omega2 * (du + self.ratio * dq)
        return self.omega1 * dq + self.ratio * shared, shared


class NewtonSystem(ABC):
    """A Newton system, factored once per iteration and solved two or three times.

    Parameters
    ----------
    A : ndarray (n, p)
        Rows a_i.
    """

    def __init__(self, A: FloatArray) -> None:
        self.A = A

    def factor(self, corner: float, inverse: FloatArray, r: FloatArray, compliance: Compliance) -> None:
        """Assemble and factor the system for the scaling with Θ_00 = corner and T = Θ⁻¹, at the residuals r of the margins.

        Raises
        ------
        numpy.linalg.LinAlgError
            The matrix is not positive definite in floating-point arithmetic, even slightly regularised.
        """
        self._corner, self._inverse, self._r, self._compliance = corner, inverse, r, compliance
        self._factor, self._jacobi = _scaled_cholesky(self._assemble())

    def solve(
        self, R: FloatArray, cq: FloatArray, cu: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the step (dw, dV, e_γ, e_ζ, dS) for R (p + 1, p + 1) and c = (``cq``, ``cu``), (n,) each, of the equations."""
        dw, dV, e_gamma, e_zeta = self._unknowns(R, cq, cu)
        dS = self._moment(e_gamma, e_zeta)
        first = self._inverse[0]
        dS[0, 0] = float(R[0, 0] - 2.0 * first[0] * (first[1:] @ dw) - first[1:] @ dV @ first[1:])
        return dw, dV, e_gamma, e_zeta, dS

    @property
    @abstractmethod
    def order(self) -> int:
        """Number of unknowns of the system."""

    @abstractmethod
    def _assemble(self) -> FloatArray:
        """Return the symmetric matrix of the system; only the lower triangle need be filled."""

    @abstractmethod
    def _unknowns(self, R: FloatArray, cq: FloatArray, cu: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return (dw, dV, e_γ, e_ζ)."""

    def rates(self, dw: FloatArray, dV: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the rates (dq, du) of the points in the direction (dw, dV)."""
        du = self.A @ dw
        return np.einsum("ij,ij->i", self.A @ dV, self.A) - 2.0 * self._r * du, du

    def _moment(self, gamma: FloatArray, zeta: FloatArray) -> FloatArray:
        """Return Σ γ_i b_i b_i' - Σ ζ_i sym(e_0 b_i') with entry 00 zero."""
        p = self.A.shape[1]
        moment = np.zeros((p + 1, p + 1))
        moment[1:, 1:] = (self.A * gamma[:, None]).T @ self.A
        moment[0, 1:] = moment[1:, 0] = self.A.T @ (0.5 * zeta - self._r * gamma)
        return moment

    def _solve(self, right: FloatArray) -> FloatArray:
        solution, _ = sl.lapack.dpotrs(
            self._factor, self._jacobi * right, lower=1
        )  # SciPy's own checks dominate for small systems
        return np.asarray(self._jacobi * solution)

    @staticmethod
    @abstractmethod
    def work(n: int, p: int) -> float:
        """Return the number of multiplications of one assembly and factorisation."""


class GramSystem(NewtonSystem):
    """The system in (dw, svec dV), of order m = p(p+3)/2: a Gram matrix of n rows with m columns.

    The matrix takes m² numbers. The rows svec(a_i a_i') take n·p(p+1)/2 more if they are stored, which is so up to `_KEEP_BYTES`.
    """

    def __init__(self, A: FloatArray) -> None:
        super().__init__(A)
        n, p = A.shape
        row, column = svec_indices(p)
        self._row = np.concatenate([np.zeros(p, dtype=np.int64), row + 1])
        self._column = np.concatenate([np.arange(1, p + 1), column + 1])
        self._scale = np.concatenate([np.ones(p), np.where(row == column, 0.5, np.sqrt(0.5))])
        self._squares = svec_rank_one(A) if n * svec_size(p) * 8 <= _KEEP_BYTES else None
        self._chunk = max(64, _CHUNK_BYTES // (8 * svec_size(p)))

    @staticmethod
    def work(n: int, p: int) -> float:
        """Return the multiplications of a rank-n update, its factorisation, and the entrywise operations."""
        columns = svec_size(p) + p
        return n * columns**2 + columns**3 / 3.0 + 12.0 * columns**2

    @property
    def order(self) -> int:
        """Number of unknowns, p + p(p + 1)/2."""
        return int(self._row.size)

    def _rows(self, start: int) -> tuple[slice, FloatArray]:
        chunk = slice(start, min(start + self._chunk, self.A.shape[0]))
        return chunk, self._squares[chunk] if self._squares is not None else svec_rank_one(self.A[chunk])

    def _assemble(self) -> FloatArray:
        """Return the sum of symmetric rank-k updates over chunks of points, and of the symmetric Kronecker square of T."""
        p, r, inverse = self.A.shape[1], self._r, self._inverse
        omega1, omega2, ratio = self._compliance.omega1, self._compliance.omega2, self._compliance.ratio
        # ω1 dq² + ω2 (du + ratio·dq)² with dq = x - 2rt, du = t, x = a'dV a, t = a'dw
        shear = 1.0 - 2.0 * r * ratio
        xx, xt = omega1 + omega2 * ratio * ratio, omega2 * ratio * shear - 2.0 * omega1 * r
        tt = 4.0 * omega1 * r * r + omega2 * shear * shear
        i, j = self._row, self._column
        cross = inverse[np.ix_(i, j)]
        H = inverse[np.ix_(i, i)]
        H *= inverse[np.ix_(j, j)]
        H += cross * cross.T
        H *= (2.0 * self._scale)[:, None]
        H *= self._scale
        gram = np.zeros((H.shape[0] - p,) * 2, order="F")
        for start in range(0, self.A.shape[0], self._chunk):
            chunk, rows = self._rows(start)
            scaled = rows * np.sqrt(xx[chunk])[:, None]
            gram = sl.blas.dsyrk(1.0, scaled.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
            H[p:, :p] += rows.T @ (self.A[chunk] * xt[chunk][:, None])
        H[p:, p:] += gram  # only the lower triangle is read
        H[:p, :p] += (self.A * tt[:, None]).T @ self.A
        return H

    def _unknowns(self, R: FloatArray, cq: FloatArray, cu: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Solve H y = R + Σ C⁻¹c and compute e from the rates."""
        right = R + self._moment(*self._compliance.solve(cq, cu))
        values = self._scale * self._solve(2.0 * self._scale * right[self._row, self._column])
        dZ = np.zeros_like(R)
        dZ[self._row, self._column] = values
        dZ += dZ.T
        dw, dV = dZ[0, 1:].copy(), dZ[1:, 1:].copy()
        dq, du = self.rates(dw, dV)
        return dw, dV, *self._compliance.solve(dq - cq, du - cu)


class PointSystem(NewtonSystem):
    """The system in e = -(dγ, dζ): 2n × 2n from the elementwise square of A Θ_s A', Θ_s = (T_VV)⁻¹, without a p⁴ array.

    Θ = [1 0; m I] diag(θ, Θ_s) [1 m'; 0 I], so dw = θΘ_s x, dV = m dw' + dw m' + Θ_s X Θ_s with X = (R - dS)_VV and
    x = (R - dS)_V0 + Xm. No quantity is a difference of large numbers.
    """

    @staticmethod
    def work(n: int, p: int) -> float:
        """Return the multiplications of the points' matrix, its factorisation, and the entrywise operations."""
        return 2.0 * n * n * p + (2.0 * n) ** 3 / 3.0 + 12.0 * n * n

    @property
    def order(self) -> int:
        """Number of unknowns, 2n."""
        return 2 * int(self.A.shape[0])

    def _assemble(self) -> FloatArray:
        """Return N + C with G = AΘ_sA', h = r - Am: N = [G∘G + 2θ hh'∘G, -θ diag(h)G; -θ G diag(h), ½θG]."""
        n, theta = self.A.shape[0], self._corner
        factor = sl.cho_factor(self._inverse[1:, 1:], lower=True, check_finite=False)
        self._m = -sl.cho_solve(factor, self._inverse[1:, 0], check_finite=False)
        self._h = self._r - self.A @ self._m
        half = sl.solve_triangular(factor[0], self.A.T, lower=True, check_finite=False)
        self._shear = sl.cho_solve(factor, np.eye(self.A.shape[1]), check_finite=False)
        G = half.T @ half
        H = np.empty((2 * n, 2 * n))
        H[:n, :n] = G * (G + 2.0 * theta * np.outer(self._h, self._h))
        H[n:, :n] = -theta * G * self._h
        H[n:, n:] = 0.5 * theta * G
        H[:n, n:] = 0.0  # only the lower triangle is read
        index = np.arange(n)
        H[index, index] += self._compliance.qq
        H[index + n, index] += self._compliance.qu
        H[index + n, index + n] += self._compliance.uu
        return H

    def _unknowns(self, R: FloatArray, cq: FloatArray, cu: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Solve (N + C)e = p - c, where p are the rates of the primal direction for dS = 0."""
        n = self.A.shape[0]
        pq, pu = self.rates(*self._primal(R))
        e = self._solve(np.concatenate([pq - cq, pu - cu]))
        e_gamma, e_zeta = e[:n], e[n:]
        return *self._primal(R - self._moment(e_gamma, e_zeta)), e_gamma, e_zeta

    def _primal(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (dw, dV) of Θ X Θ with entry 00 of X such that dZ_00 = 0."""
        dw = self._corner * (self._shear @ (X[1:, 0] + X[1:, 1:] @ self._m))
        outer = np.outer(self._m, dw)
        dV = outer + outer.T + self._shear @ X[1:, 1:] @ self._shear
        return dw, 0.5 * (dV + dV.T)


def _scaled_cholesky(H: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the lower Cholesky factor of DHD and D = diag(H)^-½, regularised by up to 1e-9 if rounding made H indefinite."""
    diagonal = np.diagonal(H).copy()
    if not (np.isfinite(diagonal).all() and (diagonal > 0.0).all()):
        raise np.linalg.LinAlgError("the Newton system has no positive finite diagonal")
    jacobi = 1.0 / np.sqrt(diagonal)
    H *= jacobi[:, None]
    H *= jacobi
    regularisation = 1e-15
    while True:
        H.flat[:: H.shape[0] + 1] = 1.0 + regularisation
        factor, info = sl.lapack.dpotrf(H, lower=1, clean=0)
        if info == 0:
            return factor, jacobi
        regularisation *= 100.0
        if regularisation > 1e-8:
            raise np.linalg.LinAlgError("the Newton system is not positive definite")


def best_system(A: FloatArray) -> NewtonSystem:
    """Return the Newton system with fewer multiplications."""
    return GramSystem(A) if GramSystem.work(*A.shape) <= PointSystem.work(*A.shape) else PointSystem(A)
