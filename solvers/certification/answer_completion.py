"""Completion of an answer without multipliers or a valid ray: the missing evidence is computed from the data and checked.

`solvers.judgement` calls its functions for every result of `solve`. The searches are those of `solvers.certification.evidence`.
Their outcome counts only if the certificate, the ray or exact arithmetic then proves the claim, or contradicts it; the remarks
say so. The form is min ½x'Px + q'x + r subject to F x + g in K, a product of cones, and bounds; z are the multipliers of its
rows, ζ those of its bounds, d a ray of descent. Its *Farkas multipliers* prove that it has no point.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from ...models.arrays import FloatArray
from ...models.model import Model
from ...models.program.cones import Nonnegative
from ...models.program.form import Constraint, StandardForm
from ...models.program.lagrangian import dual_bound
from ...models.program.multiplier_repair import Multipliers
from ..records import Answer, Status
from .certificate import Certificate, Certifier, certify, has_nonnegative_objective
from .evidence import ByLabel, ScaledConeRows, ScaledLinearRows, ScaledRows, interior_multipliers
from .rays import RayEvidence, point_exists
from .verdict import conditions_met

#: A point that violates its rows by no more than this is feasible.
_FEASIBLE = 1e-9
#: Largest residual of a solver's ray beside which a search for a better one may support the claim.
_ROUGH = 1e-2
#: Shares t of the interior multipliers that are mixed in (`_moved_inwards`).
_INWARDS = (1e-12, 1e-11, 1e-10, 1e-8, 1e-6)
_MOVED = "moved inwards by {:g}: the solver's are within rounding of a bound"
#: Lengths along a ray of descent at which points are tried, in units of the starting point and of the ray.
_LENGTHS = (1e2, 1e4)
#: The sentence that contradicts a claim that the objective has no least value.
_BOUNDED = "the solver says unbounded, and {}"
_BY_MULTIPLIERS = "multipliers bound the objective (minimised) by {:.6g}"
_NOTE = "by least squares: the solver gave none that bound the objective"
#: Decimal places to which multipliers are rounded.
_DIGITS = (2, 3, 5)
_WHOLE = "rounded to {} digits behind the point: they meet the dual's equations exactly"


@dataclass(frozen=True, eq=False)
class CompletedClaim:
    """A claim of infeasibility or unboundedness: the answer with the best ray, its evidence, and an objection to the claim."""

    answer: Answer  #: with the best ray
    ray: RayEvidence  #: evidence of that ray
    objection: str = ""  #: sentence on a contradiction of the claim; empty without one


def complete_claim(
    form: StandardForm,
    answer: Answer,
    ray: RayEvidence,
    points: Sequence[FloatArray] = (),
    bounded: str = "",
    seconds: float | None = None,
) -> CompletedClaim:
    """Return a claim of infeasibility or unboundedness with a better ray where the solver's does not prove it, or an objection.

    ``ray`` is the evidence of the answer's own ray. Integers count as real numbers: Farkas multipliers of that relaxation leave
    no integers either, and whole multiples of its rational ray of descent keep integers integers.
    ``points`` may be feasible starts of a ray of descent. ``bounded`` is the reason why the objective has a lower bound
    (`lower_bound_reason`), empty without one; ``seconds`` limits the searches.
    """
    if ray.proved and answer.status is Status.INFEASIBLE:
        return CompletedClaim(answer, ray)
    integer = bool(form.integer.any())
    relaxed = form.replace(integer=np.zeros(form.n, dtype=bool)) if integer else form
    rows = _rows(relaxed, seconds)
    z, x = (None, None) if rows is None else rows.farkas()
    empty = RayEvidence() if z is None else RayEvidence.of(form, z)
    if answer.status is Status.INFEASIBLE:
        if x is not None and not integer and _feasible(form, x):
            remark = (
                f"the solver says infeasible, and a point violates no constraint by more than {_FEASIBLE:g}: details['point']"
            )
            return CompletedClaim(replace(answer, details={**answer.details, "point": form.split(x)}), ray, remark)
        better = z is not None and not _refuted_ray(ray) and (empty.proved or (ray.residual is None and not empty.is_invalid))
        return CompletedClaim(replace(answer, farkas=z), empty) if better else CompletedClaim(answer, ray)
    if empty.proved:
        remark = "the solver says unbounded, and Farkas multipliers prove that there is no point: details['farkas multipliers']"
        return CompletedClaim(replace(answer, details={**answer.details, "farkas multipliers": z}), ray, remark)
    if bounded:
        return CompletedClaim(answer, ray, _BOUNDED.format(bounded))
    completed = CompletedClaim(answer, ray) if rows is None else _descent(relaxed, rows, answer, ray)
    starts = (*points, np.zeros(form.n), *(() if x is None else (x, np.round(x))))
    candidates = (*starts, *_far_points(form, completed.answer, starts))
    if completed.ray.exact and any(point_exists(form, point) for point in candidates):
        return replace(completed, ray=completed.ray.with_feasible_point)
    return completed


def _far_points(form: StandardForm, answer: Answer, points: Sequence[FloatArray]) -> Iterator[FloatArray]:
    """Yield points far along the ray of descent: a ray into a cone's interior leads to points with room for rounding.

    With integers the ray's smallest entry counts as one and its entries are rounded.
    """
    if answer.ray is None:
        return
    direction = form.join(answer.ray)
    if form.integer.any():
        direction = np.round(direction / np.abs(direction[direction != 0.0]).min(initial=np.inf))
    for point in points:
        for length in _LENGTHS:
            yield point + length * max(1.0, float(np.abs(point).max(initial=0.0))) * direction


def lower_bound_reason(model: Model, form: StandardForm, answer: Answer) -> str:
    """Return why the objective has a lower bound, by its terms, the answer's multipliers or zero ones; empty without a bound."""
    reason = model.bounded_below_reason or ("no term of it can be negative" if has_nonnegative_objective(form) else "")
    if reason:
        return f"the objective has a lower bound: {reason}"
    multipliers = [answer.multipliers, {c.label: np.zeros(c.rows) for c in form.constraints}]
    with np.errstate(all="ignore"):
        bounds = [model.bound(np.zeros(form.n), z) for z in multipliers if z is not None]
    best = max((b.value for b in bounds if not b.condition), default=-np.inf)
    return _BY_MULTIPLIERS.format(best) if np.isfinite(best) else ""


def _refuted_ray(ray: RayEvidence) -> bool:
    """Return whether the solver's ray misses its conditions by more than the errors of a first-order method."""
    return ray.residual is not None and not ray.residual <= _ROUGH


def _descent(form: StandardForm, rows: ScaledRows, answer: Answer, ray: RayEvidence) -> CompletedClaim:
    """Complete a claim of unboundedness with a ray of descent, or with a bound that contradicts it."""
    if ray.exact:
        return CompletedClaim(answer, ray)
    d = rows.ray()
    if d is not None:
        descent_ray = RayEvidence.of(form, d)
        better = not _refuted_ray(ray) and (descent_ray.exact or (ray.residual is None and not descent_ray.is_invalid))
        return CompletedClaim(replace(answer, ray=form.split(d)), descent_ray) if better else CompletedClaim(answer, ray)
    bounding = rows.bounding_multipliers()
    if bounding is None:
        return CompletedClaim(answer, ray)
    bound = dual_bound(form, bounding[2], bounding[0])
    if bound.condition or not np.isfinite(bound.value):
        return CompletedClaim(answer, ray)
    return CompletedClaim(answer, ray, _BOUNDED.format(_BY_MULTIPLIERS.format(bound.value)))


def unbounded_integer_ray(form: StandardForm) -> str:
    """Return the reason why a mixed-integer linear program with a point has no least value; empty if none is found.

    Along a rational direction of descent that the rows and bounds allow without end, whole multiples keep integers integers.
    """
    falls = ((form.q > 0.0) & np.isneginf(form.lower)) | ((form.q < 0.0) & np.isposinf(form.upper))
    if form.quadratic is not None or not form.integer.any() or not falls.any():
        return ""
    relaxed = form.replace(integer=np.zeros(form.n, dtype=bool))
    rows = ScaledLinearRows.of(relaxed)
    d = None if rows is None else rows.ray()
    if d is None or not RayEvidence.of(relaxed, d).exact:
        return ""
    return f"the solver says optimal, and there is no least value: {RayEvidence.descent_remark(form.split(d))}"


def improve_multipliers(
    certifier: Certifier,
    answer: Answer,
    values: Mapping[str, FloatArray],
    certificate: Certificate,
    tol: float,
    seconds: float | None = None,
) -> tuple[Answer, Certificate]:
    """Return the answer with multipliers computed from the data, and its certificate, if they help; else both as given.

    They help if they close the gap to ``tol``, or yield a larger bound for a claim without evidence of its own. ``values`` is the
    point of the certificate, ``seconds`` a limit of the search.
    """
    form = certifier.form
    if form is None or not certificate.wants_multipliers:
        return answer, certificate
    rows, x = _rows(form, seconds), form.join(values)
    inner = interior_multipliers(form, x, seconds) if rows is None else rows.interior_multipliers(x, seconds)
    if rows is None and inner is None and answer.multipliers is None:
        return answer, certificate
    # a claim with optimality conditions that hold, or with multipliers or a bound for cones, yields only to a closed gap
    is_decided = not (rows is not None and rows.decides) and (answer.multipliers is not None or answer.bound is not None)
    satisfied = conditions_met(certificate, tol) and certificate.feasible(_FEASIBLE)
    spoils, best = is_decided or satisfied, (answer, certificate)
    for candidate in _candidates(form, answer, rows, inner, x):
        if rows is not None and time.perf_counter() > rows.deadline:
            break
        better = certifier(candidate, values)
        if _close(better, tol):
            return candidate, better
        if better.bound > best[1].bound and not spoils:
            best = candidate, better
    return best


def _candidates(
    form: StandardForm, answer: Answer, rows: ScaledRows | None, inner: ByLabel | None, x: FloatArray
) -> Iterator[Answer]:
    """Yield the answer with other multipliers, in this order: the solver's rounded, the solver's moved inwards, least-squares
    multipliers at x, these moved inwards, and any multipliers that bound the objective.
    """
    if answer.multipliers is not None and not (rows is not None and rows.decides):
        yield from _rounded(form, answer, answer.multipliers)
    if answer.multipliers is not None and inner is not None:
        yield from _moved_inwards(form, answer, answer.multipliers, inner)
    multipliers = None if rows is None else rows.multipliers(x)
    if multipliers is not None:
        completed = replace(
            answer, multipliers=multipliers[0], reduced=multipliers[1], details={**answer.details, "multipliers": _NOTE}
        )
        yield completed
        if inner is not None:
            yield from _moved_inwards(form, completed, multipliers[0], inner)
    any_that_bound = None if rows is None else rows.bounding_multipliers()
    if any_that_bound is not None:
        z, reduced, _ = any_that_bound
        yield replace(answer, multipliers=z, reduced=reduced, details={**answer.details, "multipliers": _NOTE})


def _rounded(form: StandardForm, answer: Answer, z: Mapping[str, FloatArray]) -> Iterator[Answer]:
    """Yield the answer with multipliers rounded to few digits, if those meet the dual's equations exactly.

    If the dual has no strict interior, no multipliers near the computed ones need meet the equations. The exact ones are then
    often numbers of few digits.
    """
    free = ~(np.isfinite(form.lower) & np.isfinite(form.upper))
    if form.quadratic is not None:
        return
    for digits in _DIGITS:
        rounded = {label: np.round(value, digits) + 0.0 for label, value in z.items()}
        projected = Multipliers.in_dual_cones(form, rounded)
        if projected is not None and not projected.exact_lagrangian_gradient(free).any():
            yield replace(answer, multipliers=rounded, details={**answer.details, "multipliers": _WHOLE.format(digits)})
            return


def _moved_inwards(
    form: StandardForm, answer: Answer, z: Mapping[str, FloatArray], inner: Mapping[str, FloatArray]
) -> Iterator[Answer]:
    """Yield the answer with (1 - t)z + t z_inner, from t = 1e-12 on, whose slopes are positive by more than their rounding.

    The Lagrangian bound is concave in z, so it falls by at most t times the difference of the bounds at z and at z_inner.
    """
    if any(np.shape(z[c.label]) != (c.rows,) for c in form.constraints if c.label in z):
        return
    for t in _INWARDS:
        mixed = {c.label: (1.0 - t) * z.get(c.label, np.zeros(c.rows)) + t * inner[c.label] for c in form.constraints}
        yield replace(answer, multipliers=mixed, details={**answer.details, "multipliers": _MOVED.format(t)})


def _close(certificate: Certificate, tol: float) -> bool:
    """Return whether bound and objective differ by at most ``tol``, relative to the larger one."""
    objective, bound = certificate.objective, certificate.bound
    return bool(np.isfinite(bound)) and abs(objective - bound) <= tol * max(abs(objective), abs(bound))


def _rows(form: StandardForm, seconds: float | None) -> ScaledRows | None:
    """Return the rows for a search for evidence, with its deadline; None where neither kind of rows fits the form."""
    rows = ScaledLinearRows.of(form) or ScaledConeRows.of(form)
    return rows if rows is None or seconds is None else replace(rows, deadline=time.perf_counter() + seconds)


def _feasible(form: StandardForm, x: FloatArray) -> bool:
    return bool(np.isfinite(x).all()) and certify(form, form.split(x)).feasible(_FEASIBLE)


# An optimum of exactly zero: the point that attains it, and a bound of exactly zero, replace a point and a bound near zero.
#
# An interior-point method ends at 1e-10 where the optimum is 0, and no relative gap says how good that is. Where the model
# knows a feasible point of objective zero (`Model.zero_objective_point`) and it is proved that no point costs less, that point
# is the answer. There are two proofs. No term of the objective is negative within the bounds. Or Px = 0 at the point x: the
# objective at x + d is at least q'd, the rows that are slack at x are left out, and the other rows, in d, have no constant, so a
# finite bound of q'd is zero (`models.program.lagrangian`). Neither proof has a tolerance.

#: The note on the origin of a point of objective zero.
ZERO_OBJECTIVE_NOTE = "the point of objective zero, beside which the solver stopped"


def certify_zero_objective(certifier: Certifier, answer: Answer, values: Mapping[str, FloatArray]) -> Certificate | None:
    """Return the certificate of the model's point of objective zero, if it is proved that no point costs less; else None.

    The answer's multipliers are tried for the proof. Without a form the model's own bound must be zero.
    """
    form, certificate = certifier.form, certifier(answer, values)
    if not (certificate.objective == 0.0 and certificate.error == 0.0 and certificate.primal_residual == 0.0):
        return None
    if certificate.bound == 0.0:
        return certificate
    argument = "" if form is None else prove_zero_is_least(form, form.join(values), answer.multipliers)
    return replace(certificate, bound=0.0, bound_error=0.0, argument=argument) if argument else None


def prove_zero_is_least(form: StandardForm, x: FloatArray, multipliers: Mapping[str, FloatArray] | None) -> str:
    """Return why no feasible point costs less than x, a feasible one that costs zero; empty where that is not proved."""
    if has_nonnegative_objective(form):
        return "no term of the objective is negative within the bounds"
    curved = form.quadratic is not None
    if form.r != 0.0 or x[form.q != 0.0].any() or (curved and (x.any() or not form.convexity.is_exact)):
        return ""
    active = ((c, *_active_rows(c, x)) for c in form.constraints if c.cone.convex)
    cone = form.replace(
        quadratic=None,
        constraints=tuple(rows for c, rows, slack in active if isinstance(c.cone, Nonnegative) or not slack),
        lower=np.where(form.lower < x, -np.inf, 0.0),
        upper=np.where(form.upper > x, np.inf, 0.0),
        integer=np.zeros(form.n, dtype=bool),
    )
    labels = {c.label: c.rows for c in cone.constraints}
    z = {k: np.ravel(v) for k, v in (multipliers or {}).items() if np.size(v) == labels.get(k)}
    origin = np.zeros(form.n)
    if dual_bound(cone, origin, z).value == 0.0:
        return _ARGUMENT
    rows = ScaledLinearRows.of(cone)
    exact = None if rows is None else rows.bounding_multipliers()
    return _ARGUMENT if exact is not None and dual_bound(cone, origin, exact[0]).value == 0.0 else ""


_ARGUMENT = "the objective's gradient at the point descends in no direction that the rows active there allow"


def _active_rows(c: Constraint, x: FloatArray) -> tuple[Constraint, bool]:
    """Return the rows F d for which F x + g = 0 in exact arithmetic, other rows set to zero, and whether there are others."""
    entries = c.F[:, np.flatnonzero(x)].tocoo()
    values = {row: Fraction(float(c.g[row])) for row in np.unique(entries.row).tolist()}
    for row, a, y in zip(entries.row.tolist(), entries.data.tolist(), x[x != 0.0][entries.col].tolist(), strict=True):
        values[row] += Fraction(a) * Fraction(y)
    slack = c.g != 0.0
    slack[list(values)] = [value != 0 for value in values.values()]
    F = c.F if not slack.any() else sp.csr_array(sp.diags_array((~slack).astype(np.float64)) @ c.F)
    return Constraint(c.label, F, np.zeros(c.rows), c.cone, points=c.points), bool(slack.any())
