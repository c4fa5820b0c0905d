"""Nonparallel classifiers, NPSVC++: majorisation, problems on the Stiefel manifold, and the kernel algorithm."""

from .kernel_npsvcpp import Alternating, KernelNPSVCpp
from .majorise import Majorisation
from .pymanopt_peer import Pymanopt
from .stiefel import GPI, BarzilaiBorwein, MomentumGPI

__all__ = ["GPI", "SOLVERS", "Alternating", "BarzilaiBorwein", "KernelNPSVCpp", "Majorisation", "MomentumGPI", "Pymanopt"]

SOLVERS = (KernelNPSVCpp(), Alternating(), Majorisation(), BarzilaiBorwein(), MomentumGPI(), GPI(), Pymanopt())
