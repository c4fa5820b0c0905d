"""Arrays of the compiled loops of the conflict engine: the points' rows, an active set of the dual method, and workspaces.

The problem is min ||w||² + Σ_i λ_i 1{a_i'w + s_i b < 1}; proofs are in ``docs/explanation/zero-one-bb.md``. The rows here are the
penalised parts a_i of the reduced rows, with thresholds τ_i = 1 less a reserve for rounding. Point i is kept if a_i'w + s_i b ≥
τ_i, where s_i = ±1 is the sign of a free intercept b. The intercept is eliminated: some b keeps a set of points exactly if (a_i +
a_j)'w ≥ τ_i + τ_j for every pair of a positive point i and a negative point j. So a *constraint* is a point (no intercept) or
such a pair, scaled to g'w ≥ 1.

Pairs are exact, but yield conflicts of up to 2(p + 1) points. So the search first uses single points with a stretched column for
the intercept, whose square is a small part of the norm. These conflicts have at most p + 2 points. Their certificates subtract
the multipliers' sum on that column times a bound of the intercept.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ....models.arrays import FloatArray
from ...interface.numba_flags import by_reference
from ..reduced import ReducedZeroOneProblem
from . import inner

#: Return codes of `minimise_norm`: solved; the squared norm is proved to reach the threshold; neither, by rounding.
OPTIMUM, CONFLICT, TROUBLE = 0, 1, 2
#: States of a point.
FREE, KEPT, DELETED = -1, 0, 1
#: Priority of kept points in the dual method relative to free ones, so that conflicts have fewer free points.
KEPT_PRIORITY = 5.0
#: Priority of points that are to be violated, above that of kept ones.
VIOLATED_PRIORITY = 20.0
#: Number of lanes, each with every `LANES`-th point; the most violated point of a lane is a candidate of the dual method.
LANES = 16
#: Number of points whose children are probed before a node with a large subtree branches.
_PROBED = 8
#: Code in place of a partner: the point is to be violated.
VIOLATE = -2


#: Share of the objective by which a stretched intercept may weaken a certificate: far below the gaps that prune nodes.
_INTERCEPT_SHARE = 1e-4
#: Least norm of a row as a share of the median norm, when violations are scaled to distances: a point at the origin would have an
#: infinite distance.
_SHORTEST = 0.1


@by_reference
class ConflictRows(NamedTuple):
    """The points' rows a_i in the layouts that the loops read, with thresholds."""

    a: Any  #: (n, p) penalised parts
    t: Any  #: (p, n) transposed, to compute all margins coordinate by coordinate
    single: Any  #: (p, n) transposed rows of norm 1 in single precision
    widest: Any  #: (p + 1,) the largest |a_ij|/||a_i|| of each coordinate, and the largest 1/||a_i||
    size: Any  #: (n,) squared norms of the rows of ``a``, the stretched intercept's part included
    sign: Any  #: (n,) ±1 with a free intercept, else 0
    tau: Any  #: (n,) thresholds
    pull: Any  #: (n,) 1/||a_i||, which scales violations to distances
    free: bool  #: whether constraints are pairs, for a free intercept
    intercept_bound: float  #: if positive, the bound of a stretched intercept: the last column, which is not in the norm
    strict: bool  #: whether deleted points are constrained to be violated


def penalised_rows(reduced: ReducedZeroOneProblem, tau: FloatArray) -> ConflictRows:
    """Return the rows in the penalised coordinates, with thresholds ``tau`` (m,); a free intercept is left to pairs of points."""
    n = len(reduced.weights)
    a = np.ascontiguousarray(reduced.rows[:, :-1] if reduced.free else reduced.rows)
    sign = np.sign(reduced.rows[:, -1]) if reduced.free else np.zeros(n)
    pull = 1.0 / np.maximum(np.linalg.norm(a, axis=1), 1e-300)
    return ConflictRows(*_layouts(a, pull), sign, np.ascontiguousarray(tau), pull, reduced.free, 0.0, False)


def stretched_rows(reduced: ReducedZeroOneProblem, tau: FloatArray, upper: float) -> ConflictRows:
    """Return the rows with a free intercept as last coordinate, which is scaled so that its square is a small share of ``upper``.

    ``tau`` (m,) are the thresholds, ``upper`` the largest squared norm of interest in reduced units.
    """
    if not reduced.free:
        exact = penalised_rows(reduced, tau)
        a, t, single, widest, size = _layouts(_padded(exact.a), exact.pull)
        return exact._replace(a=a, t=t, single=single, widest=widest, size=size)
    reach = reduced.intercept_bound(upper) * reduced.stretch
    stretch = reach / math.sqrt(_INTERCEPT_SHARE * upper)
    a = reduced.rows.copy()
    a[:, -1] = np.sign(a[:, -1]) * stretch
    norms = np.linalg.norm(a[:, :-1], axis=1)
    pull = 1.0 / np.maximum(norms, max(_SHORTEST * float(np.median(norms)), 1e-300))
    reach = reach / stretch * (1 + 1e-15)
    return ConflictRows(*_layouts(_padded(a), pull), np.zeros(len(a)), np.ascontiguousarray(tau), pull, False, reach, True)


def _padded(a: FloatArray) -> FloatArray:
    """Return the rows with leading zero coordinates, a multiple of four in all, for vector instructions without a remainder."""
    return np.pad(a, ((0, 0), (-a.shape[1] % 4, 0)))


def _layouts(a: FloatArray, pull: FloatArray) -> tuple[FloatArray, FloatArray, Any, FloatArray, FloatArray]:
    """Return the rows, their transpose, normalised rows in single precision, largest entries by coordinate, and squared norms."""
    t = np.ascontiguousarray(a.T)
    unit = t * pull
    widest = np.append(np.abs(unit).max(axis=1, initial=0.0), pull.max(initial=0.0))
    with np.errstate(over="ignore"):  # the kernels ignore ``single`` where ``widest`` overflows single precision
        single = unit.astype(np.float32)
    return np.ascontiguousarray(a), t, single, widest, np.square(a).sum(axis=1)


@by_reference
class ActiveSet(NamedTuple):
    """An active set of the dual method: constraints, their multipliers u, and the point w = Σ u g, of least norm subject to them.

    A constraint is g'w ≥ 1, or g'w ≥ -1 for a point that is to be violated.
    """

    pair: Any  #: (p + 2, 2) points of each constraint; the second is -1 for a single point that is kept, or `VIOLATE`
    g: Any  #: (p + 2, p) rows of the constraints
    u: Any  #: (p + 2,) multipliers
    w: Any  #: (p,) the point Σ u g
    count: Any  #: (1,) number of constraints
    V: Any  #: (p + 2, p) orthonormal factor
    R: Any  #: (p + 2, p + 2) triangular factor, g = (V'R)'
    ready: Any  #: (1,) number of factored constraints


def empty_active_set(p: int) -> ActiveSet:
    """Return an active set without constraints, w = 0, for p coordinates."""
    pair = np.full((p + 2, 2), -1, np.int64)
    count, factors = np.zeros(1, np.int64), (np.zeros((p + 2, p)), np.zeros((p + 2, p + 2)))
    return ActiveSet(pair, np.zeros((p + 2, p)), np.zeros(p + 2), np.zeros(p), count, *factors, count.copy())


@by_reference
class Violations(NamedTuple):
    """The violations of the points' constraints in single or double precision, with the arrays that they are computed from."""

    w: Any  #: (p,) the point at which violations are computed
    value: Any  #: (n,) scaled violations
    grid: Any  #: the same values in rows of `LANES`, padded with zeros
    tops: Any  #: (LANES,) largest entry of each column of ``grid``
    scale: Any  #: (n,) scale of each violation: 0 for points without a constraint, negative for points to be violated
    level: Any  #: (n,) lower bound of a margin to be kept, upper bound of one to be violated


@by_reference
class DualWorkspace(NamedTuple):
    """The work arrays of `minimise_norm`."""

    r: Any  #: (p + 2,) combination of the active constraints
    z: Any  #: (p,) component of a constraint orthogonal to the active ones
    double: Violations  #: in double precision
    single: Violations  #: in single precision


def _violations(n: int, p: int, precision: type) -> Violations:
    grid: Any = np.zeros((-(-n // LANES), LANES), precision)
    arrays: list[Any] = [np.zeros(size, precision) for size in (p, LANES, n, n)]
    w, tops, scale, level = arrays
    return Violations(w, grid.reshape(-1)[:n], grid, tops, scale, level)


def empty_dual_workspace(n: int, p: int) -> DualWorkspace:
    """Return work arrays for n points in p coordinates."""
    return DualWorkspace(np.empty(p + 2), np.empty(p), _violations(n, p, np.float64), _violations(n, p, np.float32))


@inner
def copy_active_set(source: ActiveSet, target: ActiveSet) -> None:
    """Copy the active set ``source`` to ``target``."""
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
    """Return the inner product x'y."""
    t = 0.0
    for j in range(x.size):
        t += x[j] * y[j]
    return t


@by_reference
class ConflictWorkspace(NamedTuple):
    """The work arrays of `process_node` and `prove_node`."""

    active: ActiveSet  #: active set of the conflict in progress
    kept_points: ActiveSet  #: active set of the kept points
    pairs: ActiveSet  #: active set of pairs of points, for a free intercept
    scratch: DualWorkspace  #: work arrays of `minimise_norm`
    exact: DualWorkspace  #: work arrays without the coordinate of the stretched intercept
    ok: Any  #: (n,) points whose constraints apply
    priority: Any  #: (n,) priorities of the points
    residual: Any  #: (n,) residual weights of a packing
    mark: Any  #: (n,) marks of visited points
    conflict_counts: Any  #: (n,) number of listed conflicts of each point
    points: Any  #: (2p + 6,) free points of a conflict
    probed: Any  #: (_PROBED,) points whose children are probed
    scores: Any  #: (_PROBED,) branching scores of these points


def empty_workspace(n: int, p: int, exact: int) -> ConflictWorkspace:
    """Return the workspace for n points in p coordinates, of which ``exact`` are not the stretched intercept's."""
    return ConflictWorkspace(
        empty_active_set(p), empty_active_set(p), empty_active_set(exact),
        empty_dual_workspace(n, p), empty_dual_workspace(n, exact), np.zeros(n, np.bool_),
        np.empty(n), np.empty(n), np.zeros(n, np.bool_), np.empty(n), np.empty(2 * p + 6, np.int64),
        np.empty(_PROBED, np.int64), np.empty(_PROBED),
    )  # fmt: skip
