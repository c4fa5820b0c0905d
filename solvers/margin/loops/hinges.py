"""The rows of a node's relaxation: hinges cap (begin - a'w)_+ of envelopes and tails, firm ones of what must hold, and prices.

What row t is of is in ``k.hinges``: term i's envelope i, its tail N + i, point i that must be kept 2N + i, row s of the problem
2N + n + s, and 2N + n + m + 2j or one more for the price of w_j on its positive or negative side.
"""

from __future__ import annotations

from typing import Any

from .compiled import EPS, inner
from .records import LoopNode, LoopProblem

__all__ = ["fill_hinges"]

#: A firm hinge that is short by this part of what its row ranges over costs as much as is of interest.
_FIRM = 1e-2
#: Rows that range over less than this part of their terms are left to narrowing: multipliers would be all rounding.
_THIN = 1e-9


@inner
def _fill(r: LoopProblem, k: LoopNode, start: Any, count: Any) -> None:
    """The rows of terms listed in ``k.hinges`` from ``start``, their beginnings in ``R.b``, a coordinate at a time.

    The beginning is lowered by its rounding.
    """
    R, A, n, p, listed, at, off = k.relaxation, r.rows, r.point.size, k.w.size, k.hinges, k.at, r.off
    b, size, terms, rows = R.b, R.u, R.position, R.rows
    for t in range(start, count):
        terms[t] = listed[t] if listed[t] < n else listed[t] - n if listed[t] < 2 * n else listed[t] - 2 * n
        size[t] = abs(b[t])
    for j in range(p):
        by, mid = k.half[j] / k.scale[j], abs(k.mid[j])
        for t in range(start, count):
            a = A[j, terms[t]]
            size[t] += abs(a) * mid
            rows[j, t] = a * by
    for t in range(start, count):
        b[t] = b[t] - at[terms[t]] - 4.0 * (p + 4) * EPS * size[t] - off[terms[t]]


@inner
def _envelopes(r: LoopProblem, k: LoopNode) -> tuple[Any, float]:
    """Hinges of envelopes and tails: how many, and the constants of the undecided terms."""
    R, costs, left, low, listed, n = k.relaxation, k.costs, k.left, k.low, k.hinges, r.point.size
    b, caps, spread, constant, count = R.b, R.cap, k.spread, 0.0, n - n
    for i in range(n):
        kind, rest = r.kind[i], costs[i] * r.tail[r.kind[i]]
        if k.undecided[i] and left[i] > 0.0:
            constant += left[i] * k.base[i]
            rest -= left[i] * k.first[i]
            for t in range(k.pieces[i]):
                if k.slopes[t, i] > 0.0:
                    b[count], caps[count], listed[count], spread[count] = k.begins[t, i], left[i] * k.slopes[t, i], i, 1.0
                    count += 1
        if low[i] < r.again[kind] and rest > 0.0:  # a hinge of no height has no smoothed value either
            b[count], caps[count], listed[count], spread[count] = r.again[kind], rest * (1.0 - 4.0 * EPS), n + i, 1.0
            count += 1
    return count, constant


@inner
def _demands(r: LoopProblem, k: LoopNode, count: Any, cut: float) -> Any:
    """Firm hinges of points that must be kept."""
    R, n, listed, spread = k.relaxation, r.point.size, k.hinges, k.spread
    for i in range(r.points):
        reach = k.high[i] - k.at[i]
        if k.demanded[i] and k.at[i] - reach < 1.0 and reach > _THIN * (1.0 + abs(k.at[i])):
            R.b[count], R.cap[count], listed[count], spread[count] = 1.0, cut / (_FIRM * reach), 2 * n + i, reach
            count += 1
    return count


@inner
def _rows(r: LoopProblem, k: LoopNode, count: Any, cut: float) -> Any:
    """Firm hinges of rows that the box leaves open."""
    R, p = k.relaxation, k.w.size
    for s in range(r.least.size):
        at, reach, size, total = 0.0, 0.0, abs(r.least[s]), 0.0
        for j in range(p):
            a = r.limits[s, j]
            at += a * k.mid[j]
            reach += abs(a) * k.half[j]
            size += abs(a) * abs(k.mid[j])
            total += abs(a)
        if at - reach >= r.least[s] or reach <= _THIN * (size + total):
            continue
        for j in range(p):
            R.rows[j, count] = r.limits[s, j] * (k.half[j] / k.scale[j])
        R.b[count] = r.least[s] - at - 4.0 * (p + 4) * EPS * size
        R.cap[count], k.spread[count] = cut / (_FIRM * reach), reach
        k.hinges[count] = 2 * r.point.size + r.points + s
        count += 1
    return count


@inner
def _prices(r: LoopProblem, k: LoopNode, count: Any) -> Any:
    """Prices of coefficients that may be 0 or not: π w_j/hi_j where it is positive, π w_j/lo_j where it is negative."""
    R, first = k.relaxation, 2 * r.point.size + r.points + r.least.size
    for j in range(k.w.size):
        if r.price[j] <= 0.0 or k.marks[j] > 0.0 or k.lo[j] > 0.0 or k.hi[j] < 0.0:
            continue
        for side in range(2):
            end, sign = (k.hi[j], -1.0) if side == 0 else (-k.lo[j], 1.0)
            if end <= 1e-9 * k.half[j] or end <= 0.0:
                continue
            for t in range(k.w.size):
                R.rows[t, count] = 0.0
            R.rows[j, count] = sign * (k.half[j] / k.scale[j])
            R.b[count] = -sign * k.mid[j] - 8.0 * EPS * abs(k.mid[j])
            R.cap[count], k.spread[count] = r.price[j] / end * (1.0 - 8.0 * EPS), end
            k.hinges[count] = first + 2 * j + side
            count += 1
    return count


@inner
def fill_hinges(r: LoopProblem, k: LoopNode, cut: float) -> tuple[Any, float]:
    """All rows but the norm's: how many, and the constants that go with them."""
    count, constant = _envelopes(r, k)
    _fill(r, k, count - count, count)
    if r.restricted:
        more = _demands(r, k, count, cut)
        _fill(r, k, count, more)
        count = _prices(r, k, _rows(r, k, more, cut))
    return count, constant
