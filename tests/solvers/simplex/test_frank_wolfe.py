"""The Frank-Wolfe family on the unit simplex."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from data import noisy_halves
from effort import part
from facts import about

from marginopt.errors import InputError
from marginopt.models.formulations.enclosing_ball import MEBDual
from marginopt.models.formulations.svm_duals import L2SVMDual
from marginopt.models.kernels.gram import KernelGram, MatrixGram
from marginopt.models.kernels.kernels import RBF, Linear, Polynomial
from marginopt.models.views import SimplexQP
from marginopt.solvers.interface.algorithm import Outcome
from marginopt.solvers.records import Options, Status
from marginopt.solvers.simplex.frank_wolfe import BlendedPairwiseFW, FrankWolfe, ModifiedFrankWolfe, PairwiseFW
from marginopt.solvers.solve import solve_problem

METHODS = (ModifiedFrankWolfe, PairwiseFW, BlendedPairwiseFW)


def data(n=120, p=4, seed=0):
    return noisy_halves(n, p, seed)


def random_view(rng, n=12, linear=True):
    A = rng.standard_normal((n, n))
    return SimplexQP(MatrixGram(A @ A.T), rng.standard_normal(n) if linear else np.zeros(n), np.zeros(n, dtype=np.int64))


def brute_step(view, a, away):
    """One step of FW or MFW, written from the formulas, line search by dense algebra."""
    Q, c = view.gram.matrix, view.c
    g = Q @ a + c
    mean = a @ g
    i = int(np.argmin(g))
    d, longest = -a.copy(), 1.0
    d[i] += 1.0
    kind = "toward"
    support = np.flatnonzero(a)
    j = support[np.argmax(g[support])]
    if away and support.size > 1 and mean - g[i] < g[j] - mean:
        d, longest, kind = a.copy(), a[j] / (1.0 - a[j]), "away"
        d[j] -= 1.0
    step = min(longest, -(g @ d) / (d @ Q @ d))
    new = a + step * d
    if kind == "away" and step == longest:
        new[j], kind = 0.0, "drop"
    return new, kind


@pytest.mark.parametrize("cls", [FrankWolfe, ModifiedFrankWolfe])
def test_iterates_follow_the_formulas(cls):
    kinds = set()
    for seed in range(8):
        rng = np.random.default_rng(seed)
        view = random_view(rng)
        algorithm = cls(stride=1, initial="uniform")
        state = algorithm.init(view, Options(tol=1e-14), np.random.default_rng(0))
        a = np.full(view.n, 1.0 / view.n)
        for _ in range(40):
            if algorithm.advance(state, 1.0) is not Outcome.RUNNING:
                break
            a, kind = brute_step(view, a, cls is ModifiedFrankWolfe)
            row = algorithm.measure(state)
            kinds.add(row.step)
            assert row.step == kind
            assert np.abs(state.iterate.scalars.scale * state.iterate.a - a).max() < 1e-9
            assert row.objective == pytest.approx(view.objective(a), abs=1e-9)
    assert kinds == ({"toward"} if cls is FrankWolfe else {"toward", "away", "drop"})


@pytest.mark.parametrize("cls", METHODS)
def test_without_away_steps_every_method_is_fw_iterate_by_iterate(cls):
    view = random_view(np.random.default_rng(3), n=30)
    runs = []
    for algorithm in (FrankWolfe(stride=1), cls(stride=1, away=False)):
        state = algorithm.init(view, Options(tol=1e-9), np.random.default_rng(5))
        points = []
        for _ in range(300):
            algorithm.advance(state, 1.0)
            points.append(state.iterate.scalars.scale * state.iterate.a)
        runs.append(np.array(points))
    assert np.array_equal(runs[0], runs[1])


@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(3, 0.3, 1.0), Linear()])
def test_objective_never_rises_for_any_kernel(kernel):
    X, y = data()
    for model in (L2SVMDual(X, y, 10.0, kernel), MEBDual(X, kernel)):
        for cls in (FrankWolfe, *METHODS):
            algorithm = cls(stride=1)
            state = algorithm.init(model.simplex, Options(tol=1e-9), np.random.default_rng(0))
            values = [algorithm.measure(state).objective]
            for _ in range(300):
                algorithm.advance(state, 1.0)
                values.append(algorithm.measure(state).objective)
            assert np.diff(values).max() <= 1e-12 * abs(values[0])


@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(2, 0.5, 1.0), Linear()])
@pytest.mark.parametrize("sparse", [False, True])
def test_all_methods_reach_the_interior_point_optimum(kernel, sparse):
    X, y = data()
    points = sp.csr_array(X) if sparse else X
    for model in (L2SVMDual(points, y, 1.0, kernel), MEBDual(points, kernel)):
        reference = solve_problem(model, "clarabel", Options(tol=1e-9)).certificate.objective
        for cls in METHODS:
            result = solve_problem(model, cls(), Options())
            assert result.status is Status.OPTIMAL
            assert result.certificate.objective == pytest.approx(reference, rel=3e-6)
            assert result.certificate.bound <= reference + 1e-9 * abs(reference)
            assert result.certificate.dual_residual < 1e-12
            assert result.certificate.gap <= 1e-6


def test_multipliers_follow_the_forms_signs():
    X, y = data(60)
    model = L2SVMDual(X, y, 1.0, RBF(0.3))
    result = solve_problem(model, ModifiedFrankWolfe(), Options())
    gradient = model.form.gradient(result.values["a"])
    assert result.multipliers["sum"] == pytest.approx(gradient.min())
    assert result.reduced["a"] == pytest.approx(gradient - gradient.min(), abs=1e-12)


def test_mfw_needs_fewer_steps_than_fw_and_drops_points():
    X, y = data()
    model = L2SVMDual(X, y, 1.0, RBF(0.3))
    mfw = solve_problem(model, ModifiedFrankWolfe(), Options(tol=1e-4))
    fw = solve_problem(model, FrankWolfe(), Options(tol=1e-4, iteration_limit=200 * mfw.iterations))
    assert mfw.status is Status.OPTIMAL
    assert fw.iterations > 5 * mfw.iterations
    ball = solve_problem(MEBDual(X, Linear()), ModifiedFrankWolfe(initial="random20"), Options())
    assert ball.details["steps"]["drop"] > 0


@pytest.mark.parametrize("start", ["random20", "random1", "random7", "random999", "farthest", "vertex", "uniform"])
def test_starts_agree(start):
    X, _ = data()
    model = MEBDual(X, Linear())
    result = solve_problem(model, ModifiedFrankWolfe(initial=start), Options(tol=1e-8))
    other = solve_problem(model, PairwiseFW(), Options(tol=1e-8))
    assert result.certificate.objective == pytest.approx(other.certificate.objective, rel=1e-7)


def test_the_farthest_start_is_a_pair_with_halves():
    X, _ = data()
    state = FrankWolfe(initial="farthest").init(MEBDual(X, Linear()).simplex, Options(), np.random.default_rng(0))
    i, j = np.flatnonzero(state.iterate.a)
    assert state.iterate.a[[i, j]].tolist() == [0.5, 0.5]
    distances = [((X - X[k]) ** 2).sum(axis=1) for k in (i, j)]
    assert distances[0][j] == pytest.approx(distances[0].max()) or distances[1][i] == pytest.approx(distances[1].max())


def test_the_users_start_goes_before_the_rule():
    X, y = data()
    model = L2SVMDual(X, y, 1.0, RBF(0.3))
    first = solve_problem(model, ModifiedFrankWolfe(), Options())
    again = solve_problem(model, ModifiedFrankWolfe(), Options(start=first.values))
    assert again.iterations <= 2
    with pytest.raises(InputError, check=about("start")):
        solve_problem(model, ModifiedFrankWolfe(), Options(start={"a": -np.ones(120)}))
    with pytest.raises(InputError, check=about("start")):
        solve_problem(model, ModifiedFrankWolfe(), Options(start={"a": np.ones(3)}))


@pytest.mark.parametrize("model", ["ball", "svm"])
def test_the_enlarged_ball_encloses_every_point(model):
    X, y = data()
    eps = 1e-3
    ball = MEBDual(X, Polynomial(2, 0.5, 1.0)) if model == "ball" else MEBDual.labelled(X, y, 1.0, RBF(0.3))
    problem = ball if model == "ball" else L2SVMDual(X, y, 1.0, RBF(0.3))
    algorithm = ModifiedFrankWolfe(stop="ball", epsilon=eps, stride=1)
    result = solve_problem(problem, algorithm, Options(tol=0.1))
    radius = ball.radius(result.values)
    assert np.sqrt(ball.squared_distances(result.values).max()) <= (1 + eps) * radius * (1 + 1e-12)
    # the rule stops the run: one step earlier the ball did not hold them all
    early = solve_problem(problem, algorithm, Options(tol=0.1, iteration_limit=result.iterations - 1))
    assert early.iterations == result.iterations - 1
    assert np.sqrt(ball.squared_distances(early.values).max()) > (1 + eps) * ball.radius(early.values)


def test_the_ball_rule_needs_a_ball():
    X, y = data()
    with pytest.raises(InputError, check=about("stop")):
        solve_problem(L2SVMDual(X, y, 1.0, Linear()), FrankWolfe(stop="ball"), Options())


@pytest.mark.parametrize(("cache", "method"), part(product((8 * 500 * 500, 8 * 500 * 100), (FrankWolfe, ModifiedFrankWolfe)), 3))
def test_the_paper_s_samples_leave_the_support_out_and_end_the_run_early(method, cache):
    """Of classes apart few points lie outside the ball near the end: a sample without one comes soon, the support knows them."""
    X, y = data(500)
    ball = L2SVMDual(X + 2.0 * y[:, None], y, 100.0, RBF(0.05))
    common = {"stop": "ball", "epsilon": 1e-6, "sampling": 59, "rescan": False, "cache_bytes": cache}
    options = Options(iteration_limit=20000, tol=2e-6, seed=0)
    seen = solve_problem(ball, method(**common), options)
    paper = solve_problem(ball, method(**common, support_candidates=False), options)
    assert paper.iterations < 0.5 * seen.iterations
    assert paper.objective >= seen.objective - 1e-12
    assert paper.values["a"].min() >= 0.0
    assert paper.values["a"].sum() == pytest.approx(1.0)
    with pytest.raises(InputError, check=about("rescan")):
        solve_problem(ball, method(sampling=59, support_candidates=False), Options())


def test_sampled_runs_end_with_a_full_scan():
    X, y = data(500)
    model = L2SVMDual(X, y, 1.0, RBF(0.3))
    result = solve_problem(model, ModifiedFrankWolfe(sampling=59), Options(tol=1e-3))
    assert result.status is Status.OPTIMAL
    assert result.details["full_scans"] >= 1
    assert result.certificate.gap <= 1e-3
    paper = solve_problem(model, ModifiedFrankWolfe(sampling=5, rescan=False), Options(tol=1e-1))
    assert paper.details["full_scans"] == 0
    assert (paper.certificate.gap > 1e-1) == (paper.status is Status.INACCURATE)


def test_a_small_cache_changes_nothing_but_the_columns_computed():
    X, y = data()
    model = L2SVMDual(X, y, 1.0, RBF(0.3))
    large = solve_problem(model, PairwiseFW(), Options())
    small = solve_problem(model, PairwiseFW(cache_bytes=8 * 120 * 5), Options())
    assert small.iterations == large.iterations
    assert np.array_equal(small.values["a"], large.values["a"])
    assert small.details["columns"] > large.details["columns"]
    with pytest.raises(InputError, check=about("cache_bytes")):
        solve_problem(model, PairwiseFW(cache_bytes=1000), Options())


def test_single_precision_columns_end_with_a_float64_certificate():
    X, y = data()
    model = L2SVMDual(X, y, 1.0, RBF(0.3))
    result = solve_problem(model, PairwiseFW(precision="single"), Options(tol=1e-7))
    assert result.status is Status.OPTIMAL
    assert result.certificate.gap <= 1e-7


def test_traces_name_their_steps():
    X, _ = data()
    result = solve_problem(MEBDual(X, Linear()), ModifiedFrankWolfe(stride=1), Options(tol=1e-6))
    steps = [row.step for row in result.trace]
    assert {"toward", "away"} <= set(steps) <= {"", "toward", "away", "drop"}
    assert len(steps) >= result.iterations
    assert result.trace[len(result.trace) - 1].gap <= 1e-6


def test_degenerate_problems_have_right_answers():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((10, 3)), 5, axis=0)
    model = MEBDual(X, Linear())
    reference = solve_problem(model, "clarabel", Options()).certificate.objective
    for cls in METHODS:
        assert solve_problem(model, cls(), Options()).certificate.objective == pytest.approx(reference, rel=1e-6)
    single = SimplexQP(MatrixGram(np.array([[2.0]])), np.zeros(1), np.zeros(1, dtype=np.int64))
    algorithm = FrankWolfe()
    state = algorithm.init(single, Options(), rng)
    assert algorithm.advance(state, 0.1) is Outcome.CONVERGED
    assert algorithm.answer(state).values["a"].tolist() == [1.0]


def test_several_simplices_are_refused_with_a_reason():
    view = SimplexQP(MatrixGram(np.eye(4)), np.zeros(4), np.array([0, 0, 1, 1]))

    class Two(MEBDual):
        @property
        def simplex(self):
            return view

    assert "smo" in FrankWolfe().obstacle(Two(np.eye(4)))


@pytest.mark.parametrize(
    "native", [{"start": "middle"}, {"precision": "half"}, {"stop": "never"}, {"sampling": 0}, {"stride": 0}]
)
def test_bad_parameters_are_named(native):
    X, y = data(40)
    with pytest.raises(InputError, check=about(next(iter(native)))):
        solve_problem(L2SVMDual(X, y, 1.0, RBF(0.3)), FrankWolfe(), Options(native=native))


@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(3, 0.3, 1.0), Linear()])
@pytest.mark.parametrize("sparse", [False, True])
def test_single_columns_and_blocks_are_the_columns(kernel, sparse):
    X, y = data(50)
    gram = KernelGram(sp.csr_array(X) if sparse else X, kernel, signs=y, offset=1.0, ridge=0.5, scale=2.0)
    for chosen in (np.array([7]), np.array([3, 11, 20])):
        exact = gram.columns(chosen)
        single = gram.single_columns(chosen)
        assert single.dtype == np.float32
        assert np.abs(single.T - exact).max() <= 2e-6 * np.abs(exact).max()
        rows = np.array([3, 4, 11])
        assert gram.block(rows, chosen) == pytest.approx(exact[rows])


@pytest.mark.parametrize("slots", [10, 300])
def test_sampled_steps_with_and_without_the_whole_matrix_in_the_cache(slots):
    X, y = data(300)
    algorithm = ModifiedFrankWolfe(sampling=59, cache_bytes=4 * 300 * slots)
    result = solve_problem(L2SVMDual(X, y, 1.0, RBF(0.3)), algorithm, Options(tol=1e-4))
    assert result.status is Status.OPTIMAL
    assert result.certificate.gap <= 1e-4


def test_sampling_with_all_columns_cached_takes_the_same_steps():
    X, y = data(200)
    model = L2SVMDual(X, y, 1.0, RBF(0.3))
    for method in (FrankWolfe, ModifiedFrankWolfe):
        runs = [
            solve_problem(
                model, method(sampling=20, precision="double", cache_bytes=cache), Options(iteration_limit=150, tol=1e-12)
            )
            for cache in (8 * 200 * 200, 8 * 200 * 150)
        ]
        assert runs[0].iterations == runs[1].iterations == 150
        assert runs[0].values["a"] == pytest.approx(runs[1].values["a"], abs=1e-10)
