"""The solver `boxqp` of box QPs in factor form, min ½a'(ZZ' + D)a + q'a over lower ≤ a ≤ upper with D ≥ 0 diagonal.

The solver's record is here. Its class and compiled loops are imported at their first use.
"""

from __future__ import annotations

from ...models.views import BoxQP
from ..interface.solver import Gives, Purpose, Solver, SolverInfo, deferred_solvers, records_by_name

#: `SolverInfo` of each solver of this package by its name; `auto` chooses by them without importing compiled loops.
RECORDS = records_by_name(
    SolverInfo(
        name="boxqp",
        implementation="marginopt.solvers.box.descent:BoxDescent",
        rank={Purpose.STRUCTURE: 9},
        summary="coordinate descent with shrinking on the factor of a box QP, Newton and interior-point finishers",
        views=(BoxQP,),
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        tolerance=1e-8,
        reference="Hsieh et al. (2008); Hintermüller, Ito, Kunisch (2002); Bertsekas (1982); Ferris, Munson (2003)",
    )
)

#: The solvers of this folder, read by the registry.
SOLVERS: tuple[Solver, ...] = deferred_solvers(RECORDS)
