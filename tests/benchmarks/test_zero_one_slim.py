"""The table of scoring systems, on data made up in the authors' format."""

from __future__ import annotations

import bz2
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import zero_one_slim


def test_a_row_holds_the_proved_optimum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (40, 3))
    table = np.column_stack([X[:, 0] > X[:, 1], X])
    (tmp_path / "slim").mkdir()
    lines = ["outcome,a,b,c", *(",".join(map(str, row)) for row in table.astype(int))]
    (tmp_path / "slim" / "mammo.csv.bz2").write_bytes(bz2.compress("\n".join(lines).encode()))
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    zero_one_slim.slim(["mammo-regularized"], 60.0)
    head, row = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "instance"
    text = row.split()
    assert text[:4] == ["mammo-regularized", "40", str(len(np.unique(X, axis=0))), "3"]
    assert text[4] == text[5]
    assert float(text[4]) == pytest.approx(2 * 0.4 + 0.5 * (0.4 / 130) * 4, abs=1e-9)  # a - b > 0: two features, no error
