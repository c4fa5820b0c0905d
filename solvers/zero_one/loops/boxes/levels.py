"""The relaxation of a node, and the pruning test for losses that are whole multiples of a step.

If every λ_i is a whole multiple of u and ν ≤ ||w||² on the box, a solution below the cutoff has a loss j·u with
j ≤ k = ⌊(cut - ν)/u⌋. So for every θ ≥ 1

    ||w||² + θ·loss < cut + (θ - 1)·j·u ≤ cut + (θ - 1)·k·u.

A lower bound of the left side that reaches the right side prunes the node. A large θ excludes losses above k·u however small the
excess: fractional losses of the relaxation count as whole ones.
"""

from __future__ import annotations

import math
from typing import Any

from ....exact.loops.newton import Relaxation, newton, rounding
from ..compiled import EPS, inner
from .records import FREE, BoxData, BoxNode

#: Initial smoothing of the hinge in every round.
SMOOTHING = 0.1
#: Factor θ on the losses in the pruning test.
THETA = 8.0


@inner
def relax(data: BoxData, node: BoxNode, k: int, R: Relaxation, const: float, cut: float, theta: float, now: Any) -> float:
    """Solve the relaxation of the k rows with losses times θ and return a proved lower bound; α, s and c remain in ``R``.

    The smoothing decreases until the gap of the smoothed problem decides whether the bound reaches the cutoff.
    """
    lo, hi, w, z, l = node.lo, node.hi, node.w, node.z, node.l
    b, cap, h, act = R.b, R.cap, R.h, R.position
    unit = theta * data.unit
    smoothing = SMOOTHING
    while True:
        for t in range(k):
            i = act[t]
            if z[i] == FREE:
                C = max(1.0 - l[i], 1e-9)
                cap[t] = theta * R.left[i] / C * (1.0 - 4.0 * EPS)
                h[t] = cap[t] / (C * smoothing)
            else:
                cap[t] = math.inf
                h[t] = unit / (smoothing * smoothing)
        bound, iterations = newton(R, k, const, lo, hi, w, cut, 0.02 * smoothing * unit)
        now.relaxations += 1
        now.newton_steps += iterations
        bound -= rounding(R, k, const)
        slack = 0.0
        for t in range(k):
            shortfall, a = max(b[t] - R.u[t], 0.0), R.alpha[t]
            slack += cap[t] * shortfall - a * shortfall if z[act[t]] == FREE else a * shortfall
        if bound >= cut or bound + slack < cut or smoothing < 1e-6:
            break
        smoothing *= 0.1
    return float(bound)


@inner
def beyond_levels(
    data: BoxData, node: BoxNode, k: int, R: Relaxation, sure: float, other: float, D: float, cut: float, now: Any
) -> bool:
    """Return True if the levels of the losses exclude every solution below the cutoff from the box.

    ``sure`` is the loss in the relaxation's constant, ``other`` the intercept's part, D the bound at θ = 1. As a function of
    μ = 1/θ, μD_θ less its threshold is concave, with slope (the non-loss part at c) - σ at μ = 1, σ = cut - k·u. So the test
    can only succeed if D + σ - (non-loss part) ≥ cut. After a failure the relaxation's solution is restored.
    """
    if data.step <= 0.0:
        return False
    lo, hi, w, saved = node.lo, node.hi, node.w, R.saved
    p = w.size
    norm_bound, other_part = 0.0, other
    for j in range(p):
        other_part += R.c[j] * (R.c[j] + R.q[j])
        if j < p - 1 or not data.free:
            nearest = max(lo[j], -hi[j], 0.0)
            norm_bound += nearest * nearest
    # round up to a level within the rounding of the quotient; with many levels an absolute margin would be too small
    levels = (cut - norm_bound * (1.0 - 8.0 * EPS * p)) / data.step
    largest_loss = math.floor(levels + 1e-12 * abs(levels) + 1e-9) * data.step
    if D + 0.8 * (cut - largest_loss - other_part) < cut:
        return False
    for j in range(p):
        saved[0, j], saved[1, j], saved[2, j], saved[3, j] = w[j], R.c[j], R.s[j], R.ds[j]
    threshold = (cut + (THETA - 1.0) * largest_loss) * (1.0 + 1e-12)
    if relax(data, node, k, R, THETA * sure * (1.0 - 4.0 * EPS) + other, threshold, THETA, now) >= threshold:
        return True
    for j in range(p):
        w[j], R.c[j], R.s[j], R.ds[j] = saved[0, j], saved[1, j], saved[2, j], saved[3, j]
    return False
