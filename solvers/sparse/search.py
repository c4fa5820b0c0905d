"""The bounding rule of `sparse-bb`: how a node is bounded, split, and rounded to an incumbent.

The problem is min Σ_i c_i ℓ(a_i'w) + Σ_j q_j w_j²/2 + π_j 1{w_j ≠ 0} over l ≤ w ≤ u with at most k counted coefficients that are
not 0 (all but a free intercept count), a_i = y_i x_i. The tree search is `solvers.exact.search.TreeSearch`. The relaxation has an
indicator z_j in [0, 1] of each w_j (`solvers.sparse.relaxation`); a dual point gives a lower bound and the gain of each feature,
by which it lowers that bound (`solvers.sparse.dual`).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...models.arrays import BoolArray, FloatArray, IntArray
from ...models.formulations.margin.problems import SparseProblem
from ...models.views import LinearLoss
from ..exact.log_file import DualPoint
from ..exact.search import BoundingRule, Branching, Incumbent, Node, NodeArrays, TreeSearch
from .check import FORMAT, VERSION
from .dual import (
    FREE,
    IN,
    OUT,
    ChildBounds,
    FeatureGains,
    FeatureStates,
    child_bounds,
    dual_point,
    feature_gains,
    features_in_state,
    largest_coefficient_interval,
)
from .relaxation import RelaxationWorkspace, new_workspace, relax

#: Features beside the count that a relaxation begins with, and that a round may add; rounds of a node.
_BESIDE, _ADDED, _ROUNDS = 40, 12, 12
#: Relative accuracy of relaxations as a share of the tolerance; of refits; steps of the interior point method, at most.
_SHARE, _EXACT, _STEPS = 0.1, 1e-11, 100
#: Share of the distance to the cutoff within which an open node's bound is known well enough.
_NEAR = 0.1
#: Number of features up to which a relaxation with a given largest coefficient takes all of them at once.
_WHOLE = 64
#: Features that a swap tries to add for each that it removes.
_CANDIDATES = 8
#: Signed features that are tried at a time; number of times after which a node is split instead if few are excluded; sizes t that
#: are tried for a signed feature.
_AT_ONCE, _PATIENCE, _SIZES = 8, 2, 8
#: Share of the cutoff below which a relaxation's bound is weak, so that signed features are tried; number of signed features from
#: which they are not; accuracy of their first relaxations.
_WEAK, _MANY, _COARSE = 0.4, 1000, 0.01
#: Values of ``split`` in the record of a node that is not split: it is closed, or stays open with more features decided.
_CLOSED, _AGAIN = -1, -2


@dataclass(frozen=True, eq=False)
class _NodeDual:
    """The best dual point of a node with its bounds, and the relaxation's w and z on ``active``."""

    point: DualPoint  #: the dual point
    gains: FeatureGains  #: its terms
    bounds: ChildBounds  #: the bounds of node and children that it proves
    active: IntArray  #: features of the relaxation
    w: FloatArray  #: their coefficients in the relaxation's solution
    z: FloatArray  #: their indicators there

    @property
    def order(self) -> IntArray:
        """Features by their gains, the largest first."""
        return np.argsort(-self.gains.values, kind="stable")


@dataclass(eq=False)
class _Record:
    """A node's record in the log: dual points, the features that the first one decides, and the largest coefficients excluded.

    An entry of ``largest`` is the index of a dual point, a signed feature, and the interval of sizes t in which that may be the
    largest coefficient.
    """

    points: list[DualPoint]  #: dual points
    inside: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  #: features decided as in the support
    outside: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  #: features decided as 0
    largest: list[tuple[int, int, float, float]] = field(default_factory=list)  #: bounds of the largest coefficient
    split: int = _CLOSED  #: the feature of the split, `_CLOSED` or `_AGAIN`

    @property
    def values(self) -> dict[str, Any]:
        return {
            "points": [[point.exponent, point.text] for point in self.points], "inside": self.inside.tolist(),
            "outside": self.outside.tolist(), "largest": self.largest, "split": self.split,
        }  # fmt: skip


class SparseRule(BoundingRule[SparseProblem]):
    """The bounding rule of `sparse-bb`; a node is a partial decision on the support, the set of non-zero coefficients.

    The arrays of a node are ``state`` (p,), the states of the features; ``order`` (p,), the features by their gains at the
    parent's dual point, the largest first; and three about the largest coefficient in absolute value. A signed feature is a
    feature with the sign of its coefficient: number 2 j is w_j > 0, number 2 j + 1 is w_j < 0. ``sides`` (2p,) is the mask of
    the signed features that may be the largest coefficient. Where the relaxation is weak, the node is processed repeatedly, each
    time with a few more of them, until all are ``tried`` (2p,). ``size`` is the |w_j| that is tried first; 0 before the first.

    Parameters
    ----------
    problem : SparseProblem
        The problem, all costs c_i positive.
    """

    format, version = FORMAT, VERSION
    lower_bound = 0.0

    def __init__(self, problem: SparseProblem) -> None:
        super().__init__(problem)
        self._columns: FloatArray = np.abs(problem.A).max(axis=0, initial=0.0)
        self._rows = np.ascontiguousarray(problem.A.T)
        self._kind = int(problem.loss)
        self._never = problem.counted & (problem.lower == 0.0) & (problem.upper == 0.0)
        self._known: dict[bytes, float] = {}
        self._workspaces: dict[int, RelaxationWorkspace] = {}
        self._slopes = np.zeros(problem.price.size)
        self._likely = np.zeros(0, dtype=np.int64)  # features with large gains for the last signed feature
        self._size = 0.0  # size at which the last signed feature was excluded; 0 before
        counted = problem.counted
        self._q = float(problem.curvature[counted].min(initial=math.inf)) if counted.any() and problem.max_nonzeros else 0.0
        self._signed_features = np.column_stack([counted & (problem.upper > 0.0), counted & (problem.lower < 0.0)]).ravel()
        self._bounds_largest = self._q > 0.0 and int(self._signed_features.sum()) < _MANY  # of more, each one takes too long
        gains = feature_gains(problem, self._columns, dual_point(problem, problem.costs * 0.5))
        self._order = np.argsort(-gains.values, kind="stable")

    @classmethod
    def load(cls) -> None:
        """Solve a small problem with each loss, so that every compiled loop is loaded."""
        _load()

    def header(self) -> dict[str, Any]:
        """Return the problem for the header of a proof log."""
        p = self.problem
        vectors = {name: getattr(p, name).tolist() for name in ("A", "costs", "curvature", "price", "lower", "upper", "counted")}
        return {**vectors, "loss": p.loss.name, "most": p.max_nonzeros}

    def first_point(self) -> FloatArray:
        """Return the point 0, coefficients that do not count clipped to their bounds."""
        p = self.problem
        return np.where(p.counted, 0.0, np.clip(0.0, p.lower, p.upper))

    def root(self) -> NodeArrays:
        """Return the node without a decided feature."""
        state, excluded = np.zeros(self._order.size, dtype=np.int8), np.zeros(self._signed_features.size, dtype=np.bool_)
        return {"state": state, "order": self._order, "sides": self._signed_features, "tried": excluded, "size": np.array(0.0)}

    def accepts(self, arrays: NodeArrays) -> bool:
        """Return whether a checkpoint's node is valid: its states, its order of features, its signed features and its size."""
        ranks = np.arange(self._order.size)
        states = np.isin(arrays["state"], (FREE, IN, OUT)).all() and np.array_equal(np.sort(arrays["order"]), ranks)
        return bool(states and not (arrays["sides"] & ~self._signed_features).any() and 0.0 <= arrays["size"] < math.inf)

    def branch(self, node: Node, incumbent: Incumbent) -> Branching:
        """Bound a node by its relaxation, try the rounded support, and split the node; or try more signed features."""
        self._incumbent = incumbent
        if node.arrays["tried"].any() and self._untried(node.arrays).size:
            return self._exclude(node.arrays, node.bound, _Record([]), math.inf)
        relaxed = self._relax(node)
        self._round(node.arrays["state"], relaxed)
        return self._branch(node, relaxed)

    def improve(self, w: FloatArray, incumbent: Incumbent) -> None:
        """Refit the coefficients on the support of a point, or on its largest coefficients, and improve it by swaps."""
        self._incumbent = incumbent
        size = np.where(self.problem.counted & ~self._never, np.abs(w) * self._columns, 0.0)
        support = np.zeros(size.size, dtype=np.bool_)
        support[np.argsort(-size, kind="stable")[: self.problem.max_nonzeros]] = True
        support &= size > 0.0
        if self._refit(support) and support.any():
            self._swap(support)

    def _workspace(self, d: int) -> RelaxationWorkspace:
        size = 1 << max(d - 1, 7).bit_length()
        if size not in self._workspaces:
            self._workspaces[size] = new_workspace(self.problem.costs.size, size)
        return self._workspaces[size]

    def _solve(
        self, active: IntArray, fixed: BoolArray, count: int, cut: float, tol: float, share: float,
        box: tuple[FloatArray, FloatArray] | None = None,
    ) -> RelaxationWorkspace:  # fmt: skip
        """Solve the relaxation on the active features, in another box where one is given."""
        p, workspace, rows = self.problem, self._workspace(active.size), self._rows[active]
        lower, upper = box or (p.lower, p.upper)
        relax(
            rows, p.costs, self._kind, p.curvature[active], p.price[active], lower[active], upper[active], fixed,
            count, cut, tol, share, _STEPS, workspace,
        )  # fmt: skip
        return workspace

    def _relax(self, node: Node) -> _NodeDual:
        """Solve the relaxation of a node: the features of the largest gains first, then those whose gains turn out larger."""
        problem, state, order = self.problem, node.arrays["state"], node.arrays["order"]
        inside = features_in_state(state, problem.counted, IN)
        count = problem.max_nonzeros - inside.size
        free = state == FREE
        free &= problem.counted & ~self._never
        always = np.concatenate([np.flatnonzero(~problem.counted), inside])
        ordered = order[free[order]] if count else order[:0]
        chosen = ordered[: 2 * count + _BESIDE]  # later rounds add more
        best: _NodeDual | None = None
        target = self._incumbent.cutoff
        tol = _SHARE * self._incumbent.tol
        cut = target + tol * abs(target)
        for _ in range(_ROUNDS):
            active = np.concatenate([always, chosen])
            fixed = np.arange(active.size) < always.size
            binding = count if count < chosen.size else chosen.size + 1
            workspace = self._solve(active, fixed, max(binding, 1), cut, tol, _NEAR if chosen.size else 0.0)
            point = dual_point(problem, workspace.best)
            gains = feature_gains(problem, self._columns, point)
            bounds = child_bounds(problem, gains, state)
            d = active.size
            if best is None or bounds.node > best.bounds.node:
                best = _NodeDual(point, gains, bounds, active, workspace.w[:d].copy(), workspace.z[:d].copy())
            g = np.where(free, gains.values, -math.inf)
            last = np.sort(g[chosen])[-min(count, chosen.size)] if chosen.size and count else math.inf
            g[chosen] = -math.inf
            larger = np.flatnonzero(g > max(last, 0.0))
            weak = self._bounds_largest and not node.arrays["tried"].any() and workspace.value[0] < _WEAK * target
            if best.bounds.node >= target or weak or (not larger.size and (chosen.size or cut == math.inf)):
                break  # where it is weak, signed features are tried next: more features would lower its value
            if not larger.size:  # no free feature is left: solve exactly, since rounded multipliers may just miss the cutoff
                tol, cut = _EXACT, math.inf
                continue
            chosen = np.concatenate([chosen, larger[np.argsort(-g[larger], kind="stable")][: max(_ADDED, chosen.size)]])
        assert best is not None
        return best

    def _round(self, state: FeatureStates, relaxed: _NodeDual) -> None:
        """Try the support of the largest z, unless its dual bound is above the incumbent, and swaps where it is the best."""
        problem = self.problem
        support = (state == IN) & problem.counted
        z = np.where(problem.counted[relaxed.active], relaxed.z, 0.0)
        for j in relaxed.active[np.argsort(-z, kind="stable")].tolist():
            if int(support.sum()) == problem.max_nonzeros:
                break
            if problem.counted[j] and state[j] == FREE:
                support[j] = True
        gains = relaxed.gains
        if gains.base - float(gains.values[support].sum()) < self._incumbent.value and self._refit(support):
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
            trials: list[tuple[int, int]] = [(-1, j) for j in entering] if support.sum() < problem.max_nonzeros else []
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

    def _branch(self, node: Node, relaxed: _NodeDual) -> Branching:
        """Close the node, or fix features by its dual point, and try signed features or split it."""
        problem, cut, closed = self.problem, self._incumbent.cutoff, math.inf
        bounds, state = relaxed.bounds, node.arrays["state"].copy()
        bound = max(node.bound, bounds.node)
        record = _Record([relaxed.point])
        if bound >= cut:
            return Branching(bound, record=record.values)
        free = (state == FREE) & problem.counted
        record.outside = np.flatnonzero(free & (bounds.inside >= cut))
        record.inside = np.flatnonzero(free & (bounds.outside >= cut) & ~(bounds.inside >= cut))
        for fixed, values in ((record.outside, bounds.inside), (record.inside, bounds.outside)):
            closed = min(closed, float(values[fixed].min(initial=math.inf)))
        state[record.outside], state[record.inside] = OUT, IN
        part = {**node.arrays, "state": state, "order": relaxed.order}
        if self._exhausted(part):
            return Branching(math.inf, record=record.values, closed_bound=closed)
        if self._weak(part, bounds.node):
            size = float(part["size"]) or 1.5 * float(np.abs(self._incumbent.w[problem.counted]).max()) or 1.0
            return self._exclude({**part, "size": np.array(size)}, bound, record, closed)
        record.split = self._split(part, relaxed)
        if record.split == _CLOSED and (record.inside.size or record.outside.size):
            record.split = _AGAIN
        if part["size"] > 0.0:
            part["tried"] = np.zeros_like(part["tried"])
        children: list[tuple[float, NodeArrays]] = []
        for choice in () if record.split == _CLOSED else (FREE,) if record.split == _AGAIN else (IN, OUT):
            child = state.copy()
            if record.split != _AGAIN:
                child[record.split] = choice
            arrays = {**part, "state": child}
            floor = math.inf if self._exhausted(arrays) else child_bounds(problem, relaxed.gains, child).node
            children.append((floor, arrays))
        return Branching(bound, children, record.values, closed)

    def _split(self, part: NodeArrays, relaxed: _NodeDual) -> int:
        """Return the free feature to split; `_CLOSED` if no choice is left.

        If few free features may be the largest coefficient, it is the one of the largest gain among them, else that of the
        largest z.
        """
        problem, state = self.problem, part["state"]
        free = (state == FREE) & problem.counted & ~self._never
        count = problem.max_nonzeros - int(((state == IN) & problem.counted).sum())
        if not free.any() or (count <= 0):
            return _CLOSED
        largest = free & part["sides"].reshape(-1, 2).any(axis=1)
        if part["size"] > 0.0 and 0 < int(largest.sum()) <= 2 * problem.max_nonzeros:
            return int(np.argmax(np.where(largest, relaxed.gains.values, -math.inf)))
        z = np.zeros(state.size)
        z[relaxed.active] = relaxed.z
        gains = relaxed.gains.values
        return int(np.argmax(np.where(free, z + 1e-9 * gains / (1.0 + np.abs(gains)), -1.0)))

    # Signed features that are not the largest coefficient.

    def _untried(self, part: NodeArrays) -> IntArray:
        """Return the signed features that may be the largest coefficient and were not tried in this node."""
        return np.flatnonzero(part["sides"] & ~part["tried"] & np.repeat(part["state"] != OUT, 2))

    def _exhausted(self, part: NodeArrays) -> bool:
        """Return True if no signed feature may be the largest coefficient.

        The point without counted coefficients has a largest one of size 0, so that any excluded signed feature excludes it, too.
        """
        used = np.repeat((part["state"] != OUT) & self.problem.counted, 2)
        return bool(part["sides"].sum() < self._signed_features.sum() and not part["sides"][used].any())

    def _weak(self, part: NodeArrays, bound: float) -> bool:
        """Return True if signed features should be tried: the bound is weak, or they were tried in an ancestor."""
        short = part["size"] > 0.0 or bound < _WEAK * self._incumbent.cutoff
        return bool(self._bounds_largest and short and not part["tried"].any() and self._untried(part).size)

    @property
    def _beyond(self) -> float:
        """The bound that excludes signed features: above the cutoff, so that the gap after rounding is below the tolerance."""
        incumbent = self._incumbent
        return incumbent.cutoff + _SHARE * incumbent.tol * abs(incumbent.value) if incumbent.value < math.inf else math.inf

    def _exclude(self, part: NodeArrays, bound: float, record: _Record, closed: float) -> Branching:
        """Try to exclude some signed features from being the largest coefficient of a better point; keep the node open."""
        candidates, tested, untried = part["sides"].copy(), part["tried"].copy(), self._untried(part)
        first = not tested.any()
        # a sample of all signed features, then one after another
        codes = (
            untried[np.linspace(0, untried.size - 1, min(_AT_ONCE, untried.size)).astype(np.int64)]
            if first
            else untried[:_AT_ONCE]
        )
        for code in codes.tolist():
            tested[code], candidates[code] = True, not self._exclude_largest(part, code, record)
        if record.largest:
            closed = min(closed, self._beyond)
        part = {**part, "sides": candidates, "tried": tested}
        if self._exhausted(part):
            return Branching(math.inf, record=record.values, closed_bound=closed)
        few_excluded = (
            2 * int((tested & candidates).sum()) > int(tested.sum()) and untried.size - codes.size > 2 * self.problem.max_nonzeros
        )
        if few_excluded and int(tested.sum()) <= _PATIENCE * _AT_ONCE:
            part |= {"tried": np.ones_like(tested), "size": np.array(0.0)}  # nor in the nodes below
        record.split = _AGAIN
        return Branching(bound, [(bound, part)], record.values, closed)

    def _exclude_largest(self, part: NodeArrays, code: int, record: _Record) -> bool:
        """Add dual points to the record that exclude a signed feature as the largest coefficient; return True if they suffice."""
        low, high, t = 0.0, math.inf, self._size or float(part["size"])
        finest = _SHARE * self._incumbent.tol
        for attempt in range(_SIZES):
            point, (start, end), feasible = self._relax_with_largest(part, code, t, max(_COARSE * 0.2**attempt, finest))
            if start == end or start > low or end < high:
                record.largest.append((len(record.points), code, start, end))
                record.points.append(point)
            before = high - low
            low, high = max(low, start), min(high, end)
            if start == end or low >= high:
                self._size = t
                return True
            if feasible or high - low > 0.9 * before or high == math.inf:
                return False
            nearest = low or high / 3.0
            t = math.sqrt(nearest * min(high, 6.0 * nearest))
        return False

    def _relax_with_largest(
        self, part: NodeArrays, code: int, t: float, tol: float
    ) -> tuple[DualPoint, tuple[float, float], bool]:
        """Solve the relaxation in which a signed feature's |w_j| is at least t, and all others are at most t.

        Return the dual point, the interval of sizes that it leaves, and True if the relaxation stays below the cutoff.
        """
        problem, state, order, j = self.problem, part["state"], part["order"], code // 2
        low = np.where(problem.counted, -t, problem.lower)
        high = np.where(problem.counted, t, problem.upper)
        low[j], high[j] = (-math.inf, -t) if code % 2 else (t, math.inf)
        inside = features_in_state(state, problem.counted, IN)
        always = np.concatenate([np.flatnonzero(~problem.counted), inside[inside != j], [j]])
        free = (state == FREE) & problem.counted & ~self._never
        free[j] = False
        count = problem.max_nonzeros - inside.size - (state[j] != IN)
        ordered = order[free[order]] if count > 0 else order[:0]
        chosen = ordered
        if ordered.size > _WHOLE:
            likely = self._likely[free[self._likely]]
            chosen = likely if likely.size > count else ordered[: 4 * count + _WHOLE // 4]
        target = self._beyond
        while True:
            active = np.concatenate([always, chosen])
            fixed = np.arange(active.size) < always.size
            workspace = self._solve(active, fixed, max(min(count, chosen.size + 1), 1), math.inf, tol, 0.0, (low, high))
            point = dual_point(problem, workspace.best)
            gains = feature_gains(problem, self._columns, point)
            interval = largest_coefficient_interval(problem, gains, state, code, target)
            feasible = bool(workspace.value[0] < target)
            size = np.where(free, np.maximum(gains.high, -gains.low), -math.inf)
            last = float(np.sort(size[chosen])[-min(count, chosen.size)]) if chosen.size else math.inf
            likely = chosen[size[chosen] > 0.8 * last]
            size[chosen] = -math.inf
            larger = np.flatnonzero(size > last)
            if interval[0] == interval[1] or feasible or not larger.size:
                self._likely = likely
                return point, interval, feasible
            chosen = np.concatenate([chosen, larger[np.argsort(-size[larger], kind="stable")][: max(_ADDED, chosen.size // 2)]])


@functools.cache
def _load() -> None:
    A = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0], [2.0, 1.0], [0.0, -2.0]])
    one = np.ones(2)
    for loss in LinearLoss:
        problem = SparseProblem(A, np.ones(5), loss, one, 0.0 * one, -np.inf * one, np.inf * one, one > 0.0, 1)
        search = TreeSearch(SparseRule(problem), Incumbent(1e-6))
        while not search.done:
            search.process_node()
