"""Algorithms on the `SimplexQP` and `BoxEqualityQP` views: Frank-Wolfe, core vector machine, SMO, projected gradients."""

from typing import TYPE_CHECKING

from ..interface.solver import Solver, deferred, implementations
from .records import RECORDS

if TYPE_CHECKING:  # for type checkers; each comes with its compiled loops when it is asked for
    from .frank_wolfe.core_vector_machine import CoreVectorMachine
    from .frank_wolfe.methods import BlendedPairwiseFW, FrankWolfe, ModifiedFrankWolfe, PairwiseFW
    from .projected_gradient import ProjectedGradient
    from .smo.box import BoxSMO
    from .smo.simplex import SMO, AutoSimplex

__all__ = [
    "SMO",
    "SOLVERS",
    "AutoSimplex",
    "BlendedPairwiseFW",
    "BoxSMO",
    "CoreVectorMachine",
    "FrankWolfe",
    "ModifiedFrankWolfe",
    "PairwiseFW",
    "ProjectedGradient",
]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = tuple(map(deferred, RECORDS))
__getattr__ = implementations(__name__, RECORDS)
