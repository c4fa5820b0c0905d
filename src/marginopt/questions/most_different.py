"""The most different classifier within ε of the best: how many predictions another good classifier flips.

The number is the predictive multiplicity of Marx, Calmon and Ustun (Predictive multiplicity in classification, ICML 2020) as a
proved optimum. The set holds the classifiers of objective at most the level f + ε|f|, f the objective of the best one found.
"At least k of the n predictions are flipped" is a budget: of the points with the opposite of their predictions as labels, at
most n - k have a margin below 1. If every classifier within this budget costs more than the level, each of the set flips fewer
than k predictions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..display import Sense
from ..drawing import COLOURS, GREY
from ..errors import InputError, count_text
from ..models.arrays import FloatArray, IntArray, to_dense
from ..models.formulations.margin.model import Margin
from ..models.formulations.margin.restrictions import ErrorBudget
from ..models.model import Model, decided_labels
from .answer import Answer, Evidence, checked_evidence, percentage
from .restricted_solves import LevelQuestion, RestrictedSolver, Restriction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

#: Factors by which a classifier is lengthened, so that margins that the search reached up to rounding are at least 1.
_STRETCHES = (1.0, 1.0 + 1e-9, 1.0 + 1e-8)


@dataclass(frozen=True)
class FlippedPredictions(Restriction):
    """The restriction that at least ``min_count`` predictions are flipped, with margin at least 1.

    Parameters
    ----------
    opposite_labels : tuple of float (n,)
        The opposite of each prediction.
    min_count : int
        The least number of predictions to flip.
    """

    opposite_labels: tuple[float, ...]
    min_count: int

    @property
    def name(self) -> str:
        """The restriction in words."""
        return f"{self.min_count} of {len(self.opposite_labels)} predictions flipped"

    def model(self, base: Margin) -> Margin:
        """Return the composition with each point added at no cost, labelled against its prediction, with an error budget."""
        X, n = np.asarray(to_dense(base.X)), len(self.opposite_labels)
        budget = ErrorBudget(np.arange(n, 2 * n), (n - self.min_count) / n)
        weights = np.concatenate([np.broadcast_to(base.sample_weight, n), np.zeros(n)])
        y = np.concatenate([base.y, self.opposite_labels])
        return replace(base, X=np.vstack([X, X]), y=y, sample_weight=weights, subject_to=(*base.subject_to, budget))

    def is_possible(self, base: Margin) -> bool:
        """Return whether there are at least ``min_count`` predictions."""
        return self.min_count <= len(self.opposite_labels)


@dataclass(frozen=True, eq=False)
class Disagreements(Evidence):
    """The predictions on which the best classifier and the most different one found disagree.

    Parameters
    ----------
    best : tuple of float (p,)
        Coefficients of the best classifier.
    different : tuple of float (p,)
        Coefficients of the classifier that flips the most of its predictions.
    points : tuple of int
        Indices of the points whose predictions are flipped.
    scores, other_scores : ndarray (n,)
        Scores x'w of the best and of the different classifier.
    """

    best: tuple[float, ...]
    different: tuple[float, ...]
    points: tuple[int, ...]
    scores: FloatArray
    other_scores: FloatArray

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the flipped points and the classifier."""
        points = ", ".join(map(str, self.points[:20])) + (", ..." if len(self.points) > 20 else "")
        return ("flipped points", points or "none"), ("classifier", ", ".join(f"{x:.4g}" for x in self.different))

    def draw(self, ax: Axes) -> None:
        """Draw the scores of both classifiers, the flipped points apart."""
        opposite = np.isin(np.arange(self.scores.size), self.points)
        for mask, colour, label in ((~opposite, GREY, "other points"), (opposite, COLOURS[0], "flipped points")):
            ax.plot(self.scores[mask], self.other_scores[mask], "o", color=colour, label=label)
        ax.axhline(0.0, color="black", lw=0.5)
        ax.axvline(0.0, color="black", lw=0.5)
        ax.set_xlabel("score of the best classifier")
        ax.set_ylabel("score of the most different one")
        ax.legend()


@dataclass(frozen=True, eq=False)
class DifferenceQuestion(LevelQuestion):
    """The largest number of predictions of ``best`` that a classifier of the set flips, with margin at least 1.

    Parameters
    ----------
    model, within, level, exclusions
        The model, ε, the level, and the restrictions that no classifier of the set satisfies, as in `LevelQuestion`.
    best : tuple of float (p,)
        The classifier whose predictions are flipped.
    """

    best: tuple[float, ...]

    sense: ClassVar[Sense] = "maximum"

    def __post_init__(self) -> None:
        if self.model.groups is not None or any(part.needs_margins for part in self.model.subject_to):
            raise InputError("most_different_classifier takes no groups of points and no restrictions of margins")

    @property
    def opposite_labels(self) -> tuple[float, ...]:
        """The opposite of each prediction of ``best``."""
        return tuple((-decided_labels(_scores(self.model, self.best))).tolist())

    def flipped_points(self, w: tuple[float, ...]) -> IntArray:
        """Return the points whose predictions w flips; none if it is outside of the set."""
        if not self.classifiers_within_level([w]):
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(np.array(self.opposite_labels) * _scores(self.model, w) >= 1.0)

    def evaluate(self, evidence: Evidence) -> float:
        """Return the number of predictions that the different classifier flips; NaN if the level is below that of ``best``."""
        different = checked_evidence(evidence, Disagreements).different
        return float(self.flipped_points(different).size) if self.covers(self.best) else math.nan

    def bound(self, bounds: Mapping[str, float]) -> float:
        """Return the largest number of flips that no proved bound excludes."""
        opposite, n = self.opposite_labels, len(self.model.y)
        numbers = [
            item.min_count
            for item in self.exclusions
            if isinstance(item, FlippedPredictions) and item.opposite_labels == opposite and self.excluded(item, bounds)
        ]
        return float(min([*numbers, n + 1]) - 1)

    def objection(self, evidence: Evidence, bounds: Mapping[str, float]) -> str:
        """Return the objection that flipped points or scores are not those of the two classifiers; empty if they are."""
        assert isinstance(evidence, Disagreements)
        if evidence.best != self.best:
            return "the classifiers are compared with another one"
        restated = self.disagreements(evidence.different)
        agrees = evidence.points == restated.points and np.array_equal(
            [evidence.scores, evidence.other_scores], [restated.scores, restated.other_scores]
        )
        return "" if agrees else "the flipped points or the scores are not those of the classifiers"

    def disagreements(self, different: tuple[float, ...]) -> Disagreements:
        """Return the points on which a classifier and ``best`` disagree, with both scores."""
        points = tuple(self.flipped_points(different).tolist())
        return Disagreements(self.best, different, points, _scores(self.model, self.best), _scores(self.model, different))

    def claim(self, bound: float) -> str:
        """Return that no classifier of the set flips more predictions."""
        within = f"within {percentage(self.within)}% of the best"
        return (
            f"No classifier {within} flips more than {bound:.0f} of its "
            f"{count_text(len(self.model.y), 'prediction')} with margin at least 1"
        )


def _scores(model: Margin, w: tuple[float, ...]) -> FloatArray:
    return np.asarray(np.asarray(to_dense(model.X)) @ np.array(w))


def most_different_classifier(
    model: Model,
    within: float = 0.02,
    *,
    solver: str = "margin-bb",
    time_limit: float | None = None,
    proof: str | Path | None = None,
) -> Answer[Disagreements]:
    """Find the classifier within ε of the best that flips the most of its predictions on the data.

    A prediction of the best classifier is flipped if the other one predicts the opposite with margin at least 1, the unit of the
    losses and, for whole coefficients and features, of the scores.

    Parameters
    ----------
    model : Model
        A `Margin`, or a formulation that is one, without groups of points and without restrictions that count points.
    within, solver : float, str
        ε ≥ 0, relative to the best objective found; an exact solver of `Margin`, whose bounds prove the answer (margin-bb's do).
    time_limit, proof : optional
        Seconds of each solve; folder of the proof logs, one for each restriction.

    Returns
    -------
    Answer
        ``evidence`` is `Disagreements`. ``value`` ≤ number of flipped predictions ≤ ``bound``.

    Raises
    ------
    InputError
        A model that is no `Margin`, without a classifier, with groups of points or restrictions of their margins; ``within`` < 0.
    """
    solves = RestrictedSolver(model, within, solver, time_limit, proof)
    base = solves.model
    question = DifferenceQuestion(base, solves.within, solves.level, (), solves.best)
    opposite, n = question.opposite_labels, len(base.y)

    def most_different() -> tuple[float, ...]:
        candidates = [tuple(scale * x for x in w) for w in solves.classifiers_within_level() for scale in _STRETCHES]
        return max(candidates, key=lambda w: question.flipped_points(w).size)

    attained, excluded = question.flipped_points(most_different()).size, n + 1
    while excluded - attained > 1:
        trial = FlippedPredictions(opposite, (attained + excluded) // 2)
        if solves.excludes(trial):
            excluded = trial.min_count
        elif (flipped_count := question.flipped_points(most_different()).size) >= trial.min_count:
            attained = flipped_count
        else:  # neither excluded nor attained: the search ended early
            break
    exclusions = (FlippedPredictions(opposite, excluded),)
    question = replace(question, exclusions=exclusions)
    evidence = question.disagreements(most_different())
    return solves.answer(question, evidence, exclusions)
