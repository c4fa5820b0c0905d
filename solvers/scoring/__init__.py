"""The exact solvers of scoring systems (`supports-bb`: 0-1 loss) and of risk scores (`risk-bb`: logistic loss).

Both search small integer coefficients, few of them not 0, so that people can add up a score by hand.
"""

from __future__ import annotations

from ..interface.solver import Solver
from .algorithm import SupportsBB
from .risk import RiskBB

__all__ = ["SOLVERS", "RiskBB", "SupportsBB"]

#: The solvers of this folder, read by the registry.
SOLVERS: tuple[Solver, ...] = (SupportsBB(), RiskBB())
