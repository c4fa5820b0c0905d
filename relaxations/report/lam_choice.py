"""The task that chooses λ for ``lam="auto"`` of a gap report: the geometric mean of two ends of the range of interest.

λ is the factor of the losses beside the regulariser, the cost of a margin violation in the 0-1 problem. Below the lower end the
intercept alone is the best known classifier. Above the upper end the best known classifier is the one of the least known cost of
violations. If the ends are equal, λ is twice that end; without ends λ is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.model import Model
from ...solvers.records import Options
from ..bounds.form_relaxations import Continuous
from ..bounds.hulls import EqualHulls
from ..margin_reduction import as_margin, best_allowed_multiple, constant_classifiers
from ..relaxation_result import relax
from .cells import LamChoice
from .problems import ReportProblem
from .tasks import Task

#: Factor between two λ that are tried, and how many are tried in one direction.
_STEP, _TRIES = 8.0, 9
#: Relative difference of costs from which on one is smaller.
_LESS = 1e-9


@dataclass(frozen=True)
class _Line:
    """The objective of one classifier as a function of λ, norm + λ cost, and whether its scores are constant."""

    norm: float
    cost: float
    constant: bool

    def crossing(self, other: _Line) -> float:
        """The λ above which this line, of the smaller cost, is below another."""
        return (self.norm - other.norm) / (other.cost - self.cost)


@dataclass(frozen=True, eq=False)
class LamChoiceTask(Task[ReportProblem]):
    """The choice of λ for one problem; ``problem`` is the problem at λ = 1.

    The heuristic's classifiers at a geometric sequence of λ have objectives that are affine in λ. Their lower envelope has the
    two ends as its first and its last breakpoint; λ is the geometric mean of these.

    Parameters
    ----------
    problem_at : callable
        Function of λ that returns the problem at this λ.
    """

    problem_at: Callable[[float], ReportProblem]

    #: The kind of the record in the store, and the group of the progress estimate.
    kind = "lam"

    label = "choice of λ"

    @property
    def key_parts(self) -> dict[str, Any]:
        """Return the parts of the store's key, with the problem at a second λ: two determine an objective that is affine in λ."""
        return {**super().key_parts, "other": self.problem_at(2.0).key_parts}

    def compute(self, threads: int | None) -> tuple[dict[str, Any], bool]:
        """Run the heuristic at λ = 8^-k until a constant classifier is best, at λ = 8^k until errors cost 0 or two steps bring no
        gain, then at the ends while these change.

        Return the record of the `LamChoice`, and True: it is stored. ``threads`` is not used.
        """
        lines: list[_Line] = []
        first = best = self._best(1.0, lines)
        lam = 1.0
        for _ in range(_TRIES):
            if best.constant:
                break
            lam /= _STEP
            best = self._best(lam, lines)
        lam, best, idle = 1.0, first, 0
        for _ in range(_TRIES):
            if (not best.constant and best.cost <= 0.0) or idle == 2:
                break
            lam *= _STEP
            before, best = best, self._best(lam, lines)
            idle = 0 if best.constant or best.cost < before.cost * (1.0 - _LESS) else idle + 1
        ends = _ends(lines)
        for _ in range(_TRIES):
            if ends is None:
                break
            for lam in ends:
                self._best(lam, lines)
            before_ends, ends = ends, _ends(lines)
            if ends is None or np.allclose(ends, before_ends, rtol=_LESS, atol=0.0):
                break
        low, high = (None, None) if ends is None else ends
        lam = 1.0 if ends is None else _middle(*ends)
        return {"cell": LamChoice(self.problem_at(lam).name, lam, low, high).record()}, True

    def _best(self, lam: float, lines: list[_Line]) -> _Line:
        """The line of the best classifier known at λ; the lines of all classifiers found are added to ``lines``."""
        problem, doubled = self.problem_at(lam), self.problem_at(2.0 * lam)
        composed, other = as_margin(problem.model.original_model), as_margin(doubled.model.original_model)
        if composed is None or other is None:
            raise InputError(f"{problem.name} is no sum of a loss and a regulariser: give its λ", name="lam")
        incumbent = problem.find_incumbent(self.options)
        starts = [*constant_classifiers(composed), *(_recovered(problem.model, self.options) if incumbent is None else ())]
        points = [best_allowed_multiple(composed, problem.model, w) for w in starts]
        candidates = []
        for w in ([] if incumbent is None else [incumbent[0]]) + [w for w in points if w is not None]:
            value, scores = composed.objective(w), np.asarray(composed.points @ w)
            cost = (other.objective(w) - value) / lam
            candidates.append(_Line(value - lam * cost, cost, bool(np.ptp(scores) <= _LESS * (1.0 + np.abs(scores).max()))))
        if not candidates:
            raise InputError(f"no point of {problem.name} is known at λ = {lam:g}: give its λ", name="lam")
        lines += candidates
        return min(candidates, key=lambda line: line.norm + lam * line.cost)

    def progress_text(self, record: dict[str, Any]) -> str:
        """Return λ and its ends in words."""
        chosen = LamChoice.from_record(record["cell"])
        if chosen.low is None:
            return f"{chosen.name}: no classifier is known that beats the intercept alone at any λ; λ = {chosen.lam:g}"
        return f"{chosen.name}: λ = {chosen.lam:g}, between {chosen.low:.3g} and {chosen.high:.3g}"


def _recovered(model: Model, options: Options) -> list[FloatArray]:
    """Coefficients recovered from the cheapest relaxations that read a model, for models that no heuristic reads."""
    points = []
    for reduction in (Continuous(), EqualHulls()):
        if not reduction.obstacle(model):
            relaxed = relax(model, reduction, options=options)
            points += [] if relaxed.values is None else [relaxed.values["w"]]
    return points


def _ends(lines: Sequence[_Line]) -> tuple[float, float] | None:
    """Return two breakpoints of the lower envelope: the end of the last line of a constant classifier, and the last breakpoint.

    None if no line of the envelope, or its last line, is that of a constant classifier.
    """
    envelope: list[_Line] = []
    for line in sorted(lines, key=lambda line: (-line.cost, -line.norm, not line.constant)):
        while envelope and line.cost >= envelope[-1].cost - _LESS * abs(line.cost):
            envelope.pop()  # as costly (two costs of 0, say), and no smaller norm
        while envelope and line.crossing(envelope[-1]) <= (line.crossing(envelope[-2]) if len(envelope) > 1 else 0.0):
            envelope.pop()
        envelope.append(line)
    constant = [k for k, line in enumerate(envelope) if line.constant]
    if not constant or constant[-1] == len(envelope) - 1:
        return None
    low = envelope[constant[-1] + 1].crossing(envelope[constant[-1]])
    return float(low), float(envelope[-1].crossing(envelope[-2]))


def _middle(low: float, high: float) -> float:
    """Return the geometric mean, in three digits if that number is between the ends; twice the end if both are equal."""
    middle = float(np.sqrt(low * high)) if high > low * (1.0 + _LESS) else 2.0 * high
    short = float(f"{middle:.3g}")
    return short if low < short < max(high, 3.0 * low) else middle
