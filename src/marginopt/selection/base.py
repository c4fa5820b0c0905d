"""The base class of selectors of γ and C, their data and answers, and the selectors by accuracy: cross-validation and bats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from ..errors import InputError, MissingPackageError
from ..models.arrays import FloatArray, IntArray, Points, as_integer, check_bytes, plain_fields
from ..models.decision import decided_labels
from ..models.formulations.svm_duals import ConvexHullsDual
from ..models.kernels.kernels import RBF, Precomputed, squared_distances
from ..solvers.parallel import Executor, SerialExecutor
from ..solvers.records import Options, Status
from ..solvers.registry import SolverLike
from ..solvers.solve import solve_raw

#: The grids of MaxMin, section 4: γ in 2^-15, 2^-13, .., 2^3 and C in 2^-5, 2^-3, .., 2^15.
GAMMA_GRID: tuple[float, ...] = tuple(2.0**k for k in range(-15, 4, 2))
C_GRID: tuple[float, ...] = tuple(2.0**k for k in range(-5, 16, 2))


@dataclass(frozen=True, eq=False)
class Sample:
    """The training data and the candidates that a selector may use, checked; it sees nothing else.

    Parameters
    ----------
    X : ndarray or csr_array (n, p)
    y : ndarray (n,)
        -1 and +1.
    gammas, costs : ndarray
        Candidates, ascending; selectors that search a range take their ends.
    seed : int
        Of the splits and of whatever is random.
    tol : float
        Relative gap to which every model is solved.
    solver : str, Solver or pair
        Of every model.
    executor : Executor
        Trains independent models at the same time.
    threads : int, optional
        Of every model; the solver's own number where it is not given.
    """

    X: Points
    y: FloatArray
    gammas: FloatArray
    costs: FloatArray
    seed: int
    tol: float
    solver: SolverLike = "smo"
    executor: Executor = field(default_factory=SerialExecutor)
    threads: int | None = None

    @cached_property
    def distances(self) -> FloatArray:
        """||x_i - x_j||², n × n."""
        check_bytes(8 * self.X.shape[0] ** 2, "the matrix of squared distances that this selector works on")
        D = squared_distances(self.X, self.X)
        np.fill_diagonal(D, 0.0)
        return D


@dataclass(frozen=True, eq=False)
class Choice:
    """The choice of a selector.

    Parameters
    ----------
    gamma, C : float
    models_trained : int
        One for each solve of the inner problem to tolerance.
    details : mapping
        What the selector saw, for people: scores of the candidates, the steps in γ.
    unsolved : int
        Models that were trained short of the tolerance.
    steps : sequence of mapping
        γ, f, its derivative and the Fisher ratio of every model of an ascent in γ ("maxmin"); empty for other selectors.
    """

    gamma: float
    C: float
    models_trained: int
    details: Mapping[str, Any] = field(default_factory=dict)
    unsolved: int = 0
    steps: Sequence[Mapping[str, Any]] = ()


class Selector(ABC):
    """A rule that chooses γ and C from training data alone; a frozen data class whose fields are its parameters."""

    name: ClassVar[str]
    #: C where the user gives none: one number or candidates.
    default_C: ClassVar[float | tuple[float, ...]] = C_GRID

    def __post_init__(self) -> None:
        plain_fields(self)

    @abstractmethod
    def choose(self, sample: Sample) -> Choice:
        """Choose; every solve of the inner problem to tolerance counts as one model trained.

        Raises
        ------
        InputError
            Candidates that the selector cannot use.
        SolverError
            A model was not solved.
        """


@dataclass(frozen=True, eq=False, kw_only=True)
class Selection(Choice):
    """The selected parameters and the cost of their selection.

    Parameters
    ----------
    selector : str
    seconds : float
        Wall time of the whole selection.
    notes : tuple of str
        What a user should know: γ at an end of its range, points with both labels, constant features, unsolved models.
    """

    selector: str
    seconds: float
    notes: tuple[str, ...] = ()

    def model(self, X: object, y: object) -> ConvexHullsDual:
        """Return the two-hulls model with the selected γ and C."""
        return ConvexHullsDual(X, y, C=self.C, kernel=RBF(self.gamma))  # type: ignore[arg-type]

    def __str__(self) -> str:
        head = (
            f"{self.selector}: gamma = {self.gamma:.6g}, C = {self.C:.6g}, "
            f"{self.models_trained} models trained in {self.seconds:.3g} s"
        )
        return "\n".join((head, *(f"  note: {note}" for note in self.notes)))


#: Rows to train on and rows to judge on.
Split: TypeAlias = tuple[IntArray, IntArray]
#: On what a single model is judged: a part of the training data kept aside, or the very points it was trained on.
Judge: TypeAlias = Literal["holdout", "training"]


class Trainer:
    """The sample's solver on the two-hulls dual, cold, to the sample's tolerance.

    ``count`` models so far, ``unsolved`` of them short of the tolerance.

    Parameters
    ----------
    sample : Sample
        Points, candidates and tolerance.
    """

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.count = 0
        self.unsolved = 0
        self._options = Options(tol=sample.tol, seed=sample.seed, threads=sample.threads)

    def kernel(self, gamma: float) -> FloatArray:
        """Return the RBF kernel matrix exp(-γ||x_i - x_j||²) of the whole sample (n × n)."""
        return np.asarray(np.exp(-gamma * self.sample.distances))

    def accuracy(self, K: FloatArray, C: float, split: Split) -> float:
        """Train on the first rows of the split and return the share of the second that is classified rightly."""
        train, test = split
        y = self.sample.y
        model = ConvexHullsDual(K[np.ix_(train, train)], y[train], C=C, kernel=Precomputed())
        raw = solve_raw(self.sample.solver, model, self._options)
        assert raw.values is not None  # a solver without a point is an error there
        self.count += 1
        self.unsolved += raw.status is not Status.OPTIMAL
        a = np.asarray(raw.values["a"])
        p, q = model.edges(a)
        scores = K[np.ix_(test, train)] @ (a * y[train]) - 0.5 * (p + q)
        return float(np.mean(decided_labels(scores) == y[test]))


def folds_of(sample: Sample, folds: int) -> list[Split]:
    """Return shuffled stratified folds, so that no fold trains on one class only."""
    from sklearn.model_selection import StratifiedKFold

    _check_classes(sample, folds, f"{folds}-fold cross-validation")
    splitter = StratifiedKFold(folds, shuffle=True, random_state=sample.seed)
    return [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(np.zeros((sample.y.size, 1)), sample.y)]


def split_for(sample: Sample, judge: Judge, share: float) -> Split:
    """Return the one split on which single models are judged."""
    everything = np.arange(sample.y.size)
    if judge == "training":
        return everything, everything
    from sklearn.model_selection import train_test_split

    _check_classes(sample, 2, "a validation part")
    train, test = train_test_split(everything, test_size=share, stratify=sample.y, random_state=sample.seed)
    return np.sort(train), np.sort(test)


def _check_classes(sample: Sample, needed: int, purpose: str) -> None:
    positive = int((sample.y > 0).sum())
    smaller = min(positive, sample.y.size - positive)
    if smaller < needed:
        raise InputError(
            f"{purpose} needs at least {needed} points of each class; the smaller class has {smaller}. "
            "Use selector='maxmin', which needs one, or give more data",
            name="y",
        )


def best_cost(trainer: Trainer, gamma: float, split: Split) -> tuple[float, FloatArray]:
    """Return the C of highest accuracy at γ, the smallest of equals, and all accuracies; one model is trained for each C."""
    K = trainer.kernel(gamma)
    costs = trainer.sample.costs
    accuracies = np.array([trainer.accuracy(K, float(C), split) for C in costs])
    return float(costs[int(np.argmax(accuracies))]), accuracies


def check_judge(judge: str, share: float) -> None:
    """Check the parameters that say how single models are judged."""
    if judge not in ("holdout", "training"):
        raise InputError(f"judge must be 'holdout' or 'training'; it is {judge!r}", name="judge")
    if not 0 < share < 1:
        raise InputError(f"share, the validation part, must lie between 0 and 1; it is {share!r}", name="cv")


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
        super().__post_init__()
        object.__setattr__(self, "folds", as_integer(self.folds, "folds", 2))

    def choose(self, sample: Sample) -> Choice:
        """Train folds × γ × C models; ``details['accuracy']`` is the γ × C table of means."""
        splits, serial = folds_of(sample, self.folds), replace(sample, executor=SerialExecutor())
        rows = sample.executor.all(_accuracies, [(self.trainer, serial, float(gamma), splits) for gamma in sample.gammas])
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

    accuracy: FloatArray
    count: int
    unsolved: int


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
        super().__post_init__()
        check_judge(self.judge, self.share)
        for name, minimum in (("bats", 2), ("iterations", 1)):
            object.__setattr__(self, name, as_integer(getattr(self, name), name, minimum))
        if self.scale not in ("log2", "linear"):
            raise InputError(f"scale must be 'log2' or 'linear'; it is {self.scale!r}", name="scale")
        for name in ("loudness", "pulse_rate"):
            if not 0 < getattr(self, name) <= 1:
                raise InputError(f"{name} must lie in (0, 1]; it is {getattr(self, name)!r}", name=name)

    def choose(self, sample: Sample) -> Choice:
        """Search; ``details['positions']`` and ``['accuracy']`` are all positions that were judged, in order."""
        trainer = self.trainer(sample)
        evaluations = _Evaluations(trainer, split_for(sample, self.judge, self.share), self.scale == "log2")
        ends = np.array([[sample.gammas[end], sample.costs[end]] for end in (0, -1)], dtype=np.float64)
        lower, upper = np.log2(ends) if evaluations.powers else ends
        if not (lower < upper).all():
            raise InputError(
                "the bat algorithm searches ranges: give at least two different candidates of gamma and of C", name="gamma"
            )
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
