"""Logs are checked batch by batch: the verdict is that of the whole log, and few conflicts are in the memory at a time."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import trials
from proof_logs import damage, damage_conflicts, problem_of, read, sealed, write

from marginopt.solvers.exact.check import trees
from marginopt.solvers.proofs import check_proof
from marginopt.solvers.zero_one.check import conflicts
from marginopt.solvers.zero_one.check.conflicts import ConflictProblem, stated_conflicts


def _disordered(rng: np.random.Generator, log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The log with its nodes in any order, and the conflicts, in theirs, anywhere among them."""
    stated = iter([record for record in log if "conflict" in record])
    shuffled = [log[k] for k in 1 + rng.permutation(len(log) - 2)]
    return [log[0], *(next(stated) if "conflict" in record else record for record in shuffled), log[-1]]


@pytest.mark.parametrize("engine", ["boxes", "conflicts"])
def test_batches_and_the_order_of_records_change_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    path, rng = tmp_path / "log", np.random.default_rng(3)
    write(problem_of(9, 18, 3, True, 2.0), path, engine=engine)
    log, verdicts = read(path), list[bool]()
    for trial in range(trials(6, 100)):
        bad = log if trial == 0 else (damage if engine == "boxes" else damage_conflicts)(rng, log)[1]
        reports = []
        for batch, records in ((256, bad), (1, bad), (7, bad), (5, _disordered(rng, bad))):
            monkeypatch.setattr(trees, "BATCH_SIZE", batch)
            monkeypatch.setattr(conflicts, "_BATCH", 2 * batch)
            path.write_text(sealed(records))
            reports.append(check_proof(path))
        verdicts.append(reports[0].valid)
        for report in reports[1:]:
            assert (report.valid, report.nodes, report.digest) == (reports[0].valid, reports[0].nodes, reports[0].digest), report
            assert report.bound == reports[0].bound or not report.valid
    assert verdicts[0] and not all(verdicts) and len(log) > 12


def test_conflicts_are_held_until_the_next_node_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Counted(conflicts.Conflict):
        live = peak = total = 0

        def __new__(cls, *_: object) -> Counted:
            Counted.total, Counted.live = Counted.total + 1, Counted.live + 1
            Counted.peak = max(Counted.peak, Counted.live)
            return super().__new__(cls)

        def __del__(self) -> None:
            Counted.live -= 1

    monkeypatch.setattr(conflicts, "Conflict", Counted)
    monkeypatch.setattr(conflicts, "_BATCH", 8)
    monkeypatch.setattr(trees, "BATCH_SIZE", 1)
    path = tmp_path / "log"
    write(problem_of(5, 60, 6, True, 1.0), path, engine="conflicts")
    log = read(path)
    most = max(sum(len(step[1]) if step[0] == "pack" else 1 for step in record["steps"]) for record in log if "steps" in record)
    report = check_proof(path)
    assert report.valid and Counted.total == sum("conflict" in record for record in log)
    assert Counted.peak <= 2 * 8 + 3 * most < Counted.total / 2


def test_norms_of_conflicts_are_below_the_exact_ones_and_close() -> None:
    rng = np.random.default_rng(1)
    rows, labels = rng.normal(size=(30, 4)) * 10.0 ** rng.integers(-3, 4, size=(30, 1)), np.where(np.arange(30) % 2, 1.0, -1.0)
    problem = ConflictProblem(rows, labels, [1.0] * 30, 7.0, 1.0, 1.0, math.inf)
    records: list[dict[str, Any]] = [{"conflict": [], "alpha": []}]
    for size in range(1, 13):
        points = rng.choice(30, size, replace=False)
        alpha = rng.exponential(size=size) if size % 2 else rng.integers(1, 9, size=size).astype(float)
        records.append({"conflict": points.tolist(), "alpha": alpha.tolist()})
    stated = stated_conflicts(problem, records)
    assert [conflict.points for conflict in stated] == [record["conflict"] for record in records]
    assert stated[0].norm <= 0.0
    for record, conflict in zip(records[1:], stated[1:], strict=True):
        parts = [(Fraction(a), i) for a, i in zip(record["alpha"], record["conflict"], strict=True)]
        gain = sum(a for a, _ in parts) - 7 * abs(sum(a * Fraction(labels[i]) for a, i in parts))
        square = sum(sum(a * Fraction(rows[i, j]) for a, i in parts) ** 2 for j in range(4))
        exact = max(gain, Fraction(0)) ** 2 / square
        assert Fraction(conflict.norm) <= exact
        assert conflict.norm >= float(exact) * (1.0 - 1e-10) - 1e-15
