"""Fixing and tightening from an incumbent: nothing better than UB is lost, optima stay, what is proved is proved."""

from __future__ import annotations

import numpy as np
import pytest
from data import clouds
from effort import trials
from facts import about

from marginopt.errors import InputError, UnsupportedModelError
from marginopt.models import ZeroOneSVM
from marginopt.relaxations import BigM, Combined, Conic, Direction, Fixing, fix_variables, relax, tighten
from marginopt.solvers import Options, solve


def points(seed: int, n: int = 16, shift: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
    return clouds(seed, n, 2, shift)


def models(seed: int, slack: float = 1.0) -> tuple[ZeroOneSVM, float]:
    """A model with its optimum, or a worse classifier, as incumbent."""
    X, y = points(seed)
    model = ZeroOneSVM(X, y, (0.3, 1.0, 5.0)[seed % 3])
    exact = solve(model, "zero-one-bb", tol=1e-9)
    return tighten(model, slack * exact.values["w"]), exact.objective


@pytest.mark.parametrize("seed", range(trials(3, 6)))
def test_every_classifier_that_is_as_good_satisfies_the_fixings_and_rows(seed: int) -> None:
    model, optimum = models(seed, slack=(1.0, 1.02)[seed % 2])
    fixing = fix_variables(model, (Combined(), Conic(), BigM("incumbent"))[seed % 3])
    fixed_problem = fixing.fixings(model)
    assert (model.big_m_values >= fixed_problem.big_m).all()
    assert (model.big_m_values > fixed_problem.big_m).any()
    assert fixed_problem.value <= optimum
    A = model.y[:, None] * model.X
    rng = np.random.default_rng(seed)
    best = solve(model, "zero-one-bb", tol=1e-9).values["w"]
    tried = [best] + [best * (1 + s * rng.normal(size=3)) for s in (1e-6, 1e-3, 0.01, 0.05, 0.2) for _ in range(200)]
    good = [w for w in tried if model.objective(w) <= fixing.upper_bound]
    assert good
    for w in good:
        violated = A @ w < 1.0 - 1e-9  # as `objective` counts
        assert not (violated & fixed_problem.zero).any()
        assert violated[fixed_problem.one].all()
        assert (A @ w >= 1.0 - fixed_problem.big_m * violated - 1e-9).all()


@pytest.mark.parametrize("encoding", ["bigm", "indicator", "strengthened"])
def test_the_optimum_stays_in_every_encoding(encoding: str) -> None:
    for seed in range(trials(2, 3)):
        model, optimum = models(seed)
        fixing = fix_variables(model)
        gamma = 0.99 * fixing.gamma if encoding == "strengthened" else None
        encoded = ZeroOneSVM(model.X, model.y, model.lam, upper_bound=model.upper_bound, encoding=encoding, gamma=gamma)
        result = solve(fixing.apply(encoded), "scip", tol=1e-8)
        # cones at their apex: SCIP's feasibility tolerance of 1e-9 is 3e-5 in r; rows with M have no such corner
        assert result.objective == pytest.approx(optimum, rel=1e-5 if encoding == "strengthened" else 1e-6)
        back = fixing.recover(encoded, result.values)
        assert encoded.objective(back["w"]) == pytest.approx(optimum, rel=1e-9)
    assert fixing.direction is Direction.EQUIVALENT


def test_bounds_of_fixed_branches_hold() -> None:
    """D_i⁰ and D_i¹ against the optimum with z_i fixed, found by SCIP."""
    model, _ = models(1)
    fixed_problem = fix_variables(model).fixings(model)
    form = ZeroOneSVM(model.X, model.y, model.lam).form
    z = form.slices["z"]
    for i in range(0, 16, 5):
        for side, bound in ((0.0, fixed_problem.bound_zero[i]), (1.0, fixed_problem.bound_one[i])):
            lower, upper = form.lower.copy(), form.upper.copy()
            lower[z.start + i] = upper[z.start + i] = side
            branch = solve(form.with_bounds(lower, upper), "scip", tol=1e-8).objective
            # rows with tightened M hold for what is at most UB, so a branch above it is only proved to be above it
            assert min(bound, model.incumbent_value) <= branch * (1 + 1e-7)


def test_well_separated_points_are_fixed_and_the_bound_rises() -> None:
    X, y = points(0, n=24, shift=2.2)
    X[0, 1:] = -6.0 * y[0] * np.ones(2)
    model = ZeroOneSVM(X, y, 1.0)
    model = tighten(model, solve(model, "zero-one-bb").values["w"])
    fixing = fix_variables(model)
    fixed_problem = fixing.fixings(model)
    assert fixed_problem.zero.sum() >= 5
    assert fixed_problem.one[0]
    before = relax(model, BigM("incumbent"), "clarabel", Options(tol=1e-9))
    after = solve(fixing.apply(model).relax_integrality(), "clarabel", tol=1e-9)
    lifted = fixing.lift_dual(model, after.multipliers)
    assert before.bound < lifted.value <= model.incumbent_value
    assert lifted.value == pytest.approx(min(after.objective, model.incumbent_value), rel=1e-5)
    assert fixing.caveat(model) == ""
    assert "valid" in fixing.m_source(model)


def test_rough_gamma_is_safe() -> None:
    model, optimum = models(2)
    rng = np.random.default_rng(0)
    for gamma in (np.zeros(16), 100.0 * rng.random(16), rng.normal(size=16)):
        fixing = Fixing(gamma, model.incumbent_value)
        assert fixing.fixings(model).value <= optimum
        assert solve(fixing.apply(model), "scip", tol=1e-8).objective == pytest.approx(optimum, rel=1e-7)


def test_refusals() -> None:
    X, y = points(0)
    with pytest.raises(InputError, check=about("model")):
        fix_variables(ZeroOneSVM(X, y))
    free = ZeroOneSVM(X, y, intercept="free", upper_bound=3.0)
    with pytest.raises(UnsupportedModelError, check=about("model")):
        fix_variables(free)
    with pytest.raises(InputError, check=about("gamma")):
        Fixing(np.zeros(3), 1.0).fixings(ZeroOneSVM(X, y))
    with pytest.raises(InputError, check=about("rounds")):
        Fixing(np.zeros(3), 1.0, rounds=0)
    with pytest.raises(InputError, check=about("upper_bound")):
        Fixing(np.zeros(3), -1.0)
