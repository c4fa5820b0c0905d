"""The squared Euclidean norm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....arrays import FloatArray, as_positive
from ....statement import Line, times
from ..assembly import Affine, Assembly
from .regulariser import Regulariser

__all__ = ["SquaredNorm"]


@dataclass(frozen=True)
class SquaredNorm(Regulariser):
    """μ||w||²; μ = 1 is the conic paper's, μ = ½ the usual SVM's.

    Raises
    ------
    InputError
        μ ≤ 0.
    """

    mu: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", as_positive(self.mu, "mu"))

    def value(self, w: FloatArray) -> float:
        """μ||w||²."""
        return float(self.mu * (w @ w))

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """A quadratic cost."""
        builder.cost_of_squares(self.mu, w)

    def cost_line(self) -> Line:
        """μ||w||²."""
        return times(self.mu, Line("||w||^2", r"\|w\|_2^2"))

    def lines(self) -> tuple[Line, ...]:
        """No constraints."""
        return ()

    def curvature(self) -> float:
        """μ."""
        return self.mu

    @property
    def square(self) -> float:
        """μ."""
        return self.mu

    def reach(self, level: float, rows: FloatArray) -> FloatArray:
        """||x|| √(level/μ)."""
        return np.asarray(np.linalg.norm(rows, axis=1) * np.sqrt(level / self.mu))
