"""Clarabel: interior point for quadratic objectives over second-order and semidefinite cones."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import InputError
from ...models.cones import PSD, Feature, Nonnegative, SecondOrder, Zero
from ...models.form import Constraint, StandardForm
from ..backend import Backend, NativeSolution
from ..base import Gives, SolverInfo
from ..native import check_native
from ..options import Options
from ..status import Status

__all__ = ["SOLVERS", "Clarabel"]

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
}


class Clarabel(Backend):
    """Clarabel reads A x + s = b, s in K: here A = -F, b = g, and its z is ours."""

    info = SolverInfo(
        name="clarabel",
        summary="interior point, quadratic objective over conic constraints",
        package="clarabel",
        module="clarabel",
        reads=frozenset({Feature.QUADRATIC, Feature.SECOND_ORDER, Feature.PSD}),
        bounds=False,
        gives=frozenset({Gives.DUALS, Gives.BOUND}),
        reference="Goulart, Chen: Clarabel, 2024",
    )

    def solve_form(self, form: StandardForm, options: Options) -> NativeSolution:
        """Solve with the native tolerances two orders below the gap asked for."""
        import clarabel

        begin = time.perf_counter()
        settings = self._settings(clarabel, options)
        F, g = form.rows_matrix()
        P = sp.csc_matrix((form.n, form.n)) if form.quadratic is None else sp.csc_matrix(sp.triu(form.quadratic.csc))
        cones = [cone for c in form.constraints for cone in _cones(clarabel, c)]
        solver = clarabel.DefaultSolver(P, np.array(form.q), sp.csc_matrix(-F), g, cones, settings)
        loaded = time.perf_counter()
        solution = solver.solve()
        solved = time.perf_counter()
        word = str(solution.status)
        status = _STATUS.get(word, Status.FAILED)
        z = np.asarray(solution.z)
        stops = np.cumsum([c.rows for c in form.constraints])
        multipliers = {c.label: z[stop - c.rows : stop] for c, stop in zip(form.constraints, stops, strict=True)}
        ray = status in (Status.INFEASIBLE, Status.UNBOUNDED)
        x = np.asarray(solution.x)
        return NativeSolution(
            status=status,
            native_status=word,
            x=None if ray or not np.isfinite(x).all() else x,
            multipliers=None if ray or not np.isfinite(z).all() else multipliers,
            objective=None if ray else float(solution.obj_val) + form.r,
            bound=None if ray else float(solution.obj_val_dual) + form.r,
            iterations=int(solution.iterations),
            build_seconds=loaded - begin,
            solve_seconds=solved - loaded,
            details={"farkas": multipliers} if status is Status.INFEASIBLE else {},
        )

    def _settings(self, clarabel: Any, options: Options) -> Any:
        settings = clarabel.DefaultSettings()
        known = [name for name in dir(settings) if not (name.startswith("_") or callable(getattr(settings, name)))]
        check_native("clarabel", options.native, known)
        settings.verbose = options.verbose
        tol = max(1e-2 * options.tolerance(self.info.tolerance), 1e-11)
        settings.tol_gap_rel = settings.tol_feas = tol
        # either gap ends the run: an absolute one must not pass for a relative one on small objectives
        settings.tol_gap_abs = 1e-4 * tol
        if options.time_limit is not None:
            settings.time_limit = options.time_limit
        if options.iteration_limit is not None:
            settings.max_iter = options.iteration_limit
        if options.threads is not None:
            settings.max_threads = options.threads
        for name, value in options.native.items():
            try:
                setattr(settings, name, value)
            except (TypeError, ValueError, OverflowError) as error:
                raise InputError(f"clarabel does not take {name} = {value!r}: {error}") from error
        return settings


def _cones(clarabel: Any, c: Constraint) -> list[Any]:
    """One native cone for a linear stack, one for each cone of a second-order or PSD stack (svec order is ours)."""
    if isinstance(c.cone, Zero):
        return [clarabel.ZeroConeT(c.rows)]
    if isinstance(c.cone, Nonnegative):
        return [clarabel.NonnegativeConeT(c.rows)]
    if isinstance(c.cone, SecondOrder):
        return [clarabel.SecondOrderConeT(c.cone.dim)] * c.cone.count
    assert isinstance(c.cone, PSD)
    return [clarabel.PSDTriangleConeT(c.cone.order)] * c.cone.count


SOLVERS = (Clarabel(),)
