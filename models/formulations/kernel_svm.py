"""Fields and checks that the duals of kernel SVMs on labelled points share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar

from ..arrays import FloatArray, Points, as_divisor, as_labels, as_points, as_positive, as_weights
from ..inspection.point_explanation import PointExplanation, two_classes, weighed
from ..kernels.kernels import Kernel, Linear, as_kernel
from ..model import Model

__all__ = ["KernelSVMDual"]


@dataclass(frozen=True, eq=False, repr=False)
class KernelSVMDual(Model):
    """The dual of an SVM with a kernel: points, labels -1 and +1, a cost C of slack, and weights of the points.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels that are not -1 and +1, C ≤ 0, a weight ≤ 0, not a kernel.
    """

    X: Points
    y: FloatArray
    C: float = 1.0
    kernel: Kernel = field(default_factory=Linear)
    sample_weight: FloatArray | None = None

    #: Whether 1/C stands in the program and must be finite as well.
    _divides: ClassVar[bool] = True
    #: Whether the margin is 1, so that points are inside it, on it or beyond.
    _unit_margin: ClassVar[bool] = False

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, X.shape[0]))
        object.__setattr__(self, "C", (as_divisor if self._divides else as_positive)(self.C, "C"))
        object.__setattr__(self, "kernel", as_kernel(self.kernel, X))
        object.__setattr__(self, "sample_weight", as_weights(self.sample_weight, X.shape[0]))

    @cached_property
    def ridge(self) -> float | FloatArray:
        """1/C, or 1/(C s_i) of every point: what squared slack adds to the kernel's diagonal."""
        return 1.0 / self.C if self.sample_weight is None else 1.0 / (self.C * self.sample_weight)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Points by their margins."""
        decide = partial(self.decision_function, values)
        return two_classes(self.X, self.y, decide, weighed(values), unit=self._unit_margin)
