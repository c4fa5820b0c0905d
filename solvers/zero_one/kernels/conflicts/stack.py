"""The stack of a depth-first search on norm-conflicts, and the lists of conflicts that its levels hand down."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....interface.by_reference import by_reference
from ....records.named_scalars import integers_and_floats
from ..compiled import inner
from .records import DELETED, FREE, Active

#: Conflicts that a node takes over, at most: its parent's latest.
POOL = 160

#: `Stack.now`: the level in hand (-1: none), whether its node is to be processed, forced deletions of all levels, and counts; the
#: step of what bounds lack.
NOW = integers_and_floats("level expand trailed nodes solves conflicts forced probes", "step")
#: Steps by which it is counted how many nodes are below a node whose bound lacks so much.
LACKS = 64


@by_reference
class Stack(NamedTuple):
    """A depth-first search that stops and resumes anywhere."""

    state: Any  #: (n,) FREE, KEPT or DELETED
    point: Any  #: (levels,) what is branched on: deleted in the first child, kept in the second
    at: Any  #: child in hand, -1 before the first
    extra: Any  #: proved least cost of further deletions
    bound: Any  #: proved lower bound of what is below
    trail: Any  #: forced deletions of all levels
    trail_from: Any
    pair: Any  #: S-pair of the kept points by level
    g: Any
    u: Any
    w: Any
    count: Any
    activity: Any
    begun: Any  #: (levels,) nodes processed when this level's was
    lack: Any  #: (levels,) what its bound lacks of the cut, in steps
    below: Any  #: (LACKS,) nodes of the subtrees that are over, by what their roots lacked
    ended: Any  #: (LACKS,) how many subtrees those are
    now: Any  #: a structured scalar of type `NOW`
    found: Any  #: (1,) the value below which a candidate is reported
    unresolved: Any  #: least bound of leaves that rounding left open
    listed: Any  #: (room, 2p + 6) conflicts by level: their points that were free when they were found
    size: Any  #: (room,) how many those are
    norm: Any  #: (room,) the norm that each needs
    end: Any  #: (levels + 1,) where a level's list begins; the next level's begins where it ends


@inner
def free_points(active: Active, state: Any, mark: Any, out: Any) -> int:
    """The free points of a conflict, each once."""
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
    """Copy one conflict of the lists to another place."""
    stack.size[target], stack.norm[target] = stack.size[source], stack.norm[source]
    for k in range(stack.size[source]):
        stack.listed[target, k] = stack.listed[source, k]


@inner
def inherit(stack: Stack, level: int) -> int:
    """Copy the last of the parent's list to where this level's begins, as far as there is room; returns its end."""
    start = stack.end[level]
    if level == 0:
        return start
    before = max(stack.end[level - 1], start - POOL)
    count = min(start - before, stack.size.size - start)
    for c in range(count):
        copy_listed(stack, before + c, start + c)
    return start + count


@inner
def pack_listed(stack: Stack, start: int, stop: int, T: float, left: Any) -> tuple[float, int, int]:
    """Pack the conflicts of a list once more, small ones first: (packed, new end of the list, point that must be deleted).

    A conflict loses the points that are kept by now, and leaves the list where a point of it is deleted (which hits it). One
    with a norm below T waits: T falls. The point is -1 where none is forced, -2 where a conflict has no free point left.
    """
    state = stack.state
    at, forced, largest = start, -1, 0
    for c in range(start, stop):
        m, hit = 0, False
        for k in range(stack.size[c]):
            i = stack.listed[c, k]
            hit = hit or state[i] == DELETED
            if state[i] == FREE:
                stack.listed[at, m] = i
                m += 1
        if hit:
            continue
        stack.size[at], stack.norm[at] = m, stack.norm[c]
        if stack.norm[c] >= T:
            if m == 0:
                return 0.0, at, -2
            if m == 1:
                forced = stack.listed[at, 0]
            largest = max(largest, m)
        at += 1
    packed = 0.0
    for m in range(2, largest + 1 if forced < 0 else 2):
        for c in range(start, at):
            if stack.size[c] != m or stack.norm[c] < T:
                continue
            least = np.inf
            for k in range(m):
                least = min(least, left[stack.listed[c, k]])
            if least > 0.0:
                for k in range(m):
                    left[stack.listed[c, k]] -= least
                packed += least
    return packed, at, forced
