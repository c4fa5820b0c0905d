"""The conic (semidefinite) relaxation of the 0-1 loss: alone, in its kernel form, and with tightened big-M rows."""

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
    ConvexifiedLosses,
    NormConvexification,
    as_positive_vector,
    certified_dual,
    certified_dual_with_big_m,
)


@dataclass(frozen=True)
class Conic(NormConvexification[ConicSVM]):
    """The SDP of Conic (21), λ form: the best of all convexifications (13) over γ in Γ. Needs no M.

    It takes one λ; `Combined` takes one for each point.
    """

    beside_m = True

    name = "conic SDP"

    def target(self, model: ZeroOneSVM) -> ConicSVM:
        """`ConicSVM` with the same data and λ."""
        return ConicSVM(model.X, model.y, lam=float(model.sample_weight[0]))

    def lift(self, model: ZeroOneSVM, target: ConicSVM, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """Return the dual point of the 0-1 problem: γ from the multipliers ``hull``, v from ``split``."""
        return certified_dual(ConicProblem(target.signed, float(model.sample_weight[0]), None), multipliers["hull"], multipliers)


@dataclass(frozen=True)
class KernelConic(NormConvexification[ConicSVM]):
    """min <K, B> + λ Σz over (α, B), B ⪰ αα': Conic (21) with x_i replaced by K_i, of the same optimum.

    K_ij = y_i y_j (x̃_i'x̃_j + 1) = a_i'a_j.

    *Why it is equal.* With the rows a_i' = y_i x_i' of A, K = AA'. An optimal (w, W) of the primal SDP lies in the span of the
    a_i (the part outside adds to Tr W alone), so w = A'α, W = A'BA for some B ⪰ αα', and every term is the same. Γ agrees too:
    K - Σ γ_i K_i K_i' = A(I - Σ γ_i a_i a_i')A'. It pays where p > n.
    """

    name = "kernel SDP, linear kernel"

    @property
    def needs(self) -> tuple[Need, ...]:
        """The needs of `Conic`, and the constant column that the kernel's + 1 replaces."""
        return (*super().needs, LEADING_ONES)

    def target(self, model: ZeroOneSVM) -> ConicSVM:
        """The kernel form on the features without their constant column, which the kernel's + 1 replaces."""
        return ConicSVM(model.X[:, 1:], model.y, lam=float(model.sample_weight[0]), kernel=Linear())

    def recover(self, model: ZeroOneSVM, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """The best multiple of w = Σ α_i a_i."""
        w = dense_signed_rows(model.X, model.y).T @ np.asarray(values["w"], dtype=np.float64)
        return model.point(best_multiple(model, w))

    def lift(self, model: ZeroOneSVM, target: ConicSVM, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """The same γ and v prove the same bound in the primal's data."""
        return certified_dual(
            ConicProblem(dense_signed_rows(model.X, model.y), float(model.sample_weight[0]), None),
            multipliers["hull"],
            multipliers,
        )


@dataclass(frozen=True, eq=False, repr=False)
class CombinedRelaxation(ConvexifiedLosses):
    """min Tr W + Σ λ_i z_i over the constraints of Conic (21) and u_i + M_i z_i ≥ 1.

    At least as large as the conic and as the big-M relaxation with the same M. Big-M rows from an incumbent can beat the SDP,
    so the two together are stronger than either.

    Parameters
    ----------
    X : array_like (n, p)
        Taken literally, as in `ConicSVM`.
    y : array_like (n,)
        Labels -1, +1.
    lam, big_m : float or array_like (n,)
        λ_i > 0 and M_i > 0. The optimum bounds that of the 0-1 problem if M is valid.

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
        """The SDP without the rows (its λ is not used): its form, statement and figures."""
        with without_warnings():
            return ConicSVM(self.X, self.y, lam=1.0)

    @cached_property
    def big_m_values(self) -> FloatArray:
        """M_i."""
        return as_vector(self.big_m, self.X.shape[0], "big_m")

    @property
    def form_bytes(self) -> int:
        """Bytes of the SDP's dense rows."""
        return self.conic.form_bytes

    def compile(self) -> StandardForm:
        """The form of the notes."""
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
        """γ (the ``hull`` multipliers) moved into Γ and V = v + δ, the losses' subgradients: D(γ, V) of `combined_bound`."""
        has_multipliers = all(label in multipliers for label in ("split", "big_m"))
        slope = np.asarray(multipliers["split"]) + np.asarray(multipliers["big_m"]) if has_multipliers else None
        return certified_dual_with_big_m(self, self.big_m_values, np.asarray(multipliers["hull"]), slope, w=w)

    def rank_ratio(self, values: Mapping[str, FloatArray]) -> float:
        """Second over first eigenvalue of W, as in `ConicSVM`."""
        return self.conic.rank_ratio(values)

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """x'w for new rows."""
        return self.conic.decision_function(values, X)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Margin violations, misclassified points, Σz and the rank-one check."""
        return self.conic.summary(values)

    @property
    def statement(self) -> Statement:
        """Conic (21) with the rows of (3)."""
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
    """`CombinedRelaxation` with big-M constants from an incumbent (or another source): takes a λ for each point."""

    big_m: MSource = "incumbent"

    @property
    def name(self) -> str:
        """Name with the constants' source."""
        return f"conic SDP + big-M, {self.source_name}"

    @property
    def cost_needs(self) -> tuple[Need, ...]:
        """Return no requirement: every point may have its own λ."""
        return ()

    def target(self, model: ZeroOneSVM) -> CombinedRelaxation:
        """The SDP with big-M rows."""
        return CombinedRelaxation(model.X, model.y, model.sample_weight, self.constants(model))


RELAXATIONS = (
    Relaxation(
        "conic",
        "the SDP: the best convexification over all γ in Γ; needs no M",
        Conic(),
        "Conic (21)",
        rank=80,
        default=True,
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
