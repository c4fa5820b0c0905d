"""Solvers of nonparallel classifiers, one hyperplane for each class near its own points: NPSVC++ of Zhang et al. (2024).

``npsvc-mm`` majorises non-convex losses of one class's problem; ``kernel-npsvcpp`` and ``alternating`` train K-NPSVC++, in which
all classes share learned features.
"""

from __future__ import annotations

from ...models.formulations.nonparallel.chebyshev import ChebyshevNPSVC
from ...models.formulations.nonparallel.npsvc import NonparallelSVM
from ..interface.solver import Gives, Purpose, Solver, SolverInfo, deferred_solvers, records_by_name

#: `SolverInfo` of each solver of this package by its name, in the order of the solver table; `auto` chooses by them without
#: importing compiled loops.
RECORDS = records_by_name(
    SolverInfo(
        name="kernel-npsvcpp",
        implementation="marginopt.solvers.nonparallel.alternating:KernelNPSVCpp",
        rank={Purpose.STRUCTURE: 12},
        summary="K-NPSVC++: alternating steps in U, V, P and tau",
        views=(ChebyshevNPSVC,),
        gives=frozenset({Gives.DUALS, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        tolerance=1e-3,
        first_order=True,
        reference="Zhang, Lai, Zhou, Liang: NPSVC++, Algorithm 1",
    ),
    SolverInfo(
        name="alternating",
        implementation="marginopt.solvers.nonparallel.alternating:Alternating",
        summary="K-NPSVC++ by off-the-shelf solvers: qp=, stiefel=, simplex= name them",
        views=(ChebyshevNPSVC,),
        gives=frozenset({Gives.DUALS, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        tolerance=1e-3,
        first_order=True,
        reference="Zhang, Lai, Zhou, Liang: NPSVC++, Algorithm 1",
    ),
    SolverInfo(
        name="npsvc-mm",
        implementation="marginopt.solvers.nonparallel.majorise:Majorisation",
        rank={Purpose.STRUCTURE: 10},
        summary="majorisation-minimisation for nonparallel classifiers with non-convex losses",
        views=(NonparallelSVM,),
        gives=frozenset({Gives.DUALS, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        tolerance=1e-8,
        reference="Hunter, Lange: A tutorial on MM algorithms (2004); losses of NPSVC++, Table 1",
    ),
)

#: The solvers of this folder, read by the registry.
SOLVERS: tuple[Solver, ...] = deferred_solvers(RECORDS)
