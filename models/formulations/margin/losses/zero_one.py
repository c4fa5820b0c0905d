"""The 0-1 loss, by margin and by sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....arrays import BoolArray, FloatArray, as_positive
from ....margin_view import Corners
from ....statement import Line
from ....views import ZeroOneProblem
from ..assembly import Affine, Assembly
from ..part import Classifier, Setting
from .branch import Branch
from .loss import Loss

__all__ = ["ZeroOne"]


@dataclass(frozen=True)
class ZeroOne(Loss):
    """1{m < t}: z in {0, 1}, and z = 0 requires m ≥ t.

    Parameters
    ----------
    threshold : float
        t ≥ 0. One counts points within the margin, as Conic (3) does. Zero goes by sign, 1{m < 0}: misclassified points; w = 0
        misclassifies nothing, so it needs something that keeps w away from there (`Fixed`, `LinearRows`). With integer
        coefficients t = 1 makes a margin of 0 an error.

    Raises
    ------
    InputError
        A threshold below 0.
    """

    threshold: float = 1.0

    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", as_positive(self.threshold, "threshold", zero=True))

    def values(self, argument: FloatArray) -> FloatArray:
        """1{m < t}."""
        return (argument < self.threshold).astype(np.float64)

    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """z and its rows."""
        z = builder.binaries("z", context.argument.rows)
        builder.switch(
            "margin", z, context.argument - self.threshold, context.big_m(self.threshold), range(context.argument.rows)
        )
        builder.cost(context.weights, z)
        return z if self.threshold == 1.0 else None  # an error is a margin below 1

    def cost_line(self) -> Line:
        """Σ c_i z_i."""
        return Line("sum_i c_i z_i", r"\textstyle\sum_i c_i z_i")

    def lines(self) -> tuple[Line, ...]:
        """Rows of the switch."""
        t = f"{self.threshold:g}"
        return (
            Line(f"z_i = 0  =>  y_i x_i'w >= {t}", rf"z_i = 0 \Rightarrow y_i x_i^\top w \ge {t}", "margin"),
            Line("z_i in {0, 1}", r"z_i\in\{0,1\}"),
        )

    def convex_pieces(self) -> tuple[Branch, ...]:
        """0 from t on, and 1."""
        return Branch(((0.0, 0.0),), low=self.threshold), Branch(((0.0, 1.0),))

    @property
    def indicator_threshold(self) -> float:
        """t."""
        return self.threshold

    def corners(self) -> Corners:
        """One jump."""
        return Corners.count(self.threshold)

    def blocks(self, classifier: Classifier) -> dict[str, FloatArray]:
        """z."""
        return {"z": (classifier.argument < self.threshold - classifier.near).astype(np.float64)}

    def view(self, A: FloatArray, costs: FloatArray, penalised: BoolArray, mu: float) -> ZeroOneProblem | None:
        """`ZeroOneProblem`, of violated margins at μ = 1."""
        plain = self.threshold == 1.0 and mu == 1.0 and (costs > 0.0).all()
        return ZeroOneProblem(A, costs, penalised) if plain else None

    def saturation(self) -> float:
        """Zero from t on, one below it."""
        return self.threshold
