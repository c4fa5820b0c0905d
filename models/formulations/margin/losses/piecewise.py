"""A convex piecewise-linear loss of the user's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .....errors import InputError
from ....arrays import FloatArray
from ....statement import Line
from ..assembly import Affine, Assembly
from ..part import Setting
from .loss import Loss

__all__ = ["PiecewiseLinear"]


@dataclass(frozen=True)
class PiecewiseLinear(Loss):
    """max_k (s_k m + t_k) through given points (m, loss), straight beyond the first and the last pair.

    Epigraph: τ ≥ s_k m + t_k for each segment k, cost τ.

    Parameters
    ----------
    breakpoints : tuple of (margin, loss)
        At least two, margins increasing. The loss is linear between them; beyond the ends the first and last segment go on.

    Raises
    ------
    InputError
        Fewer than two points, margins that do not increase, numbers that are not finite, or slopes that fall: such a loss is not
        convex (`Ramp` and `ZeroOne` are losses with binaries).
    """

    breakpoints: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        points = np.array(self.breakpoints, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 2 or points.shape[0] < 2 or not np.isfinite(points).all():
            raise InputError(f"breakpoints must be two or more finite pairs (margin, loss); they are {self.breakpoints!r}")
        if not (np.diff(points[:, 0]) > 0).all():
            raise InputError("the margins of breakpoints must increase")
        object.__setattr__(self, "breakpoints", tuple((float(m), float(v)) for m, v in points))
        slopes = self._segments()[0]
        if (np.diff(slopes) < 0).any():
            raise InputError(
                "the slopes of breakpoints must not fall, or the loss is not convex; they are "
                + ", ".join(f"{s:g}" for s in slopes)
            )

    def _segments(self) -> tuple[FloatArray, FloatArray]:
        """Slopes s and intercepts t of the segments."""
        m, v = np.array(self.breakpoints).T
        slopes = np.diff(v) / np.diff(m)
        return slopes, v[:-1] - slopes * m[:-1]

    def values(self, argument: FloatArray) -> FloatArray:
        """max_k (s_k m + t_k)."""
        slopes, intercepts = self._segments()
        return np.asarray((slopes[:, None] * argument + intercepts[:, None]).max(axis=0))

    def add(self, to: Assembly, at: Setting) -> Affine | None:
        """τ and a row for each segment and point."""
        tau = to.variables("tau", at.argument.rows)
        for k, (s, t) in enumerate(zip(*self._segments(), strict=True)):
            to.require_nonnegative(f"segment {k}", tau - at.argument.scaled(float(s)) - float(t))
        to.cost(at.weights, tau)
        return None

    def cost_line(self) -> Line:
        """Σ c_i τ_i."""
        return Line("sum_i c_i tau_i", r"\textstyle\sum_i c_i\tau_i")

    def nonnegative(self) -> bool:
        """Whether the least value, at a breakpoint or beyond the ends, is ≥ 0."""
        slopes = self._segments()[0]
        return bool(slopes[0] <= 0 <= slopes[-1] and min(v for _, v in self.breakpoints) >= 0)

    def lines(self) -> tuple[Line, ...]:
        """A row for each segment."""
        pieces = enumerate(zip(*self._segments(), strict=True))
        return tuple(
            Line(f"tau_i >= {s:g} y_i x_i'w + {t:g}", rf"\tau_i \ge {s:g}\, y_i x_i^\top w + {t:g}", f"segment {k}")
            for k, (s, t) in pieces
        )
