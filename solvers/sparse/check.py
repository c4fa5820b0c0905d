"""An independent checker of the proof logs of `sparse-bb`: it shares no code with the search and trusts the data alone.

The problem is min Σ_i c_i ℓ(a_i'w) + Σ_j q_j w_j²/2 + π_j 1{w_j ≠ 0} over l ≤ w ≤ u with at most k counted coefficients that are
not 0 (all but a free intercept count), a_i = y_i x_i. A node is a set I of features that may be used and count, and a set O that
are 0. For any α that is feasible for the losses' conjugates ℓ* and v = Σ α_i a_i, each point of the node costs at least

    -Σ c_i ℓ*(-α_i/c_i) - g_0 - Σ_{j in I} g_j - Σ of the k - |I| largest (g_j)_+ over j outside I and O,

g_j = sup {v_j w - q_j w²/2 : l_j ≤ w ≤ u_j} - π_j, and g_0 alike for a free intercept: Fenchel's inequality for each loss and
each coefficient. A record is the log's line of one node and holds several α. The first may decide features: j in ``outside``
requires that the node with j in I costs at least the claimed bound, j in ``inside`` that it does so with j in O. Then the node is
split into "j in I" and "j in O", stays open, or is closed. A node inherits the bounds of those that it is part of; each one that
is not split must reach the claim.

Each α of a record may also bound the largest coefficient of the node with the decided features. ``largest`` holds the place of an
α among the record's, a code, 2 j for "w_j is the largest coefficient in size and positive" and 2 j + 1 for negative, and two
numbers between which its size t must lie. All others lie in [-t, t], so that such a point costs at least

    φ(t) = -Σ c_i ℓ*(-α_i/c_i) - g_0 + q t²/2 ∓ v_j t - Σ_{i in T} max {|v_i| w - q w²/2 : 0 ≤ w ≤ t},

with - v_j t for a positive and + v_j t for a negative w_j, q the least q_i of the counted features and T the other members of I
and the features of the largest |v_i| outside O, k - 1 in all. φ is convex, so that its value and its slope at the two numbers
show that it reaches the claim outside. Equal numbers exclude each t: φ is q-strongly convex, and min φ ≥ φ(t) - φ'(t)²/(2q). A
node is closed where no t is left for any feature and sign.

α are whole multiples of a power of two, so that they are exact; products with the data have the a-priori error bound
γ_n max_i |a_ij| Σα with γ_n = n2⁻⁵³/(1 - n2⁻⁵³); each further operation is rounded to the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from ...errors import InputError, count_text
from ...models.arrays import BoolArray, FloatArray, IntArray
from ...models.formulations.margin.problems import SparseProblem
from ...models.model import Model
from ...models.rounding import gamma
from ...models.views import LinearLoss
from ..exact.check.arithmetic import InvalidProofError, RationalPoint, decode_multipliers, round_down, round_up, sum_down
from ..exact.check.checker import TreeChecker, data_digest, first_difference
from ..exact.check.trees import NodeRules

#: Name and version of the log format.
FORMAT, VERSION = "marginopt-sparse-proof", 3
#: Arrays of a `SparseProblem`.
_ARRAYS = ("A", "costs", "curvature", "price", "lower", "upper", "counted")
#: States of a feature.
_FREE, _IN, _OUT = 0, 1, 2
#: Values of ``split`` of a node that is not split: it is closed, or stays open with more features decided.
_CLOSED, _AGAIN = -1, -2
#: Dual points whose products with the data are computed at once, about.
_BATCH = 64
_UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class LoggedSparseProblem:
    """A sparse problem that a log or a model states."""

    problem: SparseProblem  #: the problem without its points of cost 0

    @property
    def digest(self) -> str:
        """The SHA-256 of the data."""
        p = self.problem
        return data_digest(f"{p.A.shape} {p.loss.name} {p.max_nonzeros}", [getattr(p, name) for name in _ARRAYS])

    def difference(self, other: LoggedSparseProblem) -> str | None:
        """Return the first field that differs; None if the problems are the same."""
        return first_difference(self.problem, other.problem, _ARRAYS, ("loss", "max_nonzeros"))

    def __str__(self) -> str:
        p = self.problem
        n, width = p.A.shape
        return (
            f"n = {n}, p = {width}, {p.loss.name.lower()}, "
            f"at most {count_text(p.max_nonzeros, 'coefficient')}, data {self.digest[:16]}"
        )

    def value(self, w: list[float]) -> Fraction:
        """Return the objective of a point, exactly; for the logistic loss an upper bound of it."""
        p = self.problem
        point = RationalPoint.of(w, p.price.size)
        x = np.array(w, dtype=np.float64)
        used = np.flatnonzero(x)
        if not ((x >= p.lower) & (x <= p.upper)).all() or int((p.counted & (x != 0.0)).sum()) > p.max_nonzeros:
            raise InvalidProofError("the incumbent is no point of the problem")
        part = RationalPoint(tuple(point.coordinates[j] for j in used))
        total = point.square(p.curvature.tolist()) / 2 + sum((Fraction(c) for c in p.price[used].tolist()), Fraction(0))
        margins = [part.product(row) for row in p.A[:, used].tolist()]
        if p.loss is LinearLoss.LOGISTIC:
            floats = np.array([float(m) for m in margins])
            losses = p.loss.total(floats, p.costs, np.abs(floats) * 2.0 * _UNIT)
            return total + Fraction(losses.value) + Fraction(losses.error)
        power = 1 if p.loss is LinearLoss.HINGE else 2
        short = (max(1 - m, Fraction(0)) ** power for m in margins)
        return total + sum((Fraction(c) * s for c, s in zip(p.costs.tolist(), short, strict=True)), Fraction(0))


@dataclass(frozen=True, eq=False)
class NodeBounds:
    """The lower bounds of nodes that one α gives; a node is a vector (p,) of the features' states."""

    base: float  #: lower bound of -Σ c_i ℓ*(-α_i/c_i) - g_0
    gains: FloatArray  #: (p,) upper bounds of g
    counted: BoolArray  #: (p,) mask of the features whose number is limited
    max_nonzeros: int  #: k
    low: FloatArray  #: (p,) lower bounds of v
    high: FloatArray  #: (p,) upper bounds of v
    curvature: float  #: the least q_j of the counted features

    def _parts(self, state: FloatArray) -> tuple[FloatArray, IntArray, IntArray, int]:
        gains_inside = self.gains[(state == _IN) & self.counted]
        free = np.flatnonzero((state == _FREE) & self.counted)
        count = min(self.max_nonzeros - gains_inside.size, free.size)
        order = free[np.argsort(-np.maximum(self.gains[free], 0.0), kind="stable")]
        return gains_inside, free, order, count

    def node_bound(self, state: Any) -> float:
        """Return the lower bound of a node with these states of the features; ∞ if more are in use than are allowed."""
        gains_inside, _, order, count = self._parts(state)
        if count < 0:
            return math.inf
        top = np.maximum(self.gains[order[:count]], 0.0)
        terms = np.concatenate([[self.base], -gains_inside, -top])
        return sum_down(terms) if np.isfinite(terms).all() else -math.inf

    def child_bounds(self, state: Any) -> tuple[FloatArray, FloatArray]:
        """Return the bounds (p,), (p,) of the node with undecided feature j in I, and with it in O."""
        _, free, order, count = self._parts(state)
        node = self.node_bound(state)
        inside, outside = np.full(self.gains.size, node), np.full(self.gains.size, node)
        if count <= 0:
            inside[free] = math.inf
            return inside, outside
        positive = np.maximum(self.gains, 0.0)
        following = float(positive[order[count]]) if count < order.size else 0.0
        top, below, last = order[:count], order[count:], float(positive[order[count - 1]])
        inside[below] = round_down(node + round_down(last - self.gains[below]))
        inside[top] = round_down(node + round_down(positive[top] - self.gains[top]))
        outside[top] = round_down(node + round_down(positive[top] - following))
        return inside, outside

    def largest_coefficient_bound(self, state: Any, code: int) -> LargestCoefficientBound:
        """Return φ for the largest coefficient w_j, j = code // 2, positive if the code is even."""
        j = code // 2
        sizes, places = np.maximum(self.high, -self.low), np.arange(self.gains.size)
        sizes_inside = sizes[(state == _IN) & self.counted & (places != j)]
        free = np.sort(sizes[(state == _FREE) & self.counted & (places != j)])[::-1]
        count = max(self.max_nonzeros - 1 - sizes_inside.size, 0)
        v = float(-self.low[j] if code % 2 else self.high[j])
        return LargestCoefficientBound(self.base, self.curvature, v, tuple(np.concatenate([sizes_inside, free[:count]]).tolist()))


@dataclass(frozen=True, eq=False)
class LargestCoefficientBound:
    """The lower bound φ(t) of points whose largest coefficient in size is a given one, of size t."""

    base: float  #: lower bound of -Σ c_i ℓ*(-α_i/c_i) - g_0
    q: float  #: the least q_i of the counted features
    v: float  #: v_j of the given feature, with the sign of its coefficient
    other_sizes: tuple[float, ...]  #: |v_i| of the features in T

    def value(self, t: float) -> float:
        """Return φ(t), rounded down."""
        q = self.q
        terms = [0.5 * q * t * t, -self.v * t]
        for x in self.other_sizes:
            w = min(t, x / q)  # rounding x/q changes the maximum by less than the error below
            terms += [-x * w, 0.5 * q * w * w]
        return sum_down(np.array([self.base, *terms, -16.0 * _UNIT * math.fsum(map(abs, terms))]))

    def slope(self, t: float) -> tuple[float, float]:
        """Return bounds of φ'(t)."""
        terms = [self.q * t, -self.v] + [-max(x - self.q * t, 0.0) for x in self.other_sizes]
        error = 16.0 * _UNIT * (math.fsum(map(abs, terms)) + math.fsum(self.other_sizes))
        return math.fsum(terms) - error, math.fsum(terms) + error

    def excludes(self, low: float, high: float, bound: float) -> bool:
        """Return True if φ reaches ``bound`` for every t ≥ 0 outside the open interval from ``low`` to ``high``."""
        if low == high:  # for every t, since φ is q-strongly convex
            steepest = max(map(abs, self.slope(low)))
            if sum_down(np.array([self.value(low), -steepest * steepest / self.q])) >= bound:
                return True
        below = low == 0.0 or (self.value(low) >= bound and self.slope(low)[1] <= 0.0)
        return below and (high == math.inf or (self.value(high) >= bound and self.slope(high)[0] >= 0.0))


#: State of an open node: its features' states, a proved bound, and the sizes (2p, 2) that each largest coefficient may have.
_OpenNode: TypeAlias = "tuple[Any, float, FloatArray] | None"


class SparseRules(NodeRules[_OpenNode]):
    """The rules by which a record of the log proves a node: its α bound the node, its children and its largest coefficient.

    ``bound`` is the lower bound that the log claims.
    """

    def __init__(self, problem: SparseProblem, bound: float) -> None:
        self._counted, self._bound = problem.counted, bound
        self._possible = np.column_stack(
            [problem.counted & (problem.upper > 0.0), problem.counted & (problem.lower < 0.0)]
        ).ravel()

    def _open(self, state: Any, floor: float, sizes: FloatArray) -> _OpenNode:
        return (state, floor, sizes) if floor < self._bound and not self._exhausted(state, sizes) else None

    def _exhausted(self, state: Any, sizes: FloatArray) -> bool:
        """Return whether no signed feature can be the largest coefficient.

        The point without counted coefficients has a largest one of size 0, so that any excluded signed feature excludes it, too.
        """
        empty = sizes[:, 0] >= sizes[:, 1]
        return bool(empty.any() and empty[self._possible & np.repeat(state != _OUT, 2)].all())

    def children(self, record: dict[str, Any], state: _OpenNode) -> list[_OpenNode]:
        """Return the children of a node, with the features that the record decides and the sizes that it leaves."""
        assert state is not None
        split, bounds, (features, floor, sizes) = int(record["split"]), record["bounds"], state
        floor = _floor(floor, bounds, features)
        features = _decided(bounds, features, record, self._bound, self._counted)
        sizes = _narrowed(bounds, features, sizes, record, self._bound)
        if split == _CLOSED:
            if (remainder := self._open(features, floor, sizes)) is not None:
                raise InvalidProofError(f"node {record['id']} {self.reason_unproved(remainder)}")
            return []
        if split == _AGAIN:
            return [self._open(features, _floor(floor, bounds, features), sizes)]
        if not 0 <= split < features.size or features[split] != _FREE or not self._counted[split]:
            raise InvalidProofError(f"node {record['id']} is split by feature {split}, which is not free there")
        parts = [features.copy(), features.copy()]
        parts[0][split], parts[1][split] = _IN, _OUT
        return [self._open(part, _floor(floor, bounds, part), sizes) for part in parts]

    def reason_unproved(self, state: _OpenNode) -> str:
        """Return the end of a message on an open node: its bound is below the claim."""
        assert state is not None
        return f"is proved to cost {state[1]:.12g} and no more; the claim is {self._bound:.12g}"


class SparseChecker(TreeChecker[LoggedSparseProblem]):
    """Checker of the logs of ``sparse-bb``."""

    format, versions = FORMAT, (VERSION,)

    def of_model(self, model: Model) -> LoggedSparseProblem:
        """Return the problem of a composition with a count or prices of coefficients."""
        view = model.view(SparseProblem)
        if view is None:
            raise InputError(
                "a proof log of sparse-bb proves a bound of a Margin whose coefficients are counted; "
                f"{type(model).__name__} is not such a problem"
            )
        keep = view.costs > 0.0
        fields = {
            name: getattr(view, name) for name in ("loss", "curvature", "price", "lower", "upper", "counted", "max_nonzeros")
        }
        return LoggedSparseProblem(SparseProblem(A=view.A[keep], costs=view.costs[keep], **fields))

    def of_log(self, header: dict[str, Any]) -> LoggedSparseProblem:
        """Return the problem of a log's header, after checking its fields."""
        p = len(header["curvature"])
        A = np.array(header["A"], dtype=np.float64).reshape(-1, p)
        vectors = {name: np.array(header[name], dtype=np.float64) for name in ("curvature", "price", "lower", "upper")}
        costs, counted = np.array(header["costs"], dtype=np.float64), np.array(header["counted"])
        max_nonzeros = int(header["most"])
        q, price, lower, upper = vectors.values()
        shapes = costs.shape == (len(A),) and counted.shape == (p,) and all(x.shape == (p,) for x in vectors.values())
        if (
            not shapes
            or counted.dtype != np.bool_
            or not (np.isfinite(A).all() and (costs > 0.0).all() and np.isfinite(costs).all())
        ):
            raise InvalidProofError("the stated problem's arrays do not fit")
        bounded = (q > 0.0) | (np.isfinite(lower) & np.isfinite(upper)) | ~counted
        signs = (q >= 0.0).all() and (price >= 0.0).all() and np.isfinite(q).all() and np.isfinite(price).all()
        allowed = (lower <= upper).all() and ((lower <= 0.0) & (upper >= 0.0) | ~counted).all()
        if not (signs and allowed and bounded.all()) or max_nonzeros < 0 or price[~counted].any() or q[~counted].any():
            raise InvalidProofError("the stated problem's prices, bounds or count are invalid")
        return LoggedSparseProblem(
            SparseProblem(A, costs, LinearLoss[header["loss"]], q, price, lower, upper, counted, max_nonzeros)
        )

    def value(self, problem: LoggedSparseProblem, w: list[float]) -> Fraction:
        """Return the exact objective of a point."""
        return problem.value(w)

    def rules(self, problem: LoggedSparseProblem, bound: float) -> tuple[SparseRules, _OpenNode]:
        """Return the rules, and the root: no feature is decided, and no term of the objective is negative."""
        p = problem.problem.price.size
        root = np.zeros(p, dtype=np.int8), 0.0, np.tile([0.0, math.inf], (2 * p, 1))
        return SparseRules(problem.problem, bound), root if bound > 0.0 else None

    def precompute_for_records(self, problem: LoggedSparseProblem, records: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield each record with the bounds that its α give."""
        p = problem.problem
        columns = np.abs(p.A).max(axis=0, initial=0.0)
        for batch in _batches(records):
            rows = [_alpha(p, *point) for record in batch for point in record["points"]]
            points = np.array(rows, dtype=np.float64).reshape(len(rows), p.costs.size)
            bounds = iter([_bounds(p, columns, alpha, v) for alpha, v in zip(points, points @ p.A, strict=True)])
            for record in batch:
                yield {**record, "bounds": list(islice(bounds, len(record["points"])))}


def _batches(records: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    points = 0
    for record in records:
        batch.append(record)
        points += max(len(record["points"]), 1)
        if points >= _BATCH:
            yield batch
            batch, points = [], 0
    yield batch


def _floor(floor: float, bounds: list[NodeBounds], features: Any) -> float:
    return max(floor, *(b.node_bound(features) for b in bounds)) if bounds else floor


def _narrowed(bounds: list[NodeBounds], features: Any, sizes: FloatArray, record: dict[str, Any], bound: float) -> FloatArray:
    """Return the intervals in which the largest coefficient may lie."""
    if not record["largest"]:
        return sizes
    sizes = sizes.copy()
    for place, number, start, end in record["largest"]:
        b, code, low, high = bounds[int(place)], int(number), float(start), float(end)
        j = code // 2
        if not 0 <= code < len(sizes) or features[j] == _OUT or not b.counted[j] or not b.curvature > 0.0:
            raise InvalidProofError("a bound of the largest coefficient names a feature that there is not")
        if not (0.0 <= low <= high and low < math.inf and b.largest_coefficient_bound(features, code).excludes(low, high, bound)):
            raise InvalidProofError(f"feature {j} may have the largest coefficient below the claim, outside of {low} to {high}")
        sizes[code] = max(sizes[code, 0], low), min(sizes[code, 1], high)
    return sizes


def _decided(bounds: list[NodeBounds], state: Any, record: dict[str, Any], bound: float, counted: BoolArray) -> Any:
    """Return the state with the features that the record decides."""
    sides = np.array(record["inside"], dtype=np.int64), np.array(record["outside"], dtype=np.int64)
    state = state.copy()
    if not any(side.size for side in sides):
        return state
    with_feature, without_feature = bounds[0].child_bounds(state)
    for features, value, other in ((sides[0], _IN, without_feature), (sides[1], _OUT, with_feature)):
        if ((features < 0) | (features >= state.size)).any() or (state[features] != _FREE).any() or not counted[features].all():
            raise InvalidProofError("a feature is decided that is not free")
        if (other[features] < bound).any():
            raise InvalidProofError("a feature is decided, and the other choice may cost less than the claim")
        state[features] = value
    return state


def _alpha(p: SparseProblem, size: Any, text: Any) -> FloatArray:
    alpha = decode_multipliers(size, text, p.costs.size)
    if p.loss.bounded and (alpha > p.costs).any():
        raise InvalidProofError("a multiplier is above the cost of its point")
    return alpha


def _bounds(p: SparseProblem, columns: FloatArray, alpha: FloatArray, v: FloatArray) -> NodeBounds:
    terms = p.loss.dual_terms(alpha, p.costs)
    error = round_up(gamma(alpha.size) * columns * (float(alpha.sum()) * (1.0 + 2.0 * gamma(alpha.size)))) + 1e-290
    low, high = round_down(v - error), round_up(v + error)
    for j in np.flatnonzero(~p.counted).tolist():
        if (np.abs(p.A[:, j]) == 1.0).all():  # the products are exact, and so is the sign of their sum
            exact = math.fsum((p.A[:, j] * alpha).tolist())
            low[j], high[j] = (exact, exact) if exact == 0.0 else (round_down(exact), round_up(exact))
    gains = np.maximum(*(_largest(side, p.curvature, p.lower, p.upper) for side in (low, high)))  # convex in v
    gains = round_up(gains - p.price)
    always = round_up(math.fsum(gains[~p.counted].tolist()))  # of either sign where bounds exclude 0
    base = round_down(round_down(terms.value - terms.error) - always)
    smallest_curvature = float(p.curvature[p.counted].min(initial=math.inf))
    return NodeBounds(float(base), gains, p.counted, p.max_nonzeros, low, high, smallest_curvature)


def _largest(v: FloatArray, q: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return sup {v w - q w²/2 : l ≤ w ≤ u}, rounded up; ∞ where it is unbounded."""
    best = np.where(q > 0.0, v / np.where(q > 0.0, q, 1.0), np.where(v > 0.0, np.inf, np.where(v < 0.0, -np.inf, 0.0)))
    w = np.clip(best, lower, upper)
    first, second = v * w, q * w * w
    value = first - 0.5 * second + 8.0 * _UNIT * (np.abs(first) + second)
    return np.where(np.isfinite(w), value, np.inf)
