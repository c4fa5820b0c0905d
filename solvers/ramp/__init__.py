"""The exact solver of ramp losses with a polyhedral norm."""

from __future__ import annotations

from ..interface.solver import Solver
from .algorithm import RampBB

__all__ = ["SOLVERS", "RampBB"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = (RampBB(),)
