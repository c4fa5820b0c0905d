"""The solver ``linear-newton`` of linear classifiers (hinge, squared hinge, logistic loss) with many rows, read in blocks, from
disk too.
"""

from __future__ import annotations

from ...models.views import LinearProblem
from ..interface.solver import Gives, Purpose, Solver, SolverInfo, deferred_solvers, records_by_name

#: `SolverInfo` of each solver of this package by its name, in the order of the solver table; `auto` chooses by them without
#: importing compiled loops.
RECORDS = records_by_name(
    SolverInfo(
        name="linear-newton",
        implementation="marginopt.solvers.linear.newton:LinearNewton",
        rank={Purpose.NO_FORM: 1},
        takes_over=LinearProblem.outgrows_interior_point,
        summary="Newton steps and the method of multipliers on linear classifiers, rows read in blocks, from disk too",
        views=(LinearProblem,),
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        time_limit_caveat="one Newton step: two passes over the rows",
        reference="Mangasarian (2002), Keerthi, DeCoste (2005), Lin, Weng, Keerthi (2008): Newton steps; Rockafellar (1976), "
        "Niu et al. (2019): multipliers",
    )
)

#: The solvers of this folder, read by the registry.
SOLVERS: tuple[Solver, ...] = deferred_solvers(RECORDS)
