"""The two-hulls dual: geometry, decision, and projected gradients against an independent SMO."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from facts import about

import marginopt.solvers as solvers
from marginopt.errors import InputError
from marginopt.models import RBF, ConvexHullsDual, Linear


def _model(seed: int = 0, m: int = 40, C: float = 2.0) -> ConvexHullsDual:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) % 3 == 0, 1.0, -1.0)
    X = rng.normal(size=(m, 3)) + 0.7 * y[:, None]
    return ConvexHullsDual(X, y, C=C, kernel=RBF(0.3))


@pytest.mark.parametrize("solver", ["pga"])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_algorithms_agree_with_clarabel(solver: str, C: float, assert_kkt: Any) -> None:
    model = _model(C=C)
    ours = solvers.solve(model, solver, tol=1e-8)
    theirs = solvers.solve(model, "clarabel", tol=1e-8)
    assert ours.solved
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-7)
    assert_kkt(model.form, ours, 1e-7)


def _smo_points(Q: np.ndarray, y: np.ndarray, a: np.ndarray, steps: int) -> list[np.ndarray]:
    """MaxMin Algorithm 2, written from (41)-(45) with the curvature Q_ii + Q_jj - 2Q_ij (erratum: (43), (45) print C for 1/C)."""
    points = []
    for _ in range(steps):
        g = Q @ a
        best = None
        for sign in (1.0, -1.0):
            members = np.flatnonzero(y == sign)
            held = members[a[members] > 0]
            i, j = members[np.argmin(g[members])], held[np.argmax(g[held])]
            if best is None or g[j] - g[i] > best[0]:
                best = (g[j] - g[i], i, j)
        assert best is not None
        violation, i, j = best
        step = min(violation / (Q[i, i] + Q[j, j] - 2 * Q[i, j]), a[j])
        a = a.copy()
        a[i] += step
        a[j] -= step
        points.append(a)
    return points


@pytest.mark.parametrize("initial", ["uniform", "sparse"])
def test_pga_with_two_components_is_smo_step_by_step(initial: str) -> None:
    model = _model(m=24)
    Q = model.simplex.gram.dense
    rows = [
        solvers.solve(model, "pga", tol=1e-15, iteration_limit=k, components=2, initial=initial).values["a"] for k in range(1, 31)
    ]
    if initial == "uniform":
        start = np.where(model.y > 0, 1 / (model.y > 0).sum(), 1 / (model.y < 0).sum())
    else:
        start = np.zeros(24)
        for sign in (1.0, -1.0):
            members = np.flatnonzero(model.y == sign)
            # of the model's own diagonal: an RBF kernel's is one everywhere, and rounding decides in each sum anew
            start[members[np.argmin(model.simplex.gram.diagonal[members])]] = 1.0
    for ours, smo in zip(rows, _smo_points(Q, model.y, start, 30), strict=True):
        np.testing.assert_allclose(ours, smo, atol=1e-13)


def test_released_bounds_really_enter_and_the_point_stays_on_the_simplices() -> None:
    """From vertices almost everything must be released; with the printed lines 13-22 nothing would move."""
    model = _model(m=30)
    result = solvers.solve(model, "pga", tol=1e-9, initial="sparse")
    assert result.solved
    assert "release" in {row.step for row in result.trace} or result.support().size > 2
    assert result.values["a"][model.y > 0].sum() == pytest.approx(1.0, abs=1e-14)
    assert result.values["a"].min() >= 0


@pytest.mark.parametrize("components", [None, 2, 5, 12])
def test_objective_never_rises(components: int | None) -> None:
    model = _model(seed=3)
    values = [solvers.solve(model, "pga", tol=1e-15, iteration_limit=k, components=components).objective for k in range(1, 40, 3)]
    assert np.all(np.diff(values) <= 1e-15)


def test_decision_function_puts_the_edges_at_equal_distance() -> None:
    model = _model(C=1e3)
    result = solvers.solve(model, "pga", tol=1e-10, iteration_limit=200_000)
    p, q = model.edges(result.values["a"])
    f = model.decision_function(result.values, model.X)
    a, y = result.values["a"], model.y
    support = a > 1e-4
    # on support vectors y f + a/C is the half distance between the edges
    np.testing.assert_allclose((y * f + a / model.C)[support], 0.5 * (p - q), rtol=1e-3)
    assert model.distance(result.values) ** 2 == pytest.approx(p - q, rel=1e-8)
    assert model.distance(result.values) == pytest.approx(np.sqrt(2 * result.objective), rel=1e-8)


def test_identical_classes_are_kept_apart_by_the_ridge_alone() -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    model = ConvexHullsDual(X, np.array([1.0, 1, -1, -1]), C=4.0, kernel=Linear())
    result = solvers.solve(model, "pga")
    assert result.objective == pytest.approx(0.5 * (4 * 0.25) / 4.0)


def test_one_point_in_a_class_has_weight_one() -> None:
    X = np.array([[2.0], [0.0], [-1.0]])
    result = solvers.solve(ConvexHullsDual(X, np.array([1.0, -1, -1]), C=1.0), "pga")
    assert result.solved
    assert result.values["a"][0] == 1.0


def test_bad_parameters_are_named() -> None:
    with pytest.raises(InputError, check=about("components")):
        solvers.solve(_model(), "pga", components=1)
    with pytest.raises(InputError, check=about("initial")):
        solvers.solve(_model(), "pga", initial="middle")
    with pytest.raises(InputError, check=about("start")):
        solvers.solve(_model(), "pga", start={"a": np.zeros(3)})
