"""The conflict engine: branch and bound on norm-conflicts, sets of points that no w below the cutoff keeps; for many features."""

from __future__ import annotations

import heapq
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np

from ....models.arrays import FloatArray
from ...interface.algorithm import Outcome
from ..incumbent import penalised_rows, stretched_rows
from ..loops import conflicts as k
from .dive import Dive, offer_kept
from .engine import Engine, NodeRate, SharedState
from .passes import Passes

__all__ = ["ConflictEngine"]

#: Limits of a round for each search: nodes, and nodes × points × coordinates, so that a round is short.
ROUND, _ROUND_WORK = 100, 1_250_000


class ConflictEngine(Engine):
    """Branch and bound on norm-conflicts; see `solvers.zero_one.loops.conflicts` and ``docs/zero-one-bb.md``.

    The search runs in passes of growing targets. A pass searches for solutions below its target L, finds none, and so proves
    the bound L. Each pass costs a small share of the next one, and the last target is the cutoff. Within a pass one thread
    searches depth-first. Several threads share a heap of nodes. Each node is searched depth-first for a number of nodes that
    grows with the heap, and the nodes left open return to the heap.
    """

    name: ClassVar[str] = "conflicts"
    pace: ClassVar[float] = 1.0

    def __init__(self, shared: SharedState, order: FloatArray, threads: int = 1) -> None:
        super().__init__(shared)
        tau = shared.reduced.thresholds(shared.upper)
        rows, exact = stretched_rows(shared.reduced, tau, shared.upper), penalised_rows(shared.reduced, tau)
        weights = np.minimum(shared.reduced.weights, shared.upper)
        self._dives = [Dive(rows, exact, weights, order) for _ in range(threads)]
        self._remaining = [0] * threads
        self._heap: list[tuple[float, int, float, bytes]] = []
        self._pushes = 0
        self._root = np.full(len(weights), k.FREE, dtype=np.int8)
        self._root[weights >= shared.upper] = k.KEPT
        self._passes = Passes(shared.cut)
        self._pace = NodeRate.guessed(shared.limits, rows.a.size)
        self._push(0.0, 0.0, self._root)

    def _push(self, bound: float, extra: float, state: Any) -> None:
        self._pushes += 1
        heapq.heappush(self._heap, (bound, self._pushes, extra, state.tobytes()))

    @property
    def nodes(self) -> int:
        """Number of processed nodes."""
        return sum(dive.nodes for dive in self._dives)

    @property
    def effort(self) -> float:
        """Counted work of all searches."""
        return sum(dive.effort for dive in self._dives)

    @property
    def forecast(self) -> float:
        """Total effort that closes the gap, from the growth of the passes; the bound is constant within a pass."""
        return self._passes.forecast(self.nodes, self._shared.cut) * self.spent / max(self.nodes, 1)

    @property
    def open_nodes(self) -> int:
        """Number of nodes on the heap, plus one for each search in progress."""
        return len(self._heap) + sum(dive.running for dive in self._dives)

    def figures(self) -> dict[str, float]:
        """Return the counts of hard-margin solves, conflicts, forced deletions and probed children."""
        names = {"hard_margin_solves": "solves", "conflicts": "conflicts", "forced_deletions": "forced", "probes": "probes"}
        return {name: sum(int(dive.stack.now[field]) for dive in self._dives) for name, field in names.items()}

    def _unresolved_bound(self) -> float:
        return min(float(dive.stack.unresolved[0]) for dive in self._dives)

    @property
    def _cutoff(self) -> float:
        """The smaller of the global cutoff and the target of the pass."""
        return min(self._shared.cut, self._passes.target)

    def _bound(self) -> float:
        bound = min([self._unresolved_bound(), self._cutoff, *(dive.bound() for dive in self._dives)])
        return min(bound, self._heap[0][0]) if self._heap else bound

    def work(self, seconds: float) -> Outcome:
        """Search for about ``seconds`` and return the outcome."""
        shared, limits = self._shared, self._shared.limits
        end = time.perf_counter() + seconds
        outcome = Outcome.RUNNING
        with ThreadPoolExecutor(len(self._dives)) as executor:
            while outcome is Outcome.RUNNING and self.nodes < self.pause and time.perf_counter() < end:
                if self._pace.late:
                    outcome = Outcome.TIME_LIMIT
                    break
                outcome = self._round(executor)
                memory = len(self._heap) * (len(shared.reduced.weights) + 200)
                if outcome is Outcome.RUNNING and limits.nodes is not None and self.nodes >= limits.nodes:
                    outcome = Outcome.NODE_LIMIT
                elif outcome is Outcome.RUNNING and limits.memory is not None and memory > limits.memory:
                    outcome = Outcome.MEMORY_LIMIT
        return self._conclude(self._bound(), outcome)

    def _round(self, executor: ThreadPoolExecutor) -> Outcome:
        """Run a fixed number of nodes of every search and handle their candidates in order, so that runs repeat."""
        shared = self._shared
        cutoff = self._cutoff
        for i in range(len(self._dives)):
            if not self._dives[i].running:
                self._start_dive(i, cutoff)
        running = [i for i, dive in enumerate(self._dives) if dive.running]
        if not running:
            if cutoff < shared.cut:
                self._next_pass()
                return Outcome.RUNNING
            return Outcome.CONVERGED if self._unresolved_bound() >= cutoff else Outcome.STALLED
        node_counts, start = [dive.nodes for dive in self._dives], time.perf_counter()
        allowance = self._node_allowance(len(running))
        if len(running) == 1:
            codes = [self._dives[i].run(cutoff, min(self._remaining[i], allowance)) for i in running]
        else:
            codes = list(executor.map(lambda i: self._dives[i].run(cutoff, min(self._remaining[i], allowance)), running))
        self._pace.took(start, max(self._dives[i].nodes - node_counts[i] for i in running))
        for i, code in zip(running, codes, strict=True):
            dive = self._dives[i]
            self._remaining[i] -= dive.nodes - node_counts[i]
            if code == k.CANDIDATE:
                offer_kept(shared, dive)
            elif code == k.BUDGET and self._remaining[i] <= 0:
                for bound, extra, state in dive.frontier():
                    if bound < cutoff:
                        self._push(bound, extra, state)
        return Outcome.RUNNING

    def _next_pass(self) -> None:
        """Record the bound of the finished pass and restart at the root with the next target."""
        self._improve_bound(self._bound())
        self._passes.advance(self.nodes, self._shared.cut, self._unresolved_bound() >= self._passes.target)
        for dive in self._dives:
            dive.stack.unresolved[0] = np.inf
        self._push(0.0, 0.0, self._root)

    def _start_dive(self, i: int, cut: float) -> None:
        """Start search ``i`` at the best node of the heap, or clear a heap without nodes below the cutoff."""
        if not self._heap or self._heap[0][0] >= cut:
            self._heap.clear()
            return
        bound, _, extra, state = heapq.heappop(self._heap)
        self._dives[i].plant(np.frombuffer(state, dtype=np.int8), extra, bound, self._shared.upper)
        node_limit = 2**62 if len(self._dives) == 1 else 100
        self._remaining[i] = node_limit if len(self._heap) < 1000 else 1000 if len(self._heap) < 10_000 else 1_000_000

    def _node_allowance(self, running: int) -> int:
        """Return the number of nodes of each search in the next round, within the time and node limits."""
        limit = self._shared.limits.nodes
        allowance = self._pace.nodes(max(min(ROUND, _ROUND_WORK // self._dives[0].rows.a.size), 1))
        return allowance if limit is None else max(min(allowance, (limit - self.nodes) // running), 1)
