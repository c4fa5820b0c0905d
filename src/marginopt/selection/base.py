"""The interface of selectors of γ and C: `Selector`, its data `Sample`, its `Choice`, and `Trainer`, which trains models.

γ is the parameter of the Gaussian kernel k(x, x') = exp(-γ||x - x'||²), C that of the two-hulls classifier `ConvexHullsDual` of
Luo et al. (2023), *MaxMin-L2-SVC-NCH* ("MaxMin"): min ½a'(G + I/C)a over a unit simplex for each class,
G_ij = y_i y_j k(x_i, x_j).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from ..errors import InputError, count_text, short_text
from ..models.arrays import FloatArray, IntArray, Points, check_bytes, plain_fields
from ..models.formulations.svm_duals import ConvexHullsDual
from ..models.kernels.kernels import RBF, Precomputed, squared_distances
from ..models.model import decided_labels
from ..solvers.parallel import Executor, SerialExecutor
from ..solvers.records import Options, Status
from ..solvers.registry import SolverLike
from ..solvers.solve import solve_raw

#: The default candidates of γ, those of MaxMin, section 4: 2^-15, 2^-13, .., 2^3.
GAMMA_GRID: tuple[float, ...] = tuple(2.0**k for k in range(-15, 4, 2))
#: The default candidates of C, those of MaxMin, section 4: 2^-5, 2^-3, .., 2^15.
C_GRID: tuple[float, ...] = tuple(2.0**k for k in range(-5, 16, 2))


@dataclass(frozen=True, eq=False)
class Sample:
    """The validated training data, candidates and options that a selector gets.

    Parameters
    ----------
    X : ndarray or csr_array (n, p)
        The training points.
    y : ndarray (n,)
        Their labels, -1 and +1.
    gammas, costs : ndarray
        Candidates of γ and of C, ascending; selectors that search a range take the first and the last.
    seed : int
        Seed of the splits and of random searches.
    tol : float
        Relative gap to which every model is solved.
    solver : str, Solver or pair
        Solver of every model.
    executor : Executor
        Runs the training of independent models in parallel.
    threads : int, optional
        Threads of every solve; the solver's default where it is not given.
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
        """The squared distances ||x_i - x_j||² of the training points, n × n."""
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
        The chosen parameters.
    models_trained : int
        Number of models trained, each by one solve of the two-hulls dual.
    details : mapping
        The selector's measurements by name, such as the scores of the candidates.
    unsolved : int
        Number of models whose solve ended before the tolerance.
    steps : sequence of mapping
        γ, the optimal value f(γ) of the two-hulls dual, its derivative and the Fisher ratio of every model of an ascent in γ
        ("maxmin"); empty for other selectors.
    """

    gamma: float
    C: float
    models_trained: int
    details: Mapping[str, Any] = field(default_factory=dict)
    unsolved: int = 0
    steps: Sequence[Mapping[str, Any]] = ()


class Selector(ABC):
    """A rule that chooses γ and C from training data alone; a frozen data class whose fields are its parameters."""

    #: The name of the selector, for `select`.
    name: ClassVar[str]
    #: C where the user gives none: one number or candidates.
    default_C: ClassVar[float | tuple[float, ...]] = C_GRID

    def __post_init__(self) -> None:
        plain_fields(self)

    @abstractmethod
    def choose(self, sample: Sample) -> Choice:
        """Return the chosen γ and C; each solve of the two-hulls dual to tolerance counts as one model trained.

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
        Name of the selector.
    seconds : float
        Wall time of the whole selection.
    notes : tuple of str
        Warnings in sentences: γ at an end of its range, points with both labels, constant features, unsolved models.
    """

    selector: str
    seconds: float
    notes: tuple[str, ...] = ()

    def model(self, X: object, y: object) -> ConvexHullsDual:
        """Return the two-hulls model with the selected γ and C on points X (n × p) and labels y (n,), -1 and +1."""
        return ConvexHullsDual(X, y, C=self.C, kernel=RBF(self.gamma))  # type: ignore[arg-type]

    def __str__(self) -> str:
        head = (
            f"{self.selector}: gamma = {self.gamma:.6g}, C = {self.C:.6g}, "
            f"{count_text(self.models_trained, 'model')} trained in {self.seconds:.3g} s"
        )
        return "\n".join((head, *(f"  note: {note}" for note in self.notes)))


#: Indices of the rows that train a model, and of the rows on which its accuracy is measured.
Split: TypeAlias = tuple[IntArray, IntArray]
#: The points on which the accuracy of a model is measured: a held-out part of the training data, or the training points.
Judge: TypeAlias = Literal["holdout", "training"]


class Trainer:
    """Trains two-hulls classifiers on a sample, each without a warm start and to the sample's tolerance.

    Parameters
    ----------
    sample : Sample
        Points, candidates and tolerance.

    Attributes
    ----------
    count, unsolved : int
        Number of models trained so far, and of those whose solve ended before the tolerance.
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
        """Train on the first rows of the split and return the accuracy on the second; ``K`` is the whole kernel matrix."""
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
    """Return the splits of so many shuffled stratified folds, which leave both classes in every training part."""
    from sklearn.model_selection import StratifiedKFold

    _check_classes(sample, folds, f"{folds}-fold cross-validation")
    splitter = StratifiedKFold(folds, shuffle=True, random_state=sample.seed)
    return [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(np.zeros((sample.y.size, 1)), sample.y)]


def split_for(sample: Sample, judge: Judge, share: float) -> Split:
    """Return the split for single models: a held-out share of the points, or ("training") all points in both parts."""
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
            f"{purpose} needs at least {count_text(needed, 'point')} of each class; the smaller class has {smaller}. "
            "Use selector='maxmin', which needs one, or give more data",
            name="y",
        )


def best_cost(trainer: Trainer, gamma: float, split: Split) -> tuple[float, FloatArray]:
    """Train one model for each C at γ; return the C of the highest accuracy (the smallest of several), and all accuracies."""
    K = trainer.kernel(gamma)
    costs = trainer.sample.costs
    accuracies = np.array([trainer.accuracy(K, float(C), split) for C in costs])
    return float(costs[int(np.argmax(accuracies))]), accuracies


def check_judge_parameters(judge: str, share: float) -> None:
    """Raise InputError unless ``judge`` is a known name and ``share``, the validation part, lies between 0 and 1."""
    if judge not in ("holdout", "training"):
        raise InputError(f"judge must be 'holdout' or 'training'; it is {short_text(judge)}", name="judge")
    if not 0 < share < 1:
        raise InputError(f"share, the validation part, must lie between 0 and 1; it is {short_text(share)}", name="share")
