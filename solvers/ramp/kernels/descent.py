"""Descents of the ramp itself: the convex-concave procedure."""

from __future__ import annotations

from ....models.arrays import FloatArray
from ...zero_one.kernels.boxes.newton import margins
from .compiled import entry, inner
from .envelopes import classify, objective
from .records import Node, Ramp
from .relaxation import relax

__all__ = ["descend"]

#: Turns of the procedure, solutions of each turn's problem while p moves, and what squares may spend there of the objective.
_TURNS, _SOLUTIONS, _SPEND = 50, 8, 1e-9


@inner
def _linearised(r: Ramp, k: Node) -> float:
    """Hinges of the points that are not beyond the ramp at w; returns the cost of the others."""
    u, given_up = k.relaxation.u, 0.0
    margins(r.rows, r.costs.size, k.w, u)
    for i in range(r.costs.size):
        kept = u[i] >= 1.0 - r.width
        k.left[i], k.slopes[i], k.begins[i] = (r.costs[i] if kept else 0.0), r.slope, 1.0
        given_up += 0.0 if kept else r.costs[i] * r.slope * r.width
    return given_up


@entry
def descend(r: Ramp, k: Node, w: FloatArray) -> float:
    """Give up the points beyond the ramp, solve for the rest as hinges, and again, as long as the objective falls; w in place.

    The concave part of the ramp is linearised at w: each turn lowers the objective, or ends. The node gives the box; the rest of
    it is overwritten.
    """
    for j in range(w.size):
        k.w[j] = w[j]
    best = objective(r, k)
    for _ in range(_TURNS):
        before = best
        classify(r, k)
        sure = _linearised(r, k)
        for _ in range(_SOLUTIONS):
            relax(r, k, sure, max(best, 1e-300), _SPEND * best, True)
            value = objective(r, k)
            if not value < best - 1e-12 * abs(best):
                break
            best = value
            for j in range(w.size):
                w[j] = k.w[j]
        if best == before:
            break
    return best
