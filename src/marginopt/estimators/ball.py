"""`MEBOneClass`, the scikit-learn estimator of novelty detection by the minimum enclosing ball in feature space.

The feature space is that of a kernel, k(x, x') = φ(x)'φ(x'), and the ball the smallest one that holds all φ(x_i).
"""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin

from ..errors import InputError, short_text
from ..models.arrays import FloatArray, as_points, to_dense
from ..models.formulations.enclosing_ball import MEBDual
from ..models.kernels.kernels import Precomputed
from .base import EstimatorInfo, ModelEstimator, refuse_fit_arguments
from .training import solve_for_classifier
from .training_set import BinaryProblem, Solution, WeightedPoints


@dataclass(eq=False, repr=False)
class MEBOneClass(OutlierMixin, ModelEstimator):  # type: ignore[misc]
    """Novelty detection by the smallest ball that encloses the training points in feature space, `marginopt.MEBDual`.

    Its dual is (15) of Frandi et al. (2013), over weights a ≥ 0, Σ a_i = 1. ``score_samples`` is minus the squared distance to
    the centre c = Σ a_i φ(x_i).

    Parameters
    ----------
    kernel : {"rbf", "linear", "polynomial", "poly", "precomputed"}, Kernel or callable
        With "precomputed", X is the kernel matrix, and new points have k(x, x) = the largest entry of the training diagonal,
        since rows of k(x_i, x) do not hold it; exact for kernels of constant diagonal.
    gamma, degree, coef0
        γ of "rbf" and "polynomial", a number or the name of a rule (`gamma_by_rule`); degree and constant of "polynomial".
    solver, tol, standardise, time_limit, verbose
        The solver, its relative gap, whether to scale features first, seconds, and whether to print progress (`ModelEstimator`).
    contamination : float
        Share of the training points, in [0, 0.5], outside the threshold, which is that quantile of their scores. With 0 the
        threshold is the ball's radius, and every training point is inside.

    Attributes
    ----------
    offset_ : float
        ``decision_function`` = ``score_samples`` - ``offset_``.
    radius_ : float
        Radius of the enclosing ball about the centre.
    support_, dual_coef_ : ndarray
        Indices of the points with a_i > 0, and their a_i (1 × support vectors).
    kernel_, problem_, result_, certificate_, n_features_in_
        The kernel with γ as a number, the model, its result and certificate, and the number of features.
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    gamma: Any = None
    degree: int = 2
    coef0: float = 0.0
    contamination: float = 0.1
    tol: float | None = 1e-4

    def fit(self, X: Any, y: Any = None, **other: Any) -> Self:
        """Fit to n points (n × p; dense or CSR); y is not used. Points have no weights in this problem: a ball encloses all.

        Raises
        ------
        InputError
            A parameter or the data cannot be used; says which, and what is needed.
        TypeError
            An argument that ``fit`` does not take.
        SolverError
            The solver found no point.
        """
        refuse_fit_arguments(self, other)
        if not isinstance(self.contamination, (int, float)) or not 0.0 <= self.contamination <= 0.5:
            raise InputError(
                f"contamination must be a number in [0, 0.5]; it is {short_text(self.contamination)}", name="contamination"
            )
        X = as_points(self._validate(X, ensure_min_samples=2))
        sample = WeightedPoints.separate(np.ones(X.shape[0]))
        space = self._kernel_space(X, sample)
        self.problem_ = self._with_columns(MEBDual(space.Z, space.kernel))
        work = copy.copy(self.problem_)  # the one that is kept carries no kernel columns
        self.result_ = solve_for_classifier(work, self.solver, self._options())
        self.certificate_ = self.result_.certificate
        a = self.result_.values["a"]
        self._centre_norm = float(a @ work.gram.product(a))
        self._diagonal = float(work.gram.diagonal.max())
        everyone = BinaryProblem(sample.rows, np.ones(X.shape[0]), -1, 0)
        self._origin = work.centred.centre
        self._predictor = space.predictor(sample, [everyone], [Solution(a, 0.0, origin=self._origin)])
        shown = self._predictor.attributes()
        self.support_, self.dual_coef_, self.kernel_ = shown["support_"], shown["dual_coef_"], shown["kernel_"]
        self.radius_ = float(np.sqrt(max(work.squared_distances(self.result_.values).max(), 0.0)))
        scores = self._scores(X)
        inside = float(scores.min())
        # the ball's own threshold is moved by its rounding, so that the points on its surface stay inside
        self.offset_ = (
            inside - 1e-9 * max(abs(inside), self._diagonal)
            if self.contamination == 0.0
            else float(np.quantile(scores, self.contamination))
        )
        return self

    def _scores(self, X: Any) -> FloatArray:
        """Return -(k(x, x) - 2 Σ a_i k(x_i, x) + ||c||²) of each row x."""
        if isinstance(self.kernel_, Precomputed):
            diagonal: FloatArray | float = self._diagonal
        else:
            rows = self._predictor.scaling.transform(X)
            diagonal = self.kernel_.diagonal(rows if self._origin is None else to_dense(rows) - self._origin)
        return np.asarray(2.0 * self._predictor.scores(X)[:, 0] - diagonal - self._centre_norm)

    def score_samples(self, X: Any) -> FloatArray:
        """Return minus the squared distance to the centre (n,)."""
        return self._scores(self._new_points(X))

    def decision_function(self, X: Any) -> FloatArray:
        """Return ``score_samples`` - ``offset_`` (n,), ≥ 0 inside the threshold."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return 1 for points inside the threshold, -1 for points outside (n,)."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)


ESTIMATORS = (EstimatorInfo(MEBOneClass, MEBDual, "outliers by the minimum enclosing ball"),)
