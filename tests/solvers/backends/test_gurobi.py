"""Gurobi: known optima, multipliers in our signs, limits, statuses, licences. Everything fits the licence of the pip package."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from effort import trials
from facts import about, missing, unlicensed
from interrupts import interrupted
from programs import KNOWN, WITHOUT_OPTIMUM, X11, Y11, form_of, hard_zero_one, knapsack

from marginopt.errors import ExportError, InputError, LicenceError, MissingPackageError
from marginopt.models import (
    RBF,
    ConicSVM,
    HingeSVM,
    L2SVMDual,
    Linear,
    MEBDual,
    Nonnegative,
    Quadratic,
    RotatedSecondOrder,
    SecondOrder,
    StandardForm,
    Zero,
    ZeroOneSVM,
)
from marginopt.models.export.cone_rows import gurobi_size
from marginopt.models.export.gurobi_model import to_gurobi
from marginopt.models.program.exponential_cones import Exponential, Power
from marginopt.solvers.interface.solver import LicenceState
from marginopt.solvers.records import Options, Status
from marginopt.solvers.registry import get_solver, require
from marginopt.solvers.solve import solve_problem

pytest.importorskip("gurobipy", reason="gurobipy is not installed")


@pytest.mark.parametrize(("model", "optimum"), KNOWN.values(), ids=KNOWN)
def test_known_optima(model, optimum):
    result = solve_problem(model, "gurobi", Options())
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(optimum, rel=1e-8)
    assert result.gap <= 1e-6
    assert result.bound_kind == ("proved" if isinstance(model, HingeSVM) else "claimed by solver")


@pytest.mark.parametrize("model", [L2SVMDual(X11, Y11, 4.0, RBF(0.5)), MEBDual(X11[:, 1:], Linear()), HingeSVM(X11, Y11, 0.7)])
def test_multipliers_have_our_signs(model, assert_kkt):
    result = solve_problem(model, "gurobi", Options())
    assert result.status is Status.OPTIMAL
    assert_kkt(model.form, result, 1e-6)


def test_apex(assert_kkt):
    """max x_2 + x_3 - 4 x_0 - 4 x_1 over 2 x_0 x_1 ≥ x_2² + x_3², at the apex, where the quadratic constraint has no gradient."""
    cone = [("cone", np.eye(4), np.zeros(4), RotatedSecondOrder(4))]
    form = form_of([4, 4, -1, -1], cone, [0, 0, -9, -9], [9, 9, 9, 9])
    result = solve_problem(form, "gurobi", Options())
    assert result.status is Status.OPTIMAL
    assert abs(result.objective) <= 1e-8
    assert_kkt(form, result, 1e-7)


def random_cones(seed, quadratic):
    """Second-order and rotated cones, stacked and single, rows that are variables, and linear rows of both kinds."""
    rng = np.random.default_rng(seed)
    n, k = 6, 3
    plain = np.zeros((3, n))
    plain[0, 0], plain[1, 1], plain[2, 2] = 0.5, 1.0, 1.0
    constraints = [
        ("ball", np.vstack([np.zeros((1, n)), rng.normal(size=(n, n))]), np.r_[3.0, np.zeros(n)], SecondOrder(n + 1)),
        ("soc", rng.normal(size=(4 * k, n)), np.tile([4.0, 0.1, -0.2, 0.3], k), SecondOrder(4, k)),
        ("rotated", rng.normal(size=(3 * k, n)), np.tile([2.0, 3.0, 0.3], k), RotatedSecondOrder(3, k)),
        ("plain", plain, np.zeros(3), RotatedSecondOrder(3)),
        ("rows", rng.normal(size=(3, n)), np.ones(3), Nonnegative(3)),
        ("equal", rng.normal(size=(1, n)), np.zeros(1), Zero(1)),
    ]
    P = Quadratic(factor=rng.normal(size=(3, n))) if quadratic else None
    q = rng.normal(size=n)
    return form_of(q, constraints, np.r_[0.0, 0.0, np.full(4, -5.0)], np.full(n, 5.0), r=0.7).replace(quadratic=P)


@pytest.mark.parametrize("seed", range(trials(3, 6)))
@pytest.mark.parametrize("quadratic", [False, True])
def test_cones_as_quadratic_constraints(seed, quadratic, assert_kkt):
    form = random_cones(seed, quadratic)
    ours, peer = solve_problem(form, "gurobi", Options()), solve_problem(form, "clarabel", Options())
    assert peer.claim.status is Status.OPTIMAL and peer.certificate.feasible(1e-7)
    assert ours.status is Status.OPTIMAL  # near 3e-4 Clarabel leaves a gap above 1e-6: only its value is compared
    assert ours.objective == pytest.approx(peer.objective, rel=1e-7, abs=1e-8)
    assert ours.gap <= 1e-9 + ours.certificate.resolution
    assert_kkt(form, ours, 1e-7)


def test_mixed_integer_cones_keep_plain_rows_as_variables():
    """min t, ||(x - 0.4, y + 1.3)|| ≤ t, x and y integer: (0, -1), √(0.16 + 0.09) = 0.5."""
    rows = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    form = form_of([0, 0, 1], [("norm", rows, [0, -0.4, 1.3], SecondOrder(3))], [-5, -5, 0], [5, 5, np.inf], integer=[1, 1, 0])
    assert gurobi_size(form) == (5, 2)
    result = solve_problem(form, "gurobi", Options())
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(0.5, abs=1e-7)
    np.testing.assert_allclose(result.values["x"][:2], [0, -1])


@pytest.mark.parametrize("rows", [
    [("exp", np.eye(3), np.zeros(3), Exponential(3))],
    [("exp", np.diag([1.0, 0.0, 1.0]), [0.0, 1.0, 0.0], Exponential(3))],
    [("exp", np.diag([1.0, 0.0, 1.0]), np.zeros(3), Exponential(3))],
    [("power", np.eye(3), np.zeros(3), Power(3, 1, 0.25))],
])  # fmt: skip
def test_exponential_and_power_cones_count_as_gurobi_counts_them(rows):
    """The restricted licence has a limit for each; signs of bases and divisors are linear rows."""
    form = form_of([0, 0, 1], [*rows, ("side", [[1.0, 1.0, 0.0]], [1.0], Nonnegative(1))], [-1] * 3, [5] * 3)
    with to_gurobi(form) as model:
        assert gurobi_size(form) == (model.NumVars, model.NumConstrs)


def test_labels_become_names():
    with to_gurobi(ZeroOneSVM(X11, Y11).form) as model:
        assert [v.VarName for v in model.getVars()][:4] == ["w[0]", "w[1]", "w[2]", "z[0]"]
        assert [c.ConstrName for c in model.getConstrs()][-1] == "margin[10]"
        assert [v.VType for v in model.getVars()] == ["C"] * 3 + ["B"] * 11
    with to_gurobi(random_cones(0, True)) as model:
        assert [c.QCName for c in model.getQConstrs()] == [
            "ball", "soc[0]", "soc[1]", "soc[2]", "rotated[0]", "rotated[1]", "rotated[2]", "plain",
        ]  # fmt: skip
        assert [v.VarName for v in model.getVars()][6:8] == ["ball[1]", "ball[2]"]


def test_semidefinite_cones_are_refused():
    model = ConicSVM(X11, Y11, lam=1.0)
    with pytest.raises(ExportError, check=about("Gurobi")):
        to_gurobi(model.form)
    with pytest.raises(InputError, check=about("gurobi")):
        solve_problem(model, "gurobi", Options())


@pytest.mark.parametrize(("form", "status"), WITHOUT_OPTIMUM)
def test_infeasible_and_unbounded(form, status):
    result = solve_problem(form, "gurobi", Options())
    assert result.status is status
    assert not result.values


def test_farkas_ray_proves_infeasibility():
    form = form_of([1, 1], [("c", [[1, 1], [-1, -0.5]], [-3, 1], Nonnegative(2))], [0, 0], [9, 2])
    z = solve_problem(form, "gurobi", Options()).details["farkas"]["c"]
    c = form.constraints[0]
    price = -(c.F.T @ z)  # of the bounds: the Lagrangian without objective is bounded by its largest value over them
    largest = float(z @ c.g) - np.minimum(price * form.lower, price * form.upper).sum()
    assert (z >= 0).all() and largest < -1e-6


def test_time_limit_gives_incumbent_and_bound():
    result = solve_problem(hard_zero_one(90, 8), "gurobi", Options(time_limit=1.0, threads=1))
    assert result.status is Status.TIME_LIMIT
    assert result.certificate.feasible(1e-9)
    assert 0 < result.bound < result.objective
    assert result.nodes > 0 and len(result.trace) > 2
    assert (np.diff(result.trace.column("seconds")) >= 0).all()
    bounds = result.trace.column("bound")
    assert (np.diff(bounds[np.isfinite(bounds)]) >= -1e-6).all()


def test_node_limit_and_callback():
    limited = solve_problem(hard_zero_one(90, 8), "gurobi", Options(node_limit=5, threads=1))
    assert limited.status is Status.NODE_LIMIT
    seen = []
    options = Options(time_limit=30, callback=lambda row: seen.append(row) or len(seen) >= 4)
    stopped = solve_problem(hard_zero_one(90, 8), "gurobi", options)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.solve_seconds < 20 and stopped.certificate.feasible(1e-9)


def test_an_error_of_the_callback_is_raised():
    def callback(row):
        raise KeyError("mine")

    with pytest.raises(KeyError, check=lambda error: error.args == ("mine",)):
        solve_problem(ZeroOneSVM(X11, Y11, lam=5.0), "gurobi", Options(callback=callback))


def test_start_is_taken():
    model = hard_zero_one(90, 8)
    best = solve_problem(model, "gurobi", Options(time_limit=1.5, threads=1))
    rows = []
    options = Options(node_limit=1, threads=1, start=best.values, callback=rows.append, native={"Heuristics": 0})
    again = solve_problem(model, "gurobi", options)
    assert again.objective <= best.objective + 1e-6
    partial = solve_problem(model, "gurobi", Options(node_limit=1, threads=1, start={"z": best.values["z"]}))
    assert partial.objective <= best.objective + 1e-6
    with pytest.raises(InputError, check=about("v")):
        solve_problem(model, "gurobi", Options(start={"v": np.zeros(3)}))


def test_wrong_options():
    model = HingeSVM(X11, Y11)
    with pytest.raises(InputError, check=about("MipGap")):
        solve_problem(model, "gurobi", Options(native={"MipGap": 0.1}))
    with pytest.raises(InputError, check=about("MIPFocus")):
        solve_problem(model, "gurobi", Options(native={"MIPFocus": 7}))


def test_size_limits_are_known_beforehand():
    licence = get_solver("gurobi").licence()
    if licence.state is not LicenceState.RESTRICTED:
        pytest.skip("a full licence is installed")
    X = np.column_stack([np.ones(200), np.random.default_rng(0).normal(size=(200, 2))])
    y = np.where(np.arange(200) % 2, 1.0, -1.0)
    model = HingeSVM(X, y)
    assert licence.refusal(model.form) is not None
    with pytest.raises(LicenceError, check=unlicensed("gurobi")):
        solve_problem(model, "gurobi", Options())
    assert licence.refusal(HingeSVM(X[:190], y[:190]).form) is None
    cones = [("c", np.eye(150)[:120], np.ones(120), SecondOrder(3, 40))]
    assert "270 variables" in licence.refusal(form_of(np.ones(150), cones, np.zeros(150), np.ones(150)))
    with pytest.raises(LicenceError, check=unlicensed("gurobi")):  # Gurobi's own refusal, where nobody asked
        get_solver("gurobi").solve_form(model.form, Options())


FALSE_LICENCES = {
    "TYPE=ACADEMIC\nVERSION=13\nHOSTNAME=nowhere\nHOSTID=abcdef01\nUSERNAME=nobody\nEXPIRATION=2020-01-01\nKEY=AAAAAAAA\nCKEY=AAAAAAAA\n":
        "EXPIRED Gurobi does not start: License expired 2020-01-01",
    "nothing of use\n": "MISSING Gurobi does not start: No HostID specified in license file",
}  # fmt: skip


@pytest.mark.parametrize(("content", "words"), FALSE_LICENCES.items(), ids=["expired", "not a licence"])
def test_false_licence_file(tmp_path, content, words):
    path = tmp_path / "gurobi.lic"
    path.write_text(content)
    code = (
        "from marginopt.solvers.registry import get_solver, require\n"
        "from marginopt.errors import LicenceError\n"
        "licence = get_solver('gurobi').licence()\n"
        "print(licence.state.name, licence.detail)\n"
        "try:\n    require(get_solver('gurobi'))\nexcept LicenceError as error:\n    print(error)\n"
    )
    lines = run_python(code, {"GRB_LICENSE_FILE": str(path)}).splitlines()
    assert lines[0] == words


def test_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "gurobipy", None)
    with pytest.raises(MissingPackageError, check=missing("gurobipy")):
        require(get_solver("gurobi"))
    with pytest.raises(MissingPackageError, check=missing("gurobipy")):
        to_gurobi(HingeSVM(X11, Y11).form)


def test_nothing_is_printed(capfd):
    solve_problem(ZeroOneSVM(X11, Y11), "gurobi", Options())
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_gives_the_incumbent(tmp_path):
    assert interrupted("gurobi", tmp_path) == "INTERRUPTED True True True"


def run_python(code: str, environment: dict[str, str]) -> str:
    command, whole = [sys.executable, "-W", "error", "-c", code], {**os.environ, **environment}
    done = subprocess.run(command, env=whole, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_environment_of_the_user_s_is_used_and_stays_open() -> None:
    import gurobipy

    with gurobipy.Env(params={"OutputFlag": 0, "FeasibilityTol": 1e-8}) as env:
        model = HingeSVM(X11, Y11)
        first, second = (solve_problem(model, "gurobi", Options(native={"env": env})) for _ in range(2))
        assert first.objective == second.objective == pytest.approx(solve_problem(model, "gurobi", Options()).objective, rel=1e-7)
        assert first.licence == LicenceState.FULL.value
        gurobipy.Model(env=env).dispose()  # it was not closed
    with pytest.raises(InputError, check=about("env")):
        solve_problem(model, "gurobi", Options(native={"env": "cloud"}))


def test_the_licence_of_an_environment_is_left_to_gurobi() -> None:
    """A form beyond the limits of the pip licence: Gurobi's own refusal is a LicenceError."""
    import gurobipy

    form = form_of(np.ones(2001), lower=np.zeros(2001), upper=np.ones(2001))
    if get_solver("gurobi").licence().state is not LicenceState.RESTRICTED:
        pytest.skip("the licence has no limit")
    with gurobipy.Env(params={"OutputFlag": 0}) as env, pytest.raises(LicenceError):
        solve_problem(form, "gurobi", Options(native={"env": env}))


def test_a_pool_is_judged_point_by_point() -> None:
    """All subsets of a knapsack of 6 within a gap: distinct, feasible, recomputed, best first; without the option none."""
    form = knapsack(6)
    result = solve_problem(form, "gurobi", Options(native={"PoolSearchMode": 2, "PoolSolutions": 5, "PoolGap": 10.0}))
    assert len(result.pool) == 5 and result.status is Status.OPTIMAL
    values = [tuple(np.round(point.values["x"])) for point in result.pool]
    assert len(set(values)) == 5
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * 6)).reshape(6, -1).T
    feasible = sorted(float(form.q @ x) for x in corners if (form.constraints[0].value(x) >= 0).all())
    assert [point.objective for point in result.pool] == pytest.approx(feasible[:5])
    assert all(point.certificate.feasible(1e-9) for point in result.pool)
    assert solve_problem(form, "gurobi", Options()).pool == ()


def linear_program(n: int = 30) -> StandardForm:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, n))
    return form_of(rng.random(n), [("rows", A, -A @ rng.random(n) + 0.1, Nonnegative(20))], np.zeros(n), np.full(n, 5.0))


def test_primal_and_dual_starts_of_a_linear_program_save_iterations() -> None:
    form = linear_program()
    cold = solve_problem(form, "gurobi", Options(native={"Method": 1, "Presolve": 0}))
    assert cold.multipliers is not None and cold.iterations
    warm = Options(start=cold.values, native={"Method": 1, "Presolve": 0, "dual_start": cold.multipliers})
    again = solve_problem(form, "gurobi", warm)
    assert again.objective == pytest.approx(cold.objective) and (again.iterations or 0) < cold.iterations
    assert "start" not in again.details


@pytest.mark.parametrize("bad", [{"rows": np.zeros(3)}, {"columns": np.zeros(20)}, 3.0])
def test_dual_starts_that_do_not_fit_are_refused(bad: object) -> None:
    with pytest.raises(InputError, check=about("dual_start")):
        solve_problem(linear_program(), "gurobi", Options(native={"dual_start": bad}))
    with pytest.raises(InputError, check=about("dual_start")):
        solve_problem(L2SVMDual(X11, Y11), "gurobi", Options(native={"dual_start": {"sum": np.zeros(1)}}))


@pytest.mark.parametrize("name", ["hints", "priorities"])
def test_hints_and_priorities_change_no_optimum(name: str) -> None:
    form = knapsack(12)
    best = solve_problem(form, "gurobi", Options())
    numbers = best.values["x"] if name == "hints" else np.arange(12)
    for value in (numbers, 1):
        assert solve_problem(form, "gurobi", Options(native={name: {"x": value}})).objective == best.objective
    for bad in ({"x": np.zeros(3)}, {"y": 1}, 2.0):
        with pytest.raises(InputError, check=about(name)):
            solve_problem(form, "gurobi", Options(native={name: bad}))
