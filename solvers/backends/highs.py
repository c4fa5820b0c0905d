"""Backend of HiGHS: linear, mixed-integer linear and convex quadratic programs.

The form is min f(x) = ½x'Px + q'x + r subject to linear rows F x + g and bounds.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, SolverError, short_text
from ...models.arrays import FloatArray
from ...models.export.highs_model import change_highs, to_highs
from ...models.program.cones import Feature
from ...models.program.form import StandardForm, multipliers_by_label
from ..certification.rays import ray_residual
from ..interface.backend import Backend
from ..interface.native_options import check_native, ignored_options_note, started_variables, warn_unused_start
from ..interface.recorder import Recorder, interrupt_flag
from ..interface.solver import ALL_PARTS, Gives, KeptModel, Purpose, SolverInfo
from ..interface.timeouts import (
    ABANDONED_STATUS,
    CallTimeout,
    abandon_time,
    call_outside_fork,
    forked_with,
    run_until,
    time_allowance,
)
from ..records import Answer, Options, Status

# HiGHS's runs and their ends.
#
# *Linear and mixed-integer programs* end at HiGHS's own time limit or in a callback. If HiGHS neither checks its time limit nor
# calls back, such as in its cycles on integers without bounds at a tight tolerance, the run is abandoned somewhat later, with the
# last incumbent.
#
# *The active-set method for convex quadratic programs* has no callback and checks no time limit during its setup. It runs in a
# thread, and Python checks time limit and interruption beside it. Its log has a line every few iterations, and an error raised in
# the log callback ends the run. Before the first line the call cannot be ended and is abandoned. Proximal steps follow if its end
# point is not optimal.

#: Shifts of P in proximal steps, relative to its largest entry, in the order of trial; the number of steps.
_SHIFTS, _STEPS = (1e-5, 1e-3, 1e-2), 100
#: Residual of stationarity, relative to the largest term, that counts as zero.
_STATIONARITY = 1e-10


class _AbandonedRun(CallTimeout):
    """Error of a run that did not stop in time; the HiGHS object must not be used any more."""

    def answer(self, form: StandardForm, recorder: Recorder, incumbents: list[FloatArray]) -> Answer:
        """Return the last incumbent of a mixed-integer program and its bound; of others HiGHS gives no point before it ends."""
        x, last = incumbents[-1] if incumbents else None, recorder.last
        objective, bound = None if x is None else form.objective(x), last.bound if np.isfinite(last.bound) else None
        point = "it gives no point before it ends" if x is None else "the point is its last incumbent"
        name = "HiGHS" if form.quadratic is None else "HiGHS's quadratic solver"
        return Answer(
            status=self.status,
            native_status=ABANDONED_STATUS,
            values=None if x is None else form.split(x),
            objective=objective,
            bound=bound,
            trace=recorder.final_trace(last.iteration, objective, bound),
            details={"abandoned": f"{name} did not return at the limit: {point}"},
        )


def run_to_decision(highspy: Any, highs: Any, native: Mapping[str, Any]) -> None:
    """Run HiGHS, and again without presolve after "infeasible or unbounded", or with looser integrality after a failure.

    ``highspy`` is the module, ``highs`` the ``highspy.Highs`` to run; integrality is loosened unless the user's options,
    ``native``, set it.
    """
    highs.run()
    if highs.getModelStatus() == highspy.HighsModelStatus.kUnboundedOrInfeasible:
        highs.setOptionValue("presolve", "off")
        highs.run()
    if highs.getModelStatus() == highspy.HighsModelStatus.kSolveError and _INTEGRALITY not in native:
        highs.setOptionValue(_INTEGRALITY, _LOOSE)
        highs.run()


def _run_linear(highspy: Any, highs: Any, options: Options, begin: float) -> None:
    """Run a program without a quadratic part; ``begin`` is the start of the time limit.

    Raises
    ------
    _AbandonedRun
        HiGHS did not return within the allowance of the time limit.
    """
    if options.time_limit is None:
        call_outside_fork("highspy", lambda: run_to_decision(highspy, highs, options.native))
        return
    end = begin + time_allowance(options.time_limit)
    if not run_until(lambda: run_to_decision(highspy, highs, options.native), threading.Event(), end):  # callbacks see Ctrl-C
        raise _AbandonedRun(Status.TIME_LIMIT)


def _run_quadratic(
    highspy: Any, highs: Any, form: StandardForm, options: Options, stop: threading.Event, begin: float
) -> _ProximalSteps | None:
    """Run the quadratic program, with proximal steps if needed; ``begin`` is the start of the time limit.

    Raises
    ------
    _AbandonedRun
        ``stop`` was set, or the time limit has passed.
    """
    steps: list[_ProximalSteps | None] = []
    finished = threading.Event()

    def line(event: Any) -> None:
        if finished.is_set() or stop.is_set():
            raise _AbandonedRun(Status.INTERRUPTED)

    def work() -> None:
        run_to_decision(highspy, highs, options.native)
        shifted = "qp_regularization_value" in options.native
        steps.append(None if shifted else _proximal_correction(highspy, highs, form, options))

    highs.setOptionValue("log_to_console", options.verbose)
    highs.setOptionValue("output_flag", True)  # HiGHS writes no lines otherwise
    highs.cbLogging.clear()  # of a reused model
    highs.cbLogging.subscribe(line)
    try:
        completed = run_until(work, stop, abandon_time(begin, options.time_limit))
    except _AbandonedRun:
        completed = False
    if not completed:
        finished.set()
        raise _AbandonedRun(Status.INTERRUPTED if stop.is_set() else Status.TIME_LIMIT)
    return steps[0]


@dataclass(frozen=True, eq=False)
class _ProximalSteps:
    """The proximal steps of a quadratic program after HiGHS's active-set method."""

    steps: int  #: number of steps
    shift: float  #: multiple of the identity that is added to P
    ray: FloatArray | None = None  #: the ray that the steps tend to if the objective is unbounded


def _proximal_correction(highspy: Any, highs: Any, form: StandardForm, options: Options) -> _ProximalSteps | None:
    """Take proximal steps if the active-set method's point is not stationary; return None if it is, or if the run was stopped."""
    proximal: _ProximalSteps | None = None
    stopped = {"kTimeLimit", "kInterrupt", "kInfeasible", "kUnbounded"}
    if options.iteration_limit is not None or "qp_iteration_limit" in options.native:
        stopped.add("kIterationLimit")
    F, _ = form.rows_matrix()
    for shift in _SHIFTS:
        if highs.getModelStatus().name in stopped or _stationary(highs, form, F):
            break
        if proximal is not None and proximal.ray is not None:
            break
        proximal = _proximal(highspy, highs, form, F, shift)
    return proximal


def _stationary(highs: Any, form: StandardForm, F: sp.csr_array) -> bool:
    solution = highs.getSolution()
    if highs.getModelStatus().name != "kOptimal" or not solution.dual_valid:
        return False
    terms = form.gradient(np.array(solution.col_value)), F.T @ np.array(solution.row_dual), np.array(solution.col_dual)
    scale = 1.0 + max(float(np.abs(term).max(initial=0.0)) for term in terms)
    return float(np.abs(terms[0] - terms[1] - terms[2]).max(initial=0.0)) <= _STATIONARITY * scale


def _proximal(highspy: Any, highs: Any, form: StandardForm, F: sp.csr_array, relative: float) -> _ProximalSteps:
    """Iterate x_{k+1} = argmin f(x) + ½ρ||x - x_k||² until ρ(x_{k+1} - x_k), the multipliers' error for f, is below rounding.

    ρ is ``relative`` times the largest entry of P. If f is unbounded, the steps tend to a ray of f.
    """
    assert form.quadratic is not None
    shift = relative * max(float(np.abs(form.quadratic.csc.data).max(initial=0.0)), 1e-3)
    highs.setOptionValue("qp_regularization_value", shift)
    columns, x = np.arange(form.n, dtype=np.int32), np.zeros(form.n)
    for k in range(1, _STEPS + 1):
        highs.changeColsCost(form.n, columns, form.q - shift * x)
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            break
        step = np.array(highs.getSolution().col_value) - x
        x = x + step
        size = float(np.abs(step).max(initial=0.0))
        if size == 0.0 or _stationary(highs, form, F):
            break
        if k > 1 and ray_residual(form, step / size) <= 1e-9:
            return _ProximalSteps(k, shift, step / size)
    return _ProximalSteps(k, shift)


_STATUS = {
    "kOptimal": Status.OPTIMAL,
    "kModelEmpty": Status.OPTIMAL,
    "kInfeasible": Status.INFEASIBLE,
    "kUnbounded": Status.UNBOUNDED,
    "kTimeLimit": Status.TIME_LIMIT,
    "kIterationLimit": Status.ITERATION_LIMIT,
    "kSolutionLimit": Status.NODE_LIMIT,
    "kInterrupt": Status.INTERRUPTED,
    "kHighsInterrupt": Status.INTERRUPTED,
    "kObjectiveBound": Status.INTERRUPTED,
    "kObjectiveTarget": Status.INTERRUPTED,
    "kMemoryLimit": Status.MEMORY_LIMIT,
    "kUnknown": Status.STALLED,
    "kSolveError": Status.FAILED,
    "kUnboundedOrInfeasible": Status.FAILED,
    "kNotset": Status.FAILED,
    "kLoadError": Status.FAILED,
    "kModelError": Status.FAILED,
    "kPresolveError": Status.FAILED,
    "kPostsolveError": Status.FAILED,
}

#: Feasibility and integrality tolerance, since a big M multiplies a looser one; HiGHS's own integrality tolerance, with which a
#: failed run is repeated; name of that option.
_TIGHT, _LOOSE, _INTEGRALITY = 1e-9, 1e-6, "mip_feasibility_tolerance"
#: The heuristic by which HiGHS 1.15 ends the process (a segmentation fault) on some programs whose integers have no bounds.
_JUMP = "mip_heuristic_run_feasibility_jump"
#: Iterations for each variable and row (after 10,000) from which the active-set method, which has no limit, is taken to cycle.
_CYCLE = 50

#: Seconds for each non-zero of P to load and to convert the quadratic objective (4,000 points, dense).
_LOADED = 1.2e-7

_SUPPORTED_OPTIONS = frozenset({"time_limit", "threads", "iteration_limit", "node_limit", "callback", "start"})


def _uninterruptible_seconds(form: StandardForm) -> float:
    """Return the seconds of loading the quadratic objective."""
    return 0.0 if form.quadratic is None else _LOADED * float(form.quadratic.column_count_bounds.sum())


class Highs(Backend):
    """HiGHS, which reads l ≤ A x ≤ u and bounds; its row and column duals have our signs. It takes no mixed-integer quadratic
    programs.

    Its active-set method for quadratic programs shifts P by ``qp_regularization_value`` times the identity. Here the shift is 0,
    so that HiGHS solves the stated problem. On a semidefinite P the method may then call P "non-convex", cycle, or end at a point
    that is not optimal. If its answer is not stationary, proximal steps with larger shifts lead to a stationary point, and the
    details say so.
    """

    info = SolverInfo(
        name="highs",
        rank={Purpose.MIXED_INTEGER: 3, Purpose.QUADRATIC: 3, Purpose.LINEAR: 1},
        summary="simplex, interior point, branch and cut, active-set quadratic programming",
        package="highspy",
        module="highspy",
        reads=frozenset({Feature.QUADRATIC, Feature.INTEGER}),
        forbids=(frozenset({Feature.QUADRATIC, Feature.INTEGER}),),
        integrality=(_INTEGRALITY, _TIGHT),
        uninterruptible_seconds=_uninterruptible_seconds,
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.UPDATES, Gives.INTERRUPT}),
        reference="Huangfu, Hall: Parallelizing the dual revised simplex method, 2018",
    )

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Return the answer of a new HiGHS model, solved under callbacks that record progress and end the run."""
        import highspy

        begin = time.perf_counter()
        return self._solve(highspy, self._load(highspy, form, options), form, options, begin)

    def solve_kept(self, form: StandardForm, options: Options, kept_model: KeptModel) -> Answer:
        """Return the answer of the kept model, changed in place (costs, P, rows and bounds); HiGHS may reuse the basis."""
        import highspy

        begin = time.perf_counter()

        def change(highs: Any, old: StandardForm, parts: frozenset[str]) -> Any:
            change_highs(highspy, highs, old, form, parts)
            self._set(highspy, highs, form, options)
            return highs

        build = functools.partial(self._load, highspy, form, options)
        highs = kept_model.native_for(form, ALL_PARTS, build, change, any_bounds=True)
        answer = self._solve(highspy, highs, form, options, begin)
        if answer.native_status == ABANDONED_STATUS:
            kept_model.close()
        return answer

    def _load(self, highspy: Any, form: StandardForm, options: Options) -> Any:
        highs: Any = highspy.Highs()
        self._set(highspy, highs, form, options)
        if highs.passModel(to_highs(highspy, form)) == highspy.HighsStatus.kError:
            raise SolverError("highs refuses the problem: HighsStatus.kError when the model was passed", solver="highs")
        return highs

    def _solve(self, highspy: Any, highs: Any, form: StandardForm, options: Options, begin: float) -> Answer:
        details = _start(highspy, highs, form, options) | ignored_options_note(options, _SUPPORTED_OPTIONS)
        recorder = Recorder("highs", options, maximise=form.maximise)
        loaded = time.perf_counter()
        recorder.start()
        with interrupt_flag() as flag:
            incumbents = _watch(highs, form, recorder, flag)
            proximal: _ProximalSteps | None = None
            try:
                if form.quadratic is None:
                    _run_linear(highspy, highs, options, begin)
                else:
                    proximal = _run_quadratic(highspy, highs, form, options, flag, begin)
            except _AbandonedRun as run:
                recorder.stopped = True  # at its next callback, if there is one
                answer = run.answer(form, recorder, incumbents)
            else:
                answer = _read(highspy, highs, form, recorder, proximal)
        details |= answer.details
        return replace(answer, build_seconds=loaded - begin, solve_seconds=recorder.seconds, details=details)

    def _set(self, highspy: Any, highs: Any, form: StandardForm, options: Options) -> None:
        highs.setOptionValue("output_flag", options.verbose)
        # exempt (text): attributes of HiGHS's options
        known_names = [name for name in dir(highs.getOptions()) if not name.startswith("_")]
        check_native("highs", options.native, known_names)
        chosen: dict[str, Any] = {
            "primal_feasibility_tolerance": _TIGHT,
            "dual_feasibility_tolerance": _TIGHT,
            _INTEGRALITY: _TIGHT,
            "qp_regularization_value": 0.0,
            "mip_rel_gap": options.search_gap(self.info.tolerance),
            "mip_abs_gap": 0.0,
            "random_seed": options.seed % 2_147_483_647,
            "presolve": "choose",
        }
        if _JUMP in known_names:
            chosen[_JUMP] = not (form.integer & ~(np.isfinite(form.lower) & np.isfinite(form.upper))).any()
        if options.time_limit is not None:  # the clock of a reused model runs on
            chosen["time_limit"] = float(highs.getRunTime() + options.time_limit)
        if options.native_threads is not None:
            if not forked_with("highspy"):  # HiGHS would wait for threads that a fork does not have
                highspy.Highs.resetGlobalScheduler(True)  # HiGHS would reuse the thread count of the first solve
            chosen["threads"] = options.native_threads
        if options.iteration_limit is not None:
            kinds = ("simplex", "ipm", "pdlp", "qp")
            chosen |= {f"{kind}_iteration_limit": options.iteration_limit for kind in kinds}
        else:
            chosen["qp_iteration_limit"] = 10_000 + _CYCLE * (form.n + form.rows)
        if options.node_limit is not None:
            chosen["mip_max_nodes"] = options.node_limit
        for name, value in {**chosen, **options.native}.items():
            try:
                return_code = highs.setOptionValue(name, value)
            except TypeError as error:
                raise InputError(f"highs does not take {name} = {short_text(value)}: the type is wrong", name=name) from error
            if return_code == highspy.HighsStatus.kError:
                raise InputError(f"highs does not take {name} = {short_text(value)}: wrong type or outside its range", name=name)


def _start(highspy: Any, highs: Any, form: StandardForm, options: Options) -> dict[str, Any]:
    """Set a start of all or some variables; HiGHS completes it by solving for the continuous variables."""
    if options.start is None:
        return {}
    if not form.integer.any():
        return warn_unused_start("highs", "HiGHS takes starts for mixed-integer models")
    indices, values = started_variables(form, options)
    return_code = highs.setSolution(indices.size, indices.astype(np.int32), values)
    return {} if return_code == highspy.HighsStatus.kOk else warn_unused_start("highs", "HiGHS did not take it")


def _watch(highs: Any, form: StandardForm, recorder: Recorder, flag: Any) -> list[FloatArray]:
    """Record new incumbents and a row every 50 ms; the user's callback and Ctrl-C end the solve.

    Returns
    -------
    list of ndarray
        Holds the last incumbent of a mixed-integer program once there is one.
    """
    incumbents: list[FloatArray] = []

    def node(event: Any, *, is_incumbent: bool) -> None:
        with recorder.deferring_errors():
            if is_incumbent or time.perf_counter() >= recorder.next_row:
                out = event.data_out
                step = "incumbent" if is_incumbent else "node"
                if is_incumbent:
                    incumbents[:] = [np.array(out.mip_solution)]
                recorder.record_values(int(out.mip_node_count), out.mip_primal_bound, out.mip_dual_bound, step=step)
        event.interrupt(recorder.stopped or flag.is_set())

    def iteration(event: Any) -> None:
        with recorder.deferring_errors():
            if time.perf_counter() >= recorder.next_row:
                out = event.data_out
                steps = sum(max(int(n), 0) for n in (out.simplex_iteration_count, out.ipm_iteration_count))  # -1: none
                recorder.record_values(steps, np.nan, np.nan, step="simplex or barrier")
        event.interrupt(recorder.stopped or flag.is_set())

    for channel in (highs.cbMipImprovingSolution, highs.cbMipInterrupt, highs.cbSimplexInterrupt, highs.cbIpmInterrupt):
        channel.clear()  # of a reused model
    if form.integer.any():
        highs.cbMipImprovingSolution.subscribe(lambda event: node(event, is_incumbent=True))
        highs.cbMipInterrupt.subscribe(lambda event: node(event, is_incumbent=False))
    else:
        highs.cbSimplexInterrupt.subscribe(iteration)
        highs.cbIpmInterrupt.subscribe(iteration)
    return incumbents


def _read(highspy: Any, highs: Any, form: StandardForm, recorder: Recorder, proximal: _ProximalSteps | None) -> Answer:
    status_name = highs.getModelStatus().name
    status = _STATUS.get(status_name, Status.FAILED)
    info, solution = highs.getInfo(), highs.getSolution()
    mixed = bool(form.integer.any())
    has_solution = status not in (Status.INFEASIBLE, Status.UNBOUNDED, Status.FAILED)
    feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    x = np.array(solution.col_value) if has_solution and solution.value_valid and (feasible or not mixed) else None
    ray = None if proximal is None else proximal.ray
    if ray is not None:
        status, has_solution, x = Status.UNBOUNDED, False, None
    objective = None if x is None else float(info.objective_function_value)
    if x is not None and proximal is not None:  # HiGHS's objective is that of the shifted problem
        objective = form.objective(x)
    bound = None
    if has_solution:
        bound = float(info.mip_dual_bound) if mixed else objective if status is Status.OPTIMAL else None
    duals = not mixed and x is not None and solution.dual_valid
    linear = not mixed and form.quadratic is None
    farkas = _ray(highs.getDualRay()) if linear and status is Status.INFEASIBLE else None
    ray = _ray(highs.getPrimalRay()) if linear and status is Status.UNBOUNDED else ray
    counts = (info.simplex_iteration_count, info.ipm_iteration_count, info.qp_iteration_count, info.pdlp_iteration_count)
    iterations = sum(max(int(count), 0) for count in counts)
    nodes = int(info.mip_node_count) if mixed else None
    trace = recorder.final_trace(iterations if nodes is None else nodes, objective, bound)
    details = {} if proximal is None else {"qp_regularization_value": proximal.shift, "proximal_steps": proximal.steps}
    integrality = float(highs.getOptionValue(_INTEGRALITY)[1]) if mixed else None
    if integrality is not None and integrality > _TIGHT:
        details[_INTEGRALITY] = integrality
    return Answer(
        status=status,
        native_status=status_name,
        values=None if x is None else form.split(x),
        multipliers=multipliers_by_label(form, np.array(solution.row_dual)) if duals else None,
        reduced=np.array(solution.col_dual) if duals else None,
        objective=objective,
        bound=bound if bound is not None and np.isfinite(bound) else None,
        farkas=None if farkas is None else multipliers_by_label(form, farkas),
        ray=None if ray is None else form.split(ray),
        nodes=nodes,
        iterations=iterations,
        trace=trace,
        integrality=integrality,
        details=details,
    )


def _ray(result: tuple[Any, bool, Any]) -> FloatArray | None:
    """Return the ray that proves infeasibility or unboundedness; None if HiGHS has none."""
    _, exists, ray = result
    return np.array(ray) if exists else None


#: Read by `solvers.registry`.
SOLVERS = (Highs(),)
