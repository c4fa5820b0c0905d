"""`L2SVC`: the kernel SVM with squared slacks and a penalised intercept, of the Frank-Wolfe paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np

from ..errors import SolverError
from ..models.arrays import FloatArray, Points
from ..models.formulations.svm_duals import L2SVMDual
from ..models.model import Model
from ..solvers.certification.result import Result
from .base import EstimatorInfo, Pair
from .classifier import KernelClassifier, PreparedData, WeightedClassifier
from .training_set import KernelSpace, Solution, Space


@dataclass(eq=False, repr=False)
class L2SVC(WeightedClassifier, KernelClassifier):
    """Support vector classifier with squared slacks and penalised intercept, `marginopt.L2SVMDual`, FW (12).

    The decision function is divided by the margin ρ, so it is that of min ½(||w||² + b²) + (C/2) Σ s_i ξ_i²,
    y_i f(x_i) ≥ 1 - ξ_i, s_i = sample weight × class weight.

    Parameters
    ----------
    C : float
        > 0.
    kernel : {"rbf", "linear", "polynomial", "precomputed"}, Kernel or callable
    gamma : float or str, optional
        γ of "rbf" and "polynomial", or the name of a rule (`models.kernels.kernels.gamma_by_rule`); each kernel's default
        rule where it is not given.
    degree, coef0
        Of "polynomial".
    solver : str
        A name of ``marginopt.solvers.table()``, or "auto".
    tol : float
        Relative duality gap.
    multi_class : {"ovo", "ovr"}
        One against one, or one against the rest.
    n_jobs : int, optional
        Binary problems at a time (joblib).
    class_weight : dict or "balanced", optional
    standardise : bool
        Bring every feature to (weighted) mean 0 and deviation 1 first; sparse features to deviation 1 only.
    warm_start : bool
        Start from the last fit's multipliers: along C, or when rows have been added below those of the last fit.
    time_limit : float, optional
        Seconds for each binary problem.
    verbose : bool
        Whether solvers tell of their progress: ours on standard error, others in their own words where they print.

    Attributes
    ----------
    support_, dual_coef_, intercept_, kernel_
        See `KernelPredictor.attributes`; f = Σ dual_coef_ k(x_i, x) + intercept_.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        See `ModelClassifier`.
    """

    C: float = 1.0
    kernel: Any = "rbf"
    _: KW_ONLY
    tol: float | None = 1e-4
    warm_start: bool = False

    _last: Mapping[Any, FloatArray] | None = field(default=None, init=False)

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: Space) -> Model:
        assert isinstance(space, KernelSpace)
        weight = None if (cost == 1.0).all() else cost
        return L2SVMDual(X, y, C=self.C, kernel=space.kernel, sample_weight=weight)

    @staticmethod
    def _solution(problem: Model, result: Result) -> Solution:
        """Return (a∘y)/ρ with ρ = a'K̃a, which at the optimum is min (K̃a)_i; the intercept is the sum of these."""
        assert isinstance(problem, L2SVMDual)
        a = result.values["a"]
        margin = 2.0 * problem.simplex.objective(a)
        if not margin > float(a @ problem.simplex.gram.product_error(a)):
            raise SolverError(
                f"the margin is below the rounding error of the {problem.kernel.name} kernel's values: no classifier follows; "
                "standardise or rescale the features, or give a smaller C"
            )
        beta = a * problem.y / margin
        return Solution(beta, float(beta.sum()))

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        fitted = super()._fit(X, y, sample_weight)
        self._last = {pair: np.abs(row) for pair, row in zip(self.pairs_, self.dual_coef_, strict=True)}
        return fitted

    def _start(self, data: PreparedData, pair: Pair) -> Mapping[str, FloatArray] | None:
        """Return the last |coefficients| of the same two classes, by row of the training set."""
        if not self.warm_start or not self._last:
            return None
        last = self._last.get(data.labels(pair))
        if last is None:
            return None
        sample = data.sample
        rows = int(sample.points.max()) + 1
        by_row = np.zeros(max(rows, int(self.support_.max()) + 1))
        by_row[self.support_] = last
        merged = np.bincount(sample.member, weights=by_row[sample.points], minlength=sample.rows.size)[pair.index]
        return {"a": merged / merged.sum()} if merged.any() else None


ESTIMATORS = (EstimatorInfo(L2SVC, L2SVMDual, "SVM with squared slacks"),)
