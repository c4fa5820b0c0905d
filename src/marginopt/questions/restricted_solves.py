"""Solves of a model with one added restriction each, from which `rashomon_set` and `most_different` derive their answers.

If a restricted model has a lower bound above a level, no classifier of objective at most the level satisfies the restriction: it
is *excluded*, and the solve's proof log is the certificate. A classifier that a solve finds within the level is a *witness*.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..display import bound_text
from ..errors import InputError, count_text
from ..models.arrays import as_positive
from ..models.formulations.margin.model import Margin
from ..models.formulations.margin.part import Box, Increasing, Integers
from ..models.model import Model
from ..solvers.exact.check.log_reader import stated_bound
from ..solvers.parallel import SerialExecutor, choose_executor
from ..solvers.solve import solve
from .answer import Answer, BoundedQuestion, Evidence, ProofLog

E = TypeVar("E", bound=Evidence)


class Restriction(ABC):
    """The base class of restrictions that are added to a model's classifiers, such as bounds on a coefficient."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the restriction in words, which names its problem."""

    @abstractmethod
    def model(self, base: Margin) -> Margin:
        """Return the model ``base`` with the restriction added."""

    @abstractmethod
    def is_possible(self, base: Margin) -> bool:
        """Return False if the domain and the bounds of single coefficients exclude every point."""


@dataclass(frozen=True)
class CoefficientBounds(Restriction):
    """The restriction lower ≤ w ≤ upper, coefficient by coefficient.

    Parameters
    ----------
    lower, upper : tuple of float (p,)
        Bounds of the coefficients; -∞ and ∞ for none.
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]

    @property
    def name(self) -> str:
        """Return the restriction in words, which names its problem."""
        parts = []
        for j, (low, high) in enumerate(zip(self.lower, self.upper, strict=True)):
            if low == high:
                parts.append(f"w_{j} = {low:.17g}")
            else:
                parts += [f"w_{j} >= {low:.17g}"] if low > -math.inf else []
                parts += [f"w_{j} <= {high:.17g}"] if high < math.inf else []
        return ", ".join(parts) or "all"

    def model(self, base: Margin) -> Margin:
        """Return the model with these bounds on the coefficients."""
        low, high = base.domain.bounds(base.width)
        lower, upper = np.maximum(low, self.lower), np.minimum(high, self.upper)
        kind = Integers if base.domain.integer else Box
        return replace(base, domain=kind(tuple(lower.tolist()), tuple(upper.tolist())))

    def is_possible(self, base: Margin) -> bool:
        """Return False if the domain and the bounds of single coefficients exclude every point."""
        low, high = base.coefficient_bounds
        return bool((np.maximum(low, self.lower) <= np.minimum(high, self.upper)).all())

    def side_of(self, p: int, j: int) -> CoefficientBounds:
        """Return the restriction that bounds coefficient j of p alone, as this one bounds it."""
        return CoefficientBounds.of_coefficient(p, j, self.lower[j], self.upper[j])

    @classmethod
    def of_coefficient(cls, p: int, j: int, lower: float = -math.inf, upper: float = math.inf) -> CoefficientBounds:
        """Return the restriction that bounds coefficient j of p alone; -∞ and ∞ are no bounds."""
        low, high = [-math.inf] * p, [math.inf] * p
        low[j], high[j] = lower, upper
        return cls(tuple(low), tuple(high))


@dataclass(frozen=True, eq=False)
class LevelQuestion(BoundedQuestion):
    """A question about the set of classifiers of objective at most ``level``.

    Parameters
    ----------
    model : Margin
        The model whose classifiers the question is about.
    within : float
        ε ≥ 0, relative to the best objective found.
    level : float
        f + ε|f|, where f is the objective of the best classifier found.
    exclusions : tuple of Restriction
        The restrictions that no classifier of the set satisfies, as the answer claims.
    """

    model: Margin
    within: float
    level: float
    exclusions: tuple[Restriction, ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """The indices of the coefficients in w, without a free intercept."""
        return coefficient_columns(self.model)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of `columns`."""
        return coefficient_names(self.model)

    def problems(self) -> Mapping[str, Model]:
        """Return the model under each restriction."""
        return {
            restriction.name: restriction.model(self.model)
            for restriction in self.exclusions
            if restriction.is_possible(self.model)
        }

    def excluded(self, restriction: Restriction, bounds: Mapping[str, float]) -> bool:
        """Return whether lower bounds of the problems prove that no classifier of the set satisfies a restriction."""
        return not restriction.is_possible(self.model) or bounds.get(restriction.name, -math.inf) > self.level

    def covers(self, best: tuple[float, ...]) -> bool:
        """Return whether the level is at least f + ε|f| for the objective f of a classifier ``best``, which then justifies it.

        The set then holds all classifiers within ε of the optimum.
        """
        cost = classifier_cost(self.model, best)
        return self.level >= (cost + self.within * abs(cost)) * (1.0 - 1e-12)

    def classifiers_within_level(self, witnesses: Iterable[tuple[float, ...]]) -> list[tuple[float, ...]]:
        """Return those of the witnesses whose objective is at most the level."""
        return [w for w in witnesses if classifier_cost(self.model, w) <= self.level]

    @property
    def data(self) -> str:
        """Return the number of points and the level."""
        return f"{count_text(len(self.model.y), 'point')}, objective at most {bound_text(self.level, 'minimum', 6)}"


@dataclass(frozen=True)
class _SolveTask:
    """The task of solving a model under one restriction, for an executor.

    Parameters
    ----------
    model : Margin
    restriction : Restriction
    solver : str
    time_limit : float or None
        Seconds of the solve.
    path : Path or None
        The file of the proof log.
    """

    model: Margin
    restriction: Restriction
    solver: str
    time_limit: float | None
    path: Path | None

    def run(self, threads: int | None = None) -> _SolveOutcome:
        """Solve by one thread, whatever ``threads`` offers, so that the result depends on the task alone."""
        options: dict[str, Any] = {} if self.path is None else {"proof": str(self.path)}
        result = solve(self.restriction.model(self.model), self.solver, time_limit=self.time_limit, threads=1, **options)
        bound, classifier, log = -math.inf if result.bound is None else float(result.bound), None, None
        if result.values is not None and "w" in result.values:
            w = np.asarray(result.values["w"], dtype=np.float64)
            counted = self.model.exact_cost({"w": w})
            if counted is not None and not counted.excess:
                classifier = counted.cost, tuple(w.tolist())
        if self.path is not None and self.path.exists():
            bound, log = min(bound, stated_bound(self.path)), ProofLog.of_file(self.restriction.name, self.path)
        return _SolveOutcome(bound, classifier, result.bound_kind == "proved", log)


@dataclass(frozen=True)
class _SolveOutcome:
    """The result of a `_SolveTask`.

    Parameters
    ----------
    bound : float
        Lower bound of the restricted model.
    classifier : tuple of (float, tuple of float) or None
        Objective and coefficients of the classifier that the solve found.
    proved : bool
        Whether the bound holds in exact arithmetic.
    log : ProofLog or None
        The log that proves the bound, if one was asked for.
    """

    bound: float
    classifier: tuple[float, tuple[float, ...]] | None
    proved: bool
    log: ProofLog | None


class RestrictedSolver:
    """Solves a model without and with added restrictions, and stores bounds, logs and classifiers, from which `answer` is made.

    Parameters
    ----------
    model : Model
        A `Margin`, or a formulation that is one.
    within : float
        ε ≥ 0, relative to the best objective found.
    solver : str
        Name of the solver.
    time_limit : float or None
        Seconds of each solve.
    proof : str, Path or None
        Folder of the proof logs; None for no logs.
    jobs : int or None
        Number of parallel solves in `solve_all`.

    Attributes
    ----------
    model : Margin
        The model as a `Margin`.
    best : tuple of float
        The best classifier that the unrestricted solve found.
    level : float
        f + ε|f|, where f is the objective of ``best``.
    bounds, logs : dict
        Lower bound and `ProofLog` of each solve, by the restriction's name.
    classifiers : list of (float, tuple of float)
        Objective and coefficients of each classifier found.
    proved : bool
        Whether all bounds hold in exact arithmetic.
    """

    def __init__(
        self, model: Model, within: float, solver: str, time_limit: float | None, proof: str | Path | None, jobs: int | None = 1
    ) -> None:
        self.model, self._solver, self._limit = _composition(model), solver, time_limit
        self.within = as_positive(within, "within", zero=True)
        self._folder, self._prefix, self._jobs = None if proof is None else Path(proof), "", jobs
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
        self.proved, self.logs = True, dict[str, ProofLog]()
        self.bounds, self.classifiers = dict[str, float](), list[tuple[float, tuple[float, ...]]]()
        self.level = math.inf
        p = self.model.width
        self.solve(CoefficientBounds((-math.inf,) * p, (math.inf,) * p))
        if not self.classifiers:
            raise InputError("the model has no classifier: its restrictions exclude all, or the time limit is too short")
        cost, self.best = min(self.classifiers)
        self.level = cost + self.within * abs(cost)

    def solve(self, restriction: Restriction) -> float:
        """Return the lower bound of the model under a restriction; infinite if the domain excludes the restriction."""
        return self.solve_all([restriction])[0]

    def solve_all(self, items: Sequence[Restriction]) -> list[float]:
        """Return the lower bound under each restriction; new ones are solved, ``jobs`` at a time."""
        possible = {restriction.name: restriction for restriction in items if restriction.is_possible(self.model)}
        unsolved = [restriction for name, restriction in possible.items() if name not in self.bounds]
        first = len(self.bounds)
        tasks = [
            _SolveTask(self.model, restriction, self._solver, self._limit, self._log_path(number))
            for number, restriction in enumerate(unsolved, first)
        ]
        with choose_executor(self._jobs) as executor:
            results = (executor if len(tasks) > 1 else SerialExecutor()).run_all(_SolveTask.run, tasks)
        for restriction, result in zip(unsolved, results, strict=True):
            self.bounds[restriction.name] = result.bound
            self.proved = self.proved and result.proved
            self.classifiers += [] if result.classifier is None else [result.classifier]
            if result.log is not None:
                self.logs[restriction.name] = result.log
        return [self.bounds[restriction.name] if restriction.name in possible else math.inf for restriction in items]

    def _log_path(self, number: int) -> Path | None:
        return None if self._folder is None else self._folder / f"{self._prefix}{number:03d}.jsonl"

    def branch(self, prefix: str) -> RestrictedSolver:
        """Return a copy with the solves so far, for a parallel task. It solves one model at a time; log names get the prefix."""
        branch = copy(self)
        branch._prefix, branch._jobs = prefix, 1
        branch.bounds, branch.logs, branch.classifiers = dict(self.bounds), dict(self.logs), list(self.classifiers)
        return branch

    def merge(self, branch: RestrictedSolver) -> None:
        """Add the bounds, logs and classifiers of a `branch` to these."""
        present = set(self.classifiers)
        self.bounds |= branch.bounds
        self.logs |= branch.logs
        self.classifiers += [pair for pair in branch.classifiers if pair not in present]
        self.proved = self.proved and branch.proved

    def excludes(self, restriction: Restriction) -> bool:
        """Solve with a restriction if needed; return True if no classifier within the level satisfies it."""
        return self.solve(restriction) > self.level

    def classifiers_within_level(self) -> list[tuple[float, ...]]:
        """Return the coefficients of the classifiers found within the level, the best one first."""
        return [w for cost, w in sorted(self.classifiers) if cost <= self.level]

    def answer(self, question: BoundedQuestion, evidence: E, exclusions: Iterable[Restriction]) -> Answer[E]:
        """Return the answer to a question that rests on the bounds under these restrictions, with their logs."""
        names = [restriction.name for restriction in exclusions]
        bounds = {name: self.bounds[name] for name in names if name in self.bounds}
        logs = tuple(self.logs[name] for name in names if name in self.logs)
        return Answer(question, question.evaluate(evidence), question.bound(bounds), self.proved, evidence, logs)


def coefficient_columns(model: Margin) -> tuple[int, ...]:
    """Return the indices of the coefficients in w, without a free intercept."""
    return tuple(int(j) for j in np.flatnonzero(model.penalised))


def coefficient_names(model: Margin) -> tuple[str, ...]:
    """Return the names of `coefficient_columns`: those of the features, or w_0, w_1, ..."""
    return tuple(model.feature_names[j] if model.feature_names else f"w_{j}" for j in coefficient_columns(model))


def classifier_cost(model: Margin, w: tuple[float, ...]) -> float:
    """Return the exact objective of a classifier; infinite if it violates the domain or a restriction of the model."""
    counted = model.exact_cost({"w": np.array(w)})
    return math.inf if counted is None or counted.excess else counted.cost


def _composition(model: Model) -> Margin:
    """Return the model as a composition with the model's names of features."""
    composed = model.composition if isinstance(model, Model) else None
    # exempt (formulation): these questions read a problem from parts
    if not isinstance(composed, Margin):
        raise InputError(f"this needs a Margin, or a formulation that is one; it got a {type(model).__name__}", name="model")
    if isinstance(composed.domain, Increasing):
        raise InputError("coefficients in an order have no ranges of their own here: state the model without Increasing")
    return composed if composed.data_names is not None else replace(composed, data_names=model.original_model.data_names)
