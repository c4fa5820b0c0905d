"""Nonparallel classifiers, NPSVC++: majorisation, problems on the Stiefel manifold, and the kernel algorithm."""

from .majorise import Majorisation
from .stiefel import GPI, BarzilaiBorwein, MomentumGPI

__all__ = ["GPI", "SOLVERS", "BarzilaiBorwein", "Majorisation", "MomentumGPI"]

SOLVERS = (Majorisation(), BarzilaiBorwein(), MomentumGPI(), GPI())
