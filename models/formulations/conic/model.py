"""The conic relaxation of the 0-1 loss: a semidefinite program, Conic (21), in λ or κ form, linear or with a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from ....errors import InputError
from ...arrays import FloatArray, Points, as_labels, as_points, as_positive
from ...inspection.point_explanation import PointExplanation, priced, two_classes
from ...kernels.kernels import Kernel, as_kernel, expansion
from ...model import Appraisal, Bound, Model
from ...program.cones import Nonnegative
from ...program.form import Block, Constraint, Quadratic, StandardForm
from ...program.svec import svec, svec_size
from ...restricted_bound import Tilt
from ...statement import Statement
from ...views import ConicProblem
from ..linear import dense_signed_rows, linear_summary, warn_about_features
from ..margin.losses.strongest_conic import StrongestConic
from ..margin.model import Margin
from ..margin.regularisers.kernel_norm import KernelNorm
from ..margin.regularisers.regulariser import Regulariser
from ..margin.regularisers.squared_norm import SquaredNorm
from ..margin.restrictions.counts import ViolationBudget
from ..margin.unchecked import without_checks
from .appraisal import appraise_point

__all__ = ["ConicSVM"]

V = TypeVar("V")


@dataclass(frozen=True, eq=False, repr=False)
class ConicSVM(Model):
    """The strongest of the convexified 0-1 losses, over all γ in Γ at once: the SDP of Conic (21), Theorem 2.

    min Tr W + λ Σz  subject to  x_i'W x_i - 2u_i + 1 ≥ (r_i)_+²/z_i + (r_i)_-²/(1 - z_i), [1 w'; w W] ⪰ 0,
    0 ≤ z ≤ 1, with u_i = y_i x_i'w, r_i = 1 - u_i. Its optimum bounds that of `ZeroOneSVM` (penalised intercept) from
    below; the multipliers of the n ``hull`` rows are γ* of Conic (19).

    Parameters
    ----------
    X : array_like (n, p)
        Taken literally; the paper's data carry a constant first column.
    y : array_like (n,)
        Labels -1, +1.
    lam : float, optional
        λ > 0: the λ form.
    kappa : float, optional
        κ in [0, 1]: the κ form (Appendix C) drops λΣz and asks Σz ≤ κn. κ = 0 is the hard-margin problem,
        compiled as the QP it is, since as an SDP it is weakly infeasible on non-separable data (no solver has a proof).
    kernel : Kernel, optional
        Kernel form (Appendix A): x_i is replaced by the column K_i of K_ij = y_i y_j (k_ij + 1), ``w`` stands for α,
        ``W`` for A, Tr W for <K, A>. X needs no constant column then.

    Notes
    -----
    Form: blocks ``w``, ``W`` (svec), ``z``, ``r_plus``, ``r_minus``, ``s``, ``t``. Constraints: ``lifted`` [1 w'; w W] ⪰ 0;
    ``hull`` x_i'W x_i - 2u_i + 1 - s_i - t_i ≥ 0; ``split`` r⁺ - r⁻ + u - 1 = 0; ``violated`` (s_i/2, z_i, r⁺_i) and
    ``kept`` (t_i/2, 1 - z_i, r⁻_i) in rotated cones; ``budget`` κn - Σz ≥ 0 in κ form.

    **Errata**: (14) has a stray "-1" inside the last square; the proof of Proposition 1 drops γ_i; that of Theorem 2 sums W_jj
    to n for p, and has -V = A for -V = S.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels, not exactly one of λ and κ, λ ≤ 0, κ outside [0, 1].
    """

    X: Points
    y: FloatArray
    lam: float | None = None
    kappa: float | None = None
    kernel: Kernel | None = None

    name = "ConicSVM"
    meanings: ClassVar[Mapping[str, str]] = {
        "hull": "gamma*_i of Conic (19): how much of the conic loss point i is given, under sum gamma_i x_i x_i' <= I",
        "split": "v_i of the dual: the slope at r_i = 1 - u_i of point i's loss plus gamma_i r_i^2",
        "budget": "by how much the optimum falls for one more unit of allowed violations, kappa n",
        "margin": "alpha_i prices the margin of point i (kappa = 0: hard margin)",
    }

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, X.shape[0]))
        if (self.lam is None) == (self.kappa is None):
            raise InputError("give exactly one of lam (the λ form) and kappa (the κ form, Σz ≤ κn)")
        if self.lam is not None:
            object.__setattr__(self, "lam", as_positive(self.lam, "lam"))
        if self.kappa is not None:
            kappa = as_positive(self.kappa, "kappa", zero=True)
            if kappa > 1:
                raise InputError(f"kappa must be in [0, 1], a fraction of the points; it is {kappa:g}")
            object.__setattr__(self, "kappa", kappa)
        if self.kernel is None:
            warn_about_features(X)
        else:
            object.__setattr__(self, "kernel", as_kernel(self.kernel, X))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns; none where w are coordinates of a kernel's feature space."""
        return () if self.kernel is not None else super().feature_names

    @cached_property
    def signed(self) -> FloatArray:
        """Rows a_i with u_i = a_i'w: y_i x_i', or K_i' in the kernel form."""
        return dense_signed_rows(self.X, self.y) if self.metric is None else self.metric

    @cached_property
    def metric(self) -> FloatArray | None:
        """K of the kernel form; None (the identity) in the linear one."""
        if self.kernel is None:
            return None
        K = self.kernel.matrix(self.X, self.X) + 1.0
        K = np.outer(self.y, self.y) * K
        return np.asarray(0.5 * (K + K.T))

    @property
    def hard(self) -> bool:
        """κ = 0: the hard-margin problem."""
        return self.kappa == 0.0

    @property
    def value_at_zero(self) -> float:
        """λn of the λ form: w = 0 violates every margin."""
        return float("inf") if self.lam is None else self.lam * self.X.shape[0]

    @property
    def form_bytes(self) -> int:
        """Bytes of the dense hull rows, n rows of svec length."""
        n, p = self.X.shape if self.kernel is None else (self.X.shape[0],) * 2
        return 12 * n * (svec_size(p) + 2 * p) if not self.hard else 12 * n * p + 8 * p * p

    def view(self, kind: type[V]) -> V | None:
        """The `ConicProblem` view (κ > 0)."""
        if kind is not ConicProblem or self.hard:
            return None
        return ConicProblem(self.signed, self.lam, self.kappa, self.metric)  # type: ignore[return-value]

    @property
    def separable_data(self) -> tuple[FloatArray, str] | None:
        """κ = 0 needs separable data."""
        return (self.signed, "κ = 0 asks that no margin be violated") if self.hard else None

    def compile(self) -> StandardForm:
        """The form of the notes."""
        composed = self.composed
        if composed is None:
            return self._hard_form()
        free = np.full(self.signed.shape[1], np.inf)
        return composed.form_with(self.name, -free, free)

    @cached_property
    def composed(self) -> Margin | None:
        """`StrongestConic` with ||w||², or w'Kw over K's rows; κ is a `ViolationBudget`. None for the hard margin."""
        if self.hard:
            return None
        K = self.metric
        norm: Regulariser = SquaredNorm() if K is None else KernelNorm(K)
        X = self.X if K is None else self.y[:, None] * K
        budget = () if self.kappa is None else (ViolationBudget(self.kappa),)
        weights = 0.0 if self.lam is None else self.lam
        with without_checks():
            return Margin(X, self.y, StrongestConic(), norm, weights=weights, subject_to=budget)

    def with_parameter(self, parameter: str, value: Any) -> Self:
        """λ is the cost of z, κ the side of the budget: everything else is shared within one form (λ, or κ > 0)."""
        other = super().with_parameter(parameter, value)
        same = parameter in ("lam", "kappa") and (self.lam is None) == (other.lam is None) and not (self.hard or other.hard)
        if not same or "form" not in vars(self):
            return other
        vars(other).update({name: made for name, made in vars(self).items() if name in ("signed", "metric")})
        form = self.form
        if other.lam is not None:
            q = form.q.copy()
            q[form.slices["z"]] = other.lam
            vars(other)["form"] = form.replace(q=q)
        else:
            budget = form.constraint("budget")
            assert other.kappa is not None
            side = np.array([other.kappa * self.X.shape[0]])
            vars(other)["form"] = form.replace(
                constraints=(*form.constraints[:-1], Constraint("budget", budget.F, side, budget.cone))
            )
        return other

    def _hard_form(self) -> StandardForm:
        n, p = self.signed.shape
        P = 2.0 * (np.eye(p) if self.metric is None else self.metric)
        return StandardForm(
            name=f"{self.name}, κ = 0",
            blocks=(Block("w", (p,)),),
            q=np.zeros(p),
            constraints=(Constraint("margin", sp.csr_array(self.signed), -np.ones(n), Nonnegative(n), points=range(n)),),
            lower=np.full(p, -np.inf),
            upper=np.full(p, np.inf),
            integer=np.zeros(p, dtype=bool),
            quadratic=Quadratic(matrix=P),
        )

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Closed-form dual value at γ (the ``hull`` multipliers) scaled into Γ; see `models.conic_dual.bound`.

        The ``split`` multipliers v are tried first; they are improved only where they leave a relative gap above 1e-9.
        """
        if self.hard:
            return super().bound(x, multipliers)
        return self._dual_bound(x, multipliers, None)

    def tilted_bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray], tilt: Tilt) -> Bound | None:
        """The dual value with a linear function of w subtracted; None for the hard margin and in the kernel form."""
        return None if self.hard or self.metric is not None else self._dual_bound(x, multipliers, tilt)

    def _dual_bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None, tilt: Tilt | None) -> Bound:
        problem = self.view(ConicProblem)
        assert problem is not None
        if multipliers is None or "hull" not in multipliers:
            return Bound(-np.inf, "no multipliers")
        from ...conic_dual.bound import certified_bound

        w, target = None, np.inf
        if x is not None:
            w = x[: problem.A.shape[1]]
            objective = self._objective(x) - (0.0 if tilt is None else float(tilt.direction @ w))
            target = objective - 1e-9 * abs(objective)
        mu = float(np.ravel(multipliers["budget"])[0]) if self.kappa is not None and "budget" in multipliers else None
        v = multipliers.get("split")
        found = certified_bound(problem, np.asarray(multipliers["hull"]), w=w, mu=mu, v=v, target=target, tilt=tilt)
        return Bound(found.value, "closed-form dual value at γ scaled into Γ (S ≻ 0 checked by Cholesky)", found.error)

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal | None:
        """The certificate of the SDP's form without its n × p(p + 1)/2 hull rows; None for the hard margin.

        Residuals of the multipliers are not computed; the bound is proved from them all the same.
        """
        problem = self.view(ConicProblem)
        if problem is None:
            return None
        known = np.concatenate([values["w"], svec(values["W"]), values["z"]])  # the blocks that the bound reads
        return appraise_point(problem, values, self.bound(known, multipliers))

    def zero_objective_point(self) -> dict[str, FloatArray] | None:
        """κ = 1 lets every point go: w = 0, W = 0, z = 1."""
        if self.kappa != 1.0:
            return None
        n, p = self.signed.shape
        one, zero = np.ones(n), np.zeros(n)
        return {"w": np.zeros(p), "W": np.zeros((p, p)), "z": one, "r_plus": one, "r_minus": zero, "s": one, "t": zero}

    def _objective(self, x: FloatArray) -> float:
        """Tr W [+ λΣz] of the first three blocks: no form is needed for it."""
        n, p = self.signed.shape
        trace = np.eye(p) if self.metric is None else self.metric
        end = p + svec_size(p)
        value = float(svec(trace) @ x[p:end])
        return value if self.lam is None else value + self.lam * float(x[end : end + n].sum())

    def rank_ratio(self, values: Mapping[str, FloatArray]) -> float:
        """Second over first eigenvalue of W: (near) zero where the relaxation is exact, W = ww'."""
        if self.hard:
            return 0.0
        eigenvalues = np.linalg.eigvalsh(values["W"])
        if eigenvalues.size < 2 or eigenvalues[-1] <= 0:
            return 0.0
        return float(max(eigenvalues[-2], 0.0) / eigenvalues[-1])

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """x'w, or Σ w_i y_i (k(x_i, x) + 1) in the kernel form."""
        rows = as_points(X, columns=self.X.shape[1])
        if self.kernel is None:
            return np.asarray(rows @ values["w"])
        coefficients = values["w"] * self.y
        return expansion(self.kernel, rows, self.X, coefficients) + coefficients.sum()

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Points by their margins."""
        weights = priced(multipliers, "margin" if self.hard else "hull", self.y.size)
        return two_classes(self.X, self.y, partial(self.decision_function, values), weights, unit=True)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Margin violations, misclassified points, Σz and the rank-one check."""
        if self.kernel is None:
            figures = linear_summary(self.X, self.y, values["w"])
        else:
            u = self.signed @ values["w"]
            figures = {"margin_violations": float((u < 1 - 1e-9).sum()), "misclassified": float((u < 0).sum())}
        figures["rank_ratio"] = self.rank_ratio(values)
        if not self.hard:
            figures["sum_z"] = float(values["z"].sum())
        return figures

    @property
    def statement(self) -> Statement:
        """Conic (21) and its dual; the hard-margin problem for κ = 0."""
        from .statement import conic_statement

        n, p = self.signed.shape
        return conic_statement(n, p, self.lam, self.kappa, self.kernel)
