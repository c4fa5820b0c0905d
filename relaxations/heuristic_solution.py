"""A feasible point of a model that costs no exact solve: what gaps begin with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import MarginoptError
from ..models.arrays import FloatArray
from ..models.model import Model
from ..solvers.interface.solver import Gives
from ..solvers.records.options import Options
from ..solvers.registry import all_solvers, installed
from ..solvers.solve import solve_problem
from .composed.points import allowed, parts_of

__all__ = ["heuristic_solution"]


def heuristic_solution(model: Model, options: Options) -> tuple[FloatArray, float] | None:
    """w and its true objective; None where none is known.

    What an exact solver of its own begins with, where there is one (`margin-bb`, `zero-one-bb`: local search from several
    starts); else w = 0 where a problem from parts allows it.
    """
    values = _begun(model, options)
    composed = parts_of(model)
    if composed is None:
        return values
    w = np.zeros(composed.points.shape[1])
    if not allowed(composed, w) or (values is not None and values[1] <= composed.objective(w)):
        return values
    return w, composed.objective(w)


def _begun(model: Model, options: Options) -> tuple[FloatArray, float] | None:
    """The incumbent of a structured branch and bound after its first node."""
    for solver in all_solvers().values():
        if solver.reads_form or Gives.BOUND not in solver.info.gives or not installed(solver):
            continue
        starting = solver.starting
        try:
            if starting.obstacle(model) is not None:
                continue
            result = solve_problem(model, starting, replace(options, node_limit=1))
        except MarginoptError:
            continue  # the exact rows say why
        if "w" in result.values and result.nodes is not None:
            return np.asarray(result.values["w"]), result.objective
    return None
