"""The grid with k-fold cross-validation: what everybody does, and what the others are measured against."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from ..models.arrays import FloatArray
from ..solvers.parallel import SerialExecutor
from .base import Choice, Sample, Selector
from .trainer import Split, Trainer, folds_of

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
        splits, apart = folds_of(sample, self.folds), replace(sample, team=SerialExecutor())
        rows = sample.team.all(_accuracies, [(self.trainer, apart, float(gamma), splits) for gamma in sample.gammas])
        accuracy = np.array([row.accuracy for row in rows])
        best = int(np.argmax(accuracy.T))
        j, i = divmod(best, sample.gammas.size)
        details = {
            "gammas": sample.gammas,
            "costs": sample.costs,
            "accuracy": accuracy,
        }
        trained, unsolved = sum(row.count for row in rows), sum(row.unsolved for row in rows)
        return Choice(float(sample.gammas[i]), float(sample.costs[j]), trained, details, unsolved)


@dataclass(frozen=True, eq=False)
class _Row:
    """One γ: mean accuracy for each C, models trained, models short of the tolerance."""

    accuracy: FloatArray
    count: int
    unsolved: int


def _accuracies(task: tuple[type[Trainer], Sample, float, list[Split]], threads: int | None) -> _Row:
    """Every C at one γ, on all folds."""
    kind, sample, gamma, splits = task
    trainer = kind(replace(sample, threads=threads))
    K = trainer.kernel(gamma)
    means = [np.mean([trainer.accuracy(K, float(C), split) for split in splits]) for C in sample.costs]
    return _Row(np.array(means), trainer.count, trainer.unsolved)
