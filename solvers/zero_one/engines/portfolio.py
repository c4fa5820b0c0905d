"""Two engines on one problem: the likelier one first, the other beside it once the first has had its chance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

from ...interface.algorithm import Outcome
from .engine import Engine, Shared

__all__ = ["Portfolio"]

#: Nanoseconds of each engine before what they have proved says which of them gets there first.
TRIAL = 1.2e8
#: Time of the likelier engine for each of the other's, at most.
FAR = 16.0
#: An engine that has had what was forecast will need this share of it once more: it is nearly there, so the other gets little.
LEAST = 0.1


class Portfolio(Engine):
    """Stretches by turns; incumbent and floor are shared, so either engine may close the gap for both.

    After a trial each gets time as the square of what the other will still need, by the forecasts that they make
    (`Engine.forecast`). The higher bound says less: conflicts begin with half of the incumbent's value, boxes at 0, and may still
    be the first to arrive. Whose turn it is follows from what both have counted of their work, never from the clock: runs repeat.

    Parameters
    ----------
    shared : Shared
    first : Engine
    second : callable
        Makes the other engine, once it is its turn.
    head : float
        Effort of the first engine before the second begins.
    """

    name: ClassVar[str] = "portfolio"

    def __init__(self, shared: Shared, first: Engine, second: Callable[[], Engine], head: float) -> None:
        super().__init__(shared)
        self._first, self._make_second, self._head = first, second, head
        self._engines = [first]
        self._current = first
        self._out: dict[Engine, Outcome] = {}

    @property
    def nodes(self) -> int:
        """Nodes of both."""
        return sum(engine.nodes for engine in self._engines)

    @property
    def effort(self) -> float:
        """Work of both."""
        return sum(engine.effort for engine in self._engines)

    @property
    def open_nodes(self) -> int:
        """Open nodes of the engine that has worked most."""
        return max(self._engines, key=lambda engine: engine.nodes).open_nodes

    def figures(self) -> dict[str, float]:
        """Counts of both, and the nodes of each."""
        found: dict[str, float] = {}
        for engine in self._engines:
            found |= engine.figures() | {f"{engine.name}_nodes": engine.nodes}
        return found

    @property
    def rested(self) -> bool:
        """Whether the engine whose turn it is has ended its stretch."""
        return self._current.rested

    def begin_stretch(self) -> None:
        """Give the turn to the engine that is behind its share."""
        self._current = self._next()
        self._current.begin_stretch()

    def _next(self) -> Engine:
        if len(self._engines) == 1:
            if self._first.effort < self._head and not self._out:
                return self._first
            self._engines.append(self._make_second())
        left = [engine for engine in self._engines if engine not in self._out]
        if len(left) == 1:
            return left[0]
        behind, ahead = left
        if min(ahead.spent, behind.spent) < TRIAL:
            return ahead if ahead.spent <= behind.spent else behind
        ahead, behind = sorted((ahead, behind), key=self._needed)
        needed = self._needed(ahead)
        share = 1.0 if needed == math.inf else min((self._needed(behind) / needed) ** 2, FAR)
        return behind if behind.spent * share <= ahead.spent else ahead

    def _needed(self, engine: Engine) -> float:
        """What an engine will still need, nanoseconds; at least a share of what it had."""
        return max(engine.forecast - engine.spent, LEAST * engine.spent)

    def work(self, seconds: float) -> Outcome:
        """A slice of the engine whose turn it is; an engine that gave up leaves the field to the other."""
        engine = self._current
        outcome = engine.work(seconds)
        limits = self._shared.limits
        if outcome is Outcome.CONVERGED:
            return outcome
        if outcome is not Outcome.RUNNING:
            self._out[engine] = outcome
            engine.pause = engine.nodes
            if len(self._out) == 2:
                return self._out[self._first]
        if limits.nodes is not None and self.nodes >= limits.nodes:
            return Outcome.NODE_LIMIT
        return Outcome.RUNNING
