"""What the two engines have in common: they work for a while, and always know a valid bound."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from ..algorithm import Outcome
from .incumbent import Incumbent, Polish
from .reduced import Reduced

__all__ = ["Engine", "Limits", "Shared"]


@dataclass(frozen=True)
class Limits:
    """When to give up."""

    tol: float = 1e-6
    nodes: int | None = None
    memory: float | None = None


@dataclass(eq=False)
class Shared:
    """What the heuristic and the engine share."""

    reduced: Reduced
    incumbent: Incumbent
    polish: Polish
    limits: Limits
    floor: float = field(default=0.0)  #: best stated lower bound so far

    @property
    def upper(self) -> float:
        """The incumbent's value, reduced."""
        return (self.incumbent.value - self.reduced.constant) / self.reduced.unit

    @property
    def cut(self) -> float:
        """What an engine has to beat, reduced: nothing below it is overlooked, nothing above it is looked for."""
        return self.upper - 0.9 * self.limits.tol * self.incumbent.value / self.reduced.unit

    def raise_floor(self, bound: float) -> None:
        """Keep the better of the stated bounds: each was valid when it was proved and stays so."""
        self.floor = max(self.floor, min(self.reduced.proved(bound), self.incumbent.value))

    @property
    def closed(self) -> bool:
        """Whether the tolerance is met."""
        return self.incumbent.value - self.floor <= self.limits.tol * self.incumbent.value


class Engine(ABC):
    """A tree search that stops and resumes."""

    name: ClassVar[str]

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._upper_at_start = shared.upper
        #: Nodes at which ``work`` returns early, for the incumbent heuristic to have a turn.
        self.pause = 2**62

    @property
    def stale(self) -> bool:
        """Whether the incumbent has since become so much better that scales and thresholds should be chosen anew."""
        return self._shared.upper < 0.01 * self._upper_at_start

    @abstractmethod
    def work(self, seconds: float) -> Outcome:
        """Search for about ``seconds``, raise the floor, offer what is found to the incumbent."""

    @property
    @abstractmethod
    def nodes(self) -> int:
        """Nodes processed."""

    @property
    @abstractmethod
    def open_nodes(self) -> int:
        """Nodes that remain."""

    @abstractmethod
    def figures(self) -> dict[str, float]:
        """Counts worth reporting."""
