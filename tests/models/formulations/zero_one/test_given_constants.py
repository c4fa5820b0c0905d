"""Big-M constants that the user gives: an optimum of the form is the problem's only where they are valid at it."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from data import clouds

import marginopt as mo
from marginopt.errors import MarginoptWarning
from marginopt.models import Margin, RampSVM, ZeroOneSVM
from marginopt.solvers import Status

#: From nothing to far too much.
CONSTANTS = (0.0, 0.7, 1.0, 1.5, 2.5, 4.0, 8.0, 50.0)


def _solved(model: mo.Model, solver: str) -> tuple[mo.Result, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = mo.solve(model, solver, tol=1e-7, time_limit=30)
    assert all(issubclass(w.category, MarginoptWarning) and w.filename == __file__ for w in caught)
    return result, [str(w.message) for w in caught]


@pytest.mark.parametrize("kind", [ZeroOneSVM, RampSVM])
@pytest.mark.parametrize("intercept", ["penalised", "free"])
def test_an_optimum_under_given_constants_is_the_problems_or_inaccurate_with_a_warning(
    kind: type[ZeroOneSVM | RampSVM], intercept: str
) -> None:
    cut = proved = 0
    for seed in range(2):
        X, y = clouds(seed, 9, 2, 0.7, order="halves")
        plain = kind(X, y, lam=0.8, intercept=intercept)
        truth = mo.solve(plain, tol=1e-9).objective
        for M in CONSTANTS:
            result, explanation = _solved(replace(plain, big_m=M), "scip")
            label = f"{intercept}, seed {seed}, M = {M}"
            if result.status is Status.OPTIMAL:
                proved += 1
                assert result.objective == pytest.approx(truth, rel=1e-6), label
                assert explanation == [], label
            else:
                assert result.status is Status.INACCURATE and "leave big_m out" in result.evidence, label
                assert len(explanation) == 1 and "may cut off the optimum" in explanation[0], label
                cut += not result.values or result.objective > truth * (1.0 + 1e-6)
    assert proved >= 3 and (cut >= 3 or kind is RampSVM)


def test_the_level_of_given_constants_is_the_value_up_to_which_they_are_the_valid_ones() -> None:
    X, y = clouds(4, 12, 3, 0.7, order="halves")
    for intercept in ("penalised", "free"):
        for kind in (ZeroOneSVM, RampSVM):
            plain = kind(X, y, lam=np.linspace(0.3, 1.4, 12), intercept=intercept)
            for share in (0.2, 0.5, 0.9):
                valid = replace(plain, upper_bound=share * plain.incumbent_value)
                model = replace(plain, big_m=valid.big_m_values)
                assert model.cutoff == pytest.approx(valid.incumbent_value, rel=1e-6)
                assert replace(model, encoding="indicator").cutoff == plain.incumbent_value  # M is not in that form
    budget = ZeroOneSVM(X, y, kappa=0.25, big_m=6.0)
    assert budget.cutoff == pytest.approx(min((5.0 / np.linalg.norm(X, axis=1)) ** 2), rel=1e-9)
    assert ZeroOneSVM(X, y, kappa=0.25, upper_bound=7.0).cutoff == 7.0


def test_no_bound_of_a_form_with_given_constants_exceeds_their_level() -> None:
    X, y = clouds(1, 9, 2, 0.7, order="halves")
    plain = ZeroOneSVM(X, y, lam=0.8)
    optimum = mo.solve(plain, "zero-one-bb").objective
    for M in CONSTANTS:
        model = replace(plain, big_m=M)
        rng = np.random.default_rng(0)
        for scale in (0.1, 1.0, 10.0):
            bound = model.bound(None, {"margin": scale * rng.random(9)}).value
            assert bound <= min(optimum, model.cutoff)


def test_a_solver_that_reads_the_data_does_not_read_the_constants() -> None:
    X, y = clouds(1, 9, 2, 0.7, order="halves")
    plain = ZeroOneSVM(X, y, lam=0.8)
    result, explanation = _solved(replace(plain, big_m=1e3), "zero-one-bb")
    assert result.status is Status.OPTIMAL and explanation == []


@pytest.mark.parametrize("seed", range(2))
def test_an_upper_bound_that_no_point_has_is_told(seed: int) -> None:
    X, y = clouds(seed, 9, 2, 0.7, order="halves")
    for plain in (ZeroOneSVM(X, y, lam=0.8), RampSVM(X, y, lam=0.8), Margin(X, y, "zero-one", sample_weight=0.8)):
        truth = mo.solve(plain, tol=1e-9).objective
        result, explanation = _solved(replace(plain, upper_bound=0.3 * truth), "scip")
        assert result.status is Status.INACCURATE and len(explanation) == 1 and "give upper_bound=" in explanation[0]
        result, explanation = _solved(replace(plain, upper_bound=1.01 * truth), "scip")
        assert result.status is Status.OPTIMAL and explanation == [] and result.objective == pytest.approx(truth, rel=1e-6)
