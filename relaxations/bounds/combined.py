"""The conic SDP with tightened big-M rows: the strongest of the root bounds here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...errors import InputError
from ...models.arrays import FloatArray, Points, as_vector
from ...models.formulations.conic.model import ConicSVM
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...models.model import Bound, Model
from ...models.program.cones import Nonnegative
from ...models.program.form import Constraint, StandardForm
from ...models.statement import Line, Statement
from ..reduction import PENALISED, LiftedDual, Need, without_warnings
from ..relaxation import Relaxation
from .big_m import MSource, WithConstants
from .combined_bound import combined_bound

__all__ = ["Combined", "CombinedRelaxation"]


@dataclass(frozen=True, eq=False, repr=False)
class CombinedRelaxation(Model):
    """min Tr W + Σ λ_i z_i over the constraints of Conic (21) and u_i + M_i z_i ≥ 1.

    At least as large as the conic and as the big-M relaxation with the same M. Big-M rows from an incumbent can beat the SDP,
    so the two together are stronger than either.

    Parameters
    ----------
    X : array_like (n, p)
        Taken literally, as in `ConicSVM`.
    y : array_like (n,)
        Labels -1, +1.
    lam, M : float or array_like (n,)
        λ_i > 0 and M_i > 0. The optimum bounds that of the 0-1 problem if M is valid.

    Notes
    -----
    Form: that of `ConicSVM` with the costs λ_i and the further constraint ``big_m``: u_i + M_i z_i - 1 ≥ 0. The bound is
    derived in `relaxations.bounds.combined_bound`.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels, λ ≤ 0, M ≤ 0.
    """

    X: Points
    y: FloatArray
    lam: float | FloatArray
    M: float | FloatArray

    name = "CombinedRelaxation"

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", self.conic.X)
        object.__setattr__(self, "y", self.conic.y)
        for name in ("lam", "M"):
            smallest = as_vector(getattr(self, name), self.X.shape[0], name).min()
            if smallest <= 0:
                raise InputError(f"{name} must be > 0; it is {smallest:g}")

    @cached_property
    def conic(self) -> ConicSVM:
        """The SDP without the rows (its λ is not used): checked data, signed rows, form."""
        return ConicSVM(self.X, self.y, lam=1.0)

    @cached_property
    def weights(self) -> FloatArray:
        """λ_i."""
        return as_vector(self.lam, self.X.shape[0], "lam")

    @cached_property
    def big_m(self) -> FloatArray:
        """M_i."""
        return as_vector(self.M, self.X.shape[0], "M")

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
        q[z] = self.weights
        signed = sp.coo_array(self.conic.signed)
        rows = np.concatenate([signed.coords[0], np.arange(n)])
        columns = np.concatenate([signed.coords[1] + w.start, np.arange(z.start, z.stop)])
        F = sp.csr_array((np.concatenate([signed.data, self.big_m]), (rows, columns)), shape=(n, base.n))
        big_m = Constraint("big_m", F, -np.ones(n), Nonnegative(n))
        return base.replace(name=self.name, q=q, constraints=(*base.constraints, big_m))

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Closed-form dual value at γ (the ``hull`` multipliers) scaled into Γ; see `relaxations.bounds.combined_bound`."""
        if multipliers is None or "hull" not in multipliers:
            return Bound(-np.inf, "no multipliers")
        found = combined_bound(
            self.conic.signed,
            self.weights,
            self.big_m,
            np.asarray(multipliers["hull"]),
            slope=_slope(multipliers),
            w=None if x is None else self.form.split(x)["w"],
        )
        return Bound(found.value, "closed-form dual value at γ scaled into Γ, big-M rows included (S ≻ 0 checked by Cholesky)")

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
        low, high = self.weights.min(), self.weights.max()
        text, tex = (f"{low:g}", f"{low:g}") if low == high else ("lam_i", r"\lambda_i")
        return Statement(
            title="Conic SVM with big-M rows (relaxation of the 0-1 loss)",
            problem_class=base.problem_class,
            sense="minimise",
            over=base.over,
            objective=Line(f"Tr W + sum_i {text} z_i", rf"\operatorname{{Tr}} W + \sum_{{i=1}}^n {tex} z_i"),
            constraints=(
                *base.constraints,
                Line("y_i x_i'w + M_i z_i >= 1", r"y_i x_i^\top w + M_i z_i \ge 1,\quad i=1,\dots,n", "big_m"),
            ),
            sizes=base.sizes,
            notes=(
                *base.notes,
                f"M between {self.big_m.min():.4g} and {self.big_m.max():.4g}; a bound of the 0-1 optimum if M is valid",
            ),
            source="Cepeda, Gomez, Han: Robust SVMs via conic optimization, (21) with the rows of (3)",
        )


@dataclass(frozen=True)
class Combined(WithConstants[CombinedRelaxation]):
    """`CombinedRelaxation` with big-M constants from an incumbent (or another source): takes a λ for each point."""

    M: MSource = "incumbent"

    @property
    def name(self) -> str:
        """Name with the constants' source."""
        return f"conic SDP + big-M, {self.source_name}"

    @property
    def needs(self) -> tuple[Need, ...]:
        """A penalised intercept."""
        return (*super().needs, PENALISED)

    def apply(self, model: ZeroOneSVM) -> CombinedRelaxation:
        """The SDP with big-M rows.

        Raises
        ------
        UnsupportedModelError
            A free intercept.
        """
        self.check(model)
        with without_warnings():
            return CombinedRelaxation(model.X, model.y, model.weights, self.constants(model))

    def lift(self, model: ZeroOneSVM, target: CombinedRelaxation, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """γ moved into Γ and subgradients V = v + δ: D(γ, V) of `relaxations.bounds.combined_bound`."""
        found = combined_bound(
            target.conic.signed, target.weights, target.big_m, np.asarray(multipliers["hull"]), slope=_slope(multipliers)
        )
        return LiftedDual(
            found.value, {"hull": found.gamma, "slope": found.slope}, "closed-form dual value at γ in Γ, big-M rows included"
        )


def _slope(multipliers: Mapping[str, FloatArray]) -> FloatArray | None:
    if "split" not in multipliers or "big_m" not in multipliers:
        return None
    return np.asarray(multipliers["split"]) + np.asarray(multipliers["big_m"])


RELAXATIONS = (
    Relaxation(
        "combined",
        "the SDP with big-M rows, M valid from a known classifier: at least as strong as either",
        Combined("incumbent"),
        "Conic (21) with the rows of (3)",
        rank=100,
        default=True,
    ),
)
