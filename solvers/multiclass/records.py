"""Registry entry of the algorithm on several classes, which `auto` and the tables read without loading compiled loops."""

from __future__ import annotations

from ...models.views import MulticlassProblem
from ..interface.solver import Gives, Purpose, SolverInfo

#: Seconds of an interior point method from which block steps are faster, their loading included.
_LONG = 0.05


def _is_long(view: MulticlassProblem) -> bool:
    return view.interior_point_seconds > _LONG


MULTICLASS_ASCENT = SolverInfo(
    name="multiclass-ascent",
    implementation="marginopt.solvers.multiclass.ascent:BlockAscent",
    rank={Purpose.NO_FORM: 2},
    takes_over=_is_long,
    summary="block coordinate ascent on the dual of several classes, exact blocks, conjugate gradients on faces",
    views=(MulticlassProblem,),
    gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.INTERRUPT}),
    time_limit_caveat="one pass over the rows",
    reference="Keerthi et al. (2008), Wang, Scott (2021): blocks; Lacoste-Julien et al. (2013): block-coordinate Frank-Wolfe; "
    "Moré, Toraldo (1991): conjugate gradients on faces",
)

#: Registry entries in the order of the table.
RECORDS = (MULTICLASS_ASCENT,)
