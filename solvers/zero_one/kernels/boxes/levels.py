"""The relaxation of a node, and what follows from losses being whole multiples of a step.

Where every λ_i is a whole multiple of u and ν ≤ ||w||² on the box, a solution below the cut loses j·u with
j ≤ k = ⌊(cut - ν)/u⌋, so for every θ ≥ 1

    ||w||² + θ·loss < cut + (θ - 1)·j·u ≤ cut + (θ - 1)·k·u.

A bound of the left side that reaches the right one empties the node. With a large θ it says that the loss is more than k·u,
however little more: fractions of a point count whole.
"""

from __future__ import annotations

import math
from typing import Any

from ..compiled import EPS, inner
from .newton import newton, rounding
from .records import FREE, Data, Node, Relaxation

#: The smoothing of the hinge that the rounds start from.
SMOOTHING = 0.1
#: By how much losses weigh more where their levels are looked at.
THETA = 8.0


@inner
def relax(data: Data, node: Node, k: int, R: Relaxation, const: float, cut: float, theta: float, now: Any) -> float:
    """Solve the relaxation of the k rows, losses weighed by θ: a proved lower bound; α, s and c are left in ``R``.

    The smoothing falls as long as the gap of the smoothed problem leaves open whether the bound reaches the cut.
    """
    lo, hi, w, z, l = node.lo, node.hi, node.w, node.z, node.l
    b, cap, h, act = R.b, R.cap, R.h, R.position
    unit = theta * data.unit
    width = SMOOTHING
    while True:
        for t in range(k):
            i = act[t]
            if z[i] == FREE:
                C = max(1.0 - l[i], 1e-9)
                cap[t] = theta * R.left[i] / C * (1.0 - 4.0 * EPS)
                h[t] = cap[t] / (C * width)
            else:
                cap[t] = math.inf
                h[t] = unit / (width * width)
        new, its = newton(R, k, const, lo, hi, w, cut, 0.02 * width * unit)
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
    return float(new)


@inner
def beyond_levels(
    data: Data, node: Node, k: int, R: Relaxation, sure: float, other: float, D: float, cut: float, now: Any
) -> bool:
    """Whether the box holds no solution of interest because of the levels that losses have.

    ``sure`` is the part of the relaxation's constant that is loss, ``other`` the intercept's; D its value at θ = 1. Over
    μ = 1/θ, μD_θ less its threshold is concave, with slope (what is no loss at c) - σ at μ = 1, σ = cut - k·u: so nothing
    comes of it unless D + σ - (what is no loss) ≥ cut. Where it fails the relaxation's solution is what it was.
    """
    if data.step <= 0.0:
        return False
    lo, hi, w, saved = node.lo, node.hi, node.w, R.saved
    p = w.size
    least, rest = 0.0, other
    for j in range(p):
        rest += R.c[j] * (R.c[j] + R.q[j])
        if j < p - 1 or not data.free:
            nearest = max(lo[j], -hi[j], 0.0)
            least += nearest * nearest
    # a level that the quotient's rounding may hide is allowed: with many levels that is more than an absolute margin
    levels = (cut - least * (1.0 - 8.0 * EPS * p)) / data.step
    top = math.floor(levels + 1e-12 * abs(levels) + 1e-9) * data.step
    if D + 0.8 * (cut - top - rest) < cut:
        return False
    for j in range(p):
        saved[0, j], saved[1, j], saved[2, j], saved[3, j] = w[j], R.c[j], R.s[j], R.ds[j]
    threshold = (cut + (THETA - 1.0) * top) * (1.0 + 1e-12)
    if relax(data, node, k, R, THETA * sure * (1.0 - 4.0 * EPS) + other, threshold, THETA, now) >= threshold:
        return True
    for j in range(p):
        w[j], R.c[j], R.s[j], R.ds[j] = saved[0, j], saved[1, j], saved[2, j], saved[3, j]
    return False
