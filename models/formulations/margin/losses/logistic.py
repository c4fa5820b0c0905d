"""The logistic loss log(1 + e^-m), whose classifier is logistic regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....arrays import FloatArray
from ....program.exponential_cones import Exponential
from ....rounding import entropy, softplus
from ....statement import Line
from ....views import LinearLoss
from ..assembly import Affine, Assembly
from ..loss import Conjugate, Loss
from ..part import Classifier, Setting


@dataclass(frozen=True)
class LogisticConjugate(Conjugate):
    """Conjugate of Σ c log(1 + e^-m): Σ c H(α/c) on 0 ≤ α ≤ c, β = -α, with the entropy H(p) = -p log p - (1-p) log(1-p)."""

    def point(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Multipliers of ``margin``, clipped."""
        return -np.clip(multipliers["margin"], 0.0, costs)

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """Σ c H(α/c)."""
        return float(entropy(-beta, costs)[0].sum())

    @property
    def objective(self) -> Line:
        """Return the dual objective: the entropies."""
        return Line("sum_i c_i H(alpha_i/c_i)", r"\textstyle\sum_i c_i H(\alpha_i/c_i)")

    @property
    def constraints(self) -> tuple[Line, ...]:
        """State the dual's constraint: the interval, and what H is."""
        return (
            Line("0 <= alpha_i <= c_i", r"0\le\alpha_i\le c_i"),
            Line("H(p) = -p log p - (1 - p) log(1 - p)", r"H(p) = -p\log p - (1-p)\log(1-p)"),
        )


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + e^-m), minus the logarithm of the probability 1/(1 + e^-m) of the label.

    With a lower bound t of the margin it is the least ξ with e^{-t-ξ} + e^-ξ ≤ 1: two exponential cones for each point. At an
    optimum t = m, ξ is the loss, and the blocks ``right`` and ``wrong`` are the probabilities of the label and of the other one.
    Multipliers of ``margin`` are α_i = c_i times the second.
    """

    linear: ClassVar[LinearLoss | None] = LinearLoss.LOGISTIC

    def required_margin(self, values: Mapping[str, FloatArray]) -> None:
        """Return None: every margin costs."""

    def values(self, argument: FloatArray) -> FloatArray:
        """log(1 + e^-m)."""
        return softplus(-np.asarray(argument))[0]

    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """t, ξ, the two probabilities and their cones."""
        n = context.argument.rows
        t, xi = builder.variables("t", n), builder.variables("xi", n, 0.0)
        right, wrong = builder.variables("right", n, 0.0, 1.0), builder.variables("wrong", n, 0.0, 1.0)
        one = Affine({}, np.ones(n))
        builder.require_nonnegative("margin", context.argument - t)
        builder.require("log right", Affine.interleaved(-xi, one, right), Exponential(3, max(n, 1)))
        builder.require("log wrong", Affine.interleaved(-t - xi, one, wrong), Exponential(3, max(n, 1)))
        builder.require_nonnegative("probability", -right - wrong + 1.0)
        builder.cost(context.sample_weight, xi)
        return None

    def blocks(self, classifier: Classifier) -> dict[str, FloatArray]:
        """The margin, the loss and the probabilities."""
        m = np.asarray(classifier.argument)
        right, wrong = np.exp(-softplus(-m)[0]), np.exp(-softplus(m)[0])
        return {"t": m, "xi": self.values(m), "right": right, "wrong": wrong}

    def multipliers(self, alpha: FloatArray, costs: FloatArray) -> dict[str, FloatArray]:
        """Multipliers of the cones from α = c p, c the price of a probability.

        They are (-c p, -c p (1 - log p), c) of ``log wrong``, on the boundary of the dual cone, and the same of 1 - p.
        """
        share = np.minimum(alpha / np.where(costs > 0.0, costs, 1.0), 1.0)
        cones = {}
        for label, p in (("log right", 1.0 - share), ("log wrong", share)):
            logs = np.log(np.where(p > 0.0, p, 1.0))
            cones[label] = np.column_stack([-costs * p, -costs * p * (1.0 - logs), costs]).ravel()
        return {**cones, "probability": np.array(costs, dtype=np.float64)}

    def conjugate(self) -> Conjugate:
        """Entropies on 0 ≤ α ≤ c."""
        return LogisticConjugate()

    def cost_line(self) -> Line:
        """Σ c_i ξ_i."""
        return Line("sum_i c_i xi_i", r"\textstyle\sum_i c_i\xi_i")

    def lines(self) -> tuple[Line, ...]:
        """The epigraph of the loss, as it is and in cones."""
        return (
            Line("y_i x_i'w >= t_i", r"y_i x_i^\top w \ge t_i", "margin"),
            Line("exp(-xi_i) <= right_i", r"e^{-\xi_i} \le r_i", "log right"),
            Line("exp(-t_i - xi_i) <= wrong_i", r"e^{-t_i-\xi_i} \le q_i", "log wrong"),
            Line("right_i + wrong_i <= 1", r"r_i + q_i \le 1", "probability"),
        )
