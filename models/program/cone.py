"""The abstract cone: violation, projection, dual and interior, and the features that a solver must read to take it."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...errors import InputError
from ..arrays import FloatArray

__all__ = ["Cone", "Feature", "largest"]


class Feature(enum.Enum):
    """A feature of a form beyond a linear objective, linear rows and bounds; the value is its name in sentences."""

    QUADRATIC = "quadratic objective"
    SECOND_ORDER = "second-order cones"
    ROTATED = "rotated second-order cones"
    PSD = "positive semidefinite cones"
    INTEGER = "integer variables"
    INDICATOR = "indicator constraints"

    __hash__ = object.__hash__  # Enum's own hashes the name anew at every look-up


@dataclass(frozen=True)
class Cone(ABC):
    """``count`` equal convex cones of ``dim`` rows each.

    Parameters
    ----------
    dim : int
        Rows of one cone.
    count : int
        How many equal cones are stacked.
    """

    dim: int
    count: int = 1

    feature: ClassVar[Feature | None] = None
    symbol: ClassVar[str]
    convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.dim < 1 or self.count < 0:
            raise InputError(f"a cone needs dim ≥ 1 and count ≥ 0, not dim = {self.dim}, count = {self.count}")

    @property
    def rows(self) -> int:
        """Rows of the whole stack."""
        return self.dim * self.count

    def stacked(self, v: FloatArray) -> FloatArray:
        """``v`` as one row for each cone, count × dim."""
        return v.reshape(self.count, self.dim)

    @abstractmethod
    def project(self, v: FloatArray) -> FloatArray:
        """Nearest point of the cone."""

    def project_dual(self, v: FloatArray) -> FloatArray:
        """Nearest point of the dual cone {z : <z, v> ≥ 0 for all v in the cone}."""
        return np.asarray(v + self.project(-v))

    def inside_dual(self, v: FloatArray) -> FloatArray:
        """A point near `project_dual` that is in the dual cone in exact arithmetic, whatever rounding did to the projection."""
        return self.project_dual(v)

    def depth(self, v: FloatArray) -> FloatArray:
        """Return the radius of a ball that each cone of the stack holds around its rows; 0: none known.

        Rounded: good to some roundings of ||v||. The cones that have a depth are their own duals.
        """
        return np.zeros(self.count)

    def filled(self, v: FloatArray) -> FloatArray:
        """Rows that are in the cone if v is, and deep inside where zeros of v alone put it on a face."""
        return v

    @property
    def interior(self) -> FloatArray:
        """A direction into the interior of every cone of the stack: (1), (1, 0), (1, 1, 0), svec(I)."""
        return np.tile(self._inward, self.count)

    @property
    def _inward(self) -> FloatArray:
        return np.ones(self.dim)

    @property
    def block(self) -> int:
        """Rows that are judged together: one where the cone is a product of half-lines or points, else one cone's."""
        return self.dim

    def violation(self, v: FloatArray) -> float:
        """Largest absolute entry of ``v - Π_K(v)``: zero exactly on the cone."""
        return largest(v - self.project(v))

    def relative_violation(self, v: FloatArray, scale: FloatArray, unit: FloatArray | float = 1.0) -> float:
        """Largest violation of a `block` of rows relative to the block's largest entries of ``unit`` > 0 and ``scale`` ≥ 0,
        added.
        """
        outside = np.abs(v - self.project(v)).reshape(-1, self.block).max(axis=1)
        units = np.broadcast_to(np.asarray(unit), v.shape).reshape(-1, self.block).max(axis=1)
        return float((outside / (units + scale.reshape(-1, self.block).max(axis=1))).max(initial=0.0))

    def dual_violation(self, z: FloatArray) -> float:
        """Largest absolute entry of ``z - Π_{K*}(z)``: zero exactly on the dual cone."""
        return largest(self.project(-z))

    def __str__(self) -> str:
        return f"{self.symbol}({self.dim})" if self.count == 1 else f"{self.symbol}({self.dim})^{self.count}"


def largest(v: FloatArray) -> float:
    """max |v_i|; 0 of nothing."""
    return float(np.abs(v).max(initial=0.0))
