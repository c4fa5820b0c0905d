"""Plots of fitted classifiers by matplotlib: convex hulls, decision lines, the validation path of κ, nonparallel objectives.

*NPSVC++* is Zhang, Lai, Zhou and Liang (2024): class l of K has a hyperplane of its own with an objective J_l, and the training
minimises the largest ϖ_l J_l for given class weights ϖ_l.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .drawing import COLOURS, GREY, colour_of, new_axes
from .errors import InputError, count_text, short_text
from .models.arrays import FloatArray, as_labels, as_points, as_vector, to_dense
from .models.formulations.conic import ConicSVM
from .models.formulations.svm_duals import ConvexHullsDual
from .models.kernels.kernels import Linear
from .models.views import ConicProblem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .estimators.hinge_and_conic import ConicSVCCV


def draw_hulls(model: ConvexHullsDual, values: Mapping[str, FloatArray], ax: Axes | None = None) -> Axes:
    """Draw a solution of the two-hulls SVM: classes, support vectors, decision line, edges; with a linear kernel also the hulls.

    The area of a ring is proportional to the weight a_i, and the largest ring of each class has the same area. With the linear
    kernel the classes' convex hulls are drawn, and the points Σ_+ a_i x_i and Σ_- a_i x_i with the segment between them: the
    closest points of the hulls of (x_i, y_i e_i/√C), e_i the i-th unit vector, projected on the plane. They move to the closest
    points of the drawn hulls as C grows. With another kernel the hulls lie in feature space; only the decision line and the
    edges of the classes are drawn: the levels ±(p* - q*)/2 of the decision function, p* and q* the averages, weighted by a, of
    Σ_j y_j a_j k(x_j, x_i) + y_i a_i/C over the classes +1 and -1.

    Parameters
    ----------
    model : ConvexHullsDual
        The model, on two features, dense or CSR.
    values : mapping
        ``result.values`` of a solve of the model, with the weights ``a``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure's by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        The data do not have two features, or ``values`` has no weights ``a`` of the model's size.
    """
    X, y = to_dense(model.X), model.y
    if X.shape[1] != 2 or model.kernel.reads_matrix_rows:
        raise InputError(
            f"a picture of the hulls needs points with two features; X has {count_text(X.shape[1], 'column')}, {model.kernel}",
            name="X",
        )
    if "a" not in values or np.shape(values["a"]) != y.shape:
        raise InputError(
            f"values must hold the weights a of all {y.size} points: give result.values of this model", name="values"
        )
    if ax is None:
        ax = new_axes((5.0, 4.5))
    a = np.asarray(values["a"])
    for colour, side in zip(COLOURS[:2], (1.0, -1.0), strict=True):
        points, weights = X[y == side], a[y == side]
        ax.scatter(points[:, 0], points[:, 1], s=12, color=colour, label=f"y = {side:+.0f}", zorder=3)
        size = 350.0 * weights / weights.max()
        ax.scatter(points[:, 0], points[:, 1], s=size, facecolors="none", edgecolors=colour, linewidths=1.0, zorder=2)
    if isinstance(model.kernel, Linear):
        _draw_hulls(model, values, ax)
    _draw_lines(model, values, ax)
    ax.set_aspect("equal")
    ax.set_title(f"distance between the hulls {model.distance(values):.3g}, C = {model.C:g}, {model.kernel}", fontsize=9)
    ax.legend(fontsize=8)
    return ax


def _draw_hulls(model: ConvexHullsDual, values: Mapping[str, FloatArray], ax: Axes) -> None:
    """Draw both convex hulls and the segment between the two weighted means."""
    X = to_dense(model.X)
    for colour, side in zip(COLOURS[:2], (1.0, -1.0), strict=True):
        corners = _corners(X[model.y == side])
        ax.fill(*corners.T, facecolor=colour, alpha=0.12, edgecolor=colour, linewidth=1.0)
    ends = np.array(model.closest_points(values))
    ax.plot(*ends.T, color="black", marker="o", linewidth=1.2, markersize=4, label="closest points", zorder=4)


def _corners(points: FloatArray) -> FloatArray:
    """Return the corners of the convex hull in order, by Andrew's monotone chain; points may lie on a line."""
    ordered = np.unique(points, axis=0)
    if len(ordered) < 3:
        return ordered
    chains = []
    for sweep in (ordered, ordered[::-1]):
        chain: list[FloatArray] = []
        for point in sweep:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
                chain.pop()
            chain.append(point)
        chains += chain[:-1]
    return np.array(chains)


def _turn(a: FloatArray, b: FloatArray, c: FloatArray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _draw_lines(model: ConvexHullsDual, values: Mapping[str, FloatArray], ax: Axes, grid: int = 150) -> None:
    """Draw f = 0 and the edges of the two classes, f = ±(p* - q*)/2, for the decision function f."""
    X = to_dense(model.X)
    margin = 0.12 * max(float(np.ptp(X, axis=0).max()), 1e-12)
    low, high = X.min(axis=0) - margin, X.max(axis=0) + margin
    first, second = np.linspace(low[0], high[0], grid), np.linspace(low[1], high[1], grid)
    plane = np.column_stack([axis.ravel() for axis in np.meshgrid(first, second)])
    scores = model.decision_function(values, plane).reshape(grid, grid)
    p, q = model.edges(np.asarray(values["a"]))
    half = 0.5 * (p - q)
    levels, styles = (-half, 0.0, half), ("dotted", "solid", "dotted")
    ax.contour(first, second, scores, levels=levels, colors="#444444", linewidths=1.0, linestyles=styles)


#: Colours of the classifiers: colour-blind safe, and other ones than those of the classes.
_CLASSIFIER_COLOURS = ("#000000", *COLOURS[2:6])


def draw_classifiers(X: object, y: object, classifiers: Mapping[str, FloatArray], ax: Axes | None = None) -> Axes:
    """Draw several linear classifiers on one plot: x'w = 0 of each, and the margins x'w = ±1 of the first.

    Two features give lines in the plane, three give planes in space. The points whose margin y x'w ≥ 1 the first classifier
    violates have a ring; the legend says how many margins each classifier violates and how many points it misclassifies.

    Parameters
    ----------
    X : array_like (n, 3) or (n, 4)
        A column of ones, then two or three features.
    y : array_like (n,)
        Labels -1, +1.
    classifiers : mapping of name to ndarray
        w of each, such as ``{"0-1": result.values["w"], "hinge": ...}``.
    ax : matplotlib Axes, optional
        Where to draw (of projection "3d" for three features); a new figure's by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        X has no first column of ones or another number of features, a w has another length, or there is no classifier.
    """
    points = to_dense(as_points(X))
    labels = as_labels(y, points.shape[0])
    if points.shape[1] not in (3, 4) or not (points[:, 0] == 1.0).all():
        raise InputError(
            "a picture of classifiers needs a column of ones and two or "
            f"three features; X has {count_text(points.shape[1], 'column')}",
            name="X",
        )
    if not classifiers:
        raise InputError("classifiers must name at least one w; it is empty", name="classifiers")
    weights = {name: as_vector(np.atleast_1d(w), points.shape[1], f"classifiers[{name!r}]") for name, w in classifiers.items()}
    if ax is None:
        ax = new_axes((5.5, 4.5), "3d" if points.shape[1] == 4 else None)
    first = next(iter(weights.values()))
    violated = labels * (points @ first) < 1.0 - 1e-9
    scatter: Any = ax.scatter  # of two or three coordinates
    for colour, side in zip(COLOURS[:2], (1.0, -1.0), strict=True):
        chosen = points[labels == side][:, 1:]
        scatter(*chosen.T, s=12, color=colour, label=f"y = {side:+.0f}")
        rings = points[(labels == side) & violated][:, 1:]
        scatter(*rings.T, s=70, facecolors="none", edgecolors=colour, linewidths=0.8)
    for k, (name, w) in enumerate(weights.items()):
        margins = labels * (points @ w)
        label = f"{name}: {int((margins < 1 - 1e-9).sum())} violated, {int((margins < 0).sum())} wrong"
        (_draw_line if points.shape[1] == 3 else _draw_plane)(
            ax, points[:, 1:], w, _CLASSIFIER_COLOURS[k % len(_CLASSIFIER_COLOURS)], label, margin=k == 0
        )
    ax.legend(fontsize=8)
    return ax


def _frame(features: FloatArray) -> tuple[FloatArray, FloatArray]:
    padding = 0.08 * np.maximum(np.ptp(features, axis=0), 1e-12)
    return features.min(axis=0) - padding, features.max(axis=0) + padding


def _draw_line(ax: Axes, features: FloatArray, w: FloatArray, colour: str, label: str, margin: bool) -> None:
    """Draw the line b + w'x = 0 across the frame, and its two margins dotted."""
    low, high = _frame(features)
    across = 1 if abs(w[2]) >= abs(w[1]) else 2  # the free coordinate; the line is solved for the other
    other = 3 - across
    runs = np.linspace(low[across - 1], high[across - 1], 2)
    for level in (0.0, -1.0, 1.0) if margin else (0.0,):
        solved = (level - w[0] - w[across] * runs) / w[other] if w[other] else np.full(2, np.nan)
        ends = (runs, solved) if across == 1 else (solved, runs)
        solid = level == 0.0
        style: dict[str, Any] = {"linestyle": "solid" if solid else "dotted", "linewidth": 1.5 if solid else 1.0}
        ax.plot(*ends, color=colour, label=label if solid else None, **style)
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])


def _draw_plane(ax: Axes, features: FloatArray, w: FloatArray, colour: str, label: str, margin: bool) -> None:
    """Draw the plane b + w'x = 0 inside the frame, without margins, which would hide the points."""
    low, high = _frame(features)
    up = int(np.abs(w[1:]).argmax())
    first, second = (j for j in range(3) if j != up)
    grid = np.meshgrid(np.linspace(low[first], high[first], 25), np.linspace(low[second], high[second], 25))
    height = (
        -(w[0] + w[1 + first] * grid[0] + w[1 + second] * grid[1]) / w[1 + up] if w[1 + up] else np.full_like(grid[0], np.nan)
    )
    height = np.where((height >= low[up]) & (height <= high[up]), height, np.nan)
    surface = [grid[0], grid[1], grid[1]]
    surface[first], surface[second], surface[up] = grid[0], grid[1], height
    ax.plot_surface(*surface, color=colour, alpha=0.35 if margin else 0.2, linewidth=0.0)  # type: ignore[attr-defined]
    ax.plot([], [], [], color=colour, label=label)


#: A rank ratio of zero is drawn here: the axis is logarithmic.
_LEAST_RATIO = 1e-14


@dataclass(frozen=True, eq=False)
class KappaPath:
    """The values of a `ConicSVCCV` at each of m values of κ: its validation errors, and the solution on all n points.

    κ is the share of points that may violate their margin, z_i ∈ [0, 1] the relaxed violation of point i, and W the matrix that
    stands for ww' in the semidefinite relaxation of Cepeda, Gómez and Han (2024).

    Parameters
    ----------
    kappa : ndarray (m,)
        The values, ascending.
    error, deviation : ndarray (m,)
        Mean validation error over the folds, and its standard deviation; NaN where there is no classifier.
    share : ndarray (m,)
        Σz/n on all points, at most κ.
    bound, objective : ndarray (m,)
        Proved lower bound of min ||w||² with at most κn margin violations (Appendix C of the paper), and the relaxation's
        objective.
    rank_ratio : ndarray (m,)
        Second over first eigenvalue of W; (near) zero where the relaxation is exact.
    chosen : float
        The κ that validation chose.
    """

    kappa: FloatArray
    error: FloatArray
    deviation: FloatArray
    share: FloatArray
    bound: FloatArray
    objective: FloatArray
    rank_ratio: FloatArray
    chosen: float


def kappa_path(estimator: ConicSVCCV, pair: int = 0, tol: float = 1e-8) -> KappaPath:
    """Return the path of a fitted `ConicSVCCV`: its validation, and its problem on all points solved at every κ.

    Parameters
    ----------
    estimator : ConicSVCCV
        A fitted estimator.
    pair : int
        Index of the binary problem, where there are several.
    tol : float
        Relative gap of the solves.

    Raises
    ------
    InputError
        Not a fitted `ConicSVCCV`, or no such pair.
    """
    from .estimators.hinge_and_conic import ConicSVCCV
    from .solvers.conic.ipm import conic_path

    if not isinstance(estimator, ConicSVCCV) or "cv_scores_" not in vars(estimator):
        raise InputError(
            f"the path of kappa needs a fitted ConicSVCCV: call fit(X, y) first; got {type(estimator).__name__}", name="estimator"
        )
    problems = estimator.problem_ if isinstance(estimator.problem_, list) else [estimator.problem_]
    if not 0 <= pair < len(problems):
        raise InputError(
            f"pair must be a number from 0 to {len(problems) - 1}, an index of pairs_; it is {short_text(pair)}", name="pair"
        )
    problem = problems[pair]
    assert isinstance(problem, ConicSVM)
    view = problem.view(ConicProblem)
    assert view is not None  # κ > 0
    path = conic_path(view, kappas=estimator.values_.tolist(), tolerance=tol)
    measures = [
        (np.nan,) * 3 if p is None else (p.values["z"].mean(), p.objective, problem.rank_ratio(p.values))
        for p in (entry.point for entry in path)
    ]
    share, objective, rank_ratio = np.array(measures).T
    return KappaPath(
        kappa=estimator.values_,
        error=1.0 - estimator.cv_scores_.mean(axis=1),
        deviation=estimator.cv_scores_.std(axis=1),
        share=share,
        bound=np.array([np.nan if entry.bound is None else entry.bound.value for entry in path]),
        objective=objective,
        rank_ratio=rank_ratio,
        chosen=estimator.kappa_,
    )


def draw_kappa_path(path: ConicSVCCV | KappaPath, axes: Sequence[Axes] | None = None) -> Sequence[Axes]:
    """Draw four panels against κ: validation error, Σz/n, bound and objective, rank ratio; the chosen κ as an upright line.

    Parameters
    ----------
    path : ConicSVCCV or KappaPath
        A fitted estimator (its first pair), or the result of `kappa_path`.
    axes : sequence of four matplotlib Axes, optional
        Where to draw; a new figure's by default.

    Returns
    -------
    sequence of matplotlib Axes

    Raises
    ------
    InputError
        Not four axes, or an estimator that is not fitted.
    """
    table = path if isinstance(path, KappaPath) else kappa_path(path)
    if axes is None:
        import matplotlib.pyplot as plt

        axes = plt.subplots(2, 2, figsize=(9.0, 6.0), layout="constrained", sharex=True)[1].ravel()
    if len(axes) != 4:
        raise InputError(f"the picture of a path needs 4 axes; there are {len(axes)}", name="axes")
    kappa = table.kappa
    error, share, value, ratio = axes
    error.plot(kappa, table.error, color=COLOURS[0], label="validation error")
    spread = (table.error - table.deviation, table.error + table.deviation)
    error.fill_between(kappa, *spread, color=COLOURS[0], alpha=0.2, label="± one deviation of the folds")
    error.yaxis.set_major_formatter(lambda part, _: f"{part:.0%}")
    share.plot(kappa, table.share, color=COLOURS[0], label="Σz/n")
    share.plot(kappa, kappa, color="black", ls=":", lw=0.8, label="κ")
    value.plot(kappa, table.objective, color=COLOURS[1], label="objective")
    value.plot(kappa, table.bound, color=COLOURS[0], ls="--", label="proved bound")
    value.set_yscale("symlog", linthresh=1e-3)
    ratio.plot(kappa, np.maximum(table.rank_ratio, _LEAST_RATIO), color=COLOURS[2], label="second / first eigenvalue of W")
    ratio.set_yscale("log")
    for ax in axes:
        _finish(ax, table.chosen)
    return axes


def _finish(ax: Any, chosen: float) -> None:
    ax.axvline(chosen, color="black", lw=0.8, ls="--", label=f"chosen κ = {chosen:g}")
    ax.set_xlabel("κ")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8)


#: Number of classes from which on their curves are grey.
_MANY = 8


def draw_training(steps: Sequence[Mapping[str, Any]], labels: Sequence[Any] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the objectives J_l of all classes, max ϖ_l J_l and the dual value over the outer iterations of a `KernelNPSVC`.

    The dual value is a lower bound of max ϖ_l J_l for the current projection. The picture is Figure 2 of NPSVC++.

    Parameters
    ----------
    steps : sequence of mapping
        ``KernelNPSVC.history_``, or ``result.history`` of "kernel-npsvcpp". The dual value is drawn where it was
        recorded (``solve(model, "kernel-npsvcpp", dual_values=True)``).
    labels : sequence, optional
        Names of the classes; by default 0, 1, ...
    ax : matplotlib Axes, optional
        Where to draw; a new figure's by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        No steps; not one label for each class.
    """
    if not steps:
        raise InputError("there are no iterations to draw: give KernelNPSVC.history_ or result.history", name="steps")
    J = np.array([step["objectives"] for step in steps], dtype=np.float64)
    names = _names(labels, J.shape[1])
    if ax is None:
        ax = new_axes((5.5, 4.0))
    iterations = np.arange(1, len(steps) + 1)
    crowded = J.shape[1] >= _MANY
    for k, name in enumerate(names):
        colour = GREY if crowded else colour_of(k)
        label = f"J of class {name}" if not crowded else ("J of each class" if k == 0 else None)
        ax.plot(iterations, J[:, k], color=colour, linewidth=1.0, marker="." if len(steps) < 30 else None, label=label)
    ax.plot(iterations, [step["largest"] for step in steps], color="black", linewidth=1.8, label="primal: largest weighted J")
    dual = np.array([step["dual"] for step in steps], dtype=np.float64)
    if np.isfinite(dual).any():
        ax.plot(iterations, dual, color="black", linewidth=1.5, linestyle="dashed", label="dual value for this projection")
    ax.set_xlabel("outer iteration")
    ax.set_ylabel("objective")
    ax.legend(fontsize=8)
    return ax


def draw_objectives(
    objectives: Mapping[str, Sequence[float]], labels: Sequence[Any] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw every class's objective as a radar chart, one closed line for each method.

    This is Figure A.4 of NPSVC++. Each class has its own axis from 0 at the centre to its largest value over the methods at the
    rim, so that a line nearer to the centre is a smaller objective, whatever the scale of the class.

    Parameters
    ----------
    objectives : mapping of name to sequence of float
        The objective J_l ≥ 0 of each of K ≥ 3 classes, by method: ``{"K-NPSVC++": model.objectives_, ...}``.
    labels : sequence, optional
        Names of the classes; by default 0, 1, ...
    ax : matplotlib Axes, optional
        Polar axes; a new figure's by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        No method, fewer than three classes, unequal lengths, values that are negative or not finite; axes that are not polar.
    """
    values = _objective_table(objectives)
    names = _names(labels, values.shape[1])
    if ax is None:
        ax = new_axes((4.5, 4.5), "polar")
    if ax.name != "polar":
        raise InputError(
            "a radar chart needs polar axes: give plt.subplots(subplot_kw={'projection': 'polar'})[1], or none", name="ax"
        )
    angles = 2.0 * np.pi * np.arange(values.shape[1]) / values.shape[1]
    rim = values.max(axis=0)
    shares = values / np.where(rim > 0.0, rim, 1.0)
    for m, name in enumerate(objectives):
        closed = np.append(shares[m], shares[m, 0])
        colour = colour_of(m)
        ax.plot(np.append(angles, angles[0]), closed, color=colour, linewidth=1.5, label=name)
        ax.fill(angles, shares[m], color=colour, alpha=0.08)
    ax.set_xticks(angles, [f"{name}\n{top:.3g}" for name, top in zip(names, rim, strict=True)], fontsize=8)
    ax.set_yticks([0.25, 0.5, 0.75, 1.0], [])
    ax.set_ylim(0.0, 1.0)
    ax.legend(fontsize=8, loc="lower right")
    return ax


def _objective_table(objectives: Mapping[str, Sequence[float]]) -> npt.NDArray[np.float64]:
    """Return the objectives as a matrix, methods × classes."""
    rows = [np.asarray(value, dtype=np.float64) for value in objectives.values()]
    if not rows or any(row.ndim != 1 or row.shape != rows[0].shape for row in rows):
        raise InputError(
            "objectives must map at least one method to its classes' objectives, as many for each method", name="objectives"
        )
    table = np.array(rows)
    if table.shape[1] < 3:
        raise InputError(f"a radar chart needs three classes or more; there are {table.shape[1]}", name="objectives")
    if not np.isfinite(table).all() or (table < 0.0).any():
        raise InputError("the objectives must be finite and ≥ 0", name="objectives")
    return table


def _names(labels: Sequence[Any] | None, K: int) -> list[str]:
    names = [str(k) for k in range(K)] if labels is None else [str(label) for label in labels]
    if len(names) != K:
        raise InputError(f"one label for each of the {K} classes is needed; there are {len(names)}", name="labels")
    return names
