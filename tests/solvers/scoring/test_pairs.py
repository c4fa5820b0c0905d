"""Bounds from pairs of opposite points: never above the truth, whatever the multipliers; the search by them; forged ones."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import trials

import marginopt as mo
from marginopt.models.formulations.margin.problems import ScoringProblem
from marginopt.solvers.proofs import check_proof
from marginopt.solvers.scoring.box_program import ExactPairBound, PairRelaxation, ScoreBox
from marginopt.solvers.scoring.check import CheckedNode, IntegerScoringProblem, LoggedMultipliers as Checked
from marginopt.solvers.scoring.reduced_problem import reduce_problem

from .test_exact import drawn, enumerated, solved
from .test_proof import sealed

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


def within(p: ScoringProblem, node: CheckedNode) -> Fraction | None:
    """The best system of a node, by enumeration; None where there is none."""
    grids = [range(a, b + 1) for a, b in zip(node.lower, node.upper, strict=True)]
    shifts = range(p.intercept[0], p.intercept[1] + 1)
    best: Fraction | None = None
    for rho in itertools.product(*grids):
        if any(rho[j] == 0 for j in node.forced) or sum(r != 0 for r in rho) > p.max_nonzeros:
            continue
        scores = p.X @ np.array(rho, dtype=float)
        wrong = p.y[:, None] * (scores[:, None] + np.array(shifts)) < float(p.threshold)
        least = float((p.weights @ wrong).min())
        value = Fraction(least) + p.price * sum(r != 0 for r in rho) + p.size_price * sum(map(abs, rho))
        best = value if best is None else min(best, value)
    return best


def some_node(p: ScoringProblem, rng: np.random.Generator) -> CheckedNode | None:
    """A box that is tightened, some coefficients decided."""
    node = CheckedNode(tuple(map(int, p.lower)), tuple(map(int, p.upper)))
    for j in range(p.lower.size):
        if rng.random() < 0.6:
            a, b = sorted(rng.integers(p.lower[j], p.upper[j] + 1, 2).tolist())
            node = node.with_bounds(j, a, b)
        elif rng.random() < 0.3:
            node = replace(node, forced=node.forced | {j})
    return node.tightened(p.max_nonzeros)


def held_by(p: ScoringProblem, rng: np.random.Generator) -> dict[str, Any]:
    """A record of random multipliers, of the size of costs."""
    plus, minus = np.flatnonzero(p.y > 0), np.flatnonzero(p.y < 0)
    count = int(rng.integers(1, 12))
    pairs = [
        [int(rng.choice(plus)), int(rng.choice(minus)), int(rng.integers(0, 90)), int(rng.integers(0, 30) * rng.integers(2))]
        for _ in range(count)
    ]
    return {"denominator": str(Fraction(int(rng.integers(40, 200)), 2)), "limit": int(rng.integers(0, 20)), "pairs": pairs}


@pytest.mark.parametrize("block", range(5))
def test_whatever_the_multipliers_they_prove_no_more_than_is_true(block: int) -> None:
    above_nothing = 0
    for seed in range(200 * block, 200 * block + trials(40, 200)):
        rng, p = np.random.default_rng(seed), drawn(seed)
        node, data, record = some_node(p, rng), IntegerScoringProblem.of(p), held_by(p, rng)
        if node is None:
            continue
        proved, truth = Checked.read(record, data).lower_bound(data, node), within(p, node)
        above_nothing += proved > 0
        assert truth is None or proved <= truth, seed
    assert above_nothing > trials(2, 10)


def test_solver_and_checker_find_the_same_and_a_single_system_is_counted() -> None:
    rng = np.random.default_rng(0)
    for seed in range(60):
        p = drawn(seed)
        r, data, node = reduce_problem(p), IntegerScoringProblem.of(p), some_node(p, rng)
        if node is None or not r.exact:
            continue
        must = np.array([j in node.forced for j in range(p.lower.size)])
        box = ScoreBox(np.array(node.lower), np.array(node.upper), must)
        units, relaxed = PairRelaxation(r).bound(box, None, 2**40)
        if relaxed is None:
            assert not any(node.lower) and not any(node.upper)
            continue
        held = relaxed.multipliers
        assert ExactPairBound(r).lower_bound(box, held) == units
        points = [r.points[c][held.pairs[:, c]].tolist() for c in (0, 1)]
        pairs = [list(pair) for pair in zip(*points, held.cover, held.margin, strict=True)]
        record = {"denominator": str(held.denominator * r.unit), "limit": held.limit, "pairs": pairs}
        assert Checked.read(record, data).lower_bound(data, node) == r.from_units(units), seed
        truth = within(p, node)
        assert truth is None or r.from_units(units) <= truth


@pytest.mark.parametrize("block", range(trials(2, 4)))
def test_the_search_by_pairs_agrees_with_enumeration(block: int) -> None:
    for seed in range(10 * block, 10 * block + trials(4, 10)):
        best = enumerated(drawn(seed))
        assert solved(drawn(seed), branching="pairs", descents=1) == (best, best), seed


def separable(seed: int, n: int = 60, d: int = 20) -> mo.ScoringSystem:
    """Many binary features, a system of three of them that is right: by pairs, without asking for it."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, d))
    y = np.where(2 * X[:, 3] + X[:, 7] - 2 * X[:, 11] > 0, 1.0, -1.0)
    return mo.ScoringSystem(np.column_stack([np.ones(n), X]), y, (-5, 5), C0=0.9 / (n * (d + 1)))


def proved(seed: int, path: Path) -> tuple[mo.ScoringSystem, list[dict[str, Any]]]:
    model = separable(seed)
    result = mo.solve(model, "supports-bb", proof=str(path))
    assert result.solved
    assert result.details["branching"] == "pairs"
    report = check_proof(path, model)
    assert report.valid, report
    assert report.value == result.objective
    return model, [json.loads(line) for line in path.read_text().splitlines()[:-1]]


def _of_one_class(record: dict[str, Any], rng: np.random.Generator) -> None:
    record["pairs"][0][1] = record["pairs"][0][0]


def _below_zero(record: dict[str, Any], rng: np.random.Generator) -> None:
    record["pairs"][int(rng.integers(len(record["pairs"])))][2] = -1


def _larger(record: dict[str, Any], rng: np.random.Generator) -> None:
    """Beyond what features and points cost: the bound falls."""
    record["denominator"] = "1/1000"


def _none(record: dict[str, Any], rng: np.random.Generator) -> None:
    record["pairs"] = []


def _no_such_point(record: dict[str, Any], rng: np.random.Generator) -> None:
    record["pairs"][0][0] = 10**6


def _signed(record: dict[str, Any], rng: np.random.Generator) -> None:
    record["denominator"] = "-" + record["denominator"]


FORGERIES: list[Callable[[dict[str, Any], np.random.Generator], None]] = [
    _of_one_class, _below_zero, _larger, _none, _no_such_point, _signed
]  # fmt: skip


@pytest.mark.parametrize("seed", range(trials(2, 4)))
def test_forged_multipliers_are_refused(seed: int, tmp_path: Path) -> None:
    """Every one is forged, so that some node is no longer proved."""
    model, honest = proved(seed, tmp_path / "a.log")
    assert any("multipliers" in record for record in honest)
    rng = np.random.default_rng(seed)
    for k in range(24):
        records = json.loads(json.dumps(honest))
        for record in records:
            for held in record.get("multipliers", ()):
                FORGERIES[k % len(FORGERIES)](held, rng)
        report = check_proof(sealed(tmp_path / "b.log", records), model)
        assert not report.valid, k
        assert report.message


def test_multipliers_of_another_node_do_not_prove_it(tmp_path: Path) -> None:
    model, honest = proved(0, tmp_path / "a.log")
    for record in honest:
        for held in record.get("multipliers", ()):
            held["node"] += 10**6
    assert not check_proof(sealed(tmp_path / "b.log", honest), model).valid


def test_a_limit_leaves_a_log_of_what_is_proved(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 18)).round(2)
    y = np.where(X @ rng.normal(size=18) + rng.normal(size=60) > 0, 1.0, -1.0)
    model = mo.ScoringSystem(np.column_stack([np.ones(60), X]), y, C0=0.02)
    result = mo.solve(model, "supports-bb", proof=str(tmp_path / "a.log"), node_limit=6, branching="pairs")
    assert result.status is mo.Status.NODE_LIMIT
    assert 0 < result.bound < result.objective
    report = check_proof(tmp_path / "a.log", model)
    assert report.valid, report
    assert report.bound == result.bound
