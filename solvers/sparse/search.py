"""The bounding rule of supports: relaxations of the features that matter, and incumbents by swaps."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...models.arrays import BoolArray, FloatArray, IntArray
from ...models.formulations.margin.problems import SparseProblem
from ...models.views import LinearLoss
from ..exact.search import BoundingRule, Branching, Incumbent, Node, NodeArrays, TreeSearch
from .check import FORMAT, VERSION
from .dual import (
    FREE,
    IN,
    OUT,
    ChildBounds,
    DualPoint,
    Gains,
    State,
    child_bounds,
    column_sizes,
    dual_point,
    features_of,
    gains_of,
)
from .relaxation import Workspace, relax, workspace_for

__all__ = ["SparseRule"]

#: Features beside the count that a relaxation begins with, and that a round may add; rounds of a node.
_BESIDE, _ADDED, _ROUNDS = 12, 12, 12
#: Relative accuracy of relaxations as a share of the tolerance; of refits; steps of the interior point method, at most.
_SHARE, _EXACT, _STEPS = 0.1, 1e-11, 100
#: Share of the distance to the cutoff within which an open node's bound is known well enough.
_NEAR = 0.1
#: Features that a swap tries to bring in for each that it takes out.
_CANDIDATES = 8


#: A node that is not split: closed, or open with more features decided.
CLOSED, AGAIN = -1, -2


@dataclass(frozen=True, eq=False)
class _Relaxed:
    """The best dual point of a node with its bounds, and the relaxation's w and z on ``active``."""

    point: DualPoint
    gains: Gains
    bounds: ChildBounds
    active: IntArray
    w: FloatArray
    z: FloatArray


class SparseRule(BoundingRule[SparseProblem]):
    """The bounding rule of supports.

    A node has the states of the features, and ``order``: the features by their gains at the parent's dual point, the largest
    first.

    Parameters
    ----------
    problem : SparseProblem
        All costs positive.
    """

    format, version = FORMAT, VERSION
    lowest = 0.0

    def __init__(self, problem: SparseProblem) -> None:
        super().__init__(problem)
        self._columns = column_sizes(problem)
        self._rows = np.ascontiguousarray(problem.A.T)
        self._kind = int(problem.loss)
        self._never = problem.counted & (problem.lower == 0.0) & (problem.upper == 0.0)
        self._known: dict[bytes, float] = {}
        self._workspaces: dict[int, Workspace] = {}
        self._slopes = np.zeros(problem.price.size)
        gains = gains_of(problem, self._columns, dual_point(problem, problem.costs * 0.5))
        self._order = np.argsort(-gains.values, kind="stable")

    @classmethod
    def load(cls) -> None:
        """Solve a small problem with each loss, so that every compiled loop is there."""
        _load()

    def header(self) -> dict[str, Any]:
        """Return the problem."""
        p = self.problem
        vectors = {name: getattr(p, name).tolist() for name in ("A", "costs", "curvature", "price", "lower", "upper", "counted")}
        return {**vectors, "loss": p.loss.name, "most": p.most}

    def first_point(self) -> FloatArray:
        """Return the point 0, or the nearest one."""
        p = self.problem
        return np.where(p.counted, 0.0, np.clip(0.0, p.lower, p.upper))

    def root(self) -> NodeArrays:
        """Return the node without a decided feature."""
        return {"state": np.zeros(self._order.size, dtype=np.int8), "order": self._order}

    def accepts(self, arrays: NodeArrays) -> bool:
        """Return whether the states are states, and the order is one."""
        ranks = np.arange(self._order.size)
        return bool(np.isin(arrays["state"], (FREE, IN, OUT)).all() and np.array_equal(np.sort(arrays["order"]), ranks))

    def branch(self, node: Node, incumbent: Incumbent) -> Branching:
        """Bound a node by its relaxation, try the rounded support, and split the node."""
        self._incumbent = incumbent
        relaxed = self._relax(node)
        self._round(node.arrays["state"], relaxed)
        return self._branch(node, relaxed)

    def improve(self, w: FloatArray, incumbent: Incumbent) -> None:
        """Take the support of a point, with the best coefficients on it."""
        self._incumbent = incumbent
        support = (w != 0.0) & self.problem.counted
        if int(support.sum()) <= self.problem.most and not (support & self._never).any():
            self._refit(support)

    def _workspace(self, d: int) -> Workspace:
        size = 1 << max(d - 1, 7).bit_length()
        if size not in self._workspaces:
            self._workspaces[size] = workspace_for(self.problem.costs.size, size)
        return self._workspaces[size]

    def _solve(self, active: IntArray, fixed: BoolArray, count: int, cut: float, tol: float, share: float) -> Workspace:
        """Solve the relaxation on the active features."""
        p, workspace, rows = self.problem, self._workspace(active.size), self._rows[active]
        relax(
            rows, p.costs, self._kind, p.curvature[active], p.price[active], p.lower[active], p.upper[active], fixed,
            count, cut, tol, share, _STEPS, workspace,
        )  # fmt: skip
        return workspace

    def _relax(self, node: Node) -> _Relaxed:
        """Solve the relaxation of a node: the features of the largest gains first, then those whose gains turn out larger."""
        problem, state, order = self.problem, node.arrays["state"], node.arrays["order"]
        held = features_of(state, problem.counted, IN)
        count = problem.most - held.size
        free = state == FREE
        free &= problem.counted & ~self._never
        own = np.concatenate([np.flatnonzero(~problem.counted), held])
        ordered = order[free[order]] if count else order[:0]
        chosen = ordered[: 2 * count + _BESIDE]
        best: _Relaxed | None = None
        target = self._incumbent.cut
        tol = _SHARE * self._incumbent.tol
        cut = target + tol * abs(target)
        for _ in range(_ROUNDS):
            active = np.concatenate([own, chosen])
            fixed = np.arange(active.size) < own.size
            binding = count if count < chosen.size else chosen.size + 1
            workspace = self._solve(active, fixed, max(binding, 1), cut, tol, _NEAR if chosen.size else 0.0)
            point = dual_point(problem, workspace.best)
            gains = gains_of(problem, self._columns, point)
            bounds = child_bounds(problem, gains, state)
            d = active.size
            if best is None or bounds.node > best.bounds.node:
                best = _Relaxed(point, gains, bounds, active, workspace.w[:d].copy(), workspace.z[:d].copy())
            g = np.where(free, gains.values, -math.inf)
            last = np.sort(g[chosen])[-min(count, chosen.size)] if chosen.size and count else math.inf
            g[chosen] = -math.inf
            larger = np.flatnonzero(g > max(last, 0.0))
            if best.bounds.node >= target or (not larger.size and (chosen.size or cut == math.inf)):
                break
            if not larger.size:  # a node without a choice: rounding and balance may cost what keeps it from the cutoff
                tol, cut = _EXACT, math.inf
                continue
            chosen = np.concatenate([chosen, larger[np.argsort(-g[larger], kind="stable")][:_ADDED]])
        assert best is not None
        return best

    def _round(self, state: State, relaxed: _Relaxed) -> None:
        """Try the support of the largest z, and swaps from it where it is the best one so far."""
        problem = self.problem
        support = (state == IN) & problem.counted
        z = np.where(problem.counted[relaxed.active], relaxed.z, 0.0)
        for j in relaxed.active[np.argsort(-z, kind="stable")].tolist():
            if int(support.sum()) == problem.most:
                break
            if problem.counted[j] and state[j] == FREE:
                support[j] = True
        if self._refit(support):
            self._swap(support)

    def _swap(self, support: BoolArray) -> None:
        """Swap features as long as that brings a better point."""
        problem, better = self.problem, True
        while better:
            better = False
            support = (self._incumbent.w != 0.0) & problem.counted
            order = np.argsort(-self._slopes, kind="stable")
            entering = [j for j in order.tolist() if problem.counted[j] and not support[j] and not self._never[j]][:_CANDIDATES]
            leaving = sorted(np.flatnonzero(support).tolist(), key=lambda j: abs(self._incumbent.w[j]) * self._columns[j])
            trials: list[tuple[int, int]] = [(-1, j) for j in entering] if support.sum() < problem.most else []
            trials += [(i, -1) for i in leaving] if problem.price.any() else []
            trials += [(i, j) for i in leaving for j in entering]
            for i, j in trials:
                changed = support.copy()
                if i >= 0:
                    changed[i] = False
                if j >= 0:
                    changed[j] = True
                if self._refit(changed):
                    better = True
                    break

    def _refit(self, support: BoolArray) -> bool:
        """Find the best coefficients on a support; True where they are the best point so far."""
        key = np.packbits(support).tobytes()
        if key in self._known:
            return False
        problem = self.problem
        active = np.concatenate([np.flatnonzero(~problem.counted), np.flatnonzero(support)])
        w = np.zeros(problem.price.size)
        if active.size:
            workspace = self._solve(active, np.ones(active.size, dtype=np.bool_), 1, math.inf, _EXACT, 0.0)
            w[active] = np.clip(workspace.w[: active.size], problem.lower[active], problem.upper[active])
            alpha = workspace.best
        else:
            alpha = problem.costs if problem.loss.bounded else 2.0 * problem.costs
        value = self.objective(w)
        self._known[key] = value
        if not self._incumbent.offer(w, value):
            return False
        self._slopes = np.abs(problem.A.T @ alpha)
        return True

    def objective(self, w: FloatArray) -> float:
        """Return the objective of a point."""
        p = self.problem
        losses = float(p.costs @ p.loss.values(p.A @ w))
        return losses + float(0.5 * p.curvature @ (w * w) + p.price @ (w != 0.0))

    def _branch(self, node: Node, relaxed: _Relaxed) -> Branching:
        """Close the node, or decide what its dual point decides and split it."""
        problem, cut, closed = self.problem, self._incumbent.cut, math.inf
        bounds, state = relaxed.bounds, node.arrays["state"].copy()
        bound = max(node.bound, bounds.node)
        free = (state == FREE) & problem.counted
        inside = outside = np.zeros(0, dtype=np.int64)
        split = CLOSED
        if bound < cut:
            outside = np.flatnonzero(free & (bounds.inside >= cut))
            inside = np.flatnonzero(free & (bounds.outside >= cut) & ~(bounds.inside >= cut))
            for fixed, values in ((outside, bounds.inside), (inside, bounds.outside)):
                closed = min(closed, float(values[fixed].min(initial=math.inf)))
            state[outside], state[inside] = OUT, IN
            split = self._split(state, relaxed)
            if split == CLOSED and (inside.size or outside.size):
                split = AGAIN
        record = {
            "exponent": relaxed.point.exponent, "alpha": relaxed.point.text, "inside": inside.tolist(),
            "outside": outside.tolist(), "split": split,
        }  # fmt: skip
        children: list[tuple[float, NodeArrays]] = []
        order = np.argsort(-relaxed.gains.values, kind="stable")
        for choice in () if split == CLOSED else (FREE,) if split == AGAIN else (IN, OUT):
            child = state.copy()
            if split != AGAIN:
                child[split] = choice
            children.append((child_bounds(problem, relaxed.gains, child).node, {"state": child, "order": order}))
        return Branching(bound, children, record, closed)

    def _split(self, state: State, relaxed: _Relaxed) -> int:
        """Return the free feature with the most fractional z; `CLOSED` where no choice is left."""
        problem = self.problem
        free = (state == FREE) & problem.counted & ~self._never
        count = problem.most - int(((state == IN) & problem.counted).sum())
        if not free.any() or (count <= 0):
            return CLOSED
        z = np.zeros(state.size)
        z[relaxed.active] = relaxed.z
        score = np.where(free, np.minimum(z, 1.0 - z) + 1e-9 * relaxed.gains.values / (1.0 + np.abs(relaxed.gains.values)), -1.0)
        return int(np.argmax(score))


@functools.cache
def _load() -> None:
    A = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0], [2.0, 1.0], [0.0, -2.0]])
    one = np.ones(2)
    for loss in LinearLoss:
        problem = SparseProblem(A, np.ones(5), loss, one, 0.0 * one, -np.inf * one, np.inf * one, one > 0.0, 1)
        search = TreeSearch(SparseRule(problem), Incumbent(1e-6))
        while not search.done:
            search.step()
