"""Descents of the nonconvex problem itself: the convex-concave procedure, and steps of one for integers."""

from __future__ import annotations

import math
from typing import Any

from ...exact.loops.newton import margins
from .compiled import inner
from .envelopes import classify, objective, store_hull
from .propagation import choose_signs, propagate, reset_demands
from .records import LoopNode, LoopProblem
from .relaxation import relax

#: Iterations of the procedure, solutions of each iteration's problem while p moves, and the share of the objective that squares
#: may cost there.
_TURNS, _SOLUTIONS, _SPEND = 50, 8, 1e-9
#: Slope that stands for a jump, in units of the loss's height; distance that counts as being at a corner.
_STEEP, _NEAR = 1e3, 1e-6
#: Passes over all integer coefficients.
_STEPS = 20
#: Coefficients below this share of the largest one count as zero.
_DUST = 1e-9


@inner
def _majorise(r: LoopProblem, k: LoopNode, i: int, u: float) -> None:
    """Store a convex majorant for term i: the corners from the last one at or below its margin u on, and as steep to the left."""
    kind, first = r.kind[i], -1
    k.turn[i] = -1.0 if r.even[kind] and u < 0.0 else 1.0
    u *= k.turn[i]
    for t in range(r.sizes[kind]):
        if u >= r.corners[kind, t] - _NEAR:
            first = t
    if first < 0:
        k.base[i], k.pieces[i], k.first[i] = r.height[kind], 0, 0.0
        return
    last = r.sizes[kind] - 1
    for t in range(first, last + 1):
        k.corner[t - first], k.value[t - first] = r.corners[kind, t], r.at[kind, t]
    steep = 0.0
    if r.below[kind, first] > r.at[kind, first]:
        steep = _STEEP * r.height[kind]
    elif first > 0:
        steep = (r.at[kind, first - 1] - r.below[kind, first]) / (r.corners[kind, first] - r.corners[kind, first - 1])
    store_hull(r, k, i, last - first + 1)
    if k.pieces[i] == 0:
        k.begins[0, i], k.slopes[0, i], k.pieces[i] = r.corners[kind, first], steep, 1
    else:
        total = 0.0
        for t in range(k.pieces[i]):
            total += k.slopes[t, i]
        if steep > total:
            k.begins[k.pieces[i], i], k.slopes[k.pieces[i], i] = r.corners[kind, first], steep - total
            k.pieces[i] += 1
    k.first[i] = 0.0


@inner
def _demand_all_but_worst(r: LoopProblem, k: LoopNode, u: Any) -> None:
    """Demand all points of a budget but the worst ones at w, as many as it allows."""
    for b in range(r.allowed.size):
        for i in range(r.begins[b], r.begins[b + 1]):
            worse = 0
            for t in range(r.begins[b], r.begins[b + 1]):
                worse += u[t] < u[i] or (u[t] == u[i] and t < i)
            if worse >= r.allowed[b]:
                k.demanded[r.point[i]] = True


@inner
def _linearise(r: LoopProblem, k: LoopNode) -> float:
    """Store convex majorants of all points that are not given up at w; return the cost of the others."""
    u, given_up = k.relaxation.u, 0.0
    margins(r.rows, r.point.size, k.w, u)
    _demand_all_but_worst(r, k, u)
    choose_signs(r, k, u)
    for i in range(r.point.size):
        k.left[i], k.undecided[i] = k.costs[i], False
        if i < r.points and k.costs[i] > 0.0:
            _majorise(r, k, i, u[i])
            k.undecided[i] = k.pieces[i] > 0
            given_up += 0.0 if k.undecided[i] else k.costs[i] * k.base[i]
    return given_up


@inner
def _round_integers(r: LoopProblem, k: LoopNode) -> None:
    """Round integers to the nearest ones in the box."""
    for j in range(k.w.size):
        if r.whole[j]:
            k.w[j] = min(max(math.floor(k.w[j] + 0.5), math.ceil(k.lo[j])), math.floor(k.hi[j]))


@inner
def round_and_improve(r: LoopProblem, k: LoopNode) -> float:
    """Return the objective of w with its integers rounded, after unit steps as long as one of them is better; w in place."""
    _round_integers(r, k)
    best, better = objective(r, k, math.inf), True
    for _ in range(_STEPS):
        better = False
        for j in range(k.w.size):
            if not r.whole[j]:
                continue
            for step in (-1.0, 1.0):
                if k.lo[j] <= k.w[j] + step <= k.hi[j]:
                    k.w[j] += step
                    value = objective(r, k, best)
                    if value < best:
                        best, better = value, True
                    else:
                        k.w[j] -= step
        if not better:
            break
    return best


@inner
def _drop_negligible(r: LoopProblem, k: LoopNode, best: float) -> float:
    """Set coefficients that are negligible beside the largest one to 0 if the objective is no worse."""
    w, largest = k.best, 0.0
    for j in range(w.size):
        largest = max(largest, abs(w[j]))
    for j in range(w.size):
        k.w[j] = 0.0 if abs(w[j]) <= _DUST * largest and k.lo[j] <= 0.0 <= k.hi[j] else w[j]
    value = objective(r, k, best)
    if not value <= best:
        return best
    for j in range(w.size):
        w[j] = k.w[j]
    return value


@inner
def descend(r: LoopProblem, k: LoopNode, infeasible_value: float, sharp: bool) -> float:
    """Give up the points beyond the loss's corners, solve for the others, and repeat as long as the objective falls.

    The descent starts and ends at ``k.best``. The concave parts of the losses are linearised at w: each iteration lowers the
    objective, or ends. The node gives the box; its other fields are overwritten. ``infeasible_value`` is the objective of
    infeasible points.
    """
    w = k.best
    for j in range(w.size):
        k.w[j] = w[j]
    for i in range(r.point.size):
        k.costs[i] = r.costs[i] if i < r.points else 0.0
    best, is_integral = objective(r, k, math.inf), False
    for j in range(w.size):
        is_integral |= r.whole[j]
    for _ in range(_TURNS):
        before = best
        reset_demands(r, k)
        if r.restricted and not propagate(r, k):
            break
        if not classify(r, k):
            break
        sure = _linearise(r, k)
        for _ in range(_SOLUTIONS):
            scale: Any = min(best, infeasible_value)
            relax(r, k, sure, max(scale, 1e-300), _SPEND * scale, sharp)
            value = round_and_improve(r, k) if is_integral else objective(r, k, best)
            if not value < (best - 1e-12 * abs(best) if best < math.inf else best):
                break
            best = value
            for j in range(w.size):
                w[j] = k.w[j]
        if best == before:
            break
    return _drop_negligible(r, k, best)
