"""One small cell of each table of the max-min paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_digits
from sklearn.svm import SVC

from marginopt.reproduction import inputs
from marginopt.reproduction.comparison import compare_cell
from marginopt.reproduction.max_min.protocol import ACCURACY, SETS, accuracy_runs, hinge_scores, split_parts
from marginopt.reproduction.max_min.tables import AT_GIVEN_GAMMA, PRINTED, SIZES, _measured
from marginopt.reproduction.record import EFFORTS, Run, paper_figures, paper_tables, protocol_size

ONE = protocol_size("quick", 1)


def test_the_rivals_classifier_is_libsvm_s() -> None:
    X, X_test, y, _ = split_parts("wdbc", 0)
    gamma = 0.03
    K, K_test = (np.exp(-gamma * ((Z[:, None] - X[None]) ** 2).sum(axis=2)) for Z in (X, X_test))
    scores, ended = hinge_scores(K, y, 2.0, K_test)
    assert ended
    assert scores == pytest.approx(SVC(C=2.0, gamma=gamma).fit(X, y).decision_function(X_test), abs=1e-3)


def test_features_are_standardised_before_the_split_as_printed() -> None:
    X, X_test, _, _ = split_parts("wdbc", 0)
    assert np.vstack([X, X_test]).mean(axis=0) == pytest.approx(0.0, abs=1e-9)


def test_tables_3_to_6_and_the_figures_from_one_split() -> None:
    """The runs of the quick row; Parkinsons' own table needs a file."""
    methods = ("Fisher-SVC", "LD-SVC", "MaxMin-SVC")
    results = {run: ACCURACY.measure(run.parameters) for m in methods for run in accuracy_runs(ONE, "BRE", m)}
    cells = {c.paper_cell.labels: c for e in paper_tables()["max-min-table-3"].cells(ONE) if (c := compare_cell(e, results, {}))}
    for method in methods:
        value = cells["BRE", method].value
        assert value is not None
        assert 85.0 < value.mean <= 100.0
    counts = {e.labels[0]: compare_cell(e, results, {}).value for e in paper_tables()["max-min-table-4"].cells(ONE)}
    assert counts["Fisher-SVC"] is not None
    assert counts["Fisher-SVC"].mean == 11
    assert counts["Bat-SVC"] is None
    slopes = next(r["slopes"] for r in results.values() if "slopes" in r)
    assert slopes[-1] <= 1e-3 < slopes[0]
    for name in ("max-min-figure-1", "max-min-figure-2"):
        picture = paper_figures()[name].draw(results)
        assert picture is not None
        assert "BRE" in picture.svg


def test_a_set_that_nobody_has_from_a_file_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Phishing: two of the digits under its name."""
    X, y = load_digits(n_class=2, return_X_y=True)
    dump_svmlight_file(X[:150], y[:150], str(tmp_path / "phishing.libsvm"))
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    inputs._read.cache_clear()
    measurement = ACCURACY.measure({"dataset": SETS["PHI"], "method": "MaxMin-SVC", "seed": 0})
    assert measurement["accuracy"] > 0.9
    assert SIZES.measure({"dataset": SETS["PHI"]})["instances"] == 150
    inputs._read.cache_clear()


def test_the_binomial_test_is_that_of_at_least_so_many() -> None:
    """5 of 10 is 0.033; the printed 0.0064 is P(X > 5)."""
    printed = PRINTED.measure({})
    assert (printed["wins"], round(printed["p"], 4), round(printed["beyond"], 4)) == (5, 0.0328, 0.0064)
    names = list(SETS.values())
    records = [
        (Run.of(ACCURACY, dataset=name, method=method, seed=0), {"accuracy": 0.9 if (method == "MaxMin-SVC") == (k < 5) else 0.8})
        for k, name in enumerate(names)
        for method in ("Bat-SVC", "CV-SVC", "Fisher-SVC", "LD-SVC", "MaxMin-SVC")
    ]
    wins, p = _measured("wins", records), _measured("p", records)
    assert wins is not None
    assert p is not None
    assert (wins.mean, wins.repetitions) == (5.0, 10)
    assert p.mean == pytest.approx(printed["p"])


def test_table_5_at_the_ends_of_the_range() -> None:
    """γ = 8 and γ = 2^-15 with C = 1 predict the majority; from 2^-15 the printed rate overshoots to the first of these."""
    majority = pytest.approx(72 / 114)
    measurement = AT_GIVEN_GAMMA.measure({"dataset": "wdbc", "gamma": 8.0, "seed": 0})
    assert measurement["by hinge"] == majority
    assert measurement["by max-min"] == majority
    start = AT_GIVEN_GAMMA.measure({"dataset": "wdbc", "gamma": 2.0**-15, "seed": 0})
    assert start["started there, printed rate"] == majority
    assert start["started there, printed rate, γ"] == 8.0
    assert 0.0 < start["started there, γ"] < 1.0
    assert start["started there"] > 0.9


def test_table_6_takes_the_runs_of_table_3() -> None:
    every = set(paper_tables()["max-min-table-3"].runs(EFFORTS["reduced"]))
    assert set(paper_tables()["max-min-table-6"].runs(EFFORTS["reduced"])) <= every
