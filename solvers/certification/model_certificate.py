"""Certificates of models too large for a standard form, or without one: what the model itself makes of its point.

(The simplex duals need no such thing: their form keeps the kernel matrix as an operator.)
"""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import TooLargeError
from ...models.arrays import FloatArray
from ...models.model import Model
from .certificate import Certificate

__all__ = ["certify_by_model"]


def certify_by_model(model: Model, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Certificate:
    """The certificate that `Model.appraise` gives.

    Raises
    ------
    TooLargeError
        The model knows no way to appraise a point without its form.
    """
    appraisal = model.appraise(values, multipliers)
    if appraisal is None:
        raise TooLargeError(f"{model.name} is too large for its standard form, and no certificate is known without it")
    return Certificate(
        objective=appraisal.objective,
        primal_residual=appraisal.primal_residual,
        violations=appraisal.violations,
        dual_residual=appraisal.stationarity,
        bound=appraisal.bound,
        argument=appraisal.argument,
        error=appraisal.error,
        bound_error=appraisal.bound_error,
        condition=appraisal.condition,
    )
