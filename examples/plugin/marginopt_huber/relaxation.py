"""The plug-in's relaxation, `HuberBound`: the Huber loss as a lower bound of the 0-1 loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from marginopt.models import ZeroOneSVM
from marginopt.models.arrays import FloatArray
from marginopt.relaxations import LiftedDual, Need, Reduction, Relaxation
from marginopt.relaxations.reduction import PENALISED

from .formulation import HuberSVM

__all__ = ["HUBER_BOUND", "HuberBound"]


@dataclass(frozen=True)
class HuberBound(Reduction[HuberSVM]):
    """The relaxation min ||w||² + Σ (λ_i/M_i) h((1 - u_i)_+), h the Huber loss, which is at most the hinge loss: h(t) ≤ t.

    Every optimal w has 1 - u_i ≤ M_i, so (λ_i/M_i)(1 - u_i)_+ ≤ λ_i 1{u_i < 1}, and the optimum is at most that of the 0-1 loss.

    Parameters
    ----------
    delta : float
        δ > 0 of the loss.
    """

    delta: float = 1.0

    @property
    def name(self) -> str:
        """Return the name with δ."""
        return f"Huber, delta = {self.delta:g}"

    @property
    def needs(self) -> tuple[Need, ...]:
        """Return the needs of every reduction, and a penalised intercept, as `HuberSVM` has."""
        return (*super().needs, PENALISED)

    def apply(self, model: ZeroOneSVM) -> HuberSVM:
        """Return `HuberSVM` with the weights λ_i/M_i."""
        self.check(model)
        return HuberSVM(model.X, model.y, model.sample_weight / np.maximum(model.big_m_values, 1e-12), self.delta)

    def lift(self, model: ZeroOneSVM, target: HuberSVM, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """Return the target's dual value at α clipped to [0, λ_i/M_i]: at most that of the big-M rows at the same α."""
        alpha = np.clip(np.asarray(multipliers["margin"], dtype=np.float64), 0.0, target.sample_weight)
        value = target.bound(None, {"margin": alpha}).value
        return LiftedDual(value, {"margin": alpha}, "the Huber dual's point as multipliers of the big-M rows")


#: Named in pyproject.toml under the same name.
HUBER_BOUND = Relaxation(
    "huber-bound", "the Huber loss below the hinge loss of the big-M constants", HuberBound(), "this package", rank=35
)
