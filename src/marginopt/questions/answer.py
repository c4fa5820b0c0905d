"""`Answer`: a value that some classifier attains, a proved bound for all others, and the check of both without the solver.

A question of this package is an optimum over all classifiers (or subgroups) of a class, and its bound rests on bounds of models
that the data determine: `Question.problems` returns these models by name. The *evidence* is the object that attains the value.
`Answer.check` derives the models from the data again, verifies the proof logs of their bounds, and evaluates the evidence.

A new question is a frozen data class deriving from `BoundedQuestion`, with an `Evidence` of its own, and a function that solves
`BoundedQuestion.problems` and returns an `Answer`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from ..display import Display, Displayable, Sense, bound_text
from ..drawing import new_axes
from ..errors import DataError, InputError, count_text
from ..files import READ_ERRORS, describe_read_error
from ..solvers.exact.check.checker import ProofReport
from ..solvers.exact.check.log_reader import file_sha256
from ..solvers.proofs import Question, check_proof

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Relative difference by which a bound and a value that floating point computes in another order may differ.
_ROUNDING = 1e-9
#: Characters of a digest that a sentence shows.
_DIGEST = 16


class Evidence(ABC):
    """The base class of objects that attain the value of an answer: a group of persons, a classifier, a list of classifiers.

    A subclass is a frozen data class with fields of its own; `facts` and `draw` show it.
    """

    @abstractmethod
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return a label and a text for each line of the printed answer."""

    @abstractmethod
    def draw(self, ax: Axes) -> None:
        """Draw the evidence on matplotlib axes."""


E = TypeVar("E", bound=Evidence, covariant=True)
K = TypeVar("K", bound=Evidence)


def checked_evidence(evidence: Evidence, kind: type[K]) -> K:
    """Return the evidence; raise InputError if it is of another class than the question's."""
    if not isinstance(evidence, kind):
        raise InputError(f"the evidence must be of the class {kind.__name__}; it is a {type(evidence).__name__}", name="evidence")
    return evidence


class BoundedQuestion(Question):
    """The base class of questions: an optimum over all classifiers of a class, bounded by means of bounds of models.

    A subclass is a data class of the data, checked and copied by its ``__post_init__``; it holds no result.
    """

    #: Whether the optimum is a maximum, so that `bound` is an upper bound, or a minimum.
    sense: ClassVar[Sense] = "maximum"

    @abstractmethod
    def evaluate(self, evidence: Evidence) -> float:
        """Return the value that the evidence attains, computed from the data alone.

        Raises
        ------
        InputError
            The evidence does not fit the data.
        """

    @abstractmethod
    def bound(self, bounds: Mapping[str, float]) -> float:
        """Return the bound of the optimum that proved bounds of the models imply, rounded to the safe side.

        Parameters
        ----------
        bounds : mapping of str to float
            Lower bounds of the optima of `problems`, by name. A model without an entry has its trivial bound.
        """

    @abstractmethod
    def objection(self, evidence: Evidence, bounds: Mapping[str, float]) -> str:
        """Return what is false or unproved in the evidence apart from its value, as a clause; empty if nothing is.

        Parameters
        ----------
        evidence : Evidence
            Evidence that fits the data, as in `evaluate`.
        bounds : mapping of str to float
            As in `bound`.
        """

    @abstractmethod
    def claim(self, bound: float) -> str:
        """Return the main clause of `Answer.sentence`: no object of the class has a value beyond ``bound``."""

    @property
    @abstractmethod
    def data(self) -> str:
        """Return the data in a few words for `Answer.sentence`, such as "287 distinct rows"."""


@dataclass(frozen=True)
class ProofLog:
    """The file with the proof log of one model's bound, and its digest.

    Parameters
    ----------
    problem : str
        Name of the model in `Question.problems`.
    path : str
        Path of the file.
    sha256 : str
        Digest of the file.
    """

    problem: str
    path: str
    sha256: str

    @classmethod
    def of_file(cls, problem: str, path: str | Path) -> ProofLog:
        """Return the record of a log file.

        Raises
        ------
        DataError
            The file cannot be read.
        """
        try:
            return cls(problem, str(path), file_sha256(Path(path)))
        except READ_ERRORS as error:
            raise DataError(f"the proof log {path} cannot be read: {describe_read_error(error)}", file=path) from error


@dataclass(frozen=True)
class AnswerReport:
    """The outcome of `Answer.check`.

    Parameters
    ----------
    valid : bool
        Whether the logs prove the bound, the evidence attains the value, and no other fault was found.
    bound : float
        The bound that the valid logs imply.
    value : float
        The value of the evidence, computed again.
    message : str
        The first fault; empty for a valid answer.
    reports : mapping of str to ProofReport
        The verdict on each log, by the model's name.
    """

    valid: bool
    bound: float
    value: float
    message: str
    reports: Mapping[str, ProofReport]

    def __str__(self) -> str:
        verdict = "every log is valid and the evidence attains the value" if self.valid else f"NOT proved: {self.message}"
        logs = count_text(len(self.reports), "log")
        return f"value {self.value:.12g}, bound {self.bound:.12g}; {verdict}; {logs} verified"


@dataclass(frozen=True, eq=False)
class Answer(Displayable, Generic[E]):
    """The answer to a question about all classifiers of a class.

    Parameters
    ----------
    question : BoundedQuestion
        The data and the optimum in question. ``mo.check_proof(log, answer.question)`` verifies a log against them.
    value : float
        The value of the evidence, computed from the data.
    bound : float
        Proved or claimed bound of the optimum: no object of the class has a value above it (maximum) or below it (minimum).
    proved : bool
        Whether the bound holds in exact arithmetic; False for a bound that a solver without proofs claims.
    evidence : Evidence
        An object of the class that attains ``value``.
    logs : tuple of ProofLog
        Proof logs of the bounds of the models; empty if none were requested.
    detail : str
        A further clause of the sentence, such as "the search ended at its time limit".

    Attributes
    ----------
    sentence : str
        The answer as one sentence, for a report.
    closed : bool
        Whether value and bound agree up to rounding, so that the evidence is an optimum.
    """

    question: BoundedQuestion
    value: float
    bound: float
    proved: bool
    evidence: E
    logs: tuple[ProofLog, ...] = ()
    detail: str = ""

    @property
    def gap(self) -> float:
        """Return |bound - value|/max(|value|, |bound|); zero if both are the same, else infinite if one of them is infinite."""
        scale = max(abs(self.value), abs(self.bound))
        if math.isinf(scale):
            return 0.0 if self.value == self.bound else math.inf
        return abs(self.bound - self.value) / scale if scale else 0.0

    @property
    def closed(self) -> bool:
        """Return whether value and bound agree up to 1e-5: the solvers' tolerance, with room for a difference of two costs."""
        return self.gap <= 1e-5

    @property
    def sentence(self) -> str:
        """Return the answer as one sentence: the claim, whether it is proved, the logs' digests and the data."""
        status_text = "proved" if self.proved else "claimed by the solver, not proved"
        digests = [log.sha256[:_DIGEST] for log in self.logs]
        logs = [f"log{'s' * (len(digests) > 1)} sha256 {', '.join(digests)}"] if digests else []
        clauses = [status_text, *logs, self.question.data, *([self.detail] if self.detail else [])]
        return f"{self.question.claim(self.bound)}: {', '.join(clauses)}."

    def check(self) -> AnswerReport:
        """Verify the answer from the data: derive the models again, check their logs, evaluate the evidence.

        Returns
        -------
        AnswerReport
            ``valid`` only where the logs imply ``bound``, the evidence attains ``value``, and data and logs imply whatever else
            the evidence shows. A missing or damaged log is reported, never raised.
        """
        reports, message, bounds = dict[str, ProofReport](), "", dict[str, float]()
        problems = self.question.problems()
        for log in self.logs:
            model = problems.get(log.problem)
            if model is None:
                message = message or f"the question has no problem {log.problem!r}"
                continue
            report = reports[log.problem] = check_proof(log.path, model)
            if report.valid and ProofLog.of_file(log.problem, log.path) != log:
                message = message or f"the log of {log.problem!r} has another digest"
            elif report.valid:
                bounds[log.problem] = max(report.bound, bounds.get(log.problem, -math.inf))
            else:
                message = message or f"the log of {log.problem!r}: {report.message}"
        bound, value = self.question.bound(bounds), self.question.evaluate(self.evidence)
        scale = _ROUNDING * max((abs(x) for x in (self.bound, self.value) if math.isfinite(x)), default=0.0)
        sign = 1.0 if self.question.sense == "maximum" else -1.0
        if not message and not sign * self.bound >= sign * bound - scale:
            message = f"the logs prove {bound:.12g}, not the stated bound {self.bound:.12g}"
            if not self.logs:
                message = f"no log proves the stated bound {self.bound:.12g}: ask with proof="
        if not message and not (value == self.value or abs(value - self.value) <= scale):
            message = f"the evidence has the value {value:.12g}, not {self.value:.12g}"
        message = message or self.question.objection(self.evidence, bounds)
        return AnswerReport(not message, bound, value, message, reports)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the evidence on matplotlib axes, new ones if none are given; return the axes."""
        axes = new_axes((6.0, 4.0)) if ax is None else ax
        self.evidence.draw(axes)
        return axes

    def display(self) -> Display:
        """Return the notebook view."""
        facts = [("value", f"{self.value:.6g}"), ("bound", f"{self.bound:.6g} ({'proved' if self.proved else 'not proved'})")]
        return Display(self.sentence, facts=(*facts, *self.evidence.facts()))

    def __str__(self) -> str:
        return self.display().as_text()


def percentage(within: float) -> str:
    """Return the share ``within`` in per cent as text, rounded down: a sentence must not cover more classifiers than proved."""
    return f"{float(bound_text(100.0 * within * (1.0 + 1e-15), 'minimum', 6)):g}"
