"""The conflict search on a cluster: every pass begins here, and what is then open goes to the workers in slices."""

from __future__ import annotations

import heapq
import itertools
import math
from typing import ClassVar

from ....models.arrays import FloatArray
from ...interface.algorithm import Outcome
from ...parallel.team import AsynchronousTeam
from ..engines.dive import offer_kept
from ..engines.engine import Engine, Shared
from ..engines.passes import Passes
from ..kernels import conflicts as k
from .conflict_slices import (
    ConflictFound,
    ConflictGround,
    ConflictNode,
    ConflictSlice,
    counted,
    frontier,
    least,
    search_conflicts,
)
from .desk import Desk

__all__ = ["ConflictTeamEngine"]

#: Effort (about nanoseconds) of a pass in this process before any node is handed out: short passes need nobody else.
HEAD = 1e8


class ConflictTeamEngine(Engine):
    """Search on norm-conflicts by a team; see `engines.conflicts.ConflictEngine` for the passes.

    At any time every solution below the pass's cut lies in a node of the pool, of the search here, or of a slice under way (as it
    was handed out), so that the least of their bounds is one.

    Parameters
    ----------
    shared : Shared
    order : ndarray (m,)
        Hinge violation of every point: the worst are deleted first.
    team : AsynchronousTeam
    """

    name: ClassVar[str] = "conflicts"

    def __init__(self, shared: Shared, order: FloatArray, team: AsynchronousTeam) -> None:
        super().__init__(shared)
        self.ground = ConflictGround.of(shared.reduced, shared.upper, order)
        self._dive = self.ground.dive()
        self._desk = Desk(team, self, search_conflicts)
        self._heap: list[tuple[float, int, ConflictNode]] = []
        self._order = itertools.count()
        self._counts: dict[str, int] = {}
        self._effort = 0.0
        self._unresolved = math.inf
        self._passes = Passes(shared.cut)
        self._plant()

    def _plant(self) -> None:
        """A pass begins at the root."""
        shared, weights = self._shared, self.ground.weights
        state = self._dive.stack.state
        state[:] = k.FREE
        state[weights >= self.ground.upper] = k.KEPT
        self._dive.plant(state.copy(), 0.0, 0.0, shared.upper)
        self._dive.stack.unresolved[0] = self._unresolved = math.inf
        self._head = self._dive.effort + HEAD

    # -- what is known ------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> int:
        """Of slices that have come back, and of this process."""
        return self._dive.nodes + self._counts.get("nodes", 0)

    @property
    def effort(self) -> float:
        """Work of all."""
        return self._dive.effort + self._effort

    @property
    def open_nodes(self) -> int:
        """In the pool and under way; a search here as one."""
        return self.waiting + sum(len(nodes) for nodes in self._desk.flying.values()) + int(self._dive.running)

    @property
    def waiting(self) -> int:
        """In the pool."""
        return len(self._heap)

    @property
    def _cut(self) -> float:
        return min(self._shared.cut, self._passes.target)

    def _left(self) -> float:
        return min(self._unresolved, float(self._dive.stack.unresolved[0]))

    def _bound(self) -> float:
        flying = [least(nodes) for nodes in self._desk.flying.values()]
        return min([self._left(), self._cut, self._dive.bound(), *flying, *(node[0] for node in self._heap[:1])])

    def figures(self) -> dict[str, float]:
        """Counts of all, and what the desk counted."""
        counts = {name: value + self._counts.get(name, 0) for name, value in counted(self._dive).items() if name != "nodes"}
        return {**counts, **self._desk.figures()}

    # -- driving ------------------------------------------------------------------------------------------------

    @property
    def rested(self) -> bool:
        """There are no stretches: what arrives when is the cluster's business."""
        return True

    def begin_stretch(self) -> None:
        """Nothing is to be allowed."""

    def work(self, seconds: float) -> Outcome:
        """The beginning of a pass here, or handing out and taking in for about ``seconds``."""
        outcome = Outcome.RUNNING
        if self._dive.running:
            self._begin()
        elif self._heap or self._desk.flying:
            self._desk.tend(seconds)
        else:
            outcome = self._over()
        limit = self._shared.limits.nodes
        if outcome is Outcome.RUNNING and limit is not None and self.nodes >= limit:
            outcome = Outcome.NODE_LIMIT
        return self._conclude(self._bound(), outcome)

    def _begin(self) -> None:
        if self._dive.run(self._cut, self.ground.few) == k.CANDIDATE:
            offer_kept(self._shared, self._dive)
        if self._dive.effort >= self._head:
            for node in frontier(self._dive):
                self._push(node)

    def _push(self, node: ConflictNode) -> None:
        if node[0] < self._cut:
            heapq.heappush(self._heap, (node[0], next(self._order), node))

    def _over(self) -> Outcome:
        """Nothing is left of the pass: the next one, unless it was the last."""
        cut, left = self._shared.cut, self._left()
        if self._cut >= cut:
            return Outcome.CONVERGED if left >= cut else Outcome.STALLED
        self._improve_bound(self._bound())
        self._passes.advance(self.nodes, cut, left >= self._passes.target)
        self._plant()
        return Outcome.RUNNING

    def tend(self) -> None:
        """Hand out and take in, without waiting."""
        if not self._dive.running:
            self._desk.tend(0.0)

    def release(self) -> None:
        """Let the cluster go."""
        self._desk.release()

    # -- what the desk asks for ---------------------------------------------------------------------------------

    def drawn(self, most: int) -> list[ConflictNode]:
        """The least nodes of the pool."""
        drawn: list[ConflictNode] = []
        while self._heap and len(drawn) < most:
            node = heapq.heappop(self._heap)[2]
            if node[0] < self._cut:
                drawn.append(node)
        return drawn

    def task(self, number: int, nodes: list[ConflictNode], seconds: float) -> ConflictSlice:
        """Nodes with the incumbent as it is now."""
        shared = self._shared
        best = shared.incumbent
        return ConflictSlice(self.ground, nodes, best.w, best.value, self._passes.target, shared.limits.tol, seconds)

    def check(self, found: ConflictFound) -> None:
        """That it is an outcome of a slice."""
        found.check(self.ground)

    def take_in(self, number: int, found: ConflictFound) -> None:
        """Its open nodes, its incumbent (valued anew), its counts."""
        shared = self._shared
        if found.w is not None:
            shared.incumbent.offer(shared.reduced, found.w)
        self._unresolved = min(self._unresolved, found.unresolved)
        for node in found.nodes:
            self._push(node)
        for name, count in found.counts.items():
            self._counts[name] = self._counts.get(name, 0) + count
        self._effort += found.effort
