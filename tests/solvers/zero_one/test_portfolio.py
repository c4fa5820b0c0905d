"""The schedule of two engines that search: by what the bounds that each has proved say of the rest."""

import math

import pytest

from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.exact.options import Limits
from marginopt.solvers.interface.algorithm import Outcome
from marginopt.solvers.zero_one import engine as module
from marginopt.solvers.zero_one.conflict_engine import PassTargets
from marginopt.solvers.zero_one.engine import Engine, GapForecast, Portfolio, SharedState
from marginopt.solvers.zero_one.incumbent import HardMarginSolver, trivial_incumbent
from marginopt.solvers.zero_one.reduced import reduce_problem


class Steady(Engine):
    """Proves a fixed share of the gap that is left with each stretch."""

    def __init__(self, shared, share):
        super().__init__(shared)
        self._share, self._stretches = share, 0

    def work(self, seconds):
        self._stretches += 1
        self.slice_end = self.nodes
        return self._conclude(self.proved_bound + self._share * (self._shared.cutoff - self.proved_bound), Outcome.RUNNING)

    @property
    def effort(self):
        return 1e8 * self._stretches

    @property
    def nodes(self):
        return 10 * self._stretches

    @property
    def open_count(self):
        return 1

    def statistics(self):
        return {}


class Doubling(Steady):
    """Begins with a share of what is to be proved, and proves another one with each doubling of the effort."""

    def __init__(self, shared, first, share):
        super().__init__(shared, share)
        self._first = first

    def work(self, seconds):
        self._stretches += 1
        self.slice_end = self.nodes
        proved = min(self._first + self._share * math.log2(self._stretches), 0.99) * self._shared.cutoff
        return self._conclude(max(proved, self.proved_bound), Outcome.RUNNING)


@pytest.fixture
def shared():
    import numpy as np

    rows = np.random.default_rng(0).standard_normal((12, 3))
    reduced = reduce_problem(ZeroOneProblem(rows, np.ones(12), np.ones(3, dtype=bool)))
    return SharedState(reduced, trivial_incumbent(reduced), HardMarginSolver.of(reduced), Limits())


@pytest.mark.parametrize("better", [0, 1])
def test_the_engine_ahead_gets_most_of_the_effort(shared, better):
    engines = [Steady(shared, 0.1 if k == better else 0.001) for k in range(2)]
    portfolio = Portfolio(shared, engines[0], lambda: engines[1], 3e8)
    while portfolio.effort < 20 * module.TRIAL_EFFORT:
        portfolio.begin_slice()
        assert portfolio.work(1.0) is Outcome.RUNNING
    ahead, behind = engines[better], engines[1 - better]
    assert ahead.effort > 5 * behind.effort
    assert behind.effort >= module.TRIAL_EFFORT
    assert (behind.effort + module.TRIAL_EFFORT) * module.LARGEST_SHARE_RATIO >= ahead.effort - module.TRIAL_EFFORT


def test_engines_alike_get_alike(shared):
    engines = [Steady(shared, 0.001) for _ in range(2)]
    portfolio = Portfolio(shared, engines[0], lambda: engines[1], 3e8)
    while portfolio.effort < 20 * module.TRIAL_EFFORT:
        portfolio.begin_slice()
        portfolio.work(1.0)
    assert max(engine.effort for engine in engines) <= 1.5 * min(engine.effort for engine in engines)


def test_a_low_bound_that_rises_fast_goes_before_a_high_one_that_does_not(shared):
    slow, fast = Doubling(shared, 0.5, 0.04), Doubling(shared, 0.01, 0.12)
    portfolio = Portfolio(shared, slow, lambda: fast, 3e8)
    while portfolio.effort < 20 * module.TRIAL_EFFORT:
        portfolio.begin_slice()
        portfolio.work(1.0)
    assert fast.proved_bound < slow.proved_bound + 0.2 * shared.cutoff
    assert fast.effort > 5 * slow.effort


class Passing(Steady):
    """Proves nothing within a pass, and knows what the pass takes."""

    @property
    def forecast(self):
        return 1e9


def test_a_forecast_of_its_own_counts_where_the_bound_stands_still(shared):
    knowing, other = Passing(shared, 0.0), Doubling(shared, 0.1, 0.1)
    portfolio = Portfolio(shared, knowing, lambda: other, 3e8)
    while knowing.effort < 1e9:
        portfolio.begin_slice()
        portfolio.work(1.0)
    assert other.effort <= 0.3 * knowing.effort


@pytest.mark.parametrize("factor", [1.5, 4.0, 9.0])
def test_passes_foresee_all_nodes_where_they_grow_evenly(factor):
    def size(target):
        return 3000.0 * factor ** (10.0 * (target - 1.0))

    passes, nodes, forecasts = PassTargets(1.0), 0, [math.inf]
    while passes.target < 1.0:
        assert passes.forecast(nodes, 1.0) == math.inf or len(forecasts) > 2
        nodes += size(passes.target)
        passes.advance(nodes, 1.0, True)
        forecasts.append(passes.forecast(nodes, 1.0))
    assert forecasts[:2] == [math.inf] * 2
    total = nodes + size(1.0)
    assert forecasts[-1] == pytest.approx(total)
    assert all(0.5 * total <= forecast <= 1.001 * total for forecast in forecasts[2:])
    assert passes.forecast(nodes + 3000, 1.0) == pytest.approx(total)
    assert passes.forecast(nodes + 5000, 1.0) == pytest.approx(nodes + 5000)  # more than was foreseen


@pytest.mark.parametrize("bend", [1.0, 1.5])
def test_a_forecast_goes_on_as_the_bound_rose(bend):
    progress = GapForecast(bend)
    assert progress.total_effort(1.0) == math.inf
    for k in range(12):  # 0.05 for each doubling
        progress.record(2.0**k, 0.05 * (k + 1))
    assert progress.total_effort(1.0) == pytest.approx(2.0 ** (11 + bend * (1.0 - 0.6) / 0.05))
    before = progress.total_effort(1.0)
    progress.record(2.0**13, 0.6)  # nothing new is proved: a pass is on
    assert progress.total_effort(1.0) == before
    assert progress.total_effort(0.5) == 2.0**11
