"""Selectors of γ by a criterion, which train no model for it: Fisher, likelihood density, and the max-min problem.

Selectors that train no model for γ: the largest value of a criterion, then one model for each C.

γ by the Fisher criterion in feature space; C by one model for each candidate.

γ by the distance of the classes in likelihood space; C by one model for each candidate.

γ by the max-min problem: the distance between the hulls as a function of γ, made stationary.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ..errors import InputError, SolverError
from ..models.arrays import FloatArray
from ..models.formulations.max_min import MaxMinSVM, fisher_ratio
from ..solvers.solve import solve
from .base import Choice, Judge, Sample, Selector, Trainer, best_cost, check_judge, split_for

__all__ = ["CriterionSelector", "Fisher", "LikelihoodDensity", "MaxMinSelector", "likelihood_distance"]


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


@dataclass(frozen=True)
class Fisher(CriterionSelector):
    """The γ with the largest ratio D_inter/D_inner, MaxMin (54)/(55), then the best C at it.

    D_inter = ||m+ - m-||², the distance between the classes' means in feature space; D_inner, the sum of the classes' variances
    about them (Wang, Wu, Ye and Hao, 2003). The ratio has a positive limit as γ → 0, where it often has its largest value, and
    the rule then chooses a kernel that is almost constant.

    Parameters
    ----------
    judge, share
        As `CriterionSelector`.
    """

    name = "fisher"

    def criterion(self, sample: Sample, gamma: float) -> float:
        """`fisher_ratio` at γ."""
        return fisher_ratio(sample.distances, sample.y, gamma)


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


@dataclass(frozen=True)
class MaxMinSelector(Selector):
    """Gradient ascent in γ between the ends of the candidates at one given C, MaxMin Algorithm 3 (solver "maxmin").

    The answer is a stationary point in γ, called local. The candidates' C must be one number (1 by default): the optimal value
    rises and falls with C, so that it cannot be chosen the same way.

    Parameters
    ----------
    gamma0 : float, optional
        Start; 0.004 as in the paper where it lies in the range, else the logarithmic middle.
    parameter : {"log-gamma", "gamma"}
        What is moved; printed: γ. Its logarithm comes to the same γ in about one model less.
    rate : {"secant", "printed"}
        How the learning rate follows, see `solvers.hulls.MaxMin`.
    stationarity : float
        ε2, |f'| at which to stop.
    warm : bool
        Whether an inner solve starts from the last; printed: False.
    """

    gamma0: float | None = None
    parameter: Literal["gamma", "log-gamma"] = "log-gamma"
    rate: Literal["secant", "printed"] = "secant"
    stationarity: float = 1e-3
    warm: bool = True

    name = "maxmin"
    default_C: ClassVar[float | tuple[float, ...]] = 1.0

    def __post_init__(self) -> None:
        if self.parameter not in ("gamma", "log-gamma"):
            raise InputError(f"parameter must be 'gamma' or 'log-gamma', one γ for all features; it is {self.parameter!r}")

    def choose(self, sample: Sample) -> Choice:
        """Ascend; ``steps`` holds γ, f, f' and the Fisher ratio (54)/(55) of every model trained."""
        if sample.costs.size != 1:
            raise InputError(f"selector 'maxmin' takes one C, which it does not choose; {sample.costs.size} were given")
        lower, upper = float(sample.gammas[0]), float(sample.gammas[-1])
        gamma0 = self.gamma0
        if gamma0 is None:
            gamma0 = 0.004 if lower <= 0.004 <= upper else float(np.sqrt(lower * upper))
        model = MaxMinSVM(
            sample.X, sample.y, float(sample.costs[0]), gamma0=gamma0, lower=lower, upper=upper, parameter=self.parameter
        )
        native: dict[str, Any] = {
            "rate": self.rate, "stationarity": self.stationarity, "warm": self.warm, "inner_tol": sample.tol,
            "inner": sample.solver,
        }  # fmt: skip
        result = solve(model, "maxmin", seed=sample.seed, **native)
        if not result.values:
            raise SolverError(f"the max-min problem was not solved: {result.claim.native_status}")
        details = {
            "status": result.status,
            "stationarity": result.stationarity,
            "steps": list(result.history),
        }
        return Choice(float(result.optimised_parameters["gamma"]), model.C, len(result.history), details, steps=result.history)
