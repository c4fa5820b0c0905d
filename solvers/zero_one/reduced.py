"""Reduction of a 0-1 problem to few, well-scaled coordinates for the search engines, with all rounding errors on the safe side.

The original problem is min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1}, a_i = y_i x_i. The engines use rows g_i in coordinates v
with w = T v, one for each set of equal a_i, with the summed cost λ_i'. A bound that they prove for

    min ||v_pen||² + Σ_i λ_i' 1{g_i'v < 1}

holds for the original problem after `ReducedZeroOneProblem.original_bound`; v_pen is v without a free intercept. With fl for
floating-point evaluation, all errors of the reduction are absorbed in g_i = fl(T'a_i)/(1 - η_i) (a point that is kept by
a_i'w ≥ 1 is kept by g_i'v ≥ 1) and in a factor 1 - δ (||w||² ≥ (1 - δ)||v||²).
Proofs: ``docs/explanation/zero-one-bb.md``, section "Reduction". A point is *kept* if its margin is at least 1, else *violated*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ...errors import InputError, short_text
from ...models.arrays import BoolArray, FloatArray, IntArray
from ...models.views import ZeroOneProblem
from ..exact.rotation import basis_errors, constant_column, rotated_basis, singular_basis

_EPS = 2.0**-53
#: Largest divisor of the least weight that is tried as the common step of all weights.
_MAX_DIVISOR = 6


@dataclass(frozen=True, eq=False)
class ReducedZeroOneProblem:
    """The problem in reduced coordinates, with the map to the original one. Weights and bounds are in units of ``unit``."""

    #: (m, k) fl(T'a_i) of the distinct non-zero rows, in reduced coordinates; the last one is the free intercept's if ``free``
    rows: FloatArray
    weights: FloatArray  #: (m,) summed weights of equal rows, divided by ``unit``
    T: FloatArray  #: (p, k) w = T v
    unit: float  #: a power of 4: original objective = unit × reduced objective + constant
    constant: float  #: weight of the zero rows, which every w violates
    member: IntArray  #: (n,) reduced row of every original point; -1 for a zero row
    free: bool  #: whether the last coordinate is a free intercept
    #: (m,) norm of each row's part outside the range of T, whose directions are numerically null, rounded up
    residual: FloatArray
    shrink: float  #: δ, the relative loss of a bound through the reduction
    problem: ZeroOneProblem  #: the original problem

    @property
    def stretch(self) -> float:
        """The scale of the free intercept: b = stretch × reduced coordinate, and the last column of ``rows`` holds ±stretch."""
        return abs(float(self.rows[0, -1])) if self.free and self.rows.size else 1.0

    @property
    def step(self) -> float:
        """A number, in reduced units, of which every original weight is an exact integer multiple; 0 if none is found."""
        distinct = [Fraction(x) for x in np.unique(self.problem.weights).tolist()]
        for divisor in range(1, _MAX_DIVISOR + 1):
            step = float(distinct[0]) / divisor
            if all((weight / Fraction(step)).denominator == 1 for weight in distinct):
                return step / self.unit
        return 0.0

    @property
    def trivial_value(self) -> float:
        """The objective of w = 0 (with b = ±1, whichever is better) in reduced units, without ``constant``."""
        total = float(self.weights.sum())
        if not self.free:
            return total
        positive = float(self.weights[self.rows[:, -1] > 0].sum())
        return min(positive, total - positive)

    def with_intercept_scale(self, upper: float) -> ReducedZeroOneProblem:
        """Return the problem with the free intercept rescaled for an optimum of at most ``upper``, in reduced units."""
        if not self.free or not self.rows.size:
            return self
        factor = _stretch(self.rows[:, :-1], upper) / self.stretch
        rows, T = self.rows.copy(), self.T.copy()
        rows[:, -1] *= factor
        T[:, -1] *= factor
        return replace(self, rows=rows, T=T)

    def intercept_bound(self, upper: float) -> float:
        """Return a bound on the reduced free coordinate of some optimal point, for an optimum of at most ``upper`` (reduced).

        Beyond 1 + max||x_i|| ||w_pen|| every point of one class is kept and every other one violated. Moving b back to that bound
        changes neither.
        """
        reach = float(np.linalg.norm(self.rows[:, :-1], axis=1).max(initial=0.0) + self.residual.max(initial=0.0))
        return (1.0 + reach * math.sqrt(upper)) / self.stretch * (1.0 + 1e-12)

    def root_half_widths(self, upper: float) -> FloatArray:
        """Return half-widths (k,) of a box |v| ≤ half that holds an optimal v, for an optimum ≤ ``upper`` in reduced units."""
        half = np.full(self.rows.shape[1], math.sqrt(upper / (1.0 - self.shrink)) * (1.0 + 1e-12))
        if self.free:
            half[-1] = self.intercept_bound(upper)
        return half

    def thresholds(self, upper: float) -> FloatArray:
        """Return 1 - η_i: a lower bound of fl(T'a_i)'v, exactly, for every kept point i at any w of value ≤ ``upper``."""
        p = self.T.shape[0]
        half = self.root_half_widths(upper)
        reach = np.abs(self.rows) @ half
        norms = np.linalg.norm(self.rows, axis=1) * math.sqrt(upper)
        eta = 16.0 * (p + 4) * _EPS * (1.0 + reach + norms) + 1.1 * self.residual * math.sqrt(upper)
        if eta.max(initial=0.0) > 0.25:
            i = int(eta.argmax())
            raise InputError(
                f"the rows' scale is beyond double precision for an exact proof: margin {i} can only be computed to "
                f"± {eta[i]:.1e} over the region that holds the optimum (||a_i|| = {np.linalg.norm(self.rows[i]):.1e}, "
                f"||w|| up to {math.sqrt(upper):.1e}, reduced); standardise the features or remove nearly constant ones",
                name="X",
            )
        return np.asarray(1.0 - eta)

    def relaxed_rows(self, upper: float) -> FloatArray:
        """Return g_i = fl(T'a_i)/(1 - η_i): every point kept by a w of value ≤ ``upper`` has g_i'v ≥ 1."""
        return np.ascontiguousarray(self.rows / self.thresholds(upper)[:, None])

    def to_original(self, v: FloatArray) -> FloatArray:
        """Return the original w = T v."""
        return np.asarray(self.T @ v)

    def to_reduced(self, w: FloatArray) -> FloatArray:
        """Return the reduced v of an original w, by the part of w in the range of T."""
        v = np.zeros(self.T.shape[1])
        penalised = self.problem.penalised
        block = self.T[penalised][:, : v.size - 1 if self.free else v.size]
        v[: block.shape[1]] = np.linalg.lstsq(block, w[penalised], rcond=None)[0] if block.size else 0.0
        if self.free:
            v[-1] = w[~penalised][0] / self.T[~penalised, -1][0]
        return v

    def original_bound(self, bound: float) -> float:
        """Return the lower bound of the original problem from one of the reduced problem, rounded down."""
        original_bound = max(bound, 0.0) * (1.0 - self.shrink) * self.unit + self.constant
        return original_bound * (1.0 - 8.0 * _EPS * (1 + self.problem.weights.size))


def reduce_problem(problem: ZeroOneProblem, *, full: bool = False) -> ReducedZeroOneProblem:
    """Return the reduction of a problem: scaled by a power of two, equal rows merged, rotated, null directions dropped.

    With ``full`` no direction is dropped, so that T is square. Raise InputError for data outside the solver's domain.
    """
    A = np.asarray(problem.A, dtype=np.float64)
    weights = np.asarray(problem.weights, dtype=np.float64)
    penalised = np.asarray(problem.penalised, dtype=bool)
    p = A.shape[1]
    _check(A, weights, penalised)
    free = not bool(penalised.all())
    unit = 4.0 ** round(math.log2(float(weights.mean())) / 2.0)
    scale = math.sqrt(unit)
    distinct, member = np.unique(A + 0.0, axis=0, return_inverse=True)
    member = member.reshape(-1).astype(np.int64)
    row_weights = np.bincount(member, weights=weights / unit, minlength=len(distinct))
    zero_rows = np.asarray((distinct == 0.0).all(axis=1))
    constant = float(row_weights[zero_rows].sum()) * unit
    position = np.cumsum(~zero_rows) - 1
    member = np.where(zero_rows[member], -1, position[member]).astype(np.int64)
    distinct, row_weights = distinct[~zero_rows], row_weights[~zero_rows]
    block = _scaled(distinct[:, penalised], scale)
    Q = singular_basis(block, full)
    residual, shrink = basis_errors(block, Q)
    k = Q.shape[1]
    T = np.zeros((p, k + free))
    T[np.flatnonzero(penalised), :k] = Q * scale
    rows = np.zeros((len(distinct), k + free))
    rows[:, :k] = block @ Q
    if free:
        stretch = _stretch(block, float(row_weights.sum()))
        rows[:, k] = distinct[:, ~penalised][:, 0] * stretch
        T[~penalised, k] = stretch
    return ReducedZeroOneProblem(
        rows, np.asarray(row_weights, dtype=np.float64), T, unit, constant, member, free, residual, shrink, problem
    )


def rotate_for_boxes(reduced: ReducedZeroOneProblem) -> ReducedZeroOneProblem:
    """Return the same problem in rotated coordinates, in which boxes exclude many pairs of points."""
    problem, member, penalised = reduced.problem, reduced.member, np.asarray(reduced.problem.penalised, dtype=bool)
    if not reduced.rows.size:
        return reduced
    representatives = np.zeros(len(reduced.rows), dtype=np.int64)
    representatives[member[member >= 0]] = np.flatnonzero(member >= 0)
    distinct, scale = np.asarray(problem.A, dtype=np.float64)[representatives], math.sqrt(reduced.unit)
    block, k = distinct[:, penalised] * scale, reduced.rows.shape[1] - reduced.free
    Q = rotated_basis(block, reduced.T[penalised, :k] / scale, constant_column(distinct))
    rows, T = reduced.rows.copy(), reduced.T.copy()
    rows[:, :k] = block @ Q
    T[np.flatnonzero(penalised), :k] = Q * scale
    residual, shrink = basis_errors(block, Q)
    return replace(reduced, rows=rows, T=T, residual=residual, shrink=shrink)


def _check(A: FloatArray, weights: FloatArray, penalised: BoolArray) -> None:
    """Raise InputError for data outside the solver's domain."""
    unpenalised = np.flatnonzero(~penalised)
    if unpenalised.size > 1:
        raise InputError(
            f"zero-one-bb reads at most one free coefficient (the intercept); "
            f"columns {short_text(unpenalised.tolist())} are free",
            name="X",
        )
    if unpenalised.size == 1 and not (np.abs(A[:, unpenalised[0]]) == 1.0).all():
        raise InputError(
            f"the free column {unpenalised[0]} must hold the labels ±1 (a constant feature of ones); it does not", name="X"
        )
    if not (weights > 0).all() or not np.isfinite(weights).all() or not np.isfinite(A).all():
        raise InputError("zero-one-bb needs finite rows and finite weights > 0", name="X")


def _scaled(rows: FloatArray, scale: float) -> FloatArray:
    """Return the rows times the scale; raise InputError if the sum of their squares overflows."""
    with np.errstate(over="ignore"):
        block = rows * scale
        if np.isfinite(np.einsum("ij,ij->", block, block)):
            return block
    raise InputError(f"squares of the data leave float64 (largest entry {np.abs(rows).max():.3g}): scale the features", name="X")


def _stretch(block: FloatArray, upper: float) -> float:
    """Return the power of two that stretches the free column, so that (b/stretch)² is a small part of the objective.

    With UB = ``upper``, the intercept reaches about 1 + max||x||√UB, a tenth of √UB in the stretched coordinate. So the term
    (w - lo)(w - hi) of the root box lowers its bound by at most about UB/100, while the ball still bounds the coordinate.
    """
    reach = 1.0 + float(np.linalg.norm(block, axis=1).max(initial=0.0)) * math.sqrt(upper)
    return float(2.0 ** round(math.log2(reach / (0.1 * math.sqrt(upper)))))


def scale_and_evaluate(problem: ZeroOneProblem, w: FloatArray, tolerance: float) -> tuple[float, FloatArray]:
    """Scale w up so that margins within ``tolerance`` of 1 hold in any order of summation; return (objective, scaled w).

    A margin counts as kept if its floating-point value is at least 1 + (p + 2)·2⁻⁵³·Σ_j|a_ij w_j|. Then the exact margin is at
    least 1, and so is every floating-point evaluation of it.
    """
    A, penalised = problem.A, problem.penalised
    if not np.isfinite(w).all():
        return math.inf, w
    slack = (A.shape[1] + 2) * 2.0 * _EPS * (np.abs(A) @ np.abs(w))
    margins = A @ w
    near_threshold = margins >= 1.0 - tolerance - slack
    deficient = np.flatnonzero(near_threshold & (margins < 1.0 + slack))
    if deficient.size:
        factor = float(((1.0 + 2.0 * slack[deficient]) / margins[deficient]).max()) * (1.0 + 4.0 * _EPS)
        w = w * factor
    kept_points = A @ w >= 1.0 + (A.shape[1] + 2) * _EPS * (np.abs(A) @ np.abs(w))
    value = float(w[penalised] @ w[penalised]) + float(problem.weights[~kept_points].sum())
    return value, w


def scale_and_evaluate_all(problem: ZeroOneProblem, w: FloatArray) -> list[tuple[float, FloatArray]]:
    """Return the results of `scale_and_evaluate` at tolerances for an accurate, a poor, and an iterative solution w."""
    return [scale_and_evaluate(problem, w, tolerance) for tolerance in (1e-12, 1e-9, 1e-7)]


def warm_up_problem() -> ZeroOneProblem:
    """Return a problem of four points whose solution calls every compiled loop, and so compiles or loads it."""
    rows = np.array([[1.0, 0.5, 0.1], [1.0, -0.4, 0.2], [-1.0, 0.3, 0.7], [-1.0, -0.2, -0.3]])
    return ZeroOneProblem(rows, np.full(4, 0.3), np.array([True, True, True]))
