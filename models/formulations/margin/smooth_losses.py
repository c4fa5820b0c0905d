"""Smooth losses of `Margin`: the logistic and exponential losses, which take exponential cones, and Huber's loss of residuals.

m is the margin y_i x_i'w of a point and c its cost. L*(β) = max_a β'a - L(a) is the conjugate of the sum L of the losses at their
arguments a (margins or residuals), from which the closed-form dual follows. α ≥ 0 are the multipliers of the margins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...arrays import FloatArray, as_positive
from ...program.exponential_cones import Exponential
from ...rounding import entropy, softplus
from ...statement import REAL_NUMBERS, UNIT_INTERVAL, Line, PointVariables, times
from ...views import LinearLoss
from .assembly import Affine, Assembly
from .loss import Conjugate, Loss, ResidualConjugate, ResidualLoss
from .part import AssemblyContext, FixedClassifier


@dataclass(frozen=True)
class LogisticConjugate(Conjugate):
    """The conjugate L* of Σ c log(1 + e^-m); -L* is Σ c H(α/c) on 0 ≤ α ≤ c, β = -α, with the entropy
    H(p) = -p log p - (1-p) log(1-p).
    """

    objective = Line("sum_i c_i H(alpha_i/c_i)", r"\textstyle\sum_i c_i H(\alpha_i/c_i)")
    constraints = (
        Line("0 <= alpha_i <= c_i", r"0\le\alpha_i\le c_i"),
        Line("H(p) = -p log p - (1 - p) log(1 - p)", r"H(p) = -p\log p - (1-p)\log(1-p)"),
    )

    def feasible_beta(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Return minus the multipliers of the rows ``margin``, clipped to [0, c]."""
        return -np.clip(multipliers["margin"], 0.0, costs)

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """Return Σ c H(α/c)."""
        return float(entropy(-beta, costs)[0].sum())


@dataclass(frozen=True)
class Logistic(Loss):
    """The logistic loss log(1 + e^-m), minus the logarithm of the probability 1/(1 + e^-m) of the label.

    With a lower bound t of the margin the loss is the least ξ with e^{-t-ξ} + e^-ξ ≤ 1: two exponential cones for each point. At
    an optimum t = m, ξ is the loss, and the blocks ``right`` and ``wrong`` are the probabilities of the label and of the other
    one. Multipliers of ``margin`` are α_i = c_i times ``wrong``.
    """

    linear_loss: ClassVar[LinearLoss | None] = LinearLoss.LOGISTIC

    def required_margin(self, values: Mapping[str, FloatArray]) -> None:
        """Return None: every margin costs."""

    def values(self, argument: FloatArray) -> FloatArray:
        """Return log(1 + e^-m)."""
        return softplus(-np.asarray(argument))[0]

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add t, ξ, the two probabilities and their cones."""
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

    def blocks(self, classifier: FixedClassifier) -> dict[str, FloatArray]:
        """Return the margin, the loss and the probabilities."""
        m = np.asarray(classifier.argument)
        right, wrong = np.exp(-softplus(-m)[0]), np.exp(-softplus(m)[0])
        return {"t": m, "xi": self.values(m), "right": right, "wrong": wrong}

    def multipliers(self, alpha: FloatArray, costs: FloatArray) -> dict[str, FloatArray]:
        """Return the multipliers of the cones from α = c p, c the cost and p the probability of the other label.

        They are (-c p, -c p (1 - log p), c) for ``log wrong``, on the boundary of the dual cone, and the same with 1 - p for
        ``log right``; c for ``probability``.
        """
        share = np.minimum(alpha / np.where(costs > 0.0, costs, 1.0), 1.0)
        cones = {}
        for label, p in (("log right", 1.0 - share), ("log wrong", share)):
            logs = np.log(np.where(p > 0.0, p, 1.0))
            cones[label] = np.column_stack([-costs * p, -costs * p * (1.0 - logs), costs]).ravel()
        return {**cones, "probability": np.array(costs, dtype=np.float64)}

    def conjugate(self) -> Conjugate:
        """Return the conjugate L*; -L* is a sum of entropies on 0 ≤ α ≤ c."""
        return LogisticConjugate()

    def cost_line(self) -> Line:
        """Return the printed Σ c_i ξ_i."""
        return Line("sum_i c_i xi_i", r"\textstyle\sum_i c_i\xi_i")

    def variables(self) -> tuple[Line, ...]:
        """Return the printed margins, losses and probabilities."""
        return (
            PointVariables.of(Line("t", "t", "t"), REAL_NUMBERS),
            Line("xi >= 0", r"\xi\ge 0", "xi"),
            PointVariables.of(Line("right", "r", "right"), UNIT_INTERVAL),
            PointVariables.of(Line("wrong", "q", "wrong"), UNIT_INTERVAL),
        )

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows of the margin, the cones and the probabilities."""
        return (
            Line("y_i x_i'w >= t_i", r"y_i x_i^\top w \ge t_i", "margin"),
            Line("exp(-xi_i) <= right_i", r"e^{-\xi_i} \le r_i", "log right"),
            Line("exp(-t_i - xi_i) <= wrong_i", r"e^{-t_i-\xi_i} \le q_i", "log wrong"),
            Line("right_i + wrong_i <= 1", r"r_i + q_i \le 1", "probability"),
        )


@dataclass(frozen=True)
class ExponentialConjugate(Conjugate):
    """The conjugate L* of Σ c e^-m; -L* is Σ α (1 - log(α/c)) on α ≥ 0, β = -α."""

    objective = Line("sum_i alpha_i (1 - log(alpha_i/c_i))", r"\textstyle\sum_i \alpha_i\bigl(1-\log(\alpha_i/c_i)\bigr)")
    constraints = (Line("alpha_i >= 0", r"\alpha_i\ge 0"),)

    def feasible_beta(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Return the first multiplier of each cone, clipped at 0, and 0 where a point has no cost."""
        return np.where(costs > 0.0, np.minimum(multipliers["power"][0::3], 0.0), 0.0)

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """Return Σ α (1 - log(α/c))."""
        inner = beta < 0.0
        share = np.divide(-beta, costs, out=np.ones(beta.size), where=inner)
        return float((-beta * (1.0 - np.log(share))).sum())


@dataclass(frozen=True)
class ExponentialLoss(Loss):
    """The exponential loss e^-m: the least τ with (-m, 1, τ) in the exponential cone, the constraint ``power``. Its multipliers
    are (-α, v, c), α = c e^-m at an optimum, v the multiplier of the constant 1.
    """

    def required_margin(self, values: Mapping[str, FloatArray]) -> None:
        """Return None: every margin costs."""

    def values(self, argument: FloatArray) -> FloatArray:
        """Return e^-m; infinite below a margin of -709."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(-np.asarray(argument)))

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add τ and its cones."""
        n = context.argument.rows
        tau = builder.variables("tau", n, 0.0)
        one = Affine({}, np.ones(n))
        builder.require("power", Affine.interleaved(-context.argument, one, tau), Exponential(3, max(n, 1)))
        builder.cost(context.sample_weight, tau)
        return None

    def blocks(self, classifier: FixedClassifier) -> dict[str, FloatArray]:
        """Return τ."""
        return {"tau": self.values(classifier.argument)}

    def conjugate(self) -> Conjugate:
        """Return the conjugate L*; -L* is Σ α (1 - log(α/c)) on α ≥ 0."""
        return ExponentialConjugate()

    def cost_line(self) -> Line:
        """Return the printed Σ c_i τ_i."""
        return Line("sum_i c_i tau_i", r"\textstyle\sum_i c_i\tau_i")

    def variables(self) -> tuple[Line, ...]:
        """Return the printed losses."""
        return (Line("tau >= 0", r"\tau\ge 0", "tau"),)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed epigraph."""
        return (Line("exp(-y_i x_i'w) <= tau_i", r"e^{-y_i x_i^\top w} \le \tau_i", "power"),)


@dataclass(frozen=True)
class HuberConjugate(ResidualConjugate):
    """The conjugate L* of Σ c times Huber's loss, which is linear beyond ``delta`` δ; -L* is -Σ β²/(2c) on |β| ≤ c δ."""

    delta: float

    objective = Line(
        "sum_i (y_i beta_i - beta_i^2/(2 c_i))", r"\textstyle\sum_i \bigl(y_i\beta_i - \tfrac{\beta_i^2}{2c_i}\bigr)"
    )

    def interval(self, costs: FloatArray) -> FloatArray:
        """Return c δ."""
        return self.delta * costs

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """Return -Σ β²/(2c)."""
        return -float(np.divide(beta**2, 2.0 * costs, out=np.zeros(beta.size), where=beta != 0.0).sum())

    @property
    def constraints(self) -> tuple[Line, ...]:
        """Return the printed interval of β."""
        bound = times(self.delta, Line("c_i", "c_i"))
        return (Line(f"|beta_i| <= {bound.text}", rf"|\beta_i| \le {bound.latex}"),)


@dataclass(frozen=True)
class Huber(ResidualLoss):
    """Huber's loss of residuals r = y - x'w: ½r² up to δ, δ|r| - ½δ² beyond: min_s ½s² + δ|r - s|, with ξ ≥ |r - s|.

    Parameters
    ----------
    delta : float
        δ > 0, in units of y; scikit-learn's ``HuberRegressor`` has 1.35 times a scale that it estimates.

    Raises
    ------
    InputError
        δ ≤ 0.
    """

    delta: float = 1.35

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", as_positive(self.delta, "delta"))

    def values(self, argument: FloatArray) -> FloatArray:
        """Return ½r², or δ|r| - ½δ²."""
        inner = np.clip(argument, -self.delta, self.delta)
        return np.asarray(0.5 * inner**2 + self.delta * np.abs(argument - inner))

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add s, ξ and their two rows for each point."""
        n = context.argument.rows
        s, xi = builder.variables("s", n), builder.variables("xi", n, 0.0)
        remainder = context.argument - s
        builder.require_nonnegative("below", xi - remainder)
        builder.require_nonnegative("above", xi + remainder)
        builder.cost_of_squares(0.5 * context.sample_weight, s)
        builder.cost(self.delta * context.sample_weight, xi)
        return None

    def blocks(self, classifier: FixedClassifier) -> dict[str, FloatArray]:
        """Return s, the part of the residual that is squared, and ξ = |r - s|."""
        s = np.clip(classifier.argument, -self.delta, self.delta)
        return {"s": s, "xi": np.abs(classifier.argument - s)}

    def conjugate(self) -> Conjugate:
        """Return the conjugate L*; -L* is -Σ β²/(2c) on |β| ≤ c δ."""
        return HuberConjugate(self.delta)

    def cost_line(self) -> Line:
        """Return the printed Σ c_i (½s_i² + δ ξ_i)."""
        linear_part = times(self.delta, Line("xi_i", r"\xi_i"))
        return Line(
            f"sum_i c_i (1/2 s_i^2 + {linear_part.text})",
            rf"\textstyle\sum_i c_i\bigl(\tfrac12 s_i^2 + {linear_part.latex}\bigr)",
        )

    def variables(self) -> tuple[Line, ...]:
        """Return the printed squared part of the residuals and the rest."""
        return (
            PointVariables.of(Line("s", "s", "s"), REAL_NUMBERS),
            Line("xi >= 0", r"\xi\ge 0", "xi"),
        )

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows of the rest."""
        return (
            Line("y_i - x_i'w - s_i <= xi_i", r"y_i - x_i^\top w - s_i \le \xi_i", "below"),
            Line("x_i'w + s_i - y_i <= xi_i", r"x_i^\top w + s_i - y_i \le \xi_i", "above"),
            Line("xi_i >= 0", r"\xi_i \ge 0"),
        )
