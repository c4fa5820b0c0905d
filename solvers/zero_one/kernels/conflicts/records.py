"""The points as the conflict engine reads them, and an S-pair of the dual method."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....interface.by_reference import by_reference
from ..compiled import inner

# What `active_set` returns.
OPTIMUM, CONFLICT, TROUBLE = 0, 1, 2
FREE, KEPT, DELETED = -1, 0, 1
#: How much more keenly the dual method takes up kept points than free ones: conflicts then have fewer free points.
KEEN = 5.0
#: The same of points that are to be violated: with 5 a tenth more nodes.
KEEN_AWAY = 20.0
#: Lanes of points, every so many apart, whose most violated ones are candidates for the dual method.
LANES = 16
#: Points whose children are looked at before a node with much below it branches; 16: 4 to 13% fewer nodes, no less time.
PROBED = 8
#: In place of a partner: the constraint is that the point is violated.
VIOLATE = -2


@by_reference
class Rows(NamedTuple):
    """The points."""

    a: Any  #: (n, p) penalised parts
    t: Any  #: (p, n) the same, transposed: all margins at once, a coordinate at a time
    single: Any  #: (p, n) the same with norms of 1, in single precision: half of the time
    widest: Any  #: (p + 1,) the largest |a_ij|/||a_i|| of each coordinate, and the largest 1/||a_i||
    size: Any  #: (n,) squared norms of these rows, the stretched intercept's part included
    sign: Any  #: (n,) ±1 with a free intercept, else 0
    tau: Any  #: (n,) thresholds
    pull: Any  #: (n,) 1/||a_i||: violations are compared as distances
    free: bool  #: constraints are pairs
    reach: float  #: positive: the last column is the stretched intercept's, bounded by this, and not part of the norm
    strict: bool  #: points that a node deletes are violated in it, a constraint like those of kept points


@by_reference
class Active(NamedTuple):
    """An S-pair of the dual method: constraints with their multipliers, and the point w = Σ u g that they define."""

    pair: Any  #: (p + 2, 2) points of each constraint; the second is -1 without an intercept, or `VIOLATE`
    g: Any  #: (p + 2, p)
    u: Any  #: (p + 2,)
    w: Any  #: (p,)
    count: Any  #: (1,)
    V: Any  #: (p + 2, p) orthonormal, and
    R: Any  #: (p + 2, p + 2) triangular: g = (V'R)', as far as they are
    ready: Any  #: (1,) known


def no_active(p: int) -> Active:
    """An S-pair of no constraint, w = 0."""
    pair = np.full((p + 2, 2), -1, np.int64)
    none, factors = np.zeros(1, np.int64), (np.zeros((p + 2, p)), np.zeros((p + 2, p + 2)))
    return Active(pair, np.zeros((p + 2, p)), np.zeros(p + 2), np.zeros(p), none, *factors, none.copy())


@by_reference
class Violations(NamedTuple):
    """By how much each point's constraint is violated, in one precision, and what that is computed with."""

    w: Any  #: (p,)
    value: Any  #: (n,) scaled
    grid: Any  #: the same in rows of `LANES`, the last filled up with zeros
    tops: Any  #: (LANES,) the largest entry of each column of that
    scale: Any  #: (n,) by which a violation counts; 0 of points that are not in question, negative of those to be violated
    level: Any  #: (n,) what the margin is to reach, or not to exceed


@by_reference
class Scratch(NamedTuple):
    """What the dual method works with."""

    r: Any  #: (p + 2,) combination of the active constraints
    z: Any  #: (p,) what is left of a constraint
    double: Violations
    single: Violations


def _violations(n: int, p: int, precision: type) -> Violations:
    grid: Any = np.zeros((-(-n // LANES), LANES), precision)
    arrays: list[Any] = [np.zeros(size, precision) for size in (p, LANES, n, n)]
    w, tops, scale, level = arrays
    return Violations(w, grid.reshape(-1)[:n], grid, tops, scale, level)


def empty_scratch(n: int, p: int) -> Scratch:
    """Room for n points in p coordinates."""
    return Scratch(np.empty(p + 2), np.empty(p), _violations(n, p, np.float64), _violations(n, p, np.float32))


@inner
def copy_active(source: Active, target: Active) -> None:
    """Make ``target`` equal to ``source``."""
    q = source.count[0]
    target.count[0], target.ready[0] = q, source.ready[0]
    for j in range(target.w.size):
        target.w[j] = source.w[j]
    for k in range(q):
        target.u[k] = source.u[k]
        target.pair[k, 0], target.pair[k, 1] = source.pair[k, 0], source.pair[k, 1]
        for j in range(target.w.size):
            target.g[k, j], target.V[k, j] = source.g[k, j], source.V[k, j]
        for a in range(k + 1):
            target.R[a, k] = source.R[a, k]


@inner
def dot(x: Any, y: Any) -> float:
    """x'y."""
    t = 0.0
    for j in range(x.size):
        t += x[j] * y[j]
    return t


@by_reference
class Room(NamedTuple):
    """What the processing of a node works with."""

    active: Active  #: of the conflict that is looked for
    kept: Active  #: of the kept points
    pairs: Active  #: of pairs of points, where the intercept is free
    scratch: Scratch
    exact: Scratch  #: without the stretched intercept's coordinate
    ok: Any  #: (n,) points in question
    keen: Any  #: (n,)
    left: Any  #: (n,) weights that are not packed yet
    mark: Any  #: (n,)
    met: Any  #: (n,) how many listed conflicts have the point
    points: Any  #: (2p + 6,) free points of a conflict
    probed: Any  #: (PROBED,) points whose children are looked at, and
    promise: Any  #: their scores


def empty_room(n: int, p: int, exact: int) -> Room:
    """Room for n points in p coordinates, ``exact`` of them without the stretched intercept's."""
    return Room(
        no_active(p), no_active(p), no_active(exact), empty_scratch(n, p), empty_scratch(n, exact), np.zeros(n, np.bool_),
        np.empty(n), np.empty(n), np.zeros(n, np.bool_), np.empty(n), np.empty(2 * p + 6, np.int64),
        np.empty(PROBED, np.int64), np.empty(PROBED),
    )  # fmt: skip
