"""Rank-one rows of the step function: validity at every point, their place in the order, and what they are not for."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from effort import part, trials
from facts import about

import marginopt as mo
from marginopt import margin
from marginopt.errors import UnsupportedModelError
from marginopt.relaxations import AllHulls, Conic, PairHulls, relax
from marginopt.relaxations.bounds.rank_one import RankOne
from marginopt.relaxations.report.report import model_gaps
from marginopt.solvers import Options

TIGHT = Options(tol=1e-9)


def points(seed: int, n: int, p: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Labels of a hyperplane, some turned; a binary column, one point twice and one far away."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p))])
    X[:, -1] = np.arange(n) % 3 == 2
    X[1], X[2, 1] = X[0], 8.0
    y = np.where(X @ rng.normal(size=p + 1) > 0, 1.0, -1.0)
    y[rng.random(n) < 0.25] *= -1.0
    y[0], y[-1] = 1.0, -1.0
    return X, y


@pytest.mark.parametrize("seed", range(trials(2, 6)))
def test_the_rows_hold_at_every_point_of_the_problem(seed: int) -> None:
    """With drawn coefficients fixed, the relaxation bounds their cost from below: no row cuts a point off."""
    rng = np.random.default_rng(seed)
    X, y = points(seed, 7)
    w = rng.normal(size=X.shape[1]) * 10.0 ** rng.uniform(-1, 1)
    model = mo.Margin(X, y, "zero-one", sample_weight=rng.uniform(0.2, 2.0, 7))
    cost = float(w @ w + model.sample_weight @ (y * (X @ w) < 1.0))
    fixed = mo.Margin(X, y, "zero-one", sample_weight=model.sample_weight, subject_to=mo.fixed(dict(enumerate(w))))
    relaxed = relax(fixed, RankOne(pairs=21), "clarabel")
    assert relaxed.result.solved and float(w @ w) * (1.0 - 1e-6) <= relaxed.bound <= cost * (1.0 + 1e-6)


@pytest.mark.parametrize(("lam", "seed"), part(product([0.4, 2.0], range(4)), 1, kind=lambda cell: cell[0]))
def test_the_order_of_the_relaxations(lam: float, seed: int) -> None:
    X, y = points(seed, 8)
    model, pairs = mo.ZeroOneSVM(X, y, lam=lam), 28
    optimum = mo.solve(model, "zero-one-bb").objective
    sdp, rank_one, hulls = (
        relax(model, reduction, "clarabel", TIGHT)
        for reduction in (Conic(), RankOne(margin_bounds=False, pairs=pairs), AllHulls())
    )
    with_m = relax(model, RankOne(pairs=pairs), "clarabel", TIGHT)
    assert all(one.bound_kind == "proved" for one in (sdp, rank_one, with_m, hulls))
    assert sdp.bound <= rank_one.bound + 1e-6 and rank_one.bound <= with_m.bound + 1e-6 and hulls.bound <= with_m.bound + 1e-6
    assert with_m.bound <= optimum + 1e-6 <= with_m.objective + 2e-6


@pytest.mark.parametrize("seed", range(2))
def test_hulls_of_the_same_pairs_are_at_least_as_strong(seed: int) -> None:
    """On these: the order is proved for hulls whose violated branch ends at the threshold, which those of pairs leave open."""
    X, y = points(seed, 6)
    model = mo.ZeroOneSVM(X, y, lam=1.0)
    rows, pairs = (relax(model, reduction(pairs=15), "clarabel", TIGHT).bound for reduction in (RankOne, PairHulls))
    assert rows <= pairs + 1e-5


def test_they_close_most_of_the_gap_of_the_sdp() -> None:
    """On noisy labels with a high price the SDP leaves a gap that the rows more than halve."""
    closed = []
    for seed in range(4):
        X, y = points(seed, 10)
        model = mo.ZeroOneSVM(X, y, lam=2.0)
        optimum = mo.solve(model, "zero-one-bb").objective
        sdp, rank_one = (relax(model, reduction, "clarabel").bound for reduction in (Conic(), RankOne(pairs=45)))
        if optimum - sdp > 1e-3 * optimum:
            closed.append((rank_one - sdp) / (optimum - sdp))
    assert len(closed) >= 2 and np.mean(closed) >= 0.5


def test_costs_thresholds_and_restrictions_of_a_composition() -> None:
    X, y = points(3, 9)
    costs = np.linspace(0.3, 1.5, 9)
    for model in (
        mo.Margin(X, y, margin.ZeroOne(0.5), sample_weight=costs),
        mo.Margin(X, y, "zero-one", sample_weight=costs, subject_to=mo.error_budget(-1, 0.3)),
        mo.Margin(X, y, "zero-one", margin.ElasticNet(0.1, 0.9), sample_weight=costs, domain=margin.Box(-1.0, 1.0)),
        mo.Margin(X, y, "zero-one", sample_weight=costs, intercept="free"),
    ):
        optimum = mo.solve(model, "scip").objective
        relaxed = relax(model, RankOne(), "clarabel", TIGHT)
        assert relaxed.bound <= optimum + 1e-5
        assert relaxed.bound >= relax(model, AllHulls(), "clarabel", TIGHT).bound - 1e-5


def test_other_losses_and_an_intercept_without_a_bound_are_refused_with_the_reason() -> None:
    X, y = points(0, 8)
    unbounded = mo.Margin(X, y, "zero-one", intercept="free", subject_to=mo.error_budget(-1, 0.3))
    for model in (mo.RampSVM(X, y, 1.0, intercept="penalised"), unbounded):
        with pytest.raises(UnsupportedModelError, check=about(RankOne().name)):
            RankOne().apply(model)


def test_a_gap_report_prints_it() -> None:
    X, y = points(1, 8)
    model = mo.ZeroOneSVM(X, y, lam=1.0)
    table = model_gaps(model, ["conic", "rank-one"], "scip", Options(time_limit=60))
    sdp, rank_one = (row.relaxation for row in table.rows)
    assert sdp.reason == rank_one.reason == "" and sdp.bound <= rank_one.bound + 1e-6
