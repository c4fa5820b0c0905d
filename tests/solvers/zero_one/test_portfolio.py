"""Whose turn it is where two engines search: by what each has proved for the effort that it had."""

import pytest

from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.interface.algorithm import Outcome
from marginopt.solvers.zero_one.engines import portfolio as module
from marginopt.solvers.zero_one.engines.engine import Engine, Limits, Shared
from marginopt.solvers.zero_one.engines.portfolio import Portfolio
from marginopt.solvers.zero_one.incumbent import Polish, trivial_incumbent
from marginopt.solvers.zero_one.reduced import reduce_problem


class Steady(Engine):
    """Proves a fixed share of the gap that is left with each stretch."""

    def __init__(self, shared, share):
        super().__init__(shared)
        self._share, self._stretches = share, 0

    def work(self, seconds):
        self._stretches += 1
        self.pause = self.nodes
        return self._judged(self.proved + self._share * (self._shared.cut - self.proved), Outcome.RUNNING)

    @property
    def effort(self):
        return 1e8 * self._stretches

    @property
    def nodes(self):
        return 10 * self._stretches

    @property
    def open_nodes(self):
        return 1

    def figures(self):
        return {}


@pytest.fixture
def shared():
    import numpy as np

    rows = np.random.default_rng(0).standard_normal((12, 3))
    reduced = reduce_problem(ZeroOneProblem(rows, np.ones(12), np.ones(3, dtype=bool)))
    return Shared(reduced, trivial_incumbent(reduced), Polish.of(reduced), Limits())


@pytest.mark.parametrize("better", [0, 1])
def test_the_engine_ahead_gets_most_of_the_effort(shared, better):
    engines = [Steady(shared, 0.1 if k == better else 0.001) for k in range(2)]
    portfolio = Portfolio(shared, engines[0], lambda: engines[1], 3e8)
    while portfolio.effort < 20 * module.TRIAL:
        portfolio.begin_stretch()
        assert portfolio.work(1.0) is Outcome.RUNNING
    ahead, behind = engines[better], engines[1 - better]
    assert ahead.effort > 5 * behind.effort
    assert behind.effort >= module.TRIAL
    assert (behind.effort + module.TRIAL) * module.FAR >= ahead.effort - module.TRIAL


def test_engines_alike_get_alike(shared):
    engines = [Steady(shared, 0.001) for _ in range(2)]
    portfolio = Portfolio(shared, engines[0], lambda: engines[1], 3e8)
    while portfolio.effort < 20 * module.TRIAL:
        portfolio.begin_stretch()
        portfolio.work(1.0)
    assert max(engine.effort for engine in engines) <= (module.NEAR + 0.5) * min(engine.effort for engine in engines)
