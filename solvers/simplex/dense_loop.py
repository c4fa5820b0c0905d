"""Small dense problems on the unit simplex, compiled: what larger ones start from."""

from __future__ import annotations

from typing import Any

from ..interface.numba_flags import entry

__all__ = ["solve_dense"]


@entry
def solve_dense(Q: Any, c: Any, a: Any, h: Any, tol: float, iterations: int) -> int:
    """Small dense problem by second-order pairs, in place (a feasible, h = Qa): gap ≤ tol·max(|f|, |f - gap|).

    Q may be larger than a: its leading block is meant.
    """
    m = a.size
    for done in range(iterations):
        i, quadratic, linear = 0, 0.0, 0.0
        for k in range(m):
            quadratic += a[k] * h[k]
            linear += a[k] * c[k]
            if h[k] + c[k] < h[i] + c[i]:
                i = k
        gap = quadratic + linear - h[i] - c[i]
        f = 0.5 * quadratic + linear
        if gap <= tol * max(abs(f), abs(f - gap)):
            return done
        j, best = -1, 0.0
        for k in range(m):
            slope = h[k] + c[k] - h[i] - c[i]
            if k != i and a[k] > 0.0 and slope > 0.0:  # reassociated sums can make the slope from i to i positive
                gain = slope * slope / max(Q[i, i] + Q[k, k] - 2.0 * Q[i, k], 1e-300)
                if gain > best:
                    j, best = k, gain
        if j < 0:
            return done
        slope = h[j] + c[j] - h[i] - c[i]
        curvature = Q[i, i] + Q[j, j] - 2.0 * Q[i, j]
        drop = slope >= a[j] * curvature
        step = a[j] if drop else slope / curvature
        a[i] += step
        a[j] = 0.0 if drop else a[j] - step
        for k in range(m):
            h[k] += step * (Q[i, k] - Q[j, k])
    return iterations
