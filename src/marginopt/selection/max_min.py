"""γ by the max-min problem: the distance between the hulls as a function of γ, made stationary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ..errors import InputError, SolverError
from ..models.formulations.max_min import MaxMinSVM
from ..solvers.solve import solve
from .base import Choice, Sample, Selector

__all__ = ["MaxMinSelector"]


@dataclass(frozen=True)
class MaxMinSelector(Selector):
    """Gradient ascent in γ between the ends of the candidates at one given C, MaxMin Algorithm 3 (solver "maxmin").

    The answer is a stationary point in γ, called local. The candidates' C must be one number (1 by default): the optimal value
    rises and falls with C, so that it cannot be chosen the same way.

    Parameters
    ----------
    gamma0 : float, optional
        Start; 0.004 as in the paper where it lies in the range, else the logarithmic middle.
    parameter : {"log-gamma", "gamma"}
        What is moved; printed: γ. Its logarithm comes to the same γ in about one model less.
    rate : {"secant", "printed"}
        How the learning rate follows, see `solvers.hulls.MaxMin`.
    stationarity : float
        ε2, |f'| at which to stop.
    warm : bool
        Whether an inner solve starts from the last; printed: False.
    """

    gamma0: float | None = None
    parameter: Literal["gamma", "log-gamma"] = "log-gamma"
    rate: Literal["secant", "printed"] = "secant"
    stationarity: float = 1e-3
    warm: bool = True

    name = "maxmin"
    default_C: ClassVar[float | tuple[float, ...]] = 1.0

    def __post_init__(self) -> None:
        if self.parameter not in ("gamma", "log-gamma"):
            raise InputError(f"parameter must be 'gamma' or 'log-gamma', one γ for all features; it is {self.parameter!r}")

    def choose(self, sample: Sample) -> Choice:
        """Ascend; ``steps`` holds γ, f, f' and the Fisher ratio (54)/(55) of every model trained."""
        if sample.costs.size != 1:
            raise InputError(f"selector 'maxmin' takes one C, which it does not choose; {sample.costs.size} were given")
        lower, upper = float(sample.gammas[0]), float(sample.gammas[-1])
        gamma0 = self.gamma0
        if gamma0 is None:
            gamma0 = 0.004 if lower <= 0.004 <= upper else float(np.sqrt(lower * upper))
        model = MaxMinSVM(
            sample.X, sample.y, float(sample.costs[0]), gamma0=gamma0, lower=lower, upper=upper, parameter=self.parameter
        )
        native: dict[str, Any] = {
            "rate": self.rate, "stationarity": self.stationarity, "warm": self.warm, "inner_tol": sample.tol,
            "inner": sample.solver,
        }  # fmt: skip
        result = solve(model, "maxmin", seed=sample.seed, **native)
        if not result.values:
            raise SolverError(f"the max-min problem was not solved: {result.claim.native_status}")
        details = {
            "status": result.status,
            "stationarity": result.stationarity,
            "steps": list(result.history),
        }
        return Choice(float(result.optimised_parameters["gamma"]), model.C, len(result.history), details, steps=result.history)
