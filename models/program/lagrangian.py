"""The Lagrangian dual bound: a proved lower bound of a convex form's optimum from any multipliers.

The form minimises f(x) = ½x'Px + q'x + r subject to F_k x + g_k in K_k and bounds of x. For multipliers z_k in the dual cones,
d = q - Σ F_k'z_k and *every* point x̂, with slopes s = P x̂ + d and y = x - x̂,

    f(x) ≥ L(x) = r - Σ<z_k, g_k> - ½x̂'P x̂ + Σ_j s_j x_j + ½y'Py   for feasible x,

and y'Py ≥ 0 (the quadratic lies above its tangents). Each variable contributes the least value of s_j x_j between its bounds.
Where a variable x_j has no bound on the side to which s_j descends there are three ways:

- *x_j has curvature*: y'Py ≥ Σ μD_j y_j² over variables with a missing bound, μD_j > 0 a verified lower bound of the curvature
  in x_j (`models.program.quadratic`), and s_j x_j + ½μD_j y_j² ≥ s_j x̂_j - s_j²/(2μD_j). Over variables without any bound x̂ is
  chosen so that s_j is a rounding error, whose square is negligible;
- *x_j has no curvature*: the multipliers (and x̂, if moving them is not enough) are moved so that s_j = 0, first in floating
  point; then multipliers that satisfy the equations exactly are proved to exist within a known distance
  (`models.program.multiplier_repair`). If that fails, the multipliers are moved along one direction that may give all these
  slopes the right sign;
- *the rows imply a bound*, as a trace does of a semidefinite matrix (`models.program.implied_bounds`): the least value over that
  box.

A problem whose cones and bounds have no constants (g = 0, bounds 0 or infinite) and whose objective is q'x has f(tx) = t f(x)
on a feasible cone: its optimum is 0 or -∞. Any finite lower bound therefore proves the bound 0, which is returned without the
rounding error of the sums.

Every quantity carries a bound of its rounding error, and the returned bound is rounded down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.linalg.lapack import dpotrf as potrf, dpotrs as potrs
from scipy.sparse.linalg import lsqr

from ..arrays import BoolArray, FloatArray
from ..deadline import OutOfTimeError
from ..rounding import Rounded, dot, gamma, total
from .cones import Nonnegative, Zero
from .form import StandardForm
from .implied_bounds import ImpliedBounds, implied_bounds
from .multiplier_repair import MultiplierChange, Multipliers, PointMoves, correct_multipliers
from .quadratic import Convexity, Evidence, curvature_bounds

# Slopes of the right sign, where a variable has a bound on one side alone: multipliers moved together do for all at once.
#
# A variable x_j ≥ 0 without an upper bound needs s_j ≥ 0, not s_j = 0. Computed multipliers miss that by a rounding error on many
# variables at once, and no multipliers may make all of these slopes zero. Often one direction of the multipliers raises all of
# them, as the multiplier of the row Σ x_j = 1 does on a simplex. A step costs a rounding error times the right-hand side. The new
# multipliers are checked like any others, so the step needs no proof.

#: A direction must raise every slope in question by this share of 1, the rise that LSQR is asked for.
_GAIN = 0.25
#: Most steps of LSQR for a direction.
_STEPS = 200


@np.errstate(all="ignore")  # a direction that overflows is not taken
def _correct_slope_signs(z: Multipliers, slope: FloatArray, error: FloatArray) -> Multipliers | None:
    """Return the multipliers after a step along one direction in the linear rows that gives every one-sided slope the right sign;
    None without such a direction.
    """
    form = z.form
    below, above = ~np.isfinite(form.lower), ~np.isfinite(form.upper)
    sign = above.astype(np.float64) - below
    short = np.where(sign != 0.0, error - sign * slope, 0.0)
    wanting = short > 0.0
    rows, free = form.rows_mask(Zero, Nonnegative), form.rows_mask(Zero)
    if not wanting.any() or not rows.any():
        return None
    E = z.rows.F[np.flatnonzero(rows)]
    y = lsqr(E.T, -sign, atol=1e-12, btol=1e-12, iter_lim=_STEPS)[0]
    y = np.where(free[rows], y, np.maximum(y, 0.0))
    gain = -sign * (E.T @ y)
    if not np.isfinite(gain).all() or gain[wanting].min() < _GAIN:
        return None
    values = z.z.copy()
    values[rows] += 4.0 * float((short[wanting] / gain[wanting]).max()) * y
    return replace(z, z=values)


#: Rounds of moving the multipliers, each of which may bring further variables to zero slope.
_LAGRANGIAN_ROUNDS = 6
#: State at the start of a round: multipliers, the variables that need slope 0, and the tangent's point.
_State: TypeAlias = tuple[FloatArray, BoolArray, FloatArray]
#: Shares of the largest multiplier to which zero ones are raised where too few are positive: the bound loses this much times
#: their slacks. The second share is for exponential and power cones, whose multipliers it moves inside by more than a solver's
#: residual.
_LIFTS = (1e-9, 1e-7)
#: Relative distance from the objective at x up to which a bound over implied bounds is returned.
_NEAR = 1e-6
#: Shares of the largest multiplier below which others are taken as rounding and set to zero, where the repair fails with them.
_ROUNDINGS = (1e-9, 1e-8)


@dataclass(frozen=True)
class Bound:
    """A lower bound of the form's optimum, proved unless it has a ``condition``, with its argument in one sentence.

    Parameters
    ----------
    value : float
        The bound, rounding error included; -inf where no bound follows.
    argument : str
        Why the bound is valid, in words.
    error : float
        Bound of the rounding error, which is subtracted from ``value`` already.
    condition : str
        Assumption of the bound; empty where it is proved.
    derived : str
        Bounds of variables that rows imply and that the proof uses, in words; empty without any.
    """

    value: float
    argument: str
    error: float = 0.0
    condition: str = ""
    derived: str = ""


def dual_bound_value(form: StandardForm, x: FloatArray | None, multipliers: Mapping[str, FloatArray]) -> float:
    """Return the value of `dual_bound`; -inf where convexity is not proved."""
    bound = dual_bound(form, x, multipliers)
    return -np.inf if bound.condition else bound.value


def dual_bound(form: StandardForm, x: FloatArray | None, multipliers: Mapping[str, FloatArray]) -> Bound:
    """Return a lower bound of the continuous form's optimum, by the module's theorem; conditional where convexity is not proved.

    Parameters
    ----------
    form : StandardForm
        Integrality is ignored: the bound is one of the continuous relaxation, valid for the form as well.
    x : ndarray (n,), optional
        Point x̂ at which the quadratic is linearised; zero where it is not given. It moves where variables are unbounded.
    multipliers : mapping of label to array
        z_k by constraint, any finite numbers, one for each row; a constraint without an entry counts with z_k = 0.
    """
    convexity = form.convexity
    if convexity.is_refuted:
        return Bound(-np.inf, convexity.argument, condition=convexity.condition)
    z = Multipliers.in_dual_cones(form, multipliers)
    if z is None:
        return Bound(-np.inf, "the multipliers are not finite, or not one for each row")
    try:
        bound = _bound(form, z, _Tangent.of(form, x), None)
        flat = _Tangent.flat(form, x) if bound.value == -np.inf else None
        if flat is not None:
            bound = _bound(form, z, flat, flat.moves)
        if bound.value == -np.inf:
            bound = _with_raised_slopes(form, z, x, bound)
    except OutOfTimeError:
        return Bound(-np.inf, "the time limit leaves no time to repair the multipliers for the unbounded variables")
    return bound if bound.value > -np.inf else _with_implied_bounds(form, x, multipliers, bound)


def _with_implied_bounds(
    form: StandardForm, x: FloatArray | None, multipliers: Mapping[str, FloatArray], otherwise: Bound
) -> Bound:
    """Return the bound over the box of the bounds that rows imply, if it is near the objective at x; else ``otherwise``.

    The box holds every feasible point. A bound that is far from the objective would hide that the multipliers are poor.
    """
    key = "_implied_bounds"
    if key not in vars(form):
        vars(form)[key] = implied_bounds(form)
    box: ImpliedBounds | None = vars(form)[key]
    if box is None:
        return otherwise
    boxed = form.with_bounds(box.lower, box.upper)
    vars(boxed)["convexity"] = form.convexity
    bound = dual_bound(boxed, x, multipliers)
    if not np.isfinite(bound.value):
        return otherwise
    if x is not None and not form.objective(x) - bound.value <= _NEAR * max(abs(bound.value), abs(form.objective(x))):
        return otherwise
    derived = "; ".join(filter(None, [box.derivation, bound.derived]))
    return replace(bound, argument=f"{bound.argument}; {box.derivation}", derived=derived)


def _with_raised_slopes(form: StandardForm, z: Multipliers, x: FloatArray | None, otherwise: Bound) -> Bound:
    """Return the bound from multipliers that give all one-sided slopes the right sign; ``otherwise`` if none are found."""
    tangent = _Tangent.of(form, x)
    raised_multipliers: Multipliers | None = z
    for _ in range(2):  # the second step corrects the rounding of the first
        if raised_multipliers is not None and tangent.needs_zero_slope(*tangent.slopes(raised_multipliers)).any():
            raised_multipliers = _correct_slope_signs(raised_multipliers, *tangent.slopes(raised_multipliers))
    return otherwise if raised_multipliers is None else _bound(form, raised_multipliers, tangent, None)


def _bound(form: StandardForm, z: Multipliers, tangent: _Tangent, point: PointMoves | None) -> Bound:
    """Return the bound from these multipliers, repaired for variables without bounds; with ``point`` x̂ moves as well."""
    change = MultiplierChange.zero(form.n)
    curved = any(c.cone.dual_map is not None for c in form.constraints)
    settle, candidates, failures = True, list[_State](), list[BoolArray]()
    for _ in range(_LAGRANGIAN_ROUNDS):
        slope, error = tangent.slopes(z, settle)
        if form.quadratic is None and not change.zero_slopes.any():
            _settle_zeros(tangent, z, slope, error)
        open_sides = tangent.needs_zero_slope(slope, error + change.slopes) | change.zero_slopes
        if not open_sides.any():
            break
        if (open_sides == change.zero_slopes).all():
            return _value(form, tangent, z, slope, error, change)
        start, certified = z, None
        if not any(open_sides[failed].all() for failed in failures):  # a repair that failed for fewer variables fails for more
            z, certified = correct_multipliers(start, open_sides, tangent, point)
            for share in _LIFTS:  # a degenerate vertex of the dual has too few multipliers that are positive
                if certified is None and (share == _LIFTS[0] or curved):
                    z, certified = correct_multipliers(start.with_raised_zeros(share), open_sides, tangent, point)
            if certified is None:
                failures.append(open_sides)
        for share in _ROUNDINGS:  # or multipliers that are positive by rounding, which hide that equations are dependent
            if certified is None and open_sides.any():
                z = start.without_small(share)
                open_sides = tangent.needs_zero_slope(*tangent.slopes(z, settle)) | change.zero_slopes
                state = z.z, open_sides, tangent.x_hat.copy()
                if open_sides.any() and not _among(state, candidates):
                    candidates.append(state)
                    z, certified = correct_multipliers(z, open_sides, tangent, point)
        if not open_sides.any():
            continue
        if certified is None:
            names = np.asarray(form.names())[open_sides]
            return Bound(-np.inf, f"no multipliers were found with slope 0 of the unbounded {', '.join(names[:3])}")
        change, settle = certified, False  # the proof holds at this x̂, which must not move again
    else:
        return Bound(-np.inf, "the multipliers could not be repaired for the unbounded variables")
    return _value(form, tangent, z, slope, error, change)


def _among(state: _State, candidates: list[_State]) -> bool:
    """Return whether an earlier round began with this state, so that the rounds would repeat."""
    return any(all(np.array_equal(a, b) for a, b in zip(state, other, strict=True)) for other in candidates)


def _settle_zeros(tangent: _Tangent, z: Multipliers, slope: FloatArray, error: FloatArray) -> None:
    """Sum the slopes that must be zero and are within their error exactly, and set those that vanish to zero, in place.

    Multipliers that are whole numbers often satisfy their equations exactly.
    """
    undecided = tangent.needs_zero_slope(slope, error) & (np.abs(slope) <= error)
    if undecided.any():
        exact = z.exact_lagrangian_gradient(undecided)
        zero = np.flatnonzero(undecided)[exact == 0.0]
        slope[zero] = error[zero] = 0.0


@dataclass(frozen=True, eq=False)
class _Tangent:
    """The tangent of the quadratic part at x̂, with the curvature that is verified where a bound is missing."""

    form: StandardForm
    x_hat: FloatArray
    convexity: Convexity
    curved: BoolArray  # unbounded on some side, with verified curvature
    min_curvature: FloatArray  # μD_j there
    factor: FloatArray | None  # Cholesky factor of P on the curved variables without any bound

    @classmethod
    def of(cls, form: StandardForm, x: FloatArray | None) -> _Tangent:
        x_hat = np.zeros(form.n) if x is None else np.array(x, dtype=np.float64)
        curved, curvature, convexity = _curvature(form)
        solved = curved & ~np.isfinite(form.lower) & ~np.isfinite(form.upper)
        factor = None
        if solved.any() and form.quadratic is not None:
            indices = np.flatnonzero(solved)
            block = form.quadratic.submatrix(indices)
            lower, indefinite = potrf(block, lower=1, clean=0)
            factor = None if indefinite else lower
        x_hat[~np.isfinite(x_hat)] = 0.0
        return cls(form, x_hat, convexity, curved, curvature, factor)

    def slopes(self, z: Multipliers, settle: bool = True) -> tuple[FloatArray, FloatArray]:
        """Return s = P x̂ + d and its error; with ``settle`` x̂ moves to s = 0 on the free variables with curvature."""
        quadratic = self.form.quadratic
        d, error = z.lagrangian_gradient
        if quadratic is None:
            return d, error
        if self.factor is not None and settle:
            free = self.curved & ~np.isfinite(self.form.lower) & ~np.isfinite(self.form.upper)
            for _ in range(2):  # the second step corrects the rounding of the first
                self.x_hat[free] -= potrs(self.factor, (quadratic.product(self.x_hat) + d)[free], lower=1)[0]
        product, product_error = quadratic.rounded_product(self.x_hat)
        s = product + d
        return s, (error + product_error + gamma(1) * np.abs(s)) * (1.0 + 1e-12)

    @classmethod
    def flat(cls, form: StandardForm, x: FloatArray | None) -> _Tangent | None:
        """Return the tangent without curvature, so that x̂ may move.

        Return None without P as a stored matrix, or where its convexity is proved up to a deficit or penalty only.
        """
        quadratic, convexity = form.quadratic, form.convexity
        if quadratic is None or quadratic.matrix is None or convexity.deficit is not None or convexity.penalty:
            return None
        x_hat = np.zeros(form.n) if x is None else np.where(np.isfinite(x), x, 0.0)
        return cls(form, x_hat, convexity, np.zeros(form.n, dtype=bool), np.zeros(form.n), None)

    @property
    def moves(self) -> PointMoves:
        assert self.form.quadratic is not None
        return PointMoves(self.x_hat, self.form.quadratic)

    def needs_zero_slope(self, slope: FloatArray, error: FloatArray) -> BoolArray:
        """Mask the variables without curvature whose slope descends, or may within its error, towards a missing bound."""
        below, above = ~np.isfinite(self.form.lower), ~np.isfinite(self.form.upper)
        falls, rises = slope - error < 0.0, slope + error > 0.0
        return np.asarray(((above & falls) | (below & rises)) & ~self.curved)


def _curvature(form: StandardForm) -> tuple[BoolArray, FloatArray, Convexity]:
    """Return the mask of variables with a missing bound where the curvature μD is verified, μD, and the evidence of convexity."""
    no_mask, zero = np.zeros(form.n, dtype=bool), np.zeros(form.n)
    if form.quadratic is None:
        return no_mask, zero, form.convexity
    unbounded = ~(np.isfinite(form.lower) & np.isfinite(form.upper))
    if not unbounded.any() or form.quadratic.operator is not None:
        return no_mask, zero, form.convexity
    key = "_definite_on_unbounded"
    if key not in vars(form):  # factored once for each form
        rounding = 0.0 if form.quadratic.factor is None else form.n * gamma(form.quadratic.factor.shape[0] + 2)
        vars(form)[key] = curvature_bounds(form.quadratic.materialised, unbounded, 4.0 * rounding)
    cached: tuple[FloatArray, FloatArray] | None = vars(form)[key]
    if cached is None:
        return no_mask, zero, form.convexity
    diagonal, deficit = cached
    return diagonal > 0.0, diagonal, Convexity(Evidence.VERIFIED, "P is positive definite on the unbounded variables", deficit)


def _value(
    form: StandardForm, tangent: _Tangent, z: Multipliers, slope: FloatArray, error: FloatArray, change: MultiplierChange
) -> Bound:
    """Return the module's bound: the sum of all contributions, rounded down."""
    value = Rounded(form.r) - z.constant
    x_hat, quadratic = tangent.x_hat, form.quadratic
    if quadratic is not None:
        value = value - dot(x_hat, *quadratic.rounded_product(x_hat)).times(0.5)
    loss, convexity = change.constant, tangent.convexity
    if convexity.deficit is not None or convexity.penalty > 0.0:
        loss += _deficit(form, x_hat, convexity)
    uncertain = error + change.slopes
    low, high = slope - uncertain, slope + uncertain
    used = ~change.zero_slopes & ((slope != 0.0) | (uncertain > 0.0))
    open_side = ((~np.isfinite(form.upper) & (low < 0.0)) | (~np.isfinite(form.lower) & (high > 0.0))) & used
    closed = used & ~open_side
    corner = np.where(slope > 0.0, form.lower, form.upper)
    corner = np.where(np.isfinite(corner), corner, np.where(np.isfinite(form.lower), form.lower, form.upper))[closed]
    value = value + dot(slope[closed], corner)
    reach = np.where(np.isfinite(form.lower), np.abs(form.lower), 0.0)
    reach = np.maximum(reach, np.where(np.isfinite(form.upper), np.abs(form.upper), 0.0))
    loss += float(uncertain[closed] @ reach[closed])
    if open_side.any():
        s, size = slope[open_side], np.abs(slope[open_side]) + uncertain[open_side]
        value = value + dot(s, x_hat[open_side])
        loss += float(uncertain[open_side] @ np.abs(x_hat[open_side]))
        loss += float(total(size * size / (2.0 * tangent.min_curvature[open_side])).upper)
    argument = "Lagrangian at multipliers moved into their dual cones, minimised over the bounds"
    if change.zero_slopes.any():
        argument += f"; multipliers with slope exactly 0 of {int(change.zero_slopes.sum())} unbounded variables exist beside them"
    loss *= 1.0 + 1e-9
    result = value.lower - loss
    if not np.isfinite(result):
        return Bound(-np.inf, "overflow")
    if _is_cone(form):  # f(tx) = t f(x): an objective below zero anywhere would be unbounded, which this bound excludes
        return Bound(0.0, f"{argument}; nothing is constant in the problem, so a finite bound is zero")
    return Bound(result, argument, value.error + loss, convexity.condition)


def _is_cone(form: StandardForm) -> bool:
    """Return whether all multiples tx, t ≥ 0, of feasible points are feasible with the objective t f(x)."""
    if form.quadratic is not None or form.r != 0.0 or any(not c.cone.convex or c.g.any() for c in form.constraints):
        return False
    return bool(((form.lower == 0.0) | np.isinf(form.lower)).all() and ((form.upper == 0.0) | np.isinf(form.upper)).all())


def _deficit(form: StandardForm, x_hat: FloatArray, convexity: Convexity) -> float:
    """Return a bound of -½y'Py over the variables' bounds, from the deficit and penalty of P's convexity.

    It has the size of roundings, and is infinite if a variable with a deficit lacks a bound.
    """
    loss = 0.0
    if convexity.deficit is not None:
        distance = np.maximum(np.abs(form.upper - x_hat), np.abs(x_hat - form.lower))
        deficient = convexity.deficit > 0.0
        loss += 0.5 * float(convexity.deficit[deficient] @ distance[deficient] ** 2)
    if convexity.penalty > 0.0:
        rows = [c for c in form.constraints if isinstance(c.cone, Zero) and c.rows]
        rounding = sum(
            float(np.sum((np.abs(c.value(x_hat)) + gamma(form.n + 2) * (abs(c.F) @ np.abs(x_hat) + np.abs(c.g))) ** 2))
            for c in rows
        )
        loss += 0.5 * convexity.penalty * rounding
    return loss
