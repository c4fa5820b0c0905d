"""Nonparallel classifiers, NPSVC++: majorisation, and the alternating kernel algorithm."""

from typing import TYPE_CHECKING

from ..interface.solver import Solver, deferred, implementations
from .records import RECORDS

if TYPE_CHECKING:  # for type checkers; each is imported with its compiled loops on first use
    from .alternating import Alternating, KernelNPSVCpp
    from .majorise import Majorisation

__all__ = ["SOLVERS", "Alternating", "KernelNPSVCpp", "Majorisation"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = tuple(map(deferred, RECORDS))
__getattr__ = implementations(__name__, RECORDS)
