"""Backend of OSQP: operator splitting for quadratic programs, with polishing.

The form is min ½x'Px + q'x + r subject to linear rows and bounds; z are the multipliers of its rows and ζ those of its bounds.
"""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np

from ...errors import InputError, SolverError, short_text
from ...models.program.cones import Feature
from ...models.program.form import LinearArrays, StandardForm
from ..interface.backend import Backend, dense_block_order
from ..interface.native_options import check_native, ignored_options_note, start_point
from ..interface.solver import Gives, KeptModel, Purpose, SolverInfo
from ..interface.timeouts import run_with_timeout
from ..records import Answer, Options, Status

#: The inaccurate statuses count as an iteration limit.
_STATUS = {
    "OSQP_SOLVED": Status.OPTIMAL,
    "OSQP_SOLVED_INACCURATE": Status.ITERATION_LIMIT,
    "OSQP_PRIMAL_INFEASIBLE": Status.INFEASIBLE,
    "OSQP_PRIMAL_INFEASIBLE_INACCURATE": Status.ITERATION_LIMIT,
    "OSQP_DUAL_INFEASIBLE": Status.UNBOUNDED,
    "OSQP_DUAL_INFEASIBLE_INACCURATE": Status.ITERATION_LIMIT,
    "OSQP_MAX_ITER_REACHED": Status.ITERATION_LIMIT,
    "OSQP_TIME_LIMIT_REACHED": Status.TIME_LIMIT,
    "OSQP_NON_CVX": Status.FAILED,
    "OSQP_SIGINT": Status.INTERRUPTED,
    "OSQP_UNSOLVED": Status.FAILED,
}

#: OSQP's infinity.
_INFINITY = 1e30

#: Iteration limit by default: OSQP's own of 4,000 ends a run before the default tolerance is reached.
_ITERATIONS = 100_000

#: Seconds for each pair of non-zeros in a column of P (4,000 points, dense), for each unit of the cube of `dense_block_order`
#: (3,000 x 3,000, .3% dense), and for each pair of non-zeros in a row of F (3,000 x 401, dense).
_PAIR, _FILLED, _ELIMINATED = 2.5e-10, 2.5e-10, 2.5e-9

_SUPPORTED_OPTIONS = frozenset({"time_limit", "iteration_limit", "start"})


def _uninterruptible_seconds(form: StandardForm) -> float:
    """Return the seconds of setting up, nearly all of them the factorisation."""
    P = np.zeros(form.n) if form.quadratic is None else form.quadratic.column_count_bounds
    F, _ = form.rows_matrix()
    rows, columns = np.diff(F.indptr).astype(np.float64), np.bincount(F.indices, minlength=form.n).astype(np.float64)
    eliminated = min(float(np.square(rows).sum()), float(np.square(columns).sum()))  # rows first, or columns first
    return _PAIR * float(np.square(P).sum()) + _ELIMINATED * eliminated + _FILLED * float(dense_block_order(form)) ** 3


class Osqp(Backend):
    """OSQP, which reads l ≤ A x ≤ u, bounds among the rows. Its multipliers y satisfy Px + q + A'y = 0: z and ζ are -y."""

    info = SolverInfo(
        name="osqp",
        rank={Purpose.QUADRATIC: 4},
        summary="operator splitting for quadratic programs",
        package="osqp",
        module="osqp",
        reads=frozenset({Feature.QUADRATIC}),
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.WARM_START, Gives.UPDATES, Gives.INTERRUPT}),
        tolerance=1e-4,
        first_order=True,
        time_limit_caveat="one factorisation, before the first iteration",
        uninterruptible_seconds=_uninterruptible_seconds,
        reference="Stellato et al.: OSQP: an operator splitting solver for quadratic programs, 2020",
    )

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Return the answer for native tolerances one order (absolute ones three, as they add up) below the gap, then polish."""
        begin = time.perf_counter()
        return self._answer(self._build(form.linear(), options), form, options, begin)

    def solve_kept(self, form: StandardForm, options: Options, kept_model: KeptModel) -> Answer:
        """Return the answer of the kept solver, with P, q, A and sides updated in place if their sparsity patterns are the same;
        it starts from its last point.
        """
        begin, arrays = time.perf_counter(), form.linear()

        def change(solver: Any, _: StandardForm, parts: frozenset[str]) -> Any:
            changed: dict[str, Any] = {}
            if "P" in parts:
                changed["Px"] = arrays.upper_P.data
            if "q" in parts:
                changed["q"] = arrays.q
            if "F" in parts:
                changed["Ax"] = arrays.A.data
            if parts & {"g", "bounds"}:
                changed |= {"l": arrays.lower, "u": arrays.upper}
            if changed:
                solver.update(**changed)
            return solver

        updatable = frozenset({"P", "q", "r", "F", "g", "bounds"})
        solver = kept_model.native_for(form, updatable, functools.partial(self._build, arrays, options), change)
        return self._answer(solver, form, options, begin)

    def _build(self, arrays: LinearArrays, options: Options) -> Any:
        import osqp

        if (arrays.lower >= _INFINITY).any() or (arrays.upper <= -_INFINITY).any():  # OSQP would print the same message
            raise SolverError(
                f"osqp refuses the problem: numbers from {_INFINITY:g} on are infinite to it: scale them", solver="osqp"
            )
        solver = osqp.OSQP(algebra=options.native.get("algebra", osqp.default_algebra()))
        settings = self._settings(solver, options)
        try:
            solver.setup(P=arrays.upper_P, q=arrays.q, A=arrays.A, l=arrays.lower, u=arrays.upper, **settings)
        except (TypeError, ValueError, AssertionError) as error:
            raise InputError(
                f"osqp does not take the options {short_text(dict(options.native))}: {error}", name="options"
            ) from error
        except osqp.OSQPException as error:
            raise SolverError(
                f"osqp refuses the problem or its options {short_text(dict(options.native))}: error {error}", solver="osqp"
            ) from error
        return solver

    def _answer(self, solver: Any, form: StandardForm, options: Options, begin: float) -> Answer:
        import osqp

        arrays = form.linear()
        start, details = start_point(form, options)
        if start is not None:
            solver.warm_start(x=start)
        loaded = time.perf_counter()
        polish = options.native.get("polishing", True)
        answer = run_with_timeout(lambda: _solve(solver, polish=polish), options, begin)
        solved = time.perf_counter()
        status_name = osqp.SolverStatus(answer.info.status_val).name
        status = _STATUS.get(status_name, Status.FAILED)
        reached = status in (Status.OPTIMAL, Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.INTERRUPTED)
        usable = reached and answer.x is not None and np.isfinite(answer.x).all() and np.isfinite(answer.y).all()
        y = np.asarray(answer.y)
        return Answer(
            status=status,
            native_status=status_name,
            values=form.split(np.asarray(answer.x)) if usable else None,
            multipliers=arrays.multipliers(y) if usable else None,
            reduced=arrays.reduced(y) if usable else None,
            objective=float(answer.info.obj_val) + form.r if usable else None,
            bound=float(answer.info.dual_obj_val) + form.r if usable else None,
            farkas=arrays.multipliers(np.asarray(answer.prim_inf_cert)) if status is Status.INFEASIBLE else None,
            ray=form.split(np.asarray(answer.dual_inf_cert)) if status is Status.UNBOUNDED else None,
            iterations=int(answer.info.iter),
            build_seconds=loaded - begin,
            solve_seconds=solved - loaded,
            details=details | ignored_options_note(options, _SUPPORTED_OPTIONS),
        )

    def _settings(self, solver: Any, options: Options) -> dict[str, Any]:
        # exempt (text): attributes of OSQP's settings
        names = [name for name in vars(solver.ext.OSQPSettings) if not name.startswith("_")]
        check_native("osqp", options.native, [*names, "algebra", "solver_type", "cg_preconditioner"])
        tol = options.residual_tolerance(self.info.tolerance)
        settings: dict[str, Any] = {
            "verbose": options.verbose,
            "eps_abs": 1e-3 * tol,
            "eps_rel": 1e-1 * tol,
            "polishing": False,
            "max_iter": _ITERATIONS if options.iteration_limit is None else options.iteration_limit,
        }
        if options.time_limit is not None:
            settings["time_limit"] = options.time_limit
        return settings | {name: value for name, value in options.native.items() if name not in ("algebra", "polishing")}


def _solve(solver: Any, *, polish: bool) -> Any:
    """Solve, then polish if a row is active. Without an active row OSQP would only print a message.

    At Ctrl-C OSQP 1 returns no iterate, but keeps it: one iteration more returns it.
    """
    import osqp

    solver.update_settings(polishing=False)  # a reused solver has polished already
    answer = solver.solve(raise_error=False)
    iterations = answer.info.iter
    if answer.info.status_val == osqp.SolverStatus.OSQP_SIGINT:
        limit = solver.settings.max_iter
        solver.update_settings(max_iter=1)
        answer = solver.solve(raise_error=False)
        solver.update_settings(max_iter=limit)
        answer.info.status_val = int(osqp.SolverStatus.OSQP_SIGINT)
        answer.info.iter += iterations
        return answer
    if polish and answer.info.status == "solved" and np.any(answer.y):
        solver.update_settings(polishing=True)
        answer = solver.solve(raise_error=False)
        answer.info.iter += iterations
    return answer


#: Read by `solvers.registry`.
SOLVERS = (Osqp(),)
