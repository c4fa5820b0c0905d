"""Depth-first search on norm-conflicts."""

from __future__ import annotations

from typing import Any

from ..compiled import entry, inner
from .expansion import expand
from .records import DELETED, FREE, KEPT, ConflictWorkspace, Rows, dot
from .stack import Stack

# Return codes of `search`: the reason for stopping.
BUDGET, DONE, CANDIDATE = 0, 1, 2
#: Least factor of a child in the product of two children's gains, in units of the least weight.
_LEAST_GAIN = 0.1
#: Least expected number of nodes of a subtree whose root is probed, and least number of nodes before the first probe.
_LARGE_SUBTREE, _FIRST_PROBE = 2000, 1000


@inner
def _score(rows: Rows, stack: Stack, level: int, order: Any, i: int) -> float:
    """Return the branching score of point i: distance of its violation by the kept points' solution × activity × order².

    The factors estimate the gain of keeping the point (the norm rises with the first, and conflicts lose a free point with the
    second) and the likelihood that a good solution deletes it.
    """
    violation = max(rows.tau[i] - dot(rows.a[i], stack.w[level]), 0.0) * rows.pull[i]
    return violation * stack.activity[i] * order[i] * order[i]


@inner
def _branching_point(rows: Rows, stack: Stack, level: int, order: Any) -> int:
    """Return the free point with the highest score, -1 without free points."""
    best, best_score = -1, -1.0
    for i in range(stack.state.size):
        if stack.state[i] == FREE:
            score = _score(rows, stack, level, order, i)
            if score > best_score:
                best, best_score = i, score
    return best


@inner
def _best_candidates(rows: Rows, stack: Stack, level: int, order: Any, points: Any, scores: Any) -> int:
    """Write the free points with the highest scores to ``points``, in decreasing order, and return their number."""
    m = 0
    for i in range(stack.state.size):
        if stack.state[i] != FREE:
            continue
        score = _score(rows, stack, level, order, i)
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
    rows: Rows, exact: Rows, weights: Any, order: Any, stack: Stack, workspace: ConflictWorkspace, cut: float
) -> int:
    """Return the best branching point by strong branching on the candidates with the highest scores; -1 without free points.

    Both children of each candidate are processed and discarded. The score is the product of their bounds' gains.
    """
    now, level, points = stack.now, stack.now.level, workspace.probed
    m = _best_candidates(rows, stack, level, order, points, workspace.promise)
    unit = weights[0]
    for i in range(weights.size):
        unit = min(unit, weights[i])
    best, best_score = points[0] if m > 0 else -1, -1.0
    for c in range(m):
        score = 1.0
        for child in range(2):
            _push_child(stack, level, points[c], DELETED if child == 0 else KEPT, weights)
            stack.trail_from[level + 1] = now.trailed
            candidate_value = stack.found[0]
            outcome = expand(rows, exact, weights, stack, level + 1, cut, workspace)
            stack.found[0] = candidate_value  # a candidate is reported only when its own node is processed
            now.probes += 1
            bound = cut if outcome == 0 else stack.bound[level + 1]
            score *= max(bound - stack.bound[level], 0.0) / unit + _LEAST_GAIN
            _undo_level(stack, level + 1)
        stack.state[points[c]] = FREE
        if score > best_score:
            best, best_score = points[c], score
    return best


@inner
def _push_child(stack: Stack, level: int, point: int, state: int, weights: Any) -> None:
    """Push the child that deletes or keeps a point on the stack."""
    extra = stack.extra[level]
    if state == DELETED:
        extra = max(extra - weights[point], 0.0)
    stack.state[point] = state
    stack.extra[level + 1], stack.bound[level + 1], stack.at[level + 1] = extra, stack.bound[level], -1
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
def _undo_level(stack: Stack, level: int) -> None:
    """Undo the forced deletions of a level."""
    now = stack.now
    while now.trailed > stack.trail_from[level]:
        now.trailed -= 1
        stack.state[stack.trail[now.trailed]] = FREE


@inner
def _has_large_subtree(stack: Stack, level: int, cut: float) -> bool:
    """Return True if the subtree below this node is probably large enough to repay probes.

    The estimate is the mean size of finished subtrees whose roots had the same gap to the cutoff. A gap without finished subtrees
    counts as large, since smaller subtrees finish first.
    """
    now, last = stack.now, stack.ended.size - 1
    gap = (cut - stack.bound[level]) / now.step
    steps = int(gap) if 0.0 <= gap < last else last
    stack.begun[level], stack.lack[level] = now.nodes, steps
    return now.nodes >= _FIRST_PROBE and stack.below[steps] >= _LARGE_SUBTREE * stack.ended[steps]


@inner
def _count_below(stack: Stack, level: int) -> None:
    """Record the size of a finished subtree."""
    stack.below[stack.lack[level]] += stack.now.nodes - stack.begun[level]
    stack.ended[stack.lack[level]] += 1


@entry
def search(
    rows: Rows, exact: Rows, weights: Any, order: Any, stack: Stack, room: ConflictWorkspace, cut: float, nodes: int
) -> int:
    """Search depth-first for solutions below ``cut``, at most ``nodes`` nodes, and return the reason for stopping.

    A node branches on one free point: the first child deletes it, the second keeps it. In a large subtree the branching point is
    chosen by probes, which count as nodes here.
    """
    now, state = stack.now, stack.state
    if now.step == 0.0:
        now.step = cut / (stack.ended.size // 2)
    node_count = 0
    while now.level >= 0:
        level = now.level
        if now.expand == 1:
            if node_count >= nodes:
                return BUDGET
            node_count += 1
            now.nodes += 1
            if stack.at[level] != -2:
                stack.trail_from[level] = now.trailed
            outcome = expand(rows, exact, weights, stack, level, cut, room)
            if outcome == 2:
                stack.at[level] = -2
                return CANDIDATE
            if now.nodes % 256 == 0:
                for i in range(state.size):
                    stack.activity[i] *= 0.9
            now.expand = 0
            point = -1
            if outcome == 1:
                if _has_large_subtree(stack, level, cut):
                    probes = now.probes
                    point = _probed_point(rows, exact, weights, order, stack, room, cut)
                    node_count += now.probes - probes
                else:
                    point = _branching_point(rows, stack, level, order)
                if point < 0:
                    # Rounding hid the conflict that closes this leaf.
                    stack.unresolved[0] = min(stack.unresolved[0], stack.bound[level])
            if point < 0:
                _undo_level(stack, level)
                now.level -= 1
                continue
            stack.point[level], stack.at[level] = point, -1
        point = stack.point[level]
        stack.at[level] += 1
        if stack.at[level] > 1:
            state[point] = FREE
            _undo_level(stack, level)
            _count_below(stack, level)
            now.level -= 1
            continue
        _push_child(stack, level, point, DELETED if stack.at[level] == 0 else KEPT, weights)
        now.level = level + 1
        now.expand = 1
    return DONE
