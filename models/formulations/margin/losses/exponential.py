"""The exponential loss e^-m of boosting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ....arrays import FloatArray
from ....program.exponential_cones import Exponential
from ....statement import Line
from ..assembly import Affine, Assembly
from ..loss import Conjugate, Loss
from ..part import Classifier, Setting


@dataclass(frozen=True)
class ExponentialConjugate(Conjugate):
    """Conjugate of Σ c e^-m: Σ α (1 - log(α/c)) on α ≥ 0, β = -α."""

    def point(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Minus the first multiplier of each cone, clipped; no multiplier without a cost."""
        return np.where(costs > 0.0, np.minimum(multipliers["power"][0::3], 0.0), 0.0)

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """Σ α (1 - log(α/c))."""
        inner = beta < 0.0
        share = np.divide(-beta, costs, out=np.ones(beta.size), where=inner)
        return float((-beta * (1.0 - np.log(share))).sum())

    @property
    def objective(self) -> Line:
        """Return the dual objective: the conjugates."""
        return Line("sum_i alpha_i (1 - log(alpha_i/c_i))", r"\textstyle\sum_i \alpha_i\bigl(1-\log(\alpha_i/c_i)\bigr)")

    @property
    def constraints(self) -> tuple[Line, ...]:
        """State the dual's constraint: the half-line."""
        return (Line("alpha_i >= 0", r"\alpha_i\ge 0"),)


@dataclass(frozen=True)
class ExponentialLoss(Loss):
    """e^-m: the least τ with (-m, 1, τ) in the exponential cone, cost τ. Multipliers (-α, v, c) of ``power`` hold α = c e^-m."""

    def values(self, argument: FloatArray) -> FloatArray:
        """e^-m; infinite below a margin of -709."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(-np.asarray(argument)))

    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """τ and its cones."""
        n = context.argument.rows
        tau = builder.variables("tau", n, 0.0)
        one = Affine({}, np.ones(n))
        builder.require("power", Affine.interleaved(-context.argument, one, tau), Exponential(3, max(n, 1)))
        builder.cost(context.sample_weight, tau)
        return None

    def blocks(self, classifier: Classifier) -> dict[str, FloatArray]:
        """τ."""
        return {"tau": self.values(classifier.argument)}

    def conjugate(self) -> Conjugate:
        """Σ α (1 - log(α/c)) on α ≥ 0."""
        return ExponentialConjugate()

    def cost_line(self) -> Line:
        """Σ c_i τ_i."""
        return Line("sum_i c_i tau_i", r"\textstyle\sum_i c_i\tau_i")

    def lines(self) -> tuple[Line, ...]:
        """State the epigraph."""
        return (Line("exp(-y_i x_i'w) <= tau_i", r"e^{-y_i x_i^\top w} \le \tau_i", "power"),)
