"""γ by the distance of the classes in likelihood space; C by one model for each candidate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..models.arrays import FloatArray
from .base import Choice, Sample, Selector
from .trainer import Judge, Trainer, best_cost, check_judge, split_for

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
class LikelihoodDensity(Selector):
    """The γ that sets the classes' means in likelihood space farthest apart, then the best C at it.

    After Menezes, Torres and Braga (Pattern Recognition Letters 128, 2019), who estimate the classes' densities with the
    kernel itself and maximise a dissimilarity of the classes' mean points. MaxMin gives no formula for it; here it is the
    Euclidean distance of the means (`likelihood_distance`).

    Parameters
    ----------
    judge, share
        As `Fisher`.
    """

    judge: Judge = "holdout"
    share: float = 0.2

    name = "likelihood-density"

    def __post_init__(self) -> None:
        check_judge(self.judge, self.share)

    def choose(self, sample: Sample) -> Choice:
        """No model for γ, one for each C; ``details['criterion']`` holds the distance of every γ."""
        trainer = Trainer(sample)
        split = split_for(sample, self.judge, self.share)
        criterion = np.array([likelihood_distance(sample.distances, sample.y, float(g)) for g in sample.gammas])
        gamma = float(sample.gammas[int(np.argmax(criterion))])
        C, accuracies = best_cost(trainer, gamma, split)
        details = {
            "gammas": sample.gammas,
            "criterion": criterion,
            "costs": sample.costs,
            "accuracy": accuracies,
            "unsolved": trainer.unsolved,
        }
        return Choice(gamma, C, trainer.count, details)
