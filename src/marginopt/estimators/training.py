"""Solve the model of an estimator's fit, with the errors and warnings of scikit-learn, and log solves that take long.

The estimators of this package call these functions in ``fit``. A *binary problem* is that of two classes, one of several if there
are more.
"""

from __future__ import annotations

import copy
import logging
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..errors import NotSeparableError, SolverError
from ..models.arrays import BoolArray, FloatArray, Points
from ..models.model import Model
from ..solvers.certification.result import Result
from ..solvers.records import Options, Status
from ..solvers.registry import resolve_solver
from ..solvers.solve import solve_problem
from .training_set import Solution

#: Share of the largest multiplier of an infeasible problem below which others are its rounding.
_ROUNDING = 1e-9
#: Share of the weight below which no warning says that a class is never predicted.
_MINOR = 0.01
#: Share of the right points, relative to that of the largest class, below which a classifier is worth a warning: a reversed one.
_USELESS = 0.6
#: Seconds of a solve after which the log says what is being solved.
LOG_AFTER_SECONDS = 10.0
#: Names of the formulations whose slow solves the log has told of in this process.
_LOGGED: set[str] = set()
_LOGGER = logging.getLogger("marginopt")
#: Training points that are classified first to see whether both classes occur.
_FIRST_POINTS = 1000


@dataclass(frozen=True, eq=False)
class BinaryFit:
    """The fit of one binary problem of a classifier."""

    #: The model as it was stated; a copy of it was solved.
    problem: Model
    #: The result of the solve, with its certificate.
    result: Result
    #: The classifier that the result gives.
    solution: Solution


def solve_for_classifier(problem: Model, solver: Any, options: Options, expected: frozenset[Status] = frozenset()) -> Result:
    """Solve a classifier's model by `solve_with_warning`; warn if the classifier is no better than w = 0; return the result."""
    result = solve_with_warning(problem, solver, options, expected, "classifier")
    if result.solved or result.status in expected:
        _warn_of_zero(problem, result)
    return result


def solve_with_warning(problem: Model, solver: Any, options: Options, expected: frozenset[Status], noun: str) -> Result:
    """Solve a model and return the result; warn (`ConvergenceWarning`) if it is neither optimal nor ``expected``.

    Parameters
    ----------
    problem, solver, options
        The model, a solver's name or object, and the options of the solve, such as the tolerance.
    expected : frozenset of Status
        Statuses that need no warning.
    noun : str
        The word for what is fitted, for messages: "classifier" or "regressor".

    Raises
    ------
    NotSeparableError
        The rows of the margins of a hard-margin problem exclude each other.
    SolverError
        There is no point for another reason: infeasible, unbounded, or the solver gave none.
    """
    with log_slow_solve(problem, resolve_solver(solver).label, "time_limit= bounds the time", bool(options.progress)):
        result = solve_problem(problem, solver, options)
    if result.values:
        if result.status is not Status.OPTIMAL and result.status not in expected:
            warnings.warn(
                f"{result.solver} on {result.model}: {result.status.message} {_reason(result)}",
                ConvergenceWarning,
                stacklevel=3,
            )
        return result
    if result.status is Status.UNBOUNDED:
        raise SolverError(
            f"{result.model} has no best {noun}: its objective is unbounded; another regulariser, or a domain, bounds it",
            status="unbounded",
        )
    conflict = [] if result.farkas is None else _conflicting_rows(result.farkas)
    if result.status is Status.INFEASIBLE and conflict == ["margin"]:
        assert result.farkas is not None
        farkas = tuple(np.asarray(result.farkas["margin"], dtype=float).tolist())
        raise NotSeparableError("the classes are not separable, so kappa = 0 has no solution; give kappa > 0 or lam", farkas)
    if result.status is Status.INFEASIBLE:
        rows = f": {', '.join(conflict)} cannot hold together" if conflict else ""
        raise SolverError(
            f"{result.model} has no {noun} that satisfies its restrictions{rows}", status="infeasible", rows=conflict
        )
    raise SolverError(
        f"{result.solver} gave no {noun} for {result.model}: {result.status.message}; try another solver=",
        solver=result.solver,
    )


def _reason(result: Result) -> str:
    """Return what a point that is not optimal lacks, and what to change."""
    if result.status is Status.STATIONARY:
        return f"({result.evidence or 'see certificate_'})"
    gap = f"{result.gap:.1e}" if np.isfinite(result.gap) else "unknown"
    return (
        f"(relative gap {gap}; see certificate_). "
        "Standardise the features, or give another solver= or a larger tol= or time_limit="
    )


@contextmanager
def log_slow_solve(problem: Model, solver: str, remedy: str, shows_progress: bool) -> Iterator[None]:
    """Log within the block, after `LOG_AFTER_SECONDS`, which problem is being solved; once for each formulation in a process.

    Parameters
    ----------
    problem : Model
        The model that is solved.
    solver : str
        Name of its solver, for the log.
    remedy : str
        The parameter of the estimator that shortens the fit, and what it does.
    shows_progress : bool
        Whether the solve shows its progress, so that no line is logged.
    """

    def tell() -> None:
        _LOGGED.add(problem.name)
        _LOGGER.warning(
            "%s by %s has taken %g s so far: %s; %s, verbose=True shows the progress",
            problem.name, solver, LOG_AFTER_SECONDS, problem.statement.sizes, remedy,
        )  # fmt: skip

    if shows_progress or problem.name in _LOGGED:
        yield
        return
    timer = threading.Timer(LOG_AFTER_SECONDS, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _warn_of_zero(problem: Model, result: Result) -> None:
    """Warn of a classifier that is not certified to be better than w = 0, so that its direction may be rounding error.

    The gain over w = 0 is to be more than what the solver left open. A search that its budget ended leaves nearly all open, so
    there the incumbent itself is to be better.
    """
    if not np.isfinite(problem.value_at_zero) or result.objective is None:
        return
    gain = problem.value_at_zero - result.objective
    gap = result.objective - result.bound if result.solved and result.bound is not None else 0.0
    rounding = 0.0 if result.certificate is None else result.certificate.error
    if gain > max(gap, rounding):
        return
    remedy = "a larger lam, or a smaller tol" if result.solved else "a larger time_limit or node_limit, or a larger lam"
    warnings.warn(
        f"{result.solver} on {result.model}: the classifier is not better than w = 0 by more than the tolerance (objective "
        f"{result.objective:.6g}, {problem.value_at_zero:.6g} at w = 0, {gap:.1e} left open), so its direction means nothing; "
        f"give {remedy}",
        ConvergenceWarning,
        stacklevel=3,
    )


def warn_of_useless_classifier(
    name: str, predict: Callable[[Points], np.ndarray], X: Points, labels: np.ndarray, weights: FloatArray
) -> None:
    """Warn of a classifier that predicts one class for all training points, or is less accurate than a constant prediction.

    No warning is given if the other classes have less than 1% of the weight. A part of the points is classified first, which
    decides for most classifiers.

    Parameters
    ----------
    name : str
        Name of the estimator, for the message.
    predict : callable
        Returns the predicted labels of rows.
    X, labels, weights
        The training points (n × p), their labels (n,) and weights (n,).
    """
    step = max(1, labels.size // _FIRST_POINTS)
    for rows in (slice(None, None, step), slice(None)):
        predicted = predict(X[rows])
        if (predicted != predicted[0]).any():
            _warn_of_errors(name, predicted == labels[rows], labels[rows], weights[rows])
            return
    other_share = float(weights[labels != predicted[0]].sum()) / float(weights.sum())
    if other_share < _MINOR:
        return
    warnings.warn(
        f"{name} puts all {labels.size} training points into class {predicted.tolist()[0]!r}, "
        f"though {other_share:.0%} of their weight is in others; "
        "give a larger C or lam, class_weight='balanced', or standardise the features",
        ConvergenceWarning,
        stacklevel=4,
    )


def _warn_of_errors(name: str, right: BoolArray, labels: np.ndarray, weights: FloatArray) -> None:
    """Warn where the right points weigh less than `_USELESS` times those of the heaviest class."""
    total = float(weights.sum())
    largest_class = max(float(weights[labels == label].sum()) for label in np.unique(labels)) / total
    share = float(weights[right].sum()) / total
    if share >= _USELESS * largest_class:
        return
    warnings.warn(
        f"{name} is right on {share:.0%} of the training points' weight, and one class alone has {largest_class:.0%} of it; "
        "give another C or lam, or standardise the features",
        ConvergenceWarning,
        stacklevel=5,
    )


def _conflicting_rows(farkas: Mapping[str, FloatArray]) -> list[str]:
    """Return the labels of the rows in a Farkas certificate, apart from multipliers of the size of rounding."""
    sizes = {label: float(np.abs(z).max(initial=0.0)) for label, z in farkas.items()}
    threshold = _ROUNDING * max(sizes.values(), default=0.0)
    return [label for label, size in sizes.items() if size > threshold]


def fit_binary_problem(
    solution: Callable[[Model, Result], Solution],
    problem: Model,
    solver: Any,
    options: Options,
    expected: frozenset[Status] = frozenset(),
) -> BinaryFit:
    """Solve a copy of a binary problem's model and return the fit; the model itself stays without kernel columns and form.

    Parameters
    ----------
    solution : callable
        Returns the classifier of a model and its result.
    problem, solver, options, expected
        As in `solve_with_warning`.
    """
    work = copy.copy(problem)
    result = solve_for_classifier(work, solver, options, expected)
    return BinaryFit(problem, result, solution(work, result))


def run_fit_task(task: tuple[Any, ...], threads: int | None) -> BinaryFit:
    """Run `fit_binary_problem` on a tuple of its arguments, by ``threads`` where the options set none, as executors call it."""
    solution, problem, solver, options, expected = task
    return fit_binary_problem(solution, problem, solver, options.with_default_threads(threads), expected)


def single_or_list(items: list[Any]) -> Any:
    """Return the only item, or the list of several."""
    return items[0] if len(items) == 1 else items
