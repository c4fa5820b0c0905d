"""The exact solver `zero-one-bb` of the 0-1-loss SVM, min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1} with a_i = y_i x_i.

The sum over *penalised* weights leaves out a free intercept. The solver branches on boxes of w, or on norm-conflicts: sets of
points of which no w below the cutoff keeps all, a_i'w ≥ 1. `SolvedProblem` is an earlier problem whose bound a new search uses.
"""

from __future__ import annotations

from ..interface.solver import Solver
from .algorithm import ZeroOneBB
from .reuse import SolvedProblem

__all__ = ["SOLVERS", "SolvedProblem", "ZeroOneBB"]

#: The solvers of this folder, read by the registry.
SOLVERS: tuple[Solver, ...] = (ZeroOneBB(),)
