"""The parameters of `ChebyshevNPSVC` that the form, the statement and the steps of the Chebyshev problem read."""

from __future__ import annotations

from typing import ClassVar, Protocol

from ....arrays import BoolArray, FloatArray, Points
from ....kernels.feature_map import FeatureMap
from ....kernels.kernels import Kernel

__all__ = ["ChebyshevProblem"]


class ChebyshevProblem(Protocol):
    """Data and parameters of NPSVC++ (8)."""

    name: ClassVar[str]

    @property
    def X(self) -> Points:
        """Points (n, p)."""

    @property
    def K(self) -> int:
        """Number of classes."""

    @property
    def features(self) -> FeatureMap:
        """Ψ."""

    @property
    def kernel(self) -> Kernel:
        """Kernel of the features."""

    @property
    def P(self) -> FloatArray | None:
        """The projection, where it is fixed."""

    @property
    def weights(self) -> FloatArray | float:
        """ϖ."""

    @property
    def orientation(self) -> str:
        """The points that are near hyperplane l, in words."""

    @property
    def c(self) -> float:
        """Weight of the others' losses."""

    @property
    def r1(self) -> float:
        """Weight of u - Pv."""

    @property
    def r2(self) -> float:
        """Weight of v."""

    @property
    def mu(self) -> float:
        """Weight of the graph."""

    @property
    def d(self) -> int | None:
        """Columns of P."""

    @property
    def ridge(self) -> float:
        """Ridge of the features."""

    @property
    def offset(self) -> float:
        """Offset of the features."""

    @property
    def neighbours(self) -> int | None:
        """Neighbours in the graph."""

    def near(self, k: int) -> BoolArray:
        """Points that hyperplane k is to be near."""

    def smoothness(self, P: FloatArray) -> float:
        """μ/2 Tr(P'SP)."""
