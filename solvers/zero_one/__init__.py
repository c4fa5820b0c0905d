"""The exact solver of the 0-1-loss SVM, `zero-one-bb`."""

from __future__ import annotations

from ..interface.solver import Solver
from .algorithm import ZeroOneBB
from .reuse import SolvedProblem

__all__ = ["SOLVERS", "SolvedProblem", "ZeroOneBB"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = (ZeroOneBB(),)
