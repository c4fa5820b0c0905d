"""Conflicts as cuts of other solvers: valid against enumeration, the same optimum, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from data import clouds
from effort import trials
from facts import about
from oracles import least_norm

import marginopt as mo
from marginopt import margin
from marginopt.errors import InputError
from marginopt.models import ZeroOneProblem
from marginopt.solvers.zero_one.conflict_cuts import ConflictCuts


def patterns(model: mo.ZeroOneSVM) -> tuple[np.ndarray, np.ndarray]:
    """Every z and the least objective of a w that keeps all points with z_i = 0 (∞ where none does), by enumeration."""
    A, penalised, weights = model.signed, model.penalised, model.sample_weight
    value, values = np.array(list(itertools.product([0.0, 1.0], repeat=len(A)))), []
    for z in value:
        w = least_norm(A[z == 0], penalised) if (z == 0).any() else np.zeros(A.shape[1])
        values.append(np.inf if w is None else float(w[penalised] @ w[penalised]) + float(weights @ z))
    return value, np.array(values)


@pytest.mark.parametrize("intercept", ["penalised", "free"])
@pytest.mark.parametrize("seed", range(trials(3, 6)))
def test_no_solution_as_good_as_the_known_one_is_cut_off(seed: int, intercept: str) -> None:
    """Every pattern of objective ≤ UB meets every cut; every cut is violated by the relaxation's point, and cuts patterns off."""
    rng = np.random.default_rng(seed)
    X, y = clouds(seed, 9, shift=0.2)
    X[1], y[1] = X[0], y[0]  # equal points are one row of the separator
    model = mo.ZeroOneSVM(X, y, rng.uniform(0.05, 0.5, 9), intercept=intercept)
    separator = ConflictCuts.of(model, model.view(ZeroOneProblem))
    every, values = patterns(model)
    count = 0
    for _ in range(40):
        known = float(values.min()) * rng.uniform(1.0, 1.5)
        z = np.where(rng.random(9) < 0.5, rng.uniform(0, 0.2, 9), rng.random(9))
        for points in separator.separate(z, known):
            met = every[:, points].sum(axis=1) >= 1.0
            assert met[values <= known * (1 + 1e-9)].all()
            assert z[points].sum() < 1.0
            assert not met.all()
            count += 1
    assert count > 10


def test_a_known_solution_that_is_worse_than_nothing_counts_as_nothing() -> None:
    """Without a solution the trivial one is known: w = 0 with every point given up."""
    X, y = clouds(3, 9)
    model = mo.ZeroOneSVM(X, y, 0.5)
    separator = ConflictCuts.of(model, model.view(ZeroOneProblem))
    at_worst = [p.tolist() for p in separator.separate(np.zeros(9), np.inf)]
    assert at_worst
    assert at_worst == [p.tolist() for p in separator.separate(np.zeros(9), 0.5 * 9)]


def test_refusals_name_the_model_the_word_and_the_solver() -> None:
    X, y = clouds(1, 12)
    with pytest.raises(InputError, check=about("cuts")):
        mo.solve(mo.HingeSVM(X, y), "scip", cuts="conflicts")
    with pytest.raises(InputError, check=about("cuts")):
        mo.solve(mo.ZeroOneSVM(X, y), "scip", cuts="perspective")
    with pytest.raises(InputError, check=about("cut")):
        mo.solve(mo.ZeroOneSVM(X, y), "scip", cut="conflicts")
    with pytest.raises(InputError, check=about("cuts")):
        mo.solve(mo.ZeroOneSVM(X, y), "gurobi", cuts="conflicts")
    with pytest.raises(InputError, check=about("cuts")):
        mo.solve(mo.Margin(X, y, "zero-one", margin.L1(0.2)), "highs", cuts="conflicts")
    with pytest.raises(InputError, check=about("cuts")):
        mo.solve(mo.Margin(X, y, "zero-one", margin.L1(0.2)), "scip", cuts="conflicts")
