"""The solver ``multiclass-ascent``: block coordinate ascent on the dual of multiclass SVMs that are one program for all classes
(Crammer and Singer, Weston and Watkins).
"""

from __future__ import annotations

from ...models.views import MulticlassProblem
from ..interface.solver import Gives, Purpose, Solver, SolverInfo, deferred_solvers, records_by_name

#: `SolverInfo` of each solver of this package by its name, in the order of the solver table; `auto` chooses by them without
#: importing compiled loops.
RECORDS = records_by_name(
    SolverInfo(
        name="multiclass-ascent",
        implementation="marginopt.solvers.multiclass.ascent:BlockAscent",
        rank={Purpose.NO_FORM: 2},
        takes_over=MulticlassProblem.outgrows_interior_point,
        summary="block coordinate ascent on the dual of several classes, exact blocks, conjugate gradients on faces",
        views=(MulticlassProblem,),
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.INTERRUPT}),
        time_limit_caveat="one pass over the rows",
        reference="Keerthi et al. (2008), Wang, Scott (2021): blocks; Lacoste-Julien et al. (2013): block-coordinate "
        "Frank-Wolfe; Moré, Toraldo (1991): conjugate gradients on faces",
    )
)

#: The solvers of this folder, read by the registry.
SOLVERS: tuple[Solver, ...] = deferred_solvers(RECORDS)
