"""The conic (semidefinite) relaxation of the 0-1 loss as a reduction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...models.arrays import FloatArray
from ...models.formulations.conic.bound import certified_bound
from ...models.formulations.conic.model import ConicSVM
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...models.views import ConicProblem
from ..reduction import ONE_COST, PENALISED, LiftedDual, Need, Reduction, without_warnings
from ..relaxation import Relaxation

__all__ = ["Conic"]


@dataclass(frozen=True)
class Conic(Reduction[ConicSVM]):
    """The SDP of Conic (21), λ form: the best of all convexifications (13) over γ in Γ. Needs no M."""

    @property
    def name(self) -> str:
        """Name for tables."""
        return "conic SDP"

    @property
    def needs(self) -> tuple[Need, ...]:
        """A penalised intercept and one λ (`Combined` takes a λ for each point)."""
        return (*super().needs, PENALISED, ONE_COST)

    def apply(self, model: ZeroOneSVM) -> ConicSVM:
        """`ConicSVM` with the same data and λ.

        Raises
        ------
        UnsupportedModelError
            A free intercept, or weights λ_i that differ.
        """
        self.check(model)
        with without_warnings():
            return ConicSVM(model.X, model.y, lam=float(model.weights[0]))

    def lift(self, model: ZeroOneSVM, target: ConicSVM, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """γ moved into Γ and subgradients v of the conic losses: D(γ, v) of `models.formulations.conic.bound`."""
        problem = target.view(ConicProblem)
        assert problem is not None
        found = certified_bound(problem, np.asarray(multipliers["hull"]), v=multipliers.get("split"))
        return LiftedDual(
            found.value, {"hull": found.gamma, "split": found.v}, "closed-form dual value at γ in Γ (S ≻ 0 checked by Cholesky)"
        )


RELAXATIONS = (
    Relaxation(
        "conic",
        "the SDP: the best convexification over all γ in Γ; needs no M",
        Conic(),
        "Conic (21)",
        rank=80,
        default=True,
    ),
)
