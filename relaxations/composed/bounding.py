"""Convex losses that bound another loss from below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...models.arrays import FloatArray
from ...models.formulations.margin.losses.loss import Loss

__all__ = ["BoundingLoss"]


@dataclass(frozen=True, eq=False)
class BoundingLoss(Loss):
    """A convex bound of a loss with branches, as a part of the relaxed problem; its value at a point is the loss's own.

    Parameters
    ----------
    of : Loss
        With branches.
    """

    of: Loss

    labels: ClassVar[bool] = True

    @property
    def reads_reach(self) -> bool:
        """It multiplies bounds of the margins by its weights."""
        return True

    def values(self, argument: FloatArray) -> FloatArray:
        """The loss that it bounds."""
        return self.of.values(argument)

    def nonnegative(self) -> bool:
        """Return whether the loss is nonnegative."""
        return self.of.nonnegative()

    def saturation(self) -> float:
        """Return the loss's level segments."""
        return self.of.saturation()
