"""The distributed proof of a conflict search: workers prove subtrees and write log lines, which this process merges."""

from __future__ import annotations

import os
import platform
import time
import zlib
from dataclasses import dataclass

from ...parallel.executor import AsynchronousExecutor
from ..proof.conflict_prover import ConflictProver, ProofGoal, ProofNode
from .dispatcher import Dispatcher
from .reply_checks import check_numbers, check_state, check_work, lines_of
from .subproblems import NODES

__all__ = ["ProofParts"]

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
        """Raise an error of `subtrees.outcomes` unless the result is well formed and about ``points`` points."""
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

    def check(self, found: ProofSubproblemResult) -> None:
        """Raise an error of malformed data unless ``found`` is a valid result."""
        found.check(len(self._wanted.weights))

    def take_in(self, number: int, found: ProofSubproblemResult) -> None:
        """Add a result: its log lines and its open nodes."""
        self._lines.append(lines_of(found.lines))
        self.nodes += found.count
        self._prover.failed |= bool(found.failed)
        self._prover.stack += found.nodes
