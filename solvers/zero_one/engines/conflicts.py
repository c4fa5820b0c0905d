"""The conflict engine: search on sets of points that cannot all be kept at the norm that is left; for more features."""

from __future__ import annotations

import heapq
import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np

from ....models.arrays import FloatArray
from ...interface.algorithm import Outcome
from ..incumbent import penalised_rows, stretched_rows
from ..kernels import conflicts as k
from .engine import Engine, Shared

__all__ = ["ConflictEngine", "Dive", "LargeNeighbourhood"]

#: Nodes of each search in a round.
ROUND = 100
#: Share of the incumbent's value that the first pass proves or refutes, and the step of the passes while they are short.
FIRST, STEP = 0.5, 0.1
#: A pass of fewer nodes says nothing about how fast the next ones grow.
SHORT_PASS = 200
#: How much larger than the last pass the next one should be; the last of all may be twice that.
GROWTH = 6.0
#: Points in the lists of conflicts of all levels, at most; what finds no room is searched for again.
LISTED = 4_000_000


class Dive:
    """One depth-first search below a node, in arrays that are used again for the next one."""

    def __init__(self, rows: k.Rows, exact: k.Rows, weights: FloatArray, order: FloatArray) -> None:
        self.rows, self.exact, self.weights, self.order = rows, exact, weights, order
        n, p = rows.a.shape
        levels = n + 3
        room = max(min(levels * n, LISTED // (2 * p + 6)), 1)
        i64, f64 = np.int64, np.float64
        self.stack = k.Stack(
            state=np.full(n, k.FREE, np.int8), point=np.zeros(levels, i64), at=np.full(levels, -1, i64),
            extra=np.zeros(levels, f64), bound=np.zeros(levels, f64), trail=np.zeros(n + 1, i64),
            trail_from=np.zeros(levels, i64), pair=np.zeros((levels, p + 2, 2), i64), g=np.zeros((levels, p + 2, p), f64),
            u=np.zeros((levels, p + 2), f64), w=np.zeros((levels, p), f64), count=np.zeros(levels, i64),
            activity=np.zeros(n, f64), control=np.zeros(7, i64), found=np.zeros(1, f64), unresolved=np.full(1, np.inf),
            listed=np.zeros((room, 2 * p + 6), np.int32), size=np.zeros(room, np.int32), norm=np.zeros(room, f64),
            end=np.zeros(levels + 1, i64),
        )  # fmt: skip
        self.stack.control[k.LEVEL] = -1

    @property
    def running(self) -> bool:
        """Whether there is a search to resume."""
        return bool(self.stack.control[k.LEVEL] >= 0)

    @property
    def nodes(self) -> int:
        """Nodes of all searches."""
        return int(self.stack.control[k.NODES])

    def plant(self, state: Any, extra: float, bound: float, upper: float) -> None:
        """Begin below a node; candidates are wanted below ``upper``."""
        stack = self.stack
        stack.state[:] = state
        stack.extra[0], stack.bound[0], stack.at[0], stack.count[0] = extra, bound, -1, 0
        stack.w[0] = 0.0
        stack.control[[k.LEVEL, k.EXPAND, k.TRAIL]] = 0, 1, 0
        stack.found[-1] = upper

    def run(self, cut: float, nodes: int) -> int:
        """Search on; see `conflict_kernels.search`."""
        return int(k.search(self.rows, self.exact, self.weights, self.order, self.stack, cut, nodes))

    def bound(self) -> float:
        """Least bound of the nodes that remain: that of the highest level with a child to come."""
        level = int(self.stack.control[k.LEVEL])
        return float(self.stack.bound[: level + 1].min()) if level >= 0 else math.inf

    def frontier(self) -> list[tuple[float, float, Any]]:
        """The open nodes, (bound, extra, states) each; the search is over afterwards."""
        stack, found = self.stack, []
        level = int(stack.control[k.LEVEL])
        state = stack.state.copy()
        trail = int(stack.control[k.TRAIL])
        if stack.control[k.EXPAND]:
            found.append((float(stack.bound[level]), float(stack.extra[level]), state.copy()))
            trail = self._undo(state, level, trail)
            level -= 1
        while level >= 0:
            point = int(stack.point[level])
            if stack.at[level] == 0:
                state[point] = k.KEPT
                found.append((float(stack.bound[level]), float(stack.extra[level]), state.copy()))
            state[point] = k.FREE
            trail = self._undo(state, level, trail)
            level -= 1
        stack.control[k.LEVEL] = -1
        return found

    def _undo(self, state: Any, level: int, trail: int) -> int:
        start = int(self.stack.trail_from[level])
        state[self.stack.trail[start:trail]] = k.FREE
        return start


class LargeNeighbourhood:
    """Incumbents by fixing most of the best solution at random and searching the rest for at most 1,500 nodes."""

    NODES = 1500

    def __init__(self, shared: Shared, rng: np.random.Generator, order: FloatArray) -> None:
        self._shared, self._rng = shared, rng
        rows = stretched_rows(shared.reduced, np.ones(len(order)), shared.upper)
        self._dive = Dive(rows, shared.polish.rows, shared.reduced.weights, order)
        self.failures = 0
        self.rounds = 0

    def round(self, nodes: int) -> None:
        """One neighbourhood, searched for at most ``nodes`` nodes."""
        shared, dive = self._shared, self._dive
        self._plant()
        end = dive.nodes + nodes
        while dive.running and dive.nodes < end:
            before = dive.nodes
            code = dive.run(shared.upper * (1 - 1e-7), end - before)
            if code == k.CANDIDATE and offer_kept(shared, dive):
                self.failures = 0
            if dive.nodes == before:
                return

    def _plant(self) -> None:
        shared, rng = self._shared, self._rng
        reduced = shared.reduced
        margins = reduced.rows @ reduced.contract(shared.incumbent.w)
        violated = margins < 1 - 1e-7
        keep, drop = rng.uniform(0.3, 0.9), rng.uniform(0.2, 0.9)
        draw = rng.random(len(margins))
        state = np.full(len(margins), k.FREE, dtype=np.int8)
        state[violated & (draw < drop)] = k.DELETED
        state[~violated & (draw < keep) & (margins > 1.0001)] = k.KEPT
        self.failures += 1
        self.rounds += 1
        self._dive.plant(state, 0.0, 0.0, shared.upper)


def offer_kept(shared: Shared, dive: Dive) -> bool:
    """Polish the candidate that a search found: the least norm that keeps everything it did not delete."""
    w = shared.polish.solve(dive.stack.state != k.DELETED)
    found = w is not None and shared.incumbent.offer(shared.reduced, w)
    dive.stack.found[-1] = min(float(dive.stack.found[-1]), shared.upper)
    return found


class ConflictEngine(Engine):
    """Search on norm-conflicts; see `solvers.zero_one.kernels.conflicts` and ``docs/zero-one-bb.md``.

    In passes of growing targets: a pass looks for solutions below its target L, finds none, and so proves the bound L. It takes
    a small part of the time that the next one takes, and the last one has the incumbent's value for its target. Within a pass
    one thread goes depth-first; several share a heap of nodes, each searched depth-first for a number of nodes that grows with
    the heap, what remains then goes back to the heap.
    """

    name: ClassVar[str] = "conflicts"

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
        self._passes: list[tuple[float, int]] = []
        self._target, self._before = FIRST * shared.cut, 0
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
        """4 ns for each coordinate of a point in a hard-margin problem, by trial."""
        solves = sum(int(dive.stack.control[k.SOLVES]) for dive in self._dives)
        return 4.0 * (solves + self.nodes) * self._dives[0].rows.a.size

    @property
    def open_nodes(self) -> int:
        """Nodes on the heap, and each search in hand as one."""
        return len(self._heap) + sum(dive.running for dive in self._dives)

    def figures(self) -> dict[str, float]:
        """Hard-margin problems solved, conflicts found, deletions forced."""
        names = {"hard_margin_solves": k.SOLVES, "conflicts": k.CONFLICTS, "forced_deletions": k.FORCED}
        return {name: sum(int(dive.stack.control[at]) for dive in self._dives) for name, at in names.items()}

    def _unresolved(self) -> float:
        return min(float(dive.stack.unresolved[0]) for dive in self._dives)

    @property
    def _cut(self) -> float:
        """What the pass has to beat."""
        return min(self._shared.cut, self._target)

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
        before = [dive.nodes for dive in self._dives]
        allowed = self._allowance(len(running))
        if len(running) == 1:
            codes = [self._dives[i].run(cut, min(self._left[i], allowed)) for i in running]
        else:
            codes = list(executor.map(lambda i: self._dives[i].run(cut, min(self._left[i], allowed)), running))
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
        """Note what the pass proved, and begin again at the root with a target for about `GROWTH` times its nodes."""
        shared = self._shared
        shared.raise_floor(self._bound())
        cut = shared.cut
        nodes = self.nodes - self._before
        self._passes.append((self._target, nodes))
        self._before = self.nodes
        if self._unresolved() < self._target:
            self._target = cut
        elif nodes < SHORT_PASS or len(self._passes) < 2:
            self._target += STEP * cut
        else:
            (low, few), (high, many) = self._passes[-2:]
            step = (high - low) / max(math.log(many / few), 0.1) * math.log(GROWTH)
            self._target += min(step, STEP * cut)
            if self._target + 0.5 * step >= cut:
                self._target = cut
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
        limit = self._shared.limits.nodes
        return ROUND if limit is None else max(min(ROUND, (limit - self.nodes) // running), 1)
