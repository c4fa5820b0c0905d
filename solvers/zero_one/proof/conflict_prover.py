"""The nodes of a proof by norm-conflicts, one after the other: in the process that writes the log, or in a worker.

Conflicts are written with multipliers that are whole numbers where those prove enough; nodes refer to them. A node proves by
packing conflicts that solutions of interest delete points of cost at least e among the free ones, deletes a point that is the
only free one of a conflict, and ends with a conflict of kept points or branches on a point. The compiled part is
`kernels.conflicts.prove`; ``docs/zero-one-bb.md`` has the rules.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....models.arrays import FloatArray
from ...interface.algorithm import clear, named_scalars
from ..reduced import ReducedZeroOneProblem
from .single_conflicts import ConflictFinder

__all__ = ["ConflictProver", "ProofGoal", "ProofNode", "copied", "empty_book"]

_FREE, _KEPT, _DELETED = -1, 0, 1
#: Conflicts that a node can find.
_BOOK = 512
#: Nodes after which a point's activity has faded by a tenth.
_FADE = 256


@dataclass(frozen=True, eq=False)
class ProofGoal:
    """The claim to be proved, in any process: no solution of interest is below ``cut``.

    Parameters
    ----------
    reduced : Reduced
    weights : ndarray (m,)
        What deletions cost: reduced weights, or whole numbers where they are counted.
    order : ndarray (m,)
        Hinge violations: larger first among the points to branch on.
    cut, budget, unit : float
        Reduced value (or squared norm); deletions that are allowed, infinite where they are paid; what a unit of weight is in the
        stated problem.
    """

    reduced: ReducedZeroOneProblem
    weights: FloatArray
    order: FloatArray
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
        from ..loops.conflicts import OPEN_LEAF, PROVED, prove

        clear(self._book.now)
        goal, finder = self._wanted, self._finder
        start = finder.start() if node.start is None else node.start
        state, extra, kept = node.state, np.array([node.extra]), copied(start)
        point = int(
            prove(
                finder.rows, finder.exact, goal.weights, goal.order, self._activity, finder.room, state, extra, kept,
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
            self._branch(ident, point, state, float(extra[0]), kept)
        elif point != PROVED:
            self.failed = True
        return [*lines, json.dumps(record) + "\n"]

    def _steps(self) -> tuple[list[Any], list[str]]:
        """A node's steps, and the lines of the conflicts that they use."""
        from ..loops.conflicts import CUT

        book, steps = self._book, []
        entries = int(book.now.entries)
        number: dict[int, int] = {}
        lines = []
        for at in book.entry[:entries].tolist():
            if at not in number:
                number[at] = self._conflicts
                self._conflicts += 1
                m = int(book.size[at])
                alpha = book.alpha[at, :m].tolist()
                if all(map(float.is_integer, alpha)):
                    alpha = list(map(int, alpha))
                # a list of numbers looks the same in JSON
                called = f', "number": {number[at]}' if self._numbered else ""
                lines.append(f'{{"conflict": {book.points[at, :m].tolist()}, "alpha": {alpha}{called}}}\n')
        numbers = [number[at] for at in book.entry[:entries].tolist()]
        # the unit is a power of 4, so that weights of the stated problem are exact; less by what sums may round
        less = 1.0 if math.isfinite(self._wanted.budget) else self._wanted.unit * (1.0 - 1e-12)
        shares = (book.entry_share[:entries] * less).tolist()
        for kind, first, last in book.steps[: int(book.now.steps)].tolist():
            if kind == CUT:
                steps.append(["cut", numbers[first]])
            else:
                steps.append(["pack", [[numbers[k], shares[k]] for k in range(first, last)]])
        return steps, lines

    def _branch(self, ident: int, point: int, state: Any, extra: float, kept: Any) -> None:
        """Two children: the point deleted, first, and kept."""
        deleted, held = state.copy(), state.copy()
        deleted[point], held[point] = _DELETED, _KEPT
        less = max(extra - float(self._wanted.weights[point]), 0.0)
        self.stack.append(ProofNode(ident, 1, held, extra, kept))
        self.stack.append(ProofNode(ident, 0, deleted, less, kept))


def empty_book(n: int, p: int) -> Any:
    """`kernels.conflicts.Book` for n points in p coordinates."""
    from ..loops.conflicts import BOOK, Book

    width, i64 = 2 * p + 6, np.int64
    return Book(
        np.zeros((_BOOK, width), i64), np.zeros((_BOOK, width)), np.zeros(_BOOK, i64), np.zeros(n + 1, i64), np.zeros(n + 1),
        np.zeros((4 * n + 64, 3), i64), np.zeros(32 * n + 256, i64), np.zeros(32 * n + 256), named_scalars(BOOK),
    )  # fmt: skip


def copied(active: Any) -> Any:
    """An S-pair that may be changed."""
    return type(active)(*(np.array(part) for part in active))
