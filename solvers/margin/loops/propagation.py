"""Propagation of integers, numbers of coefficients, rows, demanded points and equal rates over a box."""

from __future__ import annotations

import math

from .compiled import EPS, inner
from .rates import demand_signs
from .records import LoopNode, LoopProblem

__all__ = ["propagate"]

#: Passes over all rows. Share of an end's size by which ends move less than they could: the checker rounds otherwise.
_PASSES, _PAD = 2, 1e-11


@inner
def _supports(r: LoopProblem, k: LoopNode) -> bool:
    """Count the coefficients that are not 0, and fix the others at 0 if the limit is reached; return False if it is exceeded."""
    lo, hi, used = k.lo, k.hi, 0
    for j in range(lo.size):
        used += r.counted[j] and (k.marks[j] > 0.0 or lo[j] > 0.0 or hi[j] < 0.0)
    if used > r.most:
        return False
    if used == r.most:
        for j in range(lo.size):
            if r.counted[j] and not (k.marks[j] > 0.0 or lo[j] > 0.0 or hi[j] < 0.0):
                lo[j] = hi[j] = 0.0
    return True


@inner
def _integers(r: LoopProblem, k: LoopNode) -> bool:
    for j in range(k.lo.size):
        if r.whole[j]:
            k.lo[j] = math.ceil(k.lo[j] - _PAD * (1.0 + abs(k.lo[j])))
            k.hi[j] = math.floor(k.hi[j] + _PAD * (1.0 + abs(k.hi[j])))
            if k.lo[j] > k.hi[j]:
                return False
    return True


@inner
def _row(k: LoopNode, limit: float, error: float) -> bool:
    """Tighten the ends by a'w ≥ least - off, a in ``k.edge``."""
    lo, hi, coefficients, maximum, size = k.lo, k.hi, k.edge, 0.0, abs(limit) + error
    for j in range(lo.size):
        a = coefficients[j]
        if a != 0.0:
            maximum += a * (hi[j] if a > 0.0 else lo[j])
            size += abs(a) * max(abs(lo[j]), abs(hi[j]))
    slack = maximum - limit + error + (_PAD + 4.0 * (lo.size + 4) * EPS) * size
    if slack < 0.0:
        return False
    for j in range(lo.size):
        a = coefficients[j]
        if a > 0.0 and lo[j] < hi[j] - slack / a:
            lo[j] = hi[j] - slack / a
        elif a < 0.0 and hi[j] > lo[j] - slack / a:
            hi[j] = lo[j] - slack / a
    return True


@inner
def propagate(r: LoopProblem, k: LoopNode) -> bool:
    """Tighten the box to a part that holds every feasible w; return False if it is empty. Points ``k.demanded`` are demanded."""
    for _ in range(_PASSES):
        if not _supports(r, k) or not _integers(r, k):
            return False
        for t in range(r.least.size):
            for j in range(k.lo.size):
                k.edge[j] = r.limits[t, j]
            if not _row(k, r.least[t], 0.0):
                return False
        if not demand_signs(r, k):
            return False
        for i in range(r.points):
            if k.demanded[i]:
                for j in range(k.lo.size):
                    k.edge[j] = r.rows[j, i]
                if not _row(k, 1.0, r.row_errors[i]):
                    return False
            if k.wanted_signs[i] != 0.0:
                for j in range(k.lo.size):
                    k.edge[j] = k.wanted_signs[i] * r.rows[j, i]
                if not _row(k, 0.0, r.row_errors[i]):
                    return False
    empty = not _supports(r, k) or not _integers(r, k)
    for j in range(k.lo.size):
        empty |= k.lo[j] > k.hi[j]
    return not empty
