"""The exact solver of the 0-1-loss SVM."""

from __future__ import annotations

from ..interface.solver import Solver
from .algorithm import ZeroOneBB
from .transfer import Earlier

__all__ = ["SOLVERS", "Earlier", "ZeroOneBB"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = (ZeroOneBB(),)
