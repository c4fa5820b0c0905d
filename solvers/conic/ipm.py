"""``conic-ipm``: a primal-dual interior-point method that knows the structure of the conic SVM, Conic (21)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...models.arrays import FloatArray
from ...models.formulations.conic.bound import conic_multipliers, conic_reduced
from ...models.kernels.threads import blas_threads
from ...models.views import ConicProblem
from ..interface.algorithm import Algorithm, Measure, Outcome
from ..interface.solver import Gives, SolverInfo
from ..records.answer import Answer
from ..records.options import Options
from ..records.rank import Purpose
from .coordinates import Prepared
from .iterate import Iterate
from .newton import NewtonSystem, PointSystem, best_system
from .newton_step import newton_step
from .starts import cold_start, warm_start

__all__ = ["ConicIPM", "ConicState"]

#: Iterations without a gap smaller by this factor after which floating-point arithmetic has given all it can.
_PATIENCE, _PROGRESS = 8, 0.8
#: Multiplications in a second, for the time of the first step; seconds by which a step may end late.
_RATE, _LATE = 1e10, 0.1
#: The same far from the solution, where a badly centred point may need a while to come back.
_EARLY_PATIENCE, _EARLY_GAP = 40, 1e-3


@dataclass(eq=False)
class ConicState:
    """The run: prepared data, the current iterate and the best one (smallest relative gap).

    ``reference`` is the last gap that counted as progress, ``waited`` the steps since.
    """

    prepared: Prepared
    system: NewtonSystem
    point: Iterate
    best: Iterate
    tolerance: float
    limit: int
    threads: int | None = None
    iteration: int = 0
    waited: int = 0
    reference: float = np.inf
    outcome: Outcome = Outcome.RUNNING
    start: str = "cold"
    deadline: float = np.inf  #: by the clock of `time.perf_counter`; a step that would end much later is not begun
    step_seconds: float = 0.0  #: of the last step; before the first what its multiplications take at `_RATE`

    @property
    def too_late(self) -> bool:
        """Whether the next step would end after the deadline, and more than `_LATE` seconds from now."""
        return self.step_seconds > max(self.deadline - time.perf_counter(), 0.0) + _LATE


@dataclass(frozen=True)
class ConicIPM(Algorithm[ConicProblem, ConicState]):
    """Feasible primal-dual predictor-corrector with Nesterov-Todd scaling for Conic (21), λ or κ form, any metric.

    One semidefinite cone of order p + 1 and, for each point, the 2 × 2 cone z_i q_i ≥ ρ_i² and the row ρ_i ≥ 1 - u_i, both
    eliminated point by point. A Newton step costs O(n p⁴ + p⁶) or O(n³ + n²p), whichever is less, and never p⁴ (n²)
    memory where n (p) is the smaller. Points are strictly feasible on both sides from the start, so every iterate has
    an objective and a lower bound.

    Parameters
    ----------
    max_iterations : int
        Newton steps at most.
    """

    max_iterations: int = 200

    info = SolverInfo(
        name="conic-ipm",
        rank={Purpose.STRUCTURE: 3},
        summary="structured primal-dual interior-point method for the conic SVM",
        views=(ConicProblem,),
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.WARM_START, Gives.TRACE, Gives.INTERRUPT}),
        tolerance=1e-8,
        reference="Cepeda, Gomez, Han, (21); Mehrotra predictor-corrector, Nesterov-Todd direction",
    )

    def init(self, view: ConicProblem, options: Options, rng: np.random.Generator) -> ConicState:
        """Prepare the data and take a strictly feasible start: near ``options.start`` (its w and W) where that serves, else cold.

        Raises
        ------
        InputError
            A start without w, of a wrong shape or not finite.
        """
        begun = time.perf_counter()
        prepared = Prepared.of(view)
        limit = self.max_iterations if options.iteration_limit is None else options.iteration_limit
        state = begin(prepared, options.tolerance(self.info.tolerance), limit)
        state.threads = options.threads
        if options.time_limit is not None:
            state.deadline = begun + options.time_limit
        if options.start is not None and state.outcome is Outcome.RUNNING:
            _start_near(state, options.start)
        return state

    def advance(self, state: ConicState, seconds: float) -> Outcome:
        """Newton steps until the time is over or the run ends."""
        end = time.perf_counter() + seconds
        with blas_threads(state.system.order, state.threads):
            while state.outcome is Outcome.RUNNING:
                if state.too_late:
                    return Outcome.TIME_LIMIT
                begun = time.perf_counter()
                iterate(state)
                state.step_seconds = time.perf_counter() - begun
                if time.perf_counter() >= end:
                    break
        return state.outcome

    def measure(self, state: ConicState) -> Measure:
        """Objective and bound of the best iterate, both proved."""
        if state.outcome is Outcome.INFEASIBLE:
            return Measure(state.iteration, np.nan)
        offset, scale = state.prepared.offset(), state.prepared.sigma2
        objective, bound = state.best.objective / scale + offset, state.best.bound / scale + offset
        return Measure(state.iteration, objective, bound, step="newton")

    def answer(self, state: ConicState) -> Answer:
        """Feasible point, repaired multipliers of every constraint, and the certified bound."""
        if state.outcome is Outcome.INFEASIBLE:
            return Answer(details={"reason": "rows of zeros alone exceed the budget κn"})
        prepared = state.prepared
        with blas_threads(state.system.order, state.threads):
            point = prepared.point(state.best.w, state.best.V)
            bound = prepared.bound(*state.best.dual_point, point, state.tolerance)
        mu = None if prepared.problem.kappa is None else bound.mu
        return Answer(
            values=point.values,
            multipliers=conic_multipliers(prepared.problem, bound.gamma, bound.v, mu),
            reduced=conic_reduced(prepared.problem, bound.v),
            bound=bound.value,
            proved=True,
            details={
                "newton_system": "points" if isinstance(state.system, PointSystem) else "gram",
                "start": state.start,
                "relative_gap": (point.objective - bound.value) / max(abs(point.objective), abs(bound.value), 1e-300),
            },
        )


def _start_near(state: ConicState, start: Mapping[str, FloatArray]) -> None:
    """Begin at a strictly feasible point near the user's w (and W), where it is nearer to the solution than the cold start."""
    found = warm_start(state.prepared.data, *state.prepared.reduced(start))
    serves = found is not None and found.gap < state.point.gap
    state.start = "near the given w and W" if serves else "cold: no central point near the given w and W has a smaller gap"
    if found is not None and serves:
        state.point = state.best = found


def begin(prepared: Prepared, tolerance: float, limit: int, system: NewtonSystem | None = None) -> ConicState:
    """State at the strictly feasible start (INFEASIBLE where the budget is used up by rows of zeros)."""
    feasible = prepared.feasible
    point = cold_start(prepared.data if feasible else prepared.at(1.0, None).data)
    state = ConicState(prepared, system or best_system(prepared.data.A), point, point, tolerance, limit)
    state.step_seconds = state.system.work(*prepared.data.A.shape) / _RATE
    if not feasible:
        state.outcome = Outcome.INFEASIBLE
    return state


def iterate(state: ConicState) -> None:
    """One Newton step and what follows from it for the run."""
    if state.iteration >= state.limit:
        state.outcome = Outcome.ITERATION_LIMIT
        return
    try:
        state.point, _, _ = newton_step(state.point, state.system)
    except np.linalg.LinAlgError:
        state.outcome = _verdict(state)
        return
    state.iteration += 1
    gap = state.point.gap
    if state.point.relative_gap < state.best.relative_gap:
        state.best = state.point
    state.waited += 1
    if gap <= _PROGRESS * state.reference:
        state.waited, state.reference = 0, gap
    if state.point.relative_gap <= 0.5 * state.tolerance:  # the other half is for the repair of γ and rounding
        state.outcome = Outcome.CONVERGED
    elif state.waited >= (_PATIENCE if state.best.relative_gap < _EARLY_GAP else _EARLY_PATIENCE):
        state.outcome = _verdict(state)


def _verdict(state: ConicState) -> Outcome:
    """What a run that can go no further has reached: judged by the certified gap, not by its own."""
    point = state.prepared.point(state.best.w, state.best.V)
    bound = state.prepared.bound(*state.best.dual_point, point, state.tolerance)
    gap = point.objective - bound.value
    reached = gap <= state.tolerance * max(abs(point.objective), abs(bound.value))
    return Outcome.CONVERGED if reached else Outcome.STALLED
