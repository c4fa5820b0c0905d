"""SMO with second-order pairs on one or several unit simplices, solver ``smo``; ``auto-simplex`` chooses its parameters by size.

The problem is min f(a) = ½a'Qa + c'a over a ≥ 0 with sum 1 in each of G simplices; a point is a variable a_i, ∇ = Qa + c, and
the gap is a'∇ less the sum of the simplices' least ∇_i. A refresh recomputes ∇ in float64 from the data.

A run may begin with a start for special matrices (`growing_set`, `lowrank_start`, `WorkingSetRun`). Pair steps follow, which move
weight between two points. At each decade of the gap the run compares the estimated time of more pairs with that of Newton steps
(`newton_cholesky`, `newton_cg`).
"""

from __future__ import annotations

import enum
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ...errors import count_text
from ...models.arrays import FloatArray, usable_memory
from ...models.views import SimplexQP
from ..interface.algorithm import Algorithm, Outcome
from ..interface.named_scalars import integers_and_floats
from ..interface.numba_flags import by_reference
from ..interface.recorder import ProgressState
from ..records import Answer, Options
from . import RECORDS, smo_loops as loops
from .box_smo import BoxSMO, WorkingSetRun
from .column_cache import ColumnCache, cache_bytes
from .common import FeasiblePoint, check_parameters, iteration_limit, load_loops, relative_gap_at, simplex_answer
from .lowrank_start import LOW_RANK_FROM, START_BYTES, lowrank_applies, lowrank_start
from .newton_cg import cg_bytes, cg_seconds, polish_by_cg
from .newton_cholesky import cholesky_bytes, cholesky_seconds, first_support_guess, polish_by_cholesky
from .newton_loops import PRELOAD_FROM, load_newton_loops
from .starting_points import StartRule, growing_set, growing_set_applies, starting_point

#: Relative gap from which Newton steps are considered, decade by decade: before, the support is not known well enough.
_FINISH_FROM = 1.0
#: Pairs between two checks in float64, at least and for each point, and the share of the gap by which they must lower f.
_LOOK, _LOOK_EACH, _LEAST_GAIN = 100_000, 100, 1e-3
#: Largest number of calls of `polish_by_cg` in one run.
_INEXACT_RUNS = 2

#: Numbers of the iteration: steps, the column that is missing, steps that emptied a point, clock of the cache; ½a'Qa + c'a, c'a
#: and the gap a'∇ - Σ min ∇.
_SCALARS = integers_and_floats("iteration missing drops clock", "objective linear gap")


@by_reference
class SmoIterate(NamedTuple):
    """The current point with its gradient: arrays and numbers that the compiled loops change in place."""

    columns: Any  #: (slots, n) cached columns of Q
    slot: Any  #: (n,) slot of a column or -1
    stamp: Any  #: (slots,) clock of the last use
    diagonal: Any  #: (n,) Q_ii
    c: Any  #: (n,) linear term
    a: Any  #: (n,) the point
    g: Any  #: (n,) ∇ = Qa + c
    members: Any  #: (n,) variables sorted by simplex
    offset: Any  #: (G + 1,) where each simplex begins in ``members``
    support: Any  #: (n,) the support of simplex s from offset[s] on, unordered
    size: Any  #: (G,) support sizes
    place: Any  #: (n,) place in ``support`` or -1
    live: Any  #: (n,) float32: 1 on the support, else 0
    vertex: Any  #: (G,) argmin ∇ of each simplex
    gain: Any  #: (BLOCK,) float32 work array, gains of the candidate partners in one block of points
    scalars: Any  #: the numbers, by name (`_SCALARS`)


class SmoPhase(enum.Enum):
    """A phase of a run, with its name in words."""

    LOW_RANK = "low-rank start"
    GROWING_SET = "exact solutions on a growing set of points"
    WORKING_SETS = "pair steps in working sets"
    PAIRS = "pair steps"
    FACTORED = "Newton steps by a factor"
    CONJUGATE = "Newton steps by conjugate gradients"


@dataclass
class NewtonHistory:
    """Counts of the Newton steps of a run, by which it decides on further ones."""

    guesses: int = 0  #: guesses of the support so far
    inexact_left: int = _INEXACT_RUNS  #: calls of `polish_by_cg` that remain
    last_gap: float = float("inf")  #: the relative gap at which Newton steps were last begun


@dataclass(eq=False)
class SmoState:
    """State of a run. In every phase but that of pairs ``steps`` is the phase's generator, which yields better points."""

    view: SimplexQP  #: the problem
    tol: float  #: relative gap to be reached
    limit: int  #: largest number of pair steps
    cache: ColumnCache  #: columns of Q
    iterate: SmoIterate  #: current point of the pair steps
    memory: int  #: bytes that starts and Newton steps may take
    phase: SmoPhase = SmoPhase.PAIRS  #: present phase
    steps: Iterator[FeasiblePoint | None] | None = None  #: of the present phase; None in that of pairs
    sets: WorkingSetRun | None = None  #: the run of the phase of working sets; None in other phases
    start_phase: SmoPhase = SmoPhase.PAIRS  #: the phase from whose point the pair steps or Newton steps continued
    step: str = ""  #: kind of the last step
    rate: float = 1e4  #: iterations per second, as measured
    exact: bool = True  #: the gradient is float64 from the data
    refreshes: int = 0  #: gradients recomputed so far
    last_gap: float = float("inf")  #: the least relative gap of all refreshes that did not end the run
    next_check: int = 0  #: iteration of the next check of the objective in float64
    last_objective: float = float("inf")  #: the float64 objective at the last such check
    marks: list[tuple[float, int]] = field(default_factory=list)  #: (relative gap, iteration) at every refresh or decade
    newton: NewtonHistory = field(default_factory=NewtonHistory)  #: counts of Newton steps

    @property
    def gap(self) -> float:
        """Return the relative gap, by the numbers of the compiled loop."""
        return relative_gap_at(float(self.iterate.scalars.objective), float(self.iterate.scalars.gap))

    def begin(self, phase: SmoPhase, steps: Iterator[FeasiblePoint | None]) -> None:
        """Begin a phase other than pairs among all points."""
        self.phase, self.steps = phase, steps

    def begin_sets(self, algorithm: BoxSMO) -> None:
        """Begin the phase of working sets of pairs."""
        remaining = self.limit - int(self.iterate.scalars.iteration)
        self.sets = WorkingSetRun.start_at(self.view, self.iterate.a.copy(), algorithm, self.tol, remaining)
        self.start_phase = SmoPhase.WORKING_SETS
        self.begin(SmoPhase.WORKING_SETS, self.sets.steps())

    def end(self) -> SmoPhase:
        """Return to pairs, with the point of the working sets if there are any; return the phase that ended."""
        if self.sets is not None:
            _move_to_point(self, self.sets.point())
            self.iterate.scalars.iteration += self.sets.pairs
            self.cache.computed += self.sets.columns
            self.step, self.sets = "block", None
        phase, self.phase, self.steps = self.phase, SmoPhase.PAIRS, None
        return phase

    def schedule_check(self) -> None:
        """Schedule the next check in float64."""
        self.next_check = int(self.iterate.scalars.iteration) + max(_LOOK, _LOOK_EACH * self.view.n)

    def mark(self, gap: float) -> None:
        """Record the gap at the present iteration."""
        self.marks.append((gap, int(self.iterate.scalars.iteration)))


def _move_to_point(state: SmoState, point: FeasiblePoint) -> None:
    """Replace the iterate's point and gradient by those of a start or of Newton steps."""
    _set_point(state.iterate, point.a)
    state.iterate.g[:] = point.gradient
    state.step, state.exact = "newton", point.exact
    loops.find_vertices(state.iterate)
    loops.recompute_gap(state.iterate)


def _pair_seconds(state: SmoState, gap: float) -> float:
    """Return a rough estimate of the seconds of the pairs that remain from a relative gap on.

    Each remaining decade of the gap is taken to need twice the pairs of the decade measured last.

    Pairs that only add a point, one for each point of the support, do not count in the first decade.
    """
    entries = int(state.iterate.size.sum()) if len(state.marks) == 1 else 0
    marks = [(10.0 * _FINISH_FROM, min(entries, state.marks[0][1])), *state.marks]
    (before, begin), (after, last) = marks[-2], marks[-1]
    decades = max(np.log10(before / max(after, 1e-300)), 0.1)
    remaining = max(np.log10(gap / state.tol), 0.0)
    return float(2.0 * (last - begin) / decades * remaining * (2e-9 * state.view.n + 5e-6))


def new_iterate(view: SimplexQP, cache: ColumnCache, a: FloatArray, gradient: FloatArray) -> SmoIterate:
    """Return the iterate at the point a with its gradient; its columns are those of the cache."""
    n, groups = view.n, view.simplices
    iterate = SmoIterate(
        columns=cache.columns, slot=cache.slot, stamp=cache.stamp, diagonal=np.ascontiguousarray(view.gram.diagonal),
        c=np.ascontiguousarray(view.c, dtype=np.float64), a=a.copy(), g=np.ascontiguousarray(gradient),
        members=np.argsort(view.groups, kind="stable").astype(np.int64),
        offset=np.concatenate([[0], np.cumsum(np.bincount(view.groups, minlength=groups))]).astype(np.int64),
        support=np.zeros(n, dtype=np.int64), size=np.zeros(groups, dtype=np.int64), place=np.full(n, -1, dtype=np.int64),
        live=np.zeros(n, dtype=np.float32), vertex=np.zeros(groups, dtype=np.int64), gain=np.empty(loops.BLOCK, dtype=np.float32),
        scalars=np.zeros(1, _SCALARS)[0],
    )  # fmt: skip
    _set_point(iterate, a)
    return iterate


def _set_point(iterate: SmoIterate, a: FloatArray) -> None:
    """Replace the weights and the lists of the support, not the gradient."""
    iterate.a[:] = a
    iterate.place[:] = -1
    iterate.live[:] = a > 0
    for s in range(iterate.size.size):
        inside = iterate.members[iterate.offset[s] : iterate.offset[s + 1]]
        positive = inside[a[inside] > 0]
        first = int(iterate.offset[s])
        iterate.support[first : first + positive.size] = positive
        iterate.place[positive] = np.arange(first, first + positive.size)
        iterate.size[s] = positive.size


def refresh_gradient(state: SmoState) -> None:
    """Scale a to Σa = 1 in every simplex, and recompute ∇, objective and gap in float64 from the data, unless they are exact."""
    iterate, view = state.iterate, state.view
    if not state.exact:
        iterate.a[:] /= np.bincount(view.groups, weights=iterate.a, minlength=view.simplices)[view.groups]
        iterate.g[:] = view.gram.product(iterate.a) + view.c
        state.exact = True
        state.refreshes += 1
    loops.find_vertices(iterate)
    loops.recompute_gap(iterate)


def columns_to_load(iterate: SmoIterate, missing: int, count: int) -> np.ndarray:
    """Return the points whose columns to compute: ``missing`` and the uncached ones of least gradient, ``count`` in all."""
    g = np.where(iterate.slot < 0, iterate.g, np.inf)
    g[missing] = -np.inf
    lowest = np.argpartition(g, count - 1)[:count] if count < g.size else np.arange(g.size)
    return np.asarray(lowest[g[lowest] < np.inf])


#: Columns of a starting point's support computed at once, and of points that working sets miss.
_BLOCK, _SETS_PREFETCH = 64, 8
#: Relative gap from which `polish_by_cholesky` is considered.
_EXACT_FROM = 0.11


@dataclass(frozen=True)
class SMO(Algorithm[SimplexQP, SmoState]):
    """Sequential minimal optimisation: pairs by second-order choice, float32 columns, float64 gradient.

    Before a gap is claimed the gradient is recomputed in float64 from the data. Between refreshes its error is that of the
    columns. So pairs on float32 columns pause at half the tolerance, or before it at 1e-4 min(g, 1e-3), g the least relative gap
    of all refreshes.

    **Errata** of Algorithm 2 of Luo et al., *MaxMin-L2-SVC-NCH* (2023), which this solver replaces: (43) is a minimisation, and
    (43) and (45) must have 1/C where they print C; the curvature is Q_ii + Q_jj - 2Q_ij.

    Parameters
    ----------
    initial : {"vertex", "random20" (or another number), "farthest", "uniform"}
        Starting point in each simplex: the vertex of least objective, the optimum on 20 (or another number of) random points, a
        random point and the one farthest from it, or equal weights; ``options.start`` takes precedence.
    cache_bytes : int, optional
        Limit of the cache of kernel columns, and of what Newton steps hold; 1 GiB, or 4 kB a point for more than 250,000.
    precision : {"single", "double"}
        Precision of the cached columns.
    prefetch : int
        Columns computed at once when one is missing: the missing one and the next violators.
    newton : bool
        Polish by Newton steps where a count of operations says that they are cheaper than more pairs.
    lowrank : bool
        Begin with `growing_set` or `lowrank_start` where one applies, or with working sets of pairs (`WorkingSetRun`) where the
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

    single_threaded_blas: ClassVar[bool] = True
    compiled_variants: ClassVar[Sequence[Mapping[str, Any]]] = ({"precision": "double"}, {"precision": "single"})
    info = RECORDS["smo"]

    def load(self, view: SimplexQP) -> None:
        """Load the compiled loops before the clock starts; the passes over columns where the view is large enough for Newton."""
        load_loops(type(self), self.precision)
        single, start = self.precision == "single", self.newton and self.lowrank and view.n >= LOW_RANK_FROM
        view.gram.load(single=single, panels=start)
        if self.newton and view.n >= PRELOAD_FROM:
            load_newton_loops(single=single, triangle=view.gram.entry_dtype if start else None)
        if start:
            load_loops(BoxSMO, self.precision)

    def init(self, view: SimplexQP, options: Options, rng: np.random.Generator) -> SmoState:
        """Return the state at the starting point, with its gradient in float64."""
        check_parameters(self)
        a = starting_point(view, self.initial, options, rng)
        limit = cache_bytes(self.cache_bytes, options, START_BYTES * view.n)
        cache = ColumnCache(view.gram, limit, single=self.precision == "single")
        iterate = new_iterate(view, cache, a, view.gram.product(a) + view.c)
        loops.find_vertices(iterate)
        loops.recompute_gap(iterate)
        tol = options.tolerance(self.info.tolerance)
        state = SmoState(
            view, tol, iteration_limit(options), cache, iterate, max(limit, 2**20) if options.memory_limit is None else limit
        )
        state.schedule_check()
        has_start = options.start is not None and view.label in options.start
        if self.newton and self.lowrank and not has_start:
            if growing_set_applies(view):
                state.begin(SmoPhase.GROWING_SET, growing_set(view, iterate.a, iterate.g, state.tol))
            elif lowrank_applies(view, state.memory):
                state.begin(SmoPhase.LOW_RANK, lowrank_start(view, iterate.a.copy(), iterate.g.copy(), state.tol, state.memory))
        return state

    def advance(self, state: SmoState, seconds: float) -> Outcome:
        """Take pair steps for about ``seconds``, or go on with the phase's own steps."""
        scalars, end = state.iterate.scalars, time.perf_counter() + seconds
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
                refresh_gradient(state)
                return Outcome.CONVERGED if state.gap <= state.tol else Outcome.ITERATION_LIMIT
            if scalars.iteration >= stop or (time.perf_counter() >= end and scalars.iteration > first):
                return Outcome.RUNNING

    def _pairs(self, state: SmoState, stop: int, end: float) -> Outcome:
        """Call the compiled loop once, and handle the reason for its return: a missing column, a decade of the gap, the end."""
        before, clock = int(state.iterate.scalars.iteration), time.perf_counter()
        count = int(min(stop - before, max(16.0, state.rate * max(end - clock, 0.0))))
        code = loops.run_pairs(state.iterate, count, self._aim(state))
        steps = int(state.iterate.scalars.iteration) - before
        if steps:
            state.exact, state.step = False, "pair"
            if steps > 64:
                state.rate = steps / max(time.perf_counter() - clock, 1e-6)
        if code == loops.COLUMN:
            self._load_columns(state, int(state.iterate.scalars.missing))
        elif code in (loops.RULE, loops.STUCK):
            state.schedule_check()
            return self._pause(state, stuck=code == loops.STUCK)
        elif state.iterate.scalars.iteration >= state.next_check:
            return self._check_objective(state)
        return Outcome.RUNNING

    def _check_objective(self, state: SmoState) -> Outcome:
        """Recompute the objective in float64 after many pairs; the run has stalled if it no longer falls."""
        state.schedule_check()
        refresh_gradient(state)
        if state.gap <= state.tol:
            return Outcome.CONVERGED
        scalars = state.iterate.scalars
        before, state.last_objective = state.last_objective, float(scalars.objective)
        if before - state.last_objective > _LEAST_GAIN * float(scalars.gap):
            return Outcome.RUNNING
        self._consider_newton(state, state.gap, hopeless=True)
        return Outcome.STALLED if state.steps is None else Outcome.RUNNING

    def _aim(self, state: SmoState) -> float:
        """Return the relative gap, by the loop's numbers, at which it pauses: the next decade, or the end.

        Far below the last float64 refresh these numbers mean nothing, since the columns are float32.
        """
        last = state.marks[-1][0] if state.marks else 10.0 * _FINISH_FROM
        final = state.tol if self.precision == "double" else max(0.5 * state.tol, 1e-4 * min(state.last_gap, 1e-3))
        following = min(0.1 * last, _FINISH_FROM)
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
        view, iterate = state.view, state.iterate
        size, item = int(iterate.size.sum()), state.cache.columns.itemsize
        if not self.newton or size < 2 or gap > 0.2 * state.newton.last_gap:
            return
        limit, expected = state.memory, np.inf if hopeless else _pair_seconds(state, gap)
        fits = cholesky_bytes(guess := first_support_guess(view, iterate.a, iterate.g).size) <= limit and gap <= _EXACT_FROM
        exactly = cholesky_seconds(view.n, guess) if fits else np.inf
        fits = cg_bytes(size, item) <= limit and state.newton.inexact_left > 0
        roughly = cg_seconds(view.n, size) if fits else np.inf
        if min(exactly, roughly) >= min(expected, 1e300):
            return
        state.newton.last_gap = gap
        if roughly < exactly:
            state.begin(SmoPhase.CONJUGATE, polish_by_cg(view, state.cache, iterate.a, iterate.g, state.tol, exact=state.exact))
        else:
            refresh_gradient(state)
            state.begin(SmoPhase.FACTORED, polish_by_cholesky(view, iterate.a.copy(), iterate.g.copy(), state.tol))

    def _newton_steps(self, state: SmoState, end: float) -> Outcome:
        """Go on with the phase's Newton steps until ``end``; when they are done, move to their point and confirm."""
        assert state.steps is not None
        try:
            while time.perf_counter() < end:
                better = next(state.steps)
                if better is not None:
                    _move_to_point(state, better)
        except StopIteration as finished:
            phase = state.end()
            return self._confirm(state) if phase is SmoPhase.WORKING_SETS else self._after_newton(state, phase, finished.value)
        return Outcome.RUNNING

    def _after_newton(self, state: SmoState, phase: SmoPhase, result: FeasiblePoint) -> Outcome:
        """Move to the result, and choose the next phase: pairs, or a finisher after a low-rank start, whose cache is empty."""
        state.newton.guesses += result.guesses
        if result.guesses:
            _move_to_point(state, result)
        elif phase is SmoPhase.LOW_RANK:  # the start has found no better point
            if result.prefers_working_sets:
                state.begin_sets(BoxSMO(state.memory, self.precision, _SETS_PREFETCH, stride=self.stride))
            return Outcome.RUNNING
        if phase is SmoPhase.CONJUGATE:
            state.newton.inexact_left -= 1
            if state.newton.inexact_left == 0:
                state.newton.last_gap = np.inf
        if phase in (SmoPhase.LOW_RANK, SmoPhase.GROWING_SET):
            state.start_phase = phase
        outcome = self._confirm(state)
        if phase is not SmoPhase.LOW_RANK:
            state.mark(max(state.gap, 1e-300))
            return outcome
        if outcome is Outcome.RUNNING:
            self._consider_newton(state, state.gap, hopeless=True)
        return outcome

    def _load_columns(self, state: SmoState, missing: int) -> None:
        iterate, cache = state.iterate, state.cache
        chosen, free_slots = np.array([missing]), cache.slots - cache.used
        if self.prefetch > 1 and free_slots > self.prefetch:
            if iterate.place[missing] < 0:
                chosen = columns_to_load(iterate, missing, self.prefetch)
            else:  # the support of a start: its columns will be wanted sooner or later
                chosen = np.union1d(missing, np.flatnonzero((iterate.a > 0) & (iterate.slot < 0))[: min(free_slots, _BLOCK) - 1])
        cache.load(chosen, int(iterate.scalars.clock))

    def _confirm(self, state: SmoState, *, stuck: bool = False) -> Outcome:
        """Refresh in float64, and return whether the run has converged, has stalled, or continues with a smaller gap as its aim.

        ``stuck``: no pair descends; if the gradient is that of float64, the run ends.
        """
        final = stuck and state.exact
        refresh_gradient(state)
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
        scalars = state.iterate.scalars
        f = float(scalars.objective)
        return ProgressState(
            iteration=int(scalars.iteration),
            objective=f,
            bound=f - float(scalars.gap),
            active=int(state.iterate.size.sum()),
            columns=state.cache.computed,
            step=state.step,
        )

    def answer(self, state: SmoState) -> Answer:
        """Return the point with the multipliers of its float64 gradient."""
        if state.sets is not None:  # the run ends within this phase
            state.end()
        refresh_gradient(state)
        iterate = state.iterate
        starts = {SmoPhase.LOW_RANK: "low rank", SmoPhase.GROWING_SET: "growing set", SmoPhase.WORKING_SETS: "working sets"}
        details = {
            "start": starts.get(state.start_phase, "pairs"),
            "columns": state.cache.computed,
            "cache_slots": state.cache.slots,
            "refreshes": state.refreshes,
            "newton_guesses": state.newton.guesses,
            "drops": int(iterate.scalars.drops),
        }
        return simplex_answer(state.view, iterate.a.copy(), iterate.g.copy(), details)


#: Number of points up to which columns are float64: the cache is small, and refreshes are saved.
_DOUBLE_UP_TO = 2000
#: Without a memory limit the cache takes at most the usable memory divided by this.
_MEMORY_PARTS = 4


@dataclass(eq=False)
class AutoState:
    """State of ``auto-simplex``."""

    algorithm: SMO  #: SMO with the chosen parameters
    reason: str  #: the reason for the choice, in words
    state: SmoState  #: state of its run


def _precision(view: SimplexQP) -> Literal["single", "double"]:
    return "double" if view.n <= _DOUBLE_UP_TO else "single"


def choose_parameters(view: SimplexQP, options: Options) -> tuple[SMO, str]:
    """Return SMO with parameters that suit the problem, and the reason in one sentence.

    SMO needs several times fewer iterations than the Frank-Wolfe methods, each at equal cost. Chosen are the precision of the
    columns (float64 if the whole matrix is small and fits the memory), the cache and the start; the run itself decides by the
    remaining work whether Newton steps end it.
    """
    n, tol = view.n, options.tolerance(SMO.info.tolerance)
    memory = options.memory_limit
    if memory is None:
        memory = usable_memory() / _MEMORY_PARTS
    matrix_bytes = 8 * n * n
    precision = _precision(view) if matrix_bytes <= memory else "single"
    double = precision == "double"
    size = matrix_bytes if double else matrix_bytes // 2
    cache = int(min(memory, max(size, 32 * n)))
    start: StartRule = "farthest" if view.c.any() and view.simplices == 1 else "vertex"
    algorithm = SMO(initial=start, cache_bytes=cache, precision=precision)
    fits = "the whole matrix fits" if size <= cache else f"{cache // (size // n)} of {count_text(n, 'column')} fit"
    reason = (
        f"smo, {'float64' if double else 'float32'} columns: n = {n}, gap {tol:g}, {fits} in {cache / 2**20:.0f} MiB; "
        "the Newton finisher starts where it costs less than the pairs left"
    )
    return algorithm, reason


@dataclass(frozen=True)
class AutoSimplex(Algorithm[SimplexQP, AutoState]):
    """SMO with parameters chosen by `choose_parameters`; ``details`` says which and why, and whether Newton steps ended the run.

    Parameters
    ----------
    stride : int, optional
        At most so many steps between two rows of the trace; as many as fit in the driver's budget where it is not given.
    """

    stride: int | None = None

    single_threaded_blas: ClassVar[bool] = True
    info = RECORDS["auto-simplex"]

    def load(self, view: SimplexQP) -> None:
        """Load the compiled loops before the clock starts."""
        SMO(precision=_precision(view)).load(view)

    def init(self, view: SimplexQP, options: Options, rng: np.random.Generator) -> AutoState:
        """Return the state of a run with the chosen parameters."""
        algorithm, reason = choose_parameters(view, options)
        if self.stride is not None:
            algorithm = replace(algorithm, stride=self.stride)
        return AutoState(algorithm, reason, algorithm.init(view, options, rng))

    def advance(self, state: AutoState, seconds: float) -> Outcome:
        """Advance the run of SMO by about ``seconds``."""
        return state.algorithm.advance(state.state, seconds)

    def measure(self, state: AutoState) -> ProgressState:
        """Return the progress of SMO."""
        return state.algorithm.measure(state.state)

    def answer(self, state: AutoState) -> Answer:
        """Return the answer of SMO; its details name the choice and the reason."""
        answer = state.algorithm.answer(state.state)
        finished = "smo with Newton finisher" if state.state.newton.guesses else "smo"
        if state.state.start_phase is SmoPhase.LOW_RANK:
            finished = "low-rank start, Newton steps" + ("" if state.state.step == "newton" else ", smo")
        return replace(answer, details={"algorithm": finished, "reason": state.reason, **answer.details})
