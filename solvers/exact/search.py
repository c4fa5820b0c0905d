"""Branch and bound for any problem with a bounding rule: the tree search with its incumbent, checkpoint, log and remote workers.

`sparse-bb`, `risk-bb` and `ramp-bb` use it. A problem supplies one class, its `BoundingRule`: the root, a point's objective, and
the bound and the children of a node. A node is a set of arrays of fixed shapes, so that a checkpoint saves it and any process
continues it. `TreeSearch` takes the node of the least bound first. With remote workers it becomes the pool of open nodes of a
`Dispatcher`: a worker searches a few nodes for a limited time and returns those that remain open. The proof log has one record
for each processed node, with its number, its parent's number and its place among the parent's children; `TreeChecker` reads it.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
import json
import math
import os
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar, final

import numpy as np

from ...models.arrays import FloatArray
from ..parallel.executor import AsynchronousExecutor
from ..parallel.serialisation import TaskArrays
from .checkpoint import Checkpoint, CheckpointContent
from .dispatcher import (
    NUMBERS_PER_SUBPROBLEM,
    Dispatcher,
    check_numbers,
    check_point,
    check_worker_fields,
    unpack_log_lines,
    worker_name,
)
from .log_file import LogPosition, LogWriter

P = TypeVar("P")
#: The data of a node: arrays by name, of the same shapes and types in all nodes of a problem.
NodeArrays: TypeAlias = Mapping[str, Any]
#: Relative distance by which the proved bound stays below the incumbent's value, since that value is rounded.
_ROUNDING = 1e-12
#: Bytes of a node's objects beside its arrays, about.
_NODE_BYTES = 400.0
#: Processed nodes after which the workers load their code (shorter searches need no workers), and after which nodes are
#: dispatched even if no worker is ready.
PRELOAD_NODES, DISPATCH_NODES = 20, 500


@dataclass(eq=False)
class Incumbent:
    """The best point found so far."""

    tol: float  #: relative gap at which nodes are closed
    value: float = math.inf  #: objective of the point; ∞ without one
    w: FloatArray = field(default_factory=lambda: np.zeros(0))  #: (p,) the point

    @property
    def cutoff(self) -> float:
        """The lower bound from which on a node is closed: the value less the tolerance."""
        return self.value - self.tol * abs(self.value) if self.value < math.inf else math.inf

    def offer(self, w: FloatArray, value: float) -> bool:
        """Replace the incumbent by a better point; return whether the point is better."""
        if not value < self.value:
            return False
        self.w, self.value = w, value
        return True


@dataclass(frozen=True, eq=False)
class Node:
    """An open node."""

    bound: float  #: proved lower bound of the node's points
    arrays: NodeArrays  #: data of the node
    origin: tuple[int, int] = (0, 0)  #: the parent's number, and the place among its children; (0, 0) for the root


@dataclass(frozen=True, eq=False)
class Branching:
    """The outcome of bounding and splitting a node.

    Parameters
    ----------
    bound : float
        Proved lower bound of the node.
    children : sequence of (float, mapping)
        Proved bound and arrays of each part that remains; without children the node is closed at its bound.
    record : mapping of str to JSON value
        The facts of the log from which the checker's rule derives the bound and the children.
    closed_bound : float
        Least proved bound of the node's points that are in no child.
    """

    bound: float
    children: Sequence[tuple[float, NodeArrays]] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    closed_bound: float = math.inf


class BoundingRule(ABC, Generic[P]):
    """Base class of a problem's bounding rule: an objective, a root node, and how a node is bounded and split.

    Parameters
    ----------
    problem : P
        The data, which workers receive.
    """

    #: Format of the logs; the problem's checker has the same.
    format: ClassVar[str]
    #: Version of the format.
    version: ClassVar[int]
    #: A lower bound of the objective of every point.
    lower_bound: float = -math.inf
    #: Value of ``time.perf_counter`` from which a node that takes long is bounded with less effort; infinite in workers.
    deadline: float = math.inf

    def __init__(self, problem: P) -> None:
        self.problem = problem

    @abstractmethod
    def header(self) -> dict[str, Any]:
        """Return the problem's data as JSON values without loss: the first record of a log."""

    @abstractmethod
    def first_point(self) -> FloatArray:
        """Return a feasible point, as a vector of finite numbers."""

    @abstractmethod
    def objective(self, w: FloatArray) -> float:
        """Return the objective of a point; infinite for a point that is not feasible."""

    @abstractmethod
    def root(self) -> NodeArrays:
        """Return the arrays of the node that holds every point."""

    @abstractmethod
    def branch(self, node: Node, incumbent: Incumbent) -> Branching:
        """Bound a node, offer points to the incumbent, and split the node unless its bound reaches ``incumbent.cutoff``."""

    def improve(self, w: FloatArray, incumbent: Incumbent) -> None:
        """Offer a starting point to the incumbent; a subclass may improve the point first."""
        incumbent.offer(w, self.objective(w))

    def accepts(self, arrays: NodeArrays) -> bool:
        """Return whether arrays of a node's shapes and types, read from a file or a worker, hold values that a node can have."""
        return True

    @classmethod
    def load(cls) -> None:
        """Import and compile the loops of the rule."""
        return

    @final
    def digest(self) -> str:
        """Return the SHA-256 of `header`, by which a checkpoint knows its problem."""
        return hashlib.sha256(json.dumps(self.header()).encode()).hexdigest()


class TreeLog(LogWriter):
    """Writer of the proof log of a `TreeSearch`: the problem, one record for each node, the claim and the seal."""

    def append(self, record: dict[str, Any]) -> None:
        """Append the record of a node."""
        self._file.write([record])

    def finish(self, bound: float, w: FloatArray) -> None:
        """Write the claimed bound, the incumbent and the seal."""
        self._seal({"bound": bound, "w": w.tolist()})


# Nodes as arrays, for files and messages.


def _packed(nodes: Sequence[Node], root: NodeArrays) -> dict[str, Any]:
    m = len(nodes)
    arrays: dict[str, Any] = {"bound": np.array([node.bound for node in nodes], dtype=np.float64)}
    arrays["origin"] = np.array([node.origin for node in nodes], dtype=np.int64).reshape(m, 2)
    for name, array in root.items():
        rows = [node.arrays[name] for node in nodes]
        arrays[f"part_{name}"] = np.array(rows, dtype=array.dtype).reshape(m, *array.shape)
    return arrays


def _unpacked(rule: BoundingRule[Any], arrays: Mapping[str, Any]) -> list[Node]:
    root, bounds, origins = rule.root(), arrays["bound"], arrays["origin"]
    m = len(bounds)
    shapes = {"bound": ((m,), np.float64), "origin": ((m, 2), np.int64)}
    shapes |= {f"part_{name}": ((m, *a.shape), a.dtype) for name, a in root.items()}
    valid = all(arrays[name].shape == shape and arrays[name].dtype == kind for name, (shape, kind) in shapes.items())
    if not valid or np.isnan(bounds).any() or (origins < 0).any():
        raise ValueError("its open nodes are not nodes of this problem")
    parts = [{name: np.array(arrays[f"part_{name}"][k]) for name in root} for k in range(m)]
    nodes = [Node(float(bounds[k]), parts[k], (int(origins[k, 0]), int(origins[k, 1]))) for k in range(m)]
    if not all(rule.accepts(node.arrays) for node in nodes):
        raise ValueError("its open nodes are not nodes of this problem")
    return nodes


@dataclass(frozen=True, eq=False)
class StoppedSearch:
    """An interrupted search, as its checkpoint holds it."""

    nodes: list[Node]  #: the open nodes
    w: FloatArray  #: (p,) the incumbent
    closed_bound: float  #: least bound of the nodes closed so far
    explored: int  #: number of processed nodes
    next_id: int  #: number of the next node in the log
    log: LogPosition | None = None  #: where the proof log ends


class SearchCheckpoint(Checkpoint[StoppedSearch]):
    """The checkpoint file of a `TreeSearch`."""

    numbers = ("layout", "tol", "closed", "explored")

    def __init__(self, path: str | os.PathLike[str], solver: str, rule: BoundingRule[Any], tol: float) -> None:
        super().__init__(path, rule.digest(), tol)
        self.solver, self._rule = solver, rule

    def parse(self, saved: CheckpointContent) -> StoppedSearch:
        """Return the interrupted search that a file's content describes."""
        w = np.array(saved.arrays["w"], dtype=np.float64)
        check_point(w, self._rule.first_point().size)
        nodes = _unpacked(self._rule, saved.arrays)
        return StoppedSearch(nodes, w, saved.numbers["closed"], int(saved.numbers["explored"]), saved.next_id, saved.log)


# Work of another process.


@dataclass(frozen=True, eq=False)
class Subproblem:
    """The message that makes a worker search some open nodes for a limited time."""

    rule: type[BoundingRule[Any]]  #: class of the bounding rule
    problem: Any  #: data of the rule
    nodes: TaskArrays  #: the open nodes
    w: FloatArray  #: (p,) the incumbent at the time of dispatch
    value: float  #: its objective
    tol: float  #: tolerance of the search
    seconds: float  #: time limit
    number: int  #: number of the subproblem; its nodes are numbered from ``number * NUMBERS_PER_SUBPROBLEM`` on
    logged: bool  #: whether the worker writes the records of its nodes


@dataclass(frozen=True, eq=False)
class SubproblemResult:
    """The result of a `Subproblem`."""

    nodes: list[Node]  #: the nodes that remain open
    w: FloatArray | None  #: (p,) a better point than the task's incumbent; None without one
    closed_bound: float  #: least bound of the nodes that the worker closed
    explored: int  #: number of nodes that the worker processed
    seconds: float  #: wall time of the worker
    processor_seconds: float  #: processor time of the worker
    log: bytes  #: lines of the proof log, compressed by zlib; empty without a log
    worker: str  #: name of the worker (`dispatcher.worker_name`)


def load_code(task: Subproblem, threads: int | None) -> None:
    """Import and compile the loops of the task's rule in a worker, which ignores ``threads``."""
    task.rule.load()


def solve_subproblem(task: Subproblem, threads: int | None) -> SubproblemResult:
    """Search the nodes of a subproblem until its time or its numbers are used up, with one thread whatever ``threads`` is."""
    start, processor_start = time.perf_counter(), time.thread_time()
    rule, lines = task.rule(task.problem), list[str]()
    nodes = _unpacked(rule, task.nodes.arrays)
    search = TreeSearch(rule, Incumbent(task.tol, task.value, task.w), nodes, task.number * NUMBERS_PER_SUBPROBLEM)
    if task.logged:
        search.record_listener = lambda record: lines.append(json.dumps(record) + "\n")
    while (
        not search.done
        and search.next_id < (task.number + 1) * NUMBERS_PER_SUBPROBLEM
        and time.perf_counter() - start < task.seconds
    ):
        search.process_node()
    better = search.incumbent.w if search.incumbent.value < task.value else None
    return SubproblemResult(
        search.open_nodes, better, search.closed_bound, search.explored,
        time.perf_counter() - start, time.thread_time() - processor_start,
        zlib.compress("".join(lines).encode(), 1) if lines else b"", worker_name(),
    )  # fmt: skip


class TreeSearch:
    """Best-first search over open nodes; with remote workers it is the pool of a `Dispatcher`.

    Parameters
    ----------
    rule : BoundingRule
        The rule that bounds and splits nodes.
    incumbent : Incumbent
        Updated by the search; without a value it begins at the rule's `first_point`.
    nodes : sequence of Node, optional
        Open nodes to continue with; the root by default.
    next_id : int
        Number of the next node in the log.

    Attributes
    ----------
    explored : int
        Number of processed nodes.
    closed_bound : float
        Least bound of the nodes closed so far.
    log : TreeLog or None
        The proof log.
    record_listener : callable or None
        Called with the record of each processed node.
    """

    def __init__(
        self, rule: BoundingRule[Any], incumbent: Incumbent, nodes: Sequence[Node] | None = None, next_id: int = 1
    ) -> None:
        self.rule, self.incumbent, self.next_id = rule, incumbent, next_id
        self.explored, self.closed_bound = 0, math.inf
        self.log: TreeLog | None = None
        self.record_listener: Callable[[dict[str, Any]], None] | None = None
        self._heap: list[tuple[float, int, Node]] = []
        self._sequence = itertools.count()
        self._dispatcher: Dispatcher | None = None
        self._distributed = False
        if incumbent.value == math.inf:
            rule.improve(rule.first_point(), incumbent)
        self._push([Node(rule.lower_bound, rule.root())] if nodes is None else nodes)
        self._node_bytes = _NODE_BYTES + sum(a.nbytes for a in rule.root().values())

    @classmethod
    def from_saved(cls, rule: BoundingRule[Any], tol: float, stopped: StoppedSearch | None) -> TreeSearch:
        """Return the search that continues an interrupted one, or begins at the root if ``stopped`` is None."""
        incumbent = Incumbent(tol)
        if stopped is None:
            return cls(rule, incumbent)
        incumbent.offer(stopped.w, rule.objective(stopped.w))
        search = cls(rule, incumbent, stopped.nodes, stopped.next_id)
        search.explored, search.closed_bound = stopped.explored, stopped.closed_bound
        return search

    def _dispatched_nodes(self) -> list[Node]:
        return [] if self._dispatcher is None else [node for nodes in self._dispatcher.in_progress.values() for node in nodes]

    @property
    def open_nodes(self) -> list[Node]:
        """The open nodes; those of subproblems in progress as they were dispatched."""
        return [*(node for *_, node in sorted(self._heap, key=lambda item: item[:2])), *self._dispatched_nodes()]

    @property
    def open_count(self) -> int:
        """The number of open nodes."""
        return len(self._heap) + len(self._dispatched_nodes())

    @property
    def bound(self) -> float:
        """The proved lower bound of the optimum."""
        dispatched_bound = min((node.bound for node in self._dispatched_nodes()), default=math.inf)
        value = self.incumbent.value
        rounded = value - _ROUNDING * abs(value) if value < math.inf else value
        return min(self.closed_bound, self._heap[0][0] if self._heap else math.inf, dispatched_bound, rounded)

    @property
    def done(self) -> bool:
        """True if no open node has a bound below the cutoff."""
        return not self.open_count or self.bound >= self.incumbent.cutoff

    @property
    def memory(self) -> float:
        """Approximate bytes of the open nodes, without those of subproblems in progress."""
        return len(self._heap) * self._node_bytes

    @property
    def workers(self) -> int:
        """The number of remote workers that have returned results."""
        return 0 if self._dispatcher is None else int(self._dispatcher.statistics()["workers"])

    def checkpoint_content(self, position: LogPosition | None) -> CheckpointContent:
        """Return the content of a checkpoint of the search as it is; ``position`` is the end of its log, None without one."""
        next_id = (
            self.next_id
            if self._dispatcher is None
            else max(self.next_id, (self._dispatcher.last_number + 1) * NUMBERS_PER_SUBPROBLEM)
        )
        arrays = {"w": self.incumbent.w, **_packed(self.open_nodes, self.rule.root())}
        return CheckpointContent({"closed": self.closed_bound, "explored": self.explored}, arrays, position, next_id)

    def process_node(self) -> None:
        """Process the open node of the least bound, or close it if its bound reaches the cutoff."""
        *_, node = heapq.heappop(self._heap)
        if node.bound >= self.incumbent.cutoff:
            self.closed_bound = min(self.closed_bound, node.bound)
            return
        number, self.next_id, self.explored = self.next_id, self.next_id + 1, self.explored + 1
        branching = self.rule.branch(node, self.incumbent)
        if self.record_listener is not None:
            self.record_listener({"id": number, "parent": node.origin[0], "side": node.origin[1], **branching.record})
        self.closed_bound = min(
            self.closed_bound, branching.closed_bound, math.inf if branching.children else max(branching.bound, node.bound)
        )
        self._push([
            Node(max(bound, branching.bound, node.bound), arrays, (number, side))
            for side, (bound, arrays) in enumerate(branching.children)
        ])  # fmt: skip

    def _push(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            heapq.heappush(self._heap, (node.bound, next(self._sequence), node))

    def work(self, seconds: float) -> None:
        """Process the next node or, once workers take part, exchange subproblems and results for at most ``seconds``."""
        if self._distributed:
            assert self._dispatcher is not None
            self._dispatcher.exchange(seconds)
            return
        self.process_node()
        if self._dispatcher is not None and self.explored >= PRELOAD_NODES:
            self._dispatcher.preload_workers(load_code, self.task(0, [], 0.0))
            self._dispatcher.exchange(0.0)
            self._distributed = self._dispatcher.has_ready_worker or self.explored >= DISPATCH_NODES

    def distribute(self, executor: AsynchronousExecutor) -> None:
        """Dispatch nodes to an executor's workers after `PRELOAD_NODES`, once one is ready or at `DISPATCH_NODES`."""
        self._dispatcher = Dispatcher(executor, self, solve_subproblem)
        self._dispatcher.last_number = self.next_id // NUMBERS_PER_SUBPROBLEM

    @property
    def queue_length(self) -> int:
        """The number of nodes to dispatch: 0 until the search is distributed."""
        return len(self._heap) if self._distributed else 0

    def take_nodes(self, limit: int) -> list[Node]:
        """Remove at most ``limit`` nodes with the least bounds from the pool and return them; close those at the cutoff."""
        nodes: list[Node] = []
        while self._heap and len(nodes) < limit:
            *_, node = heapq.heappop(self._heap)
            if node.bound < self.incumbent.cutoff:
                nodes.append(node)
            else:
                self.closed_bound = min(self.closed_bound, node.bound)
        return nodes

    def task(self, number: int, nodes: Sequence[Node], seconds: float) -> Subproblem:
        """Return the subproblem of these nodes as a message to a worker."""
        rule, best = self.rule, self.incumbent
        packed, logged = TaskArrays(_packed(nodes, rule.root())), self.log is not None
        return Subproblem(type(rule), rule.problem, packed, best.w, best.value, best.tol, seconds, number, logged)

    def check_result(self, result: SubproblemResult) -> None:
        """Raise ValueError, or another error of malformed data, unless this is a valid result of a task."""
        _unpacked(self.rule, _packed(result.nodes, self.rule.root()))
        check_numbers(result.closed_bound)
        check_numbers(result.explored, minimum=0)
        check_point(result.w, self.incumbent.w.size)
        check_worker_fields(result.seconds, result.processor_seconds, 0.0, result.worker)
        unpack_log_lines(result.log)

    def add_result(self, number: int, result: SubproblemResult) -> None:
        """Add the result of subproblem ``number``: its open nodes, its point with a recomputed value, its part of the proof."""
        if result.w is not None:
            self.incumbent.offer(result.w, self.rule.objective(result.w))
        self.closed_bound, self.explored = min(self.closed_bound, result.closed_bound), self.explored + result.explored
        self._push(result.nodes)
        if self.log is not None:
            self.log.merge(unpack_log_lines(result.log))

    def release(self) -> None:
        """Cancel the subproblems in progress; their nodes stay open."""
        if self._dispatcher is not None:
            self._dispatcher.release()
