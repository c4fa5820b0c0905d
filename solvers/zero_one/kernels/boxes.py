"""Compiled kernels of the box engine: pairs and hinge relaxation over a box, tightening, and the tree search.

The mathematics, with proofs, is in ``docs/zero-one-bb.md``; the names here are those of that page. All of it works on
the *reduced* problem of `solvers.zero_one.reduced`, min ||w||² + Σ_i λ_i 1{g_i'w < 1}, whose last coordinate is a free
intercept when ``free`` is set (its square is then replaced by (w - lo)(w - hi) ≤ 0, the only change).

Numba's disk cache does not see edits in other files, so every function that another one calls is here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba as nb
import numpy as np

from ...records.named_scalars import integers_and_floats

#: Reassociation and contraction only reorder rounding: the error bounds below hold for every order of summation.
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


EPS, SINGLE = 2.0**-53, 2.0**-24
SINGLE_ZERO = np.float32(0.0)  # a zero of double precision would widen what it is compared to
PAGE = 32
#: Dives that the pool must have room for before it asks to grow: what the frugal mode then lives on.
RESERVE = 128
FREE, KEPT, VIOLATED = -1, 0, 1
#: Points of one side that are looked at for pairs, and matchings of what weights are left.
WIDEST, REPEATS = 2048, 3
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_BIT = np.zeros(64, np.int64)
for _k in range(64):
    _BIT[((1 << _k) * 0x03F79D71B4CB0A89 % 2**64) >> 58] = _k

#: Rounds of relaxing and tightening at a node, and the smoothing of the hinge that they start from.
ROUNDS, SMOOTHING = 2, 0.1
#: A node with at most this many free points branches on a point.
BY_POINTS = 1

# Why `explore` returned.
BUDGET, DONE, GROW, CANDIDATE, LEAF = 0, 1, 2, 3, 4
#: `Pool.now`: open nodes on the heap, free records and pages, the node in hand (-1: none), counts of nodes, relaxations and
#: Newton steps, the next node's number, whether memory is short, the log's end, points of all nodes, whether a candidate waits.
NOW = integers_and_floats(
    "waiting records pages current nodes relaxations newton_steps next_id frugal log_at points candidate", ""
)


class Data(NamedTuple):
    """The reduced problem as the kernels read it."""

    rows: Any  #: (n, p) relaxed rows g_i
    weights: Any  #: (n,) λ_i
    norms: Any  #: (n,) ||g_i||, rounded up
    positive: Any  #: (n,) a guess of which rows point opposite ways: pairs are looked for across it
    free: bool  #: the last coordinate is a free intercept
    unit: float  #: size of the objective's steps: penalties and stopping rules are relative to it


class Pool(NamedTuple):
    """Every array of the search: open nodes by record and page, so a run stops and resumes anywhere.

    A *record* is a branched node: its box, its branching, the points that its box leaves undecided (in linked pages of
    `PAGE`). An open node is a record and a side, ``2 * record + side``.
    """

    lo: Any
    hi: Any
    w: Any
    base: Any
    split: Any  #: coordinate, or -1 - (position of the point) when the branching is on z
    mid: Any
    page: Any
    count: Any
    refs: Any
    key: Any  #: (records, 2): proved lower bound of either side
    ident: Any  #: number of the branched node in the proof log
    free_records: Any
    heap: Any
    point: Any  #: (pages, PAGE)
    lower: Any
    state: Any
    link: Any
    free_pages: Any
    now: Any  #: a structured scalar of type `NOW`
    found: Any  #: a candidate w (and, for LEAF, the states of all points in ``leaf``)
    leaf: Any
    log: Any  #: float64 buffer of the proof log, or empty


class Node(NamedTuple):
    """The node in hand: its box and the points that the box leaves undecided."""

    lo: Any  #: (p,)
    hi: Any  #: (p,)
    w: Any  #: (p,) where the relaxation starts, and its solution
    idx: Any  #: (n,) the points, the first m of these arrays
    z: Any  #: (n,) FREE, KEPT or VIOLATED
    l: Any  #: (n,) l_i
    G: Any  #: (p, n) their rows, by column
    norm: Any  #: (n,) ||g_i||, rounded up
    lam: Any  #: (n,) λ_i
    alpha: Any  #: (n,) α_i of the last round


class Relaxation(NamedTuple):
    """min over the box of ||w||² + q'w + const + Σ_i φ_i(b_i - g_i'w), φ_i' = clip(h_i t, 0, cap_i), and its solution."""

    rows: Any  #: (p, n) by column, those of violated points with the sign turned
    b: Any  #: (n,)
    cap: Any  #: (n,)
    h: Any  #: (n,)
    q: Any  #: (p,)
    alpha: Any  #: (n,)
    u: Any  #: (n,) margins at w
    curved: Any  #: (n,) h_i where φ_i is curved
    s: Any  #: (p,) Σ α_i g_i - q
    c: Any  #: (p,) clip(s/2, lo, hi)
    ds: Any  #: (p,) bound on the rounding error of s
    left: Any  #: (n,) ρ_i, what the pairs leave of λ_i, by the node's position
    position: Any  #: (n,) the node's position of each row
    work: Any  #: (3 + 2p, p) and
    spare: Any  #: (3, n) room


@_njit
def empty_relaxation(n: int, p: int) -> Any:
    """Room for n points in p coordinates."""
    return Relaxation(
        np.empty((p, n)), np.empty(n), np.empty(n), np.empty(n), np.empty(p), np.empty(n), np.empty(n), np.empty(n), np.empty(p),
        np.empty(p), np.empty(p), np.empty(n), np.empty(n, np.int64), np.empty((3 + 2 * p, max(p, 1))), np.empty((3, n)),
    )


@_njit
def empty_node(n: int, p: int) -> Any:
    """Room for n points in p coordinates."""
    i = np.int64
    return Node(
        np.empty(p), np.empty(p), np.empty(p), np.empty(n, i), np.empty(n, i), np.empty(n), np.empty((p, n)), np.empty(n),
        np.empty(n), np.zeros(n),
    )


@_inner
def _solve(H: Any, g: Any, on: Any, d: Any, L: Any, p: int) -> None:
    """d = -H⁻¹g on the coordinates that are ``on`` (Cholesky with a floor on the pivots), 0 elsewhere."""
    for j in range(p):
        if not on[j]:
            d[j] = 0.0
            continue
        for i in range(j, p):
            if not on[i]:
                continue
            t = H[i, j]
            for k in range(j):
                if on[k]:
                    t -= L[i, k] * L[j, k]
            if i == j:
                L[j, j] = math.sqrt(max(t, 1e-14 * H[j, j]))
            else:
                L[i, j] = t / L[j, j]
        t = -g[j]
        for k in range(j):
            if on[k]:
                t -= L[j, k] * d[k]
        d[j] = t / L[j, j]
    for j in range(p - 1, -1, -1):
        if not on[j]:
            continue
        t = d[j]
        for k in range(j + 1, p):
            if on[k]:
                t -= L[k, j] * d[k]
        d[j] = t / L[j, j]


@_inner
def _margins(G: Any, m: int, w: Any, u: Any) -> None:
    p = w.size
    w0 = w[0]
    for i in range(m):
        u[i] = w0 * G[0, i]
    for j in range(1, p):
        wj = w[j]
        for i in range(m):
            u[i] += wj * G[j, i]


@_inner
def _value(b: Any, cap: Any, h: Any, m: int, u: Any, q: Any, w: Any) -> float:
    """Smoothed objective at w, whose margins are u (constant left out)."""
    F = 0.0
    for i in range(m):
        t = b[i] - u[i]
        a = min(max(h[i] * t, 0.0), cap[i])
        F += a * (t - 0.5 * a / h[i])
    for j in range(w.size):
        F += w[j] * (w[j] + q[j])
    return F


@_njit
def newton(
    R: Relaxation, m: int, const: float, lo: Any, hi: Any, w: Any, cut: float, stop: float
) -> tuple[float, int]:
    """Projected semismooth Newton on the smoothed relaxation of m points; fills α, s, c and returns (D, iterations).

    min over lo ≤ w ≤ hi of ||w||² + q'w + const + Σ_i φ_i(b_i - g_i'w), φ_i' = clip(h_i t, 0, cap_i). Stops where the
    Newton decrement is below ``stop`` or D ≥ ``cut``: D is a bound at every iterate.
    """
    p = w.size
    G, b, cap, h, q, u, hh, s, c = R.rows, R.b, R.cap, R.h, R.q, R.u, R.curved, R.s, R.c
    al, ws = R.alpha, R.work
    g, d, wt = ws[0], ws[1], ws[2]
    H, L = ws[3 : 3 + p], ws[3 + p : 3 + 2 * p]
    on = np.empty(p, np.bool_)
    for j in range(p):
        w[j] = min(max(w[j], lo[j]), hi[j])
    _margins(G, m, w, u)
    F = _value(b, cap, h, m, u, q, w)
    D = -np.inf
    it = 0
    while True:
        ab = 0.0
        for i in range(m):
            a = h[i] * (b[i] - u[i])
            hh[i] = h[i] if a > 0.0 and a < cap[i] else 0.0
            a = min(max(a, 0.0), cap[i])
            al[i] = a
            ab += a * b[i]
        D = const + ab
        for j in range(p):
            r = 0.0
            for i in range(m):
                r += al[i] * G[j, i]
            s[j] = r - q[j]
            g[j] = 2.0 * w[j] - s[j]
            c[j] = min(max(0.5 * s[j], lo[j]), hi[j])
            D += c[j] * (c[j] - s[j])
            on[j] = not ((w[j] <= lo[j] and g[j] > 0.0) or (w[j] >= hi[j] and g[j] < 0.0))
        if cut <= D or it >= 40:
            break
        for j in range(p):
            if not on[j]:
                continue
            for k in range(j + 1):
                r = 0.0
                for i in range(m):
                    r += hh[i] * G[j, i] * G[k, i]
                H[j, k] = r
            H[j, j] += 2.0
        _solve(H, g, on, d, L, p)
        slope = 0.0
        for j in range(p):
            slope += g[j] * d[j]
        if -slope <= stop:
            break
        it += 1
        step = 1.0
        for _ in range(25):
            first = 0.0
            for j in range(p):
                wt[j] = min(max(w[j] + step * d[j], lo[j]), hi[j])
                first += g[j] * (wt[j] - w[j])
            _margins(G, m, wt, u)
            Ft = _value(b, cap, h, m, u, q, wt)
            if Ft <= F + 0.05 * first:
                break
            curve = Ft - F - first
            step *= min(max(-0.5 * first / curve, 0.1), 0.7) if curve > 0.0 else 0.5
        if Ft >= F:
            _margins(G, m, w, u)
            break
        F = Ft
        for j in range(p):
            w[j] = wt[j]
    return D, it


@_inner
def rounding(R: Relaxation, m: int, const: float) -> float:
    """A bound on the rounding error of D; ``ds`` receives one on each |s_j|.

    Sums of k terms in any order are off by at most k·EPS·Σ|terms| to first order; the factor 4 covers the rest.
    """
    G, b, q, al, s, c, ds = R.rows, R.b, R.q, R.alpha, R.s, R.c, R.ds
    p = c.size
    e = 4.0 * EPS * (m + 8)
    total = abs(const)
    slack = 0.0
    for i in range(m):
        total += al[i] * abs(b[i])
    for j in range(p):
        r = abs(q[j])
        for i in range(m):
            r += al[i] * abs(G[j, i])
        ds[j] = e * r
        slack += ds[j] * (abs(c[j]) + ds[j])
        total += abs(c[j]) * (abs(c[j]) + abs(s[j]))
    return 4.0 * EPS * (m + 2 * p + 8) * total + slack


class Pairs(NamedTuple):
    """Room for the pairing of a node's points."""

    side: Any  #: (2, n) the two sides by falling margin
    adjacent: Any  #: (n, words) bits
    seen: Any  #: (3, words) columns: free, without a way to a free one, met
    match: Any  #: (2, n) a row's column or -1, a column's row
    parent: Any  #: (n,) from which row a column was met
    queue: Any  #: (n,)
    scaled: Any  #: (p, 64 words) columns times the box's half-widths, float32
    work: Any  #: (3, 64 words), float32
    points: Any  #: (n, 2) the pairs found
    price: Any  #: (n,) and what each is paid


@_njit
def empty_pairs(n: int, p: int) -> Any:
    """Room for n points in p coordinates."""
    words = (min(n, WIDEST) >> 6) + 1
    i = np.int64
    return Pairs(
        np.empty((2, n), i), np.empty((min(n, WIDEST), words), np.uint64), np.empty((3, words), np.uint64), np.empty((2, n), i),
        np.empty(n, i), np.empty(n, i), np.empty((p, 64 * words), np.float32), np.empty((3, 64 * words), np.float32),
        np.empty((n, 2), i), np.empty(n),
    )


@_inner
def _lowest(x: Any) -> int:
    """Position of the lowest set bit."""
    return int(_BIT[((x & (~x + np.uint64(1))) * _DE_BRUIJN) >> np.uint64(58)])


@_inner
def _by_falling(key: Any, m: int, order: Any) -> None:
    """Positions 0 .. m - 1 by falling key (Shell's sort: NumPy's takes seconds to compile)."""
    gap = 1
    for i in range(m):
        order[i] = i
    while gap < m // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, m):
            item = order[i]
            k = i
            while k >= gap and key[order[k - gap]] < key[item]:
                order[k] = order[k - gap]
                k -= gap
            order[k] = item
        gap //= 3


@_inner
def _side(data: Data, idx: Any, m: int, order: Any, u: Any, left: Any, env: Any, positive: bool, side: Any) -> tuple[int, int]:
    """Points of one side that a pair can gain from, by falling margin: from where to where in ``side``.

    Of very many those whose margin is nearest to 1.
    """
    count = above = 0
    for t in range(m):
        i = order[t]
        if data.positive[idx[i]] == positive and left[i] > 0.0 and env[i] < 1.0:
            side[count] = i
            count += 1
            above += u[i] >= 1.0
    first = max(min(above - WIDEST // 2, count - WIDEST), 0)
    return first, min(first + WIDEST, count)


@_njit
def _edges(G: Any, rows: Any, columns: Any, most: Any, env: Any, half: Any, P: Pairs) -> None:
    """Bit k of ``adjacent[r]``: rows[r] and columns[k] cannot both be kept in the box, max (g_i + g_j)'w < 2, and it pays.

    ``most`` is g_i'mid - 1 with an allowance for the rounding of all that follows, which is in single precision.
    """
    p, nr, nc = half.size, rows.size, columns.size
    M, sums, envs, acc = P.scaled, P.work[0], P.work[1], P.work[2]
    words = (nc + 63) >> 6
    for k in range(nc, words << 6):
        sums[k], envs[k] = np.inf, 0.0  # with -∞ of a row not a number: no pair either
        for c in range(p):
            M[c, k] = 0.0
    for k in range(nc):
        j = columns[k]
        sums[k], envs[k] = most[j], env[j]
        for c in range(p):
            M[c, k] = G[c, j] * half[c]
    for r in range(nr):
        i = rows[r]
        base, room = np.float32(most[i]), np.float32(1.0 - env[i])
        for k in range(words << 6):
            acc[k] = base + sums[k]
        c = 0  # three coordinates in a pass: the loop waits for ``acc``, not for the arithmetic
        while c + 2 < p:
            x, y, z = np.float32(G[c, i] * half[c]), np.float32(G[c + 1, i] * half[c + 1]), np.float32(G[c + 2, i] * half[c + 2])
            for k in range(words << 6):
                acc[k] += abs(x + M[c, k]) + abs(y + M[c + 1, k]) + abs(z + M[c + 2, k])
            c += 3
        while c < p:
            x = np.float32(G[c, i] * half[c])
            for k in range(words << 6):
                acc[k] += abs(x + M[c, k])
            c += 1
        for k in range(words << 6):
            acc[k] = max(acc[k], envs[k] - room)
        for q in range(words):
            word = acc[q << 6 : (q << 6) + 64]
            bits = np.uint64(0)
            for k in range(64):
                bits |= np.uint64(word[k] < SINGLE_ZERO) << np.uint64(k)
            P.adjacent[r, q] = bits


@_inner
def _augment(P: Pairs, root: int, words: int) -> bool:
    """Match row ``root``, moving others along an alternating path; columns that lead nowhere stay out of later searches."""
    free, dead, seen = P.seen[0], P.seen[1], P.seen[2]
    row_of, column_of = P.match[1], P.match[0]
    for q in range(words):
        seen[q] = dead[q]
    P.queue[0] = root
    at, end = 0, 1
    while at < end:
        r = P.queue[at]
        at += 1
        for q in range(words):
            bits = P.adjacent[r, q] & ~seen[q]
            if bits == 0:
                continue
            if bits & free[q] != 0:
                k = (q << 6) + _lowest(bits & free[q])
                free[q] &= ~(np.uint64(1) << np.uint64(k & 63))
                while True:
                    before = column_of[r]
                    column_of[r], row_of[k] = k, r
                    if r == root:
                        return True
                    k = before
                    r = P.parent[k]
            seen[q] |= bits
            while bits != 0:
                k = (q << 6) + _lowest(bits)
                bits &= bits - np.uint64(1)
                P.parent[k] = r
                P.queue[end] = row_of[k]
                end += 1
    for q in range(words):
        dead[q] = seen[q]
    return False


@_inner
def _match(P: Pairs, rows: Any, columns: Any, left: Any) -> None:
    """A largest matching between rows and columns that still have weight; ``match[0, r]`` is a row's column or -1."""
    words = (columns.size + 63) >> 6
    free, dead = P.seen[0], P.seen[1]
    for q in range(words):
        free[q] = dead[q] = np.uint64(0)
    for k in range(columns.size):
        bit = np.uint64(1) << np.uint64(k & 63)
        if left[columns[k]] > 0.0:
            free[k >> 6] |= bit
        else:
            dead[k >> 6] |= bit
    for r in range(rows.size):
        P.match[0, r] = -1
        if not left[rows[r]] > 0.0:
            continue
        for q in range(words):
            bits = P.adjacent[r, q] & free[q]
            if bits != 0:
                k = (q << 6) + _lowest(bits)
                free[q] &= ~(np.uint64(1) << np.uint64(k & 63))
                P.match[0, r], P.match[1, k] = k, r
                break
    for r in range(rows.size):
        if P.match[0, r] >= 0 or not left[rows[r]] > 0.0:
            continue
        for q in range(words):
            if P.adjacent[r, q] & ~dead[q] != 0:
                _augment(P, r, words)
                break


@_inner
def _pay(P: Pairs, count: int, i: int, j: int, left: Any) -> float:
    """Record a pair and take its price from both points."""
    price = min(left[i], left[j])
    P.points[count, 0], P.points[count, 1], P.price[count] = i, j, price
    for k in (i, j):
        left[k] = 0.0 if left[k] == price else (left[k] - price) * (1.0 - 4.0 * EPS)
    return float(price)


@_inner
def _settle_kept(P: Pairs, rows: Any, columns: Any, z: Any, left: Any) -> tuple[float, int]:
    """Points that a kept one excludes become violated: (their weight, how many); (∞, 1) where it is a kept one too."""
    count, total, kept = 0, 0.0, 0
    for k in range(columns.size):
        if z[columns[k]] == KEPT:
            P.queue[kept] = k
            kept += 1
    for r in range(rows.size):
        whole = z[rows[r]] == KEPT
        for t in range(columns.size if whole else kept):
            k = t if whole else P.queue[t]
            i, j = rows[r], columns[k]
            if P.adjacent[r, k >> 6] >> np.uint64(k & 63) & np.uint64(1) == 0:
                continue
            if z[i] == z[j]:
                P.points[0, 0], P.points[0, 1], P.price[0] = i, j, 0.0
                return np.inf, 1
            free = j if z[i] == KEPT else i
            if z[free] == FREE:
                P.points[count, 0], P.points[count, 1], P.price[count] = i, j, left[free]
                total += left[free]
                count += 1
                z[free], left[free] = VIOLATED, 0.0
    return total, count


@_njit
def pair_up(data: Data, node: Node, m: int, R: Relaxation, P: Pairs) -> tuple[float, int]:
    """Pack pairs of points that no w of the box keeps both: (what they cost at least, how many), (∞, 1) for two kept ones.

    Every pair is paid from what is ``left`` of its points' weights; the rest stays in the relaxation. The partner of a kept
    point becomes violated. A point whose hinge at w is as good as its share of a pair is not paired.

    Single precision is enough for the ranges: a sum of p + 4 terms, in any order, is off by at most (p + 6)·SINGLE·Σ|terms|
    with the rounding of each term, and the terms are each point's own |g_i'mid - 1| and |g_ij| half_j; twice that is
    allowed. Underflow is far below that: near g_i'mid = 1 the allowance for double precision is at least 1e-15. A sum that
    is not a number is no pair.
    """
    lo, hi, w, idx, z, l, G, left = node.lo, node.hi, node.w, node.idx, node.z, node.l, node.G, R.left
    p = w.size
    u, most, env, err = R.u, R.spare[0], R.spare[1], R.spare[2]
    mid, half, wide = R.work[0], R.work[1], R.work[2]
    _margins(G, m, w, u)
    for j in range(p):
        mid[j], half[j] = 0.5 * (lo[j] + hi[j]), 0.5 * (hi[j] - lo[j])
        wide[j] = 8.0 * EPS * (p + 4) * max(abs(lo[j]), abs(hi[j])) + 2.0 * SINGLE * (p + 6) * half[j]
    _margins(G, m, mid, most)
    for i in range(m):
        err[i] = 2.0 * SINGLE * (p + 6) * abs(most[i] - 1.0)
    for j in range(p):
        for i in range(m):
            err[i] += abs(G[j, i]) * wide[j]
    for i in range(m):
        most[i] = (most[i] - 1.0) + err[i]
        left[i] = data.weights[idx[i]] if z[i] == FREE else np.inf if z[i] == KEPT else 0.0
        env[i] = max(1.0 - u[i], 0.0) / max(1.0 - l[i], 1e-9) if z[i] == FREE else 0.0
    _by_falling(u, m, P.queue)
    rows = columns = P.side[0]
    for side in range(2):
        first, end = _side(data, idx, m, P.queue, u, left, env, side == 1, P.side[side])
        rows, columns = columns, P.side[side, first:end]
    _edges(G, rows, columns, most, env, half, P)
    total, count = _settle_kept(P, rows, columns, z, left)
    if total == np.inf:
        return total, count
    for i in range(m):
        left[i] = 0.0 if z[i] == KEPT else left[i]
    for _ in range(REPEATS):
        _match(P, rows, columns, left)
        more = False
        for r in range(rows.size):
            if P.match[0, r] >= 0 and count < P.price.size:
                i, j = rows[r], columns[P.match[0, r]]
                total += _pay(P, count, i, j, left)
                count += 1
                more = more or left[i] > 0.0 or left[j] > 0.0
        if not more:
            break
    return total, count


@_inner
def _log_multipliers(log: Any, now: Any, ident: int, idx: Any, z: Any, al: Any, m: int) -> None:
    """One round in the proof log: 1, node, count, then (point, state, α) for every α > 0."""
    at = now.log_at
    log[at], log[at + 1] = 1.0, ident
    k = at + 3
    for i in range(m):
        if al[i] > 0.0:
            log[k], log[k + 1], log[k + 2] = idx[i], z[i], al[i]
            k += 3
    log[at + 2] = (k - at - 3) // 3
    now.log_at = k


@_inner
def _log_pairs(log: Any, now: Any, ident: int, idx: Any, P: Pairs, count: int) -> None:
    """The pairs of the round that follows: 3, node, count, then (point, point, price)."""
    at = now.log_at
    log[at], log[at + 1], log[at + 2] = 3.0, ident, count
    for k in range(count):
        log[at + 3 + 3 * k], log[at + 4 + 3 * k] = idx[P.points[k, 0]], idx[P.points[k, 1]]
        log[at + 5 + 3 * k] = P.price[k]
    now.log_at = at + 3 + 3 * count


@_inner
def shrink_box(lo: Any, hi: Any, c: Any, s: Any, ds: Any, R2: float, ec: float) -> bool:
    """Cut the box to {w : Σ_j (w_j - c_j)² + slope_j |w_j - c_j| ≤ R2}, coordinate by coordinate; False where empty."""
    R = math.sqrt(R2) * (1.0 + 1e-15) + ec
    for j in range(c.size):
        pad = 1e-14 * (abs(c[j]) + R) + ec
        up = down = R + pad
        rise = abs(2.0 * c[j] - s[j]) - ds[j]
        if rise > 0.0:
            x = 2.0 * R2 / (rise + math.sqrt(rise * rise + 4.0 * R2)) * (1.0 + 1e-14) + pad
            if c[j] <= lo[j]:
                up = min(up, x)
            else:
                down = min(down, x)
        lo[j] = max(lo[j], c[j] - down)
        hi[j] = min(hi[j], c[j] + up)
        if lo[j] > hi[j]:
            return False
    return True


@_inner
def fix_points(node: Node, m: int, R: Relaxation, D: float, cut: float, ec: float) -> float:
    """Decide what the ball and the box decide; returns how much changed, or -1 where nothing remains.

    With r = cut - D and u = g_i'c: z_i = 0 needs (1 - u)²/||g_i||² < r; z_i = 1 needs β_i + (u' - 1)²/||g_i||² < r with
    β_i = λ_i - α_i(1 - u) - α_i²||g_i||²/4, u' = u - α_i||g_i||²/2, and then g_i'w > u' - ||g_i||√(r - β_i). Every test
    moves by its own rounding error to the safe side: ``err`` bounds that of u.
    """
    G, z, l, norm, al, lo, hi, lam, c = node.G, node.z, node.l, node.norm, node.alpha, node.lo, node.hi, R.left, R.c
    p = c.size
    change = 0.0
    r = (cut - D) * (1.0 + 1e-14)
    for i in range(m):
        if z[i] != FREE:
            continue
        u = low = high = size = 0.0
        for j in range(p):
            a = G[j, i]
            u += a * c[j]
            if a > 0.0:
                low += a * lo[j]
                high += a * hi[j]
            else:
                low += a * hi[j]
                high += a * lo[j]
            size += abs(a) * max(abs(lo[j]), abs(hi[j]))
        err = norm[i] * ec + 4.0 * EPS * (p + 2) * size
        low -= err
        high += err
        t = max(1.0 - u - err, 0.0) / norm[i]
        kept_out = high < 1.0 or t * t * (1.0 - 1e-15) >= r
        a = al[i]
        turn = u - 0.5 * a * norm[i] * norm[i]
        beta = lam[i] - a * (1.0 - u) - 0.25 * (a * norm[i]) ** 2
        beta -= a * err + 8.0 * EPS * (lam[i] + a * (1.0 + abs(u)) + (a * norm[i]) ** 2)
        off = err + 8.0 * EPS * (abs(u) + a * norm[i] * norm[i])
        t = max(turn - 1.0 - off, 0.0) / norm[i]
        violated_out = low >= 1.0 or beta + t * t * (1.0 - 1e-15) >= r
        if kept_out and violated_out:
            return -1.0
        if kept_out:
            z[i] = VIOLATED
            change += 0.3
        elif violated_out:
            z[i] = KEPT
            change += 0.3
        else:
            new = max(low, turn - norm[i] * math.sqrt(max(r - beta, 0.0)) * (1.0 + 1e-14) - off)
            if new > l[i]:
                change += (new - l[i]) / (1.0 - l[i])
                l[i] = new
                if new >= 1.0:
                    z[i] = KEPT
    return change


@_inner
def tighten(
    data: Data, node: Node, m: int, R: Relaxation, P: Pairs, base: float, cut: float, now: Any, log: Any, ident: int
) -> float:
    """Relax and tighten in turn. Returns a proved lower bound of the node (∞ where the node is empty)."""
    lo, hi, w, idx, z, l, G, al = node.lo, node.hi, node.w, node.idx, node.z, node.l, node.G, node.alpha
    A, b, cap, h, q, left, act = R.rows, R.b, R.cap, R.h, R.q, R.left, R.position
    p = w.size
    D = -np.inf
    for turn in range(ROUNDS):
        for j in range(p):
            w[j] = min(max(w[j], lo[j]), hi[j])
        const = base
        for i in range(m):
            if z[i] == VIOLATED:
                const += data.weights[idx[i]]
        loss = lo[p - 1] * hi[p - 1] if data.free else 0.0
        paid, count = pair_up(data, node, m, R, P)
        if log.size > 0:
            _log_pairs(log, now, ident, idx, P, count)
        if paid == np.inf:
            return np.inf
        const += paid + loss
        k: Any = np.int64(0)  # a literal 0 would compile `newton` once more
        for i in range(m):
            al[i] = 0.0
            if z[i] == FREE and left[i] <= 0.0:
                continue
            act[k] = i
            b[k] = -1.0 if z[i] == VIOLATED else 1.0
            for j in range(p):
                A[j, k] = b[k] * G[j, i]
            k += 1
        for j in range(p):
            q[j] = 0.0
        if data.free:
            q[p - 1] = -(lo[p - 1] + hi[p - 1])
        width = SMOOTHING
        while True:
            for t in range(k):
                i = act[t]
                if z[i] == FREE:
                    C = max(1.0 - l[i], 1e-9)
                    cap[t] = left[i] / C * (1.0 - 4.0 * EPS)
                    h[t] = cap[t] / (C * width)
                else:
                    cap[t] = np.inf
                    h[t] = data.unit / (width * width)
            new, its = newton(R, k, const, lo, hi, w, cut, 0.02 * width * data.unit)
            now.relaxations += 1
            now.newton_steps += its
            new -= rounding(R, k, const)
            slack = 0.0
            for t in range(k):
                short, a = max(b[t] - R.u[t], 0.0), R.alpha[t]
                slack += cap[t] * short - a * short if z[act[t]] == FREE else a * short
            if new >= cut or new + slack < cut or width < 1e-6:
                break
            width *= 0.1
        for t in range(k):
            al[act[t]] = R.alpha[t]
        if log.size > 0:
            _log_multipliers(log, now, ident, idx, z, al, m)
        if new >= cut:
            return new
        last = turn > 0 and new - D < 0.02 * (cut - new)
        D = max(new, D)
        ec = 0.0
        for j in range(p):
            ec += R.ds[j]
        ec += 1e-15 * math.sqrt(cut)
        if not shrink_box(lo, hi, R.c, R.s, R.ds, cut - new, ec):
            return np.inf
        change = fix_points(node, m, R, new, cut, ec)
        if change < 0.0:
            return np.inf
        if last or change < 0.5:
            break
    return D


@_inner
def _scaled(data: Data, w: Any, total: float, margin: Any, order: Any) -> tuple[float, float]:
    """Best multiple t of w: (objective, t), every crossing of a margin tried."""
    rows, weights = data.rows, data.weights
    n, p = rows.shape
    count: Any = np.int64(0)
    norm = 0.0
    for j in range(p - 1 if data.free else p):
        norm += w[j] * w[j]
    for i in range(n):
        u = 0.0
        for j in range(p):
            u += rows[i, j] * w[j]
        if u > 1e-9:
            margin[count] = u
            margin[n + count] = weights[i]
            count += 1
    _by_falling(margin, count, order)
    best, scale = total, 0.0
    cost = total
    for k in range(count):
        i = order[k]
        cost -= margin[n + i]
        t = 1.0 / margin[i]
        value = t * t * norm + cost
        if value < best:
            best, scale = value, t
    return best, scale


@_inner
def _push(heap: Any, size: int, key: Any, code: int) -> None:
    k = size
    x = key[code >> 1, code & 1]
    while k > 0:
        up = (k - 1) >> 1
        if key[heap[up] >> 1, heap[up] & 1] <= x:
            break
        heap[k] = heap[up]
        k = up
    heap[k] = code


@_inner
def _pop(heap: Any, size: int, key: Any) -> Any:
    """Remove the open node with the least key from a heap of ``size``."""
    top = heap[0]
    code = heap[size - 1]
    size -= 1
    x = key[code >> 1, code & 1]
    k = 0
    while True:
        c = 2 * k + 1
        if c >= size:
            break
        if c + 1 < size and key[heap[c + 1] >> 1, heap[c + 1] & 1] < key[heap[c] >> 1, heap[c] & 1]:
            c += 1
        if key[heap[c] >> 1, heap[c] & 1] >= x:
            break
        heap[k] = heap[c]
        k = c
    heap[k] = code
    return np.int64(top)


@_inner
def _load(pool: Pool, code: int, node: Node) -> tuple[float, int]:
    """Unpack an open node and release its share of the record: (base, number of points)."""
    lo, hi, w, idx, z, l = node.lo, node.hi, node.w, node.idx, node.z, node.l
    r, side = code >> 1, code & 1
    p = lo.size
    for j in range(p):
        lo[j], hi[j], w[j] = pool.lo[r, j], pool.hi[r, j], pool.w[r, j]
    m = pool.count[r]
    page = pool.page[r]
    for i in range(m):
        k = i % PAGE
        if i > 0 and k == 0:
            page = pool.link[page]
        idx[i], z[i], l[i] = pool.point[page, k], pool.state[page, k], pool.lower[page, k]
    split = pool.split[r]
    if split < 0:
        z[-1 - split] = side
    elif side == 0:
        hi[split] = min(hi[split], pool.mid[r])
    else:
        lo[split] = max(lo[split], pool.mid[r])
    pool.refs[r] -= 1
    if pool.refs[r] == 0:
        page = pool.page[r]
        while page >= 0:
            pool.free_pages[pool.now.pages] = page
            pool.now.pages += 1
            page = pool.link[page]
        pool.free_records[pool.now.records] = r
        pool.now.records += 1
    return pool.base[r], m


@_inner
def _store(pool: Pool, node: Node, m: int, base: float) -> int:
    """Make a record of a node that is about to be branched."""
    lo, hi, w, idx, z, l = node.lo, node.hi, node.w, node.idx, node.z, node.l
    now = pool.now
    now.records -= 1
    r = pool.free_records[now.records]
    for j in range(lo.size):
        pool.lo[r, j], pool.hi[r, j], pool.w[r, j] = lo[j], hi[j], w[j]
    pool.base[r], pool.count[r], pool.refs[r], pool.page[r] = base, m, 2, -1
    page = -1
    for i in range(m):
        k = i % PAGE
        if k == 0:
            now.pages -= 1
            new = pool.free_pages[now.pages]
            pool.link[new] = -1
            if page < 0:
                pool.page[r] = new
            else:
                pool.link[page] = new
            page = new
        pool.point[page, k], pool.state[page, k], pool.lower[page, k] = idx[i], z[i], l[i]
    return r


@_inner
def _gather(data: Data, node: Node, m: int, base: float) -> tuple[float, int]:
    """Drop the points that the box decides; (base, points left), or (∞, 0) where a kept point cannot be kept."""
    lo, hi, idx, z, l, G, lam, norm = node.lo, node.hi, node.idx, node.z, node.l, node.G, node.lam, node.norm
    p = lo.size
    k = 0
    for i in range(m):
        point = idx[i]
        low = high = size = 0.0
        for j in range(p):
            a = data.rows[point, j]
            if a > 0.0:
                low += a * lo[j]
                high += a * hi[j]
            else:
                low += a * hi[j]
                high += a * lo[j]
            size += abs(a) * max(abs(lo[j]), abs(hi[j]))
        err = 4.0 * EPS * (p + 2) * size
        low -= err
        high += err
        state, lower = z[i], l[i]
        if state == FREE:
            lower = max(lower, low)
            if high < 1.0:
                state = VIOLATED
            elif lower >= 1.0:
                state = KEPT
        elif state == KEPT and high < 1.0:
            return np.inf, 0
        if state == KEPT and low >= 1.0:
            continue
        if state == VIOLATED and high <= 1.0:
            base += data.weights[point]
            continue
        idx[k], z[k], l[k] = point, state, lower
        lam[k], norm[k] = data.weights[point], data.norms[point]
        for j in range(p):
            G[j, k] = data.rows[point, j]
        k += 1
    return base, k


@_inner
def _branch_coordinate(node: Node, m: int) -> int:
    """The coordinate to halve: the one along which the margin of some free point ranges most."""
    lo, hi, z, G = node.lo, node.hi, node.z, node.G
    best, most = 0, -1.0
    for j in range(lo.size):
        largest = 0.0
        for i in range(m):
            if z[i] == FREE:
                largest = max(largest, abs(G[j, i]))
        if largest * (hi[j] - lo[j]) > most:
            best, most = j, largest * (hi[j] - lo[j])
    return best


@_inner
def _branch_point(node: Node, m: int, c: Any) -> int:
    """The free point with the largest product of the two children's gains."""
    z, lam, norm, G, al = node.z, node.lam, node.norm, node.G, node.alpha
    best, most = -1, -1.0
    for i in range(m):
        if z[i] != FREE:
            continue
        u = 0.0
        for j in range(c.size):
            u += G[j, i] * c[j]
        a, size = al[i], norm[i] * norm[i]
        turn = u - 0.5 * a * size
        kept = max(1.0 - u, 0.0) ** 2 / size
        violated = lam[i] - a * (1.0 - u) - 0.25 * a * a * size + max(turn - 1.0, 0.0) ** 2 / size
        score = max(kept, 1e-3 * lam[i]) * max(violated, 1e-3 * lam[i])
        if score > most:
            best, most = i, score
    return best


@_inner
def _report_leaf(data: Data, pool: Pool, node: Node, m: int, c: Any) -> None:
    """Leave the states of all points of a fully decided node in ``leaf`` and its centre in ``found``."""
    lo, hi, idx, z = node.lo, node.hi, node.idx, node.z
    p = lo.size
    for i in range(data.weights.size):
        low = high = size = 0.0
        for j in range(p):
            a = data.rows[i, j]
            if a > 0.0:
                low += a * lo[j]
                high += a * hi[j]
            else:
                low += a * hi[j]
                high += a * lo[j]
            size += abs(a) * max(abs(lo[j]), abs(hi[j]))
        err = 4.0 * EPS * (p + 2) * size
        pool.leaf[i] = KEPT if low - err >= 1.0 else VIOLATED if high + err < 1.0 else FREE
    for i in range(m):
        pool.leaf[idx[i]] = z[i]
    for j in range(p):
        pool.found[j] = c[j]


@_njit
def explore(data: Data, pool: Pool, cut: float, nodes: int, sample: int, total: float) -> int:
    """Work on at most ``nodes`` nodes that may hold something better than ``cut``; returns why it stopped.

    Best-first from the heap, then a dive: the child that contains the relaxation's minimiser is next, its sibling goes to
    the heap, until the dive ends. Branches on points where at most `BY_POINTS` are free or the box is at the limit of
    floating-point numbers. Every ``sample``-th node scales its minimiser into a candidate. Where memory is short
    (``FRUGAL``) nodes are taken from the heap's end, which is nearly depth-first and keeps the heap as it is.
    """
    n, p = data.rows.shape
    now = pool.now
    node, R, P, margin = empty_node(n, p), empty_relaxation(n, p), empty_pairs(n, p), np.empty(2 * n)
    lo, hi, z, c = node.lo, node.hi, node.z, R.c
    need = n // PAGE + 2
    for _ in range(nodes):
        logged = pool.log.size > 0
        reserve = 1 if now.frugal == 1 else RESERVE
        if now.records < 2 * reserve or now.pages < need * reserve or now.waiting + 2 > pool.heap.size:
            return GROW
        if logged and now.log_at + 6 * (n + 1) * ROUNDS + 32 > pool.log.size:
            return GROW
        code = now.current
        if code < 0:
            if now.waiting == 0 or pool.key[pool.heap[0] >> 1, pool.heap[0] & 1] >= cut:
                return DONE
            if now.frugal == 1:
                code = np.int64(pool.heap[now.waiting - 1])
            else:
                code = _pop(pool.heap, now.waiting, pool.key)
            now.waiting -= 1
            if pool.key[code >> 1, code & 1] >= cut:
                _load(pool, code, node)
                continue
        now.current = -1
        parent, side, D = pool.ident[code >> 1], code & 1, pool.key[code >> 1, code & 1]
        base, m = _load(pool, code, node)
        ident = now.next_id
        now.next_id += 1
        now.nodes += 1
        if logged:
            at = now.log_at
            pool.log[at], pool.log[at + 1], pool.log[at + 2], pool.log[at + 3] = 0.0, ident, parent, side
            now.log_at = at + 4
        base, m = _gather(data, node, m, base)
        if base >= cut:
            continue
        now.points += m
        new = tighten(data, node, m, R, P, base * (1.0 - 4.0 * EPS * n), cut, now, pool.log, ident)
        if new >= cut:
            continue
        D = max(D, new)
        if now.nodes % sample == 0:
            value, scale = _scaled(data, c, total, margin, P.queue)
            if value < pool.found[p]:
                pool.found[p] = value
                for j in range(p):
                    pool.found[j] = scale * c[j]
                now.candidate = 1
        free = 0
        for i in range(m):
            free += z[i] == FREE
        if free == 0:
            _report_leaf(data, pool, node, m, c)
            pool.found[p + 1] = D
            return LEAF
        j = _branch_coordinate(node, m)
        mid = 0.5 * (lo[j] + hi[j])
        tiny = hi[j] - lo[j] <= 1e-9 * (abs(lo[j]) + abs(hi[j]))
        r = _store(pool, node, m, base)
        first = 0
        if free <= BY_POINTS or tiny:
            i = _branch_point(node, m, c)
            pool.split[r] = -1 - i
            u = 0.0
            for k in range(p):
                u += node.G[k, i] * c[k]
            first = 0 if u > 0.5 * (1.0 + node.l[i]) else 1
            name = -1.0 - node.idx[i]
        else:
            pool.split[r], pool.mid[r] = j, mid
            first = 0 if c[j] <= mid else 1
            name = float(j)
        pool.key[r, 0] = pool.key[r, 1] = D
        pool.ident[r] = ident
        if logged:
            at = now.log_at
            pool.log[at], pool.log[at + 1], pool.log[at + 2], pool.log[at + 3] = 2.0, ident, name, mid
            now.log_at = at + 4
        now.current = 2 * r + first
        _push(pool.heap, now.waiting, pool.key, 2 * r + 1 - first)
        now.waiting += 1
        if now.candidate == 1:
            now.candidate = 0
            return CANDIDATE
    return BUDGET


@_njit
def move(data: Data, source: Pool, target: Pool, count: int) -> None:
    """Hand the last ``count`` open nodes of one heap to another pool, which must have room for them."""
    n, p = data.rows.shape
    node = empty_node(n, p)
    for _ in range(count):
        source.now.waiting -= 1
        code: Any = np.int64(source.heap[source.now.waiting])
        key, ident = source.key[code >> 1, code & 1], source.ident[code >> 1]
        base, m = _load(source, code, node)
        r = _store(target, node, m, base)
        target.refs[r], target.split[r], target.mid[r] = 1, 0, node.hi[0]
        target.key[r, 0] = target.key[r, 1] = key
        target.ident[r] = ident
        _push(target.heap, target.now.waiting, target.key, 2 * r)
        target.now.waiting += 1
