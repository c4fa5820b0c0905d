"""The exact solver `sparse-bb` of linear classifiers with few coefficients: its options, and bounds reused along a path of k.

It solves min Σ_i c_i ℓ(a_i'w) + Σ_j q_j w_j²/2 + π_j 1{w_j ≠ 0} over l ≤ w ≤ u with at most k counted coefficients that are not
0 (all but a free intercept count), for a hinge, squared hinge or logistic loss ℓ and rows a_i = y_i x_i.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from ...models.formulations.margin.problems import SparseProblem
from ...models.model import Model
from ..certification.result import Result
from ..exact.algorithm import ExactSearch
from ..exact.options import earlier_bound, solved_pairs
from ..exact.search import BoundingRule
from ..interface.solver import Gives, Purpose, Solver, SolverInfo
from .check import SparseChecker

__all__ = ["SOLVERS", "SparseBB"]


def _implies(solved: SparseProblem, other: SparseProblem) -> bool:
    """Return True if lower bounds of a solved problem hold for another: the same problem with at most as many coefficients."""
    names = [field.name for field in fields(SparseProblem) if field.name != "max_nonzeros"]
    return other.max_nonzeros <= solved.max_nonzeros and all(
        np.array_equal(getattr(solved, name), getattr(other, name)) for name in names
    )


@dataclass(frozen=True, eq=False)
class SparseBB(ExactSearch[SparseProblem]):
    """Exact branch and bound over the supports of linear classifiers: at most k coefficients, or a price for each.

    A node decides for some features that they are in the support or 0. It is bounded by one dual point of its perspective
    relaxation, which an interior point method solves on few features. The same point decides features whose other choice costs
    more than the incumbent. Where its bound is weak, other dual points exclude features from having the largest coefficient,
    and a node in which no feature can have it is closed. Incumbents come from rounding, exact refits and swaps.

    Parameters
    ----------
    proof, checkpoint, cluster
        Path of a proof log, path of a file that saves the search, and remote workers, as in `ExactSearch`.
    earlier : sequence of (Margin, Result) or (Margin, path of a proof log), optional
        Solved problems that differ in k alone, as `path` passes them on. Their bounds count if the result was certified in this
        process or its log is valid. With ``proof`` they do not count, since the new log could not prove them.
    """

    earlier: object = ()

    checker: ClassVar[SparseChecker] = SparseChecker()
    expected_compile_seconds: ClassVar[float] = 6.0
    info: ClassVar[SolverInfo] = SolverInfo(
        name="sparse-bb",
        rank={Purpose.STRUCTURE: 13},
        summary="exact branch and bound for classifiers with few coefficients: supports, perspective relaxation",
        views=(SparseProblem,),
        gives=frozenset({Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        tolerance=1e-6,
        reference="docs/how-to/sparse.md",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "earlier", solved_pairs(self.earlier))

    def rule(self) -> type[BoundingRule[SparseProblem]]:
        """Return `SparseRule`, which bounds and splits the nodes."""
        from .search import SparseRule

        return SparseRule

    def problem(self, view: SparseProblem) -> SparseProblem:
        """Return the problem without points of cost 0."""
        keep = view.costs > 0.0
        return replace(view, A=np.ascontiguousarray(view.A[keep]), costs=view.costs[keep])

    def known_bound(self, view: SparseProblem) -> float:
        """Return the best bound of earlier problems that allow at least as many coefficients; -∞ without one, or with a log."""
        bound = -math.inf
        for model, evidence in () if self.proof is not None else solved_pairs(self.earlier):
            solved = model.view(SparseProblem)
            if solved is not None and _implies(solved, view):
                bound = max(bound, earlier_bound(self.checker, model, evidence))
        return bound

    def path_order(self, parameter: str, values: Sequence[Any]) -> Sequence[int]:
        """Return the order in which to solve a path of k: the largest first, whose bound holds for all others.

        Paths of other parameters keep their order.
        """
        all_integer = all(isinstance(value, (int, np.integer)) for value in values)
        return (
            sorted(range(len(values)), key=lambda i: -int(values[i])) if parameter == "k" and all_integer else range(len(values))
        )

    def reuse_options(self, solved: Sequence[tuple[Model, Result]]) -> Mapping[str, Any]:
        """Return the solved problems as the option ``earlier`` of the next solve of a path; no option with a proof log."""
        return {"earlier": tuple(solved)} if solved and self.proof is None else {}


#: Read by the registry.
SOLVERS: tuple[Solver, ...] = (SparseBB(),)
