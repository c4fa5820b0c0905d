"""Registry entry of the algorithm on box QPs, which `auto` and the tables read without loading compiled loops."""

from __future__ import annotations

from ...models.views import BoxQP
from ..interface.solver import Gives, Purpose, SolverInfo

BOXQP = SolverInfo(
    name="boxqp",
    implementation="marginopt.solvers.box.descent:BoxDescent",
    rank={Purpose.STRUCTURE: 9},
    summary="coordinate descent with shrinking on the factor of a box QP, Newton and interior-point finishers",
    views=(BoxQP,),
    gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
    tolerance=1e-8,
    reference="Hsieh et al. (2008); Hintermüller, Ito, Kunisch (2002); Bertsekas (1982); Ferris, Munson (2003)",
)

#: Registry entries in the order of the table.
RECORDS = (BOXQP,)
