"""Newton's method on the active constraints of second-order cone programs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.models import Block, Constraint, Nonnegative, Quadratic, RotatedSecondOrder, SecondOrder, StandardForm, Zero
from marginopt.solvers.certification.certificate import certify
from marginopt.solvers.certification.newton_refinement import newton_polish
from marginopt.solvers.records import Options, Status
from marginopt.solvers.solve import solve_problem


def cone_program(seed):
    rng = np.random.default_rng(seed)
    n = 5
    ball = np.vstack([np.zeros(n), np.eye(n) + 0.2 * rng.normal(size=(n, n))])
    constraints = (
        Constraint("ball", sp.csr_array(ball), np.r_[2.0, np.zeros(n)], SecondOrder(n + 1)),
        Constraint("stack", sp.csr_array(rng.normal(size=(6, n))), np.tile([1.0, 1.5, 0.3], 2), RotatedSecondOrder(3, 2)),
        Constraint("rows", sp.csr_array(rng.normal(size=(2, n))), np.ones(2), Nonnegative(2)),
        Constraint("equal", sp.csr_array(rng.normal(size=(1, n))), np.zeros(1), Zero(1)),
    )
    P = Quadratic(factor=rng.normal(size=(2, n)))
    blocks, lower, upper = (Block("x", (n,)),), np.full(n, -0.6), np.full(n, 5.0)
    return StandardForm("p", blocks, rng.normal(size=n), constraints, lower, upper, np.zeros(n, bool), P)


@pytest.mark.parametrize("seed", range(5))
def test_disturbed_solution_is_restored(seed):
    form = cone_program(seed)
    result = solve_problem(form, "clarabel", Options(tol=1e-8))
    assert result.status is Status.OPTIMAL
    rng = np.random.default_rng(seed)
    x, zeta = form.join(result.values), form.join(result.reduced)
    z = {label: value * (1 + 1e-5 * rng.normal(size=value.size)) for label, value in result.multipliers.items()}
    disturbed = x + 1e-6 * rng.normal(size=x.size)
    before = certify(form, form.split(disturbed), z, zeta)
    y, multipliers, reduced = newton_polish(form, disturbed, z, zeta)
    after = certify(form, form.split(y), multipliers, reduced)
    assert max(before.dual_residual, before.primal_residual) > 1e-8
    assert max(after.dual_residual, after.primal_residual, after.complementarity) <= 1e-12
    undisturbed, *_ = newton_polish(form, x, result.multipliers, zeta)  # x itself is Clarabel's, good to some 1e-6
    np.testing.assert_allclose(y, undisturbed, atol=1e-9)


@pytest.mark.parametrize("seed", [2, 6, 8, 9])
def test_a_price_of_rounding_size_on_a_free_variable_gives_no_point_away(seed):
    """It counts as a miss of stationarity of its size: as the price of an infinite slack, any step was better than the point."""
    form = cone_program(seed).replace(lower=np.full(5, -np.inf), upper=np.full(5, np.inf))
    result = solve_problem(form, "clarabel", Options(tol=1e-8))
    x, z = form.join(result.values), {**result.multipliers, "ball": np.zeros(6)}
    y, *_ = newton_polish(form, x, z, np.full(5, 1e-12))
    plain, *_ = newton_polish(form, x, z, np.zeros(5))
    np.testing.assert_allclose(y, plain, atol=1e-9)
    assert certify(form, form.split(y)).primal_residual <= 1e-6


@pytest.mark.parametrize("why", ["exact", "large"])
def test_what_is_not_improved_is_returned_as_given(why):
    form = cone_program(0)
    result = solve_problem(form, "clarabel", Options(tol=1e-8))
    x, z, zeta = form.join(result.values), dict(result.multipliers), form.join(result.reduced)
    if why == "exact":
        x, z, zeta = newton_polish(form, x, z, zeta)
        for _ in range(3):  # to the last bit
            x, z, zeta = newton_polish(form, x, z, zeta)
    y, multipliers, reduced = newton_polish(form, x, z, zeta, largest=2000 if why == "exact" else 3)
    assert y is x and reduced is zeta
    assert all(multipliers[label] is z[label] for label in z)
