"""Convex hulls of the points' losses together with a square: a loss that is the least of convex branches, relaxed.

For a loss ℓ = min_k f_k and γ ≥ 0 the convex envelope of c ℓ(m) + γ m² is, by the hull of a union (Ceria and Soares, 1999),

    min Σ_k c f_k^π(m_k, z_k) + γ m_k²/z_k   over Σ z_k = 1, Σ m_k = m, z ≥ 0,

f^π(m, z) = z f(m/z) the perspective. What is taken back, γ m² for each point, is made up for by the regulariser:
R(w) - Σ γ_i (x_i'w)² stays convex for γ in Γ. For the 0-1 loss this is Conic (13), for the ramp the same construction with the
ramp's two branches.
Bounds of the margins, which an optimal w keeps, are multiplied by z_k and hold for every m_k.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...models.arrays import FloatArray
from ...models.formulations.margin.assembly import Affine, Assembly
from ...models.formulations.margin.losses.branch import Branch
from ...models.formulations.margin.part import Setting
from ...models.program.cones import RotatedSecondOrder, Zero
from ...models.statement import Line
from .bounding import BoundingLoss

__all__ = ["Pieces", "PointHulls", "split_margins"]


@dataclass(frozen=True, eq=False)
class Pieces:
    """z_k and m_k of every point, one expression for each branch, the squares over z_k, ends of m_k/z_k, and bounds of |m|."""

    z: tuple[Affine, ...]
    m: tuple[Affine, ...]
    squares: tuple[Affine, ...]
    ends: tuple[tuple[FloatArray, FloatArray], ...]
    bound: FloatArray


def split_margins(to: Assembly, at: Setting, branches: tuple[Branch, ...], reach: bool, squares: bool) -> Pieces:
    """The union of the branches: variables, rows and cost."""
    n = at.argument.rows
    whole, one = -at.argument, Affine({}, np.full(n, -1.0))
    bound = at.reach if reach else np.full(n, np.inf)
    z, m, q, ends = [], [], [], []
    for k, branch in enumerate(branches):
        low, high = np.maximum(branch.low, -bound), np.minimum(branch.high, bound)
        chosen = to.variables(f"z {k}", n, 0.0, 1.0)
        part = to.variables(f"m {k}", n, np.minimum(low, 0.0), np.maximum(high, 0.0))
        for name, side, sign in (("from", low, 1.0), ("to", high, -1.0)):
            there = np.flatnonzero(np.isfinite(side))
            to.require_nonnegative(f"m {k} {name}", (part.at(there) - chosen.at(there).scaled(side[there])).scaled(sign))
        _cost(to, at.weights, branch, part, chosen, k)
        if squares:
            top = np.where(np.isfinite(bound), bound, np.inf) ** 2
            square = to.variables(f"q {k}", n, 0.0, top)
            to.require(f"square {k}", Affine.interleaved(square.scaled(0.5), chosen, part), RotatedSecondOrder(3, n))
            q.append(square)
        z.append(chosen)
        m.append(part)
        ends.append((low, high))
        whole, one = whole + part, one + chosen
    to.require("whole", whole, Zero(n))
    to.require("one branch", one, Zero(n))
    return Pieces(tuple(z), tuple(m), tuple(q), tuple(ends), bound)


def _cost(to: Assembly, costs: FloatArray, branch: Branch, part: Affine, chosen: Affine, k: int) -> None:
    """c times the perspective of the lines' maximum."""
    lines = [part.scaled(s) + chosen.scaled(t) for s, t in branch.lines]
    if len(lines) == 1:
        to.cost(costs, lines[0])
        return
    tau = to.variables(f"cost {k}", part.rows)
    for i, line in enumerate(lines):
        to.require_nonnegative(f"cost {k}, line {i}", tau - line)
    to.cost(costs, tau)


@dataclass(frozen=True, eq=False)
class PointHulls(BoundingLoss):
    """The hull of every point's loss with γ_i m_i², less γ_i m_i², at one γ in Γ.

    Parameters
    ----------
    of : Loss
        With branches.
    gamma : ndarray (n,)
    reach : bool
        Whether bounds of the margins count.
    """

    gamma: FloatArray = field(repr=False)
    reach: bool = True

    def add(self, to: Assembly, at: Setting) -> Affine | None:
        """The branches, and the squares."""
        pieces = split_margins(to, at, self.of.convex_pieces(), self.reach, squares=True)
        for q in pieces.squares:
            to.cost(self.gamma, q)
        to.gain_of_squares(self.gamma, at.argument)
        return None

    def cost_line(self) -> Line:
        """Perspectives, and what is taken back."""
        return Line(
            "sum_i (c_i sum_k f_k(m_ik, z_ik) + g_i (sum_k m_ik^2/z_ik - (y_i x_i'w)^2))",
            r"\textstyle\sum_i \Bigl(c_i\sum_k f_k^\pi(m_{ik}, z_{ik}) + \gamma_i\bigl(\sum_k \tfrac{m_{ik}^2}{z_{ik}}"
            r" - (y_i x_i^\top w)^2\bigr)\Bigr)",
        )

    def lines(self) -> tuple[Line, ...]:
        """The union."""
        return union_lines()


def union_lines() -> tuple[Line, ...]:
    """Of the hull of a union."""
    return (
        Line("sum_k m_ik = y_i x_i'w", r"\textstyle\sum_k m_{ik} = y_i x_i^\top w", "whole"),
        Line("sum_k z_ik = 1, z >= 0", r"\textstyle\sum_k z_{ik} = 1,\ z\ge 0", "one branch"),
    )
