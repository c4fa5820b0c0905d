"""`ConicSVM`, the semidefinite relaxation (21) of the 0-1-loss SVM of Cepeda, Gómez and Han, 2024 ("Conic").

With a_i = y_i x_i, u_i = a_i'w, r_i = 1 - u_i, (r)_+ = max(r, 0) and (r)_- = max(-r, 0) it is

    min Tr W + λ Σz  over  x_i'W x_i - 2u_i + 1 ≥ (r_i)_+²/z_i + (r_i)_-²/(1 - z_i),  [1 w'; w W] ⪰ 0,  0 ≤ z ≤ 1,

with λ the cost of a violated margin; or, in κ form, with Σz ≤ κn in place of λΣz, κ the share of margins that may be violated.
The multipliers γ* of its *hull* rows, those with x_i'W x_i, strengthen other relaxations of the 0-1 loss
(`relaxations.strengthen`).

*The dual.* The derivation is that of `models.conic_bound`, whose g has the other sign: with S = I - Σγ_i x_i x_i' and γ in
Γ = {γ ≥ 0 : S ⪰ 0}, the multipliers v_i of the rows that split r_i, g = Σ(v_i - 2γ_i) a_i, and conjugates ψ*_i,
D(γ, v) = Σ(v_i - γ_i) - Σψ*_i(v_i) - ¼ g'S⁻¹g, where ψ*_i(v) = 0 on 0 ≤ v ≤ 2√(λγ_i). *Some optimal v is in these intervals*: let
(γ, v) be optimal, v_i outside. Then z_i is 0 or 1, r_i ≠ 0 and v_i = 2γ_i r_i; hull row i is active with x_i'W x_i = u_i², so
that (W - ww')a_i = 0. Set γ_i to γ' = 0 (r_i < 0) or γ' = λ/r_i² (z_i = 1), and v_i to 2γ' r_i: S changes by a multiple of
a_i a_i', which keeps S(W - ww') = 0, and both sides of 2Sw = g by the same 2(γ_i - γ')u_i a_i. The new point satisfies every
condition of optimality, and v_i is 0 or 2√(λγ').

*The losses in cones.* With r_i = r_i⁺ - r_i⁻, z_i is the weight of the violated side of the margin and 1 - z_i that of the other
side:

    r_i⁺ - r_i⁻ + u_i - 1 = 0,     s_i z_i ≥ (r_i⁺)²,     t_i (1 - z_i) ≥ (r_i⁻)².
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np

from ...data_names import LABELS_OF_X
from ...errors import InputError, count_text
from ..appraisal import Appraisal
from ..arrays import FloatArray, Points, as_costs, as_labels, as_points, as_positive, as_share, row_norms_squared
from ..digest import identity_rule
from ..explanation import PointExplanation, primal_weights, two_classes
from ..kernels.kernels import Kernel, as_kernel, expansion
from ..model import Model, RowsToSeparate
from ..program.cones import RotatedSecondOrder, svec, svec_size
from ..program.form import Constraint, StandardForm
from ..program.lagrangian import Bound
from ..record import COST_OR_SHARE, Arrays, DataKind, FormulationInfo, Parameter, ParameterValues, kernel_parameters, named_kernel
from ..restricted_bound import Tilt
from ..rounding import UNIT
from ..statement import DualStatement, Line, Statement, lam_sum_line, lam_text, plus
from ..views import ConicProblem
from .features import check_intercept, dense_signed_rows, linear_summary, warn_about_features
from .margin.conic_losses import StrongestConic
from .margin.margin_losses import HardMargin
from .margin.model import Margin
from .margin.part import Box, Domain, Reals
from .margin.regularisers import KernelNorm, Regulariser, SquaredNorm
from .margin.restrictions import ViolationBudget

#: Rows of A whose products with W are held at once.
_BLOCK = 8192


def _appraise_point(problem: ConicProblem, values: Mapping[str, FloatArray], bound: Bound) -> Appraisal:
    """Return objective and residuals of values of `ConicSVM`'s blocks, without its form, together with the given bound."""
    w, W, z = values["w"], values["W"], values["z"]
    plus, minus, s, t = (values[label] for label in ("r_plus", "r_minus", "s", "t"))
    u, quadratic = problem.A @ w, _quadratic_forms(problem.A, W)
    hull = quadratic - 2.0 * u + 1.0 - s - t
    split = plus - minus + u - 1.0
    cone = RotatedSecondOrder(3, u.size)
    violated = np.column_stack([0.5 * s, z, plus]).ravel()
    epigraph_rows = np.column_stack([0.5 * t, 1.0 - z, minus]).ravel()
    lowest = float(np.linalg.eigvalsh(np.block([[np.ones((1, 1)), w[None, :]], [w[:, None], W]]))[0])
    outside = np.concatenate([-z, z - 1.0, -plus, -minus])
    pairs = {
        "lifted": (max(-lowest, 0.0), max(-lowest, 0.0) / (1.0 + float(np.abs(W).max()))),
        "hull": _worst(np.maximum(-hull, 0.0), np.maximum(np.abs(quadratic - 2.0 * u - s - t), 1.0)),
        "split": _worst(np.abs(split), np.abs(plus - minus + u)),
        "violated": (cone.violation(violated), cone.relative_violation(violated, np.abs(violated))),
        "kept": (cone.violation(epigraph_rows), cone.relative_violation(epigraph_rows, np.abs(epigraph_rows))),
        "bounds": _worst(np.maximum(outside, 0.0), np.abs(outside)),
    }
    objective = float(np.sum(W * problem.metric)) if problem.metric is not None else float(np.trace(W))
    if problem.lam is not None:
        objective += problem.lam * float(z.sum())
    if problem.kappa is not None:
        excess = max(float(z.sum()) - problem.kappa * z.size, 0.0)
        pairs["budget"] = (excess, excess / (1.0 + problem.kappa * z.size))
    return Appraisal(
        objective=objective,
        primal_residual=max(relative for _, relative in pairs.values()),
        violations={label: absolute for label, (absolute, _) in pairs.items()},
        bound=bound.value,
        argument=bound.argument,
    )


def _quadratic_forms(A: FloatArray, W: FloatArray) -> FloatArray:
    """a_i'W a_i, a block of rows at a time."""
    pieces = [np.einsum("ij,ij->i", rows @ W, rows) for rows in (A[k : k + _BLOCK] for k in range(0, A.shape[0], _BLOCK))]
    return np.concatenate(pieces)


def _worst(absolute: FloatArray, size: FloatArray) -> tuple[float, float]:
    """Largest violation, and largest one relative to 1 + the size of its row."""
    return float(absolute.max()), float((absolute / (1.0 + size)).max())


V = TypeVar("V")


@dataclass(frozen=True, eq=False, repr=False)
class ConicSVM(Model):
    """The conic SVM: the strongest of the convexified 0-1 losses, over all γ in Γ at once: the SDP of Conic (21), Theorem 2.

    min Tr W + λ Σz  subject to  x_i'W x_i - 2u_i + 1 ≥ (r_i)_+²/z_i + (r_i)_-²/(1 - z_i), [1 w'; w W] ⪰ 0,
    0 ≤ z ≤ 1, with u_i = y_i x_i'w, r_i = 1 - u_i. Its optimum bounds that of `ZeroOneSVM` (penalised intercept) from
    below; the multipliers of the n ``hull`` rows are γ* of Conic (19).

    Parameters
    ----------
    X : array_like (n, p)
        Taken literally; the paper's data carry a constant first column.
    y : array_like (n,)
        Labels -1, +1.
    lam : float or array_like (n,), optional
        λ > 0, the cost of a violated margin: the λ form; one for each point costs Σ λ_i z_i.
    kappa : float, optional
        κ in [0, 1]: the κ form (Appendix C) drops λΣz and requires Σz ≤ κn. κ = 0 is the hard-margin problem, compiled as a QP:
        as an SDP it is weakly infeasible on non-separable data (no solver has a proof).
    kernel : Kernel, optional
        Kernel form (Appendix A): x_i is replaced by the column K_i of K_ij = y_i y_j (k_ij + offset), ``w`` stands for the
        paper's α, ``W`` for its A, and <K, W> for Tr W. X needs no constant column then.
    offset : float
        K_ij = y_i y_j (k_ij + offset), ≥ 0: 1 for a penalised intercept, 0 for none, as Appendix A is printed.
    intercept : {"penalised", "free"}
        ``free`` leaves the first coefficient b, of a column of ones, out of the trace and bounds it: W_11 ≤ B².
    intercept_bound : float, optional
        B > 0, with a free intercept: the optimum bounds that of `ZeroOneSVM` with |b| ≤ B. By default B = 1 + max||x_i|| √UB,
        which some optimal b satisfies (λ form): UB is the lesser cost of w = 0 with b = ±1, and x_i is without its one.

    Notes
    -----
    Form: blocks ``w``, ``W`` (svec), ``z``, ``r_plus``, ``r_minus``, ``s``, ``t``. Constraints: ``lifted`` [1 w'; w W] ⪰ 0;
    ``hull`` x_i'W x_i - 2u_i + 1 - s_i - t_i ≥ 0; ``split`` r⁺ - r⁻ + u - 1 = 0; ``violated`` (s_i/2, z_i, r⁺_i) and
    ``kept`` (t_i/2, 1 - z_i, r⁻_i) in rotated cones; ``budget`` κn - Σz ≥ 0 in κ form.

    With a free intercept there is also ``bounded``: B² - W_11 ≥ 0, without which W_11 = ∞ at no cost would make every hull row
    slack and the optimum 0 (`StrongestConic`). Its multiplier ρ is a price of b², so that the bound is the one of a penalised
    intercept at this price, less ρB². The optimum is positive in λ form, 0 in κ form for B² ≥ 1/κ - 1, and small for a large B:
    the relaxations big-M, `hulls` and `rank-one` bound such problems better.

    The bound is that of the closed-form dual; for κ = 0 and for one λ for each point it is the Lagrangian's.

    **Errata**: (14) has a stray "-1" inside the last square; the proof of Proposition 1 drops γ_i; that of Theorem 2 sums W_jj
    to n for p, and has -V = A for -V = S.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels that are not -1 and +1, not exactly one of λ and κ, λ ≤ 0, κ outside [0, 1],
        offset < 0, or an offset other than 1 without a kernel. A free intercept without a first column of ones, with a kernel,
        with κ = 0 (`HardMarginSVM` has one), or with κ and no B; B ≤ 0, or B with a penalised intercept.
    """

    X: Points
    y: FloatArray = LABELS_OF_X
    lam: float | FloatArray | None = None
    kappa: float | None = None
    kernel: Kernel | None = None
    offset: float = field(default=1.0, metadata={"identity": identity_rule("offset", 1.0, {})})
    intercept: Literal["penalised", "free"] = field(
        default="penalised", metadata={"identity": identity_rule("intercept", "penalised", {})}
    )
    intercept_bound: float | None = field(default=None, metadata={"identity": identity_rule("intercept_bound", None, {})})

    name = "ConicSVM"
    meanings: ClassVar[Mapping[str, str]] = {
        "hull": "gamma*_i of Conic (19): how much of the conic loss point i is given, under sum gamma_i x_i x_i' <= I",
        "split": "v_i of the dual: the slope at r_i = 1 - u_i of point i's loss plus gamma_i r_i^2",
        "bounded": "rho, the price per square of the intercept that B stands for: B^2 rho is taken from the bound",
        "budget": "by how much the optimum falls for one more unit of allowed violations, kappa n",
        "margin": "alpha_i prices the margin of point i (kappa = 0: hard margin)",
    }

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, X.shape[0]))
        if (self.lam is None) == (self.kappa is None):
            raise InputError("give exactly one of lam (the λ form) and kappa (the κ form, Σz ≤ κn)", name="lam")
        if self.lam is not None:
            object.__setattr__(self, "lam", as_costs(self.lam, X.shape[0], "lam", zero=False))
        if self.kappa is not None:
            object.__setattr__(self, "kappa", as_share(self.kappa, "kappa", zero=True))
        object.__setattr__(self, "offset", as_positive(self.offset, "offset", zero=True))
        if self.kernel is None:
            if self.offset != 1.0:
                raise InputError("offset needs a kernel; without one, put a column √offset into X")
            warn_about_features(X)
        else:
            object.__setattr__(self, "kernel", as_kernel(self.kernel, X))
        self._check_intercept()

    def _check_intercept(self) -> None:
        if self.free and self.kernel is not None:
            raise InputError("a kernel has its intercept in offset: leave intercept='free' out", name="intercept")
        if self.free and self.is_hard_margin:
            raise InputError("kappa = 0 with a free intercept is HardMarginSVM", name="intercept")
        check_intercept(self.intercept, self.X)
        if self.intercept_bound is not None:
            object.__setattr__(self, "intercept_bound", as_positive(self.intercept_bound, "intercept_bound"))
            if not self.free:
                raise InputError("intercept_bound is that of intercept='free'", name="intercept_bound")
        if self.free and self.kappa is not None and self.intercept_bound is None:
            raise InputError("a free intercept in the κ form needs intercept_bound=", name="intercept_bound")

    @property
    def free(self) -> bool:
        """Return whether the intercept is free: it is left out of the trace."""
        return self.intercept == "free"

    @cached_property
    def intercept_radius(self) -> float:
        """Return B, the bound on |b|; if it follows from the data, rounded upwards."""
        if self.intercept_bound is not None:
            return self.intercept_bound
        costs = np.broadcast_to(np.asarray(self.lam, dtype=np.float64), self.y.shape)
        value = min(float(costs[self.y > 0].sum()), float(costs[self.y < 0].sum()))
        norms = np.sqrt(row_norms_squared(self.X[:, 1:])) if self.X.shape[1] > 1 else np.zeros(1)
        return (1.0 + float(norms.max()) * float(np.sqrt(value))) * (1.0 + 1e-9)

    @cached_property
    def trace_matrix(self) -> FloatArray:
        """Return the matrix D of the cost <D, W>: K of the kernel form, the identity, or that without the intercept."""
        if self.metric is not None:
            return self.metric
        prices = np.ones(self.signed.shape[1])
        prices[:1] = not self.free
        return np.diag(prices)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the columns; none where w are coordinates of a kernel's feature space."""
        return () if self.kernel is not None else super().feature_names

    @cached_property
    def signed(self) -> FloatArray:
        """Return the signed rows a_i with u_i = a_i'w: y_i x_i', or K_i' in the kernel form."""
        return dense_signed_rows(self.X, self.y) if self.metric is None else self.metric

    @cached_property
    def metric(self) -> FloatArray | None:
        """Return K of the kernel form; None (the identity) in the linear one."""
        if self.kernel is None:
            return None
        K = self.kernel.matrix(self.X, self.X) + self.offset
        K = np.outer(self.y, self.y) * K
        return np.asarray(0.5 * (K + K.T))

    @property
    def is_hard_margin(self) -> bool:
        """Return whether κ = 0, the hard-margin problem."""
        return self.kappa == 0.0

    @property
    def value_at_zero(self) -> float:
        """Return Σ λ_i in the λ form, since w = 0 violates every margin; infinity in the κ form."""
        return float("inf") if self.lam is None else float(np.sum(np.broadcast_to(self.lam, self.y.shape)))

    @property
    def has_point_costs(self) -> bool:
        """Return whether λ is given for each point."""
        return np.ndim(self.lam) > 0  # type: ignore[arg-type]

    @property
    def form_bytes(self) -> int:
        """Return the bytes of the dense hull rows, n rows of svec length."""
        n, p = self.X.shape if self.kernel is None else (self.X.shape[0],) * 2
        return 12 * n * (svec_size(p) + 2 * p) if not self.is_hard_margin else 12 * n * p + 8 * p * p

    def view(self, kind: type[V]) -> V | None:
        """Return the `ConicProblem` view of κ > 0, or of one λ, with a penalised intercept; None for other kinds and models."""
        if kind is not ConicProblem or self.is_hard_margin or self.has_point_costs or self.free:
            return None
        return self._conic_problem  # type: ignore[return-value]

    @property
    def _conic_problem(self) -> ConicProblem:
        """The data with all coefficients in the trace."""
        return ConicProblem(self.signed, None if self.lam is None else float(self.lam), self.kappa, self.metric)

    @property
    def rows_to_separate(self) -> RowsToSeparate | None:
        """Return the signed rows that some hyperplane must separate if κ = 0; else None."""
        if not self.is_hard_margin:
            return None
        return RowsToSeparate(self.signed, "κ = 0 asks that no margin be violated", self.metric is not None)

    def compile(self) -> StandardForm:
        """Return the form of the notes."""
        free = np.full(self.signed.shape[1], np.inf)
        if self.composition is not None:
            return self.composition.form_with(self.name, -free, free)
        return Margin.of_checked(self._points, self.y, HardMargin(), self._norm).form_with(f"{self.name}, κ = 0", -free, free)

    @property
    def _points(self) -> Points:
        """The rows whose margins are those of the problem: X, or y_i K_i."""
        return self.X if self.metric is None else self.y[:, None] * self.metric

    @property
    def _norm(self) -> Regulariser:
        """||w||², or w'Kw in the kernel form."""
        return SquaredNorm() if self.metric is None else KernelNorm(self.metric)

    @cached_property
    def composition(self) -> Margin | None:
        """Return the same problem as a `Margin` of `StrongestConic`, with ||w||² or w'Kw; None for κ = 0.

        κ is a `ViolationBudget`, and a free intercept is bounded by a `Box`.
        """
        if self.is_hard_margin:
            return None
        budget = () if self.kappa is None else (ViolationBudget(self.kappa),)
        weights = 0.0 if self.lam is None else self.lam
        domain: Domain = Reals()
        if self.free:
            others = (np.inf,) * (self.X.shape[1] - 1)
            domain = Box((-self.intercept_radius, *(-end for end in others)), (self.intercept_radius, *others))
        return Margin.of_checked(
            self._points, self.y, StrongestConic(), self._norm, self.intercept, weights, domain, subject_to=budget
        )

    def with_parameter(self, parameter: str, value: Any) -> Self:
        """Return the model with one field changed; within one form λ changes costs and κ a side, and all else is shared."""
        other = super().with_parameter(parameter, value)
        same_statement = (
            parameter in ("lam", "kappa")
            and (self.lam is None) == (other.lam is None)
            and not (self.is_hard_margin or other.is_hard_margin)
            and (not self.free or self.intercept_radius == other.intercept_radius)
        )
        if not same_statement or "form" not in vars(self):
            return other
        vars(other).update({name: cached for name, cached in vars(self).items() if name in ("signed", "metric")})
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

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the closed-form dual value at γ (the ``hull`` multipliers) scaled into Γ; see `models.conic_bound`.

        The ``split`` multipliers v are tried first; with a penalised intercept they are improved only where they leave a relative
        gap above 1e-9. For κ = 0 and for costs of points the bound is the Lagrangian's.
        """
        if self.is_hard_margin or self.has_point_costs:
            return super().bound(x, multipliers)
        return self._dual_bound(x, multipliers, None) if not self.free else self._bound_at_price(x, multipliers)

    def _bound_at_price(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """The bound of a penalised intercept at the price ρ of its square, the multiplier of ``bounded``, less ρB².

        The column of ones times c is that of the intercept b/c, whose square at the price 1 is b² at the price 1/c². So ρ is
        replaced by 1/c² with c = 1/√ρ as computed, and no entry of the data is rounded.
        """
        argument = "closed-form dual value at γ scaled into Γ (S ≻ 0 checked by Cholesky) and at a price of the intercept"
        price = 0.0 if multipliers is None or "bounded" not in multipliers else float(np.ravel(multipliers["bounded"])[0])
        if multipliers is None or "hull" not in multipliers or not np.isfinite(price) or price <= 0.0:
            return Bound(0.0, "no term of the objective is negative")
        from ..conic_bound import certified_bound

        c = 1.0 / float(np.sqrt(price))
        scales = np.ones(self.signed.shape[1])
        scales[0] = c
        problem = replace(self._conic_problem, A=self.signed * scales)
        w = None if x is None else x[: scales.size] / scales
        mu = float(np.ravel(multipliers["budget"])[0]) if "budget" in multipliers else None
        bound = certified_bound(problem, np.asarray(multipliers["hull"]), w=w, mu=mu, v=multipliers.get("split"))
        cost = (self.intercept_radius / c) ** 2
        error = 8.0 * UNIT * (cost + abs(bound.value))
        value = bound.value - cost - error
        return Bound(value, argument, bound.error + error) if value > 0.0 else Bound(0.0, "no term of the objective is negative")

    def tilted_bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray], tilt: Tilt) -> Bound | None:
        """Return the dual value with a linear function of w subtracted; None for κ = 0, costs of points, a free b or a kernel."""
        closed = not (self.is_hard_margin or self.has_point_costs or self.free) and self.metric is None
        return self._dual_bound(x, multipliers, tilt) if closed else None

    def _dual_bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None, tilt: Tilt | None) -> Bound:
        problem = self.view(ConicProblem)
        assert problem is not None
        if multipliers is None or "hull" not in multipliers:
            return Bound(-np.inf, "no multipliers")
        from ..conic_bound import certified_bound

        w, target = None, np.inf
        if x is not None:
            w = x[: problem.A.shape[1]]
            objective = self._objective(x) - (0.0 if tilt is None else float(tilt.direction @ w))
            target = objective - 1e-9 * abs(objective)
        mu = float(np.ravel(multipliers["budget"])[0]) if self.kappa is not None and "budget" in multipliers else None
        v = multipliers.get("split")
        bound = certified_bound(problem, np.asarray(multipliers["hull"]), w=w, mu=mu, v=v, target=target, tilt=tilt)
        return Bound(bound.value, "closed-form dual value at γ scaled into Γ (S ≻ 0 checked by Cholesky)", bound.error)

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal | None:
        """Return objective, residuals and bound of a point of the SDP without its n × p(p + 1)/2 hull rows; None where there is
        no `ConicProblem` view: for the hard margin, costs of points and a free intercept.

        Residuals of the multipliers are not computed; the bound is proved from them all the same.
        """
        problem = self.view(ConicProblem)
        if problem is None:
            return None
        point = np.concatenate([values["w"], svec(values["W"]), values["z"]])  # the blocks that the bound reads
        return _appraise_point(problem, values, self.bound(point, multipliers))

    def zero_objective_point(self) -> dict[str, FloatArray] | None:
        """Return w = 0, W = 0, z = 1 for κ = 1, which lets every margin be violated at no cost; else None."""
        if self.kappa != 1.0:
            return None
        n, p = self.signed.shape
        one, zero = np.ones(n), np.zeros(n)
        return {"w": np.zeros(p), "W": np.zeros((p, p)), "z": one, "r_plus": one, "r_minus": zero, "s": one, "t": zero}

    def _objective(self, x: FloatArray) -> float:
        """Tr W [+ λΣz] of the first three blocks: no form is needed for it."""
        n, p = self.signed.shape
        end = p + svec_size(p)
        value = float(svec(self.trace_matrix) @ x[p:end])
        return value if self.lam is None else value + float(np.sum(self.lam * x[end : end + n]))

    def rank_ratio(self, values: Mapping[str, FloatArray]) -> float:
        """Return the second largest over the largest eigenvalue of W: (near) zero where the relaxation is exact, W = ww'."""
        if self.is_hard_margin:
            return 0.0
        eigenvalues = np.linalg.eigvalsh(values["W"])
        if eigenvalues.size < 2 or eigenvalues[-1] <= 0:
            return 0.0
        return float(max(eigenvalues[-2], 0.0) / eigenvalues[-1])

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return x'w, or Σ w_i y_i (k(x_i, x) + offset) in the kernel form, of new rows."""
        rows = as_points(X, columns=self.X.shape[1])
        if self.kernel is None:
            return np.asarray(rows @ values["w"])
        coefficients = values["w"] * self.y
        return expansion(self.kernel, rows, self.X, coefficients) + self.offset * coefficients.sum()

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return one row for each point with its score, margin and multiplier."""
        weights = primal_weights(multipliers, "margin" if self.is_hard_margin else "hull", self.y.size)
        return two_classes(self.X, self.y, partial(self.decision_function, values), weights)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return ||w|| (linear form), numbers of margin violations and misclassified points, rank ratio, and Σz (κ ≠ 0)."""
        if self.kernel is None:
            figures = linear_summary(self.X, self.y, values["w"])
        else:
            u = self.signed @ values["w"]
            figures = {"margin_violations": float((u < 1 - 1e-9).sum()), "misclassified": float((u < 0).sum())}
        figures["rank_ratio"] = self.rank_ratio(values)
        if not self.is_hard_margin:
            figures["sum_z"] = float(values["z"].sum())
        return figures

    @property
    def statement(self) -> Statement:
        """Return Conic (21) and its dual; the hard-margin problem for κ = 0."""
        n, p = self.signed.shape
        lam, kappa, kernel = self.lam, self.kappa, self.kernel
        added = f" + {self.offset:g}" if self.offset else ""
        if self.is_hard_margin:
            return _hard(n, p, kernel, added)
        s = _Symbols.free() if self.free else _Symbols.of(kernel)
        x = s.x
        bounded = (Line("W_11 <= B^2", r"W_{11} \le B^2", "bounded"),) if self.free else ()
        cost = Line("", "") if lam is None else lam_sum_line(lam, Line("z_i", "z_i"))
        budget = () if kappa is None else (Line("sum_i z_i <= kappa n", r"\textstyle\sum_{i=1}^n z_i \le \kappa n", "budget"),)
        hull = Line(
            f"{x}'W {x} - 2u_i + 1 >= (1-u_i)_+^2/z_i + (1-u_i)_-^2/(1-z_i)",
            rf"{x}^\top W {x} - 2u_i + 1 \ge \frac{{(1-u_i)_+^2}}{{z_i}} + \frac{{(1-u_i)_-^2}}{{1-z_i}},\quad i=1,\dots,n",
            "hull",
        )
        return Statement(
            title="Conic SVM (SDP relaxation of the 0-1 loss)",
            problem_class="semidefinite program with rotated second-order cones",
            sense="minimise",
            variables=Line("w, W, z", rf"w\in\mathbb{{R}}^{s.space},\ W\in\mathbb{{S}}^{s.space},\ z\in[0,1]^n"),
            objective=plus(s.trace, cost),
            constraints=(
                hull,
                Line("[1 w'; w W] psd", r"\begin{pmatrix}1 & w^\top\\ w & W\end{pmatrix}\succeq 0", "lifted"),
                *bounded,
                *budget,
            ),
            sizes=f"n = {count_text(n, 'point')}, p = {p}, PSD order {p + 1}, "
            f"{f'kappa = {kappa:g}' if lam is None else lam_text(lam)}"
            + (f", B = {self.intercept_radius:.6g}" if self.free else ""),
            notes=(
                f"u_i = y_i x_i'w{'' if kernel is None else f' = K_i w, K_ij = y_i y_j (k_ij{added}), {kernel}'}",
                "lower bound of ZeroOneSVM; exact where W = ww' (rank ratio 0) and z binary; multipliers of hull are gamma*",
            ),
            equivalences=(f"ZeroOneSVM with a {self.intercept} intercept where the rank ratio is 0 and z is binary",),
            source=f"{_SOURCE}, (21), Theorem 2, Appendices A and C; dual: (13)-(19)",
            dual=_dual(s, kappa, "" if np.ndim(lam) == 0 else "_i", self.free),  # type: ignore[arg-type]
        )


def _build(arrays: Arrays, chosen: ParameterValues) -> ConicSVM:
    lam = 1.0 if chosen["lam"] is None and chosen["kappa"] is None else chosen["lam"]
    kernel = None if chosen["kernel"] is None else named_kernel(chosen)
    free = {"intercept": chosen["intercept"], "intercept_bound": chosen["intercept_bound"]} if kernel is None else {}
    return ConicSVM(arrays["X"], arrays["y"], lam=lam, kappa=chosen["kappa"], kernel=kernel, **free)


def _linear(chosen: ParameterValues) -> bool:
    return chosen["kernel"] is None


def _objective(model: ConicSVM, values: Mapping[str, FloatArray]) -> float:
    W, metric = values["W"], model.metric
    trace = float(np.trace(W)) if metric is None else float(np.sum(W * metric))  # ||w||² in the metric K of the kernel form
    if model.intercept == "free":
        trace -= float(W[0, 0])
    return trace if model.lam is None else trace + float(np.sum(model.lam * values["z"]))


FORMULATIONS = (
    FormulationInfo(
        ConicSVM,
        name="conic",
        summary="conic relaxation of the 0-1 loss, a semidefinite program",
        reference="Cepeda, Gomez, Han: Robust SVMs via conic optimization, (21)",
        data=DataKind.TWO_CLASSES,
        build=_build,
        objective=_objective,
        parameters=(
            *COST_OR_SHARE,
            *kernel_parameters(None),
            Parameter("intercept", "whether the intercept is part of the norm", str, "penalised", ("penalised", "free")),
            Parameter("intercept_bound", "B ≥ |b| of a free intercept; from the data where it is not given"),
        ),
        intercept=_linear,
    ),
)


_SOURCE = "Cepeda, Gomez, Han: Robust SVMs via conic optimization"


@dataclass(frozen=True)
class _Symbols:
    """The symbols with which one form (linear, kernel) writes its pieces, as text and as LaTeX."""

    x: str
    trace: Line
    row: Line
    metric: str
    space: str

    @classmethod
    def of(cls, kernel: Kernel | None) -> _Symbols:
        if kernel is None:
            return cls("x_i", Line("Tr W", r"\operatorname{Tr} W"), Line("y_i x_i", r"y_i x_i"), "I", "p")
        return cls("K_i", Line("<K,W>", r"\langle K, W\rangle"), Line("K_i", "K_i"), "K", "n")

    @classmethod
    def free(cls) -> _Symbols:
        """Symbols of the linear form with a free intercept, the first coefficient."""
        trace = Line("(Tr W - W_11)", r"\textstyle\sum_{j\ge 2} W_{jj}")
        return cls("x_i", trace, Line("y_i x_i", r"y_i x_i"), r"\operatorname{diag}(\rho, 1, \dots, 1)", "p")


def _dual(s: _Symbols, kappa: float | None, index: str, free: bool) -> DualStatement:
    """max Σ(v - γ) - τ over the Schur complement of τ ≥ ¼g'S⁻¹g; in κ form μ stands for λ and the budget costs μκn.

    A free intercept has a price ρ of its square, which costs ρB².
    """
    price, tex = (f"lam{index}", rf"\lambda{index}") if kappa is None else ("mu", r"\mu")
    budget = Line("", "") if kappa is None else Line(" - mu kappa n", r" - \mu\kappa n")
    mu_line = Line("", "") if kappa is None else Line(", mu >= 0", r",\ \mu\ge 0")
    if free:
        budget = Line(f"{budget.text} - rho B^2", rf"{budget.latex} - \rho B^2")
        mu_line = Line(f"{mu_line.text}, rho >= 0", rf"{mu_line.latex},\ \rho\ge 0")
    metric = "diag(rho, 1, .., 1)" if free else s.metric
    x, a = s.x, s.row
    S = Line(f"S = {metric} - sum_i gamma_i {x} {x}'", rf"S = {s.metric} - \textstyle\sum_{{i=1}}^n \gamma_i {x} {x}^\top")
    g = Line(f"g = sum_i (v_i - 2 gamma_i) {a.text}", rf"g = \textstyle\sum_{{i=1}}^n (v_i - 2\gamma_i)\, {a.latex}")
    slack = Line("mu (kappa n - sum_i z_i) = 0", r"\mu\,(\kappa n - \textstyle\sum_{i=1}^n z_i) = 0")
    return DualStatement(
        sense="maximise",
        variables=Line(f"gamma, v, tau{mu_line.text}", rf"\gamma,\, v\in\mathbb{{R}}^n,\ \tau{mu_line.latex}"),
        objective=Line(
            f"sum_i (v_i - gamma_i) - tau{budget.text}", rf"\textstyle\sum_{{i=1}}^n (v_i - \gamma_i) - \tau{budget.latex}"
        ),
        constraints=(
            Line("[tau g'/2; g/2 S] psd", r"\begin{pmatrix}\tau & \tfrac12 g^\top\\[2pt] \tfrac12 g & S\end{pmatrix}\succeq 0"),
            Line(f"{S.text}, {g.text}", rf"{S.latex},\quad {g.latex}"),
            Line(
                f"0 <= v_i <= 2 sqrt({price} gamma_i), gamma_i >= 0",
                rf"0 \le v_i \le 2\sqrt{{{tex}\,\gamma_i}},\quad \gamma_i \ge 0,\quad i=1,\dots,n",
            ),
        ),
        kkt=(
            Line("2 S w = g, S (W - w w') = 0", r"2 S w = g,\qquad S\,(W - w w^\top) = 0"),
            Line(
                f"gamma_i ({x}'W {x} - 2u_i + 1 - (1-u_i)_+^2/z_i - (1-u_i)_-^2/(1-z_i)) = 0",
                rf"\gamma_i\Bigl({x}^\top W {x} - 2u_i + 1" + r" - \frac{(1-u_i)_+^2}{z_i} - \frac{(1-u_i)_-^2}{1-z_i}\Bigr) = 0",
            ),
            Line(
                f"2 gamma_i (1-u_i)_+ = v_i z_i, (2 sqrt({price} gamma_i) - v_i) z_i = 0",
                rf"2\gamma_i\,(1-u_i)_+ = v_i z_i,\qquad \bigl(2\sqrt{{{tex}\,\gamma_i}} - v_i\bigr)\, z_i = 0",
            ),
            *(() if kappa is None else (slack,)),
            *((Line("rho (B^2 - W_11) = 0", r"\rho\,(B^2 - W_{11}) = 0"),) if free else ()),
        ),
    )


def _hard(n: int, p: int, kernel: Kernel | None, added: str) -> Statement:
    norm, tex = ("||w||^2", r"\|w\|_2^2") if kernel is None else ("w'Kw", r"w^\top K w")
    row, row_tex = ("y_i x_i'w", r"y_i x_i^\top w") if kernel is None else ("K_i'w", r"K_i^\top w")
    if kernel is None:
        cost = Line("1/4 ||sum_i alpha_i y_i x_i||^2", r"\tfrac14\bigl\|\textstyle\sum_{i=1}^n \alpha_i y_i x_i\bigr\|_2^2")
        point = Line("w = 1/2 sum_i alpha_i y_i x_i", r"w = \tfrac12\textstyle\sum_{i=1}^n \alpha_i y_i x_i")
    else:
        cost = Line("1/4 alpha'K alpha", r"\tfrac14\,\alpha^\top K \alpha")
        point = Line("K w = 1/2 K alpha", r"K w = \tfrac12 K\alpha")
    return Statement(
        title="Conic SVM for kappa = 0: the hard-margin SVM",
        problem_class="convex QP",
        sense="minimise",
        variables=Line("w", rf"w\in\mathbb{{R}}^{'p' if kernel is None else 'n'}"),
        objective=Line(norm, tex),
        constraints=(Line(f"{row} >= 1", rf"{row_tex} \ge 1,\quad i=1,\dots,n", "margin"),),
        sizes=f"n = {count_text(n, 'point')}, p = {p}",
        notes=(
            "sum_i z_i <= 0 leaves no margin violated; as an SDP this would be weakly infeasible on non-separable data",
            *(() if kernel is None else (f"K_ij = y_i y_j (k_ij{added}), {kernel}",)),
        ),
        source=f"{_SOURCE}, (21), Appendix C with kappa = 0",
        dual=DualStatement(
            sense="maximise",
            variables=Line("alpha", r"\alpha\in\mathbb{R}^n"),
            objective=Line(f"sum_i alpha_i - {cost.text}", rf"\textstyle\sum_{{i=1}}^n \alpha_i - {cost.latex}"),
            constraints=(Line("alpha_i >= 0", r"\alpha_i \ge 0,\quad i=1,\dots,n"),),
            kkt=(point, Line(f"alpha_i ({row} - 1) = 0", rf"\alpha_i\,({row_tex} - 1) = 0")),
        ),
    )
