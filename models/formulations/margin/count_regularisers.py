"""Regularisers that count coefficients, with a price of their size and a limit of their number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....errors import InputError
from ...arrays import FloatArray, as_integer, as_positive
from ...program.cones import Nonnegative
from ...statement import Line, plus, times
from .assembly import Affine, Assembly
from .regularisers import L1, Regulariser, Sparsity


def add_support(builder: Assembly, w: Affine, span: FloatArray, label: str) -> Affine:
    """s in {0, 1} with |w_j| ≤ span_j s_j."""
    if not np.isfinite(span).all():
        raise InputError(
            "counting coefficients needs bounds on them: give the problem domain=Box(lower, upper) or Integers(lower, upper), or "
            "upper_bound= with a regulariser that bounds them (SquaredNorm, L1)",
            name="domain",
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

    Parameters
    ----------
    mu : float
        μ > 0.

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
        """State the rows of s."""
        return support_lines("s")

    @property
    def sparsity(self) -> Sparsity:
        """Return the regulariser itself."""
        return Sparsity(self.mu, 0.0)

    def blocks(self, w: FloatArray) -> dict[str, FloatArray]:
        """Return the values of s."""
        return {"s": (w != 0.0).astype(np.float64)}


@dataclass(frozen=True)
class L0L1(Regulariser):
    """μ_0 ||w||_0 + μ_1 ||w||_1, infinite beyond k non-zero coefficients: Ustun and Rudin, 2015, (4).

    Blocks ``s`` in {0, 1}, |w_j| ≤ u_j s_j with u_j the domain's bound, where non-zero coefficients are counted, and ``a`` ≥ |w|
    where μ_1 > 0.

    Parameters
    ----------
    mu0, mu1 : float
        ≥ 0.
    k : int, optional
        Non-zero coefficients at most; any number where it is not given.

    Raises
    ------
    InputError
        A price below 0, a limit that is no integer ≥ 0; a domain without bounds (when the problem is compiled).
    """

    mu0: float = 0.0
    mu1: float = 0.0
    k: int | None = None

    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("mu0", "mu1"):
            object.__setattr__(self, name, as_positive(getattr(self, name), name, zero=True))
        if self.k is not None:
            object.__setattr__(self, "k", as_integer(self.k, "k"))

    @property
    def counts(self) -> bool:
        """Return whether non-zero coefficients are counted."""
        return self.mu0 > 0 or self.k is not None

    def value(self, w: FloatArray) -> float:
        """Both prices; infinite beyond the limit."""
        count = int(np.count_nonzero(w))
        if self.k is not None and count > self.k:
            return float("inf")
        return float(self.mu0 * count + self.mu1 * np.abs(w).sum())

    def add(self, builder: Assembly, w: Affine, span: FloatArray) -> None:
        """s and a with their rows, and the limit."""
        if self.counts:
            s = add_support(builder, w, span, "s")
            builder.cost(self.mu0, s)
            if self.k is not None:
                builder.require("s count", -s.premultiplied(np.ones((1, w.rows))) + float(min(self.k, w.rows)), Nonnegative(1))
        if self.mu1 > 0:
            L1(self.mu1).add(builder, w, span)

    def cost_line(self) -> Line:
        """μ_0 Σ s + μ_1 Σ a."""
        terms = [(mu, f"sum_j {v}_j", rf"\textstyle\sum_j {v}_j") for mu, v in ((self.mu0, "s"), (self.mu1, "a")) if mu > 0]
        return plus(*(times(mu, Line(text, latex)) for mu, text, latex in terms))

    def lines(self) -> tuple[Line, ...]:
        """State the rows of s and a."""
        rows = support_lines("s") if self.counts else ()
        if self.k is not None:
            rows = (*rows, Line(f"sum_j s_j <= {self.k}", rf"\textstyle\sum_j s_j \le {self.k}", "s count"))
        return (*rows, *L1(1.0).lines()) if self.mu1 > 0 else rows

    @property
    def sparsity(self) -> Sparsity:
        """Return the regulariser itself."""
        return Sparsity(self.mu0, self.mu1, self.k)

    def blocks(self, w: FloatArray) -> dict[str, FloatArray]:
        """s and a, of which the form has what is counted or priced."""
        return {"s": (w != 0.0).astype(np.float64), "a": np.abs(w)}
