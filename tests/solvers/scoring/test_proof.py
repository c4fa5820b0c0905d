"""Proof logs of scoring systems: every one is verified, and 1,000 forged ones are refused."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import trials

import marginopt as mo
from marginopt.solvers.proofs import check_proof

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

Record = dict[str, Any]


def model(seed: int) -> mo.ScoringSystem:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 5))
    X = rng.integers(0, 2 + 3 * (seed % 2), (30, d)) / (1 if seed % 3 else 4)
    y = np.where(X @ rng.normal(size=d) + 0.6 * rng.normal(size=30) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weights = 1.0 if seed % 4 else rng.integers(1, 5, 30) / 2
    most = int(rng.integers(1, d + 1))
    return mo.ScoringSystem(np.column_stack([np.ones(30), X]), y, (-3, 3), max_features=most, C0=0.015, sample_weight=weights)


def proved(seed: int, path: Path, **options: Any) -> tuple[mo.ScoringSystem, mo.Result]:
    stated = model(seed)
    branching = "supports" if seed % 2 else "signs"
    return stated, mo.solve(stated, "supports-bb", proof=str(path), branching=branching, **options)


def sealed(path: Path, records: list[Record]) -> Path:
    """A log with a seal that fits."""
    lines = [json.dumps(record) + "\n" for record in records]
    seal = hashlib.sha256("".join(lines).encode()).hexdigest()
    path.write_text("".join(lines) + json.dumps({"sha256": seal}) + "\n")
    return path


@pytest.mark.parametrize("seed", range(trials(6, 12)))
def test_what_is_written_is_verified(seed: int, tmp_path: Path) -> None:
    path = tmp_path / ("a.log" if seed % 2 else "a.log.gz")
    stated, result = proved(seed, path)
    report = check_proof(path, stated)
    assert report.valid, report
    assert report.own_data
    assert report.bound <= result.objective <= report.value <= math.nextafter(report.bound, math.inf)  # rounded down and up
    assert mo.check_proof(path) == check_proof(path) and mo.check_proof(path).valid
    assert not mo.check_proof(path, model(seed + 1)).valid


def test_a_search_that_a_limit_ended_has_a_log_of_its_bound(tmp_path: Path) -> None:
    stated, result = proved(3, tmp_path / "a.log", node_limit=6, descents=1)
    report = check_proof(tmp_path / "a.log", stated)
    assert report.valid, report
    assert report.bound == result.bound < result.objective


def _splits(records: list[Record]) -> list[list[int]]:
    return [split for record in records[1:-1] for split in record["splits"]]


def _without_a_split(records: list[Record], rng: np.random.Generator) -> None:
    """The node that was split had a bound below the optimum."""
    splits = _splits(records)
    del splits[int(rng.integers(len(splits)))]
    records[1:-1] = [{"splits": splits}]


def _cut_off(records: list[Record], rng: np.random.Generator) -> None:
    records[1:-1] = [{"splits": _splits(records)[: int(rng.integers(len(_splits(records))))]}]


def _other_data(records: list[Record], rng: np.random.Generator) -> None:
    X = records[0]["X"]
    X[int(rng.integers(len(X)))][0] += 1


def _other_label(records: list[Record], rng: np.random.Generator) -> None:
    i = int(rng.integers(len(records[0]["y"])))
    records[0]["y"][i] = -records[0]["y"][i]


def _other_price(records: list[Record], rng: np.random.Generator) -> None:
    records[0]["price"] = f"{int(rng.integers(100, 900))}/7"


def _higher_bound(records: list[Record], rng: np.random.Generator) -> None:
    records[-1]["bound"] = f"{int(1000 * float(_fraction(records[-1]['bound']))) + int(rng.integers(1, 9))}/1000"


def _other_system(records: list[Record], rng: np.random.Generator) -> None:
    """A system that is not allowed."""
    records[-1]["rho"][int(rng.integers(len(records[-1]["rho"])))] = 4


def _no_such_node(records: list[Record], rng: np.random.Generator) -> None:
    splits = _splits(records)
    splits[int(rng.integers(len(splits)))][1] = 10**6
    records[1:-1] = [{"splits": splits}]


def _fraction(text: str) -> Any:
    from fractions import Fraction

    return Fraction(text)


FORGERIES: list[Callable[[list[Record], np.random.Generator], None]] = [
    _without_a_split, _cut_off, _other_data, _other_label, _other_price, _higher_bound, _other_system, _no_such_node
]  # fmt: skip


@pytest.mark.parametrize("seed", range(trials(3, 5)))
def test_forged_logs_are_refused(seed: int, tmp_path: Path) -> None:
    stated, _ = proved(seed, tmp_path / "a.log")
    honest = (tmp_path / "a.log").read_text().splitlines()[:-1]
    assert len(_splits([json.loads(line) for line in honest])) > 0
    rng = np.random.default_rng(seed)
    for k in range(trials(40, 200)):
        records = [json.loads(line) for line in honest]
        forge = FORGERIES[k % len(FORGERIES)]
        forge(records, rng)
        report = check_proof(sealed(tmp_path / "b.log", records), stated)
        assert not report.valid, (forge.__name__, k)
        assert report.message


def test_a_broken_seal_and_no_log_at_all(tmp_path: Path) -> None:
    proved(1, tmp_path / "a.log")
    text = (tmp_path / "a.log").read_text()
    (tmp_path / "b.log").write_text(text.replace('"version": 2', '"version":  2'))
    assert "seal" in check_proof(tmp_path / "b.log").message
    (tmp_path / "c.log").write_text("{}\n")
    assert not check_proof(tmp_path / "c.log").valid
    assert not check_proof(tmp_path / "none.log").valid
