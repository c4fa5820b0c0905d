"""Figures 2(b), 4 and A.4 of NPSVC++: training of the network, what the skip connection is for, the classes' objectives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...drawing import Picture, colour_of, figure_of, svg_of
from ..effort import Effort
from ..four import NPSVC
from ..record import Experiment, PaperFigure, Results, Run
from .table_3 import network, parts_of

__all__ = ["FIGURES"]

#: The paper's sets by figure, and the one that everybody has; the first of them that was measured is drawn.
_SETS = {
    "npsvc-figure-2b": ("flowers102", "digits"),
    "npsvc-figure-4": ("flowers102", "digits"),
    "npsvc-figure-a4": ("cifar10", "digits"),
}
_EPOCHS = (50, 25)
#: Objective and hypothesis by label.
_TRAINED = {
    "D-NPSVC++": ("chebyshev", "skip"),
    "cross-entropy": ("softmax", "skip"),
    "deep TWSVM": ("sum", "skip"),
    "z alone": ("chebyshev", "learned"),
    "φ alone": ("chebyshev", "encoder"),
}
_SHOWN = {
    "npsvc-figure-2b": ("D-NPSVC++", "cross-entropy"),
    "npsvc-figure-4": ("D-NPSVC++", "z alone", "φ alone"),
    "npsvc-figure-a4": ("D-NPSVC++", "deep TWSVM"),
}
Histories: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]]]


def _trained(run: Mapping[str, Any]) -> dict[str, Any]:
    """Objectives of the classes and accuracies after every epoch; the test part decides nothing."""
    X, X_test, y, y_test = parts_of(run["dataset"], run["seed"])
    model = network(run["dataset"], run["epochs"], run["seed"], objective=run["objective"], hypothesis=run["hypothesis"])
    model.fit(X, y, validation=(X_test, y_test))
    return {
        "epochs": [
            {
                "epoch": int(row["epoch"]),
                "objectives": [float(f"{J:.6g}") for J in row["objectives"]],
                "largest": float(row["largest"]),
                "dual": float(row["dual"]),
                "accuracy": float(row["validation_accuracy"]),
            }
            for row in model.history_
        ]
    }


EVOLUTION = Experiment("npsvc deep evolution", _trained, lambda run: (run["dataset"],))


def _runs(effort: Effort, dataset: str, labels: Sequence[str]) -> list[Run]:
    return [
        Run.of(
            EVOLUTION, dataset=dataset, objective=_TRAINED[k][0], hypothesis=_TRAINED[k][1], epochs=effort.grid(*_EPOCHS), seed=0
        )
        for k in labels
    ]


def _needs(name: str) -> Callable[[Effort], Sequence[Run]]:
    def needs(effort: Effort) -> Sequence[Run]:
        sets = effort.rows(_SETS[name], ("digits",))
        return [run for dataset in sets for run in _runs(effort, dataset, _SHOWN[name])]

    return needs


def _found(name: str, results: Results) -> tuple[str, Histories] | None:
    """The first set on which all that a figure shows was measured."""
    by: dict[tuple[object, object, object], Sequence[Mapping[str, Any]]] = {}
    for run, record in results.items():
        if run.experiment is EVOLUTION:
            at = run.parameters
            by[at["dataset"], at["objective"], at["hypothesis"]] = record["epochs"]
    for dataset in _SETS[name]:
        histories = {label: by.get((dataset, *_TRAINED[label])) for label in _SHOWN[name]}
        whole = {label: history for label, history in histories.items() if history is not None}
        if len(whole) == len(histories):
            return dataset, whole
    return None


def _accuracies(ax: Any, histories: Histories, converged: bool) -> None:
    """Test accuracy over the epochs; dashed what it ends at."""
    for k, (label, history) in enumerate(histories.items()):
        values = [100.0 * row["accuracy"] for row in history]
        ax.plot([row["epoch"] for row in history], values, color=colour_of(k), lw=1.3, label=label)
        if converged:
            ax.axhline(values[-1], color=colour_of(k), ls="--", lw=0.8)
    ax.set_xlabel("epoch")
    ax.set_ylabel("test accuracy, %")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8)


def _training(results: Results) -> Picture | None:
    found = _found("npsvc-figure-2b", results)
    if found is None:
        return None
    from ...deep.pictures import draw_training  # needs PyTorch, as what it shows did

    dataset, histories = found
    figure = figure_of(9.5, 3.8)
    left, right = figure.subplots(1, 2)
    draw_training([dict(row) for row in histories["D-NPSVC++"]], left)
    _accuracies(right, histories, False)
    caption = f"D-NPSVC++ on {dataset}: the classes' objectives over the epochs, and its test accuracy beside cross-entropy's."
    return Picture(svg_of(figure), "npsvc-figure-2b", "Training of the network", caption)


def _ablation(results: Results) -> Picture | None:
    found = _found("npsvc-figure-4", results)
    if found is None:
        return None
    dataset, histories = found
    figure = figure_of(6.4, 4.0)
    _accuracies(figure.subplots(), histories, True)
    caption = f"On {dataset}: the hypothesis (6), w'φ + v'z, and its two parts alone; dashed the accuracy at the end."
    return Picture(svg_of(figure), "npsvc-figure-4", "Ablation", caption)


def _radar(results: Results) -> Picture | None:
    found = _found("npsvc-figure-a4", results)
    if found is None:
        return None
    from ...deep.pictures import draw_objectives

    dataset, histories = found
    rows = {label: [dict(row) for row in history] for label, history in histories.items()}
    last = len(rows["D-NPSVC++"]) - 1
    figure = figure_of(11.0, 4.4)
    for k, epoch in enumerate((0, min(24, last), last) if last > 24 else (0, last // 2, last)):
        ax = figure.add_subplot(1, 3, k + 1, projection="polar")
        log = k > 0 and all(np.min(history[epoch]["objectives"]) > 0.0 for history in rows.values())
        draw_objectives(rows, epoch, log=log, ax=ax)
        ax.set_title(f"epoch {epoch + 1}" + (", log" if log else ""), fontsize=10)
    caption = f"J_l of every class on {dataset}, (A.14), by D-NPSVC++ and by the sum of the objectives (deep TWSVM)."
    return Picture(svg_of(figure), "npsvc-figure-a4", "Objectives of the classes", caption)


_OTHERS = "The paper's set is images that nobody can get here; on digits instead, and on the paper's where MARGINOPT_DATA has it."

FIGURES = (
    PaperFigure(
        "npsvc-figure-2b", NPSVC, "Figure 2(b)", "training of D-NPSVC++", _needs("npsvc-figure-2b"), _training, _OTHERS,
    ),
    PaperFigure(
        "npsvc-figure-4", NPSVC, "Figure 4", "ablation of the hypothesis", _needs("npsvc-figure-4"), _ablation, _OTHERS,
    ),
    PaperFigure(
        "npsvc-figure-a4", NPSVC, "Figure A.4", "objectives of the classes", _needs("npsvc-figure-a4"), _radar, _OTHERS,
    ),
)  # fmt: skip
