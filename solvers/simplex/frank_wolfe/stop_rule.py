"""The stopping rules of the Frank-Wolfe methods and of the core vector machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....errors import InputError
from ....models.views import SimplexQP
from ..answer import relative

__all__ = ["StopRule"]


@dataclass(frozen=True)
class StopRule:
    """A stopping rule: relative gap ≤ ``tol``, or γ²/r² - 1 ≤ ``delta`` where ``delta`` > 0 (Δ² = ``square``)."""

    tol: float
    delta: float = 0.0
    square: float = 0.0

    @classmethod
    def of(cls, view: SimplexQP, kind: str, epsilon: float | None, tol: float) -> StopRule:
        """The rule ``"gap"``, or ``"ball"``: δ+ ≤ (1 + ε)² - 1 of FW (19), (35).

        With the gap g = a'∇ - min ∇, γ² - r² is g for the ball's dual (c = -½ diag Q), where r² = -f, and 2g for c = 0
        and a constant diagonal Δ², where r² = Δ² - 2f.

        Raises
        ------
        InputError
            ``"ball"`` on a problem that is neither.
        """
        if kind == "gap":
            return cls(tol)
        if kind != "ball":
            raise InputError(f"stop must be 'gap' or 'ball'; it is {kind!r}")
        eps = float(np.sqrt(1.0 + tol) - 1.0) if epsilon is None else epsilon
        if not eps > 0:
            raise InputError(f"epsilon must be > 0; it is {epsilon!r}")
        delta = (1.0 + eps) ** 2 - 1.0
        diagonal = view.gram.diagonal
        scale = np.abs(diagonal).max()
        if np.abs(view.c + 0.5 * diagonal).max() <= 1e-12 * scale:
            return cls(tol, delta, 0.0)
        if not view.c.any() and np.ptp(diagonal) <= 1e-12 * scale:
            return cls(tol, delta, float(diagonal[0]))
        raise InputError(
            "stop='ball' needs a ball: the dual of MEBDual, or a kernel of constant diagonal, FW (17); use stop='gap'"
        )

    def relative(self, objective: float) -> float:
        """The relative gap that meets the rule at this objective."""
        if self.delta > 0.0:
            return 0.5 * self.delta * max(self.square - 2.0 * objective, 0.0) / max(abs(objective), 1e-300)
        return self.tol

    def met(self, objective: float, gap: float) -> bool:
        """Return whether the rule holds."""
        if self.delta > 0.0:
            return gap <= 0.5 * self.delta * (self.square - 2.0 * objective)
        return relative(objective, gap) <= self.tol
