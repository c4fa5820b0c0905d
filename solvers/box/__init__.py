"""The solver `boxqp` of convex quadratics over a box in factor form; its record is read without the compiled loops."""

from __future__ import annotations

from ...models.views import BoxQP
from ..interface.solver import Gives, Purpose, Solver, SolverInfo, deferred_solvers, records_by_name

#: Records by name, in the order of the table: `auto` reads them without the compiled loops, and the classes hold them.
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

#: Read by the registry.
SOLVERS: tuple[Solver, ...] = deferred_solvers(RECORDS)
