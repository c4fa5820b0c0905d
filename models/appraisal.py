"""Bounds that points and multipliers prove, and a model's own appraisal of a point where there is no form to certify it with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Appraisal", "Bound", "CountedCost"]


@dataclass(frozen=True)
class Bound:
    """A proved lower bound of the form's optimum, and the argument for it in one sentence.

    ``value`` is rounded outward; ``error`` is what was subtracted for that. ``condition`` says what the proof rests on beside the
    argument (that P is positive semidefinite, where that is not known); empty as a rule. ``derived`` says which bounds of
    variables follow from which rows, where the argument needs them.
    """

    value: float
    argument: str
    error: float = 0.0
    condition: str = ""
    derived: str = ""


@dataclass(frozen=True)
class Appraisal:
    """The value of a point, recomputed by the model itself where it has no standard form, or one too large to build.

    The fields are those of a certificate (`solvers.certification.certificate`), in the minimisation sense; ``stationarity`` is
    the relative residual of the first-order conditions, None where it is not known.
    """

    objective: float
    primal_residual: float
    violations: Mapping[str, float]
    stationarity: float | None = None
    bound: float = float("-inf")
    argument: str = "no bound"
    error: float = 0.0
    bound_error: float = 0.0
    condition: str = ""


@dataclass(frozen=True)
class CountedCost:
    """The cost of a classifier from the data alone, with thresholds, zeros and budgets decided in exact arithmetic.

    Parameters
    ----------
    cost : float
        Regulariser and losses of w, in the form's sense.
    excess : int
        Points, coefficients and errors beyond what the restrictions allow.
    miss : float
        By how much a margin misses a threshold beside it, at most.
    rounding : float
        What the roundings of the margins are worth where the loss has a slope of one.
    """

    cost: float
    excess: int = 0
    miss: float = 0.0
    rounding: float = 0.0
