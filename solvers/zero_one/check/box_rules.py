"""The rules that a node of boxes is verified by, applied anew from pairs and multipliers alone (``docs/zero-one-bb.md``)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ...exact.check.arithmetic import Array, InvalidProofError, round_down, round_up, sum_down, sum_up
from .box_problem import FREE, KEPT, VIOLATED, BoxProblem, CheckedBox, Packing

__all__ = ["apply_box", "linear_bound", "multipliers", "pack", "square_bound", "tighten"]


def _ranges(problem: BoxProblem, node: CheckedBox) -> tuple[Array, Array]:
    """Least and greatest margin over the node's box."""
    a, b = problem.g * node.lo, problem.g * node.hi
    low = np.array([sum_down(row) for row in round_down(np.minimum(a, b))])
    high = np.array([sum_up(row) for row in round_up(np.maximum(a, b))])
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
    kept_points = node.state[pairs] == KEPT
    if kept_points.all(axis=1).any():
        return None
    for (i, j), one in zip(pairs[kept_points.any(axis=1)].tolist(), kept_points[kept_points.any(axis=1)].tolist(), strict=True):
        node.state[j if one[0] else i] = VIOLATED
    for (i, j), price in zip(pairs.tolist(), prices.tolist(), strict=True):
        price = min(price, float(left[i]), float(left[j]))
        if price > 0.0 and node.state[i] == node.state[j] == FREE:
            paid.append(price)
            left[[i, j]] = np.maximum(round_down(left[[i, j]] - price), 0.0)
    return Packing(left, sum_down(np.array(paid)))


def _exclusive(
    problem: BoxProblem, node: CheckedBox, i: npt.NDArray[np.int64], j: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return whether (g_i + g_j)'v < 2 all over the box, the rows' own errors included."""
    total = problem.g[i] + problem.g[j]
    ends = [round_up(side(total) * bound) for side in (round_up, round_down) for bound in (node.lo, node.hi)]
    greatest = np.array([sum_up(row) for row in np.maximum.reduce(ends)])
    return np.asarray(round_up(round_up(greatest + problem.e[i]) + problem.e[j]) < 2.0)


def multipliers(problem: BoxProblem, node: CheckedBox, entry: list[Any], packing: Packing) -> tuple[Array, Array]:
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
    up = (states != VIOLATED) & (own != VIOLATED)
    alpha[points[up]] = values[up]
    down = (states == VIOLATED) & (own == VIOLATED)
    flipped[points[down]] = values[down]
    free = node.state == FREE
    cap = round_down(packing.left / round_up(1.0 - node.lower))
    alpha = np.where(free, np.minimum(alpha, np.where(np.isfinite(node.lower), cap, 0.0)), alpha)
    return alpha, flipped


def _linear_part(
    problem: BoxProblem, node: CheckedBox, alpha: Array, flipped: Array, packing: Packing
) -> tuple[float, Array, Array]:
    """Σ_{violated} λ + Σ prices of the pairs + Σ α b rounded down, and the enclosure s ± δ of Σ ±α_i g_i."""
    used = np.flatnonzero((alpha > 0) | (flipped > 0))
    const = [sum_down(problem.weights[node.state == VIOLATED]), packing.paid]
    const.append(sum_down(round_down(alpha[used] * round_down(1.0 - problem.e[used]))))
    const.append(sum_down(round_down(flipped[used] * round_down(-1.0 - problem.e[used]))))
    net = alpha[used] - flipped[used]
    products = problem.g[used] * net[:, None]
    s = np.array([math.fsum(column) for column in products.T.tolist()])
    delta = np.array([sum_up(round_up(np.abs(column) * 2.0**-52)) for column in products.T])
    return sum_down(np.array(const)), s, round_up(delta + np.abs(s) * 2.0**-52)


def square_bound(
    problem: BoxProblem, node: CheckedBox, alpha: Array, flipped: Array, packing: Packing
) -> tuple[float, Array, Array]:
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


def linear_bound(problem: BoxProblem, node: CheckedBox, alpha: Array, flipped: Array, packing: Packing) -> float:
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


def tighten(problem: BoxProblem, node: CheckedBox, alpha: Array, packing: Packing, bound: float, c: Array, slope: Array) -> bool:
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
    free = node.state == FREE
    t = np.maximum(round_down(1.0 - u_hi), 0.0)
    kept_out = free & (round_down(round_down(t * t) / problem.norm2) >= r)
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
