"""The exact solver `margin-bb` of nonconvex margin problems with few coefficients, such as the ramp-loss SVM."""

from __future__ import annotations

from ..interface.solver import Solver
from .algorithm import MarginBB

__all__ = ["SOLVERS", "MarginBB"]

#: The solvers of this folder, read by the registry.
SOLVERS: tuple[Solver, ...] = (MarginBB(),)
