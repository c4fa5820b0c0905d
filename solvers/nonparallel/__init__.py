"""Nonparallel classifiers, NPSVC++: majorisation, problems on the Stiefel manifold, and the kernel algorithm."""

from .kernel_npsvcpp import KernelNPSVCpp
from .majorise import Majorisation
from .stiefel import GPI, BarzilaiBorwein, MomentumGPI

__all__ = ["GPI", "SOLVERS", "BarzilaiBorwein", "KernelNPSVCpp", "Majorisation", "MomentumGPI"]

SOLVERS = (KernelNPSVCpp(), Majorisation(), BarzilaiBorwein(), MomentumGPI(), GPI())
