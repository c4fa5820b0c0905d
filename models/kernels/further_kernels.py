# exempt (text): a user's 'first.gamma'; formulas of the parts inside the mixture's, as they are shown
"""Laplacian and rational quadratic kernels, and mixtures of two kernels, for users and for `MaxMinSVM`, which tunes their
parameters.

``rounding`` returns e (n,) with |computed k(x_i, x_j) - k(x_i, x_j)| ≤ e_i e_j. Values *by differences* are computed from x - z,
where inner products would lose too many digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...errors import InputError, short_text
from ..arrays import FloatArray, Points, as_positive, as_share, to_dense
from ..rounding import gamma as gamma_n
from .kernels import DistanceKernel, Kernel, ParameterRange, RadialKernel, squared_distances


@dataclass(frozen=True)
class Laplacian(DistanceKernel):
    """The Laplacian kernel k(x, z) = exp(-γ||x - z||₁); CSR rows are made dense.

    Parameters
    ----------
    gamma : float
        γ > 0.
    """

    gamma: float

    name = "laplacian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", as_positive(self.gamma, "gamma"))

    def rounding(self, X: Points) -> FloatArray:
        """Return e with e_i e_j = γ_{p+40}, where γ_m = m·2⁻⁵³/(1 - m·2⁻⁵³) bounds the relative error of m roundings.

        It covers the relative error of d = γ||x - z||₁ times d·exp(-d) < 1, and that of exp.
        """
        return np.full(X.shape[0], np.sqrt(gamma_n(X.shape[1] + 40)))

    @property
    def parameters(self) -> Mapping[str, ParameterRange]:
        """Return γ, with its range (0, ∞)."""
        return {"gamma": ParameterRange(0.0, np.inf, positive=True)}

    def matrix(self, X: Points, Z: Points) -> FloatArray:
        """Return exp(-γ||x_i - z_j||₁)."""
        return np.asarray(np.exp(-self.gamma * _city_block(X, Z)))

    def derivative(self, parameter: str, X: Points, Z: Points) -> FloatArray:
        """Return -||x_i - z_j||₁ k."""
        self.check_parameter(parameter)
        distances = _city_block(X, Z)
        return np.asarray(-distances * np.exp(-self.gamma * distances))

    @property
    def latex(self) -> str:
        """Return the formula, as LaTeX."""
        return rf"k(x,z) = \exp(-{self.gamma:g}\,\|x-z\|_1)"

    def __str__(self) -> str:
        return f"k(x,z) = exp(-{self.gamma:g} ||x - z||_1)"


@dataclass(frozen=True)
class RationalQuadratic(RadialKernel):
    """The rational quadratic kernel k(x, z) = (1 + γ||x - z||²/α)^-α: a mixture of Gaussian kernels, RBF(γ) for α → ∞.

    Parameters
    ----------
    gamma : float
        γ > 0.
    alpha : float
        α > 0.
    """

    gamma: float
    alpha: float = 1.0

    name = "rational-quadratic"

    def __post_init__(self) -> None:
        for name in ("gamma", "alpha"):
            object.__setattr__(self, name, as_positive(getattr(self, name), name))

    def steepness(self) -> float:
        """Return γ, the largest slope of k in the squared distance."""
        return self.gamma

    @property
    def parameters(self) -> Mapping[str, ParameterRange]:
        """Return γ and α, with their ranges (0, ∞)."""
        return dict.fromkeys(("gamma", "alpha"), ParameterRange(0.0, np.inf, positive=True))

    def of_distances(self, distances: FloatArray) -> FloatArray:
        """Return (1 + γ||x_i - z_j||²/α)^-α."""
        return np.asarray(np.exp(-self.alpha * np.log1p(self.gamma / self.alpha * distances)))

    def derivative(self, parameter: str, X: Points, Z: Points) -> FloatArray:
        """Return the derivatives, with s = γ||x - z||²/α: -||x - z||² k/(1 + s) for γ, k·(s/(1 + s) - log(1 + s)) for α."""
        self.check_parameter(parameter)
        distances = squared_distances(X, Z)
        s = self.gamma / self.alpha * distances
        values = np.exp(-self.alpha * np.log1p(s))
        factor = -distances / (1.0 + s) if parameter == "gamma" else s / (1.0 + s) - np.log1p(s)
        return np.asarray(values * factor)

    @property
    def latex(self) -> str:
        """Return the formula, as LaTeX."""
        return rf"k(x,z) = (1 + {self.gamma:g}\,\|x-z\|^2/{self.alpha:g})^{{-{self.alpha:g}}}"

    def __str__(self) -> str:
        return f"k(x,z) = (1 + {self.gamma:g} ||x - z||^2/{self.alpha:g})^-{self.alpha:g}"


@dataclass(frozen=True)
class Mixture(Kernel):
    """The convex combination k = (1 - t) k_1 + t k_2 of two kernels.

    Parameters
    ----------
    first, second : Kernel
        k_1 and k_2.
    weight : float
        t in [0, 1].

    Notes
    -----
    The differentiable parameters are ``weight`` and those of both kernels, by names such as ``first.gamma``.
    """

    first: Kernel
    second: Kernel
    weight: float = 0.5

    name = "mixture"

    def __post_init__(self) -> None:
        for part in (self.first, self.second):
            if not isinstance(part, Kernel):
                raise InputError(
                    f"a mixture is of two kernels such as RBF(0.1) and RBF(1.0); one part is {short_text(part)}", name="kernels"
                )
        object.__setattr__(self, "weight", as_share(self.weight, "weight", zero=True))

    def fitted(self, X: Points, sample_weight: FloatArray | None = None) -> Mixture:
        """Return the mixture with both kernels fitted: rules for γ are replaced by their numbers on X."""
        return replace(self, first=self.first.fitted(X, sample_weight), second=self.second.fitted(X, sample_weight))

    @property
    def parameters(self) -> Mapping[str, ParameterRange]:
        """Return the weight and the parameters of both kernels, with their ranges."""
        parts = {"first": self.first, "second": self.second}
        nested = {f"{label}.{name}": span for label, part in parts.items() for name, span in part.parameters.items()}
        return {"weight": ParameterRange(0.0, 1.0), **nested}

    def parameter_value(self, parameter: str) -> float:
        """Return the weight t, or the value of a parameter of a part."""
        label, _, name = parameter.partition(".")
        return self._part(label).parameter_value(name) if name else super().parameter_value(parameter)

    def with_parameter(self, parameter: str, value: float) -> Mixture:
        """Return the mixture with another weight, or with another value of a part's parameter."""
        self.check_parameter(parameter)
        label, _, name = parameter.partition(".")
        if not name:
            return replace(self, weight=value)
        changed_part = self._part(label).with_parameter(name, value)
        return replace(self, first=changed_part) if label == "first" else replace(self, second=changed_part)

    def matrix(self, X: Points, Z: Points) -> FloatArray:
        """Return (1 - t) k_1 + t k_2."""
        return np.asarray((1.0 - self.weight) * self.first.matrix(X, Z) + self.weight * self.second.matrix(X, Z))

    def derivative(self, parameter: str, X: Points, Z: Points) -> FloatArray:
        """Return k_2 - k_1 for ``weight``; for a parameter of k_1 or k_2 its derivative times 1 - t or t."""
        self.check_parameter(parameter)
        label, _, name = parameter.partition(".")
        if not name:
            return np.asarray(self.second.matrix(X, Z) - self.first.matrix(X, Z))
        share = 1.0 - self.weight if label == "first" else self.weight
        return np.asarray(share * self._part(label).derivative(name, X, Z))

    def diagonal(self, X: Points) -> FloatArray:
        """Return (1 - t) k_1(x, x) + t k_2(x, x)."""
        return np.asarray((1.0 - self.weight) * self.first.diagonal(X) + self.weight * self.second.diagonal(X))

    @property
    def constant_diagonal(self) -> bool:
        """Return whether both parts have a constant diagonal."""
        return self.first.constant_diagonal and self.second.constant_diagonal

    @property
    def positive_semidefinite(self) -> bool:
        """Return whether both parts are positive semidefinite."""
        return self.first.positive_semidefinite and self.second.positive_semidefinite

    @property
    def translation_invariant(self) -> bool:
        """Return whether both parts are translation invariant."""
        return self.first.translation_invariant and self.second.translation_invariant

    def rounding(self, X: Points) -> FloatArray:
        """Return the error bound e from the bounds of both kernels and the rounding of their sum."""
        return self._sum_rounding(X, self.first.rounding(X), self.second.rounding(X))

    def needs_differences(self, X: Points) -> bool:
        """Return whether one of the two kernels needs values by differences for these points."""
        return self.first.needs_differences(X) or self.second.needs_differences(X)

    def matrix_by_differences(self, X: Points, Z: Points) -> FloatArray:
        """Return (1 - t) k_1 + t k_2, from differences."""
        return np.asarray(
            (1.0 - self.weight) * self.first.matrix_by_differences(X, Z) + self.weight * self.second.matrix_by_differences(X, Z)
        )

    def rounding_by_differences(self, X: Points) -> FloatArray:
        """Return the error bound e of `rounding` for `matrix_by_differences`."""
        return self._sum_rounding(X, self.first.rounding_by_differences(X), self.second.rounding_by_differences(X))

    def _sum_rounding(self, X: Points, first: FloatArray, second: FloatArray) -> FloatArray:
        parts = (1.0 - self.weight) * first**2 + self.weight * second**2 + gamma_n(4) * np.abs(self.diagonal(X))
        return np.sqrt(parts * (1.0 + 1e-12))

    @property
    def latex(self) -> str:
        """Return the formula, as LaTeX."""
        first, second = (part.latex.partition("=")[2].strip() for part in (self.first, self.second))
        return rf"k(x,z) = {1.0 - self.weight:g}\,[{first}] + {self.weight:g}\,[{second}]"

    def __str__(self) -> str:
        first, second = (str(part).partition("=")[2].strip() for part in (self.first, self.second))
        return f"k(x,z) = {1.0 - self.weight:g} [{first}] + {self.weight:g} [{second}]"

    def _part(self, label: str) -> Kernel:
        return self.first if label == "first" else self.second


def _city_block(X: Points, Z: Points) -> FloatArray:
    """Return ||x_i - z_j||₁."""
    from scipy.spatial.distance import cdist  # imported here: it takes a fifth of a second, and this kernel alone needs it

    return np.asarray(cdist(to_dense(X), to_dense(Z), "cityblock"))
