"""Smoothed hinge relaxation of a node of `zero-one-bb` and `margin-bb`, a box: Newton's method, and a certified dual bound.

These solvers minimise a norm of w and a piecewise linear loss (such as the 0-1 loss). A node is a box lo ≤ w ≤ hi, and
`BoxRelaxation` states its relaxation. `newton` runs projected semismooth Newton steps and returns a lower bound D of the node.
`rounding_error_bound` bounds the rounding error of D, and `reduced_cost_tightening` shrinks the box by D and a cutoff. Compiled
searches call them at every node.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...interface.numba_flags import by_reference
from . import EPS, entry, inner

#: Largest numbers of Newton steps, and of trial lengths of a step: the bound is valid wherever the method ends.
_MAX_STEPS, _MAX_TRIALS = 40, 25


@by_reference
class BoxRelaxation(NamedTuple):
    """The relaxation min over the box of ||w||² + q'w + const + Σ_i φ_i(b_i - g_i'w), φ_i' = clip(h_i t, 0, cap_i).

    φ_i is the hinge loss cap_i (t)_+ with its kink smoothed from below. The fields are data, solution and work arrays for n
    points in p coordinates; g_i are the columns of ``rows``.
    """

    rows: Any  #: (p, n) the g_i, one a column
    b: Any  #: (n,) thresholds of the margins
    cap: Any  #: (n,) largest slope of each loss φ_i
    h: Any  #: (n,) curvature of each loss φ_i
    q: Any  #: (p,) linear term
    alpha: Any  #: (n,) dual multipliers α_i = φ_i'(b_i - g_i'w)
    u: Any  #: (n,) margins g_i'w
    curved: Any  #: (n,) h_i where φ_i is curved, else 0
    s: Any  #: (p,) Σ α_i g_i - q
    c: Any  #: (p,) clip(s/2, lo, hi)
    ds: Any  #: (p,) bound on the rounding error of s
    left: Any  #: (n,) weights of the node's points less the prices of their pairs (`loops.matching`), by position in the node
    position: Any  #: (n,) position in the node of the point of each row
    g: Any  #: (p,) gradient
    d: Any  #: (p,) Newton step
    trial: Any  #: (p,) trial point
    active: Any  #: (p,) whether a coordinate is free to move
    H: Any  #: (p, p) Newton matrix
    L: Any  #: (p, p) its Cholesky factor
    mid: Any  #: (p,) centre of the box
    half: Any  #: (p,) half-widths of the box
    wide: Any  #: (p,) bounds of the rounding errors of a product with the centre and the half-width, per unit of |g_ij|
    saved: Any  #: (4, p) copies of w, c, s and ds while a pruning test solves the relaxation with larger losses
    # `activity_bounds` writes the last three fields; the pair bounds (see `loops.matching`) use them as buffers
    largest_margin: Any  #: (n,) largest margin over the box
    least_margin: Any  #: (n,) least margin over the box
    margin_size: Any  #: (n,) Σ_j |g_ij| max |w_j| over the box


def empty_relaxation(n: int, p: int) -> BoxRelaxation:
    """Return uninitialised arrays for n points in p coordinates."""
    by_point, by_coordinate = [np.empty(n) for _ in range(9)], [np.empty(p) for _ in range(10)]
    b, cap, h, alpha, u, curved, left, largest_margin, least_margin = by_point
    q, s, c, ds, g, d, trial, mid, half, wide = by_coordinate
    return BoxRelaxation(
        rows=np.empty((p, n)), b=b, cap=cap, h=h, q=q, alpha=alpha, u=u, curved=curved, s=s, c=c, ds=ds, left=left,
        position=np.empty(n, np.int64), g=g, d=d, trial=trial, active=np.empty(p, np.bool_),
        H=np.empty((p, p)), L=np.empty((p, p)),
        mid=mid, half=half, wide=wide, largest_margin=largest_margin, least_margin=least_margin, margin_size=np.empty(n),
        saved=np.empty((4, p)),
    )  # fmt: skip


@inner
def _solve(H: Any, g: Any, active: Any, d: Any, L: Any, p: int) -> None:
    """Compute d = -H⁻¹g on the coordinates ``active`` (Cholesky with a floor on the pivots), 0 elsewhere."""
    for j in range(p):
        if not active[j]:
            d[j] = 0.0
            continue
        for i in range(j, p):
            if not active[i]:
                continue
            t = H[i, j]
            for k in range(j):
                if active[k]:
                    t -= L[i, k] * L[j, k]
            if i == j:
                L[j, j] = math.sqrt(max(t, 1e-14 * H[j, j]))
            else:
                L[i, j] = t / L[j, j]
        t = -g[j]
        for k in range(j):
            if active[k]:
                t -= L[j, k] * d[k]
        d[j] = t / L[j, j]
    for j in range(p - 1, -1, -1):
        if not active[j]:
            continue
        t = d[j]
        for k in range(j + 1, p):
            if active[k]:
                t -= L[k, j] * d[k]
        d[j] = t / L[j, j]


@inner
def margins(G: Any, m: int, w: Any, u: Any) -> None:
    """Write the margins u = G'w of the first m columns of G to ``u``."""
    p = w.size
    w0 = w[0]
    for i in range(m):
        u[i] = w0 * G[0, i]
    for j in range(1, p):
        wj = w[j]
        for i in range(m):
            u[i] += wj * G[j, i]


@inner
def activity_bounds(G: Any, m: int, lo: Any, hi: Any, R: BoxRelaxation) -> None:
    """Write the least and largest values over the box of the first m margins, and their sizes, to ``R``.

    The rounding errors of ``R.least_margin`` and ``R.largest_margin`` follow from ``R.margin_size``, Σ_j |g_ij| max |w_j|.
    """
    minimum, maximum, size = R.least_margin, R.largest_margin, R.margin_size
    for i in range(m):
        minimum[i] = maximum[i] = size[i] = 0.0
    for j in range(lo.size):
        below, above, large = lo[j], hi[j], max(abs(lo[j]), abs(hi[j]))
        for i in range(m):
            a = G[j, i]
            x, y = a * below, a * above
            minimum[i] += min(x, y)
            maximum[i] += max(x, y)
            size[i] += abs(a) * large


@inner
def _value(b: Any, cap: Any, h: Any, m: int, u: Any, q: Any, w: Any) -> float:
    """Return the smoothed objective at w, whose margins are u, without the constant."""
    F = 0.0
    for i in range(m):
        t = b[i] - u[i]
        a = min(max(h[i] * t, 0.0), cap[i])
        F += a * (t - 0.5 * a / h[i])
    for j in range(w.size):
        F += w[j] * (w[j] + q[j])
    return F


# exempt (length): compiled as one function; a call would pass array by array
@entry
def newton(R: BoxRelaxation, m: int, const: float, lo: Any, hi: Any, w: Any, cut: float, stop: float) -> tuple[float, int]:
    """Minimise the smoothed relaxation of m points by projected semismooth Newton steps; return (bound D, iterations).

    The problem is that of `BoxRelaxation`, with the constant ``const``. The iteration stops if the Newton decrement is at most
    ``stop``, D ≥ ``cut``, no step descends, or after `_MAX_STEPS` steps. D = const + Σ α_i b_i + Σ_j c_j (c_j - s_j), apart from
    `rounding_error_bound`, is at every iterate a lower bound of the problem with the hinge losses cap_i (b_i - g_i'w)_+ in place
    of φ_i. ``w`` is changed in place, and α, s and c are written to ``R``.
    """
    p = w.size
    G, b, cap, h, q, u, hh, s, c = R.rows, R.b, R.cap, R.h, R.q, R.u, R.curved, R.s, R.c
    al, g, d, wt, H, L = R.alpha, R.g, R.d, R.trial, R.H, R.L
    active = R.active
    for j in range(p):
        w[j] = min(max(w[j], lo[j]), hi[j])
    margins(G, m, w, u)
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
            active[j] = not ((w[j] <= lo[j] and g[j] > 0.0) or (w[j] >= hi[j] and g[j] < 0.0))
        if cut <= D or it >= _MAX_STEPS:
            break
        for j in range(p):
            if not active[j]:
                continue
            for k in range(j + 1):
                r = 0.0
                for i in range(m):
                    r += hh[i] * G[j, i] * G[k, i]
                H[j, k] = r
            H[j, j] += 2.0
        _solve(H, g, active, d, L, p)
        slope = 0.0
        for j in range(p):
            slope += g[j] * d[j]
        if -slope <= stop:
            break
        it += 1
        step = 1.0
        for _ in range(_MAX_TRIALS):
            decrease = 0.0
            for j in range(p):
                wt[j] = min(max(w[j] + step * d[j], lo[j]), hi[j])
                decrease += g[j] * (wt[j] - w[j])
            margins(G, m, wt, u)
            Ft = _value(b, cap, h, m, u, q, wt)
            if Ft <= F + 0.05 * decrease:
                break
            curvature = Ft - F - decrease
            step *= min(max(-0.5 * decrease / curvature, 0.1), 0.7) if curvature > 0.0 else 0.5
        if Ft >= F:
            margins(G, m, w, u)
            break
        F = Ft
        for j in range(p):
            w[j] = wt[j]
    return D, it


@inner
def rounding_error_bound(R: BoxRelaxation, m: int, const: float) -> float:
    """Return a bound on the rounding error of `newton`'s D, and write a bound on the error of each s_j to ``R.ds``.

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


@inner
def reduced_cost_tightening(lo: Any, hi: Any, c: Any, s: Any, ds: Any, R2: float, ec: float) -> bool:
    """Tighten the box to {w : Σ_j (w_j - c_j)² + slope_j |w_j - c_j| ≤ R2}, by coordinate; return False if it is empty.

    ``c``, ``s`` and ``ds`` are those of `newton` and `rounding_error_bound`: slope_j is |2c_j - s_j| less the error bound ds_j.
    R2 is the cutoff less the bound D, and ``ec`` a bound on the rounding errors of w_j - c_j.
    """
    R = math.sqrt(R2) * (1.0 + 1e-15) + ec
    for j in range(c.size):
        pad = 1e-14 * (abs(c[j]) + R) + ec
        up = down = R + pad
        slope = abs(2.0 * c[j] - s[j]) - ds[j]
        if slope > 0.0:
            distance = 2.0 * R2 / (slope + math.sqrt(slope * slope + 4.0 * R2)) * (1.0 + 1e-14) + pad
            if c[j] <= lo[j]:
                up = min(up, distance)
            else:
                down = min(down, distance)
        lo[j] = max(lo[j], c[j] - down)
        hi[j] = min(hi[j], c[j] + up)
        if lo[j] > hi[j]:
            return False
    return True
