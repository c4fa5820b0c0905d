"""Figures 3 to 8 of the Frank-Wolfe paper: accuracy, speed-up over CVM and seconds, by set and along C."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from marginopt.drawing import Picture, colour_of, figure_of, marker_of, svg_of

from ..record import FRANK_WOLFE, MeasuredMeans, PaperFigure, ProtocolSize, Results, Run, published_rows
from .data import SOURCES
from .one_versus_one import ALGORITHMS
from .protocol import TRAINING, training_runs

_WEB = tuple(name for name in SOURCES if name.startswith("w"))
_ADULT = tuple(name for name in SOURCES if name.startswith("a"))
_SINGLE = tuple(name for name in SOURCES if name not in (*_WEB, *_ADULT))
#: Sets and values of C of Figures 7 and 8.
_SWEPT = {"frank-wolfe-figure-7": ("Shuttle", "KDD10pc"), "frank-wolfe-figure-8": ("Pendigits", "Reuters")}
_COSTS = tuple(2.0**k for k in range(0, 13, 2))


#: Accuracy in % and seconds by set and algorithm.
Means: TypeAlias = dict[tuple[str, str], tuple[float, float]]


def _needs(sets: Sequence[str], quick: Sequence[str]) -> Callable[[ProtocolSize], Sequence[Run]]:
    def needs(effort: ProtocolSize) -> Sequence[Run]:
        return [run for name in effort.rows(sets, quick) for a in ALGORITHMS for run in training_runs(effort, name, a)]

    return needs


def _means(results: Results, sets: Sequence[str]) -> Means:
    """Return the means of the runs with a Gaussian kernel and C by validation."""
    means: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for run, record in results.items():
        at = run.parameters
        if run.experiment is TRAINING and at["kernel"] == "rbf" and at["C"] is None and at["dataset"] in sets:
            accuracy = np.nan if record["accuracy"] is None else 100.0 * record["accuracy"]
            means[str(at["dataset"]), str(at["algorithm"])].append((accuracy, record["seconds"]))
    return {
        key: (float(np.mean([v[0] for v in values])), float(np.mean([v[1] for v in values]))) for key, values in means.items()
    }


def _of_cells(cells: MeasuredMeans, sets: Sequence[str]) -> Means:
    """Return the means of the cells of Tables 2 and 3."""
    seconds = {key: cells.get(("frank-wolfe-table-3", " | ".join(key))) for key in product(sets, ALGORITHMS)}
    return {
        key: (cells.get(("frank-wolfe-table-2", " | ".join(key)), np.nan), value)
        for key, value in seconds.items()
        if value is not None
    }


def _by_set(number: int, sets: Sequence[str], ours: Means) -> Picture | None:
    if not ours:
        return None
    theirs = {
        (r["dataset"], r["algorithm"]): (float(r["test_accuracy_pct"]), float(r["train_seconds"]))
        for r in published_rows("frank_wolfe_tables2_3")
        if r["dataset"] in sets
    }
    figure = figure_of(7.0, 7.5)
    panels = figure.subplots(3, 1, sharex=True)
    for ax, (label, pick) in zip(panels, _PANELS.items(), strict=True):
        for k, algorithm in enumerate(ALGORITHMS):
            for values, hollow in ((theirs, True), (ours, False)):
                points = [(x, pick(values, name, algorithm)) for x, name in enumerate(sets) if (name, algorithm) in values]
                drawn = [(x, y) for x, y in points if y is not None and np.isfinite(y)]
                if drawn:
                    _mark(ax, drawn, k, f"{algorithm}{', published' if hollow else ''}", hollow)
        ax.set_ylabel(label)
        ax.grid(alpha=0.3)
    for ax in panels[1:]:
        ax.set_yscale("log")
    panels[0].legend(fontsize=7, ncols=3)
    panels[-1].set_xticks(range(len(sets)), sets, rotation=45 if len(sets) > 8 else 0, fontsize=8)
    caption = "Filled: measured (processor seconds); hollow: published. Sets without a filled point were not run."
    return Picture(svg_of(figure), f"frank-wolfe-figure-{number}", "By set", caption)


def _speed_up(values: Means, name: str, algorithm: str) -> float | None:
    base = values.get((name, "CVM"))
    return None if base is None else base[1] / values[name, algorithm][1]


_PANELS: dict[str, Callable[[Means, str, str], float | None]] = {
    "test accuracy, %": lambda values, name, algorithm: values[name, algorithm][0],
    "speed-up over CVM": _speed_up,
    "seconds": lambda values, name, algorithm: values[name, algorithm][1],
}


def _mark(ax: Any, points: Sequence[tuple[float, float | None]], k: int, label: str, hollow: bool) -> None:
    x, y = zip(*points, strict=True)
    face = "none" if hollow else colour_of(k)
    style = ":" if hollow else "-"
    ax.plot(x, y, style, marker=marker_of(k), color=colour_of(k), mfc=face, ms=5, lw=0.8, label=label)


def _swept(name: str) -> Callable[[ProtocolSize], Sequence[Run]]:
    def needs(effort: ProtocolSize) -> Sequence[Run]:
        return [
            training_runs(effort, data, algorithm, C=C)[0]
            for data in effort.rows(_SWEPT[name], ())
            for algorithm in ALGORITHMS
            for C in _COSTS
        ]

    return needs


def _along_C(name: str) -> Callable[[Results], Picture | None]:
    def draw(results: Results) -> Picture | None:
        curves: dict[tuple[str, str], list[tuple[float, float, float]]] = defaultdict(list)
        for run, record in results.items():
            at = run.parameters
            if run.experiment is TRAINING and at["C"] is not None and at["dataset"] in _SWEPT[name]:
                point = (float(at["C"]), 100.0 * record["accuracy"], record["seconds"])
                curves[str(at["dataset"]), str(at["algorithm"])].append(point)
        sets = [data for data in _SWEPT[name] if any(data == key[0] for key in curves)]
        if not sets:
            return None
        figure = figure_of(4.0 * len(sets) + 0.5, 5.5)
        panels = figure.subplots(2, len(sets), sharex=True, squeeze=False)
        for column, data in enumerate(sets):
            for k, algorithm in enumerate(ALGORITHMS):
                points = sorted(curves[data, algorithm])
                for row in (0, 1):
                    drawn = [(C, (accuracy, seconds)[row]) for C, accuracy, seconds in points]
                    if drawn:
                        _mark(panels[row, column], drawn, k, algorithm, False)
            panels[0, column].set_title(data, fontsize=10)
            panels[1, column].set_xlabel("C")
            panels[1, column].set_xscale("log", base=2)
            panels[1, column].set_yscale("log")
        panels[0, 0].set_ylabel("test accuracy, %")
        panels[1, 0].set_ylabel("seconds")
        panels[0, 0].legend(fontsize=8)
        caption = "Along C, one repetition. The paper's text: as C grows all algorithms become faster."
        return Picture(svg_of(figure), name, "Along C", caption)

    return draw


def _figure(number: int, words: str, title: str, sets: Sequence[str], quick: Sequence[str]) -> PaperFigure:
    return PaperFigure(
        f"frank-wolfe-figure-{number}",
        FRANK_WOLFE,
        words,
        title,
        _needs(sets, quick),
        lambda results: _by_set(number, sets, _means(results, sets)),
        draw_cells=lambda cells: _by_set(number, sets, _of_cells(cells, sets)),
    )


FIGURES = (
    _figure(3, "Figure 3", "Web sets", _WEB, ("w1a",)),
    _figure(4, "Figure 4", "Adult sets", _ADULT, ("a1a",)),
    _figure(5, "Figures 5 and 6", "single sets", _SINGLE, ("Pendigits",)),
    *(
        PaperFigure(name, FRANK_WOLFE, f"Figure {name[-1]}", f"along C: {', '.join(sets)}", _swept(name), _along_C(name))
        for name, sets in _SWEPT.items()
    ),
)
