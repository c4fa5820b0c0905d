"""`HingeSVC` and `HingeSVCCV`: linear classifiers of the hinge loss (the SVM), with λ given or chosen by validation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..models.arrays import FloatArray, Points, as_positive
from ..models.formulations.hinge import HingeSVM
from ..models.model import Model
from .base import EstimatorInfo
from .classifier import CrossValidatedClassifier, LinearClassifier, PathClassifier, WeightedClassifier, grid_values
from .training_set import Space


class HingeClassifier(PathClassifier, LinearClassifier):
    """The problem of `HingeSVC` and `HingeSVCCV`."""

    def _problem_at(self, X: Points, y: FloatArray, cost: FloatArray, space: Space, value: float) -> Model:
        return HingeSVM(X, y, lam=value * cost)


@dataclass(eq=False, repr=False)
class HingeSVC(WeightedClassifier, HingeClassifier):
    """Linear hinge-loss classifier, `marginopt.HingeSVM`, Conic (2): min ||w||² + λ Σ s_i (1 - y_i f(x_i))_+.

    The intercept is part of ||w||². The usual C is λ/2.

    Parameters
    ----------
    lam : float
        λ > 0; s_i = sample weight × class weight multiplies it.
    solver, tol, multi_class, n_jobs, class_weight, standardise, time_limit, verbose
        As `L2SVC`.

    Attributes
    ----------
    coef_, intercept_ : ndarray (problems, p), (problems,)
        For rows as they come.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        See `ModelClassifier`.
    """

    lam: float = 1.0

    def _value(self) -> float:
        return as_positive(self.lam, "lam")


@dataclass(eq=False, repr=False)
class HingeSVCCV(CrossValidatedClassifier, HingeClassifier):
    """`HingeSVC` with λ chosen by validation, as in the conic paper: λ = β/(1 - β), β uniform in (0, 1).

    Parameters
    ----------
    lam_grid : int or array_like
        How many values of β, k/(lam_grid + 1) for k = 1 .. lam_grid; or the values of λ themselves.
    cv : int, float, splitter or iterable
        Number of stratified folds (never more than the smallest class has points); a part in (0, 1), the size of one stratified
        validation set; or whatever scikit-learn takes (``PredefinedSplit`` for a validation set of your own).
    n_jobs : int, optional
        Folds at a time (joblib).
    solver, tol, multi_class, class_weight, standardise, time_limit, verbose
        As `HingeSVC`.

    Attributes
    ----------
    lam_ : float
        The chosen λ.
    values_, cv_scores_, best_index_, best_score_
        See `CrossValidatedClassifier`.
    coef_, intercept_, problem_, result_, certificate_, pairs_, classes_, n_features_in_
        As `HingeSVC`.
    """

    lam_grid: Any = 100
    _: KW_ONLY
    class_weight: Any = None

    def _values(self) -> FloatArray:
        def uniform_beta(count: int) -> FloatArray:
            beta = np.arange(1, count + 1) / (count + 1.0)
            return np.asarray(beta / (1.0 - beta))

        return grid_values(self.lam_grid, "lam_grid", uniform_beta)

    @property
    def lam_(self) -> float:
        """The chosen λ."""
        return self._value()


ESTIMATORS = (
    EstimatorInfo(HingeSVC, HingeSVM, "linear hinge-loss classifier"),
    EstimatorInfo(HingeSVCCV, HingeSVM, "linear hinge-loss classifier, λ by validation", {"lam_grid": 2, "cv": 0.3}),
)
