"""γ by the distance of the classes in likelihood space; C by one model for each candidate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..models.arrays import FloatArray
from .base import Sample
from .criterion import CriterionSelector

__all__ = ["LikelihoodDensity", "likelihood_distance"]


def likelihood_distance(distances: FloatArray, y: FloatArray, gamma: float) -> float:
    """Distance between the classes' mean points in likelihood space.

    A point's coordinates are its kernel density estimates under the two classes, (mean of k(x, x_j) over y_j = +1, mean over
    y_j = -1), the point itself left out; the estimates' common factor γ^{p/2} is dropped, or it would decide alone. The
    distance vanishes as γ → 0 (all coordinates 1) and as γ → ∞ (all 0).
    """
    K = np.exp(-gamma * distances)
    np.fill_diagonal(K, 0.0)
    positive = y > 0
    coordinates = []
    for side in (positive, ~positive):
        others = np.maximum(int(side.sum()) - side, 1)
        coordinates.append(K[:, side].sum(axis=1) / others)
    point = np.column_stack(coordinates)
    return float(np.linalg.norm(point[positive].mean(axis=0) - point[~positive].mean(axis=0)))


@dataclass(frozen=True)
class LikelihoodDensity(CriterionSelector):
    """The γ that sets the classes' means in likelihood space farthest apart, then the best C at it.

    After Menezes, Torres and Braga (Pattern Recognition Letters 128, 2019), who estimate the classes' densities with the
    kernel itself and maximise a dissimilarity of the classes' mean points. MaxMin gives no formula for it; here it is the
    Euclidean distance of the means (`likelihood_distance`).

    Parameters
    ----------
    judge, share
        As `CriterionSelector`.
    """

    name = "likelihood-density"

    def criterion(self, sample: Sample, gamma: float) -> float:
        """`likelihood_distance` at γ."""
        return likelihood_distance(sample.distances, sample.y, gamma)
