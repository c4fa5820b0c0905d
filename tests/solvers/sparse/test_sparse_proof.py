"""Proof logs of sparse problems: every one is verified, and forged ones are refused."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import trials

import marginopt as mo
from marginopt.models.formulations.margin.problems import SparseProblem
from marginopt.solvers.exact.log_file import LogFile
from marginopt.solvers.exact.search import Incumbent, TreeLog, TreeSearch, solve_subproblem
from marginopt.solvers.proofs import check_proof
from marginopt.solvers.sparse import search as sparse_search
from marginopt.solvers.sparse.check import SparseChecker
from marginopt.solvers.sparse.search import SparseRule

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

LOSSES = ("hinge", "squared-hinge", "logistic")
Record = dict[str, Any]
#: Logs that are forged.
FORGED = trials(100, 1000)


def model(seed: int) -> mo.Margin:
    """Draw a problem; every third has a free intercept, some columns are binary or doubled."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(15, 40)), int(rng.integers(4, 9))
    X = rng.standard_normal((n, p))
    if seed % 4 == 1:
        X = (X > 0.0).astype(float)
    if seed % 4 == 2:
        X[:, 1] = X[:, 0]
    y = np.where(X[:, :2].sum(axis=1) + rng.standard_normal(n) > 0.3, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    free = seed % 3 == 0
    X = np.column_stack([np.ones(n), X + 2.0]) if free else X
    k, C = int(rng.integers(1, 4)), 10.0 ** rng.uniform(-1.0, 1.0)
    intercept: Any = "free" if free else "penalised"
    return mo.Margin(
        X, y, LOSSES[seed % 5 % 3], "half-l2", intercept=intercept, sample_weight=C, subject_to=[mo.at_most(k).nonzero]
    )  # fmt: skip


def sealed(path: Path, records: list[Record]) -> Path:
    """Write a log with a seal that fits."""
    lines = [json.dumps(record) + "\n" for record in records]
    seal = hashlib.sha256("".join(lines).encode()).hexdigest()
    path.write_text("".join(lines) + json.dumps({"sha256": seal}) + "\n")
    return path


def records_of(path: Path) -> list[Record]:
    """Return all records but the seal."""
    return [json.loads(line) for line in path.read_text().splitlines()][:-1]


@pytest.mark.parametrize("weak", [sparse_search._WEAK, 2.0])
@pytest.mark.parametrize("seed", range(trials(5, 15)))
def test_what_is_written_is_verified(seed: int, weak: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed or plain, with the model and without; another model's log is refused; few or many bounds of largest coefficients."""
    monkeypatch.setattr(sparse_search, "_WEAK", weak)
    path = tmp_path / ("a.log" if seed % 2 else "a.log.gz")
    stated = model(seed)
    result = mo.solve(stated, "sparse-bb", proof=str(path), tol=1e-5)
    report = check_proof(path, stated)
    assert report.valid, report
    assert report.own_data
    assert report.bound == result.bound
    assert report.gap <= 1.1e-5
    assert report.value == pytest.approx(result.objective, rel=1e-9)
    assert check_proof(path).valid
    assert not check_proof(path, model(seed + 1)).valid


def test_a_search_that_a_limit_ended_has_a_log_of_its_bound(tmp_path: Path) -> None:
    """The open nodes' bounds follow from their parents' dual points."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 25))
    y = np.where(X[:, :4].sum(axis=1) + rng.standard_normal(60) > 0.0, 1.0, -1.0)
    stated = mo.Margin(X, y, "hinge", "half-l2", sample_weight=1.0, subject_to=[mo.at_most(4).nonzero])
    for limit in (1, 5, 12):
        result = mo.solve(stated, "sparse-bb", proof=str(tmp_path / "a.log"), node_limit=limit)
        report = check_proof(tmp_path / "a.log", stated)
        assert report.valid, report
        assert report.bound == result.bound
        assert report.nodes == limit


@pytest.mark.parametrize("weak", [sparse_search._WEAK, 2.0])
def test_a_search_stops_and_continues_with_its_log(weak: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces of a few nodes: nodes, bound and point of one run, and one log of all."""
    monkeypatch.setattr(sparse_search, "_WEAK", weak)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 25))
    y = np.where(X[:, :4].sum(axis=1) + rng.standard_normal(60) > 0.0, 1.0, -1.0)
    stated = mo.Margin(X, y, "hinge", "half-l2", sample_weight=1.0, subject_to=[mo.at_most(4).nonzero])
    whole = mo.solve(stated, "sparse-bb", tol=1e-3)
    options: dict[str, Any] = {"tol": 1e-3, "checkpoint": str(tmp_path / "s.npz"), "proof": str(tmp_path / "a.log")}
    pieces = [mo.solve(stated, "sparse-bb", node_limit=limit, **options) for limit in (3, whole.nodes // 2)]
    assert [piece.status for piece in pieces] == [mo.Status.NODE_LIMIT] * 2
    last = mo.solve(stated, "sparse-bb", **options)
    assert last.status is mo.Status.OPTIMAL
    assert last.objective == pytest.approx(whole.objective, rel=1e-3)
    report = check_proof(options["proof"], stated)
    assert report.valid, report
    assert report.bound == last.bound
    assert report.nodes == last.nodes
    assert not list(tmp_path.glob("s.npz*"))


def _forge(rng: np.random.Generator, records: list[Record]) -> None:
    """Change one thing: a bound, a point, a record, a number of α, a decided feature, a split, a number of the problem."""
    nodes, kind = records[1:-1], int(rng.integers(10))
    record = nodes[int(rng.integers(len(nodes)))] if nodes else records[-1]
    if kind == 0 or not record.get("points"):
        records[-1]["bound"] *= 1.0 + 10.0 ** rng.uniform(-3, 0)
    elif kind == 1:
        del records[1 + int(rng.integers(len(nodes)))]
    elif kind == 2:
        point = record["points"][int(rng.integers(len(record["points"])))]
        numbers = np.frombuffer(base64.b64decode(point[1]), dtype="<i4").copy()
        numbers[int(rng.integers(numbers.size))] = int(rng.integers(-5, 2**31 - 1))
        point[1] = base64.b64encode(numbers.tobytes()).decode()
    elif kind == 3:
        record["points"][0][0] += int(rng.integers(1, 4)) * int(rng.choice([-1, 1]))
    elif kind == 4:
        record[str(rng.choice(["inside", "outside"]))].append(int(rng.integers(0, 9)))
    elif kind == 5:
        record["split"] = int(rng.integers(-3, 9))
    elif kind == 6:
        record[str(rng.choice(["id", "parent", "side"]))] = int(rng.integers(0, 12))
    elif kind == 7 and record["largest"]:
        record["largest"][0][int(rng.integers(4))] = float(rng.choice([0.0, 1.0, 3.0, -1.0, 0.3, math.inf]))
    elif kind == 8:
        t, places = float(rng.uniform(0.0, 3.0)), rng.integers(len(record["points"]), size=int(rng.integers(1, 20)))
        record["largest"] += [[int(place), code, t, t] for code, place in enumerate(places)]
    else:
        name = str(rng.choice(["costs", "price", "curvature", "lower"]))
        records[0][name][-1] = float(rng.uniform(0.0, 2.0))


@pytest.mark.parametrize("weak", [sparse_search._WEAK, 2.0])
def test_forged_logs_are_refused(weak: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim above the optimum is refused whatever is changed; one below it may hold, and no report is above the optimum."""
    monkeypatch.setattr(sparse_search, "_WEAK", weak)
    rng = np.random.default_rng(7)
    stated = [model(seed) for seed in range(12)]
    logs = []
    for i, problem in enumerate(stated):
        result = mo.solve(problem, "sparse-bb", proof=str(tmp_path / f"{i}.log"), tol=1e-6)
        logs.append((problem, result, records_of(tmp_path / f"{i}.log")))
    refused = 0
    for trial in range(FORGED):
        problem, result, records = logs[trial % len(logs)]
        forged = json.loads(json.dumps(records))
        _forge(rng, forged)
        if trial % 2:
            forged[-1]["bound"] = max(forged[-1]["bound"], result.objective * (1.0 + 10.0 ** rng.uniform(-6, -1)))
            forged[-1]["w"] = [0.0] * len(forged[-1]["w"])  # a worse point, so that the bound is not above its value
        report = check_proof(sealed(tmp_path / "forged.log", forged), problem)
        if trial % 2:
            assert not report.valid, (trial, report)
        refused += not report.valid
        assert not report.valid or report.bound <= result.objective * (1.0 + 1e-9), (trial, report)
    assert refused > 0.6 * FORGED


@pytest.mark.parametrize("text", ["", "{}", "[1]\n[2]\n[3]\n", '{"format": "marginopt-sparse-proof", "version": 3}\n'])
def test_a_damaged_log_is_a_verdict(text: str, tmp_path: Path) -> None:
    """No error is raised for a file that is no log."""
    (tmp_path / "a.log").write_text(text)
    assert not check_proof(tmp_path / "a.log").valid


def test_bounds_of_dual_points_hold_in_fractions() -> None:
    """A random dual point's bound, from the checker's own rule, is below the value of every point of the node."""
    from marginopt.solvers.sparse.check import NodeBounds, _bounds

    rng = np.random.default_rng(3)
    for seed in range(60):
        stated = SparseChecker().of_model(model(seed))
        p = stated.problem
        alpha = np.ldexp(np.floor(np.ldexp(rng.uniform(0.0, 1.0, p.costs.size) * p.costs, 20)), -20)
        if not p.counted.all():
            pair = [int(np.flatnonzero(side)[0]) for side in (p.A[:, 0] > 0.0, p.A[:, 0] < 0.0)]
            alpha = np.where(np.isin(np.arange(alpha.size), pair), alpha[pair].min(), 0.0)
        bounds = _bounds(p, np.abs(p.A).max(axis=0), alpha, alpha @ p.A)
        assert isinstance(bounds, NodeBounds)
        state = np.where(rng.random(p.price.size) < 0.3, rng.integers(1, 3, p.price.size), 0).astype(np.int8)
        if ((state == 1) & p.counted).sum() > p.max_nonzeros:
            assert bounds.node_bound(state) == math.inf
            continue
        with_feature, without_feature = bounds.child_bounds(state)
        for j in np.flatnonzero((state == 0) & p.counted):
            for value, child_bound in ((1, with_feature[j]), (2, without_feature[j])):
                child = state.copy()
                child[j] = value
                below = bounds.node_bound(child)
                assert child_bound <= below + 1e-12 * (1.0 + abs(below)) or below == math.inf
        for _ in range(5):
            allowed = np.flatnonzero((state != 2) & p.counted)
            support = np.union1d(np.flatnonzero((state == 1) & p.counted), allowed)[: p.max_nonzeros]
            if not set(np.flatnonzero((state == 1) & p.counted)) <= set(support):
                support = np.flatnonzero((state == 1) & p.counted)
            w = np.zeros(p.price.size)
            w[support] = rng.standard_normal(support.size)
            w[~p.counted] = rng.standard_normal()
            assert bounds.node_bound(state) <= float(stated.value(w.tolist()))


def test_bounds_of_the_largest_coefficient_hold_in_fractions() -> None:
    """φ of a random dual point is below the value of every point of the node, at the size of its largest coefficient."""
    from marginopt.solvers.sparse.check import _bounds
    from marginopt.solvers.sparse.dual import dual_point, feature_gains, largest_coefficient_interval

    rng = np.random.default_rng(5)
    compared = 0
    for seed in range(120):
        stated = SparseChecker().of_model(model(seed))
        p = stated.problem
        point = dual_point(p, rng.uniform(0.0, 1.0, p.costs.size) ** 2 * p.costs * float(rng.choice([0.1, 1.0])))
        bounds = _bounds(p, np.abs(p.A).max(axis=0), point.alpha, point.alpha @ p.A)
        gains = feature_gains(p, np.abs(p.A).max(axis=0), point)
        state = np.where(rng.random(p.price.size) < 0.3, rng.integers(1, 3, p.price.size), 0).astype(np.int8)
        held = np.flatnonzero((state == 1) & p.counted)
        if held.size > p.max_nonzeros:
            continue
        for _ in range(5):
            free = rng.permutation(np.flatnonzero((state == 0) & p.counted))[: p.max_nonzeros - held.size]
            support = np.concatenate([held, free])
            if not support.size:
                continue
            w = np.zeros(p.price.size)
            w[support] = rng.standard_normal(support.size) * 10.0 ** rng.uniform(-2.0, 1.0)
            w[~p.counted] = rng.standard_normal()
            j = int(support[np.argmax(np.abs(w[support]))])
            t, code, value = float(abs(w[j])), 2 * j + int(w[j] < 0.0), float(stated.value(w.tolist()))
            phi = bounds.largest_coefficient_bound(state, code)
            assert phi.value(t) <= value
            low, high = largest_coefficient_interval(p, gains, state, code, phi.value(t) + 1e-9 * (1.0 + abs(phi.value(t))))
            assert low <= t * (1.0 + 1e-6)
            assert t <= high * (1.0 + 1e-6)
            assert phi.excludes(low, high, phi.value(t))
            compared += 1
    assert compared > 200


def test_a_node_closed_by_its_largest_coefficients_needs_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log without these records is refused."""
    monkeypatch.setattr(sparse_search, "_WEAK", 2.0)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 40))
    y = np.where(X[:, :3].sum(axis=1) > 0.0, 1.0, -1.0)
    y[:5] *= -1.0
    stated = mo.Margin(X, y, "squared-hinge", "half-l2", sample_weight=10.0, subject_to=[mo.at_most(3).nonzero])
    mo.solve(stated, "sparse-bb", proof=str(tmp_path / "a.log"), tol=1e-4)
    records = records_of(tmp_path / "a.log")
    report = check_proof(tmp_path / "a.log", stated)
    assert report.valid, report
    assert any(record.get("largest") for record in records)
    without = [{**record, "largest": []} if "largest" in record else record for record in records]
    assert not check_proof(sealed(tmp_path / "b.log", without), stated).valid


def test_a_log_of_another_version_is_refused(tmp_path: Path) -> None:
    """The records of version 2 have one dual point each."""
    mo.solve(model(1), "sparse-bb", proof=str(tmp_path / "a.log"))
    records = records_of(tmp_path / "a.log")
    for version in (1, 2, 4):
        assert not check_proof(sealed(tmp_path / "b.log", [{**records[0], "version": version}, *records[1:]])).valid
    assert check_proof(sealed(tmp_path / "b.log", records), model(1)).valid


class _Crew:
    """Two verifiers in this process."""

    size = 2

    def run_all(self, job: Callable[[Any, int | None], Any], tasks: Iterable[Any]) -> list[Any]:
        return [job(pickle.loads(pickle.dumps(task)), None) for task in tasks]


def test_workers_continue_with_the_largest_coefficients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A subproblem whose sides are tried in part gives the value of one search, and a log that a crew verifies by subtrees."""
    monkeypatch.setattr(sparse_search, "_WEAK", 2.0)
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 20))
    y = np.where(X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(60) > 0.0, 1.0, -1.0)
    stated = mo.Margin(X, y, "squared-hinge", "half-l2", sample_weight=2.0, subject_to=[mo.at_most(3).nonzero])
    view = stated.view(SparseProblem)
    assert view is not None
    alone = TreeSearch(SparseRule(view), Incumbent(1e-4))
    while not alone.done:
        alone.process_node()
    search = TreeSearch(SparseRule(view), Incumbent(1e-4))
    header = {"format": SparseRule.format, "version": SparseRule.version, **search.rule.header()}
    search.log = TreeLog(LogFile(str(tmp_path / "a.log")), header)
    search.record_listener = search.log.append
    search.process_node()
    nodes = search.take_nodes(10)
    assert any(node.arrays["tried"].any() for node in nodes)
    result = solve_subproblem(pickle.loads(pickle.dumps(search.task(1, nodes, 300.0))), None)
    search.check_result(result)
    search.add_result(1, result)
    assert search.done
    assert search.incumbent.value == pytest.approx(alone.incumbent.value, rel=1e-4)
    assert search.explored == alone.explored
    search.log.finish(search.bound, search.incumbent.w)
    report = SparseChecker().check(tmp_path / "a.log", stated, _Crew())
    assert report.valid, report
    assert report.nodes == search.explored
    assert report.bound == search.bound == pytest.approx(alone.bound)
