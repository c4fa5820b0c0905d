"""Kernels that a user gives: the matrix itself, or a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ....errors import InputError
from ...arrays import FloatArray, Points, to_dense
from .kernel import Kernel

__all__ = ["CallableKernel", "Precomputed"]


@dataclass(frozen=True)
class Precomputed(Kernel):
    """X *is* the kernel matrix: n × n between training points; len × n for a decision function."""

    name = "precomputed"
    of_rows = True

    def matrix(self, X: Points, Z: Points) -> FloatArray:
        """The columns of X that belong to the points Z; Z must be the training matrix itself or a slice of its rows.

        Points are rows of the n × n training matrix, so k(x_i, z_j) cannot be found from the rows alone: the models
        index columns instead and call this with Z = X only.
        """
        if X.shape[1] != Z.shape[0]:
            raise InputError(
                "a precomputed kernel needs one column for each training point: "
                f"the matrix has {X.shape[1]} columns, there are {Z.shape[0]} training points"
            )
        return to_dense(X)

    def diagonal(self, X: Points) -> FloatArray:
        """The diagonal of the matrix."""
        return np.asarray(X.diagonal(), dtype=np.float64)

    def rounding(self, X: Points) -> FloatArray:
        """Zero: the matrix is what is given."""
        return np.zeros(X.shape[0])

    @property
    def latex(self) -> str:
        """The formula, as LaTeX."""
        return r"k(x_i,x_j) = K_{ij}"

    def __str__(self) -> str:
        return "k(x_i,x_j) = K_ij, given"


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A kernel given as a function ``f(X, Z) -> len(X) × len(Z)`` array."""

    function: Callable[[Points, Points], FloatArray]

    name = "callable"

    def matrix(self, X: Points, Z: Points) -> FloatArray:
        """Return the user's matrix, checked for shape and finite values."""
        try:
            values = np.asarray(self.function(X, Z), dtype=np.float64)
        except TypeError as error:
            raise InputError(f"the kernel function must take two arrays of points and return numbers: {error}") from error
        if values.shape != (X.shape[0], Z.shape[0]) or not np.isfinite(values).all():
            raise InputError(
                f"the kernel function must return a finite array of shape {(X.shape[0], Z.shape[0])}; "
                f"it returned shape {values.shape}"
            )
        return values

    def diagonal(self, X: Points) -> FloatArray:
        """k(x_i, x_i), asked for point by point."""
        return np.array([self.matrix(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(X.shape[0])])

    @property
    def latex(self) -> str:
        """The formula, as LaTeX."""
        return r"k(x,z) = f(x,z)"

    def __str__(self) -> str:
        return f"k(x,z) = {getattr(self.function, '__name__', 'f')}(x,z)"
