"""What the two engines have in common: they work for a while, and always know a valid bound."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from ...interface.algorithm import Outcome
from ..incumbent import Incumbent, Polish
from ..reduced import Reduced
from .progress import Progress

__all__ = ["STRETCH", "Engine", "Limits", "Pace", "Shared"]

#: Effort of a stretch, and the nodes of the first.
STRETCH, _FEW = 5e7, 50
#: An incumbent of this share of the one at the start is worth a new tree: of a tree of many nodes, of one with few.
_MUCH, _SOME, _YOUNG = 0.01, 0.8, 1000

#: Seconds after the deadline at which a node may end that is begun before it; the share of what is left that is planned at once.
_LATE, _PLANNED = 0.1, 0.25
#: Seconds of a first node for each point times coordinate: two to three times what they take.
_GUESS = 1e-6


@dataclass(frozen=True)
class Limits:
    """When to give up."""

    tol: float = 1e-6
    nodes: int | None = None
    memory: float | None = None
    deadline: float = math.inf  #: of ``time.perf_counter``: what prepares a search looks at it too

    @property
    def expired(self) -> bool:
        """Whether the time is over."""
        return time.perf_counter() >= self.deadline


@dataclass(eq=False)
class Pace:
    """How many nodes of a search fit before the deadline, from how long its last ones took; without one, all that are asked for.

    Nodes take several times longer than those before them where sets of points grow, so a quarter of the time is planned at once.
    """

    limits: Limits
    seconds: float  #: for a node

    @classmethod
    def guessed(cls, limits: Limits, size: int) -> Pace:
        """Before the first node, for so many points times coordinates."""
        return cls(limits, _GUESS * size)

    @property
    def late(self) -> bool:
        """Whether even one more node would end well after the deadline."""
        return time.perf_counter() + self.seconds > self.limits.deadline + _LATE

    def nodes(self, most: int) -> int:
        """At most ``most``, at least one."""
        if self.limits.deadline == math.inf:
            return most
        left = max(self.limits.deadline - time.perf_counter(), 0.0)
        return max(min(most, int(_PLANNED * left / max(self.seconds, 1e-9))), 1)

    def took(self, begun: float, nodes: int) -> None:
        """Note what so many nodes since ``begun`` have taken."""
        self.seconds = (time.perf_counter() - begun) / max(nodes, 1)


@dataclass(eq=False)
class Shared:
    """What the heuristic and the engine share."""

    reduced: Reduced
    incumbent: Incumbent
    polish: Polish
    limits: Limits
    floor: float = field(default=0.0)  #: best stated lower bound so far, of what repeats in every run
    glimpse: float = field(default=0.0)  #: a bound seen between two checkpoints: valid, but where depends on the clock

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

    def look(self, bound: float) -> None:
        """Note a bound that was seen when the time of a slice was over: good for reports and for a run that is stopped."""
        self.glimpse = max(self.glimpse, min(self.reduced.proved(bound), self.incumbent.value))

    @property
    def closed(self) -> bool:
        """Whether the tolerance is met."""
        return self.incumbent.value - self.floor <= self.limits.tol * self.incumbent.value


class Engine(ABC):
    """A tree search that stops and resumes.

    It is driven in *stretches* of a number of nodes that the search itself determines. Time may interrupt a stretch anywhere;
    but what follows from the state (another engine's turn, another incumbent, the end) is decided where a stretch ends, so
    that runs repeat.
    """

    name: ClassVar[str]
    #: Nanoseconds of one thread for a unit of effort where the problem is not small, by trial: what engines are compared by.
    pace: ClassVar[float] = 1.0
    #: How many times as many doublings of effort close a gap as the last ones make it seem (`Progress`).
    bend: ClassVar[float] = 1.0

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._upper_at_start = shared.upper
        self._progress = Progress(self.bend)
        #: The best bound that this engine has proved by itself, reduced.
        self.proved = 0.0
        #: Nodes at which the stretch in hand ends: ``work`` returns there, or before.
        self.pause = 0

    @property
    def stale(self) -> bool:
        """Whether the incumbent has since become so much better that scales and thresholds should be chosen anew."""
        share = _MUCH if self.nodes > _YOUNG else _SOME
        return self._shared.upper < share * self._upper_at_start

    @property
    def rested(self) -> bool:
        """Whether a stretch has ended (or none has begun)."""
        return self.nodes >= self.pause

    def begin_stretch(self) -> None:
        """Allow nodes for about `STRETCH` more effort, judged by the effort of those before."""
        nodes = self.nodes
        self.pause = nodes + max(int(STRETCH * nodes / self.effort), 1) if nodes else _FEW

    def _judged(self, bound: float, outcome: Outcome) -> Outcome:
        """Take the tree's bound; the run is over where it closes the gap at the end of a stretch."""
        if outcome is Outcome.RUNNING and not self.rested:
            self._shared.look(bound)
            return outcome
        self._raise_floor(bound)
        return Outcome.CONVERGED if self._shared.closed else outcome

    def _raise_floor(self, bound: float) -> None:
        """Keep a bound of this engine, its own and for all."""
        self.proved = max(self.proved, bound)
        self._progress.note(self.spent, self.proved)
        self._shared.raise_floor(bound)

    def tend(self) -> None:
        """Look after what runs elsewhere, without waiting."""
        return

    def release(self) -> None:
        """Let go of what runs elsewhere."""
        return

    @abstractmethod
    def work(self, seconds: float) -> Outcome:
        """Search for about ``seconds`` or to the end of the stretch, raise the floor, offer what is found to the incumbent."""

    @property
    @abstractmethod
    def effort(self) -> float:
        """Work done so far, counted, not timed: about nanoseconds of one thread."""

    @property
    def spent(self) -> float:
        """The effort in nanoseconds."""
        return self.pace * self.effort

    @property
    def forecast(self) -> float:
        """Nanoseconds of effort that close the gap, with those spent, as the bound rose so far; ∞ where nothing can be said."""
        return self._progress.total(self._shared.upper)

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
