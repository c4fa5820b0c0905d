"""The five selectors of γ and C for the two-hulls classifier: rules that choose both from training data.

`CrossValidation` and `Bat` choose by the accuracy of trained models. `Fisher` and `LikelihoodDensity` choose γ by a criterion
that trains no model, and then C by one model for each. `MaxMinSelector` ascends in γ at a given C. γ is the parameter of the
Gaussian kernel k(x, x') = exp(-γ||x - x'||²); "MaxMin", or the paper, is Luo et al. (2023), *MaxMin-L2-SVC-NCH*.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from ..errors import InputError, MissingPackageError, SolverError, short_text
from ..models.arrays import FloatArray, as_integer
from ..models.formulations.max_min import MaxMinSVM, fisher_ratio
from ..solvers.parallel import SerialExecutor
from ..solvers.solve import solve
from .base import Choice, Judge, Sample, Selector, Split, Trainer, best_cost, check_judge_parameters, folds_of, split_for


@dataclass(frozen=True)
class CrossValidation(Selector):
    """Cross-validation of all pairs (γ, C) of the grid: the pair of the largest mean accuracy over stratified folds.

    The paper's grid is 10 γ × 11 C × 5 folds = 550 models. Of equal pairs the smallest C, then the smallest γ, wins.

    Parameters
    ----------
    folds : int
        Number of folds, ≥ 2.
    trainer : type of Trainer
        The class that trains the models: the two-hulls classifier by default.
    """

    folds: int = 5
    trainer: type[Trainer] = Trainer

    name = "cv"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "folds", as_integer(self.folds, "folds", 2))

    def choose(self, sample: Sample) -> Choice:
        """Return the choice among folds × γ × C models; ``details['accuracy']`` is the γ × C table of means."""
        splits, serial = folds_of(sample, self.folds), replace(sample, executor=SerialExecutor())
        rows = sample.executor.run_all(_accuracies, [(self.trainer, serial, float(gamma), splits) for gamma in sample.gammas])
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
class _GammaAccuracies:
    """The accuracies at one γ: the mean for each C, models trained, models short of the tolerance."""

    accuracy: FloatArray  #: mean accuracy for each C
    count: int  #: number of models trained
    unsolved: int  #: number of models short of the tolerance


def _accuracies(task: tuple[type[Trainer], Sample, float, list[Split]], threads: int | None) -> _GammaAccuracies:
    """Evaluate every C at one γ, on all folds."""
    kind, sample, gamma, splits = task
    trainer = kind(replace(sample, threads=threads))
    K = trainer.kernel(gamma)
    means = [np.mean([trainer.accuracy(K, float(C), split) for split in splits]) for C in sample.costs]
    return _GammaAccuracies(np.array(means), trainer.count, trainer.unsolved)


@dataclass(frozen=True)
class Bat(Selector):
    """Random search by Yang's bat algorithm between the ends of the candidates of γ and C.

    The fitness of a position is the error of one model, so ``bats`` × ``iterations`` models are trained, by default 400 as in
    MaxMin Table 4. The paper does not say on which points the error is measured; here ``judge`` selects them. Needs NiaPy
    (``pip install marginopt[selection]``).

    Parameters
    ----------
    bats, iterations : int
        Number of bats, ≥ 2, and of generations, ≥ 1; the first generation is the random start.
    loudness, pulse_rate : float
        Loudness A and pulse rate r of the bat algorithm, in (0, 1].
    judge : {"holdout", "training"}
        The points on which the accuracy of the models is measured: a held-out part of the data, or the training points.
    share : float
        Share of the data that "holdout" holds out.
    scale : {"log2", "linear"}
        The variables of the search: (log2 γ, log2 C), or (γ, C) as in Yang's algorithm, where nearly all positions are kernels
        that are far too narrow.
    trainer : type of Trainer
        The class that trains the models: the two-hulls classifier by default.
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
        super().__post_init__()
        check_judge_parameters(self.judge, self.share)
        for name, minimum in (("bats", 2), ("iterations", 1)):
            object.__setattr__(self, name, as_integer(getattr(self, name), name, minimum))
        if self.scale not in ("log2", "linear"):
            raise InputError(f"scale must be 'log2' or 'linear'; it is {short_text(self.scale)}", name="scale")
        for name in ("loudness", "pulse_rate"):
            if not 0 < getattr(self, name) <= 1:
                raise InputError(f"{name} must lie in (0, 1]; it is {short_text(getattr(self, name))}", name=name)

    def choose(self, sample: Sample) -> Choice:
        """Return the best position; ``details['positions']`` and ``['accuracy']`` are those of all models trained, in order."""
        trainer = self.trainer(sample)
        evaluations = _Evaluations(trainer, split_for(sample, self.judge, self.share), self.scale == "log2")
        ends = np.array([[sample.gammas[end], sample.costs[end]] for end in (0, -1)], dtype=np.float64)
        lower, upper = np.log2(ends) if evaluations.powers else ends
        for name, low, high in zip(("gammas", "C"), lower, upper, strict=True):
            if not low < high:
                raise InputError(f"the bat algorithm searches a range: give two different candidates of {name}", name=name)
        gamma, C = evaluations.values(self._search(evaluations, lower, upper, sample.seed))
        details = {"positions": evaluations.values(np.array(evaluations.positions)), "accuracy": np.array(evaluations.accuracies)}
        return Choice(float(gamma), float(C), trainer.count, details, trainer.unsolved)

    def _search(self, evaluations: _Evaluations, lower: FloatArray, upper: FloatArray, seed: int) -> FloatArray:
        """Return the best position; of equal ones that where the bats ended, which need not be the first."""
        try:
            from niapy.algorithms.basic import BatAlgorithm
            from niapy.problems import Problem
            from niapy.task import Task
        except ImportError as error:
            raise MissingPackageError(
                "selector 'bat' needs the package niapy, which is not installed", "niapy", "pip install 'marginopt[selection]'"
            ) from error

        class Error(Problem):  # type: ignore[misc]
            def _evaluate(self, x: Any) -> float:
                return 1.0 - evaluations.accuracy_at(np.asarray(x, dtype=np.float64))

        problem = Error(dimension=2, lower=lower, upper=upper)
        task = Task(problem=problem, max_evals=self.bats * self.iterations)
        algorithm = BatAlgorithm(population_size=self.bats, loudness=self.loudness, pulse_rate=self.pulse_rate, seed=seed)
        best, _ = algorithm.run(task)
        return np.asarray(best, dtype=np.float64)


class _Evaluations:
    """The positions of the search and their accuracies."""

    def __init__(self, trainer: Trainer, split: Split, powers: bool) -> None:
        self.trainer = trainer
        self.split = split
        self.powers = powers
        self.positions: list[FloatArray] = []
        self.accuracies: list[float] = []

    def values(self, positions: FloatArray) -> FloatArray:
        return np.exp2(positions) if self.powers else positions

    def accuracy_at(self, position: FloatArray) -> float:
        """Train one model at a position and return its accuracy."""
        gamma, C = self.values(position)
        accuracy = self.trainer.accuracy(self.trainer.kernel(float(gamma)), float(C), self.split)
        self.positions.append(position.copy())
        self.accuracies.append(accuracy)
        return accuracy


@dataclass(frozen=True)
class CriterionSelector(Selector):
    """The base class of selectors that choose the γ of the grid with the largest criterion, then the most accurate C at it.

    Parameters
    ----------
    judge : {"holdout", "training"}
        The points on which the accuracy of the models is measured: a held-out part of the data, or the training points.
    share : float
        Share of the data that "holdout" holds out.
    trainer : type of Trainer
        The class that trains the models: the two-hulls classifier by default.
    """

    judge: Judge = "holdout"
    share: float = 0.2
    trainer: type[Trainer] = Trainer

    def __post_init__(self) -> None:
        super().__post_init__()
        check_judge_parameters(self.judge, self.share)

    @abstractmethod
    def criterion(self, sample: Sample, gamma: float) -> float:
        """Return the criterion at γ; the selector maximises it."""

    def choose(self, sample: Sample) -> Choice:
        """Return the γ of the largest criterion and the best C at it; ``details['criterion']`` holds the value of every γ."""
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
    """The selector of the γ with the largest Fisher ratio D_inter/D_inner, MaxMin (54)/(55), then of the best C at it.

    D_inter = ||m+ - m-||² is the squared distance between the classes' means in feature space, D_inner the sum of the classes'
    variances about their means (Wang, Wu, Ye and Hao, 2003). The ratio has a positive limit as γ → 0, where it often has its
    largest value, and the rule then chooses a kernel that is almost constant.

    Parameters
    ----------
    judge, share
        As `CriterionSelector` above: where the accuracy of models is measured, and the held-out share.
    """

    name = "fisher"

    def criterion(self, sample: Sample, gamma: float) -> float:
        """Return `fisher_ratio` at γ."""
        return fisher_ratio(sample.distances, sample.y, gamma)


def likelihood_distance(distances: FloatArray, y: FloatArray, gamma: float) -> float:
    """Return the distance between the classes' mean points in likelihood space, at γ.

    A point's coordinates are its kernel density estimates under the two classes, (mean of k(x, x_j) over y_j = +1, mean over y_j
    = -1), the point itself left out. The estimates' common factor γ^{p/2} is dropped, since it would decide alone. The distance
    vanishes as γ → 0 (all coordinates 1) and as γ → ∞ (all 0).

    Parameters
    ----------
    distances : ndarray (n, n)
        Squared distances of the points.
    y : ndarray (n,)
        Labels -1, +1.
    gamma : float
        γ > 0.
    """
    K = np.exp(-gamma * distances)
    np.fill_diagonal(K, 0.0)
    positive = y > 0
    coordinates = []
    for side in (positive, ~positive):
        other_count = np.maximum(int(side.sum()) - side, 1)
        coordinates.append(K[:, side].sum(axis=1) / other_count)
    point = np.column_stack(coordinates)
    return float(np.linalg.norm(point[positive].mean(axis=0) - point[~positive].mean(axis=0)))


@dataclass(frozen=True)
class LikelihoodDensity(CriterionSelector):
    """The selector of the γ that sets the classes' means in likelihood space farthest apart, then of the best C at it.

    After Menezes, Torres and Braga (Pattern Recognition Letters 128, 2019), who estimate the classes' densities with the
    kernel itself and maximise a dissimilarity of the classes' mean points. MaxMin gives no formula for it; here it is the
    Euclidean distance of the means (`likelihood_distance`).

    Parameters
    ----------
    judge, share
        As `CriterionSelector` above: where the accuracy of models is measured, and the held-out share.
    """

    name = "likelihood-density"

    def criterion(self, sample: Sample, gamma: float) -> float:
        """Return `likelihood_distance` at γ."""
        return likelihood_distance(sample.distances, sample.y, gamma)


@dataclass(frozen=True)
class MaxMinSelector(Selector):
    """Gradient ascent of the max-min problem in γ between the ends of the candidates, at one given C, MaxMin Algorithm 3.

    The ascent maximises f(γ), the optimal value of the two-hulls dual, and ends at a stationary point. The candidates' C must be
    one number (1 by default): the optimal value falls as C rises, so that its maximum over C is at the smallest candidate.

    Parameters
    ----------
    gamma0 : float, optional
        Start; 0.004 as in the paper if it lies in the range, else the logarithmic middle.
    parameter : {"log-gamma", "gamma"}
        The variable of the ascent; the paper has γ. Its logarithm reaches the same γ with about one model less.
    rate : {"secant", "printed"}
        Rule of the learning rate: |Δγ|/|Δf'| of the last move (the secant of f'), or |Δγ| as the paper prints it.
    stationarity : float
        The largest |d log f/d log γ| at which to stop; with ``rate="printed"`` the largest |f'|, the derivative by ``parameter``.
        It is ε2 of MaxMin Algorithm 3.
    warm : bool
        Whether an inner solve starts from the solution of the last one; the paper's does not.
    """

    gamma0: float | None = None
    parameter: Literal["gamma", "log-gamma"] = "log-gamma"
    rate: Literal["secant", "printed"] = "secant"
    stationarity: float = 1e-3
    warm: bool = True

    name = "maxmin"
    default_C: ClassVar[float | tuple[float, ...]] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parameter not in ("gamma", "log-gamma"):
            raise InputError(
                f"parameter must be 'gamma' or 'log-gamma', one γ for all features; it is {short_text(self.parameter)}",
                name="parameter",
            )

    def choose(self, sample: Sample) -> Choice:
        """Return the choice of the ascent; ``steps`` holds γ, f, f' and the Fisher ratio (54)/(55) of every model trained."""
        if sample.costs.size != 1:
            raise InputError(f"selector 'maxmin' takes one C, which it does not choose; {sample.costs.size} were given", name="C")
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
