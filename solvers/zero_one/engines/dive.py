"""A depth-first search on norm-conflicts, with its arrays; candidates become incumbents."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....models.arrays import FloatArray
from ...interface.algorithm import named_scalars
from ..loops import conflicts as k
from .engine import SharedState

__all__ = ["Dive", "offer_kept"]

#: Points in the conflict lists of all levels, at most. A conflict that is not stored is searched for again.
LISTED = 4_000_000


class Dive:
    """A depth-first search below one node, whose arrays serve all later nodes as well."""

    def __init__(self, rows: k.Rows, exact: k.Rows, weights: FloatArray, order: FloatArray) -> None:
        self.rows, self.exact, self.weights, self.order = rows, exact, weights, order
        n, p = rows.a.shape
        levels = n + 3
        capacity = max(min(levels * n, LISTED // (2 * p + 6)), 1)
        i64, f64 = np.int64, np.float64
        self.stack = k.Stack(
            state=np.full(n, k.FREE, np.int8), point=np.zeros(levels, i64), at=np.full(levels, -1, i64),
            extra=np.zeros(levels, f64), bound=np.zeros(levels, f64), trail=np.zeros(n + 1, i64),
            trail_from=np.zeros(levels, i64), pair=np.zeros((levels, p + 2, 2), i64), g=np.zeros((levels, p + 2, p), f64),
            u=np.zeros((levels, p + 2), f64), w=np.zeros((levels, p), f64), count=np.zeros(levels, i64),
            activity=np.zeros(n, f64), begun=np.zeros(levels, i64), lack=np.zeros(levels, i64), below=np.zeros(k.LACKS, i64),
            ended=np.zeros(k.LACKS, i64), now=named_scalars(k.NOW), found=np.zeros(1, f64), unresolved=np.full(1, np.inf),
            listed=np.zeros((capacity, 2 * p + 6), np.int32), size=np.zeros(capacity, np.int32), norm=np.zeros(capacity, f64),
            end=np.zeros(levels + 1, i64),
        )  # fmt: skip
        self.stack.now.level = -1
        self._workspace = k.empty_workspace(n, p, exact.a.shape[1])

    @property
    def running(self) -> bool:
        """True if a search is in progress."""
        return bool(self.stack.now.level >= 0)

    @property
    def nodes(self) -> int:
        """Number of nodes of all searches."""
        return int(self.stack.now.nodes)

    @property
    def effort(self) -> float:
        """Counted work of all searches, calibrated to about 4 ns per coordinate of a point in a hard-margin problem."""
        return 4.0 * (int(self.stack.now.solves) + self.nodes) * self.rows.a.size

    def plant(self, state: Any, extra: float, bound: float, upper: float) -> None:
        """Start a search below a node, for candidates of value below ``upper``."""
        stack = self.stack
        stack.state[:] = state
        stack.extra[0], stack.bound[0], stack.at[0], stack.count[0] = extra, bound, -1, 0
        stack.w[0] = 0.0
        stack.now.level, stack.now.expand, stack.now.trailed = 0, 1, 0
        stack.found[-1] = upper

    def run(self, cut: float, nodes: int) -> int:
        """Continue the search for at most ``nodes`` nodes and return a status code of `kernels.conflicts.search`."""
        return int(k.search(self.rows, self.exact, self.weights, self.order, self.stack, self._workspace, cut, nodes))

    def bound(self) -> float:
        """Return the least lower bound of the open nodes; ∞ without open nodes."""
        level = int(self.stack.now.level)
        return float(self.stack.bound[: level + 1].min()) if level >= 0 else math.inf

    def frontier(self) -> list[tuple[float, float, Any]]:
        """Return the open nodes as (bound, extra, states) and end the search."""
        stack, nodes = self.stack, []
        level = int(stack.now.level)
        state = stack.state.copy()
        trail = int(stack.now.trailed)
        if stack.now.expand:
            nodes.append((float(stack.bound[level]), float(stack.extra[level]), state.copy()))
            trail = self._undo(state, level, trail)
            level -= 1
        while level >= 0:
            point = int(stack.point[level])
            if stack.at[level] == 0:
                state[point] = k.KEPT
                nodes.append((float(stack.bound[level]), float(stack.extra[level]), state.copy()))
            state[point] = k.FREE
            trail = self._undo(state, level, trail)
            level -= 1
        stack.now.level = -1
        return nodes

    def _undo(self, state: Any, level: int, trail: int) -> int:
        start = int(self.stack.trail_from[level])
        state[self.stack.trail[start:trail]] = k.FREE
        return start


def offer_kept(shared: SharedState, dive: Dive) -> bool:
    """Polish the candidate of a search, offer it to the incumbent, and return True if it is an improvement."""
    w = shared.polish.solve(dive.stack.state != k.DELETED)
    improved = w is not None and shared.incumbent.offer(shared.reduced, w)
    dive.stack.found[-1] = min(float(dive.stack.found[-1]), shared.upper)
    return improved
