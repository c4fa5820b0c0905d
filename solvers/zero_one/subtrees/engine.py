"""The box search on a cluster: this process keeps the open nodes and hands slices of them to the workers.

It begins here, and calls the workers. When the first of them is ready, the open nodes are a pool, from which every worker gets
a few with the least bounds, the incumbent and a time; what is still open afterwards comes back to the pool, with better
incumbents, and is divided anew. So idle workers take over what busy ones have left after at most a slice, and a short one where
the pool is nearly empty. Who is killed loses one slice, which another worker gets. The pool, the slices under way and the
incumbent are the whole search: what a checkpoint holds.
"""

from __future__ import annotations

import heapq
import itertools
from typing import ClassVar

from ...interface.algorithm import Outcome
from ...parallel.parcel import Own
from ...parallel.team import AsynchronousTeam
from ..engines.boxes import MEMORY, Begun, BoxEngine
from ..engines.engine import Engine, Shared
from ..engines.open_nodes import OpenNodes
from ..proof.box_writer import ProofWriter
from .desk import Desk
from .outcomes import lines_of
from .slices import NODES, Found, Slice, load, search

__all__ = ["HEAD", "SubtreeEngine"]

#: Nodes, or effort (about nanoseconds), of the search here after which nodes are handed out though no worker is ready yet: an
#: easy problem does not wait for workers that have to load compiled code first.
HEAD, EFFORT = 1500, 1e9
#: Nodes, or effort, after which the workers are called: what is over by then needs none.
CALL, CALL_EFFORT = 50, 1e7
#: Nodes here between two looks for an answer; one may take a second.
FEW = 8


class SubtreeEngine(Engine):
    """Branch and bound over boxes by a team; nodes are searched in an order that depends on timing, what is proved does not.

    Parameters
    ----------
    shared : Shared
    first : BoxEngine
        The search in this process, from the root or from what a checkpoint holds.
    team : AsynchronousTeam
    writer : ProofWriter, optional
        Of the proof log: takes the parts that the workers write.
    """

    name: ClassVar[str] = "boxes"

    def __init__(self, shared: Shared, first: BoxEngine, team: AsynchronousTeam, writer: ProofWriter | None) -> None:
        super().__init__(shared)
        self._first, self._writer = first, writer
        self.ground = first.ground
        self._desk = Desk(team, self, search)
        self._parts: list[tuple[float, int, OpenNodes, int]] = []  # a heap by least bound; the bytes that each one keeps
        self._order = itertools.count()
        self._shipped = False
        self._counts: dict[str, int] = {}
        self._effort = 0.0
        self._unresolved = float("inf")
        self._none = first.open.chosen(slice(0, 0))

    # -- what is known ------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> int:
        """Nodes of slices that have come back, and of this process."""
        return self._first.nodes + self._counts.get("nodes", 0)

    @property
    def effort(self) -> float:
        """Work of all."""
        return self._first.effort + self._effort

    @property
    def open_nodes(self) -> int:
        """In the pool and under way."""
        if not self._shipped:
            return self._first.open_nodes
        return self.waiting + sum(len(part) for part in self._desk.flying.values())

    @property
    def waiting(self) -> int:
        """In the pool."""
        return sum(len(part) for _, _, part, _ in self._parts)

    @property
    def open(self) -> OpenNodes:
        """All open nodes; those under way as they were handed out."""
        if not self._shipped:
            return self._first.open
        parts = [*(part for _, _, part, _ in self._parts), *self._desk.flying.values()]
        return OpenNodes.joined([self._none, *parts]).below(self._shared.cut)

    @property
    def begun(self) -> Begun:
        """From where another process goes on; its nodes have other numbers than those of slices under way."""
        following = (self._desk.number + 1) * NODES if self._shipped else self._first.next_id
        return Begun(self.ground, self.open, self.unresolved, following)

    @property
    def unresolved(self) -> float:
        """Least bound of the leaves that nobody could settle."""
        return min(self._unresolved, self._first.unresolved)

    @property
    def own_bound(self) -> float:
        """What this tree alone proves, stated."""
        return min(self._shared.reduced.proved(self._bound()), self._shared.incumbent.value)

    def _bound(self) -> float:
        if not self._shipped:
            return self._first.bound
        parts = [*(key for key, *_ in self._parts), *(part.least for part in self._desk.flying.values())]
        return min([self.unresolved, self._shared.cut, *parts])

    def figures(self) -> dict[str, float]:
        """Counts of all; slices handed out, workers met, seconds of handling here, processor and wall seconds of slices."""
        counts = {name: value + self._counts.get(name, 0) for name, value in self._first.counts().items()}
        points = counts.pop("points") / max(counts.pop("nodes"), 1)
        return {**counts, "points_per_node": points, **self._desk.figures()}

    # -- driving ------------------------------------------------------------------------------------------------

    @property
    def rested(self) -> bool:
        """Once slices are out there are no stretches: what arrives when is the cluster's business."""
        return self._shipped or self._first.rested

    def begin_stretch(self) -> None:
        """A stretch of the search in this process."""
        if not self._shipped:
            self._first.begin_stretch()
            self._first.pause = min(self._first.pause, self._first.nodes + FEW)

    def work(self, seconds: float) -> Outcome:
        """Search here, and once the pool is there hand out and take in for about ``seconds``."""
        if not self._shipped:
            outcome = self._first.work(seconds)
            if outcome is Outcome.RUNNING and self._first.rested and self._begun():
                self._ship()
            return outcome
        self.tend(seconds)
        return self._conclude(self._bound(), self._outcome())

    def _outcome(self) -> Outcome:
        shared, limits = self._shared, self._shared.limits
        if self._writer is not None and self._writer.fault is not None:
            return Outcome.UNWRITTEN
        if not self._parts and not self._desk.flying:
            return Outcome.CONVERGED if self.unresolved >= shared.cut else Outcome.STALLED
        if limits.nodes is not None and self.nodes >= limits.nodes:
            return Outcome.NODE_LIMIT
        return Outcome.MEMORY_LIMIT if self._bytes() > self._room else Outcome.RUNNING

    @property
    def _room(self) -> float:
        return MEMORY if self._shared.limits.memory is None else self._shared.limits.memory

    def _bytes(self) -> int:
        return sum(memory for *_, memory in self._parts)

    def _begun(self) -> bool:
        """Whether the workers' turn has come."""
        nodes, effort = self._first.nodes, self._first.effort
        if nodes >= CALL or effort >= CALL_EFFORT:
            self._desk.rouse(load, self.ground)
            self._desk.tend(0.0)
        return self._desk.awake or nodes >= HEAD or effort >= EFFORT

    def _ship(self) -> None:
        self._shipped = True
        self._desk.number = self._first.next_id // NODES
        self._keep(self._first.open)

    def _keep(self, nodes: OpenNodes, memory: int = 0) -> None:
        """Into the pool; they are a part of so many bytes, and get their own where that is more than twice what they need."""
        if not len(nodes):
            return
        if memory > 2 * nodes.nbytes:
            nodes, memory = nodes.apart(), 0
        heapq.heappush(self._parts, (nodes.least, next(self._order), nodes, max(memory, nodes.nbytes)))

    def tend(self, seconds: float = 0.0) -> None:
        """Hand out slices, take in what came, hand out again."""
        if self._shipped:
            self._desk.tend(seconds)

    def release(self) -> None:
        """Let the cluster go; what is under way stays open."""
        self._desk.release()

    # -- what the desk asks for ---------------------------------------------------------------------------------

    def task(self, number: int, nodes: OpenNodes, seconds: float) -> Slice:
        """Nodes with the incumbent as it is now."""
        shared, logged = self._shared, self._writer is not None
        incumbent = shared.incumbent
        return Slice(self.ground, Own(nodes.arrays()), incumbent.w, incumbent.value, shared.limits.tol, seconds, number, logged)

    def drawn(self, most: int) -> OpenNodes:
        """The least nodes of the pool, ``most`` of them; where memory is short the greatest, which is nearly depth-first."""
        drawn: list[OpenNodes] = []
        if self._parts and self._bytes() > 0.5 * self._room:
            self._parts.sort()
            *_, part, memory = self._parts.pop()
            heapq.heapify(self._parts)
            self._keep(part.chosen(slice(0, max(len(part) - most, 0))), memory)
            return part.chosen(slice(max(len(part) - most, 0), None))
        while self._parts and most > 0:
            *_, part, memory = heapq.heappop(self._parts)
            part = part.below(self._shared.cut)
            drawn.append(part.chosen(slice(0, most)))
            self._keep(part.chosen(slice(most, None)), memory)
            most -= len(drawn[-1])
        return OpenNodes.joined(drawn) if drawn else self._none

    def check(self, found: Found) -> None:
        """That it is an outcome of a slice."""
        found.check(self.ground)

    def take_in(self, number: int, found: Found) -> None:
        """The outcome of a slice: its nodes, its incumbent (valued anew), its part of the proof."""
        shared = self._shared
        if found.w is not None:
            shared.incumbent.offer(shared.reduced, found.w)
        self._unresolved = min(self._unresolved, found.unresolved)
        self._keep(found.nodes.below(shared.cut), found.nodes.nbytes)
        for name, count in found.counts.items():
            self._counts[name] = self._counts.get(name, 0) + count
        self._effort += found.effort
        if self._writer is not None:
            self._writer.merge(lines_of(found.log))
