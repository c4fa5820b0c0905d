"""Options: what is wrong is named with what was given and needed; unknown native options name near misses."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about

import marginopt as mo
import marginopt.models as models_
from marginopt.errors import InputError, UnsupportedModelError
from marginopt.models import Block, Constraint, HingeSVM, Nonnegative, StandardForm
from marginopt.models.model import BareForm, Model
from marginopt.solvers.backends.cvxpy import implied_bound, known_options, settings_of
from marginopt.solvers.backends.pyomo import EXECUTABLES, executable_solver
from marginopt.solvers.interface.backend import Backend
from marginopt.solvers.interface.native_options import check_native, near_options
from marginopt.solvers.interface.solver import Solver
from marginopt.solvers.records import COMMON_OPTIONS, Options, Status
from marginopt.solvers.registry import all_solvers, get_solver, is_installed
from marginopt.solvers.solve import solve_problem


@pytest.mark.parametrize(
    ("solver", "native"),
    [("conic-ipm", {"max_iterations": "a"}), ("conic-ipm", {"max_iterations": None}), ("conic-ipm", {"max_iterations": 2.5})],
)
def test_parameters_of_another_type_are_refused(solver: str, native: dict[str, Any]) -> None:
    X, y = np.array([[1.0, -1.0], [1.0, 0.5], [1.0, 1.0]]), np.array([-1.0, 1.0, 1.0])
    with pytest.raises(InputError) as caught:
        mo.solve(mo.ConicSVM(X, y, lam=1.0), solver, **native)
    assert caught.value.name == "max_iterations"


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"time_limit": 0}, "time_limit"),
        ({"time_limit": -1.5}, "it is -1.5"),
        ({"time_limit": float("nan")}, "it is nan"),
        ({"time_limit": "60"}, "it is '60'"),
        ({"time_limit": True}, "it is True"),
        ({"tol": 0.0}, "tol "),
        ({"memory_limit": -1}, "memory_limit"),
        ({"threads": 0}, "threads"),
        ({"threads": 1.5}, "it is 1.5"),
        ({"threads": True}, "it is True"),
        ({"iteration_limit": 0}, "iteration_limit"),
        ({"node_limit": "many"}, "node_limit"),
        ({"seed": -1}, "seed"),
        ({"seed": None}, "seed"),
        ({"start": np.zeros(3)}, "start must map labels of variables to arrays; it is a ndarray"),
        ({"callback": "stop"}, "callback"),
    ],
)
def test_bad_options(kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, check=about(next(iter(kwargs)))):
        Options(**kwargs)


def test_numpy_numbers_become_plain_ones() -> None:
    options = Options(
        time_limit=np.float32(2.0), threads=np.int64(2), seed=np.int8(3), tol=np.float64(1e-3), node_limit=np.int32(4)
    )  # type: ignore[arg-type]
    assert type(options.time_limit) is float
    assert type(options.threads) is int
    assert (options.seed, options.node_limit) == (3, 4)
    json.dumps(options.record())


def test_record() -> None:
    assert Options().record() == {"seed": 0}
    options = Options(time_limit=5, start={"w": np.zeros(2)}, native={"a": 1, "b": np.zeros(2)}, callback=print)
    assert options.record() == {"time_limit": 5.0, "seed": 0, "start": ["w"], "native": {"a": 1, "b": "array([0., 0.])"}}
    assert Options().tolerance(1e-6) == 1e-6
    assert Options(tol=1e-3).tolerance(1e-6) == 1e-3


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("max_itr", "max_itr"),
        ("MAX_ITER", "MAX_ITER"),
        ("tolgap", "tolgap"),
        ("zzz", "zzz"),
        ("MaxIter", "MaxIter"),
    ],
)
def test_near_misses(option: str, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        check_native("solver", {option: 1}, ["verbose", "max_iter", "tol_gap_rel"])


def test_nothing_known() -> None:
    with pytest.raises(InputError, check=about("a")):
        check_native("solver", {"a": 1}, [])
    check_native("solver", {}, [])


def test_clarabel_s_own_options(overlapping: Any) -> None:
    model = HingeSVM(overlapping.X, overlapping.y)
    result = solve_problem(model, "clarabel", Options(native={"max_iter": 2}))
    assert result.status is Status.ITERATION_LIMIT
    assert result.iterations == 2
    assert result.options["native"] == {"max_iter": 2}
    assert solve_problem(model, "clarabel", Options(iteration_limit=2)).iterations == 2
    for native, name in (
        ({"max_itr": 3}, "max_itr"),
        ({"default": 3}, "default"),
        ({"max_iter": "a"}, "max_iter"),
    ):
        with pytest.raises(InputError, check=about(name)):
            solve_problem(model, "clarabel", Options(native=native))


def test_the_tolerance_is_passed_on(overlapping: Any) -> None:
    model = HingeSVM(overlapping.X, overlapping.y)
    rough = solve_problem(model, "clarabel", Options(tol=1e-1))
    fine = solve_problem(model, "clarabel", Options(tol=1e-8))
    assert fine.gap <= 1e-8
    assert rough.gap > fine.gap
    assert rough.iterations < fine.iterations  # type: ignore[operator]
    assert rough.status is fine.status is Status.OPTIMAL


def test_the_last_part_of_a_path_and_other_spellings_are_near() -> None:
    known = ["limits/time", "limits/gap", "heuristics/mpec/maxiter", "TimeLimit"]
    assert near_options("TIME_LIMIT", known)[0] == "TimeLimit"
    assert "limits/gap" in near_options("gap", known)
    assert near_options("zzz", known) == []
    with pytest.raises(InputError, check=about("zzz", allowed=known)):
        check_native("solver", {"zzz": 1}, known)


@pytest.mark.parametrize(
    ("option", "common"),
    [
        ("MIPGap", "tol"), ("mip_rel_gap", "tol"), ("limits/gap", "tol"), ("TimeLimit", "time_limit"), ("timeout", "time_limit"),
        ("x0", "start"), ("warm_start", "start"), ("OutputFlag", "verbose"), ("n_jobs", "threads"), ("random_state", "seed"),
    ],
)  # fmt: skip
def test_another_solver_s_name_of_a_common_option_stands_for_it(option: str, common: str) -> None:
    assert near_options(option, [*COMMON_OPTIONS, "limits/softtime", "presolving/maxrounds"])[0] == common


#: A misspelt option of every off-the-shelf solver, and what the message must name.
_MISSPELT = {
    "clarabel": ("max_itr", "max_iter"),
    "gurobi": ("timelimit", "TimeLimit"),
    "highs": ("mip_relgap", "mip_rel_gap"),
    "mosek": ("MSK_IPAR_NUM_THREAD", "MSK_IPAR_NUM_THREADS"),
    "osqp": ("max_itr", "max_iter"),
    "piqp": ("maxiter", "max_iter"),
    "scip": ("limits/tim", "limits/time"),
    "scs": ("max_iter", "max_iters"),
    "cvxopt": ("maxiter", "maxiters"),
    "cvxpy:cvxopt": ("max_itr", "max_iters"),
    "cvxpy:glpk": ("glpks", "glpk"),
    "cvxpy:glpk_mi": ("tm_lm", "tm_lim"),
    "cvxpy:scipy": ("scipy_option", "scipy_options"),
    "daqp": ("iterlimit", "iter_limit"),
    "proxqp": ("max_itr", "max_iter"),
    "quadprog": ("initval", "initvals"),
}


def _problems(points: Any) -> list[Model]:
    X, y = points.X, points.y
    row = Constraint("row", sp.csr_array(np.ones((1, 2))), -np.ones(1), Nonnegative(1))
    linear = StandardForm(
        "linear", (Block("x", (2,)),), np.ones(2), (row,), np.zeros(2), np.full(2, 5.0), np.zeros(2, dtype=bool)
    )
    models = [
        HingeSVM(X, y), models_.L2SVMDual(X, y), models_.ConvexHullsDual(X, y), models_.MEBDual(X), models_.L1SVMDual(X, y),
        models_.ConicSVM(X, y, lam=1.0), models_.ZeroOneSVM(X, y), models_.MaxMinSVM(X, y),
        models_.NonparallelSVM(X, y, 1.0, loss="capped"), models_.NonparallelSVM(X, y, 1.0), models_.ChebyshevNPSVC(X, y),
        models_.StiefelQP(np.eye(3), np.eye(3)[:, :2]), models_.RampSVM(X, y, 1.0),
        models_.MulticlassSVM(X, np.arange(len(y)) % 3), mo.Margin(X, y, subject_to=mo.at_most(1).nonzero),
        mo.Margin(X, y, "ramp", "l1"),
        models_.ScoringSystem(np.column_stack([np.ones(len(y)), np.rint(X[:, 1:])]), y),
        models_.ScoringSystem(np.column_stack([np.ones(len(y)), np.rint(X[:, 1:])]), y, loss="logistic"),
    ]  # fmt: skip
    return [*models, BareForm(linear)]


def _reads(solver: Solver, problem: Model) -> bool:
    try:
        return solver.obstacle(problem) is None
    except UnsupportedModelError:
        return False


_INSTALLED = [name for name, solver in all_solvers().items() if is_installed(solver)]


@pytest.mark.parametrize("name", _INSTALLED)
def test_an_unknown_option_of_any_solver_is_an_error_that_names_the_near_misses(overlapping: Any, name: str) -> None:
    """Every solver that is registered and installed, those found at run time and those that swallow options included."""
    solver = get_solver(name)
    if isinstance(solver, Backend):
        wrong, near = _MISSPELT[name]  # a new backend has to be listed above
    else:
        assert is_dataclass(solver)
        names = [f.name for f in fields(solver)]
        wrong, near = (f"{names[0]}x", names[0]) if names else ("zzz", "")
    problem = next(p for p in _problems(overlapping) if _reads(solver, p))
    native = Options(native={wrong: 3}, time_limit=5)
    with pytest.raises(InputError, check=about(wrong)) as caught:
        if solver.licence().usable:
            solve_problem(problem, name, native)
        else:  # what the unlicensed solver would do before it starts
            solver.run(problem, native)
    assert near in near_options(wrong, caught.value.allowed) or not near


def test_a_solver_that_swallows_options_is_asked_for_its_list(monkeypatch: pytest.MonkeyPatch, overlapping: Any) -> None:
    """quadprog made to take anything: the interface's documented names decide then."""
    pytest.importorskip("quadprog", reason="quadprog is not installed")
    from qpsolvers.solvers import solve_function

    from marginopt.solvers.backends import qpsolvers as backend

    honest = solve_function["quadprog"]
    swallowing = lambda problem, initvals=None, verbose=False, **kwargs: honest(problem, initvals, verbose)  # noqa: E731
    monkeypatch.setitem(solve_function, "quadprog", swallowing)
    for cached in (backend.ignores_unknown, backend.documented_options):
        cached.cache_clear()
    try:
        model = models_.L2SVMDual(overlapping.X, overlapping.y)
        assert solve_problem(model, "quadprog", Options()).status is Status.OPTIMAL
        with pytest.raises(InputError, check=about("initval")):
            solve_problem(model, "quadprog", Options(native={"initval": 3}))
    finally:
        for cached in (backend.ignores_unknown, backend.documented_options):
            cached.cache_clear()


def test_glpk_s_time_limit_is_in_milliseconds_and_its_options_are_told() -> None:
    """CVXOPT takes GLPK's default for what is no whole number, so that a limit in seconds was none."""
    for name, path in (("GLPK", ("glpk", "tm_lim")), ("GLPK_MI", ("tm_lim",))):
        settings, taken = settings_of(name, Options(time_limit=0.25), 1e-6, mixed=name == "GLPK_MI")
        for key in path:
            settings = settings[key]
        assert settings == 250
        assert isinstance(settings, int)
        assert taken == {"time_limit"}
    values = {"presolve": 1}
    settings, _ = settings_of("GLPK", Options(time_limit=2.0, native={"glpk": values}), 1e-6, mixed=False)
    assert settings == {"glpk": {"tm_lim": 2000, "presolve": 1}}
    settings, _ = settings_of("GLPK", Options(native={"glpk": values}), 1e-6, mixed=False)
    settings["glpk"]["msg_lev"] = "GLP_MSG_OFF"  # as CVXPY does
    assert values == {"presolve": 1}
    assert {"glpk"} == known_options("GLPK")
    assert {"tm_lim", "mip_gap"} <= known_options("GLPK_MI")


def test_mixed_integer_searches_of_interfaces_stop_below_the_tolerance() -> None:
    """A point moved onto its rows afterwards may cost more: a search that stops at the tolerance leaves no reserve for that."""
    options = Options(tol=1e-4)
    settings, _ = settings_of("SCIPY", options, 1e-6, mixed=True)
    assert settings["scipy_options"]["mip_rel_gap"] == options.search_gap(1e-6) < 1e-4
    one = np.ones(1)
    form = StandardForm("one", (Block("x", (1,)),), one, (), 0.0 * one, one, np.ones(1, dtype=bool))
    for executable in (executable for executable in EXECUTABLES if executable.gap):
        solver = SimpleNamespace(options={})
        executable_solver(executable)._set(solver, form, options)
        assert solver.options[executable.gap] == options.search_gap(1e-6)


def test_glpk_s_word_optimal_is_a_bound() -> None:
    """CVXOPT hands over no bound of GLPK's search; its word for the end of the search says what is left, as its options say."""
    settings, _ = settings_of("GLPK_MI", Options(tol=1e-6), 1e-6, mixed=True)
    assert settings == {"tol_obj": 1e-8}
    assert implied_bound("GLPK_MI", settings, -3.0) == -3.0 - 4e-8
    assert implied_bound("GLPK_MI", {"mip_gap": 0.1}, 10.0) == pytest.approx(9.0 - 1.1e-6, abs=1e-12)
    assert implied_bound("ECOS_BB", {}, 1.0) is None


def test_glpk_ends_mixed_integer_programs_at_what_it_claims() -> None:
    """It was inaccurate, without a word: no bound stood beside its optimum."""
    pytest.importorskip("cvxopt")
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(14), rng.integers(0, 3, size=(14, 2))])
    model = mo.ScoringSystem(X, np.where(np.arange(14) % 2, 1.0, -1.0))
    result = mo.solve(model, "cvxpy:glpk_mi")
    assert result.status is mo.Status.OPTIMAL
    assert result.bound_kind == "claimed by solver"
    assert result.objective == pytest.approx(mo.solve(model, "highs").objective, rel=1e-9)
    rough = mo.solve(model, "cvxpy:glpk_mi", mip_gap=0.5)
    assert rough.bound <= result.bound
