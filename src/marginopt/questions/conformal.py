"""Exact full-conformal prediction sets of the 0-1-loss SVM, without a refit: `conformal_sets`.

A full-conformal set of a new point holds its label with probability at least 1 - α if the point is exchangeable with the training
points. The learner minimises f(w) = N(w) + λ Σ 1{y_i x_i'w < 1} over n training points, N(w) the squared norm. A classifier
*keeps* a point x with label y if y x'w ≥ 1. Let L_i be the least f(w) of a classifier that keeps training point i, and L_y(x)
that of one that keeps (x, y). The p-value of y at x is (1 + #{i : L_i ≥ L_y(x) - λ})/(n + 1); `conformal_sets` proves it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..display import Display, Displayable, Sense, bound_text
from ..errors import InputError, count_text, short_text
from ..models.arrays import BoolArray, FloatArray, as_positive, to_dense
from ..models.formulations.margin.exact_evaluation import satisfies_margins
from ..models.formulations.zero_one import ZeroOneSVM
from ..models.views import ZeroOneProblem
from ..solvers.certification.result import Result
from ..solvers.exact.options import Limits
from ..solvers.records import Options
from ..solvers.solve import solve
from .answer import Answer, Evidence
from .stability import (
    ROUNDING,
    LabelQuestion,
    OtherClassifier,
    check_index,
    class_names_of,
    class_text,
    deadline_after,
    exact_objective,
    point_rows,
    solve_logged,
    target_table,
    zero_one_view,
)

#: Relative rounding of an objective, a norm and a sum of costs.
_SUM_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class ConformalPValue(LabelQuestion):
    """The full-conformal p-value of label y at point x: (1 + #{i : L_i ≥ L_y(x) - λ})/(n + 1), see `conformal_sets`.

    A proof log of a lower bound of L_y(x) proves an upper bound of the p-value, since a classifier that keeps point i bounds L_i
    from above.

    Parameters
    ----------
    model, point, label
        The 0-1-loss model of the training points, x and y, as in `LabelQuestion`.
    alpha : float
        The conformal set excludes the label if the p-value is at most α.
    witnesses : ndarray (n, p)
        For each training point a classifier that keeps it; NaN without one.

    Raises
    ------
    InputError
        The λ of the points differ, so that points are not exchangeable.
    """

    alpha: float
    witnesses: FloatArray

    sense: ClassVar[Sense] = "maximum"

    def __post_init__(self) -> None:
        _check_exchangeable(zero_one_view(self.model))

    def evaluate(self, evidence: Evidence) -> float:
        """Return 1/(n + 1), the smallest possible p-value: the point itself counts."""
        self.coefficients(evidence)
        return 1.0 / (len(self.model.y) + 1)

    def bound(self, bounds: Mapping[str, float]) -> float:
        """Return an upper bound of the p-value: the share of the n + 1 points for which no witness shows L_i < L_y(x) - λ."""
        bound = self.rival_bound(bounds)
        lower = bound - float(self.model.sample_weight[0]) - ROUNDING * bound
        signed = np.asarray(to_dense(self.model.signed))
        smaller = sum(
            bool(satisfies_margins(row[None, :], w)[0]) and exact_objective(self.model, w) < lower
            for row, w in zip(signed, self.witnesses, strict=True)
            if np.isfinite(w).all()
        )
        return (len(signed) + 1 - smaller) / (len(signed) + 1)

    def claim(self, bound: float) -> str:
        """Return the claim that the p-value is at most ``bound``, and the level at which the set leaves the label out."""
        outside = f", so the set of level {1.0 - self.alpha:.4g} leaves it out" if bound <= self.alpha else ""
        p_value = f"The conformal p-value of {self.label_text} at the point ({self.point_text})"
        return f"{p_value} is at most {bound_text(bound, self.sense)}{outside}"

    @property
    def data(self) -> str:
        """Return the number of points."""
        return count_text(len(self.model.y), "point")


@dataclass(frozen=True, eq=False)
class ConformalSets(Displayable):
    """Exact full-conformal prediction sets of points: the labels whose p-value is above α, and the undecided ones.

    Parameters
    ----------
    alpha : float
        With probability at least 1 - alpha the set of an exchangeable point holds its label.
    contains : ndarray of bool (points, 2)
        Whether the set holds -1 (first column) and +1 (second column).
    certain : ndarray of bool (points, 2)
        Whether values and bounds prove the decision without a tolerance; an undecided label is in the set.
    model : ZeroOneSVM
        The model on the n training points.
    points : ndarray (points, p)
        The points whose labels are predicted, a constant column included.
    witnesses : ndarray (n, p)
        For each training point the best classifier found that keeps it; NaN without one.
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
        """Return a proved bound of a label's p-value as an `Answer`. One model is solved for it.

        Parameters
        ----------
        index : int
            Index of the point in ``points``.
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
        check_index(index, len(self.points))
        code = class_names_of(self.model).code(label) if isinstance(label, str) else label
        if code not in (-1, 1):
            raise InputError(f"label must be -1 or +1, or the name of a class; it is {short_text(label)}", name="label")
        question = ConformalPValue(self.model, self.points[index], float(code), self.alpha, self.witnesses)
        result, bound, logs = solve_logged(question, proof, time_limit)
        evidence = OtherClassifier(np.asarray(result.values["w"], dtype=np.float64))
        return Answer(question, question.evaluate(evidence), question.bound({"rival": bound}), True, evidence, logs)

    def labels(self) -> list[tuple[str | int, ...]]:
        """Return the labels of each set: names of classes where the model's data have them, else -1 and +1."""
        labels = [class_names_of(self.model).class_name(code) for code in (-1.0, 1.0)]
        return [tuple(compress(labels, row)) for row in self.contains.tolist()]

    def __str__(self) -> str:
        sizes = np.bincount(self.contains.sum(axis=1), minlength=3)
        return (
            f"Full-conformal sets of {count_text(len(self.contains), 'point')} "
            f"at level {1.0 - self.alpha:.4g}: {sizes[1]} of one label, "
            f"{sizes[2]} of both, {sizes[0]} empty; {int(self.certain.all(axis=1).sum())} proved"
        )

    def display(self) -> Display:
        """Return the notebook view."""
        labels = [class_text(self.model, code) for code in (-1.0, 1.0)]
        rows = tuple((str(k), ", ".join(compress(labels, row))) for k, row in enumerate(self.contains.tolist()))
        return Display(str(self), head=("point", "labels"), rows=rows, words=("labels",))


def conformal_sets(
    model: ZeroOneSVM, points: Any, alpha: float, *, tol: float = 1e-6, time_limit: float | None = None
) -> ConformalSets:
    """Return the full-conformal sets of the exact learner, without refitting it to each point and label.

    The score of point i of a bag (the n training points and one new point) is the least increase of the bag's optimum if the
    point is kept, which is a symmetric function of the bag. Let L_i be the least objective on the n training points with point i
    kept, and L_y(x) with (x, y) kept.

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
        α in (0, 1), the rate at which labels may lie outside their sets.
    tol, time_limit : float
        Relative gap of every solve; seconds for all. A label whose exclusion is not proved stays in the set.

    Returns
    -------
    ConformalSets
        For each point the labels that are not refuted, and whether each decision is proved.

    Raises
    ------
    InputError
        α outside (0, 1), λ that differ, points of another width or not finite, no linear model with λ.
    """
    view = zero_one_view(model)
    level = as_positive(alpha, "alpha")
    if not level < 1.0:
        raise InputError(
            f"alpha must be in (0, 1), the rate of labels outside their sets; it is {short_text(alpha)}", name="alpha"
        )
    _check_exchangeable(view)
    X = point_rows(model, points)
    n, lam, deadline = len(view.weights), float(view.weights[0]), deadline_after(time_limit)
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
    scale = 4.0 * tol * cap if math.isfinite(cap) else 0.0  # ∞ ≥ ∞ needs no tolerance
    for side in range(2):
        half = slice(side * len(X), (side + 1) * len(X))
        value, bound = new_values[half], new_bounds[half]
        possible = (train_values[None, :] + lam >= bound[:, None] - scale).sum(axis=1)
        certain_count = (train_bounds[None, :] + lam >= value[:, None] * (1.0 + _SUM_ROUNDING)).sum(axis=1)
        contains[:, side] = possible >= rank
        certain[:, side] = (possible >= rank) == (certain_count >= rank)
    return ConformalSets(level, contains, certain, model, X, witnesses)


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
        value[~satisfied], bound[~satisfied], w[~satisfied], *_ = target_table(view, rows[~satisfied], optimum, cap, limits)
    return value, bound, w
