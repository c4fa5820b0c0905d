"""Compiled coordinate descent on min ½a'(ZZ' + D)a + q'a over a box, with random permutations and shrinking.

The loop updates the product w = Z'a, so a coordinate costs 2r operations whatever m is. If ZZ' is stored (r ≥ m) it updates the
gradient itself, which costs 2m operations for a coordinate that moves and 0 for one that does not. Z and w may be of single
precision. A variable at a bound leaves the active set if its gradient points outwards beyond the largest violation of the last
epoch (Hsieh et al. 2008). All variables return when the active ones have converged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..interface.numba_flags import entry, inlined, inner


@inlined
def _shuffle(order: Any, active: int, now: Any) -> None:
    """Shuffle the active part (Fisher-Yates) by a 31-bit linear congruential generator of its own."""
    x = now.stream
    for s in range(active - 1):
        x = (1103515245 * x + 12345) & 0x7FFFFFFF
        k = s + (x >> 8) % (active - s)
        t = order[s]
        order[s] = order[k]
        order[k] = t
    now.stream = x


@inner
def _epoch(p: Any, gram: bool) -> None:
    """Pass once over the active set; with ``gram`` Z is the m × m matrix ZZ' and w = ZZ'a."""
    Z, q, lower, upper, ridge, diagonal, a, w, order, now = (
        p.Z, p.q, p.lower, p.upper, p.ridge, p.diagonal, p.a, p.w, p.order, p.scalars,
    )  # fmt: skip
    r = Z.shape[1]
    active = now.active
    _shuffle(order, active, now)
    now.work += active * (10 if gram else 2 * r + 20)
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
            if g > now.high or lower[i] >= upper[i]:
                active -= 1
                order[s] = order[active]
                order[active] = i
                continue
            projected = min(g, 0.0)
        elif a[i] >= upper[i]:
            if g < now.low:
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
                now.updates += 1
                now.work += 2 * r
                step = Z.dtype.type(d)
                for j in range(r):
                    w[j] += step * Z[i, j]
        s += 1
    now.active = active
    now.epochs += 1
    now.high = high
    now.low = low


@entry
def descend(p: Any, gram: bool, violation: float, work: int) -> bool:
    """Run epochs until the spread of the projected gradients of *all* variables is at most ``violation``, or ``work`` is used up.

    Returns
    -------
    bool
        Whether the violation was reached.
    """
    m, now = p.q.size, p.scalars
    stop = now.work + work
    while now.work < stop:
        _epoch(p, gram)
        spread = now.high - now.low if now.active > 0 else 0.0
        all_active = now.active == m
        if spread <= violation:
            # an epoch that began with every variable and dropped some has visited all of them
            now.active = m
            now.high, now.low = np.inf, -np.inf
            if all_active:
                return True
            _epoch(p, gram)
            if now.high - now.low <= violation:
                now.active = m
                now.high, now.low = np.inf, -np.inf
                return True
        if not now.high > 0.0:
            now.high = np.inf
        if not now.low < 0.0:
            now.low = -np.inf
        if now.active == 0:
            now.active = m
    return False
