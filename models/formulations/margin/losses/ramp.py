"""The ramp loss: the hinge, cut off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....arrays import BoolArray, FloatArray, as_positive
from ....statement import Line
from ....views import RampProblem
from ..assembly import Affine, Assembly
from ..part import Setting
from .branch import Branch
from .loss import Loss

__all__ = ["Ramp"]


@dataclass(frozen=True)
class Ramp(Loss):
    """(h/d) min{(1 - m)_+, d}: zero from m = 1 on, h from m = 1 - d down.

    Slack 0 ≤ ξ ≤ d and z in {0, 1}; z = 0 requires m + ξ ≥ 1; cost (h/d)(ξ + d z).

    Parameters
    ----------
    height : float
        h > 0. Brooks's ramp has height and width 2, that of the conic paper's Figure 1 height 1.
    width : float
        d > 0.

    Raises
    ------
    InputError
        A height or width that is not > 0.
    """

    height: float = 2.0
    width: float = 2.0

    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "height", as_positive(self.height, "height"))
        object.__setattr__(self, "width", as_positive(self.width, "width"))

    def values(self, argument: FloatArray) -> FloatArray:
        """(h/d) min{(1 - m)_+, d}."""
        return self.height / self.width * np.clip(1.0 - argument, 0.0, self.width)

    def add(self, to: Assembly, at: Setting) -> Affine | None:
        """z, ξ and their rows."""
        z = to.binaries("z", at.argument.rows)
        xi = to.variables("xi", at.argument.rows, 0.0, self.width)
        to.switch("margin", z, at.argument + xi - 1.0, at.big_m(1.0))
        to.cost(self.height / self.width * at.weights, xi)
        to.cost(self.height * at.weights, z)
        return None

    def cost_line(self) -> Line:
        """Σ c_i (h/d)(ξ_i + d z_i)."""
        slope = f"{self.height / self.width:g}"
        return Line(
            f"sum_i c_i ({slope} xi_i + {self.height:g} z_i)", rf"\textstyle\sum_i c_i({slope}\,\xi_i + {self.height:g}\,z_i)"
        )

    def lines(self) -> tuple[Line, ...]:
        """Rows of slack and switch."""
        return (
            Line("z_i = 0  =>  y_i x_i'w + xi_i >= 1", r"z_i = 0 \Rightarrow y_i x_i^\top w + \xi_i \ge 1", "margin"),
            Line(f"0 <= xi_i <= {self.width:g}, z_i in {{0, 1}}", rf"0\le\xi_i\le {self.width:g},\ z_i\in\{{0,1\}}"),
        )

    def branches(self) -> tuple[Branch, ...]:
        """The hinge of slope h/d, and h."""
        slope = self.height / self.width
        return Branch(((0.0, 0.0), (-slope, slope))), Branch(((0.0, self.height),))

    def view(self, A: FloatArray, costs: FloatArray, penalised: BoolArray, mu: float) -> RampProblem:
        """`RampProblem`."""
        return RampProblem(A, costs, penalised, self.height, self.width, mu)

    def flat(self) -> float:
        """Zero from 1 on, h from 1 - d down."""
        return max(1.0, self.width - 1.0)
