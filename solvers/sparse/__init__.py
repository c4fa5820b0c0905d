"""The exact solver of sparse linear classifiers."""

from __future__ import annotations

from ..interface.solver import Solver
from .algorithm import SparseBB

__all__ = ["SOLVERS", "SparseBB"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = (SparseBB(),)
