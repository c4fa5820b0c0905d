"""MIPLIB's ramp problems: points, bounds and files, on data made up, against enumeration and other readers."""

from __future__ import annotations

import bz2
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import zero_one_miplib as miplib


@pytest.fixture(scope="module")
def small() -> miplib.Instance:
    rng = np.random.default_rng(5)
    y = np.where(np.arange(8) % 2 == 0, 1.0, -1.0)
    return miplib.Instance.of(0.6 * y[:, None] + rng.standard_normal((8, 2)), y, 6.0)


@pytest.fixture(scope="module")
def optimum(small: miplib.Instance) -> float:
    """Who is given up enumerated: each choice is a linear program."""
    result = (miplib.solve_with_given_up(small, np.array(chosen)) for chosen in itertools.product((False, True), repeat=8))
    return min(point.value for point in result if point is not None)


def test_the_point_is_the_optimum_and_the_bound_below_it(small: miplib.Instance, optimum: float) -> None:
    point, _ = miplib.best_point(small, 0.0)
    assert point.value == pytest.approx(optimum, rel=1e-7)
    proved, nodes, _ = miplib.bound(small, point, 60.0, None)
    assert optimum * (1 - 2e-6) <= proved <= optimum * (1 + 1e-9) and nodes > 0
    assert 0.0 < miplib.by_thresholds(small, 10.0)[0] <= optimum * (1 + 1e-9)


def test_other_readers_accept_the_files(small: miplib.Instance, optimum: float, tmp_path: Path) -> None:
    highspy, scip = pytest.importorskip("highspy"), pytest.importorskip("pyscipopt")
    miplib.write_mps(small, tmp_path / "a.mps")
    miplib.write_sol(miplib.best_point(small, 0.0)[0], tmp_path / "a.sol")
    read = highspy.Highs()
    read.setOptionValue("output_flag", False)
    read.readModel(str(tmp_path / "a.mps"))
    read.run()
    assert read.getInfo().objective_function_value == pytest.approx(optimum, rel=1e-5)
    model = scip.Model()
    model.hideOutput()
    model.readProblem(str(tmp_path / "a.mps"))
    solution = model.readSolFile(str(tmp_path / "a.sol"))
    assert model.checkSol(solution)
    assert model.getSolObjVal(solution) == pytest.approx(optimum, rel=1e-7)


def test_a_row_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(12) < 0.5, 1, -1)
    lines = ["y,x1,x2", *(f"{label},{a},{b}" for label, (a, b) in zip(y, y[:, None] + rng.normal(size=(12, 2)), strict=True))]
    (tmp_path / "miplib").mkdir()
    (tmp_path / "miplib" / "gsvm2rl5.csv.bz2").write_bytes(bz2.compress("\n".join(lines).encode()))
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    miplib.miplib(["gsvm2rl5"], 0.3, tmp_path / "out")
    _, row, checked = capsys.readouterr().out.splitlines()
    assert "gsvm2rl5.log.gz: proves " in checked
    text = row.split()
    assert text[:4] == ["gsvm2rl5", "12", "2", "hard"]
    assert float(text[7]) <= float(text[5])
    assert (tmp_path / "out" / "gsvm2rl5.sol").read_text().startswith("=obj= ")
