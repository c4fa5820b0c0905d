"""A gap report of models as they are stated: from parts, changed, from elsewhere; beside enumeration and solvers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from data import clouds
from facts import about

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models.model import Model
from marginopt.models.program.form import StandardForm
from marginopt.relaxations import AllHulls, Continuous, GapReport, Products, gap_report, model_gaps
from marginopt.relaxations.report.report_data import Interval, gap
from marginopt.solvers import Options

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


def points(n: int = 8) -> tuple[np.ndarray, np.ndarray]:
    return clouds(3, n, 2, 0.5, order="halves", first=-1.0)


def knapsack() -> StandardForm:
    """max 5a + 4b + 3c, 2a + 3b + c ≤ 5, 4a + b + 2c ≤ 11, 3a + 4b + 2c ≤ 8 over 0-1: 9, by all eight choices."""
    x = cp.Variable(3, boolean=True, name="x")
    rows = np.array([[2.0, 3, 1], [4, 1, 2], [3, 4, 2]])
    return mo.from_cvxpy(cp.Problem(cp.Maximize([5, 4, 3] @ x), [rows @ x <= [5, 11, 8]]))


def by_choices(X: np.ndarray, y: np.ndarray, lam: float) -> float:
    """min ||w||² + λ·violated, w_1 ≥ 0.3 and ||w||_1 ≤ 2: a convex problem for every set of points to keep.

    Sets whose violated points alone cost as much as the best one come last, and are not solved.
    """
    best = np.inf
    for keep in sorted(itertools.product([False, True], repeat=y.size), key=sum, reverse=True):
        if lam * (y.size - sum(keep)) >= best:
            break
        w = cp.Variable(X.shape[1])
        rows = [w[1] >= 0.3, cp.norm1(w) <= 2, *(y[i] * X[i] @ w >= 1 for i in np.flatnonzero(keep))]
        problem = cp.Problem(cp.Minimize(cp.sum_squares(w)), rows)
        problem.solve(solver="CLARABEL")
        if problem.status == "optimal":
            best = min(best, problem.value + lam * (y.size - sum(keep)))
    return best


@pytest.fixture(scope="module")
def models() -> Mapping[str, Model | StandardForm]:
    X, y = points()
    fair = mo.ZeroOneSVM(X, y, 0.6).with_constraint(lambda v: [v.w[1] >= 0.3, cp.norm1(v.w) <= 2])
    return {"ramp": mo.Margin(X, y, "ramp", sample_weight=0.7), "fair": fair, "knapsack": knapsack(), "hinge": mo.HingeSVM(X, y)}


ASKED = [Continuous(), Products(False), AllHulls()]


@pytest.fixture(scope="module")
def report(models: Mapping[str, Model | StandardForm], tmp_path_factory: pytest.TempPathFactory) -> GapReport:
    store = tmp_path_factory.mktemp("stated") / "cells.db"
    return gap_report(models, ASKED, ["auto", "scip"], time_limit=60, progress=False, store=store)


def test_every_model_has_every_relaxation_and_solver(report: GapReport, models: Mapping[str, Model | StandardForm]) -> None:
    assert [c.instance for c in report.instances] == list(models)
    assert all(c.lam is None for c in report.instances)
    assert len(report.rows) == len(models) * len(ASKED)
    refused = {(r.instance.instance, r.relaxation.relaxation) for r in report.rows if r.relaxation.reason}
    assert refused == {("knapsack", "hulls, SDP"), *(("hinge", r.name) for r in ASKED)}
    assert all(r.gap is not None or r.relaxation.reason for r in report.rows)
    assert report.contradictions == ()


def test_optima_are_those_of_enumeration(report: GapReport) -> None:
    X, y = points()
    assert report.best["fair", None].high == pytest.approx(by_choices(X, y, 0.6), rel=1e-5)
    assert report.best["knapsack", None] == Interval(-9.0, -9.0)  # what the form minimises
    for name in ("ramp", "fair", "knapsack"):
        zeta = report.best[name, None]
        assert zeta.exact
        for row in (r for r in report.rows if r.instance.instance == name and r.relaxation.bound is not None):
            assert row.relaxation.bound <= zeta.high + 1e-6 * abs(zeta.high)
            assert row.gap.high >= -1e-6
            if row.relaxation.recovered is not None:
                assert row.relaxation.recovered >= zeta.high - 1e-6 * abs(zeta.high)


def test_every_recovered_point_is_found(report: GapReport) -> None:
    values = {(r.instance.instance, r.relaxation.relaxation): r.relaxation.recovered for r in report.rows}
    assert all(values[name, "continuous"] is not None for name in ("ramp", "fair", "knapsack"))
    assert values["fair", "hulls, SDP"] is not None


def test_it_is_stored_continued_and_written(
    report: GapReport, models: Mapping[str, Model | StandardForm], tmp_path: Path
) -> None:
    store = tmp_path / "cells.db"
    values = {name: model for name, model in models.items() if name != "fair"}  # one statement of the same, two objects
    first = gap_report(values, ASKED, "scip", time_limit=60, progress=False, store=store)
    again = gap_report({**values, "knapsack": knapsack()}, ASKED, "scip", time_limit=60, progress=False, store=store)
    assert first.checksum == again.checksum  # times included: nothing was solved again
    read = GapReport.from_json(report.write(tmp_path / "report.json")[0])
    assert read.checksum == report.checksum
    for path in report.write_all(tmp_path):
        assert path.stat().st_size > 0
    page = report.html()
    assert "<title>Relaxation gaps</title>" in page
    assert "λ = None" not in page
    assert "knapsack" in page


def test_a_model_beside_an_instance() -> None:
    X, y = points()
    data = mo.instances.Instance(X, y, name="eight")
    model = mo.ZeroOneSVM(X, y, 1.0)
    both = gap_report([data, model], [Continuous()], "scip", time_limit=60, progress=False)
    assert [c.lam for c in both.instances] == [1.0, None]
    assert both.best["eight", 1.0].high == pytest.approx(both.best[model.name, None].high, rel=1e-6)
    assert "λ = 1" in both.html()


def test_the_constants_of_a_model_follow_from_the_classifier_that_is_known() -> None:
    X, y = points()
    model, kinds = mo.ZeroOneSVM(X, y, 0.7), ["big-m-incumbent", "hinge-incumbent", "combined"]
    stated = gap_report({"stated": model}, kinds, None, time_limit=60, progress=False)
    data = mo.instances.Instance(X, y, name="stated")
    beside = gap_report([data], kinds, None, lam=0.7, time_limit=60, progress=False)
    for one, other in zip(stated.rows, beside.rows, strict=True):
        assert one.relaxation.reason == other.relaxation.reason == ""
        assert one.relaxation.bound == pytest.approx(other.relaxation.bound, rel=1e-5)


def test_the_table_of_one_model_is_its_report() -> None:
    X, y = points()
    table = model_gaps(mo.RampSVM(X, y, 0.7), ["continuous", "products"], None, Options(time_limit=60))
    assert isinstance(table, GapReport)
    assert [r.relaxation.reason for r in table.rows] == ["", ""]
    zeta = table.best["RampSVM", None]
    assert zeta.low < zeta.high  # certified: nobody was asked for the optimum


@pytest.mark.parametrize(
    ("problems", "name"),
    [
        ([3], "problems"),
        (["hinge", "hinge"], "instances"),
    ],
)
def test_what_a_report_does_not_take(problems: list[object], name: str) -> None:
    X, y = points()
    made = [mo.HingeSVM(X, y) if problem == "hinge" else problem for problem in problems]
    with pytest.raises(InputError, check=about(name)):
        gap_report(made, progress=False)


def test_a_loss_without_a_formula_has_a_report() -> None:
    """The strongest conic loss at a classifier is a program of its own: no heuristic tries points, the exact solvers solve it."""
    X, y = points()
    report = gap_report({"conic": mo.ConicSVM(X, y, 1.0)}, exact=["clarabel"], progress=False)
    (cell,) = report.exacts
    assert cell.proven and cell.incumbent == pytest.approx(cell.bound, rel=1e-6)


@pytest.mark.parametrize(
    ("bound", "zeta", "expected"),
    [
        (-12.0, Interval(-9.0, -9.0), Interval(1 / 3, 1 / 3)),
        (-12.0, Interval(-10.0, -8.0), Interval(0.2, 0.5)),
        (-1.0, Interval(1.0, 2.0), Interval(1.5, 2.0)),
        (-1.0, Interval(-1.0, 2.0), None),
        (2.0, Interval(-np.inf, np.inf), None),
        (0.0, Interval(0.0, 0.0), None),
    ],
)
def test_gaps_of_any_sign(bound: float, zeta: Interval, expected: Interval | None) -> None:
    result = gap(bound, zeta)
    assert (result is None) == (expected is None)
    if result is not None and expected is not None:
        assert (result.low, result.high) == pytest.approx((expected.low, expected.high))
