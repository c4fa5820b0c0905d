"""The exact fairness audit: the linear subgroup of protected attributes with the worst weighted disparity.

Auditing is weak agnostic learning (Kearns, Neel, Roth, Wu: Preventing fairness gerrymandering, ICML 2018, theorem 3.1): over all
half-spaces g of the protected attributes, the largest

    share(g) |rate(g) - rate|,    share(g) = weight of the members of g that the metric counts / weight of all persons,

is the best half-space of costs w_i (v_i - rate), which `half_spaces` states as a 0-1 problem. Here w_i is the weight of person
i, v_i its value in the metric (such as the prediction), rate(g) the weighted mean of v_i over the members of g that the metric
counts, and rate that over all whom it counts. The costs then sum to zero, so that a half-space and its complement have the same
weighted disparity with opposite signs: one problem answers for both. Calibration compares with zero in place of the mean, and
has a problem for each sign.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from ..data_names import attribute_columns, label_codes
from ..display import bound_text
from ..drawing import COLOURS, GREY, literal_text
from ..errors import InputError, count_text, short_text
from ..models.arrays import BoolArray, FloatArray, IntArray, as_points, as_positive, as_vector, as_weights, to_dense
from ..models.model import Model
from ..solvers.certification.result import Result
from ..solvers.exact.check.arithmetic import ceil_to_float
from ..solvers.exact.check.log_reader import stated_bound
from ..solvers.solve import solve
from .answer import Answer, BoundedQuestion, Evidence, ProofLog, checked_evidence
from .half_spaces import HalfSpace, HalfSpaceProblem, coded_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The rate that is compared: of predictions 1 among y = 0, of predictions 0 among y = 1, of predictions 1 among all persons, or
#: the mean of y minus prediction.
FairnessMetric: TypeAlias = Literal["false-positive-rate", "false-negative-rate", "selection-rate", "calibration"]
#: Whether the rate of a group is above or below the rate of comparison.
Side: TypeAlias = Literal["above", "below"]

#: Margin of the half-spaces if the columns are too fine for a bound over all half-spaces.
_MARGIN = 1e-3
#: Largest number of earlier problems that a solve uses.
_EARLIER = 8
#: Share of a bound that a log leaves to rounding.
_LOG_SLACK = 1e-8
#: Words of a sentence.
_WORDS = {
    "false-positive-rate": "false-positive disparity",
    "false-negative-rate": "false-negative disparity",
    "selection-rate": "selection-rate disparity",
    "calibration": "calibration error",
}


@dataclass(frozen=True)
class Subgroup(Evidence):
    """A linear subgroup of the protected attributes.

    Parameters
    ----------
    side : {"above", "below"}
        Whether the group's rate is above or below the reference.
    rule : str
        The half-space in feature names.
    persons : int
        Number of persons in the group.
    members : int
        Number of persons in the group that the metric counts, such as persons with y = 0 for the false-positive rate.
    share : float
        Weight of the ``members`` over the weight of all persons.
    rate : float
        Weighted rate of the group.
    reference : float
        The rate that it is compared with: that of all persons whom the metric counts; 0 for calibration.
    half_space : HalfSpace
        The same half-space in the question's coded coordinates, exactly.
    people : tuple of bool
        Whether each person of the data is in the group.
    """

    side: Side
    rule: str
    persons: int
    members: int
    share: float
    rate: float
    reference: float
    half_space: HalfSpace = field(repr=False)
    people: tuple[bool, ...] = field(repr=False)

    @property
    def disparity(self) -> float:
        """Return share × |rate - reference| of the group, without a margin."""
        return self.share * abs(self.rate - self.reference)

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return rule, sizes and rates."""
        return (
            ("group", self.rule),
            (
                "size",
                f"{self.persons} persons, {self.members} of them in the metric, {self.share:.2%} of all weight",
            ),
            ("rates", f"{self.rate:.4f} in the group, {self.side} the {self.reference:.4f} of comparison"),
        )

    def draw(self, ax: Axes) -> None:
        """Draw the group's rate as a bar whose width is the share, and the rate of all persons as a line."""
        ax.bar([0.0], [self.rate], width=max(self.share, 0.02), color=COLOURS[0], label="the group")
        ax.axhline(self.reference, color=GREY, ls="--", label="comparison")
        ax.set_xlim(-0.6, 0.6)
        ax.set_xlabel(literal_text(f"width of the bar: share {self.share:.3f}"))
        ax.set_ylabel("rate")
        ax.set_title(literal_text(self.rule), fontsize=8)
        ax.legend()


@dataclass(frozen=True, eq=False)
class FairnessQuestion(BoundedQuestion):
    """max share(g) |rate(g) - rate| over the half-spaces g of the protected attributes, with the module's symbols.

    Parameters
    ----------
    predictions : array_like (n,)
        Labels 0 and 1 (or -1 and +1), or probabilities of 1.
    y : array_like (n,)
        True labels, 0 and 1 or -1 and +1.
    protected : array_like (n, d)
        Protected attributes of each person.
    names : tuple of str
        Names of the columns of ``protected``.
    metric : FairnessMetric
        The rate that is compared.
    sample_weight : array_like (n,)
        Weight of each person, > 0.
    margin : float or None
        Distance from the boundary below which a person is counted on the side that reduces the disparity, in units near each
        column's standard deviation (powers of two times the column's step). None: no margin.

    Raises
    ------
    InputError
        Data of other shapes or values; a metric that counts no person; no margin where the columns are too fine for a proof.
    """

    predictions: FloatArray
    y: FloatArray
    protected: FloatArray
    names: tuple[str, ...]
    metric: FairnessMetric
    sample_weight: FloatArray
    margin: float | None = None

    def __post_init__(self) -> None:
        protected = np.array(to_dense(as_points(self.protected, "protected")), dtype=np.float64) + 0.0
        n, d = protected.shape
        object.__setattr__(self, "protected", protected)
        object.__setattr__(self, "y", _outcomes(self.y, n, "y", soft=False))
        object.__setattr__(self, "predictions", _outcomes(self.predictions, n, "predictions", soft=True))
        weights = as_weights(self.sample_weight, n, "sample_weight")
        object.__setattr__(self, "sample_weight", np.ones(n) if weights is None else np.array(weights))
        if self.metric not in get_args(FairnessMetric):
            raise InputError(
                f"metric must be one of {', '.join(get_args(FairnessMetric))}; it is {short_text(self.metric)}", name="metric"
            )
        if len(self.names) != d:
            raise InputError(f"names must name the {d} protected columns; it has {len(self.names)} names", name="names")
        if self.margin is not None:
            object.__setattr__(self, "margin", as_positive(self.margin, "margin"))
        if not self.members.any():
            raise InputError(f"nobody counts for the {self.metric}: y holds no label {int(self.metric == 'false-negative-rate')}")
        if any(costs.norm <= 0 for costs in self.sides.values() if costs.columns and costs.total):
            raise InputError("the protected columns leave no half-space", name="protected")

    @cached_property
    def members(self) -> BoolArray:
        """A mask of the persons that the metric counts (n,)."""
        if self.metric == "false-positive-rate":
            return np.asarray(self.y == 0.0)
        if self.metric == "false-negative-rate":
            return np.asarray(self.y == 1.0)
        return np.ones(self.y.size, dtype=bool)

    @cached_property
    def _values(self) -> list[Fraction]:
        """The values v_i of the members in the metric, exactly."""
        pairs = zip(self.predictions[self.members].tolist(), self.y[self.members].tolist(), strict=True)
        if self.metric == "false-negative-rate":
            return [1 - Fraction(p) for p, _ in pairs]
        if self.metric == "calibration":
            return [Fraction(t) - Fraction(p) for p, t in pairs]
        return [Fraction(p) for p, _ in pairs]

    @property
    def prediction_slope(self) -> float:
        """The derivative of a person's term of the rate in the prediction: 1 or -1."""
        return -1.0 if self.metric in ("false-negative-rate", "calibration") else 1.0

    @cached_property
    def _member_weights(self) -> list[Fraction]:
        return [Fraction(weight) for weight in self.sample_weight[self.members].tolist()]

    @cached_property
    def reference(self) -> Fraction:
        """The rate that groups are compared with: the mean of all members; zero for calibration."""
        if self.metric == "calibration":
            return Fraction(0)
        weights = self._member_weights
        return sum((w * v for w, v in zip(weights, self._values, strict=True)), Fraction(0)) / sum(weights, Fraction(0))

    @cached_property
    def weight(self) -> Fraction:
        """The weight of all persons."""
        return sum((Fraction(weight) for weight in self.sample_weight.tolist()), Fraction(0))

    @cached_property
    def cells(self) -> tuple[FloatArray, IntArray]:
        """The distinct protected rows of the members (cells), and the index of each member's cell."""
        rows, place = np.unique(self.protected[self.members], axis=0, return_inverse=True)
        return rows, place.reshape(-1)

    @cached_property
    def varying(self) -> IntArray:
        """Indices of the protected columns in which the members differ, without columns of equal codes."""
        rows, _ = self.cells
        chosen: dict[bytes, int] = {}
        for j, column in enumerate(coded_columns(rows)):
            if column.codes.any():
                chosen.setdefault((column.codes + 0.0).tobytes(), j)
        return np.array(list(chosen.values()), dtype=np.int64)

    @cached_property
    def sides(self) -> Mapping[Side, HalfSpaceProblem]:
        """The problems of the best half-space by side: costs w_i (v_i - rate), summed by cell; for calibration also -costs."""
        rows, place = self.cells
        costs = [Fraction(0)] * len(rows)
        for k, weight, value in zip(place.tolist(), self._member_weights, self._values, strict=True):
            costs[k] += weight * (value - self.reference)
        columns = coded_columns(rows[:, self.varying])
        above = HalfSpaceProblem(columns, tuple(costs), self.margin)
        if self.metric != "calibration":
            return {"above": above}
        return {"above": above, "below": HalfSpaceProblem(columns, tuple(-cost for cost in costs), self.margin)}

    def problems(self) -> Mapping[str, Model]:
        """Return the 0-1 model of each of `sides` that has one."""
        models = {side: best.model() for side, best in self.sides.items()}
        return {side: model for side, model in models.items() if model is not None}

    def evaluate(self, evidence: Evidence) -> float:
        """Return the disparity of a subgroup, robust at the margin where one is given."""
        group = checked_evidence(evidence, Subgroup)
        if group.side not in self.sides:
            raise InputError(f"{self.metric} has no groups {group.side} the reference", name="evidence")
        return float(self.sides[group.side].value(group.half_space) / self.weight)

    def bound(self, bounds: Mapping[str, float]) -> float:
        """Return the upper bound of the disparity that lower bounds of the models prove."""
        return ceil_to_float(max(best.bound(bounds.get(side)) for side, best in self.sides.items()) / self.weight)

    def objection(self, evidence: Evidence, bounds: Mapping[str, float]) -> str:
        """Return the objection that rule, sizes or rates of the group are not those of its half-space; empty if they are."""
        assert isinstance(evidence, Subgroup)
        restated = self.subgroup(evidence.side, evidence.half_space)
        return "" if evidence == restated else "the rule, the sizes or the rates of the group are not those of its half-space"

    def claim(self, bound: float) -> str:
        """Return the claim that no linear subgroup has a larger disparity."""
        robust = "" if self.margin is None else f" that stays whichever side persons within {self.margin:g} of its boundary take"
        subgroup = f"No linear subgroup of {{{', '.join(self.names)}}}"
        return f"{subgroup} has a weighted {_WORDS[self.metric]} above {bound_text(max(bound, 0.0), self.sense)}{robust}"

    @property
    def data(self) -> str:
        """Return the numbers of persons and distinct rows."""
        return (
            f"{int(self.members.sum())} of {count_text(self.y.size, 'person')} "
            f"in {count_text(len(self.cells[0]), 'distinct row')}"
        )

    def subgroup(self, side: Side, half_space: HalfSpace) -> Subgroup:
        """Return the group of a half-space in feature names, with sizes and rates."""
        best = self.sides[side]
        inside = np.array([score > 0 for score in half_space.scores(best.codes)], dtype=bool)
        _, place = self.cells
        chosen = inside[place]
        weights = [w for w, c in zip(self._member_weights, chosen.tolist(), strict=True) if c]
        values = [v for v, c in zip(self._values, chosen.tolist(), strict=True) if c]
        total = sum(weights, Fraction(0))
        rate = sum((w * v for w, v in zip(weights, values, strict=True)), Fraction(0)) / total if total else self.reference
        raw = [w / column.unit for w, column in zip(half_space.weights, best.columns, strict=True)]
        shift = sum((r * column.offset for r, column in zip(raw, best.columns, strict=True)), Fraction(0))
        threshold = shift - half_space.intercept
        scores = self.protected[:, self.varying] @ np.array([float(r) for r in raw]) if raw else np.zeros(self.y.size)
        people = np.where(self.members, False, scores > float(threshold))
        people[self.members] = chosen
        return Subgroup(
            side, _rule([self.names[j] for j in self.varying], raw, threshold), int(people.sum()), int(chosen.sum()),
            float(total / self.weight), float(rate), float(self.reference), half_space, tuple(people.tolist()),
        )  # fmt: skip


def audit_fairness(
    predictions: object,
    y: object,
    protected: object,
    metric: FairnessMetric = "false-positive-rate",
    *,
    sample_weight: object = None,
    margin: float | None = None,
    proof: str | Path | None = None,
    time_limit: float | None = None,
) -> Answer[Subgroup]:
    """Find the linear subgroup with the worst weighted disparity, with a bound for all others.

    Parameters
    ----------
    predictions : array_like (n,)
        Predictions of the classifier under audit, as ``fitted.predict(X)``: labels 0 and 1 (or -1 and +1), or probabilities of 1.
    y : array_like (n,)
        True labels, 0 and 1 or -1 and +1, or two words, of which the one that sorts second is 1.
    protected : array_like (n, d), data frame or series
        Protected attributes; a frame's columns give the names of the rule. A column of words is an indicator "name=word" for each
        word but the one that sorts first.
    metric : {"false-positive-rate", "false-negative-rate", "selection-rate", "calibration"}
        Calibration compares the mean of y - prediction with zero.
    sample_weight : array_like (n,), optional
        Weight of each person, > 0; ones by default.
    margin : float, optional
        Audit the robust disparity: persons within this distance of a boundary, in units near the columns' standard deviations,
        are counted on the side that reduces it. By default there is no margin where the columns are coarse enough for a proof in
        float64, else the margin is .001.
    proof : str or Path, optional
        Path of the proof log. For calibration two logs are written, with ``above-`` and ``below-`` before the file's name.
    time_limit : float, optional
        Seconds, for both sides together. The answer then holds the best group and the bound so far.

    Returns
    -------
    Answer
        ``evidence`` is a `Subgroup`; ``value`` ≤ optimum ≤ ``bound``.

    Raises
    ------
    InputError
        Data of other shapes or values, or a metric that counts no person.

    References
    ----------
    Kearns, Neel, Roth, Wu: Preventing fairness gerrymandering: auditing and learning for subgroup fairness, ICML 2018.
    """
    return audit_question(fairness_question(predictions, y, protected, metric, sample_weight, margin), proof, time_limit, {})


def audit_question(
    question: FairnessQuestion,
    proof: str | Path | None,
    time_limit: float | None,
    earlier: dict[Side, list[tuple[Model, Result]]],
) -> Answer[Subgroup]:
    """Return the answer to a fairness question, found by one or two exact solves.

    Parameters
    ----------
    question : FairnessQuestion
        The data, the metric and the margin.
    proof, time_limit
        As in `audit_fairness`.
    earlier : dict of str to list of (Model, Result)
        Earlier problems of each side over the same protected rows, with their results, which the solves reuse; the problems of
        this question are added.
    """
    solver = _Solver(proof, len(question.sides) > 1, time_limit)
    problems, bounds, searched, proved = question.problems(), dict[str, float](), dict[str, float](), True
    candidates, logs, details = list[Subgroup](), list[ProofLog](), list[str]()
    sides = [side for side in question.sides if side in problems]
    results = {
        side: solver.solve(side, problems[side], question.sides[side].margin is None, earlier.get(side, [])) for side in sides
    }
    for side, best in question.sides.items():
        normal = np.zeros(len(best.columns))
        if side in problems:
            result = results[side]
            earlier.setdefault(side, []).append((problems[side], result))
            proved = proved and result.bound_kind == "proved"
            bounds[side] = searched[side] = -math.inf if result.bound is None else result.bound
            if proof is not None:
                bounds[side], log = solver.logged_bound(side, searched[side])
                logs.append(log)
            if not result.solved:
                details.append(f"the search ended early ({result.status})")
            if result.values is not None:
                normal = np.asarray(result.values["w"], dtype=np.float64)[1:]
        candidates.append(question.subgroup(side, best.best_threshold(normal)))
    group = max(candidates, key=question.evaluate)
    bound, reached = question.bound(bounds), question.bound(searched)
    if bound > reached * (1.0 + _LOG_SLACK):
        details.append(f"the search proved {bound_text(reached, question.sense)}, which its time limit left without a log")
    detail = ", ".join(dict.fromkeys(details))
    return Answer(question, question.evaluate(group), bound, proved, group, tuple(logs), detail)


@dataclass(frozen=True)
class _Solver:
    """The options of the solves of one audit."""

    proof: str | Path | None
    separate_logs: bool
    time_limit: float | None

    def solve(self, side: Side, model: Model, log_all: bool, earlier: list[tuple[Model, Result]]) -> Result:
        """Solve the problem of one side; the engine of conflicts suits the long w that half-spaces of every margin need."""
        limit = None if self.time_limit is None else as_positive(self.time_limit, "time_limit") / (1 + self.separate_logs)
        native: dict[str, Any] = {"engine": "conflicts" if log_all else "auto", "earlier": tuple(earlier[-_EARLIER:])}
        if self.proof is not None:
            native["proof"] = str(self._path(side))
        return solve(model, "zero-one-bb", time_limit=limit, threads=1, **native)

    def logged_bound(self, side: Side, bound: float) -> tuple[float, ProofLog]:
        """Return the bound that a solve's log claims, at most the solve's own, and the log."""
        path = self._path(side)
        return min(stated_bound(path), bound), ProofLog.of_file(side, path)

    def _path(self, side: Side) -> Path:
        assert self.proof is not None
        path = Path(self.proof)
        return path.with_name(f"{side}-{path.name}") if self.separate_logs else path


def fairness_question(
    predictions: object, y: object, protected: object, metric: FairnessMetric, sample_weight: object, margin: float | None
) -> FairnessQuestion:
    """Return the `FairnessQuestion` of the arguments of `audit_fairness`.

    Without ``margin`` it has none, or the margin .001 if the protected columns are too fine for a bound over all half-spaces.
    """
    matrix, names = attribute_columns(protected)
    points = as_points(matrix, "protected")
    names = names or tuple(f"x{j}" for j in range(points.shape[1]))
    sample_weight = np.ones(points.shape[0]) if sample_weight is None else sample_weight
    predictions, y = _numbered(predictions, y)
    data = (predictions, y, points, names, metric, sample_weight)
    if margin is None:
        dense = np.asarray(to_dense(points))
        varying = dense[:, (dense != dense[:1]).any(axis=0)]
        margin = None if HalfSpaceProblem.grid_norm(coded_columns(np.unique(varying, axis=0))) is not None else _MARGIN
    return FairnessQuestion(*data, margin)  # type: ignore[arg-type]


def _numbered(predictions: object, y: object) -> tuple[object, object]:
    """Return labels that are words as numbers, -1 and +1: the class that sorts second is +1; numbers stay."""
    labels, guesses = np.asarray(y), np.asarray(predictions)
    if labels.dtype.kind not in "OUS":
        return predictions, y
    codes, classes = label_codes(labels)
    if guesses.dtype.kind not in "OUS":
        return predictions, codes
    names = [str(name) for name in guesses.ravel().tolist()]
    if unknown := sorted(set(names) - set(classes)):
        raise InputError(
            f"predictions hold {short_text(unknown[0])}; the labels of y are {', '.join(classes)}", name="predictions"
        )
    return np.where(np.array(names).reshape(guesses.shape) == classes[-1], 1.0, -1.0), codes


def _outcomes(values: object, n: int, name: str, *, soft: bool) -> FloatArray:
    """Return labels as 0 and 1; with ``soft`` also probabilities, unchanged."""
    vector = np.array(as_vector(values, n, name), dtype=np.float64)
    if np.isin(vector, (-1.0, 1.0)).all() and (vector < 0).any():
        vector = (vector + 1.0) / 2.0
    allowed = ((vector >= 0.0) & (vector <= 1.0)) if soft else np.isin(vector, (0.0, 1.0))
    if not allowed.all():
        expectation = "labels 0 and 1, or -1 and +1" + (", or probabilities" if soft else "")
        raise InputError(f"{name} must hold {expectation}; it holds {vector[~allowed][0]:g}", name=name)
    return vector


def _rule(names: list[str], raw: list[Fraction], threshold: Fraction) -> str:
    """Return a half-space in words, in the units of the data, its largest coefficient scaled to ±1."""
    size = max((abs(r) for r in raw), default=Fraction(0))
    if not size:
        return "everybody" if threshold < 0 else "nobody"
    first, *other_terms = [(float(r / size), name) for r, name in zip(raw, names, strict=True) if r]
    terms_text = "".join(f" {'-' if c < 0 else '+'} {abs(c):.6g} {name}" for c, name in other_terms)
    return f"{first[0]:.6g} {first[1]}{terms_text} > {float(threshold / size):.6g}"
