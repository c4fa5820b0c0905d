"""The independent checker of the box search's proof logs: the problem in the log's coordinates, the rules of a node, the tree.

The problem is derived from the stated data in rational arithmetic. The rules are applied anew from pairs and multipliers alone
(``docs/explanation/zero-one-bb.md``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ...exact.check.arithmetic import (
    Array,
    InvalidProofError,
    least_curvature,
    rotate,
    round_down,
    round_up,
    row_sums_down,
    row_sums_up,
    sum_down,
    sum_up,
)
from ...exact.check.trees import NodeRules, VerifierPool, tree_of, verify_tree

FREE, KEPT, VIOLATED = -1, 0, 1


@dataclass(eq=False)
class BoxProblem:
    """The problem in the log's coordinates, w = T v, divided by σ: ||v||² + Σ λ_i 1{..} ≤ (f(w) - constant)/σ.

    Margins are g_i'v ± e_i over the root box. All λ_i are whole multiples of some u ∈ ``step``, (0, 0) where no such number
    is stated.
    """

    g: Array
    e: Array
    norm2: Array
    weights: Array
    free: bool
    target: float
    lo: Array
    hi: Array
    step: tuple[float, float] = (0.0, 0.0)


@dataclass(eq=False)
class CheckedBox:
    """A node: its box, the states of its points, lower ends of their margins where they are violated, its bound."""

    lo: Array
    hi: Array
    state: npt.NDArray[np.int64]
    lower: Array
    bound: float


@dataclass(frozen=True, eq=False)
class Packing:
    """The weights that the pairs of a round leave, and a lower bound of the pairs' cost."""

    left: Array
    paid: float


def reduced_box_problem(
    header: dict[str, Any], A: Array, weights: Array, penalised: npt.NDArray[np.bool_], bound: float
) -> BoxProblem | None:
    """Return the problem in the log's coordinates; None where the zero rows alone prove the bound."""
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
    sigma = least_curvature(T[penalised, : p - 1] if free else T)
    target = float(round_up(round_up(bound - constant) / sigma))
    g, radius = rotate(first, T)
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


def scale_losses(problem: BoxProblem, node: CheckedBox, theta: float) -> BoxProblem:
    """Return the problem with losses weighed θ times, whose target bounds the solutions of interest in the node's box.

    There ||v||² + j·u < target for a loss of j·u, so j ≤ k = ⌊(target - ν)/u⌋, ν the least norm in the box, and
    ||v||² + θ·j·u < target + (θ - 1)·j·u ≤ target + (θ - 1)·k·u.
    """
    low, high = problem.step
    if not (math.isfinite(theta) and theta >= 1.0) or low <= 0.0:
        raise InvalidProofError("a round weighs losses by a number below 1, or without a step that they are multiples of")
    nearest = np.maximum(np.maximum(node.lo, -node.hi), 0.0)
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


def _ranges(problem: BoxProblem, node: CheckedBox) -> tuple[Array, Array]:
    """Return least and greatest margin over the node's box."""
    a, b = problem.g * node.lo, problem.g * node.hi
    low, high = row_sums_down(round_down(np.minimum(a, b))), row_sums_up(round_up(np.maximum(a, b)))
    return round_down(low - problem.e), round_up(high + problem.e)


def apply_box(problem: BoxProblem, node: CheckedBox) -> bool:
    """Decide the points that the box decides; False where the node is empty."""
    if (node.lo > node.hi).any():
        return False
    low, high = _ranges(problem, node)
    if ((node.state == KEPT) & (high < 1.0)).any() or ((node.state == VIOLATED) & (low >= 1.0)).any():
        return False
    free = node.state == FREE
    node.lower = np.where(free, np.maximum(node.lower, low), node.lower)
    node.state[free & (high < 1.0)] = VIOLATED
    node.state[free & (high >= 1.0) & (node.lower >= 1.0)] = KEPT
    return True


def pack(problem: BoxProblem, node: CheckedBox, entry: list[Any]) -> Packing | None:
    """Pay pairs that cannot both be kept, max over the box of (g_i + g_j)'v < 2, from the weights of free points.

    Of a pair with one kept point the other is violated from here on. None where both are kept: the node is empty. Pairs that
    the box does not exclude, or with a violated point, count nothing.
    """
    pairs, prices = np.array(entry[3], dtype=np.int64).reshape(-1, 2), np.array(entry[4], dtype=np.float64)
    n = len(problem.weights)
    if prices.shape != pairs.shape[:1] or not np.isfinite(prices).all() or (prices < 0).any():
        raise InvalidProofError("prices must be finite and not negative, one for each pair")
    if (pairs < 0).any() or (pairs >= n).any() or (pairs[:, 0] == pairs[:, 1]).any():
        raise InvalidProofError("a pair names points that do not exist, or one point twice")
    excluded = _exclusive(problem, node, pairs[:, 0], pairs[:, 1])
    pairs, prices = pairs[excluded], prices[excluded]
    kept_points = node.state[pairs] == KEPT
    if kept_points.all(axis=1).any():
        return None
    for (i, j), one in zip(pairs[kept_points.any(axis=1)].tolist(), kept_points[kept_points.any(axis=1)].tolist(), strict=True):
        node.state[j if one[0] else i] = VIOLATED
    free = (node.state[pairs] == FREE).all(axis=1)
    residual, paid = problem.weights.tolist(), [0.0]
    for (i, j), price in zip(pairs[free].tolist(), prices[free].tolist(), strict=True):
        price = min(price, residual[i], residual[j])
        if price > 0.0:
            paid.append(price)
            residual[i], residual[j] = (max(math.nextafter(residual[k] - price, -math.inf), 0.0) for k in (i, j))
    return Packing(np.array(residual), sum_down(np.array(paid)))


def _exclusive(
    problem: BoxProblem, node: CheckedBox, i: npt.NDArray[np.int64], j: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return whether (g_i + g_j)'v < 2 all over the box, the rows' own errors included."""
    total = problem.g[i] + problem.g[j]
    ends = [round_up(side(total) * bound) for side in (round_up, round_down) for bound in (node.lo, node.hi)]
    greatest = row_sums_up(np.maximum.reduce(ends))
    return np.asarray(round_up(round_up(greatest + problem.e[i]) + problem.e[j]) < 2.0)


def multipliers(problem: BoxProblem, node: CheckedBox, entry: list[Any], packing: Packing) -> tuple[Array, Array]:
    """Return α of the rows u ≥ 1 (free and kept points) and of the rows u ≤ 1 (violated points), clipped to what is valid.

    On a free point with λ left after its pairs, λ 1{u < 1} ≥ α(1 - u) for u ≥ l needs α ≤ λ/(1 - l).
    """
    points = np.array(entry[0], dtype=np.int64)
    states = np.array(entry[1], dtype=np.int64)
    values = np.array(entry[2], dtype=np.float64)
    alpha, flipped = np.zeros(len(problem.weights)), np.zeros(len(problem.weights))
    if points.size == 0:
        return alpha, flipped
    if not (points.shape == states.shape == values.shape) or not np.isfinite(values).all() or (values < 0).any():
        raise InvalidProofError("multipliers must be finite and not negative, one for each point")
    if (points < 0).any() or (points >= len(alpha)).any() or len(np.unique(points)) < len(points):
        raise InvalidProofError("multipliers name points that do not exist, or one twice")
    node_states = node.state[points]
    up = (states != VIOLATED) & (node_states != VIOLATED)
    alpha[points[up]] = values[up]
    down = (states == VIOLATED) & (node_states == VIOLATED)
    flipped[points[down]] = values[down]
    free = node.state == FREE
    cap = round_down(packing.left / round_up(1.0 - node.lower))
    alpha = np.where(free, np.minimum(alpha, np.where(np.isfinite(node.lower), cap, 0.0)), alpha)
    return alpha, flipped


@dataclass(frozen=True, eq=False)
class LinearBound:
    """F(v) ≥ ||v||² + constant - s'v for some s within ``error`` of ``slope``, the norm of the penalised coordinates."""

    constant: float
    slope: Array
    error: Array


def linear_bound(problem: BoxProblem, node: CheckedBox, alpha: Array, flipped: Array, packing: Packing) -> LinearBound:
    """Return the violated weights, the prices of the pairs and Σ α b, rounded down, and an enclosure of Σ ±α_i g_i."""
    used = np.flatnonzero((alpha > 0) | (flipped > 0))
    const = [sum_down(problem.weights[node.state == VIOLATED]), packing.paid]
    const.append(sum_down(round_down(alpha[used] * round_down(1.0 - problem.e[used]))))
    const.append(sum_down(round_down(flipped[used] * round_down(-1.0 - problem.e[used]))))
    net = alpha[used] - flipped[used]
    products = problem.g[used] * net[:, None]
    s = np.array([math.fsum(column) for column in products.T.tolist()])
    delta = np.array([sum_up(round_up(np.abs(column) * 2.0**-52)) for column in products.T])
    return LinearBound(sum_down(np.array(const)), s, round_up(delta + np.abs(s) * 2.0**-52))


def square_bound(problem: BoxProblem, node: CheckedBox, linear: LinearBound) -> tuple[float, Array, Array]:
    """Return D with F(v) ≥ D + Σ_j (v_j - c_j)² + slope_j |v_j - c_j| on the box; also c and the slopes."""
    const, s, delta = linear.constant, linear.slope.copy(), linear.error.copy()
    if problem.free:
        # 0 ≥ (v - lo)(v - hi) stands for the intercept's missing square.
        lo, hi = node.lo[-1], node.hi[-1]
        const = float(round_down(const + round_down(lo * hi)))
        s[-1] += lo + hi
        delta[-1] = round_up(delta[-1] + 2.0**-51 * (abs(s[-1]) + abs(lo) + abs(hi)))
    c = np.minimum(np.maximum(0.5 * s, node.lo), node.hi)
    terms = round_down(round_down(c * c) - round_up(s * c))
    reach = round_up(np.abs(c) + round_up(node.hi - node.lo))
    loss = round_up(delta * reach)
    bound = sum_down(np.concatenate([[const], terms, -loss]))
    slope = np.maximum(round_down(np.abs(round_down(np.abs(2.0 * c - s))) - 2.0**-52 * np.abs(s)), 0.0)
    return bound, c, slope


def intercept_bound(problem: BoxProblem, node: CheckedBox, linear: LinearBound) -> float:
    """Return the same bound with the intercept's linear term alone: better where the multipliers balance the classes."""
    if not problem.free:
        return -math.inf
    s, delta = linear.slope, linear.error
    lo, hi = node.lo[:-1], node.hi[:-1]
    c = np.minimum(np.maximum(0.5 * s[:-1], lo), hi)
    terms = round_down(round_down(c * c) - round_up(s[:-1] * c))
    loss = round_up(delta[:-1] * round_up(np.abs(c) + round_up(hi - lo)))
    last = max(abs(float(node.lo[-1])), abs(float(node.hi[-1])))
    intercept = -float(round_up(max(float(round_up(s[-1] * node.lo[-1])), float(round_up(s[-1] * node.hi[-1])))))
    return sum_down(np.concatenate([[linear.constant, intercept, -float(round_up(delta[-1] * last))], terms, -loss]))


def tighten(problem: BoxProblem, node: CheckedBox, alpha: Array, packing: Packing, bound: float, c: Array, slope: Array) -> bool:
    """Shrink the box and decide points by the ball Σ_j (v_j - c_j)² + slope_j |v_j - c_j| ≤ target - D.

    False where the node is empty: also where the ball excludes what a decided point demands, for a search may have decided that
    point the other way.
    """
    r = float(round_up(problem.target - bound))
    if not math.isfinite(r):
        return True
    radius = float(round_up(math.sqrt(max(r, 0.0))))
    root = round_down(np.sqrt(round_down(round_down(slope * slope) + round_down(4.0 * r))))
    short = round_up(round_up(2.0 * r / round_down(slope + root)))
    short = np.where(slope > 0.0, np.minimum(short, radius), radius)
    at_lo, at_hi = c <= node.lo, c >= node.hi
    up, down = np.where(at_lo, short, radius), np.where(at_hi & ~at_lo, short, radius)
    node.hi = np.minimum(node.hi, round_up(c + up))
    node.lo = np.maximum(node.lo, round_down(c - down))
    if (node.lo > node.hi).any():
        return False
    products = problem.g * c
    u_lo = round_down(row_sums_down(round_down(products)) - problem.e)
    u_hi = round_up(row_sums_up(round_up(products)) + problem.e)
    free = node.state == FREE
    short, excess = np.maximum(round_down(1.0 - u_hi), 0.0), np.maximum(round_down(u_lo - 1.0), 0.0)
    unreachable = round_down(round_down(short * short) / problem.norm2) >= r
    inevitable = round_down(round_down(excess * excess) / problem.norm2) >= r
    if (unreachable & (node.state == KEPT)).any() or (inevitable & (node.state == VIOLATED)).any():
        return False
    kept_out = free & unreachable
    turn = round_down(u_lo - round_up(0.5 * alpha * problem.norm2))
    beta = round_down(packing.left - round_up(alpha * round_up(1.0 - u_lo)))
    beta = round_down(beta - round_up(round_up(0.25 * alpha * alpha) * problem.norm2 * (1.0 + 2.0**-50)))
    t = np.maximum(round_down(turn - 1.0), 0.0)
    violated_out = free & (round_down(beta + round_down(round_down(t * t) / problem.norm2)) >= r)
    if (kept_out & violated_out).any():
        return False
    node.state[kept_out] = VIOLATED
    node.state[violated_out] = KEPT
    reach = round_up(np.sqrt(round_up(problem.norm2 * round_up(np.maximum(r - beta, 0.0)))))
    node.lower = np.where(free, np.maximum(node.lower, round_down(turn - reach)), node.lower)
    return True


@dataclass(frozen=True, eq=False)
class BoxRules(NodeRules[CheckedBox]):
    """The rules of the nodes of a tree of boxes."""

    problem: BoxProblem

    def children(self, record: dict[str, Any], node: CheckedBox) -> list[CheckedBox]:
        """Apply a node's box and rounds; return its children, none if nothing below the target remains."""
        if _settled(self.problem, node, record["rounds"]):
            return []
        if "split" not in record:
            raise InvalidProofError(
                f"node {int(record['id'])} is neither proved ({node.bound:g} < {self.problem.target:g}) nor split"
            )
        n, p = self.problem.g.shape
        return [_child(node, record["split"], side, p, n) for side in (0, 1)]


def check_box_tree(problem: BoxProblem, records: list[dict[str, Any]], crew: VerifierPool | None = None) -> int:
    """Verify the tree of a log of boxes, with a crew subtree by subtree; return the number of its nodes."""
    tree = tree_of(records)
    roots = [key for key in tree if key[0] == -1]
    if len(roots) != 1:
        raise InvalidProofError(f"the tree has {len(roots)} roots")
    n = problem.g.shape[0]
    root = CheckedBox(problem.lo.copy(), problem.hi.copy(), np.full(n, FREE), np.full(n, -np.inf), 0.0)
    root.state[problem.weights >= problem.target] = KEPT
    return verify_tree(BoxRules(problem), tree, (tree[roots[0]], root), crew)


def _child(node: CheckedBox, split: list[Any], side: int, p: int, n: int) -> CheckedBox:
    name, mid = int(split[0]), float(split[1])
    child = CheckedBox(node.lo.copy(), node.hi.copy(), node.state.copy(), node.lower.copy(), node.bound)
    if name >= 0:
        if name >= p or not math.isfinite(mid):
            raise InvalidProofError("a split names no coordinate")
        if side == 0:
            child.hi[name] = min(child.hi[name], mid)
        else:
            child.lo[name] = max(child.lo[name], mid)
        return child
    point = -1 - name
    if point >= n:
        raise InvalidProofError("a split names no point")
    if child.state[point] not in (FREE, side):
        child.bound = math.inf
    child.state[point] = side
    return child


def _settled(problem: BoxProblem, node: CheckedBox, rounds: list[Any]) -> bool:
    """Apply the box and the rounds; True where nothing below the target remains."""
    if node.bound >= problem.target or not apply_box(problem, node) or _settled_by_count(problem, node):
        return True
    for entry in rounds:
        if len(entry) > 5:
            if _emptied_by_levels(problem, node, entry):
                return True
            continue
        packing = pack(problem, node, entry)
        if packing is None:
            return True
        alpha, flipped = multipliers(problem, node, entry, packing)
        linear = linear_bound(problem, node, alpha, flipped, packing)
        bound, c, slope = square_bound(problem, node, linear)
        node.bound = max(node.bound, bound, intercept_bound(problem, node, linear))
        if node.bound >= problem.target:
            return True
        if not tighten(problem, node, alpha, packing, bound, c, slope) or not apply_box(problem, node):
            return True
        if _settled_by_count(problem, node):
            return True
    return False


def _emptied_by_levels(problem: BoxProblem, node: CheckedBox, entry: list[Any]) -> bool:
    """Return whether a round that weighs losses by the entry's last number leaves nothing of interest: what it proves is no
    bound.
    """
    theta = float(entry[5])
    scaled = scale_losses(problem, node, theta)
    packing = pack(scaled, node, [*entry[:4], [theta * float(price) for price in entry[4]]])
    if packing is None:
        return True
    linear = linear_bound(scaled, node, *multipliers(scaled, node, entry, packing), packing)
    return max(square_bound(scaled, node, linear)[0], intercept_bound(scaled, node, linear)) >= scaled.target


def _settled_by_count(problem: BoxProblem, node: CheckedBox) -> bool:
    """Return the bound of no multipliers at all: violated points and the least norm in the box."""
    p = len(node.lo)
    linear = LinearBound(sum_down(problem.weights[node.state == VIOLATED]), np.zeros(p), np.zeros(p))
    node.bound = max(node.bound, square_bound(problem, node, linear)[0], intercept_bound(problem, node, linear))
    return node.bound >= problem.target
