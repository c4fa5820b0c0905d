"""Certification of a solver's answer: `judge` recomputes it from the data, stage by stage, and returns the `Result`.

A solver's answer is a claim. The stages recompute what the claim is worth from the data alone: they validate the answer, complete
and polish its point, certify it, supply evidence that the solver did not give (multipliers, rays), decide on a status, and look
for objections to this status. A judgement is a frozen value: a stage returns a copy with some fields changed. The order of
`STAGES` is the order in which the evidence is used. The rules that stages apply are in `solvers.certification`; two stages run a
solver on a small problem (`solvers.polishing`, `solvers.counterexamples`). No stage calls ``solve``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import InputError, MarginoptWarning, TooLargeError, UnsupportedModelError
from ..models.arrays import LARGE_SYSTEM, FloatArray, blas_threads
from ..models.digest import describe, fingerprint
from ..models.model import Model
from ..models.program.form import StandardForm
from .certification.answer_completion import (
    ZERO_OBJECTIVE_NOTE,
    certify_zero_objective,
    complete_claim,
    improve_multipliers,
    lower_bound_reason,
    unbounded_integer_ray,
)
from .certification.certificate import Certificate, Certifier
from .certification.newton_refinement import REFINEMENT_NOTE, refine_by_newton
from .certification.rays import RayEvidence
from .certification.result import PoolPoint, Result
from .certification.verdict import (
    Verdict,
    big_m_objection,
    compare_with_sources,
    cutoff_objection,
    feasibility_tolerance_objection,
    gap_closed,
    proves_optimum,
    reach_objection,
    small_objective_objection,
    verdict,
)
from .counterexamples import find_counterexample
from .interface.solver import NONCONVEX_FEATURES, Licence, Solver, installed_version
from .interface.timeouts import time_limit_remark
from .polishing import polish
from .records import Answer, Options, Status

#: Integers within this distance of a whole number are rounded before the other variables are solved for again.
_INTEGRALITY = 1e-4
#: Relative difference of objectives that count as equal; residual of a point that violates its rows by rounding only.
_EQUAL, _MET = 1e-9, 1e-12
#: Frames of the stack between a warning of a stage and the call of ``solve``.
_CALLER = 6
#: The remark on a point that costs more than the solver claims, because no double is on the better side of a threshold.
_MISSED = "counted exactly, margins miss their thresholds by up to {:.1e}, and no point beside the solver's meets them"
#: Remarks on margins below their thresholds, and on restrictions of w that exact arithmetic finds broken.
_SHORT = "margins miss their thresholds by up to {:.1e}"
_BROKEN = "counted exactly, w breaks its restrictions {} times: " + _SHORT
#: Share of the time limit, and the number of seconds, that a stage which solves or searches may take at least.
_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Judgement:
    """The state of an answer between two stages of certification."""

    original_model: Model  #: the model that was asked to be solved
    model: Model  #: the model that the point belongs to: another one where the solver also optimised a parameter (`Answer.model`)
    form: StandardForm | None  #: the standard form of ``model``; None where it has none that fits
    solver: Solver  #: the solver that gave the answer
    options: Options  #: options of the solve
    tol: float  #: relative gap that an optimum is held to
    claim: Answer  #: the answer as the solver gave it
    answer: Answer  #: the claim with the arrays that fit the form, and with the evidence that was supplied
    values: Mapping[str, FloatArray] | None = None  #: the point that is certified; None without one
    certificate: Certificate | None = None  #: the certificate of ``values`` and the answer's multipliers
    faults: str = ""  #: parts of the answer that do not fit the form
    polished: str = ""  #: the origin of the point if it is not the solver's; else empty
    ray: RayEvidence = field(default_factory=RayEvidence)  #: the evidence behind a claim of infeasibility or unboundedness
    objection: str = ""  #: the sentence that contradicts a claim of infeasibility or unboundedness; empty without one
    verdict: Verdict = field(default_factory=lambda: Verdict(Status.FAILED))  #: the status and its remarks
    begin: float = field(default_factory=time.perf_counter)  #: the time at which the first stage began

    @property
    def seconds(self) -> float | None:
        """Seconds for a stage that solves or searches: the rest of the time limit, but at least a tenth of it and 0.1 s.

        None without a limit.
        """
        limit = self.options.time_limit
        if limit is None:
            return None
        left = limit - self.claim.build_seconds - self.claim.solve_seconds - (time.perf_counter() - self.begin)
        return max(left, _SHARE * limit, _SHARE)

    @property
    def certifier(self) -> Certifier:
        """The function that certifies the multipliers of an answer at a point of this model."""
        return Certifier(self.model, self.form)

    def with_status(self, status: Status, *remarks: str) -> Judgement:
        """Return the judgement with a status and further remarks."""
        return replace(self, verdict=Verdict(status, (*self.verdict.remarks, *(text for text in remarks if text))))


def judge(
    model: Model, solver: Solver, answer: Answer, options: Options, licence: Licence, picked: str = "", *, as_given: bool = False
) -> Result:
    """Recompute the certificate of an answer and return the result that it supports.

    ``picked`` is the reason why ``auto`` took the solver, empty if it was named. With ``as_given``, for stored results and
    files, no stage improves the point: polishing could turn a claimed point that is infeasible into a feasible one.
    """
    owner = model if answer.model is None else answer.model
    form, tol = form_that_fits(owner), options.tolerance(solver.info.tolerance)
    if form is not None and answer.multipliers is not None:
        answer = replace(answer, multipliers=owner.complete_multipliers(answer.multipliers))
    judgement = Judgement(model, owner, form, solver, options, tol, claim=answer, answer=answer)
    with blas_threads(LARGE_SYSTEM if form is None else form.n):
        for stage in STAGES_OF_GIVEN_POINTS if as_given else STAGES:
            judgement = stage(judgement)
    return _result(judgement, licence, picked).register_proved_bound()


def form_that_fits(model: Model) -> StandardForm | None:
    """Return the standard form; None if it is too large or does not exist, and the model appraises points itself."""
    try:
        return None if model.certified_by_appraisal else model.form
    except (TooLargeError, UnsupportedModelError):
        return None


def validate(judgement: Judgement) -> Judgement:
    """Leave out arrays that do not fit the form or hold no numbers, and claims of proof by solvers of other packages.

    Only exact solvers of this package prove their bounds, so ``proved`` of any other is dropped. So is the bound that a solver
    claims for a problem that is known not to be convex, unless its record says that it reads such problems.
    """
    info = judgement.solver.info
    claim = replace(judgement.answer, proved=False) if judgement.answer.proved and info.package else judgement.answer
    answer, faults = validate_answer(claim, judgement.form)
    searches = answer.proved or answer.bound is None or info.reads >= NONCONVEX_FEATURES
    if not searches and judgement.form is not None and judgement.form.features & NONCONVEX_FEATURES:
        answer = replace(answer, bound=None)
    return replace(judgement, answer=answer, faults=faults)


def complete(judgement: Judgement) -> Judgement:
    """Take the answer's point, with the blocks that the model computes from the others; no point if numbers are missing."""
    values = judgement.answer.values
    if values is None or not all(np.isfinite(np.asarray(value)).all() for value in values.values()):
        return judgement
    if judgement.form is None:
        return replace(judgement, values=values)
    try:
        values = judgement.model.complete(values)
        judgement.form.join(values)
    except (InputError, KeyError) as error:  # blocks are missing that the model cannot complete
        fault = "" if not values else str(error) if isinstance(error, InputError) else f"values for {error} are missing"
        return replace(judgement, faults="; ".join(filter(None, (judgement.faults, fault))))
    return replace(judgement, values=values, polished=judgement.answer.polished)


def polish_point(judgement: Judgement) -> Judgement:
    """Round the integers of a mixed-integer point and solve for the rest again, so that incumbents of solvers are comparable.

    The new point is not worse by recomputed figures; a point whose integers are far from whole numbers stays. In a model without
    integer variables whose cost counts margins, the point is moved within rounding, so that its cost in exact arithmetic is the
    stated one (`Model.exact_point`).
    """
    form = judgement.form
    if judgement.values is None or form is None:
        return judgement
    if not form.integer.any():
        return replace(judgement, values=judgement.model.exact_point(judgement.values))
    integers = form.join(judgement.values)[form.integer]
    if np.abs(integers - np.round(integers)).max() > _INTEGRALITY:
        return judgement
    values, origin = polish(form, judgement.values, judgement.model, judgement.seconds)
    return replace(judgement, values=values, polished=origin or judgement.polished)


def certify_point(judgement: Judgement) -> Judgement:
    """Recompute the certificate of the point and the answer's multipliers from the data."""
    if judgement.values is None:
        return judgement
    return replace(judgement, certificate=judgement.certifier(judgement.answer, judgement.values))


def minimise_slacks(judgement: Judgement) -> Judgement:
    """Replace the slacks of a continuous model's point by their optimal values for its coefficients, if the solver's differ.

    The stated objective is then the cost of the coefficients. The solver's point is kept if the new point violates its rows by
    more, or costs more while the solver's violates its rows by rounding only. It is kept if it supports an optimum and the new
    point does not, and if the new point would be called optimal although it costs more than w = 0.
    """
    form, values, certificate = judgement.form, judgement.values, judgement.certificate
    if form is None or values is None or certificate is None or form.integer.any():
        return judgement
    minimised = judgement.model.with_best_auxiliaries(values)
    objective = form.objective(form.join(minimised))
    rounding = certificate.rounding + _EQUAL * max(abs(objective), abs(certificate.objective))
    if abs(objective - certificate.objective) <= rounding:
        return judgement
    of_minimised = judgement.certifier(judgement.answer, minimised)
    costlier = of_minimised.objective > certificate.objective
    if of_minimised.primal_residual > max(certificate.primal_residual, _MET) or (costlier and certificate.feasible(_MET)):
        return judgement

    def supported(of_point: Certificate) -> bool:
        return verdict(judgement.answer, of_point, judgement.tol).status is Status.OPTIMAL

    promoted = supported(of_minimised) and objective > judgement.model.value_at_zero
    if promoted or (supported(certificate) and not supported(of_minimised)):
        return judgement
    return replace(judgement, values=minimised, certificate=of_minimised)


def move_to_zero_objective(judgement: Judgement) -> Judgement:
    """Take the model's point of objective zero, if it is proved that no point costs less.

    A certificate whose gap meets the tolerance is not changed, nor one with a bound above zero, which excludes such an optimum.
    """
    answer, certificate = judgement.answer, judgement.certificate
    claimed = answer.status.stopped or answer.status in (Status.OPTIMAL, Status.STALLED)
    if certificate is None or not claimed or certificate.bound > 0.0 or certificate.gap_within(judgement.tol):
        return judgement
    values = judgement.model.zero_objective_point()
    best = None if values is None else certify_zero_objective(judgement.certifier, answer, values)
    return judgement if best is None else replace(judgement, values=values, certificate=best, polished=ZERO_OBJECTIVE_NOTE)


def supply_multipliers(judgement: Judgement) -> Judgement:
    """Replace missing or useless multipliers by multipliers computed from the data, if those yield a bound.

    A bound holds for any multipliers, whatever their source.
    """
    answer, values, certificate = judgement.answer, judgement.values, judgement.certificate
    if judgement.form is None or values is None or certificate is None or not certificate.wants_multipliers:
        return judgement
    answer, certificate = improve_multipliers(judgement.certifier, answer, values, certificate, judgement.tol, judgement.seconds)
    return replace(judgement, answer=answer, certificate=certificate)


def refine(judgement: Judgement) -> Judgement:
    """Refine point and multipliers of a claimed optimum by Newton's method, if the certificate then proves the optimum.

    The certificate of the refined pair decides, and the point may not move away from the one that the solver gave.
    """
    answer, certificate = judgement.answer, judgement.certificate
    if judgement.form is None or judgement.values is None or certificate is None:
        return judgement
    if answer.status is not Status.OPTIMAL or answer.multipliers is None or proves_optimum(answer, certificate, judgement.tol):
        return judgement
    refined = refine_by_newton(judgement.certifier, (answer, judgement.values, certificate), judgement.tol, judgement.seconds)
    if refined is None:
        return judgement
    answer, values, certificate = refined
    return replace(judgement, answer=answer, values=values, certificate=certificate, polished=REFINEMENT_NOTE)


def mark_optimised_parameter(judgement: Judgement) -> Judgement:
    """Mark the certificate where the solver optimised a parameter of the model: its bound holds at the parameter's value only."""
    answer, certificate = judgement.answer, judgement.certificate
    if certificate is None or answer.model is None or answer.same_problem:
        return judgement
    return replace(judgement, certificate=replace(certificate, inner=True))


def examine_ray(judgement: Judgement) -> Judgement:
    """Examine the ray of a claim of infeasibility or unboundedness, and supply a ray that proves it, or an objection."""
    if judgement.form is None:
        return judgement
    ray = _ray(judgement.form, judgement.answer, judgement.claim)
    if judgement.answer.status not in (Status.INFEASIBLE, Status.UNBOUNDED):
        return replace(judgement, ray=ray)
    form, model, answer = judgement.form, judgement.model, judgement.answer
    points, bounded = [], ""
    if answer.status is Status.UNBOUNDED:
        zero = model.zero_objective_point()
        points = [form.join(values) for values in (judgement.values, zero) if values is not None]
        bounded = lower_bound_reason(model, form, answer)
    completed = complete_claim(form, answer, ray, points, bounded, judgement.seconds)
    return replace(judgement, answer=completed.answer, ray=completed.ray, objection=completed.objection)


def _ray(form: StandardForm, answer: Answer, claim: Answer) -> RayEvidence:
    """Examine the ray that is to prove the claim. A claimed ray that is no array of numbers speaks against the claim."""
    ray: FloatArray | Mapping[str, FloatArray] | None = answer.farkas
    farkas: object = claim.farkas
    if answer.status is Status.UNBOUNDED:
        ray, farkas = None if answer.ray is None else form.join(answer.ray), claim.ray
    elif ray is None and (form.lower > form.upper).any():
        ray = {}
    if ray is None:
        return RayEvidence() if farkas is None else RayEvidence(float("inf"))
    return RayEvidence.of(form, ray)


def decide(judgement: Judgement) -> Judgement:
    """Decide on the status: the claim as far as certificate and ray support it (`solvers.certification.verdict`)."""
    verdict_of_claim = verdict(judgement.answer, judgement.certificate, judgement.tol)
    status, ray = verdict_of_claim.status, judgement.ray
    if status not in (Status.INFEASIBLE, Status.UNBOUNDED):
        return replace(judgement, verdict=verdict_of_claim)
    remarks = [*verdict_of_claim.remarks, judgement.objection or _reason(judgement.answer, ray)]
    if status is Status.UNBOUNDED and ray.exact and judgement.answer.ray is not None:
        remarks.append(ray.descent_remark(judgement.answer.ray))
    return replace(
        judgement, verdict=Verdict(Status.INACCURATE if judgement.objection or ray.is_invalid else status, tuple(remarks))
    )


def _reason(answer: Answer, ray: RayEvidence) -> str:
    """Return the evidence for a claim of infeasibility or unboundedness: of an exact search, or of a ray."""
    if answer.excludes_all_points and ray.residual is None:
        return "proved: an exact search leaves no point"
    if answer.status is Status.INFEASIBLE and answer.proved and answer.bound is not None and ray.residual is None:
        bound_text = f"{answer.bound:.3g} (minimised)"
        return f"claimed by the solver: its search leaves no point that costs less than {bound_text}, and looks at no other"
    return ray.explanation(answer.status)


def check_cutoff(judgement: Judgement) -> Judgement:
    """Lower the status if the form's big-M constants hold only up to some objective, and the optimum may lie above it.

    Warns
    -----
    MarginoptWarning
        The constants, or the upper bound that they follow from, were given by the user; not for changed models.
    """
    if not judgement.solver.reads_form:
        return judgement
    exceeds = cutoff_objection(judgement.verdict.status, judgement.certificate, judgement.model, judgement.tol)
    if exceeds and not judgement.model.changes:
        warnings.warn(MarginoptWarning(exceeds, name="big_m"), stacklevel=_CALLER)
    return judgement.with_status(Status.INACCURATE, exceeds) if exceeds else judgement


def search_counterexample(judgement: Judgement) -> Judgement:
    """Look for a feasible point that the claim excludes; such a point replaces the solver's, and the claim is not supported.

    There is no search if the solver's multipliers give a bound, which says how far its point is from the optimum, or if an exact
    search or a ray proves the claim. The larger of both bounds is kept: a bound does not depend on the point.
    """
    form, certificate = judgement.form, judgement.certificate
    measured = judgement.claim.multipliers is not None and certificate is not None and np.isfinite(certificate.bound)
    answer = judgement.answer
    inner_problem = answer.model is not None and not answer.same_problem
    if form is None or measured or inner_problem or answer.proved or judgement.ray.proved:
        return judgement
    counterexample = find_counterexample(judgement.model, form, answer, certificate, judgement.tol, judgement.seconds)
    if counterexample is None:
        return judgement
    best = counterexample.certificate if certificate is None else counterexample.certificate.with_better_bound(certificate)
    status = Status.INACCURATE
    # remarks on the solver's point do not hold for the better one; remarks on a ray concern the claim
    remarks = () if answer.status is Status.OPTIMAL else judgement.verdict.remarks
    if judgement.claim.multipliers is not None:  # they may prove the better point optimal
        answer, best = improve_multipliers(
            judgement.certifier, answer, counterexample.values, best, judgement.tol, judgement.seconds
        )
        if answer.status is Status.OPTIMAL:
            bounded = np.isfinite(best.bound)  # then the solver's own bound, which the point refutes, is not used
            of_point = verdict(replace(answer, bound=None) if bounded else answer, best, judgement.tol)
            status, remarks = of_point.status if bounded else status, of_point.remarks
    elif (
        answer.status is Status.OPTIMAL
        and certificate is not None
        and certificate.objective - best.objective <= _own_tolerance(judgement)
        and gap_closed(best, best.bound, judgement.tol)
    ):
        status = Status.OPTIMAL  # the claim is right up to the solver's absolute tolerance, and the better point is proved so
    better = replace(judgement, answer=answer, values=counterexample.values, certificate=best, verdict=Verdict(status, remarks))
    return better.with_status(status, counterexample.remark)


def examine_optimum(judgement: Judgement) -> Judgement:
    """Lower the status of an optimum that rests on the solver's claim, if the solver's tolerances leave the optimum open.

    The cost of w is also computed from the data in exact arithmetic; a point that costs more than is stated is no optimum.
    """
    status, values = judgement.verdict.status, judgement.values
    if values is None or status not in (Status.OPTIMAL, Status.INACCURATE):
        return judgement
    if status is Status.INACCURATE:
        points = [point for point in (values, judgement.answer.values) if point]
        missed = [counted.shortfall for point in points if (counted := judgement.model.exact_cost(point)) is not None]
        return judgement.with_status(status, _MISSED.format(max(missed))) if any(missed) else judgement
    objection = _unsupported_optimum(judgement, values)
    if objection:
        return judgement.with_status(Status.INACCURATE, objection)
    return judgement.with_status(*_by_counted_cost(judgement, values))


def _own_tolerance(judgement: Judgement) -> float:
    """Return the absolute tolerance of a mixed-integer solver: the one that its run ended with, or as it was set."""
    if judgement.answer.integrality is not None:
        return judgement.answer.integrality
    native, tolerance = judgement.solver.info.integrality
    return float(judgement.options.native.get(native, tolerance))


def _unsupported_optimum(judgement: Judgement, values: Mapping[str, FloatArray]) -> str:
    """Return why an optimum that rests on the solver's claim alone is not supported; empty if it is, or has a bound."""
    form, certificate = judgement.form, judgement.certificate
    if form is None or not judgement.solver.reads_form or certificate is None or np.isfinite(certificate.bound):
        return ""
    tolerance = _own_tolerance(judgement)
    if certificate.integrality is None:
        return feasibility_tolerance_objection(judgement.answer, certificate, tolerance, judgement.tol)
    return (
        (unbounded_integer_ray(form) if form.quadratic is None else "")
        or big_m_objection(form, form.join(values), tolerance)
        or reach_objection(form, certificate, tolerance)
        or small_objective_objection(certificate, tolerance)
    )


def _by_counted_cost(judgement: Judgement, values: Mapping[str, FloatArray]) -> tuple[Status, str]:
    """Return the status by the cost of w in exact arithmetic, and a remark if it is too large or w breaks a restriction."""
    certificate = judgement.certificate
    counted = None if certificate is None else judgement.model.exact_cost(values)
    if counted is None or certificate is None:
        return Status.OPTIMAL, ""
    objective = certificate.objective
    missed = _BROKEN.format(counted.excess, counted.shortfall) if counted.excess else ""
    if missed and certificate.integrality is not None:
        return Status.INACCURATE, missed
    rounding = certificate.rounding + certificate.error + counted.rounding
    if counted.cost <= objective + judgement.tol * max(abs(objective), abs(counted.cost)) + rounding:
        return Status.OPTIMAL, missed  # restrictions of a continuous program are rows, satisfied to its tolerance
    text = f"counted exactly, w costs {counted.cost:.10g}, not {objective:.10g} (minimised): {_SHORT.format(counted.shortfall)}"
    return Status.INACCURATE, text


def compare_imports(judgement: Judgement) -> Judgement:
    """Compare the answer to an imported program with its source: the values at the point, the bound, and infeasibility."""
    if judgement.form is None or not judgement.model.imports:
        return judgement
    form = judgement.form
    x = None if judgement.values is None else form.join(judgement.values)

    def certificate_at(point: FloatArray) -> Certificate:
        return judgement.certifier(judgement.answer, form.split(point))

    verdict = compare_with_sources(
        judgement.model, form, x, judgement.certificate, judgement.verdict, judgement.ray.proved, certificate_at
    )
    return replace(judgement, verdict=verdict)


#: The stages of certification, in their order.
STAGES: tuple[Callable[[Judgement], Judgement], ...] = (
    validate,
    complete,
    polish_point,
    certify_point,
    minimise_slacks,
    move_to_zero_objective,
    supply_multipliers,
    refine,
    mark_optimised_parameter,
    examine_ray,
    decide,
    check_cutoff,
    search_counterexample,
    examine_optimum,
    compare_imports,
)


def _keeping_point(stage: Callable[[Judgement], Judgement]) -> Callable[[Judgement], Judgement]:
    """Return a stage that has no effect if the given stage would replace the point."""

    def guarded_stage(judgement: Judgement) -> Judgement:
        after, before = stage(judgement), judgement.values or {}
        unchanged = all(np.array_equal(value, before[label]) for label, value in (after.values or {}).items() if label in before)
        return after if unchanged else judgement

    return guarded_stage


#: The stages for points of files and stored results: no stage improves the point, but a counterexample still replaces it.
STAGES_OF_GIVEN_POINTS = tuple(
    _keeping_point(stage) if stage in (polish_point, minimise_slacks, move_to_zero_objective, refine) else stage
    for stage in STAGES
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


def _failure(judgement: Judgement) -> str:
    """Return the sentence on a solver that failed, or that claimed a status without a point."""
    native_status, claim = judgement.answer.native_status, judgement.claim.status
    if claim is not Status.FAILED and not native_status:
        return f"{judgement.solver.info.name} claims {claim} without a point"
    return f"{judgement.solver.info.name} ended with {native_status or 'no word'}"


def _result(judgement: Judgement, licence: Licence, picked: str) -> Result:
    """Return the result of the judgement after the last stage."""
    info, form, status = judgement.solver.info, judgement.form, judgement.verdict.status
    answer, values, certificate = judgement.answer, judgement.values, judgement.certificate
    failure = _failure(judgement) if status is Status.FAILED else ""
    if status is not Status.OPTIMAL and judgement.faults:  # a solver under development needs to be told
        failure = "; ".join(filter(None, (failure, f"refused of its answer: {judgement.faults}")))
    version = answer.version or installed_version(info.package or "marginopt") or ""
    derived = "" if certificate is None or not np.isfinite(certificate.bound) else certificate.derived
    limit, caveat = judgement.options.time_limit, info.time_limit_caveat
    lateness = "" if limit is None else time_limit_remark(answer, judgement.options, caveat)
    remarks = (*judgement.verdict.remarks, derived, failure, answer.bound_caveat, lateness)
    return Result(
        model=judgement.original_model.name,
        solver=info.name,
        status=status,
        answer=replace(answer, version=version, polished=judgement.polished),
        certificate=certificate,
        values={} if values is None else dict(values),
        reduced=None if answer.reduced is None or form is None else form.split(answer.reduced),
        pool=_pool(judgement),
        evidence="; ".join(remark for remark in remarks if remark),
        ray_residual=judgement.ray.residual,
        ray_proved=judgement.ray.proved,
        picked=picked,
        options=judgement.options.record(),
        licence=licence.state.value,
        summary={} if values is None else judgement.model.summary(values),
        maximise=form is not None and form.maximise,
        digest=fingerprint(judgement.original_model),
        model_description=describe(judgement.original_model),
        original_model=judgement.original_model,
        tol=judgement.tol,
    )


# Validation of an answer: arrays of the form's shapes with finite numbers stay; all others are left out and named.
#
# A solver may return anything: NaN, arrays of other shapes or kinds, labels that the form does not have. No such value is
# believed, and none stops the certification of the rest.

#: Largest size of a number in an answer: squares of larger ones overflow.
_LARGEST = 1e150


def validate_answer(answer: Answer, form: StandardForm | None) -> tuple[Answer, str]:
    """Return the answer without arrays and claims that cannot be used, and a sentence that lists the refused arrays.

    An array is refused if its shape is not the form's, or an entry is no finite number of at most 1e150; ``details["refused"]``
    lists them too.

    A point with one block that does not fit is left out as a whole (blocks that the model completes may be missing), and so are
    multipliers with one array that does not fit. Claimed objectives and bounds that are NaN, infinite or above 1e150 are left
    out, except for the infinite bound of an exact search that leaves no point.

    Parameters
    ----------
    answer : Answer
    form : StandardForm or None
        The form; None for a model without one: then shapes and labels are not compared.
    """
    blocks = None if form is None else {b.label: b.shape for b in form.blocks}
    rows = None if form is None else {c.label: (c.rows,) for c in form.constraints}
    faults: list[str] = []
    changes: dict[str, Any] = {}
    for part, shapes in (("values", blocks), ("ray", blocks), ("multipliers", rows), ("farkas", rows)):
        part_value = getattr(answer, part)
        if part_value is not None:
            changes[part] = _arrays(part_value, shapes, part, faults)
    if changes.get("ray") is not None and blocks is not None and not blocks.keys() <= changes["ray"].keys():
        faults.append("ray: blocks are missing")
        changes["ray"] = None
    if answer.reduced is not None:
        reduced = _array(answer.reduced, None if form is None else (form.n,))
        if reduced is None:
            shape = "" if form is None else f" of shape {(form.n,)}"
            faults.append(f"reduced is no array of finite numbers{shape}: {_fault(answer.reduced)}")
        changes["reduced"] = reduced
    for name in ("objective", "bound", "root_bound"):
        value = getattr(answer, name)
        if value is not None and not (isinstance(value, int | float) and abs(value) <= _LARGEST):
            changes[name] = value if name == "bound" and answer.excludes_all_points else None
    sentence = "; ".join(faults)
    details = answer.details if not faults else {**answer.details, "refused": sentence}
    return replace(answer, **changes, details=details), sentence


def _arrays(
    mapping: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]] | None, part: str, faults: list[str]
) -> dict[str, FloatArray] | None:
    """Return arrays by label; None if one does not fit. Without a form all labels stay."""
    arrays = {}
    for label, value in mapping.items():
        if shapes is not None and label not in shapes and part in ("multipliers", "farkas"):
            faults.append(f"{part}: the form has no constraint {label}")
            continue
        array = _array(value, None if shapes is None else shapes.get(label))
        if array is None:
            expected = "" if shapes is None or label not in shapes else f" of shape {shapes[label]}"
            faults.append(f"{part}[{label!r}] is no array of finite numbers{expected}: {_fault(value)}")
            return None
        arrays[label] = array
    return arrays


def _fault(value: Any) -> str:
    """Return the kind, the shape, or the entry for which a value is refused."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        return (
            f"it is a {type(value).__name__}" if not isinstance(value, np.ndarray) else f"its entries are of type {array.dtype}"
        )
    wrong = array[~(np.abs(array.astype(np.float64)) <= _LARGEST)]
    return f"it has {wrong[0]:g} among its entries" if wrong.size else f"it has shape {array.shape}"


def _array(value: Any, shape: tuple[int, ...] | None) -> FloatArray | None:
    """Return the value as an array of finite real numbers in this shape; None if it is not one."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub" or (shape is not None and array.shape != shape):
        return None
    numbers = array if array.dtype == np.float64 else array.astype(np.float64)
    return numbers if float(np.abs(numbers).max(initial=0.0)) <= _LARGEST else None  # false for NaN
