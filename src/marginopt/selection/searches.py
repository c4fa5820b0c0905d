"""Selectors that search γ and C by trained models: the grid with cross-validation, and the bat algorithm.

The grid with k-fold cross-validation: what everybody does, and what the others are measured against.

γ and C by the bat algorithm of NiaPy, every bat's position judged by one trained model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..errors import InputError, MissingPackageError
from ..models.arrays import FloatArray
from ..solvers.parallel import SerialExecutor
from .base import Choice, Judge, Sample, Selector, Split, Trainer, check_judge, folds_of, split_for

__all__ = ["Bat", "CrossValidation"]


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


@dataclass(frozen=True)
class Bat(Selector):
    """Random search by Yang's bat algorithm between the ends of the candidates of γ and C.

    The fitness of a position is the error of one model, so ``bats`` × ``iterations`` = 400 models are trained, as in MaxMin
    Table 4. What the fitness is judged on the paper does not say. Needs NiaPy (``pip install marginopt[selection]``).

    Parameters
    ----------
    bats, iterations : int
        ≥ 2 and ≥ 1; the first generation is the random start.
    loudness, pulse_rate : float
        Yang's A and r, in (0, 1].
    judge, share
        As `Fisher`.
    scale : {"log2", "linear"}
        The box that is searched: of (log2 γ, log2 C), or of (γ, C) themselves, as Yang's algorithm does with any variables; there
        nearly all positions are kernels far too narrow.
    trainer : type of Trainer
        What is trained: the two-hulls classifier, or one of your own.
    """

    bats: int = 20
    iterations: int = 20
    loudness: float = 0.5
    pulse_rate: float = 0.5
    judge: Judge = "holdout"
    share: float = 0.2
    trainer: type[Trainer] = Trainer
    scale: Literal["log2", "linear"] = "log2"

    name = "bat"

    def __post_init__(self) -> None:
        check_judge(self.judge, self.share)
        for name, least in (("bats", 2), ("iterations", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise InputError(f"{name} must be an integer ≥ {least}; it is {value!r}")
        if self.scale not in ("log2", "linear"):
            raise InputError(f"scale must be 'log2' or 'linear'; it is {self.scale!r}")
        for name in ("loudness", "pulse_rate"):
            if not 0 < getattr(self, name) <= 1:
                raise InputError(f"{name} must lie in (0, 1]; it is {getattr(self, name)!r}")

    def choose(self, sample: Sample) -> Choice:
        """Search; ``details['positions']`` and ``['accuracy']`` are all positions that were judged, in order."""
        trainer = self.trainer(sample)
        flight = _Flight(trainer, split_for(sample, self.judge, self.share), self.scale == "log2")
        ends = np.array([[sample.gammas[end], sample.costs[end]] for end in (0, -1)], dtype=np.float64)
        lower, upper = np.log2(ends) if flight.powers else ends
        if not (lower < upper).all():
            raise InputError("the bat algorithm searches ranges: give at least two different candidates of gamma and of C")
        gamma, C = flight.values(self._search(flight, lower, upper, sample.seed))
        details = {"positions": flight.values(np.array(flight.positions)), "accuracy": np.array(flight.accuracies)}
        return Choice(float(gamma), float(C), trainer.count, details, trainer.unsolved)

    def _search(self, flight: _Flight, lower: FloatArray, upper: FloatArray, seed: int) -> FloatArray:
        """The algorithm's answer: of equal positions the one where its bats ended, which need not be the first."""
        try:
            from niapy.algorithms.basic import BatAlgorithm
            from niapy.problems import Problem
            from niapy.task import Task
        except ImportError as error:
            raise MissingPackageError(
                "selector 'bat' needs the package niapy, which is not installed: pip install 'marginopt[selection]'"
            ) from error

        class Error(Problem):  # type: ignore[misc]
            def _evaluate(self, x: Any) -> float:
                return 1.0 - flight.judge(np.asarray(x, dtype=np.float64))

        problem = Error(dimension=2, lower=lower, upper=upper)
        task = Task(problem=problem, max_evals=self.bats * self.iterations)
        algorithm = BatAlgorithm(population_size=self.bats, loudness=self.loudness, pulse_rate=self.pulse_rate, seed=seed)
        best, _ = algorithm.run(task)
        return np.asarray(best, dtype=np.float64)


class _Flight:
    """The positions that were judged."""

    def __init__(self, trainer: Trainer, split: Split, powers: bool) -> None:
        self.trainer = trainer
        self.split = split
        self.powers = powers
        self.positions: list[FloatArray] = []
        self.accuracies: list[float] = []

    def values(self, positions: FloatArray) -> FloatArray:
        """γ and C of positions."""
        return np.exp2(positions) if self.powers else positions

    def judge(self, position: FloatArray) -> float:
        """Train one model at a position and return its accuracy."""
        gamma, C = self.values(position)
        accuracy = self.trainer.accuracy(self.trainer.kernel(float(gamma)), float(C), self.split)
        self.positions.append(position.copy())
        self.accuracies.append(accuracy)
        return accuracy
