"""One point's hull at a time, each with all of ||w||²: Conic Theorem 1 for any loss with branches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...models.formulations.margin.assembly import Affine, Assembly
from ...models.formulations.margin.part import Setting
from ...models.program.cones import RotatedSecondOrder
from ...models.statement import Line
from .bounding import BoundingLoss
from .hulls import split_margins, union_lines

__all__ = ["SingleHulls"]


@dataclass(frozen=True, eq=False)
class SingleHulls(BoundingLoss):
    """τ ≥ μ||w||² + γ_i (Σ_k m_ik²/z_ik - m_i²) for every i, γ_i = μ/||x_i||², in place of μ||w||².

    Every row is the hull of one point's loss with the norm; all of them together are at most the SDP (`LiftedHulls`), since with
    multipliers of sum 1 the γ_i times them are in Γ.
    """

    mu: float
    reach: bool = True

    def add(self, to: Assembly, at: Setting) -> Affine | None:
        """τ, and a cone for each point that is not zero: 2·½(τ - γ_i Σ q_ik)·1 ≥ μ||(I - x_i x_i'/||x_i||²)w||²."""
        tau = to.variables("tau", 1, 0.0)
        to.cost(1.0, tau)
        to.gain_of_squares(self.mu, at.w)
        pieces = split_margins(to, at, self.of.convex_pieces(), self.reach, squares=True)
        A = at.argument.terms["w"].dense()
        squares = np.einsum("ij,ij->i", A, A)
        p = at.w.rows
        for i in np.flatnonzero(squares > 0).tolist():
            head = tau
            for q in pieces.squares:
                head = head - q.at([i]).scaled(self.mu / squares[i])
            unit = A[i] / np.sqrt(squares[i])
            rest = at.w.under(np.sqrt(self.mu) * (np.eye(p) - np.outer(unit, unit)))
            top = sp.csr_array(([0.5], ([0], [0])), shape=(p + 2, 1))
            below = sp.csr_array((np.ones(p), (np.arange(2, p + 2), np.arange(p))), shape=(p + 2, p))
            one = np.zeros(p + 2)
            one[1] = 1.0
            to.require(f"hull {i}", head.under(top) + rest.under(below) + one, RotatedSecondOrder(p + 2))
        return None

    def cost_line(self) -> Line:
        """τ in place of the norm."""
        return Line(
            f"tau - {self.mu:g} ||w||^2 + sum_i c_i sum_k f_k(m_ik, z_ik)",
            rf"\tau - {self.mu:g}\|w\|_2^2 + \textstyle\sum_i c_i\sum_k f_k^\pi(m_{{ik}}, z_{{ik}})",
        )

    def lines(self) -> tuple[Line, ...]:
        """Unions and hulls."""
        hull = Line(
            "tau >= mu ||w||^2 + mu/||x_i||^2 (sum_k m_ik^2/z_ik - (x_i'w)^2)",
            r"\tau \ge \mu\|w\|_2^2 + \tfrac{\mu}{\|x_i\|^2}\bigl(\textstyle\sum_k m_{ik}^2/z_{ik} - (x_i^\top w)^2\bigr)",
            "hull 0, ...",
        )
        return (*union_lines(), hull)
