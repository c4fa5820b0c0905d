"""The data of one box search: the reduced problem and its arrays for the compiled kernels, fixed when the search begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....models.arrays import BoolArray
from ...exact.rotation import constant_column
from ..incumbent import penalised_rows
from ..loops import boxes as k
from ..reduced import ReducedZeroOneProblem

__all__ = ["SearchData"]


@dataclass(frozen=True, eq=False)
class SearchData:
    """The problem data that all nodes of one box search share, in every process.

    Boxes are in the coordinates of ``reduced``. The relaxed rows are valid for every solution better than ``upper``. Later
    incumbents are smaller, so the rows remain valid.

    Parameters
    ----------
    reduced : Reduced
    upper : float
        Value of the incumbent at the start of the search, in units of the reduced problem.
    data : kernels.boxes.Data
    leaf_rows : kernels.conflicts.Rows
        The rows with their thresholds, for the hard-margin problems of leaves.
    """

    reduced: ReducedZeroOneProblem
    upper: float
    data: k.BoxData
    leaf_rows: Any

    @classmethod
    def of(cls, reduced: ReducedZeroOneProblem, upper: float) -> SearchData:
        """Return the data of a search that begins with an incumbent of value ``upper``."""
        rows = reduced.relaxed_rows(upper)
        norms = np.linalg.norm(rows, axis=1) * (1 + 1e-14)
        # A point that costs more than the incumbent is never violated: a truncated weight is valid and improves the scaling.
        weights = np.minimum(reduced.weights, upper)
        data = k.BoxData(rows, weights, norms, _positive_side(reduced), reduced.free, float(weights.mean()), reduced.step)
        return cls(reduced, upper, data, penalised_rows(reduced, reduced.thresholds(upper)))


def _positive_side(reduced: ReducedZeroOneProblem) -> BoolArray:
    """Return the sign of the intercept's column, or of the first reduced coordinate without an intercept."""
    labels, member = constant_column(reduced.problem.A), reduced.member
    if labels is None:
        return np.ascontiguousarray(reduced.rows[:, 0] > 0.0)
    sign = np.zeros(len(reduced.rows), dtype=bool)
    sign[member[member >= 0]] = labels[member >= 0] > 0.0
    return sign
