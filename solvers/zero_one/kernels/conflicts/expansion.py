"""One node of the search on norm-conflicts: conflicts packed until its bound, a forced deletion or nothing more comes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import EPS, inner
from .active_set import active_set, certified
from .records import CONFLICT, DELETED, FREE, KEEN, KEEN_AWAY, KEPT, OPTIMUM, Room, Rows, copy_active
from .stack import Stack, free_points, inherit, pack_listed

#: Packings of a node: one that goes on from its parent's, then new ones (one at least) while they improve.
PACKINGS = 3


@inner
def expand(
    rows: Rows,
    exact: Rows,
    weights: Any,
    stack: Stack,
    level: int,
    cut: float,
    room_for: Room,
) -> int:
    """Process the node in hand: 0 it may be forgotten, 1 it branches, 2 it holds a candidate.

    A solution below the cut deletes further free points E of cost c(E) ≥ ``extra`` and has ||w||² < T = cut - V - c(E).
    """
    n = weights.size
    now, state = stack.now, stack.state
    active, kept, pairs, ok, keen, left, mark, points = (
        room_for.active, room_for.kept, room_for.pairs, room_for.ok, room_for.keen, room_for.left, room_for.mark, room_for.points,
    )  # fmt: skip
    scratch = room_for.scratch
    away = -KEEN_AWAY if rows.strict else 0.0
    pad = 4.0 * EPS * (n + 8) * cut
    for j in range(active.w.size):
        kept.w[j] = stack.w[level, j]
    kept.count[0] = stack.count[level]
    for k in range(kept.count[0]):
        kept.u[k] = stack.u[level, k]
        kept.pair[k, 0], kept.pair[k, 1] = stack.pair[level, k, 0], stack.pair[level, k, 1]
        for j in range(active.w.size):
            kept.g[k, j] = stack.g[level, k, j]
    first = stack.end[level]
    last = inherit(stack, level)
    while True:
        spent = 0.0
        for i in range(n):
            spent += weights[i] if state[i] == DELETED else 0.0
            ok[i] = state[i] != FREE
            keen[i] = 1.0 if state[i] == FREE else KEEN if state[i] == KEPT else away
        extra = stack.extra[level]
        room = cut - spent + pad
        if room - extra <= 0.0:
            return 0
        now.solves += 1
        status, _ = active_set(rows, ok, keen, room - extra, kept, scratch)
        if status == CONFLICT:
            return 0
        norm = certified(kept, kept.count[0], rows.reach)
        stack.bound[level] = max(stack.bound[level], norm + spent + extra - pad)
        forced = -1
        for turn in range(PACKINGS):
            packed = 0.0
            for i in range(n):
                left[i] = weights[i] if state[i] == FREE else 0.0
            if turn == 0:
                packed, last, forced = pack_listed(stack, first, last, room - extra, left)
                if forced == -2:
                    return 0
                if forced >= 0:
                    break
            while True:
                T = room - max(packed, extra)
                if norm >= T:
                    return 0
                for i in range(n):
                    ok[i] = state[i] != FREE or left[i] > 0.0
                copy_active(kept, active)
                now.solves += 1
                status, N = active_set(rows, ok, keen, T, active, scratch)
                single = True
                if status != CONFLICT and packed == 0.0 and exact.free:
                    single = False
                    pairs.count[0] = 0
                    for j in range(pairs.w.size):
                        pairs.w[j] = 0.0
                    now.solves += 1
                    status, N = active_set(exact, ok, keen, T, pairs, room_for.exact)
                if status != CONFLICT:
                    if status == OPTIMUM and packed == 0.0 and N + spent < stack.found[0]:
                        stack.found[0] = (N + spent) * (1.0 - 1e-9)
                        return 2
                    break
                now.conflicts += 1
                m = free_points(active if single else pairs, state, mark, points)
                if m == 0:
                    return 0
                if m == 1:
                    forced = points[0]
                    break
                least = np.inf
                for k in range(m):
                    least = min(least, left[points[k]])
                    stack.activity[points[k]] += 1.0
                for k in range(m):
                    left[points[k]] -= least
                packed += least
                if last < stack.size.size:
                    stack.size[last], stack.norm[last] = m, N
                    for k in range(m):
                        stack.listed[last, k] = points[k]
                    last += 1
            if forced >= 0 or (turn > 0 and packed <= extra + pad):
                break
            extra = stack.extra[level] = max(packed, extra)
            stack.bound[level] = max(stack.bound[level], norm + spent + extra - pad)
        if forced < 0:
            break
        state[forced] = DELETED
        stack.trail[now.trailed] = forced
        now.trailed += 1
        now.forced += 1
        stack.extra[level] = max(stack.extra[level] - weights[forced], 0.0)
    stack.end[level + 1] = last
    for j in range(active.w.size):
        stack.w[level, j] = kept.w[j]
    stack.count[level] = kept.count[0]
    for k in range(kept.count[0]):
        stack.u[level, k] = kept.u[k]
        stack.pair[level, k, 0], stack.pair[level, k, 1] = kept.pair[k, 0], kept.pair[k, 1]
        for j in range(active.w.size):
            stack.g[level, k, j] = kept.g[k, j]
    return 1
