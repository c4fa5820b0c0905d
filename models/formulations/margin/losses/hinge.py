"""The hinge loss (1 - m)_+ and its square."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....arrays import FloatArray
from ....linear_view import LinearLoss
from ....margin_view import Corners
from ....statement import Line
from ..assembly import Affine, Assembly
from ..part import Classifier, Setting
from .conjugate import Conjugate, HingeConjugate
from .loss import Loss

__all__ = ["Hinge", "SquaredHinge"]


def _slack(builder: Assembly, context: Setting) -> Affine:
    """ξ ≥ 0 with m + ξ ≥ 1."""
    xi = builder.variables("xi", context.argument.rows, 0.0)
    builder.require_nonnegative("margin", context.argument + xi - 1.0)
    return xi


_LINES = (
    Line("y_i x_i'w + xi_i >= 1", r"y_i x_i^\top w + \xi_i \ge 1", "margin"),
    Line("xi_i >= 0", r"\xi_i \ge 0"),
)


@dataclass(frozen=True)
class Hinge(Loss):
    """(1 - m)_+: slack ξ ≥ 0 with m + ξ ≥ 1, cost ξ."""

    linear: ClassVar[LinearLoss | None] = LinearLoss.HINGE

    def values(self, argument: FloatArray) -> FloatArray:
        """(1 - m)_+."""
        return np.maximum(1.0 - argument, 0.0)

    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """ξ and its rows."""
        builder.cost(context.weights, _slack(builder, context))
        return None

    def corners(self) -> Corners:
        """Corners of the loss: one."""
        return Corners.hinge()

    def blocks(self, classifier: Classifier) -> dict[str, FloatArray]:
        """ξ."""
        return {"xi": self.values(classifier.argument)}

    def conjugate(self) -> Conjugate:
        """Σα on 0 ≤ α ≤ c."""
        return HingeConjugate()

    def cost_line(self) -> Line:
        """Σ c_i ξ_i."""
        return Line("sum_i c_i xi_i", r"\textstyle\sum_i c_i\xi_i")

    def lines(self) -> tuple[Line, ...]:
        """Rows of the slack."""
        return _LINES


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """(1 - m)_+²: slack ξ ≥ 0 with m + ξ ≥ 1, cost ξ²."""

    linear: ClassVar[LinearLoss | None] = LinearLoss.SQUARED_HINGE

    def values(self, argument: FloatArray) -> FloatArray:
        """(1 - m)_+²."""
        return np.maximum(1.0 - argument, 0.0) ** 2

    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """ξ and its rows."""
        builder.cost_of_squares(context.weights, _slack(builder, context))
        return None

    def blocks(self, classifier: Classifier) -> dict[str, FloatArray]:
        """ξ."""
        return {"xi": np.maximum(1.0 - classifier.argument, 0.0)}

    def conjugate(self) -> Conjugate:
        """Σα - α²/(4c)."""
        return HingeConjugate(squared=True)

    def cost_line(self) -> Line:
        """Σ c_i ξ_i²."""
        return Line("sum_i c_i xi_i^2", r"\textstyle\sum_i c_i\xi_i^2")

    def lines(self) -> tuple[Line, ...]:
        """Rows of the slack."""
        return _LINES
