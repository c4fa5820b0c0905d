"""The box engine: best-first search over boxes of w with pairs of points and the hinge relaxation; for few features."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from ....models.arrays import FloatArray
from ...interface.algorithm import Outcome
from ..kernels import boxes as k
from ..reduced import Reduced
from .box_pool import empty_pool, grown, plant_root
from .engine import Engine, Shared
from .ground import Ground
from .open_nodes import OpenNodes

__all__ = ["COUNTS", "Begun", "BoxEngine", "BoxLog"]

#: Bytes of open nodes beyond which the search goes on nearly depth-first, unless the user gave a limit.
MEMORY = 2e9
#: Nodes before further threads join, and nodes of each thread in a round: fixed numbers, so that runs repeat.
ALONE, ROUND = 1500, 200
#: Times by which a pool grows at most: all of it is copied, and what is not written to takes no memory yet.
GROWTH = 4
#: What is counted.
COUNTS = ("nodes", "relaxations", "newton_steps", "points")


class BoxLog(Protocol):
    """What writes down the tree that a search makes."""

    def block(self, log: FloatArray) -> None:
        """Events of the kernels."""

    def leaf(self, active: Any, tau: FloatArray, target: float) -> None:
        """Multipliers of the last node, whose points are all decided."""


@dataclass(frozen=True, eq=False)
class Begun:
    """A search that others began: its ground, nodes that are open, the least bound of leaves that nobody could settle."""

    ground: Ground
    nodes: OpenNodes
    unresolved: float = math.inf
    first_id: int = 0  #: of the nodes to come, in the proof log


class BoxEngine(Engine):
    """Branch and bound over boxes of their ``own`` coordinates; see `solvers.zero_one.kernels.boxes`, ``docs/zero-one-bb.md``.

    With several threads each has its own pool of open nodes; they work in rounds of a fixed number of nodes on the cut at the
    round's start, and their candidates are handled in order: the run does not depend on timing.
    """

    name: ClassVar[str] = "boxes"
    pace, bend = 0.4, 1.4

    def __init__(
        self, shared: Shared, threads: int = 1, log: BoxLog | None = None, begun: Begun | None = None, own: Reduced | None = None
    ) -> None:
        super().__init__(shared)
        self.ground = Ground.of(own or shared.reduced, shared.upper) if begun is None else begun.ground
        self._data = self.ground.data
        self._threads = 1 if log is not None else threads
        self._log = log
        n, p = self._data.rows.shape
        size = 0 if log is None else max(1 << 16, 48 * (n + 1) * k.ROUNDS)
        if begun is None:
            pool = empty_pool(n, p, size)
            plant_root(pool, self.ground.reduced.radius(shared.upper), self._data.weights >= shared.upper)
            pool.found[p] = shared.upper
        else:
            pool = begun.nodes.planted(n, size, shared.upper)
            pool.now.next_id = begun.first_id
        self._pools = [pool]
        self._rooms = [k.empty_room(n, p)]
        self._unresolved = math.inf if begun is None else begun.unresolved
        self._leaf_rows = self.ground.leaf_rows
        self._rate = 2000.0
        self._sample = max(4, n // 32)

    def _total(self, field: str) -> int:
        return sum(int(pool.now[field]) for pool in self._pools)

    @property
    def nodes(self) -> int:
        """Nodes processed."""
        return self._total("nodes")

    @property
    def effort(self) -> float:
        """By trial: 8 ns for each coordinate of a point in a Newton step, 0.15 ns for each of two points that may be a pair.

        Pairs of many points cost a third of that since they are in single precision; counted so, boxes get more than they are
        worth where the two engines share (300 × 7 takes 19 s in place of 15).
        """
        points = self._total("points") / max(self.nodes, 1)
        steps = 8.0 * (self._total("newton_steps") + self.nodes) * (points + 1.0)
        pairs = 0.15 * self._total("relaxations") * min(points, 2.0 * k.WIDEST) ** 2
        return (steps + pairs) * self._data.rows.shape[1]

    @property
    def open_nodes(self) -> int:
        """Nodes on the heaps and those in hand."""
        return self._total("waiting") + sum(int(pool.now.current >= 0) for pool in self._pools)

    def counts(self) -> dict[str, int]:
        """Nodes, relaxations, Newton steps, and points of all nodes."""
        return {name: self._total(name) for name in COUNTS}

    def figures(self) -> dict[str, float]:
        """Relaxations, Newton steps and points for each node."""
        return {
            "relaxations": self._total("relaxations"),
            "newton_steps": self._total("newton_steps"),
            "points_per_node": self._total("points") / max(self.nodes, 1),
        }

    @property
    def open(self) -> OpenNodes:
        """The open nodes that may hold something better than the cut."""
        return OpenNodes.joined([OpenNodes.of_pool(pool, self._shared.cut) for pool in self._pools])

    @property
    def next_id(self) -> int:
        """Number of the next node in the proof log."""
        return int(self._pools[0].now.next_id)

    @property
    def begun(self) -> Begun:
        """From where another process goes on."""
        return Begun(self.ground, self.open, self.unresolved, self.next_id)

    @property
    def unresolved(self) -> float:
        """Least bound of the leaves that could not be settled; ∞ where all could."""
        return self._unresolved

    @property
    def own_bound(self) -> float:
        """What this tree alone proves, stated (the floor may be another engine's)."""
        return min(self.ground.reduced.proved(self._bound()), self._shared.incumbent.value)

    @property
    def bound(self) -> float:
        """What this tree proves, reduced."""
        return self._bound()

    def _bound(self) -> float:
        bound = min(self._unresolved, self._shared.cut)
        for pool in self._pools:
            # In the frugal mode nodes leave from the heap's end, so its first is always the least.
            codes = [int(pool.heap[0])] if pool.now.waiting > 0 else []
            codes += [int(pool.now.current)] if pool.now.current >= 0 else []
            bound = min([bound, *(float(pool.key[code >> 1, code & 1]) for code in codes)])
        return bound

    def work(self, seconds: float) -> Outcome:
        """Explore, polish candidates, settle leaves, grow."""
        end = time.perf_counter() + seconds
        outcome = Outcome.RUNNING
        if self._threads > 1 and self.nodes >= ALONE:
            with ThreadPoolExecutor(self._threads) as executor:
                while outcome is Outcome.RUNNING and self.nodes < self.pause and time.perf_counter() < end:
                    outcome = self._round(executor)
        else:
            while outcome is Outcome.RUNNING and self.nodes < self.pause and time.perf_counter() < end:
                outcome = self._alone(end)
                if self._threads > 1 and self.nodes >= ALONE:
                    break
        return self._conclude(self._bound(), outcome)

    def _explore(self, index: int, cut: float, nodes: int) -> int:
        total = float(self._data.weights.sum())
        return int(k.explore(self._data, self._pools[index], self._rooms[index], cut, nodes, self._sample, total))

    def _alone(self, end: float) -> Outcome:
        start, before = time.perf_counter(), self.nodes
        nodes = self._allowed(max(1, min(int(self._rate * (end - start)), 100_000, self.pause - before)))
        if self._threads > 1:
            nodes = max(1, min(nodes, ALONE - before))
        code = self._explore(0, self._shared.cut, nodes)
        took = time.perf_counter() - start
        if self.nodes - before >= 20 and took > 1e-4:
            self._rate = (self.nodes - before) / took
        return self._finished([code])

    def _round(self, executor: ThreadPoolExecutor) -> Outcome:
        self._share()
        cut, indices = self._shared.cut, range(len(self._pools))
        if self._allowed(ROUND * len(indices)) < ROUND * len(indices):
            # The last nodes of a limit: one thread after the other.
            return self._finished([self._explore(i, cut, self._allowed(ROUND)) for i in indices if self._allowed(ROUND) > 0])
        return self._finished(list(executor.map(lambda index: self._explore(index, cut, ROUND), indices)))

    def _allowed(self, nodes: int) -> int:
        limit = self._shared.limits.nodes
        return nodes if limit is None else min(nodes, limit - self.nodes)

    def _share(self) -> None:
        """Give a thread without open nodes half of the fullest heap."""
        n, p = self._data.rows.shape
        while len(self._pools) < self._threads:
            pool = empty_pool(n, p, 0)
            plant_root(pool, None, None)
            pool.found[p] = self._shared.upper
            self._pools.append(pool)
            self._rooms.append(k.empty_room(n, p))
        for i, pool in enumerate(self._pools):
            rich = max(self._pools, key=lambda other: int(other.now.waiting))
            count = int(rich.now.waiting) // 2
            if pool.now.waiting > 0 or pool.now.current >= 0 or count == 0:
                continue
            need = n // k.PAGE + 2
            room = min(int(pool.now.records) - 2 * k.RESERVE, int(pool.now.pages) // need - k.RESERVE)
            if count > room and not pool.now.frugal:
                self._pools[i] = pool = grown(pool)
                room = min(int(pool.now.records) - 2 * k.RESERVE, int(pool.now.pages) // need - k.RESERVE)
            k.move(self._rooms[i].node, rich, pool, max(min(count, room), 0))

    def _finished(self, codes: list[int]) -> Outcome:
        shared, limits = self._shared, self._shared.limits
        for index, code in enumerate(codes):
            outcome = self._handle(index, code)
            if outcome is not Outcome.RUNNING:
                return outcome
        if all(code == k.DONE for code in codes) and len(codes) == len(self._pools):
            return Outcome.CONVERGED if self._unresolved >= shared.cut else Outcome.STALLED
        if limits.nodes is not None and self.nodes >= limits.nodes:
            return Outcome.NODE_LIMIT
        return Outcome.RUNNING

    def _handle(self, index: int, code: int) -> Outcome:
        shared, pool = self._shared, self._pools[index]
        p = self._data.rows.shape[1]
        if self._log is not None:
            at = int(pool.now.log_at)
            self._log.block(pool.log[:at].copy())
            pool.now.log_at = 0
        if code == k.CANDIDATE:
            own, v = self.ground.reduced, pool.found[:p].copy()
            shared.polish.improve(shared.incumbent, v if own is shared.reduced else shared.reduced.contract(own.expand(v)))
            pool.found[p] = min(pool.found[p] * (1 - 1e-9), shared.upper)
        elif code == k.LEAF:
            self._settle(pool.leaf.copy(), float(pool.found[p + 1]))
        elif code == k.GROW:
            return self._make_room(index)
        if pool.now.frugal and pool.now.records > len(pool.base) // 2:
            pool.now.frugal = 0
        return Outcome.RUNNING

    def _make_room(self, index: int) -> Outcome:
        """Grow the pool; where it may not, go on nearly depth-first in what is left."""
        pool = self._pools[index]
        now = pool.now
        need = k.RESERVE * (len(pool.leaf) // k.PAGE + 2)
        if self._log is not None and now.records >= 2 * k.RESERVE and now.pages >= need:
            return Outcome.RUNNING  # only the log was full
        limit = MEMORY if self._shared.limits.memory is None else self._shared.limits.memory
        growth = int(limit / len(self._pools) / sum(array.nbytes for array in pool))
        if growth >= 2:
            self._pools[index] = grown(pool, min(growth, GROWTH))
        elif now.frugal:
            return Outcome.MEMORY_LIMIT
        else:
            now.frugal = 1
        return Outcome.RUNNING

    def _settle(self, state: Any, bound: float) -> None:
        """A node whose points are all decided is a hard-margin problem: solve it, offer its point, prove its norm.

        Its solution w keeps every kept point, so f(w) ≤ ||w||² + Σ_{violated} λ, which is what the node's bound becomes:
        after the offer, one of the two is at the cut.
        """
        from ..kernels.conflicts import CONFLICT, active_set, empty_scratch, no_active

        shared, data = self._shared, self._data
        kept = state == k.KEPT
        w = shared.polish.solve(kept)
        if w is not None:
            shared.incumbent.offer(shared.reduced, w)
        violated = float(data.weights[state == k.VIOLATED].sum())
        target = shared.cut - violated * (1 - 1e-15 * len(state))
        if target <= 0.0:
            return
        rows, n = self._leaf_rows, len(state)
        p = rows.a.shape[1]
        active = no_active(p)
        status, _ = active_set(rows, kept, np.ones(n), target, active, empty_scratch(n, p))
        if status == CONFLICT:
            if self._log is not None:
                self._log.leaf(active, rows.tau, target)
        else:
            self._unresolved = min(self._unresolved, max(bound, violated))
