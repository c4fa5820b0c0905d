"""Backend of SCIP, open branch and bound for mixed-integer programs with quadratic constraints, by its package PySCIPOpt.

For the 0-1 loss, min ||w||² + Σ λ_i z_i with z_i = 1 where point i violates its margin, it can separate *conflict cuts*
(`ConflictCuts`): Σ z_i ≥ 1 over points whose margins no w, with an objective as small as the best known one, meets all at once.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from ...errors import ExportError, InputError, MissingPackageError, SolverError, short_text
from ...models.arrays import FloatArray, IntArray
from ...models.deadline import check_deadline
from ...models.export.cone_rows import (
    ConeRows,
    bilinear_rows,
    cone_names,
    indicator_rows,
    quadratic_cones,
    transcendental_rows,
    variable_letters,
)
from ...models.model import Model
from ...models.program.bridges import EpigraphBridge
from ...models.program.cones import PSD, Bilinear, Feature, Nonnegative, Zero
from ...models.program.csr_rows import changed_entries
from ...models.program.exponential_cones import TranscendentalCone
from ...models.program.form import Constraint, StandardForm
from ...models.views import ZeroOneProblem
from ..interface.backend import Backend
from ..interface.native_options import check_native, set_block_option, set_native_options, started_variables
from ..interface.recorder import Recorder
from ..interface.solver import Gives, KeptModel, Purpose, SolverInfo
from ..records import Answer, Options, Status
from ..zero_one.conflict_cuts import ConflictCuts

# The form as a PySCIPOpt model: F x + g in cones, linear constraints as F x = -g or F x ≥ -g.

#: Terms of rows between two checks of the deadline: PySCIPOpt takes some microseconds for each.
_TERMS = 4096


def to_scip(form: StandardForm) -> Any:
    """Return the form as a silent ``pyscipopt.Model`` (always a minimisation, as the form is).

    SCIP takes linear objectives: a quadratic one is replaced by its epigraph (`models.program.bridges.EpigraphBridge`).
    Variables come in the order of x under the form's names, then the auxiliary variables of the second-order cones
    (`quadratic_cones`) under their rows' names. Indicators are SCIP's own, whose slack variables come last. ``model.data`` is
    the list of all variables.

    Raises
    ------
    ExportError
        Semidefinite cones.
    MissingPackageError
        PySCIPOpt is not installed.
    """
    unsupported = [c.label for c in form.constraints if isinstance(c.cone, PSD)]
    if unsupported:
        raise ExportError(
            f"SCIP has no semidefinite cones: {', '.join(unsupported)}; Clarabel, SCS and MOSEK read them", name="SCIP"
        )
    try:
        import pyscipopt
    except ImportError as error:
        raise MissingPackageError("PySCIPOpt is not installed", "pyscipopt", "pip install pyscipopt") from error
    if form.quadratic is not None:
        form = EpigraphBridge(form).target
    model = pyscipopt.Model(form.name)
    model.hideOutput()
    x = _variables(model, form)
    _objective(pyscipopt, model, form, x)
    for c in form.constraints:
        if isinstance(c.cone, (Zero, Nonnegative)):
            for expression, name in zip(_affine(pyscipopt, c, x), c.names(), strict=True):
                model.addCons(expression == 0 if isinstance(c.cone, Zero) else expression >= 0, name=name)
    for cone in quadratic_cones(form):
        _add_cones(pyscipopt, model, cone, x)
    for c in form.constraints:
        if isinstance(c.cone, TranscendentalCone):
            for name, h in transcendental_rows(c, list(_affine(pyscipopt, c, x)), pyscipopt.exp):
                model.addCons(h <= 0, name=name)
        elif isinstance(c.cone, Bilinear):
            rows = list(_affine(pyscipopt, c, x))
            for (t, terms), name in zip(bilinear_rows(c), cone_names(c), strict=True):
                slack = rows[t] - pyscipopt.quicksum(rows[a] * rows[b] for a, b in terms)
                model.addCons(slack == 0 if c.cone.equality else slack >= 0, name=name)
    slacks = []
    for indicators in indicator_rows(form):
        expressions = _affine(pyscipopt, indicators.constraint, x, indicators.rows)
        switches = zip(indicators.binary, indicators.active, expressions, strict=True)
        for k, (binary, active, expression) in enumerate(switches):
            # SCIP's own sense of an indicator is a row ≤ 0
            added = model.addConsIndicator(-expression <= 0, x[binary], activeone=bool(active), name=indicators.name(k))
            slacks.append(model.getSlackVarIndicator(added))
    model.data = x + slacks
    check_deadline()
    return model


def change_scip(model: Any, old: StandardForm, form: StandardForm, parts: frozenset[str]) -> None:
    """Turn the model of ``old`` (with a linear objective) into that of ``form``, which differs in ``parts``: of q, r, bounds, and
    F and g of the linear constraints. A solved model returns to the stage before the solve and keeps its solutions as starts.
    """
    import pyscipopt

    model.freeTransform()
    x = model.data[: form.n]
    if parts & {"q", "r"}:
        _objective(pyscipopt, model, form, x)
    if "bounds" in parts:
        for variable, kind, lower, upper in zip(x, variable_letters(form), form.lower, form.upper, strict=True):
            model.chgVarType(variable, "I" if kind == "B" else kind)  # a binary variable takes no other bounds
            model.chgVarLb(variable, _bound(lower))
            model.chgVarUb(variable, _bound(upper))
            model.chgVarType(variable, kind)
    if not parts & {"F", "g"}:
        return
    linear = [c for c in form.constraints if isinstance(c.cone, (Zero, Nonnegative))]
    labels = [c.label for c in linear]
    rows = model.getConss(transformed=False)  # the linear ones were added first
    if "F" in parts:
        for i, j, value in zip(*changed_entries(old.rows_matrix(labels)[0], form.rows_matrix(labels)[0]), strict=True):
            model.chgCoefLinear(rows[i], x[j], value)
    if "g" in parts:
        first = 0
        for c in linear:
            for row, side in zip(rows[first : first + c.rows], (-c.g).tolist(), strict=True):
                model.chgRhs(row, side if isinstance(c.cone, Zero) else None)
                model.chgLhs(row, side)
            first += c.rows


def extend_point(form: StandardForm, x: FloatArray) -> FloatArray:
    """Return (x, v, slacks), the values of ``model.data`` of `to_scip` at a point x of a form with a linear objective.

    v are the auxiliary variables of the second-order cones. The slack of an indicator is the violation of its row ≥ 0.
    """
    cones = [rows.constraint.value(x)[rows.linked] for rows in quadratic_cones(form)]
    slacks = [np.maximum(-rows.constraint.value(x)[rows.rows], 0.0) for rows in indicator_rows(form)]
    return np.concatenate([x, *cones, *slacks])


def _objective(pyscipopt: Any, model: Any, form: StandardForm, x: list[Any]) -> None:
    """Set the objective q'x + r."""
    model.setObjective(pyscipopt.quicksum(float(form.q[j]) * x[j] for j in np.flatnonzero(form.q)), "minimize")
    model.addObjoffset(float(form.r) - model.getObjoffset())


def _bound(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _variables(model: Any, form: StandardForm) -> list[Any]:
    data = zip(form.names(), form.lower, form.upper, variable_letters(form), strict=True)
    return [model.addVar(name, vtype=kind, lb=_bound(lower), ub=_bound(upper)) for name, lower, upper, kind in data]


def _affine(pyscipopt: Any, c: Constraint, x: list[Any], rows: IntArray | None = None) -> Iterator[Any]:
    """Yield F x + g row by row, and check the deadline every `_TERMS` terms."""
    F, terms = c.F, 0
    chosen = range(c.rows) if rows is None else rows
    for i in chosen:
        terms += 1 + int(F.indptr[i + 1] - F.indptr[i])
        if terms >= _TERMS:
            check_deadline()
            terms = 0
        yield pyscipopt.quicksum(float(F.data[k]) * x[F.indices[k]] for k in range(F.indptr[i], F.indptr[i + 1])) + float(c.g[i])


def _add_cones(pyscipopt: Any, model: Any, rows: ConeRows, x: list[Any]) -> None:
    """Add auxiliary variables with their equations, and one quadratic constraint for each cone of the stack."""
    c, names = rows.constraint, rows.constraint.names()
    for row, expression in zip(rows.linked, _affine(pyscipopt, c, x, rows.linked), strict=True):
        x.append(model.addVar(names[row], lb=0.0 if rows.head[row] else None, ub=None))
        model.addCons(expression - x[-1] == 0, name=names[row])
    values = rows.expressions(x)
    for k, name in enumerate(cone_names(c)):
        check_deadline()
        h = pyscipopt.quicksum(coefficient * values[i] * values[j] for coefficient, i, j in rows.products(k))
        model.addCons(h <= 0, name=name)


# The separator of conflict cuts.

#: Name of the native option that adds the separator `ConflictCuts`, and the only value that it takes.
_CUTS, _CONFLICTS = "cuts", "conflicts"
#: SCIP's limit of the share of integer variables without a value in a start that it completes; 0.85 by default, which leaves out
#: a start of the coefficients alone.
_UNKNOWN_SHARE = "heuristics/completesol/maxunknownrate"


def _with_separator(model: Model, options: Options) -> Options:
    """Return the options with the separator in place of its name."""
    name = options.native.get(_CUTS)
    if name is None or isinstance(name, ConflictCuts):
        return options
    if name != _CONFLICTS:
        raise InputError(f"cuts takes {short_text(_CONFLICTS)}; it is {short_text(name)}", name="cuts")
    problem = model.view(ZeroOneProblem)
    if problem is None:
        raise InputError(
            f"cuts={short_text(name)} needs a 0-1 loss with ||w||² (ZeroOneSVM with λ, or Margin with 'zero-one' and 'l2'); "
            f"{model.name} is not one",
            name="cuts",
        )
    return Options.of(options, native={_CUTS: ConflictCuts.of(model, problem)})


def _split_separator(options: Options) -> tuple[ConflictCuts | None, dict[str, Any]]:
    """Return the separator, and the solver's native options without it."""
    native = dict(options.native)
    separator = native.pop(_CUTS, None)
    return (separator if isinstance(separator, ConflictCuts) else None), native


def _include_separator(model: Any, cuts: ConflictCuts, form: StandardForm) -> Any:
    """Add the separator to the SCIP model of ``form`` and return the plug-in; set its ``recorder`` before each solve.

    ``model.data`` holds the variables of the form. Exceptions are stored in the recorder, because they cannot pass through SCIP's
    frames.
    """
    from pyscipopt import Sepa
    from pyscipopt.scip import PY_SCIP_RESULT

    variables = [model.data[j] for j in cuts.binary_indices(form)]

    class Plugin(Sepa):
        """The plug-in, which separates the solution of the node's linear program."""

        recorder: Recorder
        added = 0

        def sepaexeclp(self) -> dict[str, Any]:
            """Add the violated cuts, which are valid in the whole tree."""
            separated = False
            with self.recorder.deferring_errors():
                x = np.array([self.model.getSolVal(None, variable) for variable in variables])
                for points in cuts.separate(x, self.model.getPrimalbound()):
                    row = self.model.createEmptyRowSepa(self, f"conflict {self.added}", lhs=1.0, rhs=None, local=False)
                    self.model.cacheRowExtensions(row)
                    for i in points.tolist():
                        self.model.addVarToRow(row, variables[i], 1.0)
                    self.model.flushRowExtensions(row)
                    self.model.addCut(row)
                    self.model.addPoolCut(row)
                    self.model.releaseRow(row)
                    self.added, separated = self.added + 1, True
            if self.recorder.stopped:
                self.model.interruptSolve()
            return {"result": PY_SCIP_RESULT.SEPARATED if separated else PY_SCIP_RESULT.DIDNOTFIND}

    plugin = Plugin()
    model.includeSepa(plugin, "marginopt conflicts", "cuts of marginopt", priority=1000, freq=1)
    return plugin


# Suppression of messages that SCIP and its linear solver write to standard error past every parameter and message handler.
#
# *SoPlex's warnings* go to C++'s ``std::cerr``. If SCIP doubts a linear program it asks SoPlex for a thousandth of the
# tolerances, 1e-12. A SoPlex without GMP (the one of the wheels) writes "Cannot set feasibility tolerance to small value" and
# takes 1e-10, each time. Looser tolerances, with which SCIP would ask for 1e-10, would let a big M hide violations. *SCIP's
# errors*, such as "unresolved numerical troubles in LP", name lines of its sources; the error that this package raises says what
# to do.
#
# Standard error itself is unchanged: Python, loggers, other programs and a crash write to it in every thread. Suppressed as well
# are messages of other C++ libraries on ``std::cerr``, and errors of models that other code solves by SCIP in this process.

#: A function that turns messages off and on.
_Switch: TypeAlias = Callable[[bool], None]
#: std::ios_base::goodbit and badbit: a stream whose state is bad discards its output.
_GOOD, _BAD = 0, 1


def _cerr() -> _Switch | None:
    """Return ``std::cerr.clear(state)`` of GNU's C++ library; None if SCIP uses another C++ library, whose messages stay on."""
    if sys.platform != "linux":
        return None
    try:
        runtime = ctypes.CDLL("libstdc++.so.6")  # the library that SCIP has loaded: the loader shares libraries of one name
        stream = ctypes.addressof(ctypes.c_char.in_dll(runtime, "_ZSt4cerr"))
        clear = runtime["_ZNSt9basic_iosIcSt11char_traitsIcEE5clearESt12_Ios_Iostate"]
    except (OSError, ValueError, AttributeError):
        return None
    clear.argtypes, clear.restype = (ctypes.c_void_p, ctypes.c_int), None
    # The state belongs to the virtual base std::ios. Its offset in the stream stands three words before the address that the
    # stream's virtual table pointer holds: the C++ ABI of all of Linux.
    table = ctypes.c_ssize_t.from_address(stream).value
    base = stream + ctypes.c_ssize_t.from_address(table - 3 * ctypes.sizeof(ctypes.c_ssize_t)).value
    return lambda suppressed: clear(base, _BAD if suppressed else _GOOD)


def _errors() -> _Switch | None:
    """Return the switch of SCIP's error printing, off or its own; None if its library does not have these functions."""
    import pyscipopt.scip as extension

    try:
        library = ctypes.CDLL(extension.__file__)  # the library that PySCIPOpt is linked to
        choose, default = library.SCIPmessageSetErrorPrinting, library.SCIPmessageSetErrorPrintingDefault
    except (OSError, AttributeError):
        return None
    choose.argtypes, choose.restype = (ctypes.c_void_p, ctypes.c_void_p), None
    default.argtypes, default.restype = (), None
    return lambda suppressed: choose(None, None) if suppressed else default()


@cache
def _switches() -> tuple[_Switch, ...]:
    return tuple(switch for switch in (_cerr(), _errors()) if switch is not None)


class _SuppressionCount:
    """The number of concurrent solves without messages; the last one turns messages on again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def count(self, change: int) -> None:
        """Change the number by one, and turn messages off or on."""
        with self._lock:
            self._count += change
            for switch in _switches():
                switch(self._count > 0)


_SUPPRESSIONS = _SuppressionCount()


@contextmanager
def suppress_output() -> Iterator[None]:
    """Suppress messages of SCIP and SoPlex within the context; several threads may be within at once."""
    _SUPPRESSIONS.count(1)
    try:
        yield
    finally:
        _SUPPRESSIONS.count(-1)


#: Feasibility (and integrality) tolerance: a big M multiplies a looser one. SCIP's own comparisons end at 1e-9.
_TIGHT = 1e-9
#: The same for models with indicators in place of a big M: SCIP's linear programs fail occasionally at 1e-9.
_WITH_INDICATORS = 1e-8
#: Features that make a program discrete.
_DISCRETE = frozenset({Feature.INTEGER, Feature.INDICATOR})
#: Plugins turned off if there is exactly one cone, such as that of a quadratic objective: rounding cuts of the objective's linear
#: underestimators, of which SCIP adds over a hundred rounds at the root with little effect, and heuristics for nonconvex
#: problems. Measured on the 0-1 and the ramp loss: two to five times faster on 12 to 40 points, ten times as many nodes and half
#: the gap on 50 to 80 points.
_QUADRATIC_OBJECTIVE_SETTINGS = {
    "separating/aggregation/freq": -1,
    **{f"heuristics/{name}/freq": -1 for name in ("subnlp", "mpec", "undercover", "multistart", "nlpdiving", "alns")},
}
#: SCIP's infinity.
_INFINITY = 1e20

#: Settings with which SCIP can tell an infeasible problem from an unbounded one.
_DUAL_REDUCTIONS = ("misc/allowstrongdualreds", "misc/allowweakdualreds")

_STATUS = {
    "optimal": Status.OPTIMAL,
    "gaplimit": Status.OPTIMAL,
    "infeasible": Status.INFEASIBLE,
    "unbounded": Status.UNBOUNDED,
    "timelimit": Status.TIME_LIMIT,
    "nodelimit": Status.NODE_LIMIT,
    "totalnodelimit": Status.NODE_LIMIT,
    "stallnodelimit": Status.NODE_LIMIT,
    "memlimit": Status.MEMORY_LIMIT,
    "userinterrupt": Status.INTERRUPTED,
    "terminate": Status.INTERRUPTED,
    "sollimit": Status.INTERRUPTED,
    "bestsollimit": Status.INTERRUPTED,
    "restartlimit": Status.INTERRUPTED,
    "primallimit": Status.INTERRUPTED,
    "duallimit": Status.INTERRUPTED,
    "inforunbd": Status.FAILED,
    "unknown": Status.FAILED,
}


class Scip(Backend):
    """SCIP: a quadratic objective becomes a constraint (epigraph), second-order cones quadratic constraints, exponential and
    power cones nonlinear ones. SCIP gives no multipliers.

    Beside its own options it takes ``cuts="conflicts"`` for the 0-1 loss (`ConflictCuts`) and ``priorities`` of branching,
    numbers by block of variables; with ``limits/maxsol`` the result has several points, ``result.pool``. For a mixed-integer
    program with exactly one cone, such as that of a quadratic objective, cuts and heuristics that cost more than they gain are
    off (`_QUADRATIC_OBJECTIVE_SETTINGS`); ``{"separating/aggregation/freq": 10}`` and the like turn them on.
    """

    info = SolverInfo(
        name="scip",
        rank={Purpose.MIXED_INTEGER: 2},
        summary="open branch and cut",
        package="pyscipopt",
        module="pyscipopt",
        reads=frozenset(Feature) - {Feature.QUADRATIC, Feature.PSD},
        integrality=("numerics/feastol", _TIGHT),
        gives=frozenset({Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.UPDATES, Gives.INTERRUPT}),
        time_limit_caveat="reading a quadratic objective of many terms",
        reference="Bolusani et al.: The SCIP Optimization Suite 9.0, 2024",
    )

    def run(self, model: Model, options: Options, kept_model: KeptModel | None = None) -> Answer:
        """Solve the model, as `Backend.run` does; with ``cuts="conflicts"`` SCIP separates `ConflictCuts`."""
        return super().run(model, _with_separator(model, options), kept_model)

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Return the answer of a new model, solved without the interpreter's lock, so that Ctrl-C reaches SCIP."""
        begin = time.perf_counter()
        model = _build(form)
        return self._solve(model, _watch(model), form, options, begin)

    def solve_kept(self, form: StandardForm, options: Options, kept_model: KeptModel) -> Answer:
        """Return the answer of the kept model, with objective, linear rows and bounds changed; SCIP tries its old solutions."""
        begin = time.perf_counter()

        def build() -> tuple[Any, Any]:
            model = _build(form)
            return model, _watch(model)

        def change(native: tuple[Any, Any], old: StandardForm, parts: frozenset[str]) -> tuple[Any, Any]:
            change_scip(native[0], old, form, parts)
            return native

        updatable = frozenset({"q", "r", "F", "g", "bounds"})
        model, monitor = kept_model.native_for(form, updatable, build, change, any_bounds=True)
        return self._solve(model, monitor, form, options, begin)

    def _solve(self, model: Any, monitor: Any, form: StandardForm, options: Options, begin: float) -> Answer:
        self._set_parameters(model, form, options.with_time_spent(time.perf_counter() - begin))
        details = _start(model, form, options)
        set_block_option(form, options, "priorities", functools.partial(_prioritise, model))
        recorder = monitor.recorder = Recorder("scip", options, maximise=form.maximise)
        cuts, _ = _split_separator(options)
        separator = None if cuts is None else _include_separator(model, cuts, form)
        if separator is not None:
            separator.recorder = recorder
        loaded = time.perf_counter()
        recorder.start()
        with nullcontext() if options.verbose else suppress_output():
            _optimize_to_decision(model)  # in this thread: PySCIPOpt occasionally crashes the process in a separate thread
        solved = time.perf_counter()
        status_name = str(model.getStatus())
        status = _STATUS.get(status_name, Status.FAILED)
        has_point = model.getNSols() > 0 and status not in (Status.INFEASIBLE, Status.UNBOUNDED)
        best = model.getBestSol() if has_point else None
        x = None if best is None else np.array([model.getSolVal(best, v) for v in model.data[: form.n]])
        has_solution = status not in (Status.INFEASIBLE, Status.UNBOUNDED, Status.FAILED)
        bound = _finite(model.getDualbound()) if has_solution else None
        root = _finite(model.getDualboundRoot()) if has_solution else None
        objective = float(model.getSolObjVal(best)) if has_point else None
        nodes = int(model.getNTotalNodes())
        trace = recorder.final_trace(nodes, objective, bound)
        if separator is not None:
            details["cuts_added"] = separator.added
        return Answer(
            status=status,
            native_status=status_name,
            values=None if x is None else form.split(x),
            pool=_pool(model, form) if has_point and "limits/maxsol" in options.native else (),
            objective=objective,
            bound=bound,
            root_bound=root,
            nodes=nodes,
            iterations=int(model.getNLPIterations()),
            trace=trace,
            build_seconds=loaded - begin,
            solve_seconds=solved - loaded,
            details=details,
        )

    def _set_parameters(self, model: Any, form: StandardForm, options: Options) -> None:
        check_native("scip", options.native, [_CUTS, "priorities", *model.getParams()])
        if options.verbose:
            model.hideOutput(False)
        chosen: dict[str, Any] = {
            "numerics/feastol": _WITH_INDICATORS if Feature.INDICATOR in form.features else _TIGHT,
            "numerics/dualfeastol": _TIGHT,
            "limits/gap": options.search_gap(self.info.tolerance),
            "randomization/randomseedshift": options.seed % 2_147_483_647,
            **dict.fromkeys(_DUAL_REDUCTIONS, True),
        }
        cones = sum(constraint.cone.count for constraint in form.constraints if constraint.cone.feature is not None)
        # An equation substituted into the convex objective of a continuous model hides its convexity. SCIP then branches and ends
        # with a gap of 1e-3 on a ball or a box of a dozen variables; without the substitution the root closes the gap. With more
        # cones the solution would be less exact without substitutions.
        if not form.features & _DISCRETE and cones <= 1:
            chosen["presolving/donotaggr"] = True
        if form.features & _DISCRETE and cones == 1:
            chosen |= _QUADRATIC_OBJECTIVE_SETTINGS
        if options.time_limit is not None:
            chosen["limits/time"] = options.time_limit
        if options.node_limit is not None:
            chosen["limits/nodes"] = options.node_limit
        if options.memory_limit is not None:
            chosen["limits/memory"] = options.memory_limit / 2**20
        native = {name: value for name, value in _split_separator(options)[1].items() if name != "priorities"}
        set_native_options("scip", {**chosen, **native}, model.setParam)


def _build(form: StandardForm) -> Any:
    """Return SCIP's model; raise an error for numbers that SCIP takes for infinite."""
    try:
        with suppress_output():
            return to_scip(form)
    except Exception as error:
        if type(error) is not Exception:  # PySCIPOpt raises a plain Exception
            raise
        raise SolverError(
            f"scip refuses the problem: {error}; numbers from 1e20 on are infinite to it: scale them", solver="scip"
        ) from error


def _optimize(model: Any) -> None:
    try:
        model.optimizeNogil()
    except Exception as error:  # PySCIPOpt raises a plain Exception
        raise SolverError(
            f"scip failed: {error}; other tolerances (numerics/feastol) or another seed may help", solver="scip"
        ) from error


def _optimize_to_decision(model: Any) -> None:
    """Solve; if the status is "infeasible or unbounded", solve again without the features that cannot tell the two apart."""
    _optimize(model)
    if model.getStatus() == "inforunbd":
        model.freeTransform()
        model.setParams(dict.fromkeys(_DUAL_REDUCTIONS, False))
        _optimize(model)


def _start(model: Any, form: StandardForm, options: Options) -> dict[str, Any]:
    """Add a complete start as a solution, an incomplete one as a partial solution that SCIP completes."""
    if options.start is None:
        return {}
    indices, values = started_variables(form, options)
    is_partial = indices.size < form.n
    if is_partial and _UNKNOWN_SHARE not in options.native:
        model.setParam(_UNKNOWN_SHARE, 1.0)
    solution = model.createPartialSol() if is_partial else model.createSol()
    variables = [model.data[j] for j in indices] if is_partial else model.data
    for variable, value in zip(variables, values if is_partial else extend_point(form, values), strict=True):
        model.setSolVal(solution, variable, float(value))
    return {"start_stored": bool(model.addSol(solution))}


def _prioritise(model: Any, place: slice, values: FloatArray) -> None:
    for variable, value in zip(model.data[place], values.tolist(), strict=True):
        model.chgVarBranchPriority(variable, round(value))


def _pool(model: Any, form: StandardForm) -> tuple[dict[str, FloatArray], ...]:
    """Return all solutions that SCIP holds, best first."""
    variables = model.data[: form.n]
    return tuple(form.split(np.array([model.getSolVal(point, v) for v in variables])) for point in model.getSols())


def _watch(model: Any) -> Any:
    """Return SCIP's event handler, which records a row for every new incumbent and every 50 ms of solved nodes."""
    from pyscipopt import Eventhdlr
    from pyscipopt.scip import PY_SCIP_EVENTTYPE as kind_of, PY_SCIP_STAGE as stages

    kinds = (kind_of.BESTSOLFOUND, kind_of.NODESOLVED)

    class Watch(Eventhdlr):
        """An event handler of one model; each solve has its own recorder."""

        recorder: Recorder

        def eventinit(self) -> None:
            """Subscribe to the events."""
            for kind in kinds:
                self.model.catchEvent(kind, self)

        def eventexit(self) -> None:
            """Unsubscribe from the events."""
            for kind in kinds:
                self.model.dropEvent(kind, self)

        def eventexec(self, event: Any) -> None:
            """Record the state at a new incumbent or after 50 ms: nodes come by the thousand."""
            is_solution = event.getType() == kind_of.BESTSOLFOUND
            if is_solution or time.perf_counter() >= self.recorder.next_row:
                self.record_state("incumbent" if is_solution else "node")
            if self.recorder.stopped:
                self.model.interruptSolve()

        def record_state(self, step: str) -> None:
            """Add a row to the recorder."""
            with self.recorder.deferring_errors():
                searching = self.model.getStage() == stages.SOLVING  # SCIP counts open nodes only in this stage
                self.recorder.record_values(
                    int(self.model.getNTotalNodes()),
                    self.model.getPrimalbound(),
                    self.model.getDualbound(),
                    active=int(self.model.getNNodesLeft()) if searching else -1,
                    step=step,
                )

    monitor = Watch()
    model.includeEventhdlr(monitor, "marginopt", "trace, callback and interruption")
    return monitor


def _finite(value: float) -> float | None:
    return float(value) if abs(value) < _INFINITY else None


#: Read by `solvers.registry`.
SOLVERS = (Scip(),)
