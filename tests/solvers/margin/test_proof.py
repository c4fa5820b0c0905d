"""Proof logs of `margin-bb`: every one is verified, and no log proves more than the optimum, whatever is in it."""

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
from facts import about
from rational.draws import drawn

import marginopt as mo
from marginopt import margin
from marginopt.models.views import MarginProblem, PiecewiseLinearLoss
from marginopt.solvers.margin import MarginBB
from marginopt.solvers.margin.check.logged_problem import LoggedMarginProblem, exact_value
from marginopt.solvers.proofs import check_proof
from marginopt.solvers.records import Status

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

Record = dict[str, Any]
Forgery = Callable[[list[Record], np.random.Generator], None]

ATOMS = np.array([[1.0, 0.3], [-0.5, 2.0], [1.5, 1.0], [0.2, -0.7]])
REGULARISERS = ("l2", "l1", margin.ElasticNet(0.3, 0.7), margin.KernelWeightsL1(ATOMS, 0.4))
STEPS = margin.PiecewiseLinear(((-1.0, 3.0), (0.0, 2.0), (1.0, 1.5), (1.0, 0.0), (2.0, 0.0)))
LOSSES = ("zero-one", margin.Ramp(), margin.Ramp(1.0, 0.5), STEPS, margin.Ramp(2.0, 2.0, second_width=3.0))


def restricted(seed: int, y: np.ndarray) -> Record:
    """By turns nothing, a box and a row, integers and a kept point, budgets of both classes, and a number of coefficients."""
    box, first = margin.Box(-4.0, 3.0), int(np.flatnonzero(y > 0.0)[0])
    kinds: list[Record] = [
        {},
        {"domain": box, "subject_to": margin.LinearRows([[0.0, 1.0, -1.0]], lower=0.25)},
        {"domain": margin.Integers(-3, 3), "subject_to": mo.keep([first])},
        {"domain": box, "subject_to": [mo.error_budget(1, 0.5), mo.error_budget(-1, 0.7)]},
        {"domain": box, "subject_to": mo.at_most(1).nonzero},
    ]
    return kinds[seed // 2 % len(kinds)]


def model(seed: int) -> mo.Margin:
    """All regularisers, losses and restrictions by turns, either intercept, some points twice, some without a cost."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 16))
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    X[1] = X[0]
    y = np.where(X[:, 1] + rng.normal(size=n) > 0, 1.0, -1.0)
    weights = rng.choice([0.0, 0.5, 2.0, 7.0], n) * 10.0 ** rng.integers(-1, 2)
    regulariser = REGULARISERS[seed % 4]
    intercept = "free" if isinstance(regulariser, margin.KernelWeightsL1) or seed % 2 else "penalised"
    return mo.Margin(X, y, LOSSES[seed % 5], regulariser, sample_weight=weights, intercept=intercept, **restricted(seed, y))


def records_of(path: Path) -> list[Record]:
    """Header, nodes and claim."""
    return [json.loads(line) for line in path.read_text().splitlines()[:-1]]


def sealed(path: Path, records: list[Record]) -> Path:
    """A log with a seal that fits."""
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.write_text(text + json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest()}) + "\n")
    return path


def test_a_box_of_two_neighbouring_numbers_is_verified(tmp_path: Path) -> None:
    """Its middle is one of its ends: the squares of a round vanish at the other one."""
    path = tmp_path / "log"
    problem = drawn(200901658884).model  # rows leave [.5, .5 + 2⁻⁵³] of w
    result = mo.solve(problem, MarginBB(proof=str(path)), tol=1e-6)
    report = check_proof(path, problem)
    assert result.status is Status.OPTIMAL
    assert report.valid


@pytest.mark.parametrize("seed", range(trials(5, 24)))
def test_what_is_written_is_verified(seed: int, tmp_path: Path) -> None:
    path = tmp_path / ("a.log" if seed % 2 else "a.log.gz")
    limit = 400 if seed % 3 else 1 + seed
    stated = model(seed)
    result = mo.solve(stated, "margin-bb", proof=str(path), node_limit=limit)
    report = mo.check_proof(path, stated)
    assert report.valid and report.own_data, report
    assert report.bound == pytest.approx(result.bound, rel=1e-7, abs=1e-12)
    assert result.objective <= report.value * (1.0 + 1e-9)
    if limit == 400:  # an end of the search, which polishing hardly changes
        assert report.value <= result.objective * (1.0 + 1e-6)
    assert mo.check_proof(path) == check_proof(path) and mo.check_proof(path).valid
    assert not mo.check_proof(path, model(seed + 1)).valid


def worse(claim: Record, stated: LoggedMarginProblem, rng: np.random.Generator) -> float:
    """Another incumbent, of more than one and a half times the cost; the cost of the first."""
    w, combination = np.array(claim["w"]), np.array(claim["combination"])
    best = exact_value(stated, claim["w"], claim["combination"])
    for k in range(60):
        claim["w"] = (w + 1.5**k * rng.normal(size=w.size)).tolist()
        claim["combination"] = (combination + 1.5**k * rng.normal(size=combination.size)).tolist()
        if exact_value(stated, claim["w"], claim["combination"]) > 1.5 * best:
            return best
    pytest.fail("no such point")


def _node(records: list[Record], rng: np.random.Generator) -> int:
    """Any node; where the only one was taken away, the claim."""
    return int(rng.integers(1, max(2, len(records) - 1)))


def _nothing(records: list[Record], rng: np.random.Generator) -> None:
    """The claim alone is false."""


def _without_a_node(records: list[Record], rng: np.random.Generator) -> None:
    del records[_node(records, rng)]


def _unsplit(records: list[Record], rng: np.random.Generator) -> None:
    records[_node(records, rng)].pop("split", None)


def _split_elsewhere(records: list[Record], rng: np.random.Generator) -> None:
    record = records[_node(records, rng)]
    if "split" in record:
        record["split"][1] += float(rng.normal())


def _round(records: list[Record], rng: np.random.Generator) -> Record:
    rounds = [entry for record in records[1:-1] for entry in record.get("rounds", []) if "p" in entry]
    return rounds[int(rng.integers(len(rounds)))] if rounds else {"p": [], "alpha": [], "box": [[], []], "pairs": []}


def _longer_polar(records: list[Record], rng: np.random.Generator) -> None:
    entry = _round(records, rng)
    entry["p"] = [10.0 * x + float(rng.normal()) for x in entry["p"]]


def _larger_multipliers(records: list[Record], rng: np.random.Generator) -> None:
    entry = _round(records, rng)
    entry["alpha"] = [[i, 1e6 * alpha] for i, alpha in entry["alpha"]]


def _smaller_box(records: list[Record], rng: np.random.Generator) -> None:
    entry = _round(records, rng)
    entry["box"] = [[0.1 * x for x in side] for side in entry["box"]]


def _negative_spending(records: list[Record], rng: np.random.Generator) -> None:
    _round(records, rng)["spend"] = -(10.0 ** float(rng.uniform(-2, 4)))


def _pairs_twice(records: list[Record], rng: np.random.Generator) -> None:
    entry = _round(records, rng)
    entry["pairs"] = [*entry["pairs"], *entry["pairs"]]


def _lower_cut(records: list[Record], rng: np.random.Generator) -> None:
    records[0]["cut"] = 0.0
    _round(records, rng)["cut"] = -1.0


def _other_coordinates(records: list[Record], rng: np.random.Generator) -> None:
    T = np.array(records[0]["T"])
    records[0]["T"] = (T + 10.0 ** rng.uniform(-14, 0) * rng.normal(size=T.shape) * (T != 0)).tolist()


FORGERIES: list[Forgery] = [
    _nothing, _without_a_node, _unsplit, _split_elsewhere, _longer_polar, _larger_multipliers, _smaller_box, _negative_spending,
    _pairs_twice, _lower_cut, _other_coordinates,
]  # fmt: skip


@pytest.mark.parametrize("seed", range(trials(4, 8)))
def test_logs_of_too_much_are_refused(seed: int, tmp_path: Path) -> None:
    """The claim is above the optimum and below the incumbent's value, so it is false whatever else the log says."""
    stated = model(seed)
    mo.solve(stated, "margin-bb", proof=str(tmp_path / "a.log"), node_limit=16)
    text = json.dumps(records_of(tmp_path / "a.log"))
    rng = np.random.default_rng(seed)
    for k in range(trials(26, 130)):
        records = json.loads(text)
        best = worse(records[-1], LoggedMarginProblem.of_log(records[0]), rng)
        records[-1]["bound"] = best * (1.0 + 10.0 ** rng.uniform(-5, -0.5))
        FORGERIES[k % len(FORGERIES)](records, rng)
        for _ in range(k // trials(10, 50)):
            FORGERIES[int(rng.integers(len(FORGERIES)))](records, rng)
        report = mo.check_proof(sealed(tmp_path / "b.log", records), stated)
        assert not report.valid, (k, report)
        assert report.message


def _other_data(records: list[Record], rng: np.random.Generator) -> None:
    records[0]["A"][int(rng.integers(len(records[0]["A"])))][1] += 1


def _other_cost(records: list[Record], rng: np.random.Generator) -> None:
    records[0]["costs"][int(rng.integers(len(records[0]["costs"])))] += 1


def _other_ramp(records: list[Record], rng: np.random.Generator) -> None:
    records[0]["loss"]["below"][0] += 1


def _above_the_incumbent(records: list[Record], rng: np.random.Generator) -> None:
    records[-1]["bound"] *= 1.01


def _no_number(records: list[Record], rng: np.random.Generator) -> None:
    records[-1]["bound"] = math.nan


def _short_point(records: list[Record], rng: np.random.Generator) -> None:
    records[-1]["w"] = records[-1]["w"][:-1]


@pytest.mark.parametrize(
    "forge", [_other_data, _other_cost, _other_ramp, _above_the_incumbent, _no_number, _short_point], ids=lambda f: f.__name__[1:]
)
def test_a_log_of_something_else_is_refused(forge: Forgery, tmp_path: Path) -> None:
    stated = model(1)
    mo.solve(stated, "margin-bb", proof=str(tmp_path / "a.log"))
    records = records_of(tmp_path / "a.log")
    forge(records, np.random.default_rng(0))
    report = mo.check_proof(sealed(tmp_path / "b.log", records), stated)
    assert not report.valid and report.message


def test_a_broken_seal_and_no_log_at_all(tmp_path: Path) -> None:
    mo.solve(model(1), "margin-bb", proof=str(tmp_path / "a.log"))
    text = (tmp_path / "a.log").read_text()
    (tmp_path / "b.log").write_text(text.replace('"version": 2', '"version":  2'))
    assert "seal" in mo.check_proof(tmp_path / "b.log").message
    (tmp_path / "c.log").write_text("".join(text.splitlines(keepends=True)[:-2]))
    assert not mo.check_proof(tmp_path / "c.log").valid
    assert not check_proof(tmp_path / "none.log").valid
    with pytest.raises(mo.errors.InputError, check=about("proof")):
        mo.solve(model(1), "margin-bb", proof=3)
    with pytest.raises(mo.errors.InputError, check=about("model")):
        mo.check_proof(tmp_path / "a.log", mo.HingeSVM(np.eye(2), np.array([1.0, -1.0])))


@pytest.mark.parametrize("seed", range(12))
def test_the_value_is_the_objective(seed: int) -> None:
    """Of squares and L1."""
    rng = np.random.default_rng(seed)
    A, costs = rng.normal(size=(5, 2)), rng.random(5)
    curvature, mu = rng.random(2), float(rng.random())
    loss = PiecewiseLinearLoss.ramp(2.0, 1.5, 3.0 if seed % 2 else math.inf)
    problem = MarginProblem.unrestricted(A, costs, loss, curvature, np.eye(2) / mu, intercept=False)
    w = rng.normal(size=2)
    expected = float(curvature @ w**2 + mu * np.abs(w).sum() + costs @ loss.values(A @ w))
    assert exact_value(problem, w.tolist(), (w * mu).tolist()) == pytest.approx(expected, rel=1e-12)
