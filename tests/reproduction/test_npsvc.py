"""One small cell of each table of NPSVC++, and a set that nobody has from a stand-in in MARGINOPT_DATA."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from facts import about
from sklearn.datasets import dump_svmlight_file, load_digits

from marginopt.errors import DataError
from marginopt.instances import Instance
from marginopt.reproduction import inputs
from marginopt.reproduction.npsvc import deep as deep_networks
from marginopt.reproduction.npsvc.deep import DEEP
from marginopt.reproduction.npsvc.figures import EVOLUTION, SWEEP
from marginopt.reproduction.npsvc.protocol import ACCURACY, METHODS, PRINTED, SIZES, classifier_maker, split_indices
from marginopt.reproduction.npsvc.tables import _p_value
from marginopt.reproduction.record import Run, paper_figures, paper_tables, protocol_size
from marginopt.reproduction.task import RunTask, measure_runs
from marginopt.solvers.parallel.executor import SerialExecutor


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """150 digits of 10 classes under the name of the gesture features."""
    X, y = load_digits(return_X_y=True)
    dump_svmlight_file(X[:150], y[:150], str(tmp_path / "chg.libsvm"))
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    inputs._read.cache_clear()
    return tmp_path


@pytest.mark.parametrize("method", [*METHODS, PRINTED])
def test_table_2(stand_in: Path, method: str) -> None:
    measurement = ACCURACY.measure({"dataset": "chg", "method": method, "seed": 0, "points": 120})
    assert measurement["points"] == 120
    assert measurement["accuracy"] > 0.5


def test_the_sets_of_table_2(stand_in: Path) -> None:
    """Published and measured sizes have the same names, and 60% of the points are the training part."""
    sizes = SIZES.measure({"dataset": "chg"})
    assert sizes == {"n_train": 90, "n_test": 60, "features": 63, "classes": 10}  # the first pixel is blank in all
    entries = [e for e in paper_tables()["npsvc-table-2-sets"].cells(protocol_size("full")) if e.labels[0] == "CHG"]
    assert {e.labels[1]: e.published.value for e in entries if e.published} == {
        "n_train": 540.0, "n_test": 360.0, "features": 8000.0, "classes": 10.0,
    }  # fmt: skip
    for entry in entries:
        measured = entry.summary([(entry.runs[0], sizes)])
        assert measured is not None
        assert measured.mean == sizes[entry.labels[1]]


def test_c_is_one_for_every_method() -> None:
    X = load_digits().data[:50]
    assert classifier_maker("SVM")(X).estimator.C == 1.0
    assert {classifier_maker(method)(X).c for method in (*METHODS[1:], PRINTED)} == {1.0}


def test_a_set_that_nobody_has_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MARGINOPT_DATA", raising=False)
    inputs._read.cache_clear()
    run = Run.of(ACCURACY, dataset="chg", method="SVM", seed=0, points=0)
    with pytest.raises(DataError, check=about("chg")):
        ACCURACY.measure(run.parameters)
    records, lacking = measure_runs([run], tmp_path / "runs.db", SerialExecutor(), False)
    assert not records
    assert "MARGINOPT_DATA" in lacking[run]


def test_the_t_test_pairs_the_splits() -> None:
    from scipy.stats import ttest_rel

    ours, theirs = np.array([0.9, 0.91, 0.93]), np.array([0.88, 0.9, 0.9])
    records = [
        (Run.of(ACCURACY, method=method, seed=seed), {"accuracy": float(values[seed])})
        for method, values in (("K-NPSVC++", ours), ("SVM", theirs))
        for seed in range(3)
    ]
    value = _p_value(records)
    assert value is not None
    assert value.mean == pytest.approx(ttest_rel(ours, theirs).pvalue)
    assert _p_value(records[:3]) is None


@pytest.mark.parametrize("criterion", ["Cross-entropy", "ArcFace margin softmax", "D-NPSVC++", "TWSVM on ResNet34 features"])
def test_table_3(criterion: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On features of the published width under the name of a set that nobody has here."""
    pytest.importorskip("torch")
    X, y = load_digits(n_class=4, return_X_y=True)
    wide = np.hstack([X] * 8)
    dump_svmlight_file(wide[:200], y[:200], str(tmp_path / "dtd.libsvm"), zero_based=False)
    dump_svmlight_file(wide[200:300], y[200:300], str(tmp_path / "dtd.t.libsvm"), zero_based=False)
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    inputs._read.cache_clear()
    measurement = DEEP.measure({"dataset": "dtd", "criterion": criterion, "seed": 0, "epochs": 5, "points": 100})
    assert measurement["accuracy"] > 0.6
    assert measurement["minutes"] > 0


@pytest.mark.parametrize("criterion", ["ArcFace margin softmax", "K-NPSVC++ on ResNet34 features"])
def test_table_3_on_images(criterion: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Digits enlarged to three planes of 32 x 32 pixels under the name of CIFAR-10."""
    pytest.importorskip("torch")
    X, y = load_digits(n_class=3, return_X_y=True)
    images = np.kron(X[:150].reshape(-1, 1, 8, 8) / 16.0, np.ones((1, 3, 4, 4))).reshape(150, -1)
    dump_svmlight_file(images[:100], y[:100], str(tmp_path / "cifar10.libsvm"), zero_based=False)
    dump_svmlight_file(images[100:], y[100:150], str(tmp_path / "cifar10.t.libsvm"), zero_based=False)
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    inputs._read.cache_clear()
    measurement = DEEP.measure({"dataset": "cifar10", "criterion": criterion, "seed": 0, "epochs": 3, "points": 100})
    assert measurement["accuracy"] > 0.5  # three classes


@pytest.mark.parametrize("name", ["npsvc-table-3", "npsvc-figure-4"])
def test_without_pytorch_a_cell_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of the README has no PyTorch; the other cells are measured."""
    for module in [module for module in sys.modules if module.startswith("marginopt.deep")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch", None)
    one = {**paper_tables(), **paper_figures()}[name]
    deep = [run for run in one.runs(protocol_size("quick")) if "Cross" in str(run.parameters.get("criterion", "Cross"))]
    result, keep = RunTask(deep[0]).compute(1)
    assert "marginopt[deep]" in result["missing"]
    assert not keep


def test_mnist_is_split_by_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.arange(70_000.0)[:, None]

    def one_file(name: str, part: str | None = None) -> Instance:
        if part is not None:
            raise DataError("mnist has no published parts")
        return Instance(X, np.arange(70_000) % 10, name="mnist")

    monkeypatch.setattr(deep_networks, "data_set", one_file)
    train, test, y, y_test = deep_networks.train_test_parts("mnist", 3)
    assert (len(train), len(test), len(y), len(y_test)) == (60_000, 10_000, 60_000, 10_000)
    assert test[0, 0] == 60_000.0


def test_figures_2_3_and_a3() -> None:
    drawn = paper_figures()
    run = Run.of(EVOLUTION, dataset="digits", seed=0, points=150)
    record = EVOLUTION.measure(run.parameters)
    assert record["accuracy"] > 0.5
    assert np.array(record["learned"]).shape == (60, 2)
    sweeps = [Run.of(SWEEP, dataset="digits", seed=0, points=100, parameter=p, value=v) for p, v in (("r1", 0.1), ("d", 12))]
    results = {run: record, **{sweep: SWEEP.measure(sweep.parameters) for sweep in sweeps}}
    for name in ("npsvc-figure-2", "npsvc-figure-3", "npsvc-figure-a3"):
        picture = drawn[name].draw(results)
        assert picture is not None
        assert picture.svg.startswith("<?xml")


def test_figures_of_the_network() -> None:
    """Two epochs on digits; a figure is drawn once all that it shows is there, of the paper's set before another."""
    pytest.importorskip("torch")
    drawn, quick = paper_figures(), protocol_size("quick")
    results: dict[Run, Mapping[str, Any]] = {}
    for name in ("npsvc-figure-2b", "npsvc-figure-4", "npsvc-figure-a4"):
        for run in drawn[name].runs(quick):
            short = Run.of(deep_networks.EVOLUTION, **{**run.parameters, "epochs": 2})
            assert drawn[name].draw(results) is None
            if short not in results:
                results[short] = deep_networks.EVOLUTION.measure(short.parameters)
        picture = drawn[name].draw(results)
        assert picture is not None
        assert "digits" in picture.caption
    epochs = next(iter(results.values()))["epochs"]
    assert [row["epoch"] for row in epochs] == [1, 2]
    assert len(epochs[0]["objectives"]) == 10
    assert epochs[-1]["accuracy"] > 0.5
    theirs = {Run.of(r.experiment, **{**r.parameters, "dataset": "cifar10"}): record for r, record in results.items()}
    picture = drawn["npsvc-figure-a4"].draw({**results, **theirs})
    assert picture is not None
    assert "cifar10" in picture.caption


@pytest.mark.parametrize("effort", ["quick", "reduced"])
def test_what_is_fast_enough_has_all_points_and_is_judged(effort: str) -> None:
    """The rest is thinned and not judged; the paired tests are of as many points for both."""
    thin = protocol_size(effort, 2)
    whole = dict.fromkeys(("Pendigits", "USPS"), {"SVM"} if thin.one_row else set(METHODS))
    for entry in paper_tables()["npsvc-table-2"].cells(thin):
        points = {run.parameters["points"] for run in entry.runs}
        if entry.labels[0] in whole:
            assert entry.is_compared == (entry.labels[1] in whole[entry.labels[0]])
            assert points == ({0} if entry.is_compared else {2000})
            assert any("Thinned" in note for note in entry.notes) != entry.is_compared
    for entry in paper_tables()["npsvc-table-2-tests"].cells(thin):
        points = {run.parameters["points"] for run in entry.runs}
        if entry.labels[0] in whole:
            assert points == ({0} if {entry.labels[1], "K-NPSVC++"} <= whole[entry.labels[0]] else {2000})
        assert len(points) == 1


@pytest.mark.parametrize(
    ("points", "parts"), [(1404, (842, 562)), (10992, (6595, 4397)), (2000, (1200, 800)), (7291, (4374, 2917))]
)
def test_a_split_has_the_printed_sizes(points: int, parts: tuple[int, int]) -> None:
    train, test = split_indices(points, 3)
    assert (len(train), len(test)) == parts
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(points))
