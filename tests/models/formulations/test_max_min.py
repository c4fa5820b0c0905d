"""The minimax model: envelope derivative, ascent, ranges, and a certificate at the γ that was found."""

from __future__ import annotations

import numpy as np
import pytest
from data import alternating
from facts import about

import marginopt.solvers as solvers
from marginopt.errors import InputError, UnsupportedModelError
from marginopt.models import MaxMinSVM
from marginopt.solvers import Status


def _data(seed: int = 0, m: int = 40) -> tuple[np.ndarray, np.ndarray]:
    return alternating(seed, m)


@pytest.mark.parametrize("parameter", ["gamma", "per-feature"])
def test_derivative_is_that_of_the_optimal_value(parameter: str) -> None:
    """Envelope theorem: the derivative at fixed a equals the difference quotient of re-optimised values."""
    X, y = _data()
    problem = MaxMinSVM(X, y, gamma0=0.2, parameter=parameter).problem

    def optimum(gamma: np.ndarray) -> tuple[float, np.ndarray]:
        result = solvers.solve(problem.inner_problem(gamma), "smo", tol=1e-12)
        return result.objective, result.values["a"]

    gamma = problem.gamma0
    _, a = optimum(gamma)
    derivative = problem.derivative(a, gamma)
    for k in range(gamma.size):
        step = np.zeros_like(gamma)
        step[k] = 1e-4
        quotient = (optimum(gamma + step)[0] - optimum(gamma - step)[0]) / 2e-4
        assert derivative[k] == pytest.approx(quotient, rel=1e-4, abs=1e-9)


def test_printed_formula_51_agrees() -> None:
    X, y = _data()
    problem = MaxMinSVM(X, y, gamma0=0.3).problem
    a = np.random.default_rng(1).random(40)
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    printed = -0.5 * (a * y) @ (D * np.exp(-0.3 * D)) @ (a * y)
    assert problem.derivative(a, np.array([0.3]))[0] == pytest.approx(printed)


@pytest.mark.parametrize("inner", ["smo", "pga"])
def test_answer_is_stationary_and_certified_at_its_gamma(inner: str) -> None:
    X, y = _data()
    model = MaxMinSVM(X, y)
    result = solvers.solve(model, "maxmin", inner=inner)
    gamma = result.details["gamma"]
    assert result.status is Status.STATIONARY
    assert np.isnan(result.gap), "a stationary point in gamma has no gap"
    assert result.details["stationarity"] <= 1e-3
    assert result.objective == pytest.approx(solvers.solve(model.at(gamma), "clarabel").objective, rel=1e-6)
    assert result.certificate is not None
    assert result.certificate.gap <= 1e-6
    if model.lower < gamma < model.upper:
        for other in (0.8 * gamma, 1.25 * gamma):
            assert solvers.solve(model.at(other), "smo").objective <= result.objective * (1 + 1e-6)


def test_every_model_trained_is_counted_and_traced() -> None:
    X, y = _data()
    result = solvers.solve(MaxMinSVM(X, y), "maxmin")
    steps = result.details["steps"]
    assert result.details["models_trained"] == len(steps) == result.iterations
    assert steps[0]["gamma"] == (0.004,)
    assert all(step["ratio"] > 0 for step in steps)


def test_warm_and_cold_inner_solves_find_the_same_gamma() -> None:
    X, y = _data(2)
    warm, cold = (solvers.solve(MaxMinSVM(X, y), "maxmin", warm=w, inner_tol=1e-9) for w in (True, False))
    assert warm.details["gamma"] == pytest.approx(cold.details["gamma"], rel=1e-4)


def test_the_printed_rate_shrinks_its_own_moves() -> None:
    """Once |f'| < 1 the printed rate makes the moves collapse; a run that ends so is called stalled, not stationary."""
    X, y = _data(4)
    result = solvers.solve(MaxMinSVM(X, y), "maxmin", rate="printed")
    assert result.status in (Status.STALLED, Status.STATIONARY)
    assert (result.details["stationarity"] <= 1e-3) == (result.status is Status.STATIONARY)


@pytest.mark.parametrize("parameter", ["log-gamma", "per-feature"])
def test_gamma_stays_in_its_range(parameter: str) -> None:
    X, y = _data(3)
    result = solvers.solve(MaxMinSVM(X, y, parameter=parameter, lower=0.01, upper=0.5, gamma0=0.02), "maxmin")
    gamma = np.atleast_1d(result.details["gamma"])
    assert gamma.min() >= 0.01
    assert gamma.max() <= 0.5


@pytest.mark.parametrize(
    ("change", "name"),
    [({"gamma0": 100.0}, "gamma0"), ({"lower": 1.0}, "gamma0"), ({"parameter": "C"}, "parameter"), ({"C": 0.0}, "C")],
)
def test_bad_parameters_are_named(change: dict[str, object], name: str) -> None:
    X, y = _data()
    with pytest.raises(InputError, check=about(name)):
        MaxMinSVM(X, y, **change)  # type: ignore[arg-type]
    with pytest.raises(InputError, check=about("rate")):
        solvers.solve(MaxMinSVM(X, y), "maxmin", rate="fast")


def test_only_its_own_algorithm_solves_it() -> None:
    X, y = _data()
    with pytest.raises(UnsupportedModelError, check=about("clarabel")):
        solvers.solve(MaxMinSVM(X, y), "clarabel")
    result = solvers.solve(MaxMinSVM(X, y))
    assert result.solver == "maxmin"


def _many_features() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    y = np.where(np.arange(80) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(80, 50))
    X[:, :10] += 0.6 * y[:, None]
    return X, y


@pytest.mark.parametrize("parameter", ["gamma", "log-gamma"])
def test_the_ascent_ends_at_the_largest_value_of_a_scan(parameter: str) -> None:
    X, y = _many_features()
    model = MaxMinSVM(X, y, parameter=parameter)
    result = solvers.solve(model, "maxmin")
    scan = {g: solvers.solve(model.at(g), "smo").objective for g in 2.0 ** np.arange(-15, 3.5, 0.5)}
    best = max(scan, key=lambda g: scan[g])
    assert result.status is Status.STATIONARY
    assert result.objective >= scan[best] * (1 - 1e-6)
    assert best / 1.5 < result.details["gamma"] < best * 1.5
    assert result.details["models_trained"] <= 12


def test_the_printed_rate_leaps_to_where_the_kernel_matrix_is_the_identity() -> None:
    """η = 1 is far too long for 50 standardised features, and |f'| < ε2 holds out there: that rule has a scale."""
    X, y = _many_features()
    result = solvers.solve(MaxMinSVM(X, y), "maxmin", rate="printed")
    assert result.status is Status.STATIONARY
    off_diagonal = MaxMinSVM(X, y).problem.kernel_matrix(np.array([result.details["gamma"]])) - np.eye(80)
    assert np.abs(off_diagonal).max() < 1e-6
    assert result.objective < 0.9 * solvers.solve(MaxMinSVM(X, y), "maxmin").objective


def test_one_gamma_a_feature_goes_back_where_the_value_fell() -> None:
    """The best value that was seen is the answer's, and at least as good as one γ for all features."""
    X, y = _data(6)
    result = solvers.solve(MaxMinSVM(X, y, parameter="per-feature"), "maxmin", stationarity=5e-3)
    values = [step["value"] for step in result.details["steps"]]
    assert result.status is Status.STATIONARY
    assert result.objective >= max(values) * (1 - 1e-5)
    assert result.objective >= solvers.solve(MaxMinSVM(X, y), "maxmin").objective
    fell = [k for k in range(1, len(values)) if values[k] < max(values[:k]) * (1 - 1e-5)]
    assert fell
    for k in fell[:3]:  # stopped where the value has just fallen: the best one, with its own γ
        model = MaxMinSVM(X, y, parameter="per-feature")
        stopped = solvers.solve(model, "maxmin", stationarity=5e-3, iteration_limit=k + 1)
        assert stopped.objective >= max(values[: k + 1]) * (1 - 1e-5)
        inner = solvers.solve(model.at(np.array(stopped.details["gamma"])), "smo", tol=1e-8)
        assert stopped.objective == pytest.approx(inner.objective, rel=1e-5)


def test_a_grid_is_solved_by_one_cone_program() -> None:
    """The optimum is the largest inner optimum; its bound is proved, and the multipliers are the inner weights."""
    X, y = _data(3, 24)
    grid = [2.0, 0.01, 0.3, 0.3]
    model = MaxMinSVM(X, y, grid=grid)
    inner = {gamma: solvers.solve(model.at(gamma), "smo", tol=1e-10) for gamma in grid}
    best = max(inner, key=lambda gamma: inner[gamma].objective)
    result = solvers.solve(model, "clarabel")
    assert result.status is Status.OPTIMAL and result.bound_kind == "proved"
    assert result.objective == pytest.approx(inner[best].objective, rel=1e-6)
    assert result.bound >= inner[best].objective * (1 - 1e-9) and result.summary["gamma"] == best
    assert result.multipliers is not None
    weights = result.multipliers["edges"].reshape(3, -1)[np.flatnonzero(model.grid == best)[0]]
    np.testing.assert_allclose(weights, inner[best].values["a"], atol=1e-3)
    rng = np.random.default_rng(0)
    for _ in range(20):  # any multipliers bound it
        assert -model.bound(None, {"edges": rng.random(3 * 24)}).value >= inner[best].objective


@pytest.mark.parametrize("grid", [[], [-1.0], [np.inf], [0.0, 1.0], ["a"], [[1.0, 2.0]]])
def test_grids_that_are_none_are_refused(grid: list[object]) -> None:
    X, y = _data()
    if grid == [[1.0, 2.0]]:
        assert MaxMinSVM(X, y, grid=grid).form.n  # values in any shape
        return
    with pytest.raises(InputError):
        MaxMinSVM(X, y, grid=grid)


def test_the_outer_ascent_does_not_read_a_grid() -> None:
    X, y = _data()
    with pytest.raises(UnsupportedModelError):
        solvers.solve(MaxMinSVM(X, y, grid=[0.1, 1.0]), "maxmin")
