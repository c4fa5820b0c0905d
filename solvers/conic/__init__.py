"""Specialised solvers of the conic SVM: ``conic-ipm``, its path over κ or λ, and a first-order method."""

from __future__ import annotations

from ..interface.solver import Solver
from .factored_cones import ConicFactored
from .ipm import ConicIPM, ConicPathPoint, conic_path

__all__ = ["SOLVERS", "ConicFactored", "ConicIPM", "ConicPathPoint", "conic_path"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = (ConicIPM(), ConicFactored())
