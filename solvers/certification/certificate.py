"""The certificate of a point: objective, residuals and a rigorous bound, recomputed from the form, the point and its multipliers.

The form is min ½x'Px + q'x + r subject to F_k x + g_k in K_k and bounds; z_k in the dual cone of K_k are the multipliers of
constraint k, ζ those of the bounds.

Every result of `solve` has one. No number of a solver is trusted. A *bound* follows from an exactly feasible dual point
near the given multipliers (`models.model.Model.bound`), and is rounded outward. The objective carries a bound of its rounding
error (`models.rounding`).
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
import scipy.sparse as sp

from ...display import Display, Displayable
from ...errors import TooLargeError
from ...models.arrays import BoolArray, FloatArray
from ...models.model import Model
from ...models.program.cones import Feature
from ...models.program.csr_rows import CSRRows
from ...models.program.form import StandardForm
from ...models.program.lagrangian import Bound, dual_bound
from ...models.rounding import gamma
from ..records import Answer, relative_gap

# The scale of the objective, with which an optimum of zero is compared: the size of its terms if every variable has its typical
# magnitude.
#
# Magnitudes scale with the data. They come from the numbers that a problem states: boxes and constants of rows, which give
# magnitudes to the other variables of their rows; where nothing is constant, from a quadratic term and the linear costs that it
# balances.

#: A coefficient below this share of the largest of its row says nothing of its variable's magnitude.
_COUNTS = 1e-6
#: Relative violation above which the rounding of a row's sum is taken into account; that rounding, relative to its largest term.
_ROUNDED, _SUM_ERROR = 1e-10, 4.0 * 2.0**-53
#: Constant of an empty row below which it is a rounding.
_CONSTANT = 1e-9
#: Largest number of rows through which a variable takes its magnitude from others.
_STEPS = 3
#: Scales of forms that still live: several points of a form may be certified.
_SCALES: weakref.WeakKeyDictionary[StandardForm, float] = weakref.WeakKeyDictionary()


def objective_scale(form: StandardForm) -> float:
    """Return max_j max(|q_j| τ_j, ½|P_jj| τ_j²), τ_j the typical magnitude of x_j (`variable_scales`); cached for each form."""
    if form not in _SCALES:
        unit = variable_scales(form)
        _SCALES[form] = float(np.maximum(np.abs(form.q) * unit, 0.5 * _curvature(form) * unit**2).max(initial=0.0))
    return _SCALES[form]


def variable_scales(form: StandardForm) -> FloatArray:
    """Return τ (n,), an estimate of each variable's magnitude from the form's numbers; zero where they determine none.

    τ_j is the width of the variable's box, or √(Σg²/ΣF_ij²) over its rows with g_i ≠ 0, and at most |q_j|/P_jj, where its own
    linear and quadratic terms balance. A variable without such a τ_j takes one from its rows without a constant and the τ_k of
    their other variables, √(Σ_i max_k (F_ik τ_k)²/ΣF_ij²). If no variable has a τ_j, (max_i |F_ij| min_k |q_k|/|F_ik|)/P_jj, at
    which the quadratic term balances the linear costs in its rows, is taken first. Coefficients far below the largest of their
    row do not count: a coefficient of 1e-17 would make a τ_j of 1e17, beside which every gap is small.
    """
    unit = _from_constants(form)
    needed = ((form.q != 0.0) | (_curvature(form) > 0.0)) & (unit == 0.0)
    if needed.any():  # a variable in no row takes no magnitude from others
        needed &= sum(np.bincount(c.F.indices, minlength=form.n) for c in form.constraints) > 0
    if not needed.any():
        return unit
    F, g = form.rows_matrix()
    counted = _counted(F, np.concatenate([c.row_maxima for c in form.constraints] or [np.zeros(0)]))
    weights = CSRRows.from_matrix(F).absolute.keep_entries(counted & (F.data != 0.0))
    if not unit.any():
        unit = _from_linear_costs(form, weights)
    for _ in range(_STEPS):
        if not unit.any() or not (needed & (unit == 0.0)).any():
            break
        unit = _from_neighbours(weights, g == 0.0, unit)
    return unit


def _curvature(form: StandardForm) -> FloatArray:
    return np.zeros(form.n) if form.quadratic is None else np.abs(form.quadratic.diagonal)


def _counted(F: sp.csr_array, largest: FloatArray) -> BoolArray:
    """Return the mask of stored coefficients that are not far below the largest of their row."""
    sizes = np.abs(F.data)
    if sizes.min(initial=np.inf) > _COUNTS * largest.max(initial=0.0):
        return np.ones(sizes.size, dtype=bool)
    return np.asarray(sizes > np.repeat(_COUNTS * largest, np.diff(F.indptr)))


def _columns(F: sp.csr_array, data: FloatArray) -> sp.csc_array:
    """Return the transpose of the matrix with other numbers at the places of F's."""
    return sp.csc_array((data, F.indices, F.indptr), shape=F.shape[::-1])


def _from_constants(form: StandardForm) -> FloatArray:
    squares, sides = np.zeros(form.n), np.zeros(form.n)
    for c in form.constraints:
        if not c.g.any():
            continue
        counted = _counted(c.F, c.row_maxima)
        with np.errstate(over="ignore"):  # coefficients whose squares overflow leave no unit
            squares += _columns(c.F, np.where(counted, c.F.data**2, 0.0)) @ (c.g != 0.0)
        sides += _columns(c.F, np.where(counted, 1.0, 0.0)) @ c.g**2
    unit = np.sqrt(np.divide(sides, squares, out=np.zeros(form.n), where=squares > 0.0))
    box = np.where(np.isfinite(form.lower) & np.isfinite(form.upper), form.upper - form.lower, 0.0)
    unit = np.where(box > 0.0, box, unit)
    curved = _curvature(form)
    determined = (curved > 0.0) & (form.q != 0.0)
    units = np.divide(np.abs(form.q), curved, out=np.zeros(form.n), where=determined)
    return np.where(determined & ((unit == 0.0) | (units < unit)), units, unit)


def _from_linear_costs(form: StandardForm, weights: CSRRows) -> FloatArray:
    """Return the units at which quadratic terms balance the linear costs of the other variables in their rows."""
    curved, q = _curvature(form), np.abs(form.q)
    if not curved.any() or not q.any():
        return np.zeros(form.n)
    rows = np.repeat(np.arange(weights.rows), weights.row_counts)
    ratios = np.where(q[weights.indices] > 0.0, q[weights.indices] / weights.data, np.inf)
    row_cost = np.full(weights.rows, np.inf)  # the least |q_k|/|F_ik| of the row: linear cost of a unit of it
    np.minimum.at(row_cost, rows, ratios)
    pull = np.zeros(form.n)
    np.maximum.at(pull, weights.indices, np.where(np.isfinite(row_cost), row_cost, 0.0)[rows] * weights.data)
    return np.divide(pull, curved, out=np.zeros(form.n), where=curved > 0.0)


def _from_neighbours(weights: CSRRows, free: BoolArray, unit: FloatArray) -> FloatArray:
    """Return the units, completed for variables without a unit by their rows without a constant (mask ``free``)."""
    rows = np.repeat(np.arange(weights.rows), weights.row_counts)
    largest = np.zeros(weights.rows)
    np.maximum.at(largest, rows, weights.data * unit[weights.indices])
    used = (free & (largest > 0.0))[rows] & (unit[weights.indices] == 0.0)
    squares = np.bincount(weights.indices[used], weights.data[used] ** 2, unit.size)
    sides = np.bincount(weights.indices[used], largest[rows[used]] ** 2, unit.size)
    return np.where(squares > 0.0, np.sqrt(np.divide(sides, squares, out=np.zeros(unit.size), where=squares > 0.0)), unit)


#: Largest relative dual residual of multipliers whose products with the rows count in `Certificate.rounding`.
_STATIONARY = 1e-6
#: Share of a narrow box's ends that is added to its width: solvers satisfy a bound of 1 to about 1e-9.
_NARROW = 1e-3
#: Largest relative residual of a point that may be called optimal or judged by a bound: first-order methods stop there.
MAX_RESIDUAL = 1e-4
#: Number of sums, each of the size of the objective's terms, in a Lagrangian bound whose tangent touches at the point.
_SUMS = 4.0
#: Solvers may drop coefficients below this share of the largest of their row.
_SEEN = 1e-9


@dataclass(frozen=True)
class Certificate(Displayable):
    """The certified values of a point and its multipliers, all in the form's minimisation sense.

    Parameters
    ----------
    objective : float
        ½x'Px + q'x + r.
    primal_residual : float
        Largest violation of a row (of a cone where it is not polyhedral) relative to the row's (cone's) max(|F x|, |g|) plus its
        largest coefficient, which counts as 1 at most; and of a bound relative to 1 + |x_j|, or to the width of a box that is
        narrower than 1 (plus 1e-3 of its ends).
    violations : mapping of label to float
        Absolute violation of each constraint and of ``"bounds"``.
    integrality : float or None
        Largest distance of an integer variable from an integer.
    dual_residual : float or None
        max |Px + q - ΣF'z - ζ| relative to 1 + max(|Px|, |q|, |ΣF'z|), and the multipliers' distance from the dual cones.
    complementarity : float or None
        Σ|<z_k, F_k x + g_k>| + |ζ'(x - bound)| relative to 1 + |objective|.
    unmet : float or None
        The unscaled sum of ``complementarity`` and Σ_j |(Px + q - ΣF'z - ζ)_j x_j|: by how much objective and Lagrangian may
        differ at these multipliers.
    undercut : float
        Σ max(0, -<z_k, F_k x + g_k>), bounds included: the amount by which violated rows may have lowered the objective.
    bound : float
        Lower bound of the form's optimum, rounded outward; -inf where there is none.
    argument : str
        Why the bound holds, or why there is none.
    error, bound_error : float
        Bound of the rounding error of the objective; the rounding error that is already subtracted from ``bound``.
    condition : str
        What the bound rests on where convexity is not known; empty where it is proved.
    rounding : float
        Bound of the rounding error of the objective where its terms at this point and those of Σ<z_k, F_k x + g_k> are added up
        in any order: below it an objective cannot be distinguished from zero.
    scale : float
        Size of the objective's terms where every variable is of its typical magnitude (`objective_scale`).
    inner : bool
        Whether it certifies the inner problem of a minimax model, with a parameter fixed at the solver's value. Its bound does
        not bound the whole problem.
    nonconvex : bool
        Whether a direction of negative curvature or a nonconvex constraint is known.
    derived : str
        The bounds of variables, implied by rows, that the bound uses; empty where it uses none.
    stated_objective : float or None
        The objective that a solution file states, in the sense of ``objective``.
    """

    objective: float
    primal_residual: float
    violations: Mapping[str, float]
    integrality: float | None = None
    dual_residual: float | None = None
    complementarity: float | None = None
    unmet: float | None = None
    undercut: float = 0.0
    bound: float = float("-inf")
    argument: str = "no multipliers"
    error: float = 0.0
    bound_error: float = 0.0
    condition: str = ""
    rounding: float = 0.0
    scale: float = 1.0
    inner: bool = False
    nonconvex: bool = False
    derived: str = ""
    stated_objective: float | None = None

    @property
    def gap(self) -> float:
        """(objective - bound)/max(|objective|, |bound|); 0 where both are zero within rounding, infinite without a bound."""
        return 0.0 if self.both_zero(self.bound) else relative_gap(self.objective, self.bound)

    def both_zero(self, bound: float) -> bool:
        """Return whether objective and bound are both zero within the rounding error of the objective's terms at the point.

        A bound whose tangent touches at the point adds up constant, quadratic, gradient and slopes: four such sums.
        """
        return abs(self.objective) <= self.rounding and abs(bound) <= _SUMS * self.rounding

    @property
    def resolution(self) -> float:
        """The rounding errors of objective and bound, relative to the larger of both: the part of the gap that they may hide."""
        scale = max(abs(self.objective), abs(self.bound)) if np.isfinite(self.bound) else abs(self.objective)
        errors = self.error + self.bound_error
        return 0.0 if errors == 0.0 else errors / scale if scale > 0.0 else float("inf")

    @property
    def wants_multipliers(self) -> bool:
        """Return whether there is no bound, and other multipliers could give one."""
        hopeless = self.nonconvex or self.condition or self.inner or not self.feasible(MAX_RESIDUAL)
        return not (np.isfinite(self.bound) or hopeless or self.integrality is not None)

    def gap_within(self, tol: float) -> bool:
        """Return whether objective and bound differ by at most ``tol``, relative to the larger one, in either direction."""
        return abs(relative_gap(self.objective, self.bound)) <= tol

    def with_better_bound(self, other: Certificate) -> Certificate:
        """Return this certificate with the larger of both bounds: a bound does not depend on the point."""
        if other.bound <= self.bound:
            return self
        return replace(
            self, **{name: getattr(other, name) for name in ("bound", "argument", "bound_error", "condition", "derived")}
        )

    def feasible(self, tol: float) -> bool:
        """Return whether primal residual and integrality are within ``tol``."""
        return self.primal_residual <= tol and (self.integrality is None or self.integrality <= tol)

    def display(self) -> Display:
        """Return the notebook view."""
        return Display("certificate", self._measured())

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self._measured())

    def _measured(self) -> tuple[tuple[str, str], ...]:
        """Return the numbers that are known, by name."""
        values = (("objective", self.objective, ".10g"), ("bound", self.bound, ".10g"), ("gap", self.gap, ".2e"))
        stated_objective, disagrees = self.stated_objective, objective_differs(self.objective, self.stated_objective)
        return (
            *((name, format(value, form)) for name, value, form in values if np.isfinite(value)),
            ("residuals", self.residuals),
            *([("the file states the objective", format(stated_objective, ".10g"))] if disagrees else []),
        )

    @property
    def residuals(self) -> str:
        """The residuals that are known, in words; they have no sign, so they are the same in either sense."""
        values = (
            ("primal", self.primal_residual), ("integrality", self.integrality or None), ("dual", self.dual_residual),
            ("complementarity", self.complementarity),
        )  # fmt: skip
        figures = [f"{name} {value:.2e}" for name, value in values if value is not None and np.isfinite(value)]
        return ", ".join([*figures, *(["no multipliers"] if self.dual_residual is None else [])])


def objective_differs(objective: float, stated_objective: float | None, tolerance: float = 1e-9) -> bool:
    """Return whether the stated objective differs from that of the point by more than ``tolerance``, relative to 1 +
    |objective|.
    """
    return stated_objective is not None and not abs(stated_objective - objective) <= tolerance * (1.0 + abs(objective))


@dataclass(frozen=True)
class MaximumCertificate(Certificate):
    """The certificate of a point of a program that is maximised: objective and upper bound in the program's own sense."""

    @classmethod
    def of(cls, minimum: Certificate) -> MaximumCertificate:
        """Return the certificate of the maximum from that of its minimisation."""
        values = {field.name: getattr(minimum, field.name) for field in fields(Certificate)}
        values |= {name: 0.0 - values[name] for name in ("objective", "bound")}  # zero has no sign
        stated_objective = None if minimum.stated_objective is None else 0.0 - minimum.stated_objective
        return cls(**{**values, "stated_objective": stated_objective})

    @property
    def gap(self) -> float:
        """(bound - objective)/max(|objective|, |bound|); 0 where both are zero within rounding, infinite without a bound."""
        return 0.0 if self.both_zero(self.bound) else relative_gap(-self.objective, -self.bound)

    def _measured(self) -> tuple[tuple[str, str], ...]:
        first, *others = super()._measured()
        return ((first[0], f"{first[1]} (maximised)"), *others) if np.isfinite(self.objective) else (first, *others)


def certify(
    form: StandardForm,
    values: Mapping[str, FloatArray],
    multipliers: Mapping[str, FloatArray] | None = None,
    reduced: FloatArray | None = None,
    model: Model | None = None,
) -> Certificate:
    """Return the certificate of a point, recomputed from the form, the point and (optionally) multipliers.

    Parameters
    ----------
    form : StandardForm
    values : mapping of label to array
        Primal point by block.
    multipliers : mapping of label to array, optional
        z_k; constraints without an entry count with zero.
    reduced : ndarray (n,), optional
        ζ; zeros by default.
    model : Model, optional
        The formulation behind the form, whose `Model.bound` gives the bound; without it `models.program.lagrangian.dual_bound`.
    """
    x = form.join(values)
    violations, primal = _primal(form, x)
    integrality = None
    if form.integer.any():
        integers = x[form.integer]
        integrality = float(np.abs(integers - np.round(integers)).max(initial=0.0))
    bound, conditions = _bound(form, x, multipliers, model), None
    if multipliers is not None and _usable(form, multipliers, reduced):
        weights = np.ones(form.n) if np.isfinite(bound.value) else _residual_weights(form, multipliers)
        conditions = _conditions(form, x, multipliers, np.zeros(form.n) if reduced is None else reduced, weights)
    objective = form.evaluate(x)
    # a bound of -inf stays, so that other multipliers are searched for, unless the objective is zero already
    replaceable = np.isfinite(bound.value) or abs(objective.value) <= objective.error
    if bound.value < 0.0 and replaceable and is_never_negative(form, model):
        bound = Bound(0.0, "no part of the objective is negative")
    return Certificate(
        objective=objective.value,
        primal_residual=primal,
        violations=violations,
        integrality=integrality,
        dual_residual=None if conditions is None else conditions.dual,
        complementarity=None if conditions is None else conditions.complementarity,
        unmet=None if conditions is None else conditions.unmet,
        undercut=0.0 if conditions is None else conditions.undercut,
        bound=bound.value,
        argument=bound.argument,
        error=objective.error,
        bound_error=bound.error,
        condition=bound.condition,
        derived=bound.derived,
        rounding=max(objective.error, _rounding(form, x)) + (0.0 if conditions is None else conditions.rounding),
        scale=objective_scale(form),
        nonconvex=Feature.BILINEAR in form.features or (bool(bound.condition) and bound.value == -np.inf),
    )


def has_nonnegative_objective(form: StandardForm) -> bool:
    """Return whether no term of the objective can be negative within the form's bounds, so that no point costs less than 0."""
    if form.r < 0.0 or (form.quadratic is not None and not form.convexity.is_exact):
        return False
    return bool((form.lower[form.q > 0.0] >= 0.0).all() and (form.upper[form.q < 0.0] <= 0.0).all())


def is_never_negative(form: StandardForm, model: Model | None) -> bool:
    """Return whether form or model says that no point costs less than zero."""
    return has_nonnegative_objective(form) or (model is not None and model.has_nonnegative_objective)


def _rounding(form: StandardForm, x: FloatArray) -> float:
    """Bound the rounding error of the objective at x from the absolute values of its terms."""
    size = np.abs(x)
    error = gamma(form.n) * (float(np.abs(form.q) @ size) + abs(form.r))
    if form.quadratic is not None:
        product, product_error = form.quadratic.rounded_product(x)
        error += 0.5 * float(size @ (product_error + gamma(form.n) * np.abs(product)))
    return error


def _usable(form: StandardForm, multipliers: Mapping[str, FloatArray], reduced: FloatArray | None) -> bool:
    """Return whether there is one finite number for each row, and for each variable."""
    if reduced is not None and not (np.shape(reduced) == (form.n,) and np.isfinite(reduced).all()):
        return False
    pairs = ((c, multipliers[c.label]) for c in form.constraints if c.label in multipliers)
    return all(np.size(z) == c.rows and np.isfinite(z).all() for c, z in pairs)


def _primal(form: StandardForm, x: FloatArray) -> tuple[dict[str, float], float]:
    violations: dict[str, float] = {}
    worst = 0.0
    for c in form.constraints:
        if c.rows == 0:
            continue
        Fx = np.asarray(c.F @ x)
        if not np.isfinite(Fx).all():  # overflow: nothing can be said for such a point
            violations[c.label] = worst = np.inf
            continue
        # row by row for linear constraints, cone by cone for the others: one huge row must not excuse the rest
        value, scale, unit = Fx + c.g, np.maximum(np.abs(Fx), np.abs(c.g)), _row_units(c.row_maxima, c.g)
        violations[c.label] = c.cone.violation(value)
        violation = c.cone.relative_violation(value, scale, unit)
        if violation > _ROUNDED:  # terms of 1e8 that cancel leave 1e-8
            violation = c.cone.relative_violation(value, scale, unit, _SUM_ERROR * np.maximum(largest_terms(c.F, x), np.abs(c.g)))
        worst = max(worst, violation)
    outside = np.maximum(np.maximum(form.lower - x, x - form.upper), 0.0)  # -∞ where there is no bound
    violations["bounds"] = float(outside.max(initial=0.0))
    if violations["bounds"] > 0.0:
        # a narrow box is measured by its width, wherever it is: 1e-6 outside of one that is 1e-6 wide is not a rounding error
        narrow = np.isfinite(form.lower) & np.isfinite(form.upper) & (form.lower < form.upper)
        low, high = np.where(narrow, form.lower, 0.0), np.where(narrow, form.upper, 0.0)
        widths = high - low + _NARROW * np.maximum(np.abs(low), np.abs(high))
        size = np.where(narrow & (widths < 1.0), widths, 1.0 + np.abs(x))
        worst = max(worst, float((outside / size).max()))
    return violations, worst


def largest_terms(F: sp.csr_array, x: FloatArray) -> FloatArray:
    """Return max_j |F_ij x_j| of each row, 0 for an empty one."""
    largest = np.zeros(F.shape[0])
    np.maximum.at(largest, np.repeat(np.arange(F.shape[0]), np.diff(F.indptr)), np.abs(F.data * x[F.indices]))
    return largest


def _row_units(largest: FloatArray, constants: FloatArray) -> FloatArray:
    """Return the largest coefficient of each row, of an empty row its constant; at most 1, so that small rows do not pass."""
    return np.where(largest > 0.0, np.minimum(largest, 1.0), np.clip(np.abs(constants), _CONSTANT, 1.0))


@dataclass(frozen=True)
class _Conditions:
    """The residuals of the optimality conditions; see `Certificate`."""

    dual: float
    complementarity: float
    unmet: float
    undercut: float
    rounding: float


def _conditions(
    form: StandardForm, x: FloatArray, multipliers: Mapping[str, FloatArray], reduced: FloatArray, weights: FloatArray
) -> _Conditions:
    """Return the residuals of the optimality conditions, that of each variable times its weight."""
    gradient = form.gradient(x)
    reduced_gradient = np.zeros(form.n)
    outside, products, undercut, rounding = 0.0, 0.0, 0.0, 0.0
    for c in form.constraints:
        z = np.asarray(multipliers.get(c.label, np.zeros(c.rows)), dtype=np.float64)
        reduced_gradient += c.rmatvec(z)
        outside = max(outside, c.cone.dual_violation(z) / (1.0 + float(np.abs(z).max(initial=0.0))))
        # row by row (cone by cone), so that a violated row does not cancel a slack one
        complementarity = (z * c.value(x)).reshape(-1, c.cone.group_size).sum(axis=1)
        products += float(np.abs(complementarity).sum())
        undercut += float(np.maximum(-complementarity, 0.0).sum())
        if z.any():
            sizes = CSRRows.from_matrix(c.F).absolute.weighted_sum(np.abs(z))
            rounding += gamma(form.n) * float(sizes @ np.abs(x) + np.abs(z) @ np.abs(c.g))
    # ζ > 0 belongs to the lower bound, ζ < 0 to the upper one; a multiplier of an infinite bound is a residual
    missing = np.zeros(form.n)
    for side, end in ((1.0, form.lower), (-1.0, form.upper)):
        multiplier = np.maximum(side * reduced, 0.0)
        if not multiplier.any():
            continue
        finite = np.isfinite(end)
        slack = np.where(finite, side * (x - end), 0.0)
        missing += np.where(finite, 0.0, multiplier)
        products += float(multiplier @ np.abs(slack))
        undercut += float(multiplier @ np.maximum(-slack, 0.0))
    scale = 1.0 + max(float(np.abs(v).max(initial=0.0)) for v in (gradient - form.q, form.q, reduced_gradient))
    residual = np.abs(gradient - reduced_gradient - reduced)
    stationarity = float((residual * weights).max(initial=0.0)) / scale
    infinite_bounds = float(missing.max(initial=0.0)) / scale
    unmet = products + float((residual + missing) @ np.abs(x))
    dual = max(stationarity, outside, infinite_bounds)
    stationary = dual <= _STATIONARY  # multipliers that are far from stationary say nothing of the objective's terms
    return _Conditions(dual, products / (1.0 + abs(form.objective(x))), unmet, undercut, rounding if stationary else 0.0)


def _residual_weights(form: StandardForm, multipliers: Mapping[str, FloatArray]) -> FloatArray:
    """Return the weight of each variable's residual: 1, or more if a solver would drop all its coefficients as too small.

    The residual of a variable with small coefficients is small at any point. Its weight is the reciprocal of its largest
    coefficient relative to the largest of the row, among rows with a multiplier. A variable with a quadratic term has weight 1.
    """
    F, _ = form.rows_matrix()
    z = np.concatenate([np.zeros(0), *(np.ravel(multipliers.get(c.label, np.zeros(c.rows))) for c in form.constraints)])
    has_multiplier = np.abs(z) > _SEEN * np.abs(z).max(initial=0.0)
    largest = np.concatenate([c.row_maxima for c in form.constraints] or [np.zeros(0)])
    sizes, share = np.repeat(np.where(has_multiplier, largest, 0.0), np.diff(F.indptr)), np.zeros(form.n)
    np.maximum.at(share, F.indices, np.divide(np.abs(F.data), sizes, out=np.zeros(F.nnz), where=sizes > 0.0))
    small = (share > 0.0) & (share < _SEEN)
    if form.quadratic is not None:
        small &= form.quadratic.diagonal == 0.0
    return np.where(small, 1.0 / np.clip(share, 1e-300, None), 1.0)


def _bound(form: StandardForm, x: FloatArray, multipliers: Mapping[str, FloatArray] | None, model: Model | None) -> Bound:
    if form.integer.any():
        return Bound(-np.inf, "mixed-integer: multipliers prove nothing")
    if multipliers is not None and not _usable(form, multipliers, None):
        return Bound(-np.inf, "the multipliers are not finite, or not one for each row")
    if model is not None:
        return model.bound(x, multipliers)
    if form.convexity.is_refuted:
        return Bound(-np.inf, form.convexity.argument, condition=form.convexity.condition)
    if multipliers is None:
        return Bound(-np.inf, "no multipliers")
    return dual_bound(form, x, multipliers)


def certify_by_model(model: Model, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Certificate:
    """Return the certificate that the model itself gives (`Model.appraise`), where its form is too large or it has none.

    Kernel duals over a simplex need no such certificate: their form keeps the kernel matrix as an operator.

    Raises
    ------
    TooLargeError
        The model gives no certificate without a form.
    """
    appraisal = model.appraise(values, multipliers)
    if appraisal is None:
        raise TooLargeError(f"{model.name} is too large for its standard form, and no certificate is known without it")
    return Certificate(
        objective=appraisal.objective,
        primal_residual=appraisal.primal_residual,
        violations=appraisal.violations,
        dual_residual=appraisal.stationarity,
        bound=appraisal.bound,
        argument=appraisal.argument,
        error=appraisal.error,
        bound_error=appraisal.bound_error,
        condition=appraisal.condition,
    )


@dataclass(frozen=True, eq=False)
class Certifier:
    """The function from a point of a model to its certificate: by the form, or by the model where ``form`` is None."""

    model: Model  #: the model of the points
    form: StandardForm | None  #: its standard form; None if it is too large or does not exist

    def __call__(self, answer: Answer, values: Mapping[str, FloatArray]) -> Certificate:
        """Return the certificate of the answer's multipliers at a point."""
        if self.form is None:
            return certify_by_model(self.model, values, answer.multipliers)
        return certify(self.form, values, answer.multipliers, answer.reduced, self.model)
