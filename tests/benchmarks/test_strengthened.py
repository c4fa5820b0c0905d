"""The map of strengthened against big-M encodings: kept, continued, trivial optima set apart."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from marginopt.relaxations import CellStore

FILE = Path(__file__).parents[2] / "benchmarks" / "strengthened.py"
CELL = ("--n", "12", "--p", "2", "--sigma", "0.5", "--lam", "20", "--data-seeds", "2", "--solver-seeds", "1", "--limit", "60")


@pytest.fixture
def benchmark() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("benchmark_strengthened", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its data classes look themselves up there
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_runs_are_kept_and_told(
    benchmark: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.db"

    def run(*words: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["strengthened.py", "--store", str(path), *CELL, *words])
        benchmark.main()
        return capsys.readouterr().out.splitlines()

    assert "2 draws not begun" in run("--budget", "0")[-1]
    assert CellStore(path).counts() == {}
    table = run()
    counts = CellStore(path).counts()
    trivial = sum(r["trivial"] for r in CellStore(path).records("reference"))
    assert counts == {"reference": 2, "strengthened": (2 - trivial) * 4} and trivial < 2
    assert len(table) == 3 and all(line.count("|") == 5 + 4 + 1 for line in table)
    assert f"| {2 - trivial} of 2 |" in table[-1] and "DIFFER" not in table[-1] and "open" not in table[-1]
    assert table[-1].count("nodes") == 4 and table[-1].count("x)") == 3
    monkeypatch.setattr(benchmark.PreparedProblem, "solve", None)  # nothing is solved again
    assert run() == table and run("--table") == table
    assert CellStore(path).counts() == counts


def test_trivial_optima_are_set_apart(
    benchmark: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--store", str(tmp_path / "runs.db"), *CELL, "--lam", "0.01"]
    monkeypatch.setattr(sys, "argv", ["strengthened.py", *words])
    benchmark.main()
    assert "all trivial" in capsys.readouterr().out
    assert CellStore(tmp_path / "runs.db").counts() == {"reference": 2}
