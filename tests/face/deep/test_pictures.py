"""Pictures of `DeepNPSVC`'s training show what the history holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib
import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt.errors import InputError

pytest.importorskip("torch", reason="the deep part needs PyTorch")

HISTORY = [
    {"epoch": p, "objectives": [0.4 / p, 0.2 / p, 0.3 / p, 0.1], "largest": max(0.4 / p, 0.1), "dual": 0.2 / p} for p in (1, 2, 5)
]


@pytest.fixture(autouse=True)
def no_screen() -> Iterator[None]:
    import matplotlib.pyplot as plt

    matplotlib.use("agg")
    yield
    plt.close("all")


@pytest.mark.parametrize("log", [False, True])
def test_the_radar_chart_has_an_axis_for_every_class(log: bool) -> None:
    other: list[dict[str, Any]] = [{**row, "objectives": list(reversed(row["objectives"]))} for row in HISTORY]
    ax = mo.deep.draw_objectives({"chebyshev": HISTORY, "sum": other}, 1, classes="abcd", log=log)
    assert [text.get_text() for text in ax.get_xticklabels()] == list("abcd")
    first, second = ax.lines
    assert first.get_ydata() == pytest.approx([0.2, 0.1, 0.15, 0.1, 0.2])
    assert second.get_ydata() == pytest.approx([0.1, 0.15, 0.1, 0.2, 0.1])
    assert np.diff(first.get_xdata()) == pytest.approx([np.pi / 2] * 3 + [-3 * np.pi / 2])
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"chebyshev", "sum"}
    assert ax.get_yscale() == ("log" if log else "linear")
    ax.figure.canvas.draw()
    if log:
        low, high = ax.get_ylim()
        assert low < 0.1 < 0.2 < high
        assert [text.get_text() for text in ax.get_yticklabels()] == ["1.0e-01", "1.4e-01", "2.0e-01"]


def test_log_axes_refuse_zero() -> None:
    with pytest.raises(InputError, check=about("log")):
        mo.deep.draw_objectives({"a": [{"objectives": [0.0, 1.0, 2.0]}]}, log=True)


def test_training_shows_every_class_the_largest_and_the_dual() -> None:
    ax = mo.deep.draw_training(HISTORY, classes="abcd")
    assert len(ax.lines) == 6
    assert ax.lines[2].get_ydata() == pytest.approx([0.3, 0.15, 0.06])
    assert ax.lines[4].get_ydata() == pytest.approx([0.4, 0.2, 0.1])
    assert ax.lines[5].get_ydata() == pytest.approx([0.2, 0.1, 0.04])
    assert list(ax.lines[0].get_xdata()) == [1, 2, 5]
    ax.figure.canvas.draw()


@pytest.mark.parametrize(
    ("histories", "epoch", "name"),
    [
        ({}, -1, "histories"),
        ({"a": HISTORY}, 3, "epoch"),
        ({"a": HISTORY, "b": [{"objectives": [1.0, 2.0]}] * 3}, 0, "histories"),
    ],
)
def test_bad_histories_are_our_errors(histories: dict[str, Any], epoch: int, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        mo.deep.draw_objectives(histories, epoch)


def test_no_history_is_our_error() -> None:
    with pytest.raises(InputError, check=about("history")):
        mo.deep.draw_training([])
