"""Backends of installed executables that only Pyomo reaches, by NL or LP files: ``pyomo:<name>``.

The form is min ½x'Px + q'x + r subject to F x + g in K, a product of cones, and bounds; z are the multipliers of its rows and ζ
those of its bounds.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...errors import InputError, SolverError, short_text
from ...models.arrays import FloatArray
from ...models.export.cone_rows import quadratic_cones
from ...models.export.pyomo_model import pyomo_indices, to_pyomo
from ...models.program.cones import Feature, Nonnegative, Zero
from ...models.program.exponential_cones import TranscendentalCone
from ...models.program.form import StandardForm
from ..interface.backend import Backend
from ..interface.native_options import check_native, ignored_options_note
from ..interface.solver import NONCONVEX_FEATURES, Gives, SolverInfo, installed_version, version_of
from ..records import Answer, Options, Status

_CONIC = frozenset({Feature.QUADRATIC, Feature.SECOND_ORDER, Feature.ROTATED, Feature.EXPONENTIAL, Feature.POWER})
_INTEGER = frozenset({Feature.INTEGER})


@dataclass(frozen=True)
class Executable:
    """Facts about an executable that Pyomo does not know."""

    name: str  #: Pyomo's name of the interface
    command: str  #: the executable that must be found
    reads: frozenset[Feature]  #: cones as quadratic, exponential and power constraints
    reference: str  #: paper on the solver
    suffixes: tuple[str, ...] = ()  #: names under which it returns z (the first) and ζ (the sum of the others)
    tolerances: tuple[str, ...] = ()  #: option names of the tolerances of a continuous program
    time: str = ""  #: option name of the time limit; empty if it has none
    iterations: str = ""  #: option name of the iteration limit; empty if it has none
    gap: str = ""  #: option name of the relative gap of a mixed-integer search; empty if it has none
    native: tuple[str, ...] = ()  #: names of its further options if it ignores unknown names; empty if it refuses them itself
    local: bool = False  #: whether an optimum of a nonconvex problem is a local one, a stationary point here


#: The executables that are looked for.
EXECUTABLES = (
    Executable(
        "ipopt",
        "ipopt",
        _CONIC | NONCONVEX_FEATURES,
        "Wächter, Biegler: On the implementation of an interior-point filter line-search algorithm, 2006",
        suffixes=("dual", "ipopt_zL_out", "ipopt_zU_out"),
        tolerances=("tol",),
        time="max_cpu_time",
        iterations="max_iter",
        local=True,
    ),
    Executable(
        "bonmin",
        "bonmin",
        _CONIC | _INTEGER,
        "Bonami et al.: An algorithmic framework for convex mixed integer nonlinear programs, 2008",
        time="bonmin.time_limit",
        gap="bonmin.allowable_fraction_gap",
    ),
    Executable(
        "couenne",
        "couenne",
        _CONIC | _INTEGER | NONCONVEX_FEATURES,
        "Belotti et al.: Branching and bounds tightening techniques for non-convex MINLP, 2009",
        time="time_limit",
        gap="allowable_fraction_gap",
    ),
    Executable(
        "cbc",
        "cbc",
        _INTEGER,
        "Forrest, Lougee-Heimer: CBC user guide, 2005",
        suffixes=("dual", "rc"),
        tolerances=("primalTolerance", "dualTolerance"),
        time="seconds",
        gap="ratioGap",
        native=("allowableGap", "cuts", "cutoff", "heuristicsOnOff", "maxNodes", "maxSolutions", "preprocess", "presolve",
                "randomCbcSeed", "strongBranching", "threads", "trustPseudoCosts"),
    ),
    Executable(
        "glpk",
        "glpsol",
        _INTEGER,
        "Makhorin: GNU Linear Programming Kit, 2012",
        suffixes=("dual", "rc"),
        time="tmlim",
        gap="mipgap",
    ),
)  # fmt: skip

_STATUS = {
    "optimal": Status.OPTIMAL,
    "locallyOptimal": Status.OPTIMAL,
    "globallyOptimal": Status.OPTIMAL,
    "feasible": Status.STALLED,
    "minStepLength": Status.STALLED,
    "maxTimeLimit": Status.TIME_LIMIT,
    "maxIterations": Status.ITERATION_LIMIT,
    "maxEvaluations": Status.ITERATION_LIMIT,
    "infeasible": Status.INFEASIBLE,
    "unbounded": Status.UNBOUNDED,
    "minFunctionValue": Status.UNBOUNDED,
    "userInterrupt": Status.INTERRUPTED,
    "resourceInterrupt": Status.INTERRUPTED,
}
_WITHOUT_POINT = (Status.INFEASIBLE, Status.UNBOUNDED, Status.FAILED)


class PyomoSolver(Backend):
    """An interface of Pyomo; `models.export.pyomo_model` translates the form.

    Pyomo's ``dual`` and ``rc`` (Ipopt: ``ipopt_zL_out`` + ``ipopt_zU_out``) are derivatives of the optimum in right sides and
    bounds, as z and ζ are.
    """

    executable: ClassVar[Executable]  #: the executable that this class runs

    def version(self) -> str:
        """Return the version of Pyomo; the executable's own version is in its log."""
        return f"pyomo {version_of('pyomo')}"

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Return the answer of the executable, run on a file of the model; multipliers come from its suffixes."""
        import pyomo.environ as pyo

        begin = time.perf_counter()
        model = to_pyomo(form)
        if not form.integer.any():
            for suffix in self.executable.suffixes:
                model.add_component(suffix, pyo.Suffix(direction=pyo.Suffix.IMPORT))
        solver = pyo.SolverFactory(self.executable.name, executable=shutil.which(self.executable.command))
        covered = self._set(solver, form, options)
        loaded = time.perf_counter()
        with self._refusals(options):
            results = solver.solve(model, tee=options.verbose, load_solutions=False)
            solved = time.perf_counter()
            if len(results.solution):
                model.solutions.load_from(results)
        condition = str(results.solver.termination_condition)
        status = _STATUS.get(condition, Status.FAILED)
        if status is Status.FAILED and options.native:
            message = str(results.solver.message)
            raise self._refused(options, f"{condition}, {message}")
        x = None if status in _WITHOUT_POINT else _point(form, model)
        nonconvex = bool(form.features & NONCONVEX_FEATURES)
        if nonconvex and self.executable.local and status is Status.OPTIMAL:
            status = Status.STATIONARY
        mixed = bool(form.integer.any()) or (nonconvex and not self.executable.local)
        duals = None if nonconvex or x is None or mixed else _multipliers(form, model, x, self.executable.suffixes)
        bound = float(results.problem.lower_bound) if mixed and status not in _WITHOUT_POINT else None
        return Answer(
            status=status,
            native_status=condition,
            values=None if x is None else form.split(x),
            multipliers=None if duals is None else duals[0],
            reduced=None if duals is None else duals[1],
            objective=None if x is None else form.objective(x),
            bound=bound if bound is not None and np.isfinite(bound) else None,
            build_seconds=loaded - begin,
            solve_seconds=solved - loaded,
            details=ignored_options_note(options, covered),
        )

    def _set(self, solver: Any, form: StandardForm, options: Options) -> frozenset[str]:
        executable = self.executable
        if executable.native:
            names = {*executable.native, *executable.tolerances, executable.time, executable.iterations, executable.gap} - {""}
            check_native(self.info.name, options.native, names)
        covered = set()
        if form.integer.any():
            if executable.gap:
                solver.options[executable.gap] = options.search_gap(self.info.tolerance)
        else:
            for name in executable.tolerances:
                solver.options[name] = max(1e-2 * options.residual_tolerance(self.info.tolerance), 1e-10)
        for option, name in (("time_limit", executable.time), ("iteration_limit", executable.iterations)):
            value = getattr(options, option)
            if value is not None and name:
                solver.options[name] = value
                covered.add(option)
        for name, value in options.native.items():
            solver.options[name] = value
        return frozenset(covered)

    def _refused(self, options: Options, reason: object) -> InputError:
        """Return the error for native options that the executable or Pyomo does not take."""
        message = f"{self.info.name} does not take the options {short_text(dict(options.native))}: {reason}"
        return InputError(message, name=", ".join(options.native))

    @contextmanager
    def _refusals(self, options: Options) -> Iterator[None]:
        """Translate errors that Pyomo raises for a failed executable into ours; Pyomo's log repeats them."""
        logger = logging.getLogger("pyomo")
        level = logger.level
        logger.setLevel(logging.CRITICAL)
        try:
            yield
        except Exception as error:
            if options.native:
                raise self._refused(options, error) from error
            raise SolverError(f"{self.info.name} failed: {error}", solver=self.info.name) from error
        finally:
            logger.setLevel(level)


def discover() -> tuple[Backend, ...]:
    """Return one solver for each known executable on the path, if Pyomo is installed."""
    if installed_version("pyomo") is None:
        return ()
    return tuple(executable_solver(executable) for executable in EXECUTABLES if shutil.which(executable.command))


def executable_solver(executable: Executable) -> PyomoSolver:
    """Return the solver that runs this executable."""
    info = SolverInfo(
        name=f"pyomo:{executable.name}",
        summary=f"the executable {executable.command}, through Pyomo",
        package="pyomo",
        module="pyomo",
        reads=executable.reads,
        gives=frozenset({Gives.DUALS}),
        reference=executable.reference,
    )
    parts = {"info": info, "executable": executable, "__doc__": PyomoSolver.__doc__}
    kind: type[PyomoSolver] = type(f"PyomoSolver_{executable.name}", (PyomoSolver,), parts)
    return kind()


def _point(form: StandardForm, model: Any) -> FloatArray | None:
    """Return x; None if the executable returned none. A variable in no row or cost takes any value within its bounds."""
    x = np.concatenate([_values(form, model, block.label, pyomo_indices(block)) for block in form.blocks])
    if np.isnan(x).all():
        return None
    return np.where(np.isnan(x), np.clip(0.0, form.lower, form.upper), x)


def _values(form: StandardForm, model: Any, label: str, keys: list[Any]) -> FloatArray:
    variable = model.component(label)
    values = (variable[key].value for key in keys)
    return np.array([np.nan if value is None else float(value) for value in values])


def _multipliers(
    form: StandardForm, model: Any, x: FloatArray, suffixes: tuple[str, ...]
) -> tuple[dict[str, FloatArray], FloatArray] | None:
    """Return z and ζ from the suffixes; None if the executable returns none."""
    parts: list[Mapping[Any, float]] = [model.component(suffix) for suffix in suffixes]
    if not parts or not len(parts[0]):
        return None
    duals = parts[0]

    def dual_values(label: str) -> FloatArray:
        component = model.component(label)
        return np.array([] if component is None else [float(duals.get(row, 0.0)) for row in component.values()])

    z: dict[str, FloatArray] = {}
    for c in form.constraints:
        if isinstance(c.cone, (Zero, Nonnegative)):
            z[c.label] = np.zeros(c.rows)
            if c.rows:
                filled = np.flatnonzero(np.diff(c.F.indptr))  # rows without variables are decided when the model is built
                z[c.label][filled] = dual_values(c.label)
    for rows in quadratic_cones(form):
        c = rows.constraint
        mu = np.maximum(-dual_values(c.label), 0.0)  # ≤ 0 for h ≤ 0
        z[c.label] = rows.multipliers(c.value(x), mu, dual_values(f"{c.label}_link"))
    for c in form.constraints:
        if c.rows and isinstance(c.cone, TranscendentalCone):
            z[c.label] = c.cone.multipliers_of_inequalities(c.value(x), np.maximum(-dual_values(c.label), 0.0))
            link = model.component(f"{c.label}_link")
            if link is not None:
                z[c.label][list(link)] = dual_values(f"{c.label}_link")
    variables = [model.component(block.label)[key] for block in form.blocks for key in pyomo_indices(block)]
    zeta = np.array([sum(float(part.get(variable, 0.0)) for part in parts[1:]) for variable in variables])
    return z, zeta


#: Called by `solvers.registry` to find the solvers.
DISCOVER = discover
