"""An optimum of exactly zero: the point that attains it is judged in place of the one beside it where a solver stopped.

An interior-point method ends at 1e-10 where the optimum is 0, and no relative gap says how good that is. Where the bound is zero
already and the model knows a feasible point of objective zero (`models.model.Model.costless`), that point is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ...models.arrays import FloatArray
from ...models.model import Model
from .certificate import Certificate
from .verdict import zero_allowance

__all__ = ["NOTE", "Values", "costless_beside"]

Values: TypeAlias = Mapping[str, FloatArray]

NOTE = "the point of objective zero, beside which the solver stopped"


def costless_beside(
    model: Model, certificate: Certificate, tol: float, judge: Callable[[Values], Certificate]
) -> tuple[Values, Certificate] | None:
    """The model's point of objective zero with its certificate, where the bound says that none is better.

    Parameters
    ----------
    model : Model
    certificate : Certificate
        Of the point where the solver stopped.
    tol : float
    judge : callable
        The certificate of other values with the same multipliers.
    """
    if abs(certificate.objective) <= certificate.error or certificate.integrality is not None:
        return None
    allowance = zero_allowance(certificate, tol)
    # a point a little outside may cost a little less: objective - Lagrangian is made of the products with the multipliers
    outside = 0.0 if certificate.unmet is None else certificate.unmet
    if not (-allowance <= certificate.bound <= 0.0 and certificate.objective >= -allowance - outside):
        return None
    values = model.costless()
    if values is None:
        return None
    found = judge(values)
    exact = found.objective == 0.0 and found.error == 0.0 and found.primal_residual == 0.0
    return (values, found) if exact and -zero_allowance(found, tol) <= found.bound else None
