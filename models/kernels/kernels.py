"""The kernels of the field by name (linear, RBF, polynomial), what a user may give in their place, and sums Σ c_j k(x, z_j)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...errors import InputError
from ..arrays import FloatArray, Points, as_positive, row_norms_squared
from ..rounding import gamma as gamma_n
from .functions.callable_kernel import CallableKernel, Precomputed
from .functions.distances import cross_products, squared_distances
from .functions.gamma import GammaRule, check_gamma, gamma_by_rule, gamma_number, shown_gamma
from .functions.kernel import DistanceKernel, Kernel, NormalisedKernel, ParameterRange, RadialKernel

__all__ = [
    "RBF",
    "CallableKernel",
    "DistanceKernel",
    "Kernel",
    "Linear",
    "NormalisedKernel",
    "ParameterRange",
    "Polynomial",
    "Precomputed",
    "RadialKernel",
    "as_kernel",
    "expansion",
]

#: Entries of a kernel matrix that a decision function computes at once: 64 MB.
_BLOCK_ENTRIES = 8_000_000


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = x'z."""

    name = "linear"

    def matrix(self, X: Points, Z: Points) -> FloatArray:
        """X Z'."""
        return cross_products(X, Z)

    def diagonal(self, X: Points) -> FloatArray:
        """||x_i||²."""
        return row_norms_squared(X)

    @property
    def positive_semidefinite(self) -> bool:
        """True: K = XX'."""
        return True

    def rounding(self, X: Points) -> FloatArray:
        """γ_p ||x_i|| ||x_j||; points that were centred come with two roundings more."""
        return np.sqrt(gamma_n(X.shape[1] + 8) * row_norms_squared(X))

    @property
    def latex(self) -> str:
        """The formula, as LaTeX."""
        return r"k(x,z) = x^\top z"

    def __str__(self) -> str:
        return "k(x,z) = x'z"


@dataclass(frozen=True)
class RBF(RadialKernel):
    """k(x, z) = exp(-γ||x - z||²).

    Parameters
    ----------
    gamma : float or {"frank-wolfe", "frank-wolfe-polynomial", "npsvc", "scale", "auto"}
        γ > 0, or the name of a rule (`gamma_by_rule`): three by the mean squared distance, and scikit-learn's two.
    """

    gamma: float | GammaRule = "frank-wolfe"

    name = "rbf"

    def __post_init__(self) -> None:
        check_gamma(self.gamma)

    def fitted(self, X: Points, weights: FloatArray | None = None) -> RBF:
        """The kernel with γ a number."""
        return replace(self, gamma=gamma_by_rule(self.gamma, X, weights)) if isinstance(self.gamma, str) else self

    def of_distances(self, distances: FloatArray) -> FloatArray:
        """exp(-γ||x_i - z_j||²), in place."""
        distances *= -gamma_number(self.gamma)
        return np.exp(distances, out=distances)

    def steepness(self) -> float:
        """γ."""
        return gamma_number(self.gamma)

    @property
    def parameters(self) -> Mapping[str, ParameterRange]:
        """γ in (0, ∞)."""
        return {"gamma": ParameterRange(0.0, np.inf, positive=True)}

    def derivative(self, parameter: str, X: Points, Z: Points) -> FloatArray:
        """-||x_i - z_j||² k, MaxMin (51)."""
        self.check_parameter(parameter)
        distances = squared_distances(X, Z)
        return np.asarray(-distances * np.exp(-gamma_number(self.gamma) * distances))

    @property
    def latex(self) -> str:
        """The formula, as LaTeX."""
        return rf"k(x,z) = \exp(-{self.gamma}\,\|x-z\|^2)"

    def __str__(self) -> str:
        return f"k(x,z) = exp(-{shown_gamma(self.gamma)} ||x - z||^2)"


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(x, z) = (γ x'z + c0)^degree.

    Parameters
    ----------
    degree : int
        ≥ 1.
    gamma : float or rule
        γ > 0, or the name of a rule (`gamma_by_rule`).
    coef0 : float
        c0 ≥ 0 (a negative one gives no Mercer kernel).
    """

    degree: int = 2
    gamma: float | GammaRule = "frank-wolfe-polynomial"
    coef0: float = 0.0

    name = "polynomial"

    def __post_init__(self) -> None:
        check_gamma(self.gamma)
        as_positive(self.coef0, "coef0", zero=True)
        if not isinstance(self.degree, (int, np.integer)) or self.degree < 1:
            raise InputError(f"degree must be an integer ≥ 1; it is {self.degree!r}")

    def fitted(self, X: Points, weights: FloatArray | None = None) -> Polynomial:
        """The kernel with γ a number."""
        return replace(self, gamma=gamma_by_rule(self.gamma, X, weights)) if isinstance(self.gamma, str) else self

    def matrix(self, X: Points, Z: Points) -> FloatArray:
        """(γ x_i'z_j + c0)^degree."""
        return self.of_products(cross_products(X, Z))

    def of_products(self, products: FloatArray) -> FloatArray:
        """The kernel's values from x_i'z_j, by multiplication: NumPy's power takes ten times as long."""
        base = gamma_number(self.gamma) * products + self.coef0
        value = base.copy()
        for _ in range(self.degree - 1):
            value *= base
        return value

    @property
    def parameters(self) -> Mapping[str, ParameterRange]:
        """γ in (0, ∞), c0 in [0, ∞)."""
        return {"gamma": ParameterRange(0.0, np.inf, positive=True), "coef0": ParameterRange(0.0, np.inf)}

    def derivative(self, parameter: str, X: Points, Z: Points) -> FloatArray:
        """degree·(γ x_i'z_j + c0)^(degree - 1), times x_i'z_j for γ."""
        self.check_parameter(parameter)
        products = cross_products(X, Z)
        outer = self.degree * (gamma_number(self.gamma) * products + self.coef0) ** (self.degree - 1)
        return np.asarray(outer * products if parameter == "gamma" else outer)

    def diagonal(self, X: Points) -> FloatArray:
        """(γ||x_i||² + c0)^degree."""
        return np.asarray((gamma_number(self.gamma) * row_norms_squared(X) + self.coef0) ** self.degree)

    @property
    def positive_semidefinite(self) -> bool:
        """True: sums and products of positive semidefinite kernels, c0 ≥ 0 and degree a whole number."""
        return True

    def rounding(self, X: Points) -> FloatArray:
        """The relative error of γ||x_i|| ||x_j|| + c0 ≤ √(k_ii k_jj)^(1/degree), degree times, and that of the products."""
        return np.sqrt(gamma_n(self.degree * (X.shape[1] + 8)) * self.diagonal(X))

    @property
    def latex(self) -> str:
        """The formula, as LaTeX."""
        return rf"k(x,z) = ({self.gamma}\,x^\top z + {self.coef0:g})^{{{self.degree}}}"

    def __str__(self) -> str:
        return f"k(x,z) = ({shown_gamma(self.gamma)} x'z + {self.coef0:g})^{self.degree}"


def expansion(kernel: Kernel, X: Points, Z: Points, coefficients: FloatArray) -> FloatArray:
    """Σ_j c_j k(x_i, z_j) for every row of X, over the non-zero c_j only and in blocks of rows of X.

    With a precomputed kernel the rows of X are rows of k(x_i, z_1), ..., k(x_i, z_n).
    """
    if isinstance(kernel, Linear):
        return np.asarray(X @ (Z.T @ coefficients))
    if isinstance(kernel, Precomputed):
        return np.asarray(X @ coefficients)
    support = np.flatnonzero(coefficients)
    if not support.size:
        return np.zeros(X.shape[0])
    centres, weights = Z[support], coefficients[support]
    step = max(1, _BLOCK_ENTRIES // support.size)
    blocks = [kernel.matrix(X[i : i + step], centres) @ weights for i in range(0, X.shape[0], step)]
    return np.concatenate(blocks)


def as_kernel(kernel: object, X: Points) -> Kernel:
    """A fitted kernel from a `Kernel` or a function, with X checked against it.

    Raises
    ------
    InputError
        Neither a kernel nor callable; or a precomputed matrix that is not square and symmetric.
    """
    if isinstance(kernel, Precomputed):
        if X.shape[0] != X.shape[1]:
            raise InputError(f"kernel=Precomputed() needs X to be the n × n kernel matrix; its shape is {X.shape}")
        if abs(X - X.T).max() > 1e-8 * max(1.0, abs(X).max()):
            raise InputError("kernel=Precomputed() needs a symmetric kernel matrix; X differs from its transpose")
    if isinstance(kernel, Kernel):
        return kernel.fitted(X)
    if callable(kernel):
        return CallableKernel(kernel)
    raise InputError(
        f"kernel must be Linear(), RBF(gamma), Polynomial(degree, gamma, coef0), Precomputed() or a function; it is {kernel!r}"
    )
