"""Pictures of linear classifiers: lines where they belong, planes in space, counts in the legend."""

import matplotlib
import numpy as np
import pytest
from facts import about

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import marginopt as mo
from marginopt.errors import InputError
from marginopt.pictures import draw_classifiers


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_lines_pass_where_the_score_is_zero_and_one():
    data = mo.instances.gaussian_clusters(40, 2, 0.5, "clustered", seed=0)
    exact = mo.solve(mo.ZeroOneSVM(data.X, data.y, lam=10.0), "zero-one-bb").values["w"]
    hinge = mo.solve(mo.HingeSVM(data.X, data.y, lam=10.0)).values["w"]
    ax = draw_classifiers(data.X, data.y, {"0-1": exact, "hinge": hinge})
    scores = [w @ [np.ones(2), *line.get_data()] for line, w in zip(ax.lines, (exact, exact, exact, hinge), strict=True)]
    np.testing.assert_allclose(scores, [[0, 0], [-1, -1], [1, 1], [0, 0]], atol=1e-9)
    violated = data.y * (data.X @ exact) < 1 - 1e-9
    rings = sum(len(marks.get_offsets()) for marks in ax.collections[1::2])
    assert rings == violated.sum()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"0-1: {violated.sum()} violated, {(data.y * (data.X @ exact) < 0).sum()} wrong" in texts


def test_planes_in_space(monkeypatch):
    data = mo.instances.gaussian_clusters(30, 3, 0.5, seed=1)
    w = mo.solve(mo.HingeSVM(data.X, data.y, lam=10.0)).values["w"]
    assert draw_classifiers(data.X, data.y, {"hinge": w}).name == "3d"
    _, ax = plt.subplots(subplot_kw={"projection": "3d"})
    drawn = []
    monkeypatch.setattr(ax, "plot_surface", lambda *grids, **style: drawn.append(grids))
    assert draw_classifiers(data.X, data.y, {"hinge": w}, ax) is ax
    corners = np.array([grid.ravel() for grid in drawn[0]])
    inside = np.isfinite(corners).all(axis=0)
    assert inside.any()
    np.testing.assert_allclose(w[0] + w[1:] @ corners[:, inside], 0.0, atol=1e-9)


def test_a_vertical_line_and_w_zero():
    X = np.column_stack([np.ones(4), [0.0, 1, 2, 3], [0.0, 1, 0, 1]])
    ax = draw_classifiers(X, [-1, -1, 1, 1], {"vertical": np.array([-3.0, 2.0, 0.0]), "nothing": np.zeros(3)})
    np.testing.assert_allclose(ax.lines[0].get_xdata(), 1.5)
    assert not np.isfinite(ax.lines[3].get_ydata()).any()


def test_what_cannot_be_drawn_is_an_error():
    X = np.column_stack([np.ones(4), np.arange(4.0), np.arange(4.0) ** 2])
    y = [-1, -1, 1, 1]
    with pytest.raises(InputError, check=about("X")):
        draw_classifiers(X[:, :2], y, {"a": np.zeros(2)})
    with pytest.raises(InputError, check=about("X")):
        draw_classifiers(X[:, [1, 2, 0]], y, {"a": np.zeros(3)})
    with pytest.raises(InputError, check=about("classifiers")):
        draw_classifiers(X, y, {})
    with pytest.raises(InputError, check=about("classifiers['a']")):
        draw_classifiers(X, y, {"a": np.zeros(2)})
