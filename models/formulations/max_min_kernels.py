"""The inner problem of MaxMin at any parameter, and the derivative of its optimal value there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..arrays import FloatArray, IntArray, Points
from ..kernels.functions.distances import squared_distances
from ..kernels.kernels import Kernel, Precomputed
from .convex_hulls import ConvexHullsDual

__all__ = ["GaussianMaxMin", "KernelMaxMin", "MaxMinProblem", "fisher_ratio", "named"]


def fisher_ratio(distances: FloatArray, y: FloatArray, gamma: float) -> float:
    """D_inter/D_inner of MaxMin (54)/(55) for k = exp(-γ D), D the m × m matrix of squared distances.

    D_inter = ||m+ - m-||², the squared distance of the classes' means in feature space; D_inner is the sum over the classes of
    the mean ||φ_i - m||² = 1 - mean k. Computed from 1 - k, which does not cancel where γ is small. Infinite where each class
    is one repeated point and the classes differ, zero where all points are equal.
    """
    return class_ratio(-np.expm1(-gamma * distances), y)


def named(parameter: str) -> tuple[str, bool]:
    """The kernel's parameter that a user names, and whether its logarithm is moved: "log-gamma", "gamma"."""
    return parameter.removeprefix("log-"), parameter.startswith("log-")


def class_ratio(apart: FloatArray, y: FloatArray) -> float:
    """D_inter/D_inner from half the squared distances in feature space, ½||φ_i - φ_j||²."""
    plus, minus = (y > 0).astype(np.float64), (y < 0).astype(np.float64)
    plus, minus = plus / plus.sum(), minus / minus.sum()
    to_plus, to_minus = apart @ plus, apart @ minus
    inner = float(plus @ to_plus) + float(minus @ to_minus)
    inter = 2.0 * float(plus @ to_minus) - inner
    if inner > 0:
        return max(inter, 0.0) / inner
    return float("inf") if inter > 0 else 0.0


@dataclass(frozen=True, eq=False)
class MaxMinProblem(ABC):
    """The inner problem at any parameter θ, and ∂/∂θ of its optimal value at a minimiser a.

    Envelope theorem: f(θ) = min_a ½a'Q(θ)a is differentiable where the minimiser is unique (I/C makes it so), with
    f'(θ) = ½a'Q'(θ)a = ½ Σ a_i a_j y_i y_j ∂k_θ(x_i, x_j)/∂θ at that minimiser.

    Parameters
    ----------
    X : array (m, p)
    y : ndarray (m,)
    C : float
    gamma0 : ndarray
        Start, one number or one for each feature.
    lower, upper : float
        Range of every number.
    parameter : str
        What is moved: a name, or ``log-`` and a name.
    sample_weight : ndarray (m,), optional
        s > 0: squared slack costs C s_i.
    """

    X: Points
    y: FloatArray
    C: float
    gamma0: FloatArray
    lower: float
    upper: float
    parameter: str
    sample_weight: FloatArray | None = field(default=None, kw_only=True)

    @property
    def logarithmic(self) -> bool:
        """Return whether the logarithm is moved."""
        return named(self.parameter)[1]

    @property
    def additive(self) -> bool:
        """Return whether the range contains 0, so that moves are measured by its length and not by a factor."""
        return self.lower <= 0.0

    @property
    @abstractmethod
    def label(self) -> str:
        """Name of the parameter in results."""

    @abstractmethod
    def kernel(self, gamma: FloatArray) -> FloatArray:
        """The kernel matrix at θ, m × m."""

    @abstractmethod
    def value(self, a: FloatArray, gamma: FloatArray) -> float:
        """½a'Q(θ)a at fixed a."""

    @abstractmethod
    def derivative(self, a: FloatArray, gamma: FloatArray) -> FloatArray:
        """∂/∂θ of ½a'Q(θ)a at fixed a: one number, or one for each feature."""

    @abstractmethod
    def ratio(self, gamma: FloatArray) -> float:
        """D_inter/D_inner of MaxMin (54)/(55) at θ."""

    def inner(self, gamma: FloatArray) -> ConvexHullsDual:
        """The two-hulls dual at θ, on the precomputed kernel matrix."""
        return ConvexHullsDual(self.kernel(gamma), self.y, self.C, Precomputed(), self.sample_weight)

    def slack(self, a: FloatArray) -> float:
        """a'a/C, or Σ a_i²/(C s_i)."""
        return float(a @ a / self.C if self.sample_weight is None else a @ (a / self.sample_weight) / self.C)


class GaussianMaxMin(MaxMinProblem):
    """k = exp(-γ D_ij), D_ij = ||x_i - x_j||²: f'(γ) = -½ Σ a_i a_j y_i y_j D_ij exp(-γ D_ij), MaxMin (51).

    For one γ_k a feature D_ij becomes (x_ik - x_jk)² and the exponent Σ_k γ_k (x_ik - x_jk)². X is dense.
    """

    X: FloatArray

    @property
    def label(self) -> str:
        """gamma."""
        return "gamma"

    @cached_property
    def distances(self) -> FloatArray:
        """||x_i - x_j||², m × m: with one γ for all features every kernel matrix comes from it."""
        return _distances(self.X)

    def kernel(self, gamma: FloatArray) -> FloatArray:
        """exp(-Σ_k γ_k (x_ik - x_jk)²), m × m."""
        return np.asarray(np.exp(-self._exponents(gamma)))

    def ratio(self, gamma: FloatArray) -> float:
        """From 1 - k, which does not cancel."""
        return fisher_ratio(self._exponents(gamma), self.y, 1.0)

    def value(self, a: FloatArray, gamma: FloatArray) -> float:
        """½a'Q(γ)a at fixed a."""
        support = np.flatnonzero(a)
        b = (a * self.y)[support]
        return 0.5 * (float(b @ self._block(support, gamma) @ b) + self.slack(a))

    def derivative(self, a: FloatArray, gamma: FloatArray) -> FloatArray:
        """One number, or one for each feature."""
        support = np.flatnonzero(a)
        b = (a * self.y)[support]
        if gamma.size == 1:
            D = self.distances[np.ix_(support, support)]
            return np.array([-0.5 * float(b @ (D * np.exp(-gamma[0] * D)) @ b)])
        X, weights = self.X[support], np.outer(b, b) * self._block(support, gamma)
        # Σ_ij w_ij (x_ik - x_jk)² = 2 (Σ_i s_i x_ik² - x_k'W x_k), s the row sums of W
        return np.asarray(-(weights.sum(axis=1) @ X**2 - np.einsum("ik,ij,jk->k", X, weights, X, optimize=True)))

    def _exponents(self, gamma: FloatArray) -> FloatArray:
        """Σ_k γ_k (x_ik - x_jk)², m × m; one γ serves all features."""
        return gamma[0] * self.distances if gamma.size == 1 else _distances(self.X * np.sqrt(gamma))

    def _block(self, support: IntArray, gamma: FloatArray) -> FloatArray:
        """The kernel matrix of some points."""
        if gamma.size == 1:
            return np.asarray(np.exp(-gamma[0] * self.distances[np.ix_(support, support)]))
        return np.asarray(np.exp(-_distances(self.X[support] * np.sqrt(gamma))))


@dataclass(frozen=True, eq=False)
class KernelMaxMin(MaxMinProblem):
    """Any differentiable parameter of any kernel (`Kernel.parameters`).

    Parameters
    ----------
    base : Kernel
    name : str
        The parameter's name in the kernel.
    """

    base: Kernel
    name: str

    @property
    def label(self) -> str:
        """The parameter's name."""
        return self.name

    def at(self, gamma: FloatArray) -> Kernel:
        """The kernel with that value."""
        return self.base.with_parameter(self.name, float(gamma[0]))

    def kernel(self, gamma: FloatArray) -> FloatArray:
        """Its matrix, symmetric to the last bit."""
        K = self.at(gamma).matrix(self.X, self.X)
        return np.asarray(0.5 * (K + K.T))

    def value(self, a: FloatArray, gamma: FloatArray) -> float:
        """½a'Q(θ)a at fixed a."""
        support = np.flatnonzero(a)
        b, points = (a * self.y)[support], self.X[support]
        return 0.5 * (float(b @ self.at(gamma).matrix(points, points) @ b) + self.slack(a))

    def derivative(self, a: FloatArray, gamma: FloatArray) -> FloatArray:
        """½Σ a_i a_j y_i y_j ∂k_ij/∂θ."""
        support = np.flatnonzero(a)
        b, points = (a * self.y)[support], self.X[support]
        return np.array([0.5 * float(b @ self.at(gamma).derivative(self.name, points, points) @ b)])

    def ratio(self, gamma: FloatArray) -> float:
        """From the kernel matrix."""
        K = self.kernel(gamma)
        diagonal = np.diagonal(K)
        return class_ratio(0.5 * (diagonal[:, None] + diagonal) - K, self.y)


def _distances(X: FloatArray) -> FloatArray:
    """||x_i - x_j||²; zero on the diagonal."""
    distances = squared_distances(X, X)
    np.fill_diagonal(distances, 0.0)
    return distances
