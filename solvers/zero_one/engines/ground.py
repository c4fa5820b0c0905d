"""What a box search stands on: the reduced problem and the kernels' view of it, fixed when the search begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....models.arrays import BoolArray
from ..incumbent import penalised_rows
from ..kernels import boxes as k
from ..reduced import Reduced
from ..rotation import constant_column

__all__ = ["Ground"]


@dataclass(frozen=True, eq=False)
class Ground:
    """The problem that every node of one search is about, in whatever process it is worked on.

    Boxes are in the coordinates of ``reduced``, and the relaxed rows hold for solutions better than ``upper``: incumbents found
    later keep both valid.

    Parameters
    ----------
    reduced : Reduced
    upper : float
        The incumbent's value when the search began, reduced.
    data : kernels.boxes.Data
    leaf_rows : kernels.conflicts.Rows
        The rows with their thresholds, for nodes whose points are all decided.
    """

    reduced: Reduced
    upper: float
    data: k.Data
    leaf_rows: Any

    @classmethod
    def of(cls, reduced: Reduced, upper: float) -> Ground:
        """The ground of a search that begins with an incumbent of value ``upper``."""
        rows = reduced.relaxed_rows(upper)
        norms = np.linalg.norm(rows, axis=1) * (1 + 1e-14)
        # A point that costs more than the incumbent is never violated: less weight is a valid relaxation, and a better scale.
        weights = np.minimum(reduced.weights, upper)
        data = k.Data(rows, weights, norms, _positive(reduced), reduced.free, float(weights.mean()), reduced.step)
        return cls(reduced, upper, data, penalised_rows(reduced, reduced.thresholds(upper)))


def _positive(reduced: Reduced) -> BoolArray:
    """The sign of an intercept's column where there is one, else of the rows along their longest direction."""
    labels, member = constant_column(reduced.problem.A), reduced.member
    if labels is None:
        return np.ascontiguousarray(reduced.rows[:, 0] > 0.0)
    sign = np.zeros(len(reduced.rows), dtype=bool)
    sign[member[member >= 0]] = labels[member >= 0] > 0.0
    return sign
