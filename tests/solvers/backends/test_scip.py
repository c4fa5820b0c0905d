"""SCIP: known optima, cones as quadratic constraints, limits, statuses, starts, interruption."""

from __future__ import annotations

import os

import numpy as np
import pytest
from effort import trials
from facts import about
from interrupts import interrupted
from programs import KNOWN, WITHOUT_OPTIMUM, X11, Y11, form_of, hard_zero_one, knapsack

import marginopt as mo
from marginopt.errors import ExportError, InputError
from marginopt.models import (
    RBF,
    Block,
    ConicSVM,
    HingeSVM,
    L2SVMDual,
    Nonnegative,
    RotatedSecondOrder,
    SecondOrder,
    Zero,
    ZeroOneSVM,
)
from marginopt.models.formulations import all_formulations
from marginopt.models.program.bridges import EpigraphBridge
from marginopt.solvers.backends.scip import Scip, extend_point, to_scip
from marginopt.solvers.records import Options, Status
from marginopt.solvers.solve import solve_problem


@pytest.mark.parametrize(("model", "optimum"), KNOWN.values(), ids=KNOWN)
def test_known_optima(model, optimum):
    result = solve_problem(model, "scip", Options())
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(optimum, rel=1e-8)
    # SCIP gives no multipliers: those of the convex problem are found from its point
    kind = "proved" if isinstance(model, HingeSVM) else "claimed by solver"
    assert result.bound == pytest.approx(optimum, rel=2e-6) and result.bound_kind == kind
    assert (result.multipliers is None) == (kind != "proved")
    assert result.details["bridges"] == ["EpigraphBridge"]


def test_dense_quadratic_objective():
    model = L2SVMDual(X11, Y11, 4.0, RBF(0.5))
    ours, peer = solve_problem(model, "scip", Options()), solve_problem(model, "clarabel", Options())
    assert ours.status is Status.OPTIMAL
    assert ours.objective == pytest.approx(peer.objective, rel=1e-6)
    assert ours.gap <= 1e-6 and ours.bound_kind == "proved"  # from the point alone


@pytest.mark.parametrize("name", ["meb", "box"])
def test_an_equation_does_not_hide_that_the_objective_is_convex(name):
    # with aggregated variables SCIP branched 365 and 29 times, to points 1e-3 and 3e-3 off
    model = all_formulations()[name].example(np.random.default_rng(0))
    result = solve_problem(model, "scip", Options())
    assert result.status is Status.OPTIMAL and result.bound_kind == "proved" and result.nodes <= 1


@pytest.mark.parametrize("seed", range(trials(2, 4)))
def test_cones_as_quadratic_constraints(seed):
    rng = np.random.default_rng(seed)
    n = 5
    constraints = [
        ("ball", np.vstack([np.zeros(n), np.eye(n) + 0.3 * rng.normal(size=(n, n))]), np.r_[2.0, [0] * n], SecondOrder(n + 1)),
        ("stack", rng.normal(size=(6, n)), np.tile([2.0, 3.0, 0.3], 2), RotatedSecondOrder(3, 2)),
        ("rows", rng.normal(size=(2, n)), np.ones(2), Nonnegative(2)),
        ("equal", rng.normal(size=(1, n)), np.zeros(1), Zero(1)),
    ]
    form = form_of(rng.normal(size=n), constraints, np.full(n, -5.0), np.full(n, 5.0), r=0.7)
    ours, peer = solve_problem(form, "scip", Options()), solve_problem(form, "clarabel", Options())
    assert ours.status is Status.OPTIMAL and peer.status is Status.OPTIMAL
    assert ours.objective == pytest.approx(peer.objective, rel=1e-6, abs=1e-7)
    assert ours.certificate.primal_residual <= 1e-8


def test_mixed_integer_cone():
    """min t, ||(x - 0.4, y + 1.3)|| ≤ t, x and y integer: (0, -1), √(0.16 + 0.09) = 0.5."""
    rows = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    form = form_of([0, 0, 1], [("norm", rows, [0, -0.4, 1.3], SecondOrder(3))], [-5, -5, 0], [5, 5, np.inf], integer=[1, 1, 0])
    result = solve_problem(form, "scip", Options())
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(0.5, abs=1e-7)
    np.testing.assert_allclose(result.values["x"][:2], [0, -1])


def test_labels_become_names():
    native = to_scip(ZeroOneSVM(X11, Y11).form)
    assert [v.name for v in native.data][:4] == ["w[0]", "w[1]", "w[2]", "z[0]"]
    assert [v.name for v in native.data][14] == "epigraph"
    assert [c.name for c in native.getConss()][:2] == ["margin[0]", "margin[1]"]
    assert native.getConss()[-1].name == "quadratic"
    assert [v.vtype() for v in native.data][:4] == ["CONTINUOUS"] * 3 + ["BINARY"]


def test_extended_point_is_feasible_for_scip():
    model = ZeroOneSVM(X11, Y11)
    form = EpigraphBridge(model.form).target
    native = to_scip(form)
    point = model.form.join(model.point(np.array([0.1, 0.2, -0.3])))
    extended = extend_point(form, np.append(point, point[:3] @ point[:3]))
    solution = native.createSol()
    for variable, value in zip(native.data, extended, strict=True):
        native.setSolVal(solution, variable, float(value))
    assert native.checkSol(solution)


def test_semidefinite_cones_are_refused():
    model = ConicSVM(X11, Y11, lam=1.0)
    with pytest.raises(ExportError, check=about("SCIP")):
        to_scip(model.form)
    with pytest.raises(InputError, check=about("scip")):
        solve_problem(model, "scip", Options())


@pytest.mark.parametrize(("form", "status"), WITHOUT_OPTIMUM)
def test_infeasible_and_unbounded(form, status, capfd):
    result = solve_problem(form, "scip", Options())
    assert result.status is status
    assert not result.values
    assert capfd.readouterr() == ("", "")


def test_time_limit_gives_incumbent_and_bound():
    result = solve_problem(hard_zero_one(60, 6), "scip", Options(time_limit=2.0))
    assert result.status is Status.TIME_LIMIT
    assert result.certificate.feasible(1e-9)
    assert 0 < result.details["root_bound"] <= result.bound < result.objective
    assert result.nodes > 0 and len(result.trace) > 2
    assert (np.diff(result.trace.column("seconds")) >= 0).all()
    bounds = result.trace.column("bound")
    assert (np.diff(bounds[np.isfinite(bounds)]) >= -1e-6).all()


def test_node_and_gap_limits():
    limited = solve_problem(hard_zero_one(60, 6), "scip", Options(node_limit=3))
    assert limited.status is Status.NODE_LIMIT
    loose = solve_problem(ZeroOneSVM(X11, Y11, lam=5.0), "scip", Options(tol=0.5))
    assert loose.status is Status.OPTIMAL and loose.gap <= 0.5


def test_callback_stops_and_its_error_is_raised():
    seen = []
    enough = Options(time_limit=30, callback=lambda row: seen.append(row) or len(seen) >= 4)
    stopped = solve_problem(hard_zero_one(60, 6), "scip", enough)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.solve_seconds < 20

    def callback(row):
        raise KeyError("mine")

    with pytest.raises(KeyError, check=lambda error: error.args == ("mine",)):
        solve_problem(ZeroOneSVM(X11, Y11, lam=5.0), "scip", Options(callback=callback))


def test_start_is_taken():
    model = hard_zero_one(60, 6)
    best = solve_problem(model, "scip", Options(time_limit=2.0))
    rows = []
    native = {"limits/solutions": 1, "heuristics/trivial/freq": -1}
    again = solve_problem(model, "scip", Options(start=best.values, native=native, callback=rows.append))
    assert again.status is Status.INTERRUPTED and again.details["start_stored"]
    assert again.objective <= best.objective + 1e-6
    form = form_of([1, 1], [("c", [[2, 3]], [-7], Nonnegative(1))], [0, 0], [9, 9], integer=[1, 1])
    form = form.replace(blocks=(Block("a", ()), Block("b", ())))
    partial = solve_problem(form, "scip", Options(start={"a": np.array(2.0)}))
    assert partial.status is Status.OPTIMAL and partial.objective == pytest.approx(3.0)
    with pytest.raises(InputError, check=about("v")):
        solve_problem(form, "scip", Options(start={"v": np.zeros(3)}))


def test_wrong_options():
    model = HingeSVM(X11, Y11)
    with pytest.raises(InputError, check=about("limits/gab")):
        solve_problem(model, "scip", Options(native={"limits/gab": 0.1}))
    with pytest.raises(InputError, check=about("limits/time")):
        solve_problem(model, "scip", Options(native={"limits/time": "soon"}))


@pytest.mark.parametrize("options", [{}, {"separating/aggregation/freq": 10, "heuristics/mpec/freq": 50}])
def test_a_users_settings_go_before_ours(options):
    form, scip = EpigraphBridge(ZeroOneSVM(X11, Y11).form).target, Scip()
    model = to_scip(form)
    scip._set_parameters(model, form, Options(native=options))
    assert model.getParam("separating/aggregation/freq") == options.get("separating/aggregation/freq", -1)
    assert model.getParam("heuristics/mpec/freq") == options.get("heuristics/mpec/freq", -1)


def test_nothing_is_printed(capfd):
    solve_problem(ZeroOneSVM(X11, Y11), "scip", Options())
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_gives_the_incumbent(tmp_path):
    assert interrupted("scip", tmp_path) == "INTERRUPTED True True True"


def test_a_pool_is_judged_point_by_point_and_priorities_change_no_optimum() -> None:
    form = knapsack(12)
    result = solve_problem(form, "scip", Options(native={"limits/maxsol": 5}))
    assert 1 <= len(result.pool) <= 5 and result.status is Status.OPTIMAL
    objectives = [point.objective for point in result.pool]
    assert objectives == sorted(objectives) and objectives[0] == pytest.approx(result.objective)
    for point in result.pool:
        assert point.objective == pytest.approx(form.objective(form.join(point.values)))
        assert point.certificate.integrality is not None
    first = solve_problem(form, "scip", Options(native={"priorities": {"x": np.arange(12)}}))
    assert first.objective == pytest.approx(result.objective) and first.pool == ()
    with pytest.raises(InputError, check=about("priorities")):
        solve_problem(form, "scip", Options(native={"priorities": {"z": 1}}))


def test_a_start_of_the_coefficients_alone_is_completed_behind_a_bridge(recwarn: pytest.WarningsRecorder) -> None:
    """The form that SCIP reads has the epigraph of ||w||² as one more variable, and its binaries have no value either."""
    data = mo.instances.gaussian_clusters(24, 2, 0.7, seed=3)
    model = mo.ZeroOneSVM(data, lam=1.0)
    best = mo.solve(model, "zero-one-bb")
    started = mo.solve(model, "scip", node_limit=1, start={"w": best.values["w"]})
    assert started.objective is not None and best.objective is not None
    assert started.objective <= best.objective * (1.0 + 1e-6)
    assert mo.solve(model, "scip", node_limit=1).objective > started.objective  # type: ignore[operator]
    assert not [w for w in recwarn if isinstance(w.message, mo.errors.MarginoptWarning)]
