"""Projections of every cone: idempotent, nonexpansive, Moreau, self-duality, optimality, points of the cone stay."""

from __future__ import annotations

import numpy as np
import pytest
from facts import about
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from marginopt.errors import InputError
from marginopt.models.program.cones import PSD, Cone, Feature, Nonnegative, RotatedSecondOrder, SecondOrder, Zero, smat

CONES = [
    Zero(4),
    Nonnegative(5),
    SecondOrder(1, 3),
    SecondOrder(4, 2),
    RotatedSecondOrder(2, 2),
    RotatedSecondOrder(3, 4),
    RotatedSecondOrder(5),
    PSD.of_order(1),
    PSD(6, 2),
    PSD.of_order(4),
]
values = st.floats(-50, 50, allow_subnormal=False) | st.sampled_from([0.0, 1.0, -1.0, 1e-9])


def vectors(*cones: Cone, count: int = 2) -> st.SearchStrategy[tuple[Cone, list[np.ndarray]]]:
    return st.sampled_from(cones).flatmap(
        lambda cone: st.tuples(
            st.just(cone), st.lists(hnp.arrays(np.float64, cone.rows, elements=values), min_size=count, max_size=count)
        )
    )


def member(cone: Cone, v: np.ndarray, tol: float) -> bool:
    """Membership by definition."""
    rows = v.reshape(cone.count, cone.dim)
    if isinstance(cone, Zero):
        return bool((np.abs(v) <= tol).all())
    if isinstance(cone, Nonnegative):
        return bool((v >= -tol).all())
    if isinstance(cone, SecondOrder):
        return bool((rows[:, 0] - np.linalg.norm(rows[:, 1:], axis=1) >= -tol).all())
    if isinstance(cone, RotatedSecondOrder):
        a, b, c = rows[:, 0], rows[:, 1], rows[:, 2:]
        return bool((np.minimum(a, b) >= -tol).all() and (2 * (a + tol) * (b + tol) - (c * c).sum(axis=1) >= -tol).all())
    return bool((np.linalg.eigvalsh(smat(rows)) >= -tol).all())


@given(vectors(*CONES))
def test_projection(case: tuple[Cone, list[np.ndarray]]) -> None:
    cone, (v, w) = case
    before = v.copy()
    once = cone.project(v)
    np.testing.assert_array_equal(v, before)
    assert member(cone, once, 1e-10)
    np.testing.assert_allclose(cone.project(once), once, atol=1e-12 * (1 + np.abs(v).max()))
    assert np.linalg.norm(once - cone.project(w)) <= np.linalg.norm(v - w) + 1e-11
    # Moreau: v = Π_K(v) + Π_polar(v), orthogonal; the polar cone is minus the dual
    polar = v - once
    assert abs(once @ polar) <= 1e-10 * (1 + v @ v)
    np.testing.assert_allclose(-cone.project_dual(-v), polar, atol=1e-12 * (1 + np.abs(v).max()))


@given(vectors(*CONES))
def test_dual_cone(case: tuple[Cone, list[np.ndarray]]) -> None:
    cone, (v, w) = case
    inner = cone.project(v) @ cone.project_dual(w)
    assert inner >= -1e-10 * (1 + np.abs(v).max() * np.abs(w).max())
    assert cone.dual_violation(cone.project_dual(w)) <= 1e-11 * (1 + np.abs(w).max())


@given(vectors(*[c for c in CONES if not isinstance(c, Zero)], count=1))
def test_self_dual(case: tuple[Cone, list[np.ndarray]]) -> None:
    cone, (v,) = case
    np.testing.assert_allclose(cone.project_dual(v), cone.project(v), atol=1e-12 * (1 + np.abs(v).max()))
    assert cone.dual_violation(v) == pytest.approx(cone.violation(v), abs=1e-11 * (1 + np.abs(v).max()))


@given(vectors(*CONES))
def test_projection_is_nearest(case: tuple[Cone, list[np.ndarray]]) -> None:
    cone, (v, w) = case
    other = cone.project(w)
    assert np.linalg.norm(v - cone.project(v)) <= np.linalg.norm(v - other) + 1e-11


def test_zero_has_the_whole_space_as_dual() -> None:
    z = np.array([3.0, -2.0])
    np.testing.assert_array_equal(Zero(2).project_dual(z), z)
    assert Zero(2).dual_violation(z) == 0.0
    assert Zero(2).violation(z) == 3.0


@given(vectors(RotatedSecondOrder(3, 4), RotatedSecondOrder(2), RotatedSecondOrder(6), count=2))
def test_rotation_is_an_orthogonal_involution(case: tuple[Cone, list[np.ndarray]]) -> None:
    cone, (v, w) = case
    assert isinstance(cone, RotatedSecondOrder)
    np.testing.assert_allclose(cone.rotate(cone.rotate(v)), v, atol=1e-13 * (1 + np.abs(v).max()))
    assert cone.rotate(v) @ cone.rotate(w) == pytest.approx(v @ w, abs=1e-9)
    turned = SecondOrder(cone.dim, cone.count)
    assert turned.violation(cone.rotate(cone.project(v))) <= 1e-12 * (1 + np.abs(v).max())


def test_known_projections() -> None:
    np.testing.assert_allclose(SecondOrder(3).project(np.array([0.0, 3.0, 4.0])), [2.5, 1.5, 2.0])
    np.testing.assert_allclose(SecondOrder(2).project(np.array([-5.0, 1.0])), [0, 0])
    np.testing.assert_allclose(RotatedSecondOrder(3).project(np.array([1.0, 2.0, 2.0])), [1, 2, 2])
    np.testing.assert_allclose(RotatedSecondOrder(2).project(np.array([3.0, -1.0])), [3, 0], atol=1e-15)
    indefinite = np.array([0.0, np.sqrt(2.0), 0.0])  # [[0, 1], [1, 0]]
    np.testing.assert_allclose(PSD.of_order(2).project(indefinite), [0.5, np.sqrt(0.5), 0.5])


@pytest.mark.parametrize("cone", CONES, ids=str)
def test_origin_and_empty_stack(cone: Cone) -> None:
    origin = np.zeros(cone.rows)
    assert cone.violation(origin) == cone.dual_violation(origin) == 0.0
    empty = type(cone)(cone.dim, 0)
    assert empty.rows == 0
    assert empty.violation(np.zeros(0)) == 0.0
    assert empty.relative_violation(np.zeros(0), np.zeros(0)) == 0.0


def test_a_huge_row_does_not_excuse_another() -> None:
    value = np.array([1e9, -0.5])
    assert Nonnegative(2).relative_violation(value, np.abs(value)) == pytest.approx(0.5 / 1.5)
    pair = np.array([1e9, 0.0, 0.0, 1.0])
    assert SecondOrder(2, 2).relative_violation(pair, np.abs(pair)) == pytest.approx(0.5 / 2.0)


def test_features_and_words() -> None:
    assert Zero(1).feature is None
    assert Nonnegative(1).feature is None
    assert [c.feature for c in (SecondOrder(2), RotatedSecondOrder(2), PSD(3))] == [
        Feature.SECOND_ORDER,
        Feature.ROTATED,
        Feature.PSD,
    ]
    assert str(RotatedSecondOrder(3, 7)) == "RotatedSecondOrder(3)^7"
    assert str(PSD.of_order(4)) == "PSD(order 4)"
    assert PSD.of_order(4).dim == 10


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Zero(0), "dim"),
        (lambda: Nonnegative(2, -1), "dim"),
        (lambda: RotatedSecondOrder(1), "dim"),
        (lambda: PSD(4), "dim"),
    ],
)
def test_impossible_cones(make: object, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        make()  # type: ignore[operator]
