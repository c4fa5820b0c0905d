"""Certification of an answer: a tuple of stages, each of which takes a judgement and returns one.

A solver's answer is a claim. The stages recompute what the claim is worth from the data alone: they validate the answer, complete
and polish its point, certify it, supply evidence that the solver did not give, decide on a status and ask what speaks against it.
A judgement is a frozen value, so a stage changes the fields that it returns and nothing else, and the order of `STAGES` is the
order in which the evidence is used. The rules that stages apply are in `solvers.certification`; two stages run a solver for a
small problem of their own (`solvers.better_points`). No stage calls ``solve``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import InputError, MarginoptWarning, TooLargeError, UnsupportedModelError
from ..models.arrays import FloatArray
from ..models.model import Model, describe, fingerprint
from ..models.program.form import StandardForm
from .better_points import polished, refuted, unresolved
from .certification.certificate import Certificate, Certifier
from .certification.rays import Ray
from .certification.result import PoolPoint, Result
from .certification.supplied_evidence import (
    NEWTON_NOTE as REFINED,
    NOTE as MOVED_TO_ZERO,
    certify_zero_objective,
    complete_claim,
    refine_by_newton,
    unbounded_integer_ray,
    with_multipliers,
)
from .certification.verdict import (
    Verdict,
    below_solver_tolerance,
    big_m_exceeds_tolerance,
    compare_with_sources,
    exceeds_cutoff,
    proves_optimum,
    verdict,
)
from .interface.recorder import time_limit_remark
from .interface.solver import NONCONVEX, Licence, Solver, version_of
from .records import Answer, Options, Status

#: Integers within this of a whole number are rounded before the rest is re-solved.
_INTEGRALITY = 1e-4
#: Frames between a warning of a stage and who called ``solve``.
_CALLER = 6
#: The remark on a point that costs more than the solver claims, because no double is on the better side of a threshold.
_MISSED = "counted exactly, margins miss their thresholds by up to {:.1e}, and no point beside the solver's meets them"
#: Share of the time limit (and seconds at least) that a stage may take which solves or searches.
_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Judgement:
    """The state of an answer between two stages of certification."""

    stated: Model  #: the model that was asked to be solved
    model: Model  #: the model that the point belongs to: another one where the solver moved a parameter
    form: StandardForm | None  #: the standard form of ``model``; None where it has none that fits
    solver: Solver
    options: Options
    tol: float  #: relative gap that an optimum is held to
    claim: Answer  #: the answer as the solver gave it
    answer: Answer  #: the same with the arrays that can be judged and the evidence that was supplied
    values: Mapping[str, FloatArray] | None = None  #: the point that is judged; None where there is none
    certificate: Certificate | None = None  #: the certificate of ``values`` and the answer's multipliers
    polished: str = ""  #: the origin of the point, where it is not the solver's
    ray: Ray = field(default_factory=Ray)  #: the evidence behind a claim of infeasibility or unboundedness
    against: str = ""  #: the sentence that contradicts such a claim; empty where nothing does
    verdict: Verdict = field(default_factory=lambda: Verdict(Status.FAILED))  #: the status and its remarks

    @property
    def seconds(self) -> float | None:
        """The seconds that a stage may take which solves or searches; None without a time limit."""
        limit = self.options.time_limit
        return None if limit is None else max(_SHARE * limit, _SHARE)

    @property
    def certifier(self) -> Certifier:
        """The certificate of any answer's multipliers at any point of this model."""
        return Certifier(self.model, self.form)

    def said(self, status: Status, *remarks: str) -> Judgement:
        """The judgement with a status and further remarks."""
        return replace(self, verdict=Verdict(status, (*self.verdict.remarks, *(text for text in remarks if text))))


def judge(model: Model, solver: Solver, answer: Answer, options: Options, licence: Licence, picked: str = "") -> Result:
    """Recompute the certificate of an answer and return the result that it supports."""
    owner = model if answer.model is None else answer.model
    form, tol = form_that_fits(owner), options.tolerance(solver.info.tolerance)
    if form is not None and answer.multipliers is not None:
        answer = replace(answer, multipliers=owner.complete_multipliers(answer.multipliers))
    judgement = Judgement(model, owner, form, solver, options, tol, claim=answer, answer=answer)
    for stage in STAGES:
        judgement = stage(judgement)
    return _result(judgement, licence, picked)


def form_that_fits(model: Model) -> StandardForm | None:
    """Return the standard form; None if it is too large or does not exist, and the model appraises points itself."""
    try:
        return None if model.certified_by_appraisal else model.form
    except (TooLargeError, UnsupportedModelError):
        return None


def validate(given: Judgement) -> Judgement:
    """Leave out arrays that do not fit the form or hold no numbers, and a proof that only the solver's word supports.

    Only our own exact solvers have an argument for a bound of their own, so ``proved`` of any other is dropped. So is the bound
    that a solver claims of a problem that is known not to be convex, unless its record says that it reads such problems.
    """
    answer, info = validate_answer(given.answer, given.form), given.solver.info
    if answer.proved and info.package:
        answer = replace(answer, proved=False)
    searches = answer.proved or answer.bound is None or info.reads >= NONCONVEX
    if not searches and given.form is not None and given.form.features & NONCONVEX:
        answer = replace(answer, bound=None)
    return replace(given, answer=answer)


def complete(given: Judgement) -> Judgement:
    """Take the answer's point, with the blocks that the model computes from the others; no point where numbers are missing."""
    values = given.answer.values
    if values is None or not all(np.isfinite(np.asarray(value)).all() for value in values.values()):
        return given
    if given.form is None:
        return replace(given, values=values)
    try:
        values = given.model.complete(values)
        given.form.join(values)
    except (InputError, KeyError):  # blocks are missing that the model cannot complete
        return given
    return replace(given, values=values, polished=given.answer.polished)


def polish_integers(given: Judgement) -> Judgement:
    """Round the integers of a mixed-integer point and solve for the rest again, so that incumbents of all solvers compare.

    The new point is feasible and not worse by recomputed figures; a point whose integers are far from whole numbers stays.
    """
    form = given.form
    if given.values is None or form is None or not form.integer.any():
        return given
    integers = form.join(given.values)[form.integer]
    if np.abs(integers - np.round(integers)).max() > _INTEGRALITY:
        return given
    better = polished(form, given.values, given.model, given.seconds)
    return replace(given, values=better.values, polished=better.note or given.polished)


def certify_point(given: Judgement) -> Judgement:
    """Recompute the certificate of the point and the answer's multipliers from the data."""
    return given if given.values is None else replace(given, certificate=given.certifier(given.answer, given.values))


def move_to_zero_objective(given: Judgement) -> Judgement:
    """Take the model's point of objective zero, if it is proved that no point costs less and the solver stopped beside it.

    A certificate that meets the tolerance is left as it is, and so is a bound above zero, which excludes such an optimum.
    """
    answer, certificate = given.answer, given.certificate
    claimed = answer.status.stopped or answer.status in (Status.OPTIMAL, Status.STALLED)
    if certificate is None or not claimed or certificate.bound > 0.0 or certificate.gap_within(given.tol):
        return given
    values = given.model.zero_objective_point()
    best = None if values is None else certify_zero_objective(given.certifier, answer, values)
    return given if best is None else replace(given, values=values, certificate=best, polished=MOVED_TO_ZERO)


def supply_multipliers(given: Judgement) -> Judgement:
    """Replace multipliers that bound nothing, or are missing, by ones computed from the data where those yield a bound.

    A bound holds for any multipliers, whoever found them.
    """
    if given.form is None or given.values is None or given.certificate is None or not given.certificate.wants_multipliers:
        return given
    answer, certificate = with_multipliers(
        given.certifier, given.answer, given.values, given.certificate, given.tol, given.seconds
    )
    return replace(given, answer=answer, certificate=certificate)


def refine(given: Judgement) -> Judgement:
    """Refine point and multipliers of a claimed optimum by Newton's method, if the certificate then proves what it did not.

    The certificate of the refined pair decides, and the point may not move away from the one that the solver gave.
    """
    answer, certificate = given.answer, given.certificate
    if given.form is None or given.values is None or certificate is None:
        return given
    if answer.status is not Status.OPTIMAL or answer.multipliers is None or proves_optimum(answer, certificate, given.tol):
        return given
    refined = refine_by_newton(given.certifier, (answer, given.values, certificate), given.tol, given.seconds)
    if refined is None:
        return given
    answer, values, certificate = refined
    return replace(given, answer=answer, values=values, certificate=certificate, polished=REFINED)


def mark_inner(given: Judgement) -> Judgement:
    """Mark the certificate where the solver moved a parameter: a bound at the parameter is none of the problem that was asked."""
    answer, certificate = given.answer, given.certificate
    if certificate is None or answer.model is None or answer.same_problem:
        return given
    return replace(given, certificate=replace(certificate, inner=True))


def examine_ray(given: Judgement) -> Judgement:
    """Examine the ray of a claim of infeasibility or unboundedness, and supply one that proves it or what contradicts it."""
    if given.form is None:
        return given
    ray = _ray(given.form, given.answer, given.claim)
    if given.answer.status not in (Status.INFEASIBLE, Status.UNBOUNDED):
        return replace(given, ray=ray)
    completed = complete_claim(given.form, given.answer, ray)
    return replace(given, answer=completed.answer, ray=completed.ray, against=completed.against)


def _ray(form: StandardForm, answer: Answer, claim: Answer) -> Ray:
    """Examine the ray that is to prove the claim. A claimed ray that is no array of numbers speaks against the claim."""
    ray: FloatArray | Mapping[str, FloatArray] | None = answer.farkas
    farkas: object = claim.farkas
    if answer.status is Status.UNBOUNDED:
        ray, farkas = None if answer.ray is None else form.join(answer.ray), claim.ray
    elif ray is None and (form.lower > form.upper).any():
        ray = {}
    if ray is None:
        return Ray() if farkas is None else Ray(float("inf"))
    return Ray.of(form, answer.status, ray)


def decide(given: Judgement) -> Judgement:
    """Decide on the status: the claim as far as certificate and ray support it (`solvers.certification.verdict`)."""
    found = verdict(given.answer, given.certificate, given.tol)
    status, ray = found.status, given.ray
    if status not in (Status.INFEASIBLE, Status.UNBOUNDED):
        return replace(given, verdict=found)
    remarks = [*found.remarks, given.against or ray.words(status)]
    if status is Status.UNBOUNDED and ray.proved and given.answer.ray is not None:
        remarks.append(ray.moves(given.answer.ray))
    return replace(given, verdict=Verdict(Status.INACCURATE if given.against or ray.contradicts else status, tuple(remarks)))


def check_cutoff(given: Judgement) -> Judgement:
    """Lower the status where the form's constants hold up to an objective only, and the optimum may lie beyond it.

    Warns
    -----
    MarginoptWarning
        The constants were given by the user.
    """
    if not given.solver.reads_form:
        return given
    beyond = exceeds_cutoff(given.verdict.status, given.certificate, given.model, given.tol)
    if beyond and not given.model.changes:
        warnings.warn(beyond, MarginoptWarning, stacklevel=_CALLER)
    return given.said(Status.INACCURATE, beyond) if beyond else given


def search_counterexample(given: Judgement) -> Judgement:
    """Look for a feasible point that the claim excludes; such a point replaces the solver's, and the claim is not supported.

    Own multipliers with a bound say how far the solver's point is from the optimum, and a proved ray leaves no point: then the
    search is left out. The larger of both bounds is kept, since a bound does not depend on the point.
    """
    form, certificate = given.form, given.certificate
    bounded = given.claim.multipliers is not None and certificate is not None and np.isfinite(certificate.bound)
    if form is None or given.ray.proved or bounded or (given.answer.model is not None and not given.answer.same_problem):
        return given
    refutation = refuted(given.model, form, given.answer, certificate, given.tol, given.seconds)
    if refutation is None:
        return given
    best = refutation.certificate if certificate is None else refutation.certificate.with_better_bound(certificate)
    if given.claim.multipliers is None:
        return replace(given, values=refutation.values, certificate=best).said(Status.INACCURATE, refutation.remark)
    # the solver's own multipliers may prove the better point optimal
    answer, best = with_multipliers(given.certifier, given.answer, refutation.values, best, given.tol, given.seconds)
    proved = answer.status is Status.OPTIMAL and proves_optimum(replace(answer, bound=None), best, given.tol)
    status = Status.OPTIMAL if proved else Status.INACCURATE
    return replace(given, answer=answer, values=refutation.values, certificate=best).said(status, refutation.remark)


def examine_optimum(given: Judgement) -> Judgement:
    """Lower the status of an optimum that rests on the solver's word where its tolerances leave the optimum open.

    Beyond that the cost of w is counted from the data without a tolerance; a point that costs more than is stated is no optimum.
    """
    status, values = given.verdict.status, given.values
    if values is None or status not in (Status.OPTIMAL, Status.INACCURATE):
        return given
    if status is Status.INACCURATE:
        points = [point for point in (values, given.answer.values) if point]
        missed = [counted.miss for point in points if (counted := given.model.counted_cost(point)) is not None]
        return given.said(status, _MISSED.format(max(missed))) if any(missed) else given
    objection = _unsupported_optimum(given, values) or _cost_objection(given, values)
    return given.said(Status.INACCURATE, objection) if objection else given


def _unsupported_optimum(given: Judgement, values: Mapping[str, FloatArray]) -> str:
    """Return why nothing follows where an optimum rests on the solver's bound alone; empty where something does."""
    form, certificate, info = given.form, given.certificate, given.solver.info
    if form is None or not given.solver.reads_form or certificate is None or np.isfinite(certificate.bound):
        return ""
    native, ours = info.integrality
    tolerance = float(given.options.native.get(native, ours))
    if certificate.integrality is None:
        return unresolved(given.answer, certificate, tolerance, given.tol)
    return (
        (unbounded_integer_ray(form) if form.quadratic is None else "")
        or big_m_exceeds_tolerance(form, form.join(values), tolerance)
        or below_solver_tolerance(certificate, tolerance)
    )


def _cost_objection(given: Judgement, values: Mapping[str, FloatArray]) -> str:
    """Return by how much w costs more, counted from the data, than is stated; empty where it does not."""
    certificate, counted = given.certificate, given.model.counted_cost(values) if given.certificate is not None else None
    if counted is None or certificate is None:
        return ""
    stated, short = certificate.objective, f"margins miss their thresholds by up to {counted.miss:.1e}"
    if counted.excess and certificate.integrality is not None:  # of a continuous program those are rows, met to tolerance
        return f"counted exactly, w breaks its restrictions {counted.excess} times: {short}"
    lost = certificate.rounding + certificate.error + counted.rounding
    if counted.cost <= stated + given.tol * max(abs(stated), abs(counted.cost)) + lost:
        return ""
    return f"counted exactly, w costs {counted.cost:.10g}, not {stated:.10g} (minimised): {short}"


def compare_imports(given: Judgement) -> Judgement:
    """Compare the answer to an imported program with what its source says of the point, the bound and infeasibility."""
    if given.form is None or not given.model.imports:
        return given
    x = None if given.values is None else given.form.join(given.values)
    return replace(
        given, verdict=compare_with_sources(given.model, given.form, x, given.certificate, given.verdict, given.ray.proved)
    )


#: The stages of certification, in their order.
STAGES: tuple[Callable[[Judgement], Judgement], ...] = (
    validate,
    complete,
    polish_integers,
    certify_point,
    move_to_zero_objective,
    supply_multipliers,
    refine,
    mark_inner,
    examine_ray,
    decide,
    check_cutoff,
    search_counterexample,
    examine_optimum,
    compare_imports,
)


def _pool(judgement: Judgement) -> tuple[PoolPoint, ...]:
    """Return the points of the answer's pool, completed and judged, best first; points that do not fit are left out."""
    points, sign = [], -1.0 if judgement.form is not None and judgement.form.maximise else 1.0
    for values in judgement.answer.pool:
        point = complete(validate(replace(judgement, answer=Answer(values=values), values=None))).values
        if point is not None:
            certificate = judgement.certifier(Answer(), point)
            points.append(PoolPoint(sign * certificate.objective, point, certificate))
    return tuple(sorted(points, key=lambda point: point.certificate.objective))


def _result(given: Judgement, licence: Licence, picked: str) -> Result:
    """Return the result that the last stage leaves."""
    info, answer, certificate, values, form = given.solver.info, given.answer, given.certificate, given.values, given.form
    status = given.verdict.status
    ended = f"{info.name} ended with {answer.native_status or 'no word'}" if status is Status.FAILED else ""
    derived = "" if certificate is None or not np.isfinite(certificate.bound) else certificate.derived
    limit, caveat = given.options.time_limit, info.time_limit_caveat
    late = "" if limit is None else time_limit_remark(answer, given.options, caveat)
    remarks = (*given.verdict.remarks, derived, ended, answer.bound_caveat, late)
    return Result(
        model=given.stated.name,
        solver=info.name,
        status=status,
        answer=replace(answer, version=answer.version or version_of("marginopt"), polished=given.polished),
        certificate=certificate,
        values={} if values is None else dict(values),
        reduced=None if answer.reduced is None or form is None else form.split(answer.reduced),
        pool=_pool(given),
        evidence="; ".join(remark for remark in remarks if remark),
        ray_residual=given.ray.residual,
        picked=picked,
        options=given.options.record(),
        licence=licence.state.value,
        summary={} if values is None else given.model.summary(values),
        maximise=form is not None and form.maximise,
        digest=fingerprint(given.stated),
        about=describe(given.stated),
        stated=given.stated,
        tol=given.tol,
    )


# Validation of an answer: arrays of the form's shapes with finite numbers stay; all others are left out and named.
#
# A solver may return anything: NaN, arrays of other shapes or kinds, labels that the form does not have. No such value is
# believed, and none stops the certification of the rest.

#: Beyond this the square of a number is no number.
_LARGEST = 1e150


def validate_answer(answer: Answer, form: StandardForm | None) -> Answer:
    """The answer without what is no number, or does not fit the form; ``details["refused"]`` names it.

    A point with one block that does not fit is no point (blocks that the model completes may be missing); multipliers with
    one array that does not fit are none. Claims of numbers that are NaN, or of the wrong infinity, are no claims.

    Parameters
    ----------
    answer : Answer
    form : StandardForm or None
        None where the model has none: then only kinds and finiteness are looked at.
    """
    blocks = None if form is None else {b.label: b.shape for b in form.blocks}
    rows = None if form is None else {c.label: (c.rows,) for c in form.constraints}
    refused: list[str] = []
    changes: dict[str, Any] = {}
    for part, shapes in (("values", blocks), ("ray", blocks), ("multipliers", rows), ("farkas", rows)):
        part_value = getattr(answer, part)
        if part_value is not None:
            changes[part] = _arrays(part_value, shapes, part, refused)
    if changes.get("ray") is not None and blocks is not None and not blocks.keys() <= changes["ray"].keys():
        refused.append("ray: blocks are missing")
        changes["ray"] = None
    if answer.reduced is not None:
        reduced = _array(answer.reduced, None if form is None else (form.n,))
        refused += [] if reduced is not None else ["reduced costs"]
        changes["reduced"] = reduced
    for name in ("objective", "bound", "root_bound"):
        value = getattr(answer, name)
        if value is not None and not (isinstance(value, int | float) and abs(value) <= _LARGEST):
            changes[name] = None
    details = answer.details if not refused else {**answer.details, "refused": "; ".join(refused)}
    return replace(answer, **changes, details=details)


def _arrays(
    given: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]] | None, part: str, refused: list[str]
) -> dict[str, FloatArray] | None:
    """Arrays by label, or None where one of them does not fit; labels of nothing in the form stay only where there is no form."""
    arrays = {}
    for label, value in given.items():
        if shapes is not None and label not in shapes and part in ("multipliers", "farkas"):
            refused.append(f"{part}: the form has no constraint {label}")
            continue
        array = _array(value, None if shapes is None else shapes.get(label))
        if array is None:
            refused.append(f"{part}: {label} is no array of finite numbers of its shape")
            return None
        arrays[label] = array
    return arrays


def _array(value: Any, shape: tuple[int, ...] | None) -> FloatArray | None:
    """The value as it is, if it holds finite real numbers in this shape."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub" or (shape is not None and array.shape != shape):
        return None
    numbers = array if array.dtype == np.float64 else array.astype(np.float64)
    return numbers if float(np.abs(numbers).max(initial=0.0)) <= _LARGEST else None  # false for NaN
