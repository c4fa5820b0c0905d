"""OSQP: operator splitting for quadratic programs, with polishing."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, SolverError
from ...models.arrays import IntArray
from ...models.program.cones import Feature, Zero
from ...models.program.form import StandardForm
from ..interface.backend import Backend
from ..interface.kept_model import Kept
from ..interface.linear_rows import by_label, not_taken, start_point
from ..interface.native_options import check_native
from ..interface.solver import Gives, SolverInfo
from ..interface.subprocess_limit import run_with_timeout
from ..records.answer import Answer
from ..records.options import Options
from ..records.rank import Purpose
from ..records.status import Status

__all__ = ["SOLVERS", "Osqp"]

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

#: OSQP's default of 4,000 iterations ends before our default tolerance is reached.
_ITERATIONS = 100_000

#: Seconds for each pair of non-zeros in a column of P (4,000 points, dense).
_PAIR = 2.5e-10

_SUPPORTED_OPTIONS = frozenset({"time_limit", "iteration_limit", "start"})


def _uninterruptible_seconds(form: StandardForm) -> float:
    """Return the seconds of setting up, nearly all of them the factorisation."""
    P = np.zeros(form.n) if form.quadratic is None else form.quadratic.most_in_columns
    return _PAIR * float(np.square(P).sum())


class Osqp(Backend):
    """OSQP, which reads l ≤ A x ≤ u, bounds among the rows. Its stationarity is Px + q + A'y = 0: z and ζ are -y."""

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
        """Solve with native tolerances one order (absolute ones three, as they add up) below the requested gap, then polish."""
        begin = time.perf_counter()
        solver, bounded = self._build(form, options)
        return self._answer(solver, bounded, form, options, begin)

    def solve_kept(self, form: StandardForm, options: Options, kept: Kept) -> Answer:
        """Update P, q, A and the sides in place if their sparsity patterns are the same; OSQP starts from its last point."""
        begin = time.perf_counter()
        parts = kept.updates(form, frozenset({"P", "q", "r", "F", "g", "bounds"}))
        if parts is None:
            kept.hold(form, self._build(form, options))
        else:
            solver, bounded = kept.native
            changed: dict[str, Any] = {}
            if "P" in parts:
                changed["Px"] = _objective(form).data
            if "q" in parts:
                changed["q"] = np.array(form.q)
            if "F" in parts:
                changed["Ax"] = _rows(form, bounded).data
            if parts & {"g", "bounds"}:
                changed |= _sides(form, bounded)
            if changed:
                solver.update(**changed)
            kept.hold(form, kept.native)
        solver, bounded = kept.native
        return self._answer(solver, bounded, form, options, begin)

    def _build(self, form: StandardForm, options: Options) -> tuple[Any, IntArray]:
        """Return a native solver, and the variables whose bounds are rows of it."""
        import osqp

        bounded = np.flatnonzero(np.isfinite(form.lower) | np.isfinite(form.upper))
        sides = _sides(form, bounded)
        if (sides["l"] >= _INFINITY).any() or (sides["u"] <= -_INFINITY).any():  # OSQP would print the same message
            raise SolverError(f"osqp refuses the problem: numbers from {_INFINITY:g} on are infinite to it: scale them")
        solver = osqp.OSQP(algebra=options.native.get("algebra", osqp.default_algebra()))
        settings = self._settings(solver, options)
        try:
            solver.setup(
                P=_objective(form),
                q=np.array(form.q),
                A=_rows(form, bounded),
                **sides,
                **settings,
            )
        except (TypeError, ValueError, AssertionError) as error:
            raise InputError(f"osqp does not take the options {dict(options.native)!r}: {error}") from error
        except osqp.OSQPException as error:
            raise SolverError(f"osqp refuses the problem or its options {dict(options.native)!r}: error {error}") from error
        return solver, bounded

    def _answer(self, solver: Any, bounded: IntArray, form: StandardForm, options: Options, begin: float) -> Answer:
        import osqp

        rows = form.rows
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
        reduced = np.zeros(form.n)
        reduced[bounded] = -y[rows:]
        return Answer(
            status=status,
            native_status=status_name,
            values=form.split(np.asarray(answer.x)) if usable else None,
            multipliers=by_label(form, -y[:rows]) if usable else None,
            reduced=reduced if usable else None,
            objective=float(answer.info.obj_val) + form.r if usable else None,
            bound=float(answer.info.dual_obj_val) + form.r if usable else None,
            farkas=by_label(form, -np.asarray(answer.prim_inf_cert)[:rows]) if status is Status.INFEASIBLE else None,
            ray=form.split(np.asarray(answer.dual_inf_cert)) if status is Status.UNBOUNDED else None,
            iterations=int(answer.info.iter),
            build_seconds=loaded - begin,
            solve_seconds=solved - loaded,
            details=details | not_taken(options, _SUPPORTED_OPTIONS),
        )

    def _settings(self, solver: Any, options: Options) -> dict[str, Any]:
        names = [name for name in vars(solver.ext.OSQPSettings) if not name.startswith("_")]
        check_native("osqp", options.native, [*names, "algebra", "solver_type", "cg_preconditioner"])
        tol = options.tolerance(self.info.tolerance)
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


def _objective(form: StandardForm) -> sp.csc_matrix:
    """Return the upper triangle of P."""
    return sp.csc_matrix((form.n, form.n)) if form.quadratic is None else form.quadratic.upper


def _rows(form: StandardForm, bounded: IntArray) -> sp.csc_matrix:
    """Return A of l ≤ A x ≤ u: the form's rows, then one for each bounded variable."""
    single = sp.csr_array((np.ones(bounded.size), (np.arange(bounded.size), bounded)), shape=(bounded.size, form.n))
    return sp.csc_matrix(sp.vstack([form.rows_matrix()[0], single]))


def _sides(form: StandardForm, bounded: IntArray) -> dict[str, Any]:
    """Return l and u of l ≤ A x ≤ u."""
    low = [-c.g for c in form.constraints]
    high = [-c.g if isinstance(c.cone, Zero) else np.full(c.rows, np.inf) for c in form.constraints]
    return {"l": np.concatenate([*low, form.lower[bounded]]), "u": np.concatenate([*high, form.upper[bounded]])}


def _solve(solver: Any, *, polish: bool) -> Any:
    """Solve, then polish if a row is active. Without an active row OSQP would only print a message."""
    solver.update_settings(polishing=False)  # a reused solver has polished already
    answer = solver.solve(raise_error=False)
    iterations = answer.info.iter
    if polish and answer.info.status == "solved" and np.any(answer.y):
        solver.update_settings(polishing=True)
        answer = solver.solve(raise_error=False)
        answer.info.iter += iterations
    return answer


SOLVERS = (Osqp(),)
