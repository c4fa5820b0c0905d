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
    margins(A, n, mid, k.at)
    for i in range(n):
        reach, size = 0.0, 0.0
        for j in range(p):
            reach += abs(A[j, i]) * half[j]
            size += abs(A[j, i] * mid[j])
        spare = 4.0 * (p + 4) * EPS * (size + reach + 1.0)
        k.low[i], k.high[i] = k.at[i] - reach - spare, k.at[i] + reach + spare
    flat, constant, height = 1.0 - r.width, 0.0, r.slope * r.width
    for i in range(n):
        low, high = k.low[i], k.high[i]
        k.left[i], k.slopes[i], k.begins[i] = 0.0, 0.0, 1.0
        k.undecided[i] = low < 1.0 and high > flat
        if high <= flat:
            constant += r.costs[i] * height
        elif low < 1.0:
            k.left[i] = r.costs[i]
            ends = max(low, r.corner)
            if low < flat and high < 1.0:
                k.begins[i] = high
                k.slopes[i] = (height - r.slope * (1.0 - high)) / (high - ends) * (1.0 - 8.0 * EPS)
            else:
                k.slopes[i] = height / max(r.width, 1.0 - ends) * (1.0 - 8.0 * EPS)
    return constant
