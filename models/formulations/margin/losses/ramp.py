"""The ramp loss: the hinge, cut off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .....errors import InputError
from ....arrays import FloatArray, as_positive
from ....margin_view import Corners
from ....statement import Line
from ..assembly import Affine, Assembly
from ..part import Classifier, Setting
from .branch import Branch
from .loss import Loss

__all__ = ["Ramp"]


@dataclass(frozen=True)
class Ramp(Loss):
    """(h/d) min{(1 - m)_+, d}: zero from m = 1 on, h from m = 1 - d down; with b, a hinge of that slope again from 1 - b down.

    Slack 0 ≤ ξ ≤ d and z in {0, 1}; z = 0 requires m + ξ ≥ 1; cost (h/d)(ξ + d z). With b, ξ ≥ 0 alone and m + ξ + b z ≥ 1: the
    constant of a big-M row that is meant, as in MIPLIB's gsvm2rl (height and width 2, b = 100).

    Parameters
    ----------
    height : float
        h > 0. Brooks's ramp has height and width 2, that of the conic paper's Figure 1 height 1.
    width : float
        d > 0.
    beyond : float
        b ≥ d; without it the ramp does not begin again.

    Raises
    ------
    InputError
        A height or width that is not > 0, or b < d.
    """

    height: float = 2.0
    width: float = 2.0
    beyond: float = np.inf

    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "height", as_positive(self.height, "height"))
        object.__setattr__(self, "width", as_positive(self.width, "width"))
        object.__setattr__(self, "beyond", as_positive(self.beyond, "beyond", infinite=True))
        if self.beyond < self.width:
            raise InputError(f"beyond must be at least the width {self.width:g}; it is {self.beyond:g}")

    def values(self, argument: FloatArray) -> FloatArray:
        """(h/d) (min{(1 - m)_+, d} + (1 - b - m)_+)."""
        ramp = np.clip(1.0 - argument, 0.0, self.width)
        return self.height / self.width * (ramp + np.maximum(1.0 - self.beyond - argument, 0.0))

    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """z, ξ and their rows."""
        z = builder.binaries("z", context.argument.rows)
        again = self.beyond < np.inf
        xi = builder.variables("xi", context.argument.rows, 0.0, np.inf if again else self.width)
        M = np.full(context.argument.rows, self.beyond) if again else context.big_m(1.0)
        builder.switch("margin", z, context.argument + xi - 1.0, M)
        builder.cost(self.height / self.width * context.weights, xi)
        builder.cost(self.height * context.weights, z)
        return None

    def cost_line(self) -> Line:
        """Σ c_i (h/d)(ξ_i + d z_i)."""
        slope = f"{self.height / self.width:g}"
        return Line(
            f"sum_i c_i ({slope} xi_i + {self.height:g} z_i)", rf"\textstyle\sum_i c_i({slope}\,\xi_i + {self.height:g}\,z_i)"
        )

    def lines(self) -> tuple[Line, ...]:
        """Rows of slack and switch."""
        if self.beyond < np.inf:
            b = f"{self.beyond:g}"
            return (
                Line(f"y_i x_i'w + xi_i + {b} z_i >= 1", rf"y_i x_i^\top w + \xi_i + {b}\,z_i \ge 1", "margin"),
                Line("xi_i >= 0, z_i in {0, 1}", r"\xi_i\ge 0,\ z_i\in\{0,1\}"),
            )
        return (
            Line("z_i = 0  =>  y_i x_i'w + xi_i >= 1", r"z_i = 0 \Rightarrow y_i x_i^\top w + \xi_i \ge 1", "margin"),
            Line(f"0 <= xi_i <= {self.width:g}, z_i in {{0, 1}}", rf"0\le\xi_i\le {self.width:g},\ z_i\in\{{0,1\}}"),
        )

    def convex_pieces(self) -> tuple[Branch, ...]:
        """The hinge of slope h/d, and h, with b where that begins again."""
        slope = self.height / self.width
        again = ((-slope, self.height + slope * (1.0 - self.beyond)),) if self.beyond < np.inf else ()
        return Branch(((0.0, 0.0), (-slope, slope))), Branch(((0.0, self.height), *again))

    def corners(self) -> Corners | None:
        """Itself; None where its width is lost beside 1."""
        return Corners.ramp(self.height, self.width, self.beyond) if 1.0 - self.width < 1.0 else None

    def blocks(self, classifier: Classifier) -> dict[str, FloatArray]:
        """z where giving a point up costs less than its slack, and the slack that is left."""
        given_up = classifier.argument < 1.0 - self.width
        xi = np.maximum(np.where(given_up, 1.0 - self.beyond, 1.0) - classifier.argument, 0.0)
        return {"z": given_up.astype(np.float64), "xi": xi if self.beyond < np.inf else np.minimum(xi, self.width)}

    def saturation(self) -> float:
        """Zero from 1 on, h from 1 - d down, corners of the ramp; the last one where it begins again."""
        return max(1.0, (self.beyond if self.beyond < np.inf else self.width) - 1.0)
