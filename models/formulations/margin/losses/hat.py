"""The hat loss of unlabelled points: the hinge of |m|."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....arrays import FloatArray
from ....statement import Line
from ....views import PiecewiseLinearLoss
from ..assembly import Affine, Assembly
from ..loss import Branch, Loss
from ..part import Classifier, Setting


@dataclass(frozen=True)
class Hat(Loss):
    """(1 - |m|)_+, the loss of points without labels in semi-supervised SVMs: Bennett, Demiriz, 1999, (2).

    Slack ξ ≥ 0 and d in {0, 1}; d = 1 requires m + ξ ≥ 1, d = 0 requires -m + ξ ≥ 1; cost ξ.
    """

    convex: ClassVar[bool] = False
    symmetric: ClassVar[bool] = True

    def values(self, argument: FloatArray) -> FloatArray:
        """(1 - |m|)_+."""
        return np.maximum(1.0 - np.abs(argument), 0.0)

    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """The side d of each point, ξ and its rows."""
        n, M = context.argument.rows, context.big_m(1.0)
        d, xi = builder.binaries("d", n), builder.variables("xi", n, 0.0, 1.0)
        builder.switch("positive", Affine({}, np.ones(n)) - d, context.argument + xi - 1.0, M)
        builder.switch("negative", d, -context.argument + xi - 1.0, M)
        builder.cost(context.sample_weight, xi)
        return None

    def cost_line(self) -> Line:
        """Σ c_i ξ_i."""
        return Line("sum_i c_i xi_i", r"\textstyle\sum_i c_i\xi_i")

    def lines(self) -> tuple[Line, ...]:
        """Rows of slack and switches."""
        return (
            Line("d_i = 1  =>  x_i'w + xi_i >= 1", r"d_i = 1 \Rightarrow x_i^\top w + \xi_i \ge 1", "positive"),
            Line("d_i = 0  =>  -x_i'w + xi_i >= 1", r"d_i = 0 \Rightarrow -x_i^\top w + \xi_i \ge 1", "negative"),
            Line("0 <= xi_i <= 1, d_i in {0, 1}", r"0\le\xi_i\le 1,\ d_i\in\{0,1\}"),
        )

    def convex_pieces(self) -> tuple[Branch, ...]:
        """Return the hinge of the score m and that of -m, whose minimum the hat is."""
        return Branch(((0.0, 0.0), (-1.0, 1.0))), Branch(((0.0, 0.0), (1.0, 1.0)))

    def piecewise_linear(self) -> PiecewiseLinearLoss:
        """Return the loss as a function of |m|."""
        return PiecewiseLinearLoss.hat()

    def blocks(self, classifier: Classifier) -> dict[str, FloatArray]:
        """The side of each point, and its slack."""
        return {"d": (classifier.argument >= 0.0).astype(np.float64), "xi": self.values(classifier.argument)}

    def saturation(self) -> float:
        """Zero from 1 on, on both sides."""
        return 1.0
