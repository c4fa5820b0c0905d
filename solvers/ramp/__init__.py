"""The exact solver `ramp-bb` of ramp losses with a polyhedral norm: its description, the problems that it reads, and presolve.

It solves min ||w|| + Σ_i c_i ρ(a_i'w) with costs c_i of points, where the ramp ρ is 0 from the margin r on, h at q < r and linear
between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...models.model import Model
from ...models.views import MarginProblem
from ..exact.algorithm import ExactSearch
from ..exact.search import BoundingRule
from ..interface.solver import Gives, Purpose, Solver, SolverInfo
from .check import RampChecker, ramp_obstacle

if TYPE_CHECKING:
    from .dual import RampProblem

__all__ = ["SOLVERS", "RampBB"]


@dataclass(frozen=True, eq=False)
class RampBB(ExactSearch[MarginProblem]):
    """Exact branch and bound for ramp losses with the L1 norm, or that of kernel weights, with any number of coefficients.

    A node decides for some points whether they are given up (pay the whole ramp, a_i'w ≤ q) or kept (a_i'w ≥ q). It is bounded by
    a linear program, to which sets of points that no w keeps together (conflicts) add valid inequalities. Lower bounds of
    margins, which follow from the incumbent, give the slopes of the losses. Incumbents come from the convex-concave procedure.

    Parameters: ``proof``, the path of a proof log for `check_proof`; ``checkpoint``, the path of a file that saves an unfinished
    search, which the next run continues; ``cluster``, a Dask client or address, or "ray", whose workers search subtrees.
    """

    checker: ClassVar[RampChecker] = RampChecker()
    info: ClassVar[SolverInfo] = SolverInfo(
        name="ramp-bb",
        rank={Purpose.STRUCTURE: 15},
        summary="exact branch and bound for ramp losses with the L1 norm or that of kernel weights: points, linear programs",
        views=(MarginProblem,),
        gives=frozenset({Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        tolerance=1e-6,
        reference="docs/explanation/ramp-bb.md",
    )

    def rule(self) -> type[BoundingRule[RampProblem]]:
        """Return the class of the bounding rule."""
        from .search import RampRule

        return RampRule

    def view_obstacle(self, view: MarginProblem, model: Model) -> str | None:
        """Return the reason why a problem with other parts than one ramp and a norm is refused."""
        obstacle = ramp_obstacle(view)
        return f"{obstacle} ({model.no_view_reason})" if obstacle and model.no_view_reason else obstacle

    def problem(self, view: MarginProblem) -> RampProblem:
        """Return the presolved problem: without points of cost 0, and with the conflicts of its root."""
        from .dual import RampProblem
        from .program import with_root_conflicts

        keep = view.costs > 0.0
        fields: dict[str, Any] = {"A": np.ascontiguousarray(view.A[keep]), "costs": view.costs[keep]}
        return with_root_conflicts(RampProblem(replace(view, **fields, kept_points=view.kept_points[keep])))


#: The solvers of this folder, read by the registry.
SOLVERS: tuple[Solver, ...] = (RampBB(),)
