"""SMO on a box with one equality: the L1-SVM dual, LIBSVM's problem."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ....errors import InputError
from ....models.arrays import FloatArray, IntArray
from ....models.views import BoxEqualityQP
from ...interface.algorithm import Algorithm, Measure, Outcome
from ...interface.solver import Gives, SolverInfo
from ...records.answer import Answer
from ...records.options import Options
from ..answer import relative
from ..column_cache import CACHE_BYTES, ColumnCache, cache_bytes
from ..warm_up import load_loops
from .box_order import OrderedGram, shrink

__all__ = ["BoxSMO", "BoxState"]

#: Fewest pairs between two looks for points that can leave the iteration.
_SHRINK_EVERY = 1000


@dataclass(eq=False)
class BoxState:
    """State of a run; ``work`` is the iteration (`box_loops.BoxWork`), whose arrays stand in the order ``order``."""

    view: BoxEqualityQP
    order: IntArray
    tol: float
    limit: int
    cache: ColumnCache
    work: Any
    epsilon: float  #: violation at which the loop is asked to stop next
    gap: float = float("inf")  #: at the last refresh
    bound: float = -float("inf")  #: the best of all refreshes
    objective: float = 0.0
    exact: bool = True  #: the gradient is float64 from the data
    refreshes: int = 0
    stuck: int = 0
    rate: float = 1e4
    step: str = ""
    next_shrink: int = 0  #: the iteration of the next look
    shrinkings: int = 0


@dataclass(frozen=True)
class BoxSMO(Algorithm[BoxEqualityQP, BoxState]):
    """Sequential minimal optimisation with second-order pairs on 0 ≤ a ≤ u, s'a = 0.

    The loop stops on the violation max_low d - min_up d ≤ ε; then the gradient is refreshed in float64 and the true
    gap (`BoxEqualityQP.gap`) decides, or ε falls. With ``shrinking`` points at a bound that no violating pair needs leave the
    iteration (LIBSVM's rule) until the next refresh, which sees all points. Moving cached columns costs about as much as two
    pairs a column on the points that leave, so the first look comes after as many pairs as will have paid for it.

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
    """

    cache_bytes: int = CACHE_BYTES
    precision: Literal["single", "double"] = "single"
    prefetch: int = 4
    shrinking: bool = True
    stride: int | None = None

    pooled: ClassVar[bool] = True
    info: ClassVar[SolverInfo] = SolverInfo(
        name="smo-box",
        summary="sequential minimal optimisation, second-order pairs, on a box with one equality",
        views=(BoxEqualityQP,),
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        reference="Fan, Chen, Lin: Working set selection using second order information for training SVMs (2005)",
    )

    def load(self) -> None:
        """Load the compiled loops before the clock starts."""
        load_loops(type(self))

    def init(self, view: BoxEqualityQP, options: Options, rng: np.random.Generator) -> BoxState:
        """a = 0, or the user's point moved into the feasible set."""
        from . import box_loops as loops

        if self.precision not in ("single", "double"):
            raise InputError(f"precision must be 'single' or 'double'; it is {self.precision!r}")
        if self.prefetch < 1:
            raise InputError(f"prefetch must be an integer ≥ 1; it is {self.prefetch!r}")
        if self.stride is not None and self.stride < 1:
            raise InputError(f"stride must be an integer ≥ 1; it is {self.stride!r}")
        a = np.zeros(view.n)
        if options.start is not None and view.label in options.start:
            a = into_box(view, np.asarray(options.start[view.label], dtype=np.float64))
        gradient = view.gram.product(a) + view.c
        order = np.arange(view.n)
        gram = OrderedGram(view, order)
        cache = ColumnCache(gram, cache_bytes(self.cache_bytes, options), single=self.precision == "single")
        diagonal = gram.diagonal
        work = loops.BoxWork(
            cache.columns, cache.slot, cache.stamp, diagonal, diagonal.astype(np.float32), view.upper.astype(np.float64),
            view.signs.astype(np.float64), a, view.signs * gradient, np.zeros(view.n), np.zeros(view.n, dtype=np.float32),
            np.array([0, 0, 0, view.n]), np.zeros(2),
        )  # fmt: skip
        _mark_all(work)
        limit = np.iinfo(np.int64).max if options.iteration_limit is None else options.iteration_limit
        state = BoxState(
            view, order, options.tolerance(self.info.tolerance), limit, cache, work, 1e-2 * float(np.abs(view.c).max() or 1.0)
        )
        _measure_gap(state, a, gradient)
        return state

    def advance(self, state: BoxState, seconds: float) -> Outcome:
        """Pair steps for about ``seconds``."""
        from . import box_loops as loops

        work, end = state.work, time.perf_counter() + seconds
        first = int(work.integer[loops.ITERATION])
        stop = state.limit if self.stride is None else min(state.limit, first + self.stride)
        while True:
            before, clock = int(work.integer[loops.ITERATION]), time.perf_counter()
            self._shrink(state, before)
            count = int(min(stop - before, max(16.0, state.rate * max(end - clock, 0.0))))
            code = loops.run(work, count, state.epsilon)
            done = int(work.integer[loops.ITERATION]) - before
            if done:
                state.exact, state.step = False, "pair"
                if done > 64:
                    state.rate = done / max(time.perf_counter() - clock, 1e-6)
            if code == loops.COLUMN:
                self._load(state, int(work.integer[loops.MISSING]))
            elif code in (loops.RULE, loops.STUCK):
                outcome = self._confirm(state)
                if outcome is not Outcome.RUNNING:
                    return outcome
            now = int(work.integer[loops.ITERATION])
            if now >= state.limit:
                refresh(state)
                return Outcome.CONVERGED if relative(state.objective, state.gap) <= state.tol else Outcome.ITERATION_LIMIT
            if now >= stop or (time.perf_counter() >= end and now > first):
                return Outcome.RUNNING

    def _shrink(self, state: BoxState, iteration: int) -> None:
        wait = max(_SHRINK_EVERY, 2 * state.cache.used)
        if not self.shrinking or iteration < max(state.next_shrink, wait):
            return
        state.shrinkings += shrink(state.work, state.cache, state.order)
        state.next_shrink = iteration + wait

    def _load(self, state: BoxState, missing: int) -> None:
        work, cache = state.work, state.cache
        chosen = np.array([missing])
        if self.prefetch > 1 and cache.slots - cache.used > self.prefetch:
            chosen = next_violators(work, missing, self.prefetch)
        cache.load(chosen, int(work.integer[2]))

    def _confirm(self, state: BoxState) -> Outcome:
        """Refresh; converged, stalled, or on with a smaller ε."""
        before = state.gap
        refresh(state)
        gap = relative(state.objective, state.gap)
        if gap <= state.tol:
            return Outcome.CONVERGED
        state.stuck = state.stuck + 1 if state.gap > 0.9 * before else 0
        if state.stuck > 4:
            return Outcome.STALLED
        # the gap is at most ε·Σ min(a, u - a) and in practice proportional to it
        state.epsilon = max(state.epsilon * float(np.clip(0.5 * state.tol / gap, 1e-2, 0.5)), 1e-16)
        return Outcome.RUNNING

    def measure(self, state: BoxState) -> Measure:
        """Objective, the bound of the last refresh, support size, columns computed."""
        from . import box_loops as loops

        work, view = state.work, state.view
        objective, bound = float(work.real[loops.OBJECTIVE]), state.bound
        if int(work.integer[loops.ACTIVE]) == view.n:
            gradient = restored(state, work.d * work.s)
            bound = objective - (float(work.a @ (work.d * work.s)) - view.level(gradient)[0])
        return Measure(
            iteration=int(work.integer[loops.ITERATION]),
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


def _mark_all(work: Any) -> None:
    positive = work.s > 0
    below, above = work.a < work.upper, work.a > 0
    work.rise[:] = np.where(np.where(positive, below, above), 0.0, 1e300)
    work.fall[:] = np.where(positive, above, below)


def restored(state: BoxState, values: FloatArray) -> FloatArray:
    """Numbers of the iteration's order in the order of the points."""
    result = np.empty_like(values)
    result[state.order] = values
    return result


def _measure_gap(state: BoxState, a: FloatArray, gradient: FloatArray) -> None:
    state.objective = 0.5 * float(a @ (gradient + state.view.c))
    state.gap = float(a @ gradient) - state.view.level(gradient)[0]
    state.bound = max(state.bound, state.objective - state.gap)
    state.work.real[0] = state.objective


def refresh(state: BoxState) -> None:
    """All points active, s'a = 0 to rounding, ∇ in float64 from the data, and with it objective and gap."""
    view, work = state.view, state.work
    a = restored(state, work.a)
    if not state.exact:
        a = into_box(view, a)
        gradient = view.gram.product(a) + view.c
        work.a[:] = a[state.order]
        _mark_all(work)
        work.d[:] = (view.signs * gradient)[state.order]
        work.integer[3] = view.n
        state.next_shrink = 0
        state.exact = True
        state.refreshes += 1
    _measure_gap(state, a, restored(state, work.d * work.s))


def next_violators(work: Any, missing: int, count: int) -> IntArray:
    """The missing place and active ones not cached that violate most in the same direction, ``count`` in all at most."""
    active = int(work.integer[3])
    d, free = work.d[:active], work.slot[:active] < 0
    lowest = float((d + work.rise[:active]).min())
    score = np.where(free & (work.rise[:active] == 0.0), d, np.inf)
    if d[missing] > lowest:  # it is wanted as the point that falls
        score = np.where(free & (work.fall[:active] > 0.0), -d, np.inf)
    score[missing] = -np.inf
    chosen = np.argpartition(score, count - 1)[:count] if count < active else np.arange(active)
    return np.asarray(chosen[score[chosen] < np.inf])


def into_box(view: BoxEqualityQP, given: FloatArray) -> FloatArray:
    """A point clipped to the box, with the heavier side of s'a = 0 scaled down: its free part where that is enough.

    Raises
    ------
    InputError
        Wrong shape or not finite.
    """
    if given.shape != (view.n,) or not np.isfinite(given).all():
        raise InputError(f"start[{view.label!r}] must hold {view.n} finite numbers; it has shape {given.shape}")
    a = np.clip(given, 0.0, view.upper)
    plus = view.signs > 0
    up, down = float(a[plus].sum()), float(a[~plus].sum())
    if abs(up - down) <= 1e-13 * max(up, down):  # rounding; scaling would move points off their bounds
        return a
    heavy = plus if up > down else ~plus
    free = heavy & (a < view.upper)
    spare = float(a[free].sum())
    if spare <= 2.0 * abs(up - down):
        free, spare = heavy, max(up, down)
    a[free] *= max(spare - abs(up - down), 0.0) / spare
    return a
