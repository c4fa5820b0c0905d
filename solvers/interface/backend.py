"""Backends: off-the-shelf solvers that read a standard form, after the bridges that they need."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import replace
from importlib import metadata

import numpy as np

from ...errors import UnsupportedModelError
from ...models.arrays import FloatArray
from ...models.memory import materialise_limit
from ...models.program.bridges import BoundsToRows, Bridge, DualPoint, EpigraphBridge, RotatedBridge
from ...models.program.cones import Feature
from ...models.program.form import StandardForm
from ..records.answer import Answer, Update, UpdateKind
from ..records.options import Options
from .kept_model import BUILT, Kept
from .solver import Problem, Solver, SolverInfo

__all__ = ["Backend", "missing_features", "plan_bridges"]


class Backend(Solver):
    """An off-the-shelf solver: one file, one record, one method."""

    @abstractmethod
    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Solve a form that has only features this backend reads."""

    def obstacle(self, problem: Problem) -> str | None:
        """Features of the form that it cannot read, even after bridges; no form at all, or one too large to materialise."""
        try:
            form = problem.form
        except UnsupportedModelError as error:
            return str(error)
        missing = missing_features(form, self.info)
        if missing:
            return f"it does not read {missing}"
        need, limit = form.bytes, materialise_limit()
        return f"the materialised form would need {need:,} bytes (limit {limit:,})" if need > limit else None

    def version(self) -> str:
        """Version of the installed package."""
        return metadata.version(self.info.package)

    def solve_kept(self, form: StandardForm, options: Options, kept: Kept) -> Answer:
        """Solve a form by updating what is kept of an earlier one; solvers that cannot build anew and say so."""
        first = kept.update is None
        kept.update = BUILT if first else Update(UpdateKind.REBUILT, "the solver, or our use of it, has no updates")
        return self.solve_form(form, options)

    def run(self, problem: Problem, options: Options) -> Answer:
        """Bridge the form, solve it, and bring point and multipliers back."""
        return self.run_kept(problem, options, None)

    def run_kept(self, problem: Problem, options: Options, kept: Kept | None) -> Answer:
        """As `run`, with the solver's model kept between the calls of one path (`solvers.interface.kept_model`)."""
        begin = time.perf_counter()
        form = problem.form
        bridges = plan_bridges(form, self.info)
        target = bridges[-1].target if bridges else form
        start = options
        if options.start is not None and bridges:
            start = _extended(options, form, bridges)
        built = time.perf_counter() - begin
        if kept is None:
            answer = self.solve_form(target, start)
        else:
            other = kept.under(options)
            answer = self.solve_kept(target, start, kept)
            kept.update = Update(UpdateKind.REBUILT, "other options") if other else kept.update
        return replace(
            _brought_back(answer, form, bridges),
            build_seconds=built + answer.build_seconds,
            version=self.version(),
            bridges=tuple(type(bridge).__name__ for bridge in bridges),
            update=None if kept is None else kept.update,
        )


def _brought_back(answer: Answer, form: StandardForm, bridges: list[Bridge]) -> Answer:
    """Point, multipliers and rays of the bridged form, brought back to the form."""
    target = bridges[-1].target if bridges else form
    dual = None
    if answer.multipliers is not None:
        dual = _lifted(DualPoint(answer.multipliers, np.zeros(target.n) if answer.reduced is None else answer.reduced), bridges)
    return replace(
        answer,
        values=None if answer.values is None else form.split(_recovered(target.join(answer.values), bridges)),
        multipliers=None if dual is None else dual.multipliers,
        reduced=None if dual is None else dual.reduced,
        farkas=None if answer.farkas is None else _lifted(DualPoint(answer.farkas, np.zeros(target.n)), bridges).multipliers,
        ray=None if answer.ray is None else form.split(_recovered(target.join(answer.ray), bridges)),
    )


def _recovered(x: FloatArray, bridges: list[Bridge]) -> FloatArray:
    for bridge in reversed(bridges):
        x = bridge.recover(x)
    return x


def _lifted(dual: DualPoint, bridges: list[Bridge]) -> DualPoint:
    for bridge in reversed(bridges):
        dual = bridge.lift_dual(dual)
    return dual


def missing_features(form: StandardForm, info: SolverInfo) -> str:
    """What the solver cannot read of this form even after bridges, in words; empty where it can read it."""
    needed = _after_bridges(form.features, info)
    missing = sorted(f.value for f in needed - info.reads)
    if missing:
        return " and ".join(missing)
    clash = next((pair for pair in info.forbids if pair <= needed), None)
    return " together with ".join(sorted(f.value for f in clash)) if clash else ""


def plan_bridges(form: StandardForm, info: SolverInfo) -> list[Bridge]:
    """The bridges that this solver needs for this form, in order."""
    bridges: list[Bridge] = []
    current = form
    if Feature.QUADRATIC in current.features and _needs_epigraph(current.features, info):
        bridges.append(EpigraphBridge(current))
        current = bridges[-1].target
    if Feature.ROTATED in current.features and Feature.ROTATED not in info.reads:
        bridges.append(RotatedBridge(current))
        current = bridges[-1].target
    if not info.bounds and current.has_bounds:
        bridges.append(BoundsToRows(current))
    return bridges


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


def _extended(options: Options, form: StandardForm, bridges: list[Bridge]) -> Options:
    """Start values for the bridged form: only a complete start can be extended."""
    assert options.start is not None
    if any(block.label not in options.start for block in form.blocks):
        return replace(options, start=None)
    x = form.join(options.start)
    for bridge in bridges:
        x = bridge.extend(x)
    return replace(options, start=bridges[-1].target.split(x))
