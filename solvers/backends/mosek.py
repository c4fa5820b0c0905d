"""Backend of MOSEK: conic interior point, and branch and bound over it.

The form is min ½x'Px + q'x + r subject to F x + g in K, a product of cones, and bounds; z are the multipliers of its rows and ζ
those of its bounds.
"""

from __future__ import annotations

import functools
import os
import time
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import InputError, LicenceError, SolverError, short_text
from ...models.arrays import FloatArray, IntArray
from ...models.export.mosek_task import MatrixVariables, change_mosek, mosek_row_order, to_mosek, updatable_parts
from ...models.program.cones import Feature, Nonnegative, Zero
from ...models.program.form import StandardForm
from ..interface.backend import Backend
from ..interface.native_options import check_native, dual_start, started_variables, starts_linear_program, warn_unused_start
from ..interface.recorder import Recorder
from ..interface.solver import ALL_PARTS, Gives, KeptModel, Licence, LicenceState, Purpose, SolverInfo
from ..records import Answer, Options, Status

#: Feasibility and integrality tolerance of the mixed-integer optimiser; a big M multiplies a looser one.
_TIGHT = 1e-9
#: Distance within which a start is at a bound or a row.
_NEAR = 1e-9

#: The status follows from the solution status, else from the problem status, else from the optimiser's termination code.
_SOLUTION = {
    "optimal": Status.OPTIMAL,
    "integer_optimal": Status.OPTIMAL,
    "prim_infeas_cer": Status.INFEASIBLE,
    "dual_infeas_cer": Status.UNBOUNDED,
}
_PROBLEM = {"prim_infeas": Status.INFEASIBLE, "dual_infeas": Status.UNBOUNDED}
_TERMINATION = {
    "trm_max_time": Status.TIME_LIMIT,
    "trm_server_max_time": Status.TIME_LIMIT,
    "trm_max_iterations": Status.ITERATION_LIMIT,
    "trm_mio_num_branches": Status.NODE_LIMIT,
    "trm_mio_num_relaxs": Status.NODE_LIMIT,
    "trm_num_max_num_int_solutions": Status.INTERRUPTED,
    "trm_objective_range": Status.INTERRUPTED,
    "trm_user_callback": Status.INTERRUPTED,
    "trm_server_max_memory": Status.MEMORY_LIMIT,
    "trm_stall": Status.STALLED,
    "trm_numerical_problem": Status.STALLED,
    "trm_max_num_setbacks": Status.STALLED,
}


#: Options of ours beside MOSEK's parameters: see `Mosek`.
_OWN = ("env", "server", "dual_start")


class Mosek(Backend):
    """MOSEK; a quadratic objective beside cones becomes a cone (its epigraph); it takes no integers beside semidefinite cones.

    Beside its own parameters it takes ``env``, a ``mosek.Env`` of the user's, which stays open; ``server``, the address of an
    OptServer that solves in its place; and for linear programs ``dual_start``, multipliers by constraint, beside ``start``: the
    simplex method begins with the basis of both.
    """

    info = SolverInfo(
        name="mosek",
        rank={Purpose.MIXED_INTEGER: 4, Purpose.CONIC: 2},
        summary="commercial conic interior point and branch and bound",
        package="mosek",
        module="mosek",
        reads=frozenset(Feature) - {Feature.INDICATOR, Feature.NONCONVEX, Feature.BILINEAR},
        forbids=(
            frozenset({Feature.QUADRATIC, Feature.SECOND_ORDER}),
            frozenset({Feature.QUADRATIC, Feature.ROTATED}),
            frozenset({Feature.QUADRATIC, Feature.PSD}),
            frozenset({Feature.QUADRATIC, Feature.EXPONENTIAL}),
            frozenset({Feature.QUADRATIC, Feature.POWER}),
            frozenset({Feature.INTEGER, Feature.PSD}),
        ),
        integrality=("MSK_DPAR_MIO_TOL_ABS_RELAX_INT", _TIGHT),
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.UPDATES, Gives.INTERRUPT}),
        extra="commercial",
        reference="MOSEK ApS: MOSEK Optimizer API for Python",
    )

    def licence(self) -> Licence:
        """Return the licence, found by checking the features PTS and PTON out, without a model; cached."""
        return _licence(os.environ.get("MOSEKLM_LICENSE_FILE"))

    def licence_under(self, options: Options) -> Licence:
        """Return the licence; a full one for an environment or server of the user's, whose limits MOSEK itself checks."""
        if not {"env", "server"} & set(options.native):
            return self.licence()
        return Licence(LicenceState.FULL, "that of the environment or server given")

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Return the answer of a new task."""
        begin = time.perf_counter()
        with to_mosek(form, _environment(options)) as task:
            return self._solve(task, form, options, begin)

    def solve_kept(self, form: StandardForm, options: Options, kept_model: KeptModel) -> Answer:
        """Return the answer of the kept task, of which the parts that differ are changed in place."""
        begin = time.perf_counter()

        def build() -> Any:
            return to_mosek(form, _environment(options))

        def change(task: Any, old: StandardForm, parts: frozenset[str]) -> Any:
            change_mosek(task, old, form, parts)
            return task

        def release(task: Any) -> None:
            task.__exit__(None, None, None)

        updatable = updatable_parts(form, ALL_PARTS)
        task = kept_model.native_for(form, updatable, build, change, any_bounds=True, release=release)
        return self._solve(task, form, options, begin)

    def _solve(self, task: Any, form: StandardForm, options: Options, begin: float) -> Answer:
        import mosek

        recorder = Recorder("mosek", options, maximise=form.maximise)
        self._set_parameters(mosek, task, form, options)
        details = _start(mosek, task, form, options)
        task.set_InfoCallback(functools.partial(_watch, mosek, recorder))
        if options.verbose:
            import sys

            task.set_Stream(mosek.streamtype.log, sys.stdout.write)
        loaded = time.perf_counter()
        recorder.start()
        try:
            code = task.optimize()
        except mosek.Error as error:
            message = f"mosek: {error.msg or mosek.Env.getcodedesc(error.errno)[1]} ({error.errno})"
            # exempt (text): MOSEK's error of a licence
            raise (
                LicenceError(message, "mosek") if "licen" in str(error.errno) else SolverError(message, solver="mosek")
            ) from error
        solved = time.perf_counter()
        solution = read_solution(mosek, task, form, code, recorder)
        return replace(solution, build_seconds=loaded - begin, solve_seconds=solved - loaded, details=details)

    def _set_parameters(self, mosek: Any, task: Any, form: StandardForm, options: Options) -> None:
        check_native("mosek", options.native, [*_OWN, *_parameter_names(mosek)])
        tol = options.tolerance(self.info.tolerance)
        accuracy = float(np.clip(1e-2 * tol, 1e-12, 1e-8))
        chosen: dict[str, Any] = {"MSK_IPAR_MIO_SEED": options.seed % 2_147_483_647}
        for family in ("INTPNT_TOL", "INTPNT_QO_TOL", "INTPNT_CO_TOL"):
            chosen |= {f"MSK_DPAR_{family}_{rule}": accuracy for rule in ("REL_GAP", "PFEAS", "DFEAS")}
        chosen |= {
            "MSK_DPAR_MIO_TOL_REL_GAP": options.search_gap(self.info.tolerance),
            "MSK_DPAR_MIO_TOL_ABS_GAP": 0.0,
            "MSK_DPAR_MIO_TOL_ABS_RELAX_INT": _TIGHT,
            "MSK_DPAR_MIO_TOL_FEAS": _TIGHT,
        }
        if options.time_limit is not None:
            chosen["MSK_DPAR_OPTIMIZER_MAX_TIME"] = options.time_limit
        if options.native_threads is not None:
            chosen["MSK_IPAR_NUM_THREADS"] = options.native_threads
        if options.node_limit is not None:
            chosen["MSK_IPAR_MIO_MAX_NUM_RELAXS"] = options.node_limit
        if options.iteration_limit is not None:
            limits = ("INTPNT", "SIM", "BI")
            chosen |= dict.fromkeys((f"MSK_IPAR_{limit}_MAX_ITERATIONS" for limit in limits), options.iteration_limit)
        if starts_linear_program(form, options):
            chosen["MSK_IPAR_OPTIMIZER"] = "MSK_OPTIMIZER_FREE_SIMPLEX"
            chosen["MSK_IPAR_SIM_HOTSTART"] = "MSK_SIM_HOTSTART_STATUS_KEYS"
        if form.integer.any() and options.start is not None:
            chosen["MSK_IPAR_MIO_CONSTRUCT_SOL"] = "MSK_ON"
        if "server" in options.native:
            task.putoptserverhost(str(options.native["server"]))
        for name, value in {**chosen, **{k: v for k, v in options.native.items() if k not in _OWN}}.items():
            try:
                task.putparam(name, str(value))
            except mosek.Error as error:
                raise InputError(
                    f"mosek does not take {name} = {short_text(value)}: {error.msg or error.errno}", name=name
                ) from error


@functools.cache
def _licence(licence_file: str | None) -> Licence:
    import mosek

    with mosek.Env() as environment:
        try:
            environment.checkoutlicense(mosek.feature.pts)
        except mosek.Error as error:
            message = _error_message(mosek, environment, error)
            # exempt (text): MOSEK's message of an expired licence
            expired = error.errno == mosek.rescode.err_license_expired or "expired" in message.lower()
            return Licence(LicenceState.EXPIRED if expired else LicenceState.MISSING, message)
        try:
            environment.checkoutlicense(mosek.feature.pton)
        except mosek.Error as error:
            return Licence(
                LicenceState.RESTRICTED, f"linear models only: {_error_message(mosek, environment, error)}", quadratic_limit=0
            )
        return Licence(LicenceState.FULL, "full licence")


def _error_message(mosek: Any, environment: Any, error: Any) -> str:
    """Return MOSEK's own message. The checkout returns only a code, so an empty task requests the licence again."""
    with environment.Task() as task:
        try:
            task.optimize()
        except mosek.Error as second_error:
            error = second_error
    return " ".join((error.msg or mosek.Env.getcodedesc(error.errno)[1]).split())


@functools.cache
def _parameter_names(mosek: Any) -> tuple[str, ...]:
    kinds = ((mosek.dparam, "DPAR"), (mosek.iparam, "IPAR"), (mosek.sparam, "SPAR"))
    return tuple(
        f"MSK_{kind}_{name.upper()}" for group, kind in kinds for name in dir(group) if isinstance(getattr(group, name), group)
    )


def _name(member: Any) -> str:
    """Return the bare name of a member of MOSEK's enumerations."""
    # exempt (text): MOSEK's name of a status
    return str(member).rpartition(".")[2]


def _start(mosek: Any, task: Any, form: StandardForm, options: Options) -> dict[str, str]:
    """Set the initial mixed-integer point, whose integers MOSEK completes to a solution, or a linear program's first basis."""
    multipliers = dual_start(form, options)
    if starts_linear_program(form, options):
        _put_basis(mosek, task, form, started_variables(form, options), multipliers)
        return {}
    if options.start is None:
        return {}
    if not form.integer.any():
        return warn_unused_start("mosek", "its interior point takes no starts")
    indices, values = started_variables(form, options)
    if form.integer[indices].sum() < form.integer.sum():
        return warn_unused_start("mosek", "MOSEK needs a value for each integer variable")
    for j, value in zip(indices.tolist(), values.tolist(), strict=True):
        task.putxxslice(mosek.soltype.itg, j, j + 1, [value])
    return {}


def _put_basis(
    mosek: Any, task: Any, form: StandardForm, start: tuple[IntArray, FloatArray], multipliers: FloatArray | None
) -> None:
    """Set the status keys of a start: a variable is nonbasic at a bound. A row is nonbasic if it holds with equality or, if
    multipliers are given, if its multiplier is not zero.

    MOSEK makes a basis of them. A variable without a start stands at the point of its box that is nearest to zero.
    """
    keys, x = mosek.stakey, np.clip(np.zeros(form.n), form.lower, form.upper)
    indices, values = start
    x[indices] = values
    low, high = x <= form.lower + _NEAR, x >= form.upper - _NEAR
    columns = [keys.low if at_low else keys.upr if at_high else keys.bas for at_low, at_high in zip(low, high, strict=True)]
    equal = form.rows_mask(Zero)
    F, g = form.rows_matrix()
    active = np.abs(F @ x + g) <= _NEAR * (1.0 + np.abs(g)) if multipliers is None else multipliers != 0.0
    rows = [
        keys.fix if is_equal else keys.low if at_lower else keys.bas for is_equal, at_lower in zip(equal, active, strict=True)
    ]
    task.putskxslice(mosek.soltype.bas, 0, form.n, columns)
    task.putskcslice(mosek.soltype.bas, 0, len(rows), rows)
    task.putxx(mosek.soltype.bas, x)
    if multipliers is not None:
        task.puty(mosek.soltype.bas, multipliers)


def _environment(options: Options) -> Any:
    """Return the user's environment; None without one."""
    import mosek

    environment = options.native.get("env")
    if environment is not None and not isinstance(environment, mosek.Env):
        raise InputError(f"env must be a mosek.Env; it is a {type(environment).__name__}", name="env")
    return environment


def _watch(mosek: Any, recorder: Recorder, code: Any, real: Any, int_info: Any, long: Any) -> int:
    """Record new incumbents, nodes every 50 ms and interior-point iterations in MOSEK's callback; a non-zero return value stops
    MOSEK.
    """
    kinds, numbers = mosek.callbackcode, mosek.dinfitem
    with recorder.deferring_errors():
        if code == kinds.new_int_mio or (code == kinds.im_mio and time.perf_counter() >= recorder.next_row):
            has_point = int_info[mosek.iinfitem.mio_num_int_solutions] > 0
            incumbent = real[numbers.mio_obj_int] if has_point else np.nan
            nodes = int(int_info[mosek.iinfitem.mio_num_solved_nodes])
            recorder.record_values(
                nodes, incumbent, real[numbers.mio_obj_bound], step="incumbent" if code == kinds.new_int_mio else "node"
            )
        elif code == kinds.intpnt and time.perf_counter() >= recorder.next_row:
            iterations = int(int_info[mosek.iinfitem.intpnt_iter])
            infeasible = max(real[numbers.intpnt_primal_feas], real[numbers.intpnt_dual_feas])
            objective, bound = real[numbers.intpnt_primal_obj], real[numbers.intpnt_dual_obj]
            recorder.record_values(iterations, objective, bound, step="interior point", infeasible=infeasible)
    return int(recorder.stopped)


def read_solution(mosek: Any, task: Any, form: StandardForm, code: Any, recorder: Recorder) -> Answer:
    """Return the answer that the task holds after ``optimize`` ended with ``code``; ``mosek`` is the module."""
    mixed = bool(form.integer.any())
    solution_type = next((s for s in (mosek.soltype.itg, mosek.soltype.itr, mosek.soltype.bas) if task.solutiondef(s)), None)
    if solution_type is None:
        return Answer(_TERMINATION.get(_name(code), Status.FAILED), _name(code), trace=recorder.final_trace(0, None, None))
    solution, problem = _name(task.getsolsta(solution_type)), _name(task.getprosta(solution_type))
    status = _SOLUTION.get(solution) or _PROBLEM.get(problem) or _TERMINATION.get(_name(code), Status.FAILED)
    ray = status in (Status.INFEASIBLE, Status.UNBOUNDED)
    point = not ray and (not mixed or solution in ("integer_optimal", "prim_feas"))
    x = _values(task, form, solution_type) if point else None
    objective = float(task.getprimalobj(solution_type)) if point else None
    nodes = int(task.getintinf(mosek.iinfitem.mio_num_solved_nodes)) if mixed else None
    bound: float | None = None
    if mixed and not ray:
        bound = float(task.getdouinf(mosek.dinfitem.mio_obj_bound))
    elif point:
        bound = float(task.getdualobj(solution_type))
    multipliers = reduced = farkas = None
    if not mixed and (point or solution == "prim_infeas_cer"):
        z, zeta = read_multipliers(mosek, task, form, solution_type)
        if point:
            multipliers, reduced = z, zeta
        else:
            farkas = z
    counters = (mosek.iinfitem.intpnt_iter, mosek.iinfitem.sim_primal_iter, mosek.iinfitem.sim_dual_iter)
    iterations = sum(int(task.getintinf(counter)) for counter in counters)
    count = iterations if nodes is None else nodes
    trace = recorder.final_trace(count, objective, bound)
    return Answer(
        status=status,
        native_status=f"{problem}, {solution}, {_name(code)}",
        values=None if x is None else form.split(x),
        multipliers=multipliers,
        reduced=reduced,
        objective=objective,
        bound=bound,
        farkas=farkas,
        nodes=nodes,
        iterations=iterations,
        trace=trace,
    )


def _values(task: Any, form: StandardForm, solution_type: Any) -> FloatArray:
    matrices = MatrixVariables(form)
    triangles = [np.array(task.getbarxj(solution_type, k)) for k in range(len(matrices.orders))]
    return matrices.join(np.array(task.getxx(solution_type)), triangles)


def read_multipliers(mosek: Any, task: Any, form: StandardForm, solution_type: Any) -> tuple[dict[str, FloatArray], FloatArray]:
    """Return z and ζ of a solution.

    MOSEK's dual of min ½x'Qx + c'x is Qx + c = A'y + F'ẏ + s_l^x - s_u^x with y = s_l^c - s_u^c and ẏ in the dual cones
    (MOSEK Optimizer API, "Conic optimization"): z = y on linear rows, z = ẏ on cones (semidefinite ones in the form's order),
    z = svec(S) where a cone is a matrix variable with dual S, ζ = s_l^x - s_u^x.
    """
    y = np.array(task.gety(solution_type))
    matrices = MatrixVariables(form)
    row = number = 0
    z = matrices.multipliers([np.array(task.getbarsj(solution_type, k)) for k in range(len(matrices.orders))])
    for c in form.constraints:
        if c.label in z:
            continue
        if isinstance(c.cone, (Zero, Nonnegative)):
            z[c.label] = y[row : row + c.rows]
            row += c.rows
            continue
        pieces = []
        for _ in range(c.cone.count if c.rows else 0):
            piece = np.array(task.getaccdoty(solution_type, number))
            multipliers = np.empty_like(piece)
            multipliers[mosek_row_order(c.cone)] = piece
            pieces.append(multipliers)
            number += 1
        z[c.label] = np.concatenate([np.zeros(0), *pieces])
    reduced = np.zeros(form.n)  # those of a matrix variable are z
    reduced[matrices.scalars] = np.array(task.getslx(solution_type)) - np.array(task.getsux(solution_type))
    return z, reduced


#: Read by `solvers.registry`.
SOLVERS = (Mosek(),)
