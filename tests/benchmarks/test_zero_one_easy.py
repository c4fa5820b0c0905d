"""The table of easy problems: a row for every cost, and who breaks the rule."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import zero_one_easy


def test_a_row_for_every_cost_and_the_late_ones_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = zero_one_easy.time_to_proof

    def time_to_proof(name, model, limit):
        """Ours as it is; one rival needs no time, the other proves nothing."""
        result = ours("zero-one-bb", model, limit)
        return {"zero-one-bb": (10.0, result[1]), "scip": (0.0, result[1]), "gurobi": (float("inf"), None)}[name]

    monkeypatch.setattr(zero_one_easy, "time_to_proof", time_to_proof)
    zero_one_easy.easy(["two features, 60"], 30.0)
    _, head, *rows, last = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "problem"
    assert [row.split()[5] for row in rows] == ["1", "100", "10000"]
    assert all(row.split()[-2:] == ["-", "late"] for row in rows)
    assert last.startswith("3 of them")
