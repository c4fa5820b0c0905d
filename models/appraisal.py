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
    """The cost of a classifier w from the data alone; thresholds, zeros and budgets are decided in exact arithmetic.

    The margin of a point x_i with label y_i is y_i x_i'w. A restriction requires the margin of a *kept point* to be at least 1.

    Parameters
    ----------
    cost : float
        Regulariser and losses of w, in the minimisation sense.
    excess : int
        By how much w breaks the restrictions: kept points with a margin below 1, plus non-zero coefficients beyond their limit,
        plus errors beyond a budget.
    shortfall : float
        The largest distance by which a margin near a threshold, at which the loss jumps or bends, lies on the costlier side, or
        the margin of a kept point lies below 1.
    rounding : float
        Sum of the points' costs times the rounding errors of their margins: the error of ``cost`` for a loss of slope 1.
    """

    cost: float
    excess: int = 0
    shortfall: float = 0.0
    rounding: float = 0.0
