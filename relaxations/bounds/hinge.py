"""The hinge loss as a relaxation of the 0-1 loss: the big-M relaxation without the bounds z ≤ 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.formulations.hinge import HingeSVM
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...models.rounding import two_product
from ..reduction import PENALISED, LiftedDual, Need, without_warnings
from ..relaxation import Relaxation
from .big_m import WithConstants

__all__ = ["Hinge"]


@dataclass(frozen=True)
class Hinge(WithConstants[HingeSVM]):
    """min ||w||² + Σ (λ_i/M_i)(1 - u_i)_+: what Conic (4) becomes where z ≤ 1 is slack, Conic §2.

    At most the big-M relaxation with the same M, and equal to it where the optimal w has u_i ≥ 1 - M_i for all i.
    ``Hinge(1.0)`` is the hinge SVM as it is used: M = 1 is not valid, so it is an approximation and no bound, which `caveat`
    says.
    """

    @property
    def name(self) -> str:
        """Name with the constants' source."""
        return f"hinge, {self.source_name}"

    @property
    def needs(self) -> tuple[Need, ...]:
        """A penalised intercept: `HingeSVM` penalises it."""
        return (*super().needs, PENALISED)

    def apply(self, model: ZeroOneSVM) -> HingeSVM:
        """The hinge model with weights λ_i/M_i.

        Raises
        ------
        InputError
            A stated M_i is zero (its weight would be infinite).
        UnsupportedModelError
            A free intercept (`HingeSVM` penalises it).
        """
        self.check(model)
        M = self.constants(model)
        if not (M > 0).all():
            raise InputError(f"Hinge() needs M > 0; the model's smallest is {M.min():g}")
        with without_warnings():
            return HingeSVM(model.X, model.y, _quotients(model.weights, M))

    def lift(self, model: ZeroOneSVM, target: HingeSVM, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """0 ≤ α_i ≤ λ_i/M_i are multipliers of the big-M form's ``margin`` rows with the same dual value.

        There λ_i - α_i M_i ≥ 0, so z = 0 minimises the Lagrangian, as ξ = 0 does here; both are Σα - ¼||Σ α_i y_i x_i||².
        """
        alpha = np.clip(np.asarray(multipliers["margin"], dtype=np.float64), 0.0, target.weights)
        value = target.bound(None, {"margin": alpha}).value
        return LiftedDual(value, {"margin": alpha}, "the hinge dual's point as multipliers of the big-M rows")


def _quotients(weights: FloatArray, M: FloatArray) -> FloatArray:
    """λ_i/M_i rounded down: a hinge that costs an ulp too much would bound nothing."""
    quotients = weights / M
    product, error = two_product(quotients, M)
    return np.where((product > weights) | ((product == weights) & (error > 0.0)), np.nextafter(quotients, 0.0), quotients)


RELAXATIONS = (
    Relaxation(
        "hinge-incumbent",
        "the hinge loss with weights λ_i/M_i, M valid from a known classifier: big-M where z ≤ 1 is slack",
        Hinge("incumbent"),
        "Conic §2",
        rank=40,
        default=True,
    ),
    Relaxation(
        "hinge",
        "the hinge SVM as it is used (M = 1): an approximation that bounds nothing of the 0-1 problem",
        Hinge(1.0),
        "Conic (2)",
        rank=50,
        default=True,
    ),
)
