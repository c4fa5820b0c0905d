"""Expansion of one node of the conflict search: conflicts are packed until the node is pruned, branches or yields a candidate."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import EPS, inner
from .active_set import active_set, certified
from .records import CONFLICT, DELETED, FREE, KEEN, KEEN_AWAY, KEPT, OPTIMUM, ConflictWorkspace, Rows, copy_active
from .stack import Stack, free_points, inherit, pack_listed

#: Packings per node: one from the parent's conflicts, then at least one new packing, more while they improve.
PACKINGS = 3
#: A packing continues as if one more point were deleted if the gap is at most this multiple of the point's weight.
AHEAD = 2.0
#: The priority of the free point in the most listed conflicts is divided by 1 + `SHARED`.
SHARED = 5.0
#: Least residual weight of a point, as a share of its weight, for use in a further conflict of a packing.
CRUMB = 0.25


@inner
def _set_priorities(stack: Stack, first: int, last: int, away: float, met: Any, priority: Any) -> None:
    """Set each point's priority in the dual method: the fewer listed conflicts contain it, the higher.

    A point in many conflicts is better saved for later conflicts of the packing: priorities act like prices in column generation.
    """
    state = stack.state
    for i in range(state.size):
        met[i] = 0.0
    for c in range(first, last):
        for k in range(stack.size[c]):
            met[stack.listed[c, k]] += 1.0
    largest = 1.0
    for i in range(state.size):
        largest = max(largest, met[i])
    slope = SHARED / largest
    for i in range(state.size):
        priority[i] = 1.0 / (1.0 + slope * met[i]) if state[i] == FREE else KEEN if state[i] == KEPT else away


@inner
def _fix_expensive(stack: Stack, spare: float, residual: Any, offset: float, priority: Any) -> bool:
    """Fix as kept the free points that are too expensive to delete on top of a packing; return True if there are any.

    A solution that deletes i hits the conflicts of the packing at a cost of at least packed + residual_i. In a packing for
    ``offset`` more deletions only points with residual_i ≥ offset count.
    ``spare`` is norm + packed - budget.
    """
    state, now, fixed = stack.state, stack.now, False
    for i in range(state.size):
        if state[i] == FREE and residual[i] >= offset and spare + residual[i] >= 0.0:
            state[i], priority[i] = KEPT, KEEN
            stack.trail[now.trailed] = i
            now.trailed += 1
            fixed = True
    return fixed


@inner
def expand(
    rows: Rows,
    exact: Rows,
    weights: Any,
    stack: Stack,
    level: int,
    cut: float,
    workspace: ConflictWorkspace,
) -> int:
    """Process the current node: return 0 if it is pruned, 1 if it branches, 2 if it holds a candidate.

    A solution below the cutoff deletes further free points E of cost c(E) ≥ ``extra`` and has ||w||² < T = cut - V - c(E).
    """
    n = weights.size
    now, state = stack.now, stack.state
    active, kept, pairs, ok, priority, residual, mark, points = (
        workspace.active, workspace.kept, workspace.pairs, workspace.ok, workspace.promising, workspace.left,
        workspace.mark, workspace.points,
    )  # fmt: skip
    scratch = workspace.scratch
    violated_priority = -KEEN_AWAY if rows.strict else 0.0
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
        _set_priorities(stack, first, last, violated_priority, workspace.met, priority)
        extra = stack.extra[level]
        budget = cut - spent + pad
        if budget - extra <= 0.0:
            return 0
        now.solves += 1
        status, _ = active_set(rows, ok, priority, budget - extra, kept, scratch)
        if status == CONFLICT:
            return 0
        norm = certified(kept, kept.count[0], rows.reach)
        stack.bound[level] = max(stack.bound[level], norm + spent + extra - pad)
        forced = -1
        for packing in range(PACKINGS):
            packed = 0.0
            for i in range(n):
                residual[i] = weights[i] if state[i] == FREE else 0.0
            if packing == 0:
                packed, last, forced = pack_listed(stack, first, last, budget - extra, residual)
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
                    ok[i] = state[i] != FREE or residual[i] > CRUMB * weights[i]
                copy_active(kept, active)
                now.solves += 1
                status, N = active_set(rows, ok, priority, T, active, scratch)
                single_points = True
                if status != CONFLICT and packed == 0.0 and exact.free:
                    single_points = False
                    pairs.count[0] = pairs.ready[0] = 0
                    for j in range(pairs.w.size):
                        pairs.w[j] = 0.0
                    now.solves += 1
                    status, N = active_set(exact, ok, priority, T, pairs, workspace.exact)
                if status != CONFLICT:
                    if offset > 0.0:
                        break
                    if status == OPTIMUM and packed == 0.0 and N + spent < stack.found[0]:
                        stack.found[0] = (N + spent) * (1.0 - 1e-9)
                        return 2
                    proved_packing = packed
                    for i in range(n):
                        if state[i] == FREE and residual[i] > CRUMB * weights[i]:
                            offset = residual[i] if offset == 0.0 else min(offset, residual[i])
                    if offset == 0.0 or budget - max(packed, extra) - norm > AHEAD * offset:
                        offset = 0.0
                        break
                    continue
                now.conflicts += 1
                m = free_points(active if single_points else pairs, state, mark, points)
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
                now.solves += 1
                status, _ = active_set(rows, ok, priority, budget - extra, kept, scratch)
                if status == CONFLICT:
                    return 0
                norm = certified(kept, kept.count[0], rows.reach)
            stack.bound[level] = max(stack.bound[level], norm + spent + extra - pad)
            if not improved:
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
