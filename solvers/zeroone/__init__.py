"""The exact solver of the 0-1-loss SVM."""

from __future__ import annotations

from ..base import Solver
from .algorithm import ZeroOneBB

__all__ = ["SOLVERS", "ZeroOneBB"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = (ZeroOneBB(),)
