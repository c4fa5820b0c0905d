"""An exact solver of the ramp-loss SVM and other nonconvex margin problems."""

from __future__ import annotations

from ..interface.solver import Solver
from .algorithm import MarginBB

__all__ = ["SOLVERS", "MarginBB"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = (MarginBB(),)
