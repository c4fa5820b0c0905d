"""Selectors of a Gaussian kernel's γ by a criterion that trains no model, and `select`, the one call for every selector.

The criteria are Fisher's ratio, likelihood density, and the max-min problem. The γ with the largest value is chosen; then one
model is trained for each C.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from ..errors import InputError, SolverError
from ..models.arrays import FloatArray, Points, as_integer, as_labels, as_points, as_positive, to_dense
from ..models.formulations.max_min import MaxMinSVM, fisher_ratio
from ..solvers.parallel import Cluster, choose_executor
from ..solvers.registry import SolverLike, resolve_solver
from ..solvers.solve import solve
from .base import (
    GAMMA_GRID,
    Bat,
    Choice,
    CrossValidation,
    Judge,
    Sample,
    Selection,
    Selector,
    Trainer,
    best_cost,
    check_judge,
    split_for,
)


@dataclass(frozen=True)
class CriterionSelector(Selector):
    """Choose the γ of the grid with the largest criterion, then the best C at it.

    Parameters
    ----------
    judge : {"holdout", "training"}
        How the 11 models of the paper, one for each C, are compared; the paper says "grid search" and no more.
    share : float
        Share of the training data that "holdout" keeps aside.
    trainer : type of Trainer
        Trains the models: the two-hulls classifier, or one of your own.
    """

    judge: Judge = "holdout"
    share: float = 0.2
    trainer: type[Trainer] = Trainer

    def __post_init__(self) -> None:
        super().__post_init__()
        check_judge(self.judge, self.share)

    @abstractmethod
    def criterion(self, sample: Sample, gamma: float) -> float:
        """Return the criterion at γ; the selector maximises it."""

    def choose(self, sample: Sample) -> Choice:
        """Choose γ without a model and C by one model for each; ``details['criterion']`` holds the value of every γ."""
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
        """Return `fisher_ratio` at γ."""
        return fisher_ratio(sample.distances, sample.y, gamma)


def likelihood_distance(distances: FloatArray, y: FloatArray, gamma: float) -> float:
    """Return the distance between the classes' mean points in likelihood space.

    A point's coordinates are its kernel density estimates under the two classes, (mean of k(x, x_j) over y_j = +1, mean over y_j
    = -1), the point itself left out. The estimates' common factor γ^{p/2} is dropped, since it would decide alone. The distance
    vanishes as γ → 0 (all coordinates 1) and as γ → ∞ (all 0).
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
        """Return `likelihood_distance` at γ."""
        return likelihood_distance(sample.distances, sample.y, gamma)


@dataclass(frozen=True)
class MaxMinSelector(Selector):
    """Gradient ascent in γ between the ends of the candidates at one given C, MaxMin Algorithm 3 (solver "maxmin").

    The answer is a stationary point in γ. The candidates' C must be one number (1 by default): the optimal value rises and falls
    with C, so that it cannot be chosen in this way.

    Parameters
    ----------
    gamma0 : float, optional
        Start; 0.004 as in the paper if it lies in the range, else the logarithmic middle.
    parameter : {"log-gamma", "gamma"}
        The variable of the ascent; the paper has γ. Its logarithm reaches the same γ with about one model less.
    rate : {"secant", "printed"}
        Rule of the learning rate, see `solvers.max_min.MaxMin`.
    stationarity : float
        ε2, |f'| at which to stop.
    warm : bool
        Whether an inner solve starts from the last one; the paper's does not.
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
                f"parameter must be 'gamma' or 'log-gamma', one γ for all features; it is {self.parameter!r}", name="parameter"
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


_SELECTORS: tuple[Selector, ...] = (CrossValidation(), Fisher(), LikelihoodDensity(), Bat(), MaxMinSelector())
#: The selectors by name, with the paper's parameters.
SELECTORS: dict[str, Selector] = {selector.name: selector for selector in _SELECTORS}


# exempt (arguments): users give them by name
def select(
    X: object,
    y: object,
    selector: str | Selector = "cv",
    *,
    C: float | Sequence[float] | None = None,
    gammas: Sequence[float] | None = None,
    seed: int = 0,
    tol: float = 1e-6,
    solver: SolverLike = "smo",
    jobs: int | None = None,
    cluster: Cluster = None,
) -> Selection:
    """Choose γ of a Gaussian kernel, and C, for the two-hulls classifier `ConvexHullsDual`.

    Every selector trains the same model by the same solver, to the same tolerance, on X and y alone, so counts and times
    compare. Data are taken literally: standardise them first, on the training part.

    Parameters
    ----------
    X : array_like or CSR (n, p)
    y : array_like (n,)
        Labels -1, +1.
    selector : {"cv", "fisher", "likelihood-density", "bat", "maxmin"} or Selector
        A name, or an object with parameters of its own, such as ``CrossValidation(folds=10)``.
    C : float or sequence of float, optional
        Candidates of C, > 0. By default MaxMin's grid 2^-5, 2^-3, .., 2^15, and 1 for "maxmin", which takes one number.
    gammas : sequence of float, optional
        Candidates of γ, > 0; "bat" and "maxmin" search between the smallest and the largest. Default 2^-15, 2^-13, .., 2^3.
    seed : int
        Seed of the splits and of the bats.
    tol : float
        Relative gap of every model trained.
    solver : str, Solver or pair
        Of every model trained, as for ``solve``, by name: it is no model of its own that ``auto`` could choose for. "maxmin"
        needs an algorithm that reads `SimplexQP`.
    jobs : int, optional
        For "cv", whose models do not wait for each other: values of γ at a time, by joblib; -1 for all cores. Where it is not
        given, one, or what an enclosing ``joblib.parallel_config`` says.
    cluster : distributed.Client or str, optional
        The same on a Dask cluster (a client, or its scheduler's address), or "ray" for the Ray cluster of this session.

    Returns
    -------
    Selection

    Raises
    ------
    InputError
        An unknown selector, labels other than -1 and +1, candidates that are not positive, all rows equal, a class too small
        to be split, several C for "maxmin".
    MissingPackageError
        "bat" without NiaPy.
    """
    chosen = _selector(selector)
    begin = time.perf_counter()
    sample = _sample(chosen, X, y, C, gammas, seed, tol, solver)
    with choose_executor(jobs, cluster) as executor:
        choice = chosen.choose(replace(sample, executor=executor))
    facts = vars(choice) | {"details": {**choice.details, "unsolved": choice.unsolved}}
    return Selection(**facts, selector=chosen.name, seconds=time.perf_counter() - begin, notes=_notes(sample, choice))


def _selector(selector: str | Selector) -> Selector:
    if isinstance(selector, Selector):
        return selector
    if selector not in SELECTORS:
        raise InputError(f"selector must be one of {', '.join(SELECTORS)}, or a Selector; it is {selector!r}", name="selector")
    return SELECTORS[selector]


def _sample(
    selector: Selector,
    X: object,
    y: object,
    C: float | Sequence[float] | None,
    gammas: Sequence[float] | None,
    seed: int,
    tol: float,
    solver: SolverLike,
) -> Sample:
    points = as_points(X)
    labels = as_labels(y, points.shape[0])
    seed = as_integer(seed, "seed")
    if not (_spread(points) > 0).any():
        raise InputError("all rows of X are equal: no kernel tells them apart, so there is no gamma to select", name="X")
    if resolve_solver(solver).auto:
        raise InputError("select trains all its models by one solver, which is named: 'smo', 'mfw', ...; it is 'auto'")
    costs = _candidates(selector.default_C if C is None else C, "C")
    candidates = _candidates(GAMMA_GRID if gammas is None else gammas, "gammas")
    return Sample(points, labels, candidates, costs, int(seed), as_positive(tol, "tol"), solver)


def _candidates(values: float | Sequence[float], name: str) -> FloatArray:
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if array.ndim != 1 or not array.size or not np.isfinite(array).all() or not (array > 0).all():
        raise InputError(f"{name} must be a number or a sequence of finite numbers > 0; it is {values!r}", name=name)
    return np.unique(array)


def _spread(X: Points) -> FloatArray:
    """Largest minus smallest value of every feature."""
    if isinstance(X, np.ndarray):
        return np.asarray(np.ptp(X, axis=0))
    return to_dense(X.max(axis=0) - X.min(axis=0)).ravel()


def _notes(sample: Sample, choice: Choice) -> tuple[str, ...]:
    """Return notes on peculiar data or choices, in sentences."""
    notes = []
    constant = int((_spread(sample.X) == 0).sum())
    if constant:
        notes.append(f"{constant} of {sample.X.shape[1]} features are constant: a Gaussian kernel does not see them")
    labelled = _with_both_labels(sample)
    if labelled:
        notes.append(
            f"{labelled} points coincide with a point of the other class: the classes' hulls touch for every gamma, "
            "and their distance comes from 1/C alone"
        )
    ends = {float(sample.gammas[0]): "lower", float(sample.gammas[-1]): "upper"}
    if sample.gammas.size > 1 and choice.gamma in ends:
        notes.append(f"gamma = {choice.gamma:g} is the {ends[choice.gamma]} end of its range: a wider range may do better")
    if choice.unsolved:
        notes.append(f"{choice.unsolved} of {choice.models_trained} models stopped short of the tolerance {sample.tol:g}")
    return tuple(notes)


def _with_both_labels(sample: Sample) -> int:
    """Return the number of points that equal one of the other class."""
    positive = to_dense(sample.X)[sample.y > 0]
    negative = to_dense(sample.X)[sample.y < 0]
    first = {row.tobytes() for row in positive + 0.0}
    second = {row.tobytes() for row in negative + 0.0}
    return sum(row.tobytes() in second for row in positive + 0.0) + sum(row.tobytes() in first for row in negative + 0.0)
