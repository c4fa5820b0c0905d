"""Base class of the exact 0-1 solver's tree searches, `Engine`, and `Portfolio`, which runs two of them in turn on one problem.

The problem is min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1}, in reduced coordinates and units (`solvers.zero_one.reduced`). An
engine always has a valid lower bound. It runs in slices between which the primal heuristic and other engines may run. *Effort* is
counted work, about nanoseconds, independent of the clock.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from ..exact.options import Limits
from ..interface.algorithm import Outcome
from .incumbent import HardMarginSolver, Incumbent
from .reduced import ReducedZeroOneProblem

#: Least factor between two recorded efforts, and least growth of effort over which the bound's rate of growth is measured.
_SPACING, _SPAN = 1.2, 4.0
#: Largest exponent of a forecast, against overflow.
_MAX_DOUBLINGS = 100.0


class GapForecast:
    """Forecast of the effort that closes the gap, extrapolated from the bounds at past efforts.

    Each doubling of the effort raises the bound by about the same amount, since a level of the tree doubles its nodes. So the
    remaining gap, divided by the gain of one doubling, is the number of doublings left.

    Parameters
    ----------
    doubling_growth : float
        Factor on the number of doublings, above 1 where the gain of a doubling falls towards the end.
    """

    def __init__(self, doubling_growth: float) -> None:
        self._doubling_growth = doubling_growth
        self._records: list[tuple[float, float]] = []

    def record(self, spent: float, proved: float) -> None:
        """Record a bound and the effort that has proved it; a bound that does not improve the last one is ignored."""
        if spent <= 0.0 or proved <= 0.0 or (self._records and proved <= self._records[-1][1]):
            return
        if len(self._records) > 1 and spent < _SPACING * self._records[-2][0]:
            self._records.pop()
        self._records.append((spent, proved))

    def total_effort(self, upper: float) -> float:
        """Return the total effort, past effort included, at which the bound reaches ``upper``; ∞ without enough records."""
        if not self._records:
            return math.inf
        spent, proved = self._records[-1]
        earlier = next((record for record in reversed(self._records) if _SPAN * record[0] <= spent), self._records[0])
        if earlier[0] >= spent:
            return math.inf
        rate = (proved - earlier[1]) / math.log2(spent / earlier[0])
        return spent * 2.0 ** min(self._doubling_growth * max(upper - proved, 0.0) / rate, _MAX_DOUBLINGS)


#: Effort of a slice of the search, about 50 ms, and the number of nodes of the first slice.
SLICE_EFFORT, _FIRST_NODES = 5e7, 50
#: Largest ratio of the incumbent's value to that at the start which justifies a new tree: after more than `_FEW_NODES` nodes, and
#: after at most so many.
_LARGE_IMPROVEMENT, _SMALL_IMPROVEMENT, _FEW_NODES = 0.01, 0.8, 1000


@dataclass(eq=False)
class SharedState:
    """The data of one run that the primal heuristic and the engines share: problem, incumbent, limits and lower bound."""

    reduced: ReducedZeroOneProblem  #: the problem in reduced coordinates
    incumbent: Incumbent  #: the best known classifier
    polish: HardMarginSolver  #: solver that improves incumbents
    limits: Limits  #: tolerance and limits of the run
    lower_bound: float = field(default=0.0)  #: best lower bound at the end of a slice, in original units: reproducible
    provisional_bound: float = field(default=0.0)  #: valid lower bound within a slice, in original units: depends on the clock

    @property
    def upper(self) -> float:
        """The incumbent's value less the cost of the rows a_i = 0, which every w violates, in units of the reduced problem."""
        return (self.incumbent.value - self.reduced.constant) / self.reduced.unit

    @property
    def cutoff(self) -> float:
        """The incumbent's value less 0.9 of the tolerance, in reduced units: searches discard nodes with bounds from it on."""
        return self.upper - 0.9 * self.limits.tol * self.incumbent.value / self.reduced.unit

    def improve_bound(self, bound: float) -> None:
        """Raise the lower bound to a bound of the reduced problem. Every proved bound remains valid, so the best one counts."""
        self.lower_bound = max(self.lower_bound, min(self.reduced.original_bound(bound), self.incumbent.value))

    def record_provisional_bound(self, bound: float) -> None:
        """Record a provisional bound at the end of a time slice, for reports and for an interrupted run."""
        self.provisional_bound = max(self.provisional_bound, min(self.reduced.original_bound(bound), self.incumbent.value))

    @property
    def gap_closed(self) -> bool:
        """True if the gap is within the tolerance."""
        return self.incumbent.value - self.lower_bound <= self.limits.tol * self.incumbent.value


class Engine(ABC):
    """Base class of a tree search that can stop and resume.

    The driver runs it in *slices* of a number of nodes that the search itself determines. The clock may interrupt a slice
    anywhere. All decisions (another engine, the heuristic, the end of the run) are taken at the end of a slice, so that runs are
    reproducible.
    """

    #: Name of the engine in progress and statistics.
    name: ClassVar[str]
    #: Measured nanoseconds of one thread for a unit of effort on large problems, which make the efforts of engines comparable.
    nanoseconds_per_effort: ClassVar[float] = 1.0
    #: Factor on the forecast number of doublings of effort that close the gap (`GapForecast`).
    doubling_growth: ClassVar[float] = 1.0

    def __init__(self, shared: SharedState) -> None:
        self._shared = shared
        self._upper_at_start = shared.upper
        self._gap_forecast = GapForecast(self.doubling_growth)
        #: Best lower bound that this engine has proved by itself, in units of the reduced problem.
        self.proved_bound = 0.0
        #: Node count at which the current slice ends: ``work`` returns there or before.
        self.slice_end = 0

    @property
    def needs_restart(self) -> bool:
        """True if the incumbent is so much better than at the start that a new search with new scales pays."""
        ratio = _LARGE_IMPROVEMENT if self.nodes > _FEW_NODES else _SMALL_IMPROVEMENT
        return self._shared.upper < ratio * self._upper_at_start

    @property
    def at_checkpoint(self) -> bool:
        """True if no slice is in progress: the state does not depend on the clock."""
        return self.nodes >= self.slice_end

    def begin_slice(self) -> None:
        """Start a slice: allow nodes for about `SLICE_EFFORT` more effort, at the average effort per node."""
        nodes = self.nodes
        self.slice_end = nodes + max(int(SLICE_EFFORT * nodes / self.effort), 1) if nodes else _FIRST_NODES

    def _conclude(self, bound: float, outcome: Outcome) -> Outcome:
        """Record the tree's bound and return the outcome; CONVERGED if the gap is closed at the end of a slice."""
        if outcome is Outcome.RUNNING and not self.at_checkpoint:
            self._shared.record_provisional_bound(bound)
            return outcome
        self._improve_bound(bound)
        return Outcome.CONVERGED if self._shared.gap_closed else outcome

    def _improve_bound(self, bound: float) -> None:
        """Improve the engine's own bound and the shared one."""
        self.proved_bound = max(self.proved_bound, bound)
        self._gap_forecast.record(self.spent_nanoseconds, self.proved_bound)
        self._shared.improve_bound(bound)

    def exchange(self) -> None:
        """Exchange work and results with remote workers, without waiting."""
        return

    def release(self) -> None:
        """Release the remote workers."""
        return

    @abstractmethod
    def work(self, seconds: float) -> Outcome:
        """Search for about ``seconds`` or to the end of the slice, and update the incumbent and the bound."""

    @property
    @abstractmethod
    def effort(self) -> float:
        """The work so far, in units of `nanoseconds_per_effort`, counted from nodes and sizes: independent of the clock."""

    @property
    def spent_nanoseconds(self) -> float:
        """The work so far in estimated nanoseconds, comparable between engines."""
        return self.nanoseconds_per_effort * self.effort

    @property
    def forecast(self) -> float:
        """The forecast total work in nanoseconds, past work included, that closes the gap; ∞ without enough data."""
        return self._gap_forecast.total_effort(self._shared.upper)

    @property
    @abstractmethod
    def nodes(self) -> int:
        """The number of processed nodes."""

    @property
    @abstractmethod
    def open_count(self) -> int:
        """The number of open nodes."""

    @abstractmethod
    def statistics(self) -> dict[str, float]:
        """Return the search's counts by name, for the result's details."""


#: Nanoseconds of work of each engine before forecasts decide the shares of time.
TRIAL_EFFORT = 1.2e8
#: Largest ratio of the two engines' shares of time.
LARGEST_SHARE_RATIO = 16.0
#: Least remaining work of an engine as a share of its past work, for an engine that has exceeded its forecast.
_LEAST_REMAINING_SHARE = 0.1


class Portfolio(Engine):
    """Two engines in turn on one problem, with a common incumbent and lower bound, so that either may close the gap for both.

    After a trial the shares of time are inversely proportional to the squares of the remaining efforts that the engines forecast
    (`Engine.forecast`), up to a ratio of `LARGEST_SHARE_RATIO`. The higher bound is a worse criterion: the conflict engine begins
    with half of the incumbent's value, the box engine at 0, and the box engine may still be the first to finish. The turns depend
    on counted work, never on the clock, so that runs repeat.

    Parameters
    ----------
    shared : SharedState
        Problem, incumbent, limits and bound of the run.
    first : Engine
        The engine that begins.
    second : callable
        Function that creates the other engine at its first turn.
    head_start : float
        Effort of the first engine before the second begins.
    """

    name: ClassVar[str] = "portfolio"

    def __init__(self, shared: SharedState, first: Engine, second: Callable[[], Engine], head_start: float) -> None:
        super().__init__(shared)
        self._first, self._make_second, self._head_start = first, second, head_start
        self._engines = [first]
        self._current = first
        self._final_outcomes: dict[Engine, Outcome] = {}

    @property
    def first(self) -> Engine:
        """The engine that begins."""
        return self._first

    @property
    def nodes(self) -> int:
        """The number of nodes of both engines."""
        return sum(engine.nodes for engine in self._engines)

    @property
    def effort(self) -> float:
        """The counted work of both engines."""
        return sum(engine.effort for engine in self._engines)

    @property
    def open_count(self) -> int:
        """The number of open nodes of the engine with the most nodes."""
        return max(self._engines, key=lambda engine: engine.nodes).open_count

    def statistics(self) -> dict[str, float]:
        """Return the counts of both engines and the number of nodes of each."""
        figures: dict[str, float] = {}
        for engine in self._engines:
            figures |= engine.statistics() | {f"{engine.name}_nodes": engine.nodes}
        return figures

    @property
    def at_checkpoint(self) -> bool:
        """True if the current engine has finished its slice."""
        return self._current.at_checkpoint

    def begin_slice(self) -> None:
        """Start a slice of the engine that is behind its share of time."""
        self._current = self._select_engine()
        self._current.begin_slice()

    def _select_engine(self) -> Engine:
        if len(self._engines) == 1:
            if self._first.effort < self._head_start and not self._final_outcomes:
                return self._first
            self._engines.append(self._make_second())
        active = [engine for engine in self._engines if engine not in self._final_outcomes]
        if len(active) == 1:
            return active[0]
        follower, leader = active
        if min(leader.spent_nanoseconds, follower.spent_nanoseconds) < TRIAL_EFFORT:
            return leader if leader.spent_nanoseconds <= follower.spent_nanoseconds else follower
        leader, follower = sorted((leader, follower), key=self._remaining_effort)
        remaining = self._remaining_effort(leader)
        ratio = 1.0 if remaining == math.inf else min((self._remaining_effort(follower) / remaining) ** 2, LARGEST_SHARE_RATIO)
        return follower if follower.spent_nanoseconds * ratio <= leader.spent_nanoseconds else leader

    def _remaining_effort(self, engine: Engine) -> float:
        """Return the forecast remaining effort in nanoseconds, at least a share of the past effort."""
        return max(engine.forecast - engine.spent_nanoseconds, _LEAST_REMAINING_SHARE * engine.spent_nanoseconds)

    def work(self, seconds: float) -> Outcome:
        """Run the current engine; the run ends at CONVERGED, at the node limit, or once both engines have ended."""
        engine = self._current
        outcome = engine.work(seconds)
        limits = self._shared.limits
        if outcome is Outcome.CONVERGED:
            return outcome
        if outcome is not Outcome.RUNNING:
            self._final_outcomes[engine] = outcome
            engine.slice_end = engine.nodes
            if len(self._final_outcomes) == 2:
                return self._final_outcomes[self._first]
        if limits.nodes is not None and self.nodes >= limits.nodes:
            return Outcome.NODE_LIMIT
        return Outcome.RUNNING
