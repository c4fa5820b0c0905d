"""The proof log of the conflict search: a pass after the search that proves the bound again and writes down why.

The tree need not be the search's: only the bound counts. Conflicts are written with multipliers that are whole numbers where
those prove enough; nodes refer to them. A node proves by packing conflicts that solutions of interest delete points of cost at
least e among the free ones, deletes a point that is the only free one of a conflict, and ends with a conflict of kept points or
branches on a point. The compiled part is `kernels.conflicts.prove`; ``docs/zero-one-bb.md`` has the rules, and `check_conflicts`
verifies them.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....errors import WriteError
from ....models.arrays import FloatArray
from ...records.named_scalars import clear, named_scalars
from ..reduced import Reduced
from .log_file import LogFile
from .single_conflicts import ConflictFinder

__all__ = ["ConflictRecorder", "copied", "empty_book"]

_FREE, _KEPT, _DELETED = -1, 0, 1
#: Share of the claimed bound that is left to rounding: the pass proves half of it more than the log claims.
_SLACK = 1e-9
#: Conflicts that a node can find.
_BOOK = 512
#: Nodes after which a point's activity has faded by a tenth.
_FADE = 256


@dataclass(frozen=True, eq=False)
class _Node:
    parent: int
    side: int
    state: Any
    extra: float  #: proved cost of further deletions
    start: Any  #: the kept points' S-pair


class ConflictRecorder:
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
    """

    def __init__(
        self, path: str, reduced: Reduced, bound: float, order: FloatArray, budget: int | None = None, gap: float = 0.0
    ) -> None:
        problem, bound = reduced.problem, bound * (1.0 - gap)
        self._file = LogFile(path)
        header = {
            "format": "marginopt-zero-one-proof", "version": 3, "kind": "conflicts", "A": problem.A.tolist(),
            "weights": problem.weights.tolist(), "penalised": problem.penalised.tolist(), "member": reduced.member.tolist(),
        }  # fmt: skip
        self._file.write([header if budget is None else header | {"kind": "budget", "budget": budget}])
        self._claim = bound * (1.0 - _SLACK)
        self._cut = (bound * (1.0 - 0.5 * _SLACK) - (reduced.constant if budget is None else 0.0)) / reduced.unit
        self._budget = math.inf if budget is None else float(budget) - reduced.constant
        self._weights, self._unit = reduced.weights, reduced.unit
        if budget is not None:
            self._weights = np.rint(reduced.weights * reduced.unit)
            self._unit = 1.0
        self._order = np.ascontiguousarray(order, dtype=np.float64)
        self._conflicts = 0
        self.nodes = 0
        self.failed = False
        self._stack: list[_Node] = []
        if self._cut > 0.0 and len(self._weights) and self._budget >= 0.0:
            self._finder = ConflictFinder(reduced, self._cut)
            self._plant()

    def _plant(self) -> None:
        n = len(self._weights)
        self._activity = np.zeros(n)
        self._book = empty_book(*self._finder.rows.a.shape)
        root = np.full(n, _FREE, dtype=np.int8)
        if math.isinf(self._budget):
            root[self._weights >= self._cut] = _KEPT
        self._stack.append(_Node(-1, 0, root, 0.0, self._finder.start()))

    @property
    def fault(self) -> WriteError | None:
        """Why there will be no log; None as long as it is written."""
        return self._file.fault

    @property
    def finished(self) -> bool:
        """Whether everything is proved, or cannot be."""
        return self.failed or not self._stack

    @property
    def open_nodes(self) -> int:
        """Nodes that remain."""
        return len(self._stack)

    def work(self, seconds: float) -> None:
        """Prove on for about ``seconds``."""
        end = time.perf_counter() + seconds
        while not self.finished and self.fault is None and time.perf_counter() < end:
            self._process(self._stack.pop())

    def finish(self, w: FloatArray | None) -> float:
        """Write the claim and the incumbent; returns the claimed bound, 0 where the pass did not come to its end."""
        claimed = max(self._claim, 0.0) if self.finished and not self.failed else 0.0
        self._file.write([{"bound": claimed, "w": None if w is None else w.tolist()}])
        self._file.seal()
        return claimed

    def _process(self, node: _Node) -> None:
        from ..kernels.conflicts import OPEN_LEAF, PROVED, prove

        clear(self._book.now)
        state, extra, kept = node.state, np.array([node.extra]), copied(node.start)
        finder = self._finder
        point = int(
            prove(
                finder.rows, finder.exact, self._weights, self._order, self._activity, finder.room, state, extra, kept,
                self._book, self._cut, self._budget,
            )
        )  # fmt: skip
        ident = self.nodes
        self.nodes += 1
        if self.nodes % _FADE == 0:
            self._activity *= 0.9
        record: dict[str, Any] = {"id": ident, "parent": node.parent, "side": node.side, "steps": self._steps()}
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
        self._file.write([record])

    def _steps(self) -> list[Any]:
        """A node's steps; the conflicts that they use go to the log."""
        from ..kernels.conflicts import CUT

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
                lines.append(f'{{"conflict": {book.points[at, :m].tolist()}, "alpha": {alpha}}}\n')
        self._file.write_text("".join(lines))
        numbers = [number[at] for at in book.entry[:entries].tolist()]
        # the unit is a power of 4, so that weights of the stated problem are exact; less by what sums may round
        less = 1.0 if math.isfinite(self._budget) else self._unit * (1.0 - 1e-12)
        shares = (book.entry_share[:entries] * less).tolist()
        for kind, first, last in book.steps[: int(book.now.steps)].tolist():
            if kind == CUT:
                steps.append(["cut", numbers[first]])
            else:
                steps.append(["pack", [[numbers[k], shares[k]] for k in range(first, last)]])
        return steps

    def _branch(self, ident: int, point: int, state: Any, extra: float, kept: Any) -> None:
        """Two children: the point deleted, first, and kept."""
        deleted, held = state.copy(), state.copy()
        deleted[point], held[point] = _DELETED, _KEPT
        less = max(extra - float(self._weights[point]), 0.0)
        self._stack.append(_Node(ident, 1, held, extra, kept))
        self._stack.append(_Node(ident, 0, deleted, less, kept))


def empty_book(n: int, p: int) -> Any:
    """`kernels.conflicts.Book` for n points in p coordinates."""
    from ..kernels.conflicts import BOOK, Book

    width, i64 = 2 * p + 6, np.int64
    return Book(
        np.zeros((_BOOK, width), i64), np.zeros((_BOOK, width)), np.zeros(_BOOK, i64), np.zeros(n + 1, i64), np.zeros(n + 1),
        np.zeros((4 * n + 64, 3), i64), np.zeros(32 * n + 256, i64), np.zeros(32 * n + 256), named_scalars(BOOK),
    )  # fmt: skip


def copied(active: Any) -> Any:
    """An S-pair that may be changed."""
    return type(active)(*(np.array(part) for part in active))
