"""Support vector data description: the smallest ball with slack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ....arrays import FloatArray, Points, as_points, as_share
from ....kernels.centring import Place, placed
from ....kernels.kernels import Kernel, Linear
from ....record import DataKind, FormulationInfo, Parameter
from ..losses.soft_ball import SoftBall
from ..model import Margin
from ..regularisers.squared_norm import SquaredNorm
from .named import NamedComposition

__all__ = ["SVDD"]


@dataclass(frozen=True, eq=False, repr=False)
class SVDD(NamedComposition):
    """min R² + (1/(νn)) Σ ξ_i subject to ||x_i - w||² ≤ R² + ξ_i, ξ ≥ 0: Tax and Duin, 2004, (3).

    Dual: max Σ α_i ||x_i||² - ||Σ α_i x_i||² over 0 ≤ α ≤ 1/(νn), Σα = 1; the centre is w = Σ α_i x_i. For ν = 1/n at
    most it is the smallest enclosing ball, `MEBDual`.

    Parameters
    ----------
    X, kernel
        As `Margin`; X has no column for an intercept.
    nu : float
        In (0, 1]: bounds the share of points outside.

    Notes
    -----
    Form: that of `losses.soft_ball.SoftBall`, with the level t = R² - ||w||² in place of R². The score of x is R² - ||x - w||².
    Points far from the origin (dense, without a kernel) are moved there, for x'x would lose their digits: ``w`` is then the
    centre less that of `place`, and `centre` is the centre.

    Raises
    ------
    InputError
        As `Margin`; ν outside (0, 1].
    """

    X: Points
    nu: float = 0.1
    kernel: Kernel | None = None

    name = "SVDD"
    title = "Support vector data description: the smallest ball with slack"
    source = "Tax, Duin: Support vector data description, 2004, (3)"
    meanings: ClassVar[Mapping[str, str]] = {
        "inside": "alpha_i is 0 inside the ball, 1/(nu n) outside, and between them only on it; the centre is sum alpha_i x_i",
    }

    def __post_init__(self) -> None:
        object.__setattr__(self, "nu", as_share(self.nu, "nu"))
        object.__setattr__(self, "X", as_points(self.X))
        object.__setattr__(self, "kernel", self.composed.kernel)

    @cached_property
    def place(self) -> Place:
        """The points, near the origin where digits would be lost: a ball moves with them."""
        return Place(self.X) if self.kernel is not None else placed(Linear(), self.X)

    @cached_property
    def composed(self) -> Margin:
        """`SoftBall` with ||w||²; labels mean nothing to it."""
        n = self.X.shape[0]
        costs = 1.0 / (self.nu * n)
        return Margin(self.place.points, np.ones(n), SoftBall(), SquaredNorm(1.0), weights=costs, kernel=self.kernel)

    def centre(self, values: Mapping[str, Any]) -> FloatArray:
        """The centre among the points as they were given."""
        return np.asarray(values["w"] if self.place.centre is None else values["w"] + self.place.centre)

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """R² - ||x - w||², of rows moved as the points were."""
        return super().decision_function(values, X if self.place.centre is None else self.place.of(as_points(X)))

    def radius(self, values: Mapping[str, Any]) -> float:
        """R."""
        w = values["w"]
        return float(np.sqrt(max(float(values["level"][0]) + float(w @ w), 0.0)))

    def summary(self, values: Mapping[str, Any]) -> dict[str, float]:
        """Radius, and the share of points outside."""
        scores = self.decision_function(values, self.X)
        return {"radius": self.radius(values), "outside": float((scores < -1e-7 * (1.0 + np.abs(scores).max())).mean())}


def _objective(model: SVDD, values: Mapping[str, Any]) -> float:
    """The stated objective from the data."""
    w, level = values["w"], float(values["level"][0])
    outside = np.maximum(((np.asarray(model.place.points) - w) ** 2).sum(axis=1) - level - w @ w, 0.0)
    return float(level + w @ w + outside.sum() / (model.nu * model.X.shape[0]))


FORMULATIONS = (
    FormulationInfo(
        SVDD,
        name="svdd",
        summary="the smallest ball with slack: support vector data description",
        reference="Tax, Duin: Support vector data description, 2004, (3)",
        data=DataKind.POINTS,
        objective=_objective,
        parameters=(Parameter("nu", "ν, share of points outside", float, 0.3),),
    ),
)
