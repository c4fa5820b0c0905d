"""The search: nodes by their bounds, the least first; relaxations of the features that matter, and incumbents by swaps."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ...models.arrays import BoolArray, FloatArray, IntArray
from ...models.formulations.margin.problems import SparseProblem
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
    largest_interval,
)
from .relaxation import Workspace, relax, workspace_for

__all__ = ["AGAIN", "CLOSED", "NodeRecord", "Search"]

#: Features beside the count that a relaxation begins with, and that a round may add; rounds of a node.
_BESIDE, _ADDED, _ROUNDS = 12, 12, 12
#: Relative accuracy of relaxations as a share of the tolerance; of refits; steps of the interior point method, at most.
_SHARE, _EXACT, _STEPS = 0.1, 1e-11, 100
#: Share of the distance to the cutoff within which an open node's bound is known well enough.
_NEAR = 0.1
#: Number of features up to which a relaxation takes all of them at once.
_WHOLE = 256
#: Relative distance of bounds from the incumbent's value, which is rounded.
_ROUNDING = 1e-12
#: Features that a swap tries to bring in for each that it takes out.
_CANDIDATES = 8
#: Sides that a step tries to exclude; those after which a node is split instead if few succeed; sizes t that are tried for one.
_SIDES, _SAMPLE, _SIZES = 8, 8, 8
#: Share of the incumbent's value that a relaxation must fall short of before sides are tried; accuracy of their relaxations.
_WEAK, _BEYOND = 0.4, 0.02


_NONE: IntArray = np.zeros(0, dtype=np.int64)

#: A node that is not split: closed, or open with more features decided.
CLOSED, AGAIN = -1, -2


@dataclass(frozen=True, eq=False)
class NodeRecord:
    """A node with its dual point, the features that the point decides, and the feature that splits it.

    In place of a feature ``split`` is `CLOSED`, or `AGAIN` where the node stays open with the decided features.
    """

    number: int
    point: DualPoint
    inside: IntArray
    outside: IntArray
    split: int
    #: Sides with the interval of t in which they may be the largest coefficient.
    largest: tuple[tuple[int, float, float], ...] = ()


@dataclass(frozen=True, eq=False)
class _Node:
    number: int
    state: State
    bound: float
    order: IntArray  #: features by their gains at the parent's dual point, the largest first
    sides: BoolArray  #: (2 p,) w_j > 0 and w_j < 0 for each feature j: that it may be the largest coefficient
    relaxed: _Relaxed | None = None  #: where sides are being excluded
    pairs: tuple[int, ...] = ()  #: sides that are left to try
    kept: tuple[int, ...] = ()  #: sides that were not excluded
    tried: int = 0


@dataclass(frozen=True, eq=False)
class _Relaxed:
    """The best dual point of a node with its bounds, and the relaxation's w and z on ``active``."""

    point: DualPoint
    gains: Gains
    bounds: ChildBounds
    active: IntArray
    w: FloatArray
    z: FloatArray

    @property
    def order(self) -> IntArray:
        """Features by their gains, the largest first."""
        return np.argsort(-self.gains.values, kind="stable")


@dataclass(eq=False)
class Search:
    """Branch and bound over supports.

    Parameters
    ----------
    problem : SparseProblem
        All costs positive.
    tol : float
        Relative gap at which a node is closed.
    listener : callable, optional
        Takes the record of each node that is done.
    """

    problem: SparseProblem
    tol: float
    listener: Callable[[NodeRecord], None] | None = None
    nodes: int = 0
    value: float = math.inf
    w: FloatArray = field(init=False)
    closed: float = math.inf  #: least bound of what is closed
    _heap: list[tuple[float, int, _Node]] = field(default_factory=list)
    _numbers: int = 1
    _typical: float = 0.0  #: size of a largest coefficient that is tried first
    _known: dict[bytes, float] = field(default_factory=dict)
    _workspaces: dict[int, Workspace] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problem = self.problem
        p = problem.price.size
        self.w = np.zeros(p)
        self._columns = column_sizes(problem)
        self._rows = np.ascontiguousarray(problem.A.T)
        self._kind = int(problem.loss)
        never = problem.counted & (problem.lower == 0.0) & (problem.upper == 0.0)
        state = np.zeros(p, dtype=np.int8)
        gains = gains_of(problem, self._columns, dual_point(problem, problem.costs * 0.5))
        self._never = never
        self._refit(np.zeros(p, dtype=np.bool_))
        self._likely = np.zeros(0, dtype=np.int64)  # features that mattered for the last side
        counted = problem.counted
        self._q = float(problem.curvature[counted].min(initial=math.inf)) if counted.any() and problem.most else 0.0
        self._sides = np.column_stack([counted & (problem.upper > 0.0), counted & (problem.lower < 0.0)]).ravel()
        self._push(_Node(0, state, 0.0, np.argsort(-gains.values, kind="stable"), self._sides))

    @property
    def bound(self) -> float:
        """The proved lower bound."""
        return min(self.closed, self._heap[0][0] if self._heap else math.inf, self.value * (1.0 - _ROUNDING))

    @property
    def cut(self) -> float:
        """Bound at which a node is closed."""
        return self.value - self.tol * abs(self.value)

    @property
    def open_nodes(self) -> int:
        """Number of open nodes."""
        return len(self._heap)

    @property
    def memory(self) -> float:
        """Bytes of the open nodes, about."""
        return len(self._heap) * (9.0 * self.problem.price.size + 400.0)

    def step(self) -> None:
        """Process the open node of the least bound."""
        _, _, node = heapq.heappop(self._heap)
        if node.bound >= self.cut:
            self.closed = min(self.closed, node.bound)
            return
        if node.relaxed is not None and node.pairs:
            self._push(self._exclude(node, node.relaxed))
            return
        self.nodes += 1
        relaxed = node.relaxed
        if relaxed is None:
            relaxed = self._relax(node)
            self._round(node.state, relaxed)
            pairs = self._pairs(node, relaxed)
            if pairs:
                self._tell(NodeRecord(node.number, relaxed.point, _NONE, _NONE, AGAIN))
                self._push(replace(node, relaxed=relaxed, pairs=pairs, bound=max(node.bound, relaxed.bounds.node)))
                return
        self._branch(node, relaxed)

    def offer(self, w: FloatArray) -> None:
        """Take the support of a point, with the best coefficients on it."""
        support = (w != 0.0) & self.problem.counted
        if int(support.sum()) <= self.problem.most and not (support & self._never).any():
            self._refit(support)

    def _tell(self, record: NodeRecord) -> None:
        if self.listener is not None:
            self.listener(record)

    def _push(self, node: _Node) -> None:
        heapq.heappush(self._heap, (node.bound, node.number, node))

    def _workspace(self, d: int) -> Workspace:
        size = 1 << max(d - 1, 7).bit_length()
        if size not in self._workspaces:
            self._workspaces[size] = workspace_for(self.problem.costs.size, size)
        return self._workspaces[size]

    def _solve(
        self, active: IntArray, fixed: BoolArray, count: int, cut: float, tol: float, share: float,
        box: tuple[FloatArray, FloatArray] | None = None,
    ) -> Workspace:  # fmt: skip
        """Solve the relaxation on the active features, in another box where one is given."""
        p, workspace, rows = self.problem, self._workspace(active.size), self._rows[active]
        lower, upper = box or (p.lower, p.upper)
        relax(
            rows, p.costs, self._kind, p.curvature[active], p.price[active], lower[active], upper[active], fixed,
            count, cut, tol, share, _STEPS, workspace,
        )  # fmt: skip
        return workspace

    def _relax(self, node: _Node) -> _Relaxed:
        """Solve the relaxation of a node: the features of the largest gains first, then those whose gains turn out larger."""
        problem, state = self.problem, node.state
        held = features_of(state, problem.counted, IN)
        count = problem.most - held.size
        free = state == FREE
        free &= problem.counted & ~self._never
        own = np.concatenate([np.flatnonzero(~problem.counted), held])
        ordered = node.order[free[node.order]] if count else node.order[:0]
        chosen = ordered[: 2 * count + _BESIDE]  # later rounds add more
        best: _Relaxed | None = None
        tol, cut = _SHARE * self.tol, self.cut + _SHARE * self.tol * abs(self.cut)
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
            if best.bounds.node >= self.cut or (not larger.size and (chosen.size or cut == math.inf)):
                break
            if not larger.size:  # a node without a choice: rounding and balance may cost what keeps it from the cutoff
                tol, cut = _EXACT, math.inf
                continue
            chosen = np.concatenate([chosen, larger[np.argsort(-g[larger], kind="stable")][: max(_ADDED, chosen.size)]])
        assert best is not None
        return best

    def _pairs(self, node: _Node, relaxed: _Relaxed) -> tuple[int, ...]:
        """Return the sides that may be the largest coefficient, a sample first: 2 j for w_j > 0, 2 j + 1 for w_j < 0."""
        if self._q <= 0.0 or relaxed.bounds.node >= (_WEAK * self.cut if not self._typical else self.cut):
            return ()
        self._typical = self._typical or 1.5 * float(np.abs(self.w[self.problem.counted]).max()) or 1.0
        pairs = np.flatnonzero(node.sides & np.repeat(node.state != OUT, 2))
        sample = pairs[np.linspace(0, pairs.size - 1, min(_SAMPLE, pairs.size)).astype(np.int64)]
        return (*sample.tolist(), *np.setdiff1d(pairs, sample).tolist())

    def _exclude(self, node: _Node, relaxed: _Relaxed) -> _Node:
        """Try to prove of some sides that they are not the largest coefficient of a better point."""
        sides, kept, pairs = node.sides.copy(), list(node.kept), list(node.pairs)
        tried = node.tried
        for _ in range(min(_SIDES, len(pairs))):
            code = pairs.pop(0)
            tried += 1
            sides[code] = not self._exclude_side(node, code, relaxed)
            if sides[code]:
                kept.append(code)
        if tried <= 2 * _SAMPLE and 2 * len(kept) > tried and len(pairs) > 2 * self.problem.most:
            pairs = []
        return replace(node, sides=sides, kept=tuple(kept), pairs=tuple(pairs), tried=tried)

    def _exclude_side(self, node: _Node, code: int, relaxed: _Relaxed) -> bool:
        """Search for dual points that leave no size of a side as the largest coefficient; True if they are found."""
        low, high, t = 0.0, math.inf, self._typical
        for _ in range(_SIZES):
            point, gains, feasible = self._relax_side(node, code, t, relaxed)
            cut = self.cut
            start, end = largest_interval(self.problem, gains, node.state, code, cut)
            if start == end or start > low or end < high:
                self.closed = min(self.closed, cut)
                self._tell(NodeRecord(node.number, point, _NONE, _NONE, AGAIN, ((code, start, end),)))
            before = high - low
            low, high = max(low, start), min(high, end)
            if start == end or low >= high:
                return True
            if feasible or high - low > 0.9 * before or high == math.inf:
                return False
            nearest = low or high / 3.0
            t = math.sqrt(nearest * min(high, 6.0 * nearest))
        return False

    def _relax_side(self, node: _Node, code: int, t: float, relaxed: _Relaxed) -> tuple[DualPoint, Gains, bool]:
        """Solve the relaxation where a side's coefficient is at least t, all others at most.

        The last value is True where the relaxation stays below the cutoff.
        """
        problem, state, j = self.problem, node.state, code // 2
        low = np.where(problem.counted, -t, problem.lower)
        high = np.where(problem.counted, t, problem.upper)
        low[j], high[j] = (-math.inf, -t) if code % 2 else (t, math.inf)
        held = features_of(state, problem.counted, IN)
        own = np.concatenate([np.flatnonzero(~problem.counted), held[held != j], [j]])
        free = (state == FREE) & problem.counted & ~self._never
        free[j] = False
        count = problem.most - held.size - (state[j] != IN)
        ordered = relaxed.order[free[relaxed.order]] if count > 0 else relaxed.order[:0]
        chosen = ordered
        if ordered.size > _WHOLE:
            likely = self._likely[free[self._likely]]
            chosen = likely if likely.size > count else ordered[: 4 * count + _WHOLE // 4]
        cut = self.cut + _BEYOND * abs(self.cut)
        while True:
            active = np.concatenate([own, chosen])
            fixed = np.arange(active.size) < own.size
            workspace = self._solve(
                active, fixed, max(min(count, chosen.size + 1), 1), cut, _SHARE * self.tol, math.inf, (low, high)
            )
            point = dual_point(problem, workspace.best)
            gains = gains_of(problem, self._columns, point)
            feasible = bool(workspace.value[0] < self.cut)
            size = np.where(free, np.maximum(gains.high, -gains.low), -math.inf)
            last = float(np.sort(size[chosen])[-min(count, chosen.size)]) if chosen.size else math.inf
            likely = chosen[size[chosen] > 0.8 * last]
            size[chosen] = -math.inf
            larger = np.flatnonzero(size > last)
            if feasible or not larger.size:
                self._likely = likely
                return point, gains, feasible
            chosen = np.concatenate([chosen, larger[np.argsort(-size[larger], kind="stable")][: max(_ADDED, chosen.size // 2)]])

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
            support = (self.w != 0.0) & problem.counted
            order = np.argsort(-self._slopes, kind="stable")
            entering = [j for j in order.tolist() if problem.counted[j] and not support[j] and not self._never[j]][:_CANDIDATES]
            leaving = sorted(np.flatnonzero(support).tolist(), key=lambda j: abs(self.w[j]) * self._columns[j])
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
        if value >= self.value:
            return False
        self.value, self.w, self._slopes = value, w, np.abs(problem.A.T @ alpha)
        return True

    def objective(self, w: FloatArray) -> float:
        """Return the objective of a point."""
        p = self.problem
        losses = float(p.costs @ p.loss.values(p.A @ w))
        return losses + float(0.5 * p.curvature @ (w * w) + p.price @ (w != 0.0))

    def _branch(self, node: _Node, relaxed: _Relaxed) -> None:
        """Close the node, or decide what its dual point decides and split it."""
        problem, cut = self.problem, self.cut
        bounds = relaxed.bounds
        bound = max(node.bound, bounds.node)
        free = (node.state == FREE) & problem.counted
        inside = outside = _NONE
        split = CLOSED
        state = node.state.copy()
        if bound < cut:
            outside = np.flatnonzero(free & (bounds.inside >= cut))
            inside = np.flatnonzero(free & (bounds.outside >= cut) & ~(bounds.inside >= cut))
            for fixed, values in ((outside, bounds.inside), (inside, bounds.outside)):
                self.closed = min(self.closed, float(values[fixed].min(initial=math.inf)))
            state[outside], state[inside] = OUT, IN
            empty = self._exhausted(node.sides, state)
            bound = math.inf if empty else bound  # each side has its own bound
            split = CLOSED if empty else self._split(state, relaxed, node.sides)
            if split == CLOSED and not empty and (inside.size or outside.size):
                split = AGAIN
        self._tell(NodeRecord(node.number, relaxed.point, inside, outside, split))
        if split == CLOSED:
            self.closed = min(self.closed, bound)
            return
        for choice in (FREE,) if split == AGAIN else (IN, OUT):
            child, number = state.copy(), node.number
            if split != AGAIN:
                child[split], number = choice, self._numbers
                self._numbers += 1
            if self._exhausted(node.sides, child):
                continue
            floor = max(bound, child_bounds(problem, relaxed.gains, child).node)
            self._push(_Node(number, child, floor, relaxed.order, node.sides))

    def _exhausted(self, sides: BoolArray, state: State) -> bool:
        """Return True where no feature may be the largest one; the point without features is excluded with the first side."""
        used = np.repeat((state != OUT) & self.problem.counted, 2)
        return sides.sum() < self._sides.sum() and not sides[used].any()

    def _split(self, state: State, relaxed: _Relaxed, sides: BoolArray) -> int:
        """Return the free feature of the largest gain that may be the largest one, if these are few, or of the most fractional z.

        `CLOSED` where no choice is left.
        """
        problem = self.problem
        free = (state == FREE) & problem.counted & ~self._never
        count = problem.most - int(((state == IN) & problem.counted).sum())
        if not free.any() or (count <= 0):
            return CLOSED
        largest = free & sides.reshape(-1, 2).any(axis=1)
        if largest.any() and int(largest.sum()) <= 2 * problem.most:
            return int(np.argmax(np.where(largest, relaxed.gains.values, -math.inf)))
        z = np.zeros(state.size)
        z[relaxed.active] = relaxed.z
        score = np.where(free, np.minimum(z, 1.0 - z) + 1e-9 * relaxed.gains.values / (1.0 + np.abs(relaxed.gains.values)), -1.0)
        return int(np.argmax(score))
