"""Ranking: the hinge of score differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ....arrays import FloatArray, IntArray, Points
from ....statement import Line
from ..assembly import Affine, Assembly
from ..part import Classifier, Setting
from .conjugate import Conjugate, HingeConjugate
from .hinge import Hinge
from .loss import Loss

__all__ = ["PairwiseHinge"]


@dataclass(frozen=True)
class PairwiseHinge(Loss):
    """Σ over pairs with y_i > y_j of c_i c_j (1 - (x_i - x_j)'w)_+: Joachims, 2002, with any numbers as grades y.

    The form has a row for each pair: n² of them at worst.
    """

    labels: ClassVar[bool] = False
    intercept: ClassVar[bool] = False

    @staticmethod
    def _pairs(y: FloatArray) -> tuple[IntArray, IntArray]:
        above, below = np.nonzero(y[:, None] > y[None, :])
        return above, below

    def rows(self, X: Points, y: FloatArray) -> tuple[sp.csr_array, FloatArray]:
        """Differences of scores."""
        above, below = self._pairs(np.asarray(y))
        data = sp.csr_array(X)
        return sp.csr_array(data[above] - data[below]), np.zeros(above.size)

    def costs(self, weights: FloatArray, y: FloatArray) -> FloatArray:
        """c_i c_j."""
        above, below = self._pairs(y)
        return weights[above] * weights[below]

    def values(self, argument: FloatArray) -> FloatArray:
        """(1 - d)_+."""
        return Hinge().values(argument)

    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """A slack for each pair."""
        return Hinge().add(builder, context)

    def blocks(self, classifier: Classifier) -> dict[str, FloatArray]:
        """The slacks."""
        return Hinge().blocks(classifier)

    def conjugate(self) -> Conjugate:
        """Σα on 0 ≤ α ≤ c."""
        return HingeConjugate(pairs=True)

    def cost_line(self) -> Line:
        """Σ c_i c_j ξ_ij."""
        return Line("sum_(y_i > y_j) c_i c_j xi_ij", r"\textstyle\sum_{y_i>y_j} c_i c_j\xi_{ij}")

    def lines(self) -> tuple[Line, ...]:
        """Rows of the slack."""
        return (
            Line("(x_i - x_j)'w + xi_ij >= 1", r"(x_i - x_j)^\top w + \xi_{ij} \ge 1", "margin"),
            Line("xi_ij >= 0", r"\xi_{ij} \ge 0"),
        )
