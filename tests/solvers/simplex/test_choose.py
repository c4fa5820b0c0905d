"""The choice among the simplex algorithms."""

import numpy as np
import pytest
from facts import about

from marginopt.errors import InputError
from marginopt.models.formulations.enclosing_ball import MEBDual
from marginopt.models.formulations.svm_duals import L2SVMDual
from marginopt.models.kernels.kernels import RBF, Linear
from marginopt.solvers.records import Options, Status
from marginopt.solvers.simplex.smo import AutoSimplex, choose_parameters
from marginopt.solvers.solve import solve_problem


def model(n=200, C=1.0):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    return L2SVMDual(X, np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0), C, RBF(0.3))


def test_the_result_says_what_was_picked():
    result = solve_problem(model(), AutoSimplex(), Options(tol=1e-9))
    assert result.status is Status.OPTIMAL
    assert result.details["algorithm"].startswith("smo")
    assert "n = 200, gap 1e-09" in result.details["reason"]
    hard = solve_problem(model(600, 1e4), AutoSimplex(), Options(tol=1e-10))
    assert hard.details["algorithm"] == "smo with Newton finisher"
    assert hard.certificate.gap <= 1e-10 + hard.certificate.resolution  # the optimum is 1e-6 of the kernel's entries
    assert hard.certificate.resolution <= 1e-6


def test_memory_and_size_change_the_choice():
    small, _ = choose_parameters(model().simplex, Options())
    assert small.precision == "double"
    tight, reason = choose_parameters(model(1000).simplex, Options(memory_limit=4 * 1000 * 50))
    assert tight.precision == "single"
    assert tight.cache_bytes == 4 * 1000 * 50
    assert "50 of 1000 columns fit" in reason
    result = solve_problem(model(1000), AutoSimplex(), Options(memory_limit=4 * 1000 * 50))
    assert result.status is Status.OPTIMAL
    assert result.details["cache_slots"] == 50
    with pytest.raises(InputError, check=about("cache_bytes")):
        solve_problem(model(1000), AutoSimplex(), Options(memory_limit=1000))


def test_balls_too():
    X = np.random.default_rng(0).standard_normal((300, 5))
    result = solve_problem(MEBDual(X, Linear()), AutoSimplex(), Options(tol=1e-10))
    reference = solve_problem(MEBDual(X, Linear()), "clarabel", Options(tol=1e-9))
    assert result.certificate.objective == pytest.approx(reference.certificate.objective, rel=1e-8)
