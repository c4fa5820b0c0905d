"""SMO on a box with one equality: the L1-SVM dual, LIBSVM's problem."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ....models.views import BoxEqualityQP
from ...interface.algorithm import Algorithm, Measure, Outcome
from ...records.answer import Answer
from ...records.options import Options
from .. import records
from ..answer import relative
from ..column_cache import CACHE_BYTES, ColumnCache, cache_bytes
from ..parameters import check_parameters, iterations_allowed
from ..warm_up import load_loops
from . import box_loops as loops
from .box_blocks import CALM, block_round
from .box_order import OrderedGram, shrink
from .box_state import BoxState, into_box, make_work, measure_gap, next_violators, refresh, restored, violation

__all__ = ["BoxSMO", "BoxState"]

#: Fewest pairs between two looks for points that can leave the iteration.
_SHRINK_EVERY = 1000
#: Share of the violation asked for at which the loop stops: its gradient is of float32 columns.
_AIM = 0.7


@dataclass(frozen=True)
class BoxSMO(Algorithm[BoxEqualityQP, BoxState]):
    """Sequential minimal optimisation with second-order pairs on 0 ≤ a ≤ u, s'a = 0.

    The loop stops on the violation max_low d - min_up d ≤ ε; then the gradient is refreshed in float64 and the true
    gap (`BoxEqualityQP.gap`) decides, or ε falls. With ``shrinking`` points at a bound that no violating pair needs leave the
    iteration (LIBSVM's rule) until the next refresh, which sees all points. Moving cached columns costs about as much as two
    pairs a column on the points that leave, so the first look comes after as many pairs as will have paid for it.

    It begins with working sets of ``block`` points (`box_blocks`) and goes over to pairs among all points when these sets need
    few new columns.

    Parameters
    ----------
    cache_bytes : int
        Limit of the cache of kernel columns.
    precision : {"single", "double"}
        Of the cached columns.
    prefetch : int
        Columns computed at once where the cache has room: the missing one and those of the worst violators.
    shrinking : bool
    stride : int, optional
        At most so many steps between two rows of the trace; as many as fit in the driver's budget where it is not given.
    block : int
        Points of a working set at the beginning; 2 for pairs throughout, as with a ``stride``.
    violation : float, optional
        Stop only where max_low d - min_up d is at most this too (LIBSVM's tolerance): the gap alone may leave a few points that
        violate more.
    """

    cache_bytes: int = CACHE_BYTES
    precision: Literal["single", "double"] = "single"
    prefetch: int = 4
    shrinking: bool = True
    stride: int | None = None
    block: int = 256
    violation: float | None = None

    pooled: ClassVar[bool] = True
    variants: ClassVar[Sequence[Mapping[str, Any]]] = ({"precision": "double"}, {"precision": "single"})
    info = records.SMO_BOX

    def load(self, view: BoxEqualityQP) -> None:
        """Load the compiled loops before the clock starts."""
        load_loops(type(self), self.precision)
        view.gram.load(single=self.precision == "single")

    def init(self, view: BoxEqualityQP, options: Options, rng: np.random.Generator) -> BoxState:
        """a = 0, or the user's point moved into the feasible set."""
        check_parameters(self)
        a = np.zeros(view.n)
        if options.start is not None and view.label in options.start:
            a = into_box(view, np.asarray(options.start[view.label], dtype=np.float64))
        gradient = view.gram.product(a) + view.c
        order = np.arange(view.n)
        gram = OrderedGram(view, order)
        cache = ColumnCache(gram, cache_bytes(self.cache_bytes, options), single=self.precision == "single")
        work = make_work(view, cache, a, gradient)
        tol, violation = options.tolerance(self.info.tolerance), 1e-2 * float(np.abs(view.c).max() or 1.0)
        if self.violation is not None:
            violation = min(violation, _AIM * self.violation)  # it has to get there anyway: no refresh on the way
        state = BoxState(view, order, tol, iterations_allowed(options), cache, work, violation)
        measure_gap(state, a, gradient)
        blocks = self.block > 2 and self.stride is None and cache.slots >= min(2 * self.block, view.n)
        state.cached_block_streak = 0 if blocks else CALM
        return state

    def advance(self, state: BoxState, seconds: float) -> Outcome:
        """Pair steps for about ``seconds``."""
        now, end = state.work.now, time.perf_counter() + seconds
        first = int(now.iteration)
        stop = state.limit if self.stride is None else min(state.limit, first + self.stride)
        while True:
            self._shrink(state, int(now.iteration))
            outcome = self._pairs(state, stop, end) if state.cached_block_streak >= CALM else self._block(state, stop)
            if outcome is not Outcome.RUNNING:
                return outcome
            if now.iteration >= state.limit:
                refresh(state)
                return Outcome.CONVERGED if relative(state.objective, state.gap) <= state.tol else Outcome.ITERATION_LIMIT
            if now.iteration >= stop or (time.perf_counter() >= end and now.iteration > first):
                return Outcome.RUNNING

    def _block(self, state: BoxState, stop: int) -> Outcome:
        """A working set of many points."""
        go_on = block_round(state, self.block, stop - int(state.work.now.iteration))
        return Outcome.RUNNING if go_on else self._confirm(state)

    def _pairs(self, state: BoxState, stop: int, end: float) -> Outcome:
        """One call of the compiled loop, and what it returned for: a column, or the violation asked for."""
        now, clock = state.work.now, time.perf_counter()
        before = int(now.iteration)
        count = int(min(stop - before, max(16.0, state.rate * max(end - clock, 0.0))))
        code = loops.run(state.work, count, state.epsilon)
        done = int(now.iteration) - before
        if done:
            state.exact, state.step = False, "pair"
            if done > 64:
                state.rate = done / max(time.perf_counter() - clock, 1e-6)
        if code == loops.COLUMN:
            self._load_columns(state, int(now.missing))
        elif code in (loops.RULE, loops.STUCK):
            return self._confirm(state)
        return Outcome.RUNNING

    def _shrink(self, state: BoxState, iteration: int) -> None:
        wait = max(_SHRINK_EVERY, 2 * state.cache.used)
        if not self.shrinking or state.cached_block_streak < CALM or iteration < max(state.next_shrink, wait):
            return
        state.shrinkings += shrink(state.work, state.cache, state.order)
        state.next_shrink = iteration + wait

    def _load_columns(self, state: BoxState, missing: int) -> None:
        work, cache = state.work, state.cache
        chosen = np.array([missing])
        if self.prefetch > 1 and cache.slots - cache.used > self.prefetch:
            chosen = next_violators(work, missing, self.prefetch)
        cache.load(chosen, int(work.now.clock))

    def _confirm(self, state: BoxState) -> Outcome:
        """Refresh; converged, stalled, or on with a smaller ε."""
        before, shrunk = state.gap, state.work.now.active < state.view.n
        refresh(state)
        gap = relative(state.objective, state.gap)
        if gap <= state.tol and (self.violation is None or violation(state) <= self.violation):
            return Outcome.CONVERGED
        state.stuck = 0 if state.gap < 0.9 * before else state.stuck + 1  # a gap that is no number stays one
        if state.stuck > 4:
            return Outcome.STALLED
        # the gap is at most ε·Σ min(a, u - a) and in practice proportional to it; points that came back may violate more than ε
        factor = 1.0 if shrunk and gap <= state.tol else float(np.clip(0.5 * state.tol / max(gap, 1e-300), 1e-2, 0.5))
        state.epsilon = max(state.epsilon * factor, 1e-16)
        return Outcome.RUNNING

    def measure(self, state: BoxState) -> Measure:
        """Objective, the bound of the last refresh, support size, columns computed."""
        work, view = state.work, state.view
        objective, bound = float(work.now.objective), state.bound
        if work.now.active == view.n:
            gradient = restored(state, work.d * work.s)
            bound = objective - (float(work.a @ (work.d * work.s)) - view.level(gradient)[0])
        return Measure(
            iteration=int(work.now.iteration),
            objective=objective,
            bound=bound,
            active=int((work.a > 0).sum()),
            columns=state.cache.computed,
            step=state.step,
        )

    def answer(self, state: BoxState) -> Answer:
        """The point; ν of s'a = 0 under ``"balance"``; reduced costs ζ = ∇ - νs."""
        refresh(state)
        view, work = state.view, state.work
        gradient = restored(state, work.d * work.s)
        nu = view.level(gradient)[1]
        details = {"columns": state.cache.computed, "cache_slots": state.cache.slots, "refreshes": state.refreshes}
        details["shrinkings"] = state.shrinkings
        return Answer(
            values={view.label: restored(state, work.a)},
            multipliers={"balance": np.array([nu])},
            reduced=gradient - nu * view.signs,
            details=details,
        )
