"""``conic-ipm``: a primal-dual interior-point method that exploits the structure of the conic SVM, Conic (21)."""

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

#: Iterations without a reduction of the gap by this factor after which the run stalls: the limit of floating-point arithmetic.
_PATIENCE, _PROGRESS = 8, 0.8
#: Multiplications per second, for the estimated time of the first step; seconds by which a step may exceed the deadline.
_FLOP_RATE, _GRACE = 1e10, 0.1
#: The patience at relative gaps above the second value, where a badly centred point may need many iterations.
_EARLY_PATIENCE, _EARLY_GAP = 40, 1e-3


@dataclass(eq=False)
class ConicState:
    """The state of a run: prepared data, the current iterate, and the best one (smallest relative gap).

    ``reference`` is the last gap that counted as progress, ``waited`` the number of steps since then.
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
    deadline: float = np.inf  #: value of `time.perf_counter`; a step that would end much later is not started
    step_seconds: float = 0.0  #: time of the last step; initially the estimate at `_FLOP_RATE`

    @property
    def too_late(self) -> bool:
        """True if the next step would end after the deadline, and more than `_GRACE` seconds from now."""
        return self.step_seconds > max(self.deadline - time.perf_counter(), 0.0) + _GRACE


@dataclass(frozen=True)
class ConicIPM(Algorithm[ConicProblem, ConicState]):
    """Feasible primal-dual predictor-corrector with Nesterov-Todd scaling for Conic (21), λ or κ form, any metric.

    The problem has one semidefinite cone of order p + 1 and, for each point, the 2 × 2 cone z_i q_i ≥ ρ_i² and the row
    ρ_i ≥ 1 - u_i, both eliminated point by point. A Newton step costs O(n p⁴ + p⁶) or O(n³ + n²p), whichever is less, and never
    needs p⁴ (n²) memory where n (p) is the smaller. All iterates are strictly primal and dual feasible, so each has an
    objective and a lower bound.

    Parameters
    ----------
    max_iterations : int
        Maximum number of Newton steps.
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
        """Prepare the data and choose a strictly feasible start: near ``options.start`` (w and W) if that is better, else cold.

        Raises
        ------
        InputError
            The start has no w, or an array of a wrong shape or with numbers that are not finite.
        """
        start_time = time.perf_counter()
        prepared = Prepared.of(view)
        limit = self.max_iterations if options.iteration_limit is None else options.iteration_limit
        state = begin(prepared, options.tolerance(self.info.tolerance), limit)
        state.threads = options.threads
        if options.time_limit is not None:
            state.deadline = start_time + options.time_limit
        if options.start is not None and state.outcome is Outcome.RUNNING:
            _start_near(state, options.start)
        return state

    def advance(self, state: ConicState, seconds: float) -> Outcome:
        """Take Newton steps for about ``seconds`` or until the run ends."""
        end = time.perf_counter() + seconds
        with blas_threads(state.system.order, state.threads):
            while state.outcome is Outcome.RUNNING:
                if state.too_late:
                    return Outcome.TIME_LIMIT
                start = time.perf_counter()
                iterate(state)
                state.step_seconds = time.perf_counter() - start
                if time.perf_counter() >= end:
                    break
        return state.outcome

    def measure(self, state: ConicState) -> Measure:
        """Return objective and lower bound of the best iterate, both proved."""
        if state.outcome is Outcome.INFEASIBLE:
            return Measure(state.iteration, np.nan)
        offset, scale = state.prepared.offset(), state.prepared.sigma2
        objective, bound = state.best.objective / scale + offset, state.best.bound / scale + offset
        return Measure(state.iteration, objective, bound, step="newton")

    def answer(self, state: ConicState) -> Answer:
        """Return the feasible point, repaired multipliers of every constraint, and the certified bound."""
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
    """Start at a strictly feasible point near the user's w (and W) if its gap is smaller than that of the cold start."""
    point = warm_start(state.prepared.data, *state.prepared.reduced(start))
    better = point is not None and point.gap < state.point.gap
    state.start = "near the given w and W" if better else "cold: no central point near the given w and W has a smaller gap"
    if point is not None and better:
        state.point = state.best = point


def begin(prepared: Prepared, tolerance: float, limit: int, system: NewtonSystem | None = None) -> ConicState:
    """Return the state at the strictly feasible start, with outcome INFEASIBLE if rows of zeros use up the budget."""
    feasible = prepared.feasible
    point = cold_start(prepared.data if feasible else prepared.at(1.0, None).data)
    state = ConicState(prepared, system or best_system(prepared.data.A), point, point, tolerance, limit)
    state.step_seconds = state.system.work(*prepared.data.A.shape) / _FLOP_RATE
    if not feasible:
        state.outcome = Outcome.INFEASIBLE
    return state


def iterate(state: ConicState) -> None:
    """Take one Newton step and update the state of the run."""
    if state.iteration >= state.limit:
        state.outcome = Outcome.ITERATION_LIMIT
        return
    try:
        state.point, _, _ = newton_step(state.point, state.system)
    except np.linalg.LinAlgError:
        state.outcome = _final_outcome(state)
        return
    state.iteration += 1
    gap = state.point.gap
    if state.point.relative_gap < state.best.relative_gap:
        state.best = state.point
    state.waited += 1
    if gap <= _PROGRESS * state.reference:
        state.waited, state.reference = 0, gap
    if state.point.relative_gap <= 0.5 * state.tolerance:  # the other half covers the repair of γ and rounding
        state.outcome = Outcome.CONVERGED
    elif state.waited >= (_PATIENCE if state.best.relative_gap < _EARLY_GAP else _EARLY_PATIENCE):
        state.outcome = _final_outcome(state)


def _final_outcome(state: ConicState) -> Outcome:
    """Return the outcome of a run without further progress, by the certified gap."""
    point = state.prepared.point(state.best.w, state.best.V)
    bound = state.prepared.bound(*state.best.dual_point, point, state.tolerance)
    gap = point.objective - bound.value
    converged = gap <= state.tolerance * max(abs(point.objective), abs(bound.value))
    return Outcome.CONVERGED if converged else Outcome.STALLED
