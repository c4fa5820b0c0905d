"""Solvers of the SVM duals, QPs on unit simplices (`SimplexQP`) or on a box with one equality (`BoxEqualityQP`): their records.

The objective is ½a'Qa + c'a. SMO (`smo`, `box_smo`), Frank-Wolfe methods (`frank_wolfe`), the core vector machine and projected
gradients are modules of this folder, imported when a solver is called.
"""

from __future__ import annotations

import functools

from ...models.views import BoxEqualityQP, SimplexQP
from ..interface.solver import Gives, Purpose, Solver, SolverInfo, deferred_solvers, records_by_name

_GIVES = frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT})
_SOURCE = "Frandi, Nanculef, Gasparo, Lodi, Sartori: Training support vector machines using Frank-Wolfe optimization methods"
#: Returns the `SolverInfo` of a solver of the `SimplexQP` view.
_on_simplices = functools.partial(SolverInfo, views=(SimplexQP,), gives=_GIVES)

#: `SolverInfo` of each solver of this package by its name, in the order of the solver table; `auto` chooses by them without
#: importing compiled loops.
RECORDS = records_by_name(
    _on_simplices(
        name="auto-simplex",
        implementation="marginopt.solvers.simplex.smo:AutoSimplex",
        rank={Purpose.STRUCTURE: 4},
        summary="smo, its precision, cache and start chosen by size, gap and memory",
        reference="docs/explanation/simplex.md",
    ),
    _on_simplices(
        name="smo",
        implementation="marginopt.solvers.simplex.smo:SMO",
        rank={Purpose.STRUCTURE: 5},
        summary="sequential minimal optimisation, second-order pairs, on one or several simplices",
        reference="Fan, Chen, Lin: Working set selection using second order information for training SVMs (2005)",
    ),
    SolverInfo(
        name="smo-box",
        implementation="marginopt.solvers.simplex.box_smo:BoxSMO",
        rank={Purpose.STRUCTURE: 7},
        summary="sequential minimal optimisation, second-order pairs, on a box with one equality",
        views=(BoxEqualityQP,),
        gives=_GIVES,
        reference="Fan, Chen, Lin: Working set selection using second order information for training SVMs (2005)",
    ),
    _on_simplices(
        name="fw",
        implementation="marginopt.solvers.simplex.frank_wolfe:FrankWolfe",
        summary="Frank-Wolfe on the unit simplex, exact line search",
        first_order=True,
        achievable_gap=1e-3,  # sublinear
        reference=f"{_SOURCE}, Algorithm 2",
    ),
    _on_simplices(
        name="mfw",
        implementation="marginopt.solvers.simplex.frank_wolfe:ModifiedFrankWolfe",
        rank={Purpose.STRUCTURE: 6},
        summary="modified Frank-Wolfe with away steps on the unit simplex",
        first_order=True,
        reference=f"{_SOURCE}, Algorithm 3",
    ),
    _on_simplices(
        name="pairwise-fw",
        implementation="marginopt.solvers.simplex.frank_wolfe:PairwiseFW",
        summary="pairwise Frank-Wolfe on the unit simplex",
        first_order=True,
        reference="Lacoste-Julien, Jaggi: Global linear convergence of Frank-Wolfe optimization variants (2015), Algorithm 2",
    ),
    _on_simplices(
        name="blended-pairwise-fw",
        implementation="marginopt.solvers.simplex.frank_wolfe:BlendedPairwiseFW",
        summary="blended pairwise Frank-Wolfe on the unit simplex",
        first_order=True,
        reference="Tsuji, Tanaka, Pokutta: Pairwise conditional gradients without swap steps (2022), Algorithm 1",
    ),
    _on_simplices(
        name="cvm",
        implementation="marginopt.solvers.simplex.core_vector_machine:CoreVectorMachine",
        summary="core vector machine: growing core set with an inner QP",
        first_order=True,
        reference=f"{_SOURCE}, Algorithm 1",
    ),
    _on_simplices(
        name="pga",
        implementation="marginopt.solvers.simplex.projected_gradient:ProjectedGradient",
        summary="projected gradient on faces, exact line search to the first bound",
        first_order=True,
        reference="Luo et al.: MaxMin-L2-SVC-NCH, Algorithm 1 (errata mended)",
    ),
)

#: The solvers of this folder, read by the registry.
SOLVERS: tuple[Solver, ...] = deferred_solvers(RECORDS)
