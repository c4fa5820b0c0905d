"""Explanations of solutions (`Model.explain`): active constraints, support vectors with weights, coefficients, and a picture."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from ..display import Display, Displayable
from ..drawing import Picture, colour_of, figure_of, marker_of, svg_of
from ..errors import InputError, TooLargeError, UnsupportedModelError
from .appraisal import Appraisal
from .arrays import ZERO, FloatArray, nonzero_mask, to_dense
from .program.form import Constraint, StandardForm

#: Tolerance at which a point counts as on a margin (relative to it), on a sphere (relative to the squared radius) or on a
#: hyperplane (of its score).
ON_MARGIN = 1e-4


@dataclass(frozen=True)
class PointRow:
    """The row of one data point (or of one objective) in an explanation.

    Parameters
    ----------
    index : int
        Number of the point in the data, from 0.
    label : float or str
        -1 or +1, or the label or name of a class; empty where there is none.
    score : float
        Value of the decision function, or another number of the model's (`PointExplanation.score` says which).
    margin : float
        y times the score, or another measure of the model's (`PointExplanation.margin` says which).
    weight : float or None
        The point's weight in the solution (`PointExplanation.weight` says what it is); None where it has none.
    kind : str
        Role of the point in words.
    misclassified : bool
        Whether the point is on the wrong side.
    name : str
        The point's own name; empty where it has none.
    """

    index: int
    label: float | str
    score: float
    margin: float
    weight: float | None
    kind: str
    misclassified: bool = False
    name: str = ""

    @property
    def shown_name(self) -> str:
        """Return the name, or the index."""
        return self.name or str(self.index)


@dataclass(frozen=True, eq=False)
class PointExplanation:
    """The table of the points of an explanation, with the meaning of its columns and the contents of its picture.

    Parameters
    ----------
    points : tuple of PointRow
        One row for each data point (or objective).
    weight : str
        The meaning of the weights, in words.
    noun : str
        Name of a row, such as "point".
    score, margin : str
        Heads of these two columns.
    weighted_noun : str
        Name of a row with a weight that is not zero, which a picture rings.
    X : array, optional
        The points, where they can be drawn.
    surface : callable, optional
        A function of new rows whose level lines are drawn.
    levels : tuple of (float, str)
        The levels, each with its line style.
    pad : float
        Empty border of the picture, relative to the spread of the points.
    """

    points: tuple[PointRow, ...] = ()
    weight: str = ""
    noun: str = "point"
    score: str = "score"
    margin: str = "margin"
    weighted_noun: str = "support vector"
    X: Any = None
    surface: Callable[[FloatArray], FloatArray] | None = None
    levels: tuple[tuple[float, str], ...] = ((0.0, "solid"),)
    pad: float = 0.08

    @staticmethod
    def shown_label(label: float | str) -> str:
        """Return a label as tables show it: +1 and -1 with their sign."""
        return label if isinstance(label, str) else f"{label:+.0f}"


#: Weights of the points (None without any), and a description of them.
Weights = tuple[FloatArray | None, str]


def dual_weights(values: Mapping[str, FloatArray]) -> Weights:
    """Return the points' weights in a dual, its variables ``a``, and their description."""
    return values["a"], "weights are a"


def primal_weights(multipliers: Mapping[str, FloatArray] | None, label: str, n: int) -> Weights:
    """Return the points' weights in a primal, the multipliers of their rows, and their description."""
    z = None if multipliers is None else multipliers.get(label)
    if z is not None and z.shape == (n,):
        return z, f"weights are the multipliers of {label}"
    return None, "no multipliers, so no weights"


def two_classes(
    X: Any, y: FloatArray, f: Callable[[Any], FloatArray], weights: Weights, required: float | None = 1.0
) -> PointExplanation:
    """Return the explanation of points with labels -1 and +1 by their scores, margins and weights.

    Parameters
    ----------
    X, y : array
        Points and labels.
    f : callable
        Scores of rows, whose sign is the class.
    weights : tuple
        The value of `dual_weights` or `primal_weights`.
    required : float, optional
        The margin that the loss requires of a point: points are inside it, on it or beyond. None where the loss requires none.
    """
    a, note = weights
    scores = f(X)
    margins = y * scores
    supports = np.zeros(y.size, dtype=bool) if a is None else nonzero_mask(a)
    rows = []
    for i in range(y.size):
        margin = float(margins[i])
        kind = _kind(margin, required, supports=bool(supports[i]))
        rows.append(PointRow(i, float(y[i]), float(scores[i]), margin, _entry(a, i), kind, margin < 0))
    levels = ((0.0, "solid"), (-required, "dashed"), (required, "dashed")) if required else ((0.0, "solid"),)
    return PointExplanation(tuple(rows), note, X=X, surface=f, levels=levels)


def _entry(weights: FloatArray | None, i: int) -> float | None:
    return None if weights is None else float(weights[i])


def _kind(margin: float, required: float | None, *, supports: bool) -> str:
    if margin < 0:
        side = "misclassified"
    elif not required:
        side = "right side"
    elif margin < required * (1 - ZERO):
        side = "inside the margin"
    else:
        side = "on the margin" if margin <= required * (1 + ON_MARGIN) else "beyond the margin"
    return f"{side}, support vector" if supports else side


class Solution(Protocol):
    """The protocol of results that can be explained (`marginopt.Result`)."""

    @property
    def model(self) -> str:
        """Return the name of the model."""

    @property
    def values(self) -> Mapping[str, FloatArray]:
        """Return the values of the form's blocks, by label."""

    @property
    def multipliers(self) -> Mapping[str, FloatArray] | None:
        """Return the multipliers z of the constraints (those of cones in the dual cone), by label."""

    @property
    def reduced(self) -> Mapping[str, FloatArray] | None:
        """Return the reduced costs ζ of the bounds, by block."""

    @property
    def optimised_parameters(self) -> Mapping[str, Any]:
        """Return the parameters that the solver determined beside the variables, by name, such as a kernel's γ."""

    @property
    def evidence(self) -> str:
        """Return the evidence for a claim of infeasibility or unboundedness."""


class Explainable(Protocol):
    """The protocol of models that can be explained (`models.model.Model`)."""

    name: ClassVar[str]

    @property
    def certified_by_appraisal(self) -> bool:
        """Return whether `appraise` certifies points in place of the model's form, which cannot."""

    @property
    def form(self) -> StandardForm:
        """Return the standard form."""

    @property
    def named_axes(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """Return the names of the indices of each axis, by block."""

    @property
    def point_names(self) -> tuple[str, ...]:
        """Return the names of the rows of X; none where they have none."""

    @property
    def class_names(self) -> tuple[str, ...]:
        """Return the names of the classes in the order of their codes; none where the data have none."""

    def at_solution(self, optimised: Mapping[str, Any]) -> Explainable:
        """Return the model at the parameters that the solver optimised, by name."""

    def meaning(self, label: str) -> str:
        """Return the meaning of a constraint's multipliers."""

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return the meaning of a solution for each point."""

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal | None:
        """Return objective, residuals and bound of a point, if the model knows them without a form; else None."""


@dataclass(frozen=True)
class Activity:
    """The row of one constraint (or of the bounds) in an explanation: how much of it is active or violated.

    Parameters
    ----------
    label : str
        Label of the constraint, or "bounds".
    rows : int
        Number of cones (rows, where the cone is polyhedral), or of finite bounds; 1 where the model's `appraise` gives one
        violation for all of it.
    active : int
        How many of these are on the boundary of their cone, or outside it; for a constraint of `appraise` 1 if it holds, else 0.
    violation : float
        The largest violation.
    largest_multiplier : float or None
        Largest absolute multiplier; None without multipliers.
    meaning : str
        The model's sentence on what the multipliers mean.
    """

    label: str
    rows: int
    active: int
    violation: float
    largest_multiplier: float | None
    meaning: str = ""


@dataclass(frozen=True, eq=False)
class Explanation(Displayable):
    """The explanation of a solution, as `Model.explain` returns it: printable, and a picture where the data have two features.

    Parameters
    ----------
    title : str
        Heading of the printed explanation and of the picture.
    constraints : tuple of Activity
        One row for each constraint, and one for the bounds.
    point_explanation : PointExplanation
        The table of the points (objectives), and the meaning of its columns.
    coefficients : mapping of str to float
        w by the names of the features, where the data have names.
    """

    title: str
    constraints: tuple[Activity, ...]
    point_explanation: PointExplanation = field(repr=False)
    coefficients: Mapping[str, float] = field(default_factory=dict)

    @property
    def points(self) -> tuple[PointRow, ...]:
        """Return one row for each point (objective); empty where the model has none."""
        return self.point_explanation.points

    @property
    def misclassified(self) -> tuple[int, ...]:
        """Return the indices of the points on the wrong side."""
        return tuple(p.index for p in self.points if p.misclassified)

    @property
    def support(self) -> tuple[int, ...]:
        """Return the indices of the points with a weight."""
        top = max((abs(p.weight) for p in self.points if p.weight is not None), default=0.0)
        return tuple(p.index for p in self.points if p.weight is not None and abs(p.weight) > ZERO * top)

    def table(self, limit: int = 20) -> str:
        """Return the table of the points as text, misclassified ones first, then by weight; at most ``limit`` of them.

        Points whose weights and margins agree to six decimals stand in the order of the data, whatever their last digits are.
        """
        explanation, wrong = self.point_explanation, set(self.misclassified)
        top = max((abs(p.weight) for p in self.points if p.weight), default=1.0)
        rank = lambda p: (p.index not in wrong, -round((p.weight or 0.0) / top, 6), round(p.margin, 6))  # noqa: E731
        order = sorted(self.points, key=rank)
        width = max([3, *(len(explanation.shown_label(p.label)) for p in self.points)])
        names = max([9, *(min(len(p.shown_name), 30) for p in order[:limit])])
        lines = [
            f"  {explanation.noun:>{names}} {'y':>{width}} {explanation.score:>11} {explanation.margin:>11} {'weight':>11}  role"
        ]
        for p in order[:limit]:
            weight = "" if p.weight is None else f"{p.weight:.5g}"
            label = explanation.shown_label(p.label)
            lines.append(f"  {p.shown_name:>{names}} {label:>{width}} {p.score:>11.5g} {p.margin:>11.5g} {weight:>11}  {p.kind}")
        if len(order) > limit:
            lines.append(f"  ... and {len(order) - limit} more")
        return "\n".join(lines)

    def __str__(self) -> str:
        lines = [self.title]
        if self.coefficients:
            ordered = sorted(self.coefficients.items(), key=lambda item: -abs(item[1]))
            rest_note = f", and {len(ordered) - 12} smaller ones" if len(ordered) > 12 else ""
            lines.append("  coefficients: " + ", ".join(f"{name} {value:.4g}" for name, value in ordered[:12]) + rest_note)
        for c in self.constraints:
            largest = "" if c.largest_multiplier is None else f", multipliers up to {c.largest_multiplier:.5g}"
            lines.append(f"  {c.label}: {c.active} of {c.rows} active, largest violation {c.violation:.1e}{largest}")
            lines += [f"    {c.meaning}"] if c.meaning else []
        if self.points:
            weighted = any(p.weight is not None for p in self.points)
            noun = self.point_explanation.weighted_noun
            counts = [f"{len(self.support)} {noun}{'' if len(self.support) == 1 else 's'}"] if weighted else []
            if self.point_explanation.noun == "point":
                counts.append(f"{len(self.misclassified)} misclassified point{'' if len(self.misclassified) == 1 else 's'}")
            lines.append("  " + "; ".join(filter(None, [", ".join(counts), self.point_explanation.weight])))
            lines.append(self.table())
        return "\n".join(lines)

    def display(self) -> Display:
        """Return the notebook view: the lines."""
        return Display(text=str(self))

    def picture(self) -> Picture:
        """Draw points, decision boundary (hyperplane, sphere) and margins in the plane of the two features that vary.

        Raises
        ------
        InputError
            The model has no classifier and no ball, or its data do not have two varying features.
        """
        return picture(self.title, self.point_explanation, self.support, self.misclassified)


@dataclass(frozen=True)
class PointSolution:
    """A point without multipliers, as `explain` reads a solution."""

    model: str
    values: Mapping[str, FloatArray]
    multipliers: None = None
    reduced: None = None
    optimised_parameters: Mapping[str, Any] = field(default_factory=dict)
    evidence: str = ""


def explain(model: Explainable, result: Solution) -> Explanation:
    """Return the explanation of a result of this model; raise `InputError` for a result without a point."""
    if not result.values:
        evidence = f"; {result.evidence}" if result.evidence else ""
        raise InputError(f"the result of {result.model} has no point to explain" + evidence, name="result")
    solved_model = model.at_solution(result.optimised_parameters)
    form = _form(solved_model, result.values)
    x = None if form is None else form.join(result.values)
    points = _with_names(solved_model.explain_points(result.values, result.multipliers), model.point_names)
    points = _with_class_names(points, model.class_names)
    title = f"{model.name}: explanation of the solution"
    if form is None or x is None:
        appraisal = solved_model.appraise(result.values, result.multipliers)
        violations = {} if appraisal is None else appraisal.violations
        return Explanation(title, tuple(_appraised(model, label, value, result) for label, value in violations.items()), points)
    rows = [_activity(c, x, result.multipliers, model.meaning(c.label)) for c in form.constraints if c.rows]
    if form.has_bounds:
        rows.append(_bounds(form, x, result.reduced, model.meaning("bounds")))
    return Explanation(title, tuple(rows), points, _coefficients(model, result.values))


def _with_names(explanation: PointExplanation, names: Sequence[str]) -> PointExplanation:
    """Return the explanation with the names of its points, where there is a row for each."""
    if not names or len(names) != len(explanation.points):
        return explanation
    return replace(explanation, points=tuple(replace(p, name=names[p.index]) for p in explanation.points))


def _with_class_names(explanation: PointExplanation, names: Sequence[str]) -> PointExplanation:
    """Return the explanation with the names of two classes in place of the labels -1 and +1."""
    if len(names) != 2:
        return explanation
    labels: dict[float | str, str] = dict(zip((-1.0, 1.0), names, strict=True))
    return replace(explanation, points=tuple(replace(p, label=labels.get(p.label, p.label)) for p in explanation.points))


def _coefficients(model: Explainable, values: Mapping[str, FloatArray]) -> dict[str, float]:
    """Return the coefficients by name: by feature, or by class and feature; none where the entries have no names."""
    coefficients: dict[str, float] = {}
    for label, axes in model.named_axes.items():
        if label in values and np.size(values[label]) and np.shape(values[label]) == tuple(map(len, axes)):
            coefficients |= dict(zip(map(",".join, itertools.product(*axes)), map(float, np.ravel(values[label])), strict=True))
    return coefficients


def _form(model: Explainable, values: Mapping[str, FloatArray]) -> StandardForm | None:
    """Return the form; None if it does not exist or is too large, or if `appraise` certifies points and a block has no value."""
    try:
        form = model.form
    except (TooLargeError, UnsupportedModelError):  # too large, or no conic program: the model appraises its points
        return None
    complete = all(block.label in values for block in form.blocks)
    return form if complete or not model.certified_by_appraisal else None


def _appraised(model: Explainable, label: str, violation: float, result: Solution) -> Activity:
    z = None if result.multipliers is None else result.multipliers.get(label)
    largest = None if z is None else float(np.abs(z).max(initial=0.0))
    return Activity(label, 1, int(violation <= ZERO), violation, largest, model.meaning(label))


def _activity(c: Constraint, x: FloatArray, z: Mapping[str, FloatArray] | None, meaning: str) -> Activity:
    v = c.value(x)
    price = None if z is None or c.label not in z else np.asarray(z[c.label])
    scale = 1.0 + float(np.abs(v).max(initial=0.0))
    # on the boundary: a small step against the cone's interior direction leaves it
    inner = v - 2 * ZERO * scale * c.cone.interior_direction
    outside = np.abs(inner - c.cone.project(inner)).reshape(-1, c.cone.group_size).max(axis=1)
    largest = None if price is None else float(np.abs(price).max(initial=0.0))
    return Activity(c.label, outside.size, int((outside > ZERO * scale).sum()), c.cone.violation(v), largest, meaning)


def _bounds(form: StandardForm, x: FloatArray, reduced: Mapping[str, FloatArray] | None, meaning: str) -> Activity:
    low, high = np.isfinite(form.lower), np.isfinite(form.upper)
    tolerance = ZERO * (1.0 + float(np.abs(x).max(initial=0.0)))
    active = int((x[low] - form.lower[low] <= tolerance).sum() + (form.upper[high] - x[high] <= tolerance).sum())
    outside = np.concatenate([form.lower[low] - x[low], x[high] - form.upper[high]])
    prices = None if reduced is None else max((float(np.abs(v).max(initial=0.0)) for v in reduced.values()), default=0.0)
    return Activity("bounds", int(low.sum() + high.sum()), active, max(float(outside.max(initial=0.0)), 0.0), prices, meaning)


#: Points of a picture's grid along each axis.
_GRID = 160


def picture(title: str, explanation: PointExplanation, support: tuple[int, ...], wrong: tuple[int, ...]) -> Picture:
    """Draw points by class, support vectors ringed, misclassified ones crossed, and the levels of ``explanation.surface``."""
    if explanation.X is None or explanation.surface is None:
        # exempt (text): a title in a message
        raise InputError(f"{title.partition(':')[0]} has no classifier of labelled points to draw, and no ball", name="model")
    X = to_dense(explanation.X)
    varying = np.flatnonzero(X.max(axis=0) > X.min(axis=0))
    if varying.size != 2 or X.shape[1] > 3:
        raise InputError(
            f"a picture needs two features that vary (and at most a constant one); X has {varying.size} of {X.shape[1]}", name="X"
        )
    figure = figure_of(6.4, 5.2)
    ax = figure.subplots()
    plane = X[:, varying]
    low, high = plane.min(axis=0), plane.max(axis=0)
    pad = explanation.pad * (high - low)
    across, up = (np.linspace(low[k] - pad[k], high[k] + pad[k], _GRID) for k in (0, 1))
    grid = np.tile(X[0], (_GRID * _GRID, 1))
    grid[:, varying] = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    surface = np.asarray(explanation.surface(grid), dtype=np.float64).reshape(_GRID, _GRID)
    _lines(ax, across, up, surface, explanation.levels)
    classes = sorted(
        {p.label for p in explanation.points}, key=str if any(isinstance(p.label, str) for p in explanation.points) else None
    )
    for c, label in enumerate(classes):
        chosen = [p.index for p in explanation.points if p.label == label]
        style: dict[str, Any] = {"color": colour_of(c), "markersize": 5, "linestyle": "none"}
        ax.plot(
            *plane[chosen].T, marker_of(c), label="points" if label == "" else f"y = {explanation.shown_label(label)}", **style
        )
    for indices, mark, name in ((support, "o", explanation.weighted_noun), (wrong, "x", "misclassified")):
        if indices:
            ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": "black", "linestyle": "none"}
            ax.plot(*plane[list(indices)].T, mark, markersize=10, label=name, **ring)
    ax.set_xlabel(f"feature {varying[0]}")
    ax.set_ylabel(f"feature {varying[1]}")
    ax.set_title(title, fontsize=10)
    ax.legend(fontsize=8)
    return Picture(svg_of(figure))


def _lines(ax: Any, across: FloatArray, up: FloatArray, surface: FloatArray, levels: tuple[tuple[float, str], ...]) -> None:
    for level, style in levels:
        if surface.min() < level < surface.max():
            ax.contour(across, up, surface, levels=[level], colors="black", linestyles=style, linewidths=1.0)
