"""`zero-one-bb` against enumeration of supports: both engines, both intercepts, weights, and hostile numbers."""

import itertools

import numpy as np
import pytest
from effort import trials

from marginopt.models.formulations.margin_violations import ZeroOneBudget
from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.proofs import check_proof
from marginopt.solvers.records import Options
from marginopt.solvers.zero_one import ZeroOneBB
from marginopt.solvers.zero_one.budget import BudgetBB
from marginopt.solvers.zero_one.conflict_engine import ConflictSearchData
from marginopt.solvers.zero_one.loops.conflict_records import FREE
from marginopt.solvers.zero_one.loops.conflict_search import CANDIDATE, DONE
from marginopt.solvers.zero_one.reduced import reduce_problem


def enumerate_supports(problem, budget=None):
    """(value, w) of the best least-norm point of {a_i'w = 1, i in S}, |S| ≤ p: some optimum is one of them.

    Candidates are scaled up so that margins within 1e-12, 1e-9, 1e-6 of 1 are met: every value is attained. With a budget
    the value is the norm of those that violate at most so many margins.
    """
    A, penalised = problem.A, problem.penalised
    n, p = A.shape

    def cost(violated):
        if budget is None:
            return violated @ problem.weights
        return np.where(violated.sum(axis=-1) <= budget, 0.0, np.inf)

    best, point = float(cost(np.ones(n))), np.zeros(p)
    for b in (-1.0, 1.0) if not penalised.all() else ():
        w = np.where(penalised, 0.0, b)
        value = float(cost(1.0 * (A @ w < 1)))
        if value < best:
            best, point = value, w
    for k in range(1, min(p, n) + 1):
        S = np.array(list(itertools.combinations(range(n), k)))
        size = np.linalg.norm(A[S], axis=2)
        size[size == 0] = 1
        B = A[S] / size[:, :, None]
        K = np.zeros((len(S), p + k, p + k))
        K[:, :p, :p] = np.diag(penalised.astype(float))
        K[:, :p, p:] = -B.transpose(0, 2, 1)
        K[:, p:, :p] = B
        rhs = np.zeros((len(S), p + k, 1))
        rhs[:, p:, 0] = 1 / size
        W = (np.linalg.pinv(K, rcond=1e-13) @ rhs)[:, :p, 0]
        U = W @ A.T
        for near in (1e-12, 1e-9, 1e-6):
            mask = 1 - near <= U
            scale = np.maximum(1 / np.where(mask, U, np.inf).min(axis=1), 1.0)
            scale[~mask.any(axis=1)] = 1.0
            values = (W[:, penalised] ** 2).sum(axis=1) * scale**2 + cost(1.0 * ~mask)
            i = int(values.argmin())
            if values[i] < best:
                best, point = float(values[i]), W[i] * scale[i]
    return best, point


def clusters(rng, n, p, sigma, outliers):
    """Two Gaussian classes, optionally with a tight cluster of outliers, behind a column of ones."""
    centre = rng.uniform(-1, 1, p)
    centre *= 0.5 / np.linalg.norm(centre)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[0] = -y[1]
    X = y[:, None] * centre + sigma * rng.standard_normal((n, p))
    if outliers:
        X[-n // 8 :] = -10 * centre + 0.03 * sigma * rng.standard_normal((n // 8 + (n % 8 > 0), p))
        y[-n // 8 :] = 1.0
    return np.column_stack([np.ones(n), X]), y


def problem_of(X, y, lam, free):
    n, p = X.shape
    penalised = np.ones(p, dtype=bool)
    penalised[0] = not free
    return ZeroOneProblem(y[:, None] * X, np.broadcast_to(np.asarray(lam, dtype=float), (n,)).copy(), penalised)


def run(problem, seconds=60.0, start=None, native=None, **options):
    """Drive the algorithm on a bare view; the raw answer with its claims."""
    algorithm = ZeroOneBB().with_native_options(native or {})
    options = Options(**options)
    state = algorithm.init(problem, options, np.random.default_rng(options.seed))
    outcome = algorithm.advance(state, 0.05)
    for _ in range(int(seconds / 0.05)):
        if outcome.name != "RUNNING":
            break
        outcome = algorithm.advance(state, 0.05)
    return outcome, algorithm.measure(state), algorithm.answer(state)


def check(problem, optimum, native, tol=1e-6):
    outcome, measure, answer = run(problem, native=native)
    assert outcome.name == "CONVERGED"
    w, z = answer.values["w"], answer.values["z"]
    assert answer.proved
    assert answer.bound <= optimum * (1 + 1e-12)
    assert measure.objective >= answer.bound
    assert measure.objective <= optimum * (1 + 2 * tol)
    assert (measure.objective - answer.bound) <= tol * measure.objective
    assert ((problem.A @ w >= 1) == (z == 0)).all()
    value = float(w[problem.penalised] @ w[problem.penalised]) + float(problem.weights @ z)
    assert value == pytest.approx(measure.objective, rel=1e-12)


@pytest.mark.parametrize("engine", ["boxes", "conflicts"])
@pytest.mark.parametrize("batch", range(trials(2, 4)))
def test_equal_to_enumeration(engine, batch):
    """Random problems: weak and strong incumbents, equal and different weights, both intercepts."""
    for trial in range(trials(10, 40)):
        rng = np.random.default_rng(10_000 * batch + trial)
        n, p = int(rng.integers(4, 15)), int(rng.integers(1, 4))
        X, y = clusters(rng, n, p, rng.choice([0.2, 0.5, 1.0]), outliers=bool(rng.random() < 0.5))
        lam = 10 ** rng.uniform(-1, 2) * (rng.uniform(0.5, 2, n) if trial % 3 == 0 else 1.0)
        problem = problem_of(X, y, lam, free=bool(trial % 2))
        optimum, _ = enumerate_supports(problem)
        check(problem, optimum, {"engine": engine, "restarts": int(rng.choice([0, 2, 20]))})


def hostile(seed):
    """Scaled features, repeated points, collinear columns, lattices, margins at 1 ± 1e-9, weights over 4 decades."""
    rng = np.random.default_rng(5000 + seed)
    n, p = int(rng.integers(5, 13)), int(rng.integers(1, 4))
    X, y = clusters(rng, n, p, rng.choice([0.2, 0.5, 1.0]), outliers=False)
    free = bool(rng.random() < 0.5)
    lam = 10 ** rng.uniform(-4, 6)
    kind = ("scaled", "repeated", "collinear", "lattice", "near", "weights")[seed % 6]
    if kind == "scaled":
        X[:, 1:] *= 10 ** rng.uniform(-4, 4, p)
    elif kind == "repeated":
        X, y = X[rng.integers(0, n // 2 + 1, n)], y
    elif kind == "collinear":
        X = np.round(np.column_stack([X, 2 * X[:, -1] + X[:, 0]]), 1)
    elif kind == "lattice":
        X = np.round(4 * X) / 4
    elif kind == "near":
        problem = problem_of(X, y, lam, free)
        _, w = enumerate_supports(problem)
        d = np.where(problem.penalised, w, 0.0)
        d[0] = 0.0
        if d @ d > 0:
            for i in range(0, n, 2):
                shift = 1 - problem.A[i] @ w + rng.choice([1e-9, -1e-9, 1e-10, -1e-10, 1e-12, 0.0])
                X[i] += y[i] * shift * d / (d @ d)
    else:
        lam = lam * 10 ** rng.uniform(-2, 2, n)
    return problem_of(X, y, lam, free)


@pytest.mark.parametrize("engine", ["auto", "conflicts"])
@pytest.mark.parametrize("batch", range(trials(2, 3)))
def test_interval_contains_the_optimum_of_hostile_data(engine, batch):
    for seed in range(30 * batch, 30 * batch + trials(10, 30)):
        problem = hostile(seed)
        optimum, _ = enumerate_supports(problem)
        outcome, measure, answer = run(problem, seconds=3.0, native={"engine": engine, "restarts": 20 * (seed % 2)})
        assert answer.bound <= optimum * (1 + 1e-12), seed
        assert measure.objective >= answer.bound, seed
        w = answer.values["w"]
        assert ((problem.A @ w >= 1) == (answer.values["z"] == 0)).all()
        if outcome.name == "CONVERGED":
            assert measure.objective <= optimum * (1 + 2e-6), seed


@pytest.mark.parametrize("batch", range(2))
def test_logs_of_hostile_data_prove_no_more_than_the_truth(tmp_path, batch):
    """Both engines' logs: accepted, and their exactly evaluated claims below the optimum."""
    proved = 0
    for seed in range(30 * batch, 30 * batch + trials(10, 30)):
        problem = hostile(seed)
        optimum, _ = enumerate_supports(problem)
        path = tmp_path / "log"
        native = {"engine": "conflicts" if seed % 3 else "boxes", "restarts": 5, "neighbourhoods": 5, "proof": str(path)}
        outcome, _, answer = run(problem, seconds=3.0, native=native)
        report = check_proof(path)
        assert report.valid, (seed, report.message)
        assert report.bound <= optimum * (1 + 1e-12), seed
        if outcome.name == "CONVERGED":
            proved += 1
            assert report.bound >= answer.bound * (1 - 1e-8), seed
    assert proved >= trials(8, 25)


def test_budget_form_of_hostile_data():
    for seed in range(trials(9, 36)):
        problem = hostile(seed)
        n = len(problem.weights)
        optimum, _ = enumerate_supports(problem, n // 3)
        algorithm = BudgetBB(ZeroOneBB(restarts=5, neighbourhoods=5))
        view = ZeroOneBudget(problem.A, n // 3, problem.penalised)
        state = algorithm.init(view, Options(threads=1), np.random.default_rng(0))
        outcome = algorithm.advance(state, 0.05)
        for _ in range(10):
            if outcome.name != "RUNNING":
                break
            outcome = algorithm.advance(state, 0.05)
        measure = algorithm.measure(state)
        assert measure.bound <= optimum * (1 + 1e-12), seed
        assert not measure.objective < measure.bound, seed
        if outcome.name == "CONVERGED":
            assert measure.objective <= optimum * (1 + 2e-6) + 1e-12, seed


@pytest.mark.parametrize("free", [False, True])
def test_tied_data_at_every_cost_equal_enumeration(free):
    """Whole-numbered features of few values, contradicting labels: losses are whole multiples of λ, large and small."""
    rng = np.random.default_rng(5)
    for lam in (0.3, 3.0, 300.0, 3e4):
        for _ in range(4):
            n = int(rng.integers(8, 16))
            X = np.column_stack([np.ones(n), rng.integers(0, 4, (n, 2))]).astype(float)
            y = np.where(X[:, 1] + rng.normal(0.0, 1.5, n) > 2, 1.0, -1.0)
            problem = problem_of(X, y, lam, free)
            check(problem, enumerate_supports(problem)[0], {"engine": "boxes"})


def test_engines_agree_on_a_larger_problem():
    X, y = clusters(np.random.default_rng(3), 60, 3, 0.5, outliers=True)
    problem = problem_of(X, y, 10.0, free=True)
    outcomes = [run(problem, native={"engine": engine}) for engine in ("boxes", "conflicts")]
    assert all(outcome.name == "CONVERGED" for outcome, _, _ in outcomes)
    first, second = (measure.objective for _, measure, _ in outcomes)
    assert first == pytest.approx(second, rel=2e-6)


@pytest.mark.parametrize("seed", range(16))
def test_a_search_just_above_the_optimum_finds_it(seed):
    """Nothing that a node deduces (points kept because they cost too much, say) may lose the one solution below the cut."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(30), rng.normal(size=(30, 3))])
    y = np.where(X[:, 1] + 1.5 * rng.normal(size=30) > 0, 1.0, -1.0)
    problem = problem_of(X, y, 1e4 if seed % 2 else rng.choice([1.0, 2.0, 3.0], size=30) * 100, free=True)
    optimum = run(problem, native={"engine": "boxes"})[1].objective
    reduced = reduce_problem(problem)
    for share, code in ((1 + 1e-4, CANDIDATE), (1 - 1e-4, DONE)):
        cut = (share * optimum - reduced.constant) / reduced.unit
        search_data = ConflictSearchData.of(reduced, cut, np.ones(len(reduced.weights)))
        dive = search_data.new_depth_first_search()
        dive.start_search(np.full(len(reduced.weights), FREE, dtype=np.int8), 0.0, 0.0, cut)
        assert dive.run(cut, 100_000) == code


def test_equal_points_count_once_with_their_weights():
    X, y = clusters(np.random.default_rng(5), 12, 2, 1.0, outliers=False)
    repeated = problem_of(np.repeat(X, 3, axis=0), np.repeat(y, 3), 2.0, free=False)
    weighted = problem_of(X, y, 6.0, free=False)
    (_, a, first), (_, b, second) = run(repeated), run(weighted)
    assert a.objective == pytest.approx(b.objective, rel=2e-6)
    assert first.values["z"].shape == (36,) and second.values["z"].shape == (12,)
