"""The part of the independent checker that verifies trees of boxes: see `check` and ``docs/zero-one-bb.md``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from .arithmetic import Array, InvalidProofError, round_down, round_up, sum_down, sum_up

__all__ = ["check_box_tree"]

_FREE, _KEPT, _VIOLATED = -1, 0, 1


@dataclass(eq=False)
class _Problem:
    """The problem in the log's coordinates, w = T v, divided by σ: ||v||² + Σ λ_i 1{..} ≤ (f(w) - constant)/σ.

    Margins are g_i'v ± e_i over the root box.
    """

    g: Array
    e: Array
    norm2: Array
    weights: Array
    free: bool
    target: float
    lo: Array
    hi: Array


@dataclass(eq=False)
class _Node:
    lo: Array
    hi: Array
    state: npt.NDArray[np.int64]
    lower: Array
    bound: float


@dataclass(frozen=True, eq=False)
class _Packing:
    """What is left of every weight after the pairs of a round, and what the pairs cost at least."""

    left: Array
    paid: float


def check_box_tree(
    header: dict[str, Any],
    A: Array,
    weights: Array,
    penalised: npt.NDArray[np.bool_],
    bound: float,
    records: list[dict[str, Any]],
) -> int:
    """Nodes of a tree of boxes that proves the bound.

    Raises
    ------
    InvalidProofError
        It does not.
    """
    problem = _reduce(header, A, weights, penalised, bound)
    return 0 if problem is None else _check_tree(problem, _tree(records))


def _reduce(header: dict[str, Any], A: Array, weights: Array, penalised: npt.NDArray[np.bool_], bound: float) -> _Problem | None:
    """The problem in the log's coordinates; None where the zero rows alone prove the bound."""
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
    sigma = _least_curvature(T[penalised, : p - 1] if free else T)
    target = float(round_up(round_up(bound - constant) / sigma))
    g, radius = _rotate(first, T)
    half = np.full(p, float(round_up(math.sqrt(target))))
    if free:
        length = round_up(np.sqrt(round_up(np.array([sum_up(round_up(row * row)) for row in first[:, penalised]]))))
        if not (np.abs(first[:, ~penalised]) == 1.0).all():
            raise InvalidProofError("the intercept's column does not hold ±1")
        reach = round_up(1.0 + round_up(float(length.max()) * round_up(math.sqrt(bound))))
        half[-1] = float(round_up(reach / abs(T[~penalised, -1][0])))
    e = np.array([sum_up(round_up(row * half)) for row in radius])
    norm2 = np.array([sum_up(round_up(row * row)) for row in g])
    return _Problem(g, e, norm2, round_down(summed / sigma), free, target, -half, half)


def _merge(A: Array, weights: Array, member: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """One row for each group of the log, all of whose members must be equal; weights summed, rounded down."""
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


def _least_curvature(T: Array) -> float:
    """σ with ||T v||² ≥ σ||v||²: Gershgorin on T'T, entries in rational arithmetic. σ > 0 also makes T invertible."""
    k = T.shape[1]
    columns = [[Fraction(x) for x in T[:, j].tolist()] for j in range(k)]
    least: Fraction | None = None
    for i in range(k):
        row = [sum((a * b for a, b in zip(columns[i], columns[j], strict=True)), Fraction(0)) for j in range(k)]
        reach = row[i] - sum((abs(x) for j, x in enumerate(row) if j != i), Fraction(0))
        least = reach if least is None else min(least, reach)
    if least is None:
        return 1.0
    if least <= 0:
        raise InvalidProofError("T is not close enough to a multiple of a rotation")
    sigma = float(least)
    return sigma if Fraction(sigma) <= least else math.nextafter(sigma, 0.0)


def _rotate(rows: Array, T: Array) -> tuple[Array, Array]:
    """Rows T'a_i as floating-point numbers, and what they can be off by: both from rational arithmetic."""
    columns = [[Fraction(x) for x in T[:, j].tolist()] for j in range(T.shape[1])]
    g, radius = np.zeros(rows.shape), np.zeros(rows.shape)
    for i, row in enumerate(rows.tolist()):
        exact_row = [Fraction(x) for x in row]
        for j, column in enumerate(columns):
            exact = sum((a * t for a, t in zip(exact_row, column, strict=True)), Fraction(0))
            g[i, j] = float(exact)
            radius[i, j] = round_up(float(abs(exact - Fraction(float(g[i, j])))))
    return g, radius


def _check_tree(problem: _Problem, tree: dict[tuple[int, int], dict[str, Any]]) -> int:
    """Depth-first through the tree; every node must end proved, empty, or split into two that do."""
    n, p = problem.g.shape
    root = _Node(problem.lo.copy(), problem.hi.copy(), np.full(n, _FREE), np.full(n, -np.inf), 0.0)
    root.state[problem.weights >= problem.target] = _KEPT
    roots = [key for key in tree if key[0] == -1]
    if len(roots) != 1:
        raise InvalidProofError(f"the tree has {len(roots)} roots")
    stack = [(tree[roots[0]], root)]
    visited: set[int] = set()
    while stack:
        record, node = stack.pop()
        ident = int(record["id"])
        if ident in visited:
            raise InvalidProofError(f"node {ident} occurs twice")
        visited.add(ident)
        if _settled(problem, node, record["rounds"]):
            continue
        if "split" not in record:
            raise InvalidProofError(f"node {ident} is neither proved ({node.bound:g} < {problem.target:g}) nor split")
        for side in (0, 1):
            child = _child(node, record["split"], side, p, n)
            if (ident, side) in tree:
                stack.append((tree[(ident, side)], child))
            elif not node.bound >= problem.target:
                raise InvalidProofError(f"child {side} of node {ident} is missing")
    return len(visited)


def _child(node: _Node, split: list[Any], side: int, p: int, n: int) -> _Node:
    name, mid = int(split[0]), float(split[1])
    child = _Node(node.lo.copy(), node.hi.copy(), node.state.copy(), node.lower.copy(), node.bound)
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
    if child.state[point] not in (_FREE, side):
        child.bound = math.inf
    child.state[point] = side
    return child


def _settled(problem: _Problem, node: _Node, rounds: list[Any]) -> bool:
    """Apply the box and the rounds; True where nothing below the target remains."""
    if node.bound >= problem.target or not _apply_box(problem, node) or _settled_by_count(problem, node):
        return True
    for entry in rounds:
        packing = _pack(problem, node, entry)
        if packing is None:
            return True
        alpha, flipped = _multipliers(problem, node, entry, packing)
        bound, c, slope = _bound(problem, node, alpha, flipped, packing)
        node.bound = max(node.bound, bound, _linear_bound(problem, node, alpha, flipped, packing))
        if node.bound >= problem.target:
            return True
        if not _tighten(problem, node, alpha, packing, bound, c, slope) or not _apply_box(problem, node):
            return True
        if _settled_by_count(problem, node):
            return True
    return False


def _settled_by_count(problem: _Problem, node: _Node) -> bool:
    """The bound of no multipliers at all: violated points and the least norm in the box."""
    none: Array = np.zeros(len(problem.weights))
    nothing = _Packing(problem.weights, 0.0)
    bounds = _bound(problem, node, none, none, nothing)[0], _linear_bound(problem, node, none, none, nothing)
    node.bound = max(node.bound, *bounds)
    return node.bound >= problem.target


def _ranges(problem: _Problem, node: _Node) -> tuple[Array, Array]:
    """Least and greatest margin over the node's box."""
    a, b = problem.g * node.lo, problem.g * node.hi
    low = np.array([sum_down(row) for row in round_down(np.minimum(a, b))])
    high = np.array([sum_up(row) for row in round_up(np.maximum(a, b))])
    return round_down(low - problem.e), round_up(high + problem.e)


def _apply_box(problem: _Problem, node: _Node) -> bool:
    """Decide the points that the box decides; False where the node is empty."""
    if (node.lo > node.hi).any():
        return False
    low, high = _ranges(problem, node)
    if ((node.state == _KEPT) & (high < 1.0)).any() or ((node.state == _VIOLATED) & (low >= 1.0)).any():
        return False
    free = node.state == _FREE
    node.lower = np.where(free, np.maximum(node.lower, low), node.lower)
    node.state[free & (high < 1.0)] = _VIOLATED
    node.state[free & (high >= 1.0) & (node.lower >= 1.0)] = _KEPT
    return True


def _pack(problem: _Problem, node: _Node, entry: list[Any]) -> _Packing | None:
    """Pairs that cannot both be kept, max over the box of (g_i + g_j)'v < 2, paid from the weights of free points.

    Of a pair with one kept point the other is violated from here on. None where both are kept: the node is empty. Pairs that
    the box does not exclude, or with a violated point, count nothing.
    """
    pairs, prices = np.array(entry[3], dtype=np.int64).reshape(-1, 2), np.array(entry[4], dtype=np.float64)
    n = len(problem.weights)
    if prices.shape != pairs.shape[:1] or not np.isfinite(prices).all() or (prices < 0).any():
        raise InvalidProofError("prices must be finite and not negative, one for each pair")
    if (pairs < 0).any() or (pairs >= n).any() or (pairs[:, 0] == pairs[:, 1]).any():
        raise InvalidProofError("a pair names points that do not exist, or one point twice")
    left, paid = problem.weights.copy(), [0.0]
    excluded = _exclusive(problem, node, pairs[:, 0], pairs[:, 1])
    pairs, prices = pairs[excluded], prices[excluded]
    kept = node.state[pairs] == _KEPT
    if kept.all(axis=1).any():
        return None
    for (i, j), one in zip(pairs[kept.any(axis=1)].tolist(), kept[kept.any(axis=1)].tolist(), strict=True):
        node.state[j if one[0] else i] = _VIOLATED
    for (i, j), price in zip(pairs.tolist(), prices.tolist(), strict=True):
        price = min(price, float(left[i]), float(left[j]))
        if price > 0.0 and node.state[i] == node.state[j] == _FREE:
            paid.append(price)
            left[[i, j]] = np.maximum(round_down(left[[i, j]] - price), 0.0)
    return _Packing(left, sum_down(np.array(paid)))


def _exclusive(problem: _Problem, node: _Node, i: npt.NDArray[np.int64], j: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether (g_i + g_j)'v < 2 all over the box, the rows' own errors included."""
    total = problem.g[i] + problem.g[j]
    ends = [round_up(side(total) * bound) for side in (round_up, round_down) for bound in (node.lo, node.hi)]
    greatest = np.array([sum_up(row) for row in np.maximum.reduce(ends)])
    return np.asarray(round_up(round_up(greatest + problem.e[i]) + problem.e[j]) < 2.0)


def _multipliers(problem: _Problem, node: _Node, entry: list[Any], packing: _Packing) -> tuple[Array, Array]:
    """α of the rows u ≥ 1 (free and kept points) and of the rows u ≤ 1 (violated points), clipped to what is valid.

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
    own = node.state[points]
    up = (states != _VIOLATED) & (own != _VIOLATED)
    alpha[points[up]] = values[up]
    down = (states == _VIOLATED) & (own == _VIOLATED)
    flipped[points[down]] = values[down]
    free = node.state == _FREE
    cap = round_down(packing.left / round_up(1.0 - node.lower))
    alpha = np.where(free, np.minimum(alpha, np.where(np.isfinite(node.lower), cap, 0.0)), alpha)
    return alpha, flipped


def _linear_part(
    problem: _Problem, node: _Node, alpha: Array, flipped: Array, packing: _Packing
) -> tuple[float, Array, Array]:
    """Σ_{violated} λ + Σ prices of the pairs + Σ α b rounded down, and the enclosure s ± δ of Σ ±α_i g_i."""
    used = np.flatnonzero((alpha > 0) | (flipped > 0))
    const = [sum_down(problem.weights[node.state == _VIOLATED]), packing.paid]
    const.append(sum_down(round_down(alpha[used] * round_down(1.0 - problem.e[used]))))
    const.append(sum_down(round_down(flipped[used] * round_down(-1.0 - problem.e[used]))))
    net = alpha[used] - flipped[used]
    products = problem.g[used] * net[:, None]
    s = np.array([math.fsum(column) for column in products.T.tolist()])
    delta = np.array([sum_up(round_up(np.abs(column) * 2.0**-52)) for column in products.T])
    return sum_down(np.array(const)), s, round_up(delta + np.abs(s) * 2.0**-52)


def _bound(problem: _Problem, node: _Node, alpha: Array, flipped: Array, packing: _Packing) -> tuple[float, Array, Array]:
    """D with F(v) ≥ D + Σ_j (v_j - c_j)² + slope_j |v_j - c_j| on the box; also c and the slopes."""
    const, s, delta = _linear_part(problem, node, alpha, flipped, packing)
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


def _linear_bound(problem: _Problem, node: _Node, alpha: Array, flipped: Array, packing: _Packing) -> float:
    """The same bound with the intercept's linear term alone: better where the multipliers balance the classes."""
    if not problem.free:
        return -math.inf
    const, s, delta = _linear_part(problem, node, alpha, flipped, packing)
    lo, hi = node.lo[:-1], node.hi[:-1]
    c = np.minimum(np.maximum(0.5 * s[:-1], lo), hi)
    terms = round_down(round_down(c * c) - round_up(s[:-1] * c))
    loss = round_up(delta[:-1] * round_up(np.abs(c) + round_up(hi - lo)))
    last = max(abs(float(node.lo[-1])), abs(float(node.hi[-1])))
    intercept = -float(round_up(max(float(round_up(s[-1] * node.lo[-1])), float(round_up(s[-1] * node.hi[-1])))))
    return sum_down(np.concatenate([[const, intercept, -float(round_up(delta[-1] * last))], terms, -loss]))


def _tighten(
    problem: _Problem, node: _Node, alpha: Array, packing: _Packing, bound: float, c: Array, slope: Array
) -> bool:
    """Shrink the box and decide points by the ball Σ_j (v_j - c_j)² + slope_j |v_j - c_j| ≤ target - D."""
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
    centre = np.array([math.fsum(row) for row in products.tolist()])
    off = np.array([sum_up(round_up(np.abs(row) * 2.0**-52)) for row in products])
    off = round_up(off + problem.e + 2.0**-52 * np.abs(centre))
    u_lo, u_hi = round_down(centre - off), round_up(centre + off)
    free = node.state == _FREE
    t = np.maximum(round_down(1.0 - u_hi), 0.0)
    kept_out = free & (round_down(round_down(t * t) / problem.norm2) >= r)
    turn = round_down(u_lo - round_up(0.5 * alpha * problem.norm2))
    beta = round_down(packing.left - round_up(alpha * round_up(1.0 - u_lo)))
    beta = round_down(beta - round_up(round_up(0.25 * alpha * alpha) * problem.norm2 * (1.0 + 2.0**-50)))
    t = np.maximum(round_down(turn - 1.0), 0.0)
    violated_out = free & (round_down(beta + round_down(round_down(t * t) / problem.norm2)) >= r)
    if (kept_out & violated_out).any():
        return False
    node.state[kept_out] = _VIOLATED
    node.state[violated_out] = _KEPT
    reach = round_up(np.sqrt(round_up(problem.norm2 * round_up(np.maximum(r - beta, 0.0)))))
    node.lower = np.where(free, np.maximum(node.lower, round_down(turn - reach)), node.lower)
    return True


def _tree(records: list[dict[str, Any]]) -> dict[tuple[int, int], dict[str, Any]]:
    """Nodes by parent and side."""
    tree: dict[tuple[int, int], dict[str, Any]] = {}
    for record in records:
        if "id" not in record:
            raise InvalidProofError("a record is neither a node nor the last one")
        key = (int(record["parent"]), int(record["side"]))
        if key in tree:
            raise InvalidProofError(f"two nodes are child {key[1]} of node {key[0]}")
        tree[key] = record
    return tree
