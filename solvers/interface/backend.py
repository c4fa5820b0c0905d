"""Backends: off-the-shelf solvers that read a standard form, after the bridges that they need."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import numpy as np

from ...models.arrays import FloatArray
from ...models.memory import materialise_limit
from ...models.program.bridges import BoundsToRows, Bridge, DualPoint, EpigraphBridge, RotatedBridge
from ...models.program.cones import Feature
from ...models.program.form import StandardForm
from ..judging.rays import farkas_residual, ray_residual
from ..records.options import Options
from ..records.status import Status
from ..records.trace import Trace
from .kept_model import Kept
from .solver import Problem, RawSolution, Solver, SolverInfo

__all__ = ["Backend", "NativeSolution", "missing_features", "plan_bridges"]


@dataclass(frozen=True, eq=False)
class NativeSolution:
    """What a backend returns for the (bridged) form that it was given.

    Parameters
    ----------
    status, native_status
        As in `RawSolution`.
    x : ndarray (n,), optional
    multipliers : mapping of label to array, optional
        z_k of every constraint, by the signs of `models.program.form`: in the dual cone (free for equalities), and
        P x + q = Σ F_k'z_k + ζ.
    reduced : ndarray (n,), optional
        ζ; None counts as zeros when multipliers are given (a solver whose bounds were rows).
    objective, bound : float, optional
        The solver's claims.
    details : mapping
        Anything worth keeping; ``farkas`` (multipliers by label) proves infeasibility, ``ray`` (n,) unboundedness: both are
        brought back to the form and checked by `Backend.run`.
    build_seconds : float
        Time of translating and loading the model, apart from solving.
    """

    status: Status
    native_status: str
    x: FloatArray | None = None
    multipliers: Mapping[str, FloatArray] | None = None
    reduced: FloatArray | None = None
    objective: float | None = None
    bound: float | None = None
    nodes: int | None = None
    iterations: int | None = None
    trace: Trace = field(default_factory=Trace)
    build_seconds: float = 0.0
    solve_seconds: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)


class Backend(Solver):
    """An off-the-shelf solver: one file, one record, one method."""

    @abstractmethod
    def solve_form(self, form: StandardForm, options: Options) -> NativeSolution:
        """Solve a form that has only features this backend reads."""

    def obstacle(self, problem: Problem) -> str | None:
        """Features of the form that it cannot read, even after bridges; or a form too large to materialise."""
        missing = missing_features(problem.form, self.info)
        if missing:
            return f"it does not read {missing}"
        need, limit = problem.form.bytes, materialise_limit()
        return f"the materialised form would need {need:,} bytes (limit {limit:,})" if need > limit else None

    def version(self) -> str:
        """Version of the installed package."""
        return metadata.version(self.info.package)

    def solve_kept(self, form: StandardForm, options: Options, kept: Kept) -> NativeSolution:
        """Solve a form by updating what is kept of an earlier one; solvers that cannot build anew and say so."""
        kept.note = "rebuilt: the solver, or our use of it, has no updates" if kept.note else "built"
        return self.solve_form(form, options)

    def run(self, problem: Problem, options: Options) -> RawSolution:
        """Bridge the form, solve it, and bring point and multipliers back."""
        return self.run_kept(problem, options, None)

    def run_kept(self, problem: Problem, options: Options, kept: Kept | None) -> RawSolution:
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
            native = self.solve_form(target, start)
        else:
            other = kept.under(options)
            native = self.solve_kept(target, start, kept)
            kept.note = "rebuilt: other options" if other else kept.note
        x, dual = native.x, None
        if native.multipliers is not None:
            reduced = np.zeros(target.n) if native.reduced is None else native.reduced
            dual = DualPoint(native.multipliers, reduced)
        for bridge in reversed(bridges):
            x = None if x is None else bridge.recover(x)
            dual = None if dual is None else bridge.lift_dual(dual)
        details = {**native.details, **_rays(native.details, form, bridges)}
        if kept is not None:
            details["update"] = kept.note
        if bridges:
            details["bridges"] = [type(b).__name__ for b in bridges]
        return RawSolution(
            status=native.status,
            native_status=native.native_status,
            values=None if x is None else form.split(x),
            multipliers=None if dual is None else dual.multipliers,
            reduced=None if dual is None else dual.reduced,
            objective=native.objective,
            bound=native.bound,
            nodes=native.nodes,
            iterations=native.iterations,
            trace=native.trace,
            build_seconds=built + native.build_seconds,
            solve_seconds=native.solve_seconds,
            version=self.version(),
            details=details,
        )


def _rays(details: Mapping[str, Any], form: StandardForm, bridges: list[Bridge]) -> dict[str, Any]:
    """The rays of an infeasible or unbounded problem brought back to the form, with their residuals (`solvers.judging.rays`)."""
    found: dict[str, Any] = {}
    if "farkas" in details:
        width = bridges[-1].target.n if bridges else form.n
        dual = DualPoint(details["farkas"], np.zeros(width))
        for bridge in reversed(bridges):
            dual = bridge.lift_dual(dual)
        found |= {"farkas": dict(dual.multipliers), "farkas_residual": farkas_residual(form, dual.multipliers)}
    if "ray" in details:
        d = details["ray"]
        for bridge in reversed(bridges):
            d = bridge.recover(d)
        found |= {"ray": form.split(d), "ray_residual": ray_residual(form, d)}
    return found


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
    from dataclasses import replace

    if any(block.label not in options.start for block in form.blocks):
        return replace(options, start=None)
    x = form.join(options.start)
    for bridge in bridges:
        x = bridge.extend(x)
    return replace(options, start=bridges[-1].target.split(x))
