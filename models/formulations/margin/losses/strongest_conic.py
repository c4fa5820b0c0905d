"""The strongest of the conic losses, over all γ in Γ at once: Conic (21), Theorem 2."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .....errors import UnsupportedModelError
from ....arrays import BoolArray, FloatArray, Points
from ....program.cones import PSD, RotatedSecondOrder, Zero
from ....program.svec import svec, svec_indices, svec_rank_one, svec_size
from ....statement import Line
from ....views import ConicProblem
from ...linear import dense_signed_rows
from ..assembly import Affine, Assembly
from ..part import Setting
from .conic import curved_where_seen
from .loss import Loss

__all__ = ["StrongestConic"]


@dataclass(frozen=True)
class StrongestConic(Loss):
    """max over γ in Γ of Σ_i `Conic` with γ_i: a loss of all margins together, at most Σ c_i 1{m_i < 1}.

    Γ, Conic (13), is what the regulariser's curvature D makes up for: Σ γ_i x_i x_i' ⪯ D. By duality the loss at w is
    min <D, W - ww'> + Σ c_i z_i over W ⪰ ww', 0 ≤ z ≤ 1 with x_i'W x_i - 2m_i + 1 ≥ (r_i)_+²/z_i + (r_i)_-²/(1 - z_i), r = 1 - m.
    With μ||w||² the squares cancel and what is left is the semidefinite program of `ConicSVM`.

    The form: W (svec), z, r₊, r₋, s, t; ``lifted`` [1 w'; w W] ⪰ 0, ``hull`` x_i'W x_i - 2m_i + 1 - s_i - t_i ≥ 0
    (multipliers γ*), ``split`` r₊ - r₋ = r, ``violated`` s z ≥ r₊², ``kept`` t (1 - z) ≥ r₋².

    Raises
    ------
    InputError
        A regulariser without curvature in a direction that the points see (L1, a free intercept), when the problem is stated.
    """

    #: D of the regulariser, or its diagonal: known once the problem is stated.
    curvature: FloatArray | None = field(default=None, repr=False, compare=False)

    def bind(self, X: Points, y: FloatArray, weights: FloatArray, curvature: FloatArray) -> StrongestConic:
        """Bind the loss to the regulariser's curvature."""
        curved_where_seen(dense_signed_rows(X, y), curvature)
        return replace(self, curvature=curvature)

    def values(self, argument: FloatArray) -> FloatArray:
        """Refuse: the loss is a function of all margins together.

        Raises
        ------
        UnsupportedModelError
            Always.
        """
        raise UnsupportedModelError(
            "the strongest conic loss at a classifier is a semidefinite program of its own: solve model.with_fixed({'w': ...}), "
            "or take Conic(gamma) for the loss at one gamma"
        )

    def upper_bound(self, costs: FloatArray, argument: FloatArray) -> float:
        """The 0-1 loss, which it bounds from below."""
        return float(costs[argument < 1.0].sum())

    def add(self, builder: Assembly, context: Setting) -> Affine:
        """W, z, both parts of r and their squares over z and 1 - z."""
        assert self.curvature is not None
        D = self.curvature if self.curvature.ndim == 2 else np.diag(self.curvature)
        n, p = context.argument.rows, context.w.rows
        W = builder.variables("W", svec_size(p), shape=(p, p), symmetric=True)
        z = builder.variables("z", n, 0.0, 1.0)
        over, under = builder.variables("r_plus", n, 0.0), builder.variables("r_minus", n, 0.0)
        s, t = builder.variables("s", n), builder.variables("t", n)
        builder.require("lifted", _lifted(context.w, W), PSD.of_order(p + 1))
        A = context.argument.terms["w"].dense()
        builder.require_nonnegative("hull", W.under(svec_rank_one(A)) + context.argument.scaled(-2.0) - s - t + 1.0)
        builder.require("split", over - under + context.argument - 1.0, Zero(n))
        builder.require("violated", Affine.interleaved(s.scaled(0.5), z, over), RotatedSecondOrder(3, n))
        builder.require("kept", Affine.interleaved(t.scaled(0.5), -z + 1.0, under), RotatedSecondOrder(3, n))
        builder.cost(svec(D), W)
        builder.cost(context.weights, z)
        if self.curvature.ndim == 2:
            builder.cost_of_form(-D, context.w)
        else:
            builder.gain_of_squares(self.curvature, context.w)
        return z

    def view(self, A: FloatArray, costs: FloatArray, penalised: BoolArray, mu: float) -> ConicProblem | None:
        """`ConicProblem`, of μ||w||² and equal costs."""
        plain = mu > 0.0 and penalised.all() and costs.size and costs[0] > 0 and (costs == costs[0]).all()
        metric = None if mu == 1.0 else mu * np.eye(A.shape[1])
        return ConicProblem(A, float(costs[0]), None, metric) if plain else None

    def cost_line(self) -> Line:
        """Σ c_i z_i + <D, W - ww'>."""
        return Line("sum_i c_i z_i + <D, W - ww'>", r"\textstyle\sum_i c_i z_i + \langle D, W - ww^\top\rangle")

    def lines(self) -> tuple[Line, ...]:
        """Lifting, hulls, split and perspectives."""
        return (
            Line("[1 w'; w W] psd", r"\begin{pmatrix}1 & w^\top\\ w & W\end{pmatrix}\succeq 0", "lifted"),
            Line("x_i'W x_i - 2 y_i x_i'w + 1 >= s_i + t_i", r"x_i^\top W x_i - 2y_i x_i^\top w + 1 \ge s_i + t_i", "hull"),
            Line("r+_i - r-_i = 1 - y_i x_i'w, r+, r- >= 0", r"r_i^+ - r_i^- = 1 - y_i x_i^\top w,\ r^\pm\ge 0", "split"),
            Line("s_i z_i >= (r+_i)^2", r"s_i z_i \ge (r_i^+)^2", "violated"),
            Line("t_i (1 - z_i) >= (r-_i)^2", r"t_i(1-z_i)\ge (r_i^-)^2", "kept"),
            Line("0 <= z_i <= 1", r"0\le z_i\le 1"),
        )


def _lifted(w: Affine, W: Affine) -> Affine:
    """svec of [1 w'; w W]."""
    p = w.rows
    row, column = svec_indices(p + 1)
    constant = np.zeros(row.size)
    constant[0] = 1.0
    above, inside = np.flatnonzero((row == 0) & (column > 0)), np.flatnonzero(row > 0)
    to_w, to_W = np.zeros((row.size, p)), np.zeros((row.size, W.rows))
    to_w[above, column[above] - 1] = np.sqrt(2.0)
    to_W[inside, np.arange(W.rows)] = 1.0  # both in svec's order
    return w.under(to_w) + W.under(to_W) + constant
