"""What a box says of every point: its margins, and a convex function below its loss there.

A point's loss s min{(1-m)_+, width} + s (corner - m)_+, of height h = s·width, has on margins l ≤ m ≤ u the convex lower bound

    h + s (corner - m)_+                                                 where u ≤ 1 - width,              0 where l ≥ 1,
    ρ(u) + t (u - m) + (s - t)(corner - m)_+,  t = (h - ρ(u))/(u - l'),   where l < 1 - width and u < 1,   l' = max{l, corner},
    t (1-m)_+        + (s - t)(corner - m)_+,  t = h/max{width, 1 - l'}   else,

in each case a hinge of slope t that begins at u or 1, and one of slope s - t that begins at the corner.
"""

from __future__ import annotations

from ...zero_one.kernels.boxes.newton import margins
from .compiled import EPS, entry, inner
from .norm import steepest
from .records import Node, Ramp

__all__ = ["classify", "loss", "objective"]


@entry
def loss(r: Ramp, u: float) -> float:
    """ρ(u)."""
    return r.slope * (min(max(1.0 - u, 0.0), r.width) + max(r.corner - u, 0.0))


@inner
def objective(r: Ramp, k: Node) -> float:
    """The objective at the node's w."""
    w, u = k.w, k.relaxation.u
    total = steepest(r, k, w)
    for j in range(w.size):
        total += r.curvature[j] * w[j] * w[j]
    margins(r.rows, r.costs.size, w, u)
    for i in range(r.costs.size):
        total += r.costs[i] * loss(r, u[i])
    return total


@inner
def classify(r: Ramp, k: Node) -> float:
    """The box's middle and reach, margins and envelopes of all points; returns the cost of those that are on the flat part."""
    A, lo, hi, mid, half = r.rows, k.lo, k.hi, k.mid, k.half
    p, n = A.shape
    for j in range(p):
        mid[j] = min(max(0.5 * (lo[j] + hi[j]), lo[j]), hi[j])
        half[j] = max(hi[j] - mid[j], mid[j] - lo[j]) * (1.0 + 2.0 * EPS)
    low, high, at, undecided = k.low, k.high, k.at, k.undecided
    margins(A, n, mid, at)
    for i in range(n):
        low[i], high[i] = 0.0, 0.0  # the reach and the size of the terms, then the margins: loops over points are vectors
    for j in range(p):
        reach, size = half[j], abs(mid[j])
        for i in range(n):
            a = abs(A[j, i])
            low[i] += a * reach
            high[i] += a * size
    for i in range(n):
        reach, size = low[i], high[i]
        spare = 4.0 * (p + 4) * EPS * (size + reach + 1.0)
        low[i], high[i] = at[i] - reach - spare, at[i] + reach + spare
    flat, constant, height, slope, corner = 1.0 - r.width, 0.0, r.slope * r.width, r.slope, r.corner
    costs, left, slopes, begins = r.costs, k.left, k.slopes, k.begins
    for i in range(n):
        least, most = low[i], high[i]
        left[i], slopes[i], begins[i] = 0.0, 0.0, 1.0
        undecided[i] = least < 1.0 and most > flat
        if most <= flat:
            constant += costs[i] * height
        elif least < 1.0:
            left[i] = costs[i]
            ends = max(least, corner)
            if least < flat and most < 1.0:
                begins[i] = most
                slopes[i] = (height - slope * (1.0 - most)) / (most - ends) * (1.0 - 8.0 * EPS)
            else:
                slopes[i] = height / max(r.width, 1.0 - ends) * (1.0 - 8.0 * EPS)
    return constant
