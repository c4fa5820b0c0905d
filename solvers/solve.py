"""`solve`: choose a solver if none is named, run it, and certify its answer (`solvers.judgement`).

To certify is to recompute objective, residuals, a lower bound and the gap from the user's data, without trust in the solver.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from ..errors import (
    InputError,
    LicenceError,
    MarginoptError,
    MarginoptWarning,
    MissingPackageError,
    SolverError,
    TooLargeError,
    UnsupportedModelError,
    WriteError,
    short_text,
)
from ..models.arrays import memory_errors
from ..models.deadline import OutOfTimeError, deadline, limit_clock, loading, remaining_seconds, repair_deadline
from ..models.model import BareForm, Model, as_model
from ..models.program.form import Block, StandardForm
from .certification.rays import Separability, separability
from .certification.result import Result
from .interface.native_options import replace_parameters, warn_unused_start
from .interface.solver import Gives, KeptModel, Licence, Solver
from .judgement import form_that_fits, judge
from .records import Answer, Options, Status
from .registry import SolverLike, SolverSpec, choose_solver, get_solver, require, resolve_solver, solvers_that_read

#: Relative violation of a constraint without variables that counts as rounding.
_EXACT = 1e-9
#: The largest absolute value of a form's data.
_LARGEST = 1e150
#: Share of the time limit, and least number of seconds, for the certification of an answer after the limit.
_CERTIFYING = 0.1
#: Largest number of solvers that ``auto`` tries after its first, and of bytes of a form (with a dense P) for which it does.
_MORE, _WRITTEN_OUT = 3, 1e8
#: Residual up to which a point counts as feasible when answers are ranked.
_FEASIBLE = 1e-6
#: Statuses after which ``auto`` tries another solver.
_UNMET = frozenset({Status.STALLED, Status.INACCURATE, Status.FAILED})
#: The native status of a solver that did not get its model within the time limit.
NOT_CALLED = "time limit before the call"


def solve(model: Model | StandardForm, solver: SolverLike = "auto", options: Options | None = None, **overrides: Any) -> Result:
    """Solve a formulation and recompute the certificate of the answer.

    Parameters
    ----------
    model : Model or StandardForm
        The problem.
    solver : str, Solver or pair
        A name of ``marginopt.solvers.table()``, a solver object, a pair of either with its options, ``("smo", {"tol": 1e-9})``,
        or ``"auto"``.
    options : Options, optional
        Common options, kept for several calls; keywords prevail over them.
    **overrides
        Common options: ``time_limit``, ``tol``, ``threads``, ``seed``, ``iteration_limit``, ``node_limit``, ``memory_limit``,
        ``trace_every``, ``verbose``, ``log_file``, ``progress``, ``start``, ``callback`` (see `marginopt.solvers.Options`). All
        others are the solver's own options by its own names, passed to it unchanged; an unknown one is an error.

    Returns
    -------
    Result
        The certified answer.

    Raises
    ------
    InputError
        Unknown solver, option or value.
    UnsupportedModelError
        The solver cannot read the model; the message says what is missing and which solvers can.
    MissingPackageError, LicenceError
        The solver is not installed, or its licence does not cover the model.
    SolverError
        The solver refuses the problem or fails with an error of its own.
    WriteError
        A requested proof log could not be written (a full disk); the error's ``result`` is the search's result up to then.
    """
    return solve_problem(model, solver, Options.of(options, **overrides))


def solve_problem(
    problem: Model | StandardForm, solver: SolverLike | SolverSpec, options: Options, kept_model: KeptModel | None = None
) -> Result:
    """Solve a model (or a bare form) by a solver, or by one that ``auto`` chooses, and certify the answer.

    If the first solver of ``auto`` ends without meeting the tolerance, up to three more are tried by rank, and the best answer is
    returned; not on a path, nor with native options. ``kept_model`` holds a backend's own model between the calls of one path.
    Errors are those of `solve`.
    """
    begin = limit_clock()
    model = as_model(problem)
    picked = ""
    spec = resolve_solver(solver)
    options = spec.merge_options(options).with_time_limited_to(remaining_seconds())
    chosen = spec.solver
    if chosen is None:
        name, picked = choose_solver(model, options)
        chosen = get_solver(name)
    result = _solved_by(chosen, model, options, begin, picked, kept_model)
    if spec.solver is None and kept_model is None and result.status in _UNMET and not options.native and _retry_fits(model):
        return _retried(model, options, begin, result, chosen.info.name)
    return result


@contextmanager
def solver_errors(solver: str) -> Iterator[None]:
    """Raise errors of a solver's own code in the block as `SolverError`, for callers that go on with other solves.

    The message names the line, since the solver may be under development. Other errors are raised unchanged, such as one in the
    certification of the answer or in a model's ``form`` or ``view``: they are errors of this package or of the formulation, which
    a row in a table of solvers would hide.
    """
    try:
        yield
    except MarginoptError:
        raise
    except Exception as error:
        if _is_outside_solver(error):
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        line = f"{place.name}, line {place.lineno} of {Path(place.filename).name}"
        raise SolverError(f"its code raised {type(error).__name__} in {line}: {error}", solver=solver) from error


def _is_outside_solver(error: Exception) -> bool:
    """Return whether an error was raised in `solve_problem`, but not by the code of a solver in a call there."""
    calls = {function.__code__ for function in (_run, _licence, _check_reads, _check_unused)}
    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        if frame.f_code in calls:
            return False
        if frame.f_code is solve_problem.__code__ or _makes_form_or_view(frame):
            return True
    return False


def _makes_form_or_view(frame: FrameType) -> bool:
    """Return whether a frame is that of a model's ``form`` or ``view``."""
    return frame.f_code.co_name in ("form", "view") and isinstance(frame.f_locals.get("self"), Model)


def _run(solver: Solver, model: Model, options: Options, kept_model: KeptModel | None) -> Answer:
    """Call a solver; `solver_errors` recognises its errors by this function."""
    return solver.run(model, options, kept_model)


def _retry_fits(model: Model) -> bool:
    """Return whether the form, with a dense quadratic part, is small enough for further solvers."""
    form = form_that_fits(model)
    if form is None or model.form_bytes > _WRITTEN_OUT:
        return False
    return form.quadratic is None or form.quadratic.operator is None or 8 * form.n**2 <= _WRITTEN_OUT


def _retried(model: Model, options: Options, begin: float, first: Result, name: str) -> Result:
    """Return the best answer of the first and of the solvers that rank next, up to one that meets the tolerance."""
    best, failed = first, [name]
    while not best.solved and len(failed) <= _MORE:
        if options.time_limit is not None and limit_clock() - begin >= options.time_limit:
            break
        try:
            name, reason = choose_solver(model, options, without=failed)
        except UnsupportedModelError:  # no other solver reads it
            break
        failed.append(name)
        unmet = f"{first.solver} ended without meeting the tolerance ({first.status}, relative gap {first.gap:.1e})"
        try:
            other = _solved_by(get_solver(name), model, options, begin, f"{reason}; {unmet}", None)
        except (SolverError, TooLargeError):
            continue
        best = max(best, other, key=_worth)
    return best


def _worth(result: Result) -> tuple[bool, bool, float, float]:
    """Return the key by which results are ranked: solved, feasible, absolute gap (defined near zero, too), objective."""
    certificate = result.certificate
    if certificate is None:
        return result.solved, False, -np.inf, -np.inf
    return result.solved, certificate.feasible(_FEASIBLE), certificate.bound - certificate.objective, -certificate.objective


def _solved_by(chosen: Solver, model: Model, options: Options, begin: float, picked: str, kept_model: KeptModel | None) -> Result:
    """Check that a solver can solve the model, run it and certify the answer."""
    licence, limit = _licence(chosen, model, options), options.time_limit
    try:
        with memory_errors(f"{chosen.info.name} on {model.name}"), deadline(np.inf if limit is None else begin + limit):
            raw = _answer(chosen, model, options, begin, licence, kept_model)
    except OutOfTimeError:
        words = f"{chosen.info.name} was not called: the time limit ended while its matrices were made"
        raw = Answer(Status.TIME_LIMIT, NOT_CALLED, build_seconds=limit_clock() - begin, details={"abandoned": words})
    certifying = memory_errors(f"the certificate of {chosen.info.name}'s answer to {model.name}")
    with certifying, deadline(np.inf), repair_deadline(np.inf if limit is None else certification_deadline(limit, begin)):
        result = judge(model, chosen, raw, options, licence, picked)
    if raw.write_error is not None:
        raise WriteError(f"{raw.write_error}; the search ended there, and .result of this error holds what it had found", result)
    return result


def _answer(
    chosen: Solver, model: Model, options: Options, begin: float, licence: Licence, kept_model: KeptModel | None
) -> Answer:
    """Return the answer of a solver that can solve the model, or an answer that needs no solver.

    Raises
    ------
    OutOfTimeError
        The deadline passed before the solver had its model.
    """
    _check_reads(chosen, model, options, licence)
    options = _with_start_by_blocks(model, chosen, options)
    test = _separability(model)
    decided = _inseparable(model, chosen, test) or _crossing(model, chosen) or _constant(model, chosen)
    if decided is not None:
        _check_unused(chosen, options)
        return decided
    # a model that is kept was built under its options, time limit included, and would be built anew under others
    remaining = options if kept_model is not None and chosen.reads_form else options.with_time_spent(limit_clock() - begin)
    return _without_false_claim(model, _run(chosen, model, remaining, kept_model), test)


def _check_reads(chosen: Solver, model: Model, options: Options, licence: Licence) -> None:
    """Raise for a model that a solver cannot read, or that its licence does not cover; the message names those that can."""
    name, obstacle = chosen.info.name, chosen.obstacle(model)
    if obstacle is not None:
        with deadline(np.inf):  # the message needs no time limit
            capable = list(solvers_that_read(model))
        words = (
            f"{name} cannot solve {model.name}: {obstacle}. Solvers that can: {', '.join(capable) or 'none that is installed'}"
        )
        raise UnsupportedModelError(words, name=name, allowed=capable)
    refusal = licence.refusal(model.form) if chosen.reads_form else None
    if refusal is not None:
        with deadline(np.inf):
            unlimited = ", ".join(reader for reader in solvers_that_read(model) if get_solver(reader).licence().limit is None)
            alternative = _alternative(model, options)
        words = f"{name}: {refusal}. Without such a limit: {unlimited or 'none that is installed'}{alternative}"
        raise LicenceError(words, name)


def certification_deadline(time_limit: float, begin: float) -> float:
    """Return the deadline of an answer's certification: a tenth of ``time_limit``, 0.1 s at least, after the limit or after now.

    ``time_limit`` is in seconds from ``begin``; ``begin`` and the deadline are on `limit_clock`.
    """
    return max(begin + time_limit, limit_clock()) + max(_CERTIFYING * time_limit, _CERTIFYING)


def _licence(chosen: Solver, model: Model, options: Options) -> Licence:
    """Return the solver's licence before a model is built for it; a refusal names the best open alternative."""
    try:
        with loading():
            return require(chosen, options)
    except (LicenceError, MissingPackageError) as error:
        better = type(error)(str(error).rstrip(".") + _alternative(model, options))
        vars(better).update(vars(error))
        raise better from error


def _alternative(model: Model, options: Options) -> str:
    """Return a sentence that names the best open solver for the problem."""
    try:
        name, _ = choose_solver(model, options, only_open=True)
    except (TooLargeError, UnsupportedModelError):
        return f". No open solver that is installed reads {model.name}"
    return f". The best open one for {model.name}: {name}"


def _with_start_by_blocks(model: Model, chosen: Solver, options: Options) -> Options:
    """Return options whose start maps blocks of the form to arrays; names of single variables may stand in the user's.

    A solver of forms may be given some variables of a block alone: the others are NaN. Raise for unknown names, other shapes and
    infinite numbers; warn if the solver takes no starts, or reports no progress and a callback is given.
    """
    if options.callback is not None and Gives.TRACE not in chosen.info.gives:
        message = f"callback is not called: {chosen.info.name} reports no progress, so its trace is empty too"
        warnings.warn(MarginoptWarning(message, name="callback"), stacklevel=6)
    if options.start is None:
        return options
    if form_that_fits(model) is not None:  # without a form the algorithm checks its start itself
        options = replace(options, start=model.form.read_values(options.start, "start", partial=chosen.reads_form))
    if Gives.WARM_START not in chosen.info.gives:
        warn_unused_start(chosen.info.name, "it takes no starts")
    return options


def _check_unused(solver: Solver, options: Options) -> None:
    """Raise for native options that a solver does not know, if it is not called: a backend solves one variable with them."""
    if options.native and solver.reads_form:
        one = np.ones(1)
        form = StandardForm("one", (Block("x", (1,)),), one, (), 0.0 * one, one, np.zeros(1, dtype=bool))
        solver.run(BareForm(form), Options(native=options.native, time_limit=options.time_limit))
    elif options.native:
        replace_parameters(solver, options.native)


def _separability(model: Model) -> Separability | None:
    """Return whether the rows that the model needs separated are separable; None if it needs none, or that is undecided."""
    if model.rows_to_separate is None:
        return None
    try:
        return separability(model.rows_to_separate.rows, model.rows_to_separate.computed)
    except SolverError:
        return None


def _inseparable(model: Model, solver: Solver, test: Separability | None) -> Answer | None:
    """Return INFEASIBLE with its Farkas proof if the model needs separable data and the data are not; else None."""
    if test is None or test.farkas is None or model.rows_to_separate is None:
        return None
    reason = model.rows_to_separate.reason
    return Answer(
        status=Status.INFEASIBLE,
        native_status=f"not separable ({reason}); decided by a linear program before {solver.info.name} was called",
        farkas={"margin": test.farkas},
    )


def _without_false_claim(model: Model, answer: Answer, test: Separability | None) -> Answer:
    """Return the separating point in place of a claim that separable rows leave no point: solvers' tolerances exceed margins."""
    if answer.status is not Status.INFEASIBLE or test is None or test.w is None or model.changes:
        return answer
    values = model.complete({"w": test.w})
    return replace(answer, status=Status.INACCURATE, values=values, multipliers=None, reduced=None, farkas=None, objective=None)


def _constant(model: Model, solver: Solver) -> Answer | None:
    """Return the answer to a program without variables: its constant, or multipliers that prove it infeasible; else None.

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
    """Return INFEASIBLE if a lower bound exceeds its upper bound, else None; refuse numbers whose squares overflow."""
    form = form_that_fits(model) if solver.reads_form else None
    if form is None:
        return None
    parts = {c.label: c.F.data for c in form.constraints} | {f"the constants of {c.label}": c.g for c in form.constraints}
    parts |= {"the linear objective": form.q} | ({} if form.quadratic is None else {"P": form.quadratic.diagonal})
    for name, numbers in parts.items():
        if np.abs(numbers).max(initial=0.0) > _LARGEST:
            raise InputError(
                f"{name} of {model.name} has numbers beyond {_LARGEST:g}, whose squares overflow: scale the data", name=name
            )
    if not (form.lower > form.upper).any():
        return None
    return Answer(status=Status.INFEASIBLE, native_status=f"bounds cross; decided before {solver.info.name} was called")


def solve_raw(solver: SolverLike, model: Model, options: Options) -> Answer:
    """Run a solver and return its answer, which has a point and no certificate: for steps of alternating algorithms.

    Parameters
    ----------
    solver : str, Solver or pair
        The solver as for `solve`, except "auto".
    model : Model
        The problem of the step.
    options : Options
        The options.

    Returns
    -------
    Answer
        The point, multipliers and status as the solver gave them.

    Raises
    ------
    InputError
        The solver is "auto", or it cannot read the model.
    MissingPackageError, LicenceError
        The solver is not installed, or not licensed.
    SolverError
        The solver ended without a point.
    """
    spec = resolve_solver(solver)
    if spec.solver is None:
        raise InputError(
            f"a step is taken by a solver that is named, not by {short_text(spec.label)}: boxqp, smo, stiefel-bb, ..."
        )
    require(spec.solver)
    obstacle = spec.solver.obstacle(model)
    if obstacle is not None:
        raise InputError(f"{spec.label} cannot take the step {model.name}: {obstacle}", name=spec.label)
    answer = spec.solver.run(model, spec.merge_options(options))
    if answer.values is None:
        raise SolverError(f"{spec.label} ended the step {model.name} without a point: {answer.native_status}", solver=spec.label)
    return answer
