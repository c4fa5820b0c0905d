"""Figures 1 and 2 of the conic paper: the loss functions, and the errors over draws with clustered outliers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from marginopt.drawing import Picture, colour_of, figure_of, svg_of
from marginopt.relaxations.losses import draw_losses

from ..record import CONIC, PaperFigure, ProtocolSize, Results, Run
from .protocol import SYNTHETIC
from .tables import synthetic_runs

_METHODS = ("hinge", "conic")


def _losses(results: Results) -> Picture:
    caption = "Left: 0-1, hinge, ramp, ψ and normalised sigmoid loss. Right: the conic loss of Proposition 1 at three γ."
    return Picture(draw_losses(), "conic-figure-1", "Losses", caption)


def _needs(effort: ProtocolSize) -> Sequence[Run]:
    return [run for method in _METHODS for run in synthetic_runs(effort, 0.2, "clustered", method)]


def _distribution(results: Results) -> Picture | None:
    """Draw a panel for each n: a histogram of the misclassification of all draws for each loss."""
    errors: dict[tuple[int, str], list[float]] = defaultdict(list)
    for run, record in results.items():
        at = run.parameters
        if run.experiment is SYNTHETIC and at["sigma"] == 0.2 and at["outliers"] == "clustered" and at["method"] in _METHODS:
            errors[int(str(at["n"])), str(at["method"])].append(100.0 * record["error"])
    sizes = sorted({n for n, _ in errors})
    if not sizes:
        return None
    figure = figure_of(9.0, 5.6)
    panels = np.ravel(figure.subplots(2, 2, sharex=True, squeeze=False))
    for ax, n in zip(panels, sizes, strict=False):
        for k, method in enumerate(_METHODS):
            errors_of_method = errors[n, method]
            ax.hist(
                errors_of_method,
                bins=np.linspace(0.0, 100.0, 41),
                color=colour_of(k),
                alpha=0.6,
                label=f"{method}, {len(errors_of_method)} draws",
            )
        ax.set_title(f"n = {n}", fontsize=10)
        ax.set_yscale("log")
        ax.legend(fontsize=8)
    for ax in panels[-2:]:
        ax.set_xlabel("misclassified, % of clean test points")
    caption = (
        "Clustered outliers (5%), σ = 0.2. The paper's text: with small n the hinge breaks down in a part of the draws, beyond "
        "50%, and the conic loss does not."
    )
    return Picture(svg_of(figure), "conic-figure-2", "Distribution of misclassification", caption)


FIGURES = (
    PaperFigure("conic-figure-1", CONIC, "Figure 1", "losses that approximate the 0-1 loss", lambda effort: (), _losses),
    PaperFigure(
        "conic-figure-2", CONIC, "Figure 2", "distribution of misclassification with clustered outliers", _needs, _distribution
    ),
)
