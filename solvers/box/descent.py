"""The algorithm class of `boxqp`: coordinate descent on a box QP, finished by Newton or interior-point steps.

The program is min ½a'(ZZ' + D)a + q'a over lower ≤ a ≤ upper, with a diagonal D; the *view* (`BoxQP`) holds its data, with Z or
with the matrix ZZ' itself. An *epoch* is a pass over the active variables; a *round* is a run of epochs, followed by the gradient
and the duality gap in float64 and, where they pay, finishing steps.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.views import BoxQP
from ..interface.algorithm import Algorithm, Outcome
from ..interface.recorder import ProgressState
from ..records import Answer, Options
from . import RECORDS
from .finishers import FinishRun, active_set_steps, interior_point, interior_point_operations, newton_steps
from .state import BoxState, load_descent, make_state

#: Scalar operations a second of the compiled loop and of BLAS, which decide between the two and the length of a round.
_LOOP, _BLAS = 1.5e9, 1.5e10
#: Expected number of Newton steps.
_NEWTON = 6.0


@dataclass(frozen=True)
class BoxDescent(Algorithm[BoxQP, BoxState]):
    """Coordinate descent with random permutations and shrinking; Newton or interior-point steps once those are cheaper.

    A round of epochs lowers the violation (the spread of the projected gradients) tenfold, then recomputes gradient and duality
    gap from the data in float64. A line search along its step follows a round that uses up its work before: coordinate steps
    zigzag along directions of little curvature, which are long in wide boxes. If the view gives its factor in single precision,
    the next round starts from the float64 gradient (iterative refinement). The factor is computed in float64 once its rounding
    error exceeds the violation.

    Newton's method is tried whenever it needs fewer operations than the descent has used so far, and the gap has fallen to a
    third since the last try: by `active_set_steps` if the matrix is stored, by `newton_steps` if a factor of lower rank is. An
    interior-point method (`interior_point`) is tried once in a run, if it needs fewer operations than the descent so far.
    Well-conditioned problems use neither; ill-conditioned ones cost at most a few times the best of the three. From a start
    inside the box, with a stored matrix, active-set steps come first: a step costs about as much as the matrix, and few are
    needed if the bounds are active for some of the variables only (pinball losses).

    Parameters
    ----------
    finish : bool
        Whether to use Newton, active-set and interior-point steps.

    Raises
    ------
    InputError
        An infinite bound; a start that is not finite or of another shape; numbers whose squares overflow.
    """

    finish: bool = True

    info = RECORDS["boxqp"]

    def load(self, view: BoxQP) -> None:
        """Load the compiled loop before the clock starts."""
        load_descent(single=view.coarse is not None)

    def init(self, view: BoxQP, options: Options, rng: np.random.Generator) -> BoxState:
        """Return the state at the start in the box (without a start, at its point nearest to zero)."""
        _check_size(view)
        start = None if options.start is None else options.start.get("a")
        limit = np.inf if options.iteration_limit is None else float(options.iteration_limit)
        seconds = np.inf if options.time_limit is None else options.time_limit
        end = time.perf_counter() + seconds
        state = make_state(view, start, options.tolerance(self.info.tolerance), limit, int(rng.integers(1, 2**30)))
        state.deadline = end
        return state

    def advance(self, state: BoxState, seconds: float) -> Outcome:
        """Run rounds for about ``seconds``."""
        end = time.perf_counter() + seconds
        while True:
            outcome = self._round(state, max(end - time.perf_counter(), 0.2 * seconds))
            if outcome is not Outcome.RUNNING or time.perf_counter() >= end:
                return outcome

    def _round(self, state: BoxState, seconds: float) -> Outcome:
        if state.converged():
            return Outcome.CONVERGED
        if state.scalars.epochs + state.finish_steps >= state.limit:
            return Outcome.ITERATION_LIMIT
        if self.finish and state.scalars.epochs == 0 and self._solve_from_start(state):
            return Outcome.CONVERGED
        before, start = state.gap, state.a.copy()
        work = max(1, int(seconds * _LOOP))
        reached = state.descend(1 if state.limit < np.inf else work)  # one epoch at a time
        state.step = "coordinate"
        rough = state.refresh_and_bound_error() > state.violation
        if state.converged():
            return Outcome.CONVERGED
        if self.finish and self._run_finisher(state):
            return Outcome.CONVERGED
        if rough:
            state.use_float64()
        elif reached or state.violation <= state.rounding():
            smallest = state.rounding()
            state.stalled_rounds = state.stalled_rounds + 1 if state.violation <= smallest and state.gap >= 0.5 * before else 0
            if state.stalled_rounds >= 3:
                return Outcome.STALLED
            state.violation = max(0.1 * state.violation, smallest)
        elif state.limit == np.inf:
            return Outcome.RUNNING if state.extend_round(start) else Outcome.STALLED
        return Outcome.RUNNING

    def _solve_from_start(self, state: BoxState) -> bool:
        """Take Newton steps from a start inside the box if the matrix is stored; return whether they converged."""
        view, m = state.view, state.view.n
        step_seconds = m**3 / 3.0 / _BLAS
        inside = bool(((state.a > view.lower) & (state.a < view.upper)).all())
        if view.gram is None or not inside or time.perf_counter() + step_seconds > state.deadline:
            return False
        self._newton(state)
        return state.converged()

    def _newton(self, state: BoxState) -> None:
        """Run Newton's method: by active sets if the matrix is stored (full rank), else by projected steps."""
        arguments = (state.view, state.diagonal, state.a, state.gradient)
        if state.view.gram is not None:
            self._accept(state, active_set_steps(*arguments, state.meets_tolerance, state.deadline), "active set")
        else:
            self._accept(state, newton_steps(*arguments, state.target_gap), "newton")

    def _run_finisher(self, state: BoxState) -> bool:
        """Run a finisher if one is cheaper than the descent so far; return whether it converged."""
        view = state.view
        m, r = view.n, view.width
        free = int(np.count_nonzero((state.a > view.lower) & (state.a < view.upper)))
        spent = float(state.scalars.work) / _LOOP
        width = 0 if view.gram is not None else r
        run_seconds = _NEWTON * (free * free * (width + free / 3.0) + 6.0 * m * r) / _BLAS
        seconds_left = state.deadline - time.perf_counter()
        if state.finish_seconds + run_seconds <= spent and run_seconds <= seconds_left and state.gap <= state.newton_gap / 3.0:
            state.newton_gap = state.gap
            self._newton(state)
        run_seconds = interior_point_operations(view) / _BLAS
        if not state.converged() and not state.interior and run_seconds <= min(spent, state.deadline - time.perf_counter()):
            state.interior = True
            state.use_float64()
            self._accept(state, interior_point(state.view, state.target_gap), "interior")
        return state.converged()

    def _accept(self, state: BoxState, run: FinishRun, step: str) -> None:
        """Move to a finisher's point if it is better."""
        state.finish_seconds += run.operations / _BLAS
        state.finish_steps += run.steps
        if run.gap < state.gap:
            state.a[:] = run.a
            state.step = step
            state.refresh()
            state.restart()

    def measure(self, state: BoxState) -> ProgressState:
        """Return objective and bound in the sense of the model's form, and the number of free variables."""
        primal, bound = state.objective_and_bound
        free = int(np.count_nonzero((state.a > state.view.lower) & (state.a < state.view.upper)))
        return ProgressState(int(state.scalars.epochs) + state.finish_steps, primal, bound, active=free, step=state.step)

    def answer(self, state: BoxState) -> Answer:
        """Return the answer in the model's form."""
        point = state.view.recover(state.a)
        details = {
            "epochs": int(state.scalars.epochs),
            "updates": int(state.scalars.updates),
            "finish_steps": state.finish_steps,
            "lambda": state.a.copy(),
        }
        return Answer(values=point.values, multipliers=point.multipliers, reduced=point.reduced, details=details)


def _check_size(view: BoxQP) -> None:
    """Raise InputError for numbers whose products are not finite: factorisations would meet infinities."""
    bounds = np.concatenate([view.lower, view.upper])
    bounds = bounds[np.isfinite(bounds)]
    with np.errstate(over="ignore", invalid="ignore"):
        squares = (view.q @ view.q, bounds @ bounds, np.einsum("ij,ij->", view.Z, view.Z))
    if not np.isfinite(squares).all() or (view.gram is not None and not np.isfinite(view.gram).all()):
        largest = max(float(np.abs(part).max(initial=0.0)) for part in (view.q, bounds, view.Z))
        raise InputError(f"the box program's numbers are too large for float64 (up to {largest:.3g}): scale the data")


def box_minimum(
    view: BoxQP, start: FloatArray | None = None, tol: float = 1e-8, seed: int = 1, deadline: float = np.inf
) -> tuple[FloatArray, float]:
    """Minimise a box QP by `BoxDescent`, for callers without a model; return the point (m,) and its duality gap.

    The relative gap is at most ``tol``, or as small as float64 allows. At ``deadline``, by the clock of `time.perf_counter`, the
    current point is returned. ``seed`` is that of the random order of coordinates.
    """
    algorithm = BoxDescent()
    state = make_state(view, start, tol, np.inf, seed)
    state.deadline = deadline
    while algorithm.advance(state, float(np.clip(deadline - time.perf_counter(), 1e-3, 1.0))) is Outcome.RUNNING:
        if time.perf_counter() >= deadline:
            break
    return state.a, state.gap
