"""The coordinates that boxes are searched in."""

import numpy as np
import pytest

from marginopt.solvers.zero_one.rotation import constant_column, rotation


def rows_of(seed, p, values):
    """Rows y_i x_i whose features have so many values, and the labels."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(80) < 0.4, -1.0, 1.0)
    return rng.integers(0, values, (80, p)) * y[:, None] @ np.diag(rng.random(p) + 0.5), y


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("p", range(1, 9))
def test_the_coordinates_are_orthonormal_to_double_precision(p, labelled):
    for seed in range(5):
        block, y = rows_of(seed, p, 4)
        Q, residual, shrink = rotation(block, y if labelled else None, False)
        assert np.abs(Q.T @ Q - np.eye(p)).max() < 1e-14
        assert shrink < 1e-12
        assert not residual.any()


def test_features_of_two_values_keep_their_own_axes():
    """Nothing has a smaller 1-norm than sums with one entry that is not 0, and no turn of the singular vectors finds them all."""
    y = np.tile([1.0, -1.0], 40)
    block = np.zeros((80, 6))
    block[np.arange(80), np.arange(80) // 2 % 6] = y * (1.0 + np.arange(80) % 3)
    Q, _, _ = rotation(block, y, False)
    sums = (block[y > 0][:, None] + block[y < 0][None]).reshape(-1, 6)
    assert np.abs(sums @ Q).sum() <= np.abs(sums).sum() * (1 + 1e-6)


@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
def test_the_scale_of_the_features_does_not_matter(scale):
    block, y = rows_of(1, 4, 50)
    ours, theirs = rotation(block, y, False)[0], rotation(block * scale, y, False)[0]
    assert np.allclose(np.abs(ours), np.abs(theirs), atol=1e-9)


def test_a_class_of_its_own_is_no_error():
    block, y = rows_of(2, 3, 5)
    assert rotation(block[y > 0], y[y > 0], False)[0].shape == (3, 3)


def test_constant_columns():
    y = np.array([1.0, -1.0, 1.0])
    A = np.column_stack([[0.5, 2.0, 3.0], 2.0 * y])
    assert (constant_column(A) == 2.0 * y).all()
    assert constant_column(A[:, :1]) is None
    assert constant_column(A[:0]) is None
