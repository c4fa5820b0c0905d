"""γ by the Fisher criterion in feature space; C by one model for each candidate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..models.maxmin import fisher_ratio
from .base import Choice, Sample, Selector
from .trainer import Judge, Trainer, best_cost, check_judge, split_for

__all__ = ["Fisher"]


@dataclass(frozen=True)
class Fisher(Selector):
    """The γ with the largest ratio D_inter/D_inner, MaxMin (54)/(55), then the best C at it.

    D_inter = ||m+ - m-||², the distance between the classes' means in feature space; D_inner, the sum of the classes' variances
    about them (Wang, Wu, Ye and Hao, 2003). The ratio has a positive limit as γ → 0, where it often has its largest value, and
    the rule then chooses a kernel that is almost constant.

    Parameters
    ----------
    judge : {"holdout", "training"}
        How the 11 models of the paper, one for each C, are compared; it says "grid search" and no more.
    share : float
        Part of the training data that "holdout" keeps aside.
    """

    judge: Judge = "holdout"
    share: float = 0.2

    name = "fisher"

    def __post_init__(self) -> None:
        check_judge(self.judge, self.share)

    def choose(self, sample: Sample) -> Choice:
        """No model for γ, one for each C; ``details['criterion']`` holds the ratio of every γ."""
        trainer = Trainer(sample)
        split = split_for(sample, self.judge, self.share)
        criterion = np.array([fisher_ratio(sample.distances, sample.y, float(g)) for g in sample.gammas])
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
