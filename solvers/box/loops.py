"""Compiled coordinate descent on min ½a'(ZZ' + D)a + q'a over a box, with random permutations and shrinking.

The product w = Z'a is kept, so a coordinate costs 2r operations whatever m is; where ZZ' is kept (r ≥ m) the gradient itself
is carried instead, which costs 2m operations for a coordinate that moves and none for one that does not. Z and w may be of
single precision. A variable at a bound whose gradient points outwards beyond the largest violation of the last epoch leaves the
active set (as in Hsieh et al. 2008); all come back when the rest has converged.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np

__all__ = ["ACTIVE", "EPOCHS", "HIGH", "LOW", "STREAM", "UPDATES", "WORK", "descend"]

_njit = nb.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "nnan", "arcp"})

# Integers of the state: size of the active set, epochs, scalar operations, updates of coordinates, the random stream.
ACTIVE, EPOCHS, WORK, UPDATES, STREAM = range(5)
# Floats: largest and smallest projected gradient of the last epoch.
HIGH, LOW = range(2)


@_njit
def _shuffle(order: Any, active: int, integer: Any) -> None:
    """Fisher-Yates on the active part, by a 31-bit linear congruential stream of its own."""
    x = integer[STREAM]
    for s in range(active - 1):
        x = (1103515245 * x + 12345) & 0x7FFFFFFF
        k = s + (x >> 8) % (active - s)
        t = order[s]
        order[s] = order[k]
        order[k] = t
    integer[STREAM] = x


@_njit
def _epoch(
    Z: Any, q: Any, lower: Any, upper: Any, ridge: Any, diagonal: Any, a: Any, w: Any, order: Any, integer: Any, real: Any,
    gram: bool,
) -> None:  # fmt: skip
    """One pass over the active set; with ``gram`` Z is the m × m matrix ZZ' and w = ZZ'a."""
    r = Z.shape[1]
    active = integer[ACTIVE]
    _shuffle(order, active, integer)
    integer[WORK] += active * (10 if gram else 2 * r + 20)
    high, low = -np.inf, np.inf
    s = 0
    while s < active:
        i = order[s]
        g = q[i] + ridge[i] * a[i]
        if gram:
            g += w[i]
        else:
            inner = Z.dtype.type(0.0)
            for j in range(r):
                inner += Z[i, j] * w[j]
            g += inner
        projected = g
        if a[i] <= lower[i]:
            if g > real[HIGH] or lower[i] >= upper[i]:
                active -= 1
                order[s] = order[active]
                order[active] = i
                continue
            projected = min(g, 0.0)
        elif a[i] >= upper[i]:
            if g < real[LOW]:
                active -= 1
                order[s] = order[active]
                order[active] = i
                continue
            projected = max(g, 0.0)
        high, low = max(high, projected), min(low, projected)
        if projected != 0.0:
            if diagonal[i] > 0.0:
                new = min(max(a[i] - g / diagonal[i], lower[i]), upper[i])
            else:
                new = lower[i] if g > 0.0 else upper[i]
            d = new - a[i]
            if d != 0.0:
                a[i] = new
                integer[UPDATES] += 1
                integer[WORK] += 2 * r
                step = Z.dtype.type(d)
                for j in range(r):
                    w[j] += step * Z[i, j]
        s += 1
    integer[ACTIVE] = active
    integer[EPOCHS] += 1
    real[HIGH] = high
    real[LOW] = low


@_njit
def descend(
    Z: Any, q: Any, lower: Any, upper: Any, ridge: Any, diagonal: Any, a: Any, w: Any, order: Any, integer: Any, real: Any,
    gram: bool, violation: float, work: int,
) -> bool:  # fmt: skip
    """Epochs until the spread of the projected gradients of *all* variables is at most ``violation``, or ``work`` is used up.

    Returns
    -------
    bool
        Whether the violation was reached.
    """
    m = q.size
    stop = integer[WORK] + work
    while integer[WORK] < stop:
        _epoch(Z, q, lower, upper, ridge, diagonal, a, w, order, integer, real, gram)
        spread = real[HIGH] - real[LOW] if integer[ACTIVE] > 0 else 0.0
        whole = integer[ACTIVE] == m
        if spread <= violation:
            # an epoch that began with every variable and dropped some has seen all of them
            integer[ACTIVE] = m
            real[HIGH], real[LOW] = np.inf, -np.inf
            if whole:
                return True
            _epoch(Z, q, lower, upper, ridge, diagonal, a, w, order, integer, real, gram)
            if real[HIGH] - real[LOW] <= violation:
                integer[ACTIVE] = m
                real[HIGH], real[LOW] = np.inf, -np.inf
                return True
        if not real[HIGH] > 0.0:
            real[HIGH] = np.inf
        if not real[LOW] < 0.0:
            real[LOW] = -np.inf
        if integer[ACTIVE] == 0:
            integer[ACTIVE] = m
    return False
