"""The structural view of nonconvex compositions: what a search over boxes of w reads of the parts, or which part it does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import BoolArray, FloatArray
from ...margin_view import Budget, Corners, EqualRates, MarginProblem
from ...program.cones import Nonnegative, Zero
from .assembly import Affine, Assembly
from .domains import Domain
from .losses.loss import Loss
from .part import Part, Polyhedral, Setting
from .regularisers.l1 import L1
from .regularisers.regulariser import Regulariser, Sparsity
from .restrictions.restriction import Restriction

__all__ = ["MarginProblemView", "UnreadError", "alone", "as_bounds", "linear_rows", "margin_problem_of"]


@dataclass(frozen=True, eq=False)
class MarginProblemView:
    """A composition as a `MarginProblem`, but for points and costs, or why it is none.

    Parameters
    ----------
    parts : MarginProblem, optional
        Without points.
    obstacle : str
        What stands in the way; empty where nothing does.
    """

    parts: MarginProblem | None = None
    obstacle: str = ""

    def problem(self, A: Callable[[], FloatArray], costs: FloatArray) -> MarginProblem | None:
        """Return the problem with signed rows, which are made where they are needed, and costs."""
        return None if self.parts is None else replace(self.parts, A=A(), costs=costs)


def margin_problem_of(
    loss: Loss, regulariser: Regulariser, domain: Domain, restrictions: Sequence[Restriction], setting: Callable[[], Setting]
) -> MarginProblemView:
    """Return the problem that these parts state over ``setting``, with the coefficients alone as variables, or the reason why
    there is none.

    The loss is one of margins, made of `Corners`; the regulariser squares, a norm of few atoms or prices (`Sparsity`); domain and
    restrictions are bounds, whole numbers, linear rows, a number of non-zero coefficients, kept points, budgets of errors and
    equal rates of positive scores. Something bounds every coefficient: squares, the norm, two bounds, or, for a free intercept,
    the loss.
    """
    if all(part.convex for part in (loss, regulariser, domain, *restrictions)):
        return MarginProblemView(obstacle="convex problems are for solvers of their forms")
    corners = loss.corners() if loss.labels else None
    if corners is None:
        return MarginProblemView(obstacle=f"{_name(loss)} is no piecewise-linear loss that falls with the margin, to 0")
    try:
        return MarginProblemView(_problem(corners, loss, regulariser, domain, restrictions, setting()))
    except UnreadError as error:
        return MarginProblemView(obstacle=str(error))


class UnreadError(Exception):
    """A part stands in the way."""


@dataclass(frozen=True, eq=False)
class _Limits:
    """The limits that restrictions set."""

    rows: FloatArray
    least: FloatArray
    kept: BoolArray
    budgets: tuple[Budget, ...]
    rates: tuple[EqualRates, ...]
    most: tuple[int, ...]


def _problem(
    corners: Corners, loss: Loss, regulariser: Regulariser, domain: Domain, restrictions: Sequence[Restriction], context: Setting
) -> MarginProblem:
    p, penalised = context.penalised.size, context.penalised
    norm, sparsity = _norm(regulariser, int(penalised.sum()))
    atoms = np.zeros((len(norm.atoms), p))
    atoms[:, penalised] = norm.atoms
    curvature = np.where(penalised, norm.mu, 0.0)
    limits = _limits(loss, domain, restrictions, context)
    rows, least, lower, upper = as_bounds(limits.rows, limits.least, *domain.bounds(p))
    if domain.integer:
        lower, upper = np.ceil(lower) + 0.0, np.floor(upper) + 0.0
    if (lower > upper).any():
        raise UnreadError(f"no value of w_{int(np.argmax(lower > upper))} is allowed")
    bounded = (curvature > 0.0) | atoms.any(axis=0) | (np.isfinite(lower) & np.isfinite(upper))
    bounded[:1] |= not penalised[:1].all()  # a free intercept is of no use beyond the corners of the losses
    if not bounded.all():
        raise UnreadError(f"nothing bounds w_{int(np.argmin(bounded))}: give domain=Box(lower, upper)")
    most = min([p, *limits.most, *([] if sparsity.most is None else [sparsity.most])])
    return MarginProblem(
        A=np.zeros((0, p)),
        costs=np.zeros(0),
        loss=corners,
        curvature=curvature,
        atoms=atoms,
        intercept=not penalised.all(),
        lower=lower,
        upper=upper,
        whole=np.full(p, domain.integer),
        price=np.where(penalised, sparsity.mu0, 0.0),
        counted=penalised & (most < penalised.sum()),
        most=most,
        rows=rows,
        least=least,
        kept=limits.kept,
        budgets=limits.budgets,
        rates=limits.rates,
    )


def _norm(regulariser: Regulariser, p: int) -> tuple[Polyhedral, Sparsity]:
    """The regulariser of p coefficients as squares with a norm, and as prices of coefficients and their number."""
    norm = regulariser.polyhedral(p)
    if norm is not None:
        return norm, Sparsity(0.0, 0.0)
    sparsity = regulariser.sparsity
    if sparsity is not None:
        norm = L1(sparsity.mu1).polyhedral(p) if sparsity.mu1 > 0.0 else Polyhedral(np.zeros((0, p)), 0.0)
    if sparsity is None or norm is None:
        raise UnreadError(f"{_name(regulariser)} is read as squares, a norm of few atoms or prices, and is none of them here")
    return norm, sparsity


def _limits(loss: Loss, domain: Domain, restrictions: Sequence[Restriction], context: Setting) -> _Limits:
    """Rows of the domain, then what each restriction says."""
    n = context.argument.rows
    kept, budgets, rates, most = np.zeros(n, dtype=np.bool_), [], [], []
    domain.add(to := alone(context.w), context.w)
    rows = [linear_rows(domain, to)]
    for rule in restrictions:
        points, budget, equal = rule.kept(n), rule.budget(context.y), rule.equal_rates(context.y)
        if rule.most is not None:
            most.append(rule.most)
        elif points is not None:
            kept[points] = True
        elif budget is not None:
            if rule.by_loss and loss.indicator_threshold != 1.0:
                raise UnreadError(f"{_name(rule)} is by the loss, and {_name(loss)} does not count margins below 1")
            if budget.limit < budget.points.size:
                budgets.append(budget)
        elif equal is not None:
            rates.append(equal)
        elif rule.reads_reach:
            raise UnreadError(_more(rule))
        else:
            rule.add(to := alone(context.w), context, None, rule.name)
            rows.append(linear_rows(rule, to))
    matrix, least = (np.concatenate(side) for side in zip(*rows, strict=True))
    return _Limits(matrix, least, kept, tuple(budgets), tuple(rates), tuple(most))


def alone(w: Affine) -> Assembly:
    """A form of nothing but w."""
    builder = Assembly("rows")
    builder.variables(w.plain, w.rows)
    return builder


def _more(part: Part) -> str:
    parts = "bounds, linear rows, a number of coefficients, kept points, a budget of errors or equal rates"
    return f"{_name(part)} is more than {parts}"


def linear_rows(part: Part, added: Assembly) -> tuple[FloatArray, FloatArray]:
    """F and f with Fw ≥ f, which is all that a part added to a form that had w alone."""
    form = added.form()
    costs = form.q.any() or form.r != 0.0 or form.quadratic is not None
    if costs or len(form.blocks) > 1 or not all(isinstance(c.cone, Nonnegative | Zero) for c in form.constraints):
        raise UnreadError(_more(part))
    rows, least = [np.zeros((0, form.n))], [np.zeros(0)]
    for c in form.constraints:
        F = c.F.toarray()
        rows += [F, -F] if isinstance(c.cone, Zero) else [F]
        least += [-c.g, c.g] if isinstance(c.cone, Zero) else [-c.g]
    return np.concatenate(rows) + 0.0, np.concatenate(least) + 0.0


def as_bounds(
    rows: FloatArray, least: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Rows of one coefficient as bounds, and the others; where the bound is no double, the row stays beside a wider one."""
    lower, upper = lower.copy(), upper.copy()
    many = np.ones(least.size, dtype=np.bool_)
    for r in np.flatnonzero(np.count_nonzero(rows, axis=1) <= 1).tolist():
        if not rows[r].any():
            many[r] = least[r] > 0.0  # what nothing fulfils stays
            continue
        j = int(np.flatnonzero(rows[r])[0])
        factor, right = float(rows[r, j]), float(least[r])
        with np.errstate(over="ignore"):
            bound = float(np.float64(right) / factor)
        if not np.isfinite(bound):
            continue
        exact = right == 0.0 or (abs(np.frexp(factor)[0]) == 0.5 and bound * factor == right)
        many[r] = not exact
        if factor > 0.0:
            lower[j] = max(lower[j], bound if exact else np.nextafter(bound, -np.inf))
        else:
            upper[j] = min(upper[j], bound if exact else np.nextafter(bound, np.inf))
    return rows[many], least[many], lower + 0.0, upper + 0.0  # no -0.0


def _name(part: Part) -> str:
    return type(part).__name__
