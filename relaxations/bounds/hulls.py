"""Relaxations of a loss plus a regulariser by convex hulls of the loss: of single points, at equal γ, over all γ (SDP), of pairs.

The problem, a `Margin` (*composition*), is min R(w) + Σ c_i ℓ(m_i), m_i = a_i'w the margin of point i, a_i = y_i x_i, R the
regulariser. For a loss ℓ = min_k f_k, the minimum of convex branches, and γ ≥ 0 the convex envelope of c ℓ(m) + γ m² is, by the
hull of a union (Ceria and Soares, 1999),

    min Σ_k c f_k^π(m_k, z_k) + γ m_k²/z_k   over Σ z_k = 1, Σ m_k = m, z ≥ 0,

f^π(m, z) = z f(m/z) the perspective. The γ m² that is subtracted again for each point is compensated by the regulariser: Γ is
the set of γ ≥ 0 for which R(w) - Σ γ_i (x_i'w)² is convex. For the 0-1 loss this is (13) of Cepeda, Gómez and Han (2024,
"Conic"); for the ramp it is the same construction with the ramp's two branches. Bounds of the margins, which every optimal w
satisfies, are multiplied by z_k and hold for every m_k.

*All γ in Γ at once* (`LiftedHullLoss`). With R(w) = μ||w||² + R'(w) and W standing for ww', [1 w'; w W] ⪰ 0,

    min R'(w) + μ Tr W + Σ c_i Σ_k f_k^π(m_ik, z_ik)   subject to   x_i'W x_i ≥ Σ_k m_ik²/z_ik and the unions above:

the dual of maximising `PointHullLoss` over γ in Γ (γ_i the multiplier of point i's row; Conic (21) for the 0-1 loss). A
coefficient without squares (a free intercept) has the bound W_jj ≤ span_j² in place of the cost μ W_jj, span_j a bound of |w_j|.
With a loss for each group of points, each loss that has branches is replaced by its union; convex losses stay unchanged.

*Two points at once*: for a pair (i, j) and branches (k, l) there are z_kl ≥ 0 with the marginals z_ik and z_jl, and a vector
m_kl of R² with the marginals m_ik, m_jl, lifted to M_kl: [z_kl m_kl'; m_kl M_kl] ⪰ 0, Σ_kl M_kl = (a_i, a_j)'W(a_i, a_j). Ends
of the branches at numbers e and f, m_i - e z ≥ 0 and m_j - f z ≥ 0, are multiplied with each other: M_12 - f m_i - e m_j + ef z
≥ 0. *Valid*: at a point of the original problem one (k, l) has z_kl = 1, m_kl = (m_i, m_j) = m and M_kl = mm'; for all other
(k, l) they are zero, and every row holds.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from ...models.arrays import BoolArray, FloatArray, to_dense
from ...models.formulations.margin.assembly import Affine, Assembly
from ...models.formulations.margin.conic_losses import lifted
from ...models.formulations.margin.group_losses import GroupLosses, at_points
from ...models.formulations.margin.loss import ConvexPiece, Loss
from ...models.formulations.margin.model import Margin
from ...models.formulations.margin.part import AssemblyContext
from ...models.program.cones import PSD, RotatedSecondOrder, Zero, svec, svec_indices, svec_rank_one, svec_size
from ...models.program.form import StandardForm
from ...models.statement import Line
from ..margin_reduction import MarginToForm, with_finite_dual
from ..reduction import Relaxation


@dataclass(frozen=True, eq=False)
class BoundingLoss(Loss):
    """A part that takes the place of a loss in the relaxed problem and bounds it from below: base class.

    Its value at a classifier is the loss's own. ``add(builder, context)`` writes its variables, rows and cost into the program
    ``builder``, for the coefficients w, the margins (``argument``) and the costs that ``context`` holds.

    Parameters
    ----------
    of : Loss
        The loss that is bounded, a minimum of convex branches.
    """

    of: Loss

    @property
    def reads_activity_bounds(self) -> bool:
        """Return True: bounds of the margins multiply the weights z."""
        return True

    def values(self, argument: FloatArray) -> FloatArray:
        """Return the loss of each argument, a margin, (n,)."""
        return self.of.values(argument)

    def unlabelled(self, n: int) -> BoolArray:
        """Return the mask (n,) of the points whose loss needs no label."""
        return self.of.unlabelled(n)

    def is_nonnegative(self) -> bool:
        """Return whether no value of the loss is below 0."""
        return self.of.is_nonnegative()

    def saturation(self) -> float:
        """Return a t such that the loss is linear on margins ≤ -t and on margins ≥ t; infinite if there is none."""
        return self.of.saturation()


@dataclass(frozen=True, eq=False)
class UnionHull:
    """Variables of the convex hull of a union of branches: for each branch k, vectors with an entry for each of n points.

    Parameters
    ----------
    z, m : tuple of Affine
        Weights z_k and parts m_k of the margins, by branch.
    squares : tuple of Affine
        Upper bounds of m_k²/z_k, by branch.
    ends : tuple of (low, high)
        Bounds of m_k/z_k, by branch: the ends of the branch within the bounds of the margins.
    bound : ndarray (n,)
        Bounds of the margins' absolute values; infinite without.
    """

    z: tuple[Affine, ...]
    m: tuple[Affine, ...]
    squares: tuple[Affine, ...]
    ends: tuple[tuple[FloatArray, FloatArray], ...]
    bound: FloatArray


def _add_union_hull(
    builder: Assembly, context: AssemblyContext, branches: tuple[ConvexPiece, ...], margin_bounds: bool
) -> UnionHull:
    """Add variables, rows and cost of the hull of the branches' union to a program, and return the variables.

    Without ``margin_bounds`` bounds of the margins are not used.
    """
    n = context.argument.rows
    margin_rows, choice_rows = -context.argument, Affine({}, np.full(n, -1.0))
    bound = context.argument_bounds if margin_bounds else np.full(n, np.inf)
    z, m, q, ends = [], [], [], []
    for k, branch in enumerate(branches):
        low, high = np.maximum(branch.low, -bound), np.minimum(branch.high, bound)
        chosen = builder.variables(f"z {k}", n, 0.0, 1.0)
        part = builder.variables(f"m {k}", n, np.minimum(low, 0.0), np.maximum(high, 0.0))
        for name, side, sign in (("from", low, 1.0), ("to", high, -1.0)):
            finite = np.flatnonzero(np.isfinite(side))
            builder.require_nonnegative(f"m {k} {name}", (part.at(finite) - chosen.at(finite).scaled(side[finite])).scaled(sign))
        _cost(builder, context.sample_weight, branch, part, chosen, k)
        square = builder.variables(f"q {k}", n, 0.0, np.where(np.isfinite(bound), bound, np.inf) ** 2)
        builder.require(f"square {k}", Affine.interleaved(square.scaled(0.5), chosen, part), RotatedSecondOrder(3, n))
        q.append(square)
        z.append(chosen)
        m.append(part)
        ends.append((low, high))
        margin_rows, choice_rows = margin_rows + part, choice_rows + chosen
    builder.require("whole", margin_rows, Zero(n))
    builder.require("one branch", choice_rows, Zero(n))
    return UnionHull(tuple(z), tuple(m), tuple(q), tuple(ends), bound)


def _cost(builder: Assembly, costs: FloatArray, branch: ConvexPiece, part: Affine, chosen: Affine, k: int) -> None:
    """Add c times the perspective of the branch, a maximum of lines."""
    lines = [part.scaled(s) + chosen.scaled(t) for s, t in branch.lines]
    if len(lines) == 1:
        builder.cost(costs, lines[0])
        return
    tau = builder.variables(f"cost {k}", part.rows)
    for i, line in enumerate(lines):
        builder.require_nonnegative(f"cost {k}, line {i}", tau - line)
    builder.cost(costs, tau)


@dataclass(frozen=True, eq=False)
class PointHullLoss(BoundingLoss):
    """The convex hull of every point's loss plus γ_i m_i², less γ_i m_i², at one γ in Γ.

    Parameters
    ----------
    of : Loss
        The loss, a minimum of convex branches.
    gamma : ndarray (n,)
        γ in Γ.
    margin_bounds : bool
        Whether bounds of the margins at an optimum are used.
    """

    gamma: FloatArray = field(repr=False)
    margin_bounds: bool = True

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add the hulls with the squares γ_i m_i²/z, and subtract γ_i (a_i'w)² from the objective."""
        pieces = _add_union_hull(builder, context, self.of.convex_pieces(), self.margin_bounds)
        for q in pieces.squares:
            builder.cost(self.gamma, q)
        builder.gain_of_squares(self.gamma, context.argument)
        return None

    def cost_line(self) -> Line:
        """Return the printed loss in the objective: perspectives, and the squares that are subtracted again."""
        return Line(
            "sum_i (c_i sum_k f_k(m_ik, z_ik) + g_i (sum_k m_ik^2/z_ik - (y_i x_i'w)^2))",
            r"\textstyle\sum_i \Bigl(c_i\sum_k f_k^\pi(m_{ik}, z_{ik}) + \gamma_i\bigl(\sum_k \tfrac{m_{ik}^2}{z_{ik}}"
            r" - (y_i x_i^\top w)^2\bigr)\Bigr)",
        )

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows: the unions."""
        return _union_statement()


def _union_statement() -> tuple[Line, ...]:
    """Return the lines of a statement for the hull of a union."""
    return (
        Line("sum_k m_ik = y_i x_i'w", r"\textstyle\sum_k m_{ik} = y_i x_i^\top w", "whole"),
        Line("sum_k z_ik = 1, z >= 0", r"\textstyle\sum_k z_{ik} = 1,\ z\ge 0", "one branch"),
    )


@dataclass(frozen=True, eq=False)
class LiftedHullLoss(BoundingLoss):
    """The hulls over all γ in Γ at once, an SDP, with hulls of the given pairs.

    Parameters
    ----------
    of : Loss
        The loss, a minimum of convex branches.
    mu : float
        μ such that R(w) - μ||w||² is convex.
    pairs : tuple of (i, j)
        Points whose pairs have hulls as well.
    margin_bounds : bool
        Whether bounds of the margins at an optimum are used.
    """

    mu: float
    pairs: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    margin_bounds: bool = True

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add W, the unions and the hulls of pairs."""
        p, penalised = context.w.rows, np.flatnonzero(context.penalised)
        W = builder.variables("W", svec_size(p), *_svec_bounds(context.span), shape=(p, p), symmetric=True)
        builder.require("lifted", lifted(context.w, W), PSD.of_order(p + 1))
        builder.gain_of_squares(self.mu, context.w.at(penalised))
        builder.cost(self.mu * svec(np.diag(1.0 * context.penalised)), W)
        if not isinstance(self.of, GroupLosses):
            self._add_union(builder, context, W, self.branches())
            return None
        for name, loss, points in self.of.parts():
            with builder.labelled(f"{name} ", points.tolist()):
                if loss.convex_pieces():
                    self._add_union(builder, at_points(context, points), W, loss.convex_pieces())
                else:
                    loss.add(builder, at_points(context, points))
        return None

    def _add_union(self, builder: Assembly, context: AssemblyContext, W: Affine, branches: tuple[ConvexPiece, ...]) -> None:
        """Add a union of branches with the lifted squares of its margins."""
        pieces = _add_union_hull(builder, context, branches, self.margin_bounds)
        squares = W.premultiplied(svec_rank_one(context.argument.terms["w"].dense()))
        for q in pieces.squares:
            squares = squares - q
        builder.require_nonnegative("hull", squares)
        self.add_rows(builder, context, W, pieces)

    def branches(self) -> tuple[ConvexPiece, ...]:
        """Return the branches of the loss."""
        return self.of.convex_pieces()

    def add_rows(self, builder: Assembly, context: AssemblyContext, W: Affine, pieces: UnionHull) -> None:
        """Add the hulls of the pairs."""
        A = context.argument.terms["w"].dense()
        for number, (i, j) in enumerate(self.pairs):
            _add_pair(builder, f"pair {number}", W, A[[i, j]], pieces, (i, j))

    def cost_line(self) -> Line:
        """Return the printed loss in the objective: perspectives, and the trace in place of the norm."""
        return Line(
            f"{self.mu:g} (Tr W - ||w||^2) + sum_i c_i sum_k f_k(m_ik, z_ik)",
            rf"{self.mu:g}\,(\operatorname{{Tr}} W - \|w\|_2^2) + \textstyle\sum_i c_i\sum_k f_k^\pi(m_{{ik}}, z_{{ik}})",
        )

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows: unions, lifting and pairs."""
        pairs = (
            Line(
                f"hulls of {len(self.pairs)} pairs of points",
                rf"\text{{hulls of {len(self.pairs)} pairs of points}}",
                "pair 0, ...",
            ),
        )
        return (
            *_union_statement(),
            Line("x_i'W x_i >= sum_k m_ik^2/z_ik", r"x_i^\top W x_i \ge \textstyle\sum_k m_{ik}^2/z_{ik}", "hull"),
            Line("[1 w'; w W] psd", r"\begin{pmatrix}1 & w^\top\\ w & W\end{pmatrix}\succeq 0", "lifted"),
            *(pairs if self.pairs else ()),
        )


def _svec_bounds(span: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return |W_ij| ≤ span_i span_j as bounds of the svec, W_ii ≥ 0; infinite where a span is."""
    rows, columns = svec_indices(span.size)
    with np.errstate(invalid="ignore"):
        top = np.nan_to_num(span[rows] * span[columns], nan=np.inf, posinf=np.inf)
    top = np.where(rows == columns, top, np.sqrt(2.0) * top)
    return np.where(rows == columns, 0.0, -top), top


def _add_pair(builder: Assembly, name: str, W: Affine, two: FloatArray, pieces: UnionHull, points: tuple[int, int]) -> None:
    count = len(pieces.z)
    cells = list(itertools.product(range(count), repeat=2))
    z = builder.variables(f"{name} z", len(cells), 0.0, 1.0)
    root, bounds = np.sqrt(2.0), pieces.bound[list(points)]
    reach = np.tile(bounds, len(cells))
    m = builder.variables(f"{name} m", 2 * len(cells), -reach, reach)
    corner = np.tile([bounds[0] ** 2, root * bounds[0] * bounds[1], bounds[1] ** 2], len(cells))
    diagonal = np.tile([0.0, 1.0, 0.0], len(cells))
    M = builder.variables(f"{name} M", 3 * len(cells), np.where(diagonal > 0, -corner, 0.0), corner)  # svec of each 2 × 2
    stack = []
    for c, (k, l) in enumerate(cells):
        pair_terms = (z.at([c]), m.at([2 * c]), m.at([2 * c + 1]), M.at([3 * c]), M.at([3 * c + 1]), M.at([3 * c + 2]))
        one, m_i, m_j, M_ii, M_ij, M_jj = pair_terms
        # svec of [z m'; m M] by columns: (0,0), (0,1), (1,1), (0,2), (1,2), (2,2)
        stack.append(Affine.interleaved(one, m_i.scaled(root), M_ii, m_j.scaled(root), M_ij, M_jj))
        _add_products_of_ends(builder, f"{name} {k}{l}", pieces, points, (k, l), (one, m_i, m_j, M_ij.scaled(1.0 / root)))
    for c, rows in enumerate(stack):
        builder.require(f"{name} cone {c}", rows, PSD.of_order(3))
    for side, point in enumerate(points):
        for k in range(count):
            members = [c for c, cell in enumerate(cells) if cell[side] == k]
            ones = np.ones((1, len(members)))
            builder.require(f"{name} z {side}{k}", z.at(members).premultiplied(ones) - pieces.z[k].at([point]), Zero(1))
            parts = m.at([2 * c + side for c in members]).premultiplied(ones)
            builder.require(f"{name} m {side}{k}", parts - pieces.m[k].at([point]), Zero(1))
    p = two.shape[1]
    i, j = two
    cross = svec(0.5 * (np.outer(i, j) + np.outer(j, i)))
    projected = W.premultiplied(np.array([svec(np.outer(i, i)), root * cross, svec(np.outer(j, j))]).reshape(3, svec_size(p)))
    total = M.premultiplied(np.tile(np.eye(3), (1, len(cells))))
    builder.require(f"{name} whole", total - projected, Zero(3))


def _add_products_of_ends(
    builder: Assembly,
    name: str,
    pieces: UnionHull,
    points: tuple[int, int],
    cell: tuple[int, int],
    factors: tuple[Affine, Affine, Affine, Affine],
) -> None:
    """Add the ends of the two branches, and the product of each end of one with each end of the other."""
    one, m_i, m_j, M_ij = factors
    ends = []
    for side, m in ((0, m_i), (1, m_j)):
        low, high = (bound[points[side]] for bound in pieces.ends[cell[side]])
        finite_ends = [(sign, end) for sign, end in ((1.0, low), (-1.0, high)) if np.isfinite(end)]
        for sign, end in finite_ends:
            builder.require_nonnegative(f"{name} end {side}{sign:+.0f}", (m - one.scaled(end)).scaled(sign))
        ends.append(finite_ends)
    for (s, a), (t, b) in itertools.product(*ends):
        product = M_ij - m_i.scaled(b) - m_j.scaled(a) + one.scaled(a * b)
        builder.require_nonnegative(f"{name} product {s:+.0f}{t:+.0f}", product.scaled(s * t))


@dataclass(frozen=True, eq=False)
class SingleHullLoss(BoundingLoss):
    """The hull of one point's loss with the whole norm, for each point: Conic Theorem 1.

    τ ≥ μ||w||² + γ_i (Σ_k m_ik²/z_ik - m_i²) for every i, with γ_i = μ/||x_i||², takes the place of μ||w||². Every row is the
    hull of one point's loss with all of the norm. All rows together bound the problem by at most the bound of the SDP
    (`LiftedHullLoss`): for multipliers μ_i ≥ 0 of the rows with sum 1, the numbers μ_i γ_i are in Γ.

    Parameters
    ----------
    of : Loss
        The loss, a minimum of convex branches.
    mu : float
        μ such that R(w) - μ||w||² is convex.
    margin_bounds : bool
        Whether bounds of the margins at an optimum are used.
    """

    mu: float
    margin_bounds: bool = True

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add τ, and for each x_i ≠ 0 the cone 2·½(τ - γ_i Σ_k q_ik)·1 ≥ μ||(I - x_i x_i'/||x_i||²)w||², q_ik ≥ m_ik²/z_ik."""
        tau = builder.variables("tau", 1, 0.0)
        builder.cost(1.0, tau)
        builder.gain_of_squares(self.mu, context.w)
        pieces = _add_union_hull(builder, context, self.of.convex_pieces(), self.margin_bounds)
        A = context.argument.terms["w"].dense()
        squares = np.einsum("ij,ij->i", A, A)
        p = context.w.rows
        for i in np.flatnonzero(squares > 0).tolist():
            head = tau
            for q in pieces.squares:
                head = head - q.at([i]).scaled(self.mu / squares[i])
            unit = A[i] / np.sqrt(squares[i])
            projected = context.w.premultiplied(np.sqrt(self.mu) * (np.eye(p) - np.outer(unit, unit)))
            top = sp.csr_array(([0.5], ([0], [0])), shape=(p + 2, 1))
            below = sp.csr_array((np.ones(p), (np.arange(2, p + 2), np.arange(p))), shape=(p + 2, p))
            one = np.zeros(p + 2)
            one[1] = 1.0
            builder.require(
                f"hull {i}", head.premultiplied(top) + projected.premultiplied(below) + one, RotatedSecondOrder(p + 2)
            )
        return None

    def cost_line(self) -> Line:
        """Return the printed loss in the objective, with τ in place of the norm."""
        return Line(
            f"tau - {self.mu:g} ||w||^2 + sum_i c_i sum_k f_k(m_ik, z_ik)",
            rf"\tau - {self.mu:g}\|w\|_2^2 + \textstyle\sum_i c_i\sum_k f_k^\pi(m_{{ik}}, z_{{ik}})",
        )

    def lines(self) -> tuple[Line, ...]:
        """Return the printed rows: unions and hulls."""
        hull = Line(
            "tau >= mu ||w||^2 + mu/||x_i||^2 (sum_k m_ik^2/z_ik - (x_i'w)^2)",
            r"\tau \ge \mu\|w\|_2^2 + \tfrac{\mu}{\|x_i\|^2}\bigl(\textstyle\sum_k m_{ik}^2/z_{ik} - (x_i^\top w)^2\bigr)",
            "hull 0, ...",
        )
        return (*_union_statement(), hull)


_SQUARES = (
    "hulls offset the loss by the regulariser's squares, which must be there for every coefficient: SquaredNorm or ElasticNet "
    "with intercept='penalised'; 'continuous' and 'products' take any regulariser"
)
#: The largest equal γ is taken this share below the edge of Γ, so that the form is strictly convex.
_INSIDE = 1e-6


@dataclass(frozen=True)
class _Hulls(MarginToForm):
    """A reduction that replaces the loss by hulls of its branches.

    Parameters
    ----------
    margin_bounds : bool
        Whether bounds of the margins at an optimum, which follow from a feasible point, are used; it is valid without them.
    """

    margin_bounds: bool = True

    def missing_part(self, composed: Margin) -> str:
        """Return the reason why a composition has no hulls: no branches, or a coefficient without squares; empty if it has."""
        if not composed.loss.convex_pieces():
            return (
                f"{type(composed.loss).__name__} is no least value of convex branches, as Ramp, ZeroOne and PiecewiseLinear are"
            )
        rows = to_dense(composed.loss.rows(composed.points, composed.y)[0])
        if composed.regulariser.curvature() <= 0 or not composed.penalised[rows.any(axis=0)].all():
            return _SQUARES
        return ""

    def target(self, composed: Margin) -> StandardForm:
        """Return the form of the composition with the bounding loss."""
        return with_finite_dual(replace(composed, loss=self.hull(composed), groups=None).form.relax_integrality(), composed)

    @abstractmethod
    def hull(self, composed: Margin) -> Loss:
        """Return the bounding loss that replaces the original one."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """Return the kind of hulls, for tables."""

    @property
    def name(self) -> str:
        """Return the name for tables."""
        return f"hulls, {self.kind}" + ("" if self.margin_bounds else ", no M")


@dataclass(frozen=True)
class EqualHulls(_Hulls):
    """The hulls of single points at equal γ_i, as large as Γ allows (`PointHullLoss`): second-order cones.

    Parameters
    ----------
    margin_bounds : bool
        Whether bounds of the margins at an optimum, which follow from a feasible point, are used.
    """

    kind = "equal gamma"

    def hull(self, composed: Margin) -> Loss:
        """Return the hulls of single points with the largest equal γ for which the problem stays convex."""
        rows = to_dense(composed.loss.rows(composed.points, composed.y)[0])
        largest = float(np.linalg.norm(rows, 2)) ** 2 / composed.regulariser.curvature()
        return PointHullLoss(composed.loss, np.full(rows.shape[0], (1.0 - _INSIDE) / largest), self.margin_bounds)


@dataclass(frozen=True)
class OneHull(_Hulls):
    """Each point's hull with the whole norm (`SingleHullLoss`): second-order cones.

    Parameters
    ----------
    margin_bounds : bool
        Whether bounds of the margins at an optimum, which follow from a feasible point, are used.
    """

    kind = "one point"

    def hull(self, composed: Margin) -> Loss:
        """Return the hulls of single points, each with the whole norm."""
        return SingleHullLoss(composed.loss, composed.regulariser.curvature(), self.margin_bounds)


@dataclass(frozen=True)
class AllHulls(_Hulls):
    """The hulls of single points over all γ in Γ (`LiftedHullLoss`): an SDP; it also reads a loss for each group of points.

    Parameters
    ----------
    margin_bounds : bool
        Whether bounds of the margins at an optimum, which follow from a feasible point, are used.
    """

    kind = "SDP"

    def missing_part(self, composed: Margin) -> str:
        """Return the reason why a composition has no SDP: no branches, or a coefficient without squares or bounds; else empty."""
        loss = composed.loss
        if isinstance(loss, GroupLosses):
            unread = [part for _, part, _ in loss.parts() if not (part.convex or part.convex_pieces())]
            if loss.convex or unread:
                return f"{', '.join(type(part).__name__ for part in unread) or 'a convex loss'} has no convex branches"
        elif not loss.convex_pieces():
            return super().missing_part(composed)
        bounded = composed.penalised | np.isfinite(composed.activity_bounds[0])
        if composed.regulariser.curvature() > 0.0 and bounded.all():
            return ""
        return f"{_SQUARES}; the SDP takes a free intercept that the losses alone hold, or a domain"

    def hull(self, composed: Margin) -> Loss:
        """Return the lifted hulls of all points: the SDP."""
        return LiftedHullLoss(composed.loss, composed.regulariser.curvature(), (), self.margin_bounds)


def conflicting_pairs(rows: FloatArray, count: int) -> tuple[tuple[int, int], ...]:
    """Return the ``count`` pairs (i, j) of rows with the smallest cosines, the most conflicting first."""
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    first, second = np.triu_indices(rows.shape[0], 1)
    order = np.argsort((unit @ unit.T)[first, second], kind="stable")[:count]
    return tuple((int(first[k]), int(second[k])) for k in order)


@dataclass(frozen=True)
class PairHulls(AllHulls):
    """The SDP with hulls of two points at once, for pairs whose margins conflict most: a_i'a_j most negative, relative to norms.

    Parameters
    ----------
    pairs : int
        Number of pairs.
    margin_bounds : bool
        Whether bounds of the margins at an optimum, which follow from a feasible point, are used.
    """

    pairs: int = 20

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Return the kind of hulls, for tables."""
        return f"{self.pairs} pairs"

    def missing_part(self, composed: Margin) -> str:
        """Return the reason why a composition has no hulls of pairs: several losses, or that of `AllHulls`; else empty."""
        if isinstance(composed.loss, GroupLosses):
            return "hulls of pairs are those of one loss; 'hulls' reads a loss for each group of points"
        return super().missing_part(composed)

    def hull(self, composed: Margin) -> Loss:
        """Return the lifted hulls of pairs, which are chosen from the data alone."""
        chosen = conflicting_pairs(to_dense(composed.loss.rows(composed.points, composed.y)[0]), self.pairs)
        return LiftedHullLoss(composed.loss, composed.regulariser.curvature(), chosen, self.margin_bounds)


#: The records of these relaxations, which `relaxations.registry` collects.
RELAXATIONS = (
    Relaxation(
        "hulls-single", "each point's branches with the whole norm, one point at a time", OneHull(), "Conic Theorem 1", rank=62
    ),
    Relaxation(
        "hulls-equal", "the branches of every point's loss at equal γ: second-order cones", EqualHulls(), "Conic (13)", rank=72
    ),
    Relaxation(
        "hulls",
        "the branches of every point's loss over all γ: an SDP, with bounds of the margins",
        AllHulls(),
        "Conic (21)",
        rank=92,
    ),
    Relaxation("hulls-pairs", "that SDP with hulls of two points at once", PairHulls(), "this package", rank=95),
)
