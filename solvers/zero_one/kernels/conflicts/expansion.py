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
#: A packing goes on as if one more point were deleted where no more than this times its weight is missing.
AHEAD = 2.0
#: How much less keenly a free point is taken up that more listed conflicts share than any other: by 1 + `SHARED`.
SHARED = 5.0
#: Share of its weight up to which what a packing has left of a point is not taken up again.
CRUMB = 0.25


@inner
def _set_keen(stack: Stack, first: int, last: int, away: float, met: Any, keen: Any) -> None:
    """How keenly the dual method takes up each point: the fewer conflicts of the list have it, the more.

    A point that many conflicts need is best left to the next one of a packing: prices, as if of column generation.
    """
    state = stack.state
    for i in range(state.size):
        met[i] = 0.0
    for c in range(first, last):
        for k in range(stack.size[c]):
            met[stack.listed[c, k]] += 1.0
    most = 1.0
    for i in range(state.size):
        most = max(most, met[i])
    share = SHARED / most
    for i in range(state.size):
        keen[i] = 1.0 / (1.0 + share * met[i]) if state[i] == FREE else KEEN if state[i] == KEPT else away


@inner
def _keep_dear(stack: Stack, spare: float, left: Any, offset: float, keen: Any) -> bool:
    """Keep the free points that cost too much to delete, on top of a packing that ``left`` so much of their weights; whether any.

    A solution that deletes i hits the packing's conflicts at a cost of packed + left_i at least; those that were packed as if
    ``offset`` more were deleted are of use where left_i is as much. ``spare`` is norm + packed - room.
    """
    state, now, found = stack.state, stack.now, False
    for i in range(state.size):
        if state[i] == FREE and left[i] >= offset and spare + left[i] >= 0.0:
            state[i], keen[i] = KEPT, KEEN
            stack.trail[now.trailed] = i
            now.trailed += 1
            found = True
    return found


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
    kept.count[0], kept.ready[0] = stack.count[level], 0
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
        _set_keen(stack, first, last, away, room_for.met, keen)
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
            offset = firm = 0.0  # firm: what is packed before an offset is assumed
            while True:
                T = room - max(packed + offset, extra)
                if norm >= T:
                    if offset == 0.0:
                        return 0
                    break
                for i in range(n):
                    ok[i] = state[i] != FREE or left[i] > CRUMB * weights[i]
                copy_active(kept, active)
                now.solves += 1
                status, N = active_set(rows, ok, keen, T, active, scratch)
                single = True
                if status != CONFLICT and packed == 0.0 and exact.free:
                    single = False
                    pairs.count[0] = pairs.ready[0] = 0
                    for j in range(pairs.w.size):
                        pairs.w[j] = 0.0
                    now.solves += 1
                    status, N = active_set(exact, ok, keen, T, pairs, room_for.exact)
                if status != CONFLICT:
                    if offset > 0.0:
                        break
                    if status == OPTIMUM and packed == 0.0 and N + spent < stack.found[0]:
                        stack.found[0] = (N + spent) * (1.0 - 1e-9)
                        return 2
                    firm = packed
                    for i in range(n):
                        if state[i] == FREE and left[i] > CRUMB * weights[i]:
                            offset = left[i] if offset == 0.0 else min(offset, left[i])
                    if offset == 0.0 or room - max(packed, extra) - norm > AHEAD * offset:
                        offset = 0.0
                        break
                    continue
                now.conflicts += 1
                m = free_points(active if single else pairs, state, mark, points)
                if m == 0:
                    if offset == 0.0:
                        return 0
                    packed = room
                    break
                if m == 1 and offset == 0.0:
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
            if forced >= 0:
                break
            better = turn == 0 or firm > extra + pad
            extra = stack.extra[level] = max(firm, extra)
            if _keep_dear(stack, norm + packed - room, left, offset, keen):
                better = True
                for i in range(n):
                    ok[i] = state[i] != FREE
                now.solves += 1
                status, _ = active_set(rows, ok, keen, room - extra, kept, scratch)
                if status == CONFLICT:
                    return 0
                norm = certified(kept, kept.count[0], rows.reach)
            stack.bound[level] = max(stack.bound[level], norm + spent + extra - pad)
            if not better:
                break
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
