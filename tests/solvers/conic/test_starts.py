"""conic-ipm with a start: a neighbour's solution saves Newton steps, a useless one is not used, a wrong one is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from facts import about

from marginopt import instances
from marginopt.errors import InputError, MarginoptWarning
from marginopt.models import ConicSVM
from marginopt.models.kernels.kernels import RBF
from marginopt.models.views import ConicProblem
from marginopt.solvers import Status, path, solve
from marginopt.solvers.conic.ipm import cold_start, warm_start
from marginopt.solvers.conic.iterate import PreparedProblem


def model(kernel=None, n=80, p=4, **form):
    data = instances.gaussian_clusters(n, p, 0.5, outliers="clustered", seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarginoptWarning)
        return ConicSVM(data.X if kernel is None else data.X[:, 1:], data.y, kernel=kernel, **form)


@pytest.mark.parametrize(
    ("here", "there", "kernel"),
    [
        ({"lam": 0.3}, {"lam": 0.33}, None),
        ({"lam": 0.3}, {"lam": 0.27}, None),
        ({"kappa": 0.2}, {"kappa": 0.22}, None),
        ({"lam": 0.1}, {"lam": 0.11}, RBF(0.3)),
    ],
    ids=str,
)
def test_a_neighbours_solution_saves_steps(here, there, kernel):
    n = 80 if kernel is None else 30
    neighbour = solve(model(kernel, n, **here), "conic-ipm")
    problem = model(kernel, n, **there)
    cold = solve(problem, "conic-ipm")
    warm = solve(problem, "conic-ipm", start={"w": neighbour.values["w"], "W": neighbour.values["W"]})
    assert cold.details["start"] == "cold"
    assert warm.details["start"].startswith("near")
    assert warm.status is Status.OPTIMAL
    assert warm.gap <= 1e-8
    assert warm.iterations < cold.iterations
    assert warm.objective == pytest.approx(cold.objective, rel=2e-8)


def test_the_whole_result_serves_as_a_start():
    problem = model(lam=0.3)
    first = solve(problem, "conic-ipm")
    again = solve(problem, "conic-ipm", start=first.values)
    assert again.iterations <= 0.6 * first.iterations
    assert again.objective == pytest.approx(first.objective, rel=2e-8)


def test_a_path_starts_from_the_neighbour():
    values = np.geomspace(0.3, 0.6, 8)
    warm, cold = (path(model(lam=1.0), "lam", values, solver="conic-ipm", update=update) for update in (True, False))
    assert sum(r.iterations for r in warm.results) < 0.9 * sum(r.iterations for r in cold.results)
    for one, other in zip(warm.results, cold.results, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=2e-8)


def test_the_start_is_strictly_feasible_on_both_sides():
    problem = model(kappa=0.2)
    values = solve(problem, "conic-ipm").values
    prepared = PreparedProblem.of(problem.view(ConicProblem))
    start = warm_start(prepared.data, *prepared.read_start(values))
    assert start is not None
    assert start.inside()
    assert start.gap == pytest.approx(start.objective - start.bound, rel=1e-9)
    assert start.gap < 0.2 * cold_start(prepared.data).gap


def test_a_useless_start_is_not_used_and_says_so():
    problem = model(lam=0.3)
    cold = solve(problem, "conic-ipm")
    far = solve(problem, "conic-ipm", start={"w": np.full(5, 1e4)})
    assert far.details["start"].startswith("cold: ")
    assert far.iterations == cold.iterations
    assert far.objective == pytest.approx(cold.objective, rel=1e-12)


def test_a_start_that_cannot_be_read_is_refused():
    problem = model(lam=0.3)
    with pytest.raises(InputError, check=about("start")):
        solve(problem, "conic-ipm", start={"z": np.zeros(80)})
    with pytest.raises(InputError, check=about("start")):
        solve(problem, "conic-ipm", start={"w": np.zeros(4)})
    with pytest.raises(InputError, check=about("start")):
        solve(problem, "conic-ipm", start={"w": np.zeros(5), "W": np.full((5, 5), np.nan)})
