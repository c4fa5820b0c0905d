"""Compiled passes over n numbers and over blocks of CSR rows.

r_i = 1 - u_i is the shortfall of the margin u_i. For the hinge (q = 1) the weight is α_i = clip(a_i + σ r_i, 0, c_i), for its
square (q = 2) α_i = 2 c_i (r_i)_+: minus the slope of the (smoothed) loss. ``step`` is 0 if c is one number for all, else 1.
"""

from __future__ import annotations

from typing import Any

from ..interface.numba_flags import entry

__all__ = ["add_squares", "slope", "weigh"]


@entry
def weigh(u: Any, a: Any, c: Any, step: int, sigma: float, square: bool, alpha: Any, sums: Any) -> None:
    """Write α, and into sums: Σ c r_+^q, Σα (less Σα²/(4c) for q = 2), and the number of points with curved loss."""
    loss, dual, curved = 0.0, 0.0, 0.0
    for i in range(u.size):
        r = 1.0 - u[i]
        ci = c[i * step]
        short = max(r, 0.0)
        if square:
            w = 2.0 * ci * short
            loss += ci * short * short
            dual += w - w * w / (4.0 * ci)
            curved += 1.0 if r > 0.0 else 0.0
        else:
            z = a[i] + sigma * r
            w = min(max(z, 0.0), ci)
            loss += ci * short
            dual += w
            curved += 1.0 if (z > 0.0) and (z < ci) else 0.0
        alpha[i] = w
    sums[0], sums[1], sums[2] = loss, dual, curved


@entry
def slope(t: float, u: Any, du: Any, a: Any, c: Any, step: int, sigma: float, square: bool) -> float:
    """Return Σ α_i du_i at the margins u + t du: minus the slope of the losses along the line."""
    total = 0.0
    for i in range(u.size):
        r = 1.0 - u[i] - t * du[i]
        ci = c[i * step]
        w = 2.0 * ci * max(r, 0.0) if square else min(max(a[i] + sigma * r, 0.0), ci)
        total += w * du[i]
    return total


@entry
def add_squares(data: Any, indices: Any, indptr: Any, curvature: Any, H: Any) -> None:
    """Add Σ d_i x_i x_i' over the rows with d_i > 0 to H; the lower triangle, indices increasing along a row."""
    for i in range(curvature.size):
        d = curvature[i]
        if d > 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                v = d * data[k]
                row = indices[k]
                for m in range(indptr[i], k + 1):
                    H[row, indices[m]] += v * data[m]
