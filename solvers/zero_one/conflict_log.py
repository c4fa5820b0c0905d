"""Proof log of the conflict engine of `zero-one-bb`: a second tree search proves the bound again and writes it after the search.

The tree need not be that of the first search: only the bound counts. `TreeProver` processes the nodes, `ConflictLogWriter` writes
the log, and `solvers.zero_one.check.conflicts` verifies it. With remote workers, open nodes of the proof are subproblems
(`ProofPool`), and the workers' lines are merged.

The problem is min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1}, or the least norm with a budget of violated margins. A set S of
points is a *conflict* at T if no w with ||w||² < T keeps all of it (margins of at least 1), so that each w of a smaller norm
violates one of its points. Conflicts are written with multipliers that are integers if those prove enough; nodes refer to them.
In a node points are kept, free or *deleted*: violated by its solutions. A node proves by packing conflicts that solutions of
interest delete points of cost at least e (``extra``) among the free ones, deletes a point that is the only free one of a
conflict, and ends with a conflict of kept points or branches on a point. The compiled part is
`solvers.zero_one.loops.conflict_proof.prove_node`; ``docs/explanation/zero-one-bb.md`` has the rules.

The node of the least bound is next, so that a search that a limit ends still proves the least bound of its open nodes.
"""

from __future__ import annotations

import heapq
import json
import math
import time
import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...models.arrays import FloatArray
from ..exact.dispatcher import (
    NUMBERS_PER_SUBPROBLEM,
    Dispatcher,
    check_numbers,
    check_worker_fields,
    unpack_log_lines,
    worker_name,
)
from ..exact.log_file import LogFile, LogWriter
from ..interface.named_scalars import zero_fields
from ..parallel.executor import AsynchronousExecutor
from .box_log import CLAIM_SLACK, log_header
from .reduced import ReducedZeroOneProblem

#: States of a point in a node.
FREE, KEPT, DELETED = -1, 0, 1
#: Nodes after which the activities of all points decay by a tenth.
_DECAY_NODES = 256


class NodeProver:
    """Processor of single nodes of a proof by conflicts, the compiled loop `prove_node` with its data and workspace.

    Parameters
    ----------
    reduced : ReducedZeroOneProblem
        The problem in reduced coordinates.
    upper : float
        Reduced value (or squared norm) below which solutions are of interest: it bounds the intercept and the rounding errors.
    weights : ndarray (m,)
        Costs of deleting the points.
    branching_priority : ndarray (m,)
        Branching priorities of the points.
    budget : float
        Largest number of deletions; infinite if deletions cost their weights instead.

    Attributes
    ----------
    width : int
        Number of coordinates, the stretched intercept's and padding included.
    record : NodeRecord
        Conflicts and steps of the node that `prove` processed last.
    """

    def __init__(
        self, reduced: ReducedZeroOneProblem, upper: float, weights: FloatArray, branching_priority: FloatArray, budget: float
    ) -> None:
        from .loops.conflict_records import empty_workspace, penalised_rows, stretched_rows

        tau = reduced.thresholds(upper)
        self._rows, self._exact = stretched_rows(reduced, tau, upper), penalised_rows(reduced, tau)
        self._weights, self._branching_priority, self._budget = weights, branching_priority, budget
        self._activity, self._visits = np.zeros(len(tau)), 0
        n, self.width = self._rows.a.shape
        self._workspace, self.record = empty_workspace(n, self.width, self._exact.a.shape[1]), _empty_record(n, self.width)

    def prove(self, state: Any, extra: FloatArray, start: Any, cut: float) -> int:
        """Process a node at a cutoff by `prove_node`, and return its code: a branching point (≥ 0), PROVED or OPEN_LEAF.

        OPEN_LEAF: the node is not proved, and has no branching point. The states of the points, the cost of further deletions
        (1,) and the active set of the kept points, ``start``, are updated in place.
        """
        from .loops.conflict_proof import prove_node

        zero_fields(self.record.scalars)
        return int(
            prove_node(
                self._rows, self._exact, self._weights, self._branching_priority, self._activity, self._workspace, state, extra,
                start, self.record, cut, self._budget,
            )
        )  # fmt: skip

    def count_node(self) -> None:
        """Count a processed node, so that the points' activities decay."""
        self._visits += 1
        if self._visits % _DECAY_NODES == 0:
            self._activity *= 0.9

    def split(self, state: Any, extra: float, point: int) -> tuple[tuple[Any, float], tuple[Any, float]]:
        """Return the states and the cost of further deletions of both children: a free point deleted, and kept."""
        deleted, demanded = state.copy(), state.copy()
        deleted[point], demanded[point] = DELETED, KEPT
        return (deleted, max(extra - float(self._weights[point]), 0.0)), (demanded, extra)

    def empty_active_set(self) -> Any:
        """Return an `ActiveSet` of the dual method without constraints."""
        from .loops.conflict_records import empty_active_set

        return empty_active_set(self.width)

    def certified_squared_norm(self, active: Any) -> float:
        """Return the lower bound of ||w||² that the multipliers of an active set prove."""
        from .loops.active_set import certified_squared_norm

        return float(certified_squared_norm(active, self._rows.intercept_bound))


#: Largest number of conflicts of a node.
_MOST_CONFLICTS = 512
#: Bytes of open nodes beyond which the newest node is next.
_MAX_BYTES = 2**27
#: Share of a norm that rounding may take when an open node is closed at its own bound.
_NORM_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class ProofGoal:
    """The claim to be proved, in every process: no solution has a value below ``cut``."""

    reduced: ReducedZeroOneProblem  #: the problem in reduced coordinates
    weights: FloatArray  #: (m,) costs of deletions: reduced weights, or multiplicities with a finite budget
    branching_priority: FloatArray  #: (m,) branching priorities of the points: their hinge violations
    cut: float  #: value in reduced units, with a finite budget the squared norm
    budget: float  #: largest number of deletions; infinite if deletions cost their weights instead
    unit: float  #: the unit of weights, in the stated problem


@dataclass(frozen=True, eq=False)
class ProofNode:
    """A node that is not proved yet."""

    parent: int  #: number of the parent, -1 for the root
    side: int  #: 0 for the child that deletes a point, 1 for the one that keeps it
    state: Any  #: (m,) states of the points
    extra: float  #: proved lower bound of the cost of further deletions
    start: Any = None  #: `ActiveSet` of the kept points, if known
    bound: float = 0.0  #: lower bound of the reduced value, with a finite budget of the squared norm


class TreeProver:
    """Tree search that proves a goal by conflicts, the node of the least bound first, and writes lines of the log.

    Parameters
    ----------
    goal : ProofGoal
        The claim to be proved.
    first : int
        Number of the first node and of the first conflict in the log.
    numbered : bool
        Whether records of conflicts hold their numbers, as they must if lines of several processes are merged.

    Attributes
    ----------
    nodes : int
        Number of processed nodes.
    unresolved_nodes : list of ProofNode
        Nodes without free points that rounding leaves unproved.
    """

    def __init__(self, goal: ProofGoal, first: int = 0, numbered: bool = False) -> None:
        self._goal, self._numbered = goal, numbered
        self._node_prover = NodeProver(goal.reduced, goal.cut, goal.weights, goal.branching_priority, goal.budget)
        self._ident = self._conflicts = first
        self._pushes = self._bytes = 0
        self._heap: list[tuple[float, int, ProofNode]] = []
        self.nodes = 0
        self.unresolved_nodes: list[ProofNode] = []

    @property
    def queue_length(self) -> int:
        """The number of nodes to process."""
        return len(self._heap)

    @property
    def open_nodes(self) -> list[ProofNode]:
        """The nodes to process, in no order."""
        return [node for _, _, node in self._heap]

    def push(self, node: ProofNode) -> None:
        """Add a node to process."""
        self._pushes += 1
        self._bytes += _bytes_of(node)
        heapq.heappush(self._heap, (node.bound if self._bytes < _MAX_BYTES else -float(self._pushes), self._pushes, node))

    def pop(self) -> ProofNode:
        """Remove the next node to process."""
        node = heapq.heappop(self._heap)[-1]
        self._bytes -= _bytes_of(node)
        return node

    def start_search(self) -> None:
        """Add the root."""
        root = np.full(len(self._goal.weights), FREE, dtype=np.int8)
        if math.isinf(self._goal.budget):
            root[self._goal.weights >= self._goal.cut] = KEPT
        self.push(ProofNode(-1, 0, root, 0.0))

    def work(self, seconds: float, node_limit: int | None = None) -> str:
        """Process nodes for about ``seconds``, ``node_limit`` nodes at most; return the lines of the log."""
        end, lines, last = time.perf_counter() + seconds, list[str](), None if node_limit is None else self.nodes + node_limit
        while self._heap and self.nodes != last and time.perf_counter() < end:
            lines += self._process(self.pop())
        return "".join(lines)

    def _process(self, node: ProofNode) -> list[str]:
        from .loops.conflict_proof import OPEN_LEAF, PROVED

        point, state, extra, start = self._proved(node, self._goal.cut)
        self.nodes += 1
        self._node_prover.count_node()
        bound = max(node.bound, min(self._paid(state, extra) + self._node_prover.certified_squared_norm(start), self._goal.cut))
        if point == OPEN_LEAF:
            # the bound is proved, so a conflict exists that rounding hides: branch on any free point
            free = np.flatnonzero(state == FREE)
            if not free.size:
                self.unresolved_nodes.append(replace(node, bound=bound))
                return []
            point = int(free[0])
        steps, lines = self._steps()
        ident, record = self._record(node, steps)
        if point != PROVED:
            record["split"] = [-1, [point]]
            self._branch(ident, point, state, extra, start, bound)
        return [*lines, json.dumps(record) + "\n"]

    def _proved(self, node: ProofNode, cut: float) -> tuple[int, Any, float, Any]:
        """Return the code of `prove_node` at a cutoff, and the states, cost of further deletions and active set after it."""
        start = clone_active_set(self._node_prover.empty_active_set() if node.start is None else node.start)
        state, extra = node.state.copy(), np.array([node.extra])
        code = self._node_prover.prove(state, extra, start, cut)
        return code, state, float(extra[0]), start

    def _paid(self, state: Any, extra: float) -> float:
        """Return a lower bound of the cost of a node's deletions; 0 with a budget, where deletions cost nothing."""
        return float(self._goal.weights[state == DELETED].sum()) + extra if math.isinf(self._goal.budget) else 0.0

    def _record(self, node: ProofNode, steps: list[Any]) -> tuple[int, dict[str, Any]]:
        ident = self._ident
        self._ident += 1
        return ident, {"id": ident, "parent": node.parent, "side": node.side, "steps": steps}

    def close_at_own_bound(self, node: ProofNode) -> tuple[list[str], float]:
        """Return the lines that end an open node at the bound that it has proved so far, and that bound."""
        from .loops.conflict_proof import CUT, PROVED

        bound = node.bound * (1.0 - _NORM_SLACK)
        code = self._proved(node, bound)[0]
        record_arrays = self._node_prover.record
        count, kind = int(record_arrays.scalars.steps), int(record_arrays.steps[0, 0])
        if code == PROVED and (count == 0 or (count == 1 and kind == CUT)):
            steps, lines = self._steps()
        else:  # rounding hid the conflict of the kept points: deletions alone
            steps, lines, bound = [], [], self._paid(node.state, node.extra)
        _, record = self._record(node, [])
        return [*lines, json.dumps(record | {"open": [number for _, number in steps]}) + "\n"], bound

    def _steps(self) -> tuple[list[Any], list[str]]:
        """Return the last node's steps, and the lines of the conflicts that they use."""
        from .loops.conflict_proof import CUT

        record_arrays, steps = self._node_prover.record, []
        entries = int(record_arrays.scalars.entries)
        number: dict[int, int] = {}
        lines = []
        for entry_place in record_arrays.entry[:entries].tolist():
            if entry_place not in number:
                number[entry_place] = self._conflicts
                self._conflicts += 1
                m = int(record_arrays.size[entry_place])
                alpha = record_arrays.alpha[entry_place, :m].tolist()
                if all(map(float.is_integer, alpha)):
                    alpha = list(map(int, alpha))
                # the repr of a list of numbers is valid JSON
                called = f', "number": {number[entry_place]}' if self._numbered else ""
                lines.append(f'{{"conflict": {record_arrays.points[entry_place, :m].tolist()}, "alpha": {alpha}{called}}}\n')
        numbers = [number[entry_place] for entry_place in record_arrays.entry[:entries].tolist()]
        # the unit is a power of 4, so the shares in original units are exact; 1e-12 less, so that rounded sums fit the weights
        unit = 1.0 if math.isfinite(self._goal.budget) else self._goal.unit * (1.0 - 1e-12)
        shares = (record_arrays.entry_share[:entries] * unit).tolist()
        for kind, first, last in record_arrays.steps[: int(record_arrays.scalars.steps)].tolist():
            if kind == CUT:
                steps.append(["cut", numbers[first]])
            else:
                steps.append(["pack", [[numbers[k], shares[k]] for k in range(first, last)]])
        return steps, lines

    def _branch(self, ident: int, point: int, state: Any, extra: float, start: Any, bound: float) -> None:
        deleted, demanded = self._node_prover.split(state, extra, point)
        self.push(ProofNode(ident, 1, *demanded, start, bound))
        self.push(ProofNode(ident, 0, *deleted, start, bound))


def _empty_record(n: int, p: int) -> Any:
    """Return an empty `loops.conflict_proof.NodeRecord` for n points in p coordinates."""
    from .loops.conflict_proof import NODE_RECORD_SCALARS, NodeRecord

    width, i64 = 2 * p + 6, np.int64
    return NodeRecord(
        np.zeros((_MOST_CONFLICTS, width), i64), np.zeros((_MOST_CONFLICTS, width)), np.zeros(_MOST_CONFLICTS, i64),
        np.zeros(n + 1, i64), np.zeros(n + 1),
        np.zeros((4 * n + 64, 3), i64), np.zeros(32 * n + 256, i64), np.zeros(32 * n + 256), np.zeros(1, NODE_RECORD_SCALARS)[0],
    )  # fmt: skip


def _bytes_of(node: ProofNode) -> int:
    return int(node.state.nbytes) + (0 if node.start is None else sum(int(part.nbytes) for part in node.start) // 2)


def clone_active_set(active: Any) -> Any:
    """Return a copy of an `ActiveSet`."""
    return type(active)(*(np.array(part) for part in active))


def check_point_states(state: Any, points: int) -> None:
    """Raise ValueError unless ``state`` is an int8 vector of the states of all points: FREE, KEPT or DELETED."""
    if type(state) is not np.ndarray or state.dtype != np.int8 or state.shape != (points,):
        raise ValueError("states of other points")
    if not np.isin(state, (FREE, KEPT, DELETED)).all():
        raise ValueError("invalid states")


#: Number of nodes that this process proves before nodes are dispatched, so that short proofs stay local.
DISPATCH_NODES = 300


@dataclass(frozen=True, eq=False)
class ProofSubproblem:
    """A task for a worker: prove some open nodes in a limited time."""

    goal: ProofGoal  #: the claim to be proved
    nodes: list[ProofNode]  #: the open nodes to prove
    seconds: float  #: time limit
    number: int  #: number of the subproblem; its nodes and conflicts are numbered from ``number * NUMBERS_PER_SUBPROBLEM`` on


@dataclass(frozen=True, eq=False)
class ProofSubproblemResult:
    """The result of a `ProofSubproblem`."""

    nodes: list[ProofNode]  #: nodes that remain open
    unresolved_nodes: list[ProofNode]  #: nodes that rounding leaves unproved
    lines: bytes  #: lines of the log, compressed by zlib
    count: int  #: number of processed nodes
    seconds: float  #: wall time of the worker
    processor_seconds: float  #: processor time of the worker
    worker: str  #: machine and process of the worker


def prove_subproblem(task: ProofSubproblem, threads: int | None) -> ProofSubproblemResult:
    """Prove the nodes of a subproblem with one thread until its time or its number of nodes is used up."""
    start, processor_start = time.perf_counter(), time.thread_time()
    prover = TreeProver(task.goal, task.number * NUMBERS_PER_SUBPROBLEM, numbered=True)
    for node in task.nodes:
        prover.push(node)
    text = prover.work(task.seconds, node_limit=NUMBERS_PER_SUBPROBLEM // 1000)
    open_nodes, unresolved_nodes = _sent(prover.open_nodes), _sent(prover.unresolved_nodes)
    lines = zlib.compress(text.encode(), 1)
    return ProofSubproblemResult(
        open_nodes, unresolved_nodes, lines, prover.nodes,
        time.perf_counter() - start, time.thread_time() - processor_start, worker_name(),
    )  # fmt: skip


def _sent(nodes: list[ProofNode]) -> list[ProofNode]:
    """Return the nodes without their active sets, for a message."""
    return [replace(node, start=None) for node in nodes]


class ProofPool:
    """The open nodes of a proof as the pool of a `Dispatcher`.

    Parameters
    ----------
    goal : ProofGoal
        The claim to be proved.
    prover : TreeProver
        Prover of the first nodes in this process; its open nodes are the pool.
    executor : AsynchronousExecutor
        The workers.

    Attributes
    ----------
    nodes : int
        Number of nodes that workers have processed.
    """

    def __init__(self, goal: ProofGoal, prover: TreeProver, executor: AsynchronousExecutor) -> None:
        self._goal, self._prover = goal, prover
        self._dispatcher = Dispatcher(executor, self, prove_subproblem)
        self._lines: list[str] = []
        self.nodes = 0

    @property
    def open_nodes(self) -> list[ProofNode]:
        """The nodes of subproblems in progress."""
        return [node for nodes in self._dispatcher.in_progress.values() for node in nodes]

    @property
    def queue_length(self) -> int:
        """The number of nodes in the pool."""
        return self._prover.queue_length

    def statistics(self) -> dict[str, float]:
        """Return the dispatcher's counts and seconds by name, with the prefix ``proof_``."""
        return {f"proof_{name}": value for name, value in self._dispatcher.statistics().items()}

    def work(self, seconds: float) -> str:
        """Prove nodes in this process at first, later by workers, for about ``seconds``; return the new lines of the log."""
        if self._prover.nodes < DISPATCH_NODES:
            return self._prover.work(seconds, DISPATCH_NODES - self._prover.nodes)
        self._dispatcher.exchange(seconds)
        text, self._lines = "".join(self._lines), []
        return text

    def take_nodes(self, limit: int) -> list[ProofNode]:
        """Remove at most ``limit`` nodes with the least bounds from the pool and return them."""
        return _sent([self._prover.pop() for _ in range(min(limit, self._prover.queue_length))])

    def task(self, number: int, nodes: list[ProofNode], seconds: float) -> ProofSubproblem:
        """Return the subproblem of these nodes as a message to a worker."""
        return ProofSubproblem(self._goal, nodes, seconds, number)

    def check_result(self, outcome: ProofSubproblemResult) -> None:
        """Raise an error of malformed data unless the result is well formed and about the problem's points."""
        for node in (*outcome.nodes, *outcome.unresolved_nodes):
            check_numbers(node.parent, node.side, node.extra, node.bound, minimum=0.0)
            check_point_states(node.state, len(self._goal.weights))
        check_numbers(outcome.count, minimum=0)
        check_worker_fields(outcome.seconds, outcome.processor_seconds, 0.0, outcome.worker)
        unpack_log_lines(outcome.lines)

    def add_result(self, number: int, outcome: ProofSubproblemResult) -> None:
        """Add a result: its log lines and its open nodes."""
        self._lines.append(unpack_log_lines(outcome.lines))
        self.nodes += outcome.count
        self._prover.unresolved_nodes += outcome.unresolved_nodes
        for node in outcome.nodes:
            self._prover.push(node)


class ConflictLogWriter(LogWriter):
    """Writer of the conflict engine's proof log: proves a bound in slices of time.

    A proof that ends early claims the least bound of its open nodes.

    Parameters
    ----------
    path : str
        Path of the log.
    reduced : ReducedZeroOneProblem
        The problem in reduced coordinates.
    bound : float
        The lower bound that the search has proved, in original units.
    branching_priority : ndarray (m,)
        Branching priorities of the points: their hinge violations.
    budget : int, optional
        The cardinality form: at most this many points are violated, and ``bound`` is one of the squared norm; ``reduced`` has
        weights of one.
    gap : float
        The log claims ``bound`` (1 - ``gap``), since a slightly lower bound is proved much sooner.
    executor : AsynchronousExecutor, optional
        Workers that prove subtrees.

    Attributes
    ----------
    prover : TreeProver or None
        Prover of the nodes in this process; None if the bound needs no tree.
    """

    def __init__(
        self,
        path: str,
        reduced: ReducedZeroOneProblem,
        bound: float,
        branching_priority: FloatArray,
        budget: int | None = None,
        gap: float = 0.0,
        executor: AsynchronousExecutor | None = None,
    ) -> None:
        header = log_header(reduced.problem, 4 if executor is None else 5, "conflicts" if budget is None else "budget")
        header |= {"member": reduced.member.tolist()} | ({} if budget is None else {"budget": budget})
        super().__init__(LogFile(path), header)
        bound = bound * (1.0 - gap)
        self._claim = bound * (1.0 - CLAIM_SLACK)
        self._unit, self._constant = reduced.unit, reduced.constant if budget is None else 0.0
        cut = (
            bound * (1.0 - 0.5 * CLAIM_SLACK) - self._constant
        ) / reduced.unit  # proves half of the slack more than the log claims
        allowed = math.inf if budget is None else float(budget) - reduced.constant
        weights, unit = reduced.weights, reduced.unit
        if budget is not None:
            weights, unit = np.rint(reduced.weights * reduced.unit), 1.0
        goal = ProofGoal(reduced, weights, np.ascontiguousarray(branching_priority, dtype=np.float64), cut, allowed, unit)
        self.prover: TreeProver | None = None
        self._pool: ProofPool | None = None
        if cut > 0.0 and len(weights) and allowed >= 0.0:
            self.prover = TreeProver(goal, numbered=executor is not None)
            self.prover.start_search()
            if executor is not None:
                self._pool = ProofPool(goal, self.prover, executor)

    @property
    def nodes(self) -> int:
        """The number of processed nodes."""
        return (0 if self.prover is None else self.prover.nodes) + (0 if self._pool is None else self._pool.nodes)

    @property
    def _open_nodes(self) -> list[ProofNode]:
        if self.prover is None:
            return []
        return [*self.prover.open_nodes, *([] if self._pool is None else self._pool.open_nodes)]

    @property
    def _unresolved_nodes(self) -> list[ProofNode]:
        return [] if self.prover is None else self.prover.unresolved_nodes

    @property
    def finished(self) -> bool:
        """True if no node remains to be processed."""
        return self.prover is None or not (self.prover.queue_length or (self._pool is not None and self._pool.open_nodes))

    @property
    def provable_bound(self) -> float:
        """The lower bound, in original units, that a log of the nodes so far proves."""
        remaining = [*self._open_nodes, *self._unresolved_nodes]
        return self._stated(min(node.bound for node in remaining)) if remaining else max(self._claim, 0.0)

    def _stated(self, bound: float) -> float:
        return max(min((bound * self._unit + self._constant) * (1.0 - CLAIM_SLACK), self._claim), 0.0)

    def statistics(self) -> dict[str, float]:
        """Return the counts and seconds of the workers by name; empty without workers."""
        return {} if self._pool is None else self._pool.statistics()

    def work(self, seconds: float) -> None:
        """Continue the proof for about ``seconds`` and write its lines."""
        end = time.perf_counter() + seconds
        while not self.finished and self.write_error is None and (remaining := end - time.perf_counter()) > 0.0:
            assert self.prover is not None
            self._file.write_text(self.prover.work(min(remaining, 0.1)) if self._pool is None else self._pool.work(remaining))

    def finish(self, w: FloatArray | None) -> float:
        """End the open nodes at their own bounds, write the claim and the incumbent, and return the claimed bound."""
        claim: dict[str, Any] = {"bound": self.provable_bound, "w": None if w is None else w.tolist()}
        remaining = [*self._open_nodes, *self._unresolved_nodes]
        if remaining and claim["bound"] > 0.0:
            assert self.prover is not None
            closed = [self.prover.close_at_own_bound(node) for node in remaining]
            self._file.write_text("".join(line for lines, _ in closed for line in lines))
            claim |= {"bound": self._stated(min(bound for _, bound in closed)), "target": self._claim}
        self._seal(claim)
        return float(claim["bound"])
