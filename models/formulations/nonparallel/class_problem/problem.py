"""The data and parameters of `NonparallelSVM` that the parts of one class's problem read."""

from __future__ import annotations

from typing import Any, Protocol

import numpy.typing as npt

from ....arrays import BoolArray, FloatArray, Points
from ....kernels.feature_map import FeatureMap
from ....kernels.kernels import Kernel
from ..evaluation import Base, Ridge
from ..hinge_factor import HingeFactor, KernelRows, SharedRows, SignedFactor
from ..pair_losses import PairLoss

__all__ = ["ClassProblem"]


class ClassProblem(Protocol):
    """Data and parameters of NPSVC++ (2), and what its programs share."""

    @property
    def X(self) -> Points:
        """Points (n, p)."""

    @property
    def labels(self) -> npt.NDArray[Any]:
        """Their classes."""

    @property
    def target(self) -> Any:
        """The class whose hyperplane it is."""

    @property
    def inside(self) -> BoolArray:
        """Points of the target class."""

    @property
    def loss(self) -> PairLoss:
        """The pair of Table 1."""

    @property
    def convex(self) -> bool:
        """True if both losses are convex."""

    @property
    def c(self) -> float:
        """Weight of the others' losses."""

    @property
    def r(self) -> float:
        """Weight of the norm."""

    @property
    def margin(self) -> float:
        """s."""

    @property
    def epsilon(self) -> float:
        """ε."""

    @property
    def tau(self) -> float:
        """τ."""

    @property
    def gamma(self) -> float:
        """γ of "correntropy"."""

    @property
    def manifold(self) -> float:
        """μ."""

    @property
    def kernel(self) -> Kernel:
        """Kernel of the features."""

    @property
    def features(self) -> FeatureMap:
        """Ψ."""

    @property
    def regulariser(self) -> FloatArray:
        """rI + μΨ'LΨ."""

    @property
    def base(self) -> Ridge | Base:
        """The same, as `HingeFactor` reads it."""

    @property
    def kernel_rows(self) -> KernelRows | None:
        """The rows that the classes' quadratics share with a kernel and no graph."""

    @property
    def shared_rows(self) -> SharedRows | None:
        """The rows of all points that the classes' quadratics share with a kernel."""

    @property
    def all_rows(self) -> HingeFactor | SignedFactor:
        """The quadratic with the rows of all points, the target class's in both signs where the losses are convex."""
