"""Several classes by binary problems: one against one with votes, or one against the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..errors import InputError
from ..models.arrays import FloatArray, IntArray

__all__ = ["Pair", "binary_problems", "class_scores"]


@dataclass(frozen=True, eq=False)
class Pair:
    """One binary problem: rows of the sample, labels -1 and +1, and the classes that these stand for (-1: all the rest)."""

    index: IntArray
    labels: FloatArray
    negative: int
    positive: int


def binary_problems(codes: IntArray, classes: int, scheme: str) -> list[Pair]:
    """The problems of a scheme: one for two classes, one a pair for ``"ovo"``, one a class for ``"ovr"``.

    Raises
    ------
    InputError
        There is no such scheme.
    """
    if scheme not in ("ovo", "ovr"):
        raise InputError(f"multi_class must be 'ovo' (one against one) or 'ovr' (one against the rest); it is {scheme!r}")
    if scheme == "ovo" or classes == 2:
        pairs = []
        for i, j in combinations(range(classes), 2):
            index = np.flatnonzero((codes == i) | (codes == j))
            pairs.append(Pair(index, np.where(codes[index] == j, 1.0, -1.0), i, j))
        return pairs
    everyone = np.arange(codes.size)
    return [Pair(everyone, np.where(codes == k, 1.0, -1.0), -1, k) for k in range(classes)]


def class_scores(scores: FloatArray, pairs: Sequence[Pair], classes: int) -> FloatArray:
    """Scores of the classes (n × K) from those of the binary problems (n × problems).

    One against the rest: the scores themselves. One against one: the votes, with the summed scores of the pairs squeezed into
    (-1/3, 1/3) added, so that they decide ties and nothing else.
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
