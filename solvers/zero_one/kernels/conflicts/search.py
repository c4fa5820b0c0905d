"""Depth-first search on norm-conflicts."""

from __future__ import annotations

from typing import Any

from ..compiled import entry, inner
from .expansion import expand
from .records import DELETED, FREE, KEPT, Room, Rows, dot
from .stack import Stack

# Why `search` returned.
BUDGET, DONE, CANDIDATE = 0, 1, 2


@inner
def _branching_point(rows: Rows, stack: Stack, level: int, order: Any) -> int:
    """The free point of the greatest (distance by which the kept points' solution violates it) × activity × order².

    All three ask how much is gained by keeping it (the norm rises with the first, conflicts lose a free point with the second)
    and how likely a good solution deletes it: a third of the nodes of branching within the smallest conflict, by trial.
    """
    a, tau, pull, state, activity, w = rows.a, rows.tau, rows.pull, stack.state, stack.activity, stack.w[level]
    at, most = -1, -1.0
    for i in range(state.size):
        if state[i] == FREE:
            short = max(tau[i] - dot(a[i], w), 0.0) * pull[i]
            score = short * activity[i] * order[i] * order[i]
            if score > most:
                at, most = i, score
    return at


@inner
def _retreat(stack: Stack, level: int) -> None:
    """Undo a level's forced deletions."""
    now = stack.now
    while now.trailed > stack.trail_from[level]:
        now.trailed -= 1
        stack.state[stack.trail[now.trailed]] = FREE


@entry
def search(rows: Rows, exact: Rows, weights: Any, order: Any, stack: Stack, room: Room, cut: float, nodes: int) -> int:
    """Depth-first search for solutions below ``cut``, ``nodes`` nodes of it; returns why it stopped.

    A node branches on one free point: the first child deletes it, the second keeps it.
    """
    n, p = rows.a.shape
    now, state = stack.now, stack.state
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
                for i in range(n):
                    stack.activity[i] *= 0.9
            now.expand = 0
            point = -1
            if outcome == 1:
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
        down = stack.extra[level]
        if stack.at[level] == 0:
            state[point] = DELETED
            down = max(down - weights[point], 0.0)
        elif stack.at[level] == 1:
            state[point] = KEPT
        else:
            state[point] = FREE
            _retreat(stack, level)
            now.level -= 1
            continue
        stack.extra[level + 1], stack.bound[level + 1], stack.at[level + 1] = down, stack.bound[level], -1
        stack.count[level + 1] = stack.count[level]
        for j in range(p):
            stack.w[level + 1, j] = stack.w[level, j]
        for k in range(stack.count[level]):
            stack.u[level + 1, k] = stack.u[level, k]
            stack.pair[level + 1, k, 0], stack.pair[level + 1, k, 1] = stack.pair[level, k, 0], stack.pair[level, k, 1]
            for j in range(p):
                stack.g[level + 1, k, j] = stack.g[level, k, j]
        now.level = level + 1
        now.expand = 1
    return DONE
