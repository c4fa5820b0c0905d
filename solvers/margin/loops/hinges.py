"""The rows of a node's relaxation: hinges cap (begin - a'w)_+ of envelopes and tails, firm ones of constraints, and prices.

``k.hinges`` holds the source of row t: term i's envelope i, its tail N + i, demanded point i 2N + i, row s of the problem 2N + n
+ s, and 2N + n + m + 2j or one more for the price of w_j on its positive or negative side; behind these, n for margins that must
not be negative and n for those that must not be positive.
"""

from __future__ import annotations

from typing import Any

from .compiled import EPS, inner
from .records import LoopNode, LoopProblem

__all__ = ["fill_hinges"]

#: A firm hinge that is violated by this share of its row's range costs as much as the cutoff.
_FIRM = 1e-2
#: Rows that range over less than this share of their terms are left to propagation: their multipliers would be rounding.
_THIN = 1e-9


@inner
def _fill(r: LoopProblem, k: LoopNode, start: Any, count: Any) -> None:
    """Compute the rows of terms listed in ``k.hinges`` from ``start``, their beginnings in ``R.b``, a coordinate at a time.

    Each beginning is lowered by its rounding.
    """
    R, A, n, p, listed, centre, errors = k.relaxation, r.rows, r.point.size, k.w.size, k.hinges, k.at, r.row_errors
    b, size, terms, rows = R.b, R.u, R.position, R.rows
    for t in range(start, count):
        terms[t] = listed[t] if listed[t] < n else listed[t] - n if listed[t] < 2 * n else listed[t] - 2 * n
        size[t] = abs(b[t])
    for j in range(p):
        factor, mid = k.half[j] / k.scale[j], abs(k.mid[j])
        for t in range(start, count):
            a = A[j, terms[t]]
            size[t] += abs(a) * mid
            rows[j, t] = a * factor
    for t in range(start, count):
        b[t] = b[t] - centre[terms[t]] - 4.0 * (p + 4) * EPS * size[t] - errors[terms[t]]


@inner
def _envelopes(r: LoopProblem, k: LoopNode) -> tuple[Any, float]:
    """Add hinges of envelopes and tails; return their number, and the constants of the undecided terms."""
    R, costs, unpaid, low, listed, n = k.relaxation, k.costs, k.left, k.low, k.hinges, r.point.size
    b, caps, spread, constant, count = R.b, R.cap, k.spread, 0.0, n - n
    for i in range(n):
        kind, slope = r.kind[i], costs[i] * r.tail[r.kind[i]]
        if k.undecided[i] and unpaid[i] > 0.0:
            constant += unpaid[i] * k.base[i]
            slope -= unpaid[i] * k.first[i]
            for t in range(k.pieces[i]):
                if k.slopes[t, i] > 0.0:
                    b[count], caps[count], listed[count], spread[count] = k.begins[t, i], unpaid[i] * k.slopes[t, i], i, 1.0
                    count += 1
        if low[i] < r.again[kind] and slope > 0.0:  # a hinge of no height has no smoothed value either
            b[count], caps[count], listed[count], spread[count] = r.again[kind], slope * (1.0 - 4.0 * EPS), n + i, 1.0
            count += 1
    return count, constant


@inner
def _demands(r: LoopProblem, k: LoopNode, count: Any, cut: float) -> Any:
    """Add firm hinges of demanded points; return the number of rows so far."""
    R, n, listed, spread = k.relaxation, r.point.size, k.hinges, k.spread
    for i in range(r.points):
        reach = k.high[i] - k.at[i]
        if k.demanded[i] and k.at[i] - reach < 1.0 and reach > _THIN * (1.0 + abs(k.at[i])):
            R.b[count], R.cap[count], listed[count], spread[count] = 1.0, cut / (_FIRM * reach), 2 * n + i, reach
            count += 1
    return count


@inner
def _rows(r: LoopProblem, k: LoopNode, count: Any, cut: float) -> Any:
    """Add firm hinges of rows that the box does not decide; return the number of rows so far."""
    R, p = k.relaxation, k.w.size
    for s in range(r.least.size):
        centre, reach, size, total = 0.0, 0.0, abs(r.least[s]), 0.0
        for j in range(p):
            a = r.limits[s, j]
            centre += a * k.mid[j]
            reach += abs(a) * k.half[j]
            size += abs(a) * abs(k.mid[j])
            total += abs(a)
        if centre - reach >= r.least[s] or reach <= _THIN * (size + total):
            continue
        for j in range(p):
            R.rows[j, count] = r.limits[s, j] * (k.half[j] / k.scale[j])
        R.b[count] = r.least[s] - centre - 4.0 * (p + 4) * EPS * size
        R.cap[count], k.spread[count] = cut / (_FIRM * reach), reach
        k.hinges[count] = 2 * r.point.size + r.points + s
        count += 1
    return count


@inner
def _prices(r: LoopProblem, k: LoopNode, count: Any) -> Any:
    """Add the prices of undecided coefficients: π w_j/hi_j for positive w_j, π w_j/lo_j for negative w_j."""
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
def _signs(r: LoopProblem, k: LoopNode, count: Any, cut: float) -> Any:
    """Add firm hinges of margins whose signs are demanded; return the number of rows so far."""
    R, p, first = k.relaxation, k.w.size, 2 * r.point.size + r.points + r.least.size + 2 * k.w.size
    for i in range(r.points):
        sign, reach, size = k.wanted_signs[i], k.high[i] - k.at[i], 0.0
        if sign == 0.0 or sign * k.at[i] - reach >= 0.0:
            continue
        for j in range(p):
            size += abs(r.rows[j, i]) * (abs(k.mid[j]) + k.half[j])
        if reach <= _THIN * size:
            continue
        for j in range(p):
            R.rows[j, count] = sign * r.rows[j, i] * (k.half[j] / k.scale[j])
        R.b[count] = -sign * k.at[i] - 4.0 * (p + 4) * EPS * size - r.row_errors[i]
        R.cap[count], k.spread[count] = cut / (_FIRM * reach), reach
        k.hinges[count] = first + (i if sign > 0.0 else r.points + i)
        count += 1
    return count


@inner
def fill_hinges(r: LoopProblem, k: LoopNode, cut: float) -> tuple[Any, float]:
    """Add all rows but the norm's; return their number, and their constants."""
    count, constant = _envelopes(r, k)
    _fill(r, k, count - count, count)
    if r.restricted:
        more = _demands(r, k, count, cut)
        _fill(r, k, count, more)
        count = _prices(r, k, _rows(r, k, more, cut))
        if r.epsilon.size:
            count = _signs(r, k, count, cut)
    return count, constant
