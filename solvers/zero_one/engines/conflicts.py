"""The conflict engine: search on sets of points that cannot all be kept at the norm that is left; for more features."""

from __future__ import annotations

import heapq
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np

from ....models.arrays import FloatArray
from ...interface.algorithm import Outcome
from ..incumbent import penalised_rows, stretched_rows
from ..kernels import conflicts as k
from .dive import Dive, offer_kept
from .engine import Engine, Pace, Shared
from .passes import Passes

__all__ = ["ConflictEngine"]

#: Nodes of each search in a round, at most, and for points times coordinates together: a round ends within some 50 ms.
ROUND, _ROUND_WORK = 100, 1_250_000


class ConflictEngine(Engine):
    """Search on norm-conflicts; see `solvers.zero_one.kernels.conflicts` and ``docs/zero-one-bb.md``.

    In passes of growing targets: a pass looks for solutions below its target L, finds none, and so proves the bound L. It takes
    a small part of the time that the next one takes, and the last one has the incumbent's value for its target. Within a pass
    one thread goes depth-first; several share a heap of nodes, each searched depth-first for a number of nodes that grows with
    the heap, what remains then goes back to the heap.
    """

    name: ClassVar[str] = "conflicts"
    pace: ClassVar[float] = 1.0

    def __init__(self, shared: Shared, order: FloatArray, threads: int = 1) -> None:
        super().__init__(shared)
        tau = shared.reduced.thresholds(shared.upper)
        rows, exact = stretched_rows(shared.reduced, tau, shared.upper), penalised_rows(shared.reduced, tau)
        weights = np.minimum(shared.reduced.weights, shared.upper)
        self._dives = [Dive(rows, exact, weights, order) for _ in range(threads)]
        self._left = [0] * threads
        self._heap: list[tuple[float, int, float, bytes]] = []
        self._count = 0
        self._root = np.full(len(weights), k.FREE, dtype=np.int8)
        self._root[weights >= shared.upper] = k.KEPT
        self._passes = Passes(shared.cut)
        self._pace = Pace.guessed(shared.limits, rows.a.size)
        self._push(0.0, 0.0, self._root)

    def _push(self, bound: float, extra: float, state: Any) -> None:
        self._count += 1
        heapq.heappush(self._heap, (bound, self._count, extra, state.tobytes()))

    @property
    def nodes(self) -> int:
        """Nodes processed."""
        return sum(dive.nodes for dive in self._dives)

    @property
    def effort(self) -> float:
        """Of all dives."""
        return sum(dive.effort for dive in self._dives)

    @property
    def forecast(self) -> float:
        """As the passes grow, at the effort of a node so far: within a pass the bound stands still and says nothing."""
        return self._passes.forecast(self.nodes, self._shared.cut) * self.spent / max(self.nodes, 1)

    @property
    def open_nodes(self) -> int:
        """Nodes on the heap, and each search in hand as one."""
        return len(self._heap) + sum(dive.running for dive in self._dives)

    def figures(self) -> dict[str, float]:
        """Hard-margin problems solved, conflicts found, deletions forced, children looked at before a node branched."""
        names = {"hard_margin_solves": "solves", "conflicts": "conflicts", "forced_deletions": "forced", "probes": "probes"}
        return {name: sum(int(dive.stack.now[at]) for dive in self._dives) for name, at in names.items()}

    def _unresolved(self) -> float:
        return min(float(dive.stack.unresolved[0]) for dive in self._dives)

    @property
    def _cut(self) -> float:
        """What the pass has to beat."""
        return min(self._shared.cut, self._passes.target)

    def _bound(self) -> float:
        bound = min([self._unresolved(), self._cut, *(dive.bound() for dive in self._dives)])
        return min(bound, self._heap[0][0]) if self._heap else bound

    def work(self, seconds: float) -> Outcome:
        """Search for about ``seconds``."""
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
        return self._judged(self._bound(), outcome)

    def _round(self, executor: ThreadPoolExecutor) -> Outcome:
        """A fixed number of nodes of every dive; what they found is handled in order, so that runs repeat."""
        shared = self._shared
        cut = self._cut
        for i in range(len(self._dives)):
            if not self._dives[i].running:
                self._next(i, cut)
        running = [i for i, dive in enumerate(self._dives) if dive.running]
        if not running:
            if cut < shared.cut:
                self._next_pass()
                return Outcome.RUNNING
            return Outcome.CONVERGED if self._unresolved() >= cut else Outcome.STALLED
        before, begun = [dive.nodes for dive in self._dives], time.perf_counter()
        allowed = self._allowance(len(running))
        if len(running) == 1:
            codes = [self._dives[i].run(cut, min(self._left[i], allowed)) for i in running]
        else:
            codes = list(executor.map(lambda i: self._dives[i].run(cut, min(self._left[i], allowed)), running))
        self._pace.took(begun, max(self._dives[i].nodes - before[i] for i in running))
        for i, code in zip(running, codes, strict=True):
            dive = self._dives[i]
            self._left[i] -= dive.nodes - before[i]
            if code == k.CANDIDATE:
                offer_kept(shared, dive)
            elif code == k.BUDGET and self._left[i] <= 0:
                for bound, extra, state in dive.frontier():
                    if bound < cut:
                        self._push(bound, extra, state)
        return Outcome.RUNNING

    def _next_pass(self) -> None:
        """Note what the pass proved, and begin again at the root with the next target."""
        self._raise_floor(self._bound())
        self._passes.advance(self.nodes, self._shared.cut, self._unresolved() >= self._passes.target)
        for dive in self._dives:
            dive.stack.unresolved[0] = np.inf
        self._push(0.0, 0.0, self._root)

    def _next(self, i: int, cut: float) -> None:
        """Begin the next search, or forget the heap where nothing on it is of interest."""
        if not self._heap or self._heap[0][0] >= cut:
            self._heap.clear()
            return
        bound, _, extra, state = heapq.heappop(self._heap)
        self._dives[i].plant(np.frombuffer(state, dtype=np.int8), extra, bound, self._shared.upper)
        few = 2**62 if len(self._dives) == 1 else 100
        self._left[i] = few if len(self._heap) < 1000 else 1000 if len(self._heap) < 10_000 else 1_000_000

    def _allowance(self, running: int) -> int:
        """Nodes of each search in the next round: fewer where the time limit would pass meanwhile."""
        limit = self._shared.limits.nodes
        most = self._pace.nodes(max(min(ROUND, _ROUND_WORK // self._dives[0].rows.a.size), 1))
        return most if limit is None else max(min(most, (limit - self.nodes) // running), 1)
