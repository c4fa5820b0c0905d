"""Algorithms on the `SimplexQP` and `BoxEqualityQP` views: Frank-Wolfe, core vector machine, SMO, projected gradients."""

from ..interface.solver import Solver
from .frank_wolfe.core_vector_machine import CoreVectorMachine
from .frank_wolfe.methods import BlendedPairwiseFW, FrankWolfe, ModifiedFrankWolfe, PairwiseFW
from .projected_gradient.accelerated import AcceleratedProjection
from .projected_gradient.pga import ProjectedGradient
from .smo.box import BoxSMO
from .smo.choose import AutoSimplex
from .smo.simplex import SMO

__all__ = [
    "SMO",
    "SOLVERS",
    "AcceleratedProjection",
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
SOLVERS: tuple[Solver, ...] = (
    AutoSimplex(),
    SMO(),
    BoxSMO(),
    FrankWolfe(),
    ModifiedFrankWolfe(),
    PairwiseFW(),
    BlendedPairwiseFW(),
    CoreVectorMachine(),
    ProjectedGradient(),
    AcceleratedProjection(),
)
