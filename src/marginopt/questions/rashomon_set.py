"""Proved properties of the Rashomon set, the classifiers within ε of the best: coefficient ranges, feature importance, supports.

With the objective f of the best classifier found, the set holds every classifier of objective at most the *level* f + ε|f|. The
classifiers are those of a `Margin`, min R(w) + Σ c_i ℓ(y_i x_i'w) with a regulariser R and a loss ℓ, p coefficients w. A
statement about all of them is one solve with a restriction: if no classifier with w_j ≤ 0 costs as little, each of the set has
w_j > 0. The bound of that solve is the proof, and its log is the certificate. A classifier of the set that a solve finds is a
witness. The set is that of Fisher, Rudin and Dominici (All models are wrong, but many are useful, 2019) and of Semenova, Rudin
and Parr (On the existence of simpler machine learning models, 2022).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..display import Sense, bound_text
from ..drawing import COLOURS, GREY, literal_text
from ..errors import InputError, count_text, short_text
from ..models.arrays import FloatArray, as_positive
from ..models.formulations.margin.model import Margin
from ..models.model import Model
from ..solvers.parallel import choose_executor
from .answer import Answer, BoundedQuestion, Evidence, checked_evidence, percentage
from .restricted_solves import (
    CoefficientBounds,
    LevelQuestion,
    RestrictedSolver,
    Restriction,
    classifier_cost,
    coefficient_columns,
    coefficient_names,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Largest number of solves for one end of one coefficient's range.
_STEPS = 30


@dataclass(frozen=True, eq=False)
class CoefficientRanges(Evidence):
    """Ranges of the k coefficients over the set: proved ranges, and those that witnesses attain.

    Parameters
    ----------
    names : tuple of str (k,)
        Names of the coefficients.
    columns : tuple of int (k,)
        Indices of the coefficients in w; a free intercept has no range.
    lower, upper : ndarray (k,)
        Ends of the open intervals in which the coefficients of every classifier of the set are proved to lie; ∓∞ without a proof.
    witnessed_lower, witnessed_upper : ndarray (k,)
        The least and the largest value of each coefficient over the ``witnesses``.
    witnesses : tuple of tuples of float
        Coefficients w of classifiers of the set, the best one first.
    """

    names: tuple[str, ...]
    columns: tuple[int, ...]
    lower: FloatArray
    upper: FloatArray
    witnessed_lower: FloatArray
    witnessed_upper: FloatArray
    witnesses: tuple[tuple[float, ...], ...]

    @property
    def signs(self) -> tuple[int, ...]:
        """Return the proved sign of every coefficient: 1, -1, or 0 where none is proved."""
        return tuple(int(low >= 0.0) - int(high <= 0.0) for low, high in zip(self.lower, self.upper, strict=True))

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the proved and the witnessed range of every coefficient."""
        rows = zip(self.names, self.lower, self.upper, self.witnessed_lower, self.witnessed_upper, strict=True)
        return tuple(
            (name, f"within ({bound_text(a, 'minimum')}, {bound_text(b, 'maximum')}); attained [{c:.4g}, {d:.4g}]")
            for name, a, b, c, d in rows
        )

    def draw(self, ax: Axes) -> None:
        """Draw the proved ranges as thin lines and the witnessed ones as thick lines."""
        places = np.arange(len(self.names))[::-1]
        ax.hlines(places, self.lower, self.upper, color=GREY, lw=1.0, label="proved")
        ax.hlines(places, self.witnessed_lower, self.witnessed_upper, color=COLOURS[0], lw=4.0, label="attained")
        ax.axvline(0.0, color="black", lw=0.5)
        ax.set_yticks(places, [literal_text(name) for name in self.names])
        ax.set_xlabel("coefficient")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)


@dataclass(frozen=True, eq=False)
class RangeQuestion(LevelQuestion):
    """The number of coefficients that have one sign in every classifier of the set.

    Its fields are those of `LevelQuestion`: the model, ε (``within``), the level, and ``exclusions``, the restrictions that no
    classifier of the set satisfies.
    """

    sense: ClassVar[Sense] = "minimum"

    def evaluate(self, evidence: Evidence) -> float:
        """Return the number of coefficients of one sign, not 0, in all witnesses of the set; NaN if none justifies the level."""
        witnesses = checked_evidence(evidence, CoefficientRanges).witnesses
        if not any(map(self.covers, witnesses)):
            return math.nan
        inside = np.array(self.classifiers_within_level(witnesses))[:, list(self.columns)]
        return float(((inside > 0.0).all(axis=0) | (inside < 0.0).all(axis=0)).sum())

    def bound(self, bounds: Mapping[str, float]) -> float:
        """Return the number of coefficients for which w_j ≤ 0 or w_j ≥ 0 is excluded."""
        return float(len(self._signed(bounds)))

    def _signed(self, bounds: Mapping[str, float]) -> set[int]:
        return {j for j, pair in self._limits(bounds).items() if pair[0] >= 0.0 or pair[1] <= 0.0}

    def _limits(self, bounds: Mapping[str, float]) -> dict[int, tuple[float, float]]:
        """Return the open interval of each coefficient that the exclusions leave."""
        p, chosen = self.model.width, {item for item in self.exclusions if self.excluded(item, bounds)}
        limits = {}
        for j in self.columns:
            sides = [item for item in chosen if isinstance(item, CoefficientBounds) and item == item.side_of(p, j)]
            below = [item.upper[j] for item in sides if item.upper[j] < math.inf]
            above = [item.lower[j] for item in sides if item.lower[j] > -math.inf]
            limits[j] = max(below, default=-math.inf), min(above, default=math.inf)
        return limits

    def objection(self, evidence: Evidence, bounds: Mapping[str, float]) -> str:
        """Return the objection that ranges are narrower than is proved, or not those of the witnesses; empty if there is none."""
        assert isinstance(evidence, CoefficientRanges)
        if (evidence.names, evidence.columns) != (self.names, self.columns):
            return "the ranges are of other coefficients than the model's"
        lower, upper = np.array([*self._limits(bounds).values()]).reshape(-1, 2).T
        if not ((evidence.lower <= lower).all() and (evidence.upper >= upper).all()):
            return "the logs prove wider ranges than are stated"
        inside = np.array(self.classifiers_within_level(evidence.witnesses))[:, list(self.columns)]
        attained = (inside.min(axis=0), inside.max(axis=0))
        if not all(map(np.array_equal, attained, (evidence.witnessed_lower, evidence.witnessed_upper))):
            return "the witnesses attain other ranges than are stated"
        unproved = [item.name for item in self.exclusions if not self.excluded(item, bounds)]
        return f"no log proves that no classifier has {unproved[0]}" if unproved else ""

    def claim(self, bound: float) -> str:
        """Return the claim that so many coefficients have one sign."""
        p, words = self.model.width, []
        for name, j in zip(self.names, self.columns, strict=True):
            words += [f"{name} > 0"] if CoefficientBounds.of_coefficient(p, j, upper=0.0) in self.exclusions else []
            words += [f"{name} < 0"] if CoefficientBounds.of_coefficient(p, j, lower=0.0) in self.exclusions else []
        signs = f" ({', '.join(words)})" if words else ""
        count = f"At least {bound:.0f} of {len(self.names)} coefficients have one sign{signs}"
        return f"{count} in every classifier within {percentage(self.within)}% of the best"


def coefficient_ranges(
    model: Model,
    within: float = 0.02,
    *,
    precision: float = 0.1,
    solver: str = "margin-bb",
    time_limit: float | None = None,
    proof: str | Path | None = None,
    jobs: int | None = None,
) -> Answer[CoefficientRanges]:
    """Bound sign and range of each coefficient over all classifiers within ε of the best.

    Parameters
    ----------
    model : Model
        A `Margin`, or a formulation that is one, such as `ZeroOneSVM` and `ScoringSystem`.
    within : float
        ε ≥ 0, relative to the best objective found.
    precision : float
        Width of the part of a range that may stay undecided, relative to the largest coefficient of the best classifier.
    solver : str
        An exact solver of `Margin` models. The answer is proved where the solver's bounds are: margin-bb's are.
    time_limit : float, optional
        Seconds of each solve. A solve that ends early excludes less.
    proof : str or Path, optional
        Folder of the proof logs, one for each restriction.
    jobs : int, optional
        Number of ends of ranges searched in parallel, -1 for all cores; the answer does not depend on it.

    Returns
    -------
    Answer
        ``evidence`` is a `CoefficientRanges`. ``bound`` ≤ number of coefficients with one sign ≤ ``value``.

    Raises
    ------
    InputError
        A model that is no composition, or without a classifier; ``within`` < 0 or ``precision`` ≤ 0.
    """
    solves = RestrictedSolver(model, within, solver, time_limit, proof, jobs)
    base, width = solves.model, as_positive(precision, "precision") * (max(map(abs, solves.best)) or 1.0)
    p = base.width
    columns = coefficient_columns(base)
    signs = [CoefficientBounds.of_coefficient(p, j, **side) for j in columns for side in ({"lower": 0.0}, {"upper": 0.0})]
    solves.solve_all(signs)  # the witnesses of each sign shorten the searches that follow
    limits = _limits(solves, columns, width, jobs)
    ends = [
        CoefficientBounds.of_coefficient(p, j, upper=a) for j, (a, _) in zip(columns, limits, strict=True) if math.isfinite(a)
    ]
    ends += [
        CoefficientBounds.of_coefficient(p, j, lower=b) for j, (_, b) in zip(columns, limits, strict=True) if math.isfinite(b)
    ]
    exclusions = tuple(dict.fromkeys(item for item in (*signs, *ends) if solves.excludes(item)))
    names = coefficient_names(base)
    inside = np.array(solves.classifiers_within_level())[:, list(columns)]
    lower, upper = np.array(limits).T
    evidence = CoefficientRanges(
        names, columns, lower, upper, inside.min(axis=0), inside.max(axis=0), tuple(solves.classifiers_within_level())
    )
    question = RangeQuestion(base, solves.within, solves.level, exclusions)
    return solves.answer(question, evidence, exclusions)


def _limits(solves: RestrictedSolver, columns: tuple[int, ...], width: float, jobs: int | None) -> list[tuple[float, float]]:
    """Return the proved ends of each range; every end is searched on a branch of its own."""
    ends = [(j, sign) for j in columns for sign in (-1, 1)]
    tasks = [(solves.branch(f"w{j}-{'lower' if sign < 0 else 'upper'}-"), j, sign, width) for j, sign in ends]
    with choose_executor(jobs) as executor:
        searched = executor.run_all(_search_end, tasks)
    for branch, _ in searched:
        solves.merge(branch)
    reaches = iter(reach for _, reach in searched)
    return [(-low, high) for low, high in zip(reaches, reaches, strict=True)]


def _search_end(task: tuple[RestrictedSolver, int, int, float], threads: int | None) -> tuple[RestrictedSolver, float]:
    reach = _reach(*task)
    return task[0], reach


def _reach(solves: RestrictedSolver, j: int, sign: int, width: float) -> float:
    """Return t such that no classifier of the set has sign × w_j ≥ t, by doubling and bisection; infinite if none is proved."""
    p = solves.model.width

    def excluded(t: float) -> bool:
        side = {"lower": t} if sign > 0 else {"upper": -t}
        return solves.excludes(CoefficientBounds.of_coefficient(p, j, **side))

    def attained() -> float:
        return max(sign * w[j] for w in solves.classifiers_within_level())

    low, step = attained(), width
    high = 0.0 if low < 0.0 and excluded(0.0) else math.inf
    for _ in range(_STEPS):
        if high - low <= width:
            break
        trial = low + step if high == math.inf else 0.5 * (low + high)
        if excluded(trial):
            high = trial
        elif attained() >= trial or high == math.inf:
            low, step = max(attained(), trial), 2.0 * step
        else:  # neither excluded nor attained: the search ended early
            break
    return high


@dataclass(frozen=True, eq=False)
class FeatureImportance(Evidence):
    """The rise of the least objective, over that of ``best``, without each of the k features.

    Parameters
    ----------
    names : tuple of str (k,)
        Names of the features.
    columns : tuple of int (k,)
        Indices of the features' coefficients in w.
    lower : ndarray (k,)
        Proved lower bound of each rise; -∞ where none is proved. It is negative where ``best`` is not proved to cost less than
        every classifier without the feature.
    upper : ndarray (k,)
        The rise that the feature's witness attains; ∞ without one.
    best : tuple of float
        The best classifier of the model found.
    witnesses : tuple of tuples of float
        The best classifier found without each feature; ``best`` where none was found.
    """

    names: tuple[str, ...]
    columns: tuple[int, ...]
    lower: FloatArray
    upper: FloatArray
    best: tuple[float, ...]
    witnesses: tuple[tuple[float, ...], ...]

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the rise of the objective without each feature."""
        rows = zip(self.names, self.lower, self.upper, strict=True)
        return tuple(
            (f"without {name}", f"objective {_signed_text(low, 'minimum')} to {_signed_text(high, 'maximum')}")
            for name, low, high in rows
        )

    def draw(self, ax: Axes) -> None:
        """Draw bars of the proved rises that are not negative."""
        places = np.arange(len(self.names))[::-1]
        ax.barh(places, np.maximum(self.lower, 0.0), color=COLOURS[0])
        ax.set_yticks(places, [literal_text(name) for name in self.names])
        ax.set_xlabel("rise of the objective without the feature")


def _signed_text(bound: float, sense: Sense) -> str:
    """Return a bound of a rise as text with its sign."""
    return f"{'+' if bound >= 0.0 else ''}{bound_text(bound, sense, 6)}"


@dataclass(frozen=True, eq=False)
class ImportanceQuestion(BoundedQuestion):
    """The least rise of the objective, over that of ``best``, of a classifier without one feature.

    Parameters
    ----------
    model : Margin
        The model with all features.
    column : int
        Index of the feature's coefficient in w, which must be penalised.
    best : tuple of float
        The classifier of comparison.
    """

    model: Margin
    column: int
    best: tuple[float, ...]

    sense: ClassVar[Sense] = "minimum"

    def __post_init__(self) -> None:
        if self.column not in coefficient_columns(self.model):
            raise InputError(
                f"column must be one of {coefficient_columns(self.model)}; it is {short_text(self.column)}", name="column"
            )

    @property
    def exclusions(self) -> Mapping[int, CoefficientBounds]:
        """The restriction to classifiers without a feature, by its column."""
        return {j: CoefficientBounds.of_coefficient(self.model.width, j, 0.0, 0.0) for j in coefficient_columns(self.model)}

    def problems(self) -> Mapping[str, Model]:
        """Return the model without each feature."""
        return {item.name: item.model(self.model) for item in self.exclusions.values() if item.is_possible(self.model)}

    def evaluate(self, evidence: Evidence) -> float:
        """Return the rise that the witness without the feature attains."""
        importance = checked_evidence(evidence, FeatureImportance)
        if self.column not in importance.columns:
            raise InputError(f"the evidence must have a classifier without the feature of column {self.column}", name="evidence")
        return self._attained(importance.witnesses[importance.columns.index(self.column)], self.column)

    def _attained(self, w: tuple[float, ...], j: int) -> float:
        return math.inf if w[j] else classifier_cost(self.model, w) - classifier_cost(self.model, self.best)

    def bound(self, bounds: Mapping[str, float]) -> float:
        """Return the proved lower bound of the rise; -∞ where none is proved.

        The rise is over a classifier that was found, which a cheaper one without the feature may exist beside: then it is
        negative, and zero is no bound of it.
        """
        return self._rise(self.column, bounds)

    def _rise(self, j: int, bounds: Mapping[str, float]) -> float:
        item = self.exclusions[j]
        bound = bounds.get(item.name, -math.inf) if item.is_possible(self.model) else math.inf
        return bound - classifier_cost(self.model, self.best)

    def objection(self, evidence: Evidence, bounds: Mapping[str, float]) -> str:
        """Return the objection that a stated rise is larger than is proved, or not its witness's; empty if there is none."""
        assert isinstance(evidence, FeatureImportance)
        columns = coefficient_columns(self.model)
        if (evidence.names, evidence.columns, evidence.best) != (coefficient_names(self.model), columns, self.best):
            return "the rises are of other coefficients or over another classifier"
        attained = [self._attained(w, j) for w, j in zip(evidence.witnesses, columns, strict=True)]
        if not np.array_equal(attained, evidence.upper):
            return "the witnesses attain other rises than are stated"
        proved = np.array([self._rise(j, bounds) for j in columns])
        return "" if (evidence.lower <= proved).all() else "the logs prove smaller rises than are stated"

    def claim(self, bound: float) -> str:
        """Return the claim that no classifier without the feature is as good."""
        feature = coefficient_names(self.model)[coefficient_columns(self.model).index(self.column)]
        if bound <= 0.0:
            return f"Classifiers without {feature} are not proved to have a larger least objective"
        rise = bound_text(bound, self.sense, 6)
        return f"Every classifier without {feature} has an objective at least {rise} above the best one found"

    @property
    def data(self) -> str:
        """Return the number of points and the cost of comparison."""
        return f"{count_text(len(self.model.y), 'point')}, objective {classifier_cost(self.model, self.best):.6g} with it"


def feature_importance(
    model: Model,
    *,
    solver: str = "margin-bb",
    time_limit: float | None = None,
    proof: str | Path | None = None,
    jobs: int | None = None,
) -> Answer[FeatureImportance]:
    """Bound the rise of the least objective when a feature is left out, feature by feature.

    Parameters
    ----------
    model, solver, time_limit, proof
        As in `coefficient_ranges` above.
    jobs : int, optional
        Number of features solved in parallel, -1 for all cores; the answer does not depend on it.

    Returns
    -------
    Answer
        About the most important feature: ``bound`` ≤ rise of the optimum over the best objective found ≤ ``value``; the rise and
        its bound are negative where a classifier without the feature may cost less than the best one found. ``evidence``
        is a `FeatureImportance` with the bounds of all features; their logs lie in the folder ``proof``.

    Raises
    ------
    InputError
        As in `coefficient_ranges`.
    """
    solves = RestrictedSolver(model, 0.0, solver, time_limit, proof, jobs)
    base = solves.model
    columns, names = coefficient_columns(base), coefficient_names(base)
    exclusions = [CoefficientBounds.of_coefficient(base.width, j, 0.0, 0.0) for j in columns]
    bounds = solves.solve_all(exclusions)
    cost, best = min(solves.classifiers)
    chosen = [min(((c, w) for c, w in solves.classifiers if not w[j]), default=(math.inf, best)) for j in columns]
    lower, upper = np.array(bounds) - cost, np.array([c for c, _ in chosen]) - cost
    evidence = FeatureImportance(names, columns, lower, upper, best, tuple(w for _, w in chosen))
    k = int(lower.argmax())
    return solves.answer(ImportanceQuestion(base, columns[k], best), evidence, exclusions)


@dataclass(frozen=True, eq=False)
class SupportSet(Evidence):
    """The supports (sets of features with a nonzero coefficient) of the classifiers of the set.

    Parameters
    ----------
    names : tuple of str
        Names of all features.
    columns : tuple of int
        Indices of the features' coefficients in w.
    supports : tuple of tuples of str
        The names of the features of each support.
    witnesses : tuple of tuples of float
        The best classifier found of each support.
    costs : tuple of float
        The objectives of the witnesses.
    """

    names: tuple[str, ...]
    columns: tuple[int, ...]
    supports: tuple[tuple[str, ...], ...]
    witnesses: tuple[tuple[float, ...], ...]
    costs: tuple[float, ...]

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return each support with the cost of its best classifier found."""
        rows = zip(self.supports, self.costs, strict=True)
        return tuple(
            (f"support {k}", f"{', '.join(names) or 'the intercept alone'}: {c:.6g}") for k, (names, c) in enumerate(rows, 1)
        )

    def draw(self, ax: Axes) -> None:
        """Draw which feature is in which support."""
        for k, support in enumerate(self.supports):
            rows = [j for j, name in enumerate(self.names) if name in support]
            ax.plot([k + 1] * len(rows), rows, "s", color=COLOURS[0])
        ax.set_yticks(range(len(self.names)), [literal_text(name) for name in self.names])
        ax.set_xlabel("support")


@dataclass(frozen=True, eq=False)
class SupportQuestion(LevelQuestion):
    """The number of supports of integer classifiers of the set.

    Parameters
    ----------
    model, within, level, exclusions
        As in `RangeQuestion` above.
    supports : tuple of tuples of int
        The columns of each support. All sign patterns of other supports are excluded, as the answer claims.
    """

    supports: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not self.model.domain.integer:
            raise InputError("supports needs whole coefficients: domain=Integers(...), or a ScoringSystem", name="domain")

    def evaluate(self, evidence: Evidence) -> float:
        """Return the number of supports that witnesses of the set have; NaN if none justifies the level (`covers`)."""
        witnesses = checked_evidence(evidence, SupportSet).witnesses
        if not any(map(self.covers, witnesses)):
            return math.nan
        return float(len({tuple(j for j in self.columns if w[j]) for w in self.classifiers_within_level(witnesses)}))

    def bound(self, bounds: Mapping[str, float]) -> float:
        """Return the number of ``supports`` if the exclusions cover the sign patterns of all others; else 2^k of k features."""
        chosen = [item for item in self.exclusions if self.excluded(item, bounds)]
        return float(len(self.supports)) if self._covered((), chosen) else float(2 ** len(self.columns))

    def objection(self, evidence: Evidence, bounds: Mapping[str, float]) -> str:
        """Return the objection that supports or costs are not those of the witnesses; empty if they are."""
        assert isinstance(evidence, SupportSet)
        restated = _support_set(self.model, evidence.witnesses)
        return "" if evidence.facts() == restated.facts() else "the supports or their costs are not those of the witnesses"

    def _covered(self, pattern: tuple[int, ...], chosen: list[Restriction]) -> bool:
        """Return whether each completion of a sign pattern is excluded or has one of ``supports``."""
        item = pattern_box(self.model.width, self.columns, pattern)
        if item in chosen or not item.is_possible(self.model):
            return True
        if len(pattern) == len(self.columns):
            return tuple(j for j, s in zip(self.columns, pattern, strict=True) if s) in self.supports
        return all(self._covered((*pattern, sign), chosen) for sign in (-1, 0, 1))

    def claim(self, bound: float) -> str:
        """Return the claim that there are no other supports."""
        sets = "one set of features supports" if bound == 1.0 else f"{bound:.0f} sets of features support"
        return f"No more than {sets} a classifier within {percentage(self.within)}% of the best"


def pattern_box(p: int, columns: tuple[int, ...], pattern: tuple[int, ...]) -> CoefficientBounds:
    """Return the bounds of integer points of p coefficients in which the first of ``columns`` have the signs of ``pattern``."""
    low, high = [-math.inf] * p, [math.inf] * p
    for j, sign in zip(columns, pattern, strict=False):
        low[j], high[j] = (1.0, math.inf) if sign > 0 else (-math.inf, -1.0) if sign < 0 else (0.0, 0.0)
    return CoefficientBounds(tuple(low), tuple(high))


def supports(
    model: Model,
    within: float = 0.02,
    *,
    solver: str = "margin-bb",
    time_limit: float | None = None,
    proof: str | Path | None = None,
    jobs: int | None = None,
) -> Answer[SupportSet]:
    """List all supports of integer classifiers within ε of the best, with a proof that there are no others.

    The search branches on the signs -, 0, + of one coefficient after the other, shorter sign patterns first. A pattern without a
    classifier in the set is excluded by the bound of one solve.

    Parameters
    ----------
    model, within, solver, time_limit, proof
        As in `coefficient_ranges` above; the coefficients must be whole numbers, as in a `ScoringSystem`.
    jobs : int, optional
        Number of sign patterns solved in parallel, -1 for all cores; the answer does not depend on it.

    Returns
    -------
    Answer
        ``evidence`` is a `SupportSet`. ``value`` ≤ number of supports ≤ ``bound``.

    Raises
    ------
    InputError
        As in `coefficient_ranges`; coefficients that are real numbers.
    """
    solves = RestrictedSolver(model, within, solver, time_limit, proof, jobs)
    base = solves.model
    question = SupportQuestion(base, solves.within, solves.level, (), ())
    columns = coefficient_columns(base)
    exclusions: list[CoefficientBounds] = []
    patterns: list[tuple[int, ...]] = [()]
    for length in range(len(columns) + 1):
        boxes = {pattern: pattern_box(base.width, columns, pattern) for pattern in patterns}
        boxes = {pattern: item for pattern, item in boxes.items() if item.is_possible(base)}
        solves.solve_all([item for item in boxes.values() if not _witnessed(solves, item)])
        unwitnessed = {pattern: item for pattern, item in boxes.items() if not _witnessed(solves, item)}
        excluded = {pattern: item for pattern, item in unwitnessed.items() if solves.excludes(item)}
        exclusions += excluded.values()
        if length < len(columns):
            patterns = [(*pattern, sign) for pattern in boxes if pattern not in excluded for sign in (-1, 0, 1)]
    witnesses: dict[tuple[int, ...], tuple[float, ...]] = {}
    for w in solves.classifiers_within_level():
        witnesses.setdefault(tuple(j for j in columns if w[j]), w)
    question = replace(question, exclusions=tuple(exclusions), supports=tuple(witnesses))
    evidence = _support_set(base, tuple(witnesses.values()))
    return solves.answer(question, evidence, exclusions)


def _support_set(model: Margin, witnesses: tuple[tuple[float, ...], ...]) -> SupportSet:
    """Return the supports of classifiers, in the model's names, and their costs."""
    columns, names = coefficient_columns(model), coefficient_names(model)
    words = tuple(tuple(name for name, j in zip(names, columns, strict=True) if w[j]) for w in witnesses)
    return SupportSet(names, columns, words, witnesses, tuple(classifier_cost(model, w) for w in witnesses))


def _witnessed(solves: RestrictedSolver, item: CoefficientBounds) -> bool:
    """Return whether a classifier of the set that satisfies a restriction is known."""
    return any(
        all(low <= x <= high for low, x, high in zip(item.lower, w, item.upper, strict=True))
        for w in solves.classifiers_within_level()
    )
