"""`supports-bb` against the enumeration of all whole coefficients, in fractions."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from effort import trials
from facts import about

import marginopt as mo
from marginopt import margin
from marginopt.errors import InputError
from marginopt.models.formulations.margin.problems import ScoringProblem
from marginopt.solvers.records import Options
from marginopt.solvers.scoring import SupportsBB
from marginopt.solvers.scoring.reduced_problem import reduce_problem
from marginopt.solvers.scoring.search import SupportsSearch

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


def enumerated(p: ScoringProblem) -> Fraction:
    """Every system; the intercepts at once. Features are multiples of 1/8, so that doubles hold every score."""
    d = p.X.shape[1]
    grids = [range(int(low), int(high) + 1) for low, high in zip(p.lower, p.upper, strict=True)]
    shift = np.arange(p.intercept[0], p.intercept[1] + 1)
    costs = [Fraction(c) for c in p.weights.tolist()]
    best = sum(costs, Fraction()) + 1
    for rho in itertools.product(*grids):
        used = sum(r != 0 for r in rho)
        if used > p.max_nonzeros:
            continue
        direct = p.price * used + p.size_price * sum(map(abs, rho))
        if direct >= best:
            continue
        wrong = p.y[:, None] * ((p.X @ np.array(rho, dtype=float))[:, None] + shift) < float(p.threshold)
        sums = p.weights @ wrong
        b = int(np.argmin(sums))
        best = min(best, direct + sum((c for c, w in zip(costs, wrong[:, b], strict=True) if w), Fraction()))
    assert d == p.upper.size
    return best


def drawn(seed: int) -> ScoringProblem:
    """Binary, whole or other features, prices and limits of all kinds."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 5)), int(rng.integers(4, 26))
    kind = int(rng.integers(4))
    X = rng.integers(0, 2, (n, d)) if kind == 0 else rng.integers(-3, 6, (n, d))
    X = X / 8 if kind == 3 else X.astype(float)
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weights = rng.integers(1, 9, n) / 4 if rng.random() < 0.3 else np.ones(n)
    low, high = -rng.integers(0, 4, d), rng.integers(0, 4, d)
    reach = int(np.ceil((np.abs(X) @ np.maximum(-low, high)).max())) + 1
    offsets = (-reach, reach) if rng.random() < 0.6 else (int(-rng.integers(0, 3)), int(rng.integers(0, 3)))
    prices = [Fraction(int(rng.integers(0, 12)), int(rng.integers(1, 12))), Fraction(int(rng.integers(0, 3)), 97)]
    if rng.random() < 0.2:
        prices[1] = Fraction(0.1)  # a double's denominator: no unit makes everything whole
    threshold = Fraction(1) if kind < 3 else Fraction(1, int(2 ** rng.integers(0, 6)))
    most = int(rng.integers(0, d + 1)) if rng.random() < 0.4 else d
    return ScoringProblem(X, y, weights, low.astype(float), high.astype(float), offsets, *prices, most, threshold)


def solved(problem: ScoringProblem, **parameters: Any) -> tuple[Fraction, Fraction]:
    """Value and bound, as fractions, from the solver's own loop."""
    solver = SupportsBB(**parameters)
    state = solver.init(problem, Options(tol=1e-16), np.random.default_rng(0))
    while not state.search.done:
        solver.advance(state, 0.0)
    search = state.search
    assert problem.allows(search.incumbent.rho0, search.incumbent.rho.astype(float))
    assert problem.value(search.incumbent.rho0, search.incumbent.rho.astype(float)) == search.incumbent.value
    return search.incumbent.value, search.bound


@pytest.mark.parametrize("read", [1, 200])
def test_bounds_hold_within_a_plunge(monkeypatch: pytest.MonkeyPatch, read: int) -> None:
    """A plunge whose nodes take long is interrupted: the nodes on its stack are open, and the bound includes theirs."""
    monkeypatch.setattr("marginopt.solvers.scoring.search._READ", read)
    within = 0
    for seed in range(trials(25, 60)):
        problem = drawn(seed)
        best = enumerated(problem)
        search = SupportsSearch(reduce_problem(problem), np.random.default_rng(0), branching="signs")
        while not search.done:
            assert search.bound <= best
            assert search.open_nodes > 0
            search.step()
            within += int(search.stack.scalars.top) > 0
        assert search.incumbent.value == search.bound == best
    assert within > trials(20, 50)


@pytest.mark.parametrize("branching", ["signs", "supports", "pairs"])
def test_after_the_deadline_nodes_stay_open_and_the_bound_holds(branching: str) -> None:
    for seed in range(20):
        problem = drawn(seed)
        search = SupportsSearch(reduce_problem(problem), np.random.default_rng(0), branching=branching)
        search.step()
        before, left, open_nodes = search.nodes, search.bound, search.open_nodes
        search.deadline = -np.inf
        if not search.done:
            search.step()
            assert branching == "pairs" or (search.nodes, search.open_nodes) == (before, open_nodes)  # by pairs it splits
        assert left <= search.bound <= enumerated(problem)


@pytest.mark.parametrize("block", range(trials(2, 4)))
def test_small_systems(block: int) -> None:
    for seed in range(250 * block, 250 * block + trials(25, 250)):
        problem = drawn(seed)
        best = enumerated(problem)
        for branching in ("supports", "signs"):
            assert solved(problem, branching=branching, descents=1 + seed % 3) == (best, best), (seed, branching)


@pytest.mark.parametrize("exponent", [70, 1000])
def test_costs_beyond_whole_numbers_of_64_bits(exponent: int) -> None:
    """A unit below one is a fraction: it was a float, and the bound a TypeError."""
    for seed in range(10):
        problem, unit = drawn(seed), 2**exponent
        large = replace(
            problem,
            weights=problem.weights * float(unit),
            price=problem.price * unit,
            size_price=problem.size_price * unit,
        )
        value, bound = solved(large)
        assert bound <= enumerated(problem) * unit <= value


def scored(seed: int = 0, n: int = 120, d: int = 6) -> mo.ScoringSystem:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n, d))
    y = np.where(X[:, 0] - 2 * X[:, 1] + rng.normal(scale=2.5, size=n) > -2, 1.0, -1.0)
    return mo.ScoringSystem(np.column_stack([np.ones(n), X]), y, C0=0.01)


def test_it_agrees_with_a_mixed_integer_solver() -> None:
    model = scored(n=60, d=3)
    ours, theirs = mo.solve(model, "supports-bb"), mo.solve(model, "highs")
    assert ours.solved
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-9)
    assert ours.bound == pytest.approx(ours.objective, rel=1e-12)
    assert Fraction(ours.details["value"]) == Fraction(ours.details["proved_bound"]) == model.value(ours.values["w"])


def test_auto_takes_it_and_compositions_are_read() -> None:
    model = scored(n=40, d=3)
    assert str(mo.solve(model).details["picked"]).startswith("supports-bb")
    parts = {"intercept": "free", "domain": margin.Integers(-4, 4)}
    composed = mo.Margin(model.X, model.y, "zero-one", margin.L0(0.5), subject_to=mo.at_most(2).nonzero, **parts)
    ours, theirs = mo.solve(composed, "supports-bb"), mo.solve(composed, "highs")
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-9)


def test_limits_leave_a_bound_and_a_point() -> None:
    model = scored()
    whole = mo.solve(model, "supports-bb")
    few = mo.solve(model, "supports-bb", node_limit=50, descents=1)
    assert few.status is mo.Status.NODE_LIMIT
    assert few.nodes is not None
    assert few.nodes <= 60
    assert few.bound <= whole.objective <= few.objective
    timed = mo.solve(model, "supports-bb", time_limit=0.02)
    assert timed.bound <= whole.objective <= timed.objective + 1e-12
    loose = mo.solve(model, "supports-bb", tol=0.5)
    assert loose.objective - loose.bound <= 0.5 * loose.objective


def test_runs_repeat_and_take_a_start() -> None:
    model = scored()
    first, second = (mo.solve(model, "supports-bb", seed=3) for _ in range(2))
    assert first.nodes == second.nodes
    np.testing.assert_array_equal(first.values["w"], second.values["w"])
    warm = mo.solve(model, "supports-bb", start=first.values, descents=1, node_limit=1)
    assert warm.objective == first.objective
    with pytest.raises(InputError, check=about("start")):
        mo.solve(model, "supports-bb", start={"w": np.ones(3)})


@pytest.mark.parametrize("wrong", [{"branching": "deep"}, {"descents": 0}, {"descents": True}])
def test_parameters_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, check=about(next(iter(wrong)))):
        SupportsBB(**wrong)


def test_more_than_sixty_two_features() -> None:
    """One column of seventy separates: nothing cheaper than one feature."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (120, 70))
    y = np.where(X[:, 67] == 1, 1.0, -1.0)
    model = mo.ScoringSystem(np.column_stack([np.ones(120), X]), y, C0=0.001)
    result = mo.solve(model, "supports-bb")
    assert result.solved
    assert np.flatnonzero(result.values["w"][1:]).tolist() == [67]


def test_a_descent_ends_at_the_time_limit() -> None:
    """One descent over wide ranges of many points takes several times the limit; processor seconds, since machines are shared."""
    rng = np.random.default_rng(0)
    features = rng.integers(0, 6, size=(3000, 20))
    y = np.where(features[:, 0] + rng.normal(size=3000) > 2.5, 1.0, -1.0)
    model = mo.ScoringSystem(np.column_stack([np.ones(3000), features]), y, (-1000, 1000))
    mo.solve(mo.ScoringSystem(model.X[:20], y[:20], (-1, 1)), "supports-bb")  # compiled code is loaded
    begin = time.process_time()
    result = mo.solve(model, "supports-bb", time_limit=0.5)
    assert time.process_time() - begin < 2.5 and result.status is mo.Status.TIME_LIMIT and result.values is not None
