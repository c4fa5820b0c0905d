"""The big-M model: valid M by enumeration, free intercepts, weights, invariance, bad input."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from data import clouds
from facts import about
from hypothesis import given, settings, strategies as st
from oracles import least_norm

from marginopt.errors import InputError
from marginopt.models import ZeroOneProblem, ZeroOneSVM
from marginopt.solvers.records import Options
from marginopt.solvers.solve import solve_problem


def enumerate_all(model: ZeroOneSVM) -> tuple[float, np.ndarray]:
    """The optimum over all 2^n choices of violated points."""
    A = model.y[:, None] * np.asarray(model.X)
    best, best_w = np.inf, np.zeros(A.shape[1])
    for violated in itertools.product([False, True], repeat=len(A)):
        z = np.array(violated)
        if model.sample_weight[z].sum() >= best:
            continue
        w = least_norm(A[~z], model.penalised)
        if w is not None:
            value = model.objective(w, tol=1e-6)
            if value < best:
                best, best_w = value, w
    return best, best_w


def data(seed: int, n: int = 8, p: int = 2) -> tuple[np.ndarray, np.ndarray]:
    return clouds(seed, n, p, 0.5)


@pytest.mark.parametrize("intercept", ["penalised", "free"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lam", [0.3, 2.0])
def test_big_m_cuts_off_no_optimum(intercept: Any, seed: int, lam: float) -> None:
    X, y = data(seed)
    lams = lam * np.linspace(0.5, 1.5, 8) if seed % 2 else lam
    model = ZeroOneSVM(X, y, lam=lams, intercept=intercept)
    optimum, w = enumerate_all(model)
    assert optimum <= model.incumbent_value + 1e-9
    # the optimal point, its free intercept moved onto a margin where that loses nothing, satisfies every row and bound
    candidates = [w]
    if intercept == "free":
        rest = X[:, 1:] @ w[1:]
        candidates = [np.append(b, w[1:]) for b in y - rest]
    candidates = [c for c in candidates if model.objective(c, tol=1e-6) <= optimum + 1e-6]
    assert candidates
    for tightened in (model, ZeroOneSVM(X, y, lam=lams, intercept=intercept, upper_bound=optimum)):
        assert any(_satisfies(tightened, c) for c in candidates)
        assert (tightened.big_m_values <= model.big_m_values + 1e-12).all()


def _satisfies(model: ZeroOneSVM, w: np.ndarray) -> bool:
    form = model.form
    x = form.join(model.point(w, tol=1e-6))
    rows = form.constraint("margin")
    return rows.cone.violation(rows.value(x)) <= 1e-5 and bool((x >= form.lower - 1e-9).all() and (x <= form.upper + 1e-9).all())


def test_form_and_objective() -> None:
    X, y = data(0)
    lam = np.linspace(0.1, 1.0, 8)
    model = ZeroOneSVM(X, y, lam=lam)
    w = np.array([0.2, 1.0, -0.5])
    point = model.point(w)
    u = y * (X @ w)
    np.testing.assert_array_equal(point["z"], u < 1)
    assert model.form.objective(model.form.join(point)) == pytest.approx(w @ w + lam[u < 1].sum())
    assert model.objective(w) == pytest.approx(w @ w + lam[u < 1].sum())
    view = model.view(ZeroOneProblem)
    assert view is not None
    assert view.objective(w) == pytest.approx(model.objective(w))
    assert model.form.integer.tolist() == [False] * 3 + [True] * 8
    free = ZeroOneSVM(X, y, lam=lam, intercept="free")
    assert free.objective(w) == pytest.approx(1.25 + lam[u < 1].sum())
    view = free.view(ZeroOneProblem)
    assert view is not None
    assert view.penalised.tolist() == [False, True, True]
    assert view.objective(w) == pytest.approx(free.objective(w))


def test_m_by_its_formula() -> None:
    X, y = data(1)
    norms = np.linalg.norm(X, axis=1)
    lam = 0.5
    np.testing.assert_allclose(ZeroOneSVM(X, y, lam).big_m_values, 1 + norms * np.sqrt(8 * lam - lam))
    np.testing.assert_allclose(ZeroOneSVM(X, y, lam, upper_bound=2.0).big_m_values, 1 + norms * np.sqrt(2.0 - lam))
    np.testing.assert_allclose(ZeroOneSVM(X, y, lam, upper_bound=1e9).big_m_values, 1 + norms * np.sqrt(7 * lam))
    assert ZeroOneSVM(X, y, lam, upper_bound=0.0).big_m_values.tolist() == [1.0] * 8
    assert ZeroOneSVM(X, y, lam, big_m=7).big_m_values.tolist() == [7.0] * 8
    free = ZeroOneSVM(X, y, lam, intercept="free")
    rest = np.linalg.norm(X[:, 1:], axis=1)
    bound = 1 + rest.max() * np.sqrt(4 * lam)
    assert free.intercept_bound == pytest.approx(bound)
    np.testing.assert_allclose(free.big_m_values, 1 + rest * np.sqrt(4 * lam - lam) + bound)
    assert free.form.lower[0] == -free.form.upper[0] == -bound


def test_where_m_comes_from_is_said() -> None:
    X, y = data(1)
    assert "given by the user (unproven)" in ZeroOneSVM(X, y, big_m=5.0).big_m_argument
    assert ZeroOneSVM(X, y, upper_bound=3.0).incumbent_source == "incumbent"
    assert ZeroOneSVM(X, y).incumbent_source == "w = 0"
    assert ZeroOneSVM(X, y, intercept="free").incumbent_source == "w = 0, b = ±1"


@given(st.integers(0, 1000))
@settings(max_examples=6)
def test_permutation_and_label_flip_of_the_relaxation(seed: int) -> None:
    X, y = data(2)
    order = np.random.default_rng(seed).permutation(8)
    lam = np.linspace(0.2, 0.9, 8)
    base = solve_problem(ZeroOneSVM(X, y, lam).form.relax_integrality(), "clarabel", Options(tol=1e-8))
    for other in (ZeroOneSVM(X[order], y[order], lam[order]), ZeroOneSVM(X, -y, lam)):
        again = solve_problem(other.form.relax_integrality(), "clarabel", Options(tol=1e-8))
        assert again.objective == pytest.approx(base.objective, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_relaxation_is_a_bound_and_fixing_the_optimum_recovers_it(seed: int) -> None:
    X, y = data(seed)
    model = ZeroOneSVM(X, y, lam=0.4)
    optimum, w = enumerate_all(model)
    relaxed = solve_problem(model.form.relax_integrality(), "clarabel", Options(tol=1e-8))
    assert relaxed.objective <= optimum + 1e-7
    x = model.form.join(model.point(w, tol=1e-6))
    fixed = solve_problem(model.form.with_integers_fixed(x), "clarabel", Options(tol=1e-8))
    assert fixed.objective == pytest.approx(optimum, rel=1e-5)


def test_summary() -> None:
    X, y = data(0)
    model = ZeroOneSVM(X, y, 0.5)
    w = np.array([0.1, 0.6, 0.2])
    u = y * (X @ w)
    figures = model.summary(model.point(w))
    assert figures["margin_violations"] == (u < 1).sum()
    assert figures["misclassified"] == (u < 0).sum()
    assert figures["smallest_big_m_slack"] == pytest.approx((u + model.big_m_values - 1)[u < 1].min())
    # with an M that is too small a violated point shows a negative slack
    assert ZeroOneSVM(X, y, 0.5, big_m=0.0).summary(model.point(w))["smallest_big_m_slack"] < 0
    np.testing.assert_allclose(model.decision_function(model.point(w), X[:2]), X[:2] @ w)


def test_sparse_data_give_the_same_form() -> None:
    X, y = data(0)
    for intercept in ("penalised", "free"):
        dense = ZeroOneSVM(X, y, 0.5, intercept=intercept)  # type: ignore[arg-type]
        sparse = ZeroOneSVM(sp.csr_array(X), y, 0.5, intercept=intercept)  # type: ignore[arg-type]
        assert np.abs((dense.form.constraints[0].F - sparse.form.constraints[0].F).toarray()).max() < 1e-12
        np.testing.assert_allclose(dense.view(ZeroOneProblem).A, sparse.view(ZeroOneProblem).A)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("kwargs", "name"),
    [
        ({"lam": 0.0}, "lam"),
        ({"lam": [1.0] * 7 + [-1.0]}, "lam"),
        ({"lam": [1.0, 2.0]}, "lam"),
        ({"big_m": -1.0}, "big_m"),
        ({"big_m": [np.inf] * 8}, "big_m"),
        ({"big_m": "big"}, "big_m"),
        ({"upper_bound": -1.0}, "upper_bound"),
        ({"upper_bound": "best"}, "upper_bound"),
        ({"intercept": "none"}, "intercept"),
    ],
)
def test_bad_parameters(kwargs: dict[str, Any], name: str) -> None:
    X, y = data(0)
    with pytest.raises(InputError, check=about(name)):
        ZeroOneSVM(X, y, **kwargs)


def test_a_free_intercept_needs_its_column() -> None:
    X, y = data(0)
    with pytest.raises(InputError, check=about("intercept")):
        ZeroOneSVM(X[:, ::-1], y, intercept="free")


def test_parameters_are_kept_apart_from_the_caller_s_arrays() -> None:
    X, y = data(0)
    lam, M = [0.5] * 8, np.full(8, 9.0)
    model = ZeroOneSVM(X, y, lam=lam, big_m=M)
    lam[0] = -3.0
    assert model.sample_weight.min() == 0.5
    assert model.form.q[3:].min() == 0.5
    assert "lam = 0.5" in str(model)
