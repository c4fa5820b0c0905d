"""Losses that are whole multiples of a step: what the box engine makes of it, and what a log may claim by it."""

import hashlib
import json

import numpy as np
import pytest

import marginopt as mo
from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.proofs import check_proof
from marginopt.solvers.zero_one.reduced import reduce_problem


def read(path):
    """The records of a log without its seal."""
    return [json.loads(line) for line in path.read_text().splitlines()][:-1]


def sealed(records):
    """The text of a log, with the seal that fits it."""
    text = "".join(json.dumps(record) + "\n" for record in records)
    return text + json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest()}) + "\n"


def tied(rng, n, p, values):
    """Whole-numbered features of few values, labels that contradict each other, repeated rows."""
    X = np.column_stack([np.ones(n), rng.integers(0, values, (n, p))]).astype(float)
    y = np.where(X[:, 1] + rng.normal(0.0, 0.8 * values, n) > values / 2, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def test_the_step_divides_every_cost_exactly():
    def step(weights):
        rows = np.random.default_rng(0).standard_normal((len(weights), 2))
        reduced = reduce_problem(ZeroOneProblem(rows, np.array(weights, dtype=float), np.ones(2, dtype=bool)))
        return reduced.step * reduced.unit

    assert step([0.1] * 5) == 0.1
    assert step([2.0, 3.0, 7.0]) == 1.0
    assert step([0.1, 0.2, 0.4]) == 0.1
    assert step([0.1, 0.3]) == 0.0  # 0.3 is not three times 0.1 in binary
    assert step([1.0, np.pi]) == 0.0


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """A problem with large costs, its log with rounds that weigh losses, its optimum."""
    path = tmp_path_factory.mktemp("levels") / "log.jsonl"
    X, y = tied(np.random.default_rng(3), 30, 3, 9)
    model = mo.ZeroOneSVM(X, y, 50.0, intercept="free")
    result = mo.solve(model, "zero-one-bb", engine="boxes", proof=str(path))
    assert result.status.name == "OPTIMAL"
    return model, path, result


def weighing(records):
    return [entry for record in records[1:-1] for entry in record["rounds"] if len(entry) > 5]


def test_logs_with_levels_are_accepted(logged):
    model, path, result = logged
    report = check_proof(path, model)
    assert weighing(read(path)), "no node was emptied by its levels"
    assert report.valid, report.message
    assert report.bound <= result.bound


def test_levels_save_nodes(logged, monkeypatch):
    model, _, result = logged
    monkeypatch.setattr("marginopt.solvers.zero_one.reduced.ReducedZeroOneProblem.step", 0.0)
    without = mo.solve(model, "zero-one-bb", engine="boxes", threads=1)
    assert without.nodes > result.nodes
    assert without.bound == pytest.approx(result.bound, rel=2e-6)


def forge(path, records, tmp_path):
    forged = tmp_path / "forged.jsonl"
    forged.write_text(sealed(records))
    return check_proof(forged)


def test_forged_levels_are_refused(logged, tmp_path):
    """A step that the costs are not multiples of, none at all, and a weight of losses below 1."""
    _, path, _ = logged
    for step in (75.0, 0.0, -50.0, float("nan")):
        records = read(path)
        records[0]["step"] = step
        assert not forge(path, records, tmp_path).valid
    for theta in (0.5, -1.0, float("inf")):
        records = read(path)
        for entry in weighing(records):
            entry[5] = theta
        assert not forge(path, records, tmp_path).valid


def test_other_weights_of_losses_prove_nothing_false(logged, tmp_path):
    """Whatever θ and multipliers a sealed log holds: a bound above the optimum is never believed."""
    _, path, result = logged
    rng = np.random.default_rng(0)
    for _ in range(20):
        records = read(path)
        records[-1]["bound"] *= 1.0 + 10.0 ** rng.uniform(-5, -2)
        for entry in weighing(records):
            entry[5] *= 10.0 ** rng.uniform(0, 3)
            entry[2] = [value * 10.0 ** rng.uniform(-1, 2) for value in entry[2]]
        report = forge(path, records, tmp_path)
        assert not report.valid or report.bound <= result.objective
