"""The records `Appraisal` and `ExactCost`: what a model computes for a point from its data, without its standard form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Appraisal:
    """The value, residuals and bound of a point, recomputed by a model that has no standard form, or one too large to build.

    Parameters
    ----------
    objective : float
        In the minimisation sense, as ``bound`` is.
    primal_residual : float
        The largest violation of a row or bound, relative to its terms.
    violations : mapping of label to float
        The absolute violation of each constraint.
    stationarity : float, optional
        Relative residual of the first-order conditions; None where it is not known.
    bound : float
        A proved lower bound; -inf without one.
    argument : str
        Why the bound is valid, in words.
    error, bound_error : float
        Bounds of the rounding errors of ``objective`` and of ``bound``; the latter is subtracted already.
    condition : str
        Assumption of the bound; empty where it is proved.
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
class ExactCost:
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
