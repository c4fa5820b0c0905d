"""Two engines on one problem: the likelier one first, the other beside it once the first has had its chance."""

from __future__ import annotations

from typing import ClassVar

from ..algorithm import Outcome
from .engine import Engine, Shared

__all__ = ["Portfolio"]

#: Slices of the first engine, after the head start, for each of the second.
_SHARE = 7


class Portfolio(Engine):
    """Slices of time by turns; incumbent and floor are shared, so either engine may close the gap for both.

    Parameters
    ----------
    shared : Shared
    first, second : Engine
    head : int
        Nodes of the first engine before the second begins.
    """

    name: ClassVar[str] = "portfolio"

    def __init__(self, shared: Shared, first: Engine, second: Engine, head: int) -> None:
        super().__init__(shared)
        self._first, self._second, self._head = first, second, head
        self._turn = 0
        self._out: dict[Engine, Outcome] = {}

    @property
    def nodes(self) -> int:
        """Nodes of both."""
        return self._first.nodes + self._second.nodes

    @property
    def open_nodes(self) -> int:
        """Open nodes of the engine that has worked most."""
        return max((self._first, self._second), key=lambda engine: engine.nodes).open_nodes

    def figures(self) -> dict[str, float]:
        """Counts of both, and the nodes of each."""
        both = {**self._first.figures(), **self._second.figures()}
        return both | {f"{engine.name}_nodes": engine.nodes for engine in (self._first, self._second)}

    def work(self, seconds: float) -> Outcome:
        """One slice of the engine whose turn it is; an engine that gave up leaves the field to the other."""
        engine = self._first
        if self._first.nodes >= self._head or self._first in self._out:
            self._turn += 1
            if self._turn % (_SHARE + 1) == 0 or self._first in self._out:
                engine = self._second
        if engine in self._out:
            engine = self._first
        outcome = engine.work(seconds)
        limits = self._shared.limits
        if outcome is Outcome.CONVERGED:
            return outcome
        if outcome is not Outcome.RUNNING:
            self._out[engine] = outcome
            if len(self._out) == 2:
                return self._out[self._first]
        if limits.nodes is not None and self.nodes >= limits.nodes:
            return Outcome.NODE_LIMIT
        return Outcome.RUNNING
