"""Regression: Huber's loss of the residual, a square that goes on as a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ....arrays import FloatArray, Points, as_positive
from ....statement import Line, times
from ..assembly import Affine, Assembly
from ..loss import Conjugate, Loss, ResidualConjugate
from ..part import Classifier, Setting


@dataclass(frozen=True)
class HuberConjugate(ResidualConjugate):
    """Conjugate of Σ c times Huber's loss: -β²/(2c) on |β| ≤ c δ."""

    delta: float

    def interval(self, costs: FloatArray) -> FloatArray:
        """c δ."""
        return self.delta * costs

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """-Σ β²/(2c)."""
        return -float(np.divide(beta**2, 2.0 * costs, out=np.zeros(beta.size), where=beta != 0.0).sum())

    @property
    def objective(self) -> Line:
        """y'β - β²/(2c)."""
        latex = r"\textstyle\sum_i \bigl(y_i\beta_i - \tfrac{\beta_i^2}{2c_i}\bigr)"
        return Line("sum_i (y_i beta_i - beta_i^2/(2 c_i))", latex)

    @property
    def constraints(self) -> tuple[Line, ...]:
        """State the dual's constraint: the interval."""
        bound = times(self.delta, Line("c_i", "c_i"))
        return (Line(f"|beta_i| <= {bound.text}", rf"|\beta_i| \le {bound.latex}"),)


@dataclass(frozen=True)
class Huber(Loss):
    """½r² of residuals r = y - x'w up to δ, δ|r| - ½δ² beyond: min_s ½s² + δ|r - s|, with ξ ≥ |r - s|.

    Parameters
    ----------
    delta : float
        δ > 0; scikit-learn's ``HuberRegressor`` has 1.35 deviations.

    Raises
    ------
    InputError
        δ ≤ 0.
    """

    delta: float = 1.35

    labels: ClassVar[bool] = False
    residuals: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", as_positive(self.delta, "delta"))

    def rows(self, X: Points, y: FloatArray) -> tuple[sp.csr_array, FloatArray]:
        """Residuals y - Xw."""
        return sp.csr_array(-sp.csr_array(X)), np.asarray(y, dtype=np.float64)

    def values(self, argument: FloatArray) -> FloatArray:
        """½r², or δ|r| - ½δ²."""
        inner = np.clip(argument, -self.delta, self.delta)
        return np.asarray(0.5 * inner**2 + self.delta * np.abs(argument - inner))

    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """s, ξ and their two rows for each point."""
        n = context.argument.rows
        s, xi = builder.variables("s", n), builder.variables("xi", n, 0.0)
        remainder = context.argument - s
        builder.require_nonnegative("below", xi - remainder)
        builder.require_nonnegative("above", xi + remainder)
        builder.cost_of_squares(0.5 * context.sample_weight, s)
        builder.cost(self.delta * context.sample_weight, xi)
        return None

    def blocks(self, classifier: Classifier) -> dict[str, FloatArray]:
        """The part of the residual that is squared, and the rest."""
        s = np.clip(classifier.argument, -self.delta, self.delta)
        return {"s": s, "xi": np.abs(classifier.argument - s)}

    def conjugate(self) -> Conjugate:
        """-β²/(2c) on |β| ≤ c δ."""
        return HuberConjugate(self.delta)

    def cost_line(self) -> Line:
        """Σ c_i (½s_i² + δ ξ_i)."""
        linear_part = times(self.delta, Line("xi_i", r"\xi_i"))
        return Line(
            f"sum_i c_i (1/2 s_i^2 + {linear_part.text})",
            rf"\textstyle\sum_i c_i\bigl(\tfrac12 s_i^2 + {linear_part.latex}\bigr)",
        )

    def lines(self) -> tuple[Line, ...]:
        """Rows of the rest."""
        return (
            Line("y_i - x_i'w - s_i <= xi_i", r"y_i - x_i^\top w - s_i \le \xi_i", "below"),
            Line("x_i'w + s_i - y_i <= xi_i", r"x_i^\top w + s_i - y_i \le \xi_i", "above"),
            Line("xi_i >= 0", r"\xi_i \ge 0"),
        )
