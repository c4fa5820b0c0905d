"""Training two-hulls models on parts of a sample, and counting them: the engine that all selectors share."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from ..errors import InputError
from ..models.arrays import FloatArray, IntArray
from ..models.formulations.convex_hulls import ConvexHullsDual
from ..models.kernels.kernels import Precomputed
from ..solvers.records.answer import Status
from ..solvers.records.options import Options
from ..solvers.solve import solve_raw
from .base import Sample

__all__ = ["Judge", "Split", "Trainer", "best_cost", "check_judge", "folds_of", "split_for"]

#: Rows to train on and rows to judge on.
Split: TypeAlias = tuple[IntArray, IntArray]
#: On what a single model is judged: a part of the training data kept aside, or the very points it was trained on.
Judge: TypeAlias = Literal["holdout", "training"]


class Trainer:
    """The sample's solver on the two-hulls dual, cold, to the sample's tolerance.

    ``count`` models so far, ``unsolved`` of them short of the tolerance.
    """

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.count = 0
        self.unsolved = 0
        self._options = Options(tol=sample.tol, seed=sample.seed, threads=sample.threads)

    def kernel(self, gamma: float) -> FloatArray:
        """exp(-γ||x_i - x_j||²) on the whole sample."""
        return np.asarray(np.exp(-gamma * self.sample.distances))

    def accuracy(self, K: FloatArray, C: float, split: Split) -> float:
        """Train on the first rows of the split and return the share of the second that is classified rightly."""
        train, judged = split
        y = self.sample.y
        model = ConvexHullsDual(K[np.ix_(train, train)], y[train], C=C, kernel=Precomputed())
        raw = solve_raw(self.sample.solver, model, self._options)
        assert raw.values is not None  # a solver without a point is an error there
        self.count += 1
        self.unsolved += raw.status is not Status.OPTIMAL
        a = np.asarray(raw.values["a"])
        p, q = model.edges(a)
        scores = K[np.ix_(judged, train)] @ (a * y[train]) - 0.5 * (p + q)
        return float(np.mean(np.where(scores >= 0, 1.0, -1.0) == y[judged]))


def folds_of(sample: Sample, folds: int) -> list[Split]:
    """Shuffled stratified folds, so that no fold trains on one class only."""
    from sklearn.model_selection import StratifiedKFold

    _check_classes(sample, folds, f"{folds}-fold cross-validation")
    splitter = StratifiedKFold(folds, shuffle=True, random_state=sample.seed)
    return [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(np.zeros((sample.y.size, 1)), sample.y)]


def split_for(sample: Sample, judge: Judge, share: float) -> Split:
    """The one split on which single models are judged."""
    everything = np.arange(sample.y.size)
    if judge == "training":
        return everything, everything
    from sklearn.model_selection import train_test_split

    _check_classes(sample, 2, "a validation part")
    train, held = train_test_split(everything, test_size=share, stratify=sample.y, random_state=sample.seed)
    return np.sort(train), np.sort(held)


def _check_classes(sample: Sample, needed: int, purpose: str) -> None:
    positive = int((sample.y > 0).sum())
    smaller = min(positive, sample.y.size - positive)
    if smaller < needed:
        raise InputError(
            f"{purpose} needs at least {needed} points of each class; the smaller class has {smaller}. "
            "Use selector='maxmin', which needs one, or give more data"
        )


def best_cost(trainer: Trainer, gamma: float, split: Split) -> tuple[float, FloatArray]:
    """The C of highest accuracy at γ, the smallest of equals, and the accuracy of each candidate: one model for each C."""
    K = trainer.kernel(gamma)
    costs = trainer.sample.costs
    accuracies = np.array([trainer.accuracy(K, float(C), split) for C in costs])
    return float(costs[int(np.argmax(accuracies))]), accuracies


def check_judge(judge: str, share: float) -> None:
    """The parameters that say how single models are judged."""
    if judge not in ("holdout", "training"):
        raise InputError(f"judge must be 'holdout' or 'training'; it is {judge!r}")
    if not 0 < share < 1:
        raise InputError(f"share, the validation part, must lie between 0 and 1; it is {share!r}")
