"""The conflict search and its proof on a cluster: the bound of one process, one merged log, workers that die."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from clusters import DaskCluster, kill
from data import clouds

import marginopt as mo
from marginopt.solvers.exact import dispatcher as batch_size
from marginopt.solvers.proofs import check_proof
from marginopt.solvers.zero_one import (
    conflict_engine as passes,
    conflict_log as conflict_proof,
    distributed_conflicts as conflict_engine,
)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of a few nodes, so that small trees go in many pieces."""
    monkeypatch.setattr(conflict_engine, "DISPATCH_EFFORT", 1e5)
    monkeypatch.setattr(conflict_proof, "DISPATCH_NODES", 5)
    monkeypatch.setattr(batch_size, "TARGET_SECONDS", 0.02)
    monkeypatch.setattr(batch_size, "LEAST_SECONDS", 0.005)


@pytest.fixture(scope="module")
def stated() -> mo.ZeroOneSVM:
    X, y = clouds(0, 90, 9, 0.4, order="turns", spread=1.8)
    return mo.ZeroOneSVM(X, y, 5.0, intercept="free")


@pytest.fixture(scope="module")
def alone(stated: mo.ZeroOneSVM) -> mo.Result:
    return mo.solve(stated, "zero-one-bb", engine="conflicts", threads=1)


def _sealed(path: Path, lines: list[str]) -> Path:
    text = "".join(lines)
    path.write_text(text + json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest()}) + "\n")
    return path


def test_the_workers_lines_are_one_proof_that_the_workers_check(
    stated: mo.ZeroOneSVM, alone: mo.Result, short: None, client: Any, tmp_path: Path
) -> None:
    path = tmp_path / "proof.jsonl.gz"
    result = mo.solve(stated, "zero-one-bb", engine="conflicts", threads=1, cluster=client, proof=str(path))
    assert result.status is alone.status is mo.Status.OPTIMAL
    assert result.objective == pytest.approx(alone.objective, rel=1e-6) and result.details["engine"] == "conflicts"
    assert result.details["subproblems"] > 1 and result.details["proof_subproblems"] > 1  # how many is a matter of pace
    here, there = check_proof(path, stated), mo.check_proof(path, stated, cluster=client)
    assert here.valid and here.own_data and here == there, (here, there)
    assert here.bound >= alone.objective * (1.0 - 1e-6) * (1.0 - 1e-8) and here.nodes == result.details["proof_nodes"]
    with gzip.open(path, "rt") as file:
        lines = file.readlines()[:-1]
    leaf = max(k for k, line in enumerate(lines) if '"id"' in line and '"split"' not in line)
    named = json.loads(lines[leaf])["steps"][-1]
    number = named[1] if named[0] == "cut" else named[1][0][0]
    conflict = next(k for k, line in enumerate(lines) if f'"number": {number}}}' in line)
    weaker = json.loads(lines[conflict])
    weaker["alpha"] = [0.0 for _ in weaker["alpha"]]  # less may be enough: a conflict may prove more than it needs
    twice = [*lines[:-1], lines[conflict], lines[-1]]
    without = [line for k, line in enumerate(lines) if k != leaf]
    spoilt = [json.dumps(weaker) + "\n" if k == conflict else line for k, line in enumerate(lines)]
    lacking = [line for k, line in enumerate(lines) if k != conflict]
    for bad, says in ((without, "is missing"), (spoilt, "too little"), (lacking, "not there"), (twice, "two conflicts")):
        forged = _sealed(tmp_path / "forged.jsonl", bad)
        reports = check_proof(forged, stated), mo.check_proof(forged, stated, cluster=client)
        assert not any(report.valid for report in reports) and all(says in report.message for report in reports), reports


def test_a_cluster_proves_the_same_with_a_worker_killed(
    stated: mo.ZeroOneSVM, alone: mo.Result, short: None, cluster: DaskCluster, client: Any, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    arrived = list[int]()
    for owner in (conflict_engine.DistributedConflictEngine, conflict_proof.ProofPool):
        monkeypatch.setattr(owner, "add_result", _killing(owner.add_result, arrived, cluster))
    path = tmp_path / "proof.jsonl"
    result = mo.solve(stated, "zero-one-bb", engine="conflicts", threads=1, cluster=client, proof=str(path))
    assert result.status is mo.Status.OPTIMAL and result.bound >= alone.objective * (1.0 - 2e-6)
    assert len(arrived) > 6 and check_proof(path, stated).valid


def _killing(take_in: Any, arrived: list[int], cluster: DaskCluster) -> Any:
    def counted(self: Any, number: int, result: Any) -> None:
        arrived.append(number)
        if number == 3:  # once in the search, once in the proof
            cluster.add()
            kill(next(w for w in cluster.workers if w.poll() is None))
        take_in(self, number, result)

    return counted


def test_auto_takes_conflicts_on_a_cluster_where_there_are_many_coordinates(stated: mo.ZeroOneSVM, client: Any) -> None:
    limited = mo.solve(stated, "zero-one-bb", threads=1, cluster=client, node_limit=50)
    assert limited.details["engine"] == "conflicts" and limited.bound <= limited.objective


def test_targets_grow_to_the_cut() -> None:
    result, nodes = passes.PassTargets(10.0), 0
    targets = [result.target]
    for many in (20, 100, 400, 2000, 9000, 50_000):
        nodes += many
        result.advance(nodes, 10.0, True)
        targets.append(result.target)
    assert targets[0] == 5.0 and targets == sorted(targets) and targets[-1] == 10.0
    again = passes.PassTargets(10.0)
    again.advance(10, 10.0, False)
    assert again.target == 10.0
