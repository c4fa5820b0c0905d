"""Checker of the box search's proof logs: the problem in the log's coordinates, and the rules that prove or split a node.

The objective is f(w) = Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1}; a point is *kept* if its margin is at least 1, else *violated*.
The problem in coordinates w = T v is derived from the stated data in rational arithmetic. The rules recompute bounds and boxes
from the log's pairs and multipliers alone (``docs/explanation/zero-one-bb.md``). Most functions treat many nodes at once: `Boxes`
has one node a row. A *round* is the list [points, states, α, pairs, prices] of a node's record, where α are dual multipliers and
two points of a pair, which no w of the box keeps both, pay its price; a factor θ on the losses is an optional sixth entry. A zero
row is an a_i = 0, which every w violates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from ...exact.check.arithmetic import (
    Array,
    InvalidProofError,
    gram_eigenvalue_bound,
    rotate_rows,
    round_down,
    round_up,
    row_sums_down,
    row_sums_up,
    segment_sums,
    sum_down,
)
from ...exact.check.log_reader import SealedLog
from ...exact.check.trees import NodeRules, VerifierPool, verify_log

#: Masks, and indices of points or nodes.
Flags = npt.NDArray[np.bool_]
Points = npt.NDArray[np.int64]

#: States of a point in a node.
FREE, KEPT, VIOLATED = -1, 0, 1
#: Share of the stated prices that counts, so that rounded sums of prices exceed no point's weight.
_SHARE = 1.0 - 2.0**-43


@dataclass(eq=False)
class BoxProblem:
    """The problem in the log's coordinates, w = T v, where ||T v||² ≥ σ||v||² in the penalised coordinates.

    Its objective F(v) = ||v||² + Σ_i λ_i 1{g_i'v < 1}, with costs divided by σ, is at most (f(w) - cost of the zero rows)/σ.
    """

    g: Array  #: (n, p) rows g_i
    e: Array  #: (n,) bounds on the errors of the margins g_i'v over the root box
    norm2: Array  #: (n,) ||g_i||², rounded up
    weights: Array  #: (n,) λ_i, rounded down
    free: bool  #: whether the last coordinate is a free intercept
    target: float  #: the lower bound of F to be proved
    lo: Array  #: (p,) lower ends of the root box
    hi: Array  #: (p,) upper ends of the root box
    step: tuple[float, float] = (0.0, 0.0)  #: an interval with some u of which all λ_i are integer multiples; (0, 0) without one


@dataclass(eq=False)
class Boxes:
    """Nodes of the tree, one in each row."""

    lo: Array  #: (nodes, p) lower ends of the boxes
    hi: Array  #: (nodes, p) upper ends of the boxes
    state: npt.NDArray[np.int8]  #: (nodes, n) states of the points
    lower: Array  #: (nodes, n) l_i: the margin of a free point is at least l_i if the point is violated
    bound: Array  #: (nodes,) proved lower bounds

    @classmethod
    def root(cls, problem: BoxProblem) -> Boxes:
        """Return the root node; points that cost the target or more are kept."""
        state = np.where(problem.weights >= problem.target, KEPT, FREE).astype(np.int8)
        return cls(problem.lo[None], problem.hi[None], state[None], np.full((1, len(state)), -np.inf), np.zeros(1))

    @classmethod
    def concatenate(cls, parts: list[Boxes]) -> Boxes:
        """Return the nodes of all parts as one object, copied."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in _FIELDS))

    def select(self, rows: Any) -> Boxes:
        """Return the chosen rows: views if ``rows`` is a slice, else copies."""
        return Boxes(*(getattr(self, name)[rows] for name in _FIELDS))

    def update(self, rows: Any, part: Boxes) -> None:
        """Replace the chosen rows by those of ``part``."""
        for name in _FIELDS:
            getattr(self, name)[rows] = getattr(part, name)


_FIELDS = ("lo", "hi", "state", "lower", "bound")


@dataclass(frozen=True, eq=False)
class Packing:
    """The outcome of a round's pairs, which are points that cannot both be kept; one node in each row."""

    left: Array  #: (nodes, n) the points' weights less the prices of their pairs
    paid: Array  #: (nodes,) lower bounds of the pairs' costs


def reduced_box_problem(
    header: dict[str, Any], A: Array, weights: Array, penalised: npt.NDArray[np.bool_], bound: float
) -> BoxProblem | None:
    """Return the problem in the coordinates that a log's header states; None if the zero rows alone cost the bound."""
    T = np.array(header["T"], dtype=np.float64)
    member = np.array(header["member"], dtype=np.int64)
    p = A.shape[1]
    free = not bool(penalised.all())
    if T.shape != (p, p) or member.shape != weights.shape or not np.isfinite(T).all():
        raise InvalidProofError("T must be a finite square matrix, member one number for each point")
    if free and int((~penalised).sum()) > 1:
        raise InvalidProofError("more than one weight is outside the norm")
    if free and (T[penalised, -1].any() or T[~penalised, :-1].any() or T[~penalised, -1][0] == 0.0):
        raise InvalidProofError("T mixes the intercept with the penalised weights")
    zero = member < 0
    if A[zero].any():
        raise InvalidProofError("a row is called zero and is not")
    constant = sum_down(weights[zero]) if zero.any() else 0.0
    if constant >= bound:
        return None
    first, summed = _merge(A, weights, member)
    sigma = gram_eigenvalue_bound(T[penalised, : p - 1] if free else T)
    target = float(round_up(round_up(bound - constant) / sigma))
    g, radius = rotate_rows(first, T)
    half = np.full(p, float(round_up(math.sqrt(target))))
    if free:
        length = round_up(np.sqrt(row_sums_up(round_up(first[:, penalised] ** 2))))
        if not (np.abs(first[:, ~penalised]) == 1.0).all():
            raise InvalidProofError("the intercept's column does not hold ±1")
        reach = round_up(1.0 + round_up(float(length.max()) * round_up(math.sqrt(bound))))
        half[-1] = float(round_up(reach / abs(T[~penalised, -1][0])))
    e, norm2 = row_sums_up(round_up(radius * half)), row_sums_up(round_up(g * g))
    step = _step(header.get("step", 0.0), weights[~zero])
    steps = (float(round_down(step / sigma)), float(round_up(step / sigma))) if step > 0.0 else (0.0, 0.0)
    return BoxProblem(g, e, norm2, round_down(summed / sigma), free, target, -half, half, steps)


def _step(step: Any, weights: Array) -> float:
    """Return the stated step of the losses, if all costs are whole multiples of it."""
    step = float(step)
    if step == 0.0:
        return 0.0
    if not (math.isfinite(step) and step > 0.0):
        raise InvalidProofError("the step of the losses must be a positive number")
    if any((Fraction(float(weight)) / Fraction(step)).denominator != 1 for weight in np.unique(weights)):
        raise InvalidProofError(f"the costs are no whole multiples of {step:g}")
    return step


def _scale_losses(problem: BoxProblem, node: Boxes, theta: float) -> BoxProblem:
    """Return the problem with losses times θ, and a target that bounds the solutions of interest in the node's box.

    The costs are multiples of u. With ||v||² + j·u < target for a loss of j·u, j ≤ k = ⌊(target - ν)/u⌋, ν the least ||v||² in
    the box, and ||v||² + θ·j·u < target + (θ - 1)·j·u ≤ target + (θ - 1)·k·u.
    """
    low, high = problem.step
    if not (math.isfinite(theta) and theta >= 1.0) or low <= 0.0:
        raise InvalidProofError("a round weighs losses by a number below 1, or without a step that they are multiples of")
    nearest = np.maximum(np.maximum(node.lo[0], -node.hi[0]), 0.0)
    nearest = nearest[:-1] if problem.free else nearest
    norm = sum_down(round_down(nearest * nearest)) if nearest.size else 0.0
    k = math.floor(float(round_up(round_up(problem.target - norm) / low)))
    added_losses = float(round_up(round_up(round_up(theta - 1.0) * high) * max(k, 0)))
    return replace(problem, weights=round_down(problem.weights * theta), target=float(round_up(problem.target + added_losses)))


def _merge(A: Array, weights: Array, member: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """Return one row for each group of the log, whose members must be equal, and their weights, summed and rounded down."""
    count = int(member.max()) + 1
    if count > len(member):
        raise InvalidProofError("a merged row has no point")
    first = np.full(count, -1, dtype=np.int64)
    total = np.zeros(count)
    for i, k in enumerate(member.tolist()):
        if k < 0:
            continue
        if first[k] < 0:
            first[k] = i
        elif not (A[first[k]] == A[i]).all():
            raise InvalidProofError(f"points {first[k]} and {i} are merged and differ")
        total[k] = round_down(total[k] + weights[i]) if total[k] else weights[i]
    if (first < 0).any():
        raise InvalidProofError("a merged row has no point")
    return A[first], total


def _margins(problem: BoxProblem, lo: Array, hi: Array) -> tuple[Array, Array]:
    """Return the least and the greatest margins of all points over boxes, one a row, rounded outward.

    They are sums of 2p products, which are off by at most 2p half units in the last place of the sum of their sizes, in any
    order. More than twice as much is added, which covers the sums with the rows' own errors, and underflow.
    """
    g, p = problem.g.T, problem.g.shape[1]
    up, down = np.maximum(g, 0.0), np.minimum(g, 0.0)
    error = np.maximum(np.abs(lo), np.abs(hi)) @ np.abs(g) * ((2 * p + 8) * 2.0**-52)
    error += problem.e * (1.0 + 2.0**-50) + 2.0**-1000
    return lo @ up + hi @ down - error, hi @ up + lo @ down + error


def _apply_box(problem: BoxProblem, nodes: Boxes) -> Flags:
    """Set the states of points that the boxes decide; return a mask of nodes, False for empty ones."""
    low, high = _margins(problem, nodes.lo, nodes.hi)
    below, above = high < 1.0, low >= 1.0
    empty = ((nodes.state == KEPT) & below) | ((nodes.state == VIOLATED) & above)
    free = nodes.state == FREE
    np.maximum(nodes.lower, low, out=nodes.lower, where=free)
    nodes.state[free & below] = VIOLATED
    nodes.state[free & ~below & (nodes.lower >= 1.0)] = KEPT
    return np.asarray(~(empty.any(axis=1) | (nodes.lo > nodes.hi).any(axis=1)))


def _flat(entries: list[list[Any]], place: int, dtype: Any) -> Any:
    """Return one of the lists of several rounds, end to end."""
    return np.fromiter(chain.from_iterable(entry[place] for entry in entries), dtype)


def _owners(entries: list[list[Any]], *places: int) -> Points:
    """Return the round of each element of lists that are as long as each other."""
    sizes = [len(entry[places[0]]) for entry in entries]
    if any([len(entry[place]) for entry in entries] != sizes for place in places[1:]):
        raise InvalidProofError("a round has lists of different lengths")
    return np.repeat(np.arange(len(entries)), sizes)


def apply_pairs(problem: BoxProblem, nodes: Boxes, entries: list[list[Any]]) -> tuple[Packing, Flags]:
    """Apply the pairs of rounds: points that cannot both be kept, max over the box of (g_i + g_j)'v < 2, pay a price together.

    ``entries`` has one round for each node. Return the packing, and a mask of empty nodes, in which both points of a pair are
    kept. If one point of a pair is kept, the other becomes violated. Pairs that the box does not exclude, or with a violated
    point, are ignored.
    """
    owner, n = _owners(entries, 3, 4), len(problem.weights)
    pairs, prices = (
        np.array(list(chain.from_iterable(entry[3] for entry in entries)), np.int64).reshape(-1, 2),
        _flat(entries, 4, float),
    )
    if prices.shape != pairs.shape[:1] or not np.isfinite(prices).all() or (prices < 0).any():
        raise InvalidProofError("prices must be finite and not negative, one for each pair")
    if (pairs < 0).any() or (pairs >= n).any() or (pairs[:, 0] == pairs[:, 1]).any():
        raise InvalidProofError("a pair names points that do not exist, or one point twice")
    excluded = _exclusive(problem, nodes.lo[owner], nodes.hi[owner], pairs[:, 0], pairs[:, 1])
    owner, pairs, prices = owner[excluded], pairs[excluded], prices[excluded]
    is_kept = nodes.state[owner[:, None], pairs] == KEPT
    empty = np.zeros(len(entries), dtype=bool)
    empty[owner[is_kept.all(axis=1)]] = True
    one = is_kept.any(axis=1)
    nodes.state[owner[one], np.where(is_kept[one, 0], pairs[one, 1], pairs[one, 0])] = VIOLATED
    free = (nodes.state[owner[:, None], pairs] == FREE).all(axis=1)
    return _paid(problem, len(entries), owner[free], pairs[free], prices[free] * _SHARE), empty


def _paid(problem: BoxProblem, count: int, owner: Points, pairs: Points, prices: Array) -> Packing:
    """Return the packings of nodes, with the stated prices.

    In a node where some point's prices exceed its weight, each pair in turn pays at most what its points have left.
    """
    n, most = len(problem.weights), np.bincount(owner, minlength=1).max() + 2
    loads = np.bincount((owner[:, None] * n + pairs).ravel(), np.repeat(prices, 2), count * n).reshape(count, n)
    left = round_down(problem.weights - loads * (1.0 + most * 2.0**-52))
    paid = np.bincount(owner, prices, count) * (1.0 - most * 2.0**-52)
    for b in np.flatnonzero((left < 0.0).any(axis=1)):
        residual, payments = problem.weights.tolist(), [0.0]
        for (i, j), price in zip(pairs[owner == b].tolist(), prices[owner == b].tolist(), strict=True):
            payment = min(price, residual[i], residual[j])
            payments.append(payment)
            residual[i], residual[j] = (max(math.nextafter(residual[k] - payment, -math.inf), 0.0) for k in (i, j))
        left[b], paid[b] = residual, sum_down(np.array(payments))
    return Packing(left, paid)


def _exclusive(problem: BoxProblem, lo: Array, hi: Array, i: Points, j: Points) -> Flags:
    """Return whether (g_i + g_j)'v < 2 all over each box, the rows' own errors included."""
    total = problem.g[i] + problem.g[j]
    size = (np.abs(total) * np.maximum(np.abs(lo), np.abs(hi))).sum(axis=1)
    greatest = np.maximum(total * lo, total * hi).sum(axis=1) + size * ((total.shape[1] + 8) * 2.0**-52)
    return np.asarray(round_up(round_up(greatest + problem.e[i]) + problem.e[j]) < 2.0)


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Valid dual multipliers of rounds, in one entry for each point that a round names."""

    owner: Points  #: the node of each entry
    points: Points  #: the point of each entry
    alpha: Array  #: multipliers of the constraints g_i'v ≥ 1, for free and kept points
    flipped: Array  #: multipliers of the constraints g_i'v ≤ 1, for violated points


def multipliers(nodes: Boxes, entries: list[list[Any]], packing: Packing) -> Multipliers:
    """Return the multipliers of the rounds ``entries``, one round for each node, clipped to valid ones.

    On a free point with λ left after its pairs, λ 1{u < 1} ≥ α(1 - u) for u ≥ l needs α ≤ λ/(1 - l).
    """
    owner, n = _owners(entries, 0, 1, 2), nodes.state.shape[1]
    points, states, values = _flat(entries, 0, np.int64), _flat(entries, 1, np.int64), _flat(entries, 2, np.float64)
    if not np.isfinite(values).all() or (values < 0).any():
        raise InvalidProofError("multipliers must be finite and not negative, one for each point")
    if (points < 0).any() or (points >= n).any() or len(np.unique(owner * n + points)) < len(points):
        raise InvalidProofError("multipliers name points that do not exist, or one twice")
    node_states, lower = nodes.state[owner, points], nodes.lower[owner, points]
    cap = np.maximum(round_down(packing.left[owner, points] / round_up(1.0 - lower)), 0.0)
    clipped = np.where(node_states == FREE, np.minimum(values, np.where(np.isfinite(lower), cap, 0.0)), values)
    up = (states != VIOLATED) & (node_states != VIOLATED)
    down = (states == VIOLATED) & (node_states == VIOLATED)
    return Multipliers(owner, points, np.where(up, clipped, 0.0), np.where(down, values, 0.0))


@dataclass(frozen=True, eq=False)
class LinearBound:
    """A lower bound F(v) ≥ ||v||² + constant - s'v of `BoxProblem`'s objective, for some s within ``error`` of ``slope``.

    The norm is that of the penalised coordinates; each row is a node.
    """

    constant: Array  #: (nodes,)
    slope: Array  #: (nodes, p)
    error: Array  #: (nodes, p) bounds of |s - slope|


def _violated_weights(problem: BoxProblem, nodes: Boxes) -> Array:
    """Return the weights of the violated points, rounded down: sums of n numbers that are not negative."""
    sums = (nodes.state == VIOLATED) @ problem.weights
    return np.asarray(sums * (1.0 - (len(problem.weights) + 4) * 2.0**-52))


def _linear_bound(problem: BoxProblem, nodes: Boxes, duals: Multipliers, packing: Packing) -> LinearBound:
    """Return the linear bound: violated weights, prices of pairs and Σ α b as constant, and Σ ±α_i g_i as slope."""
    e = problem.e[duals.points]
    products = problem.g[duals.points] * (duals.alpha - duals.flipped)[:, None]
    gains = round_down(duals.alpha * round_down(1.0 - e)), round_down(duals.flipped * round_down(-1.0 - e))
    sums, error = segment_sums(np.column_stack([products, *gains]), np.bincount(duals.owner, minlength=len(nodes.bound)))
    constant = [_violated_weights(problem, nodes), packing.paid, *round_down(sums - error).T[-2:]]
    return LinearBound(row_sums_down(np.column_stack(constant)), sums[:, :-2], error[:, :-2])


def _square_bound(problem: BoxProblem, nodes: Boxes, linear: LinearBound) -> tuple[Array, Array, Array]:
    """Return (D, c, slope) with F(v) ≥ D + Σ_j (v_j - c_j)² + slope_j |v_j - c_j| on the boxes."""
    const, s, delta = linear.constant, linear.slope.copy(), linear.error.copy()
    if problem.free:
        # 0 ≥ (v - lo)(v - hi) stands for the intercept's missing square.
        lo, hi = nodes.lo[:, -1], nodes.hi[:, -1]
        const = round_down(const + round_down(lo * hi))
        s[:, -1] += lo + hi
        delta[:, -1] = round_up(delta[:, -1] + 2.0**-51 * (np.abs(s[:, -1]) + np.abs(lo) + np.abs(hi)))
    c = np.minimum(np.maximum(0.5 * s, nodes.lo), nodes.hi)
    terms = round_down(round_down(c * c) - round_up(s * c))
    loss = round_up(delta * round_up(np.abs(c) + round_up(nodes.hi - nodes.lo)))
    bound = row_sums_down(np.column_stack([const, terms, -loss]))
    slope = np.maximum(round_down(np.abs(round_down(np.abs(2.0 * c - s))) - 2.0**-52 * np.abs(s)), 0.0)
    return bound, c, slope


def intercept_bound(problem: BoxProblem, nodes: Boxes, linear: LinearBound) -> Array:
    """Return the bounds with the intercept's linear term only, -∞ without one: better if the multipliers balance the classes."""
    if not problem.free:
        return np.full(len(nodes.bound), -np.inf)
    s, delta = linear.slope, linear.error
    lo, hi = nodes.lo[:, :-1], nodes.hi[:, :-1]
    c = np.minimum(np.maximum(0.5 * s[:, :-1], lo), hi)
    terms = round_down(round_down(c * c) - round_up(s[:, :-1] * c))
    loss = round_up(delta[:, :-1] * round_up(np.abs(c) + round_up(hi - lo)))
    first, last, tilt = nodes.lo[:, -1], nodes.hi[:, -1], s[:, -1]
    intercept = np.maximum(round_up(tilt * first), round_up(tilt * last))
    tilt_loss = round_up(delta[:, -1] * np.maximum(np.abs(first), np.abs(last)))
    return row_sums_down(np.column_stack([linear.constant, -intercept, -tilt_loss, terms, -loss]))


def tighten(problem: BoxProblem, nodes: Boxes, alpha: Array, left: Array, bound: Array, c: Array, slope: Array) -> Flags:
    """Shrink boxes and decide points by the balls Σ_j (v_j - c_j)² + slope_j |v_j - c_j| ≤ target - D, D the finite ``bound``.

    ``alpha`` and ``left`` (nodes, n) are the multipliers and residual weights of all points. Return a mask of nodes, False for
    empty ones. A node is empty also if its ball excludes the state of a decided point.
    """
    r = round_up(problem.target - bound)[:, None]
    radius = round_up(np.sqrt(np.maximum(r, 0.0)))
    root = round_down(np.sqrt(round_down(round_down(slope * slope) + round_down(4.0 * r))))
    short = round_up(round_up(2.0 * r / round_down(slope + root)))
    short = np.where(slope > 0.0, np.minimum(short, radius), radius)
    at_lo, at_hi = c <= nodes.lo, c >= nodes.hi
    up, down = np.where(at_lo, short, radius), np.where(at_hi & ~at_lo, short, radius)
    nodes.hi = np.minimum(nodes.hi, round_up(c + up))
    nodes.lo = np.maximum(nodes.lo, round_down(c - down))
    empty = (nodes.lo > nodes.hi).any(axis=1)
    u_lo, u_hi = _margins(problem, c, c)
    free, norm2 = nodes.state == FREE, problem.norm2
    short, excess = np.maximum(round_down(1.0 - u_hi), 0.0), np.maximum(round_down(u_lo - 1.0), 0.0)
    unreachable = round_down(round_down(short * short) / norm2) >= r
    inevitable = round_down(round_down(excess * excess) / norm2) >= r
    empty |= ((unreachable & (nodes.state == KEPT)) | (inevitable & (nodes.state == VIOLATED))).any(axis=1)
    turn = round_down(u_lo - round_up(0.5 * alpha * norm2))
    beta = round_down(left - round_up(alpha * round_up(1.0 - u_lo)))
    beta = round_down(beta - round_up(round_up(0.25 * alpha * alpha) * norm2 * (1.0 + 2.0**-50)))
    t = np.maximum(round_down(turn - 1.0), 0.0)
    avoidable = round_down(beta + round_down(round_down(t * t) / norm2)) >= r
    empty |= (free & unreachable & avoidable).any(axis=1)
    nodes.state[free & unreachable] = VIOLATED
    nodes.state[free & avoidable] = KEPT
    reach = round_up(np.sqrt(round_up(norm2 * round_up(np.maximum(r - beta, 0.0)))))
    np.maximum(nodes.lower, round_down(turn - reach), out=nodes.lower, where=free)
    return np.asarray(~empty)


@dataclass(frozen=True, eq=False)
class BoxRules(NodeRules[Boxes]):
    """The rules by which records of a box log prove or split nodes."""

    problem: BoxProblem  #: the problem in the log's coordinates

    def children(self, record: dict[str, Any], state: Boxes) -> list[Boxes]:
        """Apply a node's box and rounds; return its children, [] if no solution below the target remains."""
        return self.all_children([record], [state])[0]

    def all_children(self, records: list[dict[str, Any]], states: list[Boxes]) -> list[list[Boxes]]:
        """Return `children` of several nodes, evaluated at once."""
        nodes = Boxes.concatenate(states)
        closed = _closed_nodes(self.problem, nodes, [record["rounds"] for record in records])
        return [[] if closed[b] else self._split(record, nodes.select(slice(b, b + 1))) for b, record in enumerate(records)]

    def _split(self, record: dict[str, Any], node: Boxes) -> list[Boxes]:
        if "split" not in record:
            bound, target = node.bound[0], self.problem.target
            raise InvalidProofError(f"node {int(record['id'])} is neither proved ({bound:g} < {target:g}) nor split")
        return [_child(node, int(record["split"][0]), float(record["split"][1]), side) for side in (0, 1)]


def check_box_tree(problem: BoxProblem, log: SealedLog, verifiers: VerifierPool | None = None) -> int:
    """Verify the tree of a log of boxes; return the number of its nodes."""
    return verify_log(BoxRules(problem), log.records(), Boxes.root(problem), verifiers)[0]


def _child(node: Boxes, name: int, mid: float, side: int) -> Boxes:
    """Return a child: one side of a coordinate's interval, or one state of a point."""
    if name >= 0:
        if name >= node.lo.shape[1] or not math.isfinite(mid):
            raise InvalidProofError("a split names no coordinate")
        child = replace(node, lo=node.lo.copy(), hi=node.hi.copy())
        if side == 0:
            child.hi[0, name] = min(child.hi[0, name], mid)
        else:
            child.lo[0, name] = max(child.lo[0, name], mid)
        return child
    point = -1 - name
    if point >= node.state.shape[1]:
        raise InvalidProofError("a split names no point")
    child = replace(node, state=node.state.copy())
    if child.state[0, point] not in (FREE, side):
        child.bound = np.full(1, np.inf)
    child.state[0, point] = side
    return child


def _closed_nodes(problem: BoxProblem, nodes: Boxes, rounds: list[list[Any]]) -> Flags:
    """Apply boxes and rounds; return a mask, True for nodes without solutions below the target."""
    closed = (nodes.bound >= problem.target) | ~_apply_box(problem, nodes)
    closed |= _closed_without_multipliers(problem, nodes)
    for k in range(max(map(len, rounds), default=0)):
        rows = [b for b in np.flatnonzero(~closed).tolist() if len(rounds[b]) > k]
        levels = [b for b in rows if len(rounds[b][k]) > 5]
        for chosen in ([b for b in rows if b not in levels], *([b] for b in levels)):
            if not chosen:
                continue
            part, entries = nodes.select(chosen), [rounds[b][k] for b in chosen]
            by_round = _closed_by_scaled_losses if len(entries[0]) > 5 else _closed_by_round
            closed[chosen] = by_round(problem, part, entries)
            nodes.update(chosen, part)
    return closed


def _closed_by_round(problem: BoxProblem, nodes: Boxes, entries: list[list[Any]]) -> Flags:
    """Apply a round to each node; return a mask, True for nodes without solutions below the target."""
    packing, closed = apply_pairs(problem, nodes, entries)
    duals = multipliers(nodes, entries, packing)
    linear = _linear_bound(problem, nodes, duals, packing)
    bound, c, slope = _square_bound(problem, nodes, linear)
    nodes.bound = np.maximum(np.maximum(nodes.bound, bound), intercept_bound(problem, nodes, linear))
    closed |= nodes.bound >= problem.target
    alpha = np.zeros(packing.left.shape)
    alpha[duals.owner, duals.points] = duals.alpha
    rows = np.flatnonzero(~closed & np.isfinite(bound))
    part = nodes.select(rows)
    closed[rows] = ~tighten(problem, part, alpha[rows], packing.left[rows], bound[rows], c[rows], slope[rows])
    nodes.update(rows, part)
    return np.asarray(closed | ~_apply_box(problem, nodes) | _closed_without_multipliers(problem, nodes))


def _closed_by_scaled_losses(problem: BoxProblem, node: Boxes, entries: list[list[Any]]) -> Flags:
    """Return whether a round with a factor on the losses, its last entry, leaves no solution of interest.

    The node's bound stays, since this one is a bound of the objective with scaled losses.
    """
    (entry,) = entries
    theta = float(entry[5])
    scaled = _scale_losses(problem, node, theta)
    packing, empty = apply_pairs(scaled, node, [[*entry[:4], [theta * float(price) for price in entry[4]]]])
    linear = _linear_bound(scaled, node, multipliers(node, entries, packing), packing)
    bound = np.maximum(_square_bound(scaled, node, linear)[0], intercept_bound(scaled, node, linear))
    return np.asarray(empty | (bound >= scaled.target))


def _closed_without_multipliers(problem: BoxProblem, nodes: Boxes) -> Flags:
    """Raise bounds to violated weights plus the least norm in the box; return a mask, True for nodes that are proved."""
    zeros = np.zeros(nodes.lo.shape)
    linear = LinearBound(_violated_weights(problem, nodes), zeros, zeros)
    by_count = np.maximum(_square_bound(problem, nodes, linear)[0], intercept_bound(problem, nodes, linear))
    nodes.bound = np.maximum(nodes.bound, by_count)
    return np.asarray(nodes.bound >= problem.target)
