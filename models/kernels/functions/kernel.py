"""Kernels k(x, x') for dense and CSR data: what every kernel is, and the two kinds whose theory is shared.

A kernel is a frozen object. `Kernel.fitted` turns a *named rule* for γ into a number on the data that it is given;
everything else asks the fitted kernel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ....errors import InputError
from ...arrays import FloatArray, IntArray, Points, row_norms_squared
from ...rounding import gamma as gamma_n
from .distances import coarse, distance_error, distances_by_differences, distances_with_norms, squared_distances
from .gamma import gamma_number

__all__ = ["DistanceKernel", "Kernel", "NormalisedKernel", "ParameterRange", "RadialKernel"]

#: Operations of a kernel function that is not known: what its values are taken to be rounded by.
_UNKNOWN = 64


@dataclass(frozen=True)
class ParameterRange:
    """Values that a kernel's differentiable parameter may take: [lower, upper], without 0 where ``positive``."""

    lower: float
    upper: float
    positive: bool = False


@dataclass(frozen=True)
class Kernel(ABC):
    """A symmetric positive semidefinite function of two points.

    A kernel may declare ``parameters``: numbers with a range and with ``derivative``, the derivative of k with respect to each.
    `MaxMinSVM` moves any of them.
    """

    name: ClassVar[str]
    #: Whether X holds rows of the kernel matrix and no points, so that there is no f of new points to draw.
    of_rows: ClassVar[bool] = False

    def fitted(self, X: Points, weights: FloatArray | None = None) -> Kernel:
        """The same kernel with every named rule replaced by its number on X, whose rows may have weights."""
        return self

    @abstractmethod
    def matrix(self, X: Points, Z: Points) -> FloatArray:
        """k(x_i, z_j), len(X) × len(Z)."""

    @abstractmethod
    def diagonal(self, X: Points) -> FloatArray:
        """k(x_i, x_i)."""

    def columns(self, X: Points, indices: IntArray, norms: FloatArray) -> FloatArray:
        """Columns of k(x_i, x_j) of one set of points; ``norms`` holds every ||x_i||², computed once for all columns."""
        return self.matrix(X, X[indices])

    @property
    def parameters(self) -> Mapping[str, ParameterRange]:
        """Differentiable parameters by name, with their ranges; none unless a kernel says otherwise."""
        return {}

    def derivative(self, parameter: str, X: Points, Z: Points) -> FloatArray:
        """∂k(x_i, z_j)/∂parameter, len(X) × len(Z).

        Raises
        ------
        InputError
            The kernel has no such parameter, or it declares one without a derivative.
        """
        self.check_parameter(parameter)
        raise InputError(f"{type(self).__name__} declares the parameter {parameter!r} and must define `derivative` for it")

    def parameter_value(self, parameter: str) -> float:
        """The number that the parameter has now."""
        self.check_parameter(parameter)
        return gamma_number(getattr(self, parameter))

    def with_parameter(self, parameter: str, value: float) -> Kernel:
        """The same kernel with another value of the parameter."""
        self.check_parameter(parameter)
        return replace(self, **{parameter: float(value)})

    def check_parameter(self, parameter: str) -> None:
        """Raise `InputError` where there is no such parameter."""
        if parameter not in self.parameters:
            known = ", ".join(self.parameters) or "none"
            raise InputError(f"the {self.name} kernel has no differentiable parameter {parameter!r}; it has: {known}")

    @property
    @abstractmethod
    def latex(self) -> str:
        """The formula, as LaTeX."""

    @property
    def constant_diagonal(self) -> bool:
        """Return whether k(x, x) is the same for every x, whatever the data."""
        return False

    @property
    def positive_semidefinite(self) -> bool:
        """Return whether every matrix of this kernel is positive semidefinite, by a theorem; False where that is not known."""
        return False

    @property
    def translation_invariant(self) -> bool:
        """Return whether k(x + c, z + c) = k(x, z)."""
        return False

    def rounding(self, X: Points) -> FloatArray:
        """e ≥ 0 with |computed k(x_i, x_j) - k(x_i, x_j)| ≤ e_i e_j for the points as they are stored."""
        return np.sqrt(gamma_n(_UNKNOWN) * np.abs(self.diagonal(X)))

    def coarse(self, X: Points) -> bool:
        """Return whether inner products leave this kernel too few digits of the distances of these points: `fine_matrix` pays."""
        return False

    def fine_matrix(self, X: Points, Z: Points) -> FloatArray:
        """k(x_i, z_j), from differences of the points where the kernel is a function of these."""
        return self.matrix(X, Z)

    def fine_rounding(self, X: Points) -> FloatArray:
        """`rounding` of `fine_matrix`."""
        return self.rounding(X)


class NormalisedKernel(Kernel):
    """A kernel with k(x, x) = 1: every point lies on the unit sphere."""

    def diagonal(self, X: Points) -> FloatArray:
        """Ones."""
        return np.ones(X.shape[0])

    @property
    def constant_diagonal(self) -> bool:
        """True: k(x, x) = 1."""
        return True


class DistanceKernel(NormalisedKernel):
    """A positive semidefinite function of x - z with k(x, x) = 1."""

    @property
    def positive_semidefinite(self) -> bool:
        """True: a mixture of Gaussian kernels (Schoenberg), or of products of exp(-γ|x - z|)."""
        return True

    @property
    def translation_invariant(self) -> bool:
        """True: a function of x - z."""
        return True

    @abstractmethod
    def steepness(self) -> float:
        """L with |k - k'| ≤ L |d - d'| where d = ||x - z||² changes, k ≤ 1."""

    def rounding(self, X: Points) -> FloatArray:
        """L times the error of ||x_i||² + ||x_j||² - 2x_i'x_j, and that of the function itself."""
        return np.full(X.shape[0], np.sqrt(self._error(X) + gamma_n(32)))

    def _error(self, X: Points) -> float:
        """L times the error of the distances."""
        return self.steepness() * distance_error(X.shape[1], float(row_norms_squared(X).max(initial=0.0)))


class RadialKernel(DistanceKernel):
    """A function of ||x - z||² alone."""

    @abstractmethod
    def of_distances(self, distances: FloatArray) -> FloatArray:
        """k where ||x - z||² = ``distances``, which it may overwrite."""

    def matrix(self, X: Points, Z: Points) -> FloatArray:
        """k(x_i, z_j) from the squared distances."""
        return self.of_distances(squared_distances(X, Z, self.steepness()))

    def coarse(self, X: Points) -> bool:
        """Return whether the error of `rounding` is worth the differences' time."""
        return coarse(self._error(X), X.shape[0] ** 2 * X.shape[1], X)

    def fine_matrix(self, X: Points, Z: Points) -> FloatArray:
        """k(x_i, z_j) from the differences."""
        return self.of_distances(distances_by_differences(X, Z))

    def fine_rounding(self, X: Points) -> FloatArray:
        """The relative error γ_p of d = ||x - z||² times |dk/d log d| ≤ 1/e, k a mixture of exp(-td), and that of the function.

        It does not grow with the steepness: where d is far beyond the kernel's width, the value is 0 and so is its error.
        """
        return np.full(X.shape[0], np.sqrt(gamma_n(X.shape[1] + 40)))

    def columns(self, X: Points, indices: IntArray, norms: FloatArray) -> FloatArray:
        """Columns of k(x_i, x_j) of points that lie where their distances keep their digits."""
        return self.of_distances(distances_with_norms(X, X[indices], norms, norms[indices]))
