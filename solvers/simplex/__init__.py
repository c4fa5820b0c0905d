"""Algorithms on the `SimplexQP` view: the Frank-Wolfe family, core vector machine, SMO, and the choice among them."""

from ..base import Solver
from .frank_wolfe import BlendedPairwiseFW, FrankWolfe, ModifiedFrankWolfe, PairwiseFW
from .smo import SMO

__all__ = ["SMO", "SOLVERS", "BlendedPairwiseFW", "FrankWolfe", "ModifiedFrankWolfe", "PairwiseFW"]

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = (FrankWolfe(), ModifiedFrankWolfe(), PairwiseFW(), BlendedPairwiseFW(), SMO())
