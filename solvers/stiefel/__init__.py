"""Ascent methods on the Stiefel manifold: generalised power iteration, two faster ones, and Pymanopt for comparison."""

from .ascent import GPI, BarzilaiBorwein, MomentumGPI
from .pymanopt import Pymanopt

__all__ = ["GPI", "SOLVERS", "BarzilaiBorwein", "MomentumGPI", "Pymanopt"]

SOLVERS = (BarzilaiBorwein(), MomentumGPI(), GPI(), Pymanopt())
