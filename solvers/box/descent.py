"""Coordinate descent on box QPs in factor form, with Newton and interior-point finishers, certified by the duality gap."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.views import BoxQP
from ..interface.algorithm import Algorithm, Measure, Outcome
from ..interface.solver import Gives, SolverInfo
from ..records.answer import Answer
from ..records.options import Options
from ..records.trace import relative_gap
from .interior import interior_operations, interior_point
from .newton import FinishRun, newton_steps

__all__ = ["BoxDescent", "BoxState", "box_minimum"]

#: Scalar operations a second of the compiled loop and of BLAS, for the choice between the two and the length of a round.
_LOOP, _BLAS = 1.5e9, 1.5e10
#: Steps that Newton's method is expected to take.
_NEWTON = 6.0


@dataclass(eq=False)
class BoxState:
    """a, its float64 gradient and gap, and the work arrays of the compiled loop.

    The loop works on ½a'(ZZ' + D)a + linear'a. With a factor in single precision it works on the step from the last a whose
    gradient was computed: linear is then that gradient, w is zero there, and rounding spoils digits of the step alone.
    """

    view: BoxQP
    tol: float
    limit: float
    a: FloatArray
    w: FloatArray
    linear: FloatArray
    gradient: FloatArray
    diagonal: FloatArray
    order: Any
    integer: Any
    real: Any
    violation: float
    gap: float = float("inf")
    objective: float = float("nan")
    finish_seconds: float = 0.0
    finish_steps: int = 0
    tried: float = float("inf")  #: gap at which Newton's method was last tried
    interior: bool = False  #: whether the interior-point method was run
    stale: int = 0  #: rounds at the smallest violation that did not lower the gap
    step: str = ""

    @property
    def pair(self) -> tuple[float, float]:
        """Objective and bound in the sense of the model's form."""
        if self.view.offset is None:
            return self.objective, self.objective - self.gap
        return self.view.offset - self.objective + self.gap, self.view.offset - self.objective

    def converged(self) -> bool:
        """Relative gap within the tolerance; equal to rounding where the optimum is zero."""
        primal, bound = self.pair
        return relative_gap(primal, bound) <= self.tol or self.gap <= 1e-15

    def refresh(self) -> None:
        """w, the gradient, the objective and the gap in float64 from the data."""
        view = self.view
        self.linear = view.q
        if view.coarse is not None:
            self.w = np.zeros(view.width, dtype=np.float32)
            product = view.product(self.a) if self.a.any() else np.zeros(view.n)
            self.linear = product + view.q
        elif view.gram is None:
            self.w = view.Z.T @ self.a
            product = view.Z @ self.w
        else:
            product = self.w = view.gram @ self.a
        self.gradient = product + view.ridge * self.a + view.q
        self.objective = view.objective(self.a, self.gradient)
        self.gap = max(view.gap(self.a, self.gradient), 0.0)

    def error(self) -> float:
        """By how much the loop's gradient was wrong for rounding of Z; refreshes. 0 where Z is in float64."""
        coarse = self.view.coarse
        if coarse is None:
            self.refresh()
            return 0.0
        believed = self.linear + self.view.ridge * self.a + coarse.Z @ self.w
        self.refresh()
        return float(np.abs(believed - self.gradient).max(initial=0.0))

    def settle(self) -> None:
        """Go on with Z in float64."""
        if self.view.coarse is not None:
            self.view = self.view.exactly()
            self.diagonal = self.view.diagonal
            self.refresh()


@dataclass(frozen=True)
class BoxDescent(Algorithm[BoxQP, BoxState]):
    """Coordinate descent with random permutations and shrinking; Newton or interior-point steps once those are cheaper.

    A round lowers the violation of the projected gradient tenfold, then recomputes gradient and duality gap from the data in
    float64. Where the view gives its factor in single precision, rounds go on from that gradient (iterative refinement), and the
    factor is computed in float64 once its rounding is larger than the violation.

    Projected Newton steps (`newton`) are tried whenever the operations that they need are fewer than those that the descent has
    used so far, and an interior-point method (`interior`) once in a run, by the same rule: well-conditioned problems never see
    either, ill-conditioned ones cost at most a few times what the best of the three would have.

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

    info: ClassVar[SolverInfo] = SolverInfo(
        name="boxqp",
        summary="coordinate descent with shrinking on the factor of a box QP, Newton and interior-point finishers",
        views=(BoxQP,),
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        tolerance=1e-8,
        reference="Hsieh et al.: dual coordinate descent (2008); Bertsekas (1982); Ferris, Munson (2003)",
    )

    def init(self, view: BoxQP, options: Options, rng: np.random.Generator) -> BoxState:
        """The start in the box (its point nearest to zero where none is given)."""
        start = None if options.start is None else options.start.get("a")
        limit = np.inf if options.iteration_limit is None else float(options.iteration_limit)
        return make_state(view, start, options.tolerance(self.info.tolerance), limit, int(rng.integers(1, 2**30)))

    def advance(self, state: BoxState, seconds: float) -> Outcome:
        """Rounds for about ``seconds``."""
        end = time.perf_counter() + seconds
        while True:
            outcome = self._round(state, max(end - time.perf_counter(), 0.2 * seconds))
            if outcome is not Outcome.RUNNING or time.perf_counter() >= end:
                return outcome

    def _round(self, state: BoxState, seconds: float) -> Outcome:
        from .loops import EPOCHS, descend

        view = state.view
        if state.converged():
            return Outcome.CONVERGED
        if state.integer[EPOCHS] + state.finish_steps >= state.limit:
            return Outcome.ITERATION_LIMIT
        before = state.gap
        dense = view.Z if view.gram is None else view.gram
        matrix: Any = dense if view.coarse is None else view.coarse.Z
        work = max(1, int(seconds * _LOOP))
        if state.limit < np.inf:
            work = 1  # one epoch at a time
        reached = descend(
            matrix, state.linear, view.lower, view.upper, view.ridge, state.diagonal, state.a, state.w, state.order,
            state.integer, state.real, view.gram is not None, state.violation, work,
        )  # fmt: skip
        state.step = "coordinate"
        rough = state.error() > state.violation
        if state.converged():
            return Outcome.CONVERGED
        if self.finish and self._finished(state):
            return Outcome.CONVERGED
        if rough:
            state.settle()
        elif reached:
            smallest = 1e-15 * (1.0 + float(np.abs(view.q).max(initial=0.0)))
            state.stale = state.stale + 1 if state.violation <= smallest and state.gap >= 0.5 * before else 0
            if state.stale >= 3:
                return Outcome.STALLED
            state.violation = max(0.1 * state.violation, smallest)
        return Outcome.RUNNING

    def _finished(self, state: BoxState) -> bool:
        """Run a finisher if one is cheaper than the descent so far; whether it converged."""
        from .loops import WORK

        view = state.view
        m, r = view.n, view.width
        free = int(np.count_nonzero((state.a > view.lower) & (state.a < view.upper)))
        spent = float(state.integer[WORK]) / _LOOP

        def aim() -> float:
            return 0.5 * state.tol * max(map(abs, state.pair))

        width = 0 if view.gram is not None else r
        price = _NEWTON * (free * free * (width + free / 3.0) + 6.0 * m * r) / _BLAS
        if state.finish_seconds + price <= spent and state.gap <= state.tried / 3.0:
            state.tried = state.gap
            self._take(state, newton_steps(view, state.diagonal, state.a, state.gradient, aim), "newton")
        if not state.converged() and not state.interior and interior_operations(view) / _BLAS <= spent:
            state.interior = True
            state.settle()
            self._take(state, interior_point(state.view, aim), "interior")
        return state.converged()

    def _take(self, state: BoxState, run: FinishRun, step: str) -> None:
        """Move to a finisher's point where it is better."""
        from .loops import ACTIVE, HIGH, LOW

        state.finish_seconds += run.operations / _BLAS
        state.finish_steps += run.steps
        if run.gap < state.gap:
            state.a[:] = run.a
            state.step = step
            state.refresh()
            state.integer[ACTIVE] = state.view.n
            state.real[HIGH], state.real[LOW] = np.inf, -np.inf

    def measure(self, state: BoxState) -> Measure:
        """Objective and bound of the model's form, free variables."""
        from .loops import EPOCHS

        primal, bound = state.pair
        free = int(np.count_nonzero((state.a > state.view.lower) & (state.a < state.view.upper)))
        return Measure(int(state.integer[EPOCHS]) + state.finish_steps, primal, bound, active=free, step=state.step)

    def answer(self, state: BoxState) -> Answer:
        """What a means in the model's form."""
        from .loops import EPOCHS, UPDATES

        point = state.view.recover(state.a)
        details = {
            "epochs": int(state.integer[EPOCHS]),
            "updates": int(state.integer[UPDATES]),
            "finish_steps": state.finish_steps,
            "lambda": state.a.copy(),
        }
        return Answer(values=point.values, multipliers=point.multipliers, reduced=point.reduced, details=details)


def make_state(view: BoxQP, start: FloatArray | None, tol: float, limit: float, seed: int) -> BoxState:
    """State at a start moved into the box."""
    if not (np.isfinite(view.lower).all() and np.isfinite(view.upper).all()):
        raise InputError("boxqp needs finite bounds on every variable")
    a = np.zeros(view.n) if start is None else np.asarray(start, dtype=np.float64)
    if a.shape != (view.n,) or not np.isfinite(a).all():
        raise InputError(f"the start of boxqp must hold {view.n} finite numbers; it has shape {a.shape}")
    a = np.clip(a, view.lower, view.upper)
    integer = np.zeros(5, dtype=np.int64)
    integer[0], integer[4] = view.n, seed
    state = BoxState(
        view, tol, limit, a, np.zeros(0), view.q, np.zeros(view.n),
        view.diagonal, np.arange(view.n), integer, np.array([np.inf, -np.inf]), 1.0,
    )  # fmt: skip
    state.refresh()
    state.violation = 0.1 * max(float(np.abs(state.gradient).max(initial=0.0)), 1e-300)
    return state


def box_minimum(view: BoxQP, start: FloatArray | None = None, tol: float = 1e-8, seed: int = 1) -> tuple[FloatArray, float]:
    """A point of the box with relative gap ≤ ``tol`` (or as good as float64 allows), and its duality gap, without the driver."""
    algorithm = BoxDescent()
    state = make_state(view, start, tol, np.inf, seed)
    while algorithm.advance(state, 1.0) is Outcome.RUNNING:
        pass
    return state.a, state.gap
