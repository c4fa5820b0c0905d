"""The abstract loss."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ....arrays import BoolArray, FloatArray, Points
from ....linear_view import LinearLoss
from ....margin_view import Corners
from ....statement import Line
from ...linear import signed_rows
from ..assembly import Affine, Assembly
from ..part import Classifier, Part, Setting
from .branch import Branch
from .conjugate import Conjugate

__all__ = ["Loss"]


class Loss(Part):
    """A cost of each point, as a function of its margin m_i = y_i x_i'w (or of what ``rows`` says).

    Attributes
    ----------
    labels : bool
        Whether y must be -1 and +1; else any numbers.
    residuals : bool
        Whether y are targets, and the loss is of y_i - x_i'w.
    intercept : bool
        Whether a column of ones means anything: not where only differences of scores count.
    """

    labels: ClassVar[bool] = True
    residuals: ClassVar[bool] = False
    intercept: ClassVar[bool] = True
    #: The loss as the solver of large linear problems knows it; None where it does not.
    linear: ClassVar[LinearLoss | None] = None
    #: Whether `scores` reads x'x.
    needs_squares: ClassVar[bool] = False

    def rows(self, X: Points, y: FloatArray) -> tuple[sp.csr_array, FloatArray]:
        """A and c with argument Aw + c; margins unless a loss says otherwise."""
        return signed_rows(X, y), np.zeros(X.shape[0])

    @abstractmethod
    def values(self, argument: FloatArray) -> FloatArray:
        """The loss itself."""

    def costs(self, weights: FloatArray, y: FloatArray) -> FloatArray:
        """The cost of each argument from those of the points."""
        return weights

    def total(self, costs: FloatArray, argument: FloatArray) -> float:
        """Σ costs · loss."""
        return float(costs @ self.values(argument))

    def upper_bound(self, costs: FloatArray, argument: FloatArray) -> float:
        """Return an upper bound of the total: the total itself where it can be computed."""
        return self.total(costs, argument)

    @abstractmethod
    def add(self, builder: Assembly, context: Setting) -> Affine | None:
        """Add variables, constraints and cost; return the 0-1 variables that count errors, where there are any."""

    @abstractmethod
    def cost_line(self) -> Line:
        """Line of the loss in the objective, in the variables that `add` makes."""

    def bind(self, X: Points, y: FloatArray, weights: FloatArray, curvature: FloatArray) -> Loss:
        """The loss on these data: with what it leaves to them decided, or refused.

        Parameters
        ----------
        X, y, weights
            The data, and the points' costs.
        curvature : ndarray (p,) or (p, p)
            D ⪰ 0, or its diagonal, such that the regulariser minus w'Dw is convex.
        """
        return self

    def scores(self, values: Mapping[str, FloatArray], products: FloatArray, squares: FloatArray) -> FloatArray:
        """f(x) of new points from x'w and x'x; x'w itself unless a loss has a level of its own."""
        return products

    def conjugate(self) -> Conjugate | None:
        """Return the parts of the closed-form dual; None where there is none."""
        return None

    def multipliers(self, alpha: FloatArray, costs: FloatArray) -> dict[str, FloatArray]:
        """Multipliers of its other rows from α ≥ 0 of ``margin``; none where it has no other rows."""
        return {}

    def convex_pieces(self) -> tuple[Branch, ...]:
        """Convex pieces whose least value the loss is; none where it is convex, or not known to be such."""
        return ()

    def corners(self) -> Corners | None:
        """The loss as a function of the margin that falls to 0, piecewise linear with jumps; None where it is none."""
        return None

    @property
    def jumps(self) -> tuple[tuple[float, float], ...]:
        """Thresholds at which the loss jumps, each with its side: 1 where it is less from there on, -1 where up to there."""
        corners = self.corners()
        if corners is None:
            return ()
        return tuple((t, 1.0) for t in corners.margins[corners.below > corners.at].tolist())

    def blocks(self, classifier: Classifier) -> dict[str, FloatArray]:
        """The variables that it adds to the form, at their best for a classifier; none where it does not know them."""
        return {}

    def view(self, A: FloatArray, costs: FloatArray, penalised: BoolArray, mu: float) -> object:
        """Return the view that a solver of its own reads of min μ||w||² of the penalised w_j + Σ costs · loss(Aw), μ > 0; None
        without one.
        """
        return None

    def nonnegative(self) -> bool:
        """Return whether no value is below 0, so that the objective bounds the regulariser."""
        return True

    @property
    def indicator_threshold(self) -> float | None:
        """t where the loss is 1{m < t}; None where it is another."""
        return None

    def saturation(self) -> float:
        """A t such that the loss is constant where |argument| ≥ t, on either side; infinite where it is not."""
        return float("inf")
