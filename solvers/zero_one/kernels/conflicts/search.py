"""Depth-first search on norm-conflicts."""

from __future__ import annotations

from typing import Any

from ..compiled import entry, inner
from .expansion import expand
from .records import DELETED, FREE, KEPT, Room, Rows, dot
from .stack import Stack

# Why `search` returned.
BUDGET, DONE, CANDIDATE = 0, 1, 2
#: What a child that proves nothing counts in the product of two children's gains, in units of the least weight.
_NOTHING = 0.1
#: Nodes below a node that repay the probes of its branching point, and of the search before any is probed.
_LARGE, _SETTLED = 2000, 1000


@inner
def _promise(rows: Rows, stack: Stack, level: int, order: Any, i: int) -> float:
    """(Distance by which the kept points' solution violates point i) × activity × order².

    All three ask how much is gained by keeping it (the norm rises with the first, conflicts lose a free point with the second)
    and how likely a good solution deletes it: a third of the nodes of branching within the smallest conflict, by trial.
    """
    short = max(rows.tau[i] - dot(rows.a[i], stack.w[level]), 0.0) * rows.pull[i]
    return short * stack.activity[i] * order[i] * order[i]


@inner
def _branching_point(rows: Rows, stack: Stack, level: int, order: Any) -> int:
    """The free point of the greatest promise, -1 where none is free."""
    at, most = -1, -1.0
    for i in range(stack.state.size):
        if stack.state[i] == FREE:
            score = _promise(rows, stack, level, order, i)
            if score > most:
                at, most = i, score
    return at


@inner
def _most_promising(rows: Rows, stack: Stack, level: int, order: Any, points: Any, scores: Any) -> int:
    """The free points of the greatest promise, as many as there is room for, the greatest first; how many."""
    m = 0
    for i in range(stack.state.size):
        if stack.state[i] != FREE:
            continue
        score = _promise(rows, stack, level, order, i)
        at = m
        while at > 0 and scores[at - 1] < score:
            at -= 1
        if at == points.size:
            continue
        m = min(m + 1, points.size)
        for k in range(m - 1, at, -1):
            points[k], scores[k] = points[k - 1], scores[k - 1]
        points[at], scores[at] = i, score
    return m


@inner
def _probed_point(rows: Rows, exact: Rows, weights: Any, order: Any, stack: Stack, room: Room, cut: float) -> int:
    """Of the most promising free points, the one whose two children prove the most; -1 where none is free.

    Both children of each are processed and forgotten. The product of what the bound gains in them counts.
    """
    now, level, points = stack.now, stack.now.level, room.probed
    m = _most_promising(rows, stack, level, order, points, room.promise)
    unit = weights[0]
    for i in range(weights.size):
        unit = min(unit, weights[i])
    best, most = points[0] if m > 0 else -1, -1.0
    for c in range(m):
        score = 1.0
        for child in range(2):
            _descend(stack, level, points[c], DELETED if child == 0 else KEPT, weights)
            stack.trail_from[level + 1] = now.trailed
            found = stack.found[0]
            outcome = expand(rows, exact, weights, stack, level + 1, cut, room)
            stack.found[0] = found  # a candidate is reported when its node is searched
            now.probes += 1
            bound = cut if outcome == 0 else stack.bound[level + 1]
            score *= max(bound - stack.bound[level], 0.0) / unit + _NOTHING
            _retreat(stack, level + 1)
        stack.state[points[c]] = FREE
        if score > most:
            best, most = points[c], score
    return best


@inner
def _descend(stack: Stack, level: int, point: int, state: int, weights: Any) -> None:
    """Put the child that deletes or keeps a point on the stack."""
    down = stack.extra[level]
    if state == DELETED:
        down = max(down - weights[point], 0.0)
    stack.state[point] = state
    stack.extra[level + 1], stack.bound[level + 1], stack.at[level + 1] = down, stack.bound[level], -1
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
def _retreat(stack: Stack, level: int) -> None:
    """Undo a level's forced deletions."""
    now = stack.now
    while now.trailed > stack.trail_from[level]:
        now.trailed -= 1
        stack.state[stack.trail[now.trailed]] = FREE


@inner
def _large(stack: Stack, level: int, cut: float) -> bool:
    """Whether as many nodes are to come below this one as repay probes: by the subtrees whose roots lacked as much.

    What no root has lacked so far is more than what all of them have: those subtrees are over first.
    """
    now, last = stack.now, stack.ended.size - 1
    lack = (cut - stack.bound[level]) / now.step
    steps = int(lack) if 0.0 <= lack < last else last
    stack.begun[level], stack.lack[level] = now.nodes, steps
    return now.nodes >= _SETTLED and stack.below[steps] >= _LARGE * stack.ended[steps]


@inner
def _count_below(stack: Stack, level: int) -> None:
    """Note how many nodes a subtree had."""
    stack.below[stack.lack[level]] += stack.now.nodes - stack.begun[level]
    stack.ended[stack.lack[level]] += 1


@entry
def search(rows: Rows, exact: Rows, weights: Any, order: Any, stack: Stack, room: Room, cut: float, nodes: int) -> int:
    """Depth-first search for solutions below ``cut``, ``nodes`` nodes of it; returns why it stopped.

    A node branches on one free point: the first child deletes it, the second keeps it. Where many nodes are to come below it,
    the point is chosen by probes, which count as nodes here.
    """
    now, state = stack.now, stack.state
    if now.step == 0.0:
        now.step = cut / (stack.ended.size // 2)
    done = 0
    while now.level >= 0:
        level = now.level
        if now.expand == 1:
            if done >= nodes:
                return BUDGET
            done += 1
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
                if _large(stack, level, cut):
                    before = now.probes
                    point = _probed_point(rows, exact, weights, order, stack, room, cut)
                    done += now.probes - before
                else:
                    point = _branching_point(rows, stack, level, order)
                if point < 0:
                    # Rounding hid the conflict that ends this leaf.
                    stack.unresolved[0] = min(stack.unresolved[0], stack.bound[level])
            if point < 0:
                _retreat(stack, level)
                now.level -= 1
                continue
            stack.point[level], stack.at[level] = point, -1
        point = stack.point[level]
        stack.at[level] += 1
        if stack.at[level] > 1:
            state[point] = FREE
            _retreat(stack, level)
            _count_below(stack, level)
            now.level -= 1
            continue
        _descend(stack, level, point, DELETED if stack.at[level] == 0 else KEPT, weights)
        now.level = level + 1
        now.expand = 1
    return DONE
