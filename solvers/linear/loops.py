"""Compiled loops of linear-newton: passes over the n margins and over blocks of CSR rows, and dual coordinate descent.

r_i = 1 - u_i is the shortfall of the margin u_i. The weight α_i is minus the slope of the (smoothed) loss, whose number is that
of `models.views.LinearLoss`: clip(a_i + σ r_i, 0, c_i) for the hinge (1), 2 c_i (r_i)_+ for its square (2), and
c_i/(1 + e^{u_i}) for the logistic loss (3). ``step`` is 0 if c is one number for all, else 1.
"""

from __future__ import annotations

import math
from typing import Any

from ..interface.numba_flags import Loops, entry

#: For loops over the entries of one sparse row: where sums may be reordered, LLVM gathers, which takes half as long again.
_ordered = Loops(frozenset())


@entry
def evaluate_weights(u: Any, a: Any, c: Any, step: int, sigma: float, kind: int, alpha: Any, sums: Any) -> None:
    """Write α, and into sums: Σ c ℓ, minus Σ of the conjugates at -α, and the number of points with curved loss.

    The conjugates come to -Σα, with Σα²/(4c) more for squares; of the logistic loss to minus the entropies
    c (log(1 + e^-|u|) + |u|/(1 + e^|u|)).
    """
    loss, dual, curved = 0.0, 0.0, 0.0
    for i in range(u.size):
        r = 1.0 - u[i]
        ci = c[i * step]
        short = max(r, 0.0)
        if kind == 3:
            size = abs(u[i])
            power = math.exp(-size)
            tail = math.log1p(power)
            share = power / (1.0 + power)
            w = ci * share if u[i] > 0.0 else ci / (1.0 + power)
            loss += ci * (max(-u[i], 0.0) + tail)
            dual += ci * (tail + size * share)
            curved += 1.0
        elif kind == 2:
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
def slope(t: float, u: Any, du: Any, a: Any, c: Any, step: int, sigma: float, kind: int) -> float:
    """Return Σ α_i du_i at the margins u + t du: minus the slope of the losses along the line."""
    total = 0.0
    for i in range(u.size):
        r = 1.0 - u[i] - t * du[i]
        ci = c[i * step]
        if kind == 3:
            m = 1.0 - r
            power = math.exp(-abs(m))
            w = ci * power / (1.0 + power) if m > 0.0 else ci / (1.0 + power)
        elif kind == 2:
            w = 2.0 * ci * max(r, 0.0)
        else:
            w = min(max(a[i] + sigma * r, 0.0), ci)
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


@_ordered.entry
def descend(X: Any, points: Any, alpha: Any, w: Any, order: Any, numbers: Any, parameters: Any) -> None:
    """Minimise over one α_i after the other, of the active points in ``order``; w = Σ α_i y_i x_i/(2μ) follows.

    A point at a bound leaves where its slope is beyond the extremes of the last epoch (Hsieh et al. 2008, (15)). ``numbers`` are
    the number of active points, the largest and the smallest slope; ``parameters`` are 1/(2μ), and 1 for the squared hinge.
    """
    data, indices, indptr = X
    y, c, squares = points
    scale, squared, active = parameters[0], parameters[1] > 0.0, int(numbers[0])
    high, low, largest, smallest = numbers[1], numbers[2], -1e300, 1e300
    t = 0
    while t < active:
        i = order[t]
        cost = c[i] if c.size > 1 else c[0]
        diagonal_term = 0.5 / cost if squared else 0.0
        score = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            score += data[e] * w[indices[e]]
        g = y[i] * score - 1.0 + diagonal_term * alpha[i]
        lower, upper = alpha[i] <= 0.0, not squared and alpha[i] >= cost
        if (lower and g > high) or (upper and g < low):
            active -= 1
            order[t], order[active] = order[active], i
            continue
        t += 1
        if (lower and g >= 0.0) or (upper and g <= 0.0):
            continue
        largest, smallest = max(largest, g), min(smallest, g)
        curvature = scale * squares[i] + diagonal_term
        old = alpha[i]
        new = max(old - g / curvature, 0.0) if curvature > 0.0 else cost
        if not squared:
            new = min(new, cost)
        if new != old:
            alpha[i] = new
            step = (new - old) * y[i] * scale
            for e in range(indptr[i], indptr[i + 1]):
                w[indices[e]] += step * data[e]
    numbers[0] = active
    numbers[1] = largest if largest > 0.0 else 1e300
    numbers[2] = smallest if smallest < 0.0 else -1e300
