"""Equal rows are one row with summed costs, and a proof log does not change which engines search."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from effort import trials
from oracles import enumerated

import marginopt as mo
from marginopt.models.formulations.zero_one import ZeroOneSVM
from marginopt.solvers.zero_one import algorithm


def with_duplicates(seed: int, n: int = 12) -> tuple[ZeroOneSVM, ZeroOneSVM]:
    """A problem with equal points of unequal dyadic costs, and the problem of its distinct points."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.integers(0, 3, size=(n, 2))]).astype(float)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = -1.0, 1.0
    lam = rng.integers(1, 64, size=n) / 8.0
    rows, place = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    summed = np.bincount(place.reshape(-1), weights=lam)
    intercept = "free" if seed % 2 else "penalised"
    return ZeroOneSVM(X, y, lam, intercept=intercept), ZeroOneSVM(rows[:, :-1], rows[:, -1], summed, intercept=intercept)


@pytest.mark.parametrize("seed", range(trials(3, 6)))
@pytest.mark.parametrize("engine", ["auto", "boxes", "conflicts"])
def test_merged_and_unmerged_problems_have_one_optimum(seed: int, engine: str, tmp_path: Path) -> None:
    apart, merged = with_duplicates(seed)
    path = str(tmp_path / "proof.jsonl")
    result = mo.solve(apart, "zero-one-bb", engine=engine, threads=1, proof=path)
    optimum = enumerated(merged)
    assert result.objective == pytest.approx(optimum, rel=1e-5)
    assert result.bound <= optimum * (1.0 + 1e-9)
    report = mo.check_proof(path, apart)
    assert report.valid and report.own_data
    assert report.bound == pytest.approx(optimum, rel=1e-5)
    assert not mo.check_proof(path, merged).valid  # the log states every point


def rewritten(path: Path, header: dict[str, object]) -> None:
    """The log with another first line and a seal that fits."""
    lines = [header, *(json.loads(line) for line in path.read_text().splitlines()[1:-1])]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_text(text + json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest()}) + "\n")


@pytest.mark.parametrize("engine", ["boxes", "conflicts"])
def test_forged_logs_of_merged_problems_are_refused(engine: str, tmp_path: Path) -> None:
    model, _ = with_duplicates(3)
    path = tmp_path / "proof.jsonl"
    mo.solve(model, "zero-one-bb", engine=engine, threads=1, proof=str(path))
    header = json.loads(path.read_text().splitlines()[0])
    member = header["member"]
    k = next(i for i in range(1, len(member)) if member[i] != member[0])
    for forged in ([*member[:k], member[0], *member[k + 1 :]], [-1, *member[1:]], [max(member) + 5, *member[1:]], member[1:]):
        rewritten(path, {**header, "member": forged})
        assert not mo.check_proof(path, model).valid
    rewritten(path, {**header, "weights": [2.0 * w for w in header["weights"]]})
    assert not mo.check_proof(path, model).valid
    rewritten(path, header)
    assert mo.check_proof(path, model).valid


def audit_like(seed: int, n: int = 40) -> ZeroOneSVM:
    """Unequal costs that dwarf the norm, in few columns: conflicts of inseparable points prove these soon."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.integers(0, 6, size=(n, 2))]).astype(float)
    y = np.where(X[:, 1] + rng.normal(size=n) > 2.5, 1.0, -1.0)
    return ZeroOneSVM(X, y, 1e9 * np.exp(rng.normal(size=n)), intercept="free")


@pytest.mark.parametrize("seed", range(4))
def test_conflicts_that_win_against_logged_boxes_write_the_log(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(algorithm, "BOX_HEAD_START", 0.0)
    model, path = audit_like(seed), tmp_path / "proof.jsonl"
    without = mo.solve(model, "zero-one-bb", threads=1)
    result = mo.solve(model, "zero-one-bb", threads=1, proof=str(path))
    assert result.details["engine"] == without.details["engine"] == "boxes"
    # the log needs a square map of coordinates, and no other choice of the search differs
    assert ("conflicts_nodes" in result.details) == ("conflicts_nodes" in without.details)
    assert result.objective == pytest.approx(without.objective, rel=1e-6)
    report = mo.check_proof(path, model)
    assert report.valid and report.own_data
    assert report.bound == pytest.approx(result.bound, rel=1e-5)
    assert not list(tmp_path.glob(".*.part"))


def test_the_engine_counts_the_rank_with_and_without_a_log(tmp_path: Path) -> None:
    """Sums of columns raise the number of columns above that of the box search, and not the rank."""
    model, _ = with_duplicates(1)
    first, second = model.X[:, 1], model.X[:, 2]
    sums = [first + second, first - second, first + 2 * second, 2 * first + second, first - 2 * second, 2 * first - second]
    wide = ZeroOneSVM(np.column_stack([model.X, *sums]), model.y, model.lam, intercept="free")
    path = tmp_path / "proof.jsonl"
    without = mo.solve(wide, "zero-one-bb", threads=1)
    result = mo.solve(wide, "zero-one-bb", threads=1, proof=str(path))
    assert result.details["engine"] == without.details["engine"] == "boxes"
    assert mo.check_proof(path, wide).valid


def test_a_search_that_ends_early_keeps_the_better_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algorithm, "BOX_HEAD_START", 0.0)
    model, path = audit_like(1, 80), tmp_path / "proof.jsonl"
    result = mo.solve(model, "zero-one-bb", threads=1, proof=str(path), node_limit=200)
    report = mo.check_proof(path, model)
    assert report.valid and report.bound <= result.objective
    assert not list(tmp_path.glob(".*.part"))
