"""The conic SVM's own solvers: ``conic-ipm``, its path over κ or λ, and a first-order method."""

from __future__ import annotations

from ..interface.solver import Solver
from .factored import ConicFactored
from .ipm import ConicIPM
from .path import ConicPathPoint, conic_path

__all__ = ["SOLVERS", "ConicFactored", "ConicIPM", "ConicPathPoint", "conic_path"]

#: What the registry reads.
SOLVERS: tuple[Solver, ...] = (ConicIPM(), ConicFactored())
