"""The picture of two hulls: what is drawn where."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib
import numpy as np
import pytest
from facts import about

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import marginopt.solvers as solvers
from marginopt.errors import InputError
from marginopt.models import RBF, ConvexHullsDual
from marginopt.pictures import draw_hulls

SQUARES = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1], [0.5, 0.5], [3, 0], [4, 0], [3, 1], [4, 1]])
LABELS = np.where(np.arange(9) < 5, -1.0, 1.0)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def test_hulls_closest_points_and_the_line_between_two_squares() -> None:
    model = ConvexHullsDual(SQUARES, LABELS, C=1e6)
    ax = draw_hulls(model, solvers.solve(model, "smo", tol=1e-9).values)
    shapes = [np.unique(patch.get_xy(), axis=0) for patch in ax.patches]
    np.testing.assert_array_equal(shapes[0], [[3, 0], [3, 1], [4, 0], [4, 1]])
    np.testing.assert_array_equal(shapes[1], [[0, 0], [0, 1], [1, 0], [1, 1]])
    (segment,) = ax.lines
    np.testing.assert_allclose(segment.get_xdata(), [3.0, 1.0], atol=1e-4)
    assert np.ptp(segment.get_ydata()) == pytest.approx(0.0, abs=1e-4)
    (contours,) = ax.collections[4:]
    across = [path.vertices[:, 0] for path in contours.get_paths()]
    np.testing.assert_allclose([line.mean() for line in across], [1.0, 2.0, 3.0], atol=1e-3)
    assert "distance between the hulls 2" in ax.get_title()


def test_another_kernel_has_lines_and_no_hulls_in_the_plane() -> None:
    model = ConvexHullsDual(SQUARES, LABELS, kernel=RBF(0.5))
    figure, ax = plt.subplots()
    assert draw_hulls(model, solvers.solve(model, "smo").values, ax) is ax
    assert ax.figure is figure
    assert not ax.patches
    assert not ax.lines
    assert len(ax.collections) == 5


def test_classes_on_a_line_and_of_one_point() -> None:
    X = np.array([[0.0, 0], [1, 1], [2, 2], [0, 3]])
    model = ConvexHullsDual(X, np.array([-1.0, -1, -1, 1]))
    ax = draw_hulls(model, solvers.solve(model, "smo").values)
    assert len(ax.patches) == 2


def test_what_cannot_be_drawn_is_said() -> None:
    model = ConvexHullsDual(np.eye(4), np.array([-1.0, -1, 1, 1]))
    with pytest.raises(InputError, check=about("X")):
        draw_hulls(model, {"a": np.ones(4)})
    flat = ConvexHullsDual(SQUARES, LABELS)
    with pytest.raises(InputError, check=about("values")):
        draw_hulls(flat, {"a": np.ones(3)})
