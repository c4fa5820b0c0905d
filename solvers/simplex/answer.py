"""The end of every simplex algorithm: float64 products, multipliers, the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...models.arrays import FloatArray
from ...models.views import SimplexQP
from ..records.answer import Answer

__all__ = ["relative", "simplex_answer", "simplex_multipliers"]


def relative(objective: float, gap: float) -> float:
    """gap / max(|f|, |f - gap|); 0 where the gap is not positive."""
    if gap <= 0.0:
        return 0.0
    scale = max(abs(objective), abs(objective - gap))
    return gap / scale


def simplex_multipliers(view: SimplexQP, gradient: FloatArray) -> tuple[FloatArray, FloatArray]:
    """ν_g = min_{i in g} ∇_i and ζ = ∇ - ν ≥ 0: multipliers of Σ_g a = 1 and of a ≥ 0, exactly stationary."""
    nu = view.least(gradient)
    return nu, gradient - nu[view.groups]


def simplex_answer(view: SimplexQP, a: FloatArray, gradient: FloatArray, details: Mapping[str, Any]) -> Answer:
    """The point with multipliers ``{"sum": ν}`` and reduced costs ζ (Qa + c = F'ν + ζ)."""
    nu, zeta = simplex_multipliers(view, gradient)
    return Answer(values={view.label: a}, multipliers={"sum": nu}, reduced=zeta, details=dict(details))
