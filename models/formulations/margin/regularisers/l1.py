"""The L1 norm, and with squares the elastic net."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....arrays import FloatArray, as_positive
from ....statement import Line, plus, times
from ..assembly import Affine, Assembly
from ..part import Polyhedral
from .regulariser import Regulariser, Sparsity

__all__ = ["L1", "ElasticNet"]


#: Coefficients up to which the norm is written by its atoms, a square matrix.
_FEW = 1000


def _absolute(builder: Assembly, w: Affine) -> Affine:
    """a ≥ |w|."""
    size = builder.variables("a", w.rows, 0.0)
    builder.require_nonnegative("size above", size - w)
    builder.require_nonnegative("size below", size + w)
    return size


def _atoms(p: int, mu: float, square: float) -> Polyhedral | None:
    """μ||w||_1 + square·||w||²."""
    return Polyhedral(np.eye(p) / mu, square) if p <= _FEW else None


_SUM = Line("sum_j a_j", r"\textstyle\sum_j a_j")
_LINES = (Line("w <= a", r"w \le a", "size above"), Line("w >= -a", r"w \ge -a", "size below"))


@dataclass(frozen=True)
class L1(Regulariser):
    """μ||w||_1: a ≥ |w|, cost μ Σ a_j.

    Raises
    ------
    InputError
        μ ≤ 0.
    """

    mu: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", as_positive(self.mu, "mu"))

    def value(self, w: FloatArray) -> float:
        """μ||w||_1."""
        return float(self.mu * np.abs(w).sum())

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """a and its rows."""
        builder.cost(self.mu, _absolute(builder, w))

    def cost_line(self) -> Line:
        """μ Σ a."""
        return times(self.mu, _SUM)

    def lines(self) -> tuple[Line, ...]:
        """The rows of a."""
        return _LINES

    def reach(self, level: float, rows: FloatArray) -> FloatArray:
        """||x||_∞ level/μ."""
        return np.asarray(np.abs(rows).max(axis=1, initial=0.0) * level / self.mu)

    def polyhedral(self, p: int) -> Polyhedral | None:
        """Axes for atoms."""
        return _atoms(p, self.mu, 0.0)

    def blocks(self, w: FloatArray) -> dict[str, FloatArray]:
        """a = |w|."""
        return {"a": np.abs(w)}

    @property
    def sparsity(self) -> Sparsity:
        """Itself."""
        return Sparsity(0.0, self.mu)


@dataclass(frozen=True)
class ElasticNet(Regulariser):
    """μ_1||w||_1 + μ_2||w||².

    Raises
    ------
    InputError
        A weight that is not > 0.
    """

    l1: float = 1.0
    l2: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "l1", as_positive(self.l1, "l1"))
        object.__setattr__(self, "l2", as_positive(self.l2, "l2"))

    def value(self, w: FloatArray) -> float:
        """μ_1||w||_1 + μ_2||w||²."""
        return float(self.l1 * np.abs(w).sum() + self.l2 * (w @ w))

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """a, its rows, and squares."""
        builder.cost(self.l1, _absolute(builder, w))
        builder.cost_of_squares(self.l2, w)

    def cost_line(self) -> Line:
        """μ_1 Σ a + μ_2||w||²."""
        return plus(times(self.l1, _SUM), times(self.l2, Line("||w||^2", r"\|w\|_2^2")))

    def lines(self) -> tuple[Line, ...]:
        """The rows of a."""
        return _LINES

    def curvature(self) -> float:
        """μ_2."""
        return self.l2

    def reach(self, level: float, rows: FloatArray) -> FloatArray:
        """The smaller of what each norm allows."""
        return np.minimum(L1(self.l1).reach(level, rows), np.linalg.norm(rows, axis=1) * np.sqrt(level / self.l2))

    def polyhedral(self, p: int) -> Polyhedral | None:
        """Axes for atoms, and squares."""
        return _atoms(p, self.l1, self.l2)

    def blocks(self, w: FloatArray) -> dict[str, FloatArray]:
        """a = |w|."""
        return {"a": np.abs(w)}
