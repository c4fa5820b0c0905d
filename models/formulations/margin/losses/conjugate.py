"""Conjugates of convex losses: what the closed-form dual of a composed problem is made of.

With L(a) = Σ of the losses at the arguments a = Aw + c and R(w) = μ||w||² on the penalised coefficients,

    min_w R(w) + L(Aw + c) = max_β c'β - L*(β) - ||A_P'β||²/(4μ)   over β with A_F'β = 0,

P the penalised coefficients and F the free ones; w_P = -A_P'β/(2μ) at an optimum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ....arrays import BoolArray, FloatArray, Points
from ....statement import Line

__all__ = ["BallConjugate", "Conjugate", "HingeConjugate", "HullsConjugate", "InsensitiveConjugate", "LevelConjugate"]


class Conjugate(ABC):
    """-L*(β), where it is finite, and how β follows from multipliers of the form's rows."""

    @abstractmethod
    def point(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """β from multipliers of any quality, moved to where L* is finite."""

    @abstractmethod
    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """-L*(β)."""

    @property
    @abstractmethod
    def objective(self) -> Line:
        """-L*(β), with β = -α or as it is; nothing where it is zero."""

    @property
    @abstractmethod
    def constraints(self) -> tuple[Line, ...]:
        """Where L* is finite."""

    @property
    def balanced(self) -> bool:
        """Whether `point` gives A'β = 0, so that there is a dual without a regulariser."""
        return False

    @property
    def kkt(self) -> tuple[Line, ...]:
        """What an optimum satisfies beyond what the norm says."""
        return ()

    @property
    def sign(self) -> float:
        """β = sign · the dual variable that is printed: α with -1, β itself or α with 1."""
        return -1.0

    @property
    def symbol(self) -> Line:
        """The dual variable."""
        return Line("alpha", r"\alpha")


@dataclass(frozen=True)
class HingeConjugate(Conjugate):
    """Of Σ c (1 - m)_+: Σα on 0 ≤ α ≤ c, β = -α; of its square: Σα - α²/(4c), α ≥ 0."""

    squared: bool = False

    def point(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Multipliers of ``margin``, clipped."""
        return -np.clip(multipliers["margin"], 0.0, np.inf if self.squared else costs)

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """Σα, less α²/(4c)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            square = np.where(beta != 0, beta**2 / (4.0 * costs), 0.0) if self.squared else np.zeros(beta.size)
        return float(-beta.sum() - square.sum())

    @property
    def objective(self) -> Line:
        """Σα, less α²/(4c)."""
        if self.squared:
            return Line("sum_i alpha_i - alpha_i^2/(4 c_i)", r"\textstyle\sum_i \alpha_i - \tfrac{\alpha_i^2}{4c_i}")
        return Line("sum_i alpha_i", r"\textstyle\sum_i\alpha_i")

    @property
    def constraints(self) -> tuple[Line, ...]:
        """The interval."""
        if self.squared:
            return (Line("alpha_i >= 0", r"\alpha_i \ge 0"),)
        return (Line("0 <= alpha_i <= c_i", r"0\le\alpha_i\le c_i"),)


@dataclass(frozen=True)
class InsensitiveConjugate(Conjugate):
    """Of Σ c (|r| - ε)_+: -ε|β| on |β| ≤ c; of its square: -ε|β| - β²/(4c)."""

    epsilon: float
    squared: bool = False

    def point(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Multipliers of ``below`` less those of ``above``, clipped."""
        beta = np.maximum(multipliers["below"], 0.0) - np.maximum(multipliers["above"], 0.0)
        return beta if self.squared else np.clip(beta, -costs, costs)

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """-ε|β|, less β²/(4c)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            square = np.where(beta != 0, beta**2 / (4.0 * costs), 0.0) if self.squared else np.zeros(beta.size)
        return float(-self.epsilon * np.abs(beta).sum() - square.sum())

    @property
    def objective(self) -> Line:
        """-ε|β|, less β²/(4c)."""
        more = (" - beta_i^2/(4 c_i)", r" - \tfrac{\beta_i^2}{4c_i}") if self.squared else ("", "")
        e = f"{self.epsilon:g}"
        text = f"sum_i y_i beta_i - {e} |beta_i|{more[0]}"
        return Line(text, rf"\textstyle\sum_i y_i\beta_i - {e}\,|\beta_i|{more[1]}")

    @property
    def constraints(self) -> tuple[Line, ...]:
        """The interval."""
        if self.squared:
            return ()
        return (Line("|beta_i| <= c_i", r"|\beta_i| \le c_i"),)

    @property
    def sign(self) -> float:
        """As it is."""
        return 1.0

    @property
    def symbol(self) -> Line:
        """β, of either sign."""
        return Line("beta", r"\beta")


@dataclass(frozen=True)
class LevelConjugate(Conjugate):
    """Of a loss with a level of its own: 0 on 0 ≤ α ≤ c with Σα ≥ ν Σc (``share`` ν), or with Σα = 1 (no share).

    β = -α where the loss falls with its argument (ν-SVM), α where it rises (the ball).
    """

    label: str
    share: float | None
    falls: bool = True

    def point(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Multipliers of the rows, clipped, then scaled or filled up to the sum that is asked for."""
        alpha = np.clip(multipliers[self.label], 0.0, costs)
        wanted = 1.0 if self.share is None else self.share * float(costs.sum())
        total = float(alpha.sum())
        if self.share is None and total > wanted:
            alpha = alpha * (wanted / total)
        elif total < wanted:
            room = costs - alpha
            alpha = alpha + room * min((wanted - total) / max(float(room.sum()), 1e-300), 1.0)
        return self.sign * alpha

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """0."""
        return 0.0

    @property
    def objective(self) -> Line:
        """Nothing, or what the constant part of the arguments gives."""
        return Line("", "") if self.falls else Line("sum_i alpha_i x_i'x_i", r"\textstyle\sum_i\alpha_i x_i^\top x_i")

    @property
    def constraints(self) -> tuple[Line, ...]:
        """Interval and sum."""
        box = Line("0 <= alpha_i <= c_i", r"0\le\alpha_i\le c_i")
        if self.share is None:
            return (box, Line("sum_i alpha_i = 1", r"\textstyle\sum_i\alpha_i = 1"))
        nu = f"{self.share:g}"
        return (box, Line(f"sum_i alpha_i >= {nu} sum_i c_i", rf"\textstyle\sum_i\alpha_i \ge {nu}\sum_i c_i"))

    @property
    def sign(self) -> float:
        """-1 where the loss falls."""
        return -1.0 if self.falls else 1.0


@dataclass(frozen=True, eq=False)
class HullsConjugate(Conjugate):
    """Of two levels with squared slack (`NearestHulls`): -Σ α²/(2c) where α ≥ 0 sums to 1 in each class, β = -α."""

    positive: BoolArray
    negative: BoolArray

    def point(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Multipliers of ``margin``, clipped and scaled to sum to 1 in each class."""
        alpha = np.where(costs > 0, np.maximum(multipliers["margin"], 0.0), 0.0)
        for chosen in (self.positive, self.negative):
            there = chosen & (costs > 0)
            total = float(alpha[there].sum())
            alpha[there] = alpha[there] / total if total > 0 else 1.0 / int(there.sum())
        return -alpha

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """-Σ α²/(2c)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return -0.5 * float(np.where(beta != 0, beta**2 / costs, 0.0).sum())

    @property
    def objective(self) -> Line:
        """-Σ α²/(2c)."""
        return Line("-sum_i alpha_i^2/(2 c_i)", r"-\textstyle\sum_i \tfrac{\alpha_i^2}{2c_i}")

    @property
    def constraints(self) -> tuple[Line, ...]:
        """Two simplices."""
        return (
            Line("sum over y_i = 1 of alpha_i = 1", r"\textstyle\sum_{y_i=1}\alpha_i = 1"),
            Line("sum over y_i = -1 of alpha_i = 1", r"\textstyle\sum_{y_i=-1}\alpha_i = 1"),
            Line("alpha_i >= 0", r"\alpha_i \ge 0"),
        )


@dataclass(frozen=True, eq=False)
class BallConjugate(Conjugate):
    """Of max_i c_i ||x_i - w||² (`EnclosingBall`): β = (b, g) with b_i = c_i a_i, a in the simplex, B = Σb: -||g||²/(4B).

    A'β = g - 2X'b vanishes at g = 2X'b, and the dual is Σ b_i x_i'x_i - ||X'b||²/B.
    """

    X: Points

    def point(self, multipliers: Mapping[str, FloatArray], costs: FloatArray) -> FloatArray:
        """Multipliers of ``inside``, clipped and scaled to sum to 1, and the g that belongs to them."""
        n = self.X.shape[0]
        a = np.where(costs[:n] > 0, np.maximum(multipliers["inside"], 0.0), 0.0)
        total = float(a.sum())
        a = a / total if total > 0 else np.where(costs[:n] > 0, 1.0, 0.0) / max(int((costs[:n] > 0).sum()), 1)
        b = costs[:n] * a
        return np.concatenate([b, 2.0 * np.asarray(self.X.T @ b)])

    def value(self, beta: FloatArray, costs: FloatArray) -> float:
        """-||g||²/(4B)."""
        n = self.X.shape[0]
        g = beta[n:]
        return -float(g @ g) / (4.0 * float(beta[:n].sum()))

    @property
    def balanced(self) -> bool:
        """By its choice of g."""
        return True

    @property
    def objective(self) -> Line:
        """Σ a_i c_i x_i'x_i - ||Σ a_i c_i x_i||²/Σ a_i c_i."""
        return Line(
            "sum_i a_i c_i x_i'x_i - ||sum_i a_i c_i x_i||^2/sum_i a_i c_i",
            r"\textstyle\sum_i a_i c_i x_i^\top x_i - \bigl\|\sum_i a_i c_i x_i\bigr\|_2^2 / \sum_i a_i c_i",
        )

    @property
    def constraints(self) -> tuple[Line, ...]:
        """The simplex."""
        return (Line("sum_i a_i = 1", r"\textstyle\sum_i a_i = 1"), Line("a_i >= 0", r"a_i \ge 0"))

    @property
    def kkt(self) -> tuple[Line, ...]:
        """The centre."""
        return (Line("w = sum_i a_i c_i x_i/sum_i a_i c_i", r"w = \textstyle\sum_i a_i c_i x_i / \sum_i a_i c_i"),)

    @property
    def sign(self) -> float:
        """As it is."""
        return 1.0

    @property
    def symbol(self) -> Line:
        """a, of the simplex."""
        return Line("a", "a")
