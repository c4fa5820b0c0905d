"""Nonparallel classifiers, NPSVC++: majorisation, problems on the Stiefel manifold, and the kernel algorithm."""

from .majorise import Majorisation

__all__ = ["SOLVERS", "Majorisation"]

SOLVERS = (Majorisation(),)
