"""Algorithms on the `SimplexQP` and `BoxEqualityQP` views: Frank-Wolfe, core vector machine, SMO, the choice among them."""

from ..base import Solver
from .auto import AutoSimplex
from .box import BoxSMO
from .cvm import CoreVectorMachine
from .frank_wolfe import BlendedPairwiseFW, FrankWolfe, ModifiedFrankWolfe, PairwiseFW
from .smo import SMO

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
]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = (
    AutoSimplex(),
    SMO(),
    BoxSMO(),
    FrankWolfe(),
    ModifiedFrankWolfe(),
    PairwiseFW(),
    BlendedPairwiseFW(),
    CoreVectorMachine(),
)
