"""Proof logs: accepted when untouched, never believed beyond the truth when damaged."""

import json

import numpy as np
import pytest

from marginopt.errors import InputError
from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.options import Options
from marginopt.solvers.zeroone import ZeroOneBB
from marginopt.solvers.zeroone.check import check_proof


def problem_of(seed, n, p, free, lam):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = np.column_stack([np.ones(n), 0.4 * y[:, None] + 0.6 * rng.standard_normal((n, p))])
    penalised = np.ones(p + 1, dtype=bool)
    penalised[0] = not free
    return ZeroOneProblem(y[:, None] * X, lam * rng.uniform(0.5, 2.0, n), penalised)


def write(problem, path, seconds=30.0, **native):
    algorithm = ZeroOneBB(proof=str(path), **native)
    state = algorithm.init(problem, Options(), np.random.default_rng(0))
    outcome = algorithm.advance(state, 0.05)
    for _ in range(int(seconds / 0.05)):
        if outcome.name != "RUNNING":
            break
        outcome = algorithm.advance(state, 0.05)
    return outcome, algorithm.answer(state)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz"])
def test_logs_are_accepted(tmp_path, free, name):
    for seed in range(3):
        path = tmp_path / f"{seed}{name}"
        problem = problem_of(seed, 16, 1 + seed % 3, free, 10.0 ** (seed - 1))
        outcome, answer = write(problem, path)
        report = check_proof(path)
        assert outcome.name == "CONVERGED"
        assert report.valid, report.message
        assert report.bound == pytest.approx(answer.bound, rel=1e-8)
        assert report.bound <= answer.bound
        assert report.value == pytest.approx(problem.objective(answer.values["w"]), rel=1e-14)
        assert report.gap <= 1.1e-6


def test_interrupted_search_proves_the_bound_that_it_had(tmp_path):
    problem = problem_of(7, 60, 3, True, 3.0)
    algorithm = ZeroOneBB(proof=str(tmp_path / "log"))
    state = algorithm.init(problem, Options(node_limit=60), np.random.default_rng(0))
    while algorithm.advance(state, 0.05).name == "RUNNING":
        pass
    answer = algorithm.answer(state)
    report = check_proof(tmp_path / "log")
    assert answer.nodes == 60
    assert report.valid, report.message
    assert 0 < report.bound < report.value


def best_value(log):
    """The optimum of the problem that a log states, by the solver itself on the log's own data."""
    header = log[0]
    problem = ZeroOneProblem(np.array(header["A"]), np.array(header["weights"]), np.array(header["penalised"]))
    algorithm = ZeroOneBB(engine="conflicts", restarts=5)
    state = algorithm.init(problem, Options(tol=1e-9), np.random.default_rng(0))
    while algorithm.advance(state, 1.0).name == "RUNNING":
        pass
    return algorithm.measure(state).objective


def damage(rng, log):
    """A log with one random change; returns what was done."""
    log = json.loads(json.dumps(log))
    nodes = list(range(1, len(log) - 1))
    record = log[int(rng.choice(nodes))]
    kind = str(rng.choice(["bound", "drop", "clear", "alpha", "split", "weight", "row", "incumbent", "parent", "T", "cut"]))
    if kind == "bound":
        log[-1]["bound"] *= 1 + 10 ** rng.uniform(-5.5, 1)
    elif kind == "drop":
        log.remove(record)
    elif kind == "clear":
        record["rounds"] = []
    elif kind == "alpha":
        for entry in record["rounds"]:
            entry[2] = [a * float(rng.choice([0.0, 0.1, 10.0, -1.0])) for a in entry[2]]
    elif kind == "split" and "split" in record:
        record["split"][1] += float(rng.normal())
    elif kind == "weight":
        log[0]["weights"][int(rng.integers(len(log[0]["weights"])))] *= 0.3
    elif kind == "row":
        log[0]["A"][int(rng.integers(len(log[0]["A"])))][1] *= -2.0
    elif kind == "incumbent":
        log[-1]["w"] = [0.99 * x for x in log[-1]["w"]]
    elif kind == "parent":
        record["parent"] = int(rng.integers(len(nodes)))
    elif kind == "T":
        log[0]["T"][int(rng.integers(len(log[0]["T"])))][0] *= 1.5
    else:
        log = log[: int(rng.integers(1, len(log)))]
    return kind, log


@pytest.mark.parametrize("free", [False, True])
def test_damaged_logs_prove_nothing_false(tmp_path, free):
    """Whatever is done to a log, what the checker then accepts is true of the problem that the log states."""
    path = tmp_path / "log"
    write(problem_of(11, 12, 2, free, 2.0), path)
    log = [json.loads(line) for line in path.read_text().splitlines()]
    assert check_proof(path).valid
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(40):
        kind, bad = damage(rng, log)
        path.write_text("\n".join(json.dumps(record) for record in bad))
        report = check_proof(path)
        refused += not report.valid
        if kind in ("bound", "cut"):
            assert not report.valid, kind
        if report.valid:
            assert report.bound <= best_value(bad) * (1 + 2e-9), kind
    assert refused >= 20


def test_unreadable_files_are_reported(tmp_path):
    missing = check_proof(tmp_path / "nothing")
    assert not missing.valid and "cannot be read" in missing.message
    (tmp_path / "text").write_text("not a log\n")
    assert not check_proof(tmp_path / "text").valid
    (tmp_path / "other").write_text('{"format": "something"}\n{"bound": 1}\n')
    assert "not a proof log" in check_proof(tmp_path / "other").message


def test_a_proof_needs_the_box_engine_and_a_path_that_can_be_written(tmp_path):
    with pytest.raises(InputError, match="box engine"):
        ZeroOneBB(engine="conflicts", proof=str(tmp_path / "log"))
    with pytest.raises(InputError, match="can be written"):
        write(problem_of(0, 8, 1, False, 1.0), tmp_path / "no" / "folder")
