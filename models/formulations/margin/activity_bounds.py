"""Bounds of coefficients and arguments at an optimum, from which big-M constants follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import BoolArray, FloatArray
from .losses.loss import Loss
from .regularisers.regulariser import Regulariser

__all__ = ["ActivityBounds"]


@dataclass(frozen=True, eq=False)
class ActivityBounds:
    """Bounds from the domain's, and from R(w) ≤ level, which an optimal w satisfies.

    Parameters
    ----------
    loss, regulariser
        The parts.
    penalised : ndarray of bool (p,)
    A, c : ndarray
        Argument Aw + c of the loss, dense.
    lower, upper : ndarray (p,)
        The domain's.
    cutoff : float or None
        Of R; None where none is known.
    alone : bool
        Whether nothing but the loss holds a free intercept.
    """

    loss: Loss
    regulariser: Regulariser
    penalised: BoolArray
    A: FloatArray
    c: FloatArray
    lower: FloatArray
    upper: FloatArray
    cutoff: float | None
    alone: bool

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Of |w_j| and of |argument_i|; infinite where none is known."""
        span = np.maximum(np.abs(self.lower), np.abs(self.upper))
        if self.cutoff is not None:
            own = self.regulariser.reach(self.cutoff, np.eye(int(self.penalised.sum())))
            span[self.penalised] = np.minimum(span[self.penalised], own)
        with np.errstate(invalid="ignore"):
            by_span = np.where(self.A != 0, np.abs(self.A) * span, 0.0).sum(axis=1)
        if self.cutoff is None:
            return span, by_span + np.abs(self.c)
        reach = self.regulariser.reach(self.cutoff, self.A[:, self.penalised])
        if not self.penalised.all():
            if self.alone:
                span[0] = self.loss.saturation() + float(reach.max(initial=0.0))
            reach = reach + span[0] * np.abs(self.A[:, 0])
        return span, np.minimum(by_span, reach) + np.abs(self.c)
