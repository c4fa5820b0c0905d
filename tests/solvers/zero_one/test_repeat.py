"""Runs repeat bit for bit with a fixed number of threads, whatever the clock did: results, nodes, bounds and traces."""

import numpy as np
import pytest
from data import clouds
from effort import trials

from marginopt.instances import gaussian_clusters
from marginopt.models.formulations.margin_violations import ZeroOneBudget
from marginopt.models.formulations.zero_one import ZeroOneSVM
from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.records import Options
from marginopt.solvers.zero_one import ZeroOneBB, algorithm as module
from marginopt.solvers.zero_one.budget import BudgetBB


def model(n, p, lam=5.0, sigma=0.8, seed=0):
    X, y = clouds(seed, n, p, 0.4, order="turns", spread=sigma)
    return ZeroOneSVM(X, y, lam, intercept="free")


def record(algorithm, view, slices, threads, **options):
    """A run in slices of the given lengths: everything that must not depend on them."""
    state = algorithm.init(view, Options(threads=threads, **options), np.random.default_rng(0))
    rows, i = [], 0
    while True:
        outcome = algorithm.advance(state, slices[i % len(slices)])
        measure = algorithm.measure(state)
        if measure.checkpoint:
            rows.append((measure.iteration, measure.objective, measure.bound, measure.active, measure.step))
        i += 1
        if outcome.name != "RUNNING":
            break
    answer = algorithm.answer(state)
    return outcome, rows, answer.nodes, answer.bound, answer.values["w"].tolist(), answer.details


SLICES = ([1e-4], [0.3, 1e-3, 0.01], [0.05])[: trials(2, 3)]


@pytest.mark.parametrize(("case", "threads"), [((100, 5, 10.0, 1.2), 2), ((150, 7, 1.0, 1.1), 1)])
def test_portfolio_repeats_whatever_the_clock_did(monkeypatch, case, threads):
    """Both engines run (their head start is short here); slices of very different lengths give the same run."""
    monkeypatch.setattr(module, "BOX_HEAD_START", 600)
    monkeypatch.setattr(module, "CONFLICT_HEAD_START", 100)
    monkeypatch.setattr(module, "HEURISTIC_INTERVAL", 2000)
    n, p, lam, sigma = case
    view = model(n, p, lam, sigma).view(ZeroOneProblem)
    first, *others = (record(ZeroOneBB(restarts=20, neighbourhoods=9), view, slices, threads) for slices in SLICES)
    details = first[-1]
    assert details["boxes_nodes"] > 1000 and details["conflicts_nodes"] > 100, "the portfolio has run one engine alone"
    assert len(first[1]) > 2
    for other in others:
        assert other == first


@pytest.mark.parametrize("engine", ["boxes", "conflicts"])
@pytest.mark.parametrize("threads", [1, 2])
def test_single_engines_repeat_whatever_the_clock_did(engine, threads):
    view = model(60, 4, sigma=1.0).view(ZeroOneProblem)
    first, *others = (record(ZeroOneBB(engine=engine, neighbourhoods=12), view, slices, threads) for slices in SLICES)
    for other in others:
        assert other == first


def test_budget_form_repeats_whatever_the_clock_did():
    data = gaussian_clusters(60, 3, 0.5, seed=2)
    view = ZeroOneSVM(data.X, data.y, kappa=0.25).view(ZeroOneBudget)
    first, *others = (record(BudgetBB(ZeroOneBB()), view, slices, 1) for slices in SLICES)
    assert any(row[-1] == "budget" for row in first[1])
    for other in others:
        assert other == first


def test_a_run_through_the_driver_repeats_with_its_trace():
    runs = [ZeroOneBB().run(model(80, 3), Options(threads=1)) for _ in range(2)]
    traces = [[(row.iteration, row.objective, row.bound) for row in run.trace.rows] for run in runs]
    assert traces[0] == traces[1] and len(traces[0]) > 2
    assert runs[0].nodes == runs[1].nodes and runs[0].bound == runs[1].bound
    assert (runs[0].values["w"] == runs[1].values["w"]).all()
