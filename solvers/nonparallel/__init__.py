"""Nonparallel classifiers, NPSVC++: majorisation, and the alternating kernel algorithm."""

from .alternating import Alternating, KernelNPSVCpp
from .majorise import Majorisation

__all__ = ["SOLVERS", "Alternating", "KernelNPSVCpp", "Majorisation"]

SOLVERS = (KernelNPSVCpp(), Alternating(), Majorisation())
