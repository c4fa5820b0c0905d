"""Coordinates of the span of the data in feature space: what turns a kernel problem into a linear one, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...errors import InputError
from ..arrays import FloatArray, Points, as_points
from ..memory import check_bytes
from .kernels import Kernel, Precomputed, expansion

__all__ = ["KernelCoordinates"]

#: Eigenvalues of K below this share of the largest are taken as zero; negative ones beyond it refute the kernel.
_ZERO = 1e-12
_NEGATIVE = 1e-8


@dataclass(frozen=True, eq=False)
class KernelCoordinates:
    """Ψ with ΨΨ' = K, one column for each eigenvalue that is not zero: Ψ = VΛ^½ of K = VΛV'.

    A problem that depends on w through scores and ||w|| has an optimal w in the span of the φ(x_i) (representer theorem); u are
    its coordinates there: scores of the data Ψu, ||w|| = ||u||, and f(x) = Σ β_i k(x_i, x) with β = VΛ^{-½}u.

    Parameters
    ----------
    X : ndarray or csr_array (n, p)
    kernel : Kernel
        Fitted.

    Raises
    ------
    InputError
        K is not positive semidefinite (no Mercer kernel).
    TooLargeError
        K (n² numbers) and its eigenvectors do not fit.
    """

    X: Points
    kernel: Kernel

    @cached_property
    def _spectrum(self) -> tuple[FloatArray, FloatArray]:
        n = self.X.shape[0]
        check_bytes(24 * n * n, "the kernel matrix and its eigenvectors")
        K = np.asarray(self.kernel.matrix(self.X, self.X), dtype=np.float64)
        try:
            values, vectors = np.linalg.eigh(0.5 * (K + K.T))
        except np.linalg.LinAlgError:  # numbers whose squares overflow
            most = np.abs(K).max()
            raise InputError(f"the kernel matrix has no eigenvalues in float64; its largest entry is {most:.3g}") from None
        top = float(np.abs(values).max(initial=0.0))
        if values.size and values[0] < -_NEGATIVE * top:
            raise InputError(
                f"the kernel matrix is not positive semidefinite: its smallest eigenvalue is {values[0]:.3g}, its largest "
                f"{top:.3g}; a norm needs a Mercer kernel"
            )
        large = values > _ZERO * top
        return values[large][::-1], vectors[:, large][:, ::-1]

    @cached_property
    def rows(self) -> FloatArray:
        """Ψ, n × rank of K."""
        values, vectors = self._spectrum
        return np.ascontiguousarray(vectors * np.sqrt(values))

    def coefficients(self, u: FloatArray) -> FloatArray:
        """β = VΛ^{-½}u."""
        values, vectors = self._spectrum
        return np.asarray(vectors @ (u / np.sqrt(values)))

    def scores(self, u: FloatArray, X: object) -> FloatArray:
        """Σ β_i k(x_i, x) for new rows (rows of k(x, x_i) with a precomputed kernel)."""
        return expansion(self.kernel, as_points(X, columns=self.X.shape[1]), self.X, self.coefficients(u))

    def squares(self, X: object) -> FloatArray:
        """||φ(x)||² = k(x, x) of new rows.

        Raises
        ------
        InputError
            A precomputed kernel, which does not know it.
        """
        if isinstance(self.kernel, Precomputed):
            raise InputError(
                "a precomputed kernel does not know k(x, x) of new points, which these scores need; give the kernel itself"
            )
        return np.asarray(self.kernel.diagonal(as_points(X, columns=self.X.shape[1])))
