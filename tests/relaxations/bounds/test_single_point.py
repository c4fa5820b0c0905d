"""Single-point hulls and the kernel SDP: bounds, their order, ways back, and why all γ_i = 1/||x_i||² at once are invalid."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from data import clouds
from facts import about

from marginopt.errors import InputError, MarginoptWarning, UnsupportedModelError
from marginopt.models import ZeroOneSVM
from marginopt.models.conic_bound import dual_value, repair_gamma
from marginopt.models.views import ConicProblem
from marginopt.relaxations import Conic, Direction, KernelConic, SinglePoint, relax
from marginopt.relaxations.bounds.single_point import single_point_gammas
from marginopt.solvers import Options, certify, solve

TIGHT = Options(tol=1e-9)


def points(seed: int, n: int = 12, p: int = 2) -> tuple[np.ndarray, np.ndarray]:
    return clouds(seed, n, p)


@pytest.mark.parametrize("reduction", [SinglePoint(), KernelConic()])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_are_proved_ordered_and_lead_back(seed: int, reduction: SinglePoint | KernelConic) -> None:
    X, y = points(seed)
    model = ZeroOneSVM(X, y, (0.3, 1.0, 4.0, 0.05)[seed])
    optimum = solve(model, "zero-one-bb", tol=1e-9).objective
    relaxed = relax(model, reduction, "clarabel", TIGHT)
    sdp = relax(model, Conic(), "clarabel", TIGHT)
    assert relaxed.bound_kind == "proved"
    assert relaxed.reduction.direction is Direction.OUTER
    assert relaxed.bound == pytest.approx(relaxed.result.objective, rel=1e-6)
    assert relaxed.lifted.value == pytest.approx(relaxed.bound, rel=1e-6)
    assert relaxed.bound <= sdp.bound * (1 + 1e-8)
    assert sdp.bound <= optimum * (1 + 1e-12)
    certificate = certify(model.form, relaxed.values)
    assert certificate.feasible(1e-9)
    assert certificate.objective == pytest.approx(relaxed.objective)
    assert relaxed.objective >= optimum * (1 - 1e-9)


def test_kernel_sdp_with_the_linear_kernel_equals_the_primal_one_also_where_p_exceeds_n() -> None:
    for n, p in ((12, 2), (8, 11)):
        X, y = points(7, n, p)
        model = ZeroOneSVM(X, y, 0.4)
        primal, kernel = (relax(model, r, "clarabel", TIGHT) for r in (Conic(), KernelConic()))
        assert kernel.bound == pytest.approx(primal.bound, rel=1e-6)
        assert kernel.objective == pytest.approx(primal.objective, rel=1e-5)
        result = relax(model, KernelConic(), "conic-ipm", Options(tol=1e-8))
        assert result.bound == pytest.approx(primal.bound, rel=1e-6)


def test_single_point_hulls_are_a_maximum_over_part_of_gamma() -> None:
    """The best of D over γ = μ_i/||x_i||² with two points, by a grid over μ: below the relaxation's optimum, and near it."""
    X, y = points(3, n=4)
    model = ZeroOneSVM(X, y, 0.5)
    relaxed = relax(model, SinglePoint(), "clarabel", TIGHT)
    from marginopt.models.conic_bound import certified_bound

    problem = ConicProblem(y[:, None] * X, 0.5, None)
    gamma = single_point_gammas(problem.A)
    best = 0.0
    for mu in itertools.product(np.linspace(0, 1, 6), repeat=4):
        if sum(mu) <= 1.0:
            best = max(best, certified_bound(problem, np.array(mu) * gamma).value)
    assert 0.95 * relaxed.bound < best <= relaxed.bound * (1 + 1e-8)


def test_all_single_point_gammas_at_once_are_invalid() -> None:
    """Each γ_i = 1/||x_i||² is the largest for its point; together they leave Γ, and the closed form "proves" too much."""
    X, y = points(0, n=12)
    A = y[:, None] * X
    gamma = single_point_gammas(A)
    for i in range(12):
        alone = np.where(np.arange(12) == i, gamma, 0.0)
        assert np.linalg.eigvalsh(np.eye(3) - (A * alone[:, None]).T @ A)[0] == pytest.approx(0.0, abs=1e-12)
    S = np.eye(3) - (A * gamma[:, None]).T @ A
    assert np.linalg.eigvalsh(S)[0] < -1.0
    problem = ConicProblem(A, 0.5, None)
    assert dual_value(problem, gamma, np.sqrt(0.5 * gamma)) == -np.inf  # refused, not evaluated
    with pytest.raises(InputError, check=about("gamma")):
        ZeroOneSVM(X, y, 0.5, encoding="strengthened", gamma=gamma)
    # what the formula without the check would claim: some v that it accepts exceed the optimum
    optimum = solve(ZeroOneSVM(X, y, 0.5), "zero-one-bb", tol=1e-9).objective
    rng = np.random.default_rng(0)
    claims = []
    for _ in range(50):
        v = 2.0 * np.sqrt(0.5 * gamma) * rng.random(12)
        g = A.T @ (2.0 * gamma - v)
        claims.append(v.sum() - gamma.sum() - 0.25 * g @ np.linalg.solve(S, g))
    assert max(claims) > optimum
    # scaled into Γ they are valid again
    assert repair_gamma(A, gamma).sum() < gamma.sum()


def test_rows_of_zeros_have_no_hull() -> None:
    X, y = points(1, n=8)
    X[0] = 0.0
    assert single_point_gammas(X)[0] == 0.0
    with pytest.warns(MarginoptWarning):
        model = ZeroOneSVM(X, y, 0.5)
    relaxed = relax(model, SinglePoint(), "clarabel", TIGHT)
    assert 0.0 < relaxed.bound <= solve(model, "zero-one-bb", tol=1e-9).objective


def test_statement_and_refusals() -> None:
    X, y = points(0)
    free = ZeroOneSVM(X, y, intercept="free")
    weighted = ZeroOneSVM(X, y, np.linspace(1, 2, 12))
    for reduction in (SinglePoint(), KernelConic()):
        with pytest.raises(UnsupportedModelError, check=about("kernel SDP, linear kernel", "single-point hulls")):
            reduction.apply(free)
        with pytest.raises(UnsupportedModelError, check=about("kernel SDP, linear kernel", "single-point hulls")):
            reduction.apply(weighted)
    with pytest.raises(InputError, check=about("kernel SDP, linear kernel")):
        KernelConic().apply(ZeroOneSVM(X[:, ::-1], y))
