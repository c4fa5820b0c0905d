"""A portfolio of two engines: the more promising one alone at first, then both in turn."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

from ...interface.algorithm import Outcome
from .engine import Engine, SharedState

__all__ = ["Portfolio"]

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
    shared : Shared
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
