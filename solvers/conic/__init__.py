"""Specialised solvers of the conic SVM: ``conic-ipm``, its path over κ or λ, and the first-order method ``conic-factored``."""

from __future__ import annotations

from ..interface.solver import Solver
from .factored import ConicFactored
from .ipm import ConicIPM, ConicPathPoint, conic_path

__all__ = ["SOLVERS", "ConicFactored", "ConicIPM", "ConicPathPoint", "conic_path"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = (ConicIPM(), ConicFactored())
