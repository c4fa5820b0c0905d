"""SMO with second-order pairs on one or several simplices (``smo``), and with parameters chosen by size (``auto-simplex``)."""

from __future__ import annotations

import enum
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ...models.arrays import FloatArray
from ...models.views import SimplexQP
from ..interface.algorithm import Algorithm, Outcome, integers_and_floats, named_scalars
from ..interface.numba_flags import by_reference
from ..interface.recorder import ProgressState
from ..records import Answer, Options
from . import RECORDS, smo_loops as loops
from .box_smo import BoxSMO, WorkingSets
from .column_cache import ColumnCache, cache_bytes
from .common import check_parameters, iteration_limit, load_loops, relative_gap_at, simplex_answer
from .lowrank_start import LOW_RANK_FROM, START_BYTES, lowrank_applies, lowrank_start
from .newton_cg import inexact_bytes, inexact_finish, inexact_seconds
from .newton_cholesky import FinishedPoint, exact_bytes, exact_finish, first_guess
from .newton_loops import PASSES_FROM, load_passes
from .starting_points import StartRule, growing_set, growing_set_applies, starting_point

#: Relative gap from which the finisher is considered, decade by decade: before, the support is not known well enough.
FINISH_FROM = 1.0
#: Pairs between two looks, at least and for each point, and the share of the gap that they must have gained.
_LOOK, _LOOK_EACH, LEAST_GAIN = 100_000, 100, 1e-3
#: Runs that the finisher by conjugate gradients may have.
_INEXACT_RUNS = 2

#: Numbers of the iteration: steps, the column that is missing, steps that emptied a point, clock of the cache; ½a'Qa + c'a, c'a
#: and the gap a'∇ - Σ min ∇.
_SCALARS = integers_and_floats("iteration missing drops clock", "objective linear gap")


@by_reference
class SmoWork(NamedTuple):
    """The iteration: arrays and numbers that compiled code changes in place."""

    columns: Any  #: (slots, n)
    slot: Any  #: (n,)
    stamp: Any  #: (slots,)
    diagonal: Any  #: (n,)
    c: Any  #: (n,)
    a: Any  #: (n,)
    g: Any  #: (n,) ∇ = Qa + c
    members: Any  #: (n,) variables sorted by simplex
    offset: Any  #: (G + 1,) where each simplex begins in ``members``
    support: Any  #: (n,) the support of simplex s from offset[s] on, unordered
    size: Any  #: (G,) support sizes
    place: Any  #: (n,) place in ``support`` or -1
    live: Any  #: (n,) float32: 1 on the support, else 0
    vertex: Any  #: (G,) argmin ∇ of each simplex
    gain: Any  #: room for a block, float32
    scalars: Any  #: the numbers, by name (`_SCALARS`)


class Phase(enum.Enum):
    """The phase of a run."""

    LOW_RANK = "low-rank start"
    GROWING_SET = "exact solutions on a growing set of points"
    WORKING_SETS = "pair steps in working sets"
    PAIRS = "pair steps"
    FACTORED = "Newton steps by a factor"
    CONJUGATE = "Newton steps by conjugate gradients"


@dataclass
class NewtonUse:
    """The use of the finishers: guesses of the support, runs left to conjugate gradients, the gap of the last try."""

    guesses: int = 0
    inexact_left: int = _INEXACT_RUNS
    last_gap: float = float("inf")


@dataclass(eq=False)
class SmoState:
    """The state of a run. In every phase but that of pairs ``steps`` is the work of the phase, which yields better points."""

    view: SimplexQP
    tol: float
    limit: int
    cache: ColumnCache
    work: SmoWork
    memory: int
    phase: Phase = Phase.PAIRS
    steps: Iterator[FinishedPoint | None] | None = None
    sets: WorkingSets | None = None  #: of the phase of working sets
    start_phase: Phase = Phase.PAIRS  #: the phase whose point pairs or finishers continued from
    step: str = ""  #: kind of the last step
    rate: float = 1e4  #: iterations per second, as measured
    exact: bool = True  #: the gradient is float64 from the data
    refreshes: int = 0
    last_gap: float = float("inf")  #: the least relative gap of all refreshes that did not end the run
    next_look: int = 0  #: iteration at which a run that neither pauses nor ends is looked at in float64
    last_objective: float = float("inf")  #: the float64 objective at the last such look
    marks: list[tuple[float, int]] = field(default_factory=list)  #: (relative gap, iteration) at every refresh or decade
    newton: NewtonUse = field(default_factory=NewtonUse)

    @property
    def gap(self) -> float:
        """The relative gap, by the numbers of the compiled loop."""
        return relative_gap_at(float(self.work.scalars.objective), float(self.work.scalars.gap))

    def begin(self, phase: Phase, steps: Iterator[FinishedPoint | None]) -> None:
        """Begin another phase than pairs among all points."""
        self.phase, self.steps = phase, steps

    def begin_sets(self, algorithm: BoxSMO) -> None:
        """Begin the phase of working sets of pairs."""
        remaining = self.limit - int(self.work.scalars.iteration)
        self.sets = WorkingSets.at(self.view, self.work.a.copy(), algorithm, self.tol, remaining)
        self.start_phase = Phase.WORKING_SETS
        self.begin(Phase.WORKING_SETS, self.sets.steps())

    def end(self) -> Phase:
        """Return to pairs, with the point of the working sets if there are any; return the phase that ended."""
        if self.sets is not None:
            move(self, self.sets.point())
            self.work.scalars.iteration += self.sets.pairs
            self.cache.computed += self.sets.columns
            self.step, self.sets = "block", None
        phase, self.phase, self.steps = self.phase, Phase.PAIRS, None
        return phase

    def look_later(self) -> None:
        """Schedule the next look in float64."""
        self.next_look = int(self.work.scalars.iteration) + max(_LOOK, _LOOK_EACH * self.view.n)

    def mark(self, gap: float) -> None:
        """Record the gap at the present iteration."""
        self.marks.append((gap, int(self.work.scalars.iteration)))


def move(state: SmoState, point: FinishedPoint) -> None:
    """Replace point and gradient by a finisher's."""
    set_point(state.work, point.a)
    state.work.g[:] = point.gradient
    state.step, state.exact = "newton", point.exact
    loops.vertices(state.work)
    loops.restore(state.work)


def exact_seconds(n: int, size: int) -> float:
    """Return a rough estimate of the exact finisher's time: a factor of Q_SS, and four products with all columns of S."""
    return 1.5 * size**3 / 3.0 / 5e10 + 4.0 * 5e-9 * n * size


def pair_seconds(state: SmoState, gap: float) -> float:
    """Return a rough estimate of the time of the remaining pairs: twice as many for each decade of the gap as the last one took.

    Pairs that only add a point, one for each point of the support, do not count in the first decade.
    """
    entries = int(state.work.size.sum()) if len(state.marks) == 1 else 0
    marks = [(10.0 * FINISH_FROM, min(entries, state.marks[0][1])), *state.marks]
    (before, begin), (after, last) = marks[-2], marks[-1]
    decades = max(np.log10(before / max(after, 1e-300)), 0.1)
    remaining = max(np.log10(gap / state.tol), 0.0)
    return float(2.0 * (last - begin) / decades * remaining * (2e-9 * state.view.n + 5e-6))


def make_work(view: SimplexQP, cache: ColumnCache, a: FloatArray, gradient: FloatArray) -> SmoWork:
    """Return the iteration at the point a with its gradient."""
    n, groups = view.n, view.simplices
    work = SmoWork(
        columns=cache.columns,
        slot=cache.slot,
        stamp=cache.stamp,
        diagonal=np.ascontiguousarray(view.gram.diagonal),
        c=np.ascontiguousarray(view.c, dtype=np.float64),
        a=a.copy(),
        g=np.ascontiguousarray(gradient),
        members=np.argsort(view.groups, kind="stable").astype(np.int64),
        offset=np.concatenate([[0], np.cumsum(np.bincount(view.groups, minlength=groups))]).astype(np.int64),
        support=np.zeros(n, dtype=np.int64),
        size=np.zeros(groups, dtype=np.int64),
        place=np.full(n, -1, dtype=np.int64),
        live=np.zeros(n, dtype=np.float32),
        vertex=np.zeros(groups, dtype=np.int64),
        gain=np.empty(loops.BLOCK, dtype=np.float32),
        scalars=named_scalars(_SCALARS),
    )
    set_point(work, a)
    return work


def set_point(work: SmoWork, a: FloatArray) -> None:
    """Replace the point (not the gradient): weights and support lists."""
    work.a[:] = a
    work.place[:] = -1
    work.live[:] = a > 0
    for s in range(work.size.size):
        inside = work.members[work.offset[s] : work.offset[s + 1]]
        positive = inside[a[inside] > 0]
        first = int(work.offset[s])
        work.support[first : first + positive.size] = positive
        work.place[positive] = np.arange(first, first + positive.size)
        work.size[s] = positive.size


def refresh(state: SmoState) -> None:
    """Scale a to Σa = 1 in every simplex, and recompute ∇, objective and gap in float64 from the data."""
    work, view = state.work, state.view
    if not state.exact:
        work.a[:] /= np.bincount(view.groups, weights=work.a, minlength=view.simplices)[view.groups]
        work.g[:] = view.gram.product(work.a) + view.c
        state.exact = True
        state.refreshes += 1
    loops.vertices(work)
    loops.restore(work)


def next_violators(work: SmoWork, missing: int, count: int) -> np.ndarray:
    """Return the missing index and the uncached ones with the least gradient, ``count`` in all."""
    g = np.where(work.slot < 0, work.g, np.inf)
    g[missing] = -np.inf
    lowest = np.argpartition(g, count - 1)[:count] if count < g.size else np.arange(g.size)
    return np.asarray(lowest[g[lowest] < np.inf])


#: Columns of a starting point's support computed at once, and of points that working sets miss.
_BLOCK, _SETS_PREFETCH = 64, 8
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
    initial : {"vertex", "random20" (or another number), "farthest", "uniform"}
        See `start.StartRule`; ``options.start`` goes before it.
    cache_bytes : int, optional
        Limit of the cache of kernel columns, and of what Newton steps hold; 1 GiB, or 4 kB a point for more than 250,000.
    precision : {"single", "double"}
        Of the cached columns.
    prefetch : int
        Columns computed at once when one is missing: the missing one and the next violators.
    newton : bool
        FinishedPoint by `newton` where a count of operations says that it is cheaper than more pairs.
    lowrank : bool
        Begin with `growing_set` or `lowrank_start` where one applies, or with working sets of pairs (`WorkingSets`) where the
        low-rank model leaves much; with none of them where ``newton=False`` or the options have a starting point.
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
    info = RECORDS["smo"]

    def load(self, view: SimplexQP) -> None:
        """Load the compiled loops before the clock starts; the passes over columns where the view is large enough for Newton."""
        load_loops(type(self), self.precision)
        single, start = self.precision == "single", self.newton and self.lowrank and view.n >= LOW_RANK_FROM
        view.gram.load(single=single, panels=start)
        if self.newton and view.n >= PASSES_FROM:
            load_passes(single=single, triangle=view.gram.entry_kind if start else None)
        if start:
            load_loops(BoxSMO, self.precision)

    def init(self, view: SimplexQP, options: Options, rng: np.random.Generator) -> SmoState:
        """Return the state at the starting point, with its gradient in float64."""
        check_parameters(self)
        a = starting_point(view, self.initial, options, rng)
        limit = cache_bytes(self.cache_bytes, options, START_BYTES * view.n)
        cache = ColumnCache(view.gram, limit, single=self.precision == "single")
        work = make_work(view, cache, a, view.gram.product(a) + view.c)
        loops.vertices(work)
        loops.restore(work)
        tol = options.tolerance(self.info.tolerance)
        state = SmoState(
            view, tol, iteration_limit(options), cache, work, max(limit, 2**20) if options.memory_limit is None else limit
        )
        state.look_later()
        has_start = options.start is not None and view.label in options.start
        if self.newton and self.lowrank and not has_start:
            if growing_set_applies(view):
                state.begin(Phase.GROWING_SET, growing_set(view, work.a, work.g, state.tol))
            elif lowrank_applies(view, state.memory):
                state.begin(Phase.LOW_RANK, lowrank_start(view, work.a.copy(), work.g.copy(), state.tol, state.memory))
        return state

    def advance(self, state: SmoState, seconds: float) -> Outcome:
        """Take pair steps for about ``seconds``, or go on with the phase's own steps."""
        scalars, end = state.work.scalars, time.perf_counter() + seconds
        first = int(scalars.iteration)
        stop = state.limit if self.stride is None else min(state.limit, first + self.stride)
        idle = 0
        while True:
            before = int(scalars.iteration)
            if state.steps is not None:
                outcome = self._newton_steps(state, end)
                if outcome is not Outcome.RUNNING or state.steps is not None:
                    return outcome
            outcome = self._pairs(state, stop, end)
            if outcome is not Outcome.RUNNING:
                return outcome
            # every column may be asked for once without a step; beyond that the numbers have overflowed and none will come
            idle = idle + 1 if scalars.iteration == before else 0
            if idle > 4 * state.view.n + 64:
                return Outcome.STALLED
            if scalars.iteration >= state.limit:
                refresh(state)
                return Outcome.CONVERGED if state.gap <= state.tol else Outcome.ITERATION_LIMIT
            if scalars.iteration >= stop or (time.perf_counter() >= end and scalars.iteration > first):
                return Outcome.RUNNING

    def _pairs(self, state: SmoState, stop: int, end: float) -> Outcome:
        """Call the compiled loop once, and handle the reason for its return: a missing column, a decade of the gap, the end."""
        before, clock = int(state.work.scalars.iteration), time.perf_counter()
        count = int(min(stop - before, max(16.0, state.rate * max(end - clock, 0.0))))
        code = loops.run(state.work, count, self._aim(state))
        steps = int(state.work.scalars.iteration) - before
        if steps:
            state.exact, state.step = False, "pair"
            if steps > 64:
                state.rate = steps / max(time.perf_counter() - clock, 1e-6)
        if code == loops.COLUMN:
            self._load_columns(state, int(state.work.scalars.missing))
        elif code in (loops.RULE, loops.STUCK):
            state.look_later()
            return self._pause(state, stuck=code == loops.STUCK)
        elif state.work.scalars.iteration >= state.next_look:
            return self._look(state)
        return Outcome.RUNNING

    def _look(self, state: SmoState) -> Outcome:
        """Recompute the objective in float64 after many pairs; the run has stalled if it no longer falls."""
        state.look_later()
        refresh(state)
        if state.gap <= state.tol:
            return Outcome.CONVERGED
        scalars = state.work.scalars
        before, state.last_objective = state.last_objective, float(scalars.objective)
        if before - state.last_objective > LEAST_GAIN * float(scalars.gap):
            return Outcome.RUNNING
        self._consider_newton(state, state.gap, hopeless=True)
        return Outcome.STALLED if state.steps is None else Outcome.RUNNING

    def _aim(self, state: SmoState) -> float:
        """Return the relative gap, by the loop's numbers, at which it pauses: the next decade, or the end.

        Far below the last float64 refresh these numbers mean nothing, since the columns are float32.
        """
        last = state.marks[-1][0] if state.marks else 10.0 * FINISH_FROM
        final = state.tol if self.precision == "double" else max(0.5 * state.tol, 1e-4 * min(state.last_gap, 1e-3))
        following = min(0.1 * last, FINISH_FROM)
        return following if self.newton and following > 2.0 * state.tol else final

    def _pause(self, state: SmoState, *, stuck: bool) -> Outcome:
        """Choose between pairs and Newton steps at a decade of the gap; confirm convergence in float64 at the end."""
        gap = state.gap
        state.mark(gap)
        if not stuck and gap > max(state.tol, 1e-4 * min(state.last_gap, 1e-3)):
            self._consider_newton(state, gap)
            return Outcome.RUNNING
        return self._confirm(state, stuck=stuck)

    def _consider_newton(self, state: SmoState, gap: float, *, hopeless: bool = False) -> None:
        """Begin Newton steps if their estimated time is less than that of the remaining pairs, or pairs are ``hopeless``."""
        view, work = state.view, state.work
        size, item = int(work.size.sum()), state.cache.columns.itemsize
        if not self.newton or size < 2 or gap > 0.2 * state.newton.last_gap:
            return
        limit, expected = state.memory, np.inf if hopeless else pair_seconds(state, gap)
        fits = exact_bytes(guess := first_guess(view, work.a, work.g).size) <= limit and gap <= _EXACT_FROM
        exactly = exact_seconds(view.n, guess) if fits else np.inf
        fits = inexact_bytes(size, item) <= limit and state.newton.inexact_left > 0
        roughly = inexact_seconds(view.n, size) if fits else np.inf
        if min(exactly, roughly) >= min(expected, 1e300):
            return
        state.newton.last_gap = gap
        if roughly < exactly:
            state.begin(Phase.CONJUGATE, inexact_finish(view, state.cache, work.a, work.g, state.tol, exact=state.exact))
        else:
            refresh(state)
            state.begin(Phase.FACTORED, exact_finish(view, work.a.copy(), work.g.copy(), state.tol))

    def _newton_steps(self, state: SmoState, end: float) -> Outcome:
        """Go on with the phase's Newton steps until ``end``; when they are done, move to their point and confirm."""
        assert state.steps is not None
        try:
            while time.perf_counter() < end:
                better = next(state.steps)
                if better is not None:
                    move(state, better)
        except StopIteration as finished:
            phase = state.end()
            return self._confirm(state) if phase is Phase.WORKING_SETS else self._after_newton(state, phase, finished.value)
        return Outcome.RUNNING

    def _after_newton(self, state: SmoState, phase: Phase, result: FinishedPoint) -> Outcome:
        """Move to the result, and choose the next phase: pairs, or a finisher after a low-rank start, whose cache is empty."""
        state.newton.guesses += result.guesses
        if result.guesses:
            move(state, result)
        elif phase is Phase.LOW_RANK:  # as if nothing had been
            if result.prefers_pairs:
                state.begin_sets(BoxSMO(state.memory, self.precision, _SETS_PREFETCH, stride=self.stride))
            return Outcome.RUNNING
        if phase is Phase.CONJUGATE:
            state.newton.inexact_left -= 1
            if state.newton.inexact_left == 0:
                state.newton.last_gap = np.inf
        if phase in (Phase.LOW_RANK, Phase.GROWING_SET):
            state.start_phase = phase
        outcome = self._confirm(state)
        if phase is not Phase.LOW_RANK:
            state.mark(max(state.gap, 1e-300))
            return outcome
        if outcome is Outcome.RUNNING:
            self._consider_newton(state, state.gap, hopeless=True)
        return outcome

    def _load_columns(self, state: SmoState, missing: int) -> None:
        work, cache = state.work, state.cache
        chosen, free_slots = np.array([missing]), cache.slots - cache.used
        if self.prefetch > 1 and free_slots > self.prefetch:
            if work.place[missing] < 0:
                chosen = next_violators(work, missing, self.prefetch)
            else:  # the support of a start: its columns will be wanted sooner or later
                chosen = np.union1d(missing, np.flatnonzero((work.a > 0) & (work.slot < 0))[: min(free_slots, _BLOCK) - 1])
        cache.load(chosen, int(work.scalars.clock))

    def _confirm(self, state: SmoState, *, stuck: bool = False) -> Outcome:
        """Refresh in float64, and return whether the run has converged, has stalled, or continues with a smaller gap as its aim.

        ``stuck``: no pair descends; if the gradient is that of float64, the run ends.
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

    def measure(self, state: SmoState) -> ProgressState:
        """Return objective, Frank-Wolfe bound, support size, and number of columns computed."""
        if state.sets is not None:
            return state.sets.algorithm.measure(state.sets.state)
        scalars = state.work.scalars
        f = float(scalars.objective)
        return ProgressState(
            iteration=int(scalars.iteration),
            objective=f,
            bound=f - float(scalars.gap),
            active=int(state.work.size.sum()),
            columns=state.cache.computed,
            step=state.step,
        )

    def answer(self, state: SmoState) -> Answer:
        """Return the point with the multipliers of its float64 gradient."""
        if state.sets is not None:  # the run ends within this phase
            state.end()
        refresh(state)
        work = state.work
        starts = {Phase.LOW_RANK: "low rank", Phase.GROWING_SET: "growing set", Phase.WORKING_SETS: "working sets"}
        details = {
            "start": starts.get(state.start_phase, "pairs"),
            "columns": state.cache.computed,
            "cache_slots": state.cache.slots,
            "refreshes": state.refreshes,
            "newton_guesses": state.newton.guesses,
            "drops": int(work.scalars.drops),
        }
        return simplex_answer(state.view, work.a.copy(), work.g.copy(), details)


#: Up to this many points a float64 cache is small and saves the refreshes.
_DOUBLE_UP_TO = 2000
#: Share of the machine's memory for the cache where no limit is given.
_SHARE = 4


@dataclass(eq=False)
class AutoState:
    """The chosen SMO, the reason of the choice, and the state of its run."""

    algorithm: SMO
    reason: str
    state: SmoState


def _precision(view: SimplexQP) -> Literal["single", "double"]:
    return "double" if view.n <= _DOUBLE_UP_TO else "single"


def choose(view: SimplexQP, options: Options) -> tuple[SMO, str]:
    """Return SMO with its parameters, and the reason in one sentence.

    SMO needs several times fewer iterations than the Frank-Wolfe methods, each at equal cost. Chosen are the precision of the
    columns (float64 if the whole matrix is small and fits the memory), the cache and the start; the run itself decides by the
    remaining work whether Newton steps end it.
    """
    n, tol = view.n, options.tolerance(SMO.info.tolerance)
    memory = options.memory_limit
    if memory is None:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / _SHARE
    matrix_bytes = 8 * n * n
    precision = _precision(view) if matrix_bytes <= memory else "single"
    double = precision == "double"
    size = matrix_bytes if double else matrix_bytes // 2
    cache = int(min(memory, max(size, 32 * n)))
    start: StartRule = "farthest" if view.c.any() and view.simplices == 1 else "vertex"
    algorithm = SMO(initial=start, cache_bytes=cache, precision=precision)
    fits = "the whole matrix fits" if size <= cache else f"{cache // (size // n)} of {n} columns fit"
    reason = (
        f"smo, {'float64' if double else 'float32'} columns: n = {n}, gap {tol:g}, {fits} in {cache / 2**20:.0f} MiB; "
        "the Newton finisher starts where it costs less than the pairs left"
    )
    return algorithm, reason


@dataclass(frozen=True)
class AutoSimplex(Algorithm[SimplexQP, AutoState]):
    """SMO with parameters chosen by `choose`; ``details`` says which and why, and whether Newton steps ended the run.

    Parameters
    ----------
    stride : int, optional
        At most so many steps between two rows of the trace; as many as fit in the driver's budget where it is not given.
    """

    stride: int | None = None

    pooled: ClassVar[bool] = True
    info = RECORDS["auto-simplex"]

    def load(self, view: SimplexQP) -> None:
        """Load the compiled loops before the clock starts."""
        SMO(precision=_precision(view)).load(view)

    def init(self, view: SimplexQP, options: Options, rng: np.random.Generator) -> AutoState:
        """Choose the parameters and start."""
        algorithm, reason = choose(view, options)
        if self.stride is not None:
            algorithm = replace(algorithm, stride=self.stride)
        return AutoState(algorithm, reason, algorithm.init(view, options, rng))

    def advance(self, state: AutoState, seconds: float) -> Outcome:
        """Advance SMO."""
        return state.algorithm.advance(state.state, seconds)

    def measure(self, state: AutoState) -> ProgressState:
        """Return the progress of SMO."""
        return state.algorithm.measure(state.state)

    def answer(self, state: AutoState) -> Answer:
        """Return the chosen algorithm's answer, and the choice."""
        answer = state.algorithm.answer(state.state)
        finished = "smo with Newton finisher" if state.state.newton.guesses else "smo"
        if state.state.start_phase is Phase.LOW_RANK:
            finished = "low-rank start, Newton steps" + ("" if state.state.step == "newton" else ", smo")
        return replace(answer, details={"algorithm": finished, "reason": state.reason, **answer.details})
