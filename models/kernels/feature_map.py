"""Rows ψ_i with ψ_i'ψ_j = k(x_i, x_j): what turns a kernel formulation into a linear one of at most n features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from ...errors import InputError
from ..arrays import FloatArray, Points, as_points, to_dense
from ..memory import check_bytes
from .kernels import Kernel, Linear, Precomputed

__all__ = ["FeatureMap"]


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Ψ with ΨΨ' = K + offset + εI (Cholesky), or the data themselves for the linear kernel (NPSVC++, Algorithm 1).

    u in feature space is f(x) = Σ β_i (k(x_i, x) + offset) with β = Ψ^{-T}u for a kernel, f(x) = u'x for the linear one, where
    ``offset`` > 0 puts a constant feature √offset first. The norm ||u||² = β'(K + offset + εI)β.

    Parameters
    ----------
    X : ndarray or csr_array (n, p)
    kernel : Kernel
        Fitted.
    ridge : float
        ε ≥ 0; not used by the linear kernel.
    offset : float
        Added to the kernel: its features then hold a constant, that is, an intercept.

    Raises
    ------
    InputError
        K + offset + εI is not positive definite to working accuracy: duplicated points need a larger ridge.
    TooLargeError
        K (n² numbers) does not fit.
    """

    X: Points
    kernel: Kernel
    ridge: float = 1e-3
    offset: float = 0.0

    @property
    def linear(self) -> bool:
        """Return whether Ψ holds the data themselves."""
        return isinstance(self.kernel, Linear)

    @property
    def features(self) -> int:
        """Columns of Ψ."""
        return self.X.shape[1] + int(self.offset > 0) if self.linear else int(self.X.shape[0])

    @cached_property
    def rows(self) -> FloatArray:
        """Ψ, n × features, dense."""
        n = self.X.shape[0]
        check_bytes(8 * n * self.features * 2, "the kernel matrix and its Cholesky factor" if not self.linear else "dense rows")
        if self.linear:
            return self._linear(self.X)
        try:
            return np.asarray(scipy.linalg.cholesky(self.gram, lower=True, overwrite_a=True))
        except np.linalg.LinAlgError as error:
            raise InputError(
                f"the kernel matrix plus ridge = {self.ridge:g} is not positive definite (equal points, or no Mercer kernel): "
                "give a larger ridge"
            ) from error

    @property
    def gram(self) -> FloatArray:
        """K + offset + εI, computed anew (kernels only)."""
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
        """β = Ψ^{-T}U, one column for each column of U (kernels only)."""
        return np.asarray(scipy.linalg.solve_triangular(self.rows, U, lower=True, trans="T"))

    def project(self, U: FloatArray, X: object) -> FloatArray:
        """New rows' products with the columns of U: f(x) for directions of feature space."""
        rows = as_points(X, columns=self.X.shape[1])
        if self.linear:
            return np.asarray(self._linear(rows) @ U)
        beta = self.coefficients(U)
        if isinstance(self.kernel, Precomputed):
            values = to_dense(rows)
            return np.asarray(values @ beta + self.offset * beta.sum(axis=0))
        step = max(1, 8_000_000 // self.X.shape[0])
        blocks = [self.kernel.matrix(rows[i : i + step], self.X) @ beta for i in range(0, rows.shape[0], step)]
        return np.asarray(np.concatenate(blocks) + self.offset * beta.sum(axis=0))
