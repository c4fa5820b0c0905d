"""`ZeroOneSVC`: the 0-1 loss, exactly, within a budget."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from ..errors import InputError
from ..models.arrays import FloatArray, Points, as_positive
from ..models.formulations.zero_one.model import ZeroOneSVM
from ..models.model import Model
from .classifier import SearchedClassifier
from .record import EstimatorInfo
from .spaces import Space

__all__ = ["ZeroOneSVC"]


class ZeroOneSVC(SearchedClassifier):
    """Linear classifier of the 0-1 loss, `marginopt.ZeroOneSVM`, Conic (3): min ||w||² + λ Σ s_i 1{y_i f(x_i) < 1}.

    With ``kappa`` in place of ``lam``: min ||w||² with at most κn margins violated.

    Solved by exact branch and bound within a budget: ``result_.gap`` (of each problem) says how far the classifier can be from
    the optimum, and the bound is proved. A search that the budget ends gives its best classifier, without a warning.

    Parameters
    ----------
    lam : float, optional
        λ > 0, 1 where neither λ nor κ is given; s_i = sample weight × class weight multiplies it.
    intercept : {"penalised", "free"}
        Whether the intercept is part of ||w||² (Conic) or not (Brooks).
    solver : str
        "auto" is "zero-one-bb"; any solver of mixed-integer quadratic problems will do.
    tol : float
        Relative gap at which to stop.
    node_limit : int, optional
        Budget of nodes for each binary problem (the same on every machine); None: no limit, an exact answer.
    time_limit : float, optional
        Budget of seconds for each binary problem.
    verbose : bool
        Whether solvers tell of their progress: ours on standard error, others in their own words where they print.
    random_state : int
        Seed of the incumbent heuristic.
    kappa : float, optional
        κ in [0, 1], a part of the points of each binary problem; without weights. Too small a κ has no classifier: an error.
    multi_class, n_jobs, class_weight, standardise
        As `L2SVC`.

    Attributes
    ----------
    coef_, intercept_ : ndarray (problems, p), (problems,)
        For rows as they come.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        See `ModelClassifier`.
    """

    def __init__(
        self,
        lam: float | None = None,
        *,
        intercept: str = "penalised",
        solver: Any = "auto",
        tol: float | None = 1e-4,
        node_limit: int | None = 10_000,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: int = 0,
        multi_class: str = "ovo",
        n_jobs: int | None = None,
        class_weight: Any = None,
        standardise: bool = True,
        kappa: float | None = None,
    ) -> None:
        self.lam = lam
        self.intercept = intercept
        self.solver = solver
        self.tol = tol
        self.node_limit = node_limit
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.multi_class = multi_class
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.standardise = standardise
        self.kappa = kappa

    def ambiguity(self, eps: float, within: float | None = None) -> tuple[float, float]:
        """Return the interval of the ambiguity at ε: the share of training points that some classifier predicts otherwise.

        The classifiers are those with an objective of at most the optimum + ε Σλ, and "otherwise" is with margin 1. Points count
        by their weights.

        Parameters
        ----------
        eps : float
        within : float, optional
            Passed to `questions.prediction_stability`; ε unless given.

        Raises
        ------
        InputError
            Not fitted to two classes with ``lam``, or ε is negative.
        """
        from ..questions.stability import prediction_stability

        level = as_positive(eps, "eps", zero=True)
        model = self._two_class_problem()
        table = prediction_stability(model, within=level if within is None else within, time_limit=self.time_limit)
        copies = model.weights / model.weights.min()
        return table.ambiguity(level, copies)

    def conformal_set(self, X: Any, alpha: float) -> list[np.ndarray]:
        """Return the exact full-conformal set of each row: the labels that hold its own with probability at least 1 - alpha.

        See `questions.conformal_sets`. The scaling of ``standardise`` is a function of the training points alone, which the
        exchangeability of the new point with them does not allow; sample and class weights neither.

        Raises
        ------
        InputError
            Not fitted to two classes with ``lam``; ``standardise`` or weights are in use; α outside (0, 1).
        """
        from ..questions.stability import conformal_sets

        model = self._two_class_problem()
        if self.standardise or self.class_weight is not None:
            raise InputError("conformal sets treat all points alike: fit with standardise=False and without class_weight")
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        lam = 1.0 if self.lam is None else float(self.lam)
        copies = np.rint(model.weights / lam).astype(np.int64)
        if not np.array_equal(copies * lam, model.weights):
            raise InputError("conformal sets treat all points alike: fit without sample_weight")
        points = ZeroOneSVM(
            np.repeat(np.asarray(model.X), copies, axis=0), np.repeat(model.y, copies), lam, intercept=model.intercept
        )
        sets = conformal_sets(points, np.column_stack([np.ones(len(rows)), rows]), alpha, time_limit=self.time_limit)
        return [self.classes_[held] for held in sets.contains]

    def _two_class_problem(self) -> ZeroOneSVM:
        """Return the λ problem of a classifier fitted to two classes."""
        check_is_fitted(self)
        if not isinstance(self.problem_, ZeroOneSVM) or self.problem_.kappa is not None:
            raise InputError("this answer is of one binary problem with lam: fit two classes, without kappa")
        return self.problem_

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: Space) -> Model:
        intercept: Any = self.intercept
        if self.kappa is None:
            lam = 1.0 if self.lam is None else as_positive(self.lam, "lam")
            return ZeroOneSVM(X, y, lam=lam * cost, intercept=intercept)
        if self.lam is not None:
            raise InputError(f"give lam or kappa, not both; lam={self.lam!r}, kappa={self.kappa!r}")
        if (cost != 1.0).any():
            raise InputError("kappa counts points: it takes no sample_weight or class_weight; give lam, or repeat the points")
        return ZeroOneSVM(X, y, kappa=self.kappa, intercept=intercept)


ESTIMATORS = (
    EstimatorInfo(ZeroOneSVC, ZeroOneSVM, "linear classifier with the 0-1 loss, within a budget of nodes", {"node_limit": 2000}),
)
