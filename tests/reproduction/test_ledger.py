"""The ledger: its counts are those of the committed CSV files, and of the printed figures; Welch's test against SciPy's."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from facts import at
from hypothesis import given, settings, strategies as st
from scipy.stats import ttest_ind_from_stats

from marginopt.cli.main import main
from marginopt.errors import DataError
from marginopt.reproduction.comparison import Verdict, equal_means
from marginopt.reproduction.ledger import CellCounts, read_ledger
from marginopt.reproduction.page import write_ledger_page
from marginopt.reproduction.record import PAPERS, CellKind, MeasuredNumber, PublishedNumber, published_rows

PAGES = Path(__file__).parents[2] / "docs" / "papers"


def _rows() -> list[dict[str, str]]:
    return [row for name in PAPERS for row in csv.DictReader((PAGES / f"{name}.csv").read_text(encoding="utf-8").splitlines())]


def _copied(folder: Path) -> Path:
    for name in PAPERS:
        for ending in ("csv", "json"):
            shutil.copy(PAGES / f"{name}.{ending}", folder)
    return folder


def test_the_committed_ledger_is_what_the_committed_files_say(tmp_path: Path) -> None:
    made = write_ledger_page(_copied(tmp_path)).read_text(encoding="utf-8")
    assert made == (PAGES / "README.md").read_text(encoding="utf-8")


def test_every_printed_error_and_accuracy_is_counted_once() -> None:
    """The papers' own tables, row by row, without the ledger's code."""
    single = ("conic_table1_synthetic", "conic_table3_real", "conic_table4_label_noise", "maxmin_table3_accuracy")
    single += ("npsvcpp_table2_accuracy", "frank_wolfe_tables2_3", "frank_wolfe_table8_polynomial")
    printed = sum(len(published_rows(name)) for name in single)
    printed += sum(bool(row[name]) for row in published_rows("npsvcpp_table3_deep") for name in ("cifar10", "dtd", "flowers102"))
    rivals = [row for row in published_rows("maxmin_tables5_6_parkinsons") if row["selector"] != "MaxMin-SVC"]
    printed += 3 * len(rivals) + 2  # Table 6 prints one accuracy for the four rivals, and max-min's
    assert read_ledger(PAGES).total.printed == printed == 297


def test_the_counts_are_those_of_the_files() -> None:
    ledger, rows = read_ledger(PAGES), [row for row in _rows() if row["published"]]
    for table, kind, count in [*((t, CellKind.RESULT, c) for t, c in ledger.results), *ledger.other_kinds]:
        mine = [row for row in rows if (row["table"], row["kind"]) == (table.name, kind)]
        verdicts = Counter(row["verdict"] for row in mine)
        assert count.printed == len(mine) == count.inside + count.outside + count.not_judged + count.missing
        assert count.inside == verdicts["inside"]
        assert count.outside == verdicts["above"] + verdicts["below"]
        assert count.missing == sum(not row["measured"] for row in mine)
        assert count.equal == sum(row["welch"] == "equal" for row in mine)
    every = [count for _, count in ledger.results]
    for name in ("printed", "inside", "outside", "tested", "equal", "inside_different", "not_judged", "missing"):
        assert sum(getattr(count, name) for count in every) == getattr(ledger.total, name)
    assert len(rows) == ledger.total.printed + sum(count.printed for _, _, count in ledger.other_kinds)


def test_each_cell_that_is_not_judged_or_not_run_says_why() -> None:
    for row in _rows():
        if row["published"] and row["verdict"] in (Verdict.UNJUDGED, Verdict.MISSING):
            assert row["reason"], (row["table"], row["cell"])
    ledger = read_ledger(PAGES)
    assert all(count.reasons for _, count in ledger.results if count.not_judged or count.missing)


def test_reasons_that_differ_in_the_set_alone_are_one() -> None:
    row = {"published": "1", "verdict": str(Verdict.MISSING), "welch": ""}
    rows = [{**row, "reason": f"{name} is not in the catalogue: put it there"} for name in ("one", "two", "two")]
    assert CellCounts.of(rows).reasons == ("3 not run: not in the catalogue (one, two)",)


def test_the_prompt_counts_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--ledger", "--out", str(tmp_path)]) == 2  # no pages
    _copied(tmp_path)
    assert main(["reproduce", "conic", "--ledger", "--out", str(tmp_path)]) == 2
    assert not (tmp_path / "README.md").exists()
    capsys.readouterr()
    assert main(["reproduce", "--ledger", "--out", str(tmp_path), "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["total"]["printed"] == 297
    assert (tmp_path / "README.md").is_file()


def test_pages_of_an_earlier_version_are_refused(tmp_path: Path) -> None:
    (tmp_path / "conic.csv").write_text("table,cell,published\nconic-table-1,x,1\n", encoding="utf-8")
    with pytest.raises(DataError, check=at(tmp_path)):
        read_ledger(tmp_path)


@settings(deadline=None, max_examples=100)
@given(
    st.floats(-3, 3), st.floats(0.01, 2), st.integers(2, 40), st.floats(-3, 3), st.floats(0.01, 2), st.integers(2, 40)
)  # fmt: skip
def test_welch_s_test_is_scipy_s(a: float, s: float, n: int, b: float, t: float, m: int) -> None:
    p = ttest_ind_from_stats(a, s, n, b, t, m, equal_var=False).pvalue
    if abs(p - 0.05) > 1e-9:
        assert equal_means(PublishedNumber(a, s, 0.0, n), MeasuredNumber(b, t, m)) == (p >= 0.05)


def test_a_printed_mean_is_any_number_that_rounds_to_it() -> None:
    exact = PublishedNumber(0.6, 0.0, 0.0, 20)
    assert equal_means(exact, MeasuredNumber(0.62, 0.01, 20)) is False
    assert equal_means(PublishedNumber(0.6, 0.0, 0.1, 20), MeasuredNumber(0.62, 0.01, 20)) is True
    assert equal_means(PublishedNumber(0.6, 0.0, 0.1, 20), MeasuredNumber(0.70, 0.01, 20)) is False
    assert equal_means(PublishedNumber(63.16, 0.0, 0.01, 30), MeasuredNumber(63.158, 0.0, 5)) is True  # no spread on either side


@pytest.mark.parametrize(
    ("there", "here"),
    [
        (None, MeasuredNumber(1.0, 0.1, 5)),
        (PublishedNumber(1.0, 0.1, 0.1, 5), None),
        (PublishedNumber(1.0, None, 0.1, 5), MeasuredNumber(1.0, 0.1, 5)),
        (PublishedNumber(1.0, 0.1, 0.1, None), MeasuredNumber(1.0, 0.1, 5)),
        (PublishedNumber(1.0, 0.1, 0.1, 1), MeasuredNumber(1.0, 0.1, 5)),
        (PublishedNumber(1.0, 0.1, 0.1, 5), MeasuredNumber(1.0, None, 1)),
    ],
)
def test_no_test_without_two_deviations_of_two_samples(there: PublishedNumber | None, here: MeasuredNumber | None) -> None:
    assert equal_means(there, here) is None


def test_the_test_keeps_five_percent_of_equal_means_out() -> None:
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(2000, 2, 12))
    rows = [
        equal_means(
            PublishedNumber(float(x.mean()), float(x.std(ddof=1)), 0.0, 12),
            MeasuredNumber(float(y.mean()), float(y.std(ddof=1)), 12),
        )
        for x, y in samples
    ]
    assert 0.935 <= np.mean(rows) <= 0.965
