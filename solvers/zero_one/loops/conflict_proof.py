"""Compiled processing of a node of a proof by norm-conflicts, for proof logs and the search with a budget of violations.

A set of points is a *conflict* at T if multipliers prove that no w with ||w||² < T keeps all of them. A node has deleted points
(which its solutions violate, at a cost V), kept points and free points; e is a proved lower bound of the cost of further
deletions. Without a budget T = cut - V - e for the cutoff ``cut`` of the objective; with one T = ``cut``, a squared norm.
Conflicts are *packed* by weights of which each free point bears at most its own: their sum is a lower bound e.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...interface.named_scalars import integers_and_floats
from ...interface.numba_flags import by_reference
from . import entry, inner
from .active_set import certified_bound, minimise_norm, row_divisor
from .conflict_records import (
    CONFLICT,
    DELETED,
    FREE,
    KEPT,
    KEPT_PRIORITY,
    VIOLATED_PRIORITY,
    ActiveSet,
    ConflictRows,
    ConflictWorkspace,
    DualWorkspace,
    copy_active_set,
    dot,
)

#: Fields of `NodeRecord.scalars`: numbers of conflicts, of conflicts in the last packing, of steps, of entries.
NODE_RECORD_SCALARS = integers_and_floats("conflicts packed steps entries", "")
#: Kinds of a step in `NodeRecord.steps`: a packing of conflicts, which raises the proved cost of further deletions; one conflict,
#: which ends the node or deletes its only free point.
PACK, CUT = 0, 1
#: Return codes of `prove_node` besides a branching point (≥ 0): the node is proved; there is no branching point (no free point
#: is left, or the record is full).
PROVED, OPEN_LEAF = -1, -2
#: Largest values of integer multipliers that are tried: short to write, exact to read.
_INTEGER_SCALES = (2.0**10, 2.0**20)


@by_reference
class NodeRecord(NamedTuple):
    """The conflicts and steps that prove or reduce one node, for the log; an *entry* is a conflict's use by a step."""

    points: Any  #: (capacity, 2p + 6) points of each conflict
    alpha: Any  #: (capacity, 2p + 6) multipliers α of the rows a_i'w ≥ 1, negative for violated points
    size: Any  #: (capacity,) number of points of each conflict
    packing: Any  #: conflicts of the last packing
    share: Any  #: their weights in the packing
    steps: Any  #: (capacity, 3) kind of each step, its first entry, and the entry after its last one
    entry: Any  #: conflicts of all steps
    entry_share: Any  #: their weights in the packings
    scalars: Any  #: counts, see `NODE_RECORD_SCALARS`


@inner
def _round_multipliers(active: ActiveSet, q: int, reach: float, T: float, before: Any) -> float:
    """Round the multipliers to integers if they still prove T: return the squared norm that they prove, 0 on failure.

    ``reach`` is the bound of a stretched intercept, ``before`` a buffer.
    """
    largest = 0.0
    for k in range(q):
        largest = max(largest, active.u[k])
    if not largest > 0.0:
        return 0.0
    for k in range(q):
        before[k] = active.u[k]
    for size in _INTEGER_SCALES:
        for k in range(q):
            active.u[k] = np.rint(before[k] / largest * size)
        N = certified_bound(active, q, reach)
        if N >= T:
            return N
    for k in range(q):
        active.u[k] = before[k]
    return 0.0


@inner
def _record_conflict(
    rows: ConflictRows, active: ActiveSet, T: float, exactly: bool, record: NodeRecord, scratch: DualWorkspace
) -> int:
    """Record the conflict that an active set proves at T, and return its number; -1 if the record is full.

    With ``exactly`` all thresholds are 1, so that integer multipliers are tried.
    """
    number = record.scalars.conflicts
    if number >= record.size.size:
        return -1
    q, m = active.count[0], 0
    integer_norm = _round_multipliers(active, q, rows.intercept_bound, T, scratch.r) if exactly else 0.0
    for k in range(q):
        if active.u[k] <= 0.0:
            continue
        i, j = active.pair[k, 0], active.pair[k, 1]
        scale = rows.tau[i] + rows.tau[j] if j >= 0 else row_divisor(rows.tau[i], j)
        multiplier = math.copysign(active.u[k], scale) if integer_norm > 0.0 else active.u[k] / scale
        for side in range(2):
            point = active.pair[k, side]
            if point < 0:
                continue
            position = 0
            while position < m and record.points[number, position] != point:
                position += 1
            if position == m:
                record.points[number, m], record.alpha[number, m] = point, 0.0
                m += 1
            record.alpha[number, position] += multiplier
    record.size[number] = m
    record.scalars.conflicts = number + 1
    return number


@inner
def _record_step(record: NodeRecord, kind: int, number: int) -> None:
    """Record one step: the current packing, or a conflict."""
    s, e = record.scalars.steps, record.scalars.entries
    record.steps[s, 0], record.steps[s, 1] = kind, e
    if kind == CUT:
        record.entry[e] = number
        e += 1
    else:
        for k in range(record.scalars.packed):
            record.entry[e], record.entry_share[e] = record.packing[k], record.share[k]
            e += 1
    record.steps[s, 2] = e
    record.scalars.steps, record.scalars.entries = s + 1, e


# exempt (length): compiled as one function; a call would pass array by array
# exempt (arguments): compiled, array by array
@entry
def prove_node(
    rows: ConflictRows,
    exact: ConflictRows,
    weights: Any,
    branching_priority: Any,
    activity: Any,
    workspace: ConflictWorkspace,
    state: Any,
    extra: Any,
    start: ActiveSet,
    record: NodeRecord,
    cut: float,
    budget: float,
) -> int:
    """Process a node of a proof and record its steps; return the branching point, `PROVED` or `OPEN_LEAF`.

    ``rows`` have a free intercept as a stretched coordinate, ``exact`` none; ``weights`` are the costs of deletions.

    The node is given, and changed in place, by the points' states ``state``, the proved cost ``extra`` of further deletions and
    the active set ``start`` of the kept points. A point's branching score grows with ``branching_priority`` and ``activity``,
    the number of recent conflicts that hold it. With a finite ``budget`` of deletions, solutions have ||w||² < ``cut``. Otherwise
    the cost of deletions is subtracted from the cutoff.
    """
    n = rows.a.shape[0]
    counted = budget < np.inf
    cost_factor, violated_priority = (0.0, 0.0) if counted else (1.0, -VIOLATED_PRIORITY)
    active, pairs, ok, priority, residual, points = (
        workspace.active, workspace.pairs, workspace.ok, workspace.priority, workspace.residual, workspace.points,
    )  # fmt: skip
    scratch = workspace.scratch
    exact_thresholds = True
    for i in range(n):
        exact_thresholds = exact_thresholds and abs(rows.tau[i] - 1.0) < 1e-11
    step_limit = record.steps.shape[0] - 4
    while True:
        spent = 0.0
        for i in range(n):
            spent += weights[i] if state[i] == DELETED else 0.0
        norm_limit = cut if counted else cut - spent
        allowed = budget - spent if counted else norm_limit
        # proved if deletions cost the whole cutoff or, with counts, if more are needed than allowed
        if extra[0] > allowed or (not counted and extra[0] >= allowed):
            return PROVED
        if record.scalars.steps >= step_limit or record.scalars.entries + 4 * n > record.entry.size:
            return OPEN_LEAF
        for i in range(n):
            if counted and state[i] == FREE and weights[i] > allowed:
                state[i] = KEPT
            ok[i] = state[i] != FREE
            priority[i] = 1.0 if state[i] == FREE else KEPT_PRIORITY if state[i] == KEPT else violated_priority
        T = norm_limit - cost_factor * extra[0]
        if minimise_norm(rows, ok, priority, T, start, scratch)[0] == CONFLICT:
            _record_step(record, CUT, _record_conflict(rows, start, T, exact_thresholds, record, scratch))
            return PROVED
        norm = certified_bound(start, start.count[0], rows.intercept_bound)
        forced = -1
        for _turn in range(1 if counted else 2):  # with counts T does not fall
            packed = 0.0
            record.scalars.packed = 0
            for i in range(n):
                residual[i] = weights[i] if state[i] == FREE else 0.0
            proved, closing_conflict = False, -1
            while True:
                deletion_bound = max(packed, extra[0])
                T = norm_limit - cost_factor * deletion_bound
                if deletion_bound > allowed or (not counted and deletion_bound >= allowed):
                    proved = True
                    break
                if norm >= T:
                    copy_active_set(start, active)
                    closing_conflict, proved = _record_conflict(rows, active, T, exact_thresholds, record, scratch), True
                    break
                if record.scalars.conflicts >= record.size.size - 2:
                    break
                for i in range(n):
                    ok[i] = state[i] != FREE or residual[i] > 0.0
                copy_active_set(start, active)
                number = -1
                if minimise_norm(rows, ok, priority, T, active, scratch)[0] == CONFLICT:
                    number = _record_conflict(rows, active, T, exact_thresholds, record, scratch)
                elif packed == 0.0 and exact.free:
                    pairs.count[0] = pairs.ready[0] = 0
                    for j in range(pairs.w.size):
                        pairs.w[j] = 0.0
                    if minimise_norm(exact, ok, priority, T, pairs, workspace.exact)[0] == CONFLICT:
                        number = _record_conflict(exact, pairs, T, exact_thresholds, record, scratch)
                if number < 0:
                    break
                m, least_residual = 0, np.inf
                for k in range(record.size[number]):
                    i = record.points[number, k]
                    if state[i] == FREE:
                        points[m] = i
                        m += 1
                        least_residual = min(least_residual, residual[i])
                if m < 2:
                    closing_conflict, proved = number, m == 0
                    forced = points[0] if m == 1 else -1
                    break
                for k in range(m):
                    residual[points[k]] -= least_residual
                    activity[points[k]] += 1.0
                packed += least_residual
                record.packing[record.scalars.packed], record.share[record.scalars.packed] = number, least_residual
                record.scalars.packed += 1
            improved = packed > extra[0]
            if improved:
                _record_step(record, PACK, -1)
                extra[0] = packed
            if closing_conflict >= 0:
                _record_step(record, CUT, closing_conflict)
            if proved:
                return PROVED
            if forced >= 0 or not improved:
                break
        if forced < 0:
            break
        state[forced] = DELETED
        extra[0] = max(extra[0] - weights[forced], 0.0)
    best, best_score = -1, -1.0
    for i in range(n):
        if state[i] == FREE:
            violation = max(rows.tau[i] - dot(rows.a[i], start.w), 0.0) * rows.pull[i]
            score = violation * activity[i] * branching_priority[i] * branching_priority[i]
            if score > best_score:
                best, best_score = i, score
    return best if best >= 0 else OPEN_LEAF
