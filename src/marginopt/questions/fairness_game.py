"""`fairness_game`: train a mixture of classifiers in rounds, each with an exact audit of the worst-treated linear subgroup.

Fictitious play of Kearns, Neel, Roth and Wu (Preventing fairness gerrymandering, ICML 2018, algorithm 2). The auditor responds to
the average of all classifiers so far with the subgroup of the worst weighted disparity, if that exceeds the allowed one. The
learner responds to the average of all these groups with a classifier of low cost. After T rounds the cost of predicting 1 at
person i is, up to a factor,

    (1 - 2 y_i) + C Σ_t ± s (1{i in g_t} - share of g_t) / T

with the penalty C, the groups g_t of the T rounds, + for a group whose rate is above the rate of comparison and - for one below,
and the slope s = ±1 of the rate in the prediction. The sum is only for persons that the metric counts, the *members*; the share
of g_t is its part of them, with zero in its place for calibration. The paper's learner and auditor are regressions. Here the
learner is one, and the auditor is `audit_fairness`: the disparity of each round is proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..data_names import labelled_arrays
from ..display import Display, Displayable
from ..drawing import COLOURS, new_axes
from ..errors import InputError
from ..models.arrays import FloatArray, as_integer, as_points, as_positive, to_dense
from ..models.model import Model
from ..solvers.certification.result import Result
from .answer import Answer
from .fairness import FairnessMetric, FairnessQuestion, Side, Subgroup, audit_question, fairness_question

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class GameRound:
    """The state after a round: the mixture of all classifiers so far.

    Parameters
    ----------
    error : float
        Mean error of the mixture.
    answer : Answer
        The audit of the mixture, with its proof log if logs of all rounds were requested.
    """

    error: float
    answer: Answer[Subgroup]

    @property
    def unfairness(self) -> float:
        """The disparity of `group` under the mixture."""
        return self.answer.value

    @property
    def bound(self) -> float:
        """The bound of the disparity of every subgroup."""
        return self.answer.bound

    @property
    def proved(self) -> bool:
        """Return whether ``bound`` holds in exact arithmetic."""
        return self.answer.proved

    @property
    def group(self) -> Subgroup:
        """The worst subgroup found."""
        return self.answer.evidence


@dataclass(frozen=True, eq=False)
class FairnessGame(Displayable):
    """The rounds of a fairness game, with all classifiers of the mixture.

    Parameters
    ----------
    rounds : tuple of GameRound
        The state after each round.
    classifiers : ndarray (rounds, p + 1)
        The learner's classifiers: intercept and coefficients; the prediction is 1 where the score is positive.
    allowed : float
        Disparity up to which the auditor returns no group.
    """

    rounds: tuple[GameRound, ...]
    classifiers: FloatArray
    allowed: float

    @property
    def answer(self) -> Answer[Subgroup]:
        """The audit of the last mixture, with its proof log if one was requested."""
        return self.rounds[-1].answer

    @property
    def errors(self) -> FloatArray:
        """Return the error of the mixture by round."""
        return np.array([item.error for item in self.rounds])

    @property
    def bounds(self) -> FloatArray:
        """Return the bound of the disparity by round."""
        return np.array([item.bound for item in self.rounds])

    def predict_proba(self, X: object, rounds: int | None = None) -> FloatArray:
        """Return the mixture's probability of 1: of all rounds, or of the first ones.

        Raises
        ------
        InputError
            Another number of columns.
        """
        points = _rows(X)
        if points.shape[1] + 1 != self.classifiers.shape[1]:
            raise InputError(f"X must have {self.classifiers.shape[1] - 1} columns; it has {points.shape[1]}", name="X")
        return _predictions(points, self.classifiers[:rounds]).mean(axis=0)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw error and proved disparity by round on matplotlib axes, new ones if none are given; return the axes."""
        axes = new_axes((6.0, 4.0)) if ax is None else ax
        numbers = np.arange(1, len(self.rounds) + 1)
        axes.plot(numbers, self.errors, color=COLOURS[0], label="error")
        axes.plot(numbers, self.bounds, color=COLOURS[1], label="worst disparity, proved bound")
        axes.axhline(self.allowed, color=COLOURS[1], ls=":", lw=1.0, label="allowed")
        axes.set_xlabel("round")
        axes.set_ylim(bottom=0.0)
        axes.legend()
        return axes

    def display(self) -> Display:
        """Return the notebook view: first and last round."""
        first, last = self.rounds[0], self.rounds[-1]
        facts = (
            ("rounds", str(len(self.rounds))),
            ("error", f"{first.error:.4f} in the first round, {last.error:.4f} in the last"),
            (
                "disparity",
                f"at most {first.bound:.4g} in the first round, {last.bound:.4g} in the last; allowed {self.allowed:.4g}",
            ),
            ("last group", last.group.rule),
        )
        return Display(self.answer.sentence, facts=facts)

    def __str__(self) -> str:
        return self.display().as_text()


# exempt (arguments): users give them by name
def fairness_game(
    X: object,
    y: object,
    protected: object,
    metric: FairnessMetric = "false-positive-rate",
    *,
    allowed: float = 0.0,
    penalty: float = 10.0,
    rounds: int = 50,
    margin: float | None = None,
    proof: str | Path | None = None,
    time_limit: float | None = None,
) -> FairnessGame:
    """Train a mixture of linear classifiers whose worst subgroup disparity is proved in every round.

    Parameters
    ----------
    X : array_like (n, p) or data frame
        Features of the learner, without a constant column.
    y : array_like (n,)
        Labels 0 and 1, or -1 and +1.
    protected : array_like (n, d), data frame or series
        Protected attributes of each person.
    metric : {"false-positive-rate", "false-negative-rate", "selection-rate", "calibration"}
        The rate that is compared between groups.
    margin : float, optional
        Distance from a group's boundary within which persons count on the side that reduces the disparity (`audit_fairness`).
    allowed : float
        γ ≥ 0: the auditor returns a group if its disparity is larger.
    penalty : float
        C > 0, the weight of the disparity of the returned groups against the error.
    rounds : int
        Number of rounds, at least 1.
    proof : str or Path, optional
        Path of the log of the last round's audit; or an existing folder, for one log a round. The log of a round whose bound
        follows from earlier rounds cites their logs by digest.
    time_limit : float, optional
        Seconds of each audit.

    Returns
    -------
    FairnessGame

    Raises
    ------
    InputError
        Data of other shapes or values, a metric that counts no person, or ``rounds`` below 1.

    References
    ----------
    Kearns, Neel, Roth, Wu: Preventing fairness gerrymandering: auditing and learning for subgroup fairness, ICML 2018.
    """
    points = _rows(X)
    n = points.shape[0]
    allowed, penalty = as_positive(allowed, "allowed", zero=True), as_positive(penalty, "penalty")
    rounds = as_integer(rounds, "rounds", 1)
    question = fairness_question(np.zeros(n), y, protected, metric, None, margin)
    regression = np.linalg.pinv(np.column_stack([np.ones(n), points]))
    group_costs, votes = np.zeros(n), np.zeros(n)
    trajectory, classifiers = list[GameRound](), list[FloatArray]()
    earlier: dict[Side, list[tuple[Model, Result]]] = {}
    for number in range(1, rounds + 1):
        costs = (1.0 - 2.0 * question.y) / n + penalty * group_costs / max(number - 1, 1)
        classifiers.append(-(regression @ costs))
        votes += _predictions(points, classifiers[-1:])[0]
        mean = votes / number
        question = FairnessQuestion(
            mean, question.y, question.protected, question.names, metric, question.sample_weight, question.margin
        )
        answer = audit_question(question, _log_path(proof, number, rounds), time_limit, earlier)
        trajectory.append(GameRound(float(np.abs(question.y - mean).mean()), answer))
        if answer.value > allowed:
            group_costs += _slopes(question, trajectory[-1].group)
    return FairnessGame(tuple(trajectory), np.array(classifiers), allowed)


def _log_path(proof: str | Path | None, number: int, rounds: int) -> Path | None:
    """Return the path of a round's log: one for each round in a folder, else that of the last round alone."""
    if proof is not None and Path(proof).is_dir():
        return Path(proof) / f"round-{number:0{len(str(rounds))}}.jsonl.gz"
    return None if proof is None or number < rounds else Path(proof)


def _rows(X: object) -> FloatArray:
    """Return the learner's features, of an array or a data frame, as dense rows."""
    labelled = labelled_arrays(X, None)
    return np.asarray(to_dense(as_points(X if labelled is None else labelled[0])), dtype=np.float64)


def _predictions(points: FloatArray, classifiers: Sequence[FloatArray] | FloatArray) -> FloatArray:
    """Return the predictions 0 and 1 of each classifier (classifiers, n)."""
    w = np.asarray(classifiers)
    return (w[:, :1] + w[:, 1:] @ points.T > 0.0).astype(np.float64)


def _slopes(question: FairnessQuestion, group: Subgroup) -> FloatArray:
    """Return the derivative of a group's signed disparity in the prediction of each person."""
    inside = np.array(group.people, dtype=np.float64)[question.members]
    share = 0.0 if question.metric == "calibration" else inside.mean()
    sign = 1.0 if group.side == "above" else -1.0
    slopes = np.zeros(question.y.size)
    slopes[question.members] = sign * question.prediction_slope * (inside - share) / question.y.size
    return slopes
