"""Box QPs whose factor is in single precision first, and Newton's free set near the bounds."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from marginopt.models.formulations.nonparallel.hinge_quadratic import BoxProgram, HingeQuadratic
from marginopt.models.formulations.nonparallel.quadratic_factors import HingeFactor
from marginopt.models.views import BoxQP
from marginopt.solvers.box.descent import BoxDescent, box_minimum, make_state
from marginopt.solvers.box.finishers import newton_steps
from marginopt.solvers.box.state import BoxState
from marginopt.solvers.interface.algorithm import Outcome


def problem(columns: int = 80, rows: int = 200, scale: float = 1.0, r: float = 1e-2) -> HingeQuadratic:
    rng = np.random.default_rng(3)
    A, G = rng.standard_normal((150, columns)), rng.standard_normal((rows, columns)) + 0.2
    A[:, -1] *= scale
    ones = np.ones(rows)
    return HingeQuadratic(HingeFactor(A.T @ A + r * np.eye(columns), G), np.zeros(columns), ones, 2.0 * ones, 0.0 * ones)


def run(view: BoxQP, tol: float) -> BoxState:
    state = make_state(view, None, tol, np.inf, 1)
    while BoxDescent().advance(state, 1.0) is Outcome.RUNNING:
        pass
    return state


def test_coarse_factor_gives_the_float64_optimum() -> None:
    model, other = problem(), problem()
    assert model.box.coarse is not None
    assert model.box.coarse.Z.dtype == np.float32
    _ = other.factor.Z  # a factor that is known already is used as it is
    assert other.box.coarse is None
    for tol in (1e-6, 1e-10):
        lam = run(model.box, tol).a
        value, bound = model.value(model.primal(lam)), model.bound(None, {"margin": lam}).value
        assert value - bound <= 2 * tol * abs(value)
        assert value == pytest.approx(other.value(other.primal(box_minimum(other.box, None, tol)[0])), rel=2 * tol)


def test_gradient_and_gap_do_not_see_the_rounding() -> None:
    view = problem().box
    exact = view.in_double_precision()
    a = np.random.default_rng(0).uniform(0, 2, view.n)
    assert exact.coarse is None
    assert exact.Z.dtype == np.float64
    assert view.gradient(a) == pytest.approx(exact.gradient(a), rel=1e-11, abs=1e-11)
    assert view.gap(a) == pytest.approx(exact.gap(a), rel=1e-11)
    assert view.diagonal == pytest.approx(exact.diagonal, rel=1e-5)


def test_the_matrix_goes_with_the_problem() -> None:
    """The dual's recovery does not refer to the problem that keeps the dual: a circle would hold its matrix."""
    gc.disable()
    try:
        model = problem()
        model.box.recover(np.zeros(model.box.n))
        references = [weakref.ref(model), weakref.ref(model.box), weakref.ref(model.factor)]
        del model
        assert [ref() for ref in references] == [None] * 3
    finally:
        gc.enable()


def test_ill_conditioned_factor_is_never_coarse() -> None:
    assert problem(scale=1e6).factor.coarse is None  # type: ignore[union-attr]
    assert problem(columns=20).factor.coarse is None  # type: ignore[union-attr]


def test_run_goes_on_in_float64_where_rounding_is_larger_than_the_violation() -> None:
    model = problem(r=1e-4)
    view = model.box
    assert view.coarse is not None
    wrong = view.coarse.Z * (1.0 + 0.5 * np.random.default_rng(0).standard_normal(view.coarse.Z.shape).astype(np.float32))
    object.__setattr__(view.coarse, "Z", np.ascontiguousarray(wrong, dtype=np.float32))
    state = run(view, 1e-9)
    assert state.view.coarse is None
    assert state.converged()
    other = problem(r=1e-4)
    assert state.objective == pytest.approx(run(other.box, 1e-9).objective, rel=1e-8)


def test_overflow_in_single_precision_is_no_coarse_factor() -> None:
    model = problem()
    factor = HingeFactor(model.factor.H, model.factor.G * 1e200)
    assert factor.coarse is None


def test_newton_frees_a_variable_just_above_its_bound() -> None:
    # some optimal values are below a thousandth of the range, where a whisker of fixed length kept them out of the free set
    rng = np.random.default_rng(5)
    Z = rng.standard_normal((40, 40))
    Q = Z @ Z.T + np.eye(40)
    optimum = rng.uniform(2.0, 8.0, 40)
    optimum[:4], optimum[4:10] = 5e-3, 0.0
    slope = np.where(optimum == 0, 5.0, 0.0)
    program = BoxProgram(Z, slope - Q @ optimum, np.zeros(40), np.full(40, 10.0), np.ones(40))
    view = program.view(BoxQP)
    assert view is not None
    start = optimum + np.where(optimum > 0, 1e-5 * rng.uniform(0.1, 1.0, 40), 0.0)
    finished = newton_steps(view, view.diagonal, start, view.gradient(start), lambda: 1e-9)
    assert finished.gap <= 1e-9
    assert finished.steps <= 2
    assert finished.a == pytest.approx(optimum, abs=1e-8)
