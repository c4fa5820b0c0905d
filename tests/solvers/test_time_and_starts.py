"""Runs that used to end late, never, or at the first stationary point: limits inside inner solves, stalls, several starts."""

from __future__ import annotations

import time

import numpy as np
import pytest
from effort import trials
from facts import about

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models import NonparallelSVM
from marginopt.models.views import BoxQP, ZeroOneProblem
from marginopt.solvers import Answer, Options, Status, get_solver
from marginopt.solvers.backends.clarabel import Clarabel
from marginopt.solvers.box.descent import BoxDescent
from marginopt.solvers.interface.algorithm import Outcome
from marginopt.solvers.zero_one.heuristic import hinge_path

_RNG = np.random.default_rng(0)
_Y = np.where(_RNG.random(40) < 0.5, -1.0, 1.0)
_X = np.column_stack([np.ones(40), _RNG.standard_normal((40, 3))])
_X[:, 1] += _Y


def test_an_inner_problem_beyond_float64_ends_and_keeps_the_time_limit() -> None:
    # at C = 1e8 the inner optimum is below the rounding of the kernel: its pairs never reach their gap
    model = mo.MaxMinSVM(_X, _Y, C=1e8)
    mo.solve(mo.MaxMinSVM(_X, _Y), "maxmin")  # compiled code is loaded
    begin = time.process_time()
    result = mo.solve(model, "maxmin", time_limit=2.0)
    assert time.process_time() - begin < 2.0 + 10.0  # the inner problem does not end by itself
    assert result.status in (Status.TIME_LIMIT, Status.STALLED, Status.STATIONARY)
    inner = mo.solve(model.at(0.004), "smo")
    assert inner.status in (Status.STALLED, Status.INACCURATE, Status.OPTIMAL)


@pytest.mark.parametrize("formulation", [mo.L2SVMDual, mo.ConvexHullsDual, mo.MaxMinSVM])
def test_a_number_that_is_divided_by_has_a_finite_reciprocal(formulation: type[mo.Model]) -> None:
    with pytest.raises(InputError, check=about("C")):
        formulation(_X, _Y, C=1e-310)  # type: ignore[call-arg]


def _nonconvex(seed: int) -> NonparallelSVM:
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 3
    X = np.column_stack([np.ones(60), rng.normal(size=(60, 3))])
    X[y == 1, 1] += 1.5
    X[y == 2, 2] += 1.5
    return NonparallelSVM(X, y, 1, loss="capped", epsilon=0.3)


@pytest.mark.parametrize("seed", range(trials(2, 3)))
def test_several_starts_are_never_worse_and_repeat(seed: int) -> None:
    model = _nonconvex(seed)
    one = mo.solve(model, "npsvc-mm", starts=1)
    many, again = (mo.solve(model, "npsvc-mm", starts=8) for _ in range(2))
    assert many.status is Status.STATIONARY
    assert many.details["starts"] == 8
    assert many.objective <= one.objective * (1.0 + 1e-12)
    np.testing.assert_array_equal(many.values["u"], again.values["u"])


def test_one_of_several_starts_ends_lower_than_the_first() -> None:
    gains = [
        mo.solve(_nonconvex(seed), "npsvc-mm", starts=8).objective / mo.solve(_nonconvex(seed), "npsvc-mm", starts=1).objective
        for seed in range(6)
    ]
    assert min(gains) < 0.99


def test_majorisation_starts_where_it_is_told() -> None:
    model = _nonconvex(0)
    best = mo.solve(model, "npsvc-mm", starts=8)
    result = mo.solve(model, "npsvc-mm", starts=1, start=best.values)
    assert result.iterations <= 1
    assert result.objective == pytest.approx(best.objective, rel=1e-9)
    with pytest.raises(InputError, check=about("start")):
        mo.solve(model, "npsvc-mm", start={"u": np.zeros(2)})


@pytest.mark.parametrize("values", [[0.0, 0.05, 0.2], [0.2, 0.0]])
@pytest.mark.parametrize("solver", ["conic-ipm", "auto"])
def test_a_path_passes_a_value_that_its_solver_cannot_read(values: list[float], solver: str) -> None:
    X = _X.copy()
    X[:, 1] += 9.0 * _Y  # separable, so that κ = 0 has a solution
    path = mo.path(mo.ConicSVM(X, _Y, kappa=0.1), "kappa", values, solver=solver)
    assert [r.status for r in path] == [Status.OPTIMAL] * len(values)
    alone = mo.solve(mo.ConicSVM(X, _Y, kappa=0.0), "clarabel")
    hard = path[values.index(0.0)]
    assert hard.objective == pytest.approx(alone.objective, rel=1e-5)


def test_a_path_that_its_solver_cannot_read_at_all_is_refused() -> None:
    with pytest.raises(mo.errors.UnsupportedModelError, check=about("conic-ipm")):
        mo.path(mo.HingeSVM(_X, _Y), "lam", [1.0, 2.0], solver="conic-ipm")


def test_the_time_limit_counts_what_an_algorithm_prepares(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    model = NonparallelSVM(rng.standard_normal((400, 60)), np.arange(400) % 3, 1, c=1e3)
    whole = mo.solve(model, "boxqp")
    view = NonparallelSVM.view

    def slow(self: NonparallelSVM, kind: type) -> object:
        time.sleep(0.3)
        return view(self, kind)

    monkeypatch.setattr(NonparallelSVM, "view", slow)
    result = mo.solve(model, "boxqp", tol=1e-15, time_limit=0.3)
    assert result.status in (Status.TIME_LIMIT, Status.OPTIMAL, Status.STALLED, Status.INACCURATE)
    assert result.iterations is not None and whole.iterations is not None
    assert result.iterations < whole.iterations, "the view alone took the time limit: the first look at the clock ends the run"


def test_no_finisher_begins_that_would_end_after_the_time_limit() -> None:
    rng = np.random.default_rng(0)
    view = NonparallelSVM(rng.standard_normal((300, 40)), np.arange(300) % 3, 1, c=1e4).view(BoxQP)
    assert view is not None
    algorithm = BoxDescent()
    for deadline, steps in ((-np.inf, False), (np.inf, True)):
        state = algorithm.init(view, Options(tol=1e-12), np.random.default_rng(0))
        state.deadline = deadline
        for _ in range(400):
            if algorithm.advance(state, 0.01) is not Outcome.RUNNING:
                break
        assert (state.finish_steps > 0) is steps


def test_what_prepares_a_search_looks_at_the_clock() -> None:
    """The hinge path of the 0-1 loss's heuristic ends at the deadline; what is left of it are copies of the last point."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    X = np.column_stack([np.ones(40), rng.normal(size=(40, 3))])
    state = get_solver("zero-one-bb").init(mo.ZeroOneSVM(X, y, lam=1.0).view(ZeroOneProblem), Options(), rng)
    reduced = state.shared.reduced
    assert np.ptp(hinge_path(reduced), axis=0).max() > 0.0
    assert np.ptp(hinge_path(reduced, time.perf_counter()), axis=0).max() == 0.0


def test_a_backend_gets_what_the_form_left_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds of compiling the form come off the limit that the solver is given."""
    seen = []

    def solve_form(self: Clarabel, form: object, options: Options) -> Answer:
        seen.append(options.time_limit)
        return Answer()

    class Slow(mo.HingeSVM):
        def compile(self) -> mo.StandardForm:
            time.sleep(0.2)
            return super().compile()

    monkeypatch.setattr(Clarabel, "solve_form", solve_form)
    mo.solve(Slow(np.array([[1.0, 2.0], [1.0, -1.0]]), [1.0, -1.0]), "clarabel", time_limit=5.0)
    assert seen[0] is not None and 4.0 < seen[0] < 4.81
