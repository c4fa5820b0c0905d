"""Backends of the solvers that CVXPY reaches and that have no file of their own here: ``cvxpy:<name>``.

Names, cones and integrality come from CVXPY's records of its interfaces. Listed here are only each interface's names of the
*common options* (`Options`: tolerance, limits, ...), which every solver of this package takes.
"""

from __future__ import annotations

import functools
import math
import pkgutil
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from ...errors import InputError, SolverError, short_text
from ...models.arrays import FloatArray
from ...models.export.cvxpy_problem import labelled_values, multipliers, to_cvxpy
from ...models.importing.cvxpy import with_stated_bounds
from ...models.program.cones import Feature
from ...models.program.form import StandardForm
from ..interface.backend import Backend
from ..interface.native_options import check_native, ignored_options_note, near_misses
from ..interface.solver import Gives, SolverInfo, installed_version, version_of
from ..records import Answer, Options, Status

# Names of the common options in CVXPY's interfaces; CVXPY has no names of its own.

#: Names of the tolerances, as paths of keys, by interface; below, those of the gap of integers and of limits.
_TOLERANCES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "SCIPY": (("scipy_options", "primal_feasibility_tolerance"), ("scipy_options", "dual_feasibility_tolerance")),
    "CLARABEL": (("tol_gap_abs",), ("tol_gap_rel",), ("tol_feas",)),
    "SCS": (("eps_abs",), ("eps_rel",)),
    "ECOS": (("abstol",), ("reltol",), ("feastol",)),
    "CVXOPT": (("abstol",), ("reltol",), ("feastol",)),
    "QOCO": (("abstol",), ("reltol",)),
}
_MIP_GAP: Mapping[str, tuple[str, ...]] = {"SCIPY": ("scipy_options", "mip_rel_gap")}
_TIME: Mapping[str, tuple[str, ...]] = {
    "SCIPY": ("scipy_options", "time_limit"),
    "CLARABEL": ("time_limit",),
    "SCS": ("time_limit_secs",),
    "GLPK": ("glpk", "tm_lim"),
    "GLPK_MI": ("tm_lim",),
    "CBC": ("maximumSeconds",),
}
#: Interfaces that count time in whole milliseconds and use their default for other numbers.
_MILLISECONDS = frozenset({"GLPK", "GLPK_MI"})
_ITERATIONS: Mapping[str, tuple[str, ...]] = {
    "CLARABEL": ("max_iter",),
    "SCS": ("max_iters",),
    "ECOS": ("max_iters",),
    "CVXOPT": ("max_iters",),
    "QOCO": ("max_iters",),
}
#: Interfaces that search to the end and report no bound: the option for the improvement that they ignore, with its default, as a
#: share of the objective f and of 1 + |f|.
_IGNORED_IMPROVEMENT: Mapping[str, tuple[tuple[str, float], tuple[str, float]]] = {
    "GLPK_MI": (("mip_gap", 0.0), ("tol_obj", 1e-7))
}
_GLPK = frozenset(
    {"msg_lev", "meth", "pricing", "r_test", "tol_bnd", "tol_dj", "tol_piv"}
    | {"obj_ll", "obj_ul", "it_lim", "tm_lim", "out_frq", "out_dly", "presolve"}
)
_GLPK_MI = frozenset(
    {"msg_lev", "br_tech", "bt_tech", "pp_tech", "fp_heur", "gmi_cuts", "mir_cuts", "cov_cuts", "clq_cuts"}
    | {"tol_int", "tol_obj", "mip_gap", "tm_lim", "out_frq", "out_dly", "presolve", "binarize"}
)
#: Further options, from the documentation, of interfaces that ignore unknown names.
_EXTRA_NAMES: Mapping[str, frozenset[str]] = {
    "CVXOPT": frozenset({"kktsolver", "refinement"}),
    "GLPK": frozenset({"glpk"}),
    "GLPK_MI": _GLPK_MI,
}
#: Options whose value is a mapping, with the option names that it takes.
_INNER: Mapping[str, frozenset[str]] = {"glpk": _GLPK}


def known_options(name: str) -> frozenset[str]:
    """Return the option names that this module lists for an interface, by CVXPY's name of it."""
    paths = [*_TOLERANCES.get(name, ()), *(table[name] for table in (_MIP_GAP, _TIME, _ITERATIONS) if name in table)]
    return frozenset(path[0] for path in paths) | _EXTRA_NAMES.get(name, frozenset())


def _tight_tolerances(name: str) -> dict[str, Any]:
    """Return settings that ask this interface for tolerances of 1e-8."""
    settings: dict[str, Any] = {}
    for path in _TOLERANCES.get(name, ()):
        _set_nested(settings, path, 1e-8)
    return settings


def settings_of(name: str, options: Options, default: float, *, mixed: bool) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the keyword arguments of the interface, and the common options that they cover.

    Parameters
    ----------
    name : str
        CVXPY's name of the interface.
    options : Options
    default : float
        The solver's default tolerance.
    mixed : bool
        Whether the form has integers: the tolerance is then that of the gap between incumbent and bound.
    """
    tol, settings, covered = options.tolerance(default), dict[str, Any](), set()
    if mixed:
        if name in _MIP_GAP:
            _set_nested(settings, _MIP_GAP[name], options.search_gap(default))
        if name in _IGNORED_IMPROVEMENT:
            settings[_IGNORED_IMPROVEMENT[name][1][0]] = min(max(1e-2 * tol, 1e-12), _IGNORED_IMPROVEMENT[name][1][1])
    else:
        for path in _TOLERANCES.get(name, ()):
            _set_nested(settings, path, max(1e-2 * options.residual_tolerance(default), 1e-10))
    for option, table in (("time_limit", _TIME), ("iteration_limit", _ITERATIONS)):
        value = getattr(options, option)
        if value is not None and name in table:
            in_milliseconds = option == "time_limit" and name in _MILLISECONDS
            _set_nested(settings, table[name], math.ceil(1e3 * min(value, 2e6)) if in_milliseconds else value)
            covered.add(option)
    for key, value in options.native.items():
        inner = settings.get(key, {})  # copied: interfaces change the mappings that they receive
        settings[key] = {**inner, **value} if isinstance(inner, dict) and isinstance(value, Mapping) else value
    return settings, frozenset(covered)


def implied_bound(name: str, settings: Mapping[str, Any], objective: float) -> float | None:
    """Return the bound that "optimal" implies for an interface that reports no bound for integers; None for other interfaces.

    GLPK cuts off points that are better than the objective f by less than tol_obj (1 + |f|), and stops at a relative gap of
    mip_gap. ``settings`` are the options of the run, ``objective`` is f.
    """
    if name not in _IGNORED_IMPROVEMENT:
        return None
    (gap, gap_default), (small, small_default) = _IGNORED_IMPROVEMENT[name]
    size = abs(objective)
    return objective - float(settings.get(gap, gap_default)) * size - float(settings.get(small, small_default)) * (1.0 + size)


def _set_nested(settings: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        settings = settings.setdefault(key, {})
    settings[path[-1]] = value


#: Inaccurate answers and errors count as a time limit if the time limit has passed.
_STATUS = {
    "optimal": Status.OPTIMAL,
    "optimal_inaccurate": Status.OPTIMAL,  # a claim, which the certificate checks
    "user_limit": Status.ITERATION_LIMIT,
    "infeasible": Status.INFEASIBLE,
    "infeasible_inaccurate": Status.STALLED,
    "unbounded": Status.UNBOUNDED,
    "unbounded_inaccurate": Status.STALLED,
    "infeasible_or_unbounded": Status.FAILED,
    "solver_error": Status.FAILED,
}
_INACCURATE = ("optimal_inaccurate", "user_limit", "solver_error")

#: Modules whose libraries may wait for threads that a forked process does not have.
_THREADS_OF = {"SCIPY": "scipy"}

#: Features by CVXPY's cone names; every interface takes linear cones.
_CONES = {
    "SOC": Feature.SECOND_ORDER, "PSD": Feature.PSD, "SvecPSD": Feature.PSD, "ExpCone": Feature.EXPONENTIAL,
    "PowCone3D": Feature.POWER,
}  # fmt: skip


class CvxpySolver(Backend):
    """A solver of CVXPY; `models.export.cvxpy_problem` translates the form."""

    native_name: ClassVar[str]  #: CVXPY's name of the solver

    def version(self) -> str:
        """Return the versions of the solver's own package, if one has its name, and of CVXPY."""
        cvxpy, solver_version = f"cvxpy {version_of('cvxpy')}", installed_version(self.native_name.lower())
        return cvxpy if solver_version is None else f"{solver_version} ({cvxpy})"

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        """Return the answer of CVXPY's solver; canonicalisation counts as build time."""
        begin = time.perf_counter()
        problem = with_stated_bounds(to_cvxpy(form))
        settings, covered = self._settings(form, options)
        with self._refusals(options):
            data, chain, inverse = problem.get_problem_data(self.native_name, solver_opts=settings)
            loaded = time.perf_counter()
            raw = chain.solve_via_data(problem, data, warm_start=False, verbose=options.verbose, solver_opts=settings)
            solved = time.perf_counter()
            native_status = _unpack(problem, raw, chain, inverse)
        status = _STATUS.get(native_status, Status.FAILED)
        if native_status in _INACCURATE and options.time_limit is not None and solved - loaded >= options.time_limit:
            status = Status.TIME_LIMIT
        x = _point(form, labelled_values(problem)) if native_status in ("optimal", "optimal_inaccurate", "user_limit") else None
        duals = None if x is None or form.integer.any() else multipliers(form, problem)
        stats = problem.solver_stats
        extra = stats.extra_stats if stats is not None and isinstance(stats.extra_stats, Mapping) else {}
        bound, nodes = extra.get("mip_dual_bound"), extra.get("mip_node_count")
        mixed = bool(form.integer.any())
        if mixed and bound is None and x is not None and native_status == "optimal":
            bound = implied_bound(self.native_name, settings, form.objective(x) - form.r)
        return Answer(
            status=status,
            native_status=native_status,
            values=None if x is None else form.split(x),
            multipliers=None if duals is None else duals[0],
            reduced=None if duals is None else duals[1],
            objective=None if x is None else form.objective(x),
            bound=float(bound) + form.r if mixed and bound is not None else None,
            nodes=int(nodes) if mixed and nodes is not None else None,
            iterations=int(stats.num_iters) if stats is not None and stats.num_iters is not None else None,
            build_seconds=loaded - begin,
            solve_seconds=solved - loaded,
            details=ignored_options_note(options, covered),
        )

    @contextmanager
    def _refusals(self, options: Options) -> Iterator[None]:
        """Translate errors of the interface into ours and drop its warnings, which repeat the status."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", message="(Unknown solver|Unrecognized) options")  # SciPy
            try:
                yield
            except Exception as error:
                if options.native:
                    names = known_options(self.native_name)
                    hints = "".join(near_misses(option, names) for option in options.native if option not in names)
                    message = (
                        f"cvxpy's {self.native_name} does not take the options {short_text(dict(options.native))}: {error}{hints}"
                    )
                    raise InputError(message, name="options") from error
                raise SolverError(f"cvxpy's {self.native_name} refuses the problem: {error}", solver=self.info.name) from error

    def _settings(self, form: StandardForm, options: Options) -> tuple[dict[str, Any], frozenset[str]]:
        """Return the keyword arguments of the interface, and the common options that they cover."""
        name = self.native_name
        if options.native and _ignores_unknown(name):
            check_native(self.info.name, options.native, known_options(name))
            for key, value in options.native.items():
                if key in _INNER and isinstance(value, Mapping):
                    check_native(f"{self.info.name}'s {key}", value, _INNER[key])
        return settings_of(name, options, self.info.tolerance, mixed=bool(form.integer.any()))


def discover() -> tuple[Backend, ...]:
    """Return one solver for each installed CVXPY interface that has no file in this folder.

    Quadratic-only interfaces that qpsolvers reaches as well are omitted.
    """
    try:
        import cvxpy
    except ImportError:
        return ()
    from . import __path__ as folder
    from .qpsolvers import discover as reached_by_qpsolvers

    direct = {module.name for module in pkgutil.iter_modules(folder)}
    quadratic = {solver.info.name for solver in reached_by_qpsolvers()}
    installed = cvxpy.installed_solvers()  # type: ignore[no-untyped-call]
    names = [name for name in installed if name.lower() not in direct]
    solvers = [solver for solver in map(interface_solver, names) if solver is not None]
    return tuple(s for s in solvers if s.info.reads - {Feature.QUADRATIC} or s.native_name.lower() not in quadratic)


def interface_solver(name: str) -> CvxpySolver | None:
    """Return the solver with this CVXPY name; None if it solves nonlinear programs only."""
    from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP

    conic, quadratic = SOLVER_MAP_CONIC.get(name), SOLVER_MAP_QP.get(name)
    if conic is None and quadratic is None:
        return None
    reads, forbids = _features(conic, quadratic)
    info = SolverInfo(
        name=f"cvxpy:{name.lower()}",
        summary=f"{name}, through CVXPY",
        package="cvxpy",
        module="cvxpy",
        reads=reads,
        forbids=forbids,
        gives=frozenset({Gives.DUALS}),
        threads_of=_THREADS_OF.get(name, ""),
        reference="Diamond, Boyd: CVXPY: a Python-embedded modeling language for convex optimization, 2016",
    )
    kind: type[CvxpySolver] = type(
        f"CvxpySolver_{name}", (CvxpySolver,), {"info": info, "native_name": name, "__doc__": CvxpySolver.__doc__}
    )
    return kind()


def _features(conic: Any, quadratic: Any) -> tuple[frozenset[Feature], tuple[frozenset[Feature], ...]]:
    """Return the features that an interface reads, alone and together with integers, from CVXPY's record."""
    features: set[Feature] = set()
    mixed: set[Feature] = set()
    if conic is not None:
        features |= {_CONES[cone.__name__] for cone in conic.SUPPORTED_CONSTRAINTS if cone.__name__ in _CONES}
        if Feature.SECOND_ORDER in features or conic.supports_quad_obj():
            features.add(Feature.QUADRATIC)  # CVXPY rewrites it as a cone
        if conic.MIP_CAPABLE:
            mixed |= {_CONES[cone.__name__] for cone in conic.MI_SUPPORTED_CONSTRAINTS if cone.__name__ in _CONES}
            mixed |= {Feature.INTEGER} | ({Feature.QUADRATIC} if Feature.SECOND_ORDER in mixed else set())
    if quadratic is not None:
        features.add(Feature.QUADRATIC)
        mixed |= {Feature.INTEGER, Feature.QUADRATIC} if quadratic.MIP_CAPABLE else set()
    never = features - mixed if Feature.INTEGER in mixed else set()
    return frozenset(features | mixed), tuple(frozenset({Feature.INTEGER, feature}) for feature in sorted(never, key=str))


@functools.cache
def _ignores_unknown(name: str) -> bool:
    """Return whether an interface ignores an unknown option silently; tested on a program in one variable."""
    import cvxpy

    settings = {"marginopt_has_no_such_option": 1, **_tight_tolerances(name)}
    x = cvxpy.Variable()
    problem = cvxpy.Problem(cvxpy.Minimize(x), [x >= 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            problem.solve(solver=name, **settings)  # type: ignore[no-untyped-call]
        except Exception:  # noqa: BLE001 - the class of the error differs from solver to solver
            return False
    return True


def _unpack(problem: Any, raw: Any, chain: Any, inverse: Any) -> str:
    """Put values and dual values into the problem and return CVXPY's status."""
    import cvxpy

    try:
        problem.unpack_results(raw, chain, inverse)
    except cvxpy.error.SolverError:
        return "solver_error"
    return str(problem.status)


def _point(form: StandardForm, values: Mapping[str, Any]) -> FloatArray | None:
    """Return x. CVXPY does not know blocks that no constraint and no objective mentions: they take any value within
    their bounds.
    """
    values_by_label = {}
    for block in form.blocks:
        value = values.get(block.label)
        if value is None:
            s = form.slices[block.label]
            value = block.unpack(np.clip(np.zeros(block.size), form.lower[s], form.upper[s]))
        values_by_label[block.label] = np.asarray(value, dtype=np.float64).reshape(block.shape)
    x = form.join(values_by_label)
    return x if np.isfinite(x).all() else None


def missing_requirement(name: str) -> str | None:
    """Return the missing requirement of ``cvxpy:NAME``, an interface that CVXPY has and cannot import; None for other names."""
    try:
        from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP
    except ImportError:  # without CVXPY there are no names
        return None
    interfaces = {**SOLVER_MAP_QP, **SOLVER_MAP_CONIC}
    native = {f"cvxpy:{native.lower()}": native for native in interfaces}.get(name)
    if native is None:
        return None
    try:
        interfaces[native].import_solver()  # type: ignore[no-untyped-call]
    except (ImportError, OSError) as error:
        return f"CVXPY has an interface for {native} and cannot import it ({error}); CVXPY's installation page names its package"
    return None


#: Called by `solvers.registry`: what finds the solvers, and what says why a solver was not found.
DISCOVER, ABSENT = discover, missing_requirement
