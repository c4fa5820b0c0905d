"""The bridges that a solver needs for a form, as one bridge: there and back in one call each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...models.arrays import FloatArray
from ...models.program.bridges import BoundsToRows, Bridge, DualPoint, EpigraphBridge, RotatedBridge
from ...models.program.cones import Feature
from ...models.program.form import StandardForm
from ..records.answer import Answer
from .solver import SolverInfo

__all__ = ["BridgeChain", "bringing", "missing_features"]


@dataclass(frozen=True, eq=False)
class BridgeChain:
    """From ``source`` over bridges (none, where the solver reads it as it is) to ``target``, and back.

    Parameters
    ----------
    source : StandardForm
    bridges : tuple of Bridge
        In order; the source of each is the target of the one before.
    """

    source: StandardForm
    bridges: tuple[Bridge, ...] = ()

    @classmethod
    def plan(cls, form: StandardForm, info: SolverInfo) -> BridgeChain:
        """The bridges that this solver needs for this form."""
        chain = cls(form)
        if Feature.QUADRATIC in form.features and _needs_epigraph(form.features, info):
            chain = chain.over(EpigraphBridge(chain.target))
        if Feature.ROTATED in chain.target.features and Feature.ROTATED not in info.reads:
            chain = chain.over(RotatedBridge(chain.target))
        if not info.bounds and chain.target.has_bounds:
            chain = chain.over(BoundsToRows(chain.target))
        return chain

    def over(self, bridge: Bridge) -> BridgeChain:
        """The chain with one more bridge."""
        return BridgeChain(self.source, (*self.bridges, bridge))

    @property
    def target(self) -> StandardForm:
        """The form that the solver reads."""
        return self.bridges[-1].target if self.bridges else self.source

    @property
    def names(self) -> tuple[str, ...]:
        """The kinds of the bridges."""
        return tuple(type(bridge).__name__ for bridge in self.bridges)

    def extend(self, x: FloatArray) -> FloatArray:
        """Point of the target from a point of the source."""
        for bridge in self.bridges:
            x = bridge.extend(x)
        return x

    def recover(self, x: FloatArray) -> FloatArray:
        """Point of the source from a point of the target."""
        for bridge in reversed(self.bridges):
            x = bridge.recover(x)
        return x

    def lift_dual(self, dual: DualPoint) -> DualPoint:
        """Multipliers of the source from multipliers of the target."""
        for bridge in reversed(self.bridges):
            dual = bridge.lift_dual(dual)
        return dual

    def extend_start(self, start: Mapping[str, FloatArray]) -> Mapping[str, FloatArray] | None:
        """Start values of the target; None where bridges would need blocks that the start does not have."""
        if not self.bridges:
            return start
        if any(block.label not in start for block in self.source.blocks):
            return None
        return self.target.split(self.extend(self.source.join(start)))

    def bring_back(self, answer: Answer) -> Answer:
        """An answer for the target as one for the source: point, multipliers, rays."""
        multipliers, reduced, farkas = answer.multipliers, answer.reduced, answer.farkas
        if multipliers is not None:
            dual = self.lift_dual(DualPoint(multipliers, np.zeros(self.target.n) if reduced is None else reduced))
            multipliers, reduced = dual.multipliers, dual.reduced
        if farkas is not None:
            farkas = self.lift_dual(DualPoint(farkas, np.zeros(self.target.n))).multipliers
        return replace(
            answer,
            values=self._brought_back(answer.values),
            multipliers=multipliers,
            reduced=reduced,
            farkas=farkas,
            ray=self._brought_back(answer.ray),
            bridges=self.names,
        )

    def _brought_back(self, values: Mapping[str, FloatArray] | None) -> Mapping[str, FloatArray] | None:
        if values is None or not self.bridges:
            return values
        return self.source.split(self.recover(self.target.join(values)))


def missing_features(form: StandardForm, info: SolverInfo) -> str:
    """Return the features of this form that the solver cannot read even after bridges, in words; empty where it can read it."""
    needed = _after_bridges(form.features, info)
    missing = sorted(f.value for f in needed - info.reads)
    if missing:
        return " and ".join(missing)
    clash = next((pair for pair in info.forbids if pair <= needed), None)
    return " together with ".join(sorted(f.value for f in clash)) if clash else ""


def bringing(form: StandardForm, info: SolverInfo) -> tuple[str, ...]:
    """Labels of the blocks and constraints that have what the solver cannot read, or not together with something else."""
    needed = _after_bridges(form.features, info)
    wrong = needed - info.reads or frozenset().union(*(pair for pair in info.forbids if pair <= needed))
    blocks = [b.label for b in form.blocks if Feature.INTEGER in wrong and form.integer[form.slices[b.label]].any()]
    return (*blocks, *(c.label for c in form.constraints if c.rows and c.cone.feature in wrong))


def _needs_epigraph(features: frozenset[Feature], info: SolverInfo) -> bool:
    clash = any(pair <= features and Feature.QUADRATIC in pair for pair in info.forbids)
    return Feature.QUADRATIC not in info.reads or clash


def _after_bridges(features: frozenset[Feature], info: SolverInfo) -> frozenset[Feature]:
    reads_cones = bool(info.reads & {Feature.ROTATED, Feature.SECOND_ORDER})
    if Feature.QUADRATIC in features and _needs_epigraph(features, info) and reads_cones:
        features = (features - {Feature.QUADRATIC}) | {Feature.ROTATED}
    if Feature.ROTATED in features and Feature.ROTATED not in info.reads and Feature.SECOND_ORDER in info.reads:
        features = (features - {Feature.ROTATED}) | {Feature.SECOND_ORDER}
    return features
