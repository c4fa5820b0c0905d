"""Solving one binary problem for an estimator: what is an error, what a warning, and what is kept."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..errors import NotSeparableError, SolverError
from ..models.arrays import FloatArray
from ..models.model import Model
from ..solvers.judging.result import Result
from ..solvers.records.options import Options
from ..solvers.records.status import Status
from ..solvers.solve import solve_problem
from .spaces import Solution

__all__ = ["Outcome", "one_or_all", "solve_checked", "solved", "solved_task"]


#: Share of the largest multiplier of an infeasible problem below which others are its rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Outcome:
    """One binary problem, solved."""

    problem: Model
    result: Result
    solution: Solution


def solve_checked(problem: Model, solver: Any, options: Options, expected: frozenset[Status] = frozenset()) -> Result:
    """Solve a model; an answer short of what was asked and ``expected`` is a ConvergenceWarning, none at all an error.

    Raises
    ------
    NotSeparableError
        A hard-margin problem on classes that no hyperplane separates.
    SolverError
        The solver gave no point; where there is none, or no best one, that is what it says.
    """
    result = solve_problem(problem, solver, options)
    if result.values:
        if not result.solved and result.status not in expected:
            gap = f"{result.gap:.1e}" if np.isfinite(result.gap) else "unknown"
            warnings.warn(
                f"{result.solver} on {result.model}: {result.status.message} (relative gap {gap}); "
                "result_ and certificate_ say more, tol= and time_limit= ask for less or more",
                ConvergenceWarning,
                stacklevel=2,
            )
        return result
    if result.status is Status.UNBOUNDED:
        raise SolverError(
            f"{result.model} has no best classifier: its objective is unbounded; another regulariser, or a domain, bounds it"
        )
    priced = [] if result.farkas is None else _priced(result.farkas)
    if result.status is Status.INFEASIBLE and priced == ["margin"]:
        assert result.farkas is not None
        farkas = tuple(np.asarray(result.farkas["margin"], dtype=float).tolist())
        raise NotSeparableError("the classes are not separable, so kappa = 0 has no solution; give kappa > 0 or lam", farkas)
    if result.status is Status.INFEASIBLE:
        rows = f": {', '.join(priced)} cannot hold together" if priced else ""
        raise SolverError(f"{result.model} has no classifier that satisfies its restrictions{rows}")
    raise SolverError(f"{result.solver} gave no classifier for {result.model}: {result.status.message}; try another solver=")


def _priced(farkas: Mapping[str, FloatArray]) -> list[str]:
    """Rows with multipliers that are more than the largest one's rounding."""
    sizes = {label: float(np.abs(z).max(initial=0.0)) for label, z in farkas.items()}
    least = _ROUNDING * max(sizes.values(), default=0.0)
    return [label for label, size in sizes.items() if size > least]


def solved(
    solution: Callable[[Model, Result], Solution],
    problem: Model,
    solver: Any,
    options: Options,
    expected: frozenset[Status] = frozenset(),
) -> Outcome:
    """Solve a copy, so that the model that is kept carries no kernel columns and no compiled form."""
    work = copy.copy(problem)
    result = solve_checked(work, solver, options, expected)
    return Outcome(problem, result, solution(work, result))


def solved_task(task: tuple[Any, ...], threads: int | None) -> Outcome:
    """`solved` as a task: its arguments in a tuple, and the threads to take where the options ask for none."""
    solution, problem, solver, options, expected = task
    return solved(solution, problem, solver, options.sharing(threads), expected)


def one_or_all(items: list[Any]) -> Any:
    """The only item, or all of them."""
    return items[0] if len(items) == 1 else items
