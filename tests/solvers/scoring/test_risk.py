"""Risk scores (RiskSLIM): the logistic loss over whole coefficients, against enumeration, with proved bounds."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import trials
from facts import about

import marginopt as mo
from marginopt.errors import InputError, UnsupportedModelError
from marginopt.models.formulations.margin.problems import RiskProblem
from marginopt.solvers import Status
from marginopt.solvers.scoring.risk import RiskRule
from marginopt.solvers.scoring.risk_check import RiskBounds

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

LOWER, UPPER, OFFSETS = -2, 3, (-4, 5)


def drawn(seed: int) -> mo.ScoringSystem:
    """Binary, whole and heavy-tailed columns, repeated rows, weights, limits and prices, zero among them."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 40)), int(rng.integers(1, 4))
    kind = seed % 3
    Z = rng.integers(0, 2, (n, d)) if kind == 0 else rng.integers(-3, 4, (n, d)) if kind == 1 else rng.standard_t(2, (n, d))
    X = np.column_stack([np.ones(n), Z.astype(np.float64)])
    y = np.where(X[:, 1] + rng.normal(size=n) > 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return mo.ScoringSystem(
        X, y, (LOWER, UPPER), intercept_range=OFFSETS, max_features=None if seed % 2 else int(rng.integers(0, d + 1)),
        C0=float(rng.choice([0.0, 0.001, 0.02, 0.1])), C1=float(rng.choice([0.0, 0.003])),
        sample_weight=rng.choice([0.0, 0.5, 3.0], n) if seed % 4 == 0 else 1.0, loss="logistic",
    )  # fmt: skip


def enumerated(model: mo.ScoringSystem) -> float:
    n, p = model.X.shape
    grid = itertools.product(range(OFFSETS[0], OFFSETS[1] + 1), *[range(LOWER, UPPER + 1)] * (p - 1))
    rho = np.array(list(grid), dtype=np.float64)
    used = np.count_nonzero(rho[:, 1:], axis=1)
    losses = np.logaddexp(0.0, -(rho @ (model.X * model.y[:, None]).T)) @ np.broadcast_to(model.sample_weight, n)
    values = losses + n * float(model.C0) * used + n * float(model.C1 or 0.0) * np.abs(rho[:, 1:]).sum(axis=1)
    return float(values[used <= (p if model.max_features is None else model.max_features)].min())


@pytest.mark.parametrize("seed", range(trials(8, 24)))
def test_the_optimum_is_that_of_enumeration_and_the_bound_is_proved(seed: int) -> None:
    model = drawn(seed)
    best = enumerated(model)
    result = mo.solve(model, "risk-bb")
    assert result.status is Status.OPTIMAL and result.bound_kind == "proved"
    assert result.objective == pytest.approx(best, rel=1e-6)
    assert best * (1 - 1e-6) - 1e-9 <= result.bound <= best * (1 + 1e-12) + 1e-12
    w = result.values["w"]
    assert np.array_equal(w, np.rint(w)) and (w[1:] >= LOWER).all() and (w[1:] <= UPPER).all()
    assert model.objective(w) == pytest.approx(result.objective, rel=1e-12)


@pytest.mark.parametrize("seed", range(trials(6, 12)))
def test_every_box_s_bound_is_below_every_point_in_it(seed: int) -> None:
    """Any weights bound a box, those of points that are no minimiser too; the checker's bound is not below the search's."""
    model, rng = drawn(seed), np.random.default_rng(seed)
    view = model.view(RiskProblem)
    assert view is not None
    rule = RiskRule(view.with_merged_points)
    d = view.lower.size
    for _ in range(30):
        lower, upper = np.sort(rng.integers(LOWER, UPPER + 1, (2, d + 1)), axis=0).astype(np.float64)
        alpha = rng.uniform(size=rule.A.shape[0]) * rule.problem.weights
        bound = rule.bound_at(alpha, lower, upper)
        checked = RiskBounds.of(rule.problem, rule.A, alpha).bound(lower, upper)
        assert checked >= bound
        for _ in range(20):
            rho = np.array([rng.integers(a, b + 1) for a, b in zip(lower, upper, strict=True)], dtype=np.float64)
            if np.count_nonzero(rho[1:]) <= view.max_nonzeros:
                losses = np.logaddexp(0.0, -view.y * (rho[0] + view.X @ rho[1:])) @ view.weights
                assert checked <= losses + rule.price(rho) + 1e-12


def logged(seed: int, path: Path) -> tuple[mo.ScoringSystem, mo.Result]:
    model = drawn(seed)
    return model, mo.solve(model, "risk-bb", proof=str(path))


@pytest.mark.parametrize("seed", range(trials(6, 12)))
def test_what_is_written_is_verified(seed: int, tmp_path: Path) -> None:
    path = tmp_path / ("a.log" if seed % 2 else "a.log.gz")
    model, result = logged(seed, path)
    report = mo.check_proof(path, model)
    assert report.valid, report
    assert report.own_data and result.answer.proof == str(path)
    assert report.bound <= result.objective <= report.value * (1 + 1e-15) and report.bound <= enumerated(model) * (1 + 1e-12)
    assert mo.check_proof(path) == replace(report, own_data=False)
    assert not mo.check_proof(path, drawn(seed + 1)).valid


def _forged(records: list[dict[str, Any]], rng: np.random.Generator) -> None:
    """Change one thing: a bound, a split, a range, a multiplier, a node that goes, a datum."""
    nodes = records[1:-1]
    node = nodes[int(rng.integers(len(nodes)))]
    kind = int(rng.integers(7))
    if kind == 0:
        records[-1]["bound"] += abs(records[-1]["bound"]) * 10.0 ** rng.uniform(-5, 1) + 1e-3
    elif kind == 1:
        node["split"], node["cuts"] = -1, []
    elif kind == 2 and node["cuts"]:
        del node["cuts"][int(rng.integers(len(node["cuts"])))]
    elif kind == 3:
        node["exponent"] += int(rng.choice([-4, -1, 1, 4]))
    elif kind == 4:
        records.remove(node)
    elif kind == 5:
        records[-1]["w"][int(rng.integers(len(records[-1]["w"])))] += 1.0
    else:
        records[0]["price"] += 0.5


def test_forged_logs_prove_nothing_above_the_optimum(tmp_path: Path) -> None:
    """Whatever is changed, a log that is accepted for the model claims no more than its optimum."""
    refused = 0
    for seed in range(8):
        path = tmp_path / f"{seed}.log"
        model, _ = logged(seed, path)
        best, rng = enumerated(model), np.random.default_rng(seed)
        lines = path.read_text().splitlines()[:-1]
        for _ in range(25):
            records = [json.loads(line) for line in lines]
            _forged(records, rng)
            text = "".join(json.dumps(record) + "\n" for record in records)
            path.write_text(text + json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest()}) + "\n")
            report = mo.check_proof(path, model)
            refused += not report.valid
            assert not report.valid or report.bound <= best * (1 + 1e-12)
    assert refused >= 100


def test_a_search_stops_and_continues_with_its_log(tmp_path: Path) -> None:
    model, path = drawn(4), tmp_path / "a.log"
    options = {"checkpoint": str(tmp_path / "a.npz"), "proof": str(path)}
    first = mo.solve(model, "risk-bb", node_limit=2, **options)
    assert first.status is Status.NODE_LIMIT and mo.check_proof(path, model).valid
    second = mo.solve(model, "risk-bb", **options)
    assert second.status is Status.OPTIMAL and second.objective == pytest.approx(enumerated(model), rel=1e-6)
    assert mo.check_proof(path, model).valid and not (tmp_path / "a.npz").exists()


@pytest.mark.parametrize("seed", [0, 1])
def test_scip_agrees_by_exponential_cones(seed: int) -> None:
    pytest.importorskip("pyscipopt", reason="PySCIPOpt is not installed")
    model = drawn(seed)
    ours, other = mo.solve(model, "risk-bb"), mo.solve(model, "scip", tol=1e-5)
    assert other.objective == pytest.approx(ours.objective, rel=1e-4) and other.bound_kind == "claimed by solver"


def test_limits_leave_a_valid_bound() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(200), rng.integers(0, 2, (200, 8))]).astype(np.float64)
    y = np.where(X[:, 1:] @ rng.normal(size=8) + rng.normal(size=200) > 0, 1.0, -1.0)
    model = mo.ScoringSystem(X, y, (-5, 5), max_features=4, C0=0.001, loss="logistic")
    short, longer = (mo.solve(model, "risk-bb", node_limit=limit) for limit in (5, 60))
    assert short.status is Status.NODE_LIMIT and short.bound_kind == "proved"
    assert short.bound <= longer.bound <= longer.objective <= short.objective
    started = mo.solve(model, "risk-bb", node_limit=5, start={"w": longer.values["w"]})
    assert started.objective <= longer.objective


def test_a_start_that_does_not_fit_and_another_loss_are_refused() -> None:
    model = drawn(1)
    with pytest.raises(InputError):
        mo.solve(model, "risk-bb", start={"w": np.zeros(1)})
    with pytest.raises(InputError, check=about("loss")):
        mo.ScoringSystem(model.X, model.y, loss="hinge")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedModelError):
        mo.solve(mo.ScoringSystem(model.X, model.y), "risk-bb")
    with pytest.raises(UnsupportedModelError):
        model.value([0] * model.X.shape[1])
    assert model.prices == (model.X.shape[0] * Fraction(str(model.C0)), model.X.shape[0] * Fraction(str(model.C1)))
