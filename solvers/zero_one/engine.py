"""The interface of the tree searches, which always have a valid lower bound, and a portfolio of two of them in turn."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from ..exact.options import Limits
from ..interface.algorithm import Outcome
from .incumbent import Incumbent, Polish
from .reduced import ReducedZeroOneProblem

# Extrapolation of an engine's lower bound: the effort that closes the gap.

#: Recorded efforts grow by at least this factor. The rate spans the last growth of effort by `_SPAN` or more.
_SPACING, _SPAN = 1.2, 4.0
#: Largest exponent of a forecast, against overflow.
_MAX_DOUBLINGS = 100.0


class Progress:
    """A forecast of the effort that closes the gap, from the bounds at past efforts.

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

    def note(self, spent: float, proved: float) -> None:
        """Record a bound and the effort that proved it. Bounds that do not improve the last one are ignored."""
        if spent <= 0.0 or proved <= 0.0 or (self._records and proved <= self._records[-1][1]):
            return
        if len(self._records) > 1 and spent < _SPACING * self._records[-2][0]:
            self._records.pop()
        self._records.append((spent, proved))

    def total(self, upper: float) -> float:
        """Return the total effort that closes the gap to ``upper``, past effort included; ∞ without enough data."""
        if not self._records:
            return math.inf
        spent, proved = self._records[-1]
        earlier = next((record for record in reversed(self._records) if _SPAN * record[0] <= spent), self._records[0])
        if earlier[0] >= spent:
            return math.inf
        rate = (proved - earlier[1]) / math.log2(spent / earlier[0])
        return spent * 2.0 ** min(self._doubling_growth * max(upper - proved, 0.0) / rate, _MAX_DOUBLINGS)


#: Effort of a slice of the search, and the number of nodes of the first slice.
STRETCH, _FIRST_NODES = 5e7, 50
#: Largest ratio of the incumbent to the one at the start that justifies a new tree: after many nodes, and after few.
_LARGE_IMPROVEMENT, _SMALL_IMPROVEMENT, _FEW_NODES = 0.01, 0.8, 1000


@dataclass(eq=False)
class SharedState:
    """The data that the primal heuristic and the engines share: problem, incumbent, limits and lower bound."""

    reduced: ReducedZeroOneProblem
    incumbent: Incumbent
    polish: Polish
    limits: Limits
    lower_bound: float = field(default=0.0)  #: best lower bound in original units, from checkpoints alone: the same in every run
    provisional_bound: float = field(default=0.0)  #: bound between two checkpoints: valid, but its time depends on the clock

    @property
    def upper(self) -> float:
        """Value of the incumbent in units of the reduced problem."""
        return (self.incumbent.value - self.reduced.constant) / self.reduced.unit

    @property
    def cut(self) -> float:
        """The cutoff in units of the reduced problem: a search discards nodes at or above it and finds all solutions below it."""
        return self.upper - 0.9 * self.limits.tol * self.incumbent.value / self.reduced.unit

    def improve_bound(self, bound: float) -> None:
        """Improve the lower bound by a bound of the reduced problem. Every proved bound remains valid, so the best one counts."""
        self.lower_bound = max(self.lower_bound, min(self.reduced.proved(bound), self.incumbent.value))

    def note_bound(self, bound: float) -> None:
        """Record a provisional bound at the end of a time slice, for reports and for an interrupted run."""
        self.provisional_bound = max(self.provisional_bound, min(self.reduced.proved(bound), self.incumbent.value))

    @property
    def closed(self) -> bool:
        """True if the gap is within the tolerance."""
        return self.incumbent.value - self.lower_bound <= self.limits.tol * self.incumbent.value


class Engine(ABC):
    """A tree search that stops and resumes.

    The driver runs it in *slices* of a number of nodes that the search itself determines. The clock may interrupt a slice
    anywhere. All decisions that follow from the state (another engine, another incumbent, the end) are taken at the end of a
    slice, so that runs repeat.
    """

    name: ClassVar[str]
    #: Nanoseconds of one thread per unit of effort on large problems, by calibration; it makes engines comparable.
    pace: ClassVar[float] = 1.0
    #: Factor on the extrapolated number of doublings of effort that close the gap (`Progress`).
    doubling_growth: ClassVar[float] = 1.0

    def __init__(self, shared: SharedState) -> None:
        self._shared = shared
        self._upper_at_start = shared.upper
        self._progress = Progress(self.doubling_growth)
        #: Best bound that this engine has proved by itself, in units of the reduced problem.
        self.proved = 0.0
        #: Node count at which the current slice ends: ``work`` returns there or before.
        self.pause = 0

    @property
    def stale(self) -> bool:
        """True if the incumbent is so much better than at the start that scales and thresholds should be chosen anew."""
        ratio = _LARGE_IMPROVEMENT if self.nodes > _FEW_NODES else _SMALL_IMPROVEMENT
        return self._shared.upper < ratio * self._upper_at_start

    @property
    def at_checkpoint(self) -> bool:
        """True if no slice is in progress."""
        return self.nodes >= self.pause

    def begin_stretch(self) -> None:
        """Start a slice: allow nodes for about `STRETCH` more effort, at the average effort per node."""
        nodes = self.nodes
        self.pause = nodes + max(int(STRETCH * nodes / self.effort), 1) if nodes else _FIRST_NODES

    def _conclude(self, bound: float, outcome: Outcome) -> Outcome:
        """Record the tree's bound and return the outcome: converged if the gap is closed at the end of a slice."""
        if outcome is Outcome.RUNNING and not self.at_checkpoint:
            self._shared.note_bound(bound)
            return outcome
        self._improve_bound(bound)
        return Outcome.CONVERGED if self._shared.closed else outcome

    def _improve_bound(self, bound: float) -> None:
        """Improve the engine's own bound and the shared one."""
        self.proved = max(self.proved, bound)
        self._progress.note(self.spent, self.proved)
        self._shared.improve_bound(bound)

    def exchange(self) -> None:
        """Exchange work and results with remote workers, without waiting."""
        return

    def release(self) -> None:
        """Release the remote workers."""
        return

    @abstractmethod
    def work(self, seconds: float) -> Outcome:
        """Search for about ``seconds`` or to the end of the slice, improve the bound, and offer candidates to the incumbent."""

    @property
    @abstractmethod
    def effort(self) -> float:
        """Counted work so far, about nanoseconds of one thread; independent of the clock."""

    @property
    def spent(self) -> float:
        """The effort so far in nanoseconds."""
        return self.pace * self.effort

    @property
    def forecast(self) -> float:
        """Total effort in nanoseconds that closes the gap, past effort included, by extrapolation; ∞ without enough data."""
        return self._progress.total(self._shared.upper)

    @property
    @abstractmethod
    def nodes(self) -> int:
        """Number of processed nodes."""

    @property
    @abstractmethod
    def open_nodes(self) -> int:
        """Number of open nodes."""

    @abstractmethod
    def figures(self) -> dict[str, float]:
        """Return the counts for the report."""


#: Nanoseconds of each engine before forecasts decide the shares.
TRIAL = 1.2e8
#: Largest ratio of the two engines' shares of time.
FAR = 16.0
#: Least remaining effort of an engine as a share of its past effort, for an engine that has exceeded its forecast.
LEAST = 0.1


class Portfolio(Engine):
    """Two engines in turn on one problem, with a common incumbent and lower bound, so that either may close the gap for both.

    After a trial the shares of time are inversely proportional to the squares of the remaining efforts that the engines forecast
    (`Engine.forecast`). The higher bound is a worse criterion: the conflict engine begins with half of the incumbent's value, the
    box engine at 0, and the box engine may still be the first to finish. The turns depend on counted work, never on the clock,
    so that runs repeat.

    Parameters
    ----------
    shared : SharedState
    first : Engine
    second : callable
        Creates the other engine at its first turn.
    head : float
        Effort of the first engine before the second begins.
    """

    name: ClassVar[str] = "portfolio"

    def __init__(self, shared: SharedState, first: Engine, second: Callable[[], Engine], head: float) -> None:
        super().__init__(shared)
        self._first, self._make_second, self._head = first, second, head
        self._engines = [first]
        self._current = first
        self._final_outcomes: dict[Engine, Outcome] = {}

    @property
    def first(self) -> Engine:
        """The engine that begins."""
        return self._first

    @property
    def nodes(self) -> int:
        """Number of nodes of both engines."""
        return sum(engine.nodes for engine in self._engines)

    @property
    def effort(self) -> float:
        """Counted work of both engines."""
        return sum(engine.effort for engine in self._engines)

    @property
    def open_nodes(self) -> int:
        """Number of open nodes of the engine with the most nodes."""
        return max(self._engines, key=lambda engine: engine.nodes).open_nodes

    def figures(self) -> dict[str, float]:
        """Return the counts of both engines and the number of nodes of each."""
        figures: dict[str, float] = {}
        for engine in self._engines:
            figures |= engine.figures() | {f"{engine.name}_nodes": engine.nodes}
        return figures

    @property
    def at_checkpoint(self) -> bool:
        """True if the current engine has finished its slice."""
        return self._current.at_checkpoint

    def begin_stretch(self) -> None:
        """Start a slice of the engine that is behind its share of time."""
        self._current = self._select_engine()
        self._current.begin_stretch()

    def _select_engine(self) -> Engine:
        if len(self._engines) == 1:
            if self._first.effort < self._head and not self._final_outcomes:
                return self._first
            self._engines.append(self._make_second())
        active = [engine for engine in self._engines if engine not in self._final_outcomes]
        if len(active) == 1:
            return active[0]
        follower, leader = active
        if min(leader.spent, follower.spent) < TRIAL:
            return leader if leader.spent <= follower.spent else follower
        leader, follower = sorted((leader, follower), key=self._remaining_effort)
        remaining = self._remaining_effort(leader)
        ratio = 1.0 if remaining == math.inf else min((self._remaining_effort(follower) / remaining) ** 2, FAR)
        return follower if follower.spent * ratio <= leader.spent else leader

    def _remaining_effort(self, engine: Engine) -> float:
        """Return the forecast remaining effort in nanoseconds, at least a share of the past effort."""
        return max(engine.forecast - engine.spent, LEAST * engine.spent)

    def work(self, seconds: float) -> Outcome:
        """Run the current engine. The run stops only when both engines have given up."""
        engine = self._current
        outcome = engine.work(seconds)
        limits = self._shared.limits
        if outcome is Outcome.CONVERGED:
            return outcome
        if outcome is not Outcome.RUNNING:
            self._final_outcomes[engine] = outcome
            engine.pause = engine.nodes
            if len(self._final_outcomes) == 2:
                return self._final_outcomes[self._first]
        if limits.nodes is not None and self.nodes >= limits.nodes:
            return Outcome.NODE_LIMIT
        return Outcome.RUNNING
