"""`zero-one-bb` on the driver: limits, interruption, starts, and a bound that is valid whenever it stops."""

import itertools

import numpy as np
import pytest
from data import clouds
from facts import about
from threadpoolctl import threadpool_limits

from marginopt.errors import InputError
from marginopt.models.arrays import blas_controller
from marginopt.models.formulations.zero_one import ZeroOneSVM
from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.records import Options, Status
from marginopt.solvers.zero_one import SOLVERS, ZeroOneBB


def model(n=60, p=2, lam=5.0, intercept="free", seed=0, sigma=0.8):
    X, y = clouds(seed, n, p, 0.4, order="turns", spread=sigma)
    return ZeroOneSVM(X, y, lam, intercept=intercept)


def threads_of_blas():
    return max(library.num_threads for library in blas_controller().lib_controllers)


def run(stated, native=None, **options):
    return ZeroOneBB().run(stated, Options(native=native or {}, **options))


@pytest.fixture(scope="module")
def optimum():
    return run(model()).objective


def test_values_carry_the_labels_of_the_form():
    stated = model()
    raw = run(stated)
    assert raw.status is Status.OPTIMAL and raw.proved
    assert set(raw.values) == {b.label for b in stated.form.blocks}
    x = stated.form.join(raw.values)
    assert stated.form.objective(x) == pytest.approx(raw.objective, rel=1e-12)
    for constraint in stated.form.constraints:
        assert constraint.value(x).min() >= -1e-9
    assert stated.objective(raw.values["w"], tol=0.0) == pytest.approx(raw.objective, rel=1e-12)


@pytest.mark.parametrize("engine", ["boxes", "conflicts"])
@pytest.mark.parametrize("limit", [1, 10, 40])
def test_node_limit_leaves_a_valid_interval(engine, limit, optimum):
    raw = run(model(), {"engine": engine, "restarts": 1, "neighbourhoods": 1}, node_limit=limit)
    assert raw.status in (Status.NODE_LIMIT, Status.OPTIMAL)
    assert raw.nodes <= limit
    assert raw.bound <= optimum * (1 + 1e-12) and raw.objective >= optimum * (1 - 1e-6)


@pytest.mark.parametrize("engine", ["boxes", "conflicts"])
def test_the_interval_only_shrinks(engine):
    rows = run(model(n=80, p=3), {"engine": engine}).trace.rows
    assert all(a.bound <= b.bound and a.objective >= b.objective for a, b in itertools.pairwise(rows))
    assert rows[-1].gap <= 1e-6


def test_callback_stops_with_incumbent_and_bound(optimum):
    seen = []
    raw = run(model(), callback=lambda row: seen.append(row) or True)
    assert len(seen) == 1
    assert raw.status is Status.INTERRUPTED
    assert raw.bound <= optimum * (1 + 1e-12) and raw.objective >= optimum * (1 - 1e-6)
    assert np.isfinite(raw.values["w"]).all()


def test_blas_has_one_thread_inside_and_its_own_after_it():
    """Two wait for each other actively on matrices as small as these: twice the processor time where the machine is busy."""
    inside = []
    with threadpool_limits(2, user_api="blas"):
        run(model(), callback=lambda row: inside.append(threads_of_blas()) or True)
        assert threads_of_blas() == 2
    assert inside == [1]


def test_time_limit_before_the_search_has_begun(optimum):
    raw = run(model(), time_limit=1e-6)
    assert raw.status in (Status.TIME_LIMIT, Status.OPTIMAL)
    assert 0 <= raw.bound <= raw.objective
    assert raw.objective >= optimum * (1 - 1e-6)


def test_little_memory_makes_the_search_frugal_not_wrong():
    stated = model(n=120, p=4, lam=10.0, sigma=1.5)
    plain, frugal = run(stated, {"engine": "boxes"}), run(stated, {"engine": "boxes"}, memory_limit=4e6)
    assert plain.status is frugal.status is Status.OPTIMAL
    assert frugal.objective == pytest.approx(plain.objective, rel=2e-6)


def test_a_start_is_the_first_incumbent():
    stated = model()
    best = run(stated)
    again = run(stated, {"restarts": 0, "neighbourhoods": 0}, start={"w": best.values["w"]})
    assert again.trace[0].objective == pytest.approx(best.objective, rel=1e-9)
    assert again.status is Status.OPTIMAL
    with pytest.raises(InputError, check=about("start")):
        run(stated, start={"w": np.zeros(7)})


def test_seeds_give_the_same_run():
    first, second = (run(model(), {"engine": "boxes"}, seed=4) for _ in range(2))
    assert first.objective == second.objective
    assert (first.values["w"] == second.values["w"]).all()


@pytest.mark.parametrize("engine", ["boxes", "conflicts"])
def test_threads_work_together_and_repeat(engine):
    stated = model(n=100, p=5, lam=10.0, sigma=1.2) if engine == "boxes" else model(n=60, p=6)
    one = run(stated, {"engine": engine}, threads=1)
    two, again = (run(stated, {"engine": engine}, threads=2) for _ in range(2))
    assert one.status is two.status is Status.OPTIMAL
    assert two.objective == pytest.approx(one.objective, rel=2e-6)
    assert two.bound <= one.objective * (1 + 1e-12)
    assert (two.nodes, two.objective, two.bound) == (again.nodes, again.objective, again.bound)
    if engine == "boxes":
        assert two.nodes > 2500, "too small for a second thread"


@pytest.mark.parametrize("limit", [1700, 2401])
def test_node_limit_of_several_threads_is_kept(limit):
    raw = run(model(n=100, p=5, lam=10.0, sigma=1.2), {"engine": "boxes"}, threads=3, node_limit=limit)
    assert raw.status is Status.NODE_LIMIT and raw.nodes <= limit


def test_native_options_are_checked():
    with pytest.raises(InputError, check=about("engine")):
        run(model(), {"engine": "magic"})
    with pytest.raises(InputError, check=about("restarts")):
        run(model(), {"restarts": -1})
    with pytest.raises(InputError):
        run(model(), {"colour": "red"})


def solve_view(A, weights, penalised, **options):
    algorithm = ZeroOneBB()
    problem = ZeroOneProblem(np.asarray(A, float), np.asarray(weights, float), np.asarray(penalised))
    state = algorithm.init(problem, Options(**options), np.random.default_rng(0))
    for _ in range(400):
        outcome = algorithm.advance(state, 0.05)
        if outcome.name != "RUNNING":
            break
    return outcome.name, algorithm.answer(state), algorithm.measure(state).objective


def test_zero_rows_are_violated_whatever_w():
    outcome, answer, value = solve_view([[0.0], [0.0]], [1.0, 2.0], [True])
    assert outcome == "CONVERGED" and value == 3.0 and answer.bound == pytest.approx(3.0, rel=1e-12)
    outcome, answer, value = solve_view([[0.0], [2.0]], [1.0, 2.0], [True])
    assert outcome == "CONVERGED" and value == pytest.approx(1.25) and answer.values["z"].tolist() == [1.0, 0.0]


def test_an_intercept_alone_counts_the_smaller_class():
    outcome, answer, value = solve_view([[1.0], [1.0], [-1.0]], [1.0, 1.0, 1.5], [False])
    assert outcome == "CONVERGED" and value == 1.5 and abs(answer.bound - 1.5) < 2e-6


def test_contradictory_points_cost_the_lighter():
    outcome, _, value = solve_view([[1.0, 1.0], [-1.0, -1.0]], [50.0, 20.0], [True, True])
    assert outcome == "CONVERGED" and value == pytest.approx(20.5)


def test_what_cannot_be_read_is_an_error():
    with pytest.raises(InputError, check=about("X")):
        solve_view(np.ones((2, 2)), [1.0, 1.0], [False, False])
    with pytest.raises(InputError, check=about("X")):
        solve_view([[2.0, 1.0], [1.0, 1.0]], [1.0, 1.0], [False, True])
    with pytest.raises(InputError, check=about("X")):
        solve_view([[1.0], [2.0]], [1.0, 0.0], [True])


def test_scales_beyond_double_precision_are_refused():
    with pytest.raises(InputError, check=about("X")):
        solve_view([[1e9, 1.0], [-1e9, 1e-9], [1.0, 2.0], [-1.0, -1.0]], [1e12] * 4, [True, True])
    with pytest.raises(InputError, check=about("X")):
        solve_view([[1.0, 0.0], [1e308, 1.0], [0.0, 3.0]], [1e9] * 3, [True, True])


def test_the_registry_finds_it():
    (solver,) = SOLVERS
    assert solver.info.name == "zero-one-bb"
    assert solver.obstacle(model()) is None


@pytest.mark.parametrize(("lam", "settled"), [(1e4, True), (1e-3, False)])
def test_nothing_better_is_sought_than_a_least_norm_below_the_price_of_a_violation(lam, settled):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 12))
    y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0.0, 1.0, -1.0)
    X[:, 0] += y
    stated = ZeroOneSVM(np.column_stack([np.ones(40), X]), y, lam, intercept="free")
    problem = stated.view(ZeroOneProblem)
    assert problem is not None
    heuristic = ZeroOneBB().init(problem, Options(), rng).heuristic
    assert heuristic is not None and heuristic.finished is settled
    result = run(stated)
    assert result.status is Status.OPTIMAL
    assert bool(result.values["z"].any()) is not settled
