"""Features whose products approximate a kernel: Nyström's and random Fourier features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from ..errors import InputError
from ..models.arrays import FloatArray, Points, as_positive
from ..models.kernels.kernels import RBF, Kernel, Precomputed

__all__ = ["Approximation", "approximate"]


class Approximation(ABC):
    """A map of rows to rows whose products approximate the kernel."""

    @abstractmethod
    def rows(self, X: Points) -> FloatArray:
        """Rows of features, dense."""


@dataclass(frozen=True, eq=False)
class _Nystroem(Approximation):
    """k(x, Z)L^{-T} with LL' = k(Z, Z) + εI."""

    Z: Points
    kernel: Kernel
    factor: FloatArray

    def rows(self, X: Points) -> FloatArray:
        across = self.kernel.matrix(X, self.Z)
        return np.ascontiguousarray(scipy.linalg.solve_triangular(self.factor, across.T, lower=True).T)


@dataclass(frozen=True, eq=False)
class _Fourier(Approximation):
    """√(2/m) cos(Ω'x + b), by scikit-learn's `RBFSampler`."""

    sampler: Any

    def rows(self, X: Points) -> FloatArray:
        return np.ascontiguousarray(self.sampler.transform(X), dtype=np.float64)


def approximate(
    name: object, X: Points, kernel: Kernel, components: object, ridge: object, rng: np.random.RandomState
) -> Approximation:
    """The approximation of this name, fitted to the training rows.

    Parameters
    ----------
    name : {"nystroem", "fourier"}
    X : ndarray or csr_array (n, p)
    kernel : Kernel
        "fourier" needs `RBF`.
    components : int
        Features; at most n of Nyström's.
    ridge : float
        ε ≥ 0 of Nyström's.
    rng : RandomState
        Draws the landmarks or the frequencies.

    Raises
    ------
    InputError
        An unknown name, a kernel that the approximation does not know, a parameter out of range.
    """
    if name not in ("nystroem", "fourier"):
        raise InputError(f"approximation must be 'nystroem', 'fourier' or None; it is {name!r}")
    if isinstance(components, bool) or not isinstance(components, (int, np.integer)) or components < 1:
        raise InputError(f"components must be an integer ≥ 1; it is {components!r}")
    if isinstance(kernel, Precomputed):
        raise InputError("an approximation needs points, not a precomputed kernel matrix: give the kernel itself")
    fitted, count = kernel.fitted(X), int(components)
    if name == "nystroem":
        return _nystroem(X, fitted, min(count, X.shape[0]), as_positive(ridge, "ridge", zero=True), rng)
    if not isinstance(fitted, RBF):
        raise InputError(f"approximation='fourier' is for kernel='rbf'; the kernel is {fitted.name}: give 'nystroem'")
    from sklearn.kernel_approximation import RBFSampler

    return _Fourier(RBFSampler(gamma=float(fitted.gamma), n_components=count, random_state=rng).fit(X))


def _nystroem(X: Points, kernel: Kernel, count: int, ridge: float, rng: np.random.RandomState) -> Approximation:
    Z = X[np.sort(rng.choice(X.shape[0], size=count, replace=False))]
    matrix = kernel.matrix(Z, Z) + ridge * np.eye(count)
    try:
        return _Nystroem(Z, kernel, np.asarray(scipy.linalg.cholesky(matrix, lower=True)))
    except np.linalg.LinAlgError as error:
        raise InputError(
            f"the kernel matrix of the landmarks plus ridge = {ridge:g} is not positive definite: give a larger ridge"
        ) from error
