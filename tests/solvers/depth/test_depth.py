"""Halfspace depth against the largest separable subset, found by linear programs, on points in general position and not."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from effort import trials
from facts import about
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

import marginopt as mo
from marginopt.solvers import depth as module


def by_programs(X: np.ndarray, z: np.ndarray) -> int:
    """n less the size of the largest subset strictly on one side: subsets of every size, a linear program for each."""
    A = X - z
    here = int((A == 0).all(axis=1).sum())
    A = A[(A != 0).any(axis=1)]
    for size in range(len(A), 0, -1):
        for subset in itertools.combinations(range(len(A)), size):
            if linprog(np.zeros(A.shape[1]), A_ub=A[list(subset)], b_ub=-np.ones(size), bounds=(None, None)).status == 0:
                return here + len(A) - size
    return here + len(A)


def counted(X: np.ndarray, z: np.ndarray, direction: tuple[Fraction, ...]) -> int:
    """Points of the closed half-space, in rational arithmetic."""
    rows = ([Fraction(v) - Fraction(c) for v, c in zip(row, z.tolist(), strict=True)] for row in X.tolist())
    return sum(sum((u * a for u, a in zip(direction, row, strict=True)), Fraction(0)) >= 0 for row in rows)


@pytest.mark.parametrize("few", [0, 200])
@pytest.mark.parametrize("kind", ["normal", "grid", "signs"])
def test_the_depth_is_that_of_linear_programs(monkeypatch: pytest.MonkeyPatch, kind: str, few: int) -> None:
    """By compiled loops (few = 0) and by rational arithmetic alone; equal points, points on lines and at z itself among them."""
    monkeypatch.setattr(module, "_FEW_RAYS", few)
    rng = np.random.default_rng([len(kind), few])
    for _ in range(trials(6, 12)):
        n, d = int(rng.integers(1, 8)), int(rng.integers(1, 5))
        reach = {"normal": 0, "grid": 2, "signs": 1}[kind]
        X = rng.integers(-reach, reach + 1, (n, d)).astype(float) if reach else rng.normal(size=(n, d))
        z = np.zeros(d) if reach else 0.3 * rng.normal(size=d)
        depth = mo.halfspace_depth(X, z)
        assert depth.proved
        assert depth.depth == by_programs(X, z)
        assert not depth.direction or counted(X, z, depth.direction) == depth.depth


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(8, 16))
def test_invariance_and_bounds(seed: int, d: int, n: int) -> None:
    """Unmoved by integer linear maps, shifts by whole numbers and positive factors; at most what any direction counts."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-50, 51, (n, d)).astype(float)
    z = rng.integers(-10, 11, d).astype(float)
    depth = mo.halfspace_depth(X, z)
    assert depth.proved
    assert counted(X, z, depth.direction) == depth.depth
    T = np.eye(d) + np.tril(rng.integers(-2, 3, (d, d)), -1)
    assert mo.halfspace_depth((X + 7.0) @ T, (z + 7.0) @ T).depth == depth.depth
    away = (X - z) * (2.0 ** rng.integers(-20, 21, n))[:, None]
    assert mo.halfspace_depth(away, np.zeros(d)).depth == depth.depth
    U = rng.normal(size=(200, d))
    assert ((X - z) @ U.T >= 0).sum(axis=0).min() >= depth.depth


def test_two_dimensions_by_angles() -> None:
    """Many points in the plane, where sorted angles are an algorithm of their own."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    angles = np.sort(np.arctan2(X[:, 1], X[:, 0]))
    twice = np.concatenate([angles, angles + 2 * np.pi])
    inside = np.searchsorted(twice, angles + np.pi) - np.arange(300)
    assert mo.halfspace_depth(X, np.zeros(2)).depth == min(inside.min() - 1, 300 - inside.max())


def test_columns_of_unlike_size_and_a_space_that_is_not_filled() -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(-9, 10, (40, 3)).astype(float)
    plain = mo.halfspace_depth(X, np.zeros(3))
    assert mo.halfspace_depth(X * [1e6, 1.0, 2.0**-20], np.zeros(3)).depth == plain.depth
    flat = np.column_stack([X, X @ [1.0, 2.0, -1.0], np.zeros(40)])
    assert mo.halfspace_depth(flat, np.zeros(5)).depth == plain.depth
    # z outside the plane of the points: one direction leaves them all behind
    assert mo.halfspace_depth(flat, [0.0, 0.0, 0.0, 1.0, 0.0]).depth == 0


@pytest.mark.parametrize("reach", [1, 2, 40])
def test_ties_are_gone_into_exactly(monkeypatch: pytest.MonkeyPatch, reach: int) -> None:
    """Whole numbers with points on common hyperplanes, equal and opposite ones: all rays in rational numbers count the same."""
    rng = np.random.default_rng(reach)
    for _ in range(5):
        d = int(rng.integers(2, 5))
        X = rng.integers(-reach, reach + 1, (12, d)).astype(float)
        X[:, 0] = rng.choice([-1.0, 1.0], 12)
        monkeypatch.setattr(module, "_FEW_RAYS", 0)
        depth = mo.halfspace_depth(X, np.zeros(d))
        assert depth.proved
        assert counted(X, np.zeros(d), depth.direction) == depth.depth
        monkeypatch.setattr(module, "_FEW_RAYS", 10**6)
        with monkeypatch.context() as rational:
            rational.setattr(module, "_integer_columns", lambda points: None)
            assert mo.halfspace_depth(X, np.zeros(d)).depth == depth.depth


def test_most_of_many_points_on_one_hyperplane() -> None:
    """Clinical counts: 80 rows of whole numbers, most of them with a zero in the last feature, as labelled rows."""
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.integers(30, 80, 80), rng.integers(58, 70, 80), rng.poisson(0.4, 80), np.ones(80)])
    y = np.where(rng.random(80) < 0.3, -1.0, 1.0)
    depth = mo.halfspace_depth(y[:, None] * X, np.zeros(4))
    assert depth.proved
    assert counted(y[:, None] * X, np.zeros(4), depth.direction) == depth.depth <= (y < 0).sum()


def test_numbers_that_are_too_large_are_left_to_bounded_errors() -> None:
    rng = np.random.default_rng(5)
    X = rng.integers(-(2**25), 2**25, (25, 3)).astype(float)
    depth = mo.halfspace_depth(X, np.zeros(3))
    assert depth.proved
    assert counted(X, np.zeros(3), depth.direction) == depth.depth


def test_opposite_points_count_one() -> None:
    X = np.array([[1.0, 2.0], [-2.0, -4.0], [3.0, 6.0], [0.0, 0.0]])
    depth = mo.halfspace_depth(X, np.zeros(2))
    assert (depth.depth, depth.lower) == (2, 2)
    assert counted(X, np.zeros(2), depth.direction) == 2
    pair = mo.halfspace_depth(X[:2], np.zeros(2))
    assert counted(X[:2], np.zeros(2), pair.direction) == pair.depth == 1


def test_a_time_limit_leaves_an_interval() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 5))
    cut = mo.halfspace_depth(X, np.zeros(5), time_limit=0.0)
    assert not cut.proved
    assert cut.lower <= mo.halfspace_depth(X, np.zeros(5)).depth <= cut.depth
    assert "between" in str(cut)


@pytest.mark.parametrize(
    ("X", "z", "name"),
    [([1.0, 2.0], [0.0], "X"), ([[1.0, 2.0]], [0.0], "z"), ([[np.nan, 2.0]], [0.0, 0.0], "X")],
)
def test_refusals(X: list[float], z: list[float], name: str) -> None:
    with pytest.raises(mo.errors.InputError, check=about(name)):
        mo.halfspace_depth(X, z)


@pytest.mark.parametrize("seconds", [None, 0.0])
def test_a_direction_that_cannot_be_counted_is_left_out(monkeypatch: pytest.MonkeyPatch, seconds: float | None) -> None:
    """All but two points lie on one hyperplane, and rational arithmetic takes no more than one ray of it."""
    monkeypatch.setattr(module, "_FEW_RAYS", 0)
    monkeypatch.setattr(module, "_MAX_SUBSETS", 1)
    monkeypatch.setattr(module, "_by_whole_numbers", lambda points, weights: None)
    rng = np.random.default_rng(3)
    X = rng.integers(-9, 10, (14, 3)).astype(float)
    X[2:, 2] = 0.0
    integers = mo.halfspace_depth(X, np.zeros(3), time_limit=seconds)
    with monkeypatch.context() as large:
        large.setattr(module, "_integer_columns", lambda points: None)
        depths = (integers, mo.halfspace_depth(X, np.zeros(3), time_limit=seconds))
    monkeypatch.undo()
    truth = mo.halfspace_depth(X, np.zeros(3)).depth
    for depth in depths:
        assert depth.lower <= truth <= depth.depth == counted(X, np.zeros(3), depth.direction)
