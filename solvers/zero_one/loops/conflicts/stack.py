"""The stack of a depth-first search on norm-conflicts, and the conflict lists that its levels inherit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....interface.algorithm import integers_and_floats
from ....interface.by_reference import by_reference
from ..compiled import inner
from .records import DELETED, FREE, Active

#: Largest number of conflicts that a node inherits, the latest ones of its parent.
POOL = 160

#: Fields of `Stack.now`: current level (-1: none), whether its node is to be processed, forced deletions of all levels, counts,
#: and the step of the gap histogram.
NOW = integers_and_floats("level expand trailed nodes solves conflicts forced probes", "step")
#: Number of bins of the histogram of subtree sizes by gap.
LACKS = 64


@by_reference
class Stack(NamedTuple):
    """A depth-first search that can stop and resume anywhere."""

    state: Any  #: (n,) FREE, KEPT or DELETED
    point: Any  #: (levels,) branching point, deleted in the first child and kept in the second
    at: Any  #: current child, -1 before the first
    extra: Any  #: proved lower bound of the cost of further deletions
    bound: Any  #: proved lower bound of the subtree
    trail: Any  #: forced deletions of all levels
    trail_from: Any
    pair: Any  #: S-pair of the kept points by level
    g: Any
    u: Any
    w: Any
    count: Any
    activity: Any
    begun: Any  #: (levels,) node count when the level's node was processed
    lack: Any  #: (levels,) gap of the node's bound to the cutoff, in steps
    below: Any  #: (LACKS,) nodes of the finished subtrees, by the gap of their roots
    ended: Any  #: (LACKS,) number of finished subtrees, by the gap of their roots
    now: Any  #: a structured scalar of type `NOW`
    found: Any  #: (1,) the value below which a candidate is reported
    unresolved: Any  #: least bound of leaves that rounding left unresolved
    listed: Any  #: (capacity, 2p + 6) conflicts by level: their points that were free when the conflict was found
    size: Any  #: (capacity,) number of these points
    norm: Any  #: (capacity,) certified norm of each conflict
    end: Any  #: (levels + 1,) start of each level's list, which is the end of the previous one


@inner
def free_points(active: Active, state: Any, mark: Any, out: Any) -> int:
    """Write the distinct free points of a conflict to ``out`` and return their number."""
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
def copy_listed(stack: Stack, source: int, target: int) -> None:
    """Copy one conflict of the lists to another position."""
    stack.size[target], stack.norm[target] = stack.size[source], stack.norm[source]
    for k in range(stack.size[source]):
        stack.listed[target, k] = stack.listed[source, k]


@inner
def inherit(stack: Stack, level: int) -> int:
    """Copy the latest conflicts of the parent's list to this level's list, within the capacity, and return the new end."""
    start = stack.end[level]
    if level == 0:
        return start
    parent_start = max(stack.end[level - 1], start - POOL)
    count = min(start - parent_start, stack.size.size - start)
    for c in range(count):
        copy_listed(stack, parent_start + c, start + c)
    return start + count


@inner
def pack_listed(stack: Stack, start: int, stop: int, T: float, left: Any) -> tuple[float, int, int]:
    """Pack the conflicts of a list anew, small ones first: return (packed, new end of the list, forced point).

    A conflict loses points that are kept by now, and is removed if one of its points is deleted (it is hit). One with a norm
    below T is skipped, but stays in the list, since T falls. The forced point is -1 without one, -2 for a conflict without free
    points.
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
