"""The exact solver of the 0-1-loss SVM, `zero-one-bb`: branch and bound over boxes of w, or on norm-conflicts."""

from __future__ import annotations

from ..interface.solver import Solver
from .algorithm import ZeroOneBB
from .reuse import SolvedProblem

__all__ = ["SOLVERS", "SolvedProblem", "ZeroOneBB"]

#: The solvers of this folder, read by the registry.
SOLVERS: tuple[Solver, ...] = (ZeroOneBB(),)
