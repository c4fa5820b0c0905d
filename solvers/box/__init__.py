"""Convex quadratics over a box in factor form: coordinate descent with shrinking, finished by Newton or interior-point steps."""

from typing import TYPE_CHECKING

from ..interface.solver import Solver, deferred, implementations
from .records import RECORDS

if TYPE_CHECKING:  # for type checkers; each is imported with its compiled loops on first use
    from .descent import BoxDescent, box_minimum

__all__ = ["SOLVERS", "BoxDescent", "box_minimum"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = tuple(map(deferred, RECORDS))
__getattr__ = implementations(__name__, RECORDS, "marginopt.solvers.box.descent:box_minimum")
