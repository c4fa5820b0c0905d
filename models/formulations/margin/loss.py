"""Base classes of the losses of `Margin`: `Loss`, its convex pieces, and the conjugates from which closed-form duals follow.

*Conjugates of convex losses.* With L(a) = Σ of the losses at the arguments a = Aw + c (such as the margins m_i = y_i x_i'w) and
R(w) = μ||w||² on the penalised coefficients,

    min_w R(w) + L(Aw + c) = max_β c'β - L*(β) - ||A_P'β||²/(4μ)   over β with A_F'β = 0,

A_P the columns of the penalised coefficients and A_F those of the free ones; w_P = -A_P'β/(2μ) at an optimum. Outside this
formula c ≥ 0 are the ``costs``, the weights of the losses in L, and α ≥ 0 the ``multipliers`` of the form's rows, by label.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ...arrays import BoolArray, FloatArray, IntArray, Points
from ...statement import DualStatement, Line, times
from ...views import LinearLoss, PiecewiseLinearLoss
from ..features import signed_rows
from .assembly import Affine, Assembly
from .part import AssemblyContext, FixedClassifier, Part


@dataclass(frozen=True)
class ConvexPiece:
    """A convex piece f of a loss min_k f_k: max over (s, t) of s m + t for low ≤ m ≤ high, infinite elsewhere.

    Parameters
    ----------
    lines : tuple of (slope, intercept)
        The pairs (s, t).
    low, high : float
        Ends of the piece; infinite where it has none.
    """

    lines: tuple[tuple[float, float], ...]
    low: float = float("-inf")
    high: float = float("inf")


@dataclass(frozen=True, eq=False)
class LossTable:
    """The piecewise-linear losses of a `Margin`, and the loss of each point.

    Parameters
    ----------
    losses : tuple of PiecewiseLinearLoss
        One for each group, equal ones too; or the one of all points.
    kinds : ndarray of int (n,), optional
        Index of each point's loss in ``losses``; None without groups, where all points share one.
    """

    losses: tuple[PiecewiseLinearLoss, ...]
    kinds: IntArray | None = None


class Conjugate(ABC):
    """Base class of the conjugate L* of a convex loss: β from multipliers, -L*(β), and the printed closed-form dual."""

    @abstractmethod
    def feasible_beta(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Return β, (rows of A,), from multipliers of any quality, moved to where L* is finite."""

    @abstractmethod
    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """Return -L*(β)."""

    @property
    @abstractmethod
    def objective(self) -> Line:
        """Return the printed c'β - L*(β), in the dual variable `symbol`; an empty line where it is zero."""

    @property
    @abstractmethod
    def constraints(self) -> tuple[Line, ...]:
        """Return the printed conditions under which L* is finite."""

    @property
    def total(self) -> Line:
        """Return the printed sum of points of which w is a multiple: A'β up to its sign and the factor `multiple`."""
        return Line("sum_i alpha_i y_i x_i", r"\textstyle\sum_i \alpha_i y_i x_i")

    @property
    def multiple(self) -> float:
        """Return the number k with A'β = ±k times `total`."""
        return 1.0

    @property
    def balance(self) -> Line | None:
        """Return the printed dual constraint of a free intercept (the first entry of A'β is 0); None if it always holds."""
        return Line("sum_i alpha_i y_i = 0", r"\textstyle\sum_i \alpha_i y_i = 0")

    @property
    def without_regulariser(self) -> bool:
        """Return whether `feasible_beta` gives A'β = 0: only the problem without a regulariser has the closed-form dual then."""
        return False

    @property
    def kkt(self) -> tuple[Line, ...]:
        """Return the printed optimality conditions where there is no norm from which w follows."""
        return ()

    @property
    def sign(self) -> float:
        """Return s with β = s · (the printed dual variable): -1 for α, 1 for β itself and for the ball's α."""
        return -1.0

    @property
    def symbol(self) -> Line:
        """Return the printed dual variable."""
        return Line("alpha", r"\alpha")


class ResidualConjugate(Conjugate):
    """Base class of conjugates of losses of residuals y_i - x_i'w: β of either sign, from the multipliers of the rows ``below``
    (residual ≤ bound) and ``above`` (-residual ≤ bound).
    """

    total = Line("sum_i beta_i x_i", r"\textstyle\sum_i \beta_i x_i")
    balance = Line("sum_i beta_i = 0", r"\textstyle\sum_i \beta_i = 0")
    sign = 1.0
    symbol = Line("beta", r"\beta")

    def feasible_beta(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Return the multipliers of ``below`` less those of ``above``, clipped to the interval."""
        beta = np.maximum(multipliers["below"], 0.0) - np.maximum(multipliers["above"], 0.0)
        bound = self.interval(costs)
        return np.asarray(np.clip(beta, -bound, bound))

    @abstractmethod
    def interval(self, costs: FloatArray) -> FloatArray:
        """Return the largest |β_i| at which L* is finite, (n,); infinite where every β_i is allowed."""


@dataclass(frozen=True)
class HingeConjugate(Conjugate):
    """The conjugate L* of Σ c (1 - m)_+; -L* is Σα on 0 ≤ α ≤ c, β = -α; of its square: Σα - α²/(4c), α ≥ 0.

    Parameters
    ----------
    squared : bool
        Whether the loss is the square.
    pairs : bool
        Whether the margins are differences of the scores of pairs of points.
    """

    squared: bool = False
    pairs: bool = False

    def feasible_beta(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Return minus the multipliers of ``margin``, clipped to where L* is finite."""
        return -np.clip(multipliers["margin"], 0.0, np.inf if self.squared else costs)

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """Return Σα, less α²/(4c) for the square."""
        with np.errstate(divide="ignore", invalid="ignore"):
            square = np.where(beta != 0, beta**2 / (4.0 * costs), 0.0) if self.squared else np.zeros(beta.size)
        return float(-beta.sum() - square.sum())

    @property
    def objective(self) -> Line:
        """Return the printed Σα, less α²/(4c) for the square."""
        if self.pairs:
            return Line("sum_(y_i > y_j) alpha_ij", r"\textstyle\sum_{y_i>y_j}\alpha_{ij}")
        if self.squared:
            latex = r"\textstyle\sum_i \bigl(\alpha_i - \tfrac{\alpha_i^2}{4c_i}\bigr)"
            return Line("sum_i (alpha_i - alpha_i^2/(4 c_i))", latex)
        return Line("sum_i alpha_i", r"\textstyle\sum_i\alpha_i")

    @property
    def constraints(self) -> tuple[Line, ...]:
        """Return the printed interval of α."""
        if self.pairs:
            return (Line("0 <= alpha_ij <= c_i c_j", r"0\le\alpha_{ij}\le c_i c_j"),)
        if self.squared:
            return (Line("alpha_i >= 0", r"\alpha_i \ge 0"),)
        return (Line("0 <= alpha_i <= c_i", r"0\le\alpha_i\le c_i"),)

    @property
    def total(self) -> Line:
        """Return the printed Σ α_i y_i x_i, or the sum of differences of points."""
        if self.pairs:
            return Line("sum_(y_i > y_j) alpha_ij (x_i - x_j)", r"\textstyle\sum_{y_i>y_j} \alpha_{ij}(x_i - x_j)")
        return super().total

    @property
    def balance(self) -> Line | None:
        """Return the printed Σ α_i y_i = 0; None for pairs, whose differences have no intercept."""
        return None if self.pairs else super().balance


@dataclass(frozen=True)
class LevelConjugate(Conjugate):
    """The conjugate of a loss with a level, a variable beside w such as ρ of the ν-SVM: -L* is 0 on 0 ≤ α ≤ c with Σα ≥ ν Σc, or
    with Σα = 1 without ``share``.

    Parameters
    ----------
    label : str
        Label of the rows whose multipliers are α.
    share : float, optional
        ν in (0, 1], the share of the costs.
    falls : bool
        Whether the loss falls with its argument (β = -α), or rises (β = α, the ball).
    signed : bool
        Whether the argument is a margin y_i x_i'w; else it has no label: x_i'w, or x_i'x_i - 2x_i'w of the ball.
    """

    label: str
    share: float | None
    falls: bool = True
    signed: bool = True

    def feasible_beta(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Return α, clipped, then scaled or filled up to its required sum, with the sign of β."""
        alpha = np.clip(multipliers[self.label], 0.0, costs)
        target = 1.0 if self.share is None else self.share * float(costs.sum())
        total = float(alpha.sum())
        if self.share is None and total > target:
            alpha = alpha * (target / total)
        elif total < target:
            slack = costs - alpha
            alpha = alpha + slack * min((target - total) / max(float(slack.sum()), 1e-300), 1.0)
        return self.sign * alpha

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """Return 0."""
        return 0.0

    @property
    def objective(self) -> Line:
        """Return the printed part from the constants of the arguments; empty without constants."""
        return Line("", "") if self.falls else Line("sum_i alpha_i x_i'x_i", r"\textstyle\sum_i\alpha_i x_i^\top x_i")

    @property
    def constraints(self) -> tuple[Line, ...]:
        """Return the printed interval and sum of α."""
        box = Line("0 <= alpha_i <= c_i", r"0\le\alpha_i\le c_i")
        if self.share is None:
            return (box, Line("sum_i alpha_i = 1", r"\textstyle\sum_i\alpha_i = 1"))
        nu = f"{self.share:g}"
        return (box, Line(f"sum_i alpha_i >= {nu} sum_i c_i", rf"\textstyle\sum_i\alpha_i \ge {nu}\sum_i c_i"))

    @property
    def total(self) -> Line:
        """Return the printed Σ α_i y_i x_i or Σ α_i x_i."""
        return super().total if self.signed else Line("sum_i alpha_i x_i", r"\textstyle\sum_i \alpha_i x_i")

    @property
    def multiple(self) -> float:
        """Return 2 for the ball, whose rows are 2x_i; else 1."""
        return 1.0 if self.falls else 2.0

    @property
    def balance(self) -> Line | None:
        """Return the printed Σ α_i y_i = 0, or Σ α_i = 0."""
        return super().balance if self.signed else Line("sum_i alpha_i = 0", r"\textstyle\sum_i \alpha_i = 0")

    @property
    def sign(self) -> float:
        """Return -1 where the loss falls, else 1."""
        return -1.0 if self.falls else 1.0


@dataclass(frozen=True, eq=False)
class BallConjugate(Conjugate):
    """The conjugate of max_i c_i ||x_i - w||² (`EnclosingBall`): β = (b, g), b_i = c_i a_i, a in the simplex, B = Σb;
    -L* is -||g||²/(4B).

    A'β = g - 2X'b vanishes at g = 2X'b, and the dual is Σ b_i x_i'x_i - ||X'b||²/B.

    Parameters
    ----------
    X : ndarray or csr_array (n, p)
        The points x_i.
    """

    X: Points

    without_regulariser = True
    objective = Line(
        "sum_i a_i c_i x_i'x_i - ||sum_i a_i c_i x_i||^2/sum_i a_i c_i",
        r"\textstyle\sum_i a_i c_i x_i^\top x_i - \bigl\|\sum_i a_i c_i x_i\bigr\|_2^2 / \sum_i a_i c_i",
    )
    constraints = (Line("sum_i a_i = 1", r"\textstyle\sum_i a_i = 1"), Line("a_i >= 0", r"a_i \ge 0"))
    kkt = (Line("w = sum_i a_i c_i x_i/sum_i a_i c_i", r"w = \textstyle\sum_i a_i c_i x_i / \sum_i a_i c_i"),)
    sign = 1.0
    symbol = Line("a", "a")

    def feasible_beta(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Return (b, g) from the multipliers a of ``inside``, clipped and scaled to sum to 1."""
        n = self.X.shape[0]
        a = np.where(costs[:n] > 0, np.maximum(multipliers["inside"], 0.0), 0.0)
        total = float(a.sum())
        a = a / total if total > 0 else np.where(costs[:n] > 0, 1.0, 0.0) / max(int((costs[:n] > 0).sum()), 1)
        b = costs[:n] * a
        return np.concatenate([b, 2.0 * np.asarray(self.X.T @ b)])

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """Return -||g||²/(4B)."""
        n = self.X.shape[0]
        g = beta[n:]
        return -float(g @ g) / (4.0 * float(beta[:n].sum()))


def dual_statement(conjugate: Conjugate, mu: float, free: bool) -> DualStatement:
    """Return the printed dual of min μ||w||² + L in α (β = -α) or β; ``free`` where the intercept is not penalised."""
    symbol, part, total = conjugate.symbol, conjugate.objective, conjugate.total
    if not mu:  # without a regulariser A'β must be zero, and w follows from the loss's own conditions
        return DualStatement("maximise", symbol, part, conjugate.constraints, conjugate.kkt)
    k = conjugate.multiple
    norm = times(k * k / (4.0 * mu), Line(f"||{total.text}||^2", rf"\bigl\|{total.latex}\bigr\|_2^2"))
    point = times(k / (2.0 * mu), total)
    pairs = (part.text, norm.text), (part.latex, norm.latex)
    return DualStatement(
        sense="maximise",
        variables=symbol,
        objective=Line(*(f"{first} - {last}" if first else f"-{last}" for first, last in pairs)),
        constraints=(*conjugate.constraints, *((conjugate.balance,) if free and conjugate.balance else ())),
        kkt=(Line(f"w = {point.text}", f"w = {point.latex}"),),
    )


def signs(y: FloatArray) -> FloatArray:
    """Return the labels y, with 1 in place of the 0 of points without a label, whose losses are symmetric."""
    return np.where(y == 0.0, 1.0, y)


class Loss(Part):
    """Base class of losses: a cost of each point, as a function of its margin m_i = y_i x_i'w or another argument (`rows`).

    Attributes
    ----------
    reads_class_labels : bool
        Whether y must be -1 and +1; else any numbers.
    of_residuals : bool
        Whether y are targets, and the loss is of y_i - x_i'w.
    uses_intercept : bool
        Whether a column of ones has an effect; not where only differences of scores count.
    """

    reads_class_labels: ClassVar[bool] = True
    of_residuals: ClassVar[bool] = False
    uses_intercept: ClassVar[bool] = True
    #: Hinge, squared hinge or logistic, the losses of a `LinearProblem`; None for another loss.
    linear_loss: ClassVar[LinearLoss | None] = None
    #: Whether `scores` reads the squared norms x'x of new points.
    scores_need_squares: ClassVar[bool] = False
    #: Whether ℓ(m) = ℓ(-m), so that it needs no labels.
    symmetric: ClassVar[bool] = False
    #: Whether the cost is a sum of functions of single margins (or residuals), the same for all points.
    is_sum_over_points: ClassVar[bool] = True
    #: Whether `values` is a formula; a loss that is an optimisation problem of its own has none.
    has_values: ClassVar[bool] = True

    def rows(self, X: Points, y: FloatArray) -> tuple[sp.csr_array, FloatArray]:
        """Return A and c, so that the loss's arguments are Aw + c; margins unless a loss says otherwise."""
        return signed_rows(X, signs(y)), np.zeros(X.shape[0])

    def unlabelled(self, n: int) -> BoolArray:
        """Return the mask of the points, of n, that need no label."""
        return np.full(n, self.symmetric)

    @abstractmethod
    def values(self, argument: FloatArray) -> FloatArray:
        """Return the loss of each argument."""

    def costs(self, sample_weight: FloatArray, y: FloatArray) -> FloatArray:
        """Return the cost of each argument from those of the points."""
        return sample_weight

    def total(self, costs: FloatArray, argument: FloatArray) -> float:
        """Return Σ_i costs_i ℓ(argument_i)."""
        return float(costs @ self.values(argument))

    def upper_bound(self, costs: FloatArray, argument: FloatArray) -> float:
        """Return an upper bound of the total: the total itself where it can be computed."""
        return self.total(costs, argument)

    @abstractmethod
    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add variables, constraints and cost; return the variables that measure violated margins, 0-1 if they count them."""

    @abstractmethod
    def cost_line(self) -> Line:
        """Return the printed loss in the objective, in the variables that `add` makes."""

    def bind(self, X: Points, y: FloatArray, sample_weight: FloatArray, curvature: FloatArray) -> Loss:
        """Return the loss with the fields set that depend on the data, such as `Conic`'s parameter γ; itself by default.

        Parameters
        ----------
        X, y, sample_weight
            The data, and the points' costs.
        curvature : ndarray (p,) or (p, p)
            D ⪰ 0, or its diagonal, such that the regulariser minus w'Dw is convex.

        Raises
        ------
        InputError
            Data or weights on which the loss cannot be stated.
        """
        return self

    @property
    def coefficients_to_bound(self) -> BoolArray | None:
        """Return the mask of the coefficients that need bounds, since the regulariser has no square of them; None if there are
        none.
        """
        return None

    def scores(self, values: Mapping[str, FloatArray], products: FloatArray, squares: FloatArray) -> FloatArray:
        """Return f(x) of new points from ``products`` x'w and ``squares`` x'x; x'w unless ``values`` hold a level of the loss."""
        return products

    def required_margin(self, values: Mapping[str, FloatArray]) -> float | None:
        """Return the margin from which on a point costs nothing: 1 by default; None if every margin costs."""
        return 1.0

    def conjugate(self) -> Conjugate | None:
        """Return the conjugate L*, from which the closed-form dual follows; None where the loss has none."""
        return None

    def multipliers(self, alpha: FloatArray, costs: FloatArray) -> dict[str, FloatArray]:
        """Return the multipliers of the loss's other rows from those of the rows ``margin``, α ≥ 0; empty without other rows."""
        return {}

    def convex_pieces(self) -> tuple[ConvexPiece, ...]:
        """Return convex functions whose pointwise minimum is the loss; empty if it is convex or no such pieces are known."""
        return ()

    def piecewise_linear(self) -> PiecewiseLinearLoss | None:
        """Return the loss as a piecewise-linear function that falls to 0, of the margin or its absolute value; None if it is
        not one.
        """
        return None

    def loss_table(self) -> LossTable | None:
        """Return the piecewise-linear loss of every point; None where a loss is of another kind."""
        loss = self.piecewise_linear()
        return None if loss is None else LossTable((loss,))

    @property
    def jumps(self) -> tuple[tuple[float, float], ...]:
        """Return the thresholds at which the loss jumps, each with its side: 1 if the loss is smaller at the threshold and above
        it, -1 if at and below it.
        """
        loss = self.piecewise_linear()
        if loss is None:
            return ()
        return tuple((t, 1.0) for t in loss.margins[loss.below > loss.at].tolist())

    @property
    def kinks(self) -> tuple[tuple[float, float], ...]:
        """Return the thresholds without a jump where a piecewise-linear loss changes its slope, with sides as in `jumps`."""
        loss = self.piecewise_linear()
        if loss is None or loss.symmetric:
            return ()
        return tuple((t, 1.0) for t in loss.margins[loss.below == loss.at].tolist())

    def blocks(self, classifier: FixedClassifier) -> dict[str, FloatArray]:
        """Return optimal values of the variables that `add` makes, for a given classifier; empty if they cannot be computed."""
        return {}

    def view(self, rows: Callable[[], FloatArray], costs: FloatArray, penalised: BoolArray, mu: float) -> object:
        """Return the record of min μ||w||² (penalised w_j) + Σ_i costs_i ℓ(a_i'w), μ > 0, that an algorithm reads, such as
        `ZeroOneProblem`; None without one.

        ``rows`` makes the dense matrix of the a_i, which may not fit in memory: only a loss that has a record calls it.
        """
        return None

    def is_nonnegative(self) -> bool:
        """Return whether no value is below 0, so that the objective bounds the regulariser."""
        return True

    @property
    def indicator_threshold(self) -> float | None:
        """Return t where the loss is 1{m < t}; None where it is another."""
        return None

    @property
    def switch_cost(self) -> float:
        """Return the least loss of a point, by default 0, if its switch (`AssemblyContext.big_m`) is turned off."""
        return 0.0

    def saturation(self) -> float:
        """Return a t such that the loss is linear on argument ≤ -t and on argument ≥ t; infinite if there is none."""
        return float("inf")


class ResidualLoss(Loss):
    """Base class of losses of the residuals y - x'w, whose y are numbers."""

    reads_class_labels: ClassVar[bool] = False
    of_residuals: ClassVar[bool] = True

    def rows(self, X: Points, y: FloatArray) -> tuple[sp.csr_array, FloatArray]:
        """Return -X and y, whose arguments are the residuals y - Xw."""
        return sp.csr_array(-sp.csr_array(X)), np.asarray(y, dtype=np.float64)
