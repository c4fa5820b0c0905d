"""Figures 1 and 2 of the max-min paper: |f'(γ)| and the ratio of inter- to intra-class distance over the updates of γ."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from marginopt.drawing import Picture, colour_of, figure_of, marker_of, svg_of

from ..record import MAX_MIN, PaperFigure, ProtocolSize, Results, Run
from .protocol import ACCURACY, SETS, accuracy_runs

#: The representative sets, and one that every installation has.
_KEYS = ("PAR", "HEA", "GER", "MUS", "BRE")


def _needs(effort: ProtocolSize) -> Sequence[Run]:
    keys = effort.rows(_KEYS, ("BRE",))
    return [accuracy_runs(effort, key, "MaxMin-SVC")[0] for key in keys]


def _drawing(name: str, field: str, label: str, log: bool, caption: str) -> Callable[[Results], Picture | None]:
    def draw(results: Results) -> Picture | None:
        curves = {}
        for run, record in results.items():
            at = run.parameters
            if run.experiment is ACCURACY and at["method"] == "MaxMin-SVC" and at["seed"] == 0:
                curves[at["dataset"]] = record[field]
        shown = [key for key in _KEYS if SETS[key] in curves]
        if not shown:
            return None
        figure = figure_of(6.4, 4.0)
        ax = figure.subplots()
        for k, key in enumerate(shown):
            values = curves[SETS[key]]
            ax.plot(range(len(values)), values, marker=marker_of(k), color=colour_of(k), label=key, lw=1.2, ms=4)
        if log:
            ax.set_yscale("log")
        ax.set_xlabel("update of γ")
        ax.set_ylabel(label)
        ax.grid(alpha=0.3)
        ax.legend(fontsize=8)
        return Picture(svg_of(figure), name, caption, caption)

    return draw


FIGURES = (
    PaperFigure(
        "max-min-figure-1", MAX_MIN, "Figure 1", "|f'(γ)| over the updates of γ", _needs,
        _drawing("max-min-figure-1", "slopes", "|f'(γ)|", True, "|f'| of every model trained, first split; ε2 = 1e-3 ends it."),
    ),
    PaperFigure(
        "max-min-figure-2", MAX_MIN, "Figure 2", "ratio of inter- to intra-class distance over the updates of γ", _needs,
        _drawing("max-min-figure-2", "ratios", "ratio (54)/(55)", False, "Fisher's ratio at the γ of every model, first split."),
    ),
)  # fmt: skip
