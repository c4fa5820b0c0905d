"""Compiled depth-first search of `zero-one-bb` on norm-conflicts: sets of points of which no w below the cutoff keeps all.

The problem is min ||w||² + Σ_i λ_i 1{a_i'w < 1}; point i is kept if a_i'w ≥ 1. A node has *deleted* points (which its solutions
violate, at a cost V), kept points and free points; ``extra`` is a proved lower bound of the cost of further deletions. A set is
a conflict at T if no w with ||w||² < T keeps all of it. Conflicts at T = cut - V - ``extra`` are *packed*: each takes the same
amount from the residual weights of its free points, and the sum of these amounts is a lower bound ``extra``.

`search_depth_first` runs and resumes the search of the conflict engine and of large neighbourhoods; `process_node` bounds a node.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...exact.loops import EPS
from ...interface.named_scalars import integers_and_floats
from ...interface.numba_flags import by_reference
from . import entry, inner
from .active_set import certified_bound, minimise_norm
from .conflict_records import (
    CONFLICT,
    DELETED,
    FREE,
    KEPT,
    KEPT_PRIORITY,
    OPTIMUM,
    VIOLATED_PRIORITY,
    ActiveSet,
    ConflictRows,
    ConflictWorkspace,
    copy_active_set,
    dot,
)

#: Largest number of conflicts that a node inherits, the latest ones of its parent: older ones seldom prune.
_MOST_INHERITED = 160

#: Fields of `SearchStack.scalars`: current level (-1: none), whether its node is to be processed, length of ``trail``,
#: counts of nodes, least-norm problems, conflicts, forced deletions and probed children, and the step of the gap histogram.
STACK_SCALARS = integers_and_floats("level expand trailed nodes solves conflicts forced probes", "step")
#: Number of bins of the histogram of subtree sizes by gap.
GAP_BINS = 64


@by_reference
class SearchStack(NamedTuple):
    """The state of a depth-first search, by level of the current path; it can stop and resume anywhere."""

    state: Any  #: (n,) FREE, KEPT or DELETED
    point: Any  #: (levels,) branching point, deleted in the first child and kept in the second
    child: Any  #: (levels,) current child, 0 or 1; -1 before the first, -2 after a candidate
    extra: Any  #: (levels,) proved lower bound of the cost of further deletions
    bound: Any  #: (levels,) proved lower bound of the subtree
    trail: Any  #: points forced to be deleted, or fixed as kept, at all levels
    trail_from: Any  #: (levels,) where each level's points begin in ``trail``
    pair: Any  #: (levels, p + 2, 2) `ActiveSet.pair` of the kept points
    g: Any  #: (levels, p + 2, p) `ActiveSet.g`
    u: Any  #: (levels, p + 2) `ActiveSet.u`
    w: Any  #: (levels, p) `ActiveSet.w`
    count: Any  #: (levels,) `ActiveSet.count`
    activity: Any  #: (n,) decaying number of recent conflicts of each point
    start_nodes: Any  #: (levels,) node count when the level's node was processed
    gap_bin: Any  #: (levels,) gap of the node's bound to the cutoff, in steps
    subtree_nodes: Any  #: (GAP_BINS,) nodes of the finished subtrees, by the gap of their roots
    finished_subtrees: Any  #: (GAP_BINS,) number of finished subtrees, by the gap of their roots
    scalars: Any  #: a structured scalar of type `STACK_SCALARS`
    candidate_value: Any  #: (1,) the value below which a candidate is reported
    unresolved: Any  #: least bound of leaves that rounding left unresolved
    listed: Any  #: (capacity, 2p + 6) conflicts by level: their points that were free when the conflict was found
    size: Any  #: (capacity,) number of these points
    norm: Any  #: (capacity,) certified lower bound of the squared norm of each conflict
    end: Any  #: (levels + 1,) start of each level's list, which is the end of the previous one


@inner
def _collect_free_points(active: ActiveSet, state: Any, mark: Any, out: Any) -> int:
    """Write the distinct free points of a conflict's constraints to ``out`` and return their number; ``mark`` is a buffer."""
    m = 0
    for k in range(active.count[0]):
        if active.u[k] <= 0.0:
            continue
        for side in range(2):
            i = active.pair[k, side]
            if i >= 0 and state[i] == FREE and not mark[i]:
                mark[i] = True
                out[m] = i
                m += 1
    for k in range(m):
        mark[out[k]] = False
    return m


@inner
def _copy_conflict(stack: SearchStack, source: int, target: int) -> None:
    """Copy a listed conflict from position ``source`` to ``target``."""
    stack.size[target], stack.norm[target] = stack.size[source], stack.norm[source]
    for k in range(stack.size[source]):
        stack.listed[target, k] = stack.listed[source, k]


@inner
def _inherit_conflicts(stack: SearchStack, level: int) -> int:
    """Copy the parent's latest conflicts to this level's list, within the capacity; return the list's end."""
    start = stack.end[level]
    if level == 0:
        return start
    parent_start = max(stack.end[level - 1], start - _MOST_INHERITED)
    count = min(start - parent_start, stack.size.size - start)
    for c in range(count):
        _copy_conflict(stack, parent_start + c, start + c)
    return start + count


@inner
def _repack_conflicts(stack: SearchStack, start: int, stop: int, T: float, left: Any) -> tuple[float, int, int]:
    """Pack the listed conflicts anew, small ones first; return (packed cost, new end of the list, forced point).

    A conflict loses points that are kept by now, and is removed if one of its points is deleted (it is hit). One with a norm
    below T is skipped, but stays in the list, since T falls. ``left`` are the residual weights. The forced point is the only free
    one of a conflict, -1 if there is none, and -2 for a conflict without free points.
    """
    state = stack.state
    end, forced, largest = start, -1, 0
    for c in range(start, stop):
        m, hit = 0, False
        for k in range(stack.size[c]):
            i = stack.listed[c, k]
            hit = hit or state[i] == DELETED
            if state[i] == FREE:
                stack.listed[end, m] = i
                m += 1
        if hit:
            continue
        stack.size[end], stack.norm[end] = m, stack.norm[c]
        if stack.norm[c] >= T:
            if m == 0:
                return 0.0, end, -2
            if m == 1:
                forced = stack.listed[end, 0]
            largest = max(largest, m)
        end += 1
    packed = 0.0
    for m in range(2, largest + 1 if forced < 0 else 2):
        for c in range(start, end):
            if stack.size[c] != m or stack.norm[c] < T:
                continue
            least_residual = np.inf
            for k in range(m):
                least_residual = min(least_residual, left[stack.listed[c, k]])
            if least_residual > 0.0:
                for k in range(m):
                    left[stack.listed[c, k]] -= least_residual
                packed += least_residual
    return packed, end, forced


#: Packings per node: one from the parent's conflicts, then at least one new packing, more while they improve.
_MOST_PACKINGS = 3
#: A packing continues as if one more point were deleted if the gap is at most this multiple of the point's weight.
_LOOKAHEAD_RATIO = 2.0
#: The priority of the free point in the most listed conflicts is divided by 1 + `_SHARED_POINT_DISCOUNT`.
_SHARED_POINT_DISCOUNT = 5.0
#: Least residual weight of a point, as a share of its weight, for use in a further conflict of a packing.
_LEAST_RESIDUAL = 0.25


@inner
def _set_priorities(stack: SearchStack, first: int, last: int, away: float, conflict_counts: Any, priority: Any) -> None:
    """Set each point's priority in the dual method: the fewer listed conflicts contain it, the higher.

    The conflicts are those from ``first`` to ``last``; ``away`` is the priority of deleted points.

    A point in many conflicts is better saved for later conflicts of the packing: priorities act like prices in column generation.
    """
    state = stack.state
    for i in range(state.size):
        conflict_counts[i] = 0.0
    for c in range(first, last):
        for k in range(stack.size[c]):
            conflict_counts[stack.listed[c, k]] += 1.0
    largest = 1.0
    for i in range(state.size):
        largest = max(largest, conflict_counts[i])
    slope = _SHARED_POINT_DISCOUNT / largest
    for i in range(state.size):
        priority[i] = KEPT_PRIORITY if state[i] == KEPT else away
        if state[i] == FREE:
            priority[i] = 1.0 / (1.0 + slope * conflict_counts[i])


@inner
def _fix_expensive(stack: SearchStack, excess: float, residual: Any, offset: float, priority: Any) -> bool:
    """Fix as kept the free points that are too expensive to delete on top of a packing; return True if there are any.

    A solution that deletes i hits the conflicts of the packing at a cost of at least packed + residual_i, and its squared norm is
    at least ``norm``: it is excluded if their sum reaches ``budget`` = cut - V. ``excess`` is norm + packed - budget. A packing
    that assumes further deletions of cost ``offset`` excludes only points with residual_i ≥ offset.
    """
    state, scalars, fixed = stack.state, stack.scalars, False
    for i in range(state.size):
        if state[i] == FREE and residual[i] >= offset and excess + residual[i] >= 0.0:
            state[i], priority[i] = KEPT, KEPT_PRIORITY
            stack.trail[scalars.trailed] = i
            scalars.trailed += 1
            fixed = True
    return fixed


# exempt (length): compiled as one function; a call would pass array by array
@inner
def process_node(
    rows: ConflictRows,
    exact: ConflictRows,
    weights: Any,
    stack: SearchStack,
    level: int,
    cut: float,
    workspace: ConflictWorkspace,
) -> int:
    """Bound the node of ``level``; return 0 if it is pruned, 1 if it branches, 2 if it holds a candidate for the incumbent.

    Rows and weights are those of `search_depth_first`. A solution below the cutoff deletes further free points of cost c ≥
    ``extra`` and has ||w||² < cut - V - c ≤ T.
    """
    n = weights.size
    scalars, state = stack.scalars, stack.state
    active, is_kept, pairs, ok, priority, residual, mark, points = (
        workspace.active, workspace.kept_points, workspace.pairs, workspace.ok, workspace.priority, workspace.residual,
        workspace.mark, workspace.points,
    )  # fmt: skip
    scratch = workspace.scratch
    violated_priority = -VIOLATED_PRIORITY if rows.strict else 0.0
    pad = 4.0 * EPS * (n + 8) * cut
    for j in range(active.w.size):
        is_kept.w[j] = stack.w[level, j]
    is_kept.count[0], is_kept.ready[0] = stack.count[level], 0
    for k in range(is_kept.count[0]):
        is_kept.u[k] = stack.u[level, k]
        is_kept.pair[k, 0], is_kept.pair[k, 1] = stack.pair[level, k, 0], stack.pair[level, k, 1]
        for j in range(active.w.size):
            is_kept.g[k, j] = stack.g[level, k, j]
    first = stack.end[level]
    last = _inherit_conflicts(stack, level)
    while True:
        spent = 0.0
        for i in range(n):
            spent += weights[i] if state[i] == DELETED else 0.0
            ok[i] = state[i] != FREE
        _set_priorities(stack, first, last, violated_priority, workspace.conflict_counts, priority)
        extra = stack.extra[level]
        budget = cut - spent + pad
        if budget - extra <= 0.0:
            return 0
        scalars.solves += 1
        status, _ = minimise_norm(rows, ok, priority, budget - extra, is_kept, scratch)
        if status == CONFLICT:
            return 0
        norm = certified_bound(is_kept, is_kept.count[0], rows.intercept_bound)
        stack.bound[level] = max(stack.bound[level], norm + spent + extra - pad)
        forced = -1
        for packing in range(_MOST_PACKINGS):
            packed = 0.0
            for i in range(n):
                residual[i] = weights[i] if state[i] == FREE else 0.0
            if packing == 0:
                packed, last, forced = _repack_conflicts(stack, first, last, budget - extra, residual)
                if forced == -2:
                    return 0
                if forced >= 0:
                    break
            offset = proved_packing = 0.0  # proved_packing: the packing before an offset is assumed
            while True:
                T = budget - max(packed + offset, extra)
                if norm >= T:
                    if offset == 0.0:
                        return 0
                    break
                for i in range(n):
                    ok[i] = state[i] != FREE or residual[i] > _LEAST_RESIDUAL * weights[i]
                copy_active_set(is_kept, active)
                scalars.solves += 1
                status, N = minimise_norm(rows, ok, priority, T, active, scratch)
                single_points = True
                if status != CONFLICT and packed == 0.0 and exact.free:
                    single_points = False
                    pairs.count[0] = pairs.ready[0] = 0
                    for j in range(pairs.w.size):
                        pairs.w[j] = 0.0
                    scalars.solves += 1
                    status, N = minimise_norm(exact, ok, priority, T, pairs, workspace.exact)
                if status != CONFLICT:
                    if offset > 0.0:
                        break
                    if status == OPTIMUM and packed == 0.0 and N + spent < stack.candidate_value[0]:
                        stack.candidate_value[0] = (N + spent) * (1.0 - 1e-9)
                        return 2
                    proved_packing = packed
                    for i in range(n):
                        if state[i] == FREE and residual[i] > _LEAST_RESIDUAL * weights[i]:
                            offset = residual[i] if offset == 0.0 else min(offset, residual[i])
                    if offset == 0.0 or budget - max(packed, extra) - norm > _LOOKAHEAD_RATIO * offset:
                        offset = 0.0
                        break
                    continue
                scalars.conflicts += 1
                m = _collect_free_points(active if single_points else pairs, state, mark, points)
                if m == 0:
                    if offset == 0.0:
                        return 0
                    packed = budget
                    break
                if m == 1 and offset == 0.0:
                    forced = points[0]
                    break
                least_residual = np.inf
                for k in range(m):
                    least_residual = min(least_residual, residual[points[k]])
                    stack.activity[points[k]] += 1.0
                for k in range(m):
                    residual[points[k]] -= least_residual
                packed += least_residual
                if last < stack.size.size:
                    stack.size[last], stack.norm[last] = m, N
                    for k in range(m):
                        stack.listed[last, k] = points[k]
                    last += 1
            if forced >= 0:
                break
            improved = packing == 0 or proved_packing > extra + pad
            extra = stack.extra[level] = max(proved_packing, extra)
            if _fix_expensive(stack, norm + packed - budget, residual, offset, priority):
                improved = True
                for i in range(n):
                    ok[i] = state[i] != FREE
                scalars.solves += 1
                status, _ = minimise_norm(rows, ok, priority, budget - extra, is_kept, scratch)
                if status == CONFLICT:
                    return 0
                norm = certified_bound(is_kept, is_kept.count[0], rows.intercept_bound)
            stack.bound[level] = max(stack.bound[level], norm + spent + extra - pad)
            if not improved:
                break
        if forced < 0:
            break
        state[forced] = DELETED
        stack.trail[scalars.trailed] = forced
        scalars.trailed += 1
        scalars.forced += 1
        stack.extra[level] = max(stack.extra[level] - weights[forced], 0.0)
    stack.end[level + 1] = last
    for j in range(active.w.size):
        stack.w[level, j] = is_kept.w[j]
    stack.count[level] = is_kept.count[0]
    for k in range(is_kept.count[0]):
        stack.u[level, k] = is_kept.u[k]
        stack.pair[level, k, 0], stack.pair[level, k, 1] = is_kept.pair[k, 0], is_kept.pair[k, 1]
        for j in range(active.w.size):
            stack.g[level, k, j] = is_kept.g[k, j]
    return 1


#: Return codes of `search_depth_first`: the node limit of the call is reached, the search is finished, a candidate was found.
OUT_OF_NODES, DONE, CANDIDATE = 0, 1, 2
#: Least factor of a child in the product of two children's gains, in units of the least weight.
_LEAST_GAIN = 0.1
#: Least expected number of nodes of a subtree whose root is probed, and least number of nodes before the first probe.
_LARGE_SUBTREE, _FIRST_PROBE = 2000, 1000


@inner
def _score(rows: ConflictRows, stack: SearchStack, level: int, branching_priority: Any, i: int) -> float:
    """Return the branching score of point i: distance of its violation by the kept points' solution × activity × priority².

    The factors estimate the gain of keeping the point (the norm rises with the first, and conflicts lose a free point with the
    second) and the likelihood that a good solution deletes it.
    """
    violation = max(rows.tau[i] - dot(rows.a[i], stack.w[level]), 0.0) * rows.pull[i]
    return violation * stack.activity[i] * branching_priority[i] * branching_priority[i]


@inner
def _branching_point(rows: ConflictRows, stack: SearchStack, level: int, branching_priority: Any) -> int:
    """Return the free point with the highest score, -1 without free points."""
    best, best_score = -1, -1.0
    for i in range(stack.state.size):
        if stack.state[i] == FREE:
            score = _score(rows, stack, level, branching_priority, i)
            if score > best_score:
                best, best_score = i, score
    return best


@inner
def _best_candidates(
    rows: ConflictRows, stack: SearchStack, level: int, branching_priority: Any, points: Any, scores: Any
) -> int:
    """Write the free points with the highest scores to ``points``, in decreasing order, and return their number."""
    m = 0
    for i in range(stack.state.size):
        if stack.state[i] != FREE:
            continue
        score = _score(rows, stack, level, branching_priority, i)
        position = m
        while position > 0 and scores[position - 1] < score:
            position -= 1
        if position == points.size:
            continue
        m = min(m + 1, points.size)
        for k in range(m - 1, position, -1):
            points[k], scores[k] = points[k - 1], scores[k - 1]
        points[position], scores[position] = i, score
    return m


@inner
def _probed_point(
    rows: ConflictRows,
    exact: ConflictRows,
    weights: Any,
    branching_priority: Any,
    stack: SearchStack,
    workspace: ConflictWorkspace,
    cut: float,
) -> int:
    """Return the best branching point by strong branching on the candidates with the highest scores; -1 without free points.

    Both children of each candidate are processed and discarded. The score is the product of their bounds' gains.
    """
    scalars, level, points = stack.scalars, stack.scalars.level, workspace.probed
    m = _best_candidates(rows, stack, level, branching_priority, points, workspace.scores)
    unit = weights[0]
    for i in range(weights.size):
        unit = min(unit, weights[i])
    best, best_score = points[0] if m > 0 else -1, -1.0
    for c in range(m):
        score = 1.0
        for child in range(2):
            _push_child(stack, level, points[c], DELETED if child == 0 else KEPT, weights)
            stack.trail_from[level + 1] = scalars.trailed
            candidate_value = stack.candidate_value[0]
            outcome = process_node(rows, exact, weights, stack, level + 1, cut, workspace)
            stack.candidate_value[0] = candidate_value  # a candidate is reported only when its own node is processed
            scalars.probes += 1
            bound = cut if outcome == 0 else stack.bound[level + 1]
            score *= max(bound - stack.bound[level], 0.0) / unit + _LEAST_GAIN
            _undo_level(stack, level + 1)
        stack.state[points[c]] = FREE
        if score > best_score:
            best, best_score = points[c], score
    return best


@inner
def _push_child(stack: SearchStack, level: int, point: int, state: int, weights: Any) -> None:
    """Push the child that deletes or keeps a point on the stack."""
    extra = stack.extra[level]
    if state == DELETED:
        extra = max(extra - weights[point], 0.0)
    stack.state[point] = state
    stack.extra[level + 1], stack.bound[level + 1], stack.child[level + 1] = extra, stack.bound[level], -1
    stack.count[level + 1] = stack.count[level]
    p = stack.w.shape[1]
    for j in range(p):
        stack.w[level + 1, j] = stack.w[level, j]
    for k in range(stack.count[level]):
        stack.u[level + 1, k] = stack.u[level, k]
        stack.pair[level + 1, k, 0], stack.pair[level + 1, k, 1] = stack.pair[level, k, 0], stack.pair[level, k, 1]
        for j in range(p):
            stack.g[level + 1, k, j] = stack.g[level, k, j]


@inner
def _undo_level(stack: SearchStack, level: int) -> None:
    """Free the points that the node of a level has forced to be deleted or fixed as kept."""
    scalars = stack.scalars
    while scalars.trailed > stack.trail_from[level]:
        scalars.trailed -= 1
        stack.state[stack.trail[scalars.trailed]] = FREE


@inner
def _has_large_subtree(stack: SearchStack, level: int, cut: float) -> bool:
    """Return True if the subtree below this node is probably large enough to repay probes.

    The estimate is the mean size of finished subtrees whose roots had the same gap to the cutoff. A gap without finished subtrees
    counts as large, since smaller subtrees finish first.
    """
    scalars, last = stack.scalars, stack.finished_subtrees.size - 1
    gap = (cut - stack.bound[level]) / scalars.step
    steps = int(gap) if 0.0 <= gap < last else last
    stack.start_nodes[level], stack.gap_bin[level] = scalars.nodes, steps
    return scalars.nodes >= _FIRST_PROBE and stack.subtree_nodes[steps] >= _LARGE_SUBTREE * stack.finished_subtrees[steps]


@inner
def _count_below(stack: SearchStack, level: int) -> None:
    """Record the size of a finished subtree."""
    stack.subtree_nodes[stack.gap_bin[level]] += stack.scalars.nodes - stack.start_nodes[level]
    stack.finished_subtrees[stack.gap_bin[level]] += 1


@entry
def search_depth_first(
    rows: ConflictRows,
    exact: ConflictRows,
    weights: Any,
    branching_priority: Any,
    stack: SearchStack,
    workspace: ConflictWorkspace,
    cut: float,
    nodes: int,
) -> int:
    """Search depth-first for solutions below ``cut``, at most ``nodes`` nodes, and return the code of the reason for stopping.

    ``rows`` have the intercept as a stretched coordinate, ``exact`` none; ``weights`` are the costs of deletions. A node branches
    on one free point: the first child deletes it, the second keeps it. In a large subtree the branching point is chosen by
    probes, which count as nodes here.
    """
    scalars, state = stack.scalars, stack.state
    if scalars.step == 0.0:
        scalars.step = cut / (stack.finished_subtrees.size // 2)
    node_count = 0
    while scalars.level >= 0:
        level = scalars.level
        if scalars.expand == 1:
            if node_count >= nodes:
                return OUT_OF_NODES
            node_count += 1
            scalars.nodes += 1
            if stack.child[level] != -2:
                stack.trail_from[level] = scalars.trailed
            outcome = process_node(rows, exact, weights, stack, level, cut, workspace)
            if outcome == 2:
                stack.child[level] = -2
                return CANDIDATE
            if scalars.nodes % 256 == 0:
                for i in range(state.size):
                    stack.activity[i] *= 0.9
            scalars.expand = 0
            point = -1
            if outcome == 1:
                if _has_large_subtree(stack, level, cut):
                    probes = scalars.probes
                    point = _probed_point(rows, exact, weights, branching_priority, stack, workspace, cut)
                    node_count += scalars.probes - probes
                else:
                    point = _branching_point(rows, stack, level, branching_priority)
                if point < 0:
                    # Rounding hid the conflict that closes this leaf.
                    stack.unresolved[0] = min(stack.unresolved[0], stack.bound[level])
            if point < 0:
                _undo_level(stack, level)
                scalars.level -= 1
                continue
            stack.point[level], stack.child[level] = point, -1
        point = stack.point[level]
        stack.child[level] += 1
        if stack.child[level] > 1:
            state[point] = FREE
            _undo_level(stack, level)
            _count_below(stack, level)
            scalars.level -= 1
            continue
        _push_child(stack, level, point, DELETED if stack.child[level] == 0 else KEPT, weights)
        scalars.level = level + 1
        scalars.expand = 1
    return DONE
