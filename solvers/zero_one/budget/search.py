"""Branch and bound on norm-conflicts for the least norm with at most k points violated; see ``docs/zero-one-bb.md``.

A node has deleted points (r deletions of the budget remain), kept points and free points. Solutions of interest have a squared
norm below the cutoff, and each of them deletes a point of every conflict at the cutoff. So a node is empty if disjoint conflicts
(points counted by their multiplicity) need more than r deletions, or if a conflict has no free point. If a conflict has a single
free point, that point is deleted. Otherwise a point is deleted in one child and kept in the other. The kernel is that of the
proof pass, `kernels.conflicts.prove`.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....models.arrays import FloatArray
from ...records.named_scalars import clear
from ..proof.conflict_prover import copied, empty_book
from ..proof.single_conflicts import ConflictFinder

__all__ = ["BudgetSearch"]

_FREE, _KEPT, _DELETED = -1, 0, 1
#: Trial norms for the bounds of the first `_PROBED_NODES` nodes, as shares of the interval from a node's bound to the cutoff.
_TRIALS = (0.97, 0.9, 0.75, 0.5)
_PROBED_NODES = 200
#: Number of nodes after which activities decay by a tenth.
_DECAY_PERIOD = 256


@dataclass(frozen=True, eq=False)
class _Node:
    bound: float
    state: Any
    extra: float  #: proved lower bound of the number of further deletions
    start: Any  #: S-pair of the kept points


class BudgetSearch:
    """A tree search that stops and resumes.

    Parameters
    ----------
    finder : ConflictFinder
    counts : ndarray (n,)
        Multiplicity of each reduced point.
    budget : float
        k less the number of points that every w violates.
    order : ndarray (n,)
        Branching priorities of the points.
    offer : callable
        Function that takes the mask of points to keep, tries to improve the incumbent, and returns the new cutoff.
    cut : float
        Cutoff of ||w||².
    """

    def __init__(
        self,
        finder: ConflictFinder,
        counts: FloatArray,
        budget: float,
        order: FloatArray,
        offer: Callable[[Any], float],
        cut: float,
    ) -> None:
        self._finder, self._counts, self._budget, self._order, self._offer = finder, counts, budget, order, offer
        self._activity, self._book = np.zeros(len(counts)), empty_book(*finder.rows.a.shape)
        self.cut = cut
        self.nodes = 0
        self._unresolved_bound = math.inf
        self._sequence = 0
        self._heap: list[tuple[float, int, _Node]] = []
        self._current: _Node | None = _Node(0.0, np.full(len(counts), _FREE, dtype=np.int8), 0.0, finder.start())

    @property
    def open_nodes(self) -> int:
        """Number of open nodes."""
        return len(self._heap) + (self._current is not None)

    @property
    def memory(self) -> float:
        """Approximate bytes of the open nodes: a byte per point, and an S-pair that two children share."""
        p = self._finder.rows.a.shape[1]
        return float(self.open_nodes * (len(self._counts) + 4 * (p + 2) * (p + 4) + 500))

    @property
    def bound(self) -> float:
        """Proved lower bound of ||w||² over all open nodes; the cutoff without open nodes."""
        bound = min(self.cut, self._unresolved_bound)
        if self._current is not None:
            bound = min(bound, self._current.bound)
        return min(bound, self._heap[0][0]) if self._heap else bound

    @property
    def finished(self) -> bool:
        """True if there are no open nodes below the cutoff."""
        return self._current is None and not self._heap

    @property
    def resolved(self) -> bool:
        """True if rounding left no leaf below the cutoff unresolved."""
        return self._unresolved_bound >= self.cut

    def work(self, seconds: float, nodes: int | None = None) -> None:
        """Search for about ``seconds``, at most until ``nodes`` nodes in all."""
        end = time.perf_counter() + seconds
        while not self.finished and time.perf_counter() < end and (nodes is None or self.nodes < nodes):
            if self._current is None:
                self._current = heapq.heappop(self._heap)[2]
            node = self._current
            children = [] if node.bound >= self.cut else self._process(node)
            # dive into the first child; the others stay open
            self._current = children[0] if children else None
            for child in children[1:]:
                self._sequence += 1
                heapq.heappush(self._heap, (child.bound, self._sequence, child))
            if self._heap and self._current is None and self._heap[0][0] >= self.cut:
                self._heap.clear()

    def _process(self, node: _Node) -> list[_Node]:
        """Return the children of a node; no children if it holds no solution below the cutoff."""
        from ..loops.conflicts import PROVED

        self.nodes += 1
        if self.nodes % _DECAY_PERIOD == 0:
            self._activity *= 0.9
        state, extra, start, bound = node.state.copy(), np.array([node.extra]), copied(node.start), node.bound
        while True:
            point = self._prove(state, extra, start, self.cut)
            if point == PROVED:
                return []
            bound = max(bound, self._finder.norm_of(start))
            if point >= 0 and self._book.now.packed > 0:
                break
            # without a conflict all remaining points can be kept
            previous_cutoff = self.cut
            self.cut = min(self.cut, self._offer(state != _DELETED))
            if self.cut >= previous_cutoff:
                return self._branch_anyway(state, float(extra[0]), bound, start)
        if self.nodes <= _PROBED_NODES:
            bound = self._probe_bound(state, float(extra[0]), bound, start)
        return self._children(state, point, float(extra[0]), bound, start)

    def _prove(self, state: Any, extra: FloatArray, start: Any, cut: float) -> int:
        from ..loops.conflicts import prove

        finder = self._finder
        clear(self._book.now)
        return int(
            prove(
                finder.rows, finder.exact, self._counts, self._order, self._activity, finder.room, state, extra, start,
                self._book, cut, self._budget,
            )
        )  # fmt: skip

    def _probe_bound(self, state: Any, extra: float, bound: float, start: Any) -> float:
        """Return the largest trial norm at which the conflicts need more deletions than the budget allows."""
        from ..loops.conflicts import PROVED

        if not math.isfinite(self.cut):
            return bound
        for share in _TRIALS:
            T = bound + share * (self.cut - bound)
            if bound < T and self._prove(state.copy(), np.array([extra]), copied(start), T) == PROVED:
                return T
        return bound

    def _children(self, state: Any, point: int, extra: float, bound: float, start: Any) -> list[_Node]:
        """Return the two children: the point deleted, first, and kept."""
        deleted, kept = state.copy(), state.copy()
        deleted[point], kept[point] = _DELETED, _KEPT
        remaining = max(extra - float(self._counts[point]), 0.0)
        return [_Node(bound, deleted, remaining, start), _Node(bound, kept, extra, start)]

    def _branch_anyway(self, state: Any, extra: float, bound: float, start: Any) -> list[_Node]:
        """Branch on any free point where rounding hid the conflict; record a leaf without free points as unresolved."""
        free = np.flatnonzero(state == _FREE)
        if free.size == 0:
            self._unresolved_bound = min(self._unresolved_bound, bound)
            return []
        return self._children(state, int(free[0]), extra, bound, start)
