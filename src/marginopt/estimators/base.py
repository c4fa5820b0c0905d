"""The base class and the record of every estimator, and the split of several classes into binary problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..errors import DataError, InputError
from ..models.arrays import FloatArray, IntArray
from ..models.model import Model

#: Layout of the fitted attributes. A change of what is kept needs a new number.
_LAYOUT = 2
_KEY = "_marginopt_layout"


class Estimator(BaseEstimator):  # type: ignore[misc]
    """The base class of estimators; it refuses a pickle of another layout, whose predictions could differ."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes and their layout."""
        return {**super().__getstate__(), _KEY: _LAYOUT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes."""
        state = dict(state)
        if state.pop(_KEY, None) != _LAYOUT:
            raise DataError(f"this {type(self).__name__} was written by an earlier version of marginopt; fit it again")
        super().__setstate__(state)


def refuse_fit_arguments(estimator: object, fit_params: Mapping[str, object]) -> None:
    """Raise a `TypeError` for arguments that ``fit`` does not take; for ``sample_weight`` it says what to do instead.

    scikit-learn looks for ``sample_weight`` among the parameters of ``fit`` to learn whether weights are taken, so an estimator
    without weights cannot name that parameter to refuse it.
    """
    if not fit_params:
        return
    name = type(estimator).__name__
    if "sample_weight" in fit_params:
        raise TypeError(
            f"{name} takes no sample_weight: its model prices all points alike. Repeat points that count more, or take one "
            "that has weights: L2SVC, NCHSVC, HingeSVC, ZeroOneSVC, RampSVC or SparseSVC"
        )
    raise TypeError(f"{name}.fit takes X and y; it was given {', '.join(fit_params)}")


@dataclass(frozen=True)
class EstimatorInfo:
    """The record of one estimator, at the end of its own file in ``ESTIMATORS``; `marginopt.estimators` collects them.

    Parameters
    ----------
    estimator : type
        The class.
    model : type of Model
        The formulation that it solves.
    summary : str
        One line: what it is, and what it finds by itself.
    quick : mapping
        Parameters with which it fits small data in a moment: those of scikit-learn's checks.
    """

    estimator: type[Any]
    model: type[Model]
    summary: str
    quick: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The class's name."""
        return self.estimator.__name__

    def make(self) -> Any:
        """Return an estimator with the parameters ``quick``."""
        return self.estimator(**self.quick)


@dataclass(frozen=True, eq=False)
class Pair:
    """One binary problem: rows of the sample, labels -1 and +1, and the classes that these stand for (-1: all the rest)."""

    index: IntArray
    labels: FloatArray
    negative: int
    positive: int


def binary_problems(codes: IntArray, classes: int, scheme: str) -> list[Pair]:
    """Return the problems of a scheme: one for two classes, one a pair for ``"ovo"``, one a class for ``"ovr"``."""
    if scheme not in ("ovo", "ovr"):
        raise InputError(
            f"multi_class must be 'ovo' (one against one) or 'ovr' (one against the rest); it is {scheme!r}", name="multi_class"
        )
    if scheme == "ovo" or classes == 2:
        pairs = []
        for i, j in combinations(range(classes), 2):
            index = np.flatnonzero((codes == i) | (codes == j))
            pairs.append(Pair(index, np.where(codes[index] == j, 1.0, -1.0), i, j))
        return pairs
    everyone = np.arange(codes.size)
    return [Pair(everyone, np.where(codes == k, 1.0, -1.0), -1, k) for k in range(classes)]


def class_scores(scores: FloatArray, pairs: Sequence[Pair], classes: int) -> FloatArray:
    """Return the scores of the classes (n × K) from those of the binary problems (n × problems).

    One against the rest: the scores themselves. One against one: the votes, with the summed scores of the pairs squeezed into
    (-1/3, 1/3) added, so that they decide ties alone.
    """
    if pairs[0].negative < 0:
        return scores
    votes = np.zeros((scores.shape[0], classes))
    confidence = np.zeros_like(votes)
    for k, pair in enumerate(pairs):
        wins = scores[:, k] > 0
        votes[:, pair.positive] += wins
        votes[:, pair.negative] += ~wins
        confidence[:, pair.positive] += scores[:, k]
        confidence[:, pair.negative] -= scores[:, k]
    return votes + confidence / (3.0 * (np.abs(confidence) + 1.0))
