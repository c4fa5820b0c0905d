"""A convex piecewise-quadratic loss of the user's own: Huberised hinges and the like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .....errors import InputError
from ....arrays import FloatArray
from ....program.cones import Zero
from ....statement import Line
from ..assembly import Affine, Assembly
from ..part import Setting
from ..values import as_numbers
from .loss import Loss

__all__ = ["PiecewiseQuadratic"]

_MEETS = 1e-9


@dataclass(frozen=True)
class PiecewiseQuadratic(Loss):
    """a_k m² + b_k m + c_k on the k-th of the intervals between breakpoints; convex and continuous.

    The margin is walked to from the first breakpoint t: m = t - d_0 + d_1 + ... + d_K, each step d_k ≥ 0 no longer than its
    interval, and d_k costs a_k d_k² + f'(start of k) d_k, with the slope of its own interval at the end that is nearer to t.
    Slopes do not fall, so that the cheaper steps are taken first; the cost is f(t) + Σ of the steps.

    Parameters
    ----------
    breakpoints : tuple of float
        At least one; increasing.
    pieces : tuple of (a, b, c)
        One more than breakpoints.

    Raises
    ------
    InputError
        Breakpoints that do not increase, another number of pieces, a_k < 0, pieces that do not meet, or slopes that fall (not
        convex: `PiecewiseLinear` and `Ramp` are losses with binaries).
    """

    breakpoints: tuple[float, ...]
    pieces: tuple[tuple[float, float, float], ...]

    def __post_init__(self) -> None:
        t, f = as_numbers(self.breakpoints, "breakpoints"), as_numbers(self.pieces, "pieces")
        if t.ndim != 1 or not t.size or not (np.diff(t) > 0).all() or f.shape != (t.size + 1, 3):
            raise InputError(
                "give breakpoints that increase, at least one, and one piece (a, b, c) more than there are breakpoints"
            )
        if not (np.isfinite(t).all() and np.isfinite(f).all() and (f[:, 0] >= 0).all()):
            raise InputError("breakpoints and pieces must be finite, and a ≥ 0 in each piece a m² + b m + c")
        object.__setattr__(self, "breakpoints", tuple(map(float, t)))
        object.__setattr__(self, "pieces", tuple((float(a), float(b), float(c)) for a, b, c in f))
        scale = 1.0 + float(np.abs(f).max())
        for m, left, right in zip(t, f[:-1], f[1:], strict=True):
            below, above = np.polyval(left, m), np.polyval(right, m)
            if abs(below - above) > _MEETS * scale * (1.0 + m * m):
                raise InputError(f"the pieces must meet at {m:g}; they are {below:g} and {above:g} there")
            slopes = 2 * left[0] * m + left[1], 2 * right[0] * m + right[1]
            if slopes[1] < slopes[0] - _MEETS * scale * (1.0 + abs(m)):
                raise InputError(
                    f"the slopes must not fall, or the loss is not convex: at {m:g} from {slopes[0]:g} to {slopes[1]:g}"
                )

    def values(self, argument: FloatArray) -> FloatArray:
        """The piece that holds the margin."""
        chosen = np.searchsorted(self.breakpoints, argument)
        a, b, c = np.array(self.pieces)[chosen].T
        return np.asarray((a * argument + b) * argument + c)

    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """A step for each interval."""
        n, (t, *rest) = context.argument.rows, self.breakpoints
        back = builder.variables("step 0", n, 0.0)
        walked = context.argument + back - t
        self._cost(builder, context, back, self.pieces[0], t, -1.0)
        for k, (start, end) in enumerate(zip(self.breakpoints, [*rest, np.inf], strict=True), 1):
            step = builder.variables(f"step {k}", n, 0.0, end - start)
            walked = walked - step
            self._cost(builder, context, step, self.pieces[k], start, 1.0)
        builder.require("walked", walked, Zero(n))
        builder.cost(context.weights, Affine({}, np.full(n, np.polyval(self.pieces[0], t))))
        return None

    @staticmethod
    def _cost(
        builder: Assembly, context: Setting, step: Affine, piece: tuple[float, float, float], start: float, sign: float
    ) -> None:
        a, b, _ = piece
        if a > 0:
            builder.cost_of_squares(a * context.weights, step)
        builder.cost(sign * (2.0 * a * start + b) * context.weights, step)

    def nonnegative(self) -> bool:
        """Return whether the least value is ≥ 0: where the slope changes sign, or far out."""
        f, t = np.array(self.pieces), np.array([-np.inf, *self.breakpoints, np.inf])
        if (f[0, 0] == 0 and f[0, 1] > 0) or (f[-1, 0] == 0 and f[-1, 1] < 0):
            return False
        low = [np.polyval(piece, m) for piece, m in zip(f, self.breakpoints, strict=False)]
        for (a, b, c), left, right in zip(f, t[:-1], t[1:], strict=True):
            if a > 0 and left <= -b / (2 * a) <= right:
                low.append(c - b * b / (4 * a))
        return bool(min(low) >= -1e-12)

    def cost_line(self) -> Line:
        """The costs of the steps."""
        return Line(
            "sum_i c_i (f(t_1) + sum_k a_k d_ik^2 + s_k d_ik)",
            r"\textstyle\sum_i c_i\bigl(f(t_1)+\sum_k a_k d_{ik}^2 + s_k d_{ik}\bigr)",
        )

    def lines(self) -> tuple[Line, ...]:
        """The steps."""
        t = f"{self.breakpoints[0]:g}"
        return (
            Line(
                f"y_i x_i'w = {t} - d_i0 + sum_(k > 0) d_ik",
                rf"y_i x_i^\top w = {t} - d_{{i0}} + \textstyle\sum_{{k>0}} d_{{ik}}",
                "walked",
            ),
            Line("0 <= d_ik <= t_(k+1) - t_k", r"0 \le d_{ik} \le t_{k+1} - t_k"),
        )
