"""Primal-dual active sets on box QPs: exact in few steps where they settle, no worse a point where they do not."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, strategies as st

from marginopt.models import RBF, BoxProgram, BoxQP, NonparallelSVM
from marginopt.solvers.box.descent import box_minimum
from marginopt.solvers.box.finishers import FinishRun, active_set_steps
from marginopt.solvers.box.state import make_state


def _run(view: BoxQP, tol: float = 1e-10) -> FinishRun:
    state = make_state(view, None, tol, np.inf, 1)
    return active_set_steps(view, state.diagonal, state.a, state.gradient, state.meets_tolerance)


def _view(Z: np.ndarray, q: np.ndarray, width: float, ridge: float = 0.0) -> BoxQP:
    view = BoxProgram(Z, q, np.full(q.size, -width), np.full(q.size, 0.5 * width), np.full(q.size, ridge)).view(BoxQP)
    assert view is not None
    return view


@given(seed=st.integers(0, 10**6), m=st.integers(1, 30), width=st.sampled_from([0.01, 0.1, 1.0]))
def test_it_is_exact_where_the_diagonal_dominates(seed: int, m: int, width: float) -> None:
    """There the method is known to converge from anywhere."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(m, m))
    view = _view(Z, rng.normal(size=m), width, float(np.abs(Z @ Z.T).sum(axis=1).max()))
    run = _run(view)
    assert ((view.lower <= run.a) & (run.a <= view.upper)).all()
    assert run.gap <= 1e-10 * max(1e-5, abs(view.objective(run.a)))
    best, _ = box_minimum(view, None, 1e-11)
    assert run.a == pytest.approx(best, abs=1e-6)


@given(seed=st.integers(0, 10**6), m=st.integers(2, 40), r=st.integers(1, 60))
def test_it_never_returns_a_worse_point_than_it_was_given(seed: int, m: int, r: int) -> None:
    """Singular matrices too, on which the sets need not settle."""
    rng = np.random.default_rng(seed)
    view = _view(rng.normal(size=(m, r)) * 10.0 ** -np.linspace(0, 4, r), rng.normal(size=m), 1.0)
    run = _run(view)
    assert ((view.lower <= run.a) & (run.a <= view.upper)).all()
    assert run.gap <= view.gap(np.clip(np.zeros(m), view.lower, view.upper))
    assert run.steps <= 30
    assert run.gap == pytest.approx(view.gap(run.a), abs=1e-9)


def test_fixed_variables_stay_at_their_value() -> None:
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(20, 30))
    low, high = np.full(20, -0.3), np.full(20, 0.3)
    low[:5] = high[:5] = 0.2
    view = BoxProgram(Z, rng.normal(size=20), low, high, np.zeros(20)).view(BoxQP)
    assert view is not None
    run = _run(view)
    assert (run.a[:5] == 0.2).all()
    assert run.a == pytest.approx(box_minimum(view, None, 1e-11)[0], abs=1e-6)


@pytest.mark.parametrize("tau", [0.1, 0.5, 1.0])
def test_pinball_duals_over_a_smooth_kernel_take_few_steps(tau: float) -> None:
    """Hundreds of variables change their side in a step; descent needs thousands of epochs on such matrices."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.arange(200) % 4
    X += 0.7 * np.column_stack([np.cos(y), np.sin(y)])
    view = NonparallelSVM(X, y, 1, loss="pinball", tau=tau, kernel=RBF(0.3), r=0.1).view(BoxQP)
    assert view is not None
    run = _run(view)
    at_bounds = (run.a == view.lower) | (run.a == view.upper)
    assert 0 < at_bounds.sum() < view.n
    assert run.gap <= 1e-10 * abs(view.objective(run.a))
    assert run.steps <= 15


def test_no_step_is_begun_after_the_deadline() -> None:
    rng = np.random.default_rng(0)
    view = _view(rng.normal(size=(60, 60)), 3.0 * rng.normal(size=60), 1.0)
    state = make_state(view, None, 1e-12, np.inf, 1)
    at = (view, state.diagonal, state.a, state.gradient, state.meets_tolerance)
    assert active_set_steps(*at).steps > 1
    assert active_set_steps(*at, deadline=time.perf_counter()).steps == 0
