"""The proof log of the conflict search: a pass after the search that proves the bound again and writes down why.

The tree need not be the search's: only the bound counts. `ConflictProver` has the nodes, `solvers.zero_one.check.conflicts`
verifies them. With a team, open nodes of the proof go to its workers, whose lines are merged.

A set S of points is a conflict at T if no w with ||w||² < T keeps all of it.

*The nodes of a proof by norm-conflicts, one after the other.* Conflicts are written with multipliers that are whole numbers
where those prove enough; nodes refer to them. A node proves by packing conflicts that solutions of interest delete points of
cost at least e among the free ones, deletes a point that is the only free one of a conflict, and ends with a conflict of kept
points or branches on a point. The compiled part is `solvers.zero_one.loops.conflicts.prove`;
``docs/explanation/zero-one-bb.md`` has the rules.
"""

from __future__ import annotations

import json
import math
import os
import platform
import time
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...models.arrays import FloatArray
from ..exact.dispatcher import NODES, Dispatcher, check_numbers, check_state, check_work, lines_of
from ..exact.log_file import LogFile, LogWriter
from ..interface.algorithm import clear, named_scalars
from ..parallel.executor import AsynchronousExecutor
from .incumbent import penalised_rows, stretched_rows
from .reduced import ReducedZeroOneProblem


class ConflictFinder:
    """The reduced points as the compiled kernels read them, with room for their work.

    Parameters
    ----------
    reduced : Reduced
    upper : float
        Reduced value (or squared norm) below which solutions are of interest: it bounds the intercept and the rounding errors.
    """

    def __init__(self, reduced: ReducedZeroOneProblem, upper: float) -> None:
        from .loops.conflicts import empty_workspace

        tau = reduced.thresholds(upper)
        self.rows = stretched_rows(reduced, tau, upper)
        self.exact = penalised_rows(reduced, tau)
        self.room = empty_workspace(len(tau), self.rows.a.shape[1], self.exact.a.shape[1])

    def start(self) -> Any:
        """The S-pair of no points."""
        from .loops.conflicts import no_active

        return no_active(self.rows.a.shape[1])

    def norm_of(self, active: Any) -> float:
        """The norm that an S-pair certifies."""
        from .loops.conflicts import certified_norm

        return float(certified_norm(active, self.rows.reach))


_FREE, _KEPT, _DELETED = -1, 0, 1
#: Conflicts that a node can find.
_BOOK = 512
#: Nodes after which a point's activity has faded by a tenth.
_FADE = 256


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


class ConflictProver:
    """Proves nodes depth-first and says why, in lines of a log.

    Parameters
    ----------
    wanted : Wanted
    first : int
        Number of the first node, and of the first conflict.
    numbered : bool
        Whether conflicts say their numbers, as they must where logs of several are merged.
    """

    def __init__(self, wanted: ProofGoal, first: int = 0, numbered: bool = False) -> None:
        self._wanted, self._numbered = wanted, numbered
        self._finder = ConflictFinder(wanted.reduced, wanted.cut)
        self._activity = np.zeros(len(wanted.weights))
        self._book = empty_book(*self._finder.rows.a.shape)
        self._ident = self._conflicts = first
        self.nodes = 0
        self.failed = False
        self.stack: list[ProofNode] = []

    def plant(self) -> None:
        """Begin at the root."""
        root = np.full(len(self._wanted.weights), _FREE, dtype=np.int8)
        if math.isinf(self._wanted.budget):
            root[self._wanted.weights >= self._wanted.cut] = _KEPT
        self.stack.append(ProofNode(-1, 0, root, 0.0))

    def work(self, seconds: float, most: int | None = None) -> str:
        """Prove on for about ``seconds``, ``most`` nodes at most; the lines of the nodes that are done."""
        end, lines, last = time.perf_counter() + seconds, list[str](), None if most is None else self.nodes + most
        while self.stack and not self.failed and self.nodes != last and time.perf_counter() < end:
            lines += self._process(self.stack.pop())
        return "".join(lines)

    def _process(self, node: ProofNode) -> list[str]:
        from .loops.conflicts import OPEN_LEAF, PROVED, prove

        clear(self._book.now)
        goal, finder = self._wanted, self._finder
        start = finder.start() if node.start is None else node.start
        state, extra, start_copy = node.state, np.array([node.extra]), copied(start)
        point = int(
            prove(
                finder.rows, finder.exact, goal.weights, goal.order, self._activity, finder.room, state, extra, start_copy,
                self._book, goal.cut, goal.budget,
            )
        )  # fmt: skip
        ident = self._ident
        self._ident += 1
        self.nodes += 1
        if self.nodes % _FADE == 0:
            self._activity *= 0.9
        steps, lines = self._steps()
        record: dict[str, Any] = {"id": ident, "parent": node.parent, "side": node.side, "steps": steps}
        if point == OPEN_LEAF:
            # rounding hid the conflict, as the bound is proved; any free point is as good
            free = np.flatnonzero(state == _FREE)
            point = int(free[0]) if free.size else OPEN_LEAF
            self.failed = not free.size
        if point >= 0:
            record["split"] = [-1, [point]]
            self._branch(ident, point, state, float(extra[0]), start_copy)
        elif point != PROVED:
            self.failed = True
        return [*lines, json.dumps(record) + "\n"]

    def _steps(self) -> tuple[list[Any], list[str]]:
        """A node's steps, and the lines of the conflicts that they use."""
        from .loops.conflicts import CUT

        book, steps = self._book, []
        entries = int(book.now.entries)
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
        less = 1.0 if math.isfinite(self._wanted.budget) else self._wanted.unit * (1.0 - 1e-12)
        shares = (book.entry_share[:entries] * less).tolist()
        for kind, first, last in book.steps[: int(book.now.steps)].tolist():
            if kind == CUT:
                steps.append(["cut", numbers[first]])
            else:
                steps.append(["pack", [[numbers[k], shares[k]] for k in range(first, last)]])
        return steps, lines

    def _branch(self, ident: int, point: int, state: Any, extra: float, start: Any) -> None:
        """Two children: the point deleted, first, and kept."""
        deleted, demanded = state.copy(), state.copy()
        deleted[point], demanded[point] = _DELETED, _KEPT
        less = max(extra - float(self._wanted.weights[point]), 0.0)
        self.stack.append(ProofNode(ident, 1, demanded, extra, start))
        self.stack.append(ProofNode(ident, 0, deleted, less, start))


def empty_book(n: int, p: int) -> Any:
    """`kernels.conflicts.Book` for n points in p coordinates."""
    from .loops.conflicts import BOOK, Book

    width, i64 = 2 * p + 6, np.int64
    return Book(
        np.zeros((_BOOK, width), i64), np.zeros((_BOOK, width)), np.zeros(_BOOK, i64), np.zeros(n + 1, i64), np.zeros(n + 1),
        np.zeros((4 * n + 64, 3), i64), np.zeros(32 * n + 256, i64), np.zeros(32 * n + 256), named_scalars(BOOK),
    )  # fmt: skip


def copied(active: Any) -> Any:
    """An S-pair that may be changed."""
    return type(active)(*(np.array(part) for part in active))


#: Number of nodes proved in this process before nodes are dispatched, so that short proofs stay local.
HEAD = 300


@dataclass(frozen=True, eq=False)
class ProofSubproblem:
    """A subproblem of the proof: open nodes and a time limit. Its nodes and conflicts have numbers from ``number * NODES`` on."""

    wanted: ProofGoal
    nodes: list[ProofNode]
    seconds: float
    number: int


@dataclass(frozen=True, eq=False)
class ProofSubproblemResult:
    """The result of a subproblem of the proof: open nodes, log lines, number of nodes, and the worker's times."""

    nodes: list[ProofNode]
    lines: bytes
    count: int
    failed: bool
    seconds: float
    busy: float
    who: str

    def check(self, points: int) -> None:
        """Raise ValueError unless the result is well formed and about ``points`` points."""
        for node in self.nodes:
            check_numbers(node.parent, node.side, node.extra, least=0.0)
            check_state(node.state, points)
        check_numbers(self.count, int(self.failed), least=0)
        check_work(self.seconds, self.busy, 0.0, self.who)
        lines_of(self.lines)


def prove_subproblem(task: ProofSubproblem, threads: int | None) -> ProofSubproblemResult:
    """Prove a subproblem with one thread."""
    start, processor_start = time.perf_counter(), time.thread_time()
    prover = ConflictProver(task.wanted, task.number * NODES, numbered=True)
    # the prover changes states in place, so it works on copies
    prover.stack = [ProofNode(node.parent, node.side, node.state.copy(), node.extra) for node in reversed(task.nodes)]
    text = prover.work(task.seconds, most=NODES // 1000)
    open_nodes = [ProofNode(node.parent, node.side, node.state, node.extra) for node in prover.stack]
    worker = f"{platform.node()}:{os.getpid()}"
    lines = zlib.compress(text.encode(), 1)
    return ProofSubproblemResult(
        open_nodes, lines, prover.nodes, prover.failed, time.perf_counter() - start, time.thread_time() - processor_start, worker
    )


class ProofParts:
    """The open nodes of a proof as a pool for the dispatcher.

    Parameters
    ----------
    wanted : Wanted
    prover : ConflictProver
        Prover of the first nodes, in this process, and stack of the pool.
    team : AsynchronousTeam
    """

    def __init__(self, wanted: ProofGoal, prover: ConflictProver, team: AsynchronousExecutor) -> None:
        self._wanted, self._prover = wanted, prover
        self._dispatcher = Dispatcher(team, self, prove_subproblem)
        self._lines: list[str] = []
        self.nodes = 0

    @property
    def open_nodes(self) -> int:
        """Number of nodes in subproblems in progress."""
        return sum(len(nodes) for nodes in self._dispatcher.flying.values())

    @property
    def waiting(self) -> int:
        """Number of nodes in the pool."""
        return len(self._prover.stack)

    def figures(self) -> dict[str, float]:
        """Return the counts of the dispatcher."""
        return {f"proof_{name}": value for name, value in self._dispatcher.figures().items()}

    def work(self, seconds: float) -> str:
        """Prove nodes in this process at first, then exchange subproblems and results; return the new log lines."""
        if self._prover.nodes < HEAD:
            return self._prover.work(seconds, HEAD - self._prover.nodes)
        self._dispatcher.tend(seconds)
        text, self._lines = "".join(self._lines), []
        return text

    def drawn(self, most: int) -> list[ProofNode]:
        """Remove at most ``most`` nodes nearest to the root from the pool, which have the largest subtrees, and return them."""
        stack = self._prover.stack
        nodes = [ProofNode(node.parent, node.side, node.state, node.extra) for node in stack[:most]]
        del stack[:most]
        return nodes

    def task(self, number: int, nodes: list[ProofNode], seconds: float) -> ProofSubproblem:
        """Return the subproblem of these nodes as a message to a worker."""
        return ProofSubproblem(self._wanted, nodes, seconds, number)

    def check(self, outcome: ProofSubproblemResult) -> None:
        """Raise an error of malformed data unless ``outcome`` is a valid result."""
        outcome.check(len(self._wanted.weights))

    def take_in(self, number: int, outcome: ProofSubproblemResult) -> None:
        """Add a result: its log lines and its open nodes."""
        self._lines.append(lines_of(outcome.lines))
        self.nodes += outcome.count
        self._prover.failed |= bool(outcome.failed)
        self._prover.stack += outcome.nodes


#: Share of the claimed bound that is left to rounding: the pass proves half of it more than the log claims.
_SLACK = 1e-9


class ConflictRecorder(LogWriter):
    """Proves ``bound`` (stated) in slices of time and writes the log.

    Parameters
    ----------
    path : str
    reduced : Reduced
    bound : float
        What the search has proved.
    order : ndarray (m,)
        Hinge violations: larger first among the points to branch on.
    budget : int, optional
        The cardinality form: at most this many points are violated, and ``bound`` is one of the squared norm; ``reduced`` has
        weights of one.
    gap : float
        The log claims ``bound`` (1 - gap): a little less is proved much sooner.
    team : AsynchronousTeam, optional
        Workers that prove subtrees.
    """

    def __init__(
        self,
        path: str,
        reduced: ReducedZeroOneProblem,
        bound: float,
        order: FloatArray,
        budget: int | None = None,
        gap: float = 0.0,
        team: AsynchronousExecutor | None = None,
    ) -> None:
        problem, bound = reduced.problem, bound * (1.0 - gap)
        header: dict[str, Any] = {
            "format": "marginopt-zero-one-proof",
            "version": 4 if team is None else 5,
            "kind": "conflicts",
            "A": problem.A.tolist(),
            "weights": problem.weights.tolist(),
            "penalised": problem.penalised.tolist(),
            "member": reduced.member.tolist(),
        }
        super().__init__(LogFile(path), header if budget is None else header | {"kind": "budget", "budget": budget})
        self._claim = bound * (1.0 - _SLACK)
        cut = (bound * (1.0 - 0.5 * _SLACK) - (reduced.constant if budget is None else 0.0)) / reduced.unit
        allowed = math.inf if budget is None else float(budget) - reduced.constant
        weights, unit = reduced.weights, reduced.unit
        if budget is not None:
            weights, unit = np.rint(reduced.weights * reduced.unit), 1.0
        goal = ProofGoal(reduced, weights, np.ascontiguousarray(order, dtype=np.float64), cut, allowed, unit)
        self._prover: ConflictProver | None = None
        self._parts: ProofParts | None = None
        if cut > 0.0 and len(weights) and allowed >= 0.0:
            self._prover = ConflictProver(goal, numbered=team is not None)
            self._prover.plant()
            if team is not None:
                self._parts = ProofParts(goal, self._prover, team)

    @property
    def nodes(self) -> int:
        """Nodes that are proved."""
        return (0 if self._prover is None else self._prover.nodes) + (0 if self._parts is None else self._parts.nodes)

    @property
    def failed(self) -> bool:
        """Return whether a node could not be proved."""
        return self._prover is not None and self._prover.failed

    @property
    def open_nodes(self) -> int:
        """Nodes that remain."""
        return (0 if self._prover is None else len(self._prover.stack)) + (0 if self._parts is None else self._parts.open_nodes)

    @property
    def finished(self) -> bool:
        """Return whether everything is proved, or cannot be."""
        return self.failed or not self.open_nodes

    @property
    def succeeded(self) -> bool:
        """Return whether everything is proved."""
        return self.finished and not self.failed

    def figures(self) -> dict[str, float]:
        """Return the figures of the team's work."""
        return {} if self._parts is None else self._parts.figures()

    def work(self, seconds: float) -> None:
        """Prove on for about ``seconds``."""
        end = time.perf_counter() + seconds
        while not self.finished and self.fault is None and (remaining := end - time.perf_counter()) > 0.0:
            assert self._prover is not None
            self._file.write_text(self._prover.work(min(remaining, 0.1)) if self._parts is None else self._parts.work(remaining))

    def finish(self, w: FloatArray | None) -> float:
        """Write the claim and the incumbent; returns the claimed bound, 0 where the pass did not come to its end."""
        claimed = max(self._claim, 0.0) if self.succeeded else 0.0
        self._seal({"bound": claimed, "w": None if w is None else w.tolist()})
        return claimed
