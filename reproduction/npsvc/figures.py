"""Figures 2(a), 3, A.2 and A.3 of NPSVC++: training, learned features and parameter sensitivity of K-NPSVC++."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from marginopt.drawing import Picture, colour_of, figure_of, marker_of, svg_of
from marginopt.estimators import KernelNPSVC
from marginopt.models import RBF, gamma_by_rule
from marginopt.pictures import draw_training

from ..record import NPSVC, Experiment, PaperFigure, ProtocolSize, Results, Run
from .protocol import read_points, split_indices

#: Swept parameters of `KernelNPSVC` and their values; the others are the released code's.
_SWEPT: dict[str, tuple[float, ...]] = {
    "r1": (0.001, 0.03, 1.0, 30.0), "r2": (0.001, 0.03, 1.0, 30.0), "c": (0.1, 1.0, 10.0), "mu": (0.0001, 0.01, 1.0),
    "d": (10, 36, 72, 144), "dual_weight": (0.01, 0.1, 1.0),
}  # fmt: skip
_SYMBOLS = {"r1": "r1", "r2": "r2", "c": "c", "mu": "μ", "d": "d", "dual_weight": "γ"}


def _fitted(run: Mapping[str, Any], **parameters: Any) -> tuple[KernelNPSVC, float, Any, Any]:
    """Return the classifier fitted on 60% of the points, its accuracy on the rest, and the rest."""
    X, y = read_points(run["dataset"], run["points"])
    train, test = split_indices(len(y), run["seed"])
    model = KernelNPSVC(
        kernel=RBF(gamma_by_rule("npsvc", X[train])), orientation="rest", standardise=False, max_iter=15, **parameters
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ConvergenceWarning: the curve shows it
        model.fit(X[train], y[train])
    return model, float(model.score(X[test], y[test])), X[test], y[test]


def _sweep(run: Mapping[str, Any]) -> dict[str, Any]:
    value = int(run["value"]) if run["parameter"] == "d" else run["value"]
    return {"accuracy": _fitted(run, **{run["parameter"]: value})[1]}


def _evolution(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return objectives over the iterations, and t-SNE of the test points, raw and by the learned features."""
    from sklearn.manifold import TSNE

    model, accuracy, X, y = _fitted(run, dual_values=True)
    shown = slice(0, 500)
    spaces = (np.asarray(Z[shown], dtype=np.float64) for Z in (X, model.transform(X)))
    raw, learned = (TSNE(random_state=0, perplexity=20.0).fit_transform(Z) for Z in spaces)
    steps = [_plain(step) for step in model.history_]
    classes = np.unique(y[shown], return_inverse=True)[1]
    return {
        "accuracy": accuracy, "steps": steps, "raw": np.round(raw, 3).tolist(), "learned": np.round(learned, 3).tolist(),
        "classes": classes.tolist(),
    }  # fmt: skip


def _plain(step: Mapping[str, Any]) -> dict[str, Any]:
    """Return one iteration as JSON holds it: the dual value is None if it was not recorded."""
    dual = float(step["dual"])
    objectives = np.asarray(step["objectives"]).tolist()
    return {"objectives": objectives, "largest": float(step["largest"]), "dual": dual if np.isfinite(dual) else None}


#: Test accuracy with one parameter changed; the course of one training, with learned features.
SWEEP = Experiment("npsvc sensitivity", _sweep, lambda run: (run["dataset"],))
EVOLUTION = Experiment("npsvc evolution", _evolution, lambda run: (run["dataset"],), layout=2)


def _evolved(effort: ProtocolSize) -> Sequence[Run]:
    name = effort.rows(("binalpha",), ("digits",))[0]
    return [Run.of(EVOLUTION, dataset=name, seed=0, points=effort.grid(0, 1000))]


#: Sets of the two sensitivity figures: the paper's, and one that everybody has where that cannot be had.
_SWEEPS = {"npsvc-figure-a2": ("binalpha",), "npsvc-figure-a3": ("flowers102", "digits")}


def _swept(name: str) -> Callable[[ProtocolSize], Sequence[Run]]:
    def needs(effort: ProtocolSize) -> Sequence[Run]:
        splits = range(1) if effort.thinned else effort.seeds(3)
        return [
            Run.of(SWEEP, dataset=dataset, seed=seed, points=effort.grid(0, 600), parameter=parameter, value=value)
            for dataset in effort.rows(_SWEEPS[name], ())
            for seed in splits
            for parameter, values in _SWEPT.items()
            for value in values
        ]

    return needs


def _record(results: Results) -> tuple[str, Mapping[str, Any]] | None:
    return next(((str(run.parameters["dataset"]), r) for run, r in results.items() if run.experiment is EVOLUTION), None)


def _training(results: Results) -> Picture | None:
    result = _record(results)
    if result is None:
        return None
    name, record = result
    figure = figure_of(6.0, 4.0)
    draw_training(record["steps"], ax=figure.subplots())
    caption = (
        f"K-NPSVC++ on {name}: J_l of the classes, the largest of them and the dual value over the iterations; test accuracy "
        + (f"{100.0 * record['accuracy']:.1f}% at the end. The paper's text: convergence within 5 iterations.")
    )
    return Picture(svg_of(figure), "npsvc-figure-2", "Training", caption)


def _features(results: Results) -> Picture | None:
    result = _record(results)
    if result is None:
        return None
    name, record = result
    figure = figure_of(9.0, 4.2)
    classes = np.array(record["classes"])
    panels = figure.subplots(1, 2)
    for ax, key, title in zip(panels, ("raw", "learned"), ("raw features", "learned features P'ψ(x)"), strict=True):
        points = np.array(record[key])
        for k in np.unique(classes):
            ax.scatter(*points[classes == k].T, s=8, color=colour_of(int(k)), marker=marker_of(int(k)), lw=0)
        ax.set_title(title, fontsize=10)
        ax.set_xticks([])
        ax.set_yticks([])
    caption = f"t-SNE (scikit-learn) of {len(classes)} test points of {name}; colour and marker are the class."
    return Picture(svg_of(figure), "npsvc-figure-3", "Features", caption)


def _curves(results: Results, dataset: str) -> dict[str, dict[float, list[float]]]:
    curves: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run, record in results.items():
        at = run.parameters
        if run.experiment is SWEEP and at["dataset"] == dataset:
            curves[str(at["parameter"])][float(str(at["value"]))].append(100.0 * record["accuracy"])
    return curves


def _sensitivity(name: str) -> Callable[[Results], Picture | None]:
    def draw(results: Results) -> Picture | None:
        dataset = next((one for one in _SWEEPS[name] if _curves(results, one)), None)
        if dataset is None:
            return None
        figure = figure_of(9.0, 5.0)
        for ax, (parameter, points) in zip(
            np.ravel(figure.subplots(2, 3, sharey=True)), _curves(results, dataset).items(), strict=False
        ):
            x = sorted(points)
            ax.plot(x, [np.mean(points[v]) for v in x], marker="o", color=colour_of(0), ms=4)
            ax.set_xscale("log")
            ax.set_xlabel(_SYMBOLS[parameter])
            ax.grid(alpha=0.3)
        figure.supylabel("test accuracy, %", fontsize=10)
        caption = (
            f"{dataset}, one parameter moved. The paper's text: stable for small r1, poor for very large r1; robust in the rest."
        )
        return Picture(svg_of(figure), name, "Sensitivity", caption)

    return draw


FIGURES = (
    PaperFigure("npsvc-figure-2", NPSVC, "Figure 2(a)", "training of K-NPSVC++", _evolved, _training),
    PaperFigure("npsvc-figure-3", NPSVC, "Figure 3", "t-SNE of raw and learned features", _evolved, _features),
    PaperFigure(
        "npsvc-figure-a2", NPSVC, "Figure A.2", "sensitivity to the parameters", _swept("npsvc-figure-a2"),
        _sensitivity("npsvc-figure-a2"), "Thinned: one split of 600 of the 1,404 points.",
    ),
    PaperFigure(
        "npsvc-figure-a3", NPSVC, "Figure A.3", "sensitivity to the parameters, a second set", _swept("npsvc-figure-a3"),
        _sensitivity("npsvc-figure-a3"),
        "The paper's are ResNet34's features of Flowers-102, which are not distributed; digits instead, and flowers102 where "
        "MARGINOPT_DATA has it.",
    ),
)  # fmt: skip
