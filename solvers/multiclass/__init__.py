"""Several classes in one program: block coordinate ascent on the dual, with conjugate gradients on its faces."""

from typing import TYPE_CHECKING

from ..interface.solver import Solver, deferred, implementations
from .records import RECORDS

if TYPE_CHECKING:  # for type checkers; each is imported with its compiled loops on first use
    from .ascent import BlockAscent

__all__ = ["SOLVERS", "BlockAscent"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = tuple(map(deferred, RECORDS))
__getattr__ = implementations(__name__, RECORDS)
