"""Backend of Clarabel: interior point for quadratic objectives over all cones of the standard form that are convex.

The form is min ½x'Px + q'x + r subject to F x + g in K, a product of cones; z in the dual cone are the multipliers of its rows.
"""

from __future__ import annotations

import functools
import threading
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...models.arrays import FloatArray
from ...models.program.cones import PSD, Feature, Nonnegative, SecondOrder, Zero
from ...models.program.exponential_cones import Exponential, Power
from ...models.program.form import Constraint, StandardForm, multipliers_by_label
from ..interface.backend import Backend, dense_block_order
from ..interface.native_options import check_native, ignored_options_note, set_native_options
from ..interface.recorder import Recorder, interrupt_flag
from ..interface.solver import ALL_PARTS, Gives, KeptModel, Purpose, SolverInfo
from ..interface.timeouts import forked_with, run_with_timeout
from ..records import Answer, Options, Status

_STATUS = {
    "Solved": Status.OPTIMAL,
    "AlmostSolved": Status.OPTIMAL,
    "PrimalInfeasible": Status.INFEASIBLE,
    "AlmostPrimalInfeasible": Status.INFEASIBLE,
    "DualInfeasible": Status.UNBOUNDED,
    "AlmostDualInfeasible": Status.UNBOUNDED,
    "MaxIterations": Status.ITERATION_LIMIT,
    "MaxTime": Status.TIME_LIMIT,
    "InsufficientProgress": Status.STALLED,
    "CallbackTerminated": Status.INTERRUPTED,
    "NumericalError": Status.FAILED,
    "Unsolved": Status.FAILED,
}

_SOLVED = ("Solved", "AlmostSolved")

#: Seconds for each non-zero of P and the rows until the first iteration checks the time limit (semidefinite forms of 1,500
#: points), and seconds of a factorisation for each unit of the cube of `dense_block_order` (3,000 x 3,000, .3% dense).
_SET_UP, _FILLED = 1e-6, 1e-10

#: Accepted relative gap, in multiples of the native tolerance, which is a hundredth of the requested one.
_ACCEPTED_GAP = 10.0
#: The least gap relative to the objective's terms, and the least residual, that a second solve requests.
_GAP, _FEASIBLE = 1e-13, 1e-12

#: Violation of a cone or of the dual equations, relative to the data, from which the objective is solved again in another scale.
_MAX_VIOLATION = 1e-6
#: The share of the tolerance that the solve in another scale requests where residuals alone are too large.
_FINER = 1e-2
#: Factor of the objective in the other scale: Clarabel's residuals are those of equilibrated data, and smaller multipliers noise.
_SCALE = 1e5
#: Tolerance and rounds of the iterative refinement of linear systems with semidefinite cones: without strict interior they are
#: nearly singular near the optimum.
_REFINED, _REFINEMENTS = 1e-15, 50
#: The setting of the factorisation, and its value without threads.
_FACTORISATION, _SINGLE_THREADED = "direct_solve_method", "qdldl"

_SUPPORTED_OPTIONS = frozenset({"time_limit", "threads", "iteration_limit", "callback"})


def _uninterruptible_seconds(form: StandardForm) -> float:
    """Return the seconds of setting up and of one factorisation."""
    P = 0.0 if form.quadratic is None else float(form.quadratic.column_count_bounds.sum())
    return _SET_UP * (P + form.rows_matrix()[0].nnz) + _FILLED * float(dense_block_order(form)) ** 3


class Clarabel(Backend):
    """Clarabel, which reads A x + s = b, s in K: here A = -F, b = g, and its z has the form's sign. It has no warm start."""

    info = SolverInfo(
        name="clarabel",
        rank={Purpose.CONIC: 1, Purpose.QUADRATIC: 2, Purpose.LINEAR: 2},
        summary="interior point, quadratic objective over conic constraints",
        package="clarabel",
        module="clarabel",
        reads=frozenset({Feature.QUADRATIC, Feature.SECOND_ORDER, Feature.PSD, Feature.EXPONENTIAL, Feature.POWER}),
        bounds=False,
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.UPDATES, Gives.INTERRUPT}),
        time_limit_caveat="what it sets up, and one factorisation",
        uninterruptible_seconds=_uninterruptible_seconds,
        threads_of="clarabel",
        reference="Goulart, Chen: Clarabel, 2024",
    )

    def pools_threads(self, options: Options) -> bool:
        """Return whether the user chose a factorisation with a thread pool. The default QDLDL has no pool and is safe
        in forks.
        """
        return options.native.get(_FACTORISATION, _SINGLE_THREADED) != _SINGLE_THREADED

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Return the answer of a new solver, whose native tolerance is a hundredth of the requested gap, but at least 1e-11."""
        begin = time.perf_counter()
        return self._solve(self._build(form, options), form, options, begin, rescale=True)

    def solve_kept(self, form: StandardForm, options: Options, kept_model: KeptModel) -> Answer:
        """Return the answer of the native solver that ``kept_model`` holds from the path's last solve: P, q, A and b are updated
        in place if their sparsity patterns are the same; the equilibration stays that of the first form.
        """
        begin = time.perf_counter()

        def change(solver: Any, _: StandardForm, parts: frozenset[str]) -> Any:
            changed: dict[str, Any] = {}
            if "P" in parts:
                changed["P"] = _objective(form)
            if "q" in parts:
                changed["q"] = np.array(form.q)
            if parts & {"F", "F of cones"}:
                changed["A"] = (-form.csr_rows()[0]).csc
            if parts & {"g", "g of cones"}:
                changed["b"] = np.concatenate([c.g for c in form.constraints])
            if changed:
                solver.update(**changed)
            return solver

        build = functools.partial(self._build, form, options, updates=True)
        return self._solve(kept_model.native_for(form, ALL_PARTS, build, change), form, options, begin)

    def _build(self, form: StandardForm, options: Options, *, updates: bool = False) -> Any:
        """Return a native solver. ``updates`` turns off presolve and chordal decomposition, which forbid updates."""
        import clarabel

        settings = self._settings(clarabel, options)
        if updates:
            settings.presolve_enable = settings.chordal_decomposition_enable = False
        if any(isinstance(c.cone, PSD) for c in form.constraints):
            refinement = {"reltol": _REFINED, "abstol": _REFINED, "max_iter": _REFINEMENTS}
            for name, value in refinement.items():
                if f"iterative_refinement_{name}" not in options.native:
                    setattr(settings, f"iterative_refinement_{name}", value)
        F, g = form.csr_rows()
        cones = [cone for c in form.constraints for cone in _cones(clarabel, c)]
        return clarabel.DefaultSolver(_objective(form), np.array(form.q), (-F).csc, g, cones, settings)

    def _solve(self, solver: Any, form: StandardForm, options: Options, begin: float, rescale: bool = False) -> Answer:
        recorder = Recorder("clarabel", options, maximise=form.maximise)
        loaded = time.perf_counter()
        recorder.start()
        with interrupt_flag() as flag:
            solution = run_with_timeout(
                lambda: self._solve_in_best_scale(solver, recorder, flag, form, options, begin, rescale), options, begin
            )
        solved = time.perf_counter()
        native_status, iterations = solution.status, solution.iterations
        status = _STATUS.get(native_status, Status.FAILED)
        x, z = solution.x, solution.z
        multipliers = multipliers_by_label(form, z)
        ray = status in (Status.INFEASIBLE, Status.UNBOUNDED)
        objective, bound = solution.primal + form.r, solution.dual + form.r
        trace = recorder.final_trace(iterations, None if ray else objective, None if ray else bound)
        return Answer(
            status=status,
            native_status=native_status,
            values=None if ray or not np.isfinite(x).all() else form.split(x),
            multipliers=None if ray or not np.isfinite(z).all() else multipliers,
            objective=None if ray else objective,
            bound=None if ray else bound,
            farkas=multipliers if status is Status.INFEASIBLE else None,
            ray=form.split(x) if status is Status.UNBOUNDED else None,
            iterations=iterations,
            trace=trace,
            build_seconds=loaded - begin,
            solve_seconds=solved - loaded,
            details=ignored_options_note(options, _SUPPORTED_OPTIONS),
        )

    def _solve_in_best_scale(
        self,
        solver: Any,
        recorder: Recorder,
        flag: threading.Event,
        form: StandardForm,
        options: Options,
        begin: float,
        rescale: bool,
    ) -> _Solution:
        """Return the solution. If it violates cones or dual equations of a linear objective, or these violations move the
        objective by more than the tolerance, solve in another scale and return the better one.
        """
        first = _Solution.of(*_solve_to_relative_gap(solver, recorder, flag, form.r, options, begin))
        seconds_left, tol = _seconds_left(options, begin), options.tolerance(self.info.tolerance)
        fixed = not rescale or options.iteration_limit is not None or form.quadratic is not None
        if fixed or first.status not in _SOLVED or _must_end(recorder, flag, seconds_left, options):
            return first
        violation = first.largest_violation(form)
        if violation <= _MAX_VIOLATION and first.unmet(form) <= tol:
            return first
        finer = replace(options, time_limit=seconds_left, tol=(_FINER if violation <= _MAX_VIOLATION else 1.0) * tol)
        scaled = self._build(form.replace(q=_SCALE * form.q), finer)
        native = _solve(scaled, recorder, flag, form.r, first.iterations, _SCALE)
        second = _Solution.of(native, first.iterations + int(native.iterations), _SCALE)
        second_violation = second.largest_violation(form)
        meets = second_violation <= _MAX_VIOLATION and second.unmet(form) <= tol
        better = second.status in _SOLVED and (
            meets
            or (violation > _MAX_VIOLATION and second_violation < violation)
            or (max(violation, second_violation) <= _MAX_VIOLATION and second.unmet(form) < first.unmet(form))
        )
        return second if better else replace(first, iterations=second.iterations)

    def _settings(self, clarabel: Any, options: Options) -> Any:
        settings = clarabel.DefaultSettings()
        check_native("clarabel", options.native, _setting_names(clarabel.DefaultSettings))
        settings.verbose = options.verbose
        tol = max(1e-2 * options.residual_tolerance(self.info.tolerance), 1e-11)
        settings.tol_gap_rel = settings.tol_feas = tol
        # either gap ends the run: an absolute gap must not count as a relative one for small objectives
        settings.tol_gap_abs = 1e-4 * tol
        if options.time_limit is not None:
            settings.time_limit = options.time_limit
        if options.iteration_limit is not None:
            settings.max_iter = options.iteration_limit
        if options.native_threads is not None:
            settings.max_threads = options.native_threads
        if forked_with("clarabel"):
            settings.direct_solve_method = _SINGLE_THREADED
        set_native_options("clarabel", options.native, functools.partial(setattr, settings))
        return settings


@dataclass(frozen=True, eq=False)
class _Solution:
    """A native solution in the scale of the form, without the constant of its objective."""

    status: str
    x: FloatArray
    z: FloatArray
    primal: float
    dual: float
    iterations: int

    @classmethod
    def of(cls, native: Any, iterations: int, scale: float = 1.0) -> _Solution:
        x, z = np.asarray(native.x), np.asarray(native.z) / scale
        return cls(str(native.status), x, z, float(native.obj_val) / scale, float(native.obj_val_dual) / scale, iterations)

    def largest_violation(self, form: StandardForm) -> float:
        """Return the largest violation of a cone by F x + g or by z, or of F'z = q, relative to the sizes of g and q."""
        if not (np.isfinite(self.x).all() and np.isfinite(self.z).all()):
            return np.inf
        residual, primal, dual = form.q.copy(), 0.0, 0.0
        multipliers = multipliers_by_label(form, self.z)
        for c in form.constraints:
            z = multipliers[c.label]
            primal = max(primal, c.cone.violation(c.F @ self.x + c.g) / max(1.0, float(np.abs(c.g).max(initial=0.0))))
            dual = max(dual, c.cone.dual_violation(z))
            residual -= c.F.T @ z
        dual = max(dual, float(np.abs(residual).max(initial=0.0)))
        return max(primal, dual / max(1.0, float(np.abs(form.q).max(initial=0.0))))

    def unmet(self, form: StandardForm) -> float:
        """Return by how much residuals of the dual equations and complementarity may move the objective, relative to it."""
        multipliers, residual, products = multipliers_by_label(form, self.z), form.q.copy(), 0.0
        for c in form.constraints:
            z = multipliers[c.label]
            residual -= c.F.T @ z
            products += float(np.abs((z * (c.F @ self.x + c.g)).reshape(-1, c.cone.group_size).sum(axis=1)).sum())
        scale = products + float(np.abs(residual) @ np.abs(self.x))
        return scale / max(abs(self.primal + form.r), 1e-300)


def _solve_to_relative_gap(
    solver: Any, recorder: Recorder, flag: threading.Event, constant: float, options: Options, begin: float
) -> tuple[Any, int]:
    """Return the solution and the number of all iterations, with a gap relative to the objective.

    Clarabel's gap is relative to 1 if the objective is smaller. Such a form is solved again with a smaller tolerance and the same
    factorisations, and the better solution is returned.
    """
    first = _solve(solver, recorder, flag, constant)
    first_iterations = int(first.iterations)
    before, finer = solver.get_settings(), solver.get_settings()
    tol, size, value = finer.tol_gap_rel, abs(first.obj_val), abs(first.obj_val + constant)
    seconds_left = _seconds_left(options, begin)
    unsolved = str(first.status) != "Solved" or first_iterations >= finer.max_iter or value == 0.0
    if unsolved or _must_end(recorder, flag, seconds_left, options) or _absolute_gap(first) <= _ACCEPTED_GAP * tol * value:
        return first, first_iterations
    finer.tol_gap_rel = max(tol * value, _GAP * size) / max(1.0, size)
    finer.tol_gap_abs = 1e-2 * finer.tol_gap_rel
    finer.tol_feas = max(tol * min(value, 1.0) ** 0.5, _FEASIBLE)
    finer.max_iter -= first_iterations
    if seconds_left is not None:
        finer.time_limit = seconds_left
    solver.update(settings=finer)
    second = _solve(solver, recorder, flag, constant, first_iterations)
    solver.update(settings=before)
    better = str(second.status) in _SOLVED and _absolute_gap(second) < _absolute_gap(first)
    return second if better else first, first_iterations + int(second.iterations)


def _seconds_left(options: Options, begin: float) -> float | None:
    return None if options.time_limit is None else options.time_limit - (time.perf_counter() - begin)


def _must_end(recorder: Recorder, flag: threading.Event, seconds_left: float | None, options: Options) -> bool:
    """Return whether no second solve may follow: the user or the limit ended the first, or set Clarabel's tolerances."""
    out_of_time = seconds_left is not None and seconds_left <= 0.0
    # exempt (text): attributes of Clarabel's settings
    return recorder.stopped or flag.is_set() or out_of_time or any(name.startswith("tol_") for name in options.native)


def _absolute_gap(solution: Any) -> float:
    return abs(float(solution.obj_val) - float(solution.obj_val_dual))


def _solve(
    solver: Any, recorder: Recorder, flag: threading.Event, constant: float, first_iterations: int = 0, scale: float = 1.0
) -> Any:
    """Solve under the termination callback: each iteration adds a row; the user's callback or Ctrl-C ends the solve."""

    def watch(info: Any) -> bool:
        with recorder.deferring_errors():
            primal, dual = info.cost_primal / scale + constant, info.cost_dual / scale + constant
            residual = max(info.res_primal, info.res_dual)
            recorder.record_values(first_iterations + int(info.iterations), primal, dual, step="barrier", infeasible=residual)
        return recorder.stopped or flag.is_set()

    solver.set_termination_callback(watch)
    return solver.solve()


@functools.cache
def _setting_names(settings: Any) -> tuple[str, ...]:
    defaults = settings()
    # exempt (text): attributes of Clarabel's settings
    return tuple(name for name in dir(defaults) if not (name.startswith("_") or callable(getattr(defaults, name))))


def _objective(form: StandardForm) -> sp.csc_matrix:
    """Return the upper triangle of P."""
    return sp.csc_matrix((form.n, form.n)) if form.quadratic is None else form.quadratic.upper


def _cones(clarabel: Any, c: Constraint) -> list[Any]:
    """Return one native cone for a linear stack, one for each cone of a second-order or PSD stack (svec has the same order in
    Clarabel).
    """
    if isinstance(c.cone, Zero):
        return [clarabel.ZeroConeT(c.rows)]
    if isinstance(c.cone, Nonnegative):
        return [clarabel.NonnegativeConeT(c.rows)]
    if isinstance(c.cone, SecondOrder):
        return [clarabel.SecondOrderConeT(c.cone.dim)] * c.cone.count
    if isinstance(c.cone, Exponential):
        return [clarabel.ExponentialConeT()] * c.cone.count
    if isinstance(c.cone, Power):
        return [clarabel.PowerConeT(c.cone.alpha)] * c.cone.count
    assert isinstance(c.cone, PSD)
    return [clarabel.PSDTriangleConeT(c.cone.order)] * c.cone.count


#: Read by `solvers.registry`.
SOLVERS = (Clarabel(),)
