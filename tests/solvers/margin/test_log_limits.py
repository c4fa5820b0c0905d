"""Proof logs: what counts as met, numbers of nodes, claims of infeasibility, formats that are none, and logs that are bombs."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginopt as mo
from marginopt import check_proof, margin
from marginopt.models.views import MarginProblem, PiecewiseLinearLoss
from marginopt.solvers import Status
from marginopt.solvers.margin.check.logged_problem import exact_value


def _sealed(records: list[dict[str, Any]]) -> str:
    text = "".join(json.dumps(record) + "\n" for record in records)
    return text + json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest()}) + "\n"


def _problem() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = np.c_[np.ones(12), rng.normal(size=(12, 2))]
    return X, np.where(X[:, 1] + rng.normal(size=12) > 0.0, 1.0, -1.0)


def test_large_terms_that_cancel_keep_no_point() -> None:
    rows = np.array([[1e10, 1e10], [-1e10, -1e10], [1.0, -1.0]])
    for corner in (1.0, 2.5, 0.0):
        problem = MarginProblem.unrestricted(
            rows, np.array([3.0, 5.0, 7.0]), PiecewiseLinearLoss.zero_one(corner), np.ones(2), np.zeros((0, 2)), intercept=False
        )
        # margins 0, 0 and 4, of terms of 2e10: only the third is beyond a corner above 0
        assert exact_value(problem, [2.0, -2.0], []) == 8.0 + (8.0 if corner > 0.0 else 0.0)
        # a margin that is short by half a billionth of its corner is met, by two billionths it is not
        for short, cost in ((5e-10, 15.0 - 7.0), (2e-9, 15.0)):
            w = 0.5 * corner * (1.0 - short)
            value = exact_value(problem, [w, -w], [])
            assert value == pytest.approx(2 * w * w + (cost if corner > 0.0 else 0.0), rel=1e-9)
    sets = {"rows": np.array([[1.0, 1.0]]), "row_lower": np.array([1.0])}
    problem = MarginProblem.unrestricted(
        rows, np.ones(3), PiecewiseLinearLoss.zero_one(1.0), np.ones(2), np.zeros((0, 2)), intercept=False
    )
    limited = MarginProblem(**{**vars(problem), **sets})
    assert exact_value(limited, [2e10, -2e10], []) == np.inf  # 0 ≥ 1 is not met by terms of 2e10


def test_nodes_are_counted_and_not_read(tmp_path: Path) -> None:
    X, y = _problem()
    model = mo.Margin(X, y, "zero-one", "half-l2", sample_weight=0.7)
    path = tmp_path / "log"
    result = mo.solve(model, "margin-bb", proof=str(path))
    before = check_proof(path, model)
    assert result.status is Status.OPTIMAL and before.valid and before.nodes >= 1
    records = [json.loads(line) for line in path.read_text().splitlines()[:-1]]
    for record in records:
        if "id" in record:
            record["id"] *= 10**6
            record["parent"] *= 10**6
    path.write_text(_sealed(records))
    assert check_proof(path, model).valid and check_proof(path, model).nodes == before.nodes


@pytest.mark.parametrize(("loss", "regulariser"), [("zero-one", "half-l2"), ("ramp", "l1"), ("hinge", "none")])
def test_an_infeasible_problem_leaves_a_log_that_claims_so(loss: str, regulariser: str, tmp_path: Path) -> None:
    X, y = _problem()
    nothing = [margin.error_budget(1, 0.0), margin.error_budget(-1, 0.0)]
    for domain in (margin.Box(-1.0, 1.0), "integers"):
        model = mo.Margin(X, y, loss, regulariser, domain=domain, subject_to=nothing)
        result = mo.solve(model, "margin-bb", proof=str(tmp_path / "log"))
        assert result.status is Status.INFEASIBLE
        report = check_proof(tmp_path / "log", model)
        assert report.valid and report.bound == np.inf and report.value == np.inf and report.own_data


def test_an_exact_search_that_leaves_no_point_proves_infeasibility(tmp_path: Path) -> None:
    """No Farkas multipliers do: the continuous relaxation has points. A stored result is a claim again, with its model too."""
    X, y = np.array([[1.0, 1, 1], [1, -1, -1], [1, 1, -1], [1, -1, 1]]), np.array([1.0, 1, -1, -1])
    restrictions = [mo.at_most(1).nonzero, mo.error_budget([0, 1, 2, 3], 0.4)]
    model = mo.Margin(X, y, "zero-one", "half-l2", domain=margin.Box(-2.0, 2.0), subject_to=restrictions)
    result = mo.solve(model, "margin-bb")
    assert result.status is Status.INFEASIBLE and not result.ray_proved
    assert result.status_kind == "proved" and "proved: " in result.evidence
    stored = mo.io.load_result(result.save(tmp_path / "r.npz"), model)
    assert stored.status_kind == "claimed by solver" and "proved: " not in stored.evidence
    twice = np.array([[1.0, 0], [1, 1], [1, 0], [1, 1]]), [1, -1, -1, 1]  # every point is there with either label
    endless = mo.solve(mo.Margin(*twice, "zero-one", "half-l2", subject_to=restrictions[1:]), "margin-bb")
    assert endless.status is Status.INFEASIBLE and endless.status_kind == "claimed by solver"


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", "null", "7", '"x"', "{}", '{"format": []}', '{"format": {"a": 1}}', '{"format": "marginopt"}',
     '{"format": "marginopt-margin-prooF", "version": 2}', '{"format": 1e999}', "[" * 100_000],
)  # fmt: skip
def test_a_damaged_format_line_is_reported_whatever_the_model(line: str, tmp_path: Path) -> None:
    X, y = _problem()
    models = (mo.Margin(X, y, "hinge", "half-l2"), mo.ZeroOneSVM(X, y), mo.HingeSVM(X, y), None)
    path = tmp_path / "log"
    for text in (line, line + "\n", line + '\n{"bound": 1.0, "w": null}\n{"sha256": ""}\n'):
        path.write_text(text)
        for model in models:
            report = check_proof(path, model)
            assert not report.valid and report.nodes == 0 and report.message
    path.write_bytes(b"\xff\xfe\x00" + line.encode())
    assert not check_proof(path, models[0]).valid
    assert not check_proof(tmp_path / "nothing", models[0]).valid


_MEASURE = """
import resource, sys
from marginopt import check_proof
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    report = check_proof(path)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(report.valid, (after - before) / 1024)
"""


def test_small_packed_logs_stay_small_in_the_memory(tmp_path: Path) -> None:
    """The largest memory of one process that checks them all."""
    bombs = {"lists": "[]," * 4_000_000, "numbers": "1.5," * 8_000_000, "text": '"' + "x" * 100_000_000 + '"'}
    logs = [("margin", "lists"), ("margin", "numbers"), ("margin", "text"), ("zero-one", "numbers"), ("scoring", "lists")]
    paths = [tmp_path / f"{kind} {bomb}.gz" for kind, bomb in logs]
    for (kind, bomb), path in zip(logs, paths, strict=True):
        with gzip.open(path, "wb", compresslevel=1) as file:
            file.write(f'{{"format": "marginopt-{kind}-proof", "version": 2, "A": [{bombs[bomb]}0]}}\n'.encode())
        assert path.stat().st_size < 700_000
    words = [sys.executable, "-c", _MEASURE, *map(str, paths)]
    ran = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    measured = [line.split() for line in ran.stdout.splitlines()]
    assert len(measured) == len(logs) and all(valid == "False" and float(megabytes) < 200.0 for valid, megabytes in measured), (
        measured
    )


@pytest.mark.parametrize("nodes", [3, 7, 11])
def test_a_log_without_an_incumbent_claims_no_more_than_its_nodes_prove(tmp_path: Path, nodes: int) -> None:
    """Equal points of both classes can't be kept; the cutoff, of all points of the domain, is a million times the bound."""
    X, y = np.array([[1.0, 0.5, 0.0], [1.0, 0.5, 0.0]]), np.array([-1.0, 1.0])
    model = mo.Margin(
        X, y, mo.margin.Ramp(1.0, 3.0), mo.margin.ElasticNet(0.5, 0.75), sample_weight=np.array([1.25, 2.0]),
        domain=mo.margin.Signs((0, 0, 1)), subject_to=[mo.margin.ErrorBudget(1, 0.5), mo.keep([0, 1])],
    )  # fmt: skip
    result = mo.solve(model, "margin-bb", proof=str(tmp_path / "p.log"), node_limit=nodes)
    report = mo.check_proof(tmp_path / "p.log", model)
    assert report.valid and 0.0 < report.bound <= result.bound
