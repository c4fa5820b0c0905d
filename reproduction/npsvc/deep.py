"""Deep networks of NPSVC++: training criteria (Tables 3 and A.1), and training by epoch (Figures 2(b), 4 and A.4)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from marginopt.drawing import Picture, colour_of, figure_of, svg_of
from marginopt.errors import DataError
from marginopt.models import FloatArray

from ..comparison import OTHER_MACHINE, mean_summary
from ..inputs import data_set, dense_arrays
from ..record import (
    NPSVC,
    CellKind,
    Experiment,
    PaperCell,
    PaperFigure,
    PaperTable,
    ProtocolSize,
    PublishedNumber,
    Results,
    Run,
    published_rows,
)
from .protocol import classifier_maker

#: Shape of a sample by set; the paper's two others are features of a trained ResNet34.
_SHAPES: dict[str, tuple[int, ...]] = {
    "digits": (8, 8), "usps": (16, 16), "mnist": (28, 28), "cifar10": (3, 32, 32), "dtd": (512,), "flowers102": (512,),
}  # fmt: skip
#: Columns as printed, then those that everybody has.
_PRINTED_ORDER = ("cifar10", "dtd", "flowers102", "digits", "usps", "mnist")
#: Sets of one file whose first points are the training part.
_FIRST = {"mnist": 60000}
_CRITERIA: dict[str, dict[str, Any]] = {
    "Cross-entropy": {"objective": "softmax"},
    "ArcFace margin softmax": {"objective": "arcface", "margin": 0.5},
    "Deep TWSVM": {"objective": "sum"},
    "D-NPSVC++": {"objective": "chebyshev"},
}
_KERNEL = {"TWSVM on ResNet34 features": "TWSVM", "K-NPSVC++ on ResNet34 features": "K-NPSVC++"}
_EPOCHS = (50, 10)
#: The learning rate of §C.2.2 where it is another.
_FASTER = {"flowers102": 1e-2}
#: D-NPSVC++ trained by the protocol of §C.2.2; the other rows are trained by `DeepNPSVC`'s defaults.
_BY_C22 = "D-NPSVC++, trained as §C.2.2 says"
#: Criteria that earlier versions stated otherwise: a part of what a stored run is of.
_STATED = {"ArcFace margin softmax": {"loss": "s cos(θ + m), m = 0.5, s = 64"}}
_MARGIN = "s cos(θ + m) of Deng et al. 2019, with their m = 0.5 and s = 64; §5 names Wang et al.'s margin, s (cos θ - m)."
_C22 = (
    "SGD with momentum 0.9, learning rate 1e-3 (Flowers-102: 1e-2), weight decay 1e-4, encoder frozen after ten epochs, β = .85. "
    "The paper's encoder is pretrained; this one is not, and its first ten epochs are all that it has."
)
_FEATURES = "On the pixels or features that the file has; the paper's ResNet34 features are not distributed."
_NOBODY = (
    "CIFAR-10, DTD and Flowers-102 are images that nobody can get here without a network: put cifar10.libsvm.bz2 (3 "
    "× 32 × 32 pixels a row), dtd.libsvm.bz2 or flowers102.libsvm.bz2 (512 ResNet34 features a row), and their .t "
    "parts, into the directory of MARGINOPT_DATA; the encoder is then a small network, not ResNet34. Digits, USPS and "
    "MNIST (OpenML) are in none of the paper's columns."
)


def train_test_parts(name: str, seed: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return training and test rows, then their labels: the published parts; of digits a 70/30 split for each seed."""
    from sklearn.model_selection import train_test_split

    try:
        (X, y), (X_test, y_test) = dense_arrays(data_set(name, "train")), dense_arrays(data_set(name, "test"))
    except DataError:
        if name != "digits" and name not in _FIRST:
            raise
        X, y = dense_arrays(data_set(name))
        if name in _FIRST:
            first = _FIRST[name]
            return X[:first], X[first:], y[:first], y[first:]
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    return X, X_test, y, y_test


def _deep(run: Mapping[str, Any]) -> dict[str, Any]:
    """Train one criterion, test it; return accuracy and processor minutes of the training."""
    X, X_test, y, y_test = train_test_parts(run["dataset"], run["seed"])
    begin = time.process_time()
    model: Any
    if run["criterion"] in _KERNEL:
        most = run["points"]
        chosen = np.random.default_rng(run["seed"]).permutation(len(y))[: most or len(y)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ConvergenceWarning
            model = classifier_maker(_KERNEL[run["criterion"]])(X[chosen]).fit(X[chosen], y[chosen])
    else:
        model = make_network(
            run["dataset"], run["epochs"], run["seed"], **criterion_options(run["dataset"], run["criterion"])
        ).fit(X, y)
    seconds = time.process_time() - begin
    return {"accuracy": float(model.score(X_test, y_test)), "minutes": seconds / 60.0}


def criterion_options(dataset: str, criterion: str) -> dict[str, Any]:
    """Return a criterion's parameters of `DeepNPSVC`."""
    if criterion != _BY_C22:
        return _CRITERIA[criterion]
    from marginopt.deep import PUBLISHED_TRAINING

    faster = {"learning_rate": _FASTER[dataset]} if dataset in _FASTER else {}
    return {**_CRITERIA["D-NPSVC++"], **PUBLISHED_TRAINING, **faster}


def make_network(dataset: str, epochs: int, seed: int, **options: Any) -> Any:
    """Return an unfitted `DeepNPSVC` on a small encoder for the shape of the set's samples."""
    from marginopt.deep import DeepNPSVC  # without PyTorch its error says what to install

    _on_one_thread()
    shape = _SHAPES[dataset]
    encoder, image = ("conv", shape) if len(shape) > 1 else ("mlp", None)
    return DeepNPSVC(encoder, image_shape=image, epochs=epochs, random_state=seed, device="cpu", **options)


def _on_one_thread() -> None:
    import torch

    torch.set_num_threads(1)


#: Accuracy and minutes of one criterion or kernel machine.
DEEP = Experiment("npsvc deep", _deep, lambda run: (run["dataset"],))


def _criterion_runs(effort: ProtocolSize, name: str, criterion: str) -> tuple[Run, ...]:
    epochs, points = effort.grid((_EPOCHS[0], 0), (_EPOCHS[1], 2000))
    return tuple(
        Run.of(DEEP, dataset=name, criterion=criterion, seed=seed, epochs=epochs, points=points, **_STATED.get(criterion, {}))
        for seed in effort.seeds(3)
    )


def _entries(effort: ProtocolSize, facts: str, field: str, scale: float, caveat: str) -> Sequence[PaperCell]:
    entries = []
    for r in published_rows(facts):
        criterion = r["criterion"]
        notes = (_MARGIN,) if "ArcFace" in criterion else (_FEATURES,) if criterion in _KERNEL else ()
        for name in effort.rows(_PRINTED_ORDER, ("digits",)):
            there = PublishedNumber.of(r[name]) if name in r else None
            runs = _criterion_runs(effort, name, criterion)
            entries.append(PaperCell((criterion, name), there, runs, mean_summary(field, scale), notes, caveat=caveat))
            if criterion == "D-NPSVC++":
                beside = _criterion_runs(effort, name, _BY_C22)
                summary, kind = mean_summary(field, scale), CellKind.VARIANT
                entries.append(PaperCell((_BY_C22, name), there, beside, summary, (_C22,), "", caveat or "a variant", kind))
    return entries


_PROTOCOL = (
    "A small convolutional encoder for images (fully connected for features) in place of ResNet34, trained with the "
    "head, 50 epochs (thinned: 10), AdamW, three seeds; kernel machines on the pixels (thinned: 2,000 training "
    "points)."
)
#: The set that everybody has, beside the paper's.
_AT_HAND = "digits"
_FIGURE_EPOCHS = (50, 25)
#: Objective and hypothesis by label.
_TRAINED = {
    "D-NPSVC++": ("chebyshev", "skip"),
    "cross-entropy": ("softmax", "skip"),
    "deep TWSVM": ("sum", "skip"),
    "z alone": ("chebyshev", "learned"),
    "φ alone": ("chebyshev", "encoder"),
}
#: Rows of a training by epoch, by label.
Histories: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]]]


def _trained(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return objectives of the classes and accuracies after every epoch; the test part decides nothing."""
    X, X_test, y, y_test = train_test_parts(run["dataset"], run["seed"])
    model = make_network(run["dataset"], run["epochs"], run["seed"], objective=run["objective"], hypothesis=run["hypothesis"])
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


#: Objectives and accuracy after every epoch.
EVOLUTION = Experiment("npsvc deep evolution", _trained, lambda run: (run["dataset"],))


def _evolution_runs(effort: ProtocolSize, dataset: str, labels: Sequence[str]) -> list[Run]:
    return [
        Run.of(
            EVOLUTION, dataset=dataset, objective=objective, hypothesis=hypothesis, epochs=effort.grid(*_FIGURE_EPOCHS), seed=0
        )
        for objective, hypothesis in (_TRAINED[label] for label in labels)
    ]


def _accuracies(ax: Any, histories: Histories, converged: bool) -> None:
    """Draw the test accuracy over the epochs; dashed the one at the end if ``converged``."""
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
        return [run for dataset in sets for run in _evolution_runs(effort, dataset, self.shown)]

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


TABLES = (
    PaperTable(
        "npsvc-table-3",
        NPSVC,
        "Table 3",
        "deep training criteria and kernel machines",
        ("criterion", "set"),
        "% of the test part",
        _PROTOCOL,
        lambda effort: _entries(effort, "npsvcpp_table3_deep", "accuracy", 100.0, ""),
        (_NOBODY,),
        column_levels=1,
    ),
    PaperTable(
        "npsvc-table-a1",
        NPSVC,
        "Table A.1",
        "training times of Table 3",
        ("criterion", "set"),
        "minutes of the processor here, of the paper's GPU (networks) and processor there; not judged",
        _PROTOCOL,
        lambda effort: _entries(effort, "npsvcpp_tableA1_minutes", "minutes", 1.0, OTHER_MACHINE),
        column_levels=1,
        kind=CellKind.SECONDS,
    ),
)
