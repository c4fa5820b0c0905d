"""The exact solver of scoring systems."""

from __future__ import annotations

from ..interface.solver import Solver
from .algorithm import SupportsBB

__all__ = ["SOLVERS", "SupportsBB"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = (SupportsBB(),)
