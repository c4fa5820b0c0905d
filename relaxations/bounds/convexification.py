"""Lower bounds of the 0-1 loss by its convexification, from any multipliers; base classes of the relaxations that use them.

The problem is min ||w||² + Σ λ_i 1{u_i < 1}, a_i = y_i x_i, u_i = a_i'w. With r_i = 1 - u_i its convexification (13) of Cepeda,
Gómez and Han (2024, "Conic") is min ||w||² + Σ (λ_i z_i + γ_i((r_i)_+²/z_i + (r_i)_-²/(1 - z_i) - r_i²)) over 0 ≤ z ≤ 1, for γ in
Γ = {γ ≥ 0 : Σ γ_i a_i a_i' ⪯ I}. Add the rows u_i + M_i z_i ≥ 1 with multipliers δ_i ≥ 0. The part of the Lagrangian that depends
on z_i gains δ_i(r_i - M_i z_i): λ_i becomes λ_i - δ_i M_i, of either sign, and a term linear in r_i appears. For given γ the best
δ need not be searched: by convexity in z_i the maximum over δ_i ≥ 0 of the minimum over z_i is the minimum under the row itself,

    χ_i(r) = min { λ_i z + γ_i(r_+²/z + r_-²/(1 - z)) : r/M_i ≤ z ≤ 1, z ≥ 0 }.

*Its value.* r ≤ 0: z = 0, γ r². r > 0: λz + γr²/z is convex in z with its minimum at r√(γ/λ), so z is that number moved into
[r/M, 1], and there is none if r > M. Dropping indices, with

    s = 2√(λγ),     c = √(λ/γ)   if γ ≥ λ/M²  (the row is slack up to r = M),
    s = λ/M + γM,   c = M        if γ ≤ λ/M²  (the row gives z = r/M; γ = 0 is the big-M relaxation alone),

χ(r) = γr² for r ≤ 0, s·r for 0 ≤ r ≤ c, λ + γr² for c ≤ r ≤ M, ∞ beyond: convex (slopes 0, s, 2γr ≥ s, ∞), and equal to the
conic loss plus γr² where M is large. Its conjugate is

    χ*(V) = V²/(4γ) for V < 0 (∞ if γ = 0);  0 for 0 ≤ V ≤ s;  V²/(4γ) - λ for s ≤ V ≤ 2γM (where c < M);
    MV - λ - γM² beyond.

As in `models.conic_bound`, ||w||² - Σ γ_i r_i² = w'Sw + 2 Σ γ_i u_i - Σ γ_i with S = I - Σ γ_i a_i a_i', so for
*any* γ in Γ and any V

    D(γ, V) = -Σ γ_i + Σ V_i - Σ χ*_i(V_i) - ¼ g'S⁻¹g,     g = Σ (2γ_i - V_i) a_i,

is a lower bound of the optimum, hence of the 0-1 optimum if M is valid. V_i = v_i + δ_i, where v_i is the multiplier of the row
r_i = 1 - u_i (``split``) and δ_i that of the big-M row (``big_m``). No function of this module solves an SDP. A *reduction*
(`Reduction`) maps a 0-1 model to its relaxation, the *target*; γ are the multipliers of the target's constraint ``hull``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray, Points, as_labels, as_points, as_vector
from ...models.conic_bound import (
    TRIAL_EIGENVALUES,
    Slopes,
    certified_bound,
    coordinates,
    newton_piecewise,
    proved_sum,
    repair_gamma,
)
from ...models.formulations.features import dense_signed_rows, linear_summary, warn_about_features
from ...models.formulations.zero_one import ZeroOneSVM
from ...models.model import Model
from ...models.program.lagrangian import Bound
from ...models.views import ConicProblem
from ..reduction import ONE_COST, PENALISED, LiftedDual, Need, Reduction, T, without_warnings


@dataclass(frozen=True, eq=False)
class CombinedBound:
    """A proved lower bound ``value`` = D(γ, V), and the dual point that proves it: ``gamma`` in Γ and ``slope`` V, both (n,)."""

    value: float
    gamma: FloatArray
    slope: FloatArray


@dataclass(frozen=True, eq=False)
class PointLosses:
    """The losses χ_i of all points, by the formulas of the module's docstring.

    Parameters
    ----------
    weights, M, gamma : ndarray (n,)
        λ_i > 0, M_i > 0, γ_i ≥ 0.
    s, c : ndarray (n,)
        Slope on [0, c_i], and the corner c_i.
    """

    weights: FloatArray
    M: FloatArray
    gamma: FloatArray
    s: FloatArray
    c: FloatArray

    @classmethod
    def of(cls, weights: FloatArray, M: FloatArray, gamma: FloatArray) -> PointLosses:
        """Return the losses χ_i of λ, M and γ, with the s and c that follow."""
        slack = gamma * M * M >= weights
        s = np.where(slack, 2.0 * np.sqrt(weights * gamma), weights / M + gamma * M)
        c = np.where(slack, np.sqrt(weights / np.where(slack, gamma, 1.0)), M)
        return cls(weights, M, gamma, s, np.minimum(c, M))

    @property
    def last_slope(self) -> FloatArray:
        """Return the slopes of χ at r = M from the left, (n,)."""
        return np.maximum(self.s, 2.0 * self.gamma * self.M * (self.c < self.M))

    def value(self, r: FloatArray) -> FloatArray:
        """Return χ_i(r_i), (n,)."""
        square = self.gamma * r * r
        inside = np.where(r <= 0.0, square, np.where(r <= self.c, self.s * r, self.weights + square))
        return np.where(r > self.M, np.inf, inside)

    def conjugate(self, V: FloatArray) -> FloatArray:
        """Return the conjugates χ*_i(V_i), (n,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            square = np.where(V == 0.0, 0.0, V * V / (4.0 * self.gamma))
        wall = self.M * V - self.weights - self.gamma * self.M**2
        outer_value = np.where(self.last_slope >= V, np.where(self.c < self.M, square - self.weights, 0.0), wall)
        return np.where(V < 0.0, square, np.where(self.s >= V, 0.0, np.maximum(outer_value, 0.0)))

    def slopes(self, delta: float) -> Slopes:
        """Return a function of r that returns the maximiser V of V r - χ*(V) - ½κV² and its derivative; it smooths χ'.

        κ_i = δ c_i/s_i, where ``delta`` = δ > 0 sets the amount of smoothing. r = t + κV with V in ∂χ(t): V is linear in r
        between the breakpoints 0, κs, c + κs and M + κ·`last_slope`.
        """
        M, s, last, wall = self.M, self.s, self.last_slope, self.c >= self.M
        kappa = delta * self.c / s
        outer = 2.0 * self.gamma / (1.0 + 2.0 * self.gamma * kappa)
        bend, leave, end = kappa * s, self.c + kappa * s, M + kappa * last

        def at(r: FloatArray) -> tuple[FloatArray, FloatArray]:
            on_tail = (r > leave) & (r <= end)
            V = np.minimum(r / kappa, s)
            np.multiply(outer, r, out=V, where=r < 0.0)
            np.minimum(np.maximum(outer * r, s), last, out=V, where=r > leave)
            np.divide(r - M, kappa, out=V, where=r > end)
            flat = ((r >= bend) & (r <= leave)) | (on_tail & wall)
            return V, np.where(flat, 0.0, np.where((r < 0.0) | on_tail, outer, 1.0 / kappa))

        return at

    def smoothed(self, r: FloatArray, delta: float) -> FloatArray:
        """Return the smoothed losses at r, (n,): the maximum over V of V r - χ*(V) - ½κV², κ as in `slopes`."""
        V, _ = self.slopes(delta)(r)
        return V * r - self.conjugate(V) - 0.5 * delta * self.c / self.s * V * V


def combined_value(rows: FloatArray, losses: PointLosses, V: FloatArray) -> float:
    """Return a lower bound of D(γ, V), rounding included; -inf if S is not positive definite, or not for certain.

    ``rows`` are the a_i', perhaps in coordinates of their span; γ is that of ``losses``. No inverse of S is trusted
    (`models.conic_bound`). χ* is a difference of numbers of the size of M|V|, λ and γM², each of at most six operations. Where V
    is within roundings of the corner s, χ*(V) ≤ c(V - s) has an error of the size of c·s as well.
    """
    gamma = losses.gamma
    try:
        factor = np.asarray(np.linalg.cholesky(np.eye(rows.shape[1]) - (rows * gamma[:, None]).T @ rows), dtype=np.float64)
    except np.linalg.LinAlgError:
        return -np.inf
    penalty = losses.conjugate(V)
    determined = (penalty != 0.0) | (losses.s * (1.0 - 1e-12) <= V)
    size = np.where(determined, losses.M * np.abs(V) + losses.weights + losses.gamma * losses.M**2 + losses.c * losses.s, 0.0)
    return proved_sum(rows, factor, gamma, V, penalty, size + penalty, 0.0)[0]


def combined_bound(
    A: FloatArray,
    weights: FloatArray,
    M: FloatArray,
    gamma: FloatArray,
    slope: FloatArray | None = None,
    w: FloatArray | None = None,
) -> CombinedBound:
    """Return the best lower bound of the 0-1 problem with big-M rows found from a γ of any quality; it is at least 0.

    γ is clipped and scaled into Γ, at several distances from its edge. For each, V nearly maximises D(γ, ·) by Newton's method on
    the smoothed p-dimensional primal, smoothed less and less. A given ``slope``, scaled and clipped, is tried as well.

    Parameters
    ----------
    A : ndarray (n, p)
        Signed rows y_i x_i.
    weights, M : ndarray (n,)
        λ_i > 0 and M_i > 0.
    gamma : ndarray (n,)
        Multipliers of the hull rows, any finite numbers.
    slope : ndarray (n,), optional
        V = v + δ of the solver.
    w : ndarray (p,), optional
        Primal point to start from.

    Raises
    ------
    InputError
        Vectors of another length than n, numbers that are not finite, or M ≤ 0.
    """
    n = A.shape[0]
    checked = [np.asarray(a, dtype=np.float64).ravel() for a in (weights, M, gamma, np.zeros(n) if slope is None else slope)]
    if any(a.shape != (n,) or not np.isfinite(a).all() for a in checked) or not (checked[1] > 0).all():
        raise InputError(f"weights, M > 0, gamma and slope must each hold {n} finite numbers", name="weights")
    weights, M, gamma, slopes = checked
    space = coordinates(A)
    start = np.zeros(space.rows.shape[1]) if w is None else space.reduce(np.asarray(w, dtype=np.float64))
    best = CombinedBound(0.0, np.zeros(n), np.zeros(n))  # D(0, 0) = 0
    for margin in TRIAL_EIGENVALUES:
        before = best.value
        repaired = repair_gamma(A, gamma, margin=margin)
        losses = PointLosses.of(weights, M, repaired)
        trials = [_maximise(space.rows, losses, start)]
        if slope is not None:
            scale = min(1.0, float(repaired.max(initial=0.0) / max(gamma.max(initial=0.0), 1e-300)))
            trials.append(np.clip(scale * slopes, 0.0, losses.last_slope))
        for V in trials:
            value = combined_value(space.rows, losses, V)
            if value > best.value:
                best = CombinedBound(value, repaired, V)
        if margin > TRIAL_EIGENVALUES[0] and best.value - before <= 1e-10 * abs(best.value):
            break
    return best


def _maximise(rows: FloatArray, losses: PointLosses, w: FloatArray) -> FloatArray:
    """Return a V that nearly maximises D(γ, ·) for the γ of ``losses``; Newton's method starts at w."""
    best, best_value = np.zeros_like(losses.s), -np.inf
    for delta in 10.0 ** -np.arange(1.0, 12.0):
        w = _newton(rows, losses, w, delta)
        V, _ = losses.slopes(delta)(1.0 - rows @ w)
        value = combined_value(rows, losses, V)
        if value <= best_value:
            break
        best, best_value = V, value
    return best


def _newton(rows: FloatArray, losses: PointLosses, w: FloatArray, delta: float) -> FloatArray:
    """Return the minimiser over w of w'Sw + 2Σγu + Σ χ_δ(1 - u), χ_δ the smoothed losses (`PointLosses.smoothed`)."""
    S = np.eye(rows.shape[1]) - (rows * losses.gamma[:, None]).T @ rows
    linear, floor = 2.0 * rows.T @ losses.gamma, 1e-15 * float(losses.weights.sum())
    return newton_piecewise(rows, S, linear, losses.slopes(delta), w, floor)


def certified_dual(
    problem: ConicProblem,
    gamma: FloatArray,
    multipliers: Mapping[str, FloatArray],
    argument: str = "closed-form dual value at γ in Γ (S ≻ 0 checked by Cholesky)",
    w: FloatArray | None = None,
) -> LiftedDual:
    """Return the bound D(γ, v) without big-M rows, γ moved into Γ, v the better of the multipliers ``split`` and one that is
    computed from ``w`` on; the result has ``argument`` as its reason.
    """
    bound = certified_bound(problem, gamma, w=w, v=multipliers.get("split"))
    return LiftedDual(bound.value, {"hull": bound.gamma, "split": bound.v}, argument)


def certified_dual_with_big_m(
    target: ConvexificationModel,
    M: FloatArray,
    gamma: FloatArray,
    slope: FloatArray | None,
    argument: str = "closed-form dual value at γ in Γ, big-M rows included (S ≻ 0 checked by Cholesky)",
    w: FloatArray | None = None,
) -> LiftedDual:
    """Return the bound D(γ, V) of `combined_bound`, γ moved into Γ, V the best of ``slope`` and of the V computed from ``w`` on;
    the result has ``argument`` as its reason.
    """
    bound = combined_bound(target.signed, target.sample_weight, M, gamma, slope=slope, w=w)
    return LiftedDual(bound.value, {"hull": bound.gamma, "slope": bound.slope}, argument)


def as_positive_vector(values: object, n: int, name: str) -> FloatArray:
    """Return one number or n of them as a vector (n,); `InputError` about the argument ``name`` unless all are > 0."""
    checked = as_vector(values, n, name)
    if not (checked > 0).all():
        raise InputError(f"{name} must be > 0; it is {checked.min():g}", name=name)
    return checked


@dataclass(frozen=True, eq=False, repr=False)
class ConvexificationModel(Model):
    """A relaxation of the 0-1 loss, as a model whose multipliers give a γ in Γ and with it a bound in closed form: base class.

    Parameters
    ----------
    X : array_like (n, p)
        Points; an intercept is a column of ones among them.
    y : array_like (n,)
        Labels -1, +1.
    lam : float or array_like (n,)
        λ_i > 0.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels, λ ≤ 0.
    """

    X: Points
    y: FloatArray
    lam: float | FloatArray

    #: Labels of the constraints whose multipliers the bound needs.
    needed_multipliers: ClassVar[tuple[str, ...]] = ("hull",)

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, X.shape[0]))
        warn_about_features(X)
        as_positive_vector(self.lam, X.shape[0], "lam")

    @cached_property
    def sample_weight(self) -> FloatArray:
        """Return the costs λ_i, (n,)."""
        return as_vector(self.lam, self.X.shape[0], "lam")

    @cached_property
    def signed(self) -> FloatArray:
        """Return the rows a_i' = y_i x_i', (n, p)."""
        return dense_signed_rows(self.X, self.y)

    @property
    def problem(self) -> ConicProblem:
        """Return the data of the bound without big-M rows, for which all points have one λ."""
        return ConicProblem(self.signed, float(self.sample_weight[0]), None)

    @abstractmethod
    def certify(self, multipliers: Mapping[str, FloatArray], w: FloatArray | None = None) -> LiftedDual:
        """Return the bound that multipliers of any quality prove, with the dual point; a search may start at ``w``."""

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the dual value in closed form (`certify`); -inf without the `needed_multipliers`."""
        if multipliers is None or any(label not in multipliers for label in self.needed_multipliers):
            return Bound(-np.inf, "no multipliers")
        bound = self.certify(multipliers, None if x is None else self.form.split(x)["w"])
        return Bound(bound.value, bound.argument)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return margin violations, misclassified points and Σz."""
        return linear_summary(self.X, self.y, values["w"]) | {"sum_z": float(values["z"].sum())}


#: The target of a convexification.
_C = TypeVar("_C", bound=ConvexificationModel)


@dataclass(frozen=True)
class NormConvexification(Reduction[T]):
    """A reduction whose convexification uses all of ||w||², so that the intercept must be penalised: base class."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """Return the needs of the base class, a penalised intercept, and `cost_needs`."""
        return (*super().needs, PENALISED, *self.cost_needs)

    @property
    def cost_needs(self) -> tuple[Need, ...]:
        """Return the requirement that all points have one λ, which the closed form of the bound assumes."""
        return (ONE_COST,)

    def apply(self, model: ZeroOneSVM) -> T:
        """Return the target on the same data.

        Raises
        ------
        UnsupportedModelError
            A free intercept, or another of the `needs` that the model does not meet.
        InputError
            A source of M or γ that the model lacks.
        """
        self.check(model)
        with without_warnings():
            return self.target(model)

    @abstractmethod
    def target(self, model: ZeroOneSVM) -> T:
        """Return the target of a model that the reduction reads."""


@dataclass(frozen=True)
class CertifiedConvexification(NormConvexification[_C]):
    """A reduction to a model on the same data that proves its own bound: base class."""

    def lift(self, model: ZeroOneSVM, target: _C, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """Return the bound that the target proves: the target is stated on the model's own data."""
        return target.certify(multipliers)
