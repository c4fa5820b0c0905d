"""The grid with k-fold cross-validation: what everybody does, and what the others are measured against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from .base import Choice, Sample, Selector
from .trainer import Trainer, folds_of

__all__ = ["CrossValidation"]


@dataclass(frozen=True)
class CrossValidation(Selector):
    """All pairs (γ, C) of the grid by mean accuracy over stratified folds.

    The paper's grid is 10 γ × 11 C × 5 folds = 550 models. Of equal pairs the smallest C, then the smallest γ, wins.

    Parameters
    ----------
    folds : int
        ≥ 2.
    trainer : type of Trainer
        What is trained: the two-hulls classifier, or one of your own.
    """

    folds: int = 5
    trainer: type[Trainer] = Trainer

    name = "cv"

    def __post_init__(self) -> None:
        if not isinstance(self.folds, int) or self.folds < 2:
            raise InputError(f"folds must be an integer ≥ 2; it is {self.folds!r}")

    def choose(self, sample: Sample) -> Choice:
        """Train folds × γ × C models; ``details['accuracy']`` is the γ × C table of means."""
        trainer, splits = self.trainer(sample), folds_of(sample, self.folds)
        accuracy = np.zeros((sample.gammas.size, sample.costs.size))
        for i, gamma in enumerate(sample.gammas):
            K = trainer.kernel(float(gamma))
            for j, C in enumerate(sample.costs):
                accuracy[i, j] = np.mean([trainer.accuracy(K, float(C), split) for split in splits])
        best = int(np.argmax(accuracy.T))
        j, i = divmod(best, sample.gammas.size)
        details = {
            "gammas": sample.gammas,
            "costs": sample.costs,
            "accuracy": accuracy,
        }
        return Choice(float(sample.gammas[i]), float(sample.costs[j]), trainer.count, details, trainer.unsolved)
