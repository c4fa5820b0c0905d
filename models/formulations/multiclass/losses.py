"""Losses of a point with several classes, as functions of its margins m_ik = (w_{y_i} - w_k)'x_i against the other classes k."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ...arrays import FloatArray
from ...statement import Line
from ..margin.assembly import Affine, Assembly

__all__ = ["CLASS_LOSSES", "ClassLoss", "CrammerSinger", "WestonWatkins", "ZeroOneClasses"]


class ClassLoss(ABC):
    """A cost of the margins m_ik, k ≠ y_i, of each point; they come as an array with K - 1 columns.

    Attributes
    ----------
    convex : bool
    title, source : str
    """

    convex: ClassVar[bool] = True
    title: ClassVar[str]
    source: ClassVar[str]

    @abstractmethod
    def values(self, margins: FloatArray) -> FloatArray:
        """The loss of each point."""

    @abstractmethod
    def add(self, to: Assembly, margins: Affine, costs: FloatArray, others: int, big_m: FloatArray) -> None:
        """Its variables, rows ``margin`` and cost; ``others`` rows of ``margins`` belong to each point."""

    @abstractmethod
    def cost_line(self) -> Line:
        """Its share of the objective."""

    @abstractmethod
    def lines(self) -> tuple[Line, ...]:
        """Its constraints."""

    @property
    @abstractmethod
    def dual_line(self) -> Line | None:
        """The conditions on the multipliers α_ik ≥ 0 of the margins beyond their sums; None where there is no dual."""

    @abstractmethod
    def repaired(self, alpha: FloatArray, costs: FloatArray) -> FloatArray:
        """Multipliers (n × others) moved into the dual's feasible set."""

    @abstractmethod
    def slack(self, margins: FloatArray) -> dict[str, FloatArray]:
        """The values of its variables for given margins."""


def _repeated(n: int, others: int) -> sp.csr_array:
    """From one number for each point to one for each of its rows."""
    return sp.csr_array(sp.kron(sp.eye_array(n), np.ones((others, 1)), format="csr"))


class CrammerSinger(ClassLoss):
    """max_k (1 - m_ik)_+: the worst of the other classes counts."""

    title = "Crammer and Singer"
    source = "Crammer, Singer: On the algorithmic implementation of multiclass kernel-based vector machines, 2001, (8)"

    def values(self, margins: FloatArray) -> FloatArray:
        """max_k (1 - m_ik)_+."""
        return np.maximum(1.0 - margins, 0.0).max(axis=1)

    def add(self, to: Assembly, margins: Affine, costs: FloatArray, others: int, big_m: FloatArray) -> None:
        """One ξ for each point."""
        xi = to.variables("xi", costs.size, 0.0)
        to.require_nonnegative("margin", margins + xi.under(_repeated(costs.size, others)) - 1.0)
        to.cost(costs, xi)

    def cost_line(self) -> Line:
        """Σ c_i ξ_i."""
        return Line("sum_i c_i xi_i", r"\textstyle\sum_i c_i\xi_i")

    def lines(self) -> tuple[Line, ...]:
        """Rows of the slack."""
        return (
            Line("(w_(y_i) - w_k)'x_i >= 1 - xi_i, k != y_i", r"(w_{y_i} - w_k)^\top x_i \ge 1 - \xi_i,\quad k\ne y_i", "margin"),
            Line("xi_i >= 0", r"\xi_i \ge 0"),
        )

    @property
    def dual_line(self) -> Line:
        """Σ_k α_ik ≤ c_i."""
        return Line("sum_k alpha_ik <= c_i", r"\textstyle\sum_{k\ne y_i} \alpha_{ik} \le c_i")

    def repaired(self, alpha: FloatArray, costs: FloatArray) -> FloatArray:
        """Clipped at 0; each point's scaled down where they come to more than c_i."""
        clipped = np.maximum(alpha, 0.0)
        total = clipped.sum(axis=1) * (1.0 + 4e-16 * clipped.shape[1])
        factor = np.where(total > costs, costs / np.where(total > 0, total, 1.0), 1.0)
        return np.asarray(clipped * (factor * np.where(total > costs, 1.0 - 1e-15, 1.0))[:, None])

    def slack(self, margins: FloatArray) -> dict[str, FloatArray]:
        """ξ."""
        return {"xi": self.values(margins)}


class WestonWatkins(ClassLoss):
    """Σ_k (1 - m_ik)_+: every other class counts."""

    title = "Weston and Watkins"
    source = (
        "Weston, Watkins: Support vector machines for multi-class pattern recognition, 1999, (3), with margin 1 in place of 2"
    )

    def values(self, margins: FloatArray) -> FloatArray:
        """Σ_k (1 - m_ik)_+."""
        return np.maximum(1.0 - margins, 0.0).sum(axis=1)

    def add(self, to: Assembly, margins: Affine, costs: FloatArray, others: int, big_m: FloatArray) -> None:
        """One ξ for each row."""
        xi = to.variables("xi", margins.rows, 0.0)
        to.require_nonnegative("margin", margins + xi - 1.0)
        to.cost(np.repeat(costs, others), xi)

    def cost_line(self) -> Line:
        """Σ c_i ξ_ik."""
        return Line("sum_i c_i sum_(k != y_i) xi_ik", r"\textstyle\sum_i c_i\sum_{k\ne y_i}\xi_{ik}")

    def lines(self) -> tuple[Line, ...]:
        """Rows of the slack."""
        return (
            Line(
                "(w_(y_i) - w_k)'x_i >= 1 - xi_ik, k != y_i",
                r"(w_{y_i} - w_k)^\top x_i \ge 1 - \xi_{ik},\quad k\ne y_i",
                "margin",
            ),
            Line("xi_ik >= 0", r"\xi_{ik} \ge 0"),
        )

    @property
    def dual_line(self) -> Line:
        """α_ik ≤ c_i."""
        return Line("alpha_ik <= c_i", r"\alpha_{ik} \le c_i")

    def repaired(self, alpha: FloatArray, costs: FloatArray) -> FloatArray:
        """Clipped to [0, c_i]."""
        return np.clip(alpha, 0.0, costs[:, None])

    def slack(self, margins: FloatArray) -> dict[str, FloatArray]:
        """ξ, row by row."""
        return {"xi": np.maximum(1.0 - margins, 0.0).ravel()}


class ZeroOneClasses(ClassLoss):
    """1{some m_ik < 1}: a point costs c_i unless it beats every other class by 1, in one mixed-integer program."""

    convex = False
    title = "0-1 loss"
    source = "Conic (3) with the margins of Crammer and Singer (8)"

    def values(self, margins: FloatArray) -> FloatArray:
        """1{min_k m_ik < 1}; margins within 1e-9 of 1 count as met."""
        return (margins.min(axis=1) < 1.0 - 1e-9).astype(np.float64)

    def add(self, to: Assembly, margins: Affine, costs: FloatArray, others: int, big_m: FloatArray) -> None:
        """One z for each point, and a row for each other class."""
        z = to.binaries("z", costs.size)
        to.switch("margin", z.under(_repeated(costs.size, others)), margins - 1.0, np.repeat(big_m, others))
        to.cost(costs, z)

    def cost_line(self) -> Line:
        """Σ c_i z_i."""
        return Line("sum_i c_i z_i", r"\textstyle\sum_i c_i z_i")

    def lines(self) -> tuple[Line, ...]:
        """Rows of the switch."""
        return (
            Line(
                "(w_(y_i) - w_k)'x_i >= 1 - M_i z_i, k != y_i",
                r"(w_{y_i} - w_k)^\top x_i \ge 1 - M_i z_i,\quad k\ne y_i",
                "margin",
            ),
            Line("z_i in {0, 1}", r"z_i\in\{0,1\}"),
        )

    @property
    def dual_line(self) -> None:
        """None."""

    def repaired(self, alpha: FloatArray, costs: FloatArray) -> FloatArray:
        """Zero: nothing is known."""
        return np.zeros_like(alpha)

    def slack(self, margins: FloatArray) -> dict[str, FloatArray]:
        """z."""
        return {"z": self.values(margins)}


CLASS_LOSSES: Mapping[str, ClassLoss] = {
    "crammer-singer": CrammerSinger(),
    "weston-watkins": WestonWatkins(),
    "zero-one": ZeroOneClasses(),
}
