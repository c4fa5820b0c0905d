"""`sparse-bb`: the exact solver of sparse linear classifiers, a search by its bounding rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...models.formulations.margin.problems import SparseProblem
from ..exact.algorithm import ExactSearch
from ..exact.search import BoundingRule
from ..interface.solver import Gives, Purpose, SolverInfo
from .check import SparseChecker

__all__ = ["SparseBB"]


@dataclass(frozen=True, eq=False)
class SparseBB(ExactSearch[SparseProblem]):
    """Exact branch and bound over the supports of linear classifiers: at most k coefficients, or a price for each.

    A node decides for some features that they are in use or 0. It is bounded by one dual point of its perspective relaxation,
    which an interior point method solves on the features that matter. The same point decides features whose other choice costs
    more than the incumbent. Where its bound is far below, other dual points exclude features from having the largest coefficient,
    and a node without such a feature is closed. Incumbents come from rounding, exact refits and swaps.

    Parameters as in `ExactSearch`: ``proof``, ``checkpoint``, ``cluster``.
    """

    checker: ClassVar[SparseChecker] = SparseChecker()
    compiling: ClassVar[float] = 6.0
    info: ClassVar[SolverInfo] = SolverInfo(
        name="sparse-bb",
        rank={Purpose.STRUCTURE: 13},
        summary="exact branch and bound for classifiers with few coefficients: supports, perspective relaxation",
        views=(SparseProblem,),
        gives=frozenset({Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        tolerance=1e-6,
        reference="docs/how-to/sparse.md",
    )

    def rule(self) -> type[BoundingRule[SparseProblem]]:
        """Return the bounding rule of supports."""
        from .search import SparseRule

        return SparseRule

    def problem(self, view: SparseProblem) -> SparseProblem:
        """Return the problem without points of cost 0."""
        keep = view.costs > 0.0
        return replace(view, A=np.ascontiguousarray(view.A[keep]), costs=view.costs[keep])
