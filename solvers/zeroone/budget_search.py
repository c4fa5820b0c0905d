"""Branch and bound on norm-conflicts for least norm with at most k points violated; see ``docs/zero-one-bb.md``.

A node has deleted points (r of the budget is left), kept points and free points; solutions of interest have ||w||² < cut. Each
of them deletes a point of every conflict at the cut. So a node is empty when disjoint conflicts (points counted by their
multiplicity) need more than r deletions, or when a conflict has no free point; with one free point that point is deleted;
else the children of a conflict c_0, c_1, ... delete c_i and keep c_0 .. c_{i-1}.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...models.arrays import FloatArray, IntArray
from .norm_conflicts import ConflictFinder

__all__ = ["BudgetSearch"]

_FREE, _KEPT, _DELETED = -1, 0, 1
#: Trial norms at which a node of the first levels looks for a bound better than its kept points' norm.
_TRIALS = (0.97, 0.9, 0.75, 0.5)
_PROBED = 200


@dataclass(frozen=True, eq=False)
class _Node:
    bound: float
    state: Any
    start: Any  #: the kept points' S-pair


class BudgetSearch:
    """A tree search that stops and resumes.

    Parameters
    ----------
    finder : ConflictFinder
    counts : ndarray (n,)
        Multiplicity of each reduced point.
    budget : float
        k, less the points that every w violates.
    order : ndarray (n,)
        Larger first among a conflict's points.
    offer : callable
        Takes the mask of points to keep, improves the incumbent if it can, and returns the cut that holds then.
    cut : float
        Solutions with ||w||² below it are sought.
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
        self.cut = cut
        self.nodes = 0
        self._unresolved = math.inf
        self._ticket = 0
        self._heap: list[tuple[float, int, _Node]] = []
        self._current: _Node | None = _Node(0.0, np.full(len(counts), _FREE, dtype=np.int8), finder.start())

    @property
    def open_nodes(self) -> int:
        """Nodes that remain."""
        return len(self._heap) + (self._current is not None)

    @property
    def bound(self) -> float:
        """Proved lower bound of ||w||² over all that is open; the cut where nothing is."""
        bound = min(self.cut, self._unresolved)
        if self._current is not None:
            bound = min(bound, self._current.bound)
        return min(bound, self._heap[0][0]) if self._heap else bound

    @property
    def finished(self) -> bool:
        """Whether nothing below the cut is left."""
        return self._current is None and not self._heap

    @property
    def resolved(self) -> bool:
        """Whether rounding left no leaf open."""
        return self._unresolved >= self.cut

    def work(self, seconds: float, nodes: int | None = None) -> None:
        """Search for about ``seconds``, at most until ``nodes`` nodes."""
        end = time.perf_counter() + seconds
        while not self.finished and time.perf_counter() < end and (nodes is None or self.nodes < nodes):
            if self._current is None:
                self._current = heapq.heappop(self._heap)[2]
            node = self._current
            children = [] if node.bound >= self.cut else self._process(node)
            # dive into the first child; the others wait
            self._current = children[0] if children else None
            for child in children[1:]:
                self._ticket += 1
                heapq.heappush(self._heap, (child.bound, self._ticket, child))
            if self._heap and self._current is None and self._heap[0][0] >= self.cut:
                self._heap.clear()

    def _process(self, node: _Node) -> list[_Node]:
        """The children of a node; none where nothing below the cut is in it."""
        self.nodes += 1
        finder, state = self._finder, node.state.copy()
        start, bound = node.start, node.bound
        while True:
            left = self._budget - float(self._counts[state == _DELETED].sum())
            if left < 0:
                return []
            state[(state == _FREE) & (self._counts > left)] = _KEPT
            kept = state == _KEPT
            found = finder.find(kept, kept, self.cut, start, exact=False)
            if found.conflict is not None:
                return []
            start = found.active
            bound = max(bound, finder.norm_of(start))
            need, branch = self._packed(state, left, self.cut, start)
            if need > left:
                return []
            if branch is None:  # everything that is left can be kept
                before = self.cut
                self.cut = min(self.cut, self._offer(state != _DELETED))
                if self.cut >= before:
                    return self._split_any(node, state, bound, start)
                continue
            if len(branch) > 1:
                break
            state[branch[0]] = _DELETED
        if self.nodes <= _PROBED:
            bound = self._probed(state, left, bound, start)
        return self._children(state, branch, bound, start)

    def _packed(self, state: Any, left: float, T: float, start: Any) -> tuple[float, IntArray | None]:
        """Deletions that conflicts at T need, and the free points of the smallest conflict (none: all can be kept)."""
        kept = state == _KEPT
        rest = np.where(state == _FREE, self._counts, 0.0)
        packed, best = 0.0, None
        while packed <= left:
            found = self._finder.find(kept | (rest > 0), kept, T, start, exact=packed == 0.0)
            if found.conflict is None:
                return packed, best
            points = found.conflict.points[state[found.conflict.points] == _FREE]
            if points.size == 0:
                return math.inf, best
            if points.size == 1:
                return packed, points
            least = float(rest[points].min())
            rest[points] -= least
            packed += least
            if best is None or points.size < best.size:
                best = points
        return packed, best

    def _probed(self, state: Any, left: float, bound: float, start: Any) -> float:
        """The largest trial norm at which the conflicts need more than what is left."""
        if not math.isfinite(self.cut):
            return bound
        for share in _TRIALS:
            T = bound + share * (self.cut - bound)
            if bound < T and self._packed(state, left, T, start)[0] > left:
                return T
        return bound

    def _children(self, state: Any, branch: IntArray, bound: float, start: Any) -> list[_Node]:
        children = []
        kept: list[int] = []
        for i in branch[np.argsort(-self._order[branch], kind="stable")].tolist():
            child = state.copy()
            child[kept] = _KEPT
            child[i] = _DELETED
            children.append(_Node(bound, child, start))
            kept.append(i)
        return children

    def _split_any(self, node: _Node, state: Any, bound: float, start: Any) -> list[_Node]:
        """Rounding hid the conflict: branch on any free point, or note the leaf as unresolved."""
        free = np.flatnonzero(state == _FREE)
        if free.size == 0:
            self._unresolved = min(self._unresolved, bound)
            return []
        children = []
        for choice in (_DELETED, _KEPT):
            child = state.copy()
            child[free[0]] = choice
            children.append(_Node(bound, child, start))
        return children
