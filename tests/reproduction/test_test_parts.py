"""Published test parts in the directory of MARGINOPT_DATA: they are read under either name, and accuracy is judged on them."""

from __future__ import annotations

import bz2
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from facts import about

from marginopt.errors import DataError
from marginopt.instances import catalogue, load
from marginopt.relaxations import digest
from marginopt.reproduction import inputs
from marginopt.reproduction.comparison import Verdict, compare_cell
from marginopt.reproduction.frank_wolfe import data
from marginopt.reproduction.frank_wolfe.protocol import TRAINING, training_runs
from marginopt.reproduction.frank_wolfe.tables import short_name
from marginopt.reproduction.record import PaperCell, paper_tables, protocol_size, published_rows

AT_HAND = ("a1a", "a2a", "a3a", "a4a", "a5a", "w1a", "w4a", "w7a")


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty directory of data."""
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    _forget()
    yield tmp_path
    _forget()


def _forget() -> None:
    inputs._read.cache_clear()
    data.train_test_parts.cache_clear()


def _write(path: Path, rows: int, positive: int, columns: int, seed: int) -> None:
    """Sparse rows of two ones; the class is +1 where the first column has one, in so many rows."""
    rng = np.random.default_rng(seed)
    signs = np.full(rows, -1)
    signs[rng.permutation(rows)[:positive]] = 1
    lines = (f"{sign:+d} {1 if sign > 0 else 2}:1 {rng.integers(3, columns + 1)}:1\n" for sign in signs)
    content = "".join(lines).encode()
    path.write_bytes(bz2.compress(content) if path.suffix == ".bz2" else content)


def _entry(table: str, name: str, algorithm: str) -> PaperCell:
    every = paper_tables()[table].cells(protocol_size("reduced", 1))
    return next(entry for entry in every if entry.labels[:2] == (name, algorithm))


@pytest.mark.parametrize("name", AT_HAND)
def test_the_catalogue_has_the_printed_sizes_of_both_parts(name: str) -> None:
    (row,) = (r for r in published_rows("frank_wolfe_table1_datasets") if short_name(r["dataset"]) == name)
    entry = next(one for one in catalogue() if one.name == name)
    assert (entry.n, entry.parts, entry.default) == (int(row["m_train"]), ("train", "test"), "train")


@pytest.mark.parametrize("ending", ["a1a.t", "a1a.t.bz2", "a1a.t.libsvm", "a1a.t.libsvm.bz2"])
def test_a_test_part_is_read_under_every_name_and_judged_on(ending: str, directory: Path) -> None:
    """Stand-ins of the published sizes, which the catalogue checks, for points whose class one column tells."""
    _write(directory / "a1a", 1605, 395, 123, 0)
    before = _entry("frank-wolfe-table-2", "a1a", "FW")
    assert before.caveat == data.OTHER_POINTS
    _write(directory / ending, 30956, 7446, 123, 1)
    assert load("a1a").X.shape == load("a1a", "train").X.shape == (1605, 123)
    assert load("a1a", "test").X.shape == (30956, 123)
    assert load("a1a", "all").X.shape == (32561, 123)
    entry = _entry("frank-wolfe-table-2", "a1a", "FW")
    results = {run: TRAINING.measure({**run.parameters, "C": 1.0, "steps": 200}) for run in entry.runs}
    assert {(one["tested"], one["how"]) for one in results.values()} == {(30956, "")}
    cell = compare_cell(entry, results, {})
    assert cell.verdict is Verdict.ABOVE  # 100% of these points are right; 83.52 are printed
    assert cell.value is not None
    assert cell.value.mean == pytest.approx(100.0, abs=0.5)
    assert entry.runs != before.runs  # pages keep no figure of other points as one of these


@pytest.mark.parametrize(
    ("table", "name"),
    [*(("frank-wolfe-table-2", name) for name in AT_HAND), *(("frank-wolfe-table-8", name) for name in ("w1a", "w4a", "w7a"))],
)
def test_every_set_is_judged_once_its_part_is_there(table: str, name: str, directory: Path) -> None:
    assert _entry(table, name, "FW").caveat == data.OTHER_POINTS
    (directory / f"{name}.t.bz2").write_bytes(b"")
    entry = _entry(table, name, "FW")
    assert (entry.caveat, entry.missing) == ("", "")
    assert dict(entry.runs[0].items)["tested"] == "published part"


def test_a_small_set_outside_the_catalogue_is_judged_too(directory: Path) -> None:
    _write(directory / "a6a.bz2", 80, 30, 20, 0)
    _write(directory / "a6a.t", 50, 20, 20, 1)
    entry = _entry("frank-wolfe-table-2", "a6a", "MFW")
    results = {run: TRAINING.measure({**run.parameters, "C": 8.0, "steps": 500}) for run in entry.runs}
    assert compare_cell(entry, results, {}).verdict in (Verdict.ABOVE, Verdict.BELOW, Verdict.INSIDE)
    assert {one["tested"] for one in results.values()} == {50}


def test_a_stored_run_is_of_its_test_points(directory: Path) -> None:
    _write(directory / "a6a", 80, 30, 20, 0)
    _write(directory / "a6a.t", 50, 20, 20, 1)
    first = inputs.data_identity(("a6a",))
    _forget()
    _write(directory / "a6a.t", 50, 20, 20, 2)
    second = inputs.data_identity(("a6a",))
    assert len(first) == len(second) == 2
    assert [digest(one) == digest(other) for one, other in zip(first, second, strict=True)] == [True, False]


def test_a_test_part_of_another_size_is_refused(directory: Path) -> None:
    _write(directory / "a1a", 1605, 395, 123, 0)
    _write(directory / "a1a.t", 100, 20, 123, 1)
    with pytest.raises(DataError, check=about("a1a[test]")):
        load("a1a", "test")


def test_files_at_hand_change_no_other_run(directory: Path) -> None:
    before = training_runs(protocol_size("reduced", 1), "Pendigits", "FW")
    (directory / "a1a.t").write_bytes(b"")
    assert training_runs(protocol_size("reduced", 1), "Pendigits", "FW") == before
