"""`HingeQuadratic`, a strictly convex quadratic with hinge and pinball losses, and `BoxProgram`, the box QP that is its dual.

The problem of one class of a nonparallel classifier reduces to them, such as those of Zhang et al., 2024 ("NPSVC++").
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp

from ....errors import InputError, count_text, short_text
from ...arrays import FloatArray, as_array, as_positive, as_vector
from ...model import Model
from ...program.cones import Nonnegative
from ...program.csr_rows import CSRRows
from ...program.form import Block, Constraint, StandardForm
from ...program.lagrangian import Bound
from ...program.quadratic import Quadratic
from ...record import Arrays, DataKind, FormulationInfo, Parameter, ParameterValues
from ...rounding import UNIT, Rounded, dot, gamma, transposed_product
from ...statement import DualStatement, Line, Statement
from ...views import BoxPoint, BoxQP
from .quadratic_factors import Factor, FormParts, HingeFactor

V = TypeVar("V")


@dataclass(frozen=True, eq=False, repr=False)
class BoxProgram(Model):
    """A box QP as a model: min ½a'(ZZ' + D)a + q'a over lower ≤ a ≤ upper, with the factor Z given.

    Parameters
    ----------
    Z : array_like (m, r)
        The factor.
    q, lower, upper : array_like (m,)
        Linear term and bounds, lower ≤ upper, both finite; a single number stands for m equal ones.
    ridge : array_like (m,)
        Diagonal of D, ≥ 0.

    Notes
    -----
    Form: block ``a`` with its bounds, P = R'R, R = [Z'; √D].

    Raises
    ------
    InputError
        Shapes that do not fit, values that are not finite, lower > upper, a negative ridge.
    """

    Z: FloatArray
    q: FloatArray
    lower: FloatArray
    upper: FloatArray
    ridge: FloatArray

    name = "BoxProgram"
    meanings: ClassVar[Mapping[str, str]] = {
        "bounds": "the reduced cost of a_i is the gradient's entry: >= 0 at the lower, <= 0 at the upper bound",
    }

    def __post_init__(self) -> None:
        Z = as_array(self.Z, "Z")
        if Z.ndim != 2 or not np.isfinite(Z).all():
            raise InputError(f"Z must be a finite m × r matrix; its shape is {Z.shape}", name="Z")
        with np.errstate(over="ignore"):
            largest = float(np.einsum("ij,ij->i", Z, Z).max(initial=0.0))
        if not np.isfinite(largest):
            raise InputError(f"products of rows of Z are not finite in float64 (largest entry {np.abs(Z).max():.3g}): scale it")
        object.__setattr__(self, "Z", np.ascontiguousarray(Z))
        for name in ("q", "lower", "upper", "ridge"):
            object.__setattr__(self, name, as_vector(getattr(self, name), Z.shape[0], name))
        if (self.lower > self.upper).any() or (self.ridge < 0).any():
            raise InputError("a box program needs lower ≤ upper and ridge ≥ 0", name="lower")

    @cached_property
    def box(self) -> BoxQP:
        """Return the box QP as solvers read it."""
        gram = self.Z @ self.Z.T if self.Z.shape[0] <= self.Z.shape[1] else None
        return BoxQP(self.Z, self.q, self.lower, self.upper, self.ridge, self._point, gram=gram)

    def _point(self, a: FloatArray) -> BoxPoint:
        return BoxPoint({"a": a}, {}, self.box.gradient(a))

    def view(self, kind: type[V]) -> V | None:
        """Return the `BoxQP` view, None for another kind."""
        return self.box if kind is BoxQP else None  # type: ignore[return-value]

    @property
    def form_bytes(self) -> int:
        """Return the bytes of Z. P stays factored; with a ridge its factor also has m × m numbers, which are not counted."""
        return 8 * int(self.Z.size)

    def compile(self) -> StandardForm:
        """Return the form with the block ``a`` and its bounds."""
        m = self.q.size
        factor: FloatArray | sp.csr_array = np.asarray(self.Z.T)
        if self.ridge.any():
            factor = np.vstack([self.Z.T, np.diag(np.sqrt(self.ridge))])
        return StandardForm(
            name=self.name,
            blocks=(Block("a", (m,)),),
            q=self.q,
            constraints=(),
            lower=self.lower,
            upper=self.upper,
            integer=np.zeros(m, dtype=bool),
            quadratic=Quadratic(factor=factor),
        )

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the objective less the duality gap at the point moved into the box; multipliers are not read."""
        if x is None:
            return Bound(-np.inf, "no point")
        a = np.clip(x, self.lower, self.upper)
        inner, product_error = transposed_product(self.Z, a)  # Z'a cancels at an optimum
        gradient = self.Z @ inner + self.ridge * a + self.q
        size = float(np.linalg.norm(product_error)) + gamma(self.Z.shape[1]) * float(np.linalg.norm(inner))
        error = self._norms * size + 4.0 * UNIT * (np.abs(self.ridge * a) + np.abs(gradient) + np.abs(self.q))
        error *= 1.0 + 1e-9
        # -½a'(ZZ' + D)a + the least value of ∇'x in the box
        square = dot(inner, inner) + dot(self.ridge * a, a, 2.0 * UNIT * np.abs(a))
        square = Rounded(
            square.value,
            square.error
            + 2.0 * float(np.abs(inner) @ product_error)
            + float(product_error @ product_error)
            + UNIT * float(self.ridge @ (a * a)),
        )
        value = dot(gradient, np.where(gradient > 0.0, self.lower, self.upper)) - square.times(0.5)
        rounding = float(error @ np.maximum(np.abs(self.lower), np.abs(self.upper))) * (1.0 + 1e-9)
        return Bound(value.lower - rounding, "linearisation at the point, minimised over the box", value.error + rounding)

    @cached_property
    def _norms(self) -> FloatArray:
        return np.asarray(np.linalg.norm(self.Z, axis=1) * (1.0 + 1e-12))

    @property
    def statement(self) -> Statement:
        """Return the problem as printed."""
        m, r = self.Z.shape
        return Statement(
            title="Convex quadratic over a box",
            problem_class="convex QP with bounds only",
            sense="minimise",
            variables=Line("a", r"a\in\mathbb{R}^m"),
            objective=Line("1/2 a'(ZZ' + D)a + q'a", r"\tfrac12\, a^\top (ZZ^\top + D)\, a + q^\top a"),
            constraints=(Line("lower <= a <= upper", r"\underline{a} \le a \le \overline{a}"),),
            sizes=f"m = {count_text(m, 'variable')}, r = {count_text(r, 'column')} of Z",
            notes=("duality gap at any feasible a: sum of grad_i (a_i - the box end that grad_i points away from)",),
            source="the duals of the class problems, NPSVC++ (16)",
        )


def _small(rng: np.random.Generator) -> Arrays:
    q = rng.normal(size=8)
    return {"Z": rng.normal(size=(8, 3)), "q": q, "lower": np.full(8, -0.5), "upper": np.ones(8), "ridge": np.full(8, 0.1)}


def _objective(model: BoxProgram, values: Mapping[str, FloatArray]) -> float:
    a = values["a"]
    half = model.Z.T @ a
    return 0.5 * float(half @ half + model.ridge @ (a * a)) + float(model.q @ a)


@dataclass(frozen=True, eq=False, repr=False)
class HingeQuadratic(Model):
    """The problem min ½u'Hu + b'u + constant + Σ_j w_j max(h_j - g_j'u, -τ_j(h_j - g_j'u)), strictly convex.

    g_j are the rows of G. τ_j = 0 is the hinge, τ_j > 0 the pinball loss. Dual:

        max over -τ_j w_j ≤ λ_j ≤ w_j of  h'λ - ½(G'λ - b)'H⁻¹(G'λ - b) + constant,   u = H⁻¹(G'λ - b),

    a box QP with the matrix GH⁻¹G' (`BoxQP`), whose value at *any* λ of the box is a bound.

    Parameters
    ----------
    factor : HingeFactor, PointsFactor, SignedFactor or DowndatedFactor
        H (p, p) symmetric positive definite and G (m, p), as matrices or by kernel rows; m may be 0.
    b : array_like (p,)
        Linear term.
    h, weights, tau : array_like (m,)
        Targets h, weights w ≥ 0, and τ ≥ 0; a single number stands for m equal ones.
    constant : float
        Added to the objective.
    centre : ndarray (p,), optional
        H⁻¹b, where it is known.
    b_error : float
        Bound of the norm of the rounding error that b comes with.

    Notes
    -----
    Form: blocks ``u`` (p) and ``xi`` (m); constraint ``margin``: g_j'u + ξ_j - h_j ≥ 0; where τ_j > 0 ``overshoot``:
    ξ_j - τ_j(g_j'u - h_j) ≥ 0, else ξ_j ≥ 0. λ = multiplier of margin - τ × multiplier of overshoot.

    Raises
    ------
    InputError
        Shapes that do not fit; a negative weight or τ.
    """

    factor: Factor
    b: FloatArray
    h: FloatArray
    weights: FloatArray
    tau: FloatArray
    constant: float = 0.0
    centre: FloatArray | None = None
    b_error: float = 0.0

    name = "HingeQuadratic"
    meanings: ClassVar[Mapping[str, str]] = {
        "margin": "0 where g_j'u > h_j, w_j where g_j'u < h_j (tau_j = 0); lambda_j = margin - tau_j overshoot",
        "bounds": "the reduced cost of xi_j is w_j - lambda_j (tau_j = 0): what is left of the weight",
    }

    def __post_init__(self) -> None:
        if not isinstance(self.factor, Factor):
            raise InputError(f"factor must be a HingeFactor or one of its kin; it is {short_text(self.factor)}", name="factor")
        m, p = self.factor.shape
        if isinstance(self.factor, HingeFactor) and self.factor.H.shape != (p, p):
            raise InputError(f"H must be {p} × {p} as G has {p} columns; it is {self.factor.H.shape}", name="H")
        for name, size in (("b", p), ("h", m), ("weights", m), ("tau", m)):
            object.__setattr__(self, name, as_vector(getattr(self, name), size, name))
        if (self.weights < 0).any() or (self.tau < 0).any():
            raise InputError("weights and tau must be ≥ 0", name="weights")
        object.__setattr__(self, "constant", float(as_vector(self.constant, 1, "constant")[0]))
        object.__setattr__(self, "b_error", as_positive(self.b_error, "b_error", zero=True))
        if self.centre is not None:
            object.__setattr__(self, "centre", as_vector(self.centre, p, "centre"))

    # -- the dual -----------------------------------------------------------------------------------------------

    @cached_property
    def _centre(self) -> FloatArray:
        """Return H⁻¹b."""
        if self.centre is not None:
            return self.centre
        return self.factor.solve(self.b) if self.b.any() else np.zeros(self.b.size)

    @cached_property
    def box(self) -> BoxQP:
        """Return the dual as a minimisation over λ in a box.

        It does not refer to this object: a circle of references would keep its m × m matrix until the collector runs.
        """
        gram = self.factor.gram
        coarse = self.factor.coarse if isinstance(self.factor, HingeFactor) else None
        other = copy.copy(self)  # `replace` would check all of it again
        object.__setattr__(other, "centre", self._centre)
        return BoxQP(
            Z=self.factor.Z if gram is None and coarse is None else np.zeros((self.h.size, 0)),
            q=-self.h - self.factor.times(self._centre),
            lower=-self.tau * self.weights,
            upper=np.array(self.weights),
            ridge=np.zeros(self.h.size),
            recover=other.recover,
            offset=self.constant - 0.5 * float(self.b @ self._centre),
            gram=gram,
            coarse=coarse,
        )

    @property
    def dual_program(self) -> BoxProgram:
        """Return the dual as a model, for solvers that read a `BoxProgram`."""
        return BoxProgram(self.factor.Z, self.box.q, self.box.lower, self.box.upper, self.box.ridge)

    def primal(self, lam: FloatArray) -> FloatArray:
        """Return u = H⁻¹(G'λ - b)."""
        return self.factor.solve(self.factor.rmatvec(lam)) - self._centre

    def losses(self, u: FloatArray) -> FloatArray:
        """Return the losses max(h_j - g_j'u, -τ_j(h_j - g_j'u)) without their weights, (m,)."""
        short = self.h - self.factor.times(u)
        return np.asarray(np.maximum(short, -self.tau * short))

    def value(self, u: FloatArray) -> float:
        """Return the objective at u."""
        quadratic = 0.5 * self.factor.quadratic(u) + float(self.b @ u) + self.constant
        return quadratic + float(self.weights @ self.losses(u))

    def recover(self, lam: FloatArray) -> BoxPoint:
        """Return primal point, multipliers of the form's constraints and reduced costs from a λ in the box."""
        u = self.primal(lam)
        pinball = self.tau > 0
        margin = (lam + self.tau * self.weights) / (1.0 + self.tau)
        overshoot = ((self.weights - lam) / (1.0 + self.tau))[pinball]
        zeta = np.where(pinball, 0.0, self.weights - lam)
        multipliers = {"margin": margin}
        if pinball.any():
            multipliers["overshoot"] = overshoot
        return BoxPoint({"u": u, "xi": self.losses(u)}, multipliers, np.concatenate([np.zeros(u.size), zeta]))

    def multiplier(self, multipliers: Mapping[str, FloatArray]) -> FloatArray:
        """Return λ in the box from the form's multipliers, whatever their quality."""
        lam = np.array(multipliers["margin"], dtype=np.float64)
        if "overshoot" in multipliers:
            pinball = self.tau > 0
            lam[pinball] -= self.tau[pinball] * np.asarray(multipliers["overshoot"])
        return np.clip(lam, -self.tau * self.weights, self.weights)

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the dual value at the multipliers moved into the box; with no losses, the minimum itself.

        At any u the inner minimum ½u'Hu - p'u, p = G'λ - b, is missed by at most ½ρ'H⁻¹ρ ≤ ½Σρ_j²/ℓ_j, ρ = Hu - p, H ⪰ diag(ℓ):
        u is H⁻¹p as computed and refined once, so that ρ is a rounding error.
        """
        if self.h.size and (multipliers is None or "margin" not in multipliers):
            return Bound(-np.inf, "no multipliers")
        smallest_curvature = self.factor.diagonal_lower_bound
        if smallest_curvature is None:
            return Bound(-np.inf, "that the quadratic is positive definite is lost in rounding: give a larger r or r1")
        lam = self.multiplier(multipliers) if self.h.size and multipliers is not None else np.zeros(0)
        p = self.factor.rmatvec(lam) - self.b
        u = self.factor.solve(p)
        u = u + self.factor.solve(p - self.factor.quadratic_product(u).product)
        quadratic_product = self.factor.quadratic_product(u)
        error = gamma(lam.size + 4) * (float(self.factor.row_norms @ np.abs(lam)) + float(np.linalg.norm(self.b))) + self.b_error
        rho = float(np.linalg.norm((quadratic_product.product - p) / np.sqrt(smallest_curvature)))
        rho += (quadratic_product.error + error + UNIT * float(np.linalg.norm(p))) / float(np.sqrt(smallest_curvature.min()))
        value = dot(self.h, lam) + quadratic_product.quadratic.times(0.5) - dot(p, u) + Rounded(self.constant)
        rounding = (error * float(np.linalg.norm(u)) + 0.5 * rho * rho) * (1.0 + 1e-9)
        argument = "dual value h'λ - ½(G'λ - b)'H⁻¹(G'λ - b) with λ clipped to its box"
        bound = value.lower - rounding
        return Bound(bound if np.isfinite(bound) else -np.inf, argument, value.error + rounding)

    # -- the model ----------------------------------------------------------------------------------------------

    def view(self, kind: type[V]) -> V | None:
        """Return the `BoxQP` view of the dual, None for another kind."""
        return self.box if kind is BoxQP else None  # type: ignore[return-value]

    @property
    def form_bytes(self) -> int:
        """Return the bytes of H and of the rows of G, which the form has twice if a loss is the pinball loss."""
        m, p = self.factor.shape
        return 12 * p * p + 12 * m * (p + 1) * (1 + int((self.tau > 0).any()))

    def compile(self) -> StandardForm:
        """Return the form of the notes above."""
        m, p = self.factor.shape
        factor = self.factor  # those of kernels are made for not keeping H and G
        parts = factor.form_parts if isinstance(factor, HingeFactor) else FormParts.of(factor.H, factor.G)
        constraints = []
        if m:
            constraints.append(Constraint("margin", parts.rows, -self.h, Nonnegative(m)))
        pinball = np.flatnonzero(self.tau > 0)
        if pinball.size:
            tau, G, identity = self.tau[pinball], CSRRows.from_matrix(self.factor.G), CSRRows.identity(m)
            rows = CSRRows.hstack(
                [(G.take_rows(pinball).scale_rows(-tau), 0), (identity.take_rows(pinball), p)], pinball.size, p + m
            )
            constraints.append(Constraint("overshoot", rows.csr, tau * self.h[pinball], Nonnegative(pinball.size)))
        return StandardForm(
            name=self.name,
            blocks=(Block("u", (p,)), Block("xi", (m,))) if m else (Block("u", (p,)),),
            q=np.concatenate([self.b, self.weights]),
            constraints=tuple(constraints),
            lower=np.concatenate([np.full(p, -np.inf), np.where(self.tau > 0, -np.inf, 0.0)]),
            upper=np.full(p + m, np.inf),
            integer=np.zeros(p + m, dtype=bool),
            quadratic=parts.quadratic,
            r=self.constant,
        )

    @property
    def statement(self) -> Statement:
        """Return the problem and its dual as printed."""
        m, p = self.factor.shape
        return Statement(
            title="Quadratic with piecewise-linear losses",
            problem_class="convex QP",
            sense="minimise",
            variables=Line("u", r"u\in\mathbb{R}^p"),
            objective=Line(
                "1/2 u'Hu + b'u + k + sum_j w_j max(h_j - g_j'u, -tau_j (h_j - g_j'u))",
                r"\tfrac12 u^\top H u + b^\top u + k + \sum_j w_j \max(h_j - g_j^\top u,\, -\tau_j (h_j - g_j^\top u))",
            ),
            constraints=(),
            sizes=f"p = {count_text(p, 'variable')}, m = {count_text(m, 'loss', 'losses')}",
            source="the class problems of NPSVC++ (2) and its u-step (15)-(16)",
            dual=DualStatement(
                sense="maximise",
                variables=Line("lambda", r"\lambda\in\mathbb{R}^m"),
                objective=Line(
                    "h'lambda - 1/2 (G'lambda - b)'H^-1 (G'lambda - b) + k",
                    r"h^\top\lambda - \tfrac12\,(G^\top\lambda - b)^\top H^{-1} (G^\top\lambda - b) + k",
                ),
                constraints=(Line("-tau_j w_j <= lambda_j <= w_j", r"-\tau_j w_j \le \lambda_j \le w_j,\quad j=1,\dots,m"),),
                kkt=(
                    Line("u = H^-1 (G'lambda - b)", r"u = H^{-1}(G^\top\lambda - b)"),
                    Line(
                        "(w_j - lambda_j) (h_j - g_j'u)_+ = 0, (lambda_j + tau_j w_j) (h_j - g_j'u)_- = 0",
                        r"(w_j - \lambda_j)\,(h_j - g_j^\top u)_+ = 0,\qquad (\lambda_j + \tau_j w_j)\,(h_j - g_j^\top u)_- = 0",
                    ),
                ),
            ),
        )


def _build(arrays: Arrays, chosen: ParameterValues) -> HingeQuadratic:
    factor = HingeFactor(arrays["H"], arrays["G"])
    return HingeQuadratic(factor, arrays["b"], arrays["h"], arrays["weights"], arrays["tau"], chosen["constant"])


def _hinge_quadratic_small(rng: np.random.Generator) -> Arrays:
    rows = rng.normal(size=(6, 3))
    H = rows.T @ rows + np.eye(3)
    return {
        "H": H, "G": rng.normal(size=(8, 3)), "b": rng.normal(size=3), "h": np.ones(8), "weights": 0.2 + rng.random(8),
        "tau": np.where(np.arange(8) < 4, 0.0, 0.3),
    }  # fmt: skip


FORMULATIONS = (
    FormulationInfo(
        BoxProgram,
        name="box",
        summary="convex quadratic over a box, its factor given",
        reference="the duals of the class problems, NPSVC++ (16)",
        data=DataKind.ARRAYS,
        objective=_objective,
        arrays=("Z", "q", "lower", "upper", "ridge"),
        small=_small,
    ),
    FormulationInfo(
        HingeQuadratic,
        name="hinge-quadratic",
        summary="strictly convex quadratic plus weighted hinge and pinball losses",
        reference="the class problems of NPSVC++ (2) and its u-step (15)-(16)",
        data=DataKind.ARRAYS,
        build=_build,
        objective=lambda model, values: float(model.value(values["u"])),
        parameters=(Parameter("constant", "added to the objective", float, 0.0),),
        arrays=("H", "G", "b", "h", "weights", "tau"),
        small=_hinge_quadratic_small,
    ),
)
