"""The core vector machine."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from data import noisy_halves
from effort import trials
from facts import about

from marginopt.errors import InputError
from marginopt.models.formulations.enclosing_ball import MEBDual
from marginopt.models.formulations.svm_duals import L2SVMDual
from marginopt.models.kernels.kernels import RBF, Linear, Polynomial
from marginopt.solvers.records import Options, Status
from marginopt.solvers.simplex.core_vector_machine import CoreVectorMachine
from marginopt.solvers.simplex.frank_wolfe import FrankWolfe, ModifiedFrankWolfe
from marginopt.solvers.simplex.smo import SMO
from marginopt.solvers.solve import solve_problem


def data(n=150, p=4, seed=0):
    return noisy_halves(n, p, seed)


@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(2, 0.5, 1.0), Linear()])
@pytest.mark.parametrize("sparse", [False, True])
def test_cvm_reaches_the_optimum(kernel, sparse):
    X, y = data()
    points = sp.csr_array(X) if sparse else X
    for model in (L2SVMDual(points, y, 1.0, kernel), MEBDual(points, kernel)):
        reference = solve_problem(model, SMO(), Options(tol=1e-9)).certificate.objective
        result = solve_problem(model, CoreVectorMachine(), Options())
        assert result.status is Status.OPTIMAL
        assert result.certificate.objective == pytest.approx(reference, rel=1e-6)
        assert result.certificate.dual_residual < 1e-12


def test_the_radius_of_every_algorithm_is_the_same():
    X, y = data()
    model = MEBDual.labelled(X, y, 1.0, RBF(0.3))
    algorithms = (CoreVectorMachine(), FrankWolfe(), ModifiedFrankWolfe(), SMO())
    radii = [model.radius(solve_problem(model, s, Options(tol=1e-6)).values) for s in algorithms]
    reference = model.radius(solve_problem(model, "clarabel", Options(tol=1e-9)).values)
    assert radii == pytest.approx([reference] * 4, rel=1e-6)


def test_the_core_only_grows_and_the_objective_falls():
    X, _ = data()
    model = MEBDual(X, Linear())
    algorithm = CoreVectorMachine(stride=1, initial="farthest")
    state = algorithm.init(model.simplex, Options(tol=1e-9), np.random.default_rng(0))
    sizes, values = [state.size], [state.objective]
    for _ in range(5):
        algorithm.advance(state, 1.0)
        sizes.append(state.size)
        values.append(state.objective)
    assert all(b >= a for a, b in itertools.pairwise(sizes))
    assert all(b <= a + 1e-12 for a, b in itertools.pairwise(values))


def test_cvm_needs_fewer_core_steps_than_fw_steps():
    X, y = data()
    model = L2SVMDual(X, y, 1.0, RBF(0.3))
    cvm = solve_problem(model, CoreVectorMachine(), Options(tol=1e-4))
    fw = solve_problem(model, FrankWolfe(), Options(tol=1e-4, iteration_limit=100 * cvm.iterations))
    assert cvm.status is Status.OPTIMAL
    assert fw.iterations > 10 * cvm.iterations


def test_ball_rule_sampling_and_small_cache():
    X, y = data(400)
    ball = MEBDual.labelled(X, y, 1.0, RBF(0.3))
    eps = 1e-3
    for algorithm in (
        CoreVectorMachine(stop="ball", epsilon=eps),
        CoreVectorMachine(stop="ball", epsilon=eps, sampling=59),
        CoreVectorMachine(stop="ball", epsilon=eps, cache_bytes=8 * 400 * 4),
    ):
        result = solve_problem(ball, algorithm, Options(tol=0.1))
        assert result.claim.status is Status.OPTIMAL
        assert ball.summary(result.values)["enclosing_radius"] <= (1 + eps) * ball.radius(result.values) * (1 + 1e-12)
    assert solve_problem(ball, CoreVectorMachine(sampling=59), Options(tol=1e-3)).details["full_scans"] >= 1


def test_bad_parameters_are_named():
    X, y = data(40)
    with pytest.raises(InputError, check=about("sampling")):
        solve_problem(L2SVMDual(X, y, 1.0, RBF(0.3)), CoreVectorMachine(sampling=0), Options())
    with pytest.raises(InputError, check=about("inner")):
        solve_problem(L2SVMDual(X, y, 1.0, RBF(0.3)), CoreVectorMachine(inner="exact"), Options())


def test_the_papers_inner_problem_is_solved_every_time():
    X, y = data(300)
    model = L2SVMDual(X, y, 10.0, RBF(0.3))
    options = {"stop": "ball", "epsilon": 1e-6, "initial": "farthest"}
    adaptive = solve_problem(model, CoreVectorMachine(**options), Options())
    full = solve_problem(model, CoreVectorMachine(inner="full", **options), Options())
    assert full.certificate.objective == pytest.approx(adaptive.certificate.objective, rel=1e-5)
    assert full.details["inner_pairs"] > 2 * adaptive.details["inner_pairs"]
    algorithm = CoreVectorMachine(inner="full", stride=1)
    state = algorithm.init(model.simplex, Options(tol=1e-6), np.random.default_rng(0))
    for _ in range(10):  # after every step the weights solve the problem on the core that they were made for
        algorithm.advance(state, 1.0)
        size = state.size - 1
        gradient = state.Q[:size, :size] @ state.alpha[:size]
        value = state.alpha[:size] @ gradient
        assert value - gradient.min() <= 1.01e-6 * value


def test_a_polynomial_kernel_gives_an_effective_classifier():
    """Table 8's point: the kernel is not normalised, the exact line search needs no constant diagonal."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 4))
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * X[:, 2] ** 2 > 0.4, 1.0, -1.0)  # no linear classifier does better than two in three
    kernel = Polynomial(2, "frank-wolfe-polynomial", 1.0).fitted(X[:300])
    model = L2SVMDual(X[:300], y[:300], 100.0, kernel)
    for algorithm in (CoreVectorMachine(), FrankWolfe(stride=10), ModifiedFrankWolfe(stride=10), SMO()):
        result = solve_problem(model, algorithm, Options(tol=1e-3, iteration_limit=20_000))
        share = (np.sign(model.decision_function(result.values, X[300:])) == y[300:]).mean()
        assert share > 0.9, type(algorithm).__name__
        values = result.trace.column("objective")
        assert np.diff(values).max() <= 1e-7 * abs(values[0])


@pytest.mark.parametrize("seed", range(trials(2, 4)))
def test_a_sampled_run_ends_by_a_full_scan_with_the_gap_closed(seed):
    rng = np.random.default_rng(300)
    X, y = rng.standard_normal((300, 4)), np.where(rng.random(300) < 0.5, -1.0, 1.0)
    X[:, 0] += 0.8 * y
    result = solve_problem(L2SVMDual(X, y, 1.0, RBF(0.7)), CoreVectorMachine(sampling=20), Options(tol=1e-4, seed=seed))
    assert result.status is Status.OPTIMAL
    assert result.gap <= 1e-4
    assert result.details["full_scans"] >= 1
