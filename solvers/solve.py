"""``solve``: choose a solver, check that it can, run it, judge the answer."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..errors import (
    InputError,
    LicenceError,
    MarginoptWarning,
    MissingPackageError,
    SolverError,
    TooLargeError,
    UnsupportedModelError,
    WriteError,
)
from ..models.arrays import FloatArray
from ..models.bare_form import as_model
from ..models.fingerprint import describe, fingerprint
from ..models.model import Model
from ..models.program.equations import solved_until
from ..models.program.form import StandardForm
from .auto import choose
from .certification.answer_validation import validate_answer
from .certification.certificate import Certificate, certify
from .certification.complete_claim import CompletedClaim, complete_claim, unbounded_integer_ray, with_multipliers
from .certification.import_checks import compare_with_sources
from .certification.model_certificate import certify_by_model
from .certification.newton_refinement import NOTE as SHARPENED, refine_by_newton
from .certification.rays import Ray
from .certification.result import Result
from .certification.separability import separability
from .certification.verdict import Verdict, below_solver_tolerance, big_m_exceeds_tolerance, exceeds_cutoff, verdict
from .certification.zero_optimum import NOTE, Values, nearby_zero_objective_point
from .interface.kept_model import Kept
from .interface.linear_rows import unused_start
from .interface.solver import Gives, Solver
from .interface.subprocess_limit import time_limit_remark
from .interface.versions import version_of
from .point_search import refuted, unresolved
from .polish import polished
from .records.answer import Answer
from .records.licence import Licence
from .records.options import Options
from .records.status import Status
from .registry import get_solver, readers, require
from .solver_spec import SolverLike, SolverSpec, resolve

__all__ = ["judge", "solve_problem"]

#: Integers within this of a whole number are rounded before the rest is re-solved.
_INTEGRALITY = 1e-4
#: Violation of a constraint between constants, relative, that counts as rounding.
_EXACT = 1e-9
#: Frames between a warning of `judge` and who called ``solve``.
_CALLER = 6
#: The largest numbers of a form that a solver is given.
_LARGEST = 1e150
#: What is said of a point that costs more than the solver claims, because no double is on the better side of a threshold.
_MISSED = "counted exactly, margins miss their thresholds by up to {:.1e}, and no point beside the solver's meets them"
#: Share of the time limit (and seconds at least) in which a point may be polished, and multipliers be repaired, after it.
_POLISHING = 0.1
#: Solvers that ``auto`` tries after its first, and bytes of a form (with an operator written out) up to which it does.
_MORE, _WRITTEN_OUT = 3, 1e8
#: Residual up to which a point is compared by its objective.
_FEASIBLE = 1e-6
#: Ends after which another solver may do better; limits are what was asked for, and all others are answers.
_UNMET = frozenset({Status.STALLED, Status.INACCURATE, Status.FAILED})


def solve_problem(
    given: Model | StandardForm, solver: SolverLike | SolverSpec, options: Options, kept: Kept | None = None
) -> Result:
    """Solve a model (or a bare form) by the solver that is asked for and judge the answer.

    Where ``auto``'s first solver ends without meeting the tolerance, the next ones by rank have their turn, and the best answer
    is returned. ``kept`` holds a backend's own model between the calls of one path.

    Raises
    ------
    InputError
        Unknown solver, option or value.
    UnsupportedModelError
        The solver cannot read the model; says what is missing and which solvers can.
    MissingPackageError, LicenceError
        The solver is not installed, or not licensed (for a model of this size).
    WriteError
        A proof log that was asked for could not be written; holds the result.
    """
    begin = time.perf_counter()
    model = as_model(given)
    picked = ""
    spec = resolve(solver)
    options = spec.over(options)
    chosen = spec.solver
    if chosen is None:
        name, picked = choose(model, options)
        chosen = get_solver(name)
    result = _solved_by(chosen, model, options, begin, picked, kept)
    if spec.solver is None and kept is None and result.status in _UNMET and not options.native and _retry_fits(model):
        return _retried(model, options, begin, result, chosen.info.name)
    return result


def _retry_fits(model: Model) -> bool:
    """Return whether solvers that read the form, a dense quadratic part included, could still have their turn."""
    form = _form_if_it_fits(model)
    if form is None or model.form_bytes > _WRITTEN_OUT:
        return False
    return form.quadratic is None or form.quadratic.operator is None or 8 * form.n**2 <= _WRITTEN_OUT


def _retried(model: Model, options: Options, begin: float, first: Result, name: str) -> Result:
    """Return the best answer of the first and of the solvers that rank next, up to one that meets the tolerance."""
    best, tried = first, [name]
    while not best.solved and len(tried) <= _MORE:
        if options.time_limit is not None and time.perf_counter() - begin >= options.time_limit:
            break
        try:
            name, why = choose(model, options, without=tried)
        except UnsupportedModelError:  # no other solver reads it
            break
        tried.append(name)
        unmet = f"{first.solver} ended without meeting the tolerance ({first.status}, relative gap {first.gap:.1e})"
        try:
            other = _solved_by(get_solver(name), model, options, begin, f"{why}; {unmet}", None)
        except (SolverError, TooLargeError):
            continue
        best = max(best, other, key=_worth)
    return best


def _worth(result: Result) -> tuple[bool, bool, float, float]:
    """Solved before unsolved, feasible before infeasible, then what the bound leaves open; a relative gap is none across zero."""
    certificate = result.certificate
    if certificate is None:
        return result.solved, False, -np.inf, -np.inf
    return result.solved, certificate.feasible(_FEASIBLE), certificate.bound - certificate.objective, -certificate.objective


def _solved_by(chosen: Solver, model: Model, options: Options, begin: float, picked: str, kept: Kept | None) -> Result:
    """Check that a solver can solve the model, run it and judge the answer."""
    licence = _licence(chosen, model, options)
    obstacle = chosen.obstacle(model)
    if obstacle is not None:
        able = ", ".join(readers(model)) or "none that is installed"
        raise UnsupportedModelError(f"{chosen.info.name} cannot solve {model.name}: {obstacle}. Solvers that can: {able}")
    refusal = licence.refusal(model.form) if chosen.reads_form else None
    if refusal is not None:
        able = ", ".join(name for name in readers(model) if get_solver(name).licence().limit is None)
        raise LicenceError(
            f"{chosen.info.name}: {refusal}. Without such a limit: {able or 'none that is installed'}"
            + _alternative(model, options)
        )
    _check_start(model, chosen, options)
    decided = _inseparable(model, chosen) or _crossing(model, chosen) or _constant(model, chosen)
    if decided is not None:
        raw = decided
    else:
        # a model that is kept was built under its options, time limit included, and would be built anew under others
        left = options if kept is not None and chosen.reads_form else options.after(time.perf_counter() - begin)
        raw = chosen.run(model, left, kept)
    with solved_until(_end(options, begin)):
        result = judge(model, chosen, raw, options, licence, picked)
    if raw.write_error is not None:
        raise WriteError(f"{raw.write_error}; the search ended there, and .result of this error holds what it had found", result)
    return result


def _end(options: Options, begin: float) -> float:
    """Return the deadline of the answer's certification: a share of the time limit after it, or after the solver."""
    if options.time_limit is None:
        return np.inf
    return max(begin + options.time_limit, time.perf_counter()) + max(_POLISHING * options.time_limit, _POLISHING)


def _licence(chosen: Solver, model: Model, options: Options) -> Licence:
    """The licence of the solver, before anything is built for it; a refusal names the best open alternative."""
    try:
        return require(chosen)
    except (LicenceError, MissingPackageError) as error:
        raise type(error)(str(error).rstrip(".") + _alternative(model, options)) from error


def _alternative(model: Model, options: Options) -> str:
    """The open solver that reads the problem best, as a sentence."""
    try:
        name, _ = choose(model, options, only_open=True)
    except (TooLargeError, UnsupportedModelError):
        return f". No open solver that is installed reads {model.name}"
    return f". The best open one for {model.name}: {name}"


def _check_start(model: Model, chosen: Solver, options: Options) -> None:
    """Start values must be finite, carry labels that the model has, and have their shapes; a solver without starts warns."""
    if options.start is None:
        return
    if _form_if_it_fits(model) is not None:  # without a form the algorithm checks its start itself
        model.form.values_given(options.start, "start")
    if Gives.WARM_START not in chosen.info.gives:
        unused_start(chosen.info.name, "it takes no starts")


def judge(model: Model, solver: Solver, raw: Answer, options: Options, licence: Licence, picked: str = "") -> Result:
    """Recompute the certificate of an answer and say what it supports."""
    settled = model if raw.model is None else raw.model
    form = _form_if_it_fits(settled)
    if form is not None and raw.multipliers is not None:
        raw = replace(raw, multipliers=settled.complete_multipliers(raw.multipliers))
    original_answer, raw = raw, validate_answer(raw, form)
    if raw.proved and solver.info.package:  # only our own exact solver has an argument for a bound of its own
        raw = replace(raw, proved=False)
    tol = options.tolerance(solver.info.tolerance)
    seconds = None if options.time_limit is None else max(_POLISHING * options.time_limit, _POLISHING)
    raw, point = _refined(form, settled, raw, _certified_point(form, settled, raw, tol, seconds), tol, seconds)
    values, certificate = point.values, point.certificate
    if certificate is not None and raw.model is not None and not raw.same_problem:
        certificate = replace(certificate, inner=True)
    claim = CompletedClaim(raw, Ray()) if form is None else complete_claim(form, raw, _ray(form, raw, original_answer))
    verdict_on_claim = _concluded(verdict(raw, certificate, tol), claim, certificate, settled, tol, solver.reads_form)
    refutation = None
    # the gap of a solver's own point and multipliers says how far it is from the optimum: no other point is looked for
    gap_is_own = original_answer.multipliers is not None and certificate is not None and np.isfinite(certificate.bound)
    if form is not None and (raw.model is None or raw.same_problem) and not claim.ray.proved and not gap_is_own:
        refutation = refuted(settled, form, raw, certificate, tol, seconds)
    if refutation is not None:
        values, certificate = refutation.values, _with_bound(refutation.certificate, certificate)
        verdict_on_claim = Verdict(Status.INACCURATE, (*verdict_on_claim.remarks, refutation.remark))
    verdict_on_claim = _examined_optimum(verdict_on_claim, settled, form, raw, values, certificate, solver, options)
    if form is not None:
        verdict_on_claim = compare_with_sources(
            settled, form, None if values is None else form.join(values), certificate, verdict_on_claim
        )
    raw = claim.answer
    ended = f"{solver.info.name} ended with {raw.native_status or 'no word'}" if verdict_on_claim.status is Status.FAILED else ""
    derived = "" if certificate is None or not np.isfinite(certificate.bound) else certificate.derived
    late = time_limit_remark(raw, options, solver.info.time_limit_caveat)
    reduced = None if raw.reduced is None or form is None else form.split(raw.reduced)
    return Result(
        model=model.name,
        solver=solver.info.name,
        status=verdict_on_claim.status,
        answer=replace(raw, version=raw.version or version_of("marginopt"), polished=point.polished),
        certificate=certificate,
        values={} if values is None else dict(values),
        reduced=reduced,
        evidence="; ".join(remark for remark in (*verdict_on_claim.remarks, derived, ended, raw.bound_caveat, late) if remark),
        ray_residual=claim.ray.residual,
        picked=picked,
        options=options.record(),
        licence=licence.state.value,
        summary={} if values is None else settled.summary(values),
        maximise=form is not None and form.maximise,
        digest=fingerprint(model),
        about=describe(model),
        stated=model,
        tol=tol,
    )


def _refined(
    form: StandardForm | None, model: Model, answer: Answer, point: _CertifiedPoint, tol: float, seconds: float | None
) -> tuple[Answer, _CertifiedPoint]:
    """Supply missing multipliers, and refine point and multipliers by Newton's method where these prove more then."""
    if form is None or point.values is None or point.certificate is None:
        return answer, point

    def certified(own: Answer, at: Values) -> Certificate:
        return certify(form, at, own.multipliers, own.reduced, model)

    supply = partial(certified, at=point.values)
    answer, certificate = with_multipliers(form, answer, point.values, point.certificate, supply, tol, seconds)
    refined = refine_by_newton(form, (answer, point.values, certificate), certified, tol, seconds)
    if refined is None:
        return answer, replace(point, certificate=certificate)
    answer, values, certificate = refined
    return answer, _CertifiedPoint(values, certificate, SHARPENED)


def _with_bound(certificate: Certificate, before: Certificate | None) -> Certificate:
    """Return the certificate of another point with the larger of both bounds: a bound does not depend on the point."""
    if before is None or before.bound <= certificate.bound:
        return certificate
    return replace(certificate, **{name: getattr(before, name) for name in ("bound", "argument", "bound_error", "condition")})


def _examined_optimum(
    found: Verdict,
    model: Model,
    form: StandardForm | None,
    answer: Answer,
    values: Values | None,
    certificate: Certificate | None,
    solver: Solver,
    options: Options,
) -> Verdict:
    """Return the verdict, INACCURATE for an optimum that nothing supports or whose w costs more than is stated."""
    if values is None or found.status not in (Status.OPTIMAL, Status.INACCURATE):
        return found
    if found.status is Status.INACCURATE:
        missed = [
            counted.miss for point in (values, answer.values) if point and (counted := model.counted_cost(point)) is not None
        ]
        return replace(found, remarks=(*found.remarks, _MISSED.format(max(missed)))) if any(missed) else found
    objection = ""
    if form is not None and solver.reads_form:
        objection = _unsupported_optimum(form, answer, form.join(values), certificate, solver, options)
    if not objection and certificate is not None:
        objection = _cost_objection(model, values, certificate, options.tolerance(solver.info.tolerance))
    return Verdict(Status.INACCURATE, (*found.remarks, objection)) if objection else found


def _cost_objection(model: Model, values: Values, certificate: Certificate, tol: float) -> str:
    """Return by how much the point's w, counted from the data, costs more than is stated; nothing where it does not."""
    counted = model.counted_cost(values)
    if counted is None:
        return ""
    stated, short = certificate.objective, f"margins miss their thresholds by up to {counted.miss:.1e}"
    if counted.excess and certificate.integrality is not None:  # of a continuous program those are rows, met to tolerance
        return f"counted exactly, w breaks its restrictions {counted.excess} times: {short}"
    lost = certificate.rounding + certificate.error + counted.rounding
    if counted.cost <= stated + tol * max(abs(stated), abs(counted.cost)) + lost:
        return ""
    return f"counted exactly, w costs {counted.cost:.10g}, not {stated:.10g} (minimised): {short}"


def _unsupported_optimum(
    form: StandardForm, answer: Answer, x: FloatArray, certificate: Certificate | None, solver: Solver, options: Options
) -> str:
    """Return why nothing follows where an optimum stands on the solver's bound alone; empty where something does."""
    if certificate is None or np.isfinite(certificate.bound):
        return ""
    native, ours = solver.info.integrality
    tolerance = float(options.native.get(native, ours))
    if certificate.integrality is None:
        return unresolved(answer, certificate, tolerance, options.tolerance(solver.info.tolerance))
    return (
        unbounded_integer_ray(form)
        or big_m_exceeds_tolerance(form, x, tolerance)
        or below_solver_tolerance(certificate, tolerance)
    )


def _concluded(
    found: Verdict, claim: CompletedClaim, certificate: Certificate | None, model: Model, tol: float, reads_form: bool
) -> Verdict:
    """The verdict as rays, Farkas multipliers and the form's constants leave it."""
    status, remarks = found.status, found.remarks
    if status in (Status.INFEASIBLE, Status.UNBOUNDED):
        remarks = (*remarks, claim.against or claim.ray.words(status))
        if status is Status.UNBOUNDED and claim.ray.proved and claim.answer.ray is not None:
            remarks = (*remarks, claim.ray.moves(claim.answer.ray))
        status = Status.INACCURATE if claim.against or claim.ray.contradicts else status
    beyond = exceeds_cutoff(status, certificate, model, tol) if reads_form else ""
    if beyond and not model.changes:
        warnings.warn(beyond, MarginoptWarning, stacklevel=_CALLER)
    return Verdict(Status.INACCURATE, (*remarks, beyond)) if beyond else Verdict(status, remarks)


def _form_if_it_fits(model: Model) -> StandardForm | None:
    try:
        return model.form
    except (TooLargeError, UnsupportedModelError):  # too large, or no conic program at all: the model appraises its points
        return None


@dataclass(frozen=True, eq=False)
class _CertifiedPoint:
    """The point that is judged, its certificate, and what polishing did; nothing where the answer's point is not finite."""

    values: Mapping[str, FloatArray] | None = None
    certificate: Certificate | None = None
    polished: str = ""


def _certified_point(form: StandardForm | None, model: Model, raw: Answer, tol: float, seconds: float | None) -> _CertifiedPoint:
    """The answer's point, polished if it is mixed-integer or stands beside an optimum of zero."""
    values = raw.values
    if values is None or not all(np.isfinite(np.asarray(value)).all() for value in values.values()):
        return _CertifiedPoint()
    if form is None:
        return _at_zero(model, None, raw, values, lambda at: certify_by_model(model, at, raw.multipliers), tol, "")
    note = raw.polished
    try:
        values = model.complete(values)
        x = form.join(values)
    except (InputError, KeyError):  # blocks are missing that the model cannot complete
        return _CertifiedPoint()
    if form.integer.any() and np.abs(x - np.round(x))[form.integer].max() <= _INTEGRALITY:
        polished_point = polished(form, values, model, seconds)
        values, note = polished_point.values, polished_point.note or note
    return _at_zero(model, form, raw, values, lambda at: certify(form, at, raw.multipliers, raw.reduced, model), tol, note)


def _at_zero(
    model: Model,
    form: StandardForm | None,
    raw: Answer,
    values: Values,
    judge: Callable[[Values], Certificate],
    tol: float,
    note: str,
) -> _CertifiedPoint:
    """Return the point with its certificate, or the point of objective zero beside it where no point costs less."""
    certificate = judge(values)
    zero_point = nearby_zero_objective_point(model, form, raw, certificate, tol, judge)
    return _CertifiedPoint(values, certificate, note) if zero_point is None else _CertifiedPoint(*zero_point, NOTE)


def _inseparable(model: Model, solver: Solver) -> Answer | None:
    """The answer INFEASIBLE, with its Farkas proof, where the model needs separable data and these are not."""
    need = model.separable_data
    if need is None:
        return None
    rows, why = need
    test = separability(rows)
    if test.farkas is None:
        return None
    return Answer(
        status=Status.INFEASIBLE,
        native_status=f"not separable ({why}); decided by a linear program before {solver.info.name} was called",
        farkas={"margin": test.farkas},
    )


def _constant(model: Model, solver: Solver) -> Answer | None:
    """The answer to a program without variables, which solvers call empty: its constant, or multipliers that leave no point.

    The projection z of -g on the dual cone has <z, g> = -||z||² (Moreau), which is negative where g is not in the cone.
    """
    if not solver.reads_form or model.form.n:
        return None
    form, remark = model.form, f"no variables; decided before {solver.info.name} was called"
    sizes = {c.label: 1.0 + float(np.abs(c.g).max(initial=0.0)) for c in form.constraints}
    if all(c.cone.violation(c.g) <= _EXACT * sizes[c.label] for c in form.constraints if c.rows):
        zeros = {c.label: np.zeros(c.rows) for c in form.constraints}
        return Answer(Status.OPTIMAL, remark, values={}, multipliers=zeros, reduced=np.zeros(0), objective=form.r)
    return Answer(Status.INFEASIBLE, remark, farkas={c.label: c.cone.project_dual(-c.g) for c in form.constraints})


def _crossing(model: Model, solver: Solver) -> Answer | None:
    """The answer INFEASIBLE where a lower bound lies above its upper one; numbers whose squares are none are refused.

    Raises
    ------
    InputError
        The form has such numbers.
    """
    form = _form_if_it_fits(model) if solver.reads_form else None
    if form is None:
        return None
    parts = {c.label: c.F.data for c in form.constraints} | {f"the constants of {c.label}": c.g for c in form.constraints}
    parts |= {"the linear objective": form.q} | ({} if form.quadratic is None else {"P": form.quadratic.diagonal})
    for name, numbers in parts.items():
        if np.abs(numbers).max(initial=0.0) > _LARGEST:
            raise InputError(f"{name} of {model.name} has numbers beyond {_LARGEST:g}, whose squares are none: scale the data")
    if not (form.lower > form.upper).any():
        return None
    return Answer(status=Status.INFEASIBLE, native_status=f"bounds cross; decided before {solver.info.name} was called")


def _ray(form: StandardForm, answer: Answer, given: Answer) -> Ray:
    """The ray that is to prove what is claimed, infeasibility or unboundedness, examined.

    What was given and is no ray at all (NaN, another shape) speaks against the claim.
    """
    ray: FloatArray | Mapping[str, FloatArray] | None = answer.farkas
    farkas: object = given.farkas
    if answer.status is Status.UNBOUNDED:
        ray, farkas = None if answer.ray is None else form.join(answer.ray), given.ray
    elif ray is None and (form.lower > form.upper).any():
        ray = {}
    if ray is None:
        return Ray() if farkas is None else Ray(float("inf"))
    return Ray.of(form, answer.status, ray)
