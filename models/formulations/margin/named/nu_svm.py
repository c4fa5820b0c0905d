"""The ν-SVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from ....arrays import FloatArray, Points, as_points
from ....kernels.kernels import Kernel
from ....record import DataKind, FormulationInfo, Parameter, always
from ..losses.nu import NuHinge
from ..model import Margin
from ..regularisers.squared_norm import SquaredNorm
from .named import NamedComposition

__all__ = ["NuSVM"]


@dataclass(frozen=True, eq=False, repr=False)
class NuSVM(NamedComposition):
    """min ½||w||² - νρ + (1/n) Σ ξ_i subject to y_i x_i'w ≥ ρ - ξ_i, ξ, ρ ≥ 0: Schölkopf, Smola, Williamson, Bartlett, 2000, (3).

    ν bounds the share of points within the margin from above and that of support vectors from below. Dual:
    max -½||Σ α_i y_i x_i||² over 0 ≤ α ≤ 1/n, Σα ≥ ν, and Σ α_i y_i = 0 with a free intercept.

    Parameters
    ----------
    X, y, kernel
        As `Margin`.
    nu : float
        In (0, 1].
    intercept : {"free", "penalised"}

    Raises
    ------
    InputError
        As `Margin`; ν outside (0, 1]. (A ν too large for the balance of the classes makes the problem unbounded with a free
        intercept: ν ≤ 2 min(n₊, n₋)/n is needed.)
    """

    X: Points
    y: FloatArray
    nu: float = 0.5
    intercept: Literal["free", "penalised"] = "free"
    kernel: Kernel | None = None

    name = "NuSVM"
    title = "nu-SVM"
    source = "Schoelkopf, Smola, Williamson, Bartlett: New support vector algorithms, 2000, (3)"
    meanings: ClassVar[Mapping[str, str]] = {
        "margin": "alpha_i is 0 beyond the level rho, 1/n below it, and between them only on it; w = sum alpha_i y_i x_i",
    }

    def __post_init__(self) -> None:
        composed = self.composed
        for field in ("X", "y", "kernel"):
            object.__setattr__(self, field, getattr(composed, field))

    @cached_property
    def composed(self) -> Margin:
        """`NuHinge` with ½||w||² and equal costs."""
        X = as_points(self.X)
        return Margin(X, self.y, NuHinge(self.nu), SquaredNorm(0.5), self.intercept, 1.0 / X.shape[0], kernel=self.kernel)


def _objective(model: NuSVM, values: Mapping[str, Any]) -> float:
    """The stated objective from the data."""
    w, rho = values["w"], float(values["rho"][0])
    slack = np.maximum(rho - model.y * np.asarray(model.X @ w), 0.0)
    v = w[model.composed.penalised]
    return float(0.5 * v @ v - model.nu * rho + slack.mean())


FORMULATIONS = (
    FormulationInfo(
        NuSVM,
        name="nu",
        summary="nu-SVM: the share of margin errors in place of their price",
        reference="Schölkopf, Smola, Williamson, Bartlett: New support vector algorithms, 2000, (3)",
        data=DataKind.TWO_CLASSES,
        objective=_objective,
        parameters=(
            Parameter("nu", "ν, share of points within the margin", float, 0.5),
            Parameter("intercept", "whether the intercept is part of the norm", str, "free", ("free", "penalised")),
        ),
        intercept=always,
    ),
)
