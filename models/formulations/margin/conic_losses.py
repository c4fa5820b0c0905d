"""The two conic losses of `Margin`, lower bounds of the 0-1 loss that are convex together with the regulariser.

`Conic` is the loss at one γ ≥ 0 (n,), Proposition 1 of Cepeda, Gómez and Han, 2024 ("Conic"); `StrongestConic` is the best over
all γ in Γ, (21). Γ, (13), has the γ for which D - Σ γ_i x_i x_i' ⪰ 0, D the curvature of the regulariser R (R(w) - w'Dw is
convex). m_i is the margin y_i x_i'w of point i, c_i its cost, r_i = 1 - m_i, and r₊, r₋ are max(r, 0) and max(-r, 0).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ....errors import InputError, UnsupportedModelError, short_text
from ...arrays import BoolArray, FloatArray, Points
from ...program.cones import PSD, RotatedSecondOrder, Zero, svec, svec_indices, svec_rank_one, svec_size
from ...statement import UNIT_INTERVAL, Line, PointVariables
from ...views import ConicProblem
from ..features import dense_signed_rows
from .assembly import Affine, Assembly
from .loss import Loss
from .part import AssemblyContext, as_numbers

#: The largest equal γ is taken this share below the edge of Γ, so that the form is strictly convex.
_INSIDE = 1e-6


@dataclass(frozen=True)
class Conic(Loss):
    """The convexified 0-1 loss at one γ_i, for r = 1 - m: 0 for r ≤ 0, 2√(c_iγ_i) r - γ_i r² up to r = √(c_i/γ_i), then c_i.

    It is Conic, Proposition 1; 0 for γ_i = 0. It is min over 0 ≤ z ≤ 1 of c z + γ(r₊²/z + r₋²/(1 - z) - r²), at most the 0-1 loss
    with the cost c_i, so the optimum bounds that of `ZeroOne` from below. The sum with μ||w||² is convex, and the form too, for γ
    in Γ, Conic (13): μI - Σ γ_i x_i x_i' ⪰ 0. The form: r₊ - r₋ = r; s z ≥ r₊², t (1 - z) ≥ r₋²;
    cost Σ c_i z_i + γ_i (s_i + t_i - r_i²).

    Parameters
    ----------
    gamma : float or tuple of float, optional
        γ ≥ 0, one for all points or one each; where it is not given, 1 - 1e-6 of the largest one for all points in Γ.

    Raises
    ------
    InputError
        γ < 0; γ outside Γ, or a regulariser without curvature in a direction that the points see (L1, a free intercept), when
        the problem is stated.
    """

    gamma: float | tuple[float, ...] | None = None

    is_sum_over_points: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.gamma is None:
            return
        gamma = as_numbers(self.gamma, "gamma")
        if gamma.ndim > 1 or not (np.isfinite(gamma) & (gamma >= 0)).all():
            raise InputError(
                f"gamma must be finite numbers ≥ 0, one or one for each point; it is {short_text(self.gamma)}", name="gamma"
            )
        object.__setattr__(self, "gamma", tuple(map(float, gamma)) if gamma.ndim else float(gamma))

    def bind(self, X: Points, y: FloatArray, sample_weight: FloatArray, curvature: FloatArray) -> Conic:
        """Return the loss with γ in the set Γ of these data: the given γ, which is checked, or the default.

        ``curvature`` is D, or its diagonal.
        """
        scaled = _scale_by_curvature(dense_signed_rows(X, y), curvature)
        if self.gamma is None:
            largest = float(np.linalg.norm(scaled, 2)) ** 2 if scaled.size else 0.0
            return replace(self, gamma=(1.0 - _INSIDE) / largest if largest > 0 else 0.0)
        gamma = self._gamma(y.size)
        top = float(np.linalg.eigvalsh((scaled * gamma[:, None]).T @ scaled)[-1]) if scaled.size else 0.0
        if top >= 1.0:
            raise InputError(
                "gamma must lie in Gamma: mu I - sum gamma_i x_i x_i' must be positive definite, with mu of the regulariser, but "
                f"relative to mu the sum's largest eigenvalue is {top:.6g}; divide gamma by a little more than that",
                name="gamma",
            )
        return self

    def _gamma(self, n: int) -> FloatArray:
        gamma = np.asarray(self.gamma, dtype=np.float64)
        if gamma.ndim and gamma.size != n:
            raise InputError(f"gamma must be one number or one for each of the {n} points; it has {gamma.size}", name="gamma")
        return np.array(np.broadcast_to(gamma, n))

    def values(self, argument: FloatArray) -> FloatArray:
        """Return the losses at a cost of 1 for each point."""
        return self._values(np.ones(argument.size), argument)

    def total(self, costs: FloatArray, argument: FloatArray) -> float:
        """Return the sum of the losses; the costs c_i enter nonlinearly, 2√(c_iγ_i) r_i - γ_i r_i² up to r_i = √(c_i/γ_i)."""
        return float(self._values(costs, argument).sum())

    def _values(self, costs: FloatArray, argument: FloatArray) -> FloatArray:
        gamma, r = self._gamma(argument.size), np.maximum(1.0 - argument, 0.0)
        below = gamma * r**2 < costs
        return np.where(below, r * (2.0 * np.sqrt(costs * gamma) - gamma * r), np.where(gamma > 0, costs, 0.0))

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine | None:
        """Add z, the two parts of r and their squares over z and 1 - z, for the points with γ_i > 0."""
        gamma = self._gamma(context.argument.rows)
        chosen = np.flatnonzero(gamma > 0)
        r, gamma, n = -context.argument.at(chosen) + 1.0, gamma[chosen], chosen.size
        z = builder.variables("z", n, 0.0, 1.0)
        shortfall, surplus, s, t = (builder.variables(label, n, 0.0) for label in ("r_plus", "r_minus", "s", "t"))
        require_perspectives(builder, r, z, (shortfall, surplus, s, t))
        builder.cost(context.sample_weight[chosen], z)
        builder.cost(gamma, s + t)
        builder.gain_of_squares(gamma, r)
        return None

    def cost_line(self) -> Line:
        """Return the printed Σ c_i z_i + γ_i (s_i + t_i - r_i²)."""
        return Line(
            "sum_i c_i z_i + g_i (s_i + t_i - (1 - y_i x_i'w)^2)",
            r"\textstyle\sum_i c_i z_i + \gamma_i\bigl(s_i + t_i - (1-y_i x_i^\top w)^2\bigr)",
        )

    def variables(self) -> tuple[Line, ...]:
        """Return the printed weights of the perspectives, the parts of r and their squares."""
        return _PERSPECTIVE_VARIABLES

    def lines(self) -> tuple[Line, ...]:
        """Return the printed splitting of r and the perspectives."""
        return _PERSPECTIVES


#: z, the parts of r, and s and t of the perspectives, whose bounds follow from the rows where they have none.
_PERSPECTIVE_VARIABLES = (
    PointVariables.of(Line("z", "z", "z"), UNIT_INTERVAL),
    Line("r+ >= 0", r"r^+\ge 0", "r_plus"),
    Line("r- >= 0", r"r^-\ge 0", "r_minus"),
    Line("s >= 0", r"s\ge 0", "s"),
    Line("t >= 0", r"t\ge 0", "t"),
)
#: Split of r into its parts, and their squares over z and 1 - z.
_PERSPECTIVES = (
    Line("r+_i - r-_i = 1 - y_i x_i'w, r+, r- >= 0", r"r_i^+ - r_i^- = 1 - y_i x_i^\top w,\ r^\pm\ge 0", "split"),
    Line("s_i z_i >= (r+_i)^2", r"s_i z_i \ge (r_i^+)^2", "violated"),
    Line("t_i (1 - z_i) >= (r-_i)^2", r"t_i(1-z_i)\ge (r_i^-)^2", "kept"),
    Line("0 <= z_i <= 1", r"0\le z_i\le 1"),
)


#: The printed constraint that bounds a free intercept.
_BOUNDED = Line("W_11 <= B^2, |w_1| <= B", r"W_{11} \le B^2,\ |w_1|\le B", "bounded")


def require_perspectives(builder: Assembly, r: Affine, z: Affine, parts: Sequence[Affine]) -> None:
    """Add r₊ - r₋ = r, s z ≥ r₊² and t (1 - z) ≥ r₋² as ``split``, ``violated`` and ``kept``; ``parts`` are r₊, r₋, s, t."""
    n, (shortfall, surplus, s, t) = max(z.rows, 1), parts
    builder.require("split", shortfall - surplus - r, Zero(n))
    builder.require("violated", Affine.interleaved(s.scaled(0.5), z, shortfall), RotatedSecondOrder(3, n))
    builder.require("kept", Affine.interleaved(t.scaled(0.5), -z + 1.0, surplus), RotatedSecondOrder(3, n))


def _scale_by_curvature(A: FloatArray, curvature: FloatArray) -> FloatArray:
    """Return rows b_i such that Σ γ_i x_i x_i' ⪯ D where Σ γ_i b_i b_i' ⪯ I; ``curvature`` is D or its diagonal.

    Raises
    ------
    InputError
        D is zero along some x_i.
    """
    used_columns = A.any(axis=0)
    if curvature.ndim == 1:
        blind, scaled = (
            bool((curvature[used_columns] <= 0).any()),
            A[:, used_columns] / np.sqrt(np.maximum(curvature[used_columns], 1e-300)),
        )
    else:
        values, vectors = np.linalg.eigh(curvature)
        positive = values > 1e-12 * max(values[-1], 0.0)
        outside = A @ vectors[:, ~positive]
        blind = bool((np.abs(outside) > 1e-6 * (1.0 + np.abs(A).max(initial=0.0))).any())
        scaled = A @ vectors[:, positive] / np.sqrt(values[positive])
    if blind:
        raise InputError(
            "the conic loss is concave in parts and needs a regulariser that is strongly convex in every coefficient: "
            "SquaredNorm or ElasticNet with intercept='penalised'; Ramp and ZeroOne, with binaries, take any regulariser",
            name="regulariser",
        )
    return np.asarray(scaled)


@dataclass(frozen=True)
class StrongestConic(Loss):
    """The strongest convexified 0-1 loss, max over γ in Γ of Σ_i `Conic`: of all margins together, at most Σ c_i 1{m_i < 1}.

    Γ, Conic (13), is what the regulariser's curvature D makes up for: Σ γ_i x_i x_i' ⪯ D. By duality the loss at w is
    min <D, W - ww'> + Σ c_i z_i over W ⪰ ww', 0 ≤ z ≤ 1 with x_i'W x_i - 2m_i + 1 ≥ (r_i)_+²/z_i + (r_i)_-²/(1 - z_i), r = 1 - m.
    With μ||w||² the squares cancel and what is left is the semidefinite program of `ConicSVM`.

    *A free intercept* b has no squares. With W_11 = M, zero elsewhere, and z_i = 1/(1 + M) every hull row holds, and the cost
    tends to 0 as M grows. So W_11 ≤ B², |b| ≤ B, which some optimal point of the 0-1 problem satisfies. By duality the optimum is
    the largest over ρ ≥ 0 of that with D_11 = ρ, less ρB². It is positive with points of both classes: at the price ρ, and γ of
    the order ρ in Γ, the losses are of the order √ρ, and ρB² is of the order ρ.

    The form: W (svec), z, r₊, r₋, s, t; ``lifted`` [1 w'; w W] ⪰ 0, ``hull`` x_i'W x_i - 2m_i + 1 - s_i - t_i ≥ 0
    (multipliers γ*), ``split`` r₊ - r₋ = r, ``violated`` s z ≥ r₊², ``kept`` t (1 - z) ≥ r₋²; ``bounded`` B² - W_11 ≥ 0.

    Parameters
    ----------
    curvature : ndarray (p, p) or (p,), optional
        D of the regulariser, or its diagonal: the problem sets it when it is stated.

    Raises
    ------
    InputError
        A regulariser without curvature in a direction that the points see (L1), or a free intercept that nothing bounds, when the
        problem is stated.
    """

    #: D of the regulariser, or its diagonal: known once the problem is stated.
    curvature: FloatArray | None = field(default=None, repr=False, compare=False)

    is_sum_over_points: ClassVar[bool] = False
    has_values: ClassVar[bool] = False

    def bind(self, X: Points, y: FloatArray, sample_weight: FloatArray, curvature: FloatArray) -> StrongestConic:
        """Return the loss with the regulariser's curvature, from which Γ follows."""
        A, free = dense_signed_rows(X, y), bool(curvature.ndim == 1 and (curvature[:1] <= 0.0).any())
        _scale_by_curvature(A[:, 1:] if free else A, curvature[1:] if free else curvature)
        return replace(self, curvature=curvature)

    @property
    def coefficients_to_bound(self) -> BoolArray | None:
        """Return the mask of the first coefficient where it has no square (a free intercept); None without one."""
        if self.curvature is None or self.curvature.ndim == 2 or not (self.curvature[:1] <= 0.0).any():
            return None
        return np.arange(self.curvature.size) == 0

    @property
    def reads_activity_bounds(self) -> bool:
        """Return whether bounds of coefficients take the place of squares."""
        return self.coefficients_to_bound is not None

    def saturation(self) -> float:
        """Return 1: the 0-1 loss, whose optimal points the bounds must contain, is constant below -1 and from 1 on."""
        return 1.0

    def values(self, argument: FloatArray) -> FloatArray:
        """Raise an error: the loss is a function of all margins together.

        Raises
        ------
        UnsupportedModelError
            Always.
        """
        raise UnsupportedModelError(
            "the strongest conic loss at a classifier is a semidefinite program of its own: solve model.with_fixed({'w': ...}), "
            "or take Conic(gamma) for the loss at one gamma",
            name="loss",
        )

    def upper_bound(self, costs: FloatArray, argument: FloatArray) -> float:
        """Return the 0-1 loss Σ c_i 1{m_i < 1}, which is never smaller."""
        return float(costs[argument < 1.0].sum())

    def add(self, builder: Assembly, context: AssemblyContext) -> Affine:
        """Add W, z, both parts of r and their squares over z and 1 - z."""
        assert self.curvature is not None
        D = self.curvature if self.curvature.ndim == 2 else np.diag(self.curvature)
        n, p = context.argument.rows, context.w.rows
        W = builder.variables("W", svec_size(p), shape=(p, p), symmetric=True)
        z = builder.variables("z", n, 0.0, 1.0)
        shortfall, surplus = builder.variables("r_plus", n, 0.0), builder.variables("r_minus", n, 0.0)
        s, t = builder.variables("s", n), builder.variables("t", n)
        builder.require("lifted", lifted(context.w, W), PSD.of_order(p + 1))
        A = context.argument.terms["w"].dense()
        builder.require_nonnegative("hull", W.premultiplied(svec_rank_one(A)) + context.argument.scaled(-2.0) - s - t + 1.0)
        require_perspectives(builder, -context.argument + 1.0, z, (shortfall, surplus, s, t))
        if self.coefficients_to_bound is not None:
            builder.require_nonnegative("bounded", -W.at([0]) + context.span[:1] ** 2)
        builder.cost(svec(D), W)
        builder.cost(context.sample_weight, z)
        if self.curvature.ndim == 2:
            builder.cost_of_quadratic_form(-D, context.w)
        else:
            builder.gain_of_squares(self.curvature, context.w)
        return z

    def view(self, rows: Callable[[], FloatArray], costs: FloatArray, penalised: BoolArray, mu: float) -> ConicProblem | None:
        """Return the `ConicProblem` of μ||w||², equal costs and the signed rows y_i x_i; None for other problems."""
        plain = mu > 0.0 and penalised.all() and costs.size and costs[0] > 0 and (costs == costs[0]).all()
        metric = None if mu == 1.0 else mu * np.eye(penalised.size)
        return ConicProblem(rows(), float(costs[0]), None, metric) if plain else None

    def cost_line(self) -> Line:
        """Return the printed Σ c_i z_i + <D, W - ww'>."""
        return Line("sum_i c_i z_i + <D, W - ww'>", r"\textstyle\sum_i c_i z_i + \langle D, W - ww^\top\rangle")

    def variables(self) -> tuple[Line, ...]:
        """Return the printed W, and the variables of the perspectives."""
        return (Line("W in S^p", r"W\in\mathbb{S}^p", "W"), *_PERSPECTIVE_VARIABLES)

    def lines(self) -> tuple[Line, ...]:
        """Return the printed lifting, hulls, splitting and perspectives."""
        return (
            Line("[1 w'; w W] psd", r"\begin{pmatrix}1 & w^\top\\ w & W\end{pmatrix}\succeq 0", "lifted"),
            Line("x_i'W x_i - 2 y_i x_i'w + 1 >= s_i + t_i", r"x_i^\top W x_i - 2y_i x_i^\top w + 1 \ge s_i + t_i", "hull"),
            *_PERSPECTIVES,
            *(() if self.coefficients_to_bound is None else (_BOUNDED,)),
        )


def lifted(w: Affine, W: Affine) -> Affine:
    """Return svec of the matrix [1 w'; w W] as expressions."""
    p = w.rows
    rows, columns = svec_indices(p + 1)
    corner, border = (columns == 0), (rows == 0) & (columns > 0)
    inner = np.flatnonzero(rows > 0)
    place = np.flatnonzero(border)
    into_w = sp.csr_array((np.full(p, np.sqrt(2.0)), (place, columns[place] - 1)), shape=(rows.size, p))
    into_W = sp.csr_array((np.ones(inner.size), (inner, np.arange(inner.size))), shape=(rows.size, inner.size))
    return w.premultiplied(into_w) + W.premultiplied(into_W) + corner.astype(np.float64)
