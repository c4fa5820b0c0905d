"""L1SVMDual, its view, and SMO on a box with one equality."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from data import noisy_halves
from facts import about
from sklearn.svm import SVC

from marginopt.errors import InputError
from marginopt.models.formulations.svm_duals import L1SVMDual
from marginopt.models.kernels.kernels import RBF, Linear, Polynomial, Precomputed
from marginopt.solvers.records import Options, Status
from marginopt.solvers.simplex.box_smo import BoxSMO, OrderedGram, move_into_box
from marginopt.solvers.solve import solve_problem


def data(n=150, p=4, seed=0):
    return noisy_halves(n, p, seed)


@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(2, 0.5, 1.0), Linear()])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_smo_reaches_the_interior_point_optimum(kernel, sparse, C):
    X, y = data()
    model = L1SVMDual(sp.csr_array(X) if sparse else X, y, C, kernel)
    reference = solve_problem(model, "clarabel", Options(tol=1e-9)).certificate
    result = solve_problem(model, BoxSMO(), Options(tol=1e-7))
    assert result.status is Status.OPTIMAL
    assert result.certificate.objective == pytest.approx(reference.objective, rel=1e-6)
    assert result.certificate.gap <= 1e-7
    assert result.certificate.primal_residual < 1e-12
    assert result.certificate.dual_residual < 1e-11
    assert reference.bound <= result.certificate.objective + 1e-9
    assert reference.gap < 1e-6


def test_the_problem_is_libsvms():
    X, y = data(300)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    for problem in (None, weights):
        model = L1SVMDual(X, y, 2.0, RBF(0.3), sample_weight=problem)
        result = solve_problem(model, BoxSMO(), Options(tol=1e-9))
        svc = SVC(C=2.0, gamma=0.3, tol=1e-8).fit(X, y, sample_weight=problem)
        theirs = np.zeros(300)
        theirs[svc.support_] = np.abs(svc.dual_coef_[0])
        assert result.certificate.objective == pytest.approx(model.box.objective(theirs), rel=1e-7)
        assert model.intercept(result.values) == pytest.approx(svc.intercept_[0], abs=1e-4)
        ours = model.decision_function(result.values, X[:20])
        assert ours == pytest.approx(svc.decision_function(X[:20]), abs=1e-3)
        assert result.summary["misclassified"] == (y * svc.decision_function(X) < 0).sum()


def test_the_level_is_the_linear_programs_optimum():
    rng = np.random.default_rng(0)
    for _ in range(30):
        n = int(rng.integers(2, 9))
        y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
        model = L1SVMDual(np.eye(n), y, float(rng.uniform(0.1, 3.0)), sample_weight=rng.uniform(0.2, 2.0, n))
        gradient = rng.standard_normal(n) + rng.normal()
        value, nu = model.box.minimise_linear(gradient)
        lp = scipy.optimize.linprog(gradient, A_eq=y[None, :], b_eq=[0.0], bounds=[(0, u) for u in model.box.upper])
        assert value == pytest.approx(lp.fun, abs=1e-9)
        assert value == pytest.approx(model.box.upper @ np.minimum(0, gradient - nu * y))


def test_every_point_gives_a_valid_bound():
    X, y = data(60)
    model = L1SVMDual(X, y, 1.0, RBF(0.3))
    best = solve_problem(model, BoxSMO(), Options(tol=1e-9)).certificate.objective
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert model.bound(rng.uniform(-0.5, 1.5, 60), None).value <= best + 1e-9


def test_limits_starts_caches_and_precomputed_kernels():
    X, y = data(300)
    model = L1SVMDual(X, y, 10.0, RBF(0.3))
    full = solve_problem(model, BoxSMO(), Options())
    few = solve_problem(model, BoxSMO(), Options(iteration_limit=50, tol=1e-12))
    assert few.status is Status.ITERATION_LIMIT
    assert few.iterations == 50
    assert few.certificate.primal_residual < 1e-13
    warm = solve_problem(model, BoxSMO(), Options(start=full.values))
    assert warm.iterations < full.iterations / 5
    small = solve_problem(model, BoxSMO(cache_bytes=4 * 300 * 5), Options())
    assert small.details["cache_slots"] == 5
    assert small.certificate.objective == pytest.approx(full.certificate.objective, rel=2e-6)
    same = solve_problem(L1SVMDual(RBF(0.3).matrix(X, X), y, 10.0, Precomputed()), BoxSMO(), Options())
    assert same.certificate.objective == pytest.approx(full.certificate.objective, rel=2e-6)
    with pytest.raises(InputError, check=about("cache_bytes")):
        solve_problem(model, BoxSMO(cache_bytes=100), Options())
    with pytest.raises(InputError, check=about("start")):
        solve_problem(model, BoxSMO(), Options(start={"a": np.ones(2)}))
    with pytest.raises(InputError, check=about("precision")):
        solve_problem(model, BoxSMO(precision="half"), Options())


def test_separable_data_and_one_lonely_point():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    lonely = np.where(np.arange(60) == 5, 1.0, -1.0)
    for y, C in ((np.where(X[:, 0] > 0, 1.0, -1.0), 1e6), (lonely, 1.0)):
        result = solve_problem(L1SVMDual(X, y, C, RBF(0.5)), BoxSMO(), Options())
        assert result.status is Status.OPTIMAL


def test_statement_and_form():
    X, y = data(20)
    model = L1SVMDual(X, y, 2.0, Linear())
    assert "y'a = 0" in str(model)
    assert r"y^\top a = 0" in model.latex()
    assert model.form.constraint("balance").rows == 1
    assert model.form.upper.tolist() == [2.0] * 20


@pytest.mark.parametrize("cache", [2**30, 4 * 600 * 40])
def test_shrinking_leaves_the_optimum_alone(cache):
    X, y = data(600)
    model = L1SVMDual(X, y, 100.0, RBF(1.0))
    plain = solve_problem(model, BoxSMO(shrinking=False), Options(tol=1e-8))
    shrunk = solve_problem(model, BoxSMO(cache_bytes=cache), Options(tol=1e-8))
    assert plain.details["shrinkings"] == 0 < shrunk.details["shrinkings"]
    assert shrunk.status is Status.OPTIMAL
    assert shrunk.certificate.gap <= 1e-8
    assert shrunk.certificate.dual_residual < 1e-11
    assert shrunk.certificate.objective == pytest.approx(plain.certificate.objective, rel=1e-8)
    assert np.max(shrunk.trace.column("bound")) <= plain.certificate.objective + 1e-6


def test_a_shrunk_run_can_be_cut_off_anywhere():
    X, y = data(600)
    model = L1SVMDual(X, y, 100.0, RBF(1.0))
    best = solve_problem(model, BoxSMO(), Options(tol=1e-8)).certificate.objective
    for limit in (2000, 5000, 9000):
        result = solve_problem(model, BoxSMO(), Options(tol=1e-12, iteration_limit=limit))
        assert result.iterations == limit
        assert result.certificate.primal_residual < 1e-12
        assert result.certificate.bound <= best <= result.certificate.objective + 1e-9


def test_ordered_columns_are_the_matrixs():
    X, y = data(40)
    view = L1SVMDual(X, y, 1.0, RBF(0.3)).box
    K = view.gram.dense * np.outer(y, y)
    order = np.random.default_rng(0).permutation(40)
    for places in (np.arange(40), order):
        gram, chosen = OrderedGram(view, places), np.array([3, 11])
        wanted = K[np.ix_(places, places)][:, chosen]
        assert gram.columns(chosen) == pytest.approx(wanted, abs=1e-12)
        assert gram.single_columns(chosen) == pytest.approx(wanted.T, abs=1e-5)
        out = np.empty((2, 40), dtype=np.float32)
        assert gram.single_columns(chosen, out) is out
        assert out == pytest.approx(wanted.T, abs=1e-5)
        assert gram.diagonal == pytest.approx(np.diag(K)[places])


def test_balancing_a_point_moves_no_point_off_its_bound():
    X, y = data(50)
    view = L1SVMDual(X, y, 1.0, RBF(0.3)).box
    a = np.where(np.arange(50) % 3 == 0, 1.0, np.where(np.arange(50) % 3 == 1, 0.5, 0.0))
    moved = move_into_box(view, move_into_box(view, a) * (1.0 + 1e-9 * y))
    again = move_into_box(view, np.minimum(moved, 1.0))
    assert abs(y @ again) < 1e-12
    assert ((again == 1.0) == (moved >= 1.0)).all()
    heavy = np.where(y > 0, 1.0, 0.1)  # nothing free on the heavy side
    assert abs(y @ move_into_box(view, heavy)) < 1e-12


def test_contradicting_copies_at_a_large_c_cost_digits_and_the_answer_says_so():
    X, y = data(40)
    copies = L1SVMDual(np.vstack([X, X, X]), np.concatenate([y, y, -y]), 1e6, RBF(0.3))
    result = solve_problem(copies, BoxSMO(), Options(tol=1e-6))
    assert result.claim.status is Status.OPTIMAL and result.status is Status.INACCURATE
    assert "rounding may hide" in result.evidence and result.certificate.resolution > 1e-6


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_duplicates_and_a_constant_kernel(C):
    X, y = data(40)
    copies = L1SVMDual(np.vstack([X, X, X]), np.concatenate([y, y, -y]), C, RBF(0.3))
    reference = solve_problem(copies, "clarabel", Options(tol=1e-9)).certificate
    result = solve_problem(copies, BoxSMO(), Options(tol=1e-6))
    assert result.status is Status.OPTIMAL
    assert result.certificate.objective == pytest.approx(reference.objective, rel=2e-6)
    flat = solve_problem(L1SVMDual(np.zeros((50, 2)), y[:40].repeat(2)[:50], C, RBF(1.0)), BoxSMO(), Options(tol=1e-8))
    labels = y[:40].repeat(2)[:50]
    assert flat.certificate.objective == pytest.approx(-2.0 * C * min((labels > 0).sum(), (labels < 0).sum()), rel=1e-8)


def test_a_point_whose_squares_overflow_is_far_from_the_others():
    """The kernel of a point of 1e300 is that of one of 1e3: zero but for the point itself."""
    optima = []
    for size in (1e3, 1e300):
        X = np.array([[1.0, 0.5], [-1.0, 0.7], [0.2, -1.0], [size, 0.3], [0.1, 1.3], [0.6, -1.5]])
        model = L1SVMDual(X, np.array([1.0, -1, 1, -1, 1, -1]), C=1.0, kernel=RBF(0.1))
        with np.errstate(all="ignore"):
            result = solve_problem(model, "smo-box", Options())
        assert result.status is Status.OPTIMAL and result.bound_kind == "proved"
        optima.append(result.objective)
    assert optima[0] == pytest.approx(optima[1], rel=1e-5)
