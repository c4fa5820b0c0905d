"""The rows of a composed problem: the data, or their images under a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....rows import Rows
from ...arrays import FloatArray, Points, as_points, in_memory, row_norms_squared
from ...kernels.feature_map import KernelCoordinates
from ...kernels.kernels import Kernel, as_kernel

__all__ = ["Features", "Images", "Plain", "images_of"]


class Features(ABC):
    """Rows in which scores are linear, for the data and for new points."""

    @property
    @abstractmethod
    def rows(self) -> Points:
        """One row for each point, one column for each coefficient."""

    @property
    def matrix(self) -> Points | Rows:
        """The rows, in memory or in blocks: what can be multiplied."""
        return self.rows

    @property
    def width(self) -> int:
        """Number of coefficients."""
        return int(self.matrix.shape[1])

    @abstractmethod
    def products(self, w: FloatArray, X: object) -> FloatArray:
        """Scores x'w of new points."""

    @abstractmethod
    def squares(self, X: object) -> FloatArray:
        """x'x of new points."""


@dataclass(frozen=True, eq=False)
class Plain(Features):
    """The data as they are."""

    X: Points | Rows

    @property
    def rows(self) -> Points:
        """X, in memory."""
        return in_memory(self.X, "this")

    @property
    def matrix(self) -> Points | Rows:
        """X."""
        return self.X

    def products(self, w: FloatArray, X: object) -> FloatArray:
        """Xw."""
        return np.asarray(as_points(X, columns=self.X.shape[1]) @ w)

    def squares(self, X: object) -> FloatArray:
        """Squared norms of the rows."""
        return row_norms_squared(as_points(X, columns=self.X.shape[1]))


@dataclass(frozen=True, eq=False)
class Images(Features):
    """Coordinates in feature space, after a one for the intercept where there is one."""

    X: Points
    kernel: Kernel
    intercept: bool

    @cached_property
    def coordinates(self) -> KernelCoordinates:
        """Coordinates of the span of the points."""
        return KernelCoordinates(self.X, self.kernel)

    @cached_property
    def rows(self) -> Points:
        """A one, if any, and the coordinates."""
        inner = self.coordinates.rows
        return np.column_stack([np.ones(inner.shape[0]), inner]) if self.intercept else inner

    def products(self, w: FloatArray, X: object) -> FloatArray:
        """Σ β_i k(x_i, x), and the intercept."""
        return self.coordinates.scores(w[1:], X) + w[0] if self.intercept else self.coordinates.scores(w, X)

    def squares(self, X: object) -> FloatArray:
        """k(x, x)."""
        return self.coordinates.squares(X)


def images_of(kernel: object, X: Points) -> Images:
    """The images of X under a kernel, a one for the intercept first; those that are there already, where X are their rows.

    Raises
    ------
    InputError
        No kernel, or one that is not positive semidefinite on X.
    """
    if isinstance(kernel, Images):
        if X is kernel.rows or np.array_equal(X, kernel.rows):
            return kernel
        kernel = kernel.kernel
    return Images(X, as_kernel(kernel, X), True)
