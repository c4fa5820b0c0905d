"""Proof logs of the conflict search of `zero-one-bb`, written by a second search that proves a known bound.

The tree need not be the search's: only the bound counts. `ConflictProver` has the nodes, `solvers.zero_one.check.conflicts`
verifies them. With a team, open nodes of the proof go to its workers, whose lines are merged.

A set S of points is a *conflict* at T if no w with ||w||² < T keeps all of it (margins of at least 1), so that each better
solution violates one of its points.

*The nodes of a proof by norm-conflicts, one after the other.* Conflicts are written with multipliers that are whole numbers
where those prove enough; nodes refer to them. A node proves by packing conflicts that solutions of interest delete points of
cost at least e among the free ones, deletes a point that is the only free one of a conflict, and ends with a conflict of kept
points or branches on a point. The compiled part is `solvers.zero_one.loops.conflict_proof.prove`;
``docs/explanation/zero-one-bb.md`` has the rules.

The node of the least bound is next, so that a pass that a limit ends still proves the least bound of its open nodes.
"""

from __future__ import annotations

import heapq
import json
import math
import os
import platform
import time
import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...models.arrays import FloatArray
from ..exact.dispatcher import NODES, Dispatcher, check_numbers, check_state, check_work, lines_of
from ..exact.log_file import LogFile, LogWriter
from ..interface.algorithm import clear, named_scalars
from ..parallel.executor import AsynchronousExecutor
from .box_log import SLACK, log_header
from .incumbent import penalised_rows, stretched_rows
from .reduced import ReducedZeroOneProblem

FREE, KEPT, DELETED = -1, 0, 1
#: Nodes after which a point's activity has faded by a tenth.
_FADE = 256


class ConflictFinder:
    """The reduced points as the compiled kernels read them, with room for their work, and the conflicts of the last node.

    Parameters
    ----------
    reduced : ReducedZeroOneProblem
    upper : float
        Reduced value (or squared norm) below which solutions are of interest: it bounds the intercept and the rounding errors.
    weights : ndarray (m,)
        What deletions cost.
    order : ndarray (m,)
        Branching priorities of the points.
    budget : float
        Deletions that are allowed; infinite where they are paid.
    """

    def __init__(
        self, reduced: ReducedZeroOneProblem, upper: float, weights: FloatArray, order: FloatArray, budget: float
    ) -> None:
        from .loops.conflict_records import empty_workspace

        tau = reduced.thresholds(upper)
        self._rows, self._exact = stretched_rows(reduced, tau, upper), penalised_rows(reduced, tau)
        self._weights, self._order, self._budget = weights, order, budget
        self._activity, self._visits = np.zeros(len(tau)), 0
        n, self.width = self._rows.a.shape
        self._workspace, self.book = empty_workspace(n, self.width, self._exact.a.shape[1]), _empty_book(n, self.width)

    def prove(self, state: Any, extra: FloatArray, start: Any, cut: float) -> int:
        """Process a node at a cutoff: change states, deletion cost and S-pair in place, and return the code of `prove`."""
        from .loops.conflict_proof import prove

        clear(self.book.scalars)
        return int(
            prove(
                self._rows, self._exact, self._weights, self._order, self._activity, self._workspace, state, extra, start,
                self.book, cut, self._budget,
            )
        )  # fmt: skip

    def count_node(self) -> None:
        """Count a node: activities fade with their number."""
        self._visits += 1
        if self._visits % _FADE == 0:
            self._activity *= 0.9

    def split(self, state: Any, extra: float, point: int) -> tuple[tuple[Any, float], tuple[Any, float]]:
        """Return the states, and the cost of further deletions, where a free point is deleted, and where it is kept."""
        deleted, demanded = state.copy(), state.copy()
        deleted[point], demanded[point] = DELETED, KEPT
        return (deleted, max(extra - float(self._weights[point]), 0.0)), (demanded, extra)

    def start(self) -> Any:
        """Return an S-pair of the dual active-set method (points, multipliers and the w that they define) without points."""
        from .loops.conflict_records import no_active

        return no_active(self.width)

    def norm_of(self, active: Any) -> float:
        """Return the lower bound of ||w||² that the multipliers of an S-pair prove."""
        from .loops.active_set import certified_norm

        return float(certified_norm(active, self._rows.intercept_bound))


#: Conflicts that a node can find.
_BOOK = 512
#: Bytes of open nodes beyond which the newest node is next.
_MAX_BYTES = 2**27
#: Share of a norm that rounding may take when an open node is closed at its own bound.
_NORM_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class ProofGoal:
    """The claim to be proved, in any process: no solution of interest is below ``cut``."""

    reduced: ReducedZeroOneProblem
    weights: FloatArray  #: (m,) what deletions cost: reduced weights, or whole numbers where they are counted
    order: FloatArray  #: (m,) hinge violations: larger first among the points to branch on
    #: reduced value (or squared norm); deletions that are allowed, infinite where they are paid; what a unit of weight is in the
    #: stated problem
    cut: float
    budget: float
    unit: float


@dataclass(frozen=True, eq=False)
class ProofNode:
    """A node that is not proved yet: whose child it is, the points' states, the proved cost of further deletions."""

    parent: int
    side: int
    state: Any
    extra: float
    start: Any = None  #: the kept points' S-pair, where it is known
    bound: float = 0.0  #: reduced value (or squared norm) of the node's solutions, from below


class ConflictProver:
    """Proves nodes, the one of the least bound first, and says why, in lines of a log.

    Parameters
    ----------
    goal : ProofGoal
    first : int
        Number of the first node, and of the first conflict.
    numbered : bool
        Whether conflicts say their numbers, as they must where logs of several are merged.

    Attributes
    ----------
    stuck : list of ProofNode
        Nodes without free points that rounding keeps open.
    """

    def __init__(self, goal: ProofGoal, first: int = 0, numbered: bool = False) -> None:
        self._goal, self._numbered = goal, numbered
        self._finder = ConflictFinder(goal.reduced, goal.cut, goal.weights, goal.order, goal.budget)
        self._ident = self._conflicts = first
        self._pushes = self._bytes = 0
        self._heap: list[tuple[float, int, ProofNode]] = []
        self.nodes = 0
        self.stuck: list[ProofNode] = []

    @property
    def waiting(self) -> int:
        """Number of nodes to process."""
        return len(self._heap)

    @property
    def open_nodes(self) -> list[ProofNode]:
        """Nodes to process, in no order."""
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
        """Begin at the root."""
        root = np.full(len(self._goal.weights), FREE, dtype=np.int8)
        if math.isinf(self._goal.budget):
            root[self._goal.weights >= self._goal.cut] = KEPT
        self.push(ProofNode(-1, 0, root, 0.0))

    def work(self, seconds: float, node_limit: int | None = None) -> str:
        """Prove on for about ``seconds``, ``node_limit`` nodes at most; the lines of the nodes that are done."""
        end, lines, last = time.perf_counter() + seconds, list[str](), None if node_limit is None else self.nodes + node_limit
        while self._heap and self.nodes != last and time.perf_counter() < end:
            lines += self._process(self.pop())
        return "".join(lines)

    def _process(self, node: ProofNode) -> list[str]:
        from .loops.conflict_proof import OPEN_LEAF, PROVED

        point, state, extra, start = self._proved(node, self._goal.cut)
        self.nodes += 1
        self._finder.count_node()
        bound = max(node.bound, min(self._paid(state, extra) + self._finder.norm_of(start), self._goal.cut))
        if point == OPEN_LEAF:
            # rounding hid the conflict, as the bound is proved; any free point is as good
            free = np.flatnonzero(state == FREE)
            if not free.size:
                self.stuck.append(replace(node, bound=bound))
                return []
            point = int(free[0])
        steps, lines = self._steps()
        ident, record = self._record(node, steps)
        if point != PROVED:
            record["split"] = [-1, [point]]
            self._branch(ident, point, state, extra, start, bound)
        return [*lines, json.dumps(record) + "\n"]

    def _proved(self, node: ProofNode, cut: float) -> tuple[int, Any, float, Any]:
        """Return the code of `prove` at a cutoff, the states after it, the cost of further deletions and the S-pair."""
        start = copied(self._finder.start() if node.start is None else node.start)
        state, extra = node.state.copy(), np.array([node.extra])
        code = self._finder.prove(state, extra, start, cut)
        return code, state, float(extra[0]), start

    def _paid(self, state: Any, extra: float) -> float:
        """Return what a node's solutions pay for deletions, from below."""
        return float(self._goal.weights[state == DELETED].sum()) + extra if math.isinf(self._goal.budget) else 0.0

    def _record(self, node: ProofNode, steps: list[Any]) -> tuple[int, dict[str, Any]]:
        ident = self._ident
        self._ident += 1
        return ident, {"id": ident, "parent": node.parent, "side": node.side, "steps": steps}

    def closed(self, node: ProofNode) -> tuple[list[str], float]:
        """Return the lines of an open node that ends at a bound of its own, and that bound."""
        from .loops.conflict_proof import CUT, PROVED

        bound = node.bound * (1.0 - _NORM_SLACK)
        code = self._proved(node, bound)[0]
        book = self._finder.book
        count, kind = int(book.scalars.steps), int(book.steps[0, 0])
        if code == PROVED and (count == 0 or (count == 1 and kind == CUT)):
            steps, lines = self._steps()
        else:  # rounding hid the conflict of the kept points: deletions alone
            steps, lines, bound = [], [], self._paid(node.state, node.extra)
        _, record = self._record(node, [])
        return [*lines, json.dumps(record | {"open": [number for _, number in steps]}) + "\n"], bound

    def _steps(self) -> tuple[list[Any], list[str]]:
        """Return the last node's steps, and the lines of the conflicts that they use."""
        from .loops.conflict_proof import CUT

        book, steps = self._finder.book, []
        entries = int(book.scalars.entries)
        number: dict[int, int] = {}
        lines = []
        for entry_place in book.entry[:entries].tolist():
            if entry_place not in number:
                number[entry_place] = self._conflicts
                self._conflicts += 1
                m = int(book.size[entry_place])
                alpha = book.alpha[entry_place, :m].tolist()
                if all(map(float.is_integer, alpha)):
                    alpha = list(map(int, alpha))
                # a list of numbers looks the same in JSON
                called = f', "number": {number[entry_place]}' if self._numbered else ""
                lines.append(f'{{"conflict": {book.points[entry_place, :m].tolist()}, "alpha": {alpha}{called}}}\n')
        numbers = [number[entry_place] for entry_place in book.entry[:entries].tolist()]
        # the unit is a power of 4, so that weights of the stated problem are exact; less by what sums may round
        unit = 1.0 if math.isfinite(self._goal.budget) else self._goal.unit * (1.0 - 1e-12)
        shares = (book.entry_share[:entries] * unit).tolist()
        for kind, first, last in book.steps[: int(book.scalars.steps)].tolist():
            if kind == CUT:
                steps.append(["cut", numbers[first]])
            else:
                steps.append(["pack", [[numbers[k], shares[k]] for k in range(first, last)]])
        return steps, lines

    def _branch(self, ident: int, point: int, state: Any, extra: float, start: Any, bound: float) -> None:
        """Push the two children: the point deleted, and kept."""
        deleted, demanded = self._finder.split(state, extra, point)
        self.push(ProofNode(ident, 1, *demanded, start, bound))
        self.push(ProofNode(ident, 0, *deleted, start, bound))


def _empty_book(n: int, p: int) -> Any:
    """Return an empty `loops.conflict_proof.Book` for n points in p coordinates."""
    from .loops.conflict_proof import BOOK, Book

    width, i64 = 2 * p + 6, np.int64
    return Book(
        np.zeros((_BOOK, width), i64), np.zeros((_BOOK, width)), np.zeros(_BOOK, i64), np.zeros(n + 1, i64), np.zeros(n + 1),
        np.zeros((4 * n + 64, 3), i64), np.zeros(32 * n + 256, i64), np.zeros(32 * n + 256), named_scalars(BOOK),
    )  # fmt: skip


def _bytes_of(node: ProofNode) -> int:
    return int(node.state.nbytes) + (0 if node.start is None else sum(int(part.nbytes) for part in node.start) // 2)


def copied(active: Any) -> Any:
    """Return a copy of an S-pair."""
    return type(active)(*(np.array(part) for part in active))


#: Number of nodes proved in this process before nodes are dispatched, so that short proofs stay local.
HEAD = 300


@dataclass(frozen=True, eq=False)
class ProofSubproblem:
    """A subproblem of the proof: open nodes and a time limit. Its nodes and conflicts have numbers from ``number * NODES`` on."""

    goal: ProofGoal
    nodes: list[ProofNode]
    seconds: float
    number: int


@dataclass(frozen=True, eq=False)
class ProofSubproblemResult:
    """The result of a subproblem of the proof: open nodes, stuck ones, log lines, number of nodes, and the worker's times."""

    nodes: list[ProofNode]
    stuck: list[ProofNode]
    lines: bytes
    count: int
    seconds: float
    busy_seconds: float
    worker: str


def prove_subproblem(task: ProofSubproblem, threads: int | None) -> ProofSubproblemResult:
    """Prove a subproblem with one thread."""
    start, processor_start = time.perf_counter(), time.thread_time()
    prover = ConflictProver(task.goal, task.number * NODES, numbered=True)
    for node in task.nodes:
        prover.push(node)
    text = prover.work(task.seconds, node_limit=NODES // 1000)
    open_nodes, stuck = _sent(prover.open_nodes), _sent(prover.stuck)
    worker = f"{platform.node()}:{os.getpid()}"
    lines = zlib.compress(text.encode(), 1)
    return ProofSubproblemResult(
        open_nodes, stuck, lines, prover.nodes, time.perf_counter() - start, time.thread_time() - processor_start, worker
    )


def _sent(nodes: list[ProofNode]) -> list[ProofNode]:
    """Return nodes as messages, without their S-pairs."""
    return [replace(node, start=None) for node in nodes]


class ProofParts:
    """The open nodes of a proof as a pool for the dispatcher.

    Parameters
    ----------
    goal : ProofGoal
    prover : ConflictProver
        Prover of the first nodes, in this process, and stack of the pool.
    executor : AsynchronousExecutor
    """

    def __init__(self, goal: ProofGoal, prover: ConflictProver, executor: AsynchronousExecutor) -> None:
        self._goal, self._prover = goal, prover
        self._dispatcher = Dispatcher(executor, self, prove_subproblem)
        self._lines: list[str] = []
        self.nodes = 0

    @property
    def open_nodes(self) -> list[ProofNode]:
        """Nodes in subproblems in progress."""
        return [node for nodes in self._dispatcher.flying.values() for node in nodes]

    @property
    def waiting(self) -> int:
        """Number of nodes in the pool."""
        return self._prover.waiting

    def figures(self) -> dict[str, float]:
        """Return the counts of the dispatcher."""
        return {f"proof_{name}": value for name, value in self._dispatcher.figures().items()}

    def work(self, seconds: float) -> str:
        """Prove nodes in this process at first, then exchange subproblems and results; return the new log lines."""
        if self._prover.nodes < HEAD:
            return self._prover.work(seconds, HEAD - self._prover.nodes)
        self._dispatcher.exchange(seconds)
        text, self._lines = "".join(self._lines), []
        return text

    def take_nodes(self, limit: int) -> list[ProofNode]:
        """Remove at most ``limit`` nodes of the least bounds from the pool, and return them."""
        return _sent([self._prover.pop() for _ in range(min(limit, self._prover.waiting))])

    def task(self, number: int, nodes: list[ProofNode], seconds: float) -> ProofSubproblem:
        """Return the subproblem of these nodes as a message to a worker."""
        return ProofSubproblem(self._goal, nodes, seconds, number)

    def check(self, outcome: ProofSubproblemResult) -> None:
        """Raise an error of malformed data unless the result is well formed and about the problem's points."""
        for node in (*outcome.nodes, *outcome.stuck):
            check_numbers(node.parent, node.side, node.extra, node.bound, minimum=0.0)
            check_state(node.state, len(self._goal.weights))
        check_numbers(outcome.count, minimum=0)
        check_work(outcome.seconds, outcome.busy_seconds, 0.0, outcome.worker)
        lines_of(outcome.lines)

    def add_result(self, number: int, outcome: ProofSubproblemResult) -> None:
        """Add a result: its log lines and its open nodes."""
        self._lines.append(lines_of(outcome.lines))
        self.nodes += outcome.count
        self._prover.stuck += outcome.stuck
        for node in outcome.nodes:
            self._prover.push(node)


class ConflictRecorder(LogWriter):
    """Proves ``bound`` (stated) in slices of time and writes the log.

    A pass that ends early claims the least bound of its open nodes.

    Parameters
    ----------
    path : str
    reduced : ReducedZeroOneProblem
    bound : float
        What the search has proved.
    order : ndarray (m,)
        Hinge violations: larger first among the points to branch on.
    budget : int, optional
        The cardinality form: at most this many points are violated, and ``bound`` is one of the squared norm; ``reduced`` has
        weights of one.
    gap : float
        The log claims ``bound`` (1 - gap): a little less is proved much sooner.
    executor : AsynchronousExecutor, optional
        Workers that prove subtrees.

    Attributes
    ----------
    prover : ConflictProver or None
        Prover of the nodes in this process; None where the bound needs no tree.
    """

    def __init__(
        self,
        path: str,
        reduced: ReducedZeroOneProblem,
        bound: float,
        order: FloatArray,
        budget: int | None = None,
        gap: float = 0.0,
        executor: AsynchronousExecutor | None = None,
    ) -> None:
        header = log_header(reduced.problem, 4 if executor is None else 5, "conflicts" if budget is None else "budget")
        header |= {"member": reduced.member.tolist()} | ({} if budget is None else {"budget": budget})
        super().__init__(LogFile(path), header)
        bound = bound * (1.0 - gap)
        self._claim = bound * (1.0 - SLACK)
        self._unit, self._constant = reduced.unit, reduced.constant if budget is None else 0.0
        cut = (bound * (1.0 - 0.5 * SLACK) - self._constant) / reduced.unit  # proves half of the slack more than the log claims
        allowed = math.inf if budget is None else float(budget) - reduced.constant
        weights, unit = reduced.weights, reduced.unit
        if budget is not None:
            weights, unit = np.rint(reduced.weights * reduced.unit), 1.0
        goal = ProofGoal(reduced, weights, np.ascontiguousarray(order, dtype=np.float64), cut, allowed, unit)
        self.prover: ConflictProver | None = None
        self._parts: ProofParts | None = None
        if cut > 0.0 and len(weights) and allowed >= 0.0:
            self.prover = ConflictProver(goal, numbered=executor is not None)
            self.prover.start_search()
            if executor is not None:
                self._parts = ProofParts(goal, self.prover, executor)

    @property
    def nodes(self) -> int:
        """Nodes that are proved."""
        return (0 if self.prover is None else self.prover.nodes) + (0 if self._parts is None else self._parts.nodes)

    @property
    def _open_nodes(self) -> list[ProofNode]:
        if self.prover is None:
            return []
        return [*self.prover.open_nodes, *([] if self._parts is None else self._parts.open_nodes)]

    @property
    def _stuck(self) -> list[ProofNode]:
        return [] if self.prover is None else self.prover.stuck

    @property
    def finished(self) -> bool:
        """Return whether no node remains that can be proved."""
        return self.prover is None or not (self.prover.waiting or (self._parts is not None and self._parts.open_nodes))

    @property
    def provable(self) -> float:
        """The bound that a log of the nodes so far proves."""
        remaining = [*self._open_nodes, *self._stuck]
        return self._stated(min(node.bound for node in remaining)) if remaining else max(self._claim, 0.0)

    def _stated(self, bound: float) -> float:
        return max(min((bound * self._unit + self._constant) * (1.0 - SLACK), self._claim), 0.0)

    def figures(self) -> dict[str, float]:
        """Return the figures of the team's work."""
        return {} if self._parts is None else self._parts.figures()

    def work(self, seconds: float) -> None:
        """Prove on for about ``seconds``."""
        end = time.perf_counter() + seconds
        while not self.finished and self.write_error is None and (remaining := end - time.perf_counter()) > 0.0:
            assert self.prover is not None
            self._file.write_text(self.prover.work(min(remaining, 0.1)) if self._parts is None else self._parts.work(remaining))

    def finish(self, w: FloatArray | None) -> float:
        """Write the claim and the incumbent; return the claimed bound. Open nodes end at bounds of their own."""
        claim: dict[str, Any] = {"bound": self.provable, "w": None if w is None else w.tolist()}
        remaining = [*self._open_nodes, *self._stuck]
        if remaining and claim["bound"] > 0.0:
            assert self.prover is not None
            closed = [self.prover.closed(node) for node in remaining]
            self._file.write_text("".join(line for lines, _ in closed for line in lines))
            claim |= {"bound": self._stated(min(bound for _, bound in closed)), "target": self._claim}
        self._seal(claim)
        return float(claim["bound"])
