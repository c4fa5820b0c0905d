"""Workers that verify parts of a proof: some parts are found again, so that a crew that believes everything is found out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data import clouds

import marginopt as mo
from marginopt.solvers.exact.check import trees
from marginopt.solvers.zero_one.check.checker import ZeroOneChecker

check_proof = ZeroOneChecker().check


class Honest:
    """A crew in this process, which works on what it is given."""

    size = 2

    def run_all(self, job: Callable[[Any, int | None], Any], tasks: Iterable[Any]) -> list[Any]:
        return [job(task, None) for task in tasks]


class Believing(Honest):
    """It says that every node of a part was verified, and looks at none."""

    def run_all(self, job: Callable[[Any, int | None], Any], tasks: Iterable[Any]) -> list[Any]:
        return [sum(isinstance(part, dict) for part in task[-2].values()) + len(task[-1]) for task in tasks]


@pytest.fixture(params=[("boxes", 40, 3), ("conflicts", 44, 5)], ids=["boxes", "conflicts"])
def log(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(trees, "PARTS_PER_VERIFIER", 2)  # small trees have parts too
    engine, n, p = request.param
    X, y = clouds(np.random.default_rng(5), n, p, 0.4, order="turns", spread=0.6)
    mo.solve(mo.ZeroOneSVM(X, y, lam=1.0), "zero-one-bb", engine=engine, proof=str(tmp_path / "log.jsonl"))
    return tmp_path / "log.jsonl"


def without_multipliers(path: Path) -> Path:
    """The log, its nodes no longer proved by anything."""
    records = [json.loads(line) for line in path.read_text().splitlines()][:-1]
    for record in records[1:-1]:
        record.update({name: [] for name in ("rounds", "steps") if name in record})
    spoilt = path.with_name("spoilt.jsonl")
    text = "".join(json.dumps(record) + "\n" for record in records)
    spoilt.write_text(text + json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest()}) + "\n")
    return spoilt


def test_an_honest_crew_agrees_and_the_report_says_what_was_found_again(log: Path) -> None:
    alone, shared = check_proof(log), check_proof(log, verifiers=Honest())
    assert alone.valid and shared == alone, shared
    assert shared.workers == 2
    assert 0 < shared.spot_checks <= trees.SPOT_CHECKS
    assert not alone.spot_checks
    assert json.loads(log.read_text().splitlines()[0])["format"].startswith("marginopt")


def test_a_crew_that_believes_everything_is_found_out(log: Path) -> None:
    spoilt = without_multipliers(log)
    assert not check_proof(spoilt).valid
    assert not check_proof(spoilt, verifiers=Believing()).valid


def test_a_crew_that_counts_wrongly_is_found_out(log: Path) -> None:
    class Guessing(Honest):
        def run_all(self, job: Callable[[Any, int | None], Any], tasks: Iterable[Any]) -> list[Any]:
            return [10_000 for _ in tasks]

    report = check_proof(log, verifiers=Guessing())
    assert not report.valid
