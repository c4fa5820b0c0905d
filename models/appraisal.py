"""The records `Appraisal` and `ExactCost`: what a model computes for a point from its data, without its standard form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Appraisal:
    """The objective, residuals and proved bound of a point, as `Model.appraise` returns them.

    Parameters
    ----------
    objective : float
        The objective in the minimisation sense, as ``bound`` is: negated where the model maximises.
    primal_residual : float
        The largest violation of a row or bound, relative to its terms.
    violations : mapping of str to float
        The absolute violation of each constraint, by label.
    stationarity : float, optional
        Relative residual of the first-order conditions; None where it is not known.
    bound : float
        A lower bound of the optimum; -inf without one.
    argument : str
        Why the bound is valid, in words.
    error, bound_error : float
        Bounds of the rounding errors of ``objective`` and of ``bound``; the latter is subtracted already.
    condition : str
        The assumption under which the bound holds; empty where it is proved.
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
    """The cost of a classifier w from the data alone, with thresholds, zeros and budgets decided in exact arithmetic.

    Parameters
    ----------
    cost : float
        Regulariser and losses of w, in the form's sense.
    excess : int
        Number of points that are not kept, of non-zero coefficients and of errors beyond what the restrictions allow.
    miss : float
        The largest distance of a margin to a threshold near it whose cheaper side it misses, or to the 1 that it must reach.
    rounding : float
        Sum of the costs times the rounding errors of the margins: the error of ``cost`` for a loss of slope 1.
    """

    cost: float
    excess: int = 0
    miss: float = 0.0
    rounding: float = 0.0
