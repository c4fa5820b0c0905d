"""The conflict engine's passes and its search: early bounds, states that are restored, subtrees that cover, factors."""

from fractions import Fraction

import numba as nb
import numpy as np
import pytest
from data import clouds
from effort import trials
from scipy.optimize import nnls

from marginopt.models.formulations.zero_one import ZeroOneSVM
from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.exact.options import Limits
from marginopt.solvers.interface.algorithm import Outcome
from marginopt.solvers.records import Options
from marginopt.solvers.zero_one import ZeroOneBB, conflict_engine as dives
from marginopt.solvers.zero_one.conflict_engine import ConflictEngine, DepthFirstSearch
from marginopt.solvers.zero_one.engine import SharedState
from marginopt.solvers.zero_one.incumbent import HardMarginSolver, trivial_incumbent
from marginopt.solvers.zero_one.loops import entry
from marginopt.solvers.zero_one.loops.active_set import (
    add_row,
    back_solve,
    entering_constraint,
    orthogonalise,
    remove_row,
    set_scales,
)
from marginopt.solvers.zero_one.loops.conflict_records import (
    DELETED,
    FREE,
    KEPT,
    ConflictRows,
    _layouts,
    empty_active_set,
    empty_dual_workspace,
    penalised_rows,
    stretched_rows,
)
from marginopt.solvers.zero_one.loops.conflict_search import CANDIDATE, DONE, OUT_OF_NODES
from marginopt.solvers.zero_one.reduced import reduce_problem


def model(n, p, lam, seed=0, sigma=1.0):
    X, y = clouds(seed, n, p, 0.4, order="turns", spread=sigma)
    return ZeroOneSVM(X, y, lam, intercept="free")


def run(stated, **options):
    native = {"engine": "conflicts", "neighbourhoods": 12}
    return ZeroOneBB().run(stated, Options(native=native, threads=1, **options))


@pytest.mark.parametrize(("lam", "sigma"), [(3.0, 2.0), (10.0, 2.0)])
def test_a_short_run_has_a_good_bound(lam, sigma):
    stated = model(70, 8, lam, sigma=sigma)
    whole = run(stated)
    assert whole.proved and whole.bound >= whole.objective * (1 - 1e-6)
    bounds = []
    for nodes in (40, 80):
        part = run(stated, node_limit=nodes)
        assert part.bound <= whole.objective * (1 + 1e-9) <= part.objective * (1 + 2e-9)
        bounds.append(part.bound)
    assert bounds == sorted(bounds)
    assert whole.nodes > 80 and bounds[0] >= 0.6 * whole.objective and bounds[1] >= 0.75 * whole.objective


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_the_last_pass_takes_about_what_is_forecast(seed):
    reduced = reduce_problem(model(60, 6, 10.0, seed, sigma=2.0).view(ZeroOneProblem))
    polish = HardMarginSolver.of(reduced)
    # the search of the optimum's value, so that passes are planned by it
    search = ConflictEngine(SharedState(reduced, trivial_incumbent(reduced), polish, Limits()), np.ones(len(reduced.weights)))
    drive(search)
    again = ConflictEngine(SharedState(reduced, search._shared.incumbent, polish, Limits()), np.ones(len(reduced.weights)))
    forecasts = drive(again)
    assert len(forecasts) > 2
    assert all(0.5 * again.spent_nanoseconds <= forecast <= 2.0 * again.spent_nanoseconds for forecast in forecasts)


def drive(engine):
    """Forecasts between the rounds of the last pass."""
    forecasts, outcome = [], Outcome.RUNNING
    while outcome is Outcome.RUNNING:
        engine.slice_end = engine.nodes + 1
        outcome = engine.work(60.0)
        if engine._passes.target >= engine._shared.cutoff:
            forecasts.append(engine.forecast)
    assert outcome is Outcome.CONVERGED
    return forecasts


def dive_of(stated, upper):
    reduced = reduce_problem(stated.view(ZeroOneProblem))
    tau = reduced.thresholds(upper)
    n = len(reduced.weights)
    dive = DepthFirstSearch(stretched_rows(reduced, tau, upper), penalised_rows(reduced, tau), reduced.weights, np.ones(n))
    dive.start_search(np.full(n, FREE, np.int8), 0.0, 0.0, upper)
    return reduced, dive


def least(dive, cut):
    """The least value that a search reports, each candidate lowering what the next has to beat."""
    value = np.inf
    while dive.running:
        if dive.run(min(cut, value), 10**6) == CANDIDATE:
            value = float(dive.stack.candidate_value[0])
    return value


def probing(dive):
    """A dive that probes every node: as if large subtrees had been over already."""
    dive.stack.scalars.nodes, dive.stack.subtree_nodes[:], dive.stack.finished_subtrees[:] = 1000, 10**12, 1
    return dive


@pytest.mark.parametrize("probed", [False, True])
@pytest.mark.parametrize("seed", range(trials(3, 6)))
def test_subtrees_cover_what_the_whole_search_finds(seed, probed):
    stated = model(24, 3, 2.0, seed=seed)
    unit = reduce_problem(stated.view(ZeroOneProblem)).unit
    optimum = ZeroOneBB(engine="boxes").run(stated, Options(threads=1)).objective / unit
    cut = optimum * 1.3

    def begun():
        _, dive = dive_of(stated, cut)
        return probing(dive) if probed else dive

    dive = begun()
    assert least(dive, cut) == pytest.approx(optimum, rel=1e-6)
    assert (dive.stack.state == FREE).all() and dive.stack.scalars.trailed == 0
    assert (dive.stack.scalars.probes > 0) == probed
    for nodes in (1, 2, 5, 9, 40):
        dive = begun()
        before = dive.nodes
        code = dive.run(cut, nodes)
        assert dive.nodes - before <= nodes
        best = float(dive.stack.candidate_value[0]) if code == CANDIDATE else np.inf
        for bound, extra, state in dive.take_open_nodes():
            _, below = dive_of(stated, cut)
            below.start_search(np.frombuffer(state, np.int8), extra, bound, cut)
            best = min(best, least(below, cut))
        assert best == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_search_below_the_optimum_finds_nothing(seed):
    stated = model(40, 5, 3.0, seed=seed)
    unit = reduce_problem(stated.view(ZeroOneProblem)).unit
    optimum = ZeroOneBB(engine="boxes").run(stated, Options(threads=1)).objective / unit
    _, dive = dive_of(stated, optimum * 1.5)
    dive.stack.candidate_value[0] = optimum * 1.5
    assert dive.run(optimum * (1 - 1e-6), 10**6) == DONE
    assert dive.stack.unresolved[0] == np.inf


def least_norm(rows, remaining, violated):
    """Least norm that keeps some points and violates others, by non-negative least squares (Lawson and Hanson's LDP)."""
    points = np.concatenate([np.flatnonzero(remaining), np.flatnonzero(violated)])
    side = np.repeat([1.0, -1.0], [remaining.sum(), violated.sum()])
    free = 1e4 * rows.sign[points, None]  # the intercept, with next to no norm
    G, h = side[:, None] * np.hstack([rows.a[points], free]), side * rows.tau[points]
    _, size = nnls(np.vstack([G.T, h]), np.append(np.zeros(G.shape[1]), 1.0))
    return 1.0 / size**2 - 1.0 if size > 1e-7 else np.inf


@pytest.mark.parametrize("seed", range(3))
def test_what_a_level_lists_is_a_conflict_of_its_free_points(seed):
    stated = model(40, 4, 3.0, seed=seed)
    unit = reduce_problem(stated.view(ZeroOneProblem)).unit
    optimum = ZeroOneBB(engine="boxes").run(stated, Options(threads=1)).objective / unit
    _, dive = dive_of(stated, optimum)
    stack, checked = dive.stack, 0
    while dive.running:
        if dive.run(optimum * (1 - 1e-6), 1) != OUT_OF_NODES or not stack.scalars.expand:
            continue
        parent = int(stack.scalars.level) - 1
        mask = stack.state == KEPT
        mask[stack.point[parent]] = False
        violated = stack.state == DELETED
        violated[stack.point[parent]] = False
        for c in range(stack.end[parent], stack.end[parent + 1]):
            points = stack.listed[c, : stack.size[c]]
            needed = mask.copy()
            needed[points] = True
            assert len(set(points.tolist())) == len(points)
            assert (stack.state[points] != DELETED).sum() >= len(points) - 1  # some are kept since, too dear to delete
            assert least_norm(dive.exact, needed, violated) >= stack.norm[c] * (1 - 1e-5)  # its intercept has a little norm
            checked += 1
    assert checked > 100


@pytest.mark.parametrize("seed", range(3))
def test_lists_without_room_cost_time_and_nothing_else(seed, monkeypatch):
    stated = model(36, 4, 2.0, seed=seed)
    unit = reduce_problem(stated.view(ZeroOneProblem)).unit
    optimum = ZeroOneBB(engine="boxes").run(stated, Options(threads=1)).objective / unit
    solves = []
    for points in (1, 100, 10**6):
        monkeypatch.setattr(dives, "LISTED_POINTS", points)
        _, dive = dive_of(stated, optimum * 1.3)
        assert least(dive, optimum * 1.3) == pytest.approx(optimum, rel=1e-6)
        assert dive.stack.size.size <= max(points // 14, 1)
        solves.append(dive.stack.scalars.solves)
    assert solves[-1] < solves[0]


@nb.njit(error_model="numpy")
def _without(g, V, R, k, drop, z, r):
    """Factor the first k rows, look at row k, and take row ``drop`` out."""
    for a in range(k):
        add_row(g, V, R, a, z)
    orthogonalise(g, V, R, k, z)
    rest = remove_row(g, V, R, k, drop, z)
    back_solve(R, k - 1, r)
    return float(rest)


@pytest.mark.parametrize("near", [1.0, 1e-3, 1e-7])
def test_a_row_taken_out_leaves_factors_of_the_others(near):
    """The rows left are V'R, V is orthonormal, and the new row is its combination of them and a rest orthogonal to them."""
    rng = np.random.default_rng(3)
    for p, count in ((1, 1), (3, 2), (6, 6), (9, 7)):
        for drop in range(count):
            rows = rng.standard_normal((count + 1, p))
            rows[count] = rows[:count].sum(axis=0) + near * rows[count]  # much of it cancels
            g, V, R = np.zeros((p + 2, p)), np.zeros((p + 2, p)), np.zeros((p + 2, p + 2))
            z, r = np.zeros(p), np.zeros(p + 2)
            g[: count + 1] = rows
            rest = _without(g, V, R, count, drop, z, r)
            left, m = np.delete(rows, drop, axis=0), count - 1
            np.testing.assert_allclose(g[:count], left)
            np.testing.assert_allclose(V[:m] @ V[:m].T, np.eye(m), atol=1e-12)
            np.testing.assert_allclose(np.triu(R[:m, :m]).T @ V[:m], left[:m], atol=1e-11)
            nearest = left[:m].T @ r[:m]
            np.testing.assert_allclose(nearest + z, left[m], atol=1e-8)
            np.testing.assert_allclose(V[:m] @ z, 0.0, atol=1e-11)
            assert rest == pytest.approx(np.linalg.norm(z), abs=1e-13)


@entry
def _taken_up(rows, ok, keen, active, scratch):
    """The point taken up with as many active constraints as are counted, once they are factored."""
    for a in range(active.count[0]):
        add_row(active.g, active.V, active.R, a, scratch.z)
    set_scales(rows, ok, keen, scratch.single, True)
    return entering_constraint(rows, ok, keen, active, active.count[0], scratch)


def rows_of(a, tau):
    pull = 1.0 / np.linalg.norm(a, axis=1)
    return ConflictRows(*_layouts(a, pull), np.zeros(len(a)), tau, pull, False, 0.0, True)


@pytest.mark.parametrize(("n", "p"), [(1, 1), (9, 3), (16, 4), (45, 7)])
@pytest.mark.parametrize(("far", "unit"), [(0.0, 1.0), (1e9, 1.0), (0.0, 1e150), (0.0, 1e-150)])
def test_the_point_taken_up_is_the_steepest_of_the_candidates(n, p, far, unit):
    """Candidates: the most violated of every sixteenth point, where it is violated half as much as any.

    Features far from 0, whose margins cancel, leave nothing of single precision: then double precision chooses. So it does where
    their unit is none that single precision has.
    """
    rng = np.random.default_rng(n)
    for _ in range(20):
        a, w, tau = rng.standard_normal((n, p + 1)), rng.standard_normal(p + 1), rng.uniform(0.5, 1.5, n)
        if far:
            a[:, 0] += far
            w[0] = -(a[:, 1:] @ w[1:]).mean() / far
        a, w = unit * a, w / unit
        size, q = np.square(a).sum(axis=1), 0 if far else int(rng.integers(0, p))
        rows, ok = rows_of(a, tau), rng.random(n) < 0.8
        active, scratch = empty_active_set(p + 1), empty_dual_workspace(n, p + 1)
        active.w[:], active.g[:q], active.count[0] = w, rng.standard_normal((q, p + 1)), q
        violation = np.array(
            [
                float(t - sum(Fraction(x) * Fraction(y) for x, y in zip(row, w, strict=True)))
                for row, t in zip(a, tau, strict=True)
            ]
        )
        scaled = np.where(ok, violation * rows.pull, 0.0)
        first, _, short = _taken_up(rows, ok, np.ones(n), active, scratch)
        if scaled.max() <= 0.0:
            assert first == -1
            continue
        rest = np.clip((size - np.square(a @ active.V[:q].T).sum(axis=1)) * rows.pull**2, 0.05, 1.0)
        lanes = [np.arange(lane, n, 16) for lane in range(min(n, 16))]
        candidates = [lane[scaled[lane].argmax()] for lane in lanes if scaled[lane].max() >= 0.5 * scaled.max()]
        gains = {i: scaled[i] / np.sqrt(rest[i]) for i in candidates}
        assert gains.get(first, 0.0) == pytest.approx(max(gains.values()), rel=1e-5)
        assert short == pytest.approx(violation[first], rel=1e-4, abs=1e-5)


def test_probes_save_nodes():
    """Every node probed: a third fewer nodes at least, below the optimum, over some problems."""
    plain = probed = 0
    for seed in range(trials(4, 10)):
        stated = model(60, 5, 3.0, seed=seed, sigma=2.0)
        unit = reduce_problem(stated.view(ZeroOneProblem)).unit
        cut = ZeroOneBB().run(stated, Options(threads=1)).objective / unit * (1 - 1e-6)
        without, with_probes = dive_of(stated, cut)[1], probing(dive_of(stated, cut)[1])
        assert without.run(cut, 10**6) == with_probes.run(cut, 10**6) == DONE
        assert without.stack.scalars.probes == 0
        plain, probed = plain + without.nodes, probed + with_probes.nodes - 1000
    assert probed < plain / 1.5


def test_subtrees_are_counted_by_what_their_roots_lack():
    """Every node that branched is the root of one subtree; all nodes but the first are below the first."""
    stated = model(60, 5, 3.0, seed=1, sigma=2.0)
    unit = reduce_problem(stated.view(ZeroOneProblem)).unit
    cut = ZeroOneBB().run(stated, Options(threads=1)).objective / unit * (1 - 1e-6)
    dive = dive_of(stated, cut)[1]
    assert dive.run(cut, 10**6) == DONE
    stack = dive.stack
    assert 2 * stack.finished_subtrees.sum() + 1 == dive.nodes  # each has two children
    assert stack.subtree_nodes[np.flatnonzero(stack.finished_subtrees)[-1]] >= dive.nodes - 1
    mean = stack.subtree_nodes[stack.finished_subtrees > 0] / stack.finished_subtrees[stack.finished_subtrees > 0]
    assert mean[-1] > 3 * mean[0]


def test_a_point_at_the_origin_leaves_single_precision_its_use():
    """Its distance from a margin is infinite: it counts as if it had a tenth of the median norm."""
    X, y = clouds(0, 40, 3, 0.4, order="turns", spread=1.0)
    X[7, 1:] = 0.0
    reduced = reduce_problem(ZeroOneSVM(X, y, 3.0, intercept="free").view(ZeroOneProblem))
    rows = stretched_rows(reduced, reduced.thresholds(50.0), 50.0)
    others = np.linalg.norm(rows.a[:, :-1], axis=1)
    assert others.min() < 1e-12 and rows.pull.max() <= 10.0 / np.median(others) * (1 + 1e-12)
    assert np.isfinite(rows.single).all() and np.isfinite(rows.widest).all()
