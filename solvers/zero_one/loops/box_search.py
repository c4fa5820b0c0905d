"""Compiled tree search of `zero-one-bb` over boxes of w, best-first with dives: bounding, branching, and the pool of open nodes.

The problem is min f(w) = ||w||² + Σ_i λ_i 1{g_i'w < 1} with reduced rows g_i; a free intercept is the last coordinate, outside
the norm. Point i is *kept* (z_i = 0) if g_i'w ≥ 1, else *violated* (z_i = 1). The search looks for w with f(w) < cut; l_i is a
lower bound of the margin g_i'w of every such w in the box that violates i. Proofs: ``docs/explanation/zero-one-bb.md``.

`explore` is the search, which the box engine and `solvers.zero_one.target_search` call. `move_nodes`, `gather_points` and
`scatter_points` copy open nodes between pools and contiguous arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...exact.loops import EPS
from ...exact.loops.heap import pop, push
from ...exact.loops.matching import MatchArrays
from ...exact.loops.newton import BoxRelaxation, activity_bounds, margins, newton, reduced_cost_tightening, rounding_error_bound
from . import entry, inner
from .box_pairs import pack_pairs, sort_by_decreasing_key
from .box_records import (
    BUDGET,
    CANDIDATE,
    DONE,
    FREE,
    GROW,
    KEPT,
    LEAF,
    PAGE,
    RESERVE,
    ROUNDS,
    VIOLATED,
    BoxData,
    BoxNode,
    BoxPool,
    BoxWorkspace,
    EventBuffer,
    log_loss_factor,
    log_multipliers,
    log_node,
    log_pairs,
    log_split,
)

#: Initial smoothing of the hinge loss in every round, as a share of its width.
_SMOOTHING = 0.1
#: Factor θ on the losses in the pruning test `excluded_by_loss_levels`.
_THETA = 8.0


@inner
def _solve_relaxation(
    data: BoxData, node: BoxNode, k: int, R: BoxRelaxation, const: float, cut: float, theta: float, scalars: Any
) -> float:
    """Solve the hinge relaxation of the k rows in ``R``, losses times θ, with the constant ``const``; return a proved bound.

    The multipliers α and the vectors s and c remain in ``R``. The smoothing decreases tenfold until the bound reaches ``cut``,
    the duality gap shows that no bound will, or the smoothing is below 1e-6.
    """
    lo, hi, w, z, l = node.lo, node.hi, node.w, node.z, node.l
    b, cap, h, act = R.b, R.cap, R.h, R.position
    unit = theta * data.unit
    smoothing = _SMOOTHING
    while True:
        for t in range(k):
            i = act[t]
            if z[i] == FREE:
                C = max(1.0 - l[i], 1e-9)
                cap[t] = theta * R.left[i] / C * (1.0 - 4.0 * EPS)
                h[t] = cap[t] / (C * smoothing)
            else:
                cap[t] = math.inf
                h[t] = unit / (smoothing * smoothing)
        bound, iterations = newton(R, k, const, lo, hi, w, cut, 0.02 * smoothing * unit)
        scalars.relaxations += 1
        scalars.newton_steps += iterations
        bound -= rounding_error_bound(R, k, const)
        slack = 0.0
        for t in range(k):
            shortfall, a = max(b[t] - R.u[t], 0.0), R.alpha[t]
            slack += cap[t] * shortfall - a * shortfall if z[act[t]] == FREE else a * shortfall
        if bound >= cut or bound + slack < cut or smoothing < 1e-6:
            break
        smoothing *= 0.1
    return float(bound)


# exempt (arguments): compiled, array by array
@inner
def excluded_by_loss_levels(
    data: BoxData, node: BoxNode, k: int, R: BoxRelaxation, certain: float, other: float, D: float, cut: float, scalars: Any
) -> bool:
    """Return whether the box holds no solution below the cutoff, since losses are multiples of u = ``data.step``.

    A solution below ``cut`` loses at most K = u⌊(cut - least ||w||² in the box)/u⌋, so that ||w||² + θ·loss < cut + (θ - 1)K. The
    box is excluded if the relaxation with losses times θ = `_THETA` has a bound D_θ of at least that threshold.

    ``R`` holds the relaxation of k points. ``certain`` is the loss in its constant, ``other`` the intercept's part, D its bound.
    With μ = 1/θ and σ = cut - K, the function μD_θ - (K + μσ) is concave in μ, and its slope at μ = 1 is ν - σ, where ν is the
    relaxation's non-loss part at its solution c. So D_θ can reach the threshold only if D + (1 - 1/θ)(σ - ν) ≥ cut, with 1 - 1/θ
    = 0.875; a factor of 0.8 also skips tests that could barely succeed. After a failure the relaxation's solution is restored.
    """
    if data.step <= 0.0:
        return False
    lo, hi, w, saved = node.lo, node.hi, node.w, R.saved
    p = w.size
    norm_bound, other_part = 0.0, other
    for j in range(p):
        other_part += R.c[j] * (R.c[j] + R.q[j])
        if j < p - 1 or not data.free:
            nearest = max(lo[j], -hi[j], 0.0)
            norm_bound += nearest * nearest
    # round up to a level within the rounding of the quotient; with many levels an absolute margin would be too small
    levels = (cut - norm_bound * (1.0 - 8.0 * EPS * p)) / data.step
    largest_loss = math.floor(levels + 1e-12 * abs(levels) + 1e-9) * data.step
    if D + 0.8 * (cut - largest_loss - other_part) < cut:
        return False
    for j in range(p):
        saved[0, j], saved[1, j], saved[2, j], saved[3, j] = w[j], R.c[j], R.s[j], R.ds[j]
    threshold = (cut + (_THETA - 1.0) * largest_loss) * (1.0 + 1e-12)
    if _solve_relaxation(data, node, k, R, _THETA * certain * (1.0 - 4.0 * EPS) + other, threshold, _THETA, scalars) >= threshold:
        return True
    for j in range(p):
        w[j], R.c[j], R.s[j], R.ds[j] = saved[0, j], saved[1, j], saved[2, j], saved[3, j]
    return False


@inner
def _cannot_fix(R: BoxRelaxation, m: int, lo: Any, hi: Any, r: float) -> bool:
    """Return True if the ball about c of radius √r holds the whole box and no residual weight reaches r: it decides no point.

    Points that the box alone decides wait until the children remove them.
    """
    squared_distance = largest = 0.0
    for j in range(lo.size):
        distance = max(hi[j] - R.c[j], R.c[j] - lo[j])
        squared_distance += distance * distance
    for i in range(m):
        largest = max(largest, R.left[i])
    return squared_distance < r and largest < r


@inner
def _fix_points(node: BoxNode, m: int, R: BoxRelaxation, D: float, cut: float, ec: float) -> float:
    """Fix points as kept or violated by the ball and the box; return the amount of change, or -1 if the node is empty.

    Let D be the relaxation's bound, c its solution, α_i its multipliers, and ρ_i the weight λ_i less the prices of pairs. With
    r = cut - D and u = g_i'c: z_i = 0 needs (1 - u)₊²/||g_i||² < r; z_i = 1 needs β_i + (u' - 1)₊²/||g_i||² < r with
    β_i = ρ_i - α_i(1 - u) - α_i²||g_i||²/4, u' = u - α_i||g_i||²/2, and then g_i'w > u' - ||g_i||√(r - β_i). Every test is
    shifted by its own rounding error to the safe side: ``ec`` bounds the error of c in norm, ``err`` that of u.
    """
    G, z, l, norm, al, lo, hi, lam, c = node.G, node.z, node.l, node.norm, node.alpha, node.lo, node.hi, R.left, R.c
    p = c.size
    change = 0.0
    r = (cut - D) * (1.0 + 1e-14)
    if _cannot_fix(R, m, lo, hi, r):
        return 0.0
    margin, minimum, maximum, sizes = R.u, R.least_margin, R.largest_margin, R.margin_size
    margins(G, m, c, margin)
    activity_bounds(G, m, lo, hi, R)
    for i in range(m):
        if z[i] != FREE:
            continue
        u, low, high, size = margin[i], minimum[i], maximum[i], sizes[i]
        err = norm[i] * ec + 4.0 * EPS * (p + 2) * size
        low -= err
        high += err
        t = max(1.0 - u - err, 0.0) / norm[i]
        cannot_keep = high < 1.0 or t * t * (1.0 - 1e-15) >= r
        a = al[i]
        shifted = u - 0.5 * a * norm[i] * norm[i]
        beta = lam[i] - a * (1.0 - u) - 0.25 * (a * norm[i]) ** 2
        beta -= a * err + 8.0 * EPS * (lam[i] + a * (1.0 + abs(u)) + (a * norm[i]) ** 2)
        shift_error = err + 8.0 * EPS * (abs(u) + a * norm[i] * norm[i])
        t = max(shifted - 1.0 - shift_error, 0.0) / norm[i]
        cannot_violate = low >= 1.0 or beta + t * t * (1.0 - 1e-15) >= r
        if cannot_keep and cannot_violate:
            return -1.0
        if cannot_keep:
            z[i] = VIOLATED
            change += 0.3
        elif cannot_violate:
            z[i] = KEPT
            change += 0.3
        else:
            lower = max(low, shifted - norm[i] * math.sqrt(max(r - beta, 0.0)) * (1.0 + 1e-14) - shift_error)
            if lower > l[i]:
                change += (lower - l[i]) / (1.0 - l[i])
                l[i] = lower
                if lower >= 1.0:
                    z[i] = KEPT
    return change


@inner
def _scatter_multipliers(R: BoxRelaxation, k: int, al: Any) -> None:
    """Scatter the multipliers of the k rows to the positions in the node."""
    for t in range(k):
        al[R.position[t]] = R.alpha[t]


# exempt (arguments): compiled, array by array
@inner
def _bound_and_tighten(
    data: BoxData, node: BoxNode, m: int, R: BoxRelaxation, P: MatchArrays, base: float, cut: float, log: EventBuffer, ident: int
) -> float:
    """Alternate relaxation and bound tightening of a node of m points; return its proved lower bound, ∞ if it is empty.

    A *round* packs pairs, solves the relaxation and tightens; there are at most `ROUNDS`. ``base`` is the weight of the points
    that are violated throughout the box, ``ident`` the node's number in the log.
    """
    scalars = log.scalars
    lo, hi, w, idx, z, G, al = node.lo, node.hi, node.w, node.idx, node.z, node.G, node.alpha
    A, b, q, residual, act = R.rows, R.b, R.q, R.left, R.position
    p, D = w.size, -np.inf
    for round_number in range(ROUNDS):
        for j in range(p):
            w[j] = min(max(w[j], lo[j]), hi[j])
        const = base
        for i in range(m):
            if z[i] == VIOLATED:
                const += data.weights[idx[i]]
        intercept_loss = lo[p - 1] * hi[p - 1] if data.free else 0.0
        pair_cost, count = pack_pairs(data, node, m, R, P)
        if log.buffer.size > 0:
            log_pairs(log, ident, idx, P, count)
        if pair_cost == np.inf:
            return np.inf
        const += pair_cost + intercept_loss
        k: Any = np.int64(0)  # an int64, since a literal 0 would compile `newton` for another type
        for i in range(m):
            al[i] = 0.0
            if z[i] == FREE and residual[i] <= 0.0:
                continue
            act[k] = i
            b[k] = -1.0 if z[i] == VIOLATED else 1.0
            for j in range(p):
                A[j, k] = b[k] * G[j, i]
            k += 1
        for j in range(p):
            q[j] = 0.0
        if data.free:
            q[p - 1] = -(lo[p - 1] + hi[p - 1])
        bound = _solve_relaxation(data, node, k, R, const, cut, 1.0, scalars)
        _scatter_multipliers(R, k, al)
        if bound < cut and excluded_by_loss_levels(data, node, k, R, const - intercept_loss, intercept_loss, bound, cut, scalars):
            if log.buffer.size > 0:
                _scatter_multipliers(R, k, al)
                log_loss_factor(log, ident, _THETA)
                log_multipliers(log, ident, idx, z, al, m)
            return np.inf
        if log.buffer.size > 0:
            log_multipliers(log, ident, idx, z, al, m)
        if bound >= cut:
            return bound
        final = round_number > 0 and bound - D < 0.02 * (cut - bound)
        D = max(bound, D)
        ec = 1e-15 * math.sqrt(cut)
        for j in range(p):
            ec += R.ds[j]
        if not reduced_cost_tightening(lo, hi, R.c, R.s, R.ds, cut - bound, ec):
            return np.inf
        change = _fix_points(node, m, R, bound, cut, ec)
        if change < 0.0:
            return np.inf
        if final or change < 0.5:
            break
    return D


@inner
def _load_node(pool: BoxPool, code: int, node: BoxNode) -> tuple[float, int]:
    """Copy an open node of the pool to ``node``, and free its record after the second child; return (base, number of points)."""
    lo, hi, w, idx, z, l = node.lo, node.hi, node.w, node.idx, node.z, node.l
    record, side = code >> 1, code & 1
    p = lo.size
    for j in range(p):
        lo[j], hi[j], w[j] = pool.lo[record, j], pool.hi[record, j], pool.w[record, j]
    m = pool.count[record]
    page = pool.page[record]
    points, states, lowers, link = pool.point, pool.state, pool.lower, pool.link  # local: reads through the record are slow
    for i in range(m):
        k = i % PAGE
        if i > 0 and k == 0:
            page = link[page]
        idx[i], z[i], l[i] = points[page, k], states[page, k], lowers[page, k]
    split = pool.split[record]
    if split < 0:
        z[-1 - split] = side
    elif side == 0:
        hi[split] = min(hi[split], pool.mid[record])
    else:
        lo[split] = max(lo[split], pool.mid[record])
    pool.refs[record] -= 1
    if pool.refs[record] == 0:
        page = pool.page[record]
        while page >= 0:
            pool.free_pages[pool.scalars.pages] = page
            pool.scalars.pages += 1
            page = pool.link[page]
        pool.free_records[pool.scalars.records] = record
        pool.scalars.records += 1
    return pool.base[record], m


@inner
def _store_node(pool: BoxPool, node: BoxNode, m: int, base: float) -> int:
    """Store a node that is about to be branched in the pool; return the index of its record."""
    lo, hi, w, idx, z, l = node.lo, node.hi, node.w, node.idx, node.z, node.l
    scalars = pool.scalars
    scalars.records -= 1
    record = pool.free_records[scalars.records]
    for j in range(lo.size):
        pool.lo[record, j], pool.hi[record, j], pool.w[record, j] = lo[j], hi[j], w[j]
    pool.base[record], pool.count[record], pool.refs[record], pool.page[record] = base, m, 2, -1
    page = -1
    points, states, lowers, link = pool.point, pool.state, pool.lower, pool.link
    for i in range(m):
        k = i % PAGE
        if k == 0:
            scalars.pages -= 1
            new_page = pool.free_pages[scalars.pages]
            link[new_page] = -1
            if page < 0:
                pool.page[record] = new_page
            else:
                link[page] = new_page
            page = new_page
        points[page, k], states[page, k], lowers[page, k] = idx[i], z[i], l[i]
    return record


@entry
def move_nodes(node: BoxNode, source: BoxPool, target: BoxPool, count: int) -> None:
    """Move the last ``count`` open nodes of a pool's heap to another pool with sufficient capacity; ``node`` is a buffer."""
    for _ in range(count):
        source.scalars.waiting -= 1
        code: Any = np.int64(source.heap[source.scalars.waiting])
        key, ident = source.key[code >> 1, code & 1], source.ident[code >> 1]
        base, m = _load_node(source, code, node)
        record = _store_node(target, node, m, base)
        target.refs[record], target.split[record], target.mid[record] = 1, 0, node.hi[0]
        target.key[record, 0] = target.key[record, 1] = key
        target.ident[record] = ident
        push(target.heap, target.scalars.waiting, target.key, 2 * record)
        target.scalars.waiting += 1


@entry
def gather_points(pool: BoxPool, records: Any, point: Any, state: Any, lower: Any) -> None:
    """Copy the points of these records, with states and lower ends, from the pages into contiguous arrays."""
    points, states, lowers, link = pool.point, pool.state, pool.lower, pool.link
    position = 0
    for record in records:
        page = pool.page[record]
        for i in range(pool.count[record]):
            k = i % PAGE
            if i > 0 and k == 0:
                page = link[page]
            point[position], state[position], lower[position] = points[page, k], states[page, k], lowers[page, k]
            position += 1


@entry
def scatter_points(pool: BoxPool, counts: Any, point: Any, state: Any, lower: Any) -> None:
    """Copy points, states and lower ends, ``counts`` for each record, from contiguous arrays into the pool's first pages."""
    points, states, lowers = pool.point, pool.state, pool.lower
    position, page = 0, -1
    for count in counts:
        for i in range(count):
            k = i % PAGE
            if k == 0:
                page += 1
            points[page, k], states[page, k], lowers[page, k] = point[position], state[position], lower[position]
            position += 1


@inner
def _select_branching_coordinate(node: BoxNode, m: int) -> int:
    """Return the coordinate along which the margin of some free point has the widest range."""
    lo, hi, z, G = node.lo, node.hi, node.z, node.G
    best, widest = 0, -1.0
    for j in range(lo.size):
        largest = 0.0
        for i in range(m):
            if z[i] == FREE:
                largest = max(largest, abs(G[j, i]))
        if largest * (hi[j] - lo[j]) > widest:
            best, widest = j, largest * (hi[j] - lo[j])
    return best


@inner
def _select_branching_point(node: BoxNode, m: int, c: Any) -> int:
    """Return the free point with the largest product of the two children's gains."""
    z, lam, norm, G, al = node.z, node.lam, node.norm, node.G, node.alpha
    best, best_score = -1, -1.0
    for i in range(m):
        if z[i] != FREE:
            continue
        u = 0.0
        for j in range(c.size):
            u += G[j, i] * c[j]
        a, size = al[i], norm[i] * norm[i]
        shifted = u - 0.5 * a * size
        kept_gain = max(1.0 - u, 0.0) ** 2 / size
        violated_gain = lam[i] - a * (1.0 - u) - 0.25 * a * a * size + max(shifted - 1.0, 0.0) ** 2 / size
        score = max(kept_gain, 1e-3 * lam[i]) * max(violated_gain, 1e-3 * lam[i])
        if score > best_score:
            best, best_score = i, score
    return best


#: Number of free points up to which a node branches on a point instead of a coordinate.
_BY_POINTS = 1
#: Share of the way from the interval's midpoint to the relaxation's solution at which a coordinate is split.
_SPLIT_SHARE = 0.2


@inner
def _scaled(data: BoxData, w: Any, total: float, margin: Any, P: MatchArrays) -> tuple[float, float]:
    """Return (objective, t) of the best multiple t w, by trying every crossing of a margin; ``total`` is the sum of weights."""
    rows, weights = data.rows, data.weights
    n, p = rows.shape
    count: Any = np.int64(0)
    norm = 0.0
    for j in range(p - 1 if data.free else p):
        norm += w[j] * w[j]
    for i in range(n):
        u = 0.0
        for j in range(p):
            u += rows[i, j] * w[j]
        if u > 1e-9:
            margin[count] = u
            margin[n + count] = weights[i]
            count += 1
    sort_by_decreasing_key(margin, count, P.queue, P)
    best, scale = total, 0.0
    cost = total
    for k in range(count):
        i = P.queue[k]
        cost -= margin[n + i]
        t = 1.0 / margin[i]
        value = t * t * norm + cost
        if value < best:
            best, scale = value, t
    return best, scale


@inner
def _remove_decided(data: BoxData, node: BoxNode, m: int, base: float, R: BoxRelaxation) -> tuple[float, int]:
    """Remove the points that the box decides: return (base, remaining points), or (∞, 0) if a kept point cannot be kept."""
    lo, hi, idx, z, l, G, lam, norm = node.lo, node.hi, node.idx, node.z, node.l, node.G, node.lam, node.norm
    p, rows = lo.size, data.rows
    for i in range(m):
        for j in range(p):
            G[j, i] = rows[idx[i], j]
    activity_bounds(G, m, lo, hi, R)
    k = 0
    for i in range(m):
        point = idx[i]
        err = 4.0 * EPS * (p + 2) * R.margin_size[i]
        low, high = R.least_margin[i] - err, R.largest_margin[i] + err
        state, lower = z[i], l[i]
        if state == FREE:
            lower = max(lower, low)
            if high < 1.0:
                state = VIOLATED
            elif lower >= 1.0:
                state = KEPT
        elif state == KEPT and high < 1.0:
            return np.inf, 0
        if state == KEPT and low >= 1.0:
            continue
        if state == VIOLATED and high <= 1.0:
            base += data.weights[point]
            continue
        idx[k], z[k], l[k] = point, state, lower
        lam[k], norm[k] = data.weights[point], data.norms[point]
        if k < i:
            for j in range(p):
                G[j, k] = G[j, i]
        k += 1
    return base, k


@inner
def _report_leaf(data: BoxData, pool: BoxPool, node: BoxNode, m: int, c: Any) -> None:
    """Write the states of all points of a leaf to ``leaf`` and its centre to ``candidate``."""
    lo, hi, idx, z = node.lo, node.hi, node.idx, node.z
    p = lo.size
    for i in range(data.weights.size):
        low = high = size = 0.0
        for j in range(p):
            a = data.rows[i, j]
            if a > 0.0:
                low += a * lo[j]
                high += a * hi[j]
            else:
                low += a * hi[j]
                high += a * lo[j]
            size += abs(a) * max(abs(lo[j]), abs(hi[j]))
        err = 4.0 * EPS * (p + 2) * size
        pool.leaf[i] = KEPT if low - err >= 1.0 else VIOLATED if high + err < 1.0 else FREE
    for i in range(m):
        pool.leaf[idx[i]] = z[i]
    for j in range(p):
        pool.candidate[j] = c[j]


@inner
def _between_norms(data: BoxData, lo: Any, hi: Any, cut: float) -> bool:
    """Return True if no w of the box has ||w||² = cut - loss for a whole multiple of ``step`` as loss."""
    smallest = largest = 0.0
    for j in range(lo.size - 1 if data.free else lo.size):
        nearest, farthest = max(lo[j], -hi[j], 0.0), max(hi[j], -lo[j])
        smallest += nearest * nearest
        largest += farthest * farthest
    error = 1e-9 * largest + 1e-11 * cut
    return math.floor((cut - smallest + error) / data.step) < math.ceil((cut - largest - error) / data.step)


# exempt (length): compiled as one function; a call would pass array by array
@entry
def explore(data: BoxData, pool: BoxPool, workspace: BoxWorkspace, cut: float, nodes: int, sample: int, total: float) -> int:
    """Explore at most ``nodes`` nodes with bounds below ``cut``; return the code of the reason for stopping.

    BUDGET: ``nodes`` nodes are explored. DONE: no node below ``cut`` is open. GROW: the pool or the log buffer is full.
    CANDIDATE: ``pool.candidate`` holds a better w. LEAF: a node has no free point, and ``pool.leaf`` holds the states.

    The search is best-first with dives: after the best node of the heap the child that contains the relaxation's minimiser is
    next, and its sibling goes to the heap, until the dive ends. A node with `_BY_POINTS` free points, or whose chosen interval is
    too short to be split in float64, branches on a point. Every ``sample``-th node scales its minimiser into a candidate, for
    which ``total`` is the sum of all weights. In the frugal mode, where memory is short, nodes are taken from the end of the
    heap: nearly depth-first.
    """
    n, p = data.rows.shape
    scalars = pool.scalars
    node, R, P, margin = workspace.node, workspace.relaxation, workspace.pairs, workspace.margin
    lo, hi, z, c = node.lo, node.hi, node.z, R.c
    pages_per_node = n // PAGE + 2
    log = EventBuffer(pool.log, scalars)
    for _ in range(nodes):
        logging = pool.log.size > 0
        reserve = 1 if scalars.frugal == 1 else RESERVE
        if scalars.records < 2 * reserve or scalars.pages < pages_per_node * reserve or scalars.waiting + 2 > pool.heap.size:
            return GROW
        if logging and scalars.log_at + (6 * (n + 1) + 8) * ROUNDS + 32 > pool.log.size:
            return GROW
        code = scalars.current
        if code < 0:
            if scalars.waiting == 0 or pool.key[pool.heap[0] >> 1, pool.heap[0] & 1] >= cut:
                return DONE
            if scalars.frugal == 1:
                code = np.int64(pool.heap[scalars.waiting - 1])
            else:
                code = pop(pool.heap, scalars.waiting, pool.key)
            scalars.waiting -= 1
            if pool.key[code >> 1, code & 1] >= cut:
                _load_node(pool, code, node)
                continue
        scalars.current = -1
        parent, side, D = pool.ident[code >> 1], code & 1, pool.key[code >> 1, code & 1]
        base, m = _load_node(pool, code, node)
        if data.scaled_to_cut and _between_norms(data, lo, hi, cut):
            continue
        ident = scalars.next_id
        scalars.next_id += 1
        scalars.nodes += 1
        if logging:
            log_node(log, ident, parent, side)
        base, m = _remove_decided(data, node, m, base, R)
        if base >= cut:
            continue
        scalars.points += m
        bound = _bound_and_tighten(data, node, m, R, P, base * (1.0 - 4.0 * EPS * n), cut, log, ident)
        if bound >= cut:
            continue
        D = max(D, bound)
        if scalars.nodes % sample == 0:
            value, scale = _scaled(data, c, total, margin, P)
            if value < pool.candidate[p]:
                pool.candidate[p] = value
                for j in range(p):
                    pool.candidate[j] = scale * c[j]
                scalars.candidate = 1
        free = 0
        for i in range(m):
            free += z[i] == FREE
        if free == 0:
            _report_leaf(data, pool, node, m, c)
            pool.candidate[p + 1] = D
            return LEAF
        j = _select_branching_coordinate(node, m)
        mid = 0.5 * (lo[j] + hi[j])
        mid += _SPLIT_SHARE * (c[j] - mid)
        degenerate = hi[j] - lo[j] <= 1e-9 * (abs(lo[j]) + abs(hi[j]))
        record = _store_node(pool, node, m, base)
        first_child = 0
        if free <= _BY_POINTS or degenerate:
            i = _select_branching_point(node, m, c)
            pool.split[record] = -1 - i
            u = 0.0
            for k in range(p):
                u += node.G[k, i] * c[k]
            first_child = 0 if u > 0.5 * (1.0 + node.l[i]) else 1
            branching = -1.0 - node.idx[i]
        else:
            pool.split[record], pool.mid[record] = j, mid
            first_child = 0 if c[j] <= mid else 1
            branching = float(j)
        pool.key[record, 0] = pool.key[record, 1] = D
        pool.ident[record] = ident
        if logging:
            log_split(log, ident, branching, mid)
        scalars.current = 2 * record + first_child
        push(pool.heap, scalars.waiting, pool.key, 2 * record + 1 - first_child)
        scalars.waiting += 1
        if scalars.candidate == 1:
            scalars.candidate = 0
            return CANDIDATE
    return BUDGET
