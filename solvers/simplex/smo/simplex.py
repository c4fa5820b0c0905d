"""SMO with second-order pair choice on one or several simplices: the engine meant for real use."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ....models.views import SimplexQP
from ...interface.algorithm import Algorithm, Measure, Outcome
from ...records.answer import Answer
from ...records.options import Options
from .. import records
from ..answer import simplex_answer
from ..column_cache import ColumnCache, cache_bytes
from ..newton.exact import Finish, finish, finisher_bytes, first_guess
from ..newton.inexact import inexact_bytes, inexact_finish, inexact_seconds
from ..newton.lowrank_start import LOW_RANK_FROM, START_BYTES, lowrank_applies, lowrank_start
from ..newton.passes import PASSES_FROM, load_passes
from ..parameters import check_parameters, iterations_allowed
from ..start import StartRule, starting_point
from ..warm_up import load_loops
from . import simplex_loops as loops
from .simplex_state import (
    FINISH_FROM,
    LEAST_GAIN,
    Phase,
    SmoState,
    make_work,
    move,
    newton_seconds,
    next_violators,
    pair_seconds,
    refresh,
)

__all__ = ["SMO", "SmoState"]

#: Columns of a starting point's support computed at once.
_BLOCK = 64
#: Relative gap from which the finisher with a factor is considered.
_EXACT_FROM = 0.11


@dataclass(frozen=True)
class SMO(Algorithm[SimplexQP, SmoState]):
    """Sequential minimal optimisation: pairs by second-order choice, float32 columns, float64 gradient.

    Before a gap is claimed the gradient is recomputed in float64 from the data; between refreshes its drift is that of the
    float32 columns, so each round asks for at most a thousandth of the gap at the last refresh.

    **Errata** of MaxMin's Algorithm 2, for which this stands: (43) is a minimisation, and (43) and (45) must have 1/C where they
    print C; the curvature is Q_ii + Q_jj - 2Q_ij.

    Parameters
    ----------
    initial : {"vertex", "random20", "farthest", "uniform"}
        See `start.StartRule`; ``options.start`` goes before it.
    cache_bytes : int, optional
        Limit of the cache of kernel columns, and of what Newton steps hold; 1 GiB, or 4 kB a point for more than 250,000.
    precision : {"single", "double"}
        Of the cached columns.
    prefetch : int
        Columns computed at once when one is missing: the missing one and the next violators.
    newton : bool
        Finish by `newton` where a count of operations says that it is cheaper than more pairs.
    lowrank : bool
        Begin with `lowrank_start` where it applies; it never does with ``newton=False`` or a starting point in the options.
    stride : int, optional
        At most so many pair steps between two rows of the trace; as many as fit in the driver's budget where it is not given.

    Raises
    ------
    InputError
        A parameter out of range; a cache that does not hold two columns.
    """

    initial: StartRule = "vertex"
    cache_bytes: int | None = None
    precision: Literal["single", "double"] = "single"
    prefetch: int = 16
    newton: bool = True
    lowrank: bool = True
    stride: int | None = None

    pooled: ClassVar[bool] = True
    variants: ClassVar[Sequence[Mapping[str, Any]]] = ({"precision": "double"}, {"precision": "single"})
    info = records.SMO

    def load(self, view: SimplexQP) -> None:
        """Load the compiled loops before the clock starts; the passes over columns where the view is large enough for Newton."""
        load_loops(type(self), self.precision)
        single, start = self.precision == "single", self.newton and self.lowrank and view.n >= LOW_RANK_FROM
        view.gram.load(single=single, panels=start)
        if self.newton and view.n >= PASSES_FROM:
            load_passes(single=single, triangle=view.gram.entry_kind if start else None)

    def init(self, view: SimplexQP, options: Options, rng: np.random.Generator) -> SmoState:
        """Start point and its gradient in float64."""
        check_parameters(self)
        a = starting_point(view, self.initial, options, rng)
        limit = cache_bytes(self.cache_bytes, options, START_BYTES * view.n)
        cache = ColumnCache(view.gram, limit, single=self.precision == "single")
        work = make_work(view, cache, a, view.gram.product(a) + view.c)
        loops.vertices(work)
        loops.restore(work)
        tol = options.tolerance(self.info.tolerance)
        state = SmoState(
            view, tol, iterations_allowed(options), cache, work, max(limit, 2**20) if options.memory_limit is None else limit
        )
        state.look_later()
        has_start = options.start is not None and view.label in options.start
        if self.newton and self.lowrank and not has_start and lowrank_applies(view, state.memory):
            state.begin(Phase.LOW_RANK, lowrank_start(view, work.a.copy(), work.g.copy(), state.tol, state.memory))
        return state

    def advance(self, state: SmoState, seconds: float) -> Outcome:
        """Pair steps for about ``seconds``, or a piece of the Newton steps."""
        now, end = state.work.now, time.perf_counter() + seconds
        first = int(now.iteration)
        stop = state.limit if self.stride is None else min(state.limit, first + self.stride)
        idle = 0
        while True:
            before = int(now.iteration)
            if state.steps is not None:
                outcome = self._newton_steps(state, end)
                if outcome is not Outcome.RUNNING or state.steps is not None:
                    return outcome
            outcome = self._pairs(state, stop, end)
            if outcome is not Outcome.RUNNING:
                return outcome
            # every column may be asked for once without a step; beyond that the numbers have overflowed and none will come
            idle = idle + 1 if now.iteration == before else 0
            if idle > 4 * state.view.n + 64:
                return Outcome.STALLED
            if now.iteration >= state.limit:
                refresh(state)
                return Outcome.CONVERGED if state.gap <= state.tol else Outcome.ITERATION_LIMIT
            if now.iteration >= stop or (time.perf_counter() >= end and now.iteration > first):
                return Outcome.RUNNING

    def _pairs(self, state: SmoState, stop: int, end: float) -> Outcome:
        """One call of the compiled loop, and what it returned for: a column, a decade of the gap, the end."""
        before, clock = int(state.work.now.iteration), time.perf_counter()
        count = int(min(stop - before, max(16.0, state.rate * max(end - clock, 0.0))))
        code = loops.run(state.work, count, self._aim(state))
        done = int(state.work.now.iteration) - before
        if done:
            state.exact, state.step = False, "pair"
            if done > 64:
                state.rate = done / max(time.perf_counter() - clock, 1e-6)
        if code == loops.COLUMN:
            self._load_columns(state, int(state.work.now.missing))
        elif code in (loops.RULE, loops.STUCK):
            state.look_later()
            return self._pause(state, stuck=code == loops.STUCK)
        elif state.work.now.iteration >= state.next_look:
            return self._look(state)
        return Outcome.RUNNING

    def _look(self, state: SmoState) -> Outcome:
        """A long time without a pause: stalled where the float64 objective no longer falls, which float32 columns hide."""
        state.look_later()
        refresh(state)
        if state.gap <= state.tol:
            return Outcome.CONVERGED
        now = state.work.now
        before, state.seen = state.seen, float(now.objective)
        if before - state.seen > LEAST_GAIN * float(now.gap):
            return Outcome.RUNNING
        self._consider_newton(state, state.gap, hopeless=True)
        return Outcome.STALLED if state.steps is None else Outcome.RUNNING

    def _aim(self, state: SmoState) -> float:
        """Relative gap, by the loop's own numbers, at which it pauses: the next decade, or the end.

        Far below the last float64 refresh those numbers mean nothing, since the columns are float32.
        """
        last = state.marks[-1][0] if state.marks else 10.0 * FINISH_FROM
        final = state.tol if self.precision == "double" else max(0.5 * state.tol, 1e-4 * min(state.last_gap, 1e-3))
        following = min(0.1 * last, FINISH_FROM)
        return following if self.newton and following > 2.0 * state.tol else final

    def _pause(self, state: SmoState, *, stuck: bool) -> Outcome:
        """At a decade of the gap: on with pairs, or to Newton steps; at the end: confirm in float64."""
        gap = state.gap
        state.mark(gap)
        if not stuck and gap > max(state.tol, 1e-4 * min(state.last_gap, 1e-3)):
            self._consider_newton(state, gap)
            return Outcome.RUNNING
        return self._confirm(state, stuck=stuck)

    def _consider_newton(self, state: SmoState, gap: float, *, hopeless: bool = False) -> None:
        """Go over to Newton steps where their operations cost less than the pairs still expected (or pairs are ``hopeless``)."""
        view, work = state.view, state.work
        size, item = int(work.size.sum()), state.cache.columns.itemsize
        if not self.newton or size < 2 or gap > 0.2 * state.newton.tried:
            return
        limit, expected = state.memory, np.inf if hopeless else pair_seconds(state, gap)
        fits = finisher_bytes(guess := first_guess(view, work.a, work.g).size) <= limit and gap <= _EXACT_FROM
        exactly = newton_seconds(view.n, guess) if fits else np.inf
        fits = inexact_bytes(size, item) <= limit and state.newton.inexact_left > 0
        roughly = inexact_seconds(view.n, size) if fits else np.inf
        if min(exactly, roughly) >= min(expected, 1e300):
            return
        state.newton.tried = gap
        if roughly < exactly:
            state.begin(Phase.CONJUGATE, inexact_finish(view, state.cache, work.a, work.g, state.tol, exact=state.exact))
        else:
            refresh(state)
            state.begin(Phase.FACTORED, finish(view, work.a.copy(), work.g.copy(), state.tol))

    def _newton_steps(self, state: SmoState, end: float) -> Outcome:
        """Go on with the phase's Newton steps until ``end``; when they are done, move to their point and confirm."""
        assert state.steps is not None
        try:
            while time.perf_counter() < end:
                better = next(state.steps)
                if better is not None:
                    move(state, better)
        except StopIteration as done:
            return self._after_newton(state, state.end(), done.value)
        return Outcome.RUNNING

    def _after_newton(self, state: SmoState, phase: Phase, result: Finish) -> Outcome:
        """Converged, or on: with pairs as a rule, after a low-rank start with a finisher, since no column is in the cache."""
        state.newton.guesses += result.guesses
        if result.guesses:
            move(state, result)
        elif phase is Phase.LOW_RANK:  # as if nothing had been
            return Outcome.RUNNING
        if phase is Phase.CONJUGATE:
            state.newton.inexact_left -= 1
            if state.newton.inexact_left == 0:
                state.newton.tried = np.inf
        outcome = self._confirm(state)
        if phase is not Phase.LOW_RANK:
            state.mark(max(state.gap, 1e-300))
            return outcome
        state.began = Phase.LOW_RANK
        if outcome is Outcome.RUNNING:
            self._consider_newton(state, state.gap, hopeless=True)
        return outcome

    def _load_columns(self, state: SmoState, missing: int) -> None:
        work, cache = state.work, state.cache
        chosen, room = np.array([missing]), cache.slots - cache.used
        if self.prefetch > 1 and room > self.prefetch:
            if work.place[missing] < 0:
                chosen = next_violators(work, missing, self.prefetch)
            else:  # the support of a start: its columns will be wanted sooner or later
                chosen = np.union1d(missing, np.flatnonzero((work.a > 0) & (work.slot < 0))[: min(room, _BLOCK) - 1])
        cache.load(chosen, int(work.now.clock))

    def _confirm(self, state: SmoState, *, stuck: bool = False) -> Outcome:
        """Refresh in float64; converged, stalled, or on with a lower aim.

        ``stuck``: no pair descends. Where the gradient was that of float64 already, none ever will.
        """
        final = stuck and state.exact
        refresh(state)
        gap = state.gap
        if gap <= state.tol:
            return Outcome.CONVERGED
        if final or (state.refreshes > 3 and not gap <= 0.5 * state.last_gap):
            self._consider_newton(state, gap, hopeless=True)
            return Outcome.STALLED if state.steps is None else Outcome.RUNNING
        state.last_gap = min(gap, state.last_gap)
        return Outcome.RUNNING

    def measure(self, state: SmoState) -> Measure:
        """Objective, Frank-Wolfe bound, support size, columns computed."""
        now = state.work.now
        f = float(now.objective)
        return Measure(
            iteration=int(now.iteration),
            objective=f,
            bound=f - float(now.gap),
            active=int(state.work.size.sum()),
            columns=state.cache.computed,
            step=state.step,
        )

    def answer(self, state: SmoState) -> Answer:
        """The point with its float64 gradient's multipliers."""
        refresh(state)
        work = state.work
        details = {
            "start": "low rank" if state.began is Phase.LOW_RANK else "pairs",
            "columns": state.cache.computed,
            "cache_slots": state.cache.slots,
            "refreshes": state.refreshes,
            "newton_guesses": state.newton.guesses,
            "drops": int(work.now.drops),
        }
        return simplex_answer(state.view, work.a.copy(), work.g.copy(), details)
