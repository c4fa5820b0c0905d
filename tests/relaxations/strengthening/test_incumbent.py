"""Incumbents: the heuristic against enumerated optima, and the M that follow."""

from __future__ import annotations

import numpy as np
import pytest
from data import clustered
from effort import trials
from facts import about
from oracles import enumerated

from marginopt.errors import InputError, MarginoptWarning, UnsupportedModelError
from marginopt.models import ZeroOneSVM
from marginopt.relaxations import heuristic, tighten


@pytest.mark.parametrize("intercept", ["penalised", "free"])
@pytest.mark.parametrize("seed", range(trials(2, 4)))
def test_heuristic_reaches_the_enumerated_optimum(seed: int, intercept: str) -> None:
    X, y = clustered(seed, 14, 2)
    model = ZeroOneSVM(X, y, lam=(0.3, 1.0, 2.0, 8.0)[seed], intercept=intercept)
    w, objective = heuristic(model)
    assert objective == model.objective(w)
    optimum = enumerated(model)
    assert optimum <= objective * (1 + 1e-9)
    assert objective == pytest.approx(optimum, rel=1e-6)


def test_heuristic_is_deterministic_and_uses_its_starts() -> None:
    X, y = clustered(7, 60, 3)
    model = ZeroOneSVM(X, y, lam=1.0)
    first, second = heuristic(model, seed=3, rounds=10), heuristic(model, seed=3, rounds=10)
    np.testing.assert_array_equal(first[0], second[0])
    assert first[1] <= model.incumbent_value
    again = heuristic(model, seed=4, rounds=0, starts=[first[0]])
    assert again[1] <= first[1]
    with pytest.raises(InputError, check=about("rounds")):
        heuristic(model, rounds=-1)
    with pytest.raises(InputError, check=about("w")):
        heuristic(model, starts=[np.zeros(2)])


def test_heuristic_ignores_given_constants() -> None:
    X, y = clustered(1, 20, 2)
    assert heuristic(ZeroOneSVM(X, y, big_m=0.1))[1] == heuristic(ZeroOneSVM(X, y))[1]


def test_the_kappa_form_has_no_cost_to_lower() -> None:
    X, y = clustered(1, 20, 2)
    with pytest.raises(UnsupportedModelError, check=about("model")):
        heuristic(ZeroOneSVM(X, y, kappa=0.1))


def test_points_that_are_all_zero_leave_nothing_to_search() -> None:
    with pytest.warns(MarginoptWarning):
        model = ZeroOneSVM(np.zeros((4, 2)), [1.0, -1, 1, -1], lam=0.5)
    w, objective = heuristic(model)
    np.testing.assert_array_equal(w, 0.0)
    assert objective == 2.0


def test_separable_points_are_kept_where_that_pays() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], 10)
    X = np.column_stack([np.ones(20), rng.normal(size=20) * 0.1 + 3.0 * y])
    w, objective = heuristic(ZeroOneSVM(X, y, lam=10.0))
    assert (y * (X @ w) >= 1 - 1e-9).all()
    assert objective == pytest.approx(w @ w)


def test_tighten_sets_the_bound_and_keeps_a_better_one() -> None:
    X, y = clustered(0, 30, 2)
    model = ZeroOneSVM(X, y)
    w, objective = heuristic(model, rounds=5)
    tight = tighten(model, w)
    assert tight.upper_bound == objective
    assert (tight.big_m_values < model.big_m_values).all()
    assert tighten(tight, np.zeros(3)).upper_bound == objective
    for bad in (np.zeros(2), np.array([0.0, np.nan, 0.0])):
        with pytest.raises(InputError, check=about("w")):
            tighten(model, bad)
