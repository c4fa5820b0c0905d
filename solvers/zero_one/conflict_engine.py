"""The engine of the exact 0-1 solver for many features (`box_engine`: few): depth-first branch and bound on norm-conflicts.

The problem is min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1}, in reduced coordinates (`solvers.zero_one.reduced`). A
*norm-conflict* is a set of points of which no w below the cutoff keeps all, a_i'w ≥ 1. A node has kept, free and *deleted*
points; its solutions violate the deleted ones. The search runs in *passes*: each proves a rising *target* as a lower bound or
finds a better w. The same depth-first search explores large neighbourhoods of the incumbent (some points fixed) for the primal
heuristic. A free intercept is first a *stretched* coordinate, scaled so that its square is a small part of the norm.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ...models.arrays import FloatArray
from ..exact.options import Limits
from ..interface.algorithm import Outcome
from .engine import Engine, SharedState
from .loops.conflict_records import DELETED, FREE, KEPT, ConflictRows, empty_workspace, penalised_rows, stretched_rows
from .loops.conflict_search import CANDIDATE, GAP_BINS, OUT_OF_NODES, STACK_SCALARS, SearchStack, search_depth_first
from .reduced import ReducedZeroOneProblem

#: Seconds by which a node may exceed the deadline; share of the remaining time that is planned at once.
_GRACE, _PLANNED_SHARE = 0.1, 0.25
#: Cautious estimate of the seconds of a first node, per point and coordinate.
_SECONDS_PER_ENTRY = 2e-5


@dataclass(eq=False)
class NodeRate:
    """The number of nodes that fit before the deadline, estimated from the time that the last nodes took.

    Nodes may become several times slower as the sets of points grow, so only a quarter of the remaining time is planned at once.
    """

    limits: Limits  #: the run's limits, with the deadline
    seconds: float  #: estimated seconds of one node

    @classmethod
    def initial(cls, limits: Limits, size: int) -> NodeRate:
        """Return the initial estimate for ``size`` points × coordinates."""
        return cls(limits, _SECONDS_PER_ENTRY * size)

    @property
    def is_late(self) -> bool:
        """True if one more node would end well after the deadline."""
        return time.perf_counter() + self.seconds > self.limits.deadline + _GRACE

    def next_nodes(self, limit: int) -> int:
        """Return the number of nodes to process before the next reading of the clock, between one and ``limit``."""
        if self.limits.deadline == math.inf:
            return limit
        remaining = max(self.limits.deadline - time.perf_counter(), 0.0)
        return max(min(limit, int(_PLANNED_SHARE * remaining / max(self.seconds, 1e-9))), 1)

    def update(self, begin: float, nodes: int) -> None:
        """Update the estimate after ``nodes`` nodes since the time ``begin``."""
        self.seconds = (time.perf_counter() - begin) / max(nodes, 1)


#: Largest number of nodes in a round of a depth-first search, and of nodes × points × coordinates, so that a round is short.
NODES_PER_ROUND, _WORK_PER_ROUND = 100, 1_250_000
#: Largest number of points in the conflict lists of all levels, 16 MB. A conflict that is not stored is searched for again.
LISTED_POINTS = 4_000_000
#: Names of the counters that are reported (`DepthFirstSearch.counts`), and their fields in `loops.conflict_search.STACK_SCALARS`.
COUNTERS = {
    "nodes": "nodes", "hard_margin_solves": "solves", "conflicts": "conflicts", "forced_deletions": "forced", "probes": "probes",
}  # fmt: skip
#: An open node: lower bound in reduced units, proved cost of further deletions, states of the points as bytes.
ConflictNode: TypeAlias = tuple[float, float, bytes]


class DepthFirstSearch:
    """A depth-first search below one node that can stop and resume; its arrays serve the searches of later nodes as well.

    Parameters
    ----------
    rows, exact : ConflictRows
        The points with the intercept as a stretched coordinate, and without it (pairs of points then eliminate the intercept).
    weights : ndarray (n,)
        Costs of deleting the points.
    branching_priority : ndarray (n,)
        Branching priorities of the points.

    Attributes
    ----------
    stack : SearchStack
        The state of the search.
    """

    def __init__(self, rows: ConflictRows, exact: ConflictRows, weights: FloatArray, branching_priority: FloatArray) -> None:
        self.rows, self.exact, self.weights, self.branching_priority = rows, exact, weights, branching_priority
        n, p = rows.a.shape
        levels = n + 3
        capacity = max(min(levels * n, LISTED_POINTS // (2 * p + 6)), 1)
        i64, f64 = np.int64, np.float64
        self.stack = SearchStack(
            state=np.full(n, FREE, np.int8), point=np.zeros(levels, i64), child=np.full(levels, -1, i64),
            extra=np.zeros(levels, f64), bound=np.zeros(levels, f64), trail=np.zeros(n + 1, i64),
            trail_from=np.zeros(levels, i64), pair=np.zeros((levels, p + 2, 2), i64), g=np.zeros((levels, p + 2, p), f64),
            u=np.zeros((levels, p + 2), f64), w=np.zeros((levels, p), f64), count=np.zeros(levels, i64),
            activity=np.zeros(n, f64), start_nodes=np.zeros(levels, i64), gap_bin=np.zeros(levels, i64),
            subtree_nodes=np.zeros(GAP_BINS, i64), finished_subtrees=np.zeros(GAP_BINS, i64),
            scalars=np.zeros(1, STACK_SCALARS)[0], candidate_value=np.zeros(1, f64), unresolved=np.full(1, np.inf),
            listed=np.zeros((capacity, 2 * p + 6), np.int32), size=np.zeros(capacity, np.int32), norm=np.zeros(capacity, f64),
            end=np.zeros(levels + 1, i64),
        )  # fmt: skip
        self.stack.scalars.level = -1
        self._workspace = empty_workspace(n, p, exact.a.shape[1])

    @property
    def running(self) -> bool:
        """True if a search is in progress."""
        return bool(self.stack.scalars.level >= 0)

    @property
    def nodes(self) -> int:
        """The number of nodes of all searches."""
        return int(self.stack.scalars.nodes)

    @property
    def nodes_per_round(self) -> int:
        """The number of nodes between two readings of the clock: few where points and coordinates are many."""
        return max(min(NODES_PER_ROUND, _WORK_PER_ROUND // max(self.rows.a.size, 1)), 1)

    @property
    def effort(self) -> float:
        """The counted work of all searches: 4 ns for each coordinate of a point in a hard-margin problem, as measured."""
        return 4.0 * (int(self.stack.scalars.solves) + self.nodes) * self.rows.a.size

    def start_search(self, state: Any, extra: float, bound: float, upper: float) -> None:
        """Start a search below a node, which `run` continues.

        Parameters
        ----------
        state : ndarray of int8 (n,)
            States of the points in the node.
        extra, bound : float
            Its proved cost of further deletions, and its lower bound.
        upper : float
            Value below which a solution is reported as a candidate.
        """
        stack = self.stack
        stack.state[:] = state
        stack.extra[0], stack.bound[0], stack.child[0], stack.count[0] = extra, bound, -1, 0
        stack.w[0] = 0.0
        stack.scalars.level, stack.scalars.expand, stack.scalars.trailed = 0, 1, 0
        stack.candidate_value[-1] = upper

    def run(self, cut: float, nodes: int) -> int:
        """Continue for at most ``nodes`` nodes; return why it stopped: OUT_OF_NODES, DONE or CANDIDATE (`search_depth_first`)."""
        return int(
            search_depth_first(
                self.rows, self.exact, self.weights, self.branching_priority, self.stack, self._workspace, cut, nodes
            )
        )

    def bound(self) -> float:
        """Return the least lower bound of the open nodes, in reduced units; ∞ without open nodes."""
        level = int(self.stack.scalars.level)
        return float(self.stack.bound[: level + 1].min()) if level >= 0 else math.inf

    def counts(self) -> dict[str, int]:
        """Return the counts of nodes, of least-norm problems solved, of conflicts found, of deletions of a conflict's only free
        point, and of children processed for strong branching, by the names in `COUNTERS`.
        """
        return {name: int(self.stack.scalars[field]) for name, field in COUNTERS.items()}

    def take_open_nodes(self) -> list[ConflictNode]:
        """End the search and return its open nodes."""
        stack, nodes = self.stack, list[ConflictNode]()
        level = int(stack.scalars.level)
        state = stack.state.copy()
        trail = int(stack.scalars.trailed)
        if self.running and stack.scalars.expand:
            nodes.append((float(stack.bound[level]), float(stack.extra[level]), state.tobytes()))
            trail = self._undo(state, level, trail)
            level -= 1
        while level >= 0:
            point = int(stack.point[level])
            if stack.child[level] == 0:
                state[point] = KEPT
                nodes.append((float(stack.bound[level]), float(stack.extra[level]), state.tobytes()))
            state[point] = FREE
            trail = self._undo(state, level, trail)
            level -= 1
        stack.scalars.level = -1
        return nodes

    def _undo(self, state: Any, level: int, trail: int) -> int:
        start = int(self.stack.trail_from[level])
        state[self.stack.trail[start:trail]] = FREE
        return start


@dataclass(frozen=True, eq=False)
class ConflictSearchData:
    """The data of one conflict search, in every process."""

    reduced: ReducedZeroOneProblem  #: the problem in reduced coordinates
    upper: float  #: value of the incumbent at the start, in reduced units; the rows are valid for every better solution
    rows: Any  #: `ConflictRows` with the intercept as a stretched coordinate
    exact: Any  #: `ConflictRows` without the intercept
    weights: FloatArray  #: (m,) costs of deleting the points
    branching_priority: FloatArray  #: (m,) branching priorities of the points

    @classmethod
    def of(cls, reduced: ReducedZeroOneProblem, upper: float, branching_priority: FloatArray) -> ConflictSearchData:
        """Return the data of a search whose incumbent has the value ``upper``, in reduced units."""
        tau = reduced.thresholds(upper)
        rows, exact = stretched_rows(reduced, tau, upper), penalised_rows(reduced, tau)
        return cls(reduced, upper, rows, exact, np.minimum(reduced.weights, upper), np.ascontiguousarray(branching_priority))

    def new_depth_first_search(self) -> DepthFirstSearch:
        """Return a depth-first search on these data, with arrays of its own."""
        return DepthFirstSearch(self.rows, self.exact, self.weights, self.branching_priority)

    def root(self) -> Any:
        """Return the states at the root: points that cost the incumbent's value or more are kept, all others free."""
        return np.where(self.weights >= self.upper, KEPT, FREE).astype(np.int8)


def offer_candidate(shared: SharedState, dive: DepthFirstSearch) -> bool:
    """Offer the least-norm w that keeps all but the deleted points of the node where a depth-first search has stopped.

    Return whether the incumbent improves.
    """
    w = shared.polish.solve(dive.stack.state != DELETED)
    improved = w is not None and shared.incumbent.offer(shared.reduced, w)
    dive.stack.candidate_value[-1] = min(float(dive.stack.candidate_value[-1]), shared.upper)
    return improved


class LargeNeighbourhood:
    """Large-neighbourhood search: random neighbourhoods of the incumbent, one after the other, each searched in slices.

    Parameters
    ----------
    shared : SharedState
        Data of the run, with the incumbent to improve.
    rng : numpy Generator
        Source of the random neighbourhoods.
    branching_priority : ndarray (n,)
        Branching priorities of the points: their hinge violations.

    Attributes
    ----------
    running : bool
        Whether a neighbourhood is being searched.
    failures : int
        Number of neighbourhoods since the last improvement of the incumbent, the current one included.
    rounds : int
        Number of neighbourhoods so far.
    """

    def __init__(self, shared: SharedState, rng: np.random.Generator, branching_priority: FloatArray) -> None:
        self._shared, self._rng = shared, rng
        rows = stretched_rows(shared.reduced, np.ones(len(branching_priority)), shared.upper)._replace(strict=False)
        self._dive = DepthFirstSearch(rows, shared.polish.rows, shared.reduced.weights, branching_priority)
        self._node_rate = NodeRate.initial(shared.limits, rows.a.size)
        self._start_nodes = 0
        self.running = False
        self.failures = 0
        self.rounds = 0

    def start_search(self) -> None:
        """Start a neighbourhood: fix random violated points as deleted, and random points of margin above 1.0001 as kept."""
        shared, rng, dive = self._shared, self._rng, self._dive
        margins = shared.reduced.rows @ shared.reduced.to_reduced(shared.incumbent.w)
        violated = margins < 1 - 1e-7
        keep_share, delete_share = rng.uniform(0.3, 0.9), rng.uniform(0.2, 0.9)
        draw = rng.random(len(margins))
        state = np.full(len(margins), FREE, dtype=np.int8)
        state[violated & (draw < delete_share)] = DELETED
        state[~violated & (draw < keep_share) & (margins > 1.0001)] = KEPT
        self.failures += 1
        self.rounds += 1
        dive.start_search(state, 0.0, 0.0, shared.upper)
        self._start_nodes = dive.nodes
        self.running = True

    def search(self, nodes: int, node_limit: int) -> float:
        """Search some ``nodes`` nodes of the current neighbourhood, ``node_limit`` in all; return the effort in nanoseconds."""
        shared, dive = self._shared, self._dive
        initial_effort, last_node = dive.effort, min(dive.nodes + nodes, self._start_nodes + node_limit)
        while dive.running and dive.nodes < last_node and not self._node_rate.is_late:
            node_count, start = dive.nodes, time.perf_counter()
            code = dive.run(shared.upper * (1 - 1e-7), self._node_rate.next_nodes(last_node - node_count))
            self._node_rate.update(start, dive.nodes - node_count)
            if code == CANDIDATE and offer_candidate(shared, dive):
                self.failures = 0
            if dive.nodes == node_count:
                self.running = False
                break
        self.running = self.running and dive.running and dive.nodes < self._start_nodes + node_limit
        return dive.effort - initial_effort


#: First target, and the largest step between targets, as shares of the cutoff.
_FIRST_TARGET_SHARE, _LARGEST_TARGET_STEP = 0.5, 0.1
#: Least number of nodes of a pass from which the growth of the next ones is estimated.
_SHORT_PASS_NODES = 200
#: Intended ratio of the nodes of successive passes; the final pass may exceed it.
_NODE_GROWTH = 6.0
#: Largest exponent of a forecast, against overflow.
_MAX_EXPONENT = 100.0


class PassTargets:
    """Schedule of the passes' targets L: a pass searches for solutions below L, and proves the bound L if there is none.

    Attributes
    ----------
    target : float
        Target of the current pass, in units of the reduced problem.
    """

    def __init__(self, cut: float) -> None:
        self.target = _FIRST_TARGET_SHARE * cut
        self._past_nodes = 0
        self._finished: list[tuple[float, int]] = []

    def advance(self, nodes: int, cut: float, finished: bool) -> None:
        """Record a finished pass and choose the next target, for about `_NODE_GROWTH` times as many nodes.

        A target above ``cut`` counts as ``cut``.

        Parameters
        ----------
        nodes : int
            Nodes of all passes so far.
        cut : float
            The cutoff.
        finished : bool
            Whether the pass left no unresolved leaf below its target; otherwise the next pass is the final one.
        """
        pass_nodes, self._past_nodes = nodes - self._past_nodes, nodes
        self._finished.append((self.target, pass_nodes))
        if not finished:
            self.target = cut
        elif pass_nodes < _SHORT_PASS_NODES or len(self._finished) < 2:
            self.target += _LARGEST_TARGET_STEP * cut
        else:
            step = math.log(_NODE_GROWTH) / self._growth()
            self.target += min(step, _LARGEST_TARGET_STEP * cut)
            if self.target + 0.5 * step >= cut:
                self.target = cut

    def _growth(self) -> float:
        """Return the slope of the logarithm of a pass's nodes as a function of the target, from the last two passes."""
        (low, first_nodes), (high, second_nodes) = self._finished[-2:]
        return max(math.log(second_nodes / first_nodes), 0.1) / (high - low)

    def forecast(self, nodes: int, cut: float) -> float:
        """Return the number of nodes of all passes until ``cut`` is proved, ``nodes`` past ones included; ∞ before two passes.

        A pass that already exceeds its forecast counts as finished: the growth is at least the observed one.
        """
        if len(self._finished) < 2:
            return math.inf
        last_target, last_nodes = self._finished[-1]
        target, pass_nodes = min(self.target, cut), max(nodes - self._past_nodes, 1)
        growth = (
            self._growth()
            if target <= last_target
            else max(self._growth(), math.log(pass_nodes / last_nodes) / (target - last_target))
        )
        return self._past_nodes + sum(
            last_nodes * math.exp(min(growth * (bound - last_target), _MAX_EXPONENT)) for bound in {target, cut}
        )


class ConflictEngine(Engine):
    """Branch and bound on norm-conflicts; see `solvers.zero_one.loops.conflict_search` and ``docs/explanation/zero-one-bb.md``.

    The search runs in passes with rising targets (`PassTargets`). Each pass costs a small share of the next one, and the last
    target is the cutoff. Within a pass one thread searches depth-first. Several threads share a heap of nodes. Each node is
    searched depth-first for a number of nodes that grows with the heap, and the nodes left open return to the heap.

    Parameters
    ----------
    shared : SharedState
        Problem, incumbent, limits and bound of the run.
    branching_priority : ndarray (m,)
        Branching priorities of the reduced points: their hinge violations.
    threads : int
        Number of threads.
    """

    name: ClassVar[str] = "conflicts"
    nanoseconds_per_effort: ClassVar[float] = 1.0

    def __init__(self, shared: SharedState, branching_priority: FloatArray, threads: int = 1) -> None:
        super().__init__(shared)
        search_data = ConflictSearchData.of(shared.reduced, shared.upper, branching_priority)
        self._dives = [search_data.new_depth_first_search() for _ in range(threads)]
        self._remaining = [0] * threads
        self._heap: list[tuple[float, int, ConflictNode]] = []
        self._sequence = itertools.count()
        self._root: ConflictNode = (0.0, 0.0, search_data.root().tobytes())
        self._passes = PassTargets(shared.cutoff)
        self._node_rate = NodeRate.initial(shared.limits, search_data.rows.a.size)
        self._push(self._root)

    def _push(self, node: ConflictNode) -> None:
        heapq.heappush(self._heap, (node[0], next(self._sequence), node))

    @property
    def nodes(self) -> int:
        """The number of processed nodes."""
        return sum(dive.nodes for dive in self._dives)

    @property
    def effort(self) -> float:
        """The counted work of all searches."""
        return sum(dive.effort for dive in self._dives)

    @property
    def forecast(self) -> float:
        """The forecast total work in nanoseconds that closes the gap, from the growth of the passes' numbers of nodes."""
        return self._passes.forecast(self.nodes, self._shared.cutoff) * self.spent_nanoseconds / max(self.nodes, 1)

    @property
    def open_count(self) -> int:
        """The number of nodes on the heap, plus one for each search in progress."""
        return len(self._heap) + sum(dive.running for dive in self._dives)

    def statistics(self) -> dict[str, float]:
        """Return the counts of `DepthFirstSearch.counts` but the nodes, summed over the threads."""
        counts = [dive.counts() for dive in self._dives]
        return {name: sum(count[name] for count in counts) for name in COUNTERS if name != "nodes"}

    def _unresolved_bound(self) -> float:
        return min(float(dive.stack.unresolved[0]) for dive in self._dives)

    @property
    def _cutoff(self) -> float:
        """The smaller of the global cutoff and the target of the pass."""
        return min(self._shared.cutoff, self._passes.target)

    def _bound(self) -> float:
        bound = min([self._unresolved_bound(), self._cutoff, *(dive.bound() for dive in self._dives)])
        return min(bound, self._heap[0][0]) if self._heap else bound

    def work(self, seconds: float) -> Outcome:
        """Search for about ``seconds`` or to the end of the slice, in rounds, and return the outcome."""
        shared, limits = self._shared, self._shared.limits
        end = time.perf_counter() + seconds
        outcome = Outcome.RUNNING
        with ThreadPoolExecutor(len(self._dives)) as executor:
            while outcome is Outcome.RUNNING and self.nodes < self.slice_end and time.perf_counter() < end:
                if self._node_rate.is_late:
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
            if cutoff < shared.cutoff:
                self._next_pass()
                return Outcome.RUNNING
            return Outcome.CONVERGED if self._unresolved_bound() >= cutoff else Outcome.STALLED
        node_counts, start = [dive.nodes for dive in self._dives], time.perf_counter()
        allowance = self._node_allowance(len(running))
        if len(running) == 1:
            codes = [self._dives[i].run(cutoff, min(self._remaining[i], allowance)) for i in running]
        else:
            codes = list(executor.map(lambda i: self._dives[i].run(cutoff, min(self._remaining[i], allowance)), running))
        self._node_rate.update(start, max(self._dives[i].nodes - node_counts[i] for i in running))
        for i, code in zip(running, codes, strict=True):
            dive = self._dives[i]
            self._remaining[i] -= dive.nodes - node_counts[i]
            if code == CANDIDATE:
                offer_candidate(shared, dive)
            elif code == OUT_OF_NODES and self._remaining[i] <= 0:
                for node in dive.take_open_nodes():
                    if node[0] < cutoff:
                        self._push(node)
        return Outcome.RUNNING

    def _next_pass(self) -> None:
        """Record the bound of the finished pass and restart at the root with the next target."""
        self._improve_bound(self._bound())
        self._passes.advance(self.nodes, self._shared.cutoff, self._unresolved_bound() >= self._passes.target)
        for dive in self._dives:
            dive.stack.unresolved[0] = np.inf
        self._push(self._root)

    def _start_dive(self, i: int, cut: float) -> None:
        """Start search ``i`` at the best node of the heap, or clear a heap without nodes below the cutoff."""
        if not self._heap or self._heap[0][0] >= cut:
            self._heap.clear()
            return
        bound, extra, state = heapq.heappop(self._heap)[-1]
        self._dives[i].start_search(np.frombuffer(state, dtype=np.int8), extra, bound, self._shared.upper)
        node_limit = 2**62 if len(self._dives) == 1 else 100
        self._remaining[i] = node_limit if len(self._heap) < 1000 else 1000 if len(self._heap) < 10_000 else 1_000_000

    def _node_allowance(self, running: int) -> int:
        """Return the number of nodes of each search in the next round, within the time and node limits."""
        limit = self._shared.limits.nodes
        allowance = self._node_rate.next_nodes(self._dives[0].nodes_per_round)
        return allowance if limit is None else max(min(allowance, (limit - self.nodes) // running), 1)
