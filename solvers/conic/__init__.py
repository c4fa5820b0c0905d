"""Specialised solvers of the conic SVM: ``conic-ipm``, its path over κ or λ, and the first-order method ``conic-factored``.

The conic SVM is the semidefinite relaxation (21) of Cepeda, Gómez and Han (2024) of the SVM with the 0-1 loss, in which a
violated margin costs λ, or at most the share κ of the margins is violated.
"""

from __future__ import annotations

from ..interface.solver import Solver
from .factored import ConicFactored
from .ipm import ConicIPM, ConicPathPoint, conic_path

__all__ = ["SOLVERS", "ConicFactored", "ConicIPM", "ConicPathPoint", "conic_path"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = (ConicIPM(), ConicFactored())
