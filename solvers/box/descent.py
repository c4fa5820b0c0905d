"""Coordinate descent on box QPs in factor form, with finishers by Newton's method, certified by the duality gap."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.views import BoxQP
from ..interface.algorithm import Algorithm, Measure, Outcome
from ..records.answer import Answer
from ..records.options import Options
from . import records
from .active_set import active_set_steps
from .interior import interior_operations, interior_point
from .newton import FinishRun, newton_steps
from .state import BoxState, load_descent, make_state

__all__ = ["BoxDescent", "BoxState", "box_minimum"]

#: Scalar operations a second of the compiled loop and of BLAS, for the choice between the two and the length of a round.
_LOOP, _BLAS = 1.5e9, 1.5e10
#: Steps that Newton's method is expected to take.
_NEWTON = 6.0


@dataclass(frozen=True)
class BoxDescent(Algorithm[BoxQP, BoxState]):
    """Coordinate descent with random permutations and shrinking; Newton or interior-point steps once those are cheaper.

    A round lowers the violation of the projected gradient tenfold, then recomputes gradient and duality gap from the data in
    float64. Where the view gives its factor in single precision, rounds go on from that gradient (iterative refinement), and the
    factor is computed in float64 once its rounding is larger than the violation.

    Newton's method, by active sets (`active_set`) where the matrix is kept and by projected steps (`newton`) where a factor of
    lower rank is, is tried whenever the operations that it needs are fewer than those that the descent has used so far, and an
    interior-point method (`interior`) once in a run, by the same rule: well-conditioned problems never see either,
    ill-conditioned ones cost at most a few times what the best of the three would have. From a start inside the box, where the
    matrix is kept, active sets come first: a step costs about what the matrix did, and few are needed where the box binds for a
    part of the variables only (pinball losses).

    Parameters
    ----------
    finish : bool
        Whether to use Newton and interior-point steps at all.

    Raises
    ------
    InputError
        An infinite bound; a start that is not finite.
    """

    finish: bool = True

    info = records.BOXQP

    def load(self, view: BoxQP) -> None:
        """Load the compiled loop before the clock starts."""
        load_descent(single=view.coarse is not None)

    def init(self, view: BoxQP, options: Options, rng: np.random.Generator) -> BoxState:
        """The start in the box (its point nearest to zero where none is given)."""
        _check_size(view)
        start = None if options.start is None else options.start.get("a")
        limit = np.inf if options.iteration_limit is None else float(options.iteration_limit)
        seconds = np.inf if options.time_limit is None else options.time_limit
        end = time.perf_counter() + seconds
        state = make_state(view, start, options.tolerance(self.info.tolerance), limit, int(rng.integers(1, 2**30)))
        state.deadline = end
        return state

    def advance(self, state: BoxState, seconds: float) -> Outcome:
        """Rounds for about ``seconds``."""
        end = time.perf_counter() + seconds
        while True:
            outcome = self._round(state, max(end - time.perf_counter(), 0.2 * seconds))
            if outcome is not Outcome.RUNNING or time.perf_counter() >= end:
                return outcome

    def _round(self, state: BoxState, seconds: float) -> Outcome:
        if state.converged():
            return Outcome.CONVERGED
        if state.now.epochs + state.finish_steps >= state.limit:
            return Outcome.ITERATION_LIMIT
        if self.finish and state.now.epochs == 0 and self._inside(state):
            return Outcome.CONVERGED
        before = state.gap
        work = max(1, int(seconds * _LOOP))
        reached = state.descend(1 if state.limit < np.inf else work)  # one epoch at a time
        state.step = "coordinate"
        rough = state.error() > state.violation
        if state.converged():
            return Outcome.CONVERGED
        if self.finish and self._finished(state):
            return Outcome.CONVERGED
        if rough:
            state.settle()
        elif reached or state.violation <= state.rounding():
            smallest = state.rounding()
            state.stale = state.stale + 1 if state.violation <= smallest and state.gap >= 0.5 * before else 0
            if state.stale >= 3:
                return Outcome.STALLED
            state.violation = max(0.1 * state.violation, smallest)
        return Outcome.RUNNING

    def _inside(self, state: BoxState) -> bool:
        """Newton's step from a start inside the box of a matrix that is kept; whether it converged."""
        view, m = state.view, state.view.n
        price = m**3 / 3.0 / _BLAS
        inside = bool(((state.a > view.lower) & (state.a < view.upper)).all())
        if view.gram is None or not inside or time.perf_counter() + price > state.deadline:
            return False
        self._newton(state)
        return state.converged()

    def _newton(self, state: BoxState) -> None:
        """Newton's method: by active sets where the matrix is kept, as one of full rank; else by projected steps."""
        at = (state.view, state.diagonal, state.a, state.gradient)
        if state.view.gram is not None:
            self._take(state, active_set_steps(*at, state.enough, state.deadline), "active set")
        else:
            self._take(state, newton_steps(*at, state.aim), "newton")

    def _finished(self, state: BoxState) -> bool:
        """Run a finisher if one is cheaper than the descent so far; whether it converged."""
        view = state.view
        m, r = view.n, view.width
        free = int(np.count_nonzero((state.a > view.lower) & (state.a < view.upper)))
        spent = float(state.now.work) / _LOOP
        width = 0 if view.gram is not None else r
        price = _NEWTON * (free * free * (width + free / 3.0) + 6.0 * m * r) / _BLAS
        left = state.deadline - time.perf_counter()
        if state.finish_seconds + price <= spent and price <= left and state.gap <= state.tried / 3.0:
            state.tried = state.gap
            self._newton(state)
        price = interior_operations(view) / _BLAS
        if not state.converged() and not state.interior and price <= min(spent, state.deadline - time.perf_counter()):
            state.interior = True
            state.settle()
            self._take(state, interior_point(state.view, state.aim), "interior")
        return state.converged()

    def _take(self, state: BoxState, run: FinishRun, step: str) -> None:
        """Move to a finisher's point where it is better."""
        state.finish_seconds += run.operations / _BLAS
        state.finish_steps += run.steps
        if run.gap < state.gap:
            state.a[:] = run.a
            state.step = step
            state.refresh()
            state.restart()

    def measure(self, state: BoxState) -> Measure:
        """Objective and bound of the model's form, free variables."""
        primal, bound = state.pair
        free = int(np.count_nonzero((state.a > state.view.lower) & (state.a < state.view.upper)))
        return Measure(int(state.now.epochs) + state.finish_steps, primal, bound, active=free, step=state.step)

    def answer(self, state: BoxState) -> Answer:
        """Return the answer in the model's form that belongs to a."""
        point = state.view.recover(state.a)
        details = {
            "epochs": int(state.now.epochs),
            "updates": int(state.now.updates),
            "finish_steps": state.finish_steps,
            "lambda": state.a.copy(),
        }
        return Answer(values=point.values, multipliers=point.multipliers, reduced=point.reduced, details=details)


def _check_size(view: BoxQP) -> None:
    """Refuse numbers whose products are not finite: factorisations would meet infinities.

    Raises
    ------
    InputError
        Squares of Z, q or finite bounds overflow.
    """
    ends = np.concatenate([view.lower, view.upper])
    ends = ends[np.isfinite(ends)]
    with np.errstate(over="ignore", invalid="ignore"):
        squares = (view.q @ view.q, ends @ ends, np.einsum("ij,ij->", view.Z, view.Z))
    if not np.isfinite(squares).all() or (view.gram is not None and not np.isfinite(view.gram).all()):
        largest = max(float(np.abs(part).max(initial=0.0)) for part in (view.q, ends, view.Z))
        raise InputError(f"the box program's numbers are too large for float64 (up to {largest:.3g}): scale the data")


def box_minimum(
    view: BoxQP, start: FloatArray | None = None, tol: float = 1e-8, seed: int = 1, deadline: float = np.inf
) -> tuple[FloatArray, float]:
    """A point of the box with relative gap ≤ ``tol`` (or as good as float64 allows), and its duality gap, without the driver.

    At ``deadline``, by the clock of `time.perf_counter`, it is the point that was reached, with its gap.
    """
    algorithm = BoxDescent()
    state = make_state(view, start, tol, np.inf, seed)
    state.deadline = deadline
    while algorithm.advance(state, float(np.clip(deadline - time.perf_counter(), 1e-3, 1.0))) is Outcome.RUNNING:
        if time.perf_counter() >= deadline:
            break
    return state.a, state.gap
