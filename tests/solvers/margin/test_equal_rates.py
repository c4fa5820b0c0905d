"""Parity by counts in `margin-bb`: enumeration of nearest shares, other solvers' optima, checked logs, refused forgeries."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from effort import part, trials

import marginopt as mo
from marginopt import Status, margin
from marginopt.models.views import EqualRates, MarginProblem
from marginopt.solvers.margin.check import MarginChecker
from marginopt.solvers.margin.check.logged_problem import LoggedMarginProblem


def drawn(seed: int, n: int, groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Half-grid points with duplicates and a binary column, labels, groups that the binary column is near to."""
    rng = np.random.default_rng(seed)
    binary = rng.integers(0, 2, n)
    X = np.column_stack([np.ones(n), np.round(2.0 * rng.normal(size=n)) / 2.0, binary - 0.5])
    X[n // 2] = X[0]
    y = np.where(X[:, 1] + 0.8 * binary + 0.7 * rng.normal(size=n) > 0.3, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    member = np.where(rng.random(n) < 0.7, binary, rng.integers(0, groups, n))
    member[:groups] = np.arange(groups)
    return X, y, member


@pytest.mark.parametrize("seed", range(40))
def test_nearest_counts_are_those_of_an_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, groups = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    member = rng.permutation(np.arange(n) % groups)
    rates = EqualRates(member, np.ones(n), 0.1)
    scores = rng.choice([-1.0, 0.0, 0.0, 1.0], n)

    def spread(positive: np.ndarray) -> float:
        shares = [positive[member == g].mean() for g in range(rates.sizes.size)]
        return float(max(shares) - min(shares))

    unsure = np.flatnonzero(scores == 0.0)
    least = 2.0
    for sides in itertools.product((False, True), repeat=unsure.size):
        positive = scores > 0.0
        positive[unsure] = sides
        least = min(least, spread(positive))
    chosen = rates.signs(scores, np.zeros(n))
    assert rates.least_spread(scores > 0.0, scores >= 0.0) == pytest.approx(least, abs=1e-12)
    assert spread(chosen) == pytest.approx(least, abs=1e-12)
    assert (chosen[scores > 0.0]).all() and not chosen[scores < 0.0].any()


#: Seed, groups, and the difference of their rates that is allowed.
DRAWN = [(0, 2, 0.1), (1, 2, 0.0), (2, 3, 0.25), (3, 2, 0.3), (4, 3, 0.0)]


@pytest.mark.parametrize(("case", "loss"), part(itertools.product(DRAWN, ["zero-one", "ramp"]), 1, kind=lambda cell: cell[0]))
def test_scip_has_the_same_optimum_and_the_log_is_checked(case: tuple[int, int, float], loss: str, tmp_path: Path) -> None:
    seed, groups, epsilon = case
    X, y, member = drawn(seed, trials(9, 11), groups)
    rules = [mo.parity(member, epsilon, by="counts"), *([mo.error_budget(-1, 0.5)] if seed % 2 else [])]
    model = mo.Margin(X, y, loss, "half-l2", sample_weight=2.0, subject_to=rules)
    log = tmp_path / "log.jsonl"
    ours = mo.solve(model, ("margin-bb", {"proof": str(log)}))
    theirs = mo.solve(model, "scip", time_limit=60)
    assert ours.status is Status.OPTIMAL and theirs.status in (Status.OPTIMAL, Status.INACCURATE)
    assert ours.objective == pytest.approx(theirs.objective, rel=3e-5)
    assert rules[0].violation(X, y, ours.values["w"]) == 0.0
    report = mo.check_proof(log, model)
    assert report.valid and report.bound == pytest.approx(ours.objective, rel=1e-5) and report.value < np.inf


def test_auto_takes_the_exact_search() -> None:
    X, y, member = drawn(7, 30, 2)
    result = mo.solve(mo.Margin(X, y, "zero-one", "half-l2", subject_to=mo.parity(member, 0.1, by="counts")))
    assert result.solver == "margin-bb" and result.status is Status.OPTIMAL


def test_a_free_intercept_and_a_domain() -> None:
    X, y, member = drawn(11, 14, 2)
    parity = mo.parity(member, 0.1, by="counts")
    for parts in ({"intercept": "free"}, {"domain": margin.Integers(-2, 2)}):
        model = mo.Margin(X, y, "zero-one", "half-l2", subject_to=parity, **parts)  # type: ignore[arg-type]
        ours, theirs = mo.solve(model, "margin-bb"), mo.solve(model, "scip", time_limit=60)
        assert ours.objective == pytest.approx(theirs.objective, rel=3e-5)


def test_a_log_of_other_groups_or_another_slack_is_refused(tmp_path: Path) -> None:
    X, y, member = drawn(5, 10, 2)
    log = tmp_path / "log.jsonl"

    def model(groups: np.ndarray, epsilon: float) -> mo.Margin:
        return mo.Margin(X, y, "zero-one", "half-l2", subject_to=mo.parity(groups, epsilon, by="counts"))

    mo.solve(model(member, 0.1), ("margin-bb", {"proof": str(log)}))
    assert mo.check_proof(log, model(member, 0.1)).valid
    plain = mo.Margin(X, y, "zero-one", "half-l2")
    for other in (model(1 - member % 2, 0.1), model(member, 0.2), plain):
        assert not mo.check_proof(log, other).valid or other.view(MarginProblem) is None
    header = json.loads(log.read_text().splitlines()[0])
    again = LoggedMarginProblem.of_log(header)
    assert again.difference(MarginChecker().of_model(model(member, 0.1))) is None
