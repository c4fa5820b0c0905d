"""Losses of `Margin` for classification, ranking and regression: hinge, ramp, 0-1, hard margin, pairwise, hat, ε-insensitive.

m is the margin y_i x_i'w of a point, c_i its cost, r the residual y_i - x_i'w, α the multipliers of the rows ``margin``, and L*
the conjugate of the sum of the losses at β, one number for each argument, from which the closed-form dual follows. The parts of a
loss's mixed-integer or convex form (slacks ξ, binaries z) are added by ``add``, printed by ``cost_line`` and ``lines``, and
computed for a given w by ``blocks``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ....errors import InputError
from ...arrays import BoolArray, FloatArray, IntArray, Points, as_positive
from ...statement import ZERO_OR_ONE, Line, PointVariables, plus, times
from ...views import LinearLoss, PiecewiseLinearLoss, ZeroOneProblem
from .assembly import Affine, Assembly
from .loss import Conjugate, ConvexPiece, HingeConjugate, Loss, ResidualConjugate, ResidualLoss
from .part import AssemblyContext, FixedClassifier, as_flag


def _slack(builder: Assembly, context: AssemblyContext) -> Affine:
    """ξ ≥ 0 with m + ξ ≥ 1."""
    xi = builder.variables("xi", context.argument.rows, 0.0)
    builder.require_nonnegative("margin", context.argument + xi - 1.0)
    return xi


_SLACK = Line("xi >= 0", r"\xi\ge 0", "xi")
_BINARY = PointVariables.of(Line("z", "z", "z"), ZERO_OR_ONE)
_LINES = (
    Line("y_i x_i'w + xi_i >= 1", r"y_i x_i^\top w + \xi_i \ge 1", "margin"),
    Line("xi_i >= 0", r"\xi_i \ge 0"),
)


@dataclass(frozen=True)
class Hinge(Loss):
    """The hinge loss (1 - m)_+: slack ξ ≥ 0 with m + ξ ≥ 1, cost ξ."""

    linear_loss: ClassVar[LinearLoss | None] = LinearLoss.HINGE

    def values(self, argument: FloatArray) -> FloatArray:
        """Return (1 - m)_+."""
        return np.maximum(1.0 - argument, 0.0)

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add ξ and its rows."""
        builder.cost(context.sample_weight, _slack(builder, context))
        return None

    def piecewise_linear(self) -> PiecewiseLinearLoss:
        """Return the hinge as a `PiecewiseLinearLoss`."""
        return PiecewiseLinearLoss.hinge()

    def blocks(self, classifier: FixedClassifier) -> dict[str, FloatArray]:
        """Return the optimal ξ."""
        return {"xi": self.values(classifier.argument)}

    def saturation(self) -> float:
        """Return 1: the loss is linear on m ≤ -1 and on m ≥ 1."""
        return 1.0

    def conjugate(self) -> Conjugate:
        """Return the conjugate L*; -L* is Σα on 0 ≤ α ≤ c."""
        return HingeConjugate()

    def cost_line(self) -> Line:
        """Return the printed Σ c_i ξ_i."""
        return Line("sum_i c_i xi_i", r"\textstyle\sum_i c_i\xi_i")

    def variables(self) -> tuple[Line, ...]:
        """Return the printed slack."""
        return (_SLACK,)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows of the slack."""
        return _LINES


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """The squared hinge loss (1 - m)_+²: slack ξ ≥ 0 with m + ξ ≥ 1, cost ξ²."""

    linear_loss: ClassVar[LinearLoss | None] = LinearLoss.SQUARED_HINGE

    def values(self, argument: FloatArray) -> FloatArray:
        """Return (1 - m)_+²."""
        return np.maximum(1.0 - argument, 0.0) ** 2

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add ξ and its rows."""
        builder.cost_of_squares(context.sample_weight, _slack(builder, context))
        return None

    def blocks(self, classifier: FixedClassifier) -> dict[str, FloatArray]:
        """Return the optimal ξ."""
        return {"xi": np.maximum(1.0 - classifier.argument, 0.0)}

    def conjugate(self) -> Conjugate:
        """Return the conjugate L*; -L* is Σα - α²/(4c) on α ≥ 0."""
        return HingeConjugate(squared=True)

    def cost_line(self) -> Line:
        """Return the printed Σ c_i ξ_i²."""
        return Line("sum_i c_i xi_i^2", r"\textstyle\sum_i c_i\xi_i^2")

    def variables(self) -> tuple[Line, ...]:
        """Return the printed slack."""
        return (_SLACK,)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows of the slack."""
        return _LINES


@dataclass(frozen=True)
class Ramp(Loss):
    """The ramp loss (h/d) min{(1 - m)_+, d}: 0 from m = 1 on, h from m = 1 - d down; with b, a hinge of that slope again from 1 -
    b down.

    Slack 0 ≤ ξ ≤ d and z in {0, 1}; z = 0 requires m + ξ ≥ 1; cost (h/d)(ξ + d z). With b, ξ ≥ 0 alone and m + ξ + b z ≥ 1: this
    is the loss of a program whose big-M constant b is part of the model, as in MIPLIB's gsvm2rl (h = d = 2, b = 100).

    Parameters
    ----------
    height : float
        h > 0. The ramp of Brooks (2011) has h = d = 2, that of Cepeda, Gómez and Han (2024), Figure 1, has h = d = 1.
    width : float
        d > 0.
    second_width : float
        b ≥ d; without it the ramp does not begin again.

    Raises
    ------
    InputError
        A height or width that is not > 0, or b < d.
    """

    height: float = 2.0
    width: float = 2.0
    second_width: float = np.inf

    convex: ClassVar[bool] = False
    reads_big_m: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "height", as_positive(self.height, "height"))
        object.__setattr__(self, "width", as_positive(self.width, "width"))
        object.__setattr__(self, "second_width", as_positive(self.second_width, "second_width", infinite=True))
        if self.second_width < self.width:
            raise InputError(
                f"second_width must be at least the width {self.width:g}; it is {self.second_width:g}", name="second_width"
            )

    def values(self, argument: FloatArray) -> FloatArray:
        """Return (h/d) (min{(1 - m)_+, d} + (1 - b - m)_+)."""
        ramp = np.clip(1.0 - argument, 0.0, self.width)
        return self.height / self.width * (ramp + np.maximum(1.0 - self.second_width - argument, 0.0))

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add z, ξ and their rows."""
        z = builder.binaries("z", context.argument.rows)
        has_second_rise = self.second_width < np.inf
        xi = builder.variables("xi", context.argument.rows, 0.0, np.inf if has_second_rise else self.width)
        M = np.full(context.argument.rows, self.second_width) if has_second_rise else context.big_m(1.0)
        builder.switch("margin", z, context.argument + xi - 1.0, M)
        builder.cost(self.height / self.width * context.sample_weight, xi)
        builder.cost(self.height * context.sample_weight, z)
        return None

    def cost_line(self) -> Line:
        """Return the printed Σ c_i (h/d)(ξ_i + d z_i)."""
        cost = plus(times(self.height / self.width, Line("xi_i", r"\xi_i")), times(self.height, Line("z_i", "z_i")))
        return Line(f"sum_i c_i ({cost.text})", rf"\textstyle\sum_i c_i({cost.latex})")

    def variables(self) -> tuple[Line, ...]:
        """Return the printed slack and binary."""
        return (
            _SLACK,
            _BINARY,
        )

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows of slack and switch."""
        if self.second_width < np.inf:
            b = f"{self.second_width:g}"
            return (
                Line(f"y_i x_i'w + xi_i + {b} z_i >= 1", rf"y_i x_i^\top w + \xi_i + {b}\,z_i \ge 1", "margin"),
                Line("xi_i >= 0, z_i in {0, 1}", r"\xi_i\ge 0,\ z_i\in\{0,1\}"),
            )
        return (
            Line("z_i = 0  =>  y_i x_i'w + xi_i >= 1", r"z_i = 0 \Rightarrow y_i x_i^\top w + \xi_i \ge 1", "margin"),
            Line(f"0 <= xi_i <= {self.width:g}, z_i in {{0, 1}}", rf"0\le\xi_i\le {self.width:g},\ z_i\in\{{0,1\}}"),
        )

    def big_m_lines(self) -> tuple[Line, ...]:
        """Return the printed rows with M_i; with a second rise the constants are its place."""
        if self.second_width < np.inf:
            return self.lines()
        row = Line("y_i x_i'w + xi_i >= 1 - M_i z_i", r"y_i x_i^\top w + \xi_i \ge 1 - M_i z_i", "margin")
        return (row, *self.lines()[1:])

    @property
    def switch_cost(self) -> float:
        """Return the height of the ramp."""
        return self.height

    def convex_pieces(self) -> tuple[ConvexPiece, ...]:
        """Return the hinge of slope h/d, and the constant h, with b where the ramp begins again."""
        slope = self.height / self.width
        second_rise = ((-slope, self.height + slope * (1.0 - self.second_width)),) if self.second_width < np.inf else ()
        return ConvexPiece(((0.0, 0.0), (-slope, slope))), ConvexPiece(((0.0, self.height), *second_rise))

    def piecewise_linear(self) -> PiecewiseLinearLoss | None:
        """Return the breakpoints of the loss; None where 1 - width is rounded to 1."""
        return PiecewiseLinearLoss.ramp(self.height, self.width, self.second_width) if 1.0 - self.width < 1.0 else None

    def blocks(self, classifier: FixedClassifier) -> dict[str, FloatArray]:
        """Return z = 1 where giving a point up costs less than its slack, and the slack that is left."""
        given_up = classifier.argument < 1.0 - self.width
        xi = np.maximum(np.where(given_up, 1.0 - self.second_width, 1.0) - classifier.argument, 0.0)
        return {"z": given_up.astype(np.float64), "xi": xi if self.second_width < np.inf else np.minimum(xi, self.width)}

    def saturation(self) -> float:
        """Return the size of the outermost breakpoint, beyond which the loss is linear."""
        return max(1.0, (self.second_width if self.second_width < np.inf else self.width) - 1.0)


@dataclass(frozen=True)
class ZeroOne(Loss):
    """The 0-1 loss 1{m < t}: z in {0, 1}, and z = 0 requires m ≥ t.

    Parameters
    ----------
    threshold : float
        t ≥ 0. t = 1 counts points with a margin below 1. t = 0 counts misclassified points, 1{m < 0}: since w = 0 misclassifies
        nothing, a restriction must exclude it (`Fixed`, `LinearRows`). With integer coefficients and data t = 1 makes a margin of
        0 an error and nothing else.

    Raises
    ------
    InputError
        A threshold below 0.
    """

    threshold: float = 1.0

    convex: ClassVar[bool] = False
    reads_big_m: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", as_positive(self.threshold, "threshold", zero=True))

    def required_margin(self, values: Mapping[str, FloatArray]) -> float:
        """Return t, the margin from which on a point costs nothing."""
        return self.threshold

    def values(self, argument: FloatArray) -> FloatArray:
        """Return 1{m < t}."""
        return (argument < self.threshold).astype(np.float64)

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add z and its rows."""
        z = builder.binaries("z", context.argument.rows)
        builder.switch(
            "margin", z, context.argument - self.threshold, context.big_m(self.threshold), range(context.argument.rows)
        )
        builder.cost(context.sample_weight, z)
        return z if self.threshold == 1.0 else None  # an error is a margin below 1

    def cost_line(self) -> Line:
        """Return the printed Σ c_i z_i."""
        return Line("sum_i c_i z_i", r"\textstyle\sum_i c_i z_i")

    def variables(self) -> tuple[Line, ...]:
        """Return the printed binary."""
        return (_BINARY,)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows of the switch."""
        t = f"{self.threshold:g}"
        return (
            Line(f"z_i = 0  =>  y_i x_i'w >= {t}", rf"z_i = 0 \Rightarrow y_i x_i^\top w \ge {t}", "margin"),
            Line("z_i in {0, 1}", r"z_i\in\{0,1\}"),
        )

    def big_m_lines(self) -> tuple[Line, ...]:
        """Return the printed rows with M_i."""
        t = f"{self.threshold:g}"
        return (Line(f"y_i x_i'w >= {t} - M_i z_i", rf"y_i x_i^\top w \ge {t} - M_i z_i", "margin"), *self.lines()[1:])

    @property
    def switch_cost(self) -> float:
        """Return the height of the jump."""
        return 1.0

    def convex_pieces(self) -> tuple[ConvexPiece, ...]:
        """Return the constants 0, from t on, and 1."""
        return ConvexPiece(((0.0, 0.0),), low=self.threshold), ConvexPiece(((0.0, 1.0),))

    @property
    def indicator_threshold(self) -> float:
        """Return t of the loss 1{m < t}."""
        return self.threshold

    def piecewise_linear(self) -> PiecewiseLinearLoss:
        """Return the loss as one jump."""
        return PiecewiseLinearLoss.zero_one(self.threshold)

    def blocks(self, classifier: FixedClassifier) -> dict[str, FloatArray]:
        """Return the values of z."""
        return {"z": (classifier.argument < self.threshold - classifier.tolerance).astype(np.float64)}

    def view(self, rows: Callable[[], FloatArray], costs: FloatArray, penalised: BoolArray, mu: float) -> ZeroOneProblem | None:
        """Return the `ZeroOneProblem` min ||w||² + Σ c_i 1{m_i < 1}; None for another t or factor μ of ||w||², or a cost of 0."""
        plain = self.threshold == 1.0 and mu == 1.0 and (costs > 0.0).all()
        return ZeroOneProblem(rows(), costs, penalised) if plain else None

    def saturation(self) -> float:
        """Return the threshold t: the loss is 0 from t on, 1 below it."""
        return self.threshold


@dataclass(frozen=True)
class PairwiseHinge(Loss):
    """The ranking loss Σ over pairs with y_i > y_j of c_i c_j (1 - (x_i - x_j)'w)_+: Joachims, 2002, with any numbers as grades
    y.

    The form has a row for each pair: n² of them at worst.
    """

    is_sum_over_points: ClassVar[bool] = False
    reads_class_labels: ClassVar[bool] = False
    uses_intercept: ClassVar[bool] = False

    @staticmethod
    def _pairs(y: FloatArray) -> tuple[IntArray, IntArray]:
        above, below = np.nonzero(y[:, None] > y[None, :])
        return above, below

    def rows(self, X: Points, y: FloatArray) -> tuple[sp.csr_array, FloatArray]:
        """Return the differences x_i - x_j of the pairs, whose arguments are differences of scores."""
        above, below = self._pairs(np.asarray(y))
        data = sp.csr_array(X)
        return sp.csr_array(data[above] - data[below]), np.zeros(above.size)

    def costs(self, sample_weight: FloatArray, y: FloatArray) -> FloatArray:
        """Return the costs c_i c_j of the pairs."""
        above, below = self._pairs(y)
        return sample_weight[above] * sample_weight[below]

    def values(self, argument: FloatArray) -> FloatArray:
        """Return (1 - d)_+ of the differences d."""
        return Hinge().values(argument)

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add a slack for each pair."""
        return Hinge().add(builder, context)

    def blocks(self, classifier: FixedClassifier) -> dict[str, FloatArray]:
        """Return the values of the slacks."""
        return Hinge().blocks(classifier)

    def conjugate(self) -> Conjugate:
        """Return the conjugate L*; -L* is Σα on 0 ≤ α ≤ c."""
        return HingeConjugate(pairs=True)

    def cost_line(self) -> Line:
        """Return the printed Σ c_i c_j ξ_ij."""
        return Line("sum_(y_i > y_j) c_i c_j xi_ij", r"\textstyle\sum_{y_i>y_j} c_i c_j\xi_{ij}")

    def variables(self) -> tuple[Line, ...]:
        """Return the printed slack."""
        return (_SLACK,)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows of the slack."""
        return (
            Line("(x_i - x_j)'w + xi_ij >= 1", r"(x_i - x_j)^\top w + \xi_{ij} \ge 1", "margin"),
            Line("xi_ij >= 0", r"\xi_{ij} \ge 0"),
        )


@dataclass(frozen=True)
class _InsensitiveConjugate(ResidualConjugate):
    """The conjugate L* of Σ c (|r| - ε)_+: -L* is -ε Σ|β| on |β| ≤ c; of the squares: -Σ (ε|β| + β²/(4c))."""

    epsilon: float
    squared: bool = False

    def interval(self, costs: FloatArray) -> FloatArray:
        """Return c; infinity for the square."""
        return np.full(costs.shape, np.inf) if self.squared else costs

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """Return -ε Σ|β|, less Σ β²/(4c) for the square."""
        with np.errstate(divide="ignore", invalid="ignore"):
            square = np.where(beta != 0, beta**2 / (4.0 * costs), 0.0) if self.squared else np.zeros(beta.size)
        return float(-self.epsilon * np.abs(beta).sum() - square.sum())

    @property
    def objective(self) -> Line:
        """Return the printed Σ y_i β_i - ε|β_i|, less β_i²/(4c_i) for the square."""
        square_term = (" - beta_i^2/(4 c_i)", r" - \tfrac{\beta_i^2}{4c_i}") if self.squared else ("", "")
        e = f"{self.epsilon:g}"
        text = f"sum_i (y_i beta_i - {e} |beta_i|{square_term[0]})"
        return Line(text, rf"\textstyle\sum_i \bigl(y_i\beta_i - {e}\,|\beta_i|{square_term[1]}\bigr)")

    @property
    def constraints(self) -> tuple[Line, ...]:
        """State the dual's constraint: the interval."""
        if self.squared:
            return ()
        return (Line("|beta_i| <= c_i", r"|\beta_i| \le c_i"),)


@dataclass(frozen=True)
class EpsilonInsensitive(ResidualLoss):
    """The ε-insensitive loss (|y - x'w| - ε)_+, or its square: slack ξ ≥ 0 with -ε - ξ ≤ y - x'w ≤ ε + ξ.

    Parameters
    ----------
    epsilon : float
        ε ≥ 0.
    squared : bool
        Whether the loss is the square.

    Raises
    ------
    InputError
        ε < 0.
    """

    epsilon: float = 0.1
    squared: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_positive(self.epsilon, "epsilon", zero=True))
        object.__setattr__(self, "squared", as_flag(self.squared, "squared"))

    def values(self, argument: FloatArray) -> FloatArray:
        """Return (|r| - ε)_+, or its square."""
        excess = np.maximum(np.abs(argument) - self.epsilon, 0.0)
        return excess**2 if self.squared else excess

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add ξ and its two rows for each point."""
        xi = builder.variables("xi", context.argument.rows, 0.0)
        builder.require_nonnegative("below", xi - context.argument + self.epsilon)
        builder.require_nonnegative("above", xi + context.argument + self.epsilon)
        (builder.cost_of_squares if self.squared else builder.cost)(context.sample_weight, xi)
        return None

    def conjugate(self) -> Conjugate:
        """Return the conjugate L*; -L* is Σ -ε|β| on |β| ≤ c, or that of the square."""
        return _InsensitiveConjugate(self.epsilon, self.squared)

    def cost_line(self) -> Line:
        """Return the printed Σ c_i ξ_i, or Σ c_i ξ_i²."""
        power = "^2" if self.squared else ""
        return Line(f"sum_i c_i xi_i{power}", rf"\textstyle\sum_i c_i\xi_i{power}")

    def variables(self) -> tuple[Line, ...]:
        """Return the printed slack."""
        return (_SLACK,)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows of the slack."""
        e = f"{self.epsilon:g}"
        return (
            Line(f"y_i - x_i'w <= {e} + xi_i", rf"y_i - x_i^\top w \le {e} + \xi_i", "below"),
            Line(f"x_i'w - y_i <= {e} + xi_i", rf"x_i^\top w - y_i \le {e} + \xi_i", "above"),
            Line("xi_i >= 0", r"\xi_i \ge 0"),
        )


@dataclass(frozen=True)
class Hat(Loss):
    """The hat loss (1 - |m|)_+ of points without labels in semi-supervised SVMs: Bennett, Demiriz, 1999, (2).

    Slack 0 ≤ ξ ≤ 1 and d in {0, 1}; d = 1 requires m + ξ ≥ 1, d = 0 requires -m + ξ ≥ 1; cost ξ. m is the score x'w.
    """

    convex: ClassVar[bool] = False
    symmetric: ClassVar[bool] = True

    def values(self, argument: FloatArray) -> FloatArray:
        """Return (1 - |m|)_+."""
        return np.maximum(1.0 - np.abs(argument), 0.0)

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add the side d of each point, ξ and its rows."""
        n, M = context.argument.rows, context.big_m(1.0)
        d, xi = builder.binaries("d", n), builder.variables("xi", n, 0.0, 1.0)
        builder.switch("positive", Affine({}, np.ones(n)) - d, context.argument + xi - 1.0, M)
        builder.switch("negative", d, -context.argument + xi - 1.0, M)
        builder.cost(context.sample_weight, xi)
        return None

    def cost_line(self) -> Line:
        """Return the printed Σ c_i ξ_i."""
        return Line("sum_i c_i xi_i", r"\textstyle\sum_i c_i\xi_i")

    def variables(self) -> tuple[Line, ...]:
        """Return the printed slack and side."""
        return (
            _SLACK,
            PointVariables.of(Line("d", "d", "d"), ZERO_OR_ONE),
        )

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows of slack and switches."""
        return (
            Line("d_i = 1  =>  x_i'w + xi_i >= 1", r"d_i = 1 \Rightarrow x_i^\top w + \xi_i \ge 1", "positive"),
            Line("d_i = 0  =>  -x_i'w + xi_i >= 1", r"d_i = 0 \Rightarrow -x_i^\top w + \xi_i \ge 1", "negative"),
            Line("0 <= xi_i <= 1, d_i in {0, 1}", r"0\le\xi_i\le 1,\ d_i\in\{0,1\}"),
        )

    def big_m_lines(self) -> tuple[Line, ...]:
        """Return the printed rows with M_i."""
        return (
            Line("x_i'w + xi_i >= 1 - M_i (1 - d_i)", r"x_i^\top w + \xi_i \ge 1 - M_i(1-d_i)", "positive"),
            Line("-x_i'w + xi_i >= 1 - M_i d_i", r"-x_i^\top w + \xi_i \ge 1 - M_i d_i", "negative"),
            *self.lines()[2:],
        )

    def convex_pieces(self) -> tuple[ConvexPiece, ...]:
        """Return the hinge of the score m and that of -m, whose minimum the hat is."""
        return ConvexPiece(((0.0, 0.0), (-1.0, 1.0))), ConvexPiece(((0.0, 0.0), (1.0, 1.0)))

    def piecewise_linear(self) -> PiecewiseLinearLoss:
        """Return the loss as a function of |m|."""
        return PiecewiseLinearLoss.hat()

    def blocks(self, classifier: FixedClassifier) -> dict[str, FloatArray]:
        """Return the side of each point, and its slack."""
        return {"d": (classifier.argument >= 0.0).astype(np.float64), "xi": self.values(classifier.argument)}

    def saturation(self) -> float:
        """Return 1, beyond which the loss is 0 on both sides."""
        return 1.0


@dataclass(frozen=True)
class HardMarginConjugate(HingeConjugate):
    """The conjugate L* of the hard margin m ≥ 1; -L* is Σα on α ≥ 0, where β = -α."""

    constraints = (Line("alpha_i >= 0", r"\alpha_i \ge 0"),)

    def feasible_beta(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Return minus the multipliers of ``margin``, clipped at 0."""
        return -np.maximum(multipliers["margin"], 0.0)


@dataclass(frozen=True)
class HardMargin(Loss):
    """The hard margin, a loss of 0 where m ≥ 1 and of infinity elsewhere: the rows m ≥ 1, on which costs of points have no
    effect.
    """

    is_sum_over_points: ClassVar[bool] = False

    def values(self, argument: FloatArray) -> FloatArray:
        """Return 0 where m ≥ 1, else infinity."""
        return np.where(argument >= 1.0, 0.0, np.inf)

    def total(self, costs: FloatArray, argument: FloatArray) -> float:
        """Return 0 where every margin is at least 1, else infinity."""
        return 0.0 if (argument >= 1.0).all() else float("inf")

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add the rows."""
        builder.require_nonnegative("margin", context.argument - 1.0, range(context.argument.rows))
        return None

    def conjugate(self) -> Conjugate:
        """Return the conjugate L*; -L* is Σα on α ≥ 0."""
        return HardMarginConjugate()

    def cost_line(self) -> Line:
        """Return an empty line: rows cost nothing."""
        return Line("", "")

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows."""
        return (Line("y_i x_i'w >= 1", r"y_i x_i^\top w \ge 1", "margin"),)
