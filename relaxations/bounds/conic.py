"""The conic (semidefinite) relaxation of the 0-1 loss: alone (`Conic`), in kernel form, and with big-M rows (`Combined`).

The 0-1 problem is min ||w||² + λ Σ z_i, z_i in {0, 1}, z_i = 1 where u_i = y_i x_i'w < 1. Numbers are those of Cepeda, Gómez and
Han (2024), *Robust support vector machines via conic optimization* ("Conic"), whose (21) is, with a_i = y_i x_i and W for ww',

    min Tr W + λ Σ z_i   subject to   x_i'W x_i - 2u_i + 1 ≥ (r_i)_+²/z_i + (r_i)_-²/(1 - z_i),  r_i = 1 - u_i,  [1 w'; w W] ⪰ 0.

γ_i ≥ 0 is the multiplier of the first row (``hull``) and v_i that of r_i = 1 - u_i (``split``); Γ = {γ ≥ 0 : Σ γ_i a_i a_i' ⪯ I}.
Conic (13) is the convexification at one γ of Γ, a program over second-order cones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...models.arrays import FloatArray, as_vector
from ...models.formulations.conic import ConicSVM
from ...models.formulations.features import dense_signed_rows
from ...models.formulations.zero_one import ZeroOneSVM
from ...models.kernels.kernels import Linear
from ...models.program.cones import Nonnegative
from ...models.program.form import Constraint, StandardForm
from ...models.statement import Line, Statement
from ...models.views import ConicProblem
from ..reduction import LEADING_ONES, LiftedDual, Need, Relaxation, best_multiple, without_warnings
from .big_m import BigMReduction, MSource
from .convexification import (
    CertifiedConvexification,
    ConvexificationModel,
    NormConvexification,
    as_positive_vector,
    certified_dual,
    certified_dual_with_big_m,
)


@dataclass(frozen=True)
class Conic(NormConvexification[ConicSVM]):
    """The SDP of Conic (21), λ form. Its optimum is the largest bound of the convexifications, Conic (13), over γ in Γ.

    It needs no M. All points have one λ; in `Combined` the λ_i may differ.
    """

    #: The plot of bounds against M in a gap report has a horizontal line for this relaxation.
    beside_m = True

    name = "conic SDP"

    def target(self, model: ZeroOneSVM) -> ConicSVM:
        """Return `ConicSVM` with the same data and λ."""
        return ConicSVM(model.X, model.y, lam=float(model.sample_weight[0]))

    def lift(self, model: ZeroOneSVM, target: ConicSVM, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """Return the bound in closed form at γ from the multipliers ``hull`` and v from ``split``."""
        return certified_dual(ConicProblem(target.signed, float(model.sample_weight[0]), None), multipliers["hull"], multipliers)


@dataclass(frozen=True)
class KernelConic(NormConvexification[ConicSVM]):
    """min <K, B> + λ Σz over (α, B), B ⪰ αα': Conic (21) with x_i replaced by K_i, of the same optimum.

    K_ij = y_i y_j (x̃_i'x̃_j + 1) = a_i'a_j, where x_i = (1, x̃_i).

    *Why it is equal.* With the rows a_i' = y_i x_i' of A, K = AA'. An optimal (w, W) of the primal SDP lies in the span of the
    a_i (the part outside adds to Tr W alone), so w = A'α, W = A'BA for some B ⪰ αα', and every term is the same. Γ agrees too:
    K - Σ γ_i K_i K_i' = A(I - Σ γ_i a_i a_i')A'. It pays where p > n.
    """

    name = "kernel SDP, linear kernel"

    @property
    def needs(self) -> tuple[Need, ...]:
        """Return the needs of `Conic`, and a leading column of ones, which the kernel's + 1 replaces."""
        return (*super().needs, LEADING_ONES)

    def target(self, model: ZeroOneSVM) -> ConicSVM:
        """Return the kernel form on the features without their leading column of ones."""
        return ConicSVM(model.X[:, 1:], model.y, lam=float(model.sample_weight[0]), kernel=Linear())

    def recover(self, model: ZeroOneSVM, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the point of the best multiple of w = Σ α_i a_i, α the target's block ``w``."""
        w = dense_signed_rows(model.X, model.y).T @ np.asarray(values["w"], dtype=np.float64)
        return model.point(best_multiple(model, w))

    def lift(self, model: ZeroOneSVM, target: ConicSVM, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """Return the bound in closed form, at the same γ and v, in the data without kernel."""
        return certified_dual(
            ConicProblem(dense_signed_rows(model.X, model.y), float(model.sample_weight[0]), None),
            multipliers["hull"],
            multipliers,
        )


@dataclass(frozen=True, eq=False, repr=False)
class CombinedRelaxation(ConvexificationModel):
    """min Tr W + Σ λ_i z_i over the constraints of Conic (21) and u_i + M_i z_i ≥ 1.

    Its optimum is at least that of the conic relaxation and that of the big-M relaxation with the same M.

    Parameters
    ----------
    X : array_like (n, p)
        Points; an intercept is a column of ones among them.
    y : array_like (n,)
        Labels -1, +1.
    lam, big_m : float or array_like (n,)
        Costs λ_i > 0 and constants M_i > 0. The optimum bounds that of the 0-1 problem if M is valid.

    Notes
    -----
    Form: that of `ConicSVM` with the costs λ_i and the further constraint ``big_m``: u_i + M_i z_i - 1 ≥ 0. The bound is
    derived in `relaxations.bounds.convexification`.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels, λ ≤ 0, M ≤ 0.
    """

    big_m: float | FloatArray

    name = "CombinedRelaxation"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_positive_vector(self.big_m, self.X.shape[0], "big_m")

    @cached_property
    def conic(self) -> ConicSVM:
        """The SDP without big-M rows, whose form, statement and summary this model extends; its λ is not used."""
        with without_warnings():
            return ConicSVM(self.X, self.y, lam=1.0)

    @cached_property
    def big_m_values(self) -> FloatArray:
        """The constants M_i, (n,)."""
        return as_vector(self.big_m, self.X.shape[0], "big_m")

    @property
    def form_bytes(self) -> int:
        """Return the estimated bytes of the form: those of the SDP without big-M rows."""
        return self.conic.form_bytes

    def compile(self) -> StandardForm:
        """Return the form that the class's notes describe."""
        base = self.conic.compile()
        n = self.X.shape[0]
        z, w = base.slices["z"], base.slices["w"]
        q = base.q.copy()
        q[z] = self.sample_weight
        signed = sp.coo_array(self.signed)
        rows = np.concatenate([signed.coords[0], np.arange(n)])
        columns = np.concatenate([signed.coords[1] + w.start, np.arange(z.start, z.stop)])
        F = sp.csr_array((np.concatenate([signed.data, self.big_m_values]), (rows, columns)), shape=(n, base.n))
        big_m = Constraint("big_m", F, -np.ones(n), Nonnegative(n))
        return base.replace(name=self.name, q=q, constraints=(*base.constraints, big_m))

    def certify(self, multipliers: Mapping[str, FloatArray], w: FloatArray | None = None) -> LiftedDual:
        """Return the closed-form bound of `combined_bound` at γ, the multipliers ``hull``, and the slopes V = v + δ.

        v are the multipliers ``split``, δ those of the rows ``big_m``; without either, V is found by `combined_bound` alone. The
        search for V starts at ``w``.
        """
        has_multipliers = all(label in multipliers for label in ("split", "big_m"))
        slope = np.asarray(multipliers["split"]) + np.asarray(multipliers["big_m"]) if has_multipliers else None
        return certified_dual_with_big_m(self, self.big_m_values, np.asarray(multipliers["hull"]), slope, w=w)

    def rank_ratio(self, values: Mapping[str, FloatArray]) -> float:
        """Return the second over the first eigenvalue of W: 0 if W = ww', so that the relaxation is exact."""
        return self.conic.rank_ratio(values)

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the scores x'w of new rows."""
        return self.conic.decision_function(values, X)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return the figures of `ConicSVM`: margin violations, misclassified points, Σz and the rank ratio of W."""
        return self.conic.summary(values)

    @property
    def statement(self) -> Statement:
        """Return the statement of Conic (21) with the rows of (3)."""
        base = self.conic.statement
        low, high = self.sample_weight.min(), self.sample_weight.max()
        text, tex = (f"{low:g}", f"{low:g}") if low == high else ("lam_i", r"\lambda_i")
        return Statement(
            title="Conic SVM with big-M rows (relaxation of the 0-1 loss)",
            problem_class=base.problem_class,
            sense="minimise",
            variables=base.variables,
            objective=Line(f"Tr W + sum_i {text} z_i", rf"\operatorname{{Tr}} W + \sum_{{i=1}}^n {tex} z_i"),
            constraints=(
                *base.constraints,
                Line("y_i x_i'w + M_i z_i >= 1", r"y_i x_i^\top w + M_i z_i \ge 1,\quad i=1,\dots,n", "big_m"),
            ),
            sizes=base.sizes,
            notes=(
                *base.notes,
                f"M between {self.big_m_values.min():.4g} and {self.big_m_values.max():.4g}; "
                "a bound of the 0-1 optimum if M is valid",
            ),
            source="Cepeda, Gomez, Han: Robust SVMs via conic optimization, (21) with the rows of (3)",
        )


@dataclass(frozen=True)
class Combined(BigMReduction[CombinedRelaxation], CertifiedConvexification[CombinedRelaxation]):
    """The SDP with big-M rows, `CombinedRelaxation`; each point may have its own λ.

    Parameters
    ----------
    big_m : {"zero", "incumbent", "stated"} or float
        Source of the constants M_i (w = 0, the incumbent, the model's own), or one number for all.
    factor : float
        Multiple of these constants.
    """

    big_m: MSource = "incumbent"

    @property
    def name(self) -> str:
        """Return the name with the source of the constants."""
        return f"conic SDP + big-M, {self.source_name}"

    @property
    def cost_needs(self) -> tuple[Need, ...]:
        """Return no requirement: every point may have its own λ."""
        return ()

    def target(self, model: ZeroOneSVM) -> CombinedRelaxation:
        """Return the SDP with big-M rows on the same data."""
        return CombinedRelaxation(model.X, model.y, model.sample_weight, self.big_m_constants(model))


#: The records of these relaxations, which `relaxations.registry` collects.
RELAXATIONS = (
    Relaxation(
        "conic", "the SDP: the best convexification over all γ in Γ; needs no M", Conic(), "Conic (21)", rank=80, default=True
    ),
    Relaxation(
        "kernel-conic",
        "the SDP in its kernel form with the linear kernel: the same optimum, order n + 1 in place of p + 1",
        KernelConic(),
        "Conic Appendix A",
        rank=90,
    ),
    Relaxation(
        "combined",
        "the SDP with big-M rows, M valid from a known classifier: at least as strong as either",
        Combined("incumbent"),
        "Conic (21) with the rows of (3)",
        rank=100,
        default=True,
    ),
)
