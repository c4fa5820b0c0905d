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
from .conjugate import Conjugate, ResidualConjugate
from .loss import Loss

__all__ = ["EpsilonInsensitive"]


@dataclass(frozen=True)
class _InsensitiveConjugate(ResidualConjugate):
    """Of Σ c (|r| - ε)_+: -ε|β| on |β| ≤ c; of its square: -ε|β| - β²/(4c)."""

    epsilon: float
    squared: bool = False

    def interval(self, costs: FloatArray) -> FloatArray:
        """c; none of the square."""
        return np.full(costs.shape, np.inf) if self.squared else costs

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """-ε|β|, less β²/(4c)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            square = np.where(beta != 0, beta**2 / (4.0 * costs), 0.0) if self.squared else np.zeros(beta.size)
        return float(-self.epsilon * np.abs(beta).sum() - square.sum())

    @property
    def objective(self) -> Line:
        """-ε|β|, less β²/(4c)."""
        more = (" - beta_i^2/(4 c_i)", r" - \tfrac{\beta_i^2}{4c_i}") if self.squared else ("", "")
        e = f"{self.epsilon:g}"
        text = f"sum_i (y_i beta_i - {e} |beta_i|{more[0]})"
        return Line(text, rf"\textstyle\sum_i \bigl(y_i\beta_i - {e}\,|\beta_i|{more[1]}\bigr)")

    @property
    def constraints(self) -> tuple[Line, ...]:
        """The interval."""
        if self.squared:
            return ()
        return (Line("|beta_i| <= c_i", r"|\beta_i| \le c_i"),)


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
    residuals: ClassVar[bool] = True

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

    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """ξ and its two rows for each point."""
        xi = builder.variables("xi", context.argument.rows, 0.0)
        builder.require_nonnegative("below", xi - context.argument + self.epsilon)
        builder.require_nonnegative("above", xi + context.argument + self.epsilon)
        (builder.cost_of_squares if self.squared else builder.cost)(context.weights, xi)
        return None

    def conjugate(self) -> Conjugate:
        """-ε|β| on |β| ≤ c, or with squares."""
        return _InsensitiveConjugate(self.epsilon, self.squared)

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
