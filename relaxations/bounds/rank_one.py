"""The SDP of the 0-1 loss with rank-one rows (`RankOne`): bounds of the square of a combination of several points' violations.

The problem, a `Margin` (*composition*), is a regulariser plus the costs of the points with a violation r_i = t - y_i x_i'w > 0, t
the threshold of the 0-1 loss. The binary z_i = 0 asks r_i ≤ 0, and z_i = 1 asks r_i ≥ 0. For a vector c let s = Σ c_i r_i, and
ζ_i = z_i where c_i > 0, ζ_i = 1 - z_i where c_i < 0. If s > 0 then some c_i r_i > 0, so that some ζ_i = 1; if s < 0 then some
ζ_i = 0. So

    s² ≥ s_+²/v_+ + s_-²/v_-,   v_+ = min(1, Σ ζ_i),   v_- = min(1, Σ (1 - ζ_i)),   s = s_+ - s_-,

sums over the points with c_i ≠ 0, holds at every point of the problem. Its right-hand side is convex in (w, z): y²/v is jointly
convex and falls with v, and v_± is concave. With W for ww', s² is d'Wd - 2σd'w + σ², d = Σ c_i y_i x_i, σ = tΣ c_i. One point
alone, c = e_i, is the row of the SDP, (21) of Cepeda, Gómez and Han (2024).

*Strength.* SDP ≤ SDP with these rows for pairs ≤ SDP with the hulls of the same pairs whose violated branch ends at t.
The first inequality holds since rows are added. For the second take a feasible point of a pair's hull: cells kl (branch k of one
point, l of the other) of weight z_kl with parts s_kl of s, and lifted square at least Σ s_kl²/z_kl. Cells with s_kl > 0 have
ζ_i = 1 or ζ_j = 1, so their weights sum to at most v_+, and by Cauchy and Schwarz Σ_{s_kl > 0} s_kl²/z_kl ≥ (Σ (s_kl)_+)²/v_+;
likewise for s_kl < 0. In `PairHulls` the violated branch does not end at t.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...models.arrays import FloatArray, to_dense
from ...models.formulations.margin.assembly import Affine, Assembly
from ...models.formulations.margin.loss import ConvexPiece, Loss
from ...models.formulations.margin.margin_losses import ZeroOne
from ...models.formulations.margin.model import Margin
from ...models.formulations.margin.part import AssemblyContext
from ...models.program.cones import RotatedSecondOrder, Zero, svec_rank_one
from ...models.statement import Line
from ..reduction import Relaxation
from .hulls import AllHulls, LiftedHullLoss, UnionHull, conflicting_pairs


@dataclass(frozen=True, eq=False)
class RankOneHullLoss(LiftedHullLoss):
    """The loss of the SDP with a rank-one row for each of the given combinations: replaces the 0-1 loss in a composition.

    Parameters
    ----------
    combinations : ndarray (k, n)
        The vectors c, as rows.
    """

    combinations: FloatArray = field(default_factory=lambda: np.zeros((0, 0)), repr=False)

    def branches(self) -> tuple[ConvexPiece, ...]:
        """Return the two branches of the step: cost 0 for margins ≥ t, cost 1 for margins ≤ t."""
        assert isinstance(self.of, ZeroOne)
        t = self.of.threshold
        return ConvexPiece(((0.0, 0.0),), low=t), ConvexPiece(((0.0, 1.0),), high=t)

    def add_rows(self, builder: Assembly, context: AssemblyContext, W: Affine, pieces: UnionHull) -> None:
        """Add v, s and q ≥ s²/v of both signs, and the rows that the lifted square is at least the sum of the two q."""
        assert isinstance(self.of, ZeroOne)
        C, t = self.combinations, self.of.threshold
        k, positive, negative = C.shape[0], 1.0 * (self.combinations > 0.0), 1.0 * (self.combinations < 0.0)
        satisfied, violated = pieces.z
        sums = {
            "over": violated.premultiplied(positive) + satisfied.premultiplied(negative),
            "under": satisfied.premultiplied(positive) + violated.premultiplied(negative),
        }
        D = C @ context.argument.terms["w"].dense()
        sigma = t * C.sum(axis=1)
        combined = context.argument.premultiplied(-C) + sigma
        square = W.premultiplied(svec_rank_one(D)) + context.w.premultiplied(-2.0 * sigma[:, None] * D) + sigma**2
        with np.errstate(invalid="ignore"):  # a margin without a bound
            largest = np.nan_to_num(np.abs(C) @ (abs(t) + pieces.bound), nan=np.inf, posinf=np.inf)  # of |s|
        for sign, (name, upper_side) in zip((1.0, -1.0), sums.items(), strict=True):
            v = builder.variables(f"{name} v", k, 0.0, 1.0)
            s = builder.variables(f"{name} s", k, 0.0, largest)
            q = builder.variables(f"{name} q", k, 0.0, largest**2)
            builder.require_nonnegative(f"{name} sum", upper_side - v)
            builder.require(f"{name} cone", Affine.interleaved(q.scaled(0.5), v, s), RotatedSecondOrder(3, k))
            combined = combined - s.scaled(sign)
            square = square - q
        builder.require("combined", combined, Zero(k))
        builder.require_nonnegative("rank one", square)

    def lines(self) -> tuple[Line, ...]:
        """Return the lines of the SDP's statement and those of the rank-one rows."""
        row = Line(
            "lifted (sum_i c_i r_i)^2 >= s_+^2/v_+ + s_-^2/v_- for each c",
            r"\bigl\langle\textstyle\sum_i c_i r_i\bigr\rangle^2 \ge s_+^2/v_+ + s_-^2/v_-\ \text{for each } c",
            "rank one",
        )
        return (*super().lines(), row)


@dataclass(frozen=True)
class RankOne(AllHulls):
    """The SDP with rank-one rows for the sum and the difference of two points' violations, each divided by its point's norm.

    Parameters
    ----------
    pairs : int
        Number of pairs: those with the smallest cosines of y_i x_i and y_j x_j, whose margins conflict most.
    margin_bounds : bool
        Whether bounds of the margins at an optimum, which follow from a feasible point, are used.
    """

    pairs: int = 200

    @property
    def name(self) -> str:
        """Return the name for tables."""
        return f"rank-one hulls, {self.pairs} pairs" + ("" if self.margin_bounds else ", no M")

    def missing_part(self, composed: Margin) -> str:
        """Return the reason why a composition has no rank-one rows: its loss is no step, or that of `AllHulls`; else empty."""
        if not isinstance(composed.loss, ZeroOne):
            return (
                f"{type(composed.loss).__name__} is no step; rank-one hulls are those of ZeroOne, and 'hulls' reads other losses"
            )
        return super().missing_part(composed)

    def hull(self, composed: Margin) -> Loss:
        """Return the loss with rank-one rows for sums and differences of pairs, which are chosen from the data alone."""
        rows = to_dense(composed.loss.rows(composed.points, composed.y)[0])
        norms = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
        pairs = conflicting_pairs(rows, self.pairs)
        C = np.zeros((2 * len(pairs), rows.shape[0]))
        for number, (i, j) in enumerate(pairs):
            C[2 * number : 2 * number + 2, i] = 1.0 / norms[i]
            C[2 * number : 2 * number + 2, j] = 1.0 / norms[j], -1.0 / norms[j]
        return RankOneHullLoss(composed.loss, composed.regulariser.curvature(), (), self.margin_bounds, C)


#: The records of these relaxations, which `relaxations.registry` collects.
RELAXATIONS = (
    Relaxation(
        "rank-one",
        "the SDP with rank-one rows for sums and differences of two points' violations",
        RankOne(),
        "Choi, Cepeda, Gomez, Han: Rank-one convexification (2025); derived here",
        rank=93,
    ),
)
