"""Support vector regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from ....arrays import FloatArray, Points
from ....kernels.kernels import Kernel
from ....record import DataKind, FormulationInfo, Parameter
from ..losses.epsilon_insensitive import EpsilonInsensitive
from ..model import Margin
from ..regularisers.squared_norm import SquaredNorm
from .named import NamedComposition

__all__ = ["EpsilonSVR"]


@dataclass(frozen=True, eq=False, repr=False)
class EpsilonSVR(NamedComposition):
    """min ½||w||² + C Σ (|y_i - x_i'w| - ε)_+: Vapnik, 1995; Smola and Schölkopf, 2004, (3).

    Dual: max Σ y_i β_i - ε Σ|β_i| - ½||Σ β_i x_i||² over |β| ≤ C, and Σβ = 0 with a free intercept.

    Parameters
    ----------
    X, y, kernel
        As `Margin`; y any numbers.
    C : float
        C > 0.
    epsilon : float
        ε ≥ 0.
    intercept : {"free", "penalised"}

    Raises
    ------
    InputError
        As `Margin`; C < 0 or ε < 0.
    """

    X: Points
    y: FloatArray
    C: float = 1.0
    epsilon: float = 0.1
    intercept: Literal["free", "penalised"] = "free"
    kernel: Kernel | None = None

    name = "EpsilonSVR"
    title = "epsilon-SVR"
    source = "Smola, Schoelkopf: A tutorial on support vector regression, 2004, (3)"
    meanings: ClassVar[Mapping[str, str]] = {
        "below": "the weight of a point that lies above the tube; 0 inside it, C beyond it",
        "above": "the weight of a point that lies below the tube; 0 inside it, C beyond it",
    }

    def __post_init__(self) -> None:
        composed = self.composed
        for field in ("X", "y", "kernel"):
            object.__setattr__(self, field, getattr(composed, field))

    @cached_property
    def composed(self) -> Margin:
        """`EpsilonInsensitive` with ½||w||²."""
        loss = EpsilonInsensitive(self.epsilon)
        return Margin(self.X, self.y, loss, SquaredNorm(0.5), self.intercept, self.C, kernel=self.kernel)


def _small(rng: np.random.Generator) -> dict[str, Any]:
    X = np.column_stack([np.ones(12), rng.normal(size=(12, 2))])
    return {"X": X, "target": X @ [0.5, 1.0, -1.0] + 0.3 * rng.normal(size=12)}


def _objective(model: EpsilonSVR, values: Mapping[str, Any]) -> float:
    """The stated objective from the data."""
    w = values["w"]
    excess = np.maximum(np.abs(model.y - np.asarray(model.X @ w)) - model.epsilon, 0.0)
    v = w[model.composed.penalised]
    return float(0.5 * v @ v + model.C * excess.sum())


FORMULATIONS = (
    FormulationInfo(
        EpsilonSVR,
        name="epsilon-svr",
        summary="support vector regression with a tube of width ε",
        reference="Smola, Schölkopf: A tutorial on support vector regression, 2004, (3)",
        data=DataKind.ARRAYS,
        arrays=("X", "target"),
        small=_small,
        objective=_objective,
        parameters=(
            Parameter("C", "C, cost of a unit beyond the tube", float, 1.0),
            Parameter("epsilon", "ε, half the tube's width", float, 0.1),
            Parameter("intercept", "whether the intercept is part of the norm", str, "free", ("free", "penalised")),
        ),
    ),
)
