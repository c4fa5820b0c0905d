"""Linear classifiers on any number of rows, read in blocks: Newton steps on a smoothed dual, certified by the duality gap."""

from typing import TYPE_CHECKING

from ..interface.solver import Solver, deferred, implementations
from .records import RECORDS

if TYPE_CHECKING:  # for type checkers; each is imported with its compiled loops on first use
    from .newton import LinearNewton

__all__ = ["SOLVERS", "LinearNewton"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = tuple(map(deferred, RECORDS))
__getattr__ = implementations(__name__, RECORDS)
