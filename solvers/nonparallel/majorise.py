"""Nonparallel classifiers with non-convex losses: repeat the convex majorant, with an objective that never rises."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.formulations.nonparallel.hinge_quadratic import HingeQuadratic
from ...models.formulations.nonparallel.npsvc import NonparallelSVM
from ..box.descent import box_minimum
from ..interface.algorithm import Algorithm, Measure, Outcome
from ..interface.solver import Gives, SolverInfo
from ..records.answer import Answer
from ..records.options import Options
from ..records.trace import relative_gap

__all__ = ["Majorisation", "MajorisationState"]


@dataclass(eq=False)
class MajorisationState:
    """u, the majorant that touches the objective at u, its dual point λ, and the objective so far."""

    model: NonparallelSVM
    u: FloatArray
    majorant: HingeQuadratic
    lam: FloatArray
    tol: float
    limit: float
    objectives: list[float] = field(default_factory=list)
    stationarity: float = float("inf")


@dataclass(frozen=True)
class Majorisation(Algorithm[NonparallelSVM, MajorisationState]):
    """u⁺ = argmin of the majorant at u: its value at u is the objective, so the objective cannot rise.

    Each majorant is a convex problem with hinge losses, minimised by `box_minimum` from the last dual point. The run ends where
    u is optimal for its own majorant to the tolerance, that is, stationary (for differences of convex functions: critical).

    Parameters
    ----------
    start : {"npsvm", "zero"}
        u of the convex problem with ℓ_s(a) = (slope at 0)·|a|, or u = 0.

    Raises
    ------
    InputError
        An unknown start.
    """

    start: str = "npsvm"

    info: ClassVar[SolverInfo] = SolverInfo(
        name="npsvc-mm",
        summary="majorisation-minimisation for nonparallel classifiers with non-convex losses",
        views=(NonparallelSVM,),
        gives=frozenset({Gives.DUALS, Gives.TRACE, Gives.INTERRUPT}),
        tolerance=1e-8,
        reference="Hunter, Lange: A tutorial on MM algorithms (2004); losses of NPSVC++, Table 1",
    )

    def __post_init__(self) -> None:
        if self.start not in ("npsvm", "zero"):
            raise InputError(f"start must be 'npsvm' or 'zero'; it is {self.start!r}")

    def init(self, view: NonparallelSVM, options: Options, rng: np.random.Generator) -> MajorisationState:
        """The start and its majorant."""
        zero = np.zeros(view.features.features)
        majorant = view.majorant(zero)
        tol = options.tolerance(self.info.tolerance)
        u, lam = zero, np.zeros(majorant.h.size)
        if self.start == "npsvm":
            lam, _ = box_minimum(majorant.box, None, 0.1 * tol)
            u = majorant.primal(lam)
            majorant = view.majorant(u)
        limit = np.inf if options.iteration_limit is None else float(options.iteration_limit)
        return MajorisationState(view, u, majorant, lam, tol, limit, [view.objective(u)])

    def advance(self, state: MajorisationState, seconds: float) -> Outcome:
        """Majorants for about ``seconds``."""
        end = time.perf_counter() + seconds
        while True:
            box = state.majorant.box
            lam, gap = box_minimum(box, np.clip(state.lam, box.lower, box.upper), 0.1 * state.tol)
            here = state.objectives[-1]
            lowest = state.majorant.value(state.majorant.primal(lam)) - gap
            state.stationarity = relative_gap(here, lowest)
            if state.stationarity <= state.tol:
                state.lam = lam
                return Outcome.STATIONARY
            if len(state.objectives) > state.limit:
                return Outcome.ITERATION_LIMIT
            u = state.majorant.primal(lam)
            value = state.model.objective(u)
            if value >= here:
                return Outcome.STALLED
            state.u, state.lam, state.majorant = u, lam, state.model.majorant(u)
            state.objectives.append(value)
            if time.perf_counter() >= end:
                return Outcome.RUNNING

    def measure(self, state: MajorisationState) -> Measure:
        """The objective; there is no bound."""
        return Measure(len(state.objectives) - 1, state.objectives[-1], step="majorant")

    def answer(self, state: MajorisationState) -> Answer:
        """u with the multipliers of its own majorant, whose certificate says how stationary u is."""
        lam = np.clip(state.lam, state.majorant.box.lower, state.majorant.box.upper)
        point = state.majorant.recover(lam)
        return Answer(
            values={"u": state.u, "xi": state.majorant.losses(state.u)},
            multipliers=point.multipliers,
            reduced=point.reduced,
            model=state.majorant,
            stationarity=state.stationarity,
            details={"objectives": state.objectives},
        )
