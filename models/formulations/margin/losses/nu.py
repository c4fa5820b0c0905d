"""Losses with a free level ρ of the margin: ν-SVM and the one-class SVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ....arrays import FloatArray, Points, as_share
from ....statement import Line
from ..assembly import Affine, Assembly
from ..part import Setting
from .conjugate import Conjugate, LevelConjugate
from .loss import Loss

__all__ = ["NuHinge", "OneClass"]


@dataclass(frozen=True)
class NuHinge(Loss):
    """Σ_i c_i (ρ - m_i)_+ - ν ρ Σ_i c_i, minimised over ρ ≥ 0: Schölkopf, Smola, Williamson, Bartlett, 2000, (3).

    With ½||w||² and c_i = 1/n: ν bounds the share of points within the margin from above, that of support vectors from below.
    Rows ξ_i ≥ 0 and m_i + ξ_i - ρ ≥ 0.

    Raises
    ------
    InputError
        ν outside (0, 1].
    """

    nu: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "nu", as_share(self.nu, "nu"))

    def values(self, argument: FloatArray) -> FloatArray:
        """(ρ - m_i)_+ - νρ at the best ρ for equal costs."""
        rho = self._level(np.ones(argument.size), argument)
        return np.maximum(rho - argument, 0.0) - self.nu * rho

    def total(self, costs: FloatArray, argument: FloatArray) -> float:
        """The sum at the best ρ."""
        rho = self._level(costs, argument)
        return float(costs @ (np.maximum(rho - argument, 0.0) - self.nu * rho))

    def _level(self, costs: FloatArray, argument: FloatArray) -> float:
        """The best ρ ≥ 0: the cost of points below it reaches ν of all there."""
        order = np.argsort(argument, kind="stable")
        reached = np.cumsum(costs[order]) >= self.nu * costs.sum() * (1.0 - 1e-12)
        return max(float(argument[order][np.argmax(reached)]), 0.0)

    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """ρ, ξ and their rows."""
        n = context.argument.rows
        rho = builder.variables("rho", 1, 0.0)
        xi = builder.variables("xi", n, 0.0)
        builder.require_nonnegative("margin", context.argument + xi - rho.under(np.ones((n, 1))))
        builder.cost(context.weights, xi)
        builder.cost(-self.nu * float(context.weights.sum()), rho)
        return None

    def conjugate(self) -> Conjugate:
        """0 on 0 ≤ α ≤ c, Σα ≥ νΣc."""
        return LevelConjugate("margin", self.nu)

    def nonnegative(self) -> bool:
        """No: -νρ is not."""
        return False

    def cost_line(self) -> Line:
        """Σ c_i ξ_i - ν ρ Σ c_i."""
        return Line(f"sum_i c_i xi_i - {self.nu:g} rho sum_i c_i", rf"\textstyle\sum_i c_i\xi_i - {self.nu:g}\rho\sum_i c_i")

    def lines(self) -> tuple[Line, ...]:
        """Rows of slack and level."""
        return (
            Line("y_i x_i'w >= rho - xi_i", r"y_i x_i^\top w \ge \rho - \xi_i", "margin"),
            Line("xi_i >= 0, rho >= 0", r"\xi_i \ge 0,\ \rho \ge 0"),
        )


@dataclass(frozen=True)
class OneClass(NuHinge):
    """The one-class SVM's: as `NuHinge` with x_i'w in place of margins, y is not read; Schölkopf et al., 2001, (3.4).

    With ½||w||² and c_i = 1/(νn), scikit-learn's ``OneClassSVM`` times ν is this problem with c_i = 1/n.
    """

    labels: ClassVar[bool] = False
    intercept: ClassVar[bool] = False

    def rows(self, X: Points, y: FloatArray) -> tuple[sp.csr_array, FloatArray]:
        """Scores Xw."""
        return sp.csr_array(X), np.zeros(X.shape[0])

    def conjugate(self) -> Conjugate:
        """Return the conjugate of `NuHinge`, at scores."""
        return LevelConjugate("margin", self.nu, signed=False)

    def scores(self, values: Mapping[str, FloatArray], products: FloatArray, squares: FloatArray) -> FloatArray:
        """x'w - ρ: negative outside."""
        return np.asarray(products - values["rho"][0])

    def lines(self) -> tuple[Line, ...]:
        """Rows of slack and level."""
        return (
            Line("x_i'w >= rho - xi_i", r"x_i^\top w \ge \rho - \xi_i", "margin"),
            Line("xi_i >= 0, rho >= 0", r"\xi_i \ge 0,\ \rho \ge 0"),
        )
