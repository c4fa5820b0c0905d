"""Selectors that train no model for γ: the largest value of a criterion, then one model for each C."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from .base import Choice, Sample, Selector
from .trainer import Judge, Trainer, best_cost, check_judge, split_for

__all__ = ["CriterionSelector"]


@dataclass(frozen=True)
class CriterionSelector(Selector):
    """The γ of the grid with the largest criterion, then the best C at it.

    Parameters
    ----------
    judge : {"holdout", "training"}
        How the 11 models of the paper, one for each C, are compared; it says "grid search" and no more.
    share : float
        Part of the training data that "holdout" keeps aside.
    trainer : type of Trainer
        What is trained: the two-hulls classifier, or one of your own.
    """

    judge: Judge = "holdout"
    share: float = 0.2
    trainer: type[Trainer] = Trainer

    def __post_init__(self) -> None:
        check_judge(self.judge, self.share)

    @abstractmethod
    def criterion(self, sample: Sample, gamma: float) -> float:
        """Return the criterion that the chosen γ maximises."""

    def choose(self, sample: Sample) -> Choice:
        """No model for γ, one for each C; ``details['criterion']`` holds the value of every γ."""
        trainer = self.trainer(sample)
        split = split_for(sample, self.judge, self.share)
        criterion = np.array([self.criterion(sample, float(g)) for g in sample.gammas])
        gamma = float(sample.gammas[int(np.argmax(criterion))])
        C, accuracies = best_cost(trainer, gamma, split)
        details = {
            "gammas": sample.gammas,
            "criterion": criterion,
            "costs": sample.costs,
            "accuracy": accuracies,
        }
        return Choice(gamma, C, trainer.count, details, trainer.unsolved)
