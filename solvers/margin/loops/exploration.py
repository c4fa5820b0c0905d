"""The compiled search of `margin-bb`: exploration of nodes, the least bound first, and descents by the convex-concave procedure.

The problem is to minimise a regulariser plus Σ_i c_i ρ_i(a_i'w) under restrictions of w, `data_structures.LoopProblem`. A node is
a box of w with a proved lower bound of the objective; a *round* bounds the node and shrinks its box. `run_task` is the one
function that Python calls.
"""

from __future__ import annotations

import math
from typing import Any

from ...exact.loops import EPS
from ...exact.loops.heap import pop, push
from ...exact.loops.newton import margins
from .data_structures import (
    LoopNode,
    LoopProblem,
    SearchTree,
    entry,
    inner,
    log_cutoff,
    log_node,
    log_round,
    log_sign_split,
    log_split,
    log_support_split,
)
from .envelopes import compute_envelopes, objective, store_hull
from .pairing import match_pairs
from .propagation import branching_sign, choose_signs, propagate, reset_demands
from .relaxation import relax, tighten_box

#: Most iterations of the convex-concave procedure; most solutions of an iteration's problem, each with the point p of the norm's
#: polar that the last one has moved; share of the objective that the added square may cost there.
_TURNS, _SOLUTIONS, _FINE = 50, 8, 1e-9
#: Slope that stands for a jump, in units of the loss's height; distance that counts as being at a corner.
_STEEP, _NEAR = 1e3, 1e-6
#: Passes over all integer coefficients.
_STEPS = 20
#: Coefficients below this share of the largest one count as zero.
_DUST = 1e-9


@inner
def _majorise(r: LoopProblem, k: LoopNode, i: int, u: float) -> None:
    """Store a convex majorant for term i: the corners from the last one at or below its margin u on, and as steep to the left."""
    kind, first = r.kind[i], -1
    k.orientation[i] = -1.0 if r.symmetric[kind] and u < 0.0 else 1.0
    u *= k.orientation[i]
    for t in range(r.sizes[kind]):
        if u >= r.corners[kind, t] - _NEAR:
            first = t
    if first < 0:
        k.base[i], k.pieces[i], k.first_slope[i] = r.height[kind], 0, 0.0
        return
    last = r.sizes[kind] - 1
    for t in range(first, last + 1):
        k.vertices[t - first], k.vertex_values[t - first] = r.corners[kind, t], r.at[kind, t]
    steep = 0.0
    if r.below[kind, first] > r.at[kind, first]:
        steep = _STEEP * r.height[kind]
    elif first > 0:
        steep = (r.at[kind, first - 1] - r.below[kind, first]) / (r.corners[kind, first] - r.corners[kind, first - 1])
    store_hull(r, k, i, last - first + 1)
    if k.pieces[i] == 0:
        k.begins[0, i], k.slopes[0, i], k.pieces[i] = r.corners[kind, first], steep, 1
    else:
        total = 0.0
        for t in range(k.pieces[i]):
            total += k.slopes[t, i]
        if steep > total:
            k.begins[k.pieces[i], i], k.slopes[k.pieces[i], i] = r.corners[kind, first], steep - total
            k.pieces[i] += 1
    k.first_slope[i] = 0.0


@inner
def _demand_all_but_worst(r: LoopProblem, k: LoopNode, u: Any) -> None:
    """Demand all points of a budget but the worst ones at w, as many as it allows."""
    for b in range(r.budget_limits.size):
        for i in range(r.budget_starts[b], r.budget_starts[b + 1]):
            worse = 0
            for t in range(r.budget_starts[b], r.budget_starts[b + 1]):
                worse += u[t] < u[i] or (u[t] == u[i] and t < i)
            if worse >= r.budget_limits[b]:
                k.demanded[r.point[i]] = True


@inner
def _linearise(r: LoopProblem, k: LoopNode) -> float:
    """Store convex majorants of the losses at w; return the cost of the points whose majorant is constant (given up)."""
    u, given_up = k.relaxation.u, 0.0
    margins(r.rows, r.point.size, k.w, u)
    _demand_all_but_worst(r, k, u)
    choose_signs(r, k, u)
    for i in range(r.point.size):
        k.unpaid[i], k.undecided[i] = k.costs[i], False
        if i < r.points and k.costs[i] > 0.0:
            _majorise(r, k, i, u[i])
            k.undecided[i] = k.pieces[i] > 0
            given_up += 0.0 if k.undecided[i] else k.costs[i] * k.base[i]
    return given_up


@inner
def _round_integers(r: LoopProblem, k: LoopNode) -> None:
    """Round integers to the nearest ones in the box."""
    for j in range(k.w.size):
        if r.integer[j]:
            k.w[j] = min(max(math.floor(k.w[j] + 0.5), math.ceil(k.lo[j])), math.floor(k.hi[j]))


@inner
def _round_and_improve(r: LoopProblem, k: LoopNode) -> float:
    """Round the integers of w in place, improve them by unit steps, and return the objective."""
    _round_integers(r, k)
    best, better = objective(r, k, math.inf), True
    for _ in range(_STEPS):
        better = False
        for j in range(k.w.size):
            if not r.integer[j]:
                continue
            for step in (-1.0, 1.0):
                if k.lo[j] <= k.w[j] + step <= k.hi[j]:
                    k.w[j] += step
                    value = objective(r, k, best)
                    if value < best:
                        best, better = value, True
                    else:
                        k.w[j] -= step
        if not better:
            break
    return best


@inner
def _drop_negligible(r: LoopProblem, k: LoopNode, best: float) -> float:
    """Set coefficients that are negligible beside the largest one to 0 if the objective is no worse."""
    w, largest = k.best, 0.0
    for j in range(w.size):
        largest = max(largest, abs(w[j]))
    for j in range(w.size):
        k.w[j] = 0.0 if abs(w[j]) <= _DUST * largest and k.lo[j] <= 0.0 <= k.hi[j] else w[j]
    value = objective(r, k, best)
    if not value <= best:
        return best
    for j in range(w.size):
        w[j] = k.w[j]
    return value


@inner
def descend(r: LoopProblem, k: LoopNode, infeasible_value: float, sharp: bool) -> float:
    """Run the convex-concave procedure in the node's box, and return the objective of its end.

    It starts and ends at ``k.best``. The concave parts of the losses are linearised at w, so that every iteration lowers the
    objective; the first that does not ends the procedure. Of the node only the box is read; its other fields are overwritten. An
    infeasible point counts as one of objective ``infeasible_value``. With ``sharp`` the hinges of `relax` are smoothed least.
    """
    w = k.best
    for j in range(w.size):
        k.w[j] = w[j]
    for i in range(r.point.size):
        k.costs[i] = r.costs[i] if i < r.points else 0.0
    best, is_integral = objective(r, k, math.inf), False
    for j in range(w.size):
        is_integral |= r.integer[j]
    for _ in range(_TURNS):
        before = best
        reset_demands(r, k)
        if r.restricted and not propagate(r, k):
            break
        if not compute_envelopes(r, k):
            break
        certain = _linearise(r, k)
        for _ in range(_SOLUTIONS):
            scale: Any = min(best, infeasible_value)
            relax(r, k, certain, max(scale, 1e-300), certain, _FINE * scale, sharp)
            value = _round_and_improve(r, k) if is_integral else objective(r, k, best)
            if not value < (best - 1e-12 * abs(best) if best < math.inf else best):
                break
            best = value
            for j in range(w.size):
                w[j] = k.w[j]
        if best == before:
            break
    return _drop_negligible(r, k, best)


#: Tasks of `run_task`: explore nodes, run a descent, evaluate the objective.
EXPLORE, DESCEND, EVALUATE = 0, 1, 2
#: Results of an exploration: no open node is left; the tree has no capacity; the number of nodes is reached, or half of the log
#: buffer is used.
DONE, FULL, PAUSED = 0, 1, 2
#: Free capacity, in splits, below which a tree requests growth; where memory is short the search uses this reserve.
RESERVE = 32
#: Largest number of rounds of a node, each a relaxation and a tightening of the box. Shares of the cutoff, and of the gap to it,
#: that the added square may cost the bound.
ROUNDS, _SPEND, _OF_MISSING = 30, 1e-3, 0.1
#: A width or a gap that falls by less than this share is not worth another round, nor are squares that cost less of the gap.
_WORTH, _ENOUGH = 0.02, 0.3
#: Share of the way from the middle of a coordinate to the relaxation's solution at which it is split.
_ASIDE = 0.2


@inner
def _is_splittable(k: LoopNode, j: int) -> bool:
    """Return whether enough floating-point numbers lie between the ends of w_j."""
    return bool(k.hi[j] - k.lo[j] > 1e-13 * (1.0 + max(abs(k.lo[j]), abs(k.hi[j]))))


@inner
def _branching_coordinate(r: LoopProblem, k: LoopNode, gap_to_cutoff: float) -> int:
    """Return the coordinate to split: the one along which the margin of some undecided point ranges most; the widest without one.

    If all their losses together range less than the gap of the bound, thinner boxes do not help: the choice is the coordinate
    along which the maximiser of p'w over the norm's polar and the point ``k.polar`` of the relaxation differ most.
    """
    best, largest_range, widest, ranges = 0, 0.0, 0, 0.0
    A, costs, undecided, low, high = r.rows, k.costs, k.undecided, k.low, k.high
    for i in range(costs.size):
        if undecided[i]:
            kind = r.kind[i]
            ranges += costs[i] * (r.height[kind] if r.jumps[kind] else r.max_slope[kind] * (high[i] - low[i]))
    of_norm = ranges < gap_to_cutoff and k.basis.size > r.half_edges.shape[0]
    for j in range(k.w.size):
        largest = abs(k.maximiser[j] - k.polar[j]) if of_norm else 0.0
        if not of_norm:
            for i in range(costs.size):
                if undecided[i]:
                    largest = max(largest, abs(A[j, i]))
        if largest * (k.hi[j] - k.lo[j]) > largest_range and _is_splittable(k, j):
            best, largest_range = j, largest * (k.hi[j] - k.lo[j])
        if k.hi[j] - k.lo[j] > k.hi[widest] - k.lo[widest]:
            widest = j
    return best if largest_range > 0.0 else widest


@inner
def _branching_coefficient(r: LoopProblem, k: LoopNode) -> int:
    """Return the undecided coefficient to split by whether it is 0: the largest one at w; -1 if there is none."""
    best = -1
    for j in range(k.w.size):
        matters = r.sparse and (r.price[j] > 0.0 or r.counted[j])
        is_open = k.marks[j] == 0.0 and k.lo[j] <= 0.0 <= k.hi[j] and k.lo[j] < k.hi[j]
        if matters and is_open and (best < 0 or abs(k.w[j]) > abs(k.w[best])):
            best = j
    return best


@inner
def _fixed_cost(r: LoopProblem, k: LoopNode, priced: bool) -> float:
    """Return a lower bound of the certain cost on the box: decided losses, pairs, and prices of non-zero coefficients.

    With ``priced`` the budgets' limits times their prices are subtracted.
    """
    fixed_cost, allowance, paid = 0.0, 0.0, 0.0
    for i in range(r.point.size):
        if not k.undecided[i]:
            fixed_cost += k.costs[i] * k.base[i]
    if priced:
        for b in range(r.budget_limits.size):
            if r.budget_starts[b + 1] > r.budget_starts[b]:
                allowance += r.costs[r.budget_starts[b]] * r.budget_limits[b]
    if r.sparse:
        for j in range(k.w.size):
            paid += r.price[j] if k.marks[j] > 0.0 or k.lo[j] > 0.0 or k.hi[j] < 0.0 else 0.0
    fixed_cost = (fixed_cost + match_pairs(r, k) + paid) * (1.0 - 8.0 * EPS * (r.point.size + 8))
    return fixed_cost - allowance * (1.0 + 8.0 * EPS)


@inner
def _update_incumbent(r: LoopProblem, k: LoopNode, tree: SearchTree) -> bool:
    """Make the relaxation's solution, its integers rounded, the incumbent if it is better; return whether it is."""
    state, incumbent = tree.state, tree.incumbent
    value = _round_and_improve(r, k) if r.restricted else objective(r, k, state[0])
    better = value < state[0]
    if better:
        state[0], state[3] = value, 1.0
        for j in range(incumbent.size):
            incumbent[j] = k.w[j]
    return better


@inner
def _bound_node(r: LoopProblem, k: LoopNode, bound: float, tree: SearchTree) -> float:
    """Return the node's bound, ∞ for an empty box; shrink its box as long as that helps, and store better points."""
    state, incumbent, budgets, idle, cut = tree.state, tree.incumbent, r.budget_limits.size > 0, 0, math.inf
    for turn in range(ROUNDS):
        cut, priced = state[0] * (1.0 - state[1]), budgets and turn % 2 == 0
        if r.restricted and not propagate(r, k):
            return math.inf
        for j in range(incumbent.size):
            k.w[j] = min(max(k.w[j], k.lo[j]), k.hi[j])
        for i in range(r.point.size):
            k.costs[i] = r.costs[i] if i < r.points or priced else 0.0
        if not compute_envelopes(r, k):
            return math.inf
        fixed_cost = _fixed_cost(r, k, priced)
        if fixed_cost >= cut:
            log_round(k, tree, 0.0, fixed_cost < cut, priced)
            return fixed_cost
        # ``sharp`` is False by a comparison: a literal would compile `relax` for a second type
        perturbation = min(_SPEND * cut, _OF_MISSING * (cut - max(bound, fixed_cost)))
        relaxation_bound = relax(r, k, fixed_cost, cut, max(bound, fixed_cost), perturbation, perturbation < 0.0)
        log_round(k, tree, perturbation, relaxation_bound > -math.inf, priced)
        if relaxation_bound == -math.inf:
            break
        gain = relaxation_bound - bound
        bound = max(bound, relaxation_bound)
        if bound >= cut:
            break
        if turn == 0 and _update_incumbent(r, k, tree):
            cut = state[0] * (1.0 - state[1])
            log_cutoff(tree, cut)
        shrunk = tighten_box(k, cut)
        if shrunk > 1.0:
            return cut
        little = shrunk < _WORTH and gain < _WORTH * (cut - bound) and perturbation < _ENOUGH * (cut - bound)
        idle = idle + 1 if little else 0
        if idle > budgets:  # with budgets, a round with their prices and one without
            break
    if r.restricted and bound < cut and _update_incumbent(r, k, tree):  # the box may have become a point since the first round
        log_cutoff(tree, state[0] * (1.0 - state[1]))
    return bound


@inner
def _branch(r: LoopProblem, k: LoopNode, tree: SearchTree, bound: float) -> bool:
    """Add two children of the current node to the tree; return False if its box cannot be split."""
    boxes, heap, count, lo, hi, w, p = tree.boxes, tree.heap, tree.count, k.lo, k.hi, k.w, k.w.size
    j, split, signed = _branching_coefficient(r, k), 0.0, -1
    support = j >= 0
    if not support:
        signed = branching_sign(r, k)
    if not support and signed < 0:
        j = _branching_coordinate(r, k, tree.state[0] * (1.0 - tree.state[1]) - bound)
        if not _is_splittable(k, j):
            return False
        split = 0.5 * (lo[j] + hi[j]) * (1.0 - _ASIDE) + _ASIDE * min(max(w[j], lo[j]), hi[j])
        if r.integer[j]:
            split = min(max(math.floor(split), lo[j]), hi[j] - 1.0) + 0.5
    if support:
        log_support_split(tree, j)
    elif signed >= 0:
        log_sign_split(tree, signed)
    else:
        log_split(tree, j, split)
    for side in range(2):
        child: Any = heap[count[0]]
        for t in range(p):
            boxes[child, 0, t], boxes[child, 1, t], boxes[child, 2, t] = lo[t], hi[t], k.polar[t]
            boxes[child, 3, t] = k.marks[t]
        for i in range(tree.signs.shape[1]):
            tree.signs[child, i] = k.demanded_signs[i]
        if signed >= 0:
            tree.signs[child, signed] = 2.0 * side - 1.0
        elif support and side == 0:
            boxes[child, 0, j] = boxes[child, 1, j] = 0.0
        elif support:
            boxes[child, 3, j] = 1.0
        else:
            boxes[child, 1 - side, j] = split
        tree.keys[child >> 1, child & 1] = bound
        tree.origin[child, 0], tree.origin[child, 1] = count[1], side
        push(heap, count[0], tree.keys, child)
        count[0] += 1
    return True


@inner
def _explore(r: LoopProblem, k: LoopNode, tree: SearchTree, nodes: int) -> int:
    """Explore up to ``nodes`` nodes, least bound first, in the workspace ``k``.

    In the frugal mode, where memory is short, nodes are taken from the end of the heap: nearly depth-first, and the heap stays
    valid.
    """
    boxes, keys, heap, count, state, incumbent = tree.boxes, tree.keys, tree.heap, tree.count, tree.state, tree.incumbent
    for _ in range(nodes):
        if count[0] == 0:
            return DONE
        if count[0] + 2 * (1 if count[3] else RESERVE) >= heap.size:
            return FULL
        if count[2] > tree.log.size // 2:
            return PAUSED
        if count[3]:
            node = heap[count[0] - 1]
        else:
            node = pop(heap, count[0], keys)
        count[0] -= 1
        heap[count[0]] = node  # its place is free again
        key = keys[node >> 1, node & 1]
        if key >= state[0] * (1.0 - state[1]):
            continue
        count[1] += 1
        log_node(tree, node, count[1])
        for j in range(incumbent.size):
            k.lo[j], k.hi[j], k.polar[j], k.marks[j] = boxes[node, 0, j], boxes[node, 1, j], boxes[node, 2, j], boxes[node, 3, j]
            k.w[j] = incumbent[j]
        reset_demands(r, k)
        for i in range(tree.signs.shape[1]):
            k.demanded_signs[i] = tree.signs[node, i]
        bound, is_open = key, True
        for _ in range(2 if r.restricted else 1):  # propagation may leave a box that cannot be split, and that was not bounded
            bound = max(bound, _bound_node(r, k, bound, tree))
            is_open = bound < state[0] * (1.0 - state[1]) and (not r.restricted or propagate(r, k))
            if not is_open or _branch(r, k, tree, bound):
                is_open = False
                break
        if is_open:
            state[2] = min(state[2], bound)
    return PAUSED


@entry
def run_task(r: LoopProblem, k: LoopNode, tree: SearchTree, task: int, nodes: int, infeasible_value: float) -> float:
    """Run a task: `EXPLORE` up to ``nodes`` nodes, `DESCEND` from ``k.best``, or `EVALUATE` the objective there.

    Return `DONE`, `FULL` or `PAUSED` of an exploration, else the objective.
    """
    if task == EXPLORE:
        return float(_explore(r, k, tree, nodes))
    if task == DESCEND:
        return descend(r, k, infeasible_value, task == DESCEND)  # a literal True would compile `relax` for a second type
    for j in range(k.w.size):
        k.w[j] = k.best[j]
    return objective(r, k, math.inf)
