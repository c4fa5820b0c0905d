"""Backend of Gurobi: mixed-integer linear, quadratic and conic programs; nonconvex, exponential and power ones by branching.

The form is min ½x'Px + q'x + r subject to F x + g in K, a product of cones, and bounds; z are the multipliers of its rows and ζ
those of its bounds.
"""

from __future__ import annotations

import functools
import os
import time
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import InputError, LicenceError, SolverError, count_text
from ...models.arrays import FloatArray
from ...models.export.cone_rows import gurobi_size, quadratic_cones
from ...models.export.gurobi_model import change_gurobi, silent_environment, to_gurobi
from ...models.program.cones import Feature, Nonnegative, Zero
from ...models.program.form import StandardForm
from ..certification.newton_refinement import newton_polish
from ..interface.backend import Backend
from ..interface.native_options import (
    check_native,
    dual_start,
    set_block_option,
    set_native_options,
    started_variables,
    starts_linear_program,
    warn_unused_start,
)
from ..interface.recorder import Recorder
from ..interface.solver import NONCONVEX_FEATURES, Gives, KeptModel, Licence, LicenceState, Purpose, SolverInfo
from ..records import Answer, Options, Status

# Gurobi's licence: its kind, its size limit and its end.

#: Variables and rows, and variables of quadratic models, that the licence inside the pip package allows.
_LIMIT, _QUADRATIC_LIMIT = 2000, 200
#: Gurobi's error code for a model larger than the licence allows.
_SIZE_ERROR = 10010


@functools.cache
def find_licence(licence_file: str | None) -> Licence:
    """Return the licence that Gurobi finds with this ``GRB_LICENSE_FILE``, tested with one variable more than the restricted
    licence allows.
    """
    import gurobipy

    try:
        environment = silent_environment()
    except LicenceError as error:
        # exempt (text): Gurobi's message of an expired licence
        expired = "expired" in str(error).lower()
        return Licence(LicenceState.EXPIRED if expired else LicenceState.MISSING, str(error))
    with environment, gurobipy.Model(env=environment) as model:
        day = str(model.LicenseExpiration)
        until = "" if day == "99999999" else f", valid until {day[:4]}-{day[4:6]}-{day[6:]}"
        model.addMVar(_LIMIT + 1)
        try:
            model.optimize()
        except gurobipy.GurobiError as error:
            if error.errno != _SIZE_ERROR:
                return Licence(LicenceState.MISSING, str(error))
            return Licence(LicenceState.RESTRICTED, f"{error}{until}", _LIMIT, _QUADRATIC_LIMIT, gurobi_size)
    return Licence(LicenceState.FULL, f"full licence{until}")


#: The tightest feasibility, integrality and optimality tolerances of Gurobi; a big M multiplies a looser one.
_TIGHT = 1e-9

#: Options of ours beside Gurobi's parameters: see `Gurobi`.
_OWN = ("env", "hints", "priorities", "dual_start")
#: Attributes of variables that options set by block.
_ATTRIBUTES = {"hints": "VarHintVal", "priorities": "BranchPriority"}

#: Continuous programs with these features are solved by branching, too: they have a bound and no multipliers.
_SEARCHED = NONCONVEX_FEATURES | {Feature.EXPONENTIAL, Feature.POWER}

_STATUS = {
    "OPTIMAL": Status.OPTIMAL,
    "INFEASIBLE": Status.INFEASIBLE,
    "UNBOUNDED": Status.UNBOUNDED,
    "ITERATION_LIMIT": Status.ITERATION_LIMIT,
    "NODE_LIMIT": Status.NODE_LIMIT,
    "TIME_LIMIT": Status.TIME_LIMIT,
    "WORK_LIMIT": Status.TIME_LIMIT,
    "SOLUTION_LIMIT": Status.INTERRUPTED,
    "USER_OBJ_LIMIT": Status.INTERRUPTED,
    "INTERRUPTED": Status.INTERRUPTED,
    "MEM_LIMIT": Status.MEMORY_LIMIT,
    "NUMERIC": Status.STALLED,
    "SUBOPTIMAL": Status.STALLED,
    "LOCALLY_OPTIMAL": Status.STATIONARY,
    "CUTOFF": Status.INTERRUPTED,  # by the user's option Cutoff
    "INPROGRESS": Status.FAILED,
    "INF_OR_UNBD": Status.FAILED,
    "LOADED": Status.FAILED,
    "LOCALLY_INFEASIBLE": Status.FAILED,  # no proof
}


class Gurobi(Backend):
    """Gurobi; cones are quadratic constraints, with auxiliary variables if a row is not a variable.

    Beside its own options it takes ``env``, a started ``gurobipy.Env`` of the user's (a compute server, WLS), which stays open;
    ``hints`` (likely values) and ``priorities`` (of branching), numbers by block of variables; and for linear programs
    ``dual_start``, multipliers by constraint, beside ``start``. ``PoolSolutions`` and ``PoolSearchMode`` bring several points:
    ``result.pool``.
    """

    info = SolverInfo(
        name="gurobi",
        rank={Purpose.MIXED_INTEGER: 1},
        summary="commercial branch and bound, simplex and interior point",
        package="gurobipy",
        module="gurobipy",
        reads=frozenset(Feature) - {Feature.PSD},
        integrality=("IntFeasTol", _TIGHT),
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.UPDATES, Gives.INTERRUPT}),
        extra="commercial",
        reference="Gurobi Optimization: Gurobi Optimizer Reference Manual",
    )

    def licence(self) -> Licence:
        """Return the licence, found by starting an environment and solving a model of 2,001 variables without rows; cached."""
        return find_licence(os.environ.get("GRB_LICENSE_FILE"))

    def licence_under(self, options: Options) -> Licence:
        """Return the licence; a full one for an environment of the user's, whose limits Gurobi itself checks."""
        if "env" not in options.native:
            return self.licence()
        return Licence(LicenceState.FULL, "that of the environment given as env")

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Return the answer of a new model; an "infeasible or unbounded" one is solved again without dual reductions."""
        begin = time.perf_counter()
        environment, of_user = _environment(options)
        with nullcontext() if of_user else environment, to_gurobi(form, environment) as model:
            return self._solve(model, form, options, begin)

    def solve_kept(self, form: StandardForm, options: Options, kept_model: KeptModel) -> Answer:
        """Return the answer of the kept model: objective, linear rows and bounds are changed in place, cones built again."""
        begin = time.perf_counter()

        def build() -> tuple[Any, Any]:
            environment, of_user = _environment(options)
            return to_gurobi(form, environment), None if of_user else environment

        def change(native: tuple[Any, Any], old: StandardForm, parts: frozenset[str]) -> tuple[Any, Any]:
            change_gurobi(native[0], old, form, parts)
            return native

        updatable = frozenset({"P", "q", "r", "F", "g", "bounds"})
        model, _ = kept_model.native_for(form, updatable, build, change, any_bounds=True, release=_dispose)
        return self._solve(model, form, options, begin)

    def _solve(self, model: Any, form: StandardForm, options: Options, begin: float) -> Answer:
        import gurobipy

        self._set_parameters(gurobipy, model, form, options)
        details: dict[str, Any] = _start(model, form, options)
        for name, attribute in _ATTRIBUTES.items():
            set_block_option(form, options, name, functools.partial(_set_attribute, model, attribute))
        loaded = time.perf_counter()
        recorder = Recorder("gurobi", options, maximise=form.maximise)
        self._optimize(gurobipy, model, recorder)
        if model.Status == gurobipy.GRB.INF_OR_UNBD:
            model.Params.DualReductions = 0
            self._optimize(gurobipy, model, recorder)
        solved = time.perf_counter()
        solution = _read(gurobipy, model, form, recorder)
        if solution.values is not None and {"PoolSolutions", "PoolSearchMode"} & set(options.native):
            solution = replace(solution, pool=_pool(model, form))
        return replace(solution, build_seconds=loaded - begin, solve_seconds=solved - loaded, details=details)

    def _set_parameters(self, gurobipy: Any, model: Any, form: StandardForm, options: Options) -> None:
        # exempt (text): attributes of gurobipy's modules
        check_native("gurobi", options.native, [*_OWN, *(n for n in dir(gurobipy.GRB.Param) if not n.startswith("_"))])
        native = {name: value for name, value in options.native.items() if name not in _OWN}
        tol = options.tolerance(self.info.tolerance)
        accuracy = float(np.clip(1e-2 * tol, 1e-11, 1e-8))
        chosen: dict[str, Any] = {
            "OutputFlag": int(options.verbose),
            "FeasibilityTol": _TIGHT,
            "IntFeasTol": _TIGHT,
            "OptimalityTol": _TIGHT,
            "BarConvTol": accuracy,
            "BarQCPConvTol": accuracy,
            "MIPGap": options.search_gap(self.info.tolerance),
            "Seed": options.seed % 2_000_000_000,
        }
        if not (form.integer.any() or form.features & _SEARCHED):
            chosen |= {"QCPDual": 1, "InfUnbdInfo": 1}
            # Gurobi's gap is relative to 1 + |objective|, which differs from ours for small objectives
            chosen["BarConvTol"] = float(np.clip(1e-4 * tol, 1e-12, 1e-8))
        if options.time_limit is not None:
            chosen["TimeLimit"] = options.time_limit
        if options.native_threads is not None:
            chosen["Threads"] = options.native_threads
        if starts_linear_program(form, options):
            chosen["LPWarmStart"] = 2  # else presolve drops it
        if options.node_limit is not None:
            chosen["NodeLimit"] = options.node_limit
        if options.iteration_limit is not None:
            chosen |= {"IterationLimit": options.iteration_limit, "BarIterLimit": options.iteration_limit}
        if options.memory_limit is not None:
            chosen["SoftMemLimit"] = options.memory_limit / 1e9
        set_native_options("gurobi", {**chosen, **native}, model.setParam, gurobipy.GurobiError)

    @staticmethod
    def _optimize(gurobipy: Any, model: Any, recorder: Recorder) -> None:
        recorder.start()
        try:
            model.optimize(functools.partial(_watch, gurobipy, recorder))
        except gurobipy.GurobiError as error:
            if error.errno == _SIZE_ERROR:
                size = (
                    f"{count_text(model.NumVars, 'variable')}, {count_text(model.NumConstrs, 'row')}, "
                    f"{count_text(model.NumQConstrs, 'quadratic constraint')}"
                )
                raise LicenceError(f"gurobi: {error} (the model has {size})", "gurobi") from error
            raise SolverError(f"gurobi failed: {error} (error {error.errno})", solver="gurobi") from error


def _environment(options: Options) -> tuple[Any, bool]:
    """Return the environment, and whether it is the user's own."""
    import gurobipy

    environment = options.native.get("env")
    if environment is None:
        return silent_environment(verbose=options.verbose), False
    if not isinstance(environment, gurobipy.Env):
        raise InputError(f"env must be a started gurobipy.Env; it is a {type(environment).__name__}", name="env")
    return environment, True


def _dispose(native: tuple[Any, Any]) -> None:
    """Free a model, and its environment unless that is the user's."""
    model, environment = native
    model.dispose()
    if environment is not None:
        environment.dispose()


def _start(model: Any, form: StandardForm, options: Options) -> dict[str, str]:
    """Set a start of some variables, which Gurobi completes where there are integers, and a linear program's multipliers."""
    multipliers = dual_start(form, options)
    if multipliers is not None:
        model.setAttr("DStart", model.getConstrs(), multipliers.tolist())
    if options.start is None:
        return {}
    if not (form.features & (_SEARCHED | {Feature.INTEGER}) or starts_linear_program(form, options)):
        return warn_unused_start("gurobi", "Gurobi takes starts for linear, mixed-integer and nonconvex models")
    variables = model.getVars()
    indices, values = started_variables(form, options)
    model.setAttr("Start" if form.features else "PStart", [variables[j] for j in indices], values.tolist())
    return {}


def _set_attribute(model: Any, attribute: str, place: slice, values: FloatArray) -> None:
    model.setAttr(attribute, model.getVars()[place], values.tolist())


def _pool(model: Any, form: StandardForm) -> tuple[dict[str, FloatArray], ...]:
    """Return all solutions that Gurobi holds, best first."""
    points, variables = [], model.getVars()[: form.n]
    for k in range(model.SolCount):
        model.Params.SolutionNumber = k
        points.append(form.split(np.array(model.getAttr("Xn", variables))))
    return tuple(points)


def _watch(gurobipy: Any, recorder: Recorder, model: Any, callback_code: int) -> None:
    """Record a row for every new incumbent and barrier iteration, else every 50 ms, in Gurobi's callback."""
    callback_get, codes = model.cbGet, gurobipy.GRB.Callback
    if callback_code in (codes.MIPSOL, codes.BARRIER) or time.perf_counter() >= recorder.next_row:
        with recorder.deferring_errors():
            if callback_code == codes.MIPSOL:
                incumbent = min(callback_get(codes.MIPSOL_OBJ), callback_get(codes.MIPSOL_OBJBST))
                recorder.record_values(
                    int(callback_get(codes.MIPSOL_NODCNT)), incumbent, callback_get(codes.MIPSOL_OBJBND), step="incumbent"
                )
            elif callback_code == codes.MIP:
                open_nodes = int(callback_get(codes.MIP_NODLFT))
                recorder.record_values(
                    int(callback_get(codes.MIP_NODCNT)),
                    callback_get(codes.MIP_OBJBST),
                    callback_get(codes.MIP_OBJBND),
                    active=open_nodes,
                    step="node",
                )
            elif callback_code == codes.BARRIER:
                primal, dual = callback_get(codes.BARRIER_PRIMOBJ), callback_get(codes.BARRIER_DUALOBJ)
                residual = max(callback_get(codes.BARRIER_PRIMINF), callback_get(codes.BARRIER_DUALINF))
                recorder.record_values(int(callback_get(codes.BARRIER_ITRCNT)), primal, dual, step="barrier", infeasible=residual)
            elif callback_code == codes.SIMPLEX:
                recorder.record_values(
                    int(callback_get(codes.SPX_ITRCNT)), callback_get(codes.SPX_OBJVAL), np.nan, step="simplex"
                )
    if recorder.stopped:
        model.terminate()


def _bound(model: Any) -> float | None:
    """Return the bound of a mixed-integer or nonconvex model; None where presolve left none."""
    try:
        bound = float(model.ObjBound)
    except AttributeError:
        return None
    return bound if abs(bound) < 1e99 else None


def _read(gurobipy: Any, model: Any, form: StandardForm, recorder: Recorder) -> Answer:
    """Return the answer: incumbent, bound, counts, and multipliers of continuous models."""
    codes = gurobipy.GRB.Status
    # exempt (text): attributes of gurobipy's modules
    status_names = {getattr(codes, name): name for name in dir(codes) if not name.startswith("_")}
    status_name = status_names.get(model.Status, str(model.Status))
    status = _STATUS.get(status_name, Status.FAILED)
    mixed, has_point = bool(model.IsMIP or form.features & _SEARCHED), model.SolCount > 0 and status is not Status.UNBOUNDED
    variables = model.getVars()
    x = np.array(model.getAttr("X", variables[: form.n])) if has_point else None
    objective = float(model.ObjVal) if has_point else None
    bound = _bound(model) if mixed and status is not Status.INFEASIBLE else None
    nodes = int(model.NodeCount) if mixed else None
    iterations = int(model.IterCount) + int(model.BarIterCount)
    multipliers = reduced = None
    farkas = _farkas(gurobipy, model, form) if status is Status.INFEASIBLE and not mixed else None
    polished = ""
    if has_point and not mixed and status in (Status.OPTIMAL, Status.STALLED):
        dual_values = _dual_values(gurobipy, model)
        if x is not None and dual_values is not None:
            before = x
            x, multipliers, reduced = _multipliers(model, form, x, dual_values)
            polished = "" if x is before else "point and multipliers by Newton steps on the active constraints"
    trace = recorder.final_trace(nodes if nodes is not None else iterations, objective, bound)
    return Answer(
        status=status,
        native_status=status_name,
        values=None if x is None else form.split(x),
        multipliers=multipliers,
        reduced=reduced,
        objective=objective,
        bound=bound,
        farkas=farkas,
        nodes=nodes,
        iterations=iterations,
        trace=trace,
        polished=polished,
    )


def _dual_values(gurobipy: Any, model: Any) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return Pi, QCPi and RC; None if Gurobi has none, as for a suboptimal point of a program with quadratic constraints."""
    try:
        quadratic = -np.array(model.getAttr("QCPi", model.getQConstrs())) if model.NumQConstrs else np.zeros(0)
        return np.array(model.getAttr("Pi")), quadratic, np.array(model.getAttr("RC", model.getVars()))
    except (gurobipy.GurobiError, AttributeError):
        return None


def _multipliers(
    model: Any, form: StandardForm, x: FloatArray, dual_values: tuple[FloatArray, FloatArray, FloatArray]
) -> tuple[FloatArray, dict[str, FloatArray], FloatArray]:
    """Return z from Pi and QCPi and ζ from RC: Gurobi's stationarity Px + q = A'Pi + RC + ... has the form's signs."""
    linear, quadratic, reduced = dual_values
    z, links = _by_label(form, linear)
    first = 0
    for rows, link in zip(quadratic_cones(form), links, strict=True):
        count = rows.constraint.cone.count
        mu = np.maximum(quadratic[first : first + count], 0.0)
        z[rows.constraint.label] = rows.multipliers(rows.constraint.value(x), mu, link)
        first += count
    reduced = reduced[: form.n]
    return newton_polish(form, x, z, reduced) if model.IsQCP else (x, z, reduced)


def _by_label(form: StandardForm, dual_values: FloatArray) -> tuple[dict[str, FloatArray], list[FloatArray]]:
    """Return the multipliers of linear constraints by label, and those of the linking equations by cone constraint."""
    z: dict[str, FloatArray] = {}
    first = 0
    for c in form.constraints:
        if isinstance(c.cone, (Zero, Nonnegative)):
            z[c.label] = dual_values[first : first + c.rows]
            first += c.rows
    links = []
    for rows in quadratic_cones(form):
        links.append(dual_values[first : first + rows.linked.size])
        first += rows.linked.size
    return z, links


def _farkas(gurobipy: Any, model: Any, form: StandardForm) -> dict[str, FloatArray] | None:
    """Return Gurobi's proof of infeasibility for linear rows: z ≥ 0 on rows F x + g ≥ 0, with Σ F'z + ζ = 0 (Gurobi's with the
    sign changed).

    Return None for a model with a quadratic part, or if Gurobi found the model infeasible without a ray.
    """
    if model.IsQP or model.IsQCP:
        return None
    try:
        dual_values = -np.array(model.getAttr("FarkasDual"))
    except (gurobipy.GurobiError, AttributeError):
        return None
    return _by_label(form, dual_values)[0]


#: Read by `solvers.registry`.
SOLVERS = (Gurobi(),)
