"""One small cell of each table of the Frank-Wolfe paper; its rank tests to the printed digits."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import wilcoxon
from sklearn.datasets import dump_svmlight_file, load_digits

from marginopt.models import RBF
from marginopt.papers import inputs
from marginopt.papers.effort import EFFORTS
from marginopt.papers.finding import tables
from marginopt.papers.frank_wolfe import data
from marginopt.papers.frank_wolfe.protocol import ALGORITHMS, TRAINING, OneVersusOne
from marginopt.papers.frank_wolfe.rank_tests import holm, signed_ranks
from marginopt.papers.judge import Verdict, judge
from marginopt.solvers.records.options import Options


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parts of four digits under the name of a set that is not distributed."""
    X, y = load_digits(n_class=4, return_X_y=True)
    dump_svmlight_file(X[:150], y[:150], str(tmp_path / "reuters.libsvm"))
    dump_svmlight_file(X[150:300], y[150:300], str(tmp_path / "reuters.t.libsvm"))
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    inputs._read.cache_clear()
    data.parts.cache_clear()


@pytest.mark.parametrize(("algorithm", "kernel"), [*product(ALGORITHMS, ["rbf"]), ("MFW", "polynomial")])
def test_tables_2_and_8(stand_in: None, algorithm: str, kernel: str) -> None:
    run = {"dataset": "Reuters", "algorithm": algorithm, "kernel": kernel, "seed": 0, "C": 8.0, "thin": True, "steps": 2000}
    found = TRAINING.measure(run)
    assert found["problems"] == 6
    assert found["tested"] == 150
    assert min(found["accuracy"], found["ddag"]) > 0.8  # four classes: chance is a quarter
    assert found["iterations"] > 0


def test_ddag_and_votes_agree_where_one_class_beats_all_others() -> None:
    X, y = load_digits(n_class=5, return_X_y=True)
    trained = OneVersusOne(X[:200], y[:200], RBF(0.001), 10.0).train("smo", Options(tol=1e-3))
    scores = trained.scores(X[200:400])
    voted, graph = trained.voted(scores), trained.by_graph(scores)
    wins = np.zeros((200, 5))
    for k, pair in enumerate(trained.pairs):
        wins[np.arange(200), np.where(scores[:, k] > 0, pair.positive, pair.negative)] += 1
    clear = wins.max(axis=1) == 4
    assert clear.mean() > 0.9
    assert (voted[clear] == graph[clear]).all()


@pytest.mark.parametrize("alternative", ["less", "greater", "two-sided"])
def test_wilcoxon_is_scipy_s_exact_one_without_ties(alternative: str) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=18), rng.normal(size=18) + 0.4
    ours = signed_ranks(x, y, alternative)  # type: ignore[arg-type]
    assert ours.p == pytest.approx(wilcoxon(x, y, alternative=alternative, method="exact").pvalue, rel=1e-12)


def test_wilcoxon_with_ties_and_zeros_is_the_enumeration_of_signs() -> None:
    d = np.array([1.0, 1.0, -2.0, 0.0, 3.0, -3.0, 4.0])
    ours = signed_ranks(d, np.zeros(7), "greater")
    ranks = np.array([2.5, 2.5, 4.0, 5.5, 5.5, 7.0])
    sums = np.array([ranks @ signs for signs in product((0, 1), repeat=6)])
    assert ours.positive == 2.5 + 2.5 + 5.5 + 7.0
    assert ours.p == pytest.approx((sums >= ours.positive).mean())


def test_holm_by_hand() -> None:
    assert holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])


def test_tables_5_to_7_from_the_printed_sets() -> None:
    """Every p of Wilcoxon's tests, W and F of time to all printed digits; Friedman's printed p is twice the right one."""
    effort = EFFORTS["quick"]
    cells = {}
    for name in ("frank-wolfe-table-5", "frank-wolfe-table-6", "frank-wolfe-table-7"):
        entries = tables()[name].entries(effort)
        results = {run: run.experiment.measure(run.parameters) for run in tables()[name].runs(effort)}
        cells |= {(name, *entry.labels): judge(entry, results, {}) for entry in entries}
    outside = {labels for labels, cell in cells.items() if cell.verdict in (Verdict.ABOVE, Verdict.BELOW)}
    printed, multiple = "the 26 printed sets", "FW, MFW, CVM"
    assert outside == {
        ("frank-wolfe-table-5", "Accuracy", "MFW vs. CVM", printed),
        ("frank-wolfe-table-5", "Accuracy", "FW vs. MFW", printed),
        ("frank-wolfe-table-5", "Accuracy", multiple, printed),
        ("frank-wolfe-table-6", "Accuracy", multiple, printed),
        ("frank-wolfe-table-6", "Time", multiple, printed),
    }
    doubled = cells["frank-wolfe-table-6", "Time", multiple, printed]
    assert doubled.value is not None
    assert 2 * doubled.value.mean == pytest.approx(1.72e-5, rel=5e-3)
