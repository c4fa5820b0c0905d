"""The matrix formulation × package: which package takes the example of which formulation, and why another one does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .errors import MarginoptError
from .models.formulations import all_formulations, get_formulation
from .models.model import Model
from .solvers.registry import get_solver

__all__ = ["PACKAGES", "package_matrix"]


def _solver(name: str) -> Callable[[Model], Any]:
    """Return a function that raises where the solver cannot read a model."""

    def check(model: Model) -> None:
        obstacle = get_solver(name).obstacle(model)
        if obstacle is not None:
            raise MarginoptError(obstacle)

    return check


#: How a model is handed to each package: as an object of its own, or to its solver here.
PACKAGES: Mapping[str, Callable[[Model], Any]] = {
    "MOSEK": Model.to_mosek,
    "Gurobi": Model.to_gurobi,
    "Pyomo": Model.to_pyomo,
    "CVXPY": Model.to_cvxpy,
    "SCIP": _solver("scip"),
    "HiGHS": _solver("highs"),
    "Clarabel": _solver("clarabel"),
}


def package_matrix() -> dict[str, dict[str, str]]:
    """Return, for the example of each formulation and each package, an empty string where the package takes it, else the reason.

    Formulations with a choice of losses have a row for each further loss, "nonparallel, capped". A package that is not installed
    takes nothing, and the reason says so.
    """
    matrix = {}
    for name in all_formulations():
        info = get_formulation(name)
        losses = [loss for p in info.parameters if p.name == "loss" for loss in p.choices if loss != p.default]
        for row, chosen in [(name, {}), *((f"{name}, {loss}", {"loss": loss}) for loss in losses)]:
            model = info.example(np.random.default_rng(0), chosen)
            matrix[row] = {package: _reason(hand_over, model) for package, hand_over in PACKAGES.items()}
    return matrix


def _reason(hand_over: Callable[[Model], Any], model: Model) -> str:
    try:
        hand_over(model)
    except MarginoptError as error:
        return str(error)
    return ""
