"""The conic (semidefinite) relaxation of the 0-1 loss as a reduction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...models.arrays import FloatArray
from ...models.formulations.conic.model import ConicSVM
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...models.views import ConicProblem
from ..reduction import LiftedDual
from ..relaxation import Relaxation
from .convexified import WholeNorm, dual_at

__all__ = ["Conic"]


@dataclass(frozen=True)
class Conic(WholeNorm[ConicSVM]):
    """The SDP of Conic (21), λ form: the best of all convexifications (13) over γ in Γ. Needs no M.

    It takes one λ; `Combined` takes one for each point.
    """

    beside_m = True

    @property
    def name(self) -> str:
        """Name for tables."""
        return "conic SDP"

    def target(self, model: ZeroOneSVM) -> ConicSVM:
        """`ConicSVM` with the same data and λ."""
        return ConicSVM(model.X, model.y, lam=float(model.weights[0]))

    def lift(self, model: ZeroOneSVM, target: ConicSVM, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """γ from ``hull``, v from ``split``."""
        return dual_at(ConicProblem(target.signed, target.lam, None), multipliers["hull"], multipliers)


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
