"""Compiled kernels of the conflict engine: the dual active-set method and the search on norm-conflicts.

The mathematics, with proofs, is in ``docs/zero-one-bb.md``. The rows here are the penalised parts a_i of the reduced rows, with
thresholds τ_i: point i is kept where a_i'w + s_i b ≥ τ_i. Signs s_i = ±1 belong to a free intercept b, which is eliminated:
some b keeps a set of points exactly where (a_i + a_j)'w ≥ τ_i + τ_j for every pair i of its positive, j of its negative
points. So a *constraint* is a point (no intercept) or such a pair, scaled to g'w ≥ 1. Pairs are exact, and make conflicts of
up to 2(p + 1) points; the search therefore looks first at single points with a stretched intercept's column, whose square is
a small part of the norm: conflicts of at most p + 2 points, certified with what the column leaves over times ``reach``.

Numba's disk cache does not see edits in other files, so every function that another one calls is here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba as nb
import numpy as np

from ...records.named_scalars import integers_and_floats

_FLAGS: Any = {
    "cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}, "no_cfunc_wrapper": True
}  # fmt: skip
_compiled: Any = nb.njit  # its options without a wrapper are not in the published types
F = TypeVar("F", bound=Callable[..., Any])


def _njit(function: F) -> F:
    """A function that Python calls."""
    return cast("F", _compiled(**_FLAGS)(function))


def _inner(function: F) -> F:
    """What compiled code alone calls: a wrapper for Python takes longer to compile than many of these."""
    return cast("F", _compiled(**_FLAGS, no_cpython_wrapper=True)(function))


EPS = 2.0**-53

# What `active_set` returns.
OPTIMUM, CONFLICT, TROUBLE = 0, 1, 2


class Rows(NamedTuple):
    """The points."""

    a: Any  #: (n, p) penalised parts
    t: Any  #: (p, n) the same, transposed: all margins at once, a coordinate at a time
    sign: Any  #: (n,) ±1 with a free intercept, else 0
    tau: Any  #: (n,) thresholds
    pull: Any  #: (n,) 1/||a_i||: violations are compared as distances
    free: bool  #: constraints are pairs
    reach: float  #: positive: the last column is the stretched intercept's, bounded by this, and not part of the norm


class Active(NamedTuple):
    """An S-pair of the dual method: constraints with their multipliers, and the point w = Σ u g that they define."""

    pair: Any  #: (p + 2, 2) points of each constraint; the second is -1 without an intercept
    g: Any  #: (p + 2, p)
    u: Any  #: (p + 2,)
    w: Any  #: (p,)
    count: Any  #: (1,)


@_njit
def certified(active: Active, q: int, reach: float) -> float:
    """A proved lower bound of min{||w||² : g'w ≥ 1 for the first q constraints} from u ≥ 0, whatever they are.

    (Σu - |v_b| reach)₊²/||v||², v = Σ u g without its intercept's part v_b, with every rounding error to the safe side (that
    of g itself included); ∞ where v vanishes.
    """
    p = active.w.size
    total = size = 0.0
    for k in range(q):
        total += active.u[k]
        norm = 0.0
        for j in range(p):
            norm += active.g[k, j] * active.g[k, j]
        size += active.u[k] * math.sqrt(norm)
    err = 4.0 * EPS * (q + p + 8) * size
    gain = total * (1.0 - 2.0 * EPS * (q + 4))
    norm = 0.0
    for j in range(p):
        v = 0.0
        for k in range(q):
            v += active.u[k] * active.g[k, j]
        if reach > 0.0 and j == p - 1:
            gain -= (abs(v) + err) * reach * (1.0 + 4.0 * EPS)
        else:
            norm += v * v
    length = math.sqrt(norm) * (1.0 + EPS * (p + 8)) + err
    if gain <= 0.0:
        return 0.0
    if length <= 0.0:
        return np.inf
    ratio = gain / length
    return ratio * ratio * (1.0 - 8.0 * EPS)


@_inner
def _choose(rows: Rows, ok: Any, keen: Any, w: Any, u: Any, near: float) -> tuple[int, int, float]:
    """The most violated constraint: (point, its partner or -1, violation); (-1, -1, 0) where all are met."""
    n, p = rows.a.shape
    low0 = low1 = np.inf
    for i in range(n):
        u[i] = -rows.tau[i]
    for j in range(p):
        f = w[j]
        if f != 0.0:
            for i in range(n):
                u[i] += f * rows.t[j, i]
    for i in range(n):
        if ok[i]:
            t = u[i]
            if rows.sign[i] >= 0:
                low0 = min(low0, t)
            else:
                low1 = min(low1, t)
    if not rows.free:
        low1 = low0
    if not low0 + low1 < -2.0 * near:
        return -1, -1, 0.0
    b = 0.5 * (low1 - low0)
    first = second = -1
    most0 = most1 = 0.0
    for i in range(n):
        if ok[i]:
            t = -(u[i] + rows.sign[i] * b) * rows.pull[i] * keen[i]
            if rows.sign[i] >= 0:
                if t > most0:
                    most0, first = t, i
            elif t > most1:
                most1, second = t, i
    return first, second, -0.5 * (low0 + low1)


@_inner
def _constraint(rows: Rows, first: int, second: int, g: Any) -> None:
    p = g.size
    if second < 0:
        for j in range(p):
            g[j] = rows.a[first, j] / rows.tau[first]
    else:
        scale = rows.tau[first] + rows.tau[second]
        for j in range(p):
            g[j] = (rows.a[first, j] + rows.a[second, j]) / scale


@_inner
def _dot(x: Any, y: Any) -> float:
    t = 0.0
    for j in range(x.size):
        t += x[j] * y[j]
    return t


@_inner
def _orthogonalise(g: Any, V: Any, R: Any, k: int, z: Any) -> float:
    """Row k of ``g`` against the orthonormal V[:k]: R[:k, k] and the rest z (Gram-Schmidt, twice); returns ||z||."""
    p = z.size
    for j in range(p):
        z[j] = g[k, j]
    for a in range(k):
        R[a, k] = 0.0
    for _ in range(2):
        for a in range(k):
            t = _dot(V[a], z)
            R[a, k] += t
            for j in range(p):
                z[j] -= t * V[a, j]
    return math.sqrt(_dot(z, z))


@_inner
def _extend(g: Any, V: Any, R: Any, k: int, z: Any) -> None:
    """Make row k of ``g`` part of the factorisation g[:k + 1] = (V[:k + 1]'R)'."""
    R[k, k] = max(_orthogonalise(g, V, R, k, z), 1e-300)
    for j in range(z.size):
        V[k, j] = z[j] / R[k, k]


@_inner
def _back_solve(R: Any, k: int, r: Any) -> None:
    """r = R[:k, :k]⁻¹ R[:k, k]: the combination of the active constraints nearest to constraint k."""
    for a in range(k - 1, -1, -1):
        t = R[a, k]
        for b in range(a + 1, k):
            t -= R[a, b] * r[b]
        r[a] = t / R[a, a]


@_njit
def active_set(rows: Rows, ok: Any, keen: Any, T: float, active: Active, margins: Any, near: float) -> tuple[int, float]:
    """Goldfarb and Idnani's dual method for min ½||w||² over the constraints of the points ``ok``, from an S-pair.

    Returns (CONFLICT, N) as soon as the multipliers prove a norm N ≥ T, (OPTIMUM, ||w||²) at the solution, (TROUBLE, ·)
    where rounding stops both. ``keen`` scales the violations by which the next constraint is chosen.
    """
    p = active.w.size
    w, g, u, pair = active.w, active.g, active.u, active.pair
    q = active.count[0]
    V, R = np.empty((p + 2, p)), np.empty((p + 2, p + 2))
    r, z = np.empty(p + 2), np.empty(p)
    for a in range(q):
        _extend(g, V, R, a, z)
    for _ in range(60 * (p + 4)):
        first, second, short = _choose(rows, ok, keen, w, margins, near)
        if first < 0 or (rows.free and second < 0):
            active.count[0] = q
            return OPTIMUM, _dot(w, w)
        for a in range(q):
            if pair[a, 0] == first and pair[a, 1] == second:
                active.count[0] = q
                return (OPTIMUM, _dot(w, w)) if short < 1e-7 else (TROUBLE, 0.0)
        step_up = 0.0
        while True:
            _constraint(rows, first, second, g[q])
            pair[q, 0], pair[q, 1] = first, second
            size = math.sqrt(_dot(g[q], g[q]))
            rest = _orthogonalise(g, V, R, q, z)
            _back_solve(R, q, r)
            drop, t1 = -1, np.inf
            for a in range(q):
                if r[a] > 1e-12 and u[a] < t1 * r[a]:
                    t1, drop = u[a] / r[a], a
            short = 1.0 - _dot(g[q], w)
            independent = rest > 1e-12 * size and q < p
            t2 = max(short, 0.0) / (rest * rest) if independent else np.inf
            if t1 == np.inf and t2 == np.inf:
                # Farkas: the multipliers -r with 1 on the new constraint combine the rows to (nearly) nothing.
                for a in range(q):
                    u[a] = max(-r[a], 0.0)
                u[q] = 1.0
                active.count[0] = q + 1
                N = certified(active, q + 1, rows.reach)
                return (CONFLICT if N >= T else TROUBLE), N
            step = min(t1, t2)
            step_up += step
            if independent:
                for j in range(p):
                    w[j] += step * z[j]
            total = step_up
            for a in range(q):
                u[a] = max(u[a] - step * r[a], 0.0)
                total += u[a]
            u[q] = step_up
            norm = _dot(w, w)
            if rows.reach > 0.0:
                norm -= w[p - 1] * w[p - 1]
                total -= abs(w[p - 1]) * rows.reach
            if total > 0.0 and total * total >= T * norm:
                N = certified(active, q + 1, rows.reach)
                if N >= T:
                    active.count[0] = q + 1
                    return CONFLICT, N
            if t1 < t2:
                q -= 1
                for a in range(drop, q):
                    u[a] = u[a + 1]
                    pair[a, 0], pair[a, 1] = pair[a + 1, 0], pair[a + 1, 1]
                    for j in range(p):
                        g[a, j] = g[a + 1, j]
                for a in range(drop, q):
                    _extend(g, V, R, a, z)
                continue
            _extend(g, V, R, q, z)
            q += 1
            break
    active.count[0] = q
    return TROUBLE, 0.0


FREE, KEPT, DELETED = -1, 0, 1
# Why `search` returned.
BUDGET, DONE, CANDIDATE = 0, 1, 2
#: `Stack.now`: the level in hand (-1: none), whether its node is to be processed, forced deletions of all levels, and counts.
NOW = integers_and_floats("level expand trailed nodes solves conflicts forced", "")
#: How much more keenly the dual method takes up kept points than free ones: conflicts then have fewer free points.
KEEN = 5.0
#: Packings of a node: one that goes on from its parent's, then new ones (one at least) while they improve.
PACKINGS = 3


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
    now: Any  #: a structured scalar of type `NOW`
    found: Any  #: (1,) the value below which a candidate is reported
    unresolved: Any  #: least bound of leaves that rounding left open
    listed: Any  #: (room, 2p + 6) conflicts by level: their points that were free when they were found
    size: Any  #: (room,) how many those are
    norm: Any  #: (room,) the norm that each needs
    end: Any  #: (levels + 1,) where a level's list begins; the next level's begins where it ends


@_inner
def _no_active(p: int) -> Active:
    return Active(np.empty((p + 2, 2), np.int64), np.empty((p + 2, p)), np.empty(p + 2), np.zeros(p), np.zeros(1, np.int64))


@_inner
def _copy_active(source: Active, target: Active) -> None:
    q = source.count[0]
    target.count[0] = q
    for j in range(target.w.size):
        target.w[j] = source.w[j]
    for k in range(q):
        target.u[k] = source.u[k]
        target.pair[k, 0], target.pair[k, 1] = source.pair[k, 0], source.pair[k, 1]
        for j in range(target.w.size):
            target.g[k, j] = source.g[k, j]


@_inner
def _free_points(active: Active, state: Any, mark: Any, out: Any) -> int:
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


@_inner
def _copy_listed(stack: Stack, source: int, target: int) -> None:
    stack.size[target], stack.norm[target] = stack.size[source], stack.norm[source]
    for k in range(stack.size[source]):
        stack.listed[target, k] = stack.listed[source, k]


@_inner
def _inherit(stack: Stack, level: int) -> int:
    """Copy the parent's list to where this level's begins, as far as there is room; returns its end."""
    start = stack.end[level]
    if level == 0:
        return start
    before = stack.end[level - 1]
    count = min(start - before, stack.size.size - start)
    for c in range(count):
        _copy_listed(stack, before + c, start + c)
    return start + count


@_inner
def _pack_listed(stack: Stack, start: int, stop: int, T: float, left: Any) -> tuple[float, int, int]:
    """Pack the conflicts of a list once more: (packed, new end of the list, point that must be deleted).

    A conflict loses the points that are kept by now. It leaves the list where a point of it is deleted (which hits it) and
    where its norm is below T. The point is -1 where none is forced, -2 where a conflict has no free point left.
    """
    state = stack.state
    packed, at = 0.0, start
    for c in range(start, stop):
        m = 0
        alive = stack.norm[c] >= T
        least = np.inf
        for k in range(stack.size[c]):
            i = stack.listed[c, k]
            if state[i] == DELETED:
                alive = False
                break
            if state[i] == FREE:
                stack.listed[at, m] = i
                least = min(least, left[i])
                m += 1
        if not alive:
            continue
        stack.size[at], stack.norm[at] = m, stack.norm[c]
        at += 1
        if m == 0:
            return packed, at, -2
        if m == 1:
            forced = stack.listed[at - 1, 0]
            for d in range(c + 1, stop):
                _copy_listed(stack, d, at)
                at += 1
            return packed, at, forced
        if least > 0.0:
            for k in range(m):
                left[stack.listed[at - 1, k]] -= least
            packed += least
    return packed, at, -1


@_inner
def _expand(
    rows: Rows,
    exact: Rows,
    weights: Any,
    stack: Stack,
    level: int,
    cut: float,
    active: Active,
    kept: Active,
    pairs: Active,
    ok: Any,
    keen: Any,
    margins: Any,
    left: Any,
    mark: Any,
    points: Any,
) -> int:
    """Process the node in hand: 0 it may be forgotten, 1 it branches, 2 it holds a candidate.

    A solution below the cut deletes further free points E of cost c(E) ≥ ``extra`` and has ||w||² < T = cut - V - c(E).
    """
    n = weights.size
    now, state = stack.now, stack.state
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
    last = _inherit(stack, level)
    while True:
        spent = 0.0
        for i in range(n):
            spent += weights[i] if state[i] == DELETED else 0.0
            ok[i] = state[i] == KEPT
            keen[i] = KEEN if state[i] == KEPT else 1.0
        extra = stack.extra[level]
        room = cut - spent + pad
        if room - extra <= 0.0:
            return 0
        now.solves += 1
        status, _ = active_set(rows, ok, keen, room - extra, kept, margins, 1e-11)
        if status == CONFLICT:
            return 0
        norm = certified(kept, kept.count[0], rows.reach)
        stack.bound[level] = max(stack.bound[level], norm + spent + extra - pad)
        forced = -1
        begin = first
        for turn in range(PACKINGS):
            packed = 0.0
            for i in range(n):
                left[i] = weights[i] if state[i] == FREE else 0.0
            if turn == 0:
                packed, last, forced = _pack_listed(stack, first, last, room - extra, left)
                if forced == -2:
                    return 0
                if forced >= 0:
                    break
                end = last
            else:
                end = begin = last
            while True:
                T = room - max(packed, extra)
                if norm >= T:
                    return 0
                for i in range(n):
                    ok[i] = state[i] == KEPT or left[i] > 0.0
                _copy_active(kept, active)
                now.solves += 1
                status, N = active_set(rows, ok, keen, T, active, margins, 1e-11)
                single = True
                if status != CONFLICT and packed == 0.0 and exact.free:
                    single = False
                    pairs.count[0] = 0
                    for j in range(pairs.w.size):
                        pairs.w[j] = 0.0
                    now.solves += 1
                    status, N = active_set(exact, ok, keen, T, pairs, margins, 1e-11)
                if status != CONFLICT:
                    if status == OPTIMUM and packed == 0.0 and N + spent < stack.found[0]:
                        stack.found[0] = (N + spent) * (1.0 - 1e-9)
                        return 2
                    break
                now.conflicts += 1
                m = _free_points(active if single else pairs, state, mark, points)
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
                if end < stack.size.size:
                    stack.size[end], stack.norm[end] = m, N
                    for k in range(m):
                        stack.listed[end, k] = points[k]
                    end += 1
            if turn == 0:
                last = end
            elif packed > extra + pad:
                # The better packing takes the other's place.
                for c in range(end - begin):
                    _copy_listed(stack, begin + c, first + c)
                last = first + end - begin
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


@_inner
def _branching_point(rows: Rows, stack: Stack, level: int, order: Any) -> int:
    """The free point of the greatest (distance by which the kept points' solution violates it) × activity × order².

    All three ask how much is gained by keeping it (the norm rises with the first, conflicts lose a free point with the second)
    and how likely a good solution deletes it: a third of the nodes of branching within the smallest conflict, by trial.
    """
    at, most = -1, -1.0
    for i in range(stack.state.size):
        if stack.state[i] == FREE:
            short = max(rows.tau[i] - _dot(rows.a[i], stack.w[level]), 0.0) * rows.pull[i]
            score = short * stack.activity[i] * order[i] * order[i]
            if score > most:
                at, most = i, score
    return at


@_inner
def _retreat(stack: Stack, level: int) -> None:
    """Undo a level's forced deletions."""
    now = stack.now
    while now.trailed > stack.trail_from[level]:
        now.trailed -= 1
        stack.state[stack.trail[now.trailed]] = FREE


@_njit
def search(rows: Rows, exact: Rows, weights: Any, order: Any, stack: Stack, cut: float, nodes: int) -> int:
    """Depth-first search for solutions below ``cut``, ``nodes`` nodes of it; returns why it stopped.

    A node branches on one free point: the first child deletes it, the second keeps it.
    """
    n, p = rows.a.shape
    now, state = stack.now, stack.state
    active, kept, pairs = _no_active(p), _no_active(p), _no_active(exact.a.shape[1])
    ok, mark = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    keen, margins, left = np.empty(n), np.empty(n), np.empty(n)
    points = np.empty(2 * p + 6, np.int64)
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
            outcome = _expand(rows, exact, weights, stack, level, cut, active, kept, pairs, ok, keen, margins, left, mark, points)
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


class Book(NamedTuple):
    """Conflicts and steps of one node of a proof."""

    points: Any  #: (capacity, 2p + 6)
    alpha: Any  #: multipliers α of the rows a_i'w ≥ 1
    size: Any  #: (capacity,) points of each
    packing: Any  #: conflicts of the last packing
    share: Any  #: and their weights in it
    steps: Any  #: kind, first and last entry of each step
    entry: Any  #: conflicts of all steps
    entry_share: Any
    counts: Any  #: conflicts, of the last packing, steps, entries


BOOKED, PACKED, STEPS, ENTRIES = range(4)
PACK, CUT = 0, 1
# What `prove` returns besides the point to branch on (≥ 0): the node is proved; nothing is left to branch on.
PROVED, OPEN_LEAF = -1, -2
#: Multipliers are whole numbers up to one of these where that proves enough: short to write, exact to read.
_WHOLE = (2.0**10, 2.0**20)


@_inner
def _whole(active: Active, q: int, reach: float, T: float) -> float:
    """Round the multipliers to whole numbers where they still prove T; the norm then, 0 where they do not."""
    most = 0.0
    for k in range(q):
        most = max(most, active.u[k])
    if not most > 0.0:
        return 0.0
    before = active.u[:q].copy()
    for size in _WHOLE:
        for k in range(q):
            active.u[k] = np.rint(before[k] / most * size)
        N = certified(active, q, reach)
        if N >= T:
            return N
    for k in range(q):
        active.u[k] = before[k]
    return 0.0


@_inner
def _book(rows: Rows, active: Active, T: float, exactly: bool, book: Book) -> int:
    """Write an S-pair's conflict into the book: its number there, -1 where the book is full."""
    at = book.counts[BOOKED]
    if at >= book.size.size:
        return -1
    q, m = active.count[0], 0
    whole = _whole(active, q, rows.reach, T) if exactly else 0.0
    for k in range(q):
        if active.u[k] <= 0.0:
            continue
        i, j = active.pair[k, 0], active.pair[k, 1]
        scale = rows.tau[i] if j < 0 else rows.tau[i] + rows.tau[j]
        share = active.u[k] if whole > 0.0 else active.u[k] / scale
        for side in range(2):
            point = active.pair[k, side]
            if point < 0:
                continue
            place = 0
            while place < m and book.points[at, place] != point:
                place += 1
            if place == m:
                book.points[at, m], book.alpha[at, m] = point, 0.0
                m += 1
            book.alpha[at, place] += share
    book.size[at] = m
    book.counts[BOOKED] = at + 1
    return at


@_inner
def _note(book: Book, kind: int, number: int) -> None:
    """One step: the packing in hand, or a conflict."""
    s, e = book.counts[STEPS], book.counts[ENTRIES]
    book.steps[s, 0], book.steps[s, 1] = kind, e
    if kind == CUT:
        book.entry[e] = number
        e += 1
    else:
        for k in range(book.counts[PACKED]):
            book.entry[e], book.entry_share[e] = book.packing[k], book.share[k]
            e += 1
    book.steps[s, 2] = e
    book.counts[STEPS], book.counts[ENTRIES] = s + 1, e


@_njit
def prove(
    rows: Rows,
    exact: Rows,
    weights: Any,
    order: Any,
    activity: Any,
    state: Any,
    extra: Any,
    kept: Active,
    book: Book,
    cut: float,
    budget: float,
) -> int:
    """Process a node of a proof: steps and conflicts into the book; the point to branch on, `PROVED` or `OPEN_LEAF`.

    With a finite ``budget`` (of deletions) solutions have ||w||² < cut; without one, deletions are paid from the cut.
    """
    n, p = rows.a.shape
    counted = budget < np.inf
    price = 0.0 if counted else 1.0
    active, pairs = _no_active(p), _no_active(exact.a.shape[1])
    ok = np.zeros(n, np.bool_)
    keen, margins, left = np.empty(n), np.empty(n), np.empty(n)
    points = np.empty(2 * p + 6, np.int64)
    exactly = True
    for i in range(n):
        exactly = exactly and abs(rows.tau[i] - 1.0) < 1e-11
    room_for = book.steps.shape[0] - 4
    while True:
        spent = 0.0
        for i in range(n):
            spent += weights[i] if state[i] == DELETED else 0.0
        room = cut if counted else cut - spent
        allowed = budget - spent if counted else room
        # paid: nothing may be left of the room; counted: one more than what is allowed
        if extra[0] > allowed or (not counted and extra[0] >= allowed):
            return PROVED
        if book.counts[STEPS] >= room_for or book.counts[ENTRIES] + 4 * n > book.entry.size:
            return OPEN_LEAF
        for i in range(n):
            if counted and state[i] == FREE and weights[i] > allowed:
                state[i] = KEPT
            ok[i] = state[i] == KEPT
            keen[i] = KEEN if state[i] == KEPT else 1.0
        T = room - price * extra[0]
        if active_set(rows, ok, keen, T, kept, margins, 1e-11)[0] == CONFLICT:
            _note(book, CUT, _book(rows, kept, T, exactly, book))
            return PROVED
        norm = certified(kept, kept.count[0], rows.reach)
        forced = -1
        for _turn in range(1 if counted else 2):  # counted: T does not fall
            packed = 0.0
            book.counts[PACKED] = 0
            for i in range(n):
                left[i] = weights[i] if state[i] == FREE else 0.0
            done, forcing = False, -1
            while True:
                most = max(packed, extra[0])
                T = room - price * most
                if most > allowed or (not counted and most >= allowed):
                    done = True
                    break
                if norm >= T:
                    _copy_active(kept, active)
                    forcing, done = _book(rows, active, T, exactly, book), True
                    break
                if book.counts[BOOKED] >= book.size.size - 2:
                    break
                for i in range(n):
                    ok[i] = state[i] == KEPT or left[i] > 0.0
                _copy_active(kept, active)
                number = -1
                if active_set(rows, ok, keen, T, active, margins, 1e-11)[0] == CONFLICT:
                    number = _book(rows, active, T, exactly, book)
                elif packed == 0.0 and exact.free:
                    pairs.count[0] = 0
                    for j in range(pairs.w.size):
                        pairs.w[j] = 0.0
                    if active_set(exact, ok, keen, T, pairs, margins, 1e-11)[0] == CONFLICT:
                        number = _book(exact, pairs, T, exactly, book)
                if number < 0:
                    break
                m, least = 0, np.inf
                for k in range(book.size[number]):
                    i = book.points[number, k]
                    if state[i] == FREE:
                        points[m] = i
                        m += 1
                        least = min(least, left[i])
                if m < 2:
                    forcing, done = number, m == 0
                    forced = points[0] if m == 1 else -1
                    break
                for k in range(m):
                    left[points[k]] -= least
                    activity[points[k]] += 1.0
                packed += least
                book.packing[book.counts[PACKED]], book.share[book.counts[PACKED]] = number, least
                book.counts[PACKED] += 1
            better = packed > extra[0]
            if better:
                _note(book, PACK, -1)
                extra[0] = packed
            if forcing >= 0:
                _note(book, CUT, forcing)
            if done:
                return PROVED
            if forced >= 0 or not better:
                break
        if forced < 0:
            break
        state[forced] = DELETED
        extra[0] = max(extra[0] - weights[forced], 0.0)
    at, top = -1, -1.0
    for i in range(n):
        if state[i] == FREE:
            short = max(rows.tau[i] - _dot(rows.a[i], kept.w), 0.0) * rows.pull[i]
            score = short * activity[i] * order[i] * order[i]
            if score > top:
                at, top = i, score
    return at if at >= 0 else OPEN_LEAF
