"""What all pictures share: curves that can be told apart, legends that hide nothing."""

from __future__ import annotations

import pytest

from marginopt.drawing import COLOURS, MARKERS, colour_of, figure_of, legend_below, marker_of


def test_no_two_curves_look_alike() -> None:
    count = len(COLOURS) * len(MARKERS)
    assert len({(colour_of(k), marker_of(k)) for k in range(count)}) == count


@pytest.mark.parametrize("width", [4.0, 6.0, 11.6])
def test_a_legend_of_long_names_is_not_cut(width: float) -> None:
    figure = figure_of(width, 4.0)
    for ax in figure.subplots(2):
        for k in range(14):
            ax.plot([0.0, 1.0], [0.0, k], label=f"conic SDP + big-M, M from incumbent {k}")
    legend_below(figure)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 14
    box = legend.get_window_extent()
    assert box.x0 >= 0.0 and box.x1 <= figure.bbox.x1 and box.y0 >= 0.0
