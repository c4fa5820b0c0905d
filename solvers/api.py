"""``solve`` and ``compare`` as users call them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InputError, MarginoptError
from ..models.arrays import FloatArray
from ..models.model import Model
from ..models.program.form import StandardForm
from .compare import Comparison, ComparisonRow
from .interface.solver import Solver
from .judging.result import Result
from .records.options import Callback, Options
from .solve import as_problem, solve_problem

__all__ = ["compare", "solve"]


def solve(
    model: Model | StandardForm,
    solver: str | Solver = "auto",
    *,
    time_limit: float | None = None,
    tol: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    iteration_limit: int | None = None,
    node_limit: int | None = None,
    memory_limit: float | None = None,
    verbose: bool = False,
    progress: bool = False,
    start: Mapping[str, FloatArray] | None = None,
    callback: Callback | None = None,
    **native: Any,
) -> Result:
    """Solve a formulation and recompute the certificate of the answer.

    Parameters
    ----------
    model : Model or StandardForm
    solver : str or Solver
        A name of ``marginopt.solvers()``, or ``"auto"``.
    time_limit, tol, threads, seed, iteration_limit, node_limit, memory_limit, verbose, progress, start, callback
        See `marginopt.Options`.
    **native
        The solver's own options by its own names, passed through untouched; an unknown one is an error.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        Unknown solver, option or value.
    UnsupportedModelError
        The solver cannot read the model; the message says what is missing and which solvers can.
    MissingPackageError, LicenceError
        The solver is not installed, or its licence does not cover the model.
    """
    options = Options(
        time_limit=time_limit,
        tol=tol,
        threads=threads,
        seed=seed,
        iteration_limit=iteration_limit,
        node_limit=node_limit,
        memory_limit=memory_limit,
        verbose=verbose,
        progress=progress,
        start=start,
        callback=callback,
        native=native,
    )
    return solve_problem(model, solver, options)


def compare(
    model: Model | StandardForm,
    solvers: Sequence[str],
    *,
    time_limit: float | None = None,
    tol: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: bool = False,
) -> Comparison:
    """Solve one model by several solvers, one after the other, under the same limits.

    A solver that cannot take the model (unknown feature, missing package or licence) becomes a row with its reason.

    Raises
    ------
    InputError
        No solvers were named, or a name does not exist.
    """
    from .registry import get_solver

    if isinstance(solvers, str) or not solvers:
        raise InputError(f"solvers must be a list of solver names; it is {solvers!r}")
    for name in solvers:
        if name != "auto":
            get_solver(name)  # a misspelt name is an error of the call, not a row
    problem = as_problem(model)
    options = Options(time_limit=time_limit, tol=tol, threads=threads, seed=seed, progress=progress)
    rows = []
    for name in solvers:
        try:
            rows.append(ComparisonRow(name, solve_problem(model, name, options), ""))
        except MarginoptError as error:
            rows.append(ComparisonRow(name, None, str(error)))
    return Comparison(problem.name, tuple(rows))
