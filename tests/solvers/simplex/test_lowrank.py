"""The low-rank start: its model, the triangle, and what it hands out, for kernels, simplices, weights, degenerate data."""

import numpy as np
import pytest
import scipy.sparse as sp
from data import noisy_halves

from marginopt.models.formulations.enclosing_ball import MEBDual
from marginopt.models.formulations.svm_duals import L2SVMDual
from marginopt.models.kernels.gram import KernelGram, MatrixGram
from marginopt.models.kernels.kernels import RBF, Linear, Polynomial
from marginopt.models.kernels.rbf import RBFExponents
from marginopt.models.views import SimplexQP
from marginopt.solvers.records import Options, Status
from marginopt.solvers.simplex import lowrank_start as module
from marginopt.solvers.simplex.lowrank_start import LowRankModel, low_rank_factor, lowrank_applies, lowrank_start
from marginopt.solvers.simplex.projected_cg import KernelTriangle
from marginopt.solvers.simplex.smo import SMO, AutoSimplex
from marginopt.solvers.solve import solve_problem

KERNELS = {
    "rbf": RBF(0.1),
    "linear": Linear(),
    "polynomial": Polynomial(2, 0.1, 1.0),
    "callable": lambda A, B: np.exp(-0.3 * np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2)),
}


def data(n, seed=0):
    return noisy_halves(n, 5, seed, 0.7)


def vertex(view):
    """One point of each simplex, and the gradient."""
    a = np.zeros(view.n)
    a[np.unique(view.groups, return_index=True)[1]] = 1.0
    return a, view.gram.product(a) + view.c


@pytest.fixture
def eager(monkeypatch):
    """The start runs at any size, however little the landmarks explain."""
    monkeypatch.setattr(module, "LOW_RANK_FROM", 1)
    monkeypatch.setattr(module, "_LEFT", np.inf)
    monkeypatch.setattr(module, "_SHARE", 0.0)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("limit", [0, 100_000, 2**30])
def test_the_triangle_multiplies_like_the_matrix(kernel, limit, drain):
    X, y = data(700)
    gram = L2SVMDual(X, y, 2.0, kernel).simplex.gram
    rng = np.random.default_rng(0)
    block = rng.permutation(700)[:500]
    triangle = KernelTriangle(gram, limit)
    for part in (block[:130], block[130:131], block[131:]):
        drain(triangle.extend(part))
    w = rng.standard_normal(500)
    Q = gram.dense
    assert drain(triangle.product(w)) == pytest.approx(Q[np.ix_(block, block)] @ w, rel=1e-4, abs=1e-4 * np.abs(Q).max())
    rest = np.setdiff1d(np.arange(700), block)
    assert drain(triangle.product_at(rest, w)) == pytest.approx(Q[np.ix_(rest, block)] @ w, rel=1e-4, abs=1e-4 * np.abs(Q).max())
    assert sum(b.nbytes for _, _, b in triangle._blocks if b is not None) <= limit
    keep = rng.random(500) < 0.7
    keep[:128] = False  # a whole block
    drain(triangle.compact(keep))
    drain(triangle.extend(rest))
    block, w = np.concatenate([block[keep], rest]), rng.standard_normal(keep.sum() + rest.size)
    assert (triangle.members == block).all()
    assert (triangle.place[block] == np.arange(block.size)).all()
    assert (triangle.place >= 0).sum() == block.size
    assert drain(triangle.product(w)) == pytest.approx(Q[np.ix_(block, block)] @ w, rel=1e-4, abs=1e-4 * np.abs(Q).max())
    assert sum(b.nbytes for _, _, b in triangle._blocks if b is not None) <= limit


def test_blocks_that_are_not_stored_are_multiplied_tile_by_tile(drain):
    X, y = data(1700)
    gram = L2SVMDual(X, y, 2.0, RBF(0.1)).simplex.gram
    computed = np.random.default_rng(1).permutation(1700)
    for limit in (0, 3_000_000):
        triangle = KernelTriangle(gram, limit)
        drain(triangle.extend(computed[:1500]))
        drain(triangle.extend(computed[1500:]))  # blocks that are not of whole tiles' width
        missing = sum(block is None for *_, block in triangle._blocks)
        assert missing == len(triangle._blocks) if limit == 0 else 0 < missing < len(triangle._blocks)
        w = np.random.default_rng(0).standard_normal(1700)
        assert drain(triangle.product(w)) == pytest.approx(gram.dense[np.ix_(computed, computed)] @ w, abs=2e-3)


def ones(n, p, share, seed=0):
    """Points of zeros and ones, labelled by noisy halves."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, p)) < share) * 1.0
    score = X @ rng.standard_normal(p)
    return sp.csr_array(X), np.where(score + 0.5 * score.std() * rng.standard_normal(n) > np.median(score), 1.0, -1.0)


@pytest.mark.parametrize("p", [60, 700])  # distances of one byte, and of two
@pytest.mark.parametrize("limit", [0, 150_000, 2**30])
def test_the_triangle_of_zeros_and_ones_holds_distances(p, limit, drain):
    X, y = ones(700, p, 0.3)
    ridge = np.linspace(0.5, 1.5, 700)
    gram = KernelGram(X, RBF(0.05), y, offset=1.0, ridge=ridge, scale=0.5)
    rng = np.random.default_rng(0)
    order = rng.permutation(700)
    direct, rest = order[:500], order[500:]
    triangle = KernelTriangle(gram, limit)
    drain(triangle.extend(direct[:200]))
    drain(triangle.extend(direct[200:]))
    stored = [block for *_, block in triangle._blocks if block is not None]
    assert {block.dtype for block in stored} <= {np.dtype(np.uint8 if p == 60 else np.uint16)}
    assert sum(block.nbytes for block in stored) <= limit
    assert bool(stored) == (limit > 0)
    keep = rng.random(500) < 0.6
    Q = gram.dense
    for weights in (rng.standard_normal(500), np.where(np.arange(500) < 5, 1.0, 0.0)):  # few of them ask for columns only
        assert drain(triangle.product(weights)) == pytest.approx(Q[np.ix_(direct, direct)] @ weights, abs=1e-4)
        assert drain(triangle.product_at(rest, weights)) == pytest.approx(Q[np.ix_(rest, direct)] @ weights, abs=1e-4)
    drain(triangle.compact(keep))
    drain(triangle.extend(rest))
    direct, weights = np.concatenate([direct[keep], rest]), rng.standard_normal(keep.sum() + rest.size)
    assert drain(triangle.product(weights)) == pytest.approx(Q[np.ix_(direct, direct)] @ weights, abs=1e-4)


@pytest.mark.parametrize("C", [10.0, 100.0])
def test_the_start_ends_zeros_and_ones_that_the_landmarks_leave_much_of(C):
    X, y = ones(2200, 200, 0.07)
    model = L2SVMDual(X, y, C, RBF(0.03))
    view = model.simplex
    assert LowRankModel(view, low_rank_factor(view.gram, 256, np.random.default_rng(0))).unexplained_ratio > 2.0
    result = solve_problem(model, SMO(), Options(tol=1e-4))
    pairs = solve_problem(model, SMO(newton=False), Options(tol=1e-4))
    assert result.status is pairs.status is Status.OPTIMAL
    assert result.details["start"] == "low rank"
    assert result.details["columns"] == 0
    assert result.objective == pytest.approx(pairs.objective, rel=1e-4)


def test_few_points_join_at_a_time(drain):
    X, y = ones(1200, 100, 0.1)
    view = L2SVMDual(X, y, 10.0, RBF(0.05)).simplex
    model = LowRankModel(view, low_rank_factor(view.gram, 100, np.random.default_rng(0)))
    slack = np.where(np.arange(1200) < 300, 1.0, -1.0)
    run = module._Run(view, model, slack, 1e9)
    drain(run.begin())
    drain(run.refresh())
    before, level = run.triangle.members, float(run.x @ run.g)
    share = drain(run.add_violators(0.1))
    joined = np.setdiff1d(run.triangle.members, before)
    assert joined.size == 30
    assert share == pytest.approx(0.1 * 300 / 330)
    outside = np.setdiff1d(np.arange(1200), run.triangle.members)
    assert (run.g[joined] < level).all()
    assert run.g[joined].max() <= run.g[outside].min()


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("linear", [False, True])
def test_the_model_is_solved_to_the_end(groups, linear, drain):
    X, y = data(400)
    gram = KernelGram(X, RBF(0.1), y, offset=1.0, ridge=np.linspace(0.5, 1.5, 400))
    c = 0.01 * np.random.default_rng(1).standard_normal(400) if linear else np.zeros(400)
    view = SimplexQP(gram, c, np.arange(400) % groups)
    model = LowRankModel(view, low_rank_factor(view.gram, 60, np.random.default_rng(0)))
    assert 1.0 < model.unexplained_ratio < 1.2
    Q = (model.B.T @ model.B).astype(np.float64) + np.diag(model.D)
    assert (
        np.linalg.eigvalsh(gram.dense - Q + np.diag(model.D)).min() > 0.49
    )  # what is left is positive semidefinite, ridge apart
    x = model.point(drain(model.solve()))
    assert x.min() >= 0.0
    assert np.bincount(view.groups, weights=x) == pytest.approx(np.ones(groups), abs=1e-12)
    same = SimplexQP(MatrixGram(0.5 * (Q + Q.T)), c, view.groups)
    assert same.gap(x) <= 1e-3 * abs(same.objective(x))  # B is float32


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("groups", [1, 3])
def test_the_start_reaches_the_gap(kernel, groups, eager):
    X, y = data(600)
    scale = np.linspace(0.5, 2.0, 600)
    gram = L2SVMDual(X, y, 1.0, kernel, scale).simplex.gram
    view = SimplexQP(gram, 1e-3 * X[:, 0], np.arange(600) % groups)
    a, g = vertex(view)
    seen = []
    steps = lowrank_start(view, a, g, 1e-7, 1e9)
    while True:
        try:
            seen.append(next(steps))
        except StopIteration as stop:
            done = stop.value
            break
    assert done.exact
    assert done.guesses > 0
    assert done.gradient == pytest.approx(gram.dense @ done.a + view.c, rel=1e-9, abs=1e-12)
    assert view.gap(done.a) <= 1e-7 * abs(view.objective(done.a))
    better = [point for point in seen if point is not None]
    assert better
    for point in (*better, done):
        assert point.a.min() >= 0.0
        assert np.bincount(view.groups, weights=point.a) == pytest.approx(np.ones(groups), abs=1e-12)


@pytest.mark.parametrize("case", ["rbf", "sparse", "weights", "ball", "no memory"])
def test_smo_with_it_agrees_with_pairs(case):
    X, y = data(2200)
    model = {
        "sparse": lambda: L2SVMDual(sp.csr_array(np.where(np.abs(X) > 0.8, X, 0.0)), y, 1.0, RBF(0.1)),
        "weights": lambda: L2SVMDual(X, y, 1.0, RBF(0.1), np.linspace(0.5, 1.5, y.size)),
        "ball": lambda: MEBDual.labelled(X, y, 1.0, RBF(0.1)),
    }.get(case, lambda: L2SVMDual(X, y, 1.0, RBF(0.1)))()
    limit = 8_000_000 if case == "no memory" else None  # room for the model, and 1 MB of the triangle
    result = solve_problem(model, SMO(), Options(tol=1e-7, memory_limit=limit))
    pairs = solve_problem(model, SMO(newton=False), Options(tol=1e-7))
    assert result.status is pairs.status is Status.OPTIMAL
    assert (result.details["start"], pairs.details["start"]) == ("low rank", "pairs")
    assert result.certificate.gap <= 1e-7
    assert result.certificate.objective == pytest.approx(pairs.certificate.objective, rel=2e-7)
    assert result.iterations == 0 < pairs.iterations


def test_where_it_does_not_apply_pairs_run_as_before():
    X, y = data(2200)
    limit = 2.0**30
    assert lowrank_applies(L2SVMDual(X, y, 1.0, RBF(0.1)).simplex, limit)
    assert not lowrank_applies(L2SVMDual(X, y, 1.0, RBF(0.1)).simplex, 2.0**20)  # no memory for the model
    assert not lowrank_applies(L2SVMDual(X[:500], y[:500], 1.0, RBF(0.1)).simplex, limit)
    assert not lowrank_applies(MEBDual(X, RBF(0.1)).simplex, limit)  # no ridge
    hard = solve_problem(L2SVMDual(X, y, 1e3, RBF(2.0)), SMO(), Options(tol=1e-4))
    assert hard.details["start"] == "pairs"  # the landmarks explain little
    assert hard.status is Status.OPTIMAL
    vector = np.full(y.size, 1.0 / y.size)
    warm = solve_problem(L2SVMDual(X, y, 1.0, RBF(0.1)), SMO(), Options(tol=1e-4, start={"a": vector}))
    assert warm.details["start"] == "pairs"
    assert warm.status is Status.OPTIMAL


def test_auto_says_that_it_began_so():
    X, y = data(2200)
    result = solve_problem(L2SVMDual(X, y, 1.0, RBF(0.1)), AutoSimplex(), Options(tol=1e-6))
    assert result.details["algorithm"].startswith("low-rank start")
    assert result.details["start"] == "low rank"


@pytest.mark.parametrize("kind", ["copies", "constant", "one class point", "far apart"])
def test_degenerate_data(kind, eager):
    X, y = data(900)
    if kind == "copies":
        X, y = np.repeat(X[:30], 30, axis=0), np.repeat(y[:30], 30)
    elif kind == "constant":
        X = np.ones_like(X)
    elif kind == "one class point":
        y = -np.ones(900)
        y[7] = 1.0
    elif kind == "far apart":
        X = 30.0 * X  # the kernel matrix is the identity; further out the certificate cannot tell 1e-6
    for C in (1.0, 1e4):
        result = solve_problem(L2SVMDual(X, y, C, RBF(0.5)), SMO(), Options(tol=1e-6))
        if kind == "constant" and C == 1e4 and result.status is not Status.OPTIMAL:
            # terms of 1 cancel to 1/(2nC) = 5.6e-8: whether sums of 900 can tell 1e-6 of that depends on the processor's order
            assert "rounding may hide" in result.evidence and result.certificate.resolution > 5e-7
            continue
        assert result.status is Status.OPTIMAL
        # the objective carries its rounding, the bound is rounded outward: their point in exact arithmetic is within 1e-6
        assert result.certificate.gap <= 1e-6 + result.certificate.resolution


def test_points_so_far_apart_that_their_distances_lose_digits(eager):
    """X × 1000: the algorithm closes its gap as before; what the certificate cannot tell it says, and by how much."""
    X, y = data(900)
    for C in (1.0, 1e4):
        result = solve_problem(L2SVMDual(1e3 * X, y, C, RBF(0.5)), SMO(), Options(tol=1e-6))
        assert result.claim.status is Status.OPTIMAL and result.certificate.primal_residual <= 1e-12
        assert result.certificate.gap <= 1e-6 + result.certificate.resolution
        assert result.status is Status.OPTIMAL or "rounding may hide" in result.evidence


def test_a_time_limit_leaves_a_feasible_point():
    X, y = data(6000)
    result = solve_problem(L2SVMDual(X, y, 1.0, RBF(0.1)), SMO(), Options(tol=1e-9, time_limit=0.02))
    assert result.status is Status.TIME_LIMIT
    assert result.values["a"].min() >= 0.0
    assert result.values["a"].sum() == pytest.approx(1.0)


def test_the_float64_product_uses_symmetry_rightly():
    X, _ = data(1500)
    exponents = RBFExponents.of(RBF(0.1), X)
    K = RBF(0.1).matrix(X, X)
    rng = np.random.default_rng(0)
    for size in (1, 127, 128, 129, 700, 1500):
        w = np.zeros(1500)
        w[rng.permutation(1500)[:size]] = rng.standard_normal(size)
        assert exponents.product(w) == pytest.approx(K @ w, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("groups", [1, 2])
def test_a_look_at_the_points_outside_skips_those_that_cannot_violate(groups, monkeypatch, drain):
    """After the first one only points that the model puts near the level are looked at, and no other violates."""
    X, y = data(3000)
    gram = L2SVMDual(X, y, 1.0, RBF(0.1)).simplex.gram
    view = SimplexQP(gram, np.zeros(3000), np.arange(3000) % groups)
    model = LowRankModel(view, low_rank_factor(view.gram, 64, np.random.default_rng(0)))
    looked = []
    outside = KernelTriangle.product_at

    def look(self, points, weights):
        if (self.place[points] < 0).all():  # products with few points pass here too
            looked.append(points)
        return outside(self, points, weights)

    monkeypatch.setattr(KernelTriangle, "product_at", look)
    run = module._Run(view, model, drain(model.solve()), 1e9)
    drain(run.begin())
    drain(run.solve(0.2 * abs(run.value())))
    drain(run.drop_unlikely())
    drain(run.update_outside())
    drain(run.add_violators())
    drain(run.solve(1e-3 * abs(run.value())))
    drain(run.update_outside())
    true = gram.dense @ run.x
    level = np.bincount(view.groups, weights=run.x * true)[view.groups]
    rest = np.flatnonzero(run.triangle.place < 0)
    assert 0 < looked[1].size < 0.5 * rest.size
    assert run.g[looked[1]] == pytest.approx(true[looked[1]], rel=1e-4, abs=1e-5 * np.abs(true).max())
    others = np.setdiff1d(rest, looked[1])
    assert (true[others] > level[others]).all()
    assert np.abs(run.g[others] - true[others]).max() < np.abs(true[others] - level[others]).max()


@pytest.mark.parametrize("sparse", [False, True])
def test_where_float32_does_not_fit_entries_are_rounded(sparse, drain):
    X, y = data(700)
    gram = KernelGram(sp.csr_array(X) if sparse else X, RBF(0.1), y, offset=1.0, ridge=np.linspace(0.5, 1.5, 700), scale=0.5)
    rng = np.random.default_rng(0)
    order = rng.permutation(700)
    members, keep, limit = order[:500], rng.random(500) < 0.6, 300_000
    triangle = KernelTriangle(gram, limit)
    for step in (lambda: triangle.extend(members), lambda: triangle.compact(keep), lambda: triangle.extend(order[500:])):
        drain(step())
        stored = [block for *_, block in triangle._blocks if block is not None]
        assert {block.dtype for block in stored} == {np.dtype(np.uint16)}
        assert sum(block.nbytes for block in stored) <= limit
        w = rng.standard_normal(triangle.members.size)
        exact, expected = gram.dense[np.ix_(triangle.members, triangle.members)] @ w, triangle.rounding * np.linalg.norm(w)
        assert 0.3 * expected < (drain(triangle.product(w)) - exact).std() < 1.5 * expected
        assert (drain(triangle.float32_product(w)) - exact).std() < 0.1 * expected
    rest, some = order[:100], np.array([3, 0, 99])
    panel = gram.rounded_panel(rest)  # whose own product has float32 values
    assert panel.product(some, w[:100].astype(np.float32)) == pytest.approx(gram.dense[np.ix_(some, rest)] @ w[:100], abs=1e-4)


@pytest.mark.parametrize("kernel", [KERNELS["polynomial"], KERNELS["callable"]])
def test_other_kernels_are_not_rounded(kernel, drain):
    X, y = data(700)
    triangle = KernelTriangle(L2SVMDual(X, y, 2.0, kernel).simplex.gram, 300_000)
    drain(triangle.extend(np.arange(500)))
    assert triangle.rounding == 0.0
    assert {block.dtype for *_, block in triangle._blocks if block is not None} == {np.dtype(np.float32)}


def test_the_start_ends_with_rounded_entries(monkeypatch):
    X, y = data(2200)
    times, settled = [], KernelTriangle.float32_product

    def seen(triangle, weights):
        times.append(triangle.rounding)
        return settled(triangle, weights)

    monkeypatch.setattr(KernelTriangle, "float32_product", seen)
    model = L2SVMDual(X, y, 1.0, RBF(0.3))
    result = solve_problem(model, SMO(cache_bytes=12 * 256 * 2200 + 10**6), Options(tol=1e-6))
    assert result.status is Status.OPTIMAL
    assert result.details["start"] == "low rank"
    assert times
    assert min(times) > 0.0


@pytest.mark.parametrize("rough", [False, True])  # so rough a model that its solution is worse
def test_a_corrected_model_does_not_lead_upwards_and_leaves_the_gradient_right(rough, drain):
    X, y = data(900)
    view = L2SVMDual(X, y, 1000.0 if rough else 0.5, RBF(0.1)).simplex
    model = LowRankModel(view, low_rank_factor(view.gram, 20 if rough else 100, np.random.default_rng(0)))
    if rough:
        model.D[:] = 2.0 * view.gram.loading
        model._inverse = 1.0 / model.D
    run = module._Run(view, model, drain(model.solve()), 1e9)
    drain(run.begin())
    values = []
    for _ in range(4):
        drain(run.update_outside())
        values.append(run.value())
        drain(run.move_to_corrected())
        g, value = view.gram.product(run.x) + view.c, run.triangle.members
        assert np.abs(run.g - g)[value].max() < 1e-5 * np.abs(g).max()
        assert not run.x[run.triangle.place < 0].any()
        assert run.x.sum() == pytest.approx(1.0)
    assert (np.diff([*values, run.value()]) <= 1e-6 * values[0]).all()
    assert rough or values[-1] < values[0]
