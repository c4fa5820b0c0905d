"""The proof of a conflict search by a team: workers prove subtrees and write their lines, which are merged here."""

from __future__ import annotations

import os
import platform
import time
import zlib
from dataclasses import dataclass

from ...parallel.team import AsynchronousTeam
from ..proof.conflict_prover import ConflictProver, ProofNode, Wanted
from .desk import Desk
from .outcomes import check_numbers, check_state, check_work, lines_of
from .slices import NODES

__all__ = ["ProofParts"]

#: Nodes that are proved here before any is handed out: a short proof needs nobody else.
HEAD = 300


@dataclass(frozen=True, eq=False)
class ProofSlice:
    """Nodes to be proved in about ``seconds``; nodes and conflicts are called ``number * NODES`` and onwards."""

    wanted: Wanted
    nodes: list[ProofNode]
    seconds: float
    number: int


@dataclass(frozen=True, eq=False)
class Proved:
    """What came of a slice: nodes that remain, lines of the log, how many nodes they have."""

    nodes: list[ProofNode]
    lines: bytes
    count: int
    failed: bool
    seconds: float
    busy: float
    who: str

    def check(self, points: int) -> None:
        """Of this kind, about so many points; raises as `subtrees.outcomes` does."""
        for node in self.nodes:
            check_numbers(node.parent, node.side, node.extra, least=0.0)
            check_state(node.state, points)
        check_numbers(self.count, int(self.failed), least=0)
        check_work(self.seconds, self.busy, 0.0, self.who)
        lines_of(self.lines)


def prove_slice(task: ProofSlice, threads: int | None) -> Proved:
    """Work on a slice, with one thread."""
    begin, busy = time.perf_counter(), time.thread_time()
    prover = ConflictProver(task.wanted, task.number * NODES, numbered=True)
    # a state is changed in place, and the sender's belong to the sender
    prover.stack = [ProofNode(node.parent, node.side, node.state.copy(), node.extra) for node in reversed(task.nodes)]
    text = prover.work(task.seconds, most=NODES // 1000)
    left = [ProofNode(node.parent, node.side, node.state, node.extra) for node in prover.stack]
    who = f"{platform.node()}:{os.getpid()}"
    lines = zlib.compress(text.encode(), 1)
    return Proved(left, lines, prover.nodes, prover.failed, time.perf_counter() - begin, time.thread_time() - busy, who)


class ProofParts:
    """The open nodes of a proof, handed out.

    Parameters
    ----------
    wanted : Wanted
    prover : ConflictProver
        Proves the first nodes in this process.
    team : AsynchronousTeam
    """

    def __init__(self, wanted: Wanted, prover: ConflictProver, team: AsynchronousTeam) -> None:
        self._wanted, self._prover = wanted, prover
        self._desk = Desk(team, self, prove_slice)
        self._lines: list[str] = []
        self.nodes = 0

    @property
    def open_nodes(self) -> int:
        """Under way."""
        return sum(len(nodes) for nodes in self._desk.flying.values())

    @property
    def waiting(self) -> int:
        """Nodes that nobody has."""
        return len(self._prover.stack)

    def figures(self) -> dict[str, float]:
        """What the desk counted."""
        return {f"proof_{name}": value for name, value in self._desk.figures().items()}

    def work(self, seconds: float) -> str:
        """Prove here, then hand out and take in; lines of the log."""
        if self._prover.nodes < HEAD:
            return self._prover.work(seconds, HEAD - self._prover.nodes)
        self._desk.tend(seconds)
        text, self._lines = "".join(self._lines), []
        return text

    def drawn(self, most: int) -> list[ProofNode]:
        """The nodes nearest to the root: the largest subtrees."""
        stack = self._prover.stack
        drawn = [ProofNode(node.parent, node.side, node.state, node.extra) for node in stack[:most]]
        del stack[:most]
        return drawn

    def task(self, number: int, nodes: list[ProofNode], seconds: float) -> ProofSlice:
        """A slice as it travels."""
        return ProofSlice(self._wanted, nodes, seconds, number)

    def check(self, found: Proved) -> None:
        """That it is an outcome of a slice."""
        found.check(len(self._wanted.weights))

    def take_in(self, number: int, found: Proved) -> None:
        """Lines, and the nodes that remain."""
        self._lines.append(lines_of(found.lines))
        self.nodes += found.count
        self._prover.failed |= bool(found.failed)
        self._prover.stack += found.nodes
