"""The proof log of the conflict search: a pass after the search that proves the bound again, slowly, and writes down why.

The tree need not be the search's: only the bound counts. Conflicts are written once, with the multipliers of their rows; nodes
refer to them. A node proves by packing conflicts that solutions of interest delete points of cost at least e among the free ones,
deletes a point that is the only free one of a conflict, and ends with a conflict of kept points or branches on one.
``docs/zero-one-bb.md`` has the rules; `check_conflicts` verifies them, and takes fractional packings as well (they halve the tree
and cost ten times the time to find, so this pass does without).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...models.arrays import FloatArray, IntArray
from .log_file import LogFile
from .norm_conflicts import Conflict, ConflictFinder
from .reduced import Reduced

__all__ = ["ConflictRecorder"]

_FREE, _KEPT, _DELETED = -1, 0, 1
#: Share of the claimed bound that is left to rounding: the pass proves half of it more than the log claims.
_SLACK = 1e-9


@dataclass(eq=False)
class _Node:
    parent: int
    side: int
    state: Any
    extra: float  #: proved cost of further deletions
    start: Any
    steps: list[Any] = field(default_factory=list)
    split: list[Any] | None = None


class ConflictRecorder:
    """Proves ``bound`` (stated) in slices of time and writes the log.

    Parameters
    ----------
    path : str
    reduced : Reduced
    bound : float
        What the search has proved.
    order : ndarray (m,)
        Larger first among a conflict's points.
    """

    def __init__(self, path: str, reduced: Reduced, bound: float, order: FloatArray) -> None:
        problem = reduced.problem
        self._file = LogFile(path)
        self._file.write([
            {
                "format": "marginopt-zero-one-proof", "version": 2, "kind": "conflicts", "A": problem.A.tolist(),
                "weights": problem.weights.tolist(), "penalised": problem.penalised.tolist(),
                "member": reduced.member.tolist(),
            }
        ])  # fmt: skip
        self._claim = bound * (1.0 - _SLACK)
        self._cut = (bound * (1.0 - 0.5 * _SLACK) - reduced.constant) / reduced.unit
        self._weights, self._order, self._unit = reduced.weights, order, reduced.unit
        self._conflicts = 0
        self._numbers: dict[Conflict, int] = {}  # of the node in hand
        self.nodes = 0
        self.failed = False
        self._stack: list[_Node] = []
        if self._cut > 0.0 and len(self._weights):
            self._finder = ConflictFinder(reduced, self._cut)
            root = np.full(len(self._weights), _FREE, dtype=np.int8)
            root[self._weights >= self._cut] = _KEPT
            self._stack.append(_Node(-1, 0, root, 0.0, self._finder.start()))

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
        while not self.finished and time.perf_counter() < end:
            node = self._stack.pop()
            ident = self.nodes
            self.nodes += 1
            children = self._process(node, ident)
            record: dict[str, Any] = {"id": ident, "parent": node.parent, "side": node.side, "steps": node.steps}
            self._file.write([record if node.split is None else record | {"split": node.split}])
            self._stack += children[::-1]

    def finish(self, w: FloatArray) -> float:
        """Write the claim and the incumbent; returns the claimed bound, 0 where the pass did not come to its end."""
        claimed = max(self._claim, 0.0) if self.finished and not self.failed else 0.0
        self._file.write([{"bound": claimed, "w": w.tolist()}])
        self._file.seal()
        return claimed

    def _number(self, conflict: Conflict) -> int:
        """The conflict's number in the log, where it is written when a step first needs it."""
        if conflict not in self._numbers:
            self._file.write([{"conflict": conflict.points.tolist(), "alpha": conflict.alpha.tolist()}])
            self._numbers[conflict] = self._conflicts
            self._conflicts += 1
        return self._numbers[conflict]

    def _process(self, node: _Node, ident: int) -> list[_Node]:
        state = node.state
        self._numbers.clear()
        while True:
            room = self._cut - float(self._weights[state == _DELETED].sum())
            if room - node.extra <= 0.0:
                return []
            kept = state == _KEPT
            found = self._finder.find(kept, kept, room - node.extra, node.start, exact=False)
            if found.conflict is not None:
                node.steps.append(["cut", self._number(found.conflict)])
                return []
            node.start = found.active
            own = self._finder.certificate(found.active)
            outcome = self._pack(node, room, own)
            if outcome is None:
                return []
            conflict, points = outcome
            if conflict is None:
                return self._split_any(node, ident)
            if points.size > 1:
                return self._children(node, ident, self._number(conflict), points)
            node.steps.append(["cut", self._number(conflict)])
            if points.size == 0:
                return []
            state[points[0]] = _DELETED
            node.extra = max(node.extra - float(self._weights[points[0]]), 0.0)

    def _pack(self, node: _Node, room: float, own: Conflict) -> tuple[Conflict | None, IntArray] | None:
        """Raise ``extra`` by packings; returns the conflict to go on with and its free points, None where the node is done.

        (None, ·): there is no conflict, everything can be kept.
        """
        for turn in range(2):
            greedy, best, points = self._greedy(node, room)
            self._raise(node, greedy)
            if best is None or points.size < 2:
                return best, points
            if room - node.extra <= 0.0:
                return None
            if own.norm >= room - node.extra:
                node.steps.append(["cut", self._number(own)])
                return None
            if turn == 1 or not greedy:
                break
        return best, points

    def _raise(self, node: _Node, packing: list[tuple[Conflict, float]]) -> None:
        """Record a packing that proves more than is known."""
        packed = math.fsum(y for _, y in packing)
        if packed > node.extra * (1.0 + 1e-12):
            # in the weights of the stated problem: the unit is a power of 4, so that this is exact
            node.steps.append(["pack", [[self._number(conflict), y * self._unit] for conflict, y in packing]])
            node.extra = packed

    def _greedy(self, node: _Node, room: float) -> tuple[list[tuple[Conflict, float]], Conflict | None, IntArray]:
        """Disjoint conflicts with their weights, the one with the fewest free points, and those."""
        state = node.state
        kept = state == _KEPT
        rest = np.where(state == _FREE, self._weights, 0.0)
        packed, found_any = 0.0, False
        chosen: list[tuple[Conflict, float]] = []
        best: Conflict | None = None
        points = np.zeros(0, dtype=np.int64)
        while True:
            T = room - max(packed, node.extra)
            if T <= 0.0:
                return chosen, best, points
            found = self._finder.find(kept | (rest > 0), kept, T, node.start, exact=not found_any)
            if found.conflict is None:
                return chosen, best, points
            found_any = True
            free = found.conflict.points[state[found.conflict.points] == _FREE]
            if free.size < 2:
                return chosen, found.conflict, free
            least = float(rest[free].min())
            rest[free] -= least
            packed += least
            chosen.append((found.conflict, least * (1.0 - 1e-12)))
            if best is None or free.size < points.size:
                best, points = found.conflict, free

    def _children(self, node: _Node, ident: int, number: int, points: IntArray) -> list[_Node]:
        ordered = points[np.argsort(-self._order[points], kind="stable")].tolist()
        node.split = [number, ordered]
        children = []
        for side, i in enumerate(ordered):
            child = node.state.copy()
            child[ordered[:side]] = _KEPT
            child[i] = _DELETED
            children.append(_Node(ident, side, child, max(node.extra - float(self._weights[i]), 0.0), node.start))
        return children

    def _split_any(self, node: _Node, ident: int) -> list[_Node]:
        """No conflict was found: by rounding only, as the bound is proved. Branch on any free point."""
        free = np.flatnonzero(node.state == _FREE)
        if free.size == 0:
            self.failed = True
            return []
        i = int(free[0])
        node.split = [-1, [i]]
        deleted, kept = node.state.copy(), node.state.copy()
        deleted[i], kept[i] = _DELETED, _KEPT
        extra = max(node.extra - float(self._weights[i]), 0.0)
        return [_Node(ident, 0, deleted, extra, node.start), _Node(ident, 1, kept, node.extra, node.start)]
