"""Compiling ahead of time: every loop of the named solvers, so that no run has to wait for them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .code_cache import CodeCache
from .errors import InputError, WriteError
from .models.formulations import all_formulations
from .models.model import Model
from .solvers.interface.algorithm import Algorithm
from .solvers.registry import all_solvers, get_solver
from .solvers.solve import solve

__all__ = ["compiled_solvers", "examples", "warm_up"]


def warm_up(*names: str) -> dict[str, float]:
    """Compile the loops of these solvers (all, without names) and keep them on disk, as their first runs would.

    The smallest examples are solved, one for each structure that a solver reads, with each of its `Algorithm.variants`.

    Parameters
    ----------
    *names : str
        Of solvers with compiled loops.

    Returns
    -------
    dict of str to float
        Seconds that were compiled for each solver; next to nothing where its loops were there.

    Raises
    ------
    InputError
        There is no such solver, or it has no compiled loops.
    WriteError
        No folder could be written to keep them in.
    """
    seconds = {name: _warm(solver) for name, solver in compiled_solvers(*names).items()}
    if not CodeCache.kept:
        raise WriteError(
            "compiled code could not be kept: neither the package's folder nor the user's cache directory can be written; "
            "name a folder that can be in the environment variable NUMBA_CACHE_DIR"
        )
    return seconds


def compiled_solvers(*names: str) -> dict[str, Algorithm[Any, Any]]:
    """The named solvers, or all, that have compiled loops."""
    solvers = {name: get_solver(name) for name in names or all_solvers(discover=False)}
    ours = {name: solver for name, solver in solvers.items() if isinstance(solver, Algorithm) and solver.compiles}
    without = sorted(set(names) - set(ours))
    if without:
        raise InputError(f"nothing is compiled for {', '.join(without)}: it runs at full speed at once")
    return ours


def _warm(solver: Algorithm[Any, Any]) -> float:
    begin, compiled = time.perf_counter(), 0.0
    for model in examples(solver):
        for variant in solver.variants:
            compiled += solve(model, solver.info.name, tol=0.01, **variant).compile_seconds
    return min(compiled, time.perf_counter() - begin)


def examples(solver: Algorithm[Any, Any]) -> list[Model]:
    """A small model for each structural view that the solver reads, where a formulation has one."""
    models: dict[type, Model] = {}
    for info in all_formulations().values():
        if len(models) == len(solver.info.views):
            break
        model = info.example(np.random.default_rng(0))
        view = None if solver.obstacle(model) else solver.view_of(model)
        if view is not None:
            models.setdefault(type(view), model)
    return list(models.values())
