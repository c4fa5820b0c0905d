"""λ between its two trivial ends, points held out, and replicates: beside exact solves, recounted errors and other draws."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data import Points, clouds
from facts import about

import marginopt as mo
from marginopt.errors import InputError
from marginopt.relaxations import BigM, Conic, Continuous, GapReport, gap_report
from marginopt.relaxations.report.lam_choice import _ends, _Line
from marginopt.relaxations.report.problems import ReportInstance

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


def report(problems: Any, **asked: Any) -> GapReport:
    return gap_report(problems, **{"relaxations": [Conic()], "exact": None, "progress": False, "time_limit": 60.0, **asked})


def binary(seed: int) -> Points:
    """A constant column, two columns of heavy tails on an offset, and a column of 0 and 1; each point twice."""
    rng = np.random.default_rng(seed)
    n = 12
    X = np.column_stack([np.ones(n), 3.0 + rng.standard_t(3, size=(n, 2)), rng.random(n) < 0.5])
    y = np.where(X[:, 1] - 3.0 + X[:, 3] - 0.5 + 0.6 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return Points(np.repeat(X, 2, axis=0), np.repeat(y, 2), name=f"binary {seed}")


@pytest.mark.parametrize("data", [Points(*clouds(2, 14)), binary(0), binary(5)])
def test_the_ends_are_those_of_exact_solves(data: Points) -> None:
    (cell,) = report([data], lam="auto").instances
    assert cell.lam is not None and cell.lam_low is not None and cell.lam_high is not None
    assert cell.lam_low < cell.lam and (cell.lam < cell.lam_high or cell.lam == pytest.approx(2.0 * cell.lam_high, rel=1e-2))

    def exact(lam: float) -> tuple[float, int]:
        result = mo.solve(mo.ZeroOneSVM(data.X, data.y, lam=lam), "zero-one-bb")
        assert result.solved
        return result.objective, int(result.summary["margin_violations"])

    def alone(lam: float) -> float:
        return min(lam * len(data.y), 1.0 + lam * min((data.y > 0).sum(), (data.y < 0).sum()))

    assert exact(1.01 * cell.lam_low)[0] < alone(1.01 * cell.lam_low)
    assert exact(0.9 * cell.lam_low)[0] == pytest.approx(alone(0.9 * cell.lam_low), rel=1e-5)
    assert exact(1.01 * cell.lam_high)[1] == exact(100.0 * cell.lam_high)[1] < exact(0.9 * cell.lam_high)[1]


def test_a_problem_that_no_classifier_helps_keeps_one_and_has_no_ends() -> None:
    X = np.ones((8, 2))
    (cell,) = report([Points(X, np.repeat([1.0, -1.0], 4))], lam="auto").instances
    assert (cell.lam, cell.lam_low, cell.lam_high) == (1.0, None, None)


@pytest.mark.parametrize("cost", [0.0, 2.0])
def test_of_lines_of_one_cost_the_least_norm_counts(cost: float) -> None:
    lines = [_Line(0.0, 6.0, True), _Line(5.0, cost, False), _Line(3.0, cost, False), _Line(3.0, cost, False)]
    end = 3.0 / (6.0 - cost)
    assert _ends(lines) == pytest.approx((end, end)) == _ends(lines[::-1])


def test_functions_of_lam_are_stated_at_every_one_and_at_the_chosen_one(tmp_path: Path) -> None:
    data = binary(1)
    group = (data.X[:, 3] - data.X[:, 3].mean()) @ data.X / len(data.y)

    def fair(lam: float) -> mo.Model:
        return mo.ZeroOneSVM(data.X, data.y, lam=lam).with_constraint(lambda v: [group @ v.w <= 0.01])

    gaps = report({"fair": fair}, relaxations=[Continuous()], lam=[0.5, 2.0])
    assert [c.instance for c in gaps.instances] == ["fair[lam=0.5]", "fair[lam=2]"]
    store = tmp_path / "cells.db"
    chosen = report({"fair": fair}, relaxations=[Continuous()], lam="auto", store=store)
    again = report({"fair": fair}, relaxations=[Continuous()], lam="auto", store=store)
    (cell,) = chosen.instances
    assert chosen.checksum == again.checksum
    assert cell.lam_low is not None and cell.parameters["lam"] > cell.lam_low
    assert GapReport.from_json(chosen.write(tmp_path / "report.json")[0]).checksum == chosen.checksum


def test_held_out_points_are_disjoint_seeded_and_fit_nothing() -> None:
    data = Points(*clouds(4, 30))
    part, test = ReportInstance.training_part(data, 0.3, 7)
    rows = np.vstack([part.X, test.X])
    assert test.X.shape[0] == 9 and sorted(map(tuple, rows)) == sorted(map(tuple, data.X))
    assert np.array_equal(ReportInstance.training_part(data, 0.3, 7)[1].X, test.X) and not np.array_equal(
        ReportInstance.training_part(data, 0.3, 8)[1].X, test.X
    )
    first = report([data], held_out=0.3, seed=7, exact="zero-one-bb")
    flipped = data.y.copy()
    flipped[[int(np.flatnonzero((x == data.X).all(axis=1))[0]) for x in test.X]] *= -1.0
    named = {data.name: mo.instances.Instance(test.X, test.y, name="test")}
    again = report([Points(part.X, part.y)], held_out=named, exact="zero-one-bb", seed=7)
    assert [c.bound for c in first.relaxations] == [c.bound for c in again.relaxations]
    assert [c.test_error for c in first.exacts] == [c.test_error for c in again.exacts]
    (exact,) = first.exacts
    w = mo.solve(mo.ZeroOneSVM(part.X, part.y, lam=1.0), "zero-one-bb").values["w"]
    assert exact.test_error == pytest.approx(np.mean(np.where(test.X @ w >= 0, 1.0, -1.0) != test.y))
    wrong = {data.name: mo.instances.Instance(test.X, -test.y, name="test")}
    other = report([Points(part.X, part.y)], held_out=wrong, exact="zero-one-bb", seed=7)
    assert exact.test_error is not None and other.exacts[0].test_error == pytest.approx(1.0 - exact.test_error)
    assert [c.bound for c in other.relaxations] == [c.bound for c in again.relaxations]


def test_models_have_points_held_out_by_name_and_replicates_have_means() -> None:
    draws = [clouds(k, 16) for k in range(3)]
    X, y = clouds(9, 40)
    models = [mo.Margin(X, y, "ramp", sample_weight=0.7) for X, y in draws]
    result = report({"ramp": models}, relaxations=["continuous"], exact="auto")
    assert [c.instance for c in result.instances] == ["ramp[1]", "ramp[2]", "ramp[3]"]
    assert {c.family for c in result.instances} == {"ramp"}
    (mean,) = next(t for t in result.document.tables if t.name == "relaxation-means").rows
    gaps = [r.gap.high for r in result.rows if r.instance.key not in result.trivial and r.gap is not None]
    assert mean.instances == len(gaps) and mean.gap == pytest.approx(np.mean(gaps))
    tested = report({"one": models[0]}, relaxations=["continuous"], held_out={"one": mo.instances.Instance(X, y, name="forty")})
    assert tested.instances[0].held_out == "40 points, forty"
    assert tested.relaxations[0].test_error is not None and 0.0 <= tested.relaxations[0].test_error <= 1.0
    assert all(cell.test_error is None for cell in result.relaxations)


def test_a_model_whose_best_point_has_no_feature_is_trivial() -> None:
    X, y = clouds(0, 12)
    models = {name: mo.Margin(X, y, "zero-one", sample_weight=cost) for name, cost in (("weak", 1e-3), ("strong", 10.0))}
    assert {name for name, _ in report(models, relaxations=["continuous"], exact="auto").trivial} == {"weak"}


POINTS = Points(*clouds(1, 12))


def regression(data: Points) -> dict[str, Any]:
    return {"svr": mo.EpsilonSVR(data.X, data.X[:, 1])}


@pytest.mark.parametrize(
    ("problems", "asked", "name"),
    [
        (lambda d: [d], {"lam": "best"}, "lam"),
        (lambda d: [d], {"held_out": 1.5}, "held_out"),
        (lambda d: [d], {"held_out": {"other": POINTS}}, "held_out"),
        (lambda d: {"m": mo.HingeSVM(d.X, d.y)}, {"held_out": 0.3}, "held_out"),
        (
            lambda d: {"m": mo.HingeSVM(d.X, d.y)},
            {"held_out": {"m": Points(POINTS.X[:, :2], POINTS.y)}},
            "held_out",
        ),
        (regression, {"held_out": {"svr": POINTS}}, "held_out"),
        (lambda d: {"m": mo.HingeSVM(d.X, d.y)}, {"lam": "auto"}, "lam"),
        (lambda d: {"m": mo.HingeSVM(d.X, d.y)}, {"lam": [2.0]}, "lam"),
        (lambda d: {"m": lambda lam: mo.HingeSVM(d.X, d.y, lam)}, {"lam": "auto", "kappa": 0.1}, "kappa"),
        (lambda d: {"m": mo.HingeSVM(d.X, d.y)}, {"encodings": "indicator"}, "encodings"),
        (lambda d: {"m": mo.HingeSVM(d.X, d.y)}, {"big_m": "zero"}, "big_m"),
        (lambda d: {"m": []}, {}, "problems"),
        (lambda d: [lambda lam: mo.HingeSVM(d.X, d.y)], {}, "problems"),
    ],
)
def test_what_is_refused_before_anything_is_solved(problems: Callable[[Points], Any], asked: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        report(problems(POINTS), relaxations=[BigM("zero")], **asked)
