"""The convex relaxation of a node of `margin-bb`, its dual bound, and the box that the bound leaves.

With the costs of losses that matched pairs of terms leave (`pairing`), a node, a box of w, costs at least

    const + Σ d_j w_j² + max{p'w : |x_j'p| ≤ 1} + Σ_i (hinges of `envelopes`),   lo ≤ w ≤ hi,

with squares d_j and the norm of atoms x_j; {p : |x_j'p| ≤ 1} is the norm's *polar*.

The maximum is replaced by p'w + Σ_t (D_t'w)_+ for a point p of the polar and moves D_t that do not leave it: hinges too, whose
multipliers move p. If the polar is a parallelepiped (L1, elastic nets), p is a vertex and the moves are its edges: this is the
norm itself. Else there is one move, from p to the point that is steepest at w (a bundle of two points).

A square that is at most 0 on the box, -s + Σ_j (s/P) e_j² for P coefficients, e_j = (w_j - mid_j)/half_j and s the
``perturbation``, makes the relaxation strongly convex. Newton's method solves its smoothed form (`solvers.exact.loops.newton`),
and the dual values bound the box.

*The rows of a node's relaxation* are hinges. Constraints are hinges too, *penalties* so steep that a violation does not pay. With
N terms, n points and m linear constraints, ``k.hinges`` holds the source of row t as a number: i for the envelope of term i, N +
i for its tail, 2N + i for demanded point i (its margin must be at least 1), 2N + n + s for linear constraint s, 2N + n + m + 2j
(+ 1) for the price of w_j on its positive (negative) side, and behind these n numbers each for margins that must not be negative,
and for those that must not be positive.
"""

from __future__ import annotations

import math
from typing import Any

from ...exact.loops import EPS
from ...exact.loops.newton import newton, reduced_cost_tightening, rounding_error_bound
from .data_structures import LoopNode, LoopProblem, inner
from .norm import norm_at, scale_into_polar, vertex_of_box

#: A constraint that is violated by this share of its row's range costs as much as everything else can vary in the box.
_PENALTY_SHARE = 1e-2
#: Rows that range over less than this share of their terms are left to propagation: their multipliers would be rounding.
_THIN = 1e-9


@inner
def _fill(r: LoopProblem, k: LoopNode, start: Any, count: Any) -> None:
    """Compute the rows of terms listed in ``k.hinges`` from ``start``, their beginnings in ``R.b``, a coordinate at a time.

    Each beginning is lowered by its rounding.
    """
    R, A, n, p, listed, centre, errors = k.relaxation, r.rows, r.point.size, k.w.size, k.hinges, k.centre, r.row_errors
    b, size, terms, rows, turns = R.b, R.u, R.position, R.rows, R.curved
    for t in range(start, count):
        terms[t] = listed[t] if listed[t] < n else listed[t] - n if listed[t] < 2 * n else listed[t] - 2 * n
        size[t] = abs(b[t])
        turns[t] = k.orientation[terms[t]] if listed[t] < n else 1.0
    for j in range(p):
        factor, mid = k.half[j] / k.scale[j], abs(k.mid[j])
        for t in range(start, count):
            a = A[j, terms[t]]
            size[t] += abs(a) * mid
            rows[j, t] = a * factor * turns[t]
    for t in range(start, count):
        b[t] = b[t] - centre[terms[t]] * turns[t] - 4.0 * (p + 4) * EPS * size[t] - errors[terms[t]]


@inner
def _envelopes(r: LoopProblem, k: LoopNode) -> tuple[Any, float]:
    """Add hinges of envelopes and tails; return their number, and the constants of the undecided terms."""
    R, costs, unpaid, low, listed, n = k.relaxation, k.costs, k.unpaid, k.low, k.hinges, r.point.size
    b, caps, spread, constant, count = R.b, R.cap, k.spread, 0.0, n - n
    for i in range(n):
        kind, slope = r.kind[i], costs[i] * r.tail[r.kind[i]]
        if k.undecided[i] and unpaid[i] > 0.0:
            constant += unpaid[i] * k.base[i]
            slope -= unpaid[i] * k.first_slope[i]
            for t in range(k.pieces[i]):
                if k.slopes[t, i] > 0.0:
                    b[count], caps[count], listed[count], spread[count] = k.begins[t, i], unpaid[i] * k.slopes[t, i], i, 1.0
                    count += 1
        if low[i] < r.rise_start[kind] and slope > 0.0:  # a hinge of no height has no smoothed value either
            b[count], caps[count], listed[count], spread[count] = r.rise_start[kind], slope * (1.0 - 4.0 * EPS), n + i, 1.0
            count += 1
    return count, constant


@inner
def _variation(k: LoopNode, moves: int, count: Any) -> float:
    """Return an estimate of how much the relaxation without penalties varies in the box, from its first ``count`` rows."""
    R, total = k.relaxation, 0.0
    for t in range(count):
        total += R.cap[t] * (k.high[R.position[t]] - k.low[R.position[t]])
    for j in range(k.w.size):
        total += k.scale[j] * (2.0 * abs(R.q[j]) + k.scale[j])
        for t in range(moves):
            total += 2.0 * abs(k.moves[t, j]) * k.half[j]
    return total


@inner
def _demands(r: LoopProblem, k: LoopNode, count: Any, worth: float) -> Any:
    """Add penalties of demanded points; return the number of rows so far."""
    R, n, listed, spread = k.relaxation, r.point.size, k.hinges, k.spread
    for i in range(r.points):
        reach = k.high[i] - k.centre[i]
        if k.demanded[i] and k.centre[i] - reach < 1.0 and reach > _THIN * (1.0 + abs(k.centre[i])):
            R.b[count], R.cap[count], listed[count], spread[count] = 1.0, worth / (_PENALTY_SHARE * reach), 2 * n + i, reach
            count += 1
    return count


@inner
def _rows(r: LoopProblem, k: LoopNode, count: Any, worth: float) -> Any:
    """Add penalties of linear constraints that the box does not decide; return the number of rows so far."""
    R, p = k.relaxation, k.w.size
    for s in range(r.row_lower.size):
        centre, reach, size, total = 0.0, 0.0, abs(r.row_lower[s]), 0.0
        for j in range(p):
            a = r.constraints[s, j]
            centre += a * k.mid[j]
            reach += abs(a) * k.half[j]
            size += abs(a) * abs(k.mid[j])
            total += abs(a)
        if centre - reach >= r.row_lower[s] or reach <= _THIN * (size + total):
            continue
        for j in range(p):
            R.rows[j, count] = r.constraints[s, j] * (k.half[j] / k.scale[j])
        R.b[count] = r.row_lower[s] - centre - 4.0 * (p + 4) * EPS * size
        R.cap[count], k.spread[count] = worth / (_PENALTY_SHARE * reach), reach
        k.hinges[count] = 2 * r.point.size + r.points + s
        count += 1
    return count


@inner
def _prices(r: LoopProblem, k: LoopNode, count: Any) -> Any:
    """Add the prices of undecided coefficients: π w_j/hi_j for positive w_j, π w_j/lo_j for negative w_j."""
    R, first = k.relaxation, 2 * r.point.size + r.points + r.row_lower.size
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
def _signs(r: LoopProblem, k: LoopNode, count: Any, worth: float) -> Any:
    """Add penalties of margins whose signs are demanded; return the number of rows so far."""
    R, p, first = k.relaxation, k.w.size, 2 * r.point.size + r.points + r.row_lower.size + 2 * k.w.size
    for i in range(r.points):
        sign, reach, size = k.demanded_signs[i], k.high[i] - k.centre[i], 0.0
        if sign == 0.0 or sign * k.centre[i] - reach >= 0.0:
            continue
        for j in range(p):
            size += abs(r.rows[j, i]) * (abs(k.mid[j]) + k.half[j])
        if reach <= _THIN * size:
            continue
        for j in range(p):
            R.rows[j, count] = sign * r.rows[j, i] * (k.half[j] / k.scale[j])
        R.b[count] = -sign * k.centre[i] - 4.0 * (p + 4) * EPS * size - r.row_errors[i]
        R.cap[count], k.spread[count] = worth / (_PENALTY_SHARE * reach), reach
        k.hinges[count] = first + (i if sign > 0.0 else r.points + i)
        count += 1
    return count


@inner
def _fill_hinges(r: LoopProblem, k: LoopNode, moves: int, cut: float, node_bound: float) -> tuple[Any, float]:
    """Fill the hinges of the relaxation except the norm's; return their number, and the sum of their constants.

    A penalty is worth the variation of all other terms in the box plus the distance from ``node_bound`` to the cutoff, at most
    the cutoff. A larger one would only make Newton's systems ill-conditioned in small boxes.
    """
    count, constant = _envelopes(r, k)
    _fill(r, k, count - count, count)
    if r.restricted:
        worth = min(cut, _variation(k, moves, count) + max(cut - node_bound, 0.0))
        demand_count = _demands(r, k, count, worth)
        _fill(r, k, count, demand_count)
        count = _prices(r, k, _rows(r, k, demand_count, worth))
        if r.epsilon.size:
            count = _signs(r, k, count, worth)
    return count, constant


#: First and last smoothing of the hinges, for the bound or for the point, in margins or shares of their range.
_SMOOTH, _SMOOTHEST, _SHARPEST = 0.3, 1e-7, 1e-10
#: Newton's decrement at the end, as a share of the cut and the smoothing.
_STOP = 1e-7
#: Share of an end's distance from the bound's minimiser by which the end moves less than it could. The checker rounds otherwise,
#: and its boxes must not be wider than those of the search: a difference in width grows from round to round.
_BEHIND = 1e-7


@inner
def _moves(r: LoopProblem, k: LoopNode) -> int:
    """Scale p into the polar, and store the moves by which it may become steeper somewhere in the box; return their number."""
    if r.half_edges.shape[0] > 0:
        return vertex_of_box(r, k)
    scale_into_polar(r, k, k.polar)
    norm_excess = norm_at(r, k, k.w)
    for j in range(k.w.size):
        k.moves[0, j] = k.maximiser[j] - k.polar[j]
        norm_excess -= k.polar[j] * k.w[j]
    return 1 if norm_excess > 0.0 else 0


@inner
def _move(k: LoopNode, count: Any, t: int) -> None:
    """Add the row of a move: (D_t'w)_+."""
    R, centre, size, p = k.relaxation, 0.0, 0.0, k.w.size
    for j in range(p):
        centre += k.moves[t, j] * k.mid[j]
        size += abs(k.moves[t, j] * k.mid[j])
        R.rows[j, count] = -k.moves[t, j] * k.half[j] / k.scale[j]
    R.b[count], R.cap[count], k.spread[count] = centre - 4.0 * (p + 4) * EPS * size, 1.0, 1.0


@inner
def _square(r: LoopProblem, k: LoopNode, perturbation: float) -> float:
    """Store scales and linear part of the squares and of p'w; return their constant, rounded down."""
    R, p, constant, size = k.relaxation, k.w.size, 0.0, perturbation
    for j in range(p):
        d, mid, half = r.curvature[j], k.mid[j], k.half[j]
        scale = math.sqrt(d * half * half + perturbation / p)
        constant -= perturbation / p if half > 0.0 else 0.0
        k.scale[j], k.bottom[j] = scale, -scale
        R.q[j] = (2.0 * d * mid + k.polar[j]) * half / scale
        constant += mid * (d * mid + k.polar[j])
        size += d * half * half + abs(mid) * (d * abs(mid) + abs(k.polar[j]))
        R.trial[j] = 0.0
    return constant - 8.0 * (p + 8) * EPS * size


@inner
def relax(
    r: LoopProblem, k: LoopNode, fixed_cost: float, cut: float, node_bound: float, perturbation: float, sharp: bool
) -> float:
    """Solve the node's relaxation, move w and p to its solution, and return a proved lower bound, ``fixed_cost`` included.

    ``node_bound`` is the node's bound so far, ``perturbation`` the value s of the added square. The smoothing is reduced until
    the smoothed problem decides whether the bound reaches the cutoff ``cut``; with ``sharp`` to its least value.
    """
    R, p, x = k.relaxation, k.w.size, k.relaxation.mid
    moves = _moves(r, k)
    squares = _square(r, k, perturbation)
    hinges, initial = _fill_hinges(r, k, moves, cut, node_bound)
    rows = hinges
    for t in range(moves):
        _move(k, rows, t)
        rows += 1
    k.counts[1] = hinges
    const = fixed_cost + initial + squares - 4.0 * EPS * (r.point.size + 8) * (abs(fixed_cost) + abs(initial) + abs(squares))
    span = 0.0
    for j in range(p):
        x[j] = min(max((k.w[j] - k.mid[j]) / k.half[j], -1.0), 1.0) * k.scale[j] if k.half[j] > 0.0 else 0.0
    for i in range(r.point.size):
        span = max(span, k.high[i] - k.low[i])
    span = min(span, 1.0)
    sharpest = sharp and (r.restricted or r.jumps[0])  # short margins at a corner may cost the whole height
    width, least_width = _SMOOTH * span, (_SHARPEST if sharpest else _SMOOTHEST) * span
    while True:
        for t in range(rows):
            R.h[t] = R.cap[t] / (width * k.spread[t])
        bound, _ = newton(R, rows, const, k.bottom, k.scale, x, cut, _STOP * width * abs(cut))
        bound -= rounding_error_bound(R, rows, const)
        slack = 0.0
        for t in range(rows):
            slack += (R.cap[t] - R.alpha[t]) * max(R.b[t] - R.u[t], 0.0)
        if (
            not bound > -math.inf
        ):  # sums of very large costs overflow: the bound is void, and a comparison with NaN would not end the loop
            for j in range(p):
                k.w[j], k.polar[j] = k.mid[j], 0.0
            return -math.inf
        if bound >= cut or (bound + slack < cut and not sharp) or not width >= least_width:
            break
        width *= 0.1
    for j in range(p):
        k.w[j] = min(max(k.mid[j] + k.half[j] * x[j] / k.scale[j], k.lo[j]), k.hi[j])
        for t in range(moves):
            k.polar[j] += min(R.alpha[hinges + t], 1.0) * k.moves[t, j]
    R.saved[0, 0] = bound
    return bound


@inner
def tighten_box(k: LoopNode, cut: float) -> float:
    """Cut off the part of the box that the last relaxation proves no better than the cut.

    Return the largest relative reduction of a width; 2 if nothing is left.
    """
    R, p = k.relaxation, k.w.size
    lo, hi = R.saved[1], R.saved[2]
    slack = 1e-15
    for j in range(p):
        lo[j], hi[j] = k.bottom[j], k.scale[j]
        slack += R.ds[j]
    if not reduced_cost_tightening(lo, hi, R.c, R.s, R.ds, max(cut - R.saved[0, 0], 0.0), slack):
        return 2.0
    reduction = 0.0
    for j in range(p):
        lower, upper = (lo[j] - _BEHIND * (R.c[j] - lo[j])) / k.scale[j], (hi[j] + _BEHIND * (hi[j] - R.c[j])) / k.scale[j]
        if k.half[j] == 0.0:
            continue
        reduction = max(reduction, 1.0 - 0.5 * (upper - lower))
        rounding_off = 8.0 * EPS * (abs(k.mid[j]) + k.half[j])
        k.lo[j] = max(k.lo[j], k.mid[j] + k.half[j] * lower - rounding_off)
        k.hi[j] = min(k.hi[j], k.mid[j] + k.half[j] * upper + rounding_off)
        if k.lo[j] > k.hi[j]:
            return 2.0
    return reduction
