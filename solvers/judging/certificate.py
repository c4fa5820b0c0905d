"""Certificates: everything a result claims, recomputed in float64 from the form and the point alone.

Nothing here trusts a solver. Residuals are relative to the size of what they are residuals of; a *bound* is reported as
proved only when the model could repair the multipliers to an exactly feasible dual point (`models.model.Model.bound`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...models.arrays import FloatArray
from ...models.model import Model
from ...models.program.form import StandardForm
from ...models.program.lagrangian import lagrangian_bound
from ..records.trace import relative_gap

__all__ = ["Certificate", "certify"]


@dataclass(frozen=True)
class Certificate:
    """What a point and its multipliers are worth. All values in the form's minimisation sense.

    Parameters
    ----------
    objective : float
        ½x'Px + q'x + r.
    primal_residual : float
        Largest violation of a row (of a cone where it is not polyhedral) relative to 1 + max(|F x|, |g|) of that row (cone), and
        of a bound relative to 1 + |x_j|.
    violations : mapping of label to float
        Absolute violation of each constraint and of ``"bounds"``.
    integrality : float or None
        Largest distance of an integer variable from an integer.
    dual_residual : float or None
        max |Px + q - ΣF'z - ζ| relative to 1 + max(|Px|, |q|, |ΣF'z|), and the multipliers' distance from the dual cones.
    complementarity : float or None
        Σ|<z_k, F_k x + g_k>| + |ζ'(x - bound)| relative to 1 + |objective|.
    bound : float
        Proved lower bound of the form's optimum; -inf where there is none.
    argument : str
        Why the bound holds.
    """

    objective: float
    primal_residual: float
    violations: Mapping[str, float]
    integrality: float | None = None
    dual_residual: float | None = None
    complementarity: float | None = None
    bound: float = float("-inf")
    argument: str = "no multipliers"

    @property
    def gap(self) -> float:
        """(objective - bound)/max(|objective|, |bound|); infinite without a bound."""
        return relative_gap(self.objective, self.bound)

    def feasible(self, tol: float) -> bool:
        """Whether primal residual and integrality are within ``tol``."""
        return self.primal_residual <= tol and (self.integrality is None or self.integrality <= tol)

    def __str__(self) -> str:
        def shown(value: float | None) -> str:
            return "none" if value is None or not np.isfinite(value) else f"{value:.2e}"

        return (
            f"objective {self.objective:.10g}, primal residual {shown(self.primal_residual)}, "
            f"dual residual {shown(self.dual_residual)}, "
            f"complementarity {shown(self.complementarity)}, bound "
            f"{f'{self.bound:.10g}' if np.isfinite(self.bound) else 'none'}, gap {shown(self.gap)}"
        )


def certify(
    form: StandardForm,
    values: Mapping[str, FloatArray],
    multipliers: Mapping[str, FloatArray] | None = None,
    reduced: FloatArray | None = None,
    model: Model | None = None,
) -> Certificate:
    """Recompute a certificate from the form, a point and (optionally) multipliers.

    Parameters
    ----------
    form : StandardForm
    values : mapping of label to array
        Primal point by block.
    multipliers : mapping of label to array, optional
        z_k; constraints without an entry count with zero.
    reduced : ndarray (n,), optional
        ζ; zero where it is not given.
    model : Model, optional
        Whose own dual is used for the bound; without one the Lagrangian's (`models.program.lagrangian`).
    """
    x = form.join(values)
    violations, primal = _primal(form, x)
    integrality = None
    if form.integer.any():
        integers = x[form.integer]
        integrality = float(np.abs(integers - np.round(integers)).max(initial=0.0))
    dual = complementarity = None
    if multipliers is not None:
        dual, complementarity = _dual(form, x, multipliers, np.zeros(form.n) if reduced is None else reduced)
    value, argument = _bound(form, x, multipliers, model)
    return Certificate(form.objective(x), primal, violations, integrality, dual, complementarity, value, argument)


def _primal(form: StandardForm, x: FloatArray) -> tuple[dict[str, float], float]:
    violations: dict[str, float] = {}
    worst = 0.0
    for c in form.constraints:
        if c.rows == 0:
            continue
        Fx = np.asarray(c.F @ x)
        if not np.isfinite(Fx).all():  # overflow: nothing can be said for such a point
            violations[c.label] = worst = np.inf
            continue
        violations[c.label] = c.cone.violation(Fx + c.g)
        # row by row for linear constraints, cone by cone for the others: one huge row must not excuse the rest
        worst = max(worst, c.cone.relative_violation(Fx + c.g, np.maximum(np.abs(Fx), np.abs(c.g))))
    below = np.where(np.isfinite(form.lower), form.lower - x, 0.0)
    above = np.where(np.isfinite(form.upper), x - form.upper, 0.0)
    outside = np.maximum(np.maximum(below, above), 0.0)
    violations["bounds"] = float(outside.max(initial=0.0))
    return violations, max(worst, float((outside / (1.0 + np.abs(x))).max(initial=0.0)))


def _dual(form: StandardForm, x: FloatArray, multipliers: Mapping[str, FloatArray], reduced: FloatArray) -> tuple[float, float]:
    gradient = form.gradient(x)
    pulled = np.zeros(form.n)
    outside, products = 0.0, 0.0
    for c in form.constraints:
        z = np.asarray(multipliers.get(c.label, np.zeros(c.rows)), dtype=np.float64)
        pulled += c.F.T @ z
        outside = max(outside, c.cone.dual_violation(z) / (1.0 + float(np.abs(z).max(initial=0.0))))
        # row by row (cone by cone), so that a violated row does not cancel a slack one
        products += float(np.abs((z * c.value(x)).reshape(-1, c.cone.block).sum(axis=1)).sum())
    # ζ > 0 prices the lower bound, ζ < 0 the upper one; a price on a bound that is not there is a residual
    low, high = np.maximum(reduced, 0.0), np.maximum(-reduced, 0.0)
    missing = np.where(np.isfinite(form.lower), 0.0, low) + np.where(np.isfinite(form.upper), 0.0, high)
    slack_low = np.where(np.isfinite(form.lower), x - form.lower, 0.0)
    slack_high = np.where(np.isfinite(form.upper), form.upper - x, 0.0)
    products += float(low @ np.abs(slack_low)) + float(high @ np.abs(slack_high))
    scale = 1.0 + max(
        np.abs(gradient - form.q).max(initial=0.0), np.abs(form.q).max(initial=0.0), np.abs(pulled).max(initial=0.0)
    )
    stationarity = float(np.abs(gradient - pulled - reduced).max(initial=0.0)) / scale
    unpriced = float(missing.max(initial=0.0)) / scale
    return max(stationarity, outside, unpriced), products / (1.0 + abs(form.objective(x)))


def _bound(
    form: StandardForm, x: FloatArray, multipliers: Mapping[str, FloatArray] | None, model: Model | None
) -> tuple[float, str]:
    if form.integer.any():
        return -np.inf, "mixed-integer: multipliers prove nothing"
    if model is not None:
        bound = model.bound(x, multipliers)
        return bound.value, bound.argument
    if multipliers is None:
        return -np.inf, "no multipliers"
    return lagrangian_bound(form, x, multipliers), "Lagrangian at multipliers projected on their dual cones"
