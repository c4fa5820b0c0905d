"""`prediction_stability`: the least objective of a classifier that gives a point the other label, its *counterfactual optimum*.

For a 0-1-loss SVM f(w) = N(w) + Σ λ_i 1{y_i x_i'w < 1}, N(w) the squared norm, with optimum f*, and a point x with the label s
that the optimal classifier does not give it,

    L(x) = min {f(w) : s x'w ≥ 1},

the other label with margin 1, as the model requires of its own points. One table of L answers four questions.

- *Predictive multiplicity.* The ambiguity at ε is the share of points with L(x) ≤ f* + ε Σλ: some classifier that is worse by no
  more than a share ε of all costs predicts them otherwise (Marx, Calmon, Ustun: Predictive multiplicity in classification, 2020).
- *Targeted poisoning.* A false label of point i changes f(w) by at most λ_i, for the optimal classifier and for its rival. So
  labels of a total cost below (L(x) - f*)/2 cannot make an exact learner give the other label with margin 1, whichever they are.
- *A certified radius.* The largest number of false labels, counted with the largest costs, for which that holds.
- *Full conformal sets*, without a refit: `conformal.conformal_sets`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..data_names import DataNames
from ..display import Display, Displayable, Sense, Tabular, bound_text
from ..drawing import COLOURS, new_axes
from ..errors import InputError, UnsupportedModelError, count_text, short_text
from ..models.arrays import BoolArray, FloatArray, as_points, as_positive, to_dense
from ..models.formulations.margin.exact_evaluation import satisfies_margins
from ..models.formulations.zero_one import ZeroOneSVM
from ..models.model import Model, decided_labels
from ..models.views import ZeroOneProblem
from ..solvers.certification.result import Result
from ..solvers.exact.check.log_reader import stated_bound
from ..solvers.exact.options import Limits
from ..solvers.records import Options
from ..solvers.solve import solve
from ..solvers.zero_one.target_search import TargetSearch
from .answer import Answer, BoundedQuestion, Evidence, ProofLog, checked_evidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Relative difference of two values that rounding may make.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class OtherClassifier(Evidence):
    """A classifier that gives a point the label in question, such as the label that the optimal classifier does not give.

    Parameters
    ----------
    w : ndarray (p,)
        Its coefficients; NaN where the search found none.
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
class LabelQuestion(BoundedQuestion):
    """The base class of questions about the classifiers that give a point x the label s; L(x) = min {f(w) : s x'w ≥ 1}.

    Parameters
    ----------
    model : ZeroOneSVM
        The model with objective f.
    point : ndarray (p,)
        x, with the constant column that the model's rows have.
    label : float
        s, -1 or +1.
    """

    model: ZeroOneSVM
    point: FloatArray
    label: float

    def __post_init__(self) -> None:
        zero_one_view(self.model)

    @property
    def rival(self) -> ZeroOneSVM:
        """The model with the point x and label s added at a cost above all others together: its optimum is at most L(x)."""
        weights, X = self.model.sample_weight, np.vstack([to_dense(self.model.X), self.point])
        prices = np.append(weights, 4.0 * float(weights.sum()))
        return ZeroOneSVM(X, np.append(self.model.y, self.label), prices, intercept=self.model.intercept)

    def problems(self) -> Mapping[str, Model]:
        """Return `rival`."""
        return {"rival": self.rival}

    def rival_bound(self, bounds: Mapping[str, float]) -> float:
        """Return the lower bound of L(x) that a bound of `rival` proves; zero without one."""
        return max(bounds.get("rival", 0.0), 0.0)

    def coefficients(self, evidence: Evidence) -> FloatArray:
        """Return the coefficients of an `OtherClassifier`; raise InputError if they do not fit the point."""
        w = checked_evidence(evidence, OtherClassifier).w
        if w.shape != self.point.shape:
            raise InputError(f"the evidence must have {self.point.size} coefficients; it has shape {w.shape}", name="evidence")
        return w

    def objection(self, evidence: Evidence, bounds: Mapping[str, float]) -> str:
        """Return an empty text: the evidence, a classifier, states nothing apart from its value."""
        return ""

    @property
    def point_text(self) -> str:
        """The penalised entries of the point, for sentences."""
        return ", ".join(f"{x:.6g}" for x in self.point[self.model.penalised].tolist())

    @property
    def label_text(self) -> str:
        """The class of the label, for sentences."""
        return class_text(self.model, self.label)


@dataclass(frozen=True, eq=False)
class OtherPrediction(LabelQuestion):
    """L(x) = min {f(w) : s x'w ≥ 1}, the least objective of a classifier that gives a point the other label.

    Parameters
    ----------
    model, point, label
        The model with objective f, the point x, and the other label s, as in `LabelQuestion`.
    best : ndarray (p,)
        The best classifier found, with which the claim compares.
    """

    best: FloatArray

    sense: ClassVar[Sense] = "minimum"

    def evaluate(self, evidence: Evidence) -> float:
        """Return the objective of a classifier; ∞ if it does not give the point the label."""
        w = self.coefficients(evidence)
        is_labelled = bool(satisfies_margins(self.label * self.point[None, :], w)[0])
        return exact_objective(self.model, w) if is_labelled else math.inf

    def bound(self, bounds: Mapping[str, float]) -> float:
        """Return the bound of L(x)."""
        return self.rival_bound(bounds)

    def claim(self, bound: float) -> str:
        """Return the claim, and the number of false labels that it certifies."""
        best = exact_objective(self.model, self.best)
        excess, labels = bound - best, int(_label_changes(self.model, bound - best))
        certified = f", so fewer than {labels} false labels cannot make an exact learner do so" if labels > 1 else ""
        classifiers = f"Every classifier that predicts the point ({self.point_text}) as {self.label_text} with margin 1"
        rise = bound_text(max(excess, 0.0), self.sense, 6)
        objective = f"has an objective of at least {bound_text(bound, self.sense, 6)}, {rise} above the best one found"
        return f"{classifiers} {objective}{certified}"

    @property
    def data(self) -> str:
        """Return the numbers of points and distinct rows."""
        rows = np.column_stack([to_dense(self.model.X), self.model.y])
        return f"{count_text(len(rows), 'point')} in {count_text(len(np.unique(rows, axis=0)), 'distinct row')}"


def class_names_of(model: ZeroOneSVM) -> DataNames:
    """Return the names of the model's data: features, classes and points; all empty where the data have none."""
    return model.original_model.data_names or DataNames()


def class_text(model: ZeroOneSVM, code: float) -> str:
    """Return the printed form of a class: its name, else its code with the sign."""
    name = class_names_of(model).class_name(code)
    return name if isinstance(name, str) else f"{name:+d}"


def _label_changes(model: ZeroOneSVM, excess: Any) -> Any:
    """Return the least number of false labels whose costs reach half of L(x) - f*."""
    costs = np.cumsum(np.sort(model.sample_weight)[::-1])
    return np.searchsorted(2.0 * costs, excess * (1.0 - ROUNDING), side="left") + 1


@dataclass(frozen=True, eq=False)
class PredictionStability(Displayable, Tabular):
    """The table of the counterfactual optima L(x) of many points, with proved bounds; `answer` makes an `Answer` of one point.

    Parameters
    ----------
    model : ZeroOneSVM
        The model with objective f.
    points : ndarray (targets, p)
        The points, a constant column included.
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
        The search raised no bound above this value.
    nodes : int
        Nodes of the search for all points.
    finished : bool
        False if a limit ended the search; ``bound`` holds nevertheless.
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
        """The least number of false training labels that may flip each prediction; fewer are proved not to."""
        return np.asarray(_label_changes(self.model, self.bound - float(self.optimum.objective)))

    @property
    def certified_radius(self) -> np.ndarray:
        """The largest number of arbitrary false training labels that cannot make an exact learner flip the prediction."""
        return np.asarray(self.label_changes - 1)

    def ambiguity(self, epsilon: float, counts: Any = None) -> tuple[float, float]:
        """Return proved bounds of the ambiguity at ε: the share of points that some near-optimal classifier predicts otherwise.

        Near-optimal classifiers have f(w) ≤ f* + ε Σλ. Both bounds agree if every point is proved and the search covers ε. The
        lower bound takes the optimum's objective as f* if its gap is within the tolerance; else its proved bound plus the
        tolerance.

        Parameters
        ----------
        epsilon : float
            ε ≥ 0.
        counts : array_like (targets,), optional
            Weights of the points in the share; 1 each unless given.

        Raises
        ------
        InputError
            ε is negative or not a number.
        """
        allowance = as_positive(epsilon, "epsilon", zero=True) * float(self.model.sample_weight.sum())
        optimum, lower = float(self.optimum.objective), float(self.optimum.bound or 0.0)
        scale = ROUNDING * abs(optimum)
        certain = self.value <= lower + allowance + min(optimum - lower, self.optimum.tol * abs(optimum)) + scale
        possible = self.bound <= optimum + allowance + scale
        share = np.full(len(certain), 1.0 / len(certain)) if counts is None else np.asarray(counts) / np.sum(counts)
        return float(share @ certain), float(share @ (possible | certain))

    def question(self, index: int) -> OtherPrediction:
        """Return the question for the counterfactual optimum L(x) of one point.

        Raises
        ------
        InputError
            There is no point of this number.
        """
        check_index(index, len(self.value))
        best = np.asarray(self.optimum.values["w"], dtype=np.float64)
        return OtherPrediction(self.model, self.points[index], -float(self.prediction[index]), best)

    def rival(self, index: int) -> ZeroOneSVM:
        """Return the model of one point whose optimum is at most L(x), see `LabelQuestion.rival`."""
        return self.question(index).rival

    def answer(self, index: int, *, proof: str | Path | None = None, time_limit: float | None = None) -> Answer[OtherClassifier]:
        """Return the counterfactual optimum of one point as an `Answer`.

        Parameters
        ----------
        index : int
            Index of the point in ``points``.
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
            start = None if np.isnan(self.w[index]).any() else {"w": self.w[index]}
            result, bound, logs = solve_logged(question, proof, time_limit, start)
            if "w" in result.values:
                other = OtherClassifier(np.asarray(result.values["w"], dtype=np.float64))
                evidence = min(evidence, other, key=question.evaluate)
        return Answer(question, question.evaluate(evidence), bound, True, evidence, logs)

    def sentence(self, index: int) -> str:
        """Return the answer for one point as a sentence, for a report; the sentence of `answer` with ``proof=`` cites a log."""
        return self.answer(index).sentence

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary for each point; "flipped" is the least objective with the other prediction, between two bounds.

        "prediction" is the name of a class where the data have them, else -1 or +1.
        """
        changes, names = self.label_changes, class_names_of(self.model)
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
        return (
            f"Stability of {count_text(len(self.value), 'prediction')}, "
            f"optimum {self.optimum.objective:.6g}: {share}, {count_text(self.nodes, 'node')}"
        )

    def __str__(self) -> str:
        lines = [self._title, f"  {'point':>5}  {'prediction':>10}  {'flipped at least':>18}  {'at most':>12}  {'radius':>6}"]
        for k, row in enumerate(self.records()):
            low, high, radius = row["flipped at least"], row["flipped at most"], row["certified radius"]
            lines.append(f"  {k:>5}  {row['prediction']:>10}  {low:>18.8g}  {high:>12.6g}  {radius:>6}")
        lines.append("  flipped: the least objective with the other prediction; radius: false labels that cannot flip it")
        return "\n".join(lines)

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
        A linear model with λ (not κ). With a large λ its optimum is the fewest margin violations.
    points : array_like (targets, p), optional
        The points, with a constant column as in the model's X; the model's own points unless given.
    within : float, optional
        The search covers classifiers with an objective of at most f* + within Σλ. None: all classifiers, which may take much
        longer.
    tol : float
        Relative gap of every point.
    time_limit : float, optional
        Seconds for the optimum and the search. A search that ends there leaves gaps between values and bounds.
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
    view = zero_one_view(model)
    X = point_rows(model, model.X if points is None else points)
    deadline = deadline_after(time_limit)
    optimum = solve(model, "zero-one-bb", options=Options(tol=tol, time_limit=time_limit))
    w = np.asarray(optimum.values["w"])
    prediction = decided_labels(X @ w)
    share = None if within is None else as_positive(within, "within", zero=True)
    total = float(view.weights.sum())
    cap = math.inf if share is None else _beyond(float(optimum.objective) + share * total, view)
    limits = Limits(tol=as_positive(tol, "tol"), nodes=node_limit, deadline=deadline)
    value, bound, rivals, nodes, finished = target_table(view, -prediction[:, None] * X, optimum, cap, limits)
    return PredictionStability(model, X, prediction, optimum, value, bound, rivals, cap, nodes, finished)


def solve_logged(
    question: LabelQuestion, proof: str | Path | None, time_limit: float | None, start: Mapping[str, FloatArray] | None = None
) -> tuple[Result, float, tuple[ProofLog, ...]]:
    """Solve the model of a question; return its result, and the bound with the log that proves it if one is written."""
    options: dict[str, Any] = {} if start is None else {"start": start}
    options |= {} if proof is None else {"proof": str(proof)}
    result = solve(question.rival, "zero-one-bb", time_limit=time_limit, threads=1, **options)
    bound = float(result.bound or 0.0)
    if proof is None:
        return result, bound, ()
    return result, min(stated_bound(proof), bound), (ProofLog.of_file("rival", proof),)


def check_index(index: object, count: int) -> None:
    """Raise InputError unless ``index`` is an integer from 0 to ``count`` - 1."""
    if isinstance(index, bool) or not isinstance(index, (int, np.integer)) or not 0 <= index < count:
        raise InputError(f"index must be a number from 0 to {count - 1}; it is {short_text(index)}", name="index")


def zero_one_view(model: ZeroOneSVM) -> ZeroOneProblem:
    """Return the arrays of a linear model with λ as a `ZeroOneProblem`; raise UnsupportedModelError for another model."""
    # exempt (formulation): the counterfactual optimum is of this formulation alone
    if not isinstance(model, ZeroOneSVM) or model.kappa is not None or model.kernel is not None:
        raise UnsupportedModelError("the counterfactual optimum is of a linear ZeroOneSVM(X, y, lam)")
    view = model.view(ZeroOneProblem)
    assert view is not None
    return view


def point_rows(model: ZeroOneSVM, points: Any) -> FloatArray:
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
    return value * (1.0 + 10.0 * ROUNDING) + 1e-3 * float(view.weights.min())


def deadline_after(time_limit: float | None) -> float:
    """Return the end of a time limit on the clock of `time.perf_counter`; infinite without a limit."""
    return math.inf if time_limit is None else time.perf_counter() + as_positive(time_limit, "time_limit")


def target_table(
    view: ZeroOneProblem, rows: FloatArray, optimum: Result, cap: float, limits: Limits
) -> tuple[FloatArray, FloatArray, FloatArray, int, bool]:
    """Return the least f(w) with r'w ≥ 1 for each target row r (s x' of a point x and a label s), by one search over all rows.

    Parameters
    ----------
    view : ZeroOneProblem
        The problem with objective f.
    rows : ndarray (targets, p)
        Equal rows are searched once. No w has r'w ≥ 1 for a row of zeros, which keeps the value ∞.
    optimum : Result
        An exact solve of the problem.
    cap : float
        The search ends for a target once its bound reaches this value.
    limits : Limits
        Tolerance, deadline and node limit of the search.

    Returns
    -------
    value, bound, w : ndarray (targets,), (targets,), (targets, p)
        The objective of the best classifier found, a proved lower bound, and the classifier.
    nodes : int
        Nodes of the search.
    finished : bool
        False if a limit ended the search.
    """
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


def exact_objective(model: ZeroOneSVM, w: FloatArray) -> float:
    """Return the objective of a classifier, its margins decided in exact arithmetic."""
    return float(model.cost.objective_value(model.squared_norm(w), ~satisfies_margins(np.asarray(to_dense(model.signed)), w)))
