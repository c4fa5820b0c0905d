"""`warm_up`: compile the loops of solvers ahead of time and keep them on disk, so that no solve waits for the compiler."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .code_cache import CodeCache
from .errors import InputError, WriteError
from .models.formulations import all_formulations
from .models.formulations.margin.margin_losses import Hinge
from .models.formulations.margin.model import Margin
from .models.formulations.margin.parts_by_name import at_most
from .models.formulations.margin.scoring_system import ScoringSystem
from .models.model import Model
from .solvers.interface.algorithm import Algorithm
from .solvers.registry import all_solvers, get_solver
from .solvers.solve import solve


def warm_up(*names: str) -> dict[str, float]:
    """Compile the loops of these solvers (all, without names) and keep them on disk, as their first runs would.

    Each solver solves its `example_models`, once for each of `Algorithm.compiled_variants`, the options that need other code.

    Parameters
    ----------
    *names : str
        Names of solvers with compiled loops.

    Returns
    -------
    dict of str to float
        Seconds of compilation for each solver; next to zero if the loops were on disk.

    Raises
    ------
    InputError
        There is no such solver, or it has no compiled loops.
    WriteError
        No folder for the compiled code can be written.
    """
    seconds = {name: _warm(solver) for name, solver in compiled_solvers(*names).items()}
    if not CodeCache.on_disk:
        raise WriteError(
            "compiled code could not be kept: neither the package's folder nor the user's cache directory can be written; "
            "name a folder that can be in the environment variable NUMBA_CACHE_DIR"
        )
    return seconds


def compiled_solvers(*names: str) -> dict[str, Algorithm[Any, Any]]:
    """Return the named solvers, or all solvers that have compiled loops; raise InputError for one that has none."""
    solvers = {name: get_solver(name) for name in names or all_solvers(discover=False)}
    compiling = {name: solver for name, solver in solvers.items() if isinstance(solver, Algorithm) and solver.compiles}
    unsupported = sorted(set(names) - set(compiling))
    if unsupported:
        raise InputError(f"nothing is compiled for {', '.join(unsupported)}: it runs at full speed at once", name="solvers")
    return compiling


def _warm(solver: Algorithm[Any, Any]) -> float:
    begin, compiled = time.perf_counter(), 0.0
    for model in example_models(solver):
        for variant in solver.compiled_variants:
            compiled += solve(model, solver.info.name, tol=0.01, **variant).compile_seconds
    return min(compiled, time.perf_counter() - begin)


def example_models(solver: Algorithm[Any, Any]) -> list[Model]:
    """Return a small model for each *view* that the solver reads, from the formulations' examples and three more models.

    A view is a problem structure, such as `ZeroOneProblem`, in which a solver takes a model; each has compiled loops of its own.
    """
    models: dict[type, Model] = {}
    for state in (*(info.example for info in all_formulations().values()), _few_features, _risk_score, _sparse_ramp):
        if len(models) == len(solver.info.views):
            break
        model = state(np.random.default_rng(0))
        view = None if solver.obstacle(model) else solver.view_of(model)
        if view is not None:
            models.setdefault(type(view), model)
    return list(models.values())


def _few_features(rng: np.random.Generator) -> Model:
    """Return a hinge-loss model with at most two coefficients."""
    X = np.column_stack([np.ones(12), rng.normal(size=(12, 4))])
    return Margin(X, np.where(X[:, 1] + X[:, 2] > 0.0, 1.0, -1.0), Hinge(), subject_to=(at_most(2).nonzero,))


def _sparse_ramp(rng: np.random.Generator) -> Model:
    """Return a ramp-loss model with the L1 norm."""
    X = np.column_stack([np.ones(12), rng.normal(size=(12, 2))])
    return Margin(X, np.where(X[:, 1] + rng.normal(size=12) > 0.0, 1.0, -1.0), "ramp", "l1")


def _risk_score(rng: np.random.Generator) -> Model:
    """Return a model of whole coefficients with the logistic loss."""
    X = np.column_stack([np.ones(12), rng.integers(0, 2, (12, 3)).astype(np.float64)])
    return ScoringSystem(X, np.where(X[:, 1] + rng.normal(size=12) > 0.5, 1.0, -1.0), (-1, 1), loss="logistic")
