"""Regression: the ε-insensitive loss of the residual, and its square."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ....arrays import FloatArray, Points, as_positive
from ....statement import Line
from ..assembly import Affine, Assembly
from ..part import Setting
from ..values import as_flag
from .conjugate import Conjugate, InsensitiveConjugate
from .loss import Loss

__all__ = ["EpsilonInsensitive"]


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """(|y - x'w| - ε)_+, or its square: slack ξ ≥ 0 with -ε - ξ ≤ y - x'w ≤ ε + ξ.

    Parameters
    ----------
    epsilon : float
        ε ≥ 0.
    squared : bool

    Raises
    ------
    InputError
        ε < 0.
    """

    epsilon: float = 0.1
    squared: bool = False

    labels: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_positive(self.epsilon, "epsilon", zero=True))
        object.__setattr__(self, "squared", as_flag(self.squared, "squared"))

    def rows(self, X: Points, y: FloatArray) -> tuple[sp.csr_array, FloatArray]:
        """Residuals y - Xw."""
        return sp.csr_array(-sp.csr_array(X)), np.asarray(y, dtype=np.float64)

    def values(self, argument: FloatArray) -> FloatArray:
        """(|r| - ε)_+, squared where asked."""
        excess = np.maximum(np.abs(argument) - self.epsilon, 0.0)
        return excess**2 if self.squared else excess

    def add(self, to: Assembly, at: Setting) -> Affine | None:
        """ξ and its two rows for each point."""
        xi = to.variables("xi", at.argument.rows, 0.0)
        to.require_nonnegative("below", xi - at.argument + self.epsilon)
        to.require_nonnegative("above", xi + at.argument + self.epsilon)
        (to.cost_of_squares if self.squared else to.cost)(at.weights, xi)
        return None

    def conjugate(self) -> Conjugate:
        """-ε|β| on |β| ≤ c, or with squares."""
        return InsensitiveConjugate(self.epsilon, self.squared)

    @property
    def dual_row(self) -> Line:
        """x_i."""
        return Line("x_i", "x_i")

    def cost_line(self) -> Line:
        """Σ c_i ξ_i, or squares."""
        power = "^2" if self.squared else ""
        return Line(f"sum_i c_i xi_i{power}", rf"\textstyle\sum_i c_i\xi_i{power}")

    def lines(self) -> tuple[Line, ...]:
        """Rows of the slack."""
        e = f"{self.epsilon:g}"
        return (
            Line(f"y_i - x_i'w <= {e} + xi_i", rf"y_i - x_i^\top w \le {e} + \xi_i", "below"),
            Line(f"x_i'w - y_i <= {e} + xi_i", rf"x_i^\top w - y_i \le {e} + \xi_i", "above"),
            Line("xi_i >= 0", r"\xi_i \ge 0"),
        )
