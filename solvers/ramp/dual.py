"""Lower bounds of the nodes of `ramp-bb` from dual multipliers, integer multiples of a power of two: their sums are exact.

The objective is f(w) = ||w|| + Σ c_i ρ(m_i) with the margins m_i = a_i'w and the norm of the atoms x_j, so that |V'w| ≤ ||w||
max_j |x_j'V|. The loss ρ ≥ 0 is 0 from the margin r on, h at q < r, linear between. A node has *given up* some points (m_i ≤ q:
they pay h or more); every other point has a proved lower bound l_i of its margin, and is *kept* if l_i ≥ q. With ρ̄ = min(ρ, h)
and σ_i = (r - min(l_i, q))/h every point that is not given up has

    (r - m_i)_+ ≤ σ_i ρ̄_i.

*Conflicts.* For u ≥ 0 and V = Σ u_i a_i whose component V_b of a free intercept is 0, Σ u_i (r - m_i)_+ + η ||w|| ≥ r Σ u_i = t,
where η = max_j |x_j'V|. A point that is given up has ρ̄_i = h, so that a load of t/h makes it pay t. So with L_i = u_i (r - q)/h
of points that are kept, and L_i = max(u_i (r - q), t)/h of others where u_i > 0

    Σ L_i ρ̄_i + η ||w|| ≥ t    at every w of the node.

*Bounds.* For β ≥ 0, λ ≥ 0, loads g_i = Σ_k λ_k L_ki, V = Σ β_i a_i over points that are not given up less the sum over those
that are, V_b = 0, and θ ≥ max_j |x_j'V| + Σ_k λ_k η_k, every w of the node has θ f(w) ≥ D + θ h Σ_{given up} c_i with

    D = r Σ_{others} β_i - q Σ_{given up} β_i + Σ_k λ_k t_k - h Σ_{given up} g_i - h Σ_{others} (β_i σ_i + g_i - θ c_i)_+.

The same sum with V - a_i in place of V bounds the margin of point i at every w of the node with f(w) < B: m_i ≥ D + θ (h
Σ_{given up} c_i - B).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...models.arrays import BoolArray, FloatArray
from ...models.rounding import gamma
from ...models.views import MarginProblem
from ..exact.log_file import DualPoint

#: The reserve for rounding is this many times that of the checker, which accepts each bound.
_RESERVE = 4.0
#: Largest integer of a dual point (`DualPoint`).
_LARGEST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class RampConflicts:
    """The data of K conflicts as arrays, rounded so that their inequalities Σ L_i ρ̄_i + η ||w|| ≥ t hold."""

    loads: FloatArray  #: (K, n) loads L of points that may be given up
    kept_loads: FloatArray  #: (K, n) loads L of points that are kept
    thresholds: FloatArray  #: (K,) right-hand sides t
    dual_norms: FloatArray  #: (K,) factors η of the norm


@dataclass(frozen=True, eq=False)
class RampProblem:
    """A problem of ramp losses and a norm, with conflicts that hold at every w.

    Parameters
    ----------
    view : MarginProblem
        All costs positive, one ramp, atoms for all coefficients but a free intercept, no squares and no restrictions.
    conflicts : tuple of DualPoint
        The multipliers u (n,) of each conflict, integers times a power of two.
    """

    view: MarginProblem
    conflicts: tuple[DualPoint, ...] = ()

    @property
    def height(self) -> float:
        """The loss h at the margin q: a point that is given up pays h or more."""
        return self.view.loss.height

    @property
    def full_loss_margin(self) -> float:
        """The margin q at which the loss is h: a point that is given up has at most this margin, a kept one at least."""
        return float(self.view.loss.margins[0])

    @property
    def zero_loss_margin(self) -> float:
        """The margin r from which on the loss is 0."""
        return float(self.view.loss.margins[1])

    @cached_property
    def column_sizes(self) -> FloatArray:
        """The largest absolute value (p,) of each column of A."""
        largest: FloatArray = np.abs(self.view.A).max(axis=0, initial=0.0)
        return largest

    def shortfall_per_loss(self, lower: FloatArray) -> FloatArray:
        """Return σ_i = (r - min(l_i, q))/h, an upper bound of (r - m_i)_+ per unit of the loss ρ̄_i."""
        return (self.zero_loss_margin - np.minimum(lower, self.full_loss_margin)) / self.height

    def dual_norm_bound(self, signed: FloatArray, target: int | None = None) -> float:
        """Return an upper bound of the dual norm max_j |x_j'V| of V = Σ signed_i a_i, or of V - a_i, i the ``target``."""
        view = self.view
        v, total = view.A.T @ signed, float(np.abs(signed).sum())
        if target is not None:
            v, total = v - view.A[target], total + 1.0
        if view.intercept:
            v[0] = 0.0  # whole multiples balance exactly
        error = _RESERVE * gamma(signed.size + 2) * self.column_sizes * total
        products, sizes = np.abs(view.atoms @ v), np.abs(view.atoms) @ (_RESERVE * gamma(v.size) * np.abs(v) + error)
        return float((products + sizes).max(initial=0.0)) * (1.0 + 1e-15)

    @cached_property
    def conflict_arrays(self) -> RampConflicts:
        """The data of all conflicts as arrays."""
        u = np.array([point.alpha for point in self.conflicts]).reshape(len(self.conflicts), len(self.view.A))
        thresholds = self.zero_loss_margin * u.sum(axis=1)
        kept_loads = u * ((self.zero_loss_margin - self.full_loss_margin) / self.height * (1.0 + 1e-12))
        loads = np.where(u > 0.0, np.maximum(kept_loads, thresholds[:, None] / self.height * (1.0 + 1e-12)), 0.0)
        dual_norms = np.array([self.dual_norm_bound(row) for row in u])
        return RampConflicts(loads, kept_loads, thresholds - 1e-12 * np.abs(thresholds), dual_norms)

    def rounded_multipliers(self, multipliers: FloatArray, signs: FloatArray, target: int | None = None) -> DualPoint | None:
        """Return multipliers (of the points, then of the conflicts) rounded so that V_b = 0 holds exactly for a free intercept.

        ``signs`` is -1 for points that are given up, 1 for the others. With a ``target`` V - a_i, i the target, replaces V. None
        if the multipliers are too far from V_b = 0.
        """
        point = DualPoint.nearest(multipliers, np.full(multipliers.size, math.inf))
        n, numbers, exponent = len(signs), (point.numbers + 1) >> 1, point.exponent + 1  # leaves a bit for the balance
        if not self.view.intercept:
            return DualPoint(numbers, exponent)
        directions, sought = (self.view.A[:, 0] * signs).astype(np.int64), 0
        if target is not None and exponent > 0:  # the target's own multiplier is 1
            return None
        if target is not None:
            sought = int(self.view.A[target, 0]) << -exponent
        excess = int(directions @ numbers[:n]) - sought
        heavy = np.where(directions * excess > 0, numbers[:n], -1)
        if heavy.max() >= abs(excess):
            numbers[int(np.argmax(heavy))] -= abs(excess)
        else:
            numbers[int(np.argmin(np.where(directions * excess < 0, numbers[:n], _LARGEST)))] += abs(excess)
        is_balanced = int(directions @ numbers[:n]) == sought and numbers.max() <= _LARGEST
        return DualPoint(numbers, exponent) if is_balanced else None

    def certified_bound(
        self, point: DualPoint, theta: float, lower: FloatArray, given_up: BoolArray, target: int | None = None
    ) -> tuple[float, float]:
        """Return D, rounded down, and the least θ ≥ ``theta`` that the multipliers allow.

        ``lower`` (n,) are the node's lower bounds l of the margins. With a ``target`` D is that of the margin of this point.
        """
        view, n = self.view, len(self.view.A)
        beta, weights = point.alpha[:n], point.alpha[n:]
        conflicts = self.conflict_arrays
        share = self.dual_norm_bound(np.where(given_up, -beta, beta), target) + float(conflicts.dual_norms @ weights) * (
            1.0 + 1e-12
        )
        theta = max(share, theta, 1e-290)
        loads = np.where(lower >= self.full_loss_margin, weights @ conflicts.kept_loads, weights @ conflicts.loads)
        excess = np.maximum(beta * self.shortfall_per_loss(lower) + loads - theta * view.costs, 0.0)
        terms = (
            self.zero_loss_margin * float(beta[~given_up].sum()), -self.full_loss_margin * float(beta[given_up].sum()),
            float(weights @ conflicts.thresholds), -self.height * float(loads[given_up].sum()),
            -self.height * float(excess[~given_up].sum()),
        )  # fmt: skip
        used = (excess > 0.0) & ~given_up
        size = float((beta * self.shortfall_per_loss(lower) + loads + theta * view.costs)[used].sum())
        reserve = _RESERVE * gamma(n + weights.size + 16) * (sum(map(abs, terms)) + self.height * size)
        return sum(terms) - reserve, theta


def initial_margin_bounds(problem: RampProblem, cut: float) -> FloatArray:
    """Return lower bounds l_i that hold for the margins of at least one optimal w, if the optimum is below ``cut``.

    |a_i'w| ≤ ||w|| max_j |x_j'a_i|. For fixed other coefficients some best intercept puts a margin at a breakpoint of the loss.
    If the loss rises again below its flat piece, a point's own loss bounds its margin, too.
    """
    view, inside = problem.view, problem.view.A.copy()
    if view.intercept:
        inside[:, 0] = 0.0
    reach = cut * np.abs(inside @ view.atoms.T).max(axis=1, initial=0.0) * (1.0 + 1e-9)
    lower = -reach
    if view.intercept:
        lower = lower - (view.loss.largest_breakpoint + float(reach.max(initial=0.0))) * (1.0 + 1e-9)
    if view.loss.tail > 0.0:
        excess = np.maximum(cut / view.costs - problem.height, 0.0) / view.loss.tail
        lower = np.maximum(lower, view.loss.rise_start - excess * (1.0 + 1e-9) - 1e-9 * abs(view.loss.rise_start))
    return np.asarray(lower)
