"""Records that the compiled loops of the conflict engine work on: the points' rows, an active set of the dual method, workspaces.

The mathematics, with proofs, is in ``docs/explanation/zero-one-bb.md``. The rows here are the penalised parts a_i of the
reduced rows, with thresholds τ_i. Point i is kept if a_i'w + s_i b ≥ τ_i, where s_i = ±1 is the sign of a free intercept b.
The intercept is eliminated: some b keeps a set of points exactly if (a_i + a_j)'w ≥ τ_i + τ_j for every pair of a positive
point i and a negative point j. So a *constraint* is a point (no intercept) or such a pair, scaled to g'w ≥ 1.

Pairs are exact, but yield conflicts of up to 2(p + 1) points. So the search first uses single points with a stretched column for
the intercept, whose square is a small part of the norm. These conflicts have at most p + 2 points. Their certificates subtract
the multipliers' sum on that column times a bound of the intercept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...interface.numba_flags import by_reference
from . import inner

# Return codes of `active_set`.
OPTIMUM, CONFLICT, TROUBLE = 0, 1, 2
FREE, KEPT, DELETED = -1, 0, 1
#: Priority of kept points in the dual method relative to free ones, so that conflicts have fewer free points.
KEPT_PRIORITY = 5.0
#: Priority of points that are to be violated.
VIOLATED_PRIORITY = 20.0
#: Number of lanes, each with every `LANES`-th point; the most violated point of a lane is a candidate of the dual method.
LANES = 16
#: Number of points whose children are probed before a node with a large subtree branches.
PROBED = 8
#: Code in place of a partner: the point is to be violated.
VIOLATE = -2


@by_reference
class ConflictRows(NamedTuple):
    """The rows of the points, in several layouts."""

    a: Any  #: (n, p) penalised parts
    t: Any  #: (p, n) transposed, to compute all margins coordinate by coordinate
    single: Any  #: (p, n) transposed rows of norm 1 in single precision
    widest: Any  #: (p + 1,) the largest |a_ij|/||a_i|| of each coordinate, and the largest 1/||a_i||
    size: Any  #: (n,) squared norms of these rows, the stretched intercept's part included
    sign: Any  #: (n,) ±1 with a free intercept, else 0
    tau: Any  #: (n,) thresholds
    pull: Any  #: (n,) 1/||a_i||, which scales violations to distances
    free: bool  #: whether constraints are pairs, for a free intercept
    intercept_bound: float  #: if positive, the bound of a stretched intercept: the last column, which is not in the norm
    strict: bool  #: whether deleted points are constrained to be violated


@by_reference
class Active(NamedTuple):
    """An S-pair of the dual method: constraints, their multipliers, and the point w = Σ u g that they define."""

    pair: Any  #: (p + 2, 2) points of each constraint; the second is -1 for a single point, or `VIOLATE`
    g: Any  #: (p + 2, p)
    u: Any  #: (p + 2,)
    w: Any  #: (p,)
    count: Any  #: (1,)
    V: Any  #: (p + 2, p) orthonormal factor
    R: Any  #: (p + 2, p + 2) triangular factor, g = (V'R)'
    ready: Any  #: (1,) number of factored constraints


def no_active(p: int) -> Active:
    """Return an S-pair without constraints, w = 0."""
    pair = np.full((p + 2, 2), -1, np.int64)
    count, factors = np.zeros(1, np.int64), (np.zeros((p + 2, p)), np.zeros((p + 2, p + 2)))
    return Active(pair, np.zeros((p + 2, p)), np.zeros(p + 2), np.zeros(p), count, *factors, count.copy())


@by_reference
class Violations(NamedTuple):
    """The violations of the points' constraints in one precision, and the arrays that they are computed with."""

    w: Any  #: (p,)
    value: Any  #: (n,) scaled violations
    grid: Any  #: the same values in rows of `LANES`, padded with zeros
    tops: Any  #: (LANES,) largest entry of each column of ``grid``
    scale: Any  #: (n,) scale of each violation: 0 for points without a constraint, negative for points to be violated
    level: Any  #: (n,) lower or upper bound of the margin


@by_reference
class Scratch(NamedTuple):
    """The work arrays of the dual method."""

    r: Any  #: (p + 2,) combination of the active constraints
    z: Any  #: (p,) component of a constraint orthogonal to the active ones
    double: Violations
    single: Violations


def _violations(n: int, p: int, precision: type) -> Violations:
    grid: Any = np.zeros((-(-n // LANES), LANES), precision)
    arrays: list[Any] = [np.zeros(size, precision) for size in (p, LANES, n, n)]
    w, tops, scale, level = arrays
    return Violations(w, grid.reshape(-1)[:n], grid, tops, scale, level)


def empty_scratch(n: int, p: int) -> Scratch:
    """Return the work arrays for n points in p coordinates."""
    return Scratch(np.empty(p + 2), np.empty(p), _violations(n, p, np.float64), _violations(n, p, np.float32))


@inner
def copy_active(source: Active, target: Active) -> None:
    """Copy the S-pair ``source`` to ``target``."""
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
    """Return x'y."""
    t = 0.0
    for j in range(x.size):
        t += x[j] * y[j]
    return t


@by_reference
class ConflictWorkspace(NamedTuple):
    """The workspace of the processing of a node."""

    active: Active  #: S-pair of the conflict in progress
    kept_points: Active  #: S-pair of the kept points
    pairs: Active  #: S-pair of pairs of points, for a free intercept
    scratch: Scratch
    exact: Scratch  #: work arrays without the coordinate of the stretched intercept
    ok: Any  #: (n,) points whose constraints apply
    promising: Any  #: (n,) priorities of the points
    left: Any  #: (n,) residual weights of a packing
    mark: Any  #: (n,) marks of visited points
    conflict_counts: Any  #: (n,) number of listed conflicts of each point
    points: Any  #: (2p + 6,) free points of a conflict
    probed: Any  #: (PROBED,) points whose children are probed
    promise: Any  #: (PROBED,) their scores


def empty_workspace(n: int, p: int, exact: int) -> ConflictWorkspace:
    """Return the workspace for n points in p coordinates, ``exact`` of them without the stretched intercept's."""
    return ConflictWorkspace(
        no_active(p), no_active(p), no_active(exact), empty_scratch(n, p), empty_scratch(n, exact), np.zeros(n, np.bool_),
        np.empty(n), np.empty(n), np.zeros(n, np.bool_), np.empty(n), np.empty(2 * p + 6, np.int64),
        np.empty(PROBED, np.int64), np.empty(PROBED),
    )  # fmt: skip
