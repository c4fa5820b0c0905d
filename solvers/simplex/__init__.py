"""Algorithms on the `SimplexQP` view: the Frank-Wolfe family, core vector machine, SMO, and the choice among them."""

from ..base import Solver
from .cvm import CoreVectorMachine
from .frank_wolfe import BlendedPairwiseFW, FrankWolfe, ModifiedFrankWolfe, PairwiseFW
from .smo import SMO

__all__ = ["SMO", "SOLVERS", "BlendedPairwiseFW", "CoreVectorMachine", "FrankWolfe", "ModifiedFrankWolfe", "PairwiseFW"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = (FrankWolfe(), ModifiedFrankWolfe(), PairwiseFW(), BlendedPairwiseFW(), CoreVectorMachine(), SMO())
