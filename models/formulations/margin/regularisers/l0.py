"""A price for each coefficient that is not zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .....errors import InputError
from ....arrays import FloatArray, as_positive
from ....statement import Line, times
from ..assembly import Affine, Assembly
from .regulariser import Regulariser, Sparsity

__all__ = ["L0", "add_support", "support_lines"]


def add_support(builder: Assembly, w: Affine, span: FloatArray, label: str) -> Affine:
    """s in {0, 1} with |w_j| ≤ span_j s_j.

    Raises
    ------
    InputError
        Coefficients without a bound.
    """
    if not np.isfinite(span).all():
        raise InputError(
            "counting coefficients needs bounds on them: give the problem domain=Box(lower, upper) or Integers(lower, upper), or "
            "upper_bound= with a regulariser that bounds them (SquaredNorm, L1)"
        )
    s = builder.binaries(label, w.rows)
    builder.require_nonnegative(f"{label} above", s.scaled(span) - w)
    builder.require_nonnegative(f"{label} below", s.scaled(span) + w)
    return s


def support_lines(label: str) -> tuple[Line, ...]:
    """The rows of `add_support`."""
    return (
        Line("w_j <= u_j s_j", r"w_j \le u_j s_j", f"{label} above"),
        Line("w_j >= -u_j s_j", r"w_j \ge -u_j s_j", f"{label} below"),
        Line("s_j in {0, 1}", r"s_j\in\{0,1\}"),
    )


@dataclass(frozen=True)
class L0(Regulariser):
    """μ times the number of coefficients that are not zero: s in {0, 1}, |w_j| ≤ u_j s_j with u_j the domain's bound.

    Raises
    ------
    InputError
        μ ≤ 0; a domain without bounds (when the problem is compiled).
    """

    mu: float = 1.0

    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", as_positive(self.mu, "mu"))

    def value(self, w: FloatArray) -> float:
        """μ |{j : w_j ≠ 0}|."""
        return float(self.mu * np.count_nonzero(w))

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """s and its rows."""
        builder.cost(self.mu, add_support(builder, w, span, "s"))

    def cost_line(self) -> Line:
        """μ Σ s."""
        return times(self.mu, Line("sum_j s_j", r"\textstyle\sum_j s_j"))

    def lines(self) -> tuple[Line, ...]:
        """The rows of s."""
        return support_lines("s")

    @property
    def sparsity(self) -> Sparsity:
        """Itself."""
        return Sparsity(self.mu, 0.0)

    def blocks(self, w: FloatArray) -> dict[str, FloatArray]:
        """s."""
        return {"s": (w != 0.0).astype(np.float64)}
