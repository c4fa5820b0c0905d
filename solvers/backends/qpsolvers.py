"""Backends of the quadratic programming solvers that qpsolvers reaches and that have no file of their own here.

The form is min ½x'Px + q'x + r subject to linear rows and bounds; z are the multipliers of its rows and ζ those of its bounds.
Names come from qpsolvers, abilities (semidefinite P, no P at all, half-open bounds) from tiny problems, and options from each
interface's signature and documentation.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
import time
import warnings
import weakref
from collections.abc import Mapping
from importlib import metadata
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...errors import InputError, short_text
from ...models.arrays import FloatArray
from ...models.deadline import cholesky
from ...models.model import Model
from ...models.program.cones import Feature
from ...models.program.form import StandardForm
from ...models.program.quadratic import Quadratic
from ..interface.backend import Backend, LinearRows
from ..interface.native_options import check_native, ignored_options_note, near_misses, start_point
from ..interface.solver import Gives, SolverInfo
from ..records import Answer, Options, Status

# Options and abilities of qpsolvers' interfaces, read from their documentation and found by trial.

#: Names of tolerances in the interfaces.
_TOLERANCES = ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel", "primal_tol", "abstol", "reltol", "feastol")


@functools.cache
def documented_options(name: str) -> frozenset[str]:
    """Return the option names of an interface: its parameters and the names in double backquotes of its documentation."""
    from qpsolvers.solvers import solve_function

    function = solve_function[name]
    named = set(inspect.signature(function).parameters) - {"problem", "kwargs", "verbose"}
    # exempt (text): a docstring of qpsolvers
    return frozenset(named | set(re.findall(r"``(\w+)``", function.__doc__ or "")) - {"None", "True", "False"})


@functools.cache
def ignores_unknown(name: str) -> bool:
    """Return whether an interface ignores an unknown option silently."""
    return _trial_answer(name, np.eye(2), np.zeros(2), 2.0, marginopt_has_no_such_option=1) is not None


@functools.cache
def _accepts_option(name: str, option: str, value: Any) -> bool:
    """Return whether an interface takes an option: its documentation says so, or a trial takes it and unknown ones are
    refused.
    """
    if option in documented_options(name):
        return True
    return not ignores_unknown(name) and _trial_answer(name, np.eye(2), np.zeros(2), 2.0, **{option: value}) is not None


@functools.cache
def abilities(name: str) -> frozenset[str]:
    """Return the solver's abilities among "half-open bounds", "semidefinite" and "semidefinite diagonal" P, and "linear" (P = 0).

    Each is tried on min ½x'Px + q'x over x_1 + x_2 = 1, x ≥ 0 (and x ≤ 2, if the solver needs both bounds), with a known unique
    solution.
    """
    ones, settings = np.array([1.0, 1.0]), _accuracy_settings(name, 1e-9)
    half_open = _matches(_trial_answer(name, np.eye(2), 0.0 * ones, np.inf, **settings), (0.5, 0.5))
    upper = np.inf if half_open else 2.0
    tries = (
        ("linear", np.zeros((2, 2)), np.array([1.0, 0.0]), (0.0, 1.0)),
        ("semidefinite", np.array([[2.0, -2.0], [-2.0, 2.0]]), -ones, (0.5, 0.5)),
        ("semidefinite diagonal", np.diag([1.0, 0.0]), 0.0 * ones, (0.0, 1.0)),
    )
    abilities_found = {ability for ability, P, q, x in tries if _matches(_trial_answer(name, P, q, upper, **settings), x)}
    return frozenset(abilities_found | ({"half-open bounds"} if half_open else set()))


def _matches(answer: Any, x: tuple[float, float]) -> bool:
    return answer is not None and bool(answer.found) and answer.x is not None and bool(np.abs(answer.x - x).max() <= 1e-4)


def _accuracy_settings(name: str, tol: float) -> dict[str, Any]:
    """Return settings for this accuracy in the interface's own names.

    The absolute tolerance of the gap is set far below the relative one: it must not replace that for small objectives.
    """
    small = ("eps_duality_gap_abs", "abstol")
    settings: dict[str, Any] = {o: 1e-4 * tol if o in small else tol for o in _TOLERANCES if _accepts_option(name, o, 1e-8)}
    if _accepts_option(name, "check_duality_gap", True):
        settings["check_duality_gap"] = True
    return settings


def _trial_answer(name: str, P: FloatArray, q: FloatArray, upper: float, /, **settings: Any) -> Any:
    """Return the answer to a problem in two variables; None if the interface raises or warns."""
    import qpsolvers

    def native(matrix: FloatArray) -> Any:
        return matrix if _accepts_dense(name) else sp.csc_matrix(matrix)

    bounds = np.zeros(2), np.full(2, upper)
    problem = qpsolvers.Problem(native(P), q, None, None, native(np.ones((1, 2))), np.ones(1), *bounds)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return qpsolvers.solve_problem(problem, name, **settings)
        except Exception:  # noqa: BLE001 - the class of the error differs from solver to solver
            return None


def _accepts_dense(name: str) -> bool:
    """Return whether the solver takes dense matrices."""
    import qpsolvers

    return name in qpsolvers.dense_solvers


def _refusal_error(name: str, native: Mapping[str, Any], error: Exception) -> InputError:
    """Return the error for native options that an interface refuses: its message, and names near to options that it lacks."""
    message = str(error)
    first_line = message.strip().splitlines()[0] if message.strip() else type(error).__name__
    # a compiled interface lists its parameters, then the arguments of the call
    # exempt (text): the message of a native solver
    names = documented_options(name) | set(re.findall(r"\b([a-z]\w+): ", message.partition("Invoked with")[0]))
    strangers = [
        o for o in native if o not in names and _trial_answer(name, np.eye(2), np.zeros(2), 2.0, **{o: native[o]}) is None
    ]
    hint = f" (it has {', '.join(sorted(documented_options(name)))})"
    hints = "".join(f"; it has no option {short_text(option)}{near_misses(option, names) or hint}" for option in strangers)
    return InputError(
        f"{name} does not take the options {short_text(dict(native))}: {first_line}{hints}",
        name=next(iter(strangers), "options"),
        allowed=sorted(names),
    )


_DEFINITENESS_CACHE: weakref.WeakKeyDictionary[Quadratic, bool] = weakref.WeakKeyDictionary()


def is_positive_definite(quadratic: Quadratic) -> bool:
    """Return whether P has a Cholesky factor whose squared diagonal is above rounding; cached while P lives.

    Raises
    ------
    OutOfTimeError
        The deadline has passed.
    """
    if quadratic not in _DEFINITENESS_CACHE:
        P = quadratic.csc
        diagonal = P.diagonal()
        factor = cholesky(P.toarray()) if (diagonal > 0).all() else None
        rounding = 10 * diagonal.size * np.finfo(np.float64).eps * float(diagonal.max(initial=0.0))
        _DEFINITENESS_CACHE[quadratic] = factor is not None and bool(factor.diagonal().min(initial=np.inf) ** 2 > rounding)
    return _DEFINITENESS_CACHE[quadratic]


#: Names of the limits of iterations and of seconds in the interfaces.
_ITERATIONS = ("max_iter", "iter_limit", "maxiters", "max_iters", "maxiter")
_TIME = ("time_limit", "max_time", "time_limit_secs")

#: Statuses by parts of the solvers' own status words; the first match counts, and a word without a match is a failure.
_STATUS_BY_WORD = (
    ("dual_infeasible", Status.UNBOUNDED),
    ("unbounded", Status.UNBOUNDED),
    ("infeasible", Status.INFEASIBLE),
    ("max_iter", Status.ITERATION_LIMIT),
    ("iteration", Status.ITERATION_LIMIT),
    ("time", Status.TIME_LIMIT),
)

#: Seconds for each unit of the cube of variables and rows together, in a whole solve: ProxQP, quadprog and DAQP.
_CUBE = 5e-10

#: Share of non-zeros from which a solver that takes both kinds gets dense matrices.
_DENSE = 0.25


class QPSolver(Backend):
    """A solver of qpsolvers, which reads min ½x'Px + q'x over G x ≤ h, A x = b and lb ≤ x ≤ ub.

    Its multipliers z ≥ 0, y and z_box of these satisfy Px + q + G'z + A'y + z_box = 0. The form's multipliers are z on
    inequalities and -y on equalities, and ζ = -z_box.
    """

    native_name: ClassVar[str]  #: qpsolvers' name of the solver

    def obstacle(self, model: Model) -> str | None:
        """Return the obstacle of the base class, or that this solver fails on this P: zero, or not positive definite."""
        reason = super().obstacle(model)
        if reason is not None:
            return reason
        quadratic = model.form.quadratic
        if quadratic is None:
            return None if "linear" in abilities(self.native_name) else "it does not read objectives without a quadratic part"
        if not {"semidefinite", "semidefinite diagonal"} <= abilities(self.native_name) and not is_positive_definite(quadratic):
            return "it needs a positive definite quadratic objective"
        return None

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Return the answer; native tolerances, if the interface has any, are a hundredth of the gap, and at least 1e-11."""
        import qpsolvers

        begin = time.perf_counter()
        rows = LinearRows.of(form)
        problem = qpsolvers.Problem(*_data(self.native_name, form, rows))
        start, details = start_point(form, options)
        settings, covered = self._settings(options)
        loaded = time.perf_counter()
        details |= ignored_options_note(options, covered)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the warnings repeat the status
                answer = self._solution(problem, start, options.verbose, settings)
        except (TypeError, ValueError, ArithmeticError, qpsolvers.exceptions.QPError) as error:
            if options.native and isinstance(error, (TypeError, qpsolvers.exceptions.ParamError)):
                raise _refusal_error(self.native_name, options.native, error) from error
            native_status = f"{type(error).__name__}: {error}"
            return Answer(Status.FAILED, native_status, build_seconds=loaded - begin, details=details)
        solved = time.perf_counter()
        native_status, status = _status(answer)
        y, z, reduced = _duals(form, rows, answer)
        multipliers = None if y is None or z is None else rows.multipliers(y, z)
        farkas = _to_unit_size(multipliers) if status is Status.INFEASIBLE and multipliers is not None else None
        x = None if answer.x is None else np.asarray(answer.x, dtype=np.float64)
        ray = status is Status.UNBOUNDED and x is not None and np.isfinite(x).all() and x.any()
        usable = x is not None and np.isfinite(x).all() and status in (Status.OPTIMAL, Status.ITERATION_LIMIT, Status.TIME_LIMIT)
        return Answer(
            status=status,
            native_status=native_status,
            values=form.split(x) if usable and x is not None else None,
            multipliers=multipliers if usable else None,
            reduced=reduced if usable else None,
            objective=form.objective(x) if usable and x is not None else None,
            farkas=farkas,
            ray=form.split(x / np.abs(x).max()) if ray and x is not None else None,
            build_seconds=loaded - begin,
            solve_seconds=solved - loaded,
            details=details,
        )

    def _solution(self, problem: Any, start: FloatArray | None, verbose: bool, settings: Mapping[str, Any]) -> Any:
        """Return qpsolvers' record of the native answer."""
        import qpsolvers

        return qpsolvers.solve_problem(problem, self.native_name, initvals=start, verbose=verbose, **settings)

    def _settings(self, options: Options) -> tuple[dict[str, Any], frozenset[str]]:
        """Return the keyword arguments for this interface, and the common options that they cover."""
        name = self.native_name
        if ignores_unknown(name):
            check_native(name, options.native, documented_options(name))
        settings = _accuracy_settings(name, max(1e-2 * options.residual_tolerance(self.info.tolerance), 1e-11))
        covered = {"start"} if "initvals" in documented_options(name) else set()
        for option, candidates in (("iteration_limit", _ITERATIONS), ("time_limit", _TIME)):
            value = getattr(options, option)
            names = [candidate for candidate in candidates if _accepts_option(name, candidate, 1000)]
            if value is not None and names:
                settings[names[0]] = value
                covered.add(option)
        return {**settings, **options.native}, frozenset(covered)


#: DAQP's exit flags, in the words of `_STATUS_BY_WORD`.
_DAQP_EXITS = {
    1: "optimal", -1: "infeasible", -2: "cycling", -3: "unbounded", -4: "iteration limit", -5: "nonconvex",
    -6: "more equalities than variables", -7: "time limit",
}  # fmt: skip


class Daqp(QPSolver):
    """DAQP, called directly: qpsolvers does not report why it ended, and does not scale the program.

    Its active set cycles where columns or rows differ by orders of magnitude, so each is scaled to a largest entry of 1: the
    columns of the rows and of the square root of P's diagonal first, then the rows, then the objective.
    """

    def _solution(self, problem: Any, start: FloatArray | None, verbose: bool, settings: Mapping[str, Any]) -> Any:
        import daqp
        import qpsolvers

        P, q, G, h, A, b, lower, upper = problem.unpack_as_dense()
        F = np.vstack([M for M in (G, A) if M is not None] or [np.zeros((0, q.size))])
        columns = _units(np.maximum(np.abs(F).max(axis=0, initial=0.0), np.sqrt(np.maximum(np.diag(P), 0.0))))
        P, q, F = P / np.outer(columns, columns), q / columns, F / columns
        rows = _units(np.abs(F).max(axis=1, initial=0.0))
        (size,) = _units(np.array([max(np.abs(P).max(initial=0.0), np.abs(q).max(initial=0.0))]))
        free = np.zeros(0) if upper is None else np.full(q.size, np.inf)
        right = np.concatenate([part for part in (h, b) if part is not None] or [np.zeros(0)]) / rows
        above = np.concatenate([free if upper is None else columns * upper, right])
        below = np.concatenate([-free if lower is None else columns * lower, np.full(rows.size, -np.inf)])
        bounds, inequalities = above.size - rows.size, 0 if h is None else h.size
        sense = np.zeros(above.size, dtype=np.intc)
        sense[bounds + inequalities :] = _DAQP_EQUALITY
        start = None if start is None else columns * start
        arrays = (np.ascontiguousarray(part) for part in (P / size, q / size, F / rows[:, None], above, below))
        x, _, flag, info = daqp.solve(*arrays, sense, primal_start=start, **settings)
        solution = qpsolvers.Solution(problem, extras={"status": _DAQP_EXITS.get(flag, f"exit {flag}")})
        solution.found = flag > 0
        if solution.found:
            dual_values = size * np.asarray(info["lam"]) / np.concatenate([1.0 / columns[:bounds], rows])
            solution.x, solution.z_box = x / columns, dual_values[:bounds]
            solution.z, solution.y = np.split(dual_values[bounds:], [inequalities])
        return solution


#: DAQP's mark of an equality.
_DAQP_EQUALITY = 5


def _units(sizes: FloatArray) -> FloatArray:
    """Return the sizes, with 1 in place of 0."""
    return np.where(sizes > 0.0, sizes, 1.0)


#: Solvers that are called without qpsolvers.
_DIRECT: Mapping[str, type[QPSolver]] = {"daqp": Daqp}


def _to_unit_size(z: Mapping[str, FloatArray]) -> dict[str, FloatArray] | None:
    """Return Farkas multipliers scaled so that their largest entry is ±1; None if all entries are 0."""
    size = max((float(np.abs(part).max(initial=0.0)) for part in z.values()), default=0.0)
    return {label: part / size for label, part in z.items()} if size else None


def discover() -> tuple[Backend, ...]:
    """Return one solver for each installed qpsolvers interface that has no file in this folder."""
    try:
        import qpsolvers
    except ImportError:
        return ()
    direct = {module.name for module in pkgutil.iter_modules(_folder())}
    return tuple(interface_solver(name) for name in qpsolvers.available_solvers if name not in direct)


def interface_solver(name: str) -> QPSolver:
    """Return the solver with this qpsolvers name."""
    info = SolverInfo(
        name=name,
        summary="quadratic programs, through qpsolvers",
        package=_distribution(name),
        module="qpsolvers",
        reads=frozenset({Feature.QUADRATIC}),
        bounds="half-open bounds" in abilities(name),
        gives=frozenset({Gives.DUALS}),
        extra="qp",
        time_limit_caveat="one factorisation (in anything, where it has no time limit)",
        uninterruptible_seconds=_uninterruptible_seconds,
        reference="Caron et al.: qpsolvers: Quadratic Programming Solvers in Python, 2025",
    )
    base = _DIRECT.get(name, QPSolver)
    kind: type[QPSolver] = type(f"QPSolver_{name}", (base,), {"info": info, "native_name": name, "__doc__": base.__doc__})
    return kind()


def _uninterruptible_seconds(form: StandardForm) -> float:
    """Return the seconds of a whole solve, by dense factorisations of the optimality conditions."""
    return _CUBE * float(form.n + form.rows_matrix()[1].size) ** 3


def _folder() -> list[str]:
    from .. import backends

    return list(backends.__path__)


def _distribution(name: str) -> str:
    """Return the distribution behind a solver, from qpsolvers' own extras (``proxsuite; extra == "proxqp"``); else qpsolvers."""
    for requirement in metadata.requires("qpsolvers") or ():
        # exempt (text): requirements in the metadata of qpsolvers
        match = re.fullmatch(r"([\w.-]+).*;.*extra\s*==\s*['\"]([\w-]+)['\"]\s*", requirement)
        if match and match[2] == name:
            return match[1]
    return "qpsolvers"


def _data(name: str, form: StandardForm, rows: LinearRows) -> tuple[Any, ...]:
    """Return P, q, G, h, A, b, lb, ub in the kind of matrices that the solver takes."""
    import qpsolvers

    P = sp.csc_array((form.n, form.n)) if form.quadratic is None else form.quadratic.csc
    filled = P.nnz + rows.E.nnz + rows.G.nnz >= _DENSE * form.n * (form.n + rows.equal.size)
    dense = _accepts_dense(name) and (filled or name not in qpsolvers.sparse_solvers)

    def native(matrix: Any) -> Any:
        return matrix.toarray() if dense else sp.csc_matrix(matrix)

    G, h = (native(-rows.G), rows.h) if rows.h.size else (None, None)
    A, b = (native(rows.E), -rows.e) if rows.e.size else (None, None)
    bounds = (np.array(form.lower), np.array(form.upper)) if form.has_bounds else (None, None)
    return native(P), np.array(form.q), G, h, A, b, *bounds


def _status(answer: Any) -> tuple[str, Status]:
    extras: Mapping[str, Any] = answer.extras or {}
    native = getattr(extras.get("info"), "status", extras.get("status"))
    native_status = "" if native is None else str(getattr(native, "name", native))
    if answer.found:
        return native_status or "found", Status.OPTIMAL
    status = next((status for part, status in _STATUS_BY_WORD if part in native_status.lower().replace(" ", "_")), Status.FAILED)
    return native_status or "not found (the solver's interface passes on no reason)", status


def _duals(form: StandardForm, rows: LinearRows, answer: Any) -> tuple[FloatArray | None, FloatArray | None, FloatArray | None]:
    """Return multipliers of equalities and inequalities and ζ in the form's signs; None for all if the solver omits some."""

    def part(value: Any, size: int) -> FloatArray | None:
        if size == 0:
            return np.zeros(0)
        multipliers = None if value is None else np.asarray(value, dtype=np.float64).ravel()
        return multipliers if multipliers is not None and multipliers.size == size and np.isfinite(multipliers).all() else None

    y, z = part(answer.y, rows.e.size), part(answer.z, rows.h.size)
    box = part(answer.z_box, form.n if form.has_bounds else 0)
    if y is None or z is None or box is None:
        return None, None, None
    return -y, z, -box if form.has_bounds else np.zeros(form.n)


def missing_requirement(name: str) -> str | None:
    """Return the missing requirement of a solver whose interface qpsolvers has and cannot import; None for other names."""
    try:
        package = _distribution(name)
    except metadata.PackageNotFoundError:
        return None
    if package == "qpsolvers":
        return None
    try:
        importlib.import_module(f"qpsolvers.solvers.{name}_")
    except ImportError as error:
        return f"{name} is reached through qpsolvers, which cannot import it ({error}): pip install {package}"
    return None


#: Called by `solvers.registry`: what finds the solvers, and what says why a solver was not found.
DISCOVER, ABSENT = discover, missing_requirement
