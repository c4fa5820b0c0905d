"""Two engines on one problem: the likelier one first, the other beside it once the first has had its chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from ...interface.algorithm import Outcome
from .engine import Engine, Shared

__all__ = ["Portfolio"]

#: Effort of each engine, about nanoseconds, before their bounds say which of them is ahead.
TRIAL = 3e8
#: Effort of the engine ahead for each of the other's: where its gap is less than `CLEAR` of the other's, and else.
FAR, NEAR, CLEAR = 8.0, 2.0, 0.6


class Portfolio(Engine):
    """Stretches by turns; incumbent and floor are shared, so either engine may close the gap for both.

    Whose turn it is follows from what both have counted of their work, never from the clock: runs repeat.

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
        if min(ahead.effort, behind.effort) >= TRIAL:
            ahead, behind = sorted((ahead, behind), key=lambda engine: -engine.proved)
            gaps = [max(self._shared.upper - engine.proved, 0.0) for engine in (ahead, behind)]
            share = FAR if gaps[0] < CLEAR * gaps[1] else NEAR
            return behind if behind.effort * share <= ahead.effort else ahead
        return ahead if ahead.effort <= behind.effort else behind

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
