"""The exact solvers of scoring systems and risk scores."""

from __future__ import annotations

from ..interface.solver import Solver
from .algorithm import SupportsBB
from .risk import RiskBB

__all__ = ["SOLVERS", "RiskBB", "SupportsBB"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = (SupportsBB(), RiskBB())
