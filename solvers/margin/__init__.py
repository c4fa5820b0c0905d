"""The exact solver `margin-bb` of nonconvex margin problems with few coefficients, such as the ramp-loss SVM.

It solves min Σ_j d_j w_j² + ||w||_X + Σ_j π_j 1{w_j ≠ 0} + Σ_i c_i ρ_i(a_i'w) with piecewise linear losses ρ_i of the margins
a_i'w, costs c_i of points, prices π_j of non-zero coefficients, and restrictions of w, where ||w||_X = max{p'w : |x_k'p| ≤ 1} is
the norm of atoms x_k.
"""

from __future__ import annotations

from ..interface.solver import Solver
from .algorithm import MarginBB

__all__ = ["SOLVERS", "MarginBB"]

#: The solvers of this folder, read by the registry.
SOLVERS: tuple[Solver, ...] = (MarginBB(),)
