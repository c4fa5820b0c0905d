"""`verdict`: the status that a certificate supports for a solver's claim, with the remarks that explain it.

`solvers.judgement` applies it to every result of `solve`. The rules, in order. A contradiction lowers every status: a bound above
the objective of a feasible point, a feasible point beside a claim that there is none. An optimum needs a feasible point and the
best evidence there is: a bound, rounded outward, within the tolerance of an objective whose own rounding error is within it too,
else the optimality conditions at the multipliers, else (mixed-integer problems, solvers without multipliers) the bound that the
solver claims. The products of violations and multipliers must be within the tolerance of the objective as well: where its terms
cancel, a residual of 1e-8 may be half of it.

A gap is relative to the objective. An optimum of zero has no relative gap. It is accepted if the objective is within the rounding
error of its terms at the point, the bound within the error of four such sums, and the products of violations and multipliers
within the error of one. The remark then says how far from zero the optimum may be (`ZERO_OPTIMUM`). The size of an objective
relative to the data proves nothing: 1e-10 with data of 1e6 may be far from an optimum of 1e-11. Where the optimum is
exactly zero at the origin, a bound of exactly zero is proved (`solvers.certification.answer_completion`).

A problem that is not convex has no optimum that multipliers could prove: a point that satisfies the first-order conditions is
stationary. There an optimum rests on the bound of a solver that searches for global optima.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...models.arrays import FloatArray
from ...models.importing.source import Import, near_points
from ...models.model import Model
from ...models.program.cones import Nonnegative, Zero
from ...models.program.form import Constraint, StandardForm
from ..records import Answer, Status
from .certificate import MAX_RESIDUAL, Certificate, certify, largest_terms

#: Beginning of the remark on an optimum that is zero within float64 rounding.
ZERO_OPTIMUM = "the optimum is zero within rounding"

#: A mixed-integer solver's bound may exceed an objective of zero by tol × this × the objective's scale, or 1e-9 of that scale.
_ABSOLUTE, _LEAST = 1e-3, 1e-9
#: A point that violates its rows by no more than this, relatively, refutes a larger bound.
_FEASIBLE = 1e-9
#: Share of the objective (or of its scale) by which a continuous solver's own bound may exceed it.
_LOOSE = 1e-2
#: Multiples of a mixed-integer solver's absolute tolerance above which its claim on an objective counts.
_FAINT = 100.0
#: Share of a row's size that integers within the solver's tolerance may move the row by; beyond it the claim proves nothing.
_VOID = 0.1
#: A row's size is zero but for rounding below this share of its largest coefficient times the point's largest continuous entry.
_NOTHING = 1e-6


@dataclass(frozen=True)
class Verdict:
    """A status, and remarks that explain it."""

    status: Status
    remarks: tuple[str, ...] = ()


def verdict(answer: Answer, certificate: Certificate | None, tol: float) -> Verdict:
    """Return the status and remarks of a claim, as far as the certificate supports it to the relative gap ``tol``."""
    if certificate is None:
        return Verdict(Status.FAILED if answer.status is Status.OPTIMAL else answer.status)
    contradiction_text = contradiction(answer, certificate, tol)
    if contradiction_text:
        return Verdict(Status.INACCURATE, (contradiction_text,))
    if answer.status is Status.STATIONARY:
        return _stationary(answer, certificate, tol)
    bounded = not certificate.inner and certificate.feasible(_FEASIBLE) and np.isfinite(certificate.bound)
    if (answer.status is Status.STALLED or answer.status.stopped) and bounded:
        verdict_by_bound = _by_bound(certificate, tol)  # a limit may come after the gap was closed
        return verdict_by_bound if verdict_by_bound.status is Status.OPTIMAL else Verdict(answer.status)
    if (answer.status.stopped or answer.status is Status.STALLED) and _proved_already(answer, certificate, tol):
        return Verdict(Status.OPTIMAL)
    if answer.status is not Status.OPTIMAL:
        return Verdict(answer.status)
    if not certificate.feasible(float(np.clip(tol, _FEASIBLE, MAX_RESIDUAL))) or not np.isfinite(certificate.objective):
        return Verdict(Status.INACCURATE, (f"the point violates its constraints: residual {certificate.primal_residual:.1e}",))
    if certificate.inner:
        return Verdict(answer.status)
    if certificate.nonconvex and answer.bound is None:
        kind = Status.STATIONARY if conditions_met(certificate, tol) else Status.INACCURATE
        return Verdict(kind, (f"{certificate.argument}: the problem is not convex, so no multipliers prove an optimum",))
    if np.isfinite(certificate.bound) and not certificate.nonconvex:
        return _by_bound(certificate, tol)
    if (
        not certificate.nonconvex
        and certificate.integrality is None
        and certificate.dual_residual is not None
        and certificate.complementarity is not None
    ):
        if conditions_met(certificate, tol) and _near(certificate, certificate.unmet, tol):
            return Verdict(Status.OPTIMAL)
        return Verdict(Status.INACCURATE, (_unmet(certificate),))
    if answer.bound is None or not np.isfinite(answer.bound):
        return Verdict(Status.INACCURATE, ("the solver says optimal and gives neither multipliers nor a bound to support it",))
    if gap_closed(certificate, answer.bound, tol):
        return Verdict(Status.OPTIMAL)
    return Verdict(Status.INACCURATE, (_open_by_own_bound(certificate.objective, answer.bound, tol),))


def _open_by_own_bound(objective: float, bound: float, tol: float) -> str:
    gap = abs(objective - bound) / max(abs(objective), abs(bound))
    return f"the solver's own bound leaves a relative gap of {gap:.2g}; to end at another gap than {tol:g}, give tol="


def proves_optimum(answer: Answer, certificate: Certificate, tol: float) -> bool:
    """Return whether a bound of the certificate supports the optimum that the answer claims."""
    return bool(np.isfinite(certificate.bound)) and verdict(answer, certificate, tol).status is Status.OPTIMAL


#: The source of constants that may cut off the optimum, and the remedy.
_STATED = ("as they were given", "leave big_m out to have valid ones computed, or give larger ones")
_CHANGED = (
    "made before the change",
    "state rows of the coefficients in Margin(..., subject_to=LinearRows(...)), from which valid constants follow; or give "
    "encoding='bigm' and a big_m= that holds after the change, or a Margin domain=Box(...) and upper_bound=, the objective of a "
    "point that the change allows",
)
_KNOWN = (
    "made from the upper bound that was given",
    "give upper_bound= the objective of a point that is feasible, or leave it out",
)


def cutoff_objection(status: Status, certificate: Certificate | None, model: Model, tol: float) -> str:
    """Return why the optimum or infeasibility of the form need not be that of the problem; empty if it is.

    Big-M constants that are valid only for objectives up to `Model.cutoff` may cut off an optimum above the cutoff.
    """
    level = model.cutoff
    if np.isposinf(level) or status not in (Status.OPTIMAL, Status.INFEASIBLE):
        return ""
    objective = float("inf")
    if status is Status.OPTIMAL and certificate is not None:
        objective = certificate.objective - certificate.rounding
    if objective <= level + max(tol, _FEASIBLE) * abs(level):
        return ""
    valid_for = "no objective" if np.isinf(level) else f"objectives up to {level:.7g}"
    source, remedy = _STATED if model.has_given_big_m else _CHANGED if model.changes else _KNOWN
    return f"the form's big-M constants, {source}, are known to hold for {valid_for}, and may cut off the optimum: {remedy}"


def big_m_objection(form: StandardForm, x: FloatArray, tolerance: float) -> str:
    """Return why a mixed-integer solver's claim of an optimum proves nothing, since its integrality tolerance moves a big-M row
    too far; empty if not.

    Integers within ``tolerance`` of whole numbers move a row by up to M·tolerance, which is compared with the row's size: the
    larger of its largest continuous term at the point and the least constant that is left with the integers at the point, at
    zero or at a bound. Where this vanishes but for rounding, it is the largest continuous coefficient times the point's largest
    continuous entry. Rows without continuous variables, and rows that a slack without cost always satisfies, are left out.
    """
    y = np.abs(x) * ~form.integer
    ends = [np.where(form.integer & np.isfinite(end), end, 0.0) for end in (x, form.lower, form.upper, np.zeros(form.n))]
    reach = largest if (largest := float(y.max(initial=0.0))) > _FEASIBLE else 1.0
    worst, row_text = 0.0, ""
    for c, switched, continuous in _switched_rows(form):
        size = np.maximum(largest_terms(c.F, y), np.min([np.abs(c.F @ z + c.g) for z in ends], axis=0))
        size = np.where(size > _NOTHING * continuous * reach, size, continuous * reach)
        slack = np.divide(switched * tolerance, size, out=np.zeros(c.rows), where=switched > 0.0)
        if slack.max(initial=0.0) > worst:
            worst, row_text = float(slack.max()), f"{c.label}, M = {switched[slack.argmax()]:.3g},"
    if worst < _VOID:
        return ""
    return (
        f"the solver's claim proves nothing: numbers within {tolerance:g} of an integer pass for one there, which moves "
        f"a row of {row_text} by {worst:.2g} of its size: give a smaller M, indicators, or (0-1 loss) take zero-one-bb"
    )


def reach_objection(form: StandardForm, certificate: Certificate, tolerance: float) -> str:
    """Return why a mixed-integer solver's bound counts for nothing where big-M rows let a variable without cost go far; empty if
    it counts.

    The reduced cost of such a variable, an intercept say, may miss zero by an absolute ``tolerance`` there, which changes the
    bound by as much times the variable's values. These reach its bounds, or M over its largest coefficient in rows of a big-M,
    the M of integers that have a cost.
    """
    reach, free = np.zeros(form.n), ~form.integer & ~form.has_cost
    costly = (form.integer & form.has_cost).astype(np.float64)
    for c, switched, _ in _switched_rows(form):
        big_m = float((largest_terms(c.F, costly) * (switched > 0.0)).max(initial=0.0))
        largest = abs(c.F).max(axis=0).toarray().ravel() if c.rows else np.zeros(form.n)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.maximum(reach, np.where(free & (largest > 0.0), big_m / largest, 0.0))
    reach = np.minimum(reach, np.maximum(np.abs(form.lower), np.abs(form.upper)))
    farthest, size = float(reach.max(initial=0.0)), abs(certificate.objective)
    if size <= max(certificate.error, certificate.rounding) or farthest * tolerance < _VOID * size:
        return ""
    name = form.names()[int(reach.argmax())]
    return (
        f"the solver's claim proves nothing: reduced costs within {tolerance:g} pass for zero there, and {name} may reach "
        f"{farthest:.3g}, so that its bound may be off by {farthest * tolerance:.2g}, where the objective is {size:.3g} in size: "
        "centre or scale the data, or (0-1 loss) take zero-one-bb"
    )


def _switched_rows(form: StandardForm) -> Iterator[tuple[Constraint, FloatArray, FloatArray]]:
    """Yield linear constraints, and each row's largest coefficient of an integer (M) and of a continuous variable.

    M counts as 0 in rows without continuous variables, and in rows that a slack without cost always satisfies.
    """
    without_cost = _slacks_without_cost(form)
    for c in form.constraints:
        if isinstance(c.cone, (Nonnegative, Zero)):
            continuous = largest_terms(c.F, (~form.integer).astype(np.float64))
            has_weight = (continuous > 0.0) & ~(c.F.maximum(0.0) @ without_cost > 0.0)
            yield c, largest_terms(c.F, form.integer.astype(np.float64)) * has_weight, continuous


def _slacks_without_cost(form: StandardForm) -> FloatArray:
    """Return 1 for a continuous variable that costs nothing, has no upper bound and is in one row alone; else 0."""
    rows = np.zeros(form.n, dtype=np.int64)
    for c in form.constraints:
        rows += np.bincount(c.F.indices, minlength=form.n)
    return ((rows == 1) & ~form.has_cost & ~form.integer & np.isposinf(form.upper)).astype(np.float64)


def small_objective_objection(certificate: Certificate, tolerance: float) -> str:
    """Return why a mixed-integer solver's claim about so small an objective proves nothing; empty if it counts.

    Its tolerances on costs are absolute: one solver neglected costs of 1e-10 beside costs of 1, which were 7% of the optimum.
    """
    size = abs(certificate.objective)
    if size <= max(certificate.error, certificate.rounding) or size > _FAINT * tolerance:
        return ""
    return (
        f"the solver's claim proves nothing: its tolerance, {tolerance:g}, is absolute, and the objective is "
        f"{size:.3g} in size: multiply the objective's weights by a power of ten"
    )


def feasibility_tolerance_objection(answer: Answer, certificate: Certificate, tolerance: float, tol: float) -> str:
    """Return why a solver's claim of a continuous optimum without multipliers proves nothing; empty if it counts.

    Its feasibility tolerance is absolute: it may move the objective by that share of the objective's terms.
    """
    if answer.multipliers is not None or certificate.integrality is not None or np.isfinite(certificate.bound):
        return ""
    tolerance_shift = tolerance * max(1.0, certificate.scale)
    size = abs(certificate.objective)
    if tolerance_shift <= tol * size:
        return ""
    return (
        f"nothing can be told from the solver's word: it gives no multipliers, its feasibility tolerance, {tolerance:g}, may "
        f"move the objective by {tolerance_shift:.1e}, and that is {size:.3g} in size: "
        "scale the data, or take a conic solver"
    )


def contradiction(answer: Answer, certificate: Certificate, tol: float) -> str:
    """Return a sentence on two statements that exclude each other, with both numbers; empty without one."""
    objective = certificate.objective
    feasible = certificate.feasible(_FEASIBLE)
    if answer.status is Status.INFEASIBLE and feasible:
        return f"the solver says infeasible beside a point that violates no constraint by more than {_FEASIBLE:g}"
    if not feasible or certificate.inner or not np.isfinite(objective):
        return ""
    slack = max(tol, 1e-6) * max(abs(objective), tol * certificate.scale) + certificate.error
    slack += certificate.undercut  # what the point's violations are worth
    if certificate.bound > objective + slack:
        return _exclusion("the bound", certificate.bound, objective)
    claimed = answer.bound
    if certificate.integrality is None and answer.status.stopped and not answer.proved:
        return ""  # multipliers of a run that was cut short are not feasible, and their objective bounds nothing
    # continuous solvers claim the objective of multipliers that are not quite feasible, which may be off by their tolerance;
    # mixed-integer solvers end at an absolute gap if the optimum is zero
    if certificate.integrality is None:
        slack += _LOOSE * max(abs(objective), certificate.scale)
    elif abs(objective) <= certificate.error:
        slack += max(tol * _ABSOLUTE, _LEAST) * certificate.scale
    if claimed is not None and np.isfinite(claimed) and claimed > objective + slack:
        return _exclusion("the solver's bound", claimed, objective)
    return ""


def _exclusion(noun: str, bound: float, objective: float) -> str:
    """Return the sentence on a bound above the objective of a feasible point, both of the form's minimisation."""
    return f"contradiction: {noun} {bound:.10g} lies above the objective {objective:.10g} of a feasible point (both minimised)"


def _proved_already(answer: Answer, certificate: Certificate, tol: float) -> bool:
    """Return whether a stopped exact search of this package, which aims below the tolerance, has reached the tolerance."""
    if not answer.proved or answer.bound is None or certificate.inner or not certificate.feasible(_FEASIBLE):
        return False
    is_closed = abs(certificate.objective - answer.bound) + certificate.error <= tol * abs(certificate.objective)
    return is_closed or certificate.both_zero(answer.bound)


def _by_bound(certificate: Certificate, tol: float) -> Verdict:
    objective, bound = certificate.objective, certificate.bound
    allowed = tol * max(abs(objective), abs(bound))
    # the bound is rounded outward already; the objective's own error must be within the tolerance, and is not added to the gap
    if abs(objective - bound) <= allowed and certificate.error <= allowed:
        if certificate.undercut <= allowed or certificate.primal_residual == 0.0:
            return Verdict(Status.OPTIMAL)
        if allowed > 0.0:  # for an optimum of exactly zero, no share of it is positive
            return Verdict(Status.INACCURATE, (_undercut(certificate, tol),))
    if certificate.both_zero(bound):
        if not _point_counts(certificate, tol):
            return Verdict(Status.INACCURATE, (_undercut(certificate, tol),))
        return Verdict(Status.OPTIMAL, (_enclosed(certificate),))
    hidden = certificate.error + certificate.bound_error
    if abs(objective - bound) - hidden <= allowed:
        return Verdict(
            Status.INACCURATE,
            (f"rounding may hide {hidden:.1e} of the gap: centre or scale the data, or ask for less than tol = {tol:g}",),
        )
    if max(abs(objective), abs(bound)) <= tol * certificate.scale and bound <= 0.0 <= objective + hidden:
        return Verdict(Status.INACCURATE, (_perhaps_zero(certificate, tol),))
    return Verdict(Status.INACCURATE)


def gap_closed(certificate: Certificate, bound: float, tol: float) -> bool:
    """Return whether objective and bound agree: a relative gap within the tolerance, or both zero within rounding."""
    largest = max(abs(certificate.objective), abs(bound))
    return abs(certificate.objective - bound) <= tol * largest or certificate.both_zero(bound)


def _point_counts(certificate: Certificate, tol: float) -> bool:
    """Return whether the violations times near-stationary multipliers are within the objective's rounding."""
    dual = certificate.dual_residual
    if certificate.undercut > certificate.rounding and certificate.primal_residual > 0.0:
        return False
    return certificate.feasible(_FEASIBLE) or (dual is not None and dual <= tol)


def _enclosed(certificate: Certificate) -> str:
    """Return the remark on an optimum of zero: its largest distance from zero, and the rounding of the objective's terms."""
    reach = max(abs(certificate.bound), abs(certificate.objective) + certificate.error)
    return (
        f"{ZERO_OPTIMUM}: no further from it than {reach * (1.0 + 1e-2):.2e}, "
        f"its terms at the point round by {certificate.rounding:.1e}"
    )


def _undercut(certificate: Certificate, tol: float) -> str:
    """Return the reason why a point near a bound is no optimum: it violates constraints, and feasible points may cost more."""
    consequence = f"which times the multipliers is {certificate.undercut:.1e} of the objective"
    if certificate.dual_residual is None or certificate.dual_residual > tol:
        consequence = "and the multipliers do not say what that is worth"
    return (
        f"the point violates its constraints by {certificate.primal_residual:.1e}, {consequence}: scale the data, "
        f"or ask the solver for less than tol = {tol:g}"
    )


def _perhaps_zero(certificate: Certificate, tol: float) -> str:
    """Return advice if zero lies between bound and objective, both small against the terms, but not both count as zero."""
    return (
        f"the optimum may be zero, which no relative gap shows: it is between {certificate.bound:.2g} and "
        f"{certificate.objective:.2g} (minimised), beside terms of {certificate.scale:.1e}; a smaller tol than {tol:g} decides"
    )


def _stationary(answer: Answer, certificate: Certificate, tol: float) -> Verdict:
    """Return STATIONARY unless the recomputed residual is far above the one that the algorithm states."""
    dual_residual, solver_stationarity = certificate.dual_residual, answer.stationarity
    if (
        certificate.inner
        or dual_residual is None
        or dual_residual <= 10.0 * max(tol, 0.0 if solver_stationarity is None else solver_stationarity, 1e-9)
    ):
        return Verdict(Status.STATIONARY)
    return Verdict(Status.INACCURATE, (f"the first-order residual, recomputed, is {dual_residual:.1e}",))


def _near(certificate: Certificate, gap: float | None, tol: float) -> bool:
    """Return whether ``gap`` is at most ``tol`` of the objective, or the rounding of its terms if the objective is zero."""
    objective = abs(certificate.objective)
    allowed = tol * objective if objective > certificate.error else certificate.rounding
    return gap is not None and gap <= allowed


def _unmet(certificate: Certificate) -> str:
    """Return the amount by which residuals of the optimality conditions may move the objective, and the usual reason."""
    return (
        f"the optimality conditions are missed by what may move the objective by {certificate.unmet:.1e} at this point, and no "
        f"bound is proved; an optimum that no point attains, or a dual without strict interior, looks like this"
    )


def conditions_met(certificate: Certificate, tol: float) -> bool:
    """Return whether dual residual and complementarity at the multipliers are within ``tol``."""
    dual, products = certificate.dual_residual, certificate.complementarity
    return dual is not None and products is not None and dual <= tol and products <= tol


# The verdict on an answer to an imported program: the point, the bound and infeasibility are compared with the program's source.

#: Violation, relative to the size of a row, up to which a point counts as feasible in the source.
_FEASIBLE_IN_SOURCE = 1e-9
#: Share of the objective's terms by which a feasible point must beat a bound to refute it.
_BEATEN = 1e-6


def compare_with_sources(
    model: Model,
    form: StandardForm,
    x: FloatArray | None,
    certificate: Certificate | None,
    before: Verdict,
    ray_proved: bool = False,
    certificate_at: Callable[[FloatArray], Certificate] | None = None,
) -> Verdict:
    """Return the verdict ``before`` with remarks, lowered where the sources of a model's imports contradict it.

    An import is a program read from another package, its source, which evaluates it at points. ``x`` is the answer's point;
    ``ray_proved`` says that Farkas multipliers or a ray prove its status. The import itself must agree with its source, and
    objective and constraints at the answer's point must agree too. No point that is feasible in the source may contradict
    infeasibility, or have an objective below the bound. A point that violates rows by rounding does not contradict proved
    infeasibility. Its objective may be below the bound by the products of its violations with the multipliers: ``certificate_at``
    returns the certificate of a point with these multipliers.
    """
    imports = [record for record in model.imports if not record.source_changed]
    if not model.imports:
        return before
    remarks = [_differs(record, record.disagreement) for record in model.imports if record.disagreement]
    remarks += [_differs(record, text) for record in imports if x is not None and (text := record.difference_at(x))]
    if not remarks and len(imports) == len(model.imports):
        remarks += list(_refuted(model, form, x, certificate, before.status, ray_proved, certificate_at))[:1]
    if remarks:
        status = before.status if before.status.stopped or before.status is Status.FAILED else Status.INACCURATE
        return Verdict(status, (*before.remarks, *dict.fromkeys(remarks)))
    if len(imports) < len(model.imports):
        names = ", ".join(dict.fromkeys(record.source.package for record in model.imports if record.source_changed))
        return Verdict(
            before.status, (*before.remarks, f"the program has changed in {names} since the import, which alone was compared")
        )
    if (certificate is not None and np.isfinite(certificate.bound)) or ray_proved:
        names = ", ".join(dict.fromkeys(record.source.package for record in imports))
        comparison = f"equals {names}'s program at all points compared"
        if not all(record.was_compared for record in imports):
            comparison = f"was not compared with {names}'s program: {names} has no value of it at the points tried"
        return replace(before, remarks=(*before.remarks, f"proved of the import, which {comparison}"))
    return before


def _differs(record: Import, text: str) -> str:
    return f"{record.source.package} evaluates the program that was imported otherwise: {text}"


def _refuted(
    model: Model,
    form: StandardForm,
    x: FloatArray | None,
    certificate: Certificate | None,
    status: Status,
    ray_proved: bool,
    certificate_at: Callable[[FloatArray], Certificate] | None,
) -> Iterator[str]:
    """Yield reasons why a claim of infeasibility, or a bound, is false."""
    bound = -np.inf if certificate is None or certificate.inner else certificate.bound
    if status is not Status.INFEASIBLE and not np.isfinite(bound):
        return
    starts = [np.zeros(form.n)] if x is None else [x, np.zeros(form.n)]
    for record in model.imports:
        model_point = record.package_point()
        starts += [model_point] if model_point is not None and model_point.size == form.n else []
        starts += [y for y in record.points if record.places is None]
    for y in near_points(form, starts):
        value = _value(model, form, y)
        if value is None:
            continue
        objective, size = value
        names = ", ".join(dict.fromkeys(record.source.package for record in model.imports))
        if status is Status.INFEASIBLE and not (ray_proved and 0.0 < _missed(form, y) <= _FEASIBLE_IN_SOURCE):
            yield f"{names} finds that a point violates no constraint: the program is not infeasible"
        short = bound - _BEATEN * size - objective
        if short > 0.0 and short > (1.0 + _BEATEN) * _rounded_off(form, y, certificate_at):
            yield f"{names} finds a feasible point of objective {objective:.10g} (minimised), below the bound {bound:.10g}"


def _rounded_off(form: StandardForm, y: FloatArray, certificate_at: Callable[[FloatArray], Certificate] | None) -> float:
    """Return the products of multipliers and rows that a point violates by rounding; 0 if it violates a row by more.

    A point that is feasible in the source and violates the form by more than rounding shows that the import is wrong.
    """
    if certificate_at is None:
        return 0.0
    return certificate_at(y).undercut if _missed(form, y) <= _FEASIBLE_IN_SOURCE else 0.0


def _missed(form: StandardForm, y: FloatArray) -> float:
    """Return the largest violation of a row of the form by a point, relative to the size of the point (1 at least)."""
    violations = (c.cone.violation(c.value(y)) for c in form.constraints if c.rows)
    return max(violations, default=0.0) / max(1.0, float(np.abs(y).max(initial=0.0)))


def _value(model: Model, form: StandardForm, y: FloatArray) -> tuple[float, float] | None:
    """Return the objective of a point as the sources evaluate it, and the size of its terms; None for an infeasible point."""
    if (y < form.lower).any() or (y > form.upper).any():
        return None
    total = size = 0.0
    if not model.original_model.imports:
        base = model.original_model.form
        certificate = certify(base, base.split(y[: base.n]))
        if not certificate.feasible(_FEASIBLE_IN_SOURCE):
            return None
        total, size = certificate.objective, certificate.scale
    for record in model.imports:
        part = y if record.places is None else y[record.places]
        part = part[: record.source.form.n]
        package_values, own_values = (
            record.source.evaluate_source(record.package_part(y)),
            record.source.evaluate_form(record.package_part(y)),
        )
        if not package_values.feasible(own_values, _FEASIBLE_IN_SOURCE) or not np.isfinite(package_values.objective):
            return None
        total, size = total + package_values.objective, size + own_values.size
    return total, max(size, abs(total))
