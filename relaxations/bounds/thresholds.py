r"""The relaxation of ramp losses by a 0-1 problem (`Thresholds`), which an exact solver bounds: a ramp is a mean of steps.

The problem is min F(w) = Σ_j q_j w_j² + ||w||_X + Σ_i c_i ρ(a_i'w): curvatures q_j ≥ 0; the norm ||·||_X whose unit ball is the
convex hull of vectors ±x_k (`MarginProblem`); costs c_i ≥ 0; signed rows a_i = y_i x_i; a loss ρ(m) ≥ (h/d) min{(1 - m)_+, d},
the ramp of height h and width d. A tail of the loss, prices of nonzero coefficients and restrictions of w are left out, which
only lowers the optimum. A ramp is an integral of steps, ρ(m) ≥ (h/d) ∫_{1-d}^1 1{m < s} ds. Take the steps s = t and s = -κt
together, 0 ≤ κ ≤ (d - 1)_+, for τ < t < 1 with τ ≥ 1 - d, and write v = w/t:

    Σ c_i ρ(a_i'w) ≥ ∫_τ^1 N(w/t) dt,    N(v) = (h/d) (Σ c_i 1{a_i'v < 1} + κ Σ c_i 1{a_i'v < -κ}).

Norms are means over the same t: w_j² = ∫_τ^1 τ/(1-τ) (w_j/t)² dt and ||w||_X = ∫_τ^1 ||w/t||_X/ln(1/τ) dt. So with
H(v) = N(v) + τ/(1-τ) Σ q_j v_j² + ||v||_X/ln(1/τ)

    F(w) ≥ ∫_τ^1 H(w/t) dt ≥ (1 - τ) inf H.

Minimising H is a 0-1 problem with two rows for each point: one is violated by a margin below 1, one by a margin below -κ. A
search bounds it by branching on which rows are violated. For a ramp it cannot, since the loss depends on the length of w.

*Stated as a `ZeroOneSVM`.* Its rows require margins of at least 1. So the second thresholds need a further coefficient s with
rows a_i'v - s ≥ 1, a_i'v + (d - 1)s ≥ 1, and one row s ≥ S whose cost is too large to violate it. At s = S the thresholds of
a_i'v are S + 1 and 1 - (d - 1)S; those of v/(S + 1) are 1 and -κ with κ = ((d - 1)S - 1)/(S + 1).

*Norms become squares.* Let U = Σ c_i ρ(0)/(1 - τ) ≥ inf F/(1 - τ) and L = max ||x_k||. Where H(v) < U, with l = 1/ln(1/τ),
l||v||_X ≥ l||v||/L ≥ (l||v||/L)²/U; and the 0-1 problem's optimum is at most (1 - τ)U in any case.

*A free intercept* b has a best value with |b| ≤ max{1, κ} + max||x_i|| ||v||: beyond that all points of one class are right and
all others wrong by more than any threshold. So a small square of b costs at most a share of the other squares and a constant.
`offset` subtracts this constant and the cost of s = S.

The coefficients of all squares are powers of four, so rows are scaled exactly; all other numbers are rounded so that the bound
stays valid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...errors import InputError, short_text
from ...models.arrays import FloatArray, as_positive
from ...models.formulations.margin.model import Margin
from ...models.formulations.ramp import RampSVM
from ...models.formulations.zero_one import ZeroOneSVM
from ...models.model import Model
from ...models.program.lagrangian import dual_bound
from ...models.rounding import Rounded
from ...models.views import MarginProblem
from ..margin_reduction import MarginReduction, as_margin
from ..reduction import LiftedDual, Relaxation, without_warnings

#: Factors that lower or raise a computed number by more than its rounding error.
_BELOW, _ABOVE = 1.0 - 2.0**-40, 1.0 + 2.0**-40
#: S of the module's docstring: κ is d - 1 less d/(S + 1).
_UNIT = 256.0
#: Largest cost of the square of s relative to Σ c_i ρ(0); share of the least coefficient of a square for a free intercept.
_SMALL, _SHARE = 1e-9, 0.125
#: If κ is above this number and at most 1, first thresholds get the weight κ of the second: a search is faster on equal costs.
_NEARLY = 0.98


@dataclass(frozen=True)
class Thresholds(MarginReduction[ZeroOneSVM]):
    """The reduction of a ramp loss to the 0-1 problem with two thresholds, 1 and nearly -(d - 1); an exact search bounds it.

    Parameters
    ----------
    tau : float
        0 < τ < 1: steps at t > τ count (and t > 1 - d). The bound contains the losses times 1 - τ, the squares times τ and the
        norm times (1 - τ)/ln(1/τ).

    Raises
    ------
    InputError
        τ is not between 0 and 1.
    """

    tau: float = 0.01

    #: Classes of models that the reduction is defined for.
    reads: ClassVar[tuple[type[Model], ...]] = (RampSVM, Margin)

    def __post_init__(self) -> None:
        super().__post_init__()
        if as_positive(self.tau, "tau") >= 1.0:
            raise InputError(f"tau must be between 0 and 1; it is {short_text(self.tau)}", name="tau")

    @property
    def name(self) -> str:
        """Return the name, with τ if it is not the default."""
        return "two thresholds" if self.tau == Thresholds.tau else f"two thresholds, tau {self.tau:g}"

    def missing_part(self, composed: Margin) -> str:
        """Return the reason why a composition (the model as a `Margin`) is not read: no ramp, or a coefficient without norm or
        squares; empty if it is read.
        """
        loss, view = composed.loss.piecewise_linear(), composed.view(MarginProblem)
        if loss is None or loss.margins.size != 2 or loss.margins[1] != 1.0 or (loss.at != loss.below).any():
            return f"it needs a ramp, linear up to a margin of 1, and reads no {type(composed.loss).__name__}"
        if view is None:
            return composed.margin_reduction.obstacle
        if np.unique(composed.y[view.costs > 0.0]).size < 2:
            return "it needs points of both classes that cost something"
        in_norm = (view.curvature > 0.0) | view.atoms.any(axis=0)
        if not in_norm[1 if view.intercept else 0 :].all():
            return "it needs a norm or squares of every coefficient but the intercept"
        return ""

    def apply(self, model: Model) -> ZeroOneSVM:
        """Return the 0-1 problem.

        Raises
        ------
        UnsupportedModelError
            The model has no ramp, or a coefficient without norm or squares (`missing_part`).
        """
        self.check(model)
        with without_warnings():
            return self._steps(model).model()

    def offset(self, model: Model, target: ZeroOneSVM) -> Rounded:
        """Return minus an upper bound of what a free intercept's square and the coefficient s add to the optimum."""
        return Rounded(-self._steps(model).constant)

    def lift(self, model: Model, target: ZeroOneSVM, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """Return the Lagrangian bound of the 0-1 problem's form without integers, plus the `offset`."""
        value = dual_bound(target.form.relax_integrality(), None, multipliers).value - self._steps(model).constant
        return LiftedDual(value, dict(multipliers), "the 0-1 problem's form without integers; a ramp is a mean of steps")

    def recover(self, model: Model, values: Mapping[str, FloatArray]) -> dict[str, FloatArray] | None:
        """Return the point of the best allowed multiple of v; None without one."""
        steps = self._steps(model)
        u = np.asarray(values["w"], dtype=np.float64)
        return super().recover(model, {"w": u[: steps.scales.size] / steps.scales})

    def _steps(self, model: Model) -> _Steps:
        composed = as_margin(model.bounding_model)
        view = None if composed is None else composed.view(MarginProblem)
        assert composed is not None and view is not None
        return _Steps(view, composed.y, max(self.tau, float(view.loss.margins[0])))


@dataclass(frozen=True, eq=False)
class _Steps:
    """The 0-1 problem (1 - τ)·H in the variables u_j = scale_j (S + 1) v_j, and last `unit`·s; the symbols are the module's."""

    view: MarginProblem
    y: FloatArray
    tau: float

    @property
    def width(self) -> float:
        """The width d of the ramp."""
        return 1.0 - float(self.view.loss.margins[0])

    @property
    def deep(self) -> float:
        """(d - 1)_+, rounded down: the upper end of κ."""
        return max(self.width * _BELOW - 1.0, 0.0)

    @property
    def longer(self) -> float:
        """S + 1 with second thresholds, 1 without."""
        return _UNIT + 1.0 if self._second else 1.0

    @property
    def _second(self) -> bool:
        """True if there are second thresholds, that is, if κ is positive."""
        return self.deep * _UNIT > 2.0

    @cached_property
    def squares(self) -> FloatArray:
        """The coefficients of ((S + 1) v_j)²: (1 - τ) times at most those of H, from its squares and norm; 0 for an intercept."""
        view, tau = self.view, self.tau
        squares = tau * view.curvature
        if view.atoms.any():
            longest = float(np.sqrt((view.atoms**2).sum(axis=1).max())) * _ABOVE
            share = (1.0 - tau) / math.log(1.0 / tau) / longest  # (1-τ)/ln(1/τ)·1/L
            squares = squares + view.atoms.any(axis=0) * share**2 / self.highest
        return np.asarray(squares / self.longer**2 * _BELOW)

    @property
    def highest(self) -> float:
        """Σ c_i ρ(0): F at 0, rounded up; (1 - τ)U."""
        return float(self.view.costs.sum()) * self.view.loss.height * min(1.0, 1.0 / self.width) * _ABOVE

    @cached_property
    def scales(self) -> FloatArray:
        """Powers of two whose squares are at most `squares`, less a share for a free intercept, whose own square is small."""
        squares = self.squares.copy()
        if self.view.intercept:
            squares[1:] *= 1.0 - _SHARE
            squares[0] = _SHARE * squares[1:].min(initial=np.inf) / (2.0 * self._far**2) if squares.size > 1 else _SMALL
        return np.asarray(2.0 ** np.floor(0.5 * np.log2(squares * _BELOW)))

    @property
    def _far(self) -> float:
        """max ||x_i|| without the intercept's column, rounded up; positive."""
        rows = self.view.A[:, 1:]
        return max(float(np.sqrt((rows**2).sum(axis=1).max(initial=0.0))) * _ABOVE, 2.0**-60)

    @property
    def unit(self) -> float:
        """The scale of s, a power of two."""
        return float(2.0 ** math.floor(0.5 * math.log2(_SMALL * self.highest)) / _UNIT)

    @property
    def constant(self) -> float:
        """The cost of s = S, and of a free intercept's square beyond the share of the other squares, rounded up."""
        constant = (self.unit * _UNIT) ** 2 if self._second else 0.0
        if self.view.intercept:
            constant += 2.0 * (float(self.scales[0]) * self.longer * max(1.0, self.deep)) ** 2
        return constant * _ABOVE

    def model(self) -> ZeroOneSVM:
        """Return the 0-1 problem."""
        view, priced = self.view, self.view.costs > 0.0
        rows, costs = (
            view.A[priced] / self.scales,
            view.costs[priced] * ((1.0 - self.tau) * view.loss.height / self.width * _BELOW),
        )
        y = self.y[priced]
        if not self._second:
            return ZeroOneSVM(y[:, None] * rows, y, costs)
        depth = (self.deep * _UNIT - 1.0) / (_UNIT + 1.0) * _BELOW
        n, end = len(rows), 1.0 / self.unit
        last = np.zeros((1, rows.shape[1] + 1))
        last[0, -1] = end / _UNIT
        signed = np.vstack([
            np.column_stack([rows, np.full(n, -end)]), np.column_stack([rows, np.full(n, self.deep * end)]), last,
        ])  # fmt: skip
        dear = 4.0 * (1.0 + depth) * float(costs.sum())
        y = np.concatenate([y, y, [1.0]])
        first = depth if _NEARLY < depth <= 1.0 else 1.0
        return ZeroOneSVM(y[:, None] * signed, y, np.concatenate([first * costs, depth * costs, [dear]]))


#: The records of these relaxations, which `relaxations.registry` collects.
RELAXATIONS = (
    Relaxation(
        "thresholds",
        "a ramp by the exact 0-1 problem of two thresholds, 1 and its negative for a ramp of width 2: ramps are means of steps",
        Thresholds(),
        "this package",
        rank=100,
    ),
)
