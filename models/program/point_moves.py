"""Moves of the point x̂ at which a bound's tangent touches the quadratic.

x̂ - D v changes the slopes P x̂ + d by -P D v, and -½x̂'Px̂ by no more than ||D P x̂||·||v|| + ½||D P D||·||v||². Where variables
without bounds have no curvature of their own (a singular P), multipliers alone often cannot bring their slopes to zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..arrays import FloatArray
from .form import Quadratic

__all__ = ["PointMoves"]


@dataclass(frozen=True, eq=False)
class PointMoves:
    """Moves of the tangent's point x̂.

    Parameters
    ----------
    hat : ndarray (n,)
        x̂ itself, which is moved in place.
    quadratic : Quadratic
        P, given as a matrix.
    """

    hat: FloatArray
    quadratic: Quadratic

    @cached_property
    def scale(self) -> float:
        """D's diagonal."""
        return max(1.0, float(np.abs(self.hat).max(initial=0.0)))

    @cached_property
    def columns(self) -> sp.csr_array:
        """P D."""
        return sp.csr_array(self.scale * self.quadratic.csc)

    def move(self, v: FloatArray) -> None:
        """x̂ - D v."""
        self.hat[:] -= self.scale * v

    def cost(self, distance: float) -> float:
        """Return the change of -½x̂'Px̂"""
        slope = self.scale * (np.abs(self.quadratic.product(self.hat)) + self.quadratic.product_error(self.hat))
        bend = self.scale * float(np.linalg.norm(self.columns.data))
        return (float(np.linalg.norm(slope)) + 0.5 * bend * distance) * distance * (1.0 + 1e-9)
