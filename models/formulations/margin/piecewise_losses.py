"""Losses of `Margin` that a user gives by breakpoints: piecewise linear ones, and convex piecewise quadratic ones.

m is the margin y_i x_i'w of a point i, and c_i the cost of its loss.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ....errors import InputError, short_text
from ...arrays import FloatArray
from ...program.cones import Zero
from ...statement import REAL_NUMBERS, ZERO_OR_ONE, Line, PointVariables, plus, times
from ...views import PiecewiseLinearLoss
from .assembly import Affine, Assembly
from .loss import ConvexPiece, Loss
from .part import AssemblyContext, FixedClassifier, as_numbers

#: Two slopes count as equal if the products that compare them differ by no more than this share, which is rounding.
_STRAIGHT = 1e-15


def _listed(numbers: Iterable[float]) -> str:
    """Return numbers as a printed tuple."""
    return f"({', '.join(f'{number + 0.0:g}' for number in numbers)})"


@dataclass(frozen=True)
class PiecewiseLinear(Loss):
    """A loss through given points (m, loss), straight beyond the first and the last pair; two points of one m are a jump.

    *Convex* (slopes that do not fall, no jump): a variable τ ≥ s_k m + t_k, the line of each segment k, is the loss.

    *Else*: the margin is the sum of one part m_k for each segment [a_k, b_k], of which all but the chosen one are zero (multiple
    choice): δ_k in {0, 1}, Σ δ_k = 1, a_k δ_k ≤ m_k ≤ b_k δ_k, m = Σ m_k, cost Σ s_k m_k + t_k δ_k. Its continuous relaxation is
    the convex envelope of the loss between the bounds of m. At a jump the lower value counts.

    Parameters
    ----------
    breakpoints : tuple of (margin, loss)
        The margins must not decrease; two of them may be equal, but no three, nor the first two or the last two.

    Raises
    ------
    InputError
        Breakpoints of another shape or order; a loss that is not convex where the margins have no bounds (when compiled).
    """

    breakpoints: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        points = as_numbers(self.breakpoints, "breakpoints")
        if points.ndim != 2 or points.shape[1] != 2 or points.shape[0] < 2 or not np.isfinite(points).all():
            raise InputError(
                f"breakpoints must be two or more finite pairs (margin, loss); they are {short_text(self.breakpoints)}",
                name="breakpoints",
            )
        steps = np.diff(points[:, 0])
        if (steps < 0).any() or steps[0] == 0 or steps[-1] == 0 or ((steps[:-1] == 0) & (steps[1:] == 0)).any():
            raise InputError(
                "the margins of breakpoints must not decrease; two may be equal, for a jump, but not the first or last two",
                name="breakpoints",
            )
        object.__setattr__(self, "breakpoints", tuple((float(m), float(v)) for m, v in points))

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """Return whether no slope falls and nothing jumps."""
        m = np.array(self.breakpoints)[:, 0]
        return bool((np.diff(m) > 0).all() and (np.diff(self._segments()[0]) >= 0).all())

    def _turns(self) -> FloatArray:
        """Return margins and losses of the breakpoints without those on the line through their neighbours."""
        m, v = np.array(self.breakpoints).T
        left_products, right_products = np.diff(v)[:-1] * np.diff(m)[1:], np.diff(v)[1:] * np.diff(m)[:-1]
        size = (np.abs(v[:-2]) + np.abs(v[1:-1]) + np.abs(v[2:])) * (m[2:] - m[:-2])
        straight = (np.diff(m)[:-1] > 0) & (np.diff(m)[1:] > 0) & (np.abs(left_products - right_products) <= _STRAIGHT * size)
        return np.array([m, v])[:, ~np.concatenate([[False], straight, [False]])]

    def _segments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return slopes s, intercepts t and ends (two columns, infinite outside) of the segments that are not jumps."""
        m, v = self._turns()
        segments = np.flatnonzero(np.diff(m) > 0)
        slopes = np.diff(v)[segments] / np.diff(m)[segments]
        ends = np.column_stack([m[segments], m[segments + 1]])
        ends[0, 0], ends[-1, 1] = -np.inf, np.inf
        return slopes, v[segments] - slopes * m[segments], ends

    def values(self, argument: FloatArray) -> FloatArray:
        """Return the lowest of the segments that contain the margin."""
        slopes, intercepts, ends = self._segments()
        lines = slopes[:, None] * argument + intercepts[:, None]
        inside = (ends[:, :1] <= argument) & (argument <= ends[:, 1:])
        return np.asarray(np.where(inside, lines, np.inf).min(axis=0))

    def piecewise_linear(self) -> PiecewiseLinearLoss | None:
        """Return the loss if it does not rise and is 0 from some m on, else None; a first segment that falls is its tail."""
        m, v = self._turns()
        if (np.diff(v) > 0).any() or v[-2] != 0.0 or v[-1] != 0.0:
            return None
        if m.size == 2:
            return PiecewiseLinearLoss(m[:1], v[:1], v[:1])
        inner, values = m[1:-1], v[1:-1]
        firsts = np.concatenate([[True], np.diff(inner) > 0])
        lasts = np.concatenate([np.diff(inner) > 0, [True]])
        tail = float((v[0] - v[1]) / (m[1] - m[0]))
        rise_start = float(inner[0]) if tail > 0.0 else -np.inf
        return PiecewiseLinearLoss(inner[firsts], values[firsts], values[lasts], tail, rise_start)

    @property
    def jumps(self) -> tuple[tuple[float, float], ...]:
        """Return the breakpoints at which two losses are given, each with its cheaper side."""
        m, v = self._turns()
        places = np.flatnonzero(np.diff(m) == 0.0).tolist()
        return tuple((float(m[k]), 1.0 if v[k + 1] < v[k] else -1.0) for k in places)

    def blocks(self, classifier: FixedClassifier) -> dict[str, FloatArray]:
        """Return τ, or δ_k and m_k: the segment of each margin, and the margin; beside a jump, the lower of the two segments."""
        if self.convex:
            return {"tau": self.values(classifier.argument)}
        slopes, intercepts, ends = self._segments()
        jumps = np.isin(ends, [m for (m, _), (other, _) in itertools.pairwise(self.breakpoints) if m == other])
        low, high = (
            np.where(jumps[:, [j]], sign * classifier.tolerance, 0.0) + ends[:, [j]] for j, sign in ((0, -1.0), (1, 1.0))
        )
        lines = slopes[:, None] * classifier.argument + intercepts[:, None]
        chosen = np.where((low <= classifier.argument) & (classifier.argument <= high), lines, np.inf).argmin(axis=0)
        blocks = {}
        for k in range(slopes.size):
            blocks[f"segment {k}"] = (chosen == k).astype(np.float64)
            blocks[f"margin {k}"] = np.where(chosen == k, classifier.argument, 0.0)
        return blocks

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add the epigraph of a convex loss, or the choice of segments of another."""
        (self._epigraph if self.convex else self._choice)(builder, context)
        return None

    def _epigraph(self, builder: Assembly, context: AssemblyContext) -> None:
        tau = builder.variables("tau", context.argument.rows)
        slopes, intercepts, _ = self._segments()
        for k, (s, t) in enumerate(zip(slopes.tolist(), intercepts.tolist(), strict=True)):
            builder.require_nonnegative(f"segment {k}", tau - context.argument.scaled(s) - t)
        builder.cost(context.sample_weight, tau)

    def _choice(self, builder: Assembly, context: AssemblyContext) -> None:
        if not np.isfinite(context.argument_bounds).all():
            raise InputError(
                "a piecewise-linear loss that is not convex needs bounds of the margins: give domain=Box(lower, upper), or "
                "upper_bound= with a regulariser that bounds w (SquaredNorm, L1) and breakpoints with losses ≥ 0",
                name="domain",
            )
        slopes, intercepts, ends = self._segments()
        margin_rows, choice_rows = -context.argument, Affine({}, np.full(context.argument.rows, -1.0))
        for k, (s, t) in enumerate(zip(slopes.tolist(), intercepts.tolist(), strict=True)):
            low = np.maximum(ends[k, 0], np.minimum(-context.argument_bounds, ends[0, 1]))
            high = np.minimum(ends[k, 1], np.maximum(context.argument_bounds, ends[-1, 0]))
            chosen = builder.binaries(f"segment {k}", context.argument.rows)
            piece = builder.variables(f"margin {k}", context.argument.rows, np.minimum(low, 0.0), np.maximum(high, 0.0))
            builder.require_nonnegative(f"segment {k} from", piece - chosen.scaled(low))
            builder.require_nonnegative(f"segment {k} to", chosen.scaled(high) - piece)
            builder.cost(s * context.sample_weight, piece)
            builder.cost(t * context.sample_weight, chosen)
            margin_rows, choice_rows = margin_rows + piece, choice_rows + chosen
        builder.require("whole", margin_rows, Zero(margin_rows.rows))
        builder.require("one segment", choice_rows, Zero(choice_rows.rows))

    def cost_line(self) -> Line:
        """Return the printed Σ c_i τ_i, or the chosen segments."""
        if self.convex:
            return Line("sum_i c_i tau_i", r"\textstyle\sum_i c_i\tau_i")
        return Line("sum_i c_i sum_k (s_k m_ik + t_k d_ik)", r"\textstyle\sum_i c_i\sum_k (s_k m_{ik} + t_k\delta_{ik})")

    def is_nonnegative(self) -> bool:
        """Return whether the least value, at a breakpoint or beyond the ends, is ≥ 0."""
        slopes = self._segments()[0]
        return bool(slopes[0] <= 0 <= slopes[-1] and min(v for _, v in self.breakpoints) >= 0)

    def convex_pieces(self) -> tuple[ConvexPiece, ...]:
        """Return the segments as convex functions; none where the loss is convex."""
        if self.convex:
            return ()
        parts = zip(*self._segments(), strict=True)
        return tuple(ConvexPiece(((float(s), float(t)),), float(low), float(high)) for s, t, (low, high) in parts)

    def saturation(self) -> float:
        """Return the larger |m| of the first and the last breakpoint between segments; 0 for a single line."""
        slopes, _, ends = self._segments()
        return float(max(abs(ends[0, 1]), abs(ends[-1, 0]))) if slopes.size > 1 else 0.0

    def variables(self) -> tuple[Line, ...]:
        """Return the printed losses, or the parts of the margins and their binaries, a column for each of K segments."""
        if self.convex:
            return (PointVariables.of(Line("tau", r"\tau", "tau"), REAL_NUMBERS),)
        K = len(self._segments()[0])
        return (
            PointVariables.of(Line("m", "m", "margin 0, ..."), REAL_NUMBERS, K),
            PointVariables.of(Line("d", r"\delta", "segment 0, ..."), ZERO_OR_ONE, K),
        )

    def lines(self) -> tuple[Line, ...]:
        """Return the printed row for each segment, or the choice among them."""
        slopes, intercepts, ends = self._segments()
        if self.convex:
            margin, empty = Line("y_i x_i'w", r"y_i x_i^\top w"), Line("", "")
            rows = (
                plus(times(s, margin) if s else empty, Line(f"{t:g}", f"{t:g}") if t or not s else empty)
                for s, t in zip(slopes.tolist(), intercepts.tolist(), strict=True)
            )
            return tuple(Line(f"tau_i >= {row.text}", rf"\tau_i \ge {row.latex}", f"segment {k}") for k, row in enumerate(rows))
        shown = ", ".join(f"{m:g}" for m in ends[:-1, 1])
        s, t = _listed(slopes), _listed(intercepts)
        return (
            Line("y_i x_i'w = sum_k m_ik", r"y_i x_i^\top w = \textstyle\sum_k m_{ik}", "whole"),
            Line("sum_k d_ik = 1, d in {0, 1}", r"\textstyle\sum_k\delta_{ik} = 1,\ \delta\in\{0,1\}", "one segment"),
            Line(
                f"m_ik between the ends of segment k times d_ik; they meet at {shown}; s = {s}, t = {t}",
                rf"a_k\delta_{{ik}} \le m_{{ik}} \le b_k\delta_{{ik}},\ b = ({shown},\infty),\ s = {s},\ t = {t}",
                "segment 0 from, segment 0 to, ...",
            ),
        )


#: Two pieces meet at a breakpoint if their values, and slopes, differ by no more than this share, which is rounding.
_MEETS = 1e-9


@dataclass(frozen=True)
class PiecewiseQuadratic(Loss):
    """A loss a_k m² + b_k m + c_k on the k-th of the intervals between breakpoints; convex and continuous.

    The form writes the margin as steps from the first breakpoint t, m = t - d_0 + d_1 + ... + d_K: each step d_k ≥ 0 is no longer
    than its interval and costs a_k d_k² + f'(start of k) d_k, f' the slope of that interval at its end nearer to t. Slopes do not
    fall, so that an optimal point takes the cheaper steps first, and the loss is f(t) plus the costs of the steps.

    Parameters
    ----------
    breakpoints : tuple of float
        At least one; increasing.
    pieces : tuple of (a, b, c)
        The coefficients (a_k, b_k, c_k) of each interval, in order: one triple more than breakpoints.

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
                "give breakpoints that increase, at least one, and one piece (a, b, c) more than there are breakpoints",
                name="breakpoints",
            )
        if not (np.isfinite(t).all() and np.isfinite(f).all() and (f[:, 0] >= 0).all()):
            raise InputError("breakpoints and pieces must be finite, and a ≥ 0 in each piece a m² + b m + c", name="pieces")
        object.__setattr__(self, "breakpoints", tuple(map(float, t)))
        object.__setattr__(self, "pieces", tuple((float(a), float(b), float(c)) for a, b, c in f))
        scale = 1.0 + float(np.abs(f).max())
        for m, left, right in zip(t, f[:-1], f[1:], strict=True):
            below, above = np.polyval(left, m), np.polyval(right, m)
            if abs(below - above) > _MEETS * scale * (1.0 + m * m):
                raise InputError(f"the pieces must meet at {m:g}; they are {below:g} and {above:g} there", name="pieces")
            slopes = 2 * left[0] * m + left[1], 2 * right[0] * m + right[1]
            if slopes[1] < slopes[0] - _MEETS * scale * (1.0 + abs(m)):
                raise InputError(
                    f"the slopes must not fall, or the loss is not convex: at {m:g} from {slopes[0]:g} to {slopes[1]:g}",
                    name="pieces",
                )

    def values(self, argument: FloatArray) -> FloatArray:
        """Return a m² + b m + c of the interval that contains the margin."""
        chosen = np.searchsorted(self.breakpoints, argument)
        a, b, c = np.array(self.pieces)[chosen].T
        return np.asarray((a * argument + b) * argument + c)

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add a step d_k for each interval, and the row m = t - d_0 + d_1 + ... + d_K."""
        n, (t, *breakpoints) = context.argument.rows, self.breakpoints
        first_step = builder.variables("step 0", n, 0.0)
        walked = context.argument + first_step - t
        self._cost(builder, context, first_step, self.pieces[0], t, -1.0)
        for k, (start, end) in enumerate(zip(self.breakpoints, [*breakpoints, np.inf], strict=True), 1):
            step = builder.variables(f"step {k}", n, 0.0, end - start)
            walked = walked - step
            self._cost(builder, context, step, self.pieces[k], start, 1.0)
        builder.require("walked", walked, Zero(n))
        builder.cost(context.sample_weight, Affine({}, np.full(n, np.polyval(self.pieces[0], t))))
        return None

    @staticmethod
    def _cost(
        builder: Assembly, context: AssemblyContext, step: Affine, piece: tuple[float, float, float], start: float, sign: float
    ) -> None:
        a, b, _ = piece
        if a > 0:
            builder.cost_of_squares(a * context.sample_weight, step)
        builder.cost(sign * (2.0 * a * start + b) * context.sample_weight, step)

    def is_nonnegative(self) -> bool:
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
        """Return the printed costs of the steps."""
        first = np.polyval(self.pieces[0], self.breakpoints[0])
        steps = Line("sum_k (a_k d_ik^2 + s_k d_ik)", r"\sum_k (a_k d_{ik}^2 + s_k d_{ik})")
        inner = plus(Line(f"{first:g}", f"{first:g}") if first else Line("", ""), steps)
        return Line(f"sum_i c_i ({inner.text})", rf"\textstyle\sum_i c_i\bigl({inner.latex}\bigr)")

    def variables(self) -> tuple[Line, ...]:
        """Return the printed steps."""
        return (Line("d >= 0", r"d\ge 0", "step 0, ..."),)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed steps."""
        t = f"{self.breakpoints[0]:g}"
        starts, signs = [self.breakpoints[0], *self.breakpoints], [-1.0, *np.ones(len(self.breakpoints))]
        slopes = [sign * (2.0 * a * start + b) for (a, b, _), start, sign in zip(self.pieces, starts, signs, strict=True)]
        breakpoints, squares, slopes_shown = map(_listed, (self.breakpoints, [a for a, _, _ in self.pieces], slopes))
        return (
            Line(
                f"y_i x_i'w = {t} - d_i0 + sum_(k > 0) d_ik",
                rf"y_i x_i^\top w = {t} - d_{{i0}} + \textstyle\sum_{{k>0}} d_{{ik}}",
                "walked",
            ),
            Line(
                f"0 <= d_ik <= t_(k+1) - t_k; t = {breakpoints}, a = {squares}, s = {slopes_shown}",
                rf"0 \le d_{{ik}} \le t_{{k+1}} - t_k,\ t = {breakpoints},\ a = {squares},\ s = {slopes_shown}",
            ),
        )
