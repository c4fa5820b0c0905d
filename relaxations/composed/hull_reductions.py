"""Relaxations of a composed problem by convex hulls of its loss: each point alone, all at equal price, in pairs."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from ...models.arrays import to_dense
from ...models.formulations.margin.losses.loss import Loss
from ...models.formulations.margin.model import Margin
from ...models.program.form import StandardForm
from .hulls import PointHulls
from .lifted_program import LiftedHulls
from .reductions import ComposedReduction, bounded_by_reach
from .single import SingleHulls

__all__ = ["AllHulls", "EqualHulls", "OneHull", "PairHulls"]

#: The largest equal γ is taken this share below the edge of Γ, so that the form is strictly convex.
_INSIDE = 1e-6


@dataclass(frozen=True)
class _Hulls(ComposedReduction):
    """A reduction that replaces the loss by hulls of its branches.

    Parameters
    ----------
    reach : bool
        Whether bounds of the margins count, as big-M rows do; without them the bound needs none.
    """

    reach: bool = True

    def missing(self, composed: Margin) -> str:
        """Branches, and a curvature to spare in every coefficient."""
        if not composed.loss.convex_pieces():
            return (
                f"{type(composed.loss).__name__} is no least value of convex branches, as Ramp, ZeroOne and PiecewiseLinear are"
            )
        rows = to_dense(composed.loss.rows(composed.points, composed.y)[0])
        if composed.regulariser.curvature() <= 0 or not composed.penalised[rows.any(axis=0)].all():
            return (
                "hulls offset the loss by the regulariser's squares, which must be there for every coefficient: SquaredNorm or "
                "ElasticNet with intercept='penalised'; 'continuous' and 'products' take any regulariser"
            )
        return ""

    def target(self, composed: Margin) -> StandardForm:
        """The composition with another loss."""
        return bounded_by_reach(composed, replace(composed, loss=self.hull(composed)).form.relax_integrality())

    @abstractmethod
    def hull(self, composed: Margin) -> Loss:
        """Return the loss that replaces the original one."""

    @property
    def _suffix(self) -> str:
        return "" if self.reach else ", no M"


@dataclass(frozen=True)
class EqualHulls(_Hulls):
    """`PointHulls` at equal γ_i, as large as Γ allows: second-order cones."""

    @property
    def name(self) -> str:
        """Name for tables."""
        return f"hulls, equal gamma{self._suffix}"

    def hull(self, composed: Margin) -> Loss:
        """γ from the largest singular value."""
        rows = to_dense(composed.loss.rows(composed.points, composed.y)[0])
        largest = float(np.linalg.norm(rows, 2)) ** 2 / composed.regulariser.curvature()
        return PointHulls(composed.loss, np.full(rows.shape[0], (1.0 - _INSIDE) / largest), self.reach)


@dataclass(frozen=True)
class OneHull(_Hulls):
    """`SingleHulls`: each point's hull with the whole norm."""

    @property
    def name(self) -> str:
        """Name for tables."""
        return f"hulls, one point{self._suffix}"

    def hull(self, composed: Margin) -> Loss:
        """μ of the regulariser."""
        return SingleHulls(composed.loss, composed.regulariser.curvature(), self.reach)


@dataclass(frozen=True)
class AllHulls(_Hulls):
    """`LiftedHulls`: the SDP, the best over all γ in Γ."""

    @property
    def name(self) -> str:
        """Name for tables."""
        return f"hulls, SDP{self._suffix}"

    def hull(self, composed: Margin) -> Loss:
        """μ of the regulariser."""
        return LiftedHulls(composed.loss, composed.regulariser.curvature(), (), self.reach)


@dataclass(frozen=True)
class PairHulls(AllHulls):
    """The SDP with hulls of two points at once, for pairs whose margins conflict most: a_i'a_j most negative, relative to norms.

    Parameters
    ----------
    pairs : int
        How many.
    """

    pairs: int = 20

    @property
    def name(self) -> str:
        """Name for tables."""
        return f"hulls, {self.pairs} pairs{self._suffix}"

    def hull(self, composed: Margin) -> Loss:
        """The pairs are chosen from the data alone."""
        rows = to_dense(composed.loss.rows(composed.points, composed.y)[0])
        unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
        first, second = np.triu_indices(rows.shape[0], 1)
        order = np.argsort((unit @ unit.T)[first, second], kind="stable")[: self.pairs]
        chosen = tuple((int(first[k]), int(second[k])) for k in order)
        return LiftedHulls(composed.loss, composed.regulariser.curvature(), chosen, self.reach)
