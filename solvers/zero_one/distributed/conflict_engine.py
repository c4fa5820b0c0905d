"""The distributed conflict search: each pass begins in this process, and its open nodes go to workers as subproblems."""

from __future__ import annotations

import heapq
import itertools
import math
from typing import ClassVar

from ....models.arrays import FloatArray
from ...interface.algorithm import Outcome
from ...parallel.executor import AsynchronousExecutor
from ..engines.dive import offer_kept
from ..engines.engine import Engine, SharedState
from ..engines.passes import Passes
from ..loops import conflicts as k
from .conflict_subproblems import (
    ConflictNode,
    ConflictSearchData,
    ConflictSubproblem,
    ConflictSubproblemResult,
    counted,
    frontier,
    least,
    search_conflicts,
)
from .dispatcher import Dispatcher

__all__ = ["ConflictTeamEngine"]

#: Effort (about nanoseconds) of a pass in this process before its nodes are dispatched, so that short passes stay local.
HEAD = 1e8


class ConflictTeamEngine(Engine):
    """Branch and bound on norm-conflicts by a team of workers; see `engines.conflicts.ConflictEngine` for the passes.

    At any time every solution below the cutoff of the pass lies in a node of the pool, of the local search, or of a subproblem in
    progress (as dispatched). So the least of their bounds is a lower bound.

    Parameters
    ----------
    shared : Shared
    order : ndarray (m,)
        Hinge violation of every point: points with the largest violation are deleted first.
    team : AsynchronousTeam
    """

    name: ClassVar[str] = "conflicts"

    def __init__(self, shared: SharedState, order: FloatArray, team: AsynchronousExecutor) -> None:
        super().__init__(shared)
        self.ground = ConflictSearchData.of(shared.reduced, shared.upper, order)
        self._dive = self.ground.dive()
        self._dispatcher = Dispatcher(team, self, search_conflicts)
        self._heap: list[tuple[float, int, ConflictNode]] = []
        self._sequence = itertools.count()
        self._counts: dict[str, int] = {}
        self._effort = 0.0
        self._unresolved_bound = math.inf
        self._passes = Passes(shared.cut)
        self._start_pass()

    def _start_pass(self) -> None:
        """Start a pass at the root."""
        shared, weights = self._shared, self.ground.weights
        state = self._dive.stack.state
        state[:] = k.FREE
        state[weights >= self.ground.upper] = k.KEPT
        self._dive.plant(state.copy(), 0.0, 0.0, shared.upper)
        self._dive.stack.unresolved[0] = self._unresolved_bound = math.inf
        self._dispatch_effort = self._dive.effort + HEAD

    # -- state --------------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> int:
        """Number of nodes of this process and of finished subproblems."""
        return self._dive.nodes + self._counts.get("nodes", 0)

    @property
    def effort(self) -> float:
        """Counted work of this process and of finished subproblems."""
        return self._dive.effort + self._effort

    @property
    def open_nodes(self) -> int:
        """Number of nodes in the pool and in subproblems, plus one for a local search in progress."""
        return self.waiting + sum(len(nodes) for nodes in self._dispatcher.flying.values()) + int(self._dive.running)

    @property
    def waiting(self) -> int:
        """Number of nodes in the pool."""
        return len(self._heap)

    @property
    def _cutoff(self) -> float:
        return min(self._shared.cut, self._passes.target)

    def _least_unresolved_bound(self) -> float:
        return min(self._unresolved_bound, float(self._dive.stack.unresolved[0]))

    def _bound(self) -> float:
        dispatched = [least(nodes) for nodes in self._dispatcher.flying.values()]
        return min(
            [self._least_unresolved_bound(), self._cutoff, self._dive.bound(), *dispatched, *(node[0] for node in self._heap[:1])]
        )

    def figures(self) -> dict[str, float]:
        """Return the counts of all searches and of the dispatcher."""
        counts = {name: value + self._counts.get(name, 0) for name, value in counted(self._dive).items() if name != "nodes"}
        return {**counts, **self._dispatcher.figures()}

    # -- control ------------------------------------------------------------------------------------------------

    @property
    def at_checkpoint(self) -> bool:
        """Always true: there are no slices, since the order of the results depends on the cluster."""
        return True

    def begin_stretch(self) -> None:
        """Do nothing: a distributed search has no slices."""

    def work(self, seconds: float) -> Outcome:
        """Start a pass in this process, or exchange subproblems and results for about ``seconds``."""
        outcome = Outcome.RUNNING
        if self._dive.running:
            self._search_locally()
        elif self._heap or self._dispatcher.flying:
            self._dispatcher.tend(seconds)
        else:
            outcome = self._finish_pass()
        limit = self._shared.limits.nodes
        if outcome is Outcome.RUNNING and limit is not None and self.nodes >= limit:
            outcome = Outcome.NODE_LIMIT
        return self._conclude(self._bound(), outcome)

    def _search_locally(self) -> None:
        if self._dive.run(self._cutoff, self.ground.few) == k.CANDIDATE:
            offer_kept(self._shared, self._dive)
        if self._dive.effort >= self._dispatch_effort:
            for node in frontier(self._dive):
                self._push(node)

    def _push(self, node: ConflictNode) -> None:
        if node[0] < self._cutoff:
            heapq.heappush(self._heap, (node[0], next(self._sequence), node))

    def _finish_pass(self) -> Outcome:
        """Start the next pass, or conclude after the last one."""
        cutoff, unresolved_bound = self._shared.cut, self._least_unresolved_bound()
        if self._cutoff >= cutoff:
            return Outcome.CONVERGED if unresolved_bound >= cutoff else Outcome.STALLED
        self._improve_bound(self._bound())
        self._passes.advance(self.nodes, cutoff, unresolved_bound >= self._passes.target)
        self._start_pass()
        return Outcome.RUNNING

    def tend(self) -> None:
        """Exchange subproblems and results, without waiting."""
        if not self._dive.running:
            self._dispatcher.tend(0.0)

    def release(self) -> None:
        """Release the cluster."""
        self._dispatcher.release()

    # -- the dispatcher's pool ----------------------------------------------------------------------------------

    def drawn(self, most: int) -> list[ConflictNode]:
        """Remove at most ``most`` nodes with the least bounds from the pool and return them."""
        nodes: list[ConflictNode] = []
        while self._heap and len(nodes) < most:
            node = heapq.heappop(self._heap)[2]
            if node[0] < self._cutoff:
                nodes.append(node)
        return nodes

    def task(self, number: int, nodes: list[ConflictNode], seconds: float) -> ConflictSubproblem:
        """Return the subproblem of these nodes, with the current incumbent."""
        shared = self._shared
        incumbent = shared.incumbent
        return ConflictSubproblem(
            self.ground, nodes, incumbent.w, incumbent.value, self._passes.target, shared.limits.tol, seconds
        )

    def check(self, found: ConflictSubproblemResult) -> None:
        """Raise an error of malformed data unless ``found`` is a valid result."""
        found.check(self.ground)

    def take_in(self, number: int, found: ConflictSubproblemResult) -> None:
        """Add a result: its open nodes, its incumbent with a recomputed value, its counts."""
        shared = self._shared
        if found.w is not None:
            shared.incumbent.offer(shared.reduced, found.w)
        self._unresolved_bound = min(self._unresolved_bound, found.unresolved)
        for node in found.nodes:
            self._push(node)
        for name, count in found.counts.items():
            self._counts[name] = self._counts.get(name, 0) + count
        self._effort += found.effort
