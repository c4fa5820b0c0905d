"""The squared norm in feature space of a combination of points, in its coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .....errors import InputError
from ....arrays import BoolArray, FloatArray
from ....statement import Line
from ..assembly import Affine, Assembly
from ..values import as_numbers
from .regulariser import Regulariser

__all__ = ["KernelNorm"]


@dataclass(frozen=True, eq=False)
class KernelNorm(Regulariser):
    """w'Kw: ||Σ_j w_j φ(x_j)||² where K holds the inner products; X then has the rows of K.

    Parameters
    ----------
    K : array_like (m, m)
        Symmetric, positive semidefinite to rounding.

    Raises
    ------
    InputError
        A matrix that is not such; one of another order than there are penalised coefficients (when the problem is stated).
    """

    K: Any

    def __post_init__(self) -> None:
        K = as_numbers(self.K, "K")
        if K.ndim != 2 or K.shape[0] != K.shape[1] or not np.isfinite(K).all() or not np.array_equal(K, K.T):
            raise InputError(f"K must be a finite symmetric matrix; its shape is {K.shape}")
        spectrum = np.linalg.eigvalsh(K)
        if spectrum[0] < -1e-8 * max(abs(spectrum[-1]), 1.0):
            raise InputError(f"K must be positive semidefinite; it has the eigenvalue {spectrum[0]:.3g}")
        object.__setattr__(self, "K", K)

    def value(self, w: FloatArray) -> float:
        """w'Kw."""
        return float(w @ self.K @ w)

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """A quadratic cost."""
        builder.cost_of_form(self.K, w)

    def curvatures(self, penalised: BoolArray) -> FloatArray:
        """K over the penalised coefficients."""
        if int(penalised.sum()) != self.K.shape[0]:
            raise InputError(f"K has {self.K.shape[0]} rows, but {int(penalised.sum())} coefficients are penalised")
        D = np.zeros((penalised.size, penalised.size))
        D[np.ix_(penalised, penalised)] = self.K
        return D

    def cost_line(self) -> Line:
        """w'Kw."""
        return Line("w'Kw", r"w^\top K w")

    def lines(self) -> tuple[Line, ...]:
        """No constraints."""
        return ()
