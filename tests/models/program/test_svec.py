"""svec and smat: inverse, adjoint, isometry; rank-one rows; the documented order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from marginopt.models.program.cones import smat, svec, svec_indices, svec_order, svec_rank_one, svec_size

finite = st.floats(-1e3, 1e3, allow_subnormal=False)


def square(order: int) -> st.SearchStrategy[np.ndarray]:
    return hnp.arrays(np.float64, (order, order), elements=finite).map(lambda M: 0.5 * (M + M.T))


@given(st.integers(1, 7).flatmap(lambda p: st.tuples(square(p), square(p))))
def test_isometry_and_inverse(pair: tuple[np.ndarray, np.ndarray]) -> None:
    A, B = pair
    assert svec(A) @ svec(B) == pytest.approx((A * B).sum(), rel=1e-12, abs=1e-6)
    np.testing.assert_allclose(smat(svec(A)), A, rtol=1e-15)


@given(st.integers(1, 7).flatmap(lambda p: st.tuples(square(p), hnp.arrays(np.float64, svec_size(p), elements=finite))))
def test_smat_is_the_adjoint_of_svec(pair: tuple[np.ndarray, np.ndarray]) -> None:
    A, v = pair
    assert svec(A) @ v == pytest.approx((A * smat(v)).sum(), rel=1e-12, abs=1e-6)
    np.testing.assert_allclose(svec(smat(v)), v, rtol=1e-15)


@given(
    st.tuples(st.integers(1, 5), st.integers(1, 6)).flatmap(
        lambda s: st.tuples(hnp.arrays(np.float64, s, elements=st.floats(-9, 9)), square(s[1]))
    )
)
def test_rank_one_rows(pair: tuple[np.ndarray, np.ndarray]) -> None:
    X, W = pair
    np.testing.assert_allclose(svec_rank_one(X) @ svec(W), [x @ W @ x for x in X], rtol=1e-10, atol=1e-6)
    np.testing.assert_allclose(svec_rank_one(X), [svec(np.outer(x, x)) for x in X], rtol=1e-14, atol=1e-300)


def test_order_is_the_upper_triangle_by_columns() -> None:
    row, column = svec_indices(3)
    assert list(zip(row.tolist(), column.tolist(), strict=True)) == [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)]
    A = np.array([[1.0, 2, 4], [2, 3, 5], [4, 5, 6]])
    np.testing.assert_allclose(svec(A), [1, 2 * 2**0.5, 3, 4 * 2**0.5, 5 * 2**0.5, 6])


def test_stacks() -> None:
    stack = np.random.default_rng(0).normal(size=(4, 3, 3))
    stack = stack + stack.transpose(0, 2, 1)
    np.testing.assert_allclose(smat(svec(stack)), stack)
    assert svec(stack).shape == (4, 6)


@pytest.mark.parametrize("order", range(8))
def test_order_of_a_size(order: int) -> None:
    assert svec_order(svec_size(order)) == order


@pytest.mark.parametrize("size", [2, 4, 5, 7])
def test_no_order(size: int) -> None:
    with pytest.raises(ValueError):
        svec_order(size)
