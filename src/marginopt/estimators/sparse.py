"""`SparseSVC`: the best classifier of at most k features, with a proved bound, and the curve of its objective against k."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..drawing import colour_of, new_axes
from ..errors import InputError
from ..models.arrays import FloatArray, Points, as_integer, as_positive
from ..models.formulations.margin.model import Margin
from ..models.formulations.margin.parts_by_name import LOSSES, part_by_name
from ..models.formulations.margin.regularisers import SquaredNorm
from ..models.formulations.margin.restrictions import Nonzero
from ..models.model import Model
from ..solvers.path import SolutionPath, path
from .base import EstimatorInfo, Pair
from .classifier import PreparedData, SearchedClassifier
from .training import BinaryFit, one_or_all
from .training_set import Space

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class SparseSVC(SearchedClassifier):
    """Linear classifier of at most k features, `marginopt.Margin`: min ½||w||² + C Σ s_i ℓ(y_i f(x_i)), ||w||_0 ≤ k.

    Solved by exact branch and bound within a budget: ``gap_`` says how far the classifier can be from the optimum, and the bound
    is proved. A search that the budget ends gives its best classifier, without a warning.

    Parameters
    ----------
    k : int
        Most features in use, ≥ 1, of each binary problem. The intercept is free and does not count.
    C : float
        C > 0; s_i = sample weight × class weight multiplies it.
    loss : {"hinge", "squared-hinge", "logistic"}
    curve : bool
        Also solve for each smaller number of features, each from the next larger one's classifier and bound.
    solver : str
        "auto" is "sparse-bb" where k binds; any solver that reads the problem ("scip", "gurobi").
    tol : float
        Relative gap at which to stop.
    node_limit, time_limit : optional
        Budget of nodes, of seconds, for each binary problem and each number of features.
    verbose : bool
        Whether solvers tell of their progress: ours on standard error, others in their own words where they print.
    random_state : int
        Seed of the solver; "sparse-bb" draws no random numbers.
    multi_class, n_jobs, class_weight, standardise
        As `L2SVC`.

    Attributes
    ----------
    support_ : ndarray of int
        The features in use, of any binary problem.
    gap_ : float
        Relative gap, the largest of all binary problems.
    curve_ : SolutionPath
        With ``curve=True`` the results for 1, ..., k features; a list in the order of ``pairs_`` where there are several
        problems. `draw_curve` draws it.
    coef_, intercept_ : ndarray (problems, p), (problems,)
        For rows as they come.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        See `ModelClassifier`.

    Raises
    ------
    InputError
        When it is fitted: k < 1, C ≤ 0, or another loss.

    Examples
    --------
    >>> model = mo.estimators.SparseSVC(k=3, curve=True).fit(X, y)  # doctest: +SKIP
    >>> model.support_, model.gap_  # doctest: +SKIP
    """

    k: int = 5
    _: KW_ONLY
    C: float = 1.0
    loss: str = "hinge"
    curve: bool = False
    tol: float | None = 1e-4
    time_limit: float | None = 60.0

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: Space) -> Model:
        return self._problem_of(self._count, X, y, cost)

    def _problem_of(self, k: int, X: Points, y: FloatArray, cost: FloatArray) -> Margin:
        """Return the problem of at most k features; without a count where that does not bind."""
        loss = part_by_name(self.loss, LOSSES, "loss")
        if loss.linear_loss is None:
            raise InputError(f"loss must be 'hinge', 'squared-hinge' or 'logistic'; it is {self.loss!r}", name="loss")
        count = (Nonzero(k),) if k < X.shape[1] - 1 else ()
        return Margin(X, y, loss, SquaredNorm(0.5), "free", as_positive(self.C, "C") * cost, subject_to=count)

    @property
    def _count(self) -> int:
        k = as_integer(self.k, "k")
        if k < 1:
            raise InputError(f"k must be at least 1; it is {k}", name="k")
        return k

    def _solve_all(self, data: PreparedData) -> list[BinaryFit]:
        outcomes = super()._solve_all(data)
        self.__dict__.pop("curve_", None)
        if self.curve:
            curves = [self._curve(data, pair, outcome) for pair, outcome in zip(data.pairs, outcomes, strict=True)]
            self.curve_ = one_or_all(curves)
        return outcomes

    def _curve(self, data: PreparedData, pair: Pair, outcome: BinaryFit) -> SolutionPath:
        """Return the results for each number of features up to that of the fit."""
        X, y, cost = data.data(pair)
        sizes, result = list(range(1, min(self._count, X.shape[1] - 1) + 1)), outcome.result
        seconds = result.build_seconds + result.solve_seconds
        if len(sizes) == 1:
            return SolutionPath("k", (1,), (result,), seconds)
        with self._no_advice():
            problem = self._problem_of(1, X, y, cost)
        fewer = path(problem, "k", sizes[:-1], solver=self._solver(), options=self._options({"w": result.values["w"]}))
        return SolutionPath("k", tuple(sizes), (*fewer.results, result), fewer.seconds + seconds)

    def _set_fitted(self, data: PreparedData, outcomes: Sequence[BinaryFit]) -> None:
        super()._set_fitted(data, outcomes)
        self.support_ = np.flatnonzero((self.coef_ != 0.0).any(axis=0))
        self.gap_ = max(outcome.result.gap for outcome in outcomes)

    def draw_curve(self, ax: Axes | None = None) -> Axes:
        """Draw the objective of each number of features, with its proved bound below.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure's by default.

        Raises
        ------
        InputError
            Not fitted with ``curve=True``.
        """
        from matplotlib.ticker import MaxNLocator

        fitted = getattr(self, "curve_", None)
        if fitted is None:
            raise InputError("the curve is drawn after a fit with curve=True")
        ax = new_axes((5.0, 3.5)) if ax is None else ax
        curves = [fitted] if len(self.pairs_) == 1 else fitted
        for place, (pair, curve) in enumerate(zip(self.pairs_, curves, strict=True)):
            negative, positive = pair
            label = "" if len(curves) == 1 else f"{positive} against {'the rest' if negative is None else negative}: "
            bounds = [np.nan if result.bound is None else result.bound for result in curve]
            colour = colour_of(place)
            ax.plot(curve.values, curve.objectives, color=colour, marker="o", markersize=4, label=f"{label}objective")
            ax.fill_between(curve.values, bounds, curve.objectives, color=colour, alpha=0.3, linewidth=0.0)
            ax.plot(curve.values, bounds, color=colour, linestyle="--", linewidth=1.0, label=f"{label}proved bound")
        ax.set_xlabel("features")
        ax.set_ylabel("½||w||² + C Σ loss")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(alpha=0.3)
        ax.legend(fontsize=8)
        return ax


ESTIMATORS = (EstimatorInfo(SparseSVC, Margin, "at most k features, with a proved bound", {"k": 2, "node_limit": 20}),)
