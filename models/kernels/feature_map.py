"""Explicit features Ψ of a kernel matrix K = ΨΨ', for linear and nonparallel models with kernels.

K_ij = k(x_i, x_j) for points x_i and a kernel k, the inner product of φ(x_i) and φ(x_j) in the kernel's feature space.
`FeatureMap` takes Ψ from a Cholesky factor, `KernelCoordinates` from eigenvectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from ...errors import InputError
from ..arrays import FloatArray, Points, as_points, check_bytes, to_dense
from ..deadline import eigendecomposition
from .kernels import Kernel, Linear, Precomputed, expansion


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """The features Ψ with ΨΨ' = K + offset + εI by Cholesky; for the linear kernel the points themselves after √offset.

    Source: Algorithm 1 of Zhang, Lai, Zhou and Liang, *NPSVC++* (2024).

    A direction u of feature space stands for the function f(x) = Σ β_i (k(x_i, x) + offset) with β = Ψ^{-T}u and ||u||² = β'(K
    + offset + εI)β. For the linear kernel it is f(x) = u'x, where ``offset`` > 0 puts a constant feature √offset before the
    features of x.

    Parameters
    ----------
    X : ndarray or csr_array (n, p)
        The points x_i.
    kernel : Kernel
        k, fitted: a rule for its γ is replaced by a number.
    ridge : float
        ε ≥ 0; not used by the linear kernel.
    offset : float
        Number ≥ 0 added to the kernel: the features then hold a constant, that is, an intercept.
    """

    X: Points
    kernel: Kernel
    ridge: float = 1e-3
    offset: float = 0.0

    @property
    def linear(self) -> bool:
        """Return whether the kernel is linear, so that Ψ holds the points themselves."""
        return isinstance(self.kernel, Linear)

    @property
    def dimension(self) -> int:
        """Return the number of columns of Ψ."""
        return self.X.shape[1] + int(self.offset > 0) if self.linear else int(self.X.shape[0])

    @cached_property
    def rows(self) -> FloatArray:
        """Return Ψ, n × `dimension`, dense.

        Raises
        ------
        InputError
            K + offset + εI is not positive definite to working accuracy: duplicated points need a larger ridge.
        TooLargeError
            The matrices would need more than `models.arrays.materialise_limit` bytes.
        """
        n = self.X.shape[0]
        check_bytes(8 * n * self.dimension * 2, "the kernel matrix and its Cholesky factor" if not self.linear else "dense rows")
        if self.linear:
            return self._linear(self.X)
        try:
            return np.asarray(scipy.linalg.cholesky(self.gram, lower=True, overwrite_a=True))
        except np.linalg.LinAlgError as error:
            raise InputError(
                f"the kernel matrix plus ridge = {self.ridge:g} is not positive definite (equal points, or no Mercer kernel): "
                "give a larger ridge",
                name="ridge",
            ) from error

    @property
    def gram(self) -> FloatArray:
        """Return K + offset + εI, computed at each call; not for the linear kernel."""
        matrix = np.array(self.kernel.matrix(self.X, self.X))
        matrix += self.offset
        matrix[np.diag_indices(matrix.shape[0])] += self.ridge
        return matrix

    def _linear(self, X: Points) -> FloatArray:
        dense = to_dense(X)
        if self.offset > 0:
            dense = np.column_stack([np.full(X.shape[0], np.sqrt(self.offset)), dense])
        return np.ascontiguousarray(dense)

    def coefficients(self, U: FloatArray) -> FloatArray:
        """Return β = Ψ^{-T}U, one column for each column of U; not for the linear kernel."""
        return np.asarray(scipy.linalg.solve_triangular(self.rows, U, lower=True, trans="T"))

    def project(self, U: FloatArray, X: object) -> FloatArray:
        """Return f(x) for the rows x of ``X`` and each direction of feature space, a column of U."""
        rows = as_points(X, columns=self.X.shape[1])
        if self.linear:
            return np.asarray(self._linear(rows) @ U)
        beta = self.coefficients(U)
        return expansion(self.kernel, rows, self.X, beta) + self.offset * beta.sum(axis=0)


#: Eigenvalues of K up to the first share of the largest are taken as zero; one below minus the second share refutes the kernel.
_ZERO = 1e-12
_NEGATIVE = 1e-8


@dataclass(frozen=True, eq=False)
class KernelCoordinates:
    """The features Ψ = VΛ^½ of K = VΛV', Λ the diagonal matrix of eigenvalues, one column for each that is positive.

    A problem that depends on w through the scores w'φ(x_i) and ||w|| has an optimal w in the span of the φ(x_i) (representer
    theorem). u holds its coordinates there: the points' scores are Ψu, ||w|| = ||u||, and f(x) = Σ β_i k(x_i, x) with β =
    VΛ^{-½}u.

    Parameters
    ----------
    X : ndarray or csr_array (n, p)
        The points x_i.
    kernel : Kernel
        k, fitted.

    Raises
    ------
    InputError
        K is not positive semidefinite; raised by the first use of the eigenvalues.
    TooLargeError
        K and its eigenvectors would need too much memory; likewise.
    """

    X: Points
    kernel: Kernel

    @cached_property
    def _spectrum(self) -> tuple[FloatArray, FloatArray]:
        n = self.X.shape[0]
        check_bytes(24 * n * n, "the kernel matrix and its eigenvectors")
        K = np.asarray(self.kernel.matrix(self.X, self.X), dtype=np.float64)
        try:
            values, vectors = eigendecomposition(0.5 * (K + K.T))
        except np.linalg.LinAlgError:  # numbers whose squares overflow
            largest = np.abs(K).max()
            raise InputError(f"the kernel matrix has no eigenvalues in float64; its largest entry is {largest:.3g}") from None
        top = float(np.abs(values).max(initial=0.0))
        if values.size and values[0] < -_NEGATIVE * top:
            raise InputError(
                f"the kernel matrix is not positive semidefinite: its smallest eigenvalue is {values[0]:.3g}, its largest "
                f"{top:.3g}; a norm needs a Mercer kernel",
                name="kernel",
            )
        large = values > _ZERO * top
        return values[large][::-1], vectors[:, large][:, ::-1]

    @cached_property
    def rows(self) -> FloatArray:
        """Return Ψ, n × rank of K."""
        values, vectors = self._spectrum
        return np.ascontiguousarray(vectors * np.sqrt(values))

    def coefficients(self, u: FloatArray) -> FloatArray:
        """Return β = VΛ^{-½}u."""
        values, vectors = self._spectrum
        return np.asarray(vectors @ (u / np.sqrt(values)))

    def scores(self, u: FloatArray, X: object) -> FloatArray:
        """Return f(x) = Σ β_i k(x_i, x) for the rows x of ``X`` (rows of k(x, x_i) with a precomputed kernel)."""
        return expansion(self.kernel, as_points(X, columns=self.X.shape[1]), self.X, self.coefficients(u))

    def squared_norms(self, X: object) -> FloatArray:
        """Return ||φ(x)||² = k(x, x) for the rows x of ``X``.

        Raises
        ------
        InputError
            The kernel is precomputed.
        """
        if isinstance(self.kernel, Precomputed):
            raise InputError(
                "a precomputed kernel does not know k(x, x) of new points, which these scores need; give the kernel itself"
            )
        return np.asarray(self.kernel.diagonal(as_points(X, columns=self.X.shape[1])))
