"""The abstract restriction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .....errors import InputError
from .....labelled import DataNames
from .....rows import Rows
from ....arrays import BoolArray, FloatArray, IntArray, Points
from ....margin_view import Budget, EqualRates
from ..assembly import Affine, Assembly
from ..part import Classifier, Part, Setting
from ..values import as_wholes

__all__ = ["Restriction", "members"]


class Restriction(Part):
    """Something that the classifier must satisfy.

    Attributes
    ----------
    of_margins : bool
        Whether it speaks of the points' margins, which a loss of residuals, scores or pairs does not have.
    by_loss : bool
        Whether it counts by the loss's own variables: margins below 1 where the loss counts those.
    """

    of_margins: ClassVar[bool] = False
    by_loss: ClassVar[bool] = False

    @abstractmethod
    def add(self, builder: Assembly, context: Setting, errors: Affine | None, name: str) -> None:
        """Add variables and constraints, under labels that begin with ``name``.

        ``errors`` are the loss's 0-1 variables that count errors, where it has such.
        """

    @property
    @abstractmethod
    def name(self) -> str:
        """Label of its constraints."""

    @property
    def most(self) -> int | None:
        """k where it is that at most k penalised coefficients are not zero; None where it is something else."""
        return None

    def kept(self, n: int) -> IntArray | None:
        """Return the points, of n, whose margins must be at least 1; None where the restriction is something else."""
        return None

    def budget(self, y: FloatArray) -> Budget | None:
        """Return the points of which only so many may have a margin below 1; None where the restriction is something else."""
        return None

    @property
    def names_coefficients(self) -> bool:
        """Return whether it names coefficients by columns of X."""
        return False

    def located(self, names: DataNames, X: Points | Rows, y: FloatArray) -> Restriction:
        """Return the restriction with columns and classes by number, where it was stated by their names.

        Raises
        ------
        InputError
            A name that the data do not have.
        """
        return self

    def check(self, p: int, y: FloatArray) -> None:
        """Check that it fits p coefficients and these labels.

        Raises
        ------
        InputError
            Another number of points or coefficients, or points of a class that is not there.
        """
        return

    def equal_rates(self, y: FloatArray) -> EqualRates | None:
        """Return the groups whose shares of positive scores must be close; None where the restriction is something else."""
        return None

    def blocks(self, classifier: Classifier, name: str) -> dict[str, FloatArray]:
        """The variables that it adds under ``name``, at their best for a classifier; none where it does not know them."""
        return {}

    def violation(self, X: FloatArray, y: FloatArray, w: FloatArray) -> float:
        """Return the violation by a classifier, from the data; 0 where it is satisfied."""
        return 0.0

    def excess(self, X: FloatArray, y: FloatArray, w: FloatArray, penalised: BoolArray) -> float:
        """`violation`, told which coefficients the regulariser sees: what counts those asks for it."""
        return self.violation(X, y, w)


def members(points: Sequence[int] | ArrayLike, n: int, what: str) -> IntArray:
    """Indices of points given as indices or as a boolean mask.

    Raises
    ------
    InputError
        Indices out of range, a mask of another length, or nothing at all.
    """
    points_array = np.asarray(points)
    indices = np.flatnonzero(points_array)
    if points_array.dtype != bool:
        indices = np.unique(np.array(as_wholes(np.atleast_1d(points_array), what), dtype=np.int64))
    if points_array.dtype == bool and points_array.shape != (n,):
        raise InputError(f"{what} given as a mask must have {n} entries, one for each point; it has {points_array.size}")
    if not indices.size or indices.min() < 0 or indices.max() >= n:
        raise InputError(f"{what} must name points by indices from 0 to {n - 1}, at least one; it is {points!r}")
    return indices
