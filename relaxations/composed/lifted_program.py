"""All γ in Γ at once: ww' lifted to W, hulls of the points' losses with x_i'W x_i, and hulls of two points at once.

With R(w) = μ||w||² + R'(w) and W standing for ww', [1 w'; w W] ⪰ 0,

    min R'(w) + μ Tr W + Σ c_i Σ_k f_k^π(m_ik, z_ik)   subject to   x_i'W x_i ≥ Σ_k m_ik²/z_ik and the unions of `hulls`:

the dual of maximising `PointHulls` over γ in Γ (γ_i the multiplier of point i's row; Conic (21) for the 0-1 loss).

*Two points at once*: for a pair (i, j) and branches (k, l) there are z_kl ≥ 0 with the marginals z_ik and z_jl, and a vector
m_kl of R² with the marginals m_ik, m_jl, lifted to M_kl: [z_kl m_kl'; m_kl M_kl] ⪰ 0, Σ_kl M_kl = (a_i, a_j)'W(a_i, a_j). Ends
of the branches, (m_i - a z) ≥ 0 and (m_j - b z) ≥ 0, are multiplied with each other: M_12 - b m_i - a m_j + ab z ≥ 0. *Valid*: at
a point of the original one (k, l) has z_kl = 1, m_kl = (m_i, m_j), M_kl = mm', the others are zero, and every row holds.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from ...models.arrays import FloatArray
from ...models.formulations.margin.assembly import Affine, Assembly
from ...models.formulations.margin.part import Setting
from ...models.program.cones import PSD, Zero
from ...models.program.svec import svec, svec_indices, svec_rank_one, svec_size
from ...models.statement import Line
from .bounding import BoundingLoss
from .hulls import Pieces, split_margins, union_lines

__all__ = ["LiftedHulls"]


@dataclass(frozen=True, eq=False)
class LiftedHulls(BoundingLoss):
    """The SDP over all γ in Γ, with hulls of the given pairs.

    Parameters
    ----------
    of : Loss
        With branches.
    mu : float
        Curvature of the regulariser, in all coefficients.
    pairs : tuple of (i, j)
    reach : bool
        Whether bounds of the margins count.
    """

    mu: float
    pairs: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    reach: bool = True

    def add(self, to: Assembly, at: Setting) -> Affine | None:
        """W, the unions and the pairs."""
        p = at.w.rows
        W = to.variables("W", svec_size(p), *_bounds(at.span), shape=(p, p), symmetric=True)
        to.require("lifted", _bordered(at.w, W), PSD.of_order(p + 1))
        to.gain_of_squares(self.mu, at.w)
        to.cost(self.mu * svec(np.eye(p)), W)
        A = at.argument.terms["w"].dense()
        pieces = split_margins(to, at, self.of.convex_pieces(), self.reach, squares=True)
        squares = W.under(svec_rank_one(A))
        for q in pieces.squares:
            squares = squares - q
        to.require_nonnegative("hull", squares)
        for number, (i, j) in enumerate(self.pairs):
            _add_pair(to, f"pair {number}", W, A[[i, j]], pieces, (i, j))
        return None

    def cost_line(self) -> Line:
        """Perspectives, and the trace in place of the norm."""
        return Line(
            f"{self.mu:g} (Tr W - ||w||^2) + sum_i c_i sum_k f_k(m_ik, z_ik)",
            rf"{self.mu:g}\,(\operatorname{{Tr}} W - \|w\|_2^2) + \textstyle\sum_i c_i\sum_k f_k^\pi(m_{{ik}}, z_{{ik}})",
        )

    def lines(self) -> tuple[Line, ...]:
        """The unions, the lifting, the pairs."""
        pairs = (
            Line(
                f"hulls of {len(self.pairs)} pairs of points",
                rf"\text{{hulls of {len(self.pairs)} pairs of points}}",
                "pair 0, ...",
            ),
        )
        return (
            *union_lines(),
            Line("x_i'W x_i >= sum_k m_ik^2/z_ik", r"x_i^\top W x_i \ge \textstyle\sum_k m_{ik}^2/z_{ik}", "hull"),
            Line("[1 w'; w W] psd", r"\begin{pmatrix}1 & w^\top\\ w & W\end{pmatrix}\succeq 0", "lifted"),
            *(pairs if self.pairs else ()),
        )


def _bounds(span: FloatArray) -> tuple[FloatArray, FloatArray]:
    """|W_ij| ≤ span_i span_j as bounds of the svec, W_ii ≥ 0; infinite where a span is."""
    rows, columns = svec_indices(span.size)
    with np.errstate(invalid="ignore"):
        top = np.nan_to_num(span[rows] * span[columns], nan=np.inf, posinf=np.inf)
    top = np.where(rows == columns, top, np.sqrt(2.0) * top)
    return np.where(rows == columns, 0.0, -top), top


def _bordered(w: Affine, W: Affine) -> Affine:
    """svec of [1 w'; w W]."""
    p = w.rows
    rows, columns = svec_indices(p + 1)
    corner, border = (columns == 0), (rows == 0) & (columns > 0)
    inner = np.flatnonzero(rows > 0)
    place = np.flatnonzero(border)
    into_w = sp.csr_array((np.full(p, np.sqrt(2.0)), (place, columns[place] - 1)), shape=(rows.size, p))
    into_W = sp.csr_array((np.ones(inner.size), (inner, np.arange(inner.size))), shape=(rows.size, inner.size))
    return w.under(into_w) + W.under(into_W) + corner.astype(np.float64)


def _add_pair(to: Assembly, name: str, W: Affine, two: FloatArray, pieces: Pieces, points: tuple[int, int]) -> None:
    """The hull of two points."""
    count = len(pieces.z)
    cells = list(itertools.product(range(count), repeat=2))
    z = to.variables(f"{name} z", len(cells), 0.0, 1.0)
    root, far = np.sqrt(2.0), pieces.bound[list(points)]
    reach = np.tile(far, len(cells))
    m = to.variables(f"{name} m", 2 * len(cells), -reach, reach)
    corner = np.tile([far[0] ** 2, root * far[0] * far[1], far[1] ** 2], len(cells))
    least = np.tile([0.0, 1.0, 0.0], len(cells))
    M = to.variables(f"{name} M", 3 * len(cells), np.where(least > 0, -corner, 0.0), corner)  # svec of each 2 × 2
    stack = []
    for c, (k, l) in enumerate(cells):
        mine = (z.at([c]), m.at([2 * c]), m.at([2 * c + 1]), M.at([3 * c]), M.at([3 * c + 1]), M.at([3 * c + 2]))
        one, m_i, m_j, M_ii, M_ij, M_jj = mine
        # svec of [z m'; m M] by columns: (0,0), (0,1), (1,1), (0,2), (1,2), (2,2)
        stack.append(Affine.interleaved(one, m_i.scaled(root), M_ii, m_j.scaled(root), M_ij, M_jj))
        _products(to, f"{name} {k}{l}", pieces, points, (k, l), (one, m_i, m_j, M_ij.scaled(1.0 / root)))
    for c, rows in enumerate(stack):
        to.require(f"{name} cone {c}", rows, PSD.of_order(3))
    for side, point in enumerate(points):
        for k in range(count):
            mine_ = [c for c, cell in enumerate(cells) if cell[side] == k]
            ones = np.ones((1, len(mine_)))
            to.require(f"{name} z {side}{k}", z.at(mine_).under(ones) - pieces.z[k].at([point]), Zero(1))
            parts = m.at([2 * c + side for c in mine_]).under(ones)
            to.require(f"{name} m {side}{k}", parts - pieces.m[k].at([point]), Zero(1))
    p = two.shape[1]
    i, j = two
    cross = svec(0.5 * (np.outer(i, j) + np.outer(j, i)))
    wanted = W.under(np.array([svec(np.outer(i, i)), root * cross, svec(np.outer(j, j))]).reshape(3, svec_size(p)))
    total = M.under(np.tile(np.eye(3), (1, len(cells))))
    to.require(f"{name} whole", total - wanted, Zero(3))


def _products(
    to: Assembly,
    name: str,
    pieces: Pieces,
    points: tuple[int, int],
    cell: tuple[int, int],
    of: tuple[Affine, Affine, Affine, Affine],
) -> None:
    """Ends of the two branches, and each of one with each of the other."""
    one, m_i, m_j, M_ij = of
    ends = []
    for side, m in ((0, m_i), (1, m_j)):
        low, high = (bound[points[side]] for bound in pieces.ends[cell[side]])
        mine = [(sign, end) for sign, end in ((1.0, low), (-1.0, high)) if np.isfinite(end)]
        for sign, end in mine:
            to.require_nonnegative(f"{name} end {side}{sign:+.0f}", (m - one.scaled(end)).scaled(sign))
        ends.append(mine)
    for (s, a), (t, b) in itertools.product(*ends):
        product = M_ij - m_i.scaled(b) - m_j.scaled(a) + one.scaled(a * b)
        to.require_nonnegative(f"{name} product {s:+.0f}{t:+.0f}", product.scaled(s * t))
