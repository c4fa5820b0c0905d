"""One depth-first search on norm-conflicts, in arrays; what it finds becomes an incumbent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....models.arrays import FloatArray
from ...records.named_scalars import named_scalars
from ..kernels import conflicts as k
from .engine import Shared

__all__ = ["Dive", "offer_kept"]

#: Points in the lists of conflicts of all levels, at most; what finds no room is searched for again.
LISTED = 4_000_000


class Dive:
    """One depth-first search below a node, in arrays that are used again for the next one."""

    def __init__(self, rows: k.Rows, exact: k.Rows, weights: FloatArray, order: FloatArray) -> None:
        self.rows, self.exact, self.weights, self.order = rows, exact, weights, order
        n, p = rows.a.shape
        levels = n + 3
        room = max(min(levels * n, LISTED // (2 * p + 6)), 1)
        i64, f64 = np.int64, np.float64
        self.stack = k.Stack(
            state=np.full(n, k.FREE, np.int8), point=np.zeros(levels, i64), at=np.full(levels, -1, i64),
            extra=np.zeros(levels, f64), bound=np.zeros(levels, f64), trail=np.zeros(n + 1, i64),
            trail_from=np.zeros(levels, i64), pair=np.zeros((levels, p + 2, 2), i64), g=np.zeros((levels, p + 2, p), f64),
            u=np.zeros((levels, p + 2), f64), w=np.zeros((levels, p), f64), count=np.zeros(levels, i64),
            activity=np.zeros(n, f64), begun=np.zeros(levels, i64), lack=np.zeros(levels, i64), below=np.zeros(k.LACKS, i64),
            ended=np.zeros(k.LACKS, i64), now=named_scalars(k.NOW), found=np.zeros(1, f64), unresolved=np.full(1, np.inf),
            listed=np.zeros((room, 2 * p + 6), np.int32), size=np.zeros(room, np.int32), norm=np.zeros(room, f64),
            end=np.zeros(levels + 1, i64),
        )  # fmt: skip
        self.stack.now.level = -1
        self._room = k.empty_room(n, p, exact.a.shape[1])

    @property
    def running(self) -> bool:
        """Whether there is a search to resume."""
        return bool(self.stack.now.level >= 0)

    @property
    def nodes(self) -> int:
        """Nodes of all searches."""
        return int(self.stack.now.nodes)

    @property
    def effort(self) -> float:
        """Work of all searches: 4 ns for each coordinate of a point in a hard-margin problem, by trial."""
        return 4.0 * (int(self.stack.now.solves) + self.nodes) * self.rows.a.size

    def plant(self, state: Any, extra: float, bound: float, upper: float) -> None:
        """Begin below a node; candidates are wanted below ``upper``."""
        stack = self.stack
        stack.state[:] = state
        stack.extra[0], stack.bound[0], stack.at[0], stack.count[0] = extra, bound, -1, 0
        stack.w[0] = 0.0
        stack.now.level, stack.now.expand, stack.now.trailed = 0, 1, 0
        stack.found[-1] = upper

    def run(self, cut: float, nodes: int) -> int:
        """Search on; see `kernels.conflicts.search`."""
        return int(k.search(self.rows, self.exact, self.weights, self.order, self.stack, self._room, cut, nodes))

    def bound(self) -> float:
        """Least bound of the nodes that remain: that of the highest level with a child to come."""
        level = int(self.stack.now.level)
        return float(self.stack.bound[: level + 1].min()) if level >= 0 else math.inf

    def frontier(self) -> list[tuple[float, float, Any]]:
        """The open nodes, (bound, extra, states) each; the search is over afterwards."""
        stack, found = self.stack, []
        level = int(stack.now.level)
        state = stack.state.copy()
        trail = int(stack.now.trailed)
        if stack.now.expand:
            found.append((float(stack.bound[level]), float(stack.extra[level]), state.copy()))
            trail = self._undo(state, level, trail)
            level -= 1
        while level >= 0:
            point = int(stack.point[level])
            if stack.at[level] == 0:
                state[point] = k.KEPT
                found.append((float(stack.bound[level]), float(stack.extra[level]), state.copy()))
            state[point] = k.FREE
            trail = self._undo(state, level, trail)
            level -= 1
        stack.now.level = -1
        return found

    def _undo(self, state: Any, level: int, trail: int) -> int:
        start = int(self.stack.trail_from[level])
        state[self.stack.trail[start:trail]] = k.FREE
        return start


def offer_kept(shared: Shared, dive: Dive) -> bool:
    """Polish the candidate that a search found: the least norm that keeps everything it did not delete."""
    w = shared.polish.solve(dive.stack.state != k.DELETED)
    found = w is not None and shared.incumbent.offer(shared.reduced, w)
    dive.stack.found[-1] = min(float(dive.stack.found[-1]), shared.upper)
    return found
