"""`NuSVC`: the SVM whose parameter is the share of margin errors."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from ..errors import InputError
from ..models.arrays import FloatArray, Points, as_share
from ..models.formulations.margin.named_formulations import NuSVM
from ..models.model import Model
from ..solvers.certification.result import Result
from .base import EstimatorInfo
from .classifier import KernelClassifier, WeightedClassifier
from .training_set import Sample, Solution, Space, expansion_coefficients, is_linear


@dataclass(eq=False, repr=False)
class NuSVC(WeightedClassifier, KernelClassifier):
    """ν-SVM, `marginopt.models.NuSVM`: at most a share ν of the weight is within the margin, at least ν on support vectors.

    The decision function is divided by the level ρ where ρ > 0, so that ±1 is the margin, as in scikit-learn.

    Parameters
    ----------
    nu : float
        ν in (0, 1]. With a free intercept at most twice the smaller class's share of the weight.
    intercept : {"free", "penalised"}
        Whether the intercept is part of ||w||².
    kernel, gamma, degree, coef0
        As `L2SVC`. The linear kernel has coefficients of the features.
    solver, tol, multi_class, n_jobs, class_weight, standardise, time_limit, verbose
        As `L2SVC`. ``class_weight="balanced"`` makes the classes' shares equal.

    Attributes
    ----------
    coef_ : ndarray (problems, p)
        Of the linear kernel, for rows as they come.
    support_, dual_coef_, kernel_
        Of other kernels; see `KernelPredictor.attributes`.
    intercept_ : ndarray (problems,)
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        See `ModelClassifier`.

    Raises
    ------
    InputError
        When it is fitted: ν outside (0, 1], or too large for the smaller class.
    """

    nu: float = 0.5
    kernel: Any = "rbf"
    _: KW_ONLY
    intercept: Literal["free", "penalised"] = "free"

    def _space(self, X: Points, sample: Sample) -> Space:
        return self._linear_space(X, sample) if is_linear(self.kernel) else self._kernel_space(X, sample)

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: Space) -> Model:
        nu = as_share(self.nu, "nu")
        smaller = min(float(cost[y > 0].sum()), float(cost[y < 0].sum())) / float(cost.sum())
        if self.intercept == "free" and nu > 2.0 * smaller * (1.0 + 1e-12):
            raise InputError(
                f"nu = {nu:g} is more than twice the smaller class's share of the weight, {smaller:.3g}, so a free intercept "
                "makes the problem unbounded; give a smaller nu, intercept='penalised' or class_weight='balanced'",
                name="nu",
            )
        return NuSVM(X, y, nu, self.intercept, space.kernel, cost)

    @staticmethod
    def _solution(problem: Model, result: Result) -> Solution:
        assert isinstance(problem, NuSVM)
        w, rho = result.values["w"], float(result.values["rho"][0])
        scale = 1.0 / rho if rho > 0.0 else 1.0
        coefficients = w[1:] if problem.kernel is None else expansion_coefficients(problem.composed, result)
        return Solution(scale * coefficients, scale * float(w[0]))


ESTIMATORS = (EstimatorInfo(NuSVC, NuSVM, "nu-SVM: the share of margin errors is given", {"intercept": "penalised"}),)
