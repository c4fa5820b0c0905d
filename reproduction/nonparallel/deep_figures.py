"""Figures 2(b), 4 and A.4 of NPSVC++: training of the network, what the skip connection is for, the classes' objectives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from marginopt.drawing import Picture, colour_of, figure_of, svg_of

from ..record import NPSVC, Experiment, PaperFigure, ProtocolSize, Results, Run
from .table_3 import network, parts_of

#: The set that everybody has, beside the paper's.
_AT_HAND = "digits"
_EPOCHS = (50, 25)
#: Objective and hypothesis by label.
_TRAINED = {
    "D-NPSVC++": ("chebyshev", "skip"),
    "cross-entropy": ("softmax", "skip"),
    "deep TWSVM": ("sum", "skip"),
    "z alone": ("chebyshev", "learned"),
    "φ alone": ("chebyshev", "encoder"),
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


def _runs(effort: ProtocolSize, dataset: str, labels: Sequence[str]) -> list[Run]:
    return [
        Run.of(
            EVOLUTION, dataset=dataset, objective=_TRAINED[k][0], hypothesis=_TRAINED[k][1], epochs=effort.grid(*_EPOCHS), seed=0
        )
        for k in labels
    ]


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


def _training(figure: Any, histories: Histories) -> None:
    from marginopt.deep.pictures import draw_training  # needs PyTorch, as what it shows did

    left, right = figure.subplots(1, 2)
    draw_training([dict(row) for row in histories["D-NPSVC++"]], left)
    _accuracies(right, histories, False)


def _ablation(figure: Any, histories: Histories) -> None:
    _accuracies(figure.subplots(), histories, True)


def _radar(figure: Any, histories: Histories) -> None:
    from marginopt.deep.pictures import draw_objectives

    rows = {label: [dict(row) for row in history] for label, history in histories.items()}
    last = len(rows["D-NPSVC++"]) - 1
    for k, epoch in enumerate((0, min(24, last), last) if last > 24 else (0, last // 2, last)):
        ax = figure.add_subplot(1, 3, k + 1, projection="polar")
        log = k > 0 and all(np.min(history[epoch]["objectives"]) > 0.0 for history in rows.values())
        draw_objectives(rows, epoch, log=log, ax=ax)
        ax.set_title(f"epoch {epoch + 1}" + (", log" if log else ""), fontsize=10)


@dataclass(frozen=True)
class _Evolution:
    """A figure of histories over the epochs: on the paper's set where it was measured, else on the one at hand."""

    name: str
    number: str
    what: str
    dataset: str
    shown: tuple[str, ...]
    size: tuple[float, float]
    draw: Callable[[Any, Histories], None]
    title: str
    caption: str  #: with {dataset}

    def needs(self, effort: ProtocolSize) -> Sequence[Run]:
        """Every label on the sets that the effort has."""
        sets = effort.rows((self.dataset, _AT_HAND), (_AT_HAND,))
        return [run for dataset in sets for run in _runs(effort, dataset, self.shown)]

    def picture(self, results: Results) -> Picture | None:
        """Draw the first set on which everything that is shown was measured."""
        records = self._found(results)
        if records is None:
            return None
        dataset, histories = records
        figure = figure_of(*self.size)
        self.draw(figure, histories)
        return Picture(svg_of(figure), self.name, self.title, self.caption.format(dataset=dataset))

    def _found(self, results: Results) -> tuple[str, Histories] | None:
        by: dict[tuple[object, object, object], Sequence[Mapping[str, Any]]] = {}
        for run, record in results.items():
            if run.experiment is EVOLUTION:
                at = run.parameters
                by[at["dataset"], at["objective"], at["hypothesis"]] = record["epochs"]
        for dataset in (self.dataset, _AT_HAND):
            histories = {label: by.get((dataset, *_TRAINED[label])) for label in self.shown}
            whole = {label: history for label, history in histories.items() if history is not None}
            if len(whole) == len(histories):
                return dataset, whole
        return None


_OTHERS = "The paper's set is images that nobody can get here; on digits instead, and on the paper's where MARGINOPT_DATA has it."
_EVOLUTIONS = (
    _Evolution(
        "npsvc-figure-2b", "Figure 2(b)", "training of D-NPSVC++", "flowers102", ("D-NPSVC++", "cross-entropy"), (9.5, 3.8),
        _training, "Training of the network",
        "D-NPSVC++ on {dataset}: the classes' objectives over the epochs, and its test accuracy beside cross-entropy's.",
    ),
    _Evolution(
        "npsvc-figure-4", "Figure 4", "ablation of the hypothesis", "flowers102", ("D-NPSVC++", "z alone", "φ alone"), (6.4, 4.0),
        _ablation, "Ablation",
        "On {dataset}: the hypothesis (6), w'φ + v'z, and its two parts alone; dashed the accuracy at the end.",
    ),
    _Evolution(
        "npsvc-figure-a4", "Figure A.4", "objectives of the classes", "cifar10", ("D-NPSVC++", "deep TWSVM"), (11.0, 4.4),
        _radar, "Objectives of the classes",
        "J_l of every class on {dataset}, (A.14), by D-NPSVC++ and by the sum of the objectives (deep TWSVM).",
    ),
)  # fmt: skip

FIGURES = tuple(PaperFigure(e.name, NPSVC, e.number, e.what, e.needs, e.picture, _OTHERS) for e in _EVOLUTIONS)
