"""Solvers of max Tr(P'HP) + 2 Tr(P'E) over matrices P with orthonormal columns, the projection step of NPSVC++."""

from .ascent import GPI, BarzilaiBorwein, MomentumGPI
from .pymanopt import Pymanopt

__all__ = ["GPI", "SOLVERS", "BarzilaiBorwein", "MomentumGPI", "Pymanopt"]

SOLVERS = (BarzilaiBorwein(), MomentumGPI(), GPI(), Pymanopt())
