"""Reductions of a `Margin` to the problems that branch and bound reads in place of the form: margin problems ("margin-bb"),
scoring and risk problems ("supports-bb", "risk-bb"), and sparse ones ("sparse-bb").

A `Margin` is composed of parts: loss, regulariser, domain of w and restrictions. `Margin.view` calls the functions here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from ...arrays import BoolArray, FloatArray, Points, to_dense
from ...program.cones import Nonnegative, Zero
from ...rounding import round_down
from ...views import Budget, EqualRates, LinearLoss, MarginProblem
from .assembly import Affine, Assembly
from .loss import Loss, LossTable
from .part import AssemblyContext, Domain, Part
from .regularisers import L1, AtomicForm, Regulariser, Sparsity
from .restrictions import Restriction


@dataclass(frozen=True, eq=False)
class MarginProblemReduction:
    """The reduction of a `Margin` to a `MarginProblem`, which lacks points and costs, or the obstacle to it.

    Parameters
    ----------
    template : MarginProblem, optional
        The problem without points and costs.
    obstacle : str
        The reason why there is no problem; empty where there is one.
    """

    template: MarginProblem | None = None
    obstacle: str = ""

    def problem(self, A: Callable[[], FloatArray], costs: FloatArray) -> MarginProblem | None:
        """Return the problem with these costs and the signed rows that ``A`` returns, called only if there is a problem."""
        return None if self.template is None else replace(self.template, A=A(), costs=costs)


def reduce_to_margin_problem(
    loss: Loss,
    regulariser: Regulariser,
    domain: Domain,
    restrictions: Sequence[Restriction],
    make_context: Callable[[], AssemblyContext],
) -> MarginProblemReduction:
    """Return the problem of these parts with the coefficients alone as variables, or the obstacle to it.

    The loss is one of margins, seen as a `PiecewiseLinearLoss`; the regulariser squares, a norm of few atoms or prices
    (`Sparsity`); domain and restrictions are bounds, whole numbers, linear rows, a number of non-zero coefficients, points whose
    margin must be at least 1, budgets of errors and equal rates of positive scores. Something bounds every coefficient: squares,
    the norm, two bounds, or, for a free intercept, the loss. ``make_context`` returns the data that parts read to add their rows.
    """
    if all(part.convex for part in (loss, regulariser, domain, *restrictions)):
        return MarginProblemReduction(obstacle="convex problems are for solvers of their forms")
    table = loss.loss_table() if loss.reads_class_labels else None
    if table is None:
        return MarginProblemReduction(obstacle=f"{_name(loss)} is no piecewise-linear loss that falls with the margin, to 0")
    try:
        return MarginProblemReduction(_problem(table, loss, regulariser, domain, restrictions, make_context()))
    except UnsupportedPartError as error:
        return MarginProblemReduction(obstacle=str(error))


class UnsupportedPartError(Exception):
    """A part of a `Margin` has no place in the problem of a branch and bound; the message says why."""


@dataclass(frozen=True, eq=False)
class RestrictionLimits:
    """Limits that the domain and the restrictions of a `Margin` set, as branch and bound reads them.

    Parameters
    ----------
    rows, row_lower : ndarray (m, p), (m,)
        rows w ≥ row_lower, those of the domain too.
    kept_points : ndarray of bool (n,)
        Points whose margin must be at least 1.
    budgets : tuple of Budget
        Limits on the numbers of margins below 1.
    rates : tuple of EqualRates
        Groups whose shares of positive scores must be close.
    max_nonzeros : tuple of int
        Bounds on the number of non-zero coefficients, one for each restriction of that kind.
    """

    rows: FloatArray
    row_lower: FloatArray
    kept_points: BoolArray
    budgets: tuple[Budget, ...]
    rates: tuple[EqualRates, ...]
    max_nonzeros: tuple[int, ...]


def _problem(
    table: LossTable,
    loss: Loss,
    regulariser: Regulariser,
    domain: Domain,
    restrictions: Sequence[Restriction],
    context: AssemblyContext,
) -> MarginProblem:
    p, penalised = context.penalised.size, context.penalised
    norm, sparsity = _norm(regulariser, int(penalised.sum()))
    atoms = np.zeros((len(norm.atoms), p))
    atoms[:, penalised] = norm.atoms
    curvature = np.where(penalised, norm.mu, 0.0)
    limits = restriction_limits(loss, domain, restrictions, context)
    rows, row_lower, lower, upper = rows_as_bounds(limits.rows, limits.row_lower, *domain.bounds(p))
    if domain.integer:
        lower, upper = np.ceil(lower) + 0.0, np.floor(upper) + 0.0
    if (lower > upper).any():
        raise UnsupportedPartError(f"no value of w_{int(np.argmax(lower > upper))} is allowed")
    bounded = (curvature > 0.0) | atoms.any(axis=0) | (np.isfinite(lower) & np.isfinite(upper))
    bounded[:1] |= not penalised[:1].all()  # a free intercept is of no use beyond the breakpoints of the losses
    if not bounded.all():
        raise UnsupportedPartError(f"nothing bounds w_{int(np.argmin(bounded))}: give domain=Box(lower, upper)")
    max_nonzeros = min([p, *limits.max_nonzeros, *([] if sparsity.max_nonzeros is None else [sparsity.max_nonzeros])])
    return MarginProblem(
        A=np.zeros((0, p)),
        costs=np.zeros(0),
        loss=table.losses[0],
        curvature=curvature,
        atoms=atoms,
        intercept=not penalised.all(),
        lower=lower,
        upper=upper,
        integer=np.full(p, domain.integer),
        price=np.where(penalised, sparsity.mu0, 0.0),
        counted=penalised & (max_nonzeros < penalised.sum()),
        max_nonzeros=max_nonzeros,
        rows=rows,
        row_lower=row_lower,
        kept_points=limits.kept_points,
        budgets=limits.budgets,
        rates=limits.rates,
        other_losses=table.losses[1:],
        kinds=table.kinds,
    )


def _norm(regulariser: Regulariser, p: int) -> tuple[AtomicForm, Sparsity]:
    """Return the regulariser of p coefficients as squares with a norm, and as prices of coefficients and their number."""
    norm = regulariser.atomic_form(p)
    if norm is not None:
        return norm, Sparsity(0.0, 0.0)
    sparsity = regulariser.sparsity
    if sparsity is not None:
        norm = L1(sparsity.mu1).atomic_form(p) if sparsity.mu1 > 0.0 else AtomicForm(np.zeros((0, p)), 0.0)
    if sparsity is None or norm is None:
        raise UnsupportedPartError(
            f"{_name(regulariser)} is read as squares, a norm of few atoms or prices, and is not of these kinds here"
        )
    return norm, sparsity


def restriction_limits(
    loss: Loss, domain: Domain, restrictions: Sequence[Restriction], context: AssemblyContext, *, strict: bool = True
) -> RestrictionLimits:
    """Return the rows of the domain and the limits that each restriction sets.

    With ``strict=False`` restrictions of other kinds than those of `RestrictionLimits` are left out.

    Raises
    ------
    UnsupportedPartError
        A restriction of another kind (``strict=True``), or a domain with other rows than linear ones.
    """
    n = context.argument.rows
    demanded, budgets, rates, size_limits = np.zeros(n, dtype=np.bool_), list[Budget](), list[EqualRates](), list[int]()
    domain.add(assembly := _coefficients_assembly(context.w), context.w)
    rows = [linear_rows(domain, assembly)]
    for rule in restrictions:
        points, budget, equal = rule.kept_points(n), rule.budget(context.y), rule.equal_rates(context.y)
        try:
            if rule.max_nonzeros is not None:
                size_limits.append(rule.max_nonzeros)
            elif points is not None:
                demanded[points] = True
            elif budget is not None:
                if rule.counted_by_loss and loss.indicator_threshold != 1.0:
                    raise UnsupportedPartError(f"{_name(rule)} is by the loss, and {_name(loss)} does not count margins below 1")
                if budget.limit < budget.points.size:
                    budgets.append(budget)
            elif equal is not None:
                rates.append(equal)
            elif rule.reads_activity_bounds:
                raise UnsupportedPartError(_more(rule))
            else:
                rule.add(assembly := _coefficients_assembly(context.w), context, None, rule.name)
                rows.append(linear_rows(rule, assembly))
        except UnsupportedPartError:
            if strict:
                raise
    matrix, right_sides = (np.concatenate(side) for side in zip(*rows, strict=True))
    return RestrictionLimits(matrix, right_sides, demanded, tuple(budgets), tuple(rates), tuple(size_limits))


def _coefficients_assembly(w: Affine) -> Assembly:
    """Return an assembly whose only variables are w."""
    builder = Assembly("rows")
    builder.variables(w.plain, w.rows)
    return builder


def _more(part: Part) -> str:
    parts = "bounds, linear rows, a number of coefficients, kept points, a budget of errors or equal rates"
    return f"{_name(part)} is more than {parts}"


def linear_rows(part: Part, added: Assembly) -> tuple[FloatArray, FloatArray]:
    """Return F and f with Fw ≥ f, if ``part`` added linear rows alone to the assembly of w; else raise `UnsupportedPartError`."""
    form = added.form()
    costs = form.q.any() or form.r != 0.0 or form.quadratic is not None
    if costs or len(form.blocks) > 1 or not all(isinstance(c.cone, Nonnegative | Zero) for c in form.constraints):
        raise UnsupportedPartError(_more(part))
    rows, right_sides = [np.zeros((0, form.n))], [np.zeros(0)]
    for c in form.constraints:
        F = c.F.toarray()
        rows += [F, -F] if isinstance(c.cone, Zero) else [F]
        right_sides += [-c.g, c.g] if isinstance(c.cone, Zero) else [-c.g]
    return np.concatenate(rows) + 0.0, np.concatenate(right_sides) + 0.0


def rows_as_bounds(
    rows: FloatArray, row_lower: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the rows Fw ≥ f that are not bounds of a single coefficient, and the bounds of w, tightened by the other rows.

    A row of one coefficient whose bound is not a float64 remains, beside a bound that is rounded outwards; so does a row of
    zeros that no w satisfies.

    Returns
    -------
    tuple of ndarray
        rows, row_lower, lower and upper.
    """
    lower, upper = lower.copy(), upper.copy()
    is_row = np.ones(row_lower.size, dtype=np.bool_)
    for r in np.flatnonzero(np.count_nonzero(rows, axis=1) <= 1).tolist():
        if not rows[r].any():
            is_row[r] = row_lower[r] > 0.0  # a row of zeros that no w satisfies stays
            continue
        j = int(np.flatnonzero(rows[r])[0])
        factor, right = float(rows[r, j]), float(row_lower[r])
        with np.errstate(over="ignore"):
            bound = float(np.float64(right) / factor)
        if not np.isfinite(bound):
            continue
        exact = right == 0.0 or (abs(np.frexp(factor)[0]) == 0.5 and bound * factor == right)
        is_row[r] = not exact
        if factor > 0.0:
            lower[j] = max(lower[j], bound if exact else np.nextafter(bound, -np.inf))
        else:
            upper[j] = min(upper[j], bound if exact else np.nextafter(bound, np.inf))
    return rows[is_row], row_lower[is_row], lower + 0.0, upper + 0.0  # no -0.0


def _name(part: Part) -> str:
    return type(part).__name__


def as_fraction(number: float | Fraction) -> Fraction:
    """Return the exact number that a user wrote: a fraction itself, a float as its shortest decimal (0.01 is 1/100)."""
    return number if isinstance(number, Fraction) else Fraction(repr(float(number)))


#: Prices of coefficients: fractions, which are compared in exact arithmetic, or floats.
Price = TypeVar("Price", Fraction, float)


@dataclass(frozen=True, eq=False)
class IntegerProblem(Generic[Price]):
    """Base class of problems min loss + μ_0 ||ρ||_0 + μ_1 ||ρ||_1 over integers l ≤ ρ ≤ u, l_0 ≤ ρ_0 ≤ u_0 with ||ρ||_0 ≤ k.

    The loss is a function of the scores ρ_0 + x_i'ρ; the norms are without ρ_0.

    Parameters
    ----------
    X : ndarray (n, d)
        Features, without a column of ones.
    y : ndarray (n,)
        -1, +1.
    weights : ndarray (n,)
        c_i ≥ 0.
    lower, upper : ndarray (d,)
        Integers, l ≤ 0 ≤ u.
    intercept : (int, int)
        l_0 and u_0; both 0 where there is no intercept.
    price, size_price : Fraction or float
        μ_0, μ_1 ≥ 0, the costs of a non-zero coefficient and of a unit of its absolute value.
    max_nonzeros : int
        k.
    """

    X: FloatArray
    y: FloatArray
    weights: FloatArray
    lower: FloatArray
    upper: FloatArray
    intercept: tuple[int, int]
    price: Price
    size_price: Price
    max_nonzeros: int


@dataclass(frozen=True, eq=False)
class ScoringProblem(IntegerProblem[Fraction]):
    """The `IntegerProblem` with the loss Σ_i c_i 1{y_i (ρ_0 + x_i'ρ) < t}; ``threshold`` is t > 0, a fraction."""

    threshold: Fraction

    @cached_property
    def integer_scores(self) -> bool:
        """Return whether every feature is a whole number, so that every score is."""
        return bool(np.array_equal(self.X, np.rint(self.X)))

    def errors(self, rho0: int, rho: FloatArray) -> BoolArray:
        """Return the mask of the points with y (ρ_0 + x'ρ) < t, in exact arithmetic."""
        floats = rho0 + self.X @ rho
        reach = 1.0 + abs(rho0) + np.abs(self.X) @ np.abs(rho)
        error = (
            np.zeros(self.y.size) if self.integer_scores and reach.max() < 2.0**53 else reach * ((self.X.shape[1] + 2) * 2.0**-52)
        )
        margins, t = self.y * floats, float(self.threshold)
        wrong = np.asarray(margins < t)
        error_bound = error if Fraction(t) == self.threshold else error + 2.0**-52 * t
        for i in np.flatnonzero((np.abs(margins - t) <= error_bound) & (error_bound > 0.0)):
            terms = (Fraction(x) * int(r) for x, r in zip(self.X[i].tolist(), rho.tolist(), strict=True) if r)
            score = rho0 + sum(terms, Fraction())
            wrong[i] = int(self.y[i]) * score < self.threshold
        return wrong

    def value(self, rho0: int, rho: FloatArray) -> Fraction:
        """Return the objective of whole coefficients, as a fraction."""
        wrong = self.weights[self.errors(rho0, rho)]
        all_integer = bool((wrong == np.rint(wrong)).all())
        cost = Fraction(int(wrong.sum())) if all_integer else sum(map(as_fraction, wrong.tolist()), Fraction())
        return cost + self.price * int(np.count_nonzero(rho)) + self.size_price * int(np.abs(rho).sum())

    def allows(self, rho0: int, rho: FloatArray) -> bool:
        """Return whether the coefficients are within their bounds and at most k of them are not zero."""
        inside = bool((rho >= self.lower).all() and (rho <= self.upper).all())
        return inside and self.intercept[0] <= rho0 <= self.intercept[1] and int(np.count_nonzero(rho)) <= self.max_nonzeros


@dataclass(frozen=True, eq=False)
class RiskProblem(IntegerProblem[float]):
    """The `IntegerProblem` with the loss Σ_i c_i log(1 + e^{-y_i (ρ_0 + x_i'ρ)})."""

    @property
    def coefficient_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds of (ρ_0, ρ), two arrays (d + 1,)."""
        low, high = self.intercept
        return np.append(float(low), self.lower), np.append(float(high), self.upper)

    @cached_property
    def with_merged_points(self) -> RiskProblem:
        """Return the problem with equal points as one, their costs added and rounded down: no bound of it is above this one's."""
        points, place = np.unique(np.column_stack([self.y, self.X]), axis=0, return_inverse=True)
        sums = [Fraction(0)] * len(points)
        for k, cost in zip(np.ravel(place).tolist(), self.weights.tolist(), strict=True):
            sums[k] += Fraction(cost)
        weights = np.array([round_down(c) for c in sums])
        return replace(self, X=np.ascontiguousarray(points[:, 1:]), y=points[:, 0], weights=weights)


def integer_bounds(
    restrictions: Sequence[Restriction], data: tuple[FloatArray, FloatArray], lower: FloatArray, upper: FloatArray, k: int
) -> tuple[FloatArray, FloatArray, int] | None:
    """Return bounds and the most non-zeros of a `ScoringSystem` under restrictions that are bounds or limits on non-zeros.

    Parameters
    ----------
    restrictions : sequence of Restriction
    data : (ndarray (n, p), ndarray (n,))
        X and y.
    lower, upper : ndarray (p,)
        Bounds without the restrictions, the intercept's first.
    k : int
        The most non-zeros without them.

    Returns
    -------
    tuple of (lower, upper, k), or None if a restriction is of another kind, or leaves no value or excludes 0
    """
    for restriction in restrictions:
        linear = restriction.linear_rows(*data)
        if restriction.max_nonzeros is not None:
            k = min(k, restriction.max_nonzeros)
        elif linear is None:
            return None
        else:
            A, low, high = linear
            rows, row_lower = np.vstack([A, -A]), np.concatenate([low, -high])
            finite = np.isfinite(row_lower)
            others, _, lower, upper = rows_as_bounds(rows[finite], row_lower[finite], lower, upper)
            if len(others):
                return None
    lower, upper = np.ceil(lower) + 0.0, np.floor(upper) + 0.0
    return None if (lower > upper).any() or (lower[1:] > 0.0).any() or (upper[1:] < 0.0).any() else (lower, upper, k)


def reduce_to_scoring_problem(
    data: tuple[Points, FloatArray, FloatArray],
    penalised: BoolArray,
    loss: Loss,
    regulariser: Regulariser,
    domain: Domain,
    restrictions: Sequence[Restriction],
) -> ScoringProblem | None:
    """Return the scoring problem of a `Margin`, given ``data`` (X, y and costs), and its parts; None if it is not one.

    It is one if the loss counts margins below a threshold > 0, the coefficients are whole numbers within finite bounds that
    allow 0, and only their number and size are priced or limited.
    """
    X, y, weights = data
    threshold, sparsity = loss.indicator_threshold, regulariser.sparsity
    limits = [restriction.max_nonzeros for restriction in restrictions]
    lower, upper = domain.bounds(penalised.size)
    bounded = domain.integer and bool(np.isfinite(lower).all() and np.isfinite(upper).all())
    if not threshold or sparsity is None or None in limits or not bounded:
        return None
    lower, upper = np.ceil(lower), np.floor(upper)
    if (lower[penalised] > 0).any() or (upper[penalised] < 0).any() or (lower > upper).any():
        return None
    return ScoringProblem(
        X=np.ascontiguousarray(to_dense(X)[:, penalised]),
        y=y,
        weights=weights,
        lower=lower[penalised],
        upper=upper[penalised],
        intercept=(0, 0) if penalised.all() else (int(lower[0]), int(upper[0])),
        price=Fraction(sparsity.mu0),
        size_price=Fraction(sparsity.mu1),
        max_nonzeros=min([int(penalised.sum()), *(k for k in (sparsity.max_nonzeros, *limits) if k is not None)]),
        threshold=Fraction(threshold),
    )


@dataclass(frozen=True, eq=False)
class SparseProblem:
    """The problem min Σ_j (q_j/2) w_j² + π_j 1{w_j ≠ 0} + Σ_i c_i ℓ(a_i'w) over l ≤ w ≤ u, at most k counted w_j other than 0.

    Parameters
    ----------
    A : ndarray (n, p)
        Signed rows a_i = y_i x_i.
    costs : ndarray (n,)
        c_i ≥ 0.
    loss : LinearLoss
        ℓ: the hinge, its square or the logistic loss.
    curvature, price : ndarray (p,)
        q_j ≥ 0; π_j ≥ 0, 0 where w_j is not counted.
    lower, upper : ndarray (p,)
        l_j ≤ 0 ≤ u_j where w_j is counted; both finite where q_j = 0 and w_j is counted.
    counted : ndarray of bool (p,)
        All but a free intercept.
    max_nonzeros : int
        k ≥ 0.
    """

    A: FloatArray
    costs: FloatArray
    loss: LinearLoss
    curvature: FloatArray
    price: FloatArray
    lower: FloatArray
    upper: FloatArray
    counted: BoolArray
    max_nonzeros: int


def reduce_to_sparse_problem(
    loss: Loss,
    regulariser: Regulariser,
    domain: Domain,
    restrictions: Sequence[Restriction],
    make_context: Callable[[], AssemblyContext],
) -> Callable[[FloatArray, FloatArray], SparseProblem] | None:
    """Return a function that makes the sparse problem of signed rows and costs; None if these parts state no sparse problem.

    The loss is the hinge, its square or the logistic loss; the regulariser squares or prices of coefficients; the domain and the
    restrictions are bounds that allow 0 and a number of coefficients, and either that number or a price binds.
    """
    if loss.linear_loss is None or domain.integer or all(part.convex for part in (loss, regulariser, domain, *restrictions)):
        return None
    context = make_context()
    penalised = context.penalised
    p = penalised.size
    try:
        norm, sparsity = _norm(regulariser, int(penalised.sum()))
        limits = restriction_limits(loss, domain, restrictions, context)
        rows, _, lower, upper = rows_as_bounds(limits.rows, limits.row_lower, *domain.bounds(p))
    except UnsupportedPartError:
        return None
    curvature = np.where(penalised, 2.0 * norm.mu, 0.0)
    max_nonzeros = min(
        [int(penalised.sum()), *limits.max_nonzeros, *([] if sparsity.max_nonzeros is None else [sparsity.max_nonzeros])]
    )
    bounded = (curvature > 0.0) | (np.isfinite(lower) & np.isfinite(upper))
    unread_parts = len(norm.atoms) or sparsity.mu1 or len(rows) or limits.kept_points.any() or limits.budgets or limits.rates
    counts = sparsity.mu0 > 0.0 or max_nonzeros < penalised.sum()
    zero = ((lower <= 0.0) & (upper >= 0.0))[penalised].all() and (lower <= upper).all()
    if unread_parts or not counts or not zero or not bounded[penalised].all():
        return None
    price, linear = np.where(penalised, sparsity.mu0, 0.0), loss.linear_loss
    return lambda A, costs: SparseProblem(A, costs, linear, curvature, price, lower, upper, penalised, max_nonzeros)
