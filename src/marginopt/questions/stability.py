"""The counterfactual optimum of predictions: the least objective of a classifier that predicts a point otherwise.

For a 0-1-loss SVM f(w) = N(w) + Σ λ_i 1{y_i x_i'w < 1} with optimum f*, and a point x with the label s that the optimal
classifier does not give it,

    L(x) = min {f(w) : s x'w ≥ 1},

the other label with the margin that the model asks of its own points. One table of L answers four questions.

- *Predictive multiplicity.* The ambiguity at ε is the share of points with L(x) ≤ f* + ε Σλ: some classifier that is worse by no
  more than a share ε of all costs predicts them otherwise (Marx, Calmon, Ustun: Predictive multiplicity in classification, 2020).
- *Targeted poisoning.* A false label of point i changes f(w) by at most λ_i, for the optimal classifier and for its rival. So
  labels of a total cost below (L(x) - f*)/2 cannot make an exact learner give the other label with margin 1, whichever they are.
- *A certified radius.* The number of labels of the largest cost with which that bound holds.
- *Full conformal sets*, without a refit: see `conformal_sets`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..display import Display, Displayed, Sense, Tabular, shown
from ..drawing import COLOURS, new_axes
from ..errors import InputError, UnsupportedModelError
from ..labelled import DataNames
from ..models.arrays import BoolArray, FloatArray, as_points, as_positive, to_dense
from ..models.decision import decided_labels
from ..models.formulations.zero_one.model import ZeroOneSVM, satisfies_margins
from ..models.model import Model
from ..models.views import ZeroOneProblem
from ..solvers.certification.result import Result
from ..solvers.exact.check.sealed import stated_bound
from ..solvers.exact.options import Limits
from ..solvers.records import Options
from ..solvers.solve import solve
from ..solvers.zero_one.target_search import TargetSearch
from .answer import Answer, BoundedQuestion, Evidence, ProofLog

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Relative difference of two values that rounding may make.
_ROUNDING = 1e-9
#: Relative rounding of an objective, a norm and a sum of costs.
_SUM_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class OtherClassifier(Evidence):
    """A classifier that predicts a point otherwise.

    Parameters
    ----------
    w : ndarray (p,)
        NaN where the search found none.
    """

    w: FloatArray

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the coefficients."""
        return (("classifier", ", ".join(f"{x:.4g}" for x in self.w.tolist())),)

    def draw(self, ax: Axes) -> None:
        """Draw the coefficients as bars."""
        ax.bar(np.arange(self.w.size), np.nan_to_num(self.w), color=COLOURS[0])
        ax.set_xlabel("column")
        ax.set_ylabel("coefficient of the other classifier")


@dataclass(frozen=True, eq=False)
class OtherPrediction(BoundedQuestion):
    """L(x) = min {f(w) : s x'w ≥ 1}, the least objective of a classifier that gives a point the other label.

    Parameters
    ----------
    model : ZeroOneSVM
    point : ndarray (p,)
        x, a row as the model takes it.
    label : float
        s, -1 or +1.
    best : ndarray (p,)
        The classifier of comparison, the best one found.
    """

    model: ZeroOneSVM
    point: FloatArray
    label: float
    best: FloatArray

    sense: ClassVar[Sense] = "minimum"

    def __post_init__(self) -> None:
        _view(self.model)

    @property
    def rival(self) -> ZeroOneSVM:
        """The model with the point as one more row, at a cost beyond all others: its optimum is at most L(x)."""
        return _rival(self.model, self.point, self.label)

    def problems(self) -> Mapping[str, Model]:
        """Return `rival`."""
        return {"rival": self.rival}

    def count(self, evidence: Evidence) -> float:
        """Return the objective of a classifier; ∞ if it does not give the point the label."""
        if not isinstance(evidence, OtherClassifier) or evidence.w.shape != self.point.shape:
            raise InputError(f"the evidence must be an OtherClassifier of {self.point.size} coefficients", name="evidence")
        is_labelled = bool(satisfies_margins(self.label * self.point[None, :], evidence.w)[0])
        return self._objective(evidence.w) if is_labelled else math.inf

    def bound(self, bounds: Mapping[str, float]) -> float:
        """Return the bound of the problem; zero without one."""
        return max(bounds.get("rival", 0.0), 0.0)

    def objection(self, evidence: Evidence, bounds: Mapping[str, float]) -> str:
        """Return nothing: a classifier shows no more than its value."""
        return ""

    def claim(self, bound: float) -> str:
        """Return the claim, and the number of false labels that it certifies."""
        best = self._objective(self.best)
        excess, labels = bound - best, int(_label_changes(self.model, bound - best))
        point = ", ".join(f"{x:.6g}" for x in self.point[self.model.penalised].tolist())
        label = _shown_class(self.model, self.label)
        certified = f", so fewer than {labels} false labels cannot make an exact learner do so" if labels > 1 else ""
        return (
            f"Every classifier that predicts the point ({point}) as {label} with margin 1 has an objective of at least "
            f"{shown(bound, self.sense, 6)}, {shown(max(excess, 0.0), self.sense, 6)} above the best one found{certified}"
        )

    @property
    def data(self) -> str:
        """Return the numbers of points and distinct rows."""
        rows = np.column_stack([to_dense(self.model.X), self.model.y])
        return f"{len(rows)} points in {len(np.unique(rows, axis=0))} distinct rows"

    def _objective(self, w: FloatArray) -> float:
        return _counted(self.model, w)


def _rival(model: ZeroOneSVM, point: FloatArray, label: float) -> ZeroOneSVM:
    weights, X = model.sample_weight, np.vstack([to_dense(model.X), point])
    prices = np.append(weights, 4.0 * float(weights.sum()))
    return ZeroOneSVM(X, np.append(model.y, label), prices, intercept=model.intercept)


def _class_names(model: ZeroOneSVM) -> DataNames:
    """Return the names of the model's data; an object without names where there are none."""
    return model.unmodified.data_names or DataNames()


def _shown_class(model: ZeroOneSVM, code: float) -> str:
    """Return a class in print: its name, else its code with the sign."""
    name = _class_names(model).class_name(code)
    return name if isinstance(name, str) else f"{name:+d}"


def _label_changes(model: ZeroOneSVM, excess: Any) -> Any:
    """Return the least number of false labels whose costs reach half of L(x) - f*."""
    costs = np.cumsum(np.sort(model.sample_weight)[::-1])
    return np.searchsorted(2.0 * costs, excess * (1.0 - _ROUNDING), side="left") + 1


@dataclass(frozen=True, eq=False)
class PredictionStability(Displayed, Tabular):
    """The table of counterfactual optima.

    Parameters
    ----------
    model : ZeroOneSVM
    points : ndarray (targets, p)
        Rows as the model takes them, a constant column included.
    prediction : ndarray (targets,)
        Labels ±1 that the optimal classifier gives them.
    optimum : Result
        The exact solve of the model. Its objective and proved bound enclose f*.
    value : ndarray (targets,)
        Objective of the best classifier found that predicts the point otherwise; ∞ without one.
    bound : ndarray (targets,)
        Proved lower bound of L(x), at most ``cap``.
    w : ndarray (targets, p)
        The classifiers of ``value``; NaN without one.
    cap : float
        Bounds above it were not asked for.
    nodes : int
        Nodes of the search for all points.
    finished : bool
        False if a limit ended the search; ``bound`` holds all the same.
    """

    model: ZeroOneSVM
    points: FloatArray
    prediction: FloatArray
    optimum: Result
    value: FloatArray
    bound: FloatArray
    w: FloatArray
    cap: float
    nodes: int
    finished: bool

    @property
    def proved(self) -> BoolArray:
        """True for a point whose L(x) is known up to the tolerance, or known to be at least ``cap``."""
        return np.asarray(self.bound >= np.minimum(self.value, self.cap) * (1.0 - 1e-5))

    @property
    def label_changes(self) -> np.ndarray:
        """The least number of false labels that may turn each prediction; any fewer are certified not to."""
        return np.asarray(_label_changes(self.model, self.bound - float(self.optimum.objective)))

    @property
    def certified_radius(self) -> np.ndarray:
        """The largest number of false labels, whichever they are, with which no exact learner turns the prediction."""
        return np.asarray(self.label_changes - 1)

    def ambiguity(self, epsilon: float, counts: Any = None) -> tuple[float, float]:
        """Return the interval of the ambiguity at ε: the share of points that some classifier predicts otherwise.

        The classifiers are those with f(w) ≤ f* + ε Σλ. Both ends agree where every point is proved and ε is within the search.
        The lower end counts f* up to the tolerance of the optimum; where that was not reached, from its proved bound.

        Parameters
        ----------
        epsilon : float
        counts : array_like (targets,), optional
            Weights of the points in the share; one each unless given.

        Raises
        ------
        InputError
            ε is negative or not a number.
        """
        allowance = as_positive(epsilon, "epsilon", zero=True) * float(self.model.sample_weight.sum())
        optimum, lower = float(self.optimum.objective), float(self.optimum.bound or 0.0)
        scale = _ROUNDING * abs(optimum)
        certain = self.value <= lower + allowance + min(optimum - lower, self.optimum.tol * abs(optimum)) + scale
        possible = self.bound <= optimum + allowance + scale
        share = np.full(len(certain), 1.0 / len(certain)) if counts is None else np.asarray(counts) / np.sum(counts)
        return float(share @ certain), float(share @ (possible | certain))

    def question(self, index: int) -> OtherPrediction:
        """Return the question that the row of one point answers: L(x), a lower bound of which its problem's log proves.

        Raises
        ------
        InputError
            There is no point of this number.
        """
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)) or not 0 <= index < len(self.value):
            raise InputError(f"index must be a number from 0 to {len(self.value) - 1}; it is {index!r}", name="index")
        best = np.asarray(self.optimum.values["w"], dtype=np.float64)
        return OtherPrediction(self.model, self.points[index], -float(self.prediction[index]), best)

    def rival(self, index: int) -> ZeroOneSVM:
        """Return the model whose optimum is L(x) of one point, see `OtherPrediction.problems`."""
        return self.question(index).rival

    def answer(self, index: int, *, proof: str | Path | None = None, time_limit: float | None = None) -> Answer[OtherClassifier]:
        """Return the row of one point as an answer that others can check.

        Parameters
        ----------
        index : int
        proof : str or Path, optional
            Path of a proof log of the bound. The point's model is solved once more to write it.
        time_limit : float, optional
            Seconds of that solve.

        Raises
        ------
        InputError
            There is no point of this number.
        """
        question = self.question(index)
        bound, evidence, logs = float(self.bound[index]), OtherClassifier(self.w[index]), tuple[ProofLog, ...]()
        if proof is not None:
            start: dict[str, Any] = {} if np.isnan(self.w[index]).any() else {"start": {"w": self.w[index]}}
            result = solve(question.rival, "zero-one-bb", time_limit=time_limit, threads=1, proof=str(proof), **start)
            bound = min(stated_bound(proof), float(result.bound or 0.0))
            logs = (ProofLog.of_file("rival", proof),)
            if "w" in result.values:
                evidence = min(evidence, OtherClassifier(np.asarray(result.values["w"], dtype=np.float64)), key=question.count)
        return Answer(question, question.count(evidence), bound, True, evidence, logs)

    def sentence(self, index: int) -> str:
        """Return one sentence about one point that stands by itself; that of `answer` with ``proof=`` cites a log."""
        return self.answer(index).sentence

    def records(self) -> list[dict[str, Any]]:
        """One dictionary for each point; "flipped" is the least objective with the other prediction, between two bounds.

        "prediction" is the name of a class where the data have them, else -1 or +1.
        """
        changes, names = self.label_changes, _class_names(self.model)
        return [
            {
                "prediction": names.class_name(self.prediction[k]),
                "flipped at least": float(self.bound[k]),
                "flipped at most": float(self.value[k]),
                "proved": bool(self.proved[k]),
                "certified radius": int(changes[k] - 1),
            }
            for k in range(len(self.value))
        ]

    @property
    def _title(self) -> str:
        share = f"{int(self.proved.sum())} of {len(self.value)} proved"
        return f"Stability of {len(self.value)} predictions, optimum {self.optimum.objective:.6g}: {share}, {self.nodes} nodes"

    def __str__(self) -> str:
        lines = [self._title, f"  {'point':>5}  {'prediction':>10}  {'flipped at least':>18}  {'at most':>12}  {'radius':>6}"]
        for k, row in enumerate(self.records()):
            low, high, radius = row["flipped at least"], row["flipped at most"], row["certified radius"]
            lines.append(f"  {k:>5}  {row['prediction']:>10}  {low:>18.8g}  {high:>12.6g}  {radius:>6}")
        lines.append("  flipped: the least objective with the other prediction; radius: false labels that cannot flip it")
        return "\n".join(lines)

    __repr__ = __str__

    def display(self) -> Display:
        """Return the notebook view."""
        head = ("point", "prediction", "flipped at least", "flipped at most", "certified radius")
        rows = tuple(
            (str(k), str(row["prediction"]), f"{self.bound[k]:.6g}", f"{self.value[k]:.6g}", str(row["certified radius"]))
            for k, row in enumerate(self.records())
        )
        return Display(self._title, head=head, rows=rows)

    def plot(self, ax: Any = None) -> Any:
        """Draw the ambiguity against ε, the band between both ends of the interval; return the matplotlib axes."""
        axes = new_axes((6.0, 4.0)) if ax is None else ax
        total = float(self.model.sample_weight.sum())
        largest = max((self.cap - float(self.optimum.objective)) / total, 0.0) if math.isfinite(self.cap) else 0.1
        levels = np.linspace(0.0, largest, 100)
        low, high = np.array([self.ambiguity(level) for level in levels]).T
        axes.fill_between(levels, low, high, step="post", color=COLOURS[0], alpha=0.3, label="not proved")
        axes.step(levels, low, where="post", color=COLOURS[0], label="predicted otherwise by some classifier within ε")
        axes.set_xlabel("ε, a share of all costs")
        axes.set_ylabel("ambiguity")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
        return axes


def prediction_stability(
    model: ZeroOneSVM, points: Any = None, *, within: float | None = 0.02, tol: float = 1e-6,
    time_limit: float | None = None, node_limit: int | None = None,
) -> PredictionStability:  # fmt: skip
    """Find for many points the least objective of a classifier that predicts them otherwise.

    Parameters
    ----------
    model : ZeroOneSVM
        The λ form, linear. With a large λ the objective counts the violations, the fewest training errors.
    points : array_like (targets, p), optional
        Rows as the model takes them, with the constant column; the model's own points unless given.
    within : float, optional
        Classifiers beyond f* + within Σλ are of no interest: the bounds end there. None: no end, which may take much longer.
    tol : float
        Relative gap of every point.
    time_limit : float, optional
        Seconds for the optimum and the search. Without an end of its own the search then has intervals.
    node_limit : int, optional
        Nodes of the search for all points.

    Returns
    -------
    PredictionStability
        For each point its prediction, and bounds of the least objective with the other one.

    Raises
    ------
    UnsupportedModelError
        The model is no linear `ZeroOneSVM` with λ.
    InputError
        Points of another width, that are not finite, or without the ones of a free intercept; within, tol or a limit is out of
        range.
    """
    view = _view(model)
    X = _rows(model, model.X if points is None else points)
    deadline = _deadline(time_limit)
    optimum = solve(model, "zero-one-bb", options=Options(tol=tol, time_limit=time_limit))
    w = np.asarray(optimum.values["w"])
    prediction = decided_labels(X @ w)
    share = None if within is None else as_positive(within, "within", zero=True)
    total = float(view.weights.sum())
    cap = math.inf if share is None else _beyond(float(optimum.objective) + share * total, view)
    limits = Limits(tol=as_positive(tol, "tol"), nodes=node_limit, deadline=deadline)
    value, bound, rivals, nodes, finished = _target_table(view, -prediction[:, None] * X, optimum, cap, limits)
    return PredictionStability(model, X, prediction, optimum, value, bound, rivals, cap, nodes, finished)


def _view(model: ZeroOneSVM) -> ZeroOneProblem:
    """Return the view of a linear λ form; raise UnsupportedModelError for another model."""
    # exempt (formulation): the counterfactual optimum is of this formulation alone
    if not isinstance(model, ZeroOneSVM) or model.kappa is not None or model.kernel is not None:
        raise UnsupportedModelError("the counterfactual optimum is of a linear ZeroOneSVM(X, y, lam)")
    view = model.view(ZeroOneProblem)
    assert view is not None
    return view


def _rows(model: ZeroOneSVM, points: Any) -> FloatArray:
    """Return the points as dense rows; raise InputError unless they have the model's columns, a free constant one included."""
    X, penalised = as_points(model.unnamed_rows(points, "points"), "points"), model.penalised
    rows = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    if rows.shape[1] != len(penalised):
        raise InputError(
            f"points must have {len(penalised)} columns, as the model's X with its constant one; got {rows.shape[1]}",
            name="points",
        )
    if (rows[:, ~penalised] != 1.0).any():
        raise InputError("the first column of points must be ones, as in the model's X: its weight is the free intercept")
    return rows


def _beyond(value: float, view: ZeroOneProblem) -> float:
    """Return a number above a value by more than rounding, and by a small share of a cost: a bound there excludes the value."""
    return value * (1.0 + 10.0 * _ROUNDING) + 1e-3 * float(view.weights.min())


def _deadline(time_limit: float | None) -> float:
    return math.inf if time_limit is None else time.perf_counter() + as_positive(time_limit, "time_limit")


def _target_table(
    view: ZeroOneProblem, rows: FloatArray, optimum: Result, cap: float, limits: Limits
) -> tuple[FloatArray, FloatArray, FloatArray, int, bool]:
    """Return values, bounds and classifiers of all target rows; equal rows are searched once, and no w keeps a row of zeros."""
    distinct, position = np.unique(rows + 0.0, axis=0, return_inverse=True)
    position = position.reshape(-1)
    reachable = distinct.any(axis=1)
    value = np.full(len(distinct), math.inf)
    bound = np.full(len(distinct), cap)
    w = np.full(distinct.shape, math.nan)
    nodes, finished = 0, True
    if reachable.any():
        search = TargetSearch(
            view, distinct[reachable], np.asarray(optimum.values["w"]), float(optimum.bound or 0.0), cap, limits
        )
        targets = search.run()
        value[reachable], bound[reachable], w[reachable] = targets.value, targets.bound, targets.w
        nodes, finished = targets.nodes, targets.finished
    return value[position], bound[position], w[position], nodes, finished


@dataclass(frozen=True, eq=False)
class ConformalPValue(BoundedQuestion):
    """The full-conformal p-value of a label at a point: (1 + #{i : L_i ≥ L_y(x) - λ})/(n + 1), see `conformal_sets`.

    One log proves an upper bound of it: the log bounds L_y(x) from below, and a classifier that keeps point i bounds L_i from
    above.

    Parameters
    ----------
    model : ZeroOneSVM
    point : ndarray (p,)
    label : float
        y, -1 or +1.
    alpha : float
        The set leaves the label out if the p-value is at most α.
    witnesses : ndarray (n, p)
        A classifier that keeps each training point; NaN without one.

    Raises
    ------
    InputError
        The λ of the points differ, so that points are not exchangeable.
    """

    model: ZeroOneSVM
    point: FloatArray
    label: float
    alpha: float
    witnesses: FloatArray

    sense: ClassVar[Sense] = "maximum"

    def __post_init__(self) -> None:
        _check_exchangeable(_view(self.model))

    def problems(self) -> Mapping[str, Model]:
        """Return the model with the point and the label kept."""
        return {"label": _rival(self.model, self.point, self.label)}

    def count(self, evidence: Evidence) -> float:
        """Return 1/(n + 1), the least p-value that there is: the point itself counts."""
        if not isinstance(evidence, OtherClassifier) or evidence.w.shape != self.point.shape:
            raise InputError(f"the evidence must be an OtherClassifier of {self.point.size} coefficients", name="evidence")
        return 1.0 / (len(self.model.y) + 1)

    def bound(self, bounds: Mapping[str, float]) -> float:
        """Return the share of points, (x, y) among them, that no witness shows to have a smaller score."""
        bound = max(bounds.get("label", 0.0), 0.0)
        lower = bound - float(self.model.sample_weight[0]) - _ROUNDING * bound
        signed = np.asarray(to_dense(self.model.signed))
        smaller = sum(
            bool(satisfies_margins(row[None, :], w)[0]) and _counted(self.model, w) < lower
            for row, w in zip(signed, self.witnesses, strict=True)
            if np.isfinite(w).all()
        )
        return (len(signed) + 1 - smaller) / (len(signed) + 1)

    def objection(self, evidence: Evidence, bounds: Mapping[str, float]) -> str:
        """Return nothing: a classifier shows no more than its value."""
        return ""

    def claim(self, bound: float) -> str:
        """Return the claim, and the level at which the set leaves the label out."""
        point = ", ".join(f"{x:.6g}" for x in self.point[self.model.penalised].tolist())
        label = _shown_class(self.model, self.label)
        outside = f", so the set of level {1.0 - self.alpha:.4g} leaves it out" if bound <= self.alpha else ""
        return f"The conformal p-value of {label} at the point ({point}) is at most {shown(bound, self.sense)}{outside}"

    @property
    def data(self) -> str:
        """Return the number of points."""
        return f"{len(self.model.y)} points"


@dataclass(frozen=True, eq=False)
class ConformalSets(Displayed):
    """Exact full-conformal prediction sets.

    Parameters
    ----------
    alpha : float
        With probability at least 1 - alpha the set of an exchangeable point holds its label.
    contains : ndarray of bool (points, 2)
        Whether -1, and +1, is in the set.
    certain : ndarray of bool (points, 2)
        Whether the decision is proved by values and bounds alone, without a tolerance; a label that is not certain is in the set.
    model : ZeroOneSVM
    points : ndarray (points, p)
    witnesses : ndarray (n, p)
        A classifier that keeps each training point, the best one found; NaN without one.
    """

    alpha: float
    contains: BoolArray
    certain: BoolArray
    model: ZeroOneSVM
    points: FloatArray
    witnesses: FloatArray

    def answer(
        self, index: int, label: int | str, *, proof: str | Path | None = None, time_limit: float | None = None
    ) -> Answer[OtherClassifier]:
        """Return the bound of a label's p-value as an answer that others can check. One model is solved for it.

        Parameters
        ----------
        index : int
            Number of the point.
        label : int or str
            -1 or +1, or the name of a class.
        proof : str or Path, optional
            Path of a proof log of the bound.
        time_limit : float, optional
            Seconds of the solve.

        Raises
        ------
        InputError
            There is no point of this number, or the label is no class.
        """
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)) or not 0 <= index < len(self.points):
            raise InputError(f"index must be a number from 0 to {len(self.points) - 1}; it is {index!r}", name="index")
        code = _class_names(self.model).code(label) if isinstance(label, str) else label
        if code not in (-1, 1):
            raise InputError(f"label must be -1 or +1, or the name of a class; it is {label!r}", name="label")
        question = ConformalPValue(self.model, self.points[index], float(code), self.alpha, self.witnesses)
        native: dict[str, Any] = {} if proof is None else {"proof": str(proof)}
        result = solve(question.problems()["label"], "zero-one-bb", time_limit=time_limit, threads=1, **native)
        bound, logs = float(result.bound or 0.0), tuple[ProofLog, ...]()
        if proof is not None:
            bound, logs = min(stated_bound(proof), bound), (ProofLog.of_file("label", proof),)
        evidence = OtherClassifier(np.asarray(result.values["w"], dtype=np.float64))
        return Answer(question, question.count(evidence), question.bound({"label": bound}), True, evidence, logs)

    def labels(self) -> list[tuple[str | int, ...]]:
        """Return the labels of each set: names of classes where the model's data have them, else -1 and +1."""
        labels = [_class_names(self.model).class_name(code) for code in (-1.0, 1.0)]
        return [tuple(compress(labels, row)) for row in self.contains.tolist()]

    def __str__(self) -> str:
        sizes = np.bincount(self.contains.sum(axis=1), minlength=3)
        return (
            f"Full-conformal sets of {len(self.contains)} points at level {1.0 - self.alpha:.4g}: {sizes[1]} of one label, "
            f"{sizes[2]} of both, {sizes[0]} empty; {int(self.certain.all(axis=1).sum())} proved"
        )

    __repr__ = __str__

    def display(self) -> Display:
        """Return the notebook view."""
        labels = [_shown_class(self.model, code) for code in (-1.0, 1.0)]
        rows = tuple((str(k), ", ".join(compress(labels, row))) for k, row in enumerate(self.contains.tolist()))
        return Display(str(self), head=("point", "labels"), rows=rows, words=("labels",))


def conformal_sets(
    model: ZeroOneSVM, points: Any, alpha: float, *, tol: float = 1e-6, time_limit: float | None = None
) -> ConformalSets:
    """Return the full-conformal sets of the exact learner, without refitting it to each point and label.

    The score of point i of a bag of n + 1 points is the least increase of the bag's optimum if the point is kept, which is a
    symmetric function of the bag. Let L_i be the least objective on the n training points with point i kept, and L_y(x)
    with (x, y) kept.

    *Theorem.* The p-value of (x, y) is (1 + #{i : L_i ≥ L_y(x) - λ})/(n + 1).

    *Proof.* The bag's objective is f(w) + λ 1{w violates (x, y)}. Its optimum with point i kept is
    min(L_{i and (x, y)}, L_i + λ), and with (x, y) kept it is L_y(x). The scores are these values less the bag's optimum. Since
    L_{i and (x, y)} ≥ L_y(x), the score of i is at least that of (x, y) if and only if L_i + λ ≥ L_y(x).

    So the label y is in the set if and only if L_y(x) ≤ L_(k) + λ, with the k-th largest L_i and k = ⌊α(n + 1)⌋.

    Parameters
    ----------
    model : ZeroOneSVM
        Equal λ for all points: the scores must not depend on their order.
    points : array_like (points, p)
        Rows as the model takes them, with the constant column.
    alpha : float
        In (0, 1).
    tol, time_limit
        As `prediction_stability`. A label whose exclusion is not proved stays in the set.

    Returns
    -------
    ConformalSets
        For each point the labels that are not refuted, and whether each decision is proved.

    Raises
    ------
    InputError
        α outside (0, 1), λ that differ, points of another width; and as `prediction_stability`.
    """
    view = _view(model)
    level = as_positive(alpha, "alpha")
    if not level < 1.0:
        raise InputError(f"alpha must be in (0, 1), the rate of labels outside their sets; it is {alpha!r}", name="alpha")
    _check_exchangeable(view)
    X = _rows(model, points)
    n, lam, deadline = len(view.weights), float(view.weights[0]), _deadline(time_limit)
    rank = math.floor(level * (n + 1) + 1e-12)
    if rank == 0:
        all_labels = np.ones((len(X), 2), bool)
        return ConformalSets(level, all_labels, all_labels, model, X, np.full((n, X.shape[1]), math.nan))
    optimum = solve(model, "zero-one-bb", options=Options(tol=tol, time_limit=time_limit))
    training, limits = view.A, Limits(tol=tol, deadline=deadline)
    train_values, *_ = _kept_table(view, training, optimum, math.inf, Limits(tol, 1, limits.memory, deadline))
    cap = float(np.sort(train_values)[::-1][rank - 1]) + 2.0 * lam  # no label beyond it can be in the set
    train_values, train_bounds, witnesses = _kept_table(view, training, optimum, cap, limits)
    new_values, new_bounds, _ = _kept_table(view, np.vstack([-X, X]), optimum, cap, limits)
    contains, certain = np.zeros((len(X), 2), bool), np.zeros((len(X), 2), bool)
    scale = 4.0 * tol * cap
    for side in range(2):
        half = slice(side * len(X), (side + 1) * len(X))
        value, bound = new_values[half], new_bounds[half]
        possible = (train_values[None, :] + lam >= bound[:, None] - scale).sum(axis=1)
        certain_count = (train_bounds[None, :] + lam >= value[:, None] * (1.0 + _SUM_ROUNDING)).sum(axis=1)
        contains[:, side] = possible >= rank
        certain[:, side] = (possible >= rank) == (certain_count >= rank)
    return ConformalSets(level, contains, certain, model, X, witnesses)


def _counted(model: ZeroOneSVM, w: FloatArray) -> float:
    """Return the objective of a classifier, its margins decided in exact arithmetic."""
    return float(model.cost.total(model.norm(w), ~satisfies_margins(np.asarray(to_dense(model.signed)), w)))


def _check_exchangeable(view: ZeroOneProblem) -> None:
    if np.ptp(view.weights) != 0.0:
        raise InputError("conformal sets need one λ for all points; with costs that differ points are not exchangeable")


def _kept_table(
    view: ZeroOneProblem, rows: FloatArray, optimum: Result, cap: float, limits: Limits
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return values, bounds and classifiers of the least objectives that keep each row; the optimum's for a row that it keeps."""
    satisfied = rows @ np.asarray(optimum.values["w"]) >= 1.0
    value = np.full(len(rows), float(optimum.objective))
    bound = np.full(len(rows), float(optimum.bound or 0.0))
    w = np.tile(np.asarray(optimum.values["w"], dtype=np.float64), (len(rows), 1))
    if not satisfied.all():
        value[~satisfied], bound[~satisfied], w[~satisfied], *_ = _target_table(view, rows[~satisfied], optimum, cap, limits)
    return value, bound, w
