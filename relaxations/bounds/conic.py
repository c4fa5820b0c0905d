"""The conic (semidefinite) relaxation of the 0-1 loss as a reduction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...errors import UnsupportedModelError
from ...models.arrays import FloatArray
from ...models.formulations.conic.bound import certified_bound
from ...models.formulations.conic.model import ConicSVM
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...models.views import ConicProblem
from ..reduction import LiftedDual, Reduction, need_penalised, without_warnings

__all__ = ["Conic"]


@dataclass(frozen=True)
class Conic(Reduction):
    """The SDP of Conic (21), λ form: the best of all convexifications (13) over γ in Γ. Needs no M."""

    @property
    def name(self) -> str:
        """Name for tables."""
        return "conic SDP"

    def apply(self, model: ZeroOneSVM) -> ConicSVM:
        """`ConicSVM` with the same data and λ.

        Raises
        ------
        UnsupportedModelError
            A free intercept, or weights λ_i that differ (`Combined` takes those).
        """
        need_penalised(model, "Conic()")
        weights = model.weights
        if weights.min() != weights.max():
            raise UnsupportedModelError(
                f"Conic() needs one lam for all points; they range from {weights.min():g} to {weights.max():g}. "
                "Combined() relaxes models with a lam for each point"
            )
        with without_warnings():
            return ConicSVM(model.X, model.y, lam=float(weights[0]))

    def lift_dual(self, model: ZeroOneSVM, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """γ moved into Γ and subgradients v of the conic losses: D(γ, v) of `models.formulations.conic.bound`."""
        problem = self.apply(model).view(ConicProblem)
        assert problem is not None
        found = certified_bound(problem, np.asarray(multipliers["hull"]), v=multipliers.get("split"))
        return LiftedDual(
            found.value, {"hull": found.gamma, "split": found.v}, "closed-form dual value at γ in Γ (S ≻ 0 checked by Cholesky)"
        )
