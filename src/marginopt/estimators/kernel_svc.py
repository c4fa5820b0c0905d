"""Support vector classifiers with a kernel: `L2SVC`, `NCHSVC` and `MaxMinSVC` with squared slacks, and `NuSVC`.

f(x) = w'φ(x) + b = Σ_i β_i k(x_i, x) + b is the decision function, φ the feature map of the kernel k, β the points' coefficients.
*Luo et al.* is Luo, Yang, Peng, Wang and Chen (2023), *MaxMin-L2-SVC-NCH*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from scipy.optimize import minimize

from ..errors import InputError, SolverError
from ..models.arrays import FloatArray, Points, as_positive, as_share
from ..models.formulations.margin.named_formulations import NuSVM
from ..models.formulations.max_min import MaxMinSVM
from ..models.formulations.svm_duals import ConvexHullsDual, L2SVMDual
from ..models.kernels.kernels import RBF
from ..models.model import Model
from ..solvers.certification.result import Result
from ..solvers.records import Options, Status
from .base import EstimatorInfo
from .classifier import KernelClassifier, ModelClassifier, PreparedData, WeightedClassifier
from .training import BinaryFit, fit_binary_problem, single_or_list, solve_for_classifier
from .training_set import BinaryProblem, FeatureSpace, KernelSpace, Solution, WeightedPoints, expansion_coefficients, is_linear


@dataclass(eq=False, repr=False)
class L2SVC(WeightedClassifier, KernelClassifier):
    """Support vector classifier with squared slacks and penalised intercept, `marginopt.L2SVMDual`.

    Its dual is (12) of Frandi et al. (2013), whose primal has y_i f(x_i) ≥ ρ - ξ_i with a variable margin ρ. The decision
    function is divided by ρ, so it is that of min ½(||w||² + b²) + (C/2) Σ s_i ξ_i² subject to y_i f(x_i) ≥ 1 - ξ_i, where ξ_i is
    the slack of point i, and s_i = sample weight × class weight.

    Parameters
    ----------
    C : float
        C > 0, the price of squared slacks.
    kernel : {"rbf", "linear", "polynomial", "poly", "precomputed"}, Kernel or callable
        The kernel ("poly" is "polynomial"); with "precomputed", X is the kernel matrix (n × n).
    gamma : float or str, optional
        γ of "rbf" and "polynomial", or the name of a rule (`models.kernels.kernels.gamma_by_rule`); each kernel's default
        rule where it is not given.
    degree, coef0 : int, float
        Degree and constant of "polynomial".
    solver : str
        A name of ``marginopt.solvers.table()``, or "auto".
    tol : float
        Relative duality gap.
    multi_class : {"ovo", "ovr"}
        One against one, or one against the rest.
    n_jobs : int, optional
        Binary problems at a time (joblib).
    class_weight : dict or "balanced", optional
        Factors of the sample weights by class, as in scikit-learn.
    standardise : bool
        Bring every feature to (weighted) mean 0 and deviation 1 first; sparse features to deviation 1 only.
    warm_start : bool
        Start from the last fit's multipliers: along C, or when rows have been added below those of the last fit.
    time_limit : float, optional
        Seconds for each binary problem.
    verbose : bool
        Whether to print progress: marginopt's solvers on standard error, other solvers as they log.

    Attributes
    ----------
    support_, dual_coef_, intercept_, kernel_
        Rows of the support vectors x_i, their coefficients (problems × support vectors), constants, and the kernel with γ as a
        number; f(x) = Σ dual_coef_ k(x_i, x) + intercept_.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        Model, result and certificate (lists for several problems); classes of each problem; labels; number of features.
    """

    C: float = 1.0
    kernel: Any = "rbf"
    _: KW_ONLY
    tol: float | None = 1e-4
    warm_start: bool = False

    _last: Mapping[Any, FloatArray] | None = field(default=None, init=False)

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: FeatureSpace) -> Model:
        assert isinstance(space, KernelSpace)
        weight = None if (cost == 1.0).all() else cost
        return L2SVMDual(X, y, C=self.C, kernel=space.kernel, sample_weight=weight)

    @staticmethod
    def _solution(problem: Model, result: Result) -> Solution:
        """Return the coefficients a_i y_i/ρ and as intercept their sum, for the dual min ½a'K̃a over the unit simplex.

        ρ = a'K̃a, which at the optimum is min (K̃a)_i.
        """
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

    def _start(self, data: PreparedData, pair: BinaryProblem) -> Mapping[str, FloatArray] | None:
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


@dataclass(eq=False, repr=False)
class NCHSVC(WeightedClassifier, KernelClassifier):
    """Support vector classifier between two normal convex hulls (L2-SVC-NCH), `marginopt.ConvexHullsDual`.

    Its dual is (1) of Luo et al., whose multipliers a sum to 1 in each class. The edges p* and q* are the averages, weighted by
    a, of Σ_j y_j a_j k(x_j, x_i) + y_i a_i/(C s_i) over the classes +1 and -1. The decision function is divided by half their
    distance, (p* - q*)/2, so it is that of min ½||w||² + (C/2) Σ s_i ξ_i², y_i f(x_i) ≥ 1 - ξ_i, with a free intercept.

    Parameters
    ----------
    C, kernel, gamma, degree, coef0, solver, tol, multi_class, n_jobs, class_weight, standardise, time_limit, verbose
        As `L2SVC`.

    Attributes
    ----------
    support_, dual_coef_, intercept_, kernel_, problem_, result_, certificate_, pairs_, classes_, n_features_in_
        As `L2SVC`.
    """

    C: float = 1.0
    kernel: Any = "rbf"
    _: KW_ONLY
    tol: float | None = 1e-4

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: FeatureSpace) -> Model:
        assert isinstance(space, KernelSpace)
        weight = None if (cost == 1.0).all() else cost
        return ConvexHullsDual(X, y, C=self.C, kernel=space.kernel, sample_weight=weight)

    @staticmethod
    def _solution(problem: Model, result: Result) -> Solution:
        assert isinstance(problem, ConvexHullsDual)
        return _between_edges(problem, result.values["a"])


@dataclass(eq=False, repr=False)
class MaxMinSVC(ModelClassifier):
    """The classifier `NCHSVC` that optimises γ of its Gaussian kernel in the same problem, `marginopt.MaxMinSVM`.

    It is (10) of Luo et al.: max over γ of f(γ), the optimal value of the dual of `NCHSVC`. γ is a stationary point of that
    problem, called local; certificates are those of the inner problem at γ.

    Parameters
    ----------
    C : float
        C > 0, the price of squared slacks.
    gamma0, lower, upper : float
        Start and range of γ.
    parameter : {"gamma", "log-gamma", "per-feature"}
        The variable of the outer problem: γ, log γ, or one γ for each feature.
    shared : bool
        With several binary problems: one γ for all, a stationary point (in log γ) of the *sum* of their optimal values, instead
        of one for each, by SciPy's L-BFGS-B with "smo" for the inner problems. Not with "per-feature".
    solver : str
        "maxmin", the only solver that optimises γ; not used where one γ is shared.
    tol : float
        |d log f/d log γ| at which γ is stationary (free of scale; ε2 of Luo et al. bounds |f'(γ)|). Where one γ is shared, the
        bound of |Σ df/d log γ| in L-BFGS-B, which depends on the scale of f.
    multi_class, n_jobs, standardise, time_limit, verbose
        As `L2SVC`; ``n_jobs`` and ``verbose`` are not used where one γ is shared, and ``time_limit`` bounds each inner solve.

    Attributes
    ----------
    gamma_ : float, ndarray, or list
        γ of the problem, or of each.
    support_, dual_coef_, intercept_, problem_, result_, certificate_, pairs_, classes_, n_features_in_
        As `L2SVC`.
    """

    C: float = 1.0
    _: KW_ONLY
    gamma0: float = 0.004
    lower: float = 2.0**-15
    upper: float = 2.0**3
    parameter: str = "gamma"
    shared: bool = False
    solver: Any = "maxmin"
    tol: float | None = 1e-3

    _expected = frozenset({Status.STATIONARY})

    def _space(self, X: Points, sample: WeightedPoints) -> FeatureSpace:
        return KernelSpace.of(X, sample.rows, self._scaling_of(X, sample), RBF(1.0), sample.weight)

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: FeatureSpace) -> Model:
        return MaxMinSVM(X, y, C=self.C, gamma0=self.gamma0, lower=self.lower, upper=self.upper, parameter=self.parameter)

    def _options(self, start: Any = None) -> Options:
        native = {} if self.tol is None else {"stationarity": as_positive(self.tol, "tol")}
        return replace(super()._options(start), tol=None, native=native)

    @staticmethod
    def _solution(problem: Model, result: Result) -> Solution:
        assert isinstance(problem, MaxMinSVM)
        gamma = np.asarray(result.optimised_parameters["gamma"])
        return _between_edges(problem.at(gamma), result.values["a"], np.sqrt(gamma))

    def _solve_all(self, data: PreparedData) -> list[BinaryFit]:
        if not self.shared or len(data.pairs) == 1:
            return super()._solve_all(data)
        if self.parameter == "per-feature":
            raise InputError(
                "shared=True has one γ for all problems: parameter must be 'gamma' or 'log-gamma', not 'per-feature'",
                name="parameter",
            )
        tol = self._options().native.get("stationarity", 1e-3)
        return _shared_gamma([self._state_problem(data, pair) for pair in data.pairs], tol, self.time_limit)

    def _set_fitted(self, data: PreparedData, outcomes: Sequence[BinaryFit]) -> None:
        super()._set_fitted(data, outcomes)
        squares = [np.asarray(o.solution.metric) ** 2 for o in outcomes]
        self.gamma_ = single_or_list([float(g) if g.ndim == 0 else g for g in squares])


def _between_edges(problem: ConvexHullsDual, a: FloatArray, metric: FloatArray | None = None) -> Solution:
    """Return Σ y_i a_i k(x_i, x) - (p* + q*)/2, (4) of Luo et al., divided by (p* - q*)/2 = ½a'Qa > 0; `NCHSVC` has p* and q*."""
    p, q = problem.edges(a)
    half = 0.5 * (p - q)
    if not half > float(a @ problem.simplex.gram.product_error(a)):
        raise SolverError(
            f"the classes' hulls are nearer to each other than the rounding error of the {problem.kernel.name} kernel's values: "
            "no classifier follows; standardise or rescale the features, or give a smaller C"
        )
    return Solution(a * problem.y / half, -0.5 * (p + q) / half, metric, problem.centred.centre)


def _shared_gamma(problems: Sequence[Model], tol: float, time_limit: float | None) -> list[BinaryFit]:
    """Maximise the sum of the problems' optimal values in log γ; return the solutions there.

    The derivative of an optimal value is that of the objective at the minimiser (envelope theorem, (51) of Luo et al.). ``tol``
    is L-BFGS-B's bound of the projected gradient in log γ, and ``time_limit`` is for each inner solve.
    """
    # exempt (formulation): an estimator states one formulation; what it draws is that one's
    models = [p for p in problems if isinstance(p, MaxMinSVM)]
    starts: list[dict[str, FloatArray] | None] = [None] * len(models)
    options = Options(tol=1e-6, time_limit=time_limit)

    def negative(t: FloatArray) -> tuple[float, FloatArray]:
        value, slope, gamma = 0.0, 0.0, np.exp(t)
        for k, model in enumerate(models):
            result = solve_for_classifier(model.problem.inner_problem(gamma), "smo", replace(options, start=starts[k]))
            starts[k] = {"a": result.values["a"]}
            value += result.objective
            slope += float(model.problem.derivative(result.values["a"], gamma)[0] * gamma[0])
        return -value, np.array([-slope])

    first = models[0]
    lower, upper = first.problem.lower, first.problem.upper
    bounds = [(np.log(lower), np.log(upper))]
    minimum = minimize(negative, np.log(first.problem.gamma0), jac=True, method="L-BFGS-B", bounds=bounds, options={"gtol": tol})
    gamma = float(np.clip(np.exp(minimum.x[0]), lower, upper))
    outcomes = [fit_binary_problem(NCHSVC._solution, model.at(gamma), "smo", options) for model in models]
    metric = np.asarray(np.sqrt(gamma))
    return [BinaryFit(o.problem, o.result, Solution(o.solution.coefficients, o.solution.intercept, metric)) for o in outcomes]


@dataclass(eq=False, repr=False)
class NuSVC(WeightedClassifier, KernelClassifier):
    """ν-SVM (Schölkopf et al., 2000), `marginopt.models.NuSVM`: at most a share ν of the weight has y f(x) below the margin.

    At least a share ν of the weight is on support vectors.

    ρ ≥ 0, a variable of the problem, is the value of y f(x) at the margin. The decision function is divided by ρ where ρ > 0, so
    that ±1 is the margin, as in scikit-learn.

    Parameters
    ----------
    nu : float
        ν in (0, 1]. With a free intercept at most twice the smaller class's share of the weight.
    intercept : {"free", "penalised"}
        Whether the intercept is part of ||w||².
    kernel, gamma, degree, coef0
        As `L2SVC` above. The linear kernel has coefficients of the features.
    solver, tol, multi_class, n_jobs, class_weight, standardise, time_limit, verbose
        As `L2SVC` above. ``class_weight="balanced"`` makes the classes' shares equal.

    Attributes
    ----------
    coef_ : ndarray (problems, p)
        With the linear kernel, of the original features.
    support_, dual_coef_, kernel_
        With other kernels, as `L2SVC` above.
    intercept_ : ndarray (problems,)
        The constants of the decision functions.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        Model, result and certificate (lists for several problems); classes of each problem; labels; number of features.

    Raises
    ------
    InputError
        When it is fitted: ν outside (0, 1], or too large for the smaller class.
    """

    nu: float = 0.5
    kernel: Any = "rbf"
    _: KW_ONLY
    intercept: Literal["free", "penalised"] = "free"

    def _space(self, X: Points, sample: WeightedPoints) -> FeatureSpace:
        return self._linear_space(X, sample) if is_linear(self.kernel) else self._kernel_space(X, sample)

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: FeatureSpace) -> Model:
        nu = as_share(self.nu, "nu")
        return NuSVM(X, y, nu, self.intercept, space.kernel, cost)

    @staticmethod
    def _solution(problem: Model, result: Result) -> Solution:
        assert isinstance(problem, NuSVM)
        w, rho = result.values["w"], float(result.values["rho"][0])
        scale = 1.0 / rho if rho > 0.0 else 1.0
        coefficients = w[1:] if problem.kernel is None else expansion_coefficients(problem.composition, result)
        return Solution(scale * coefficients, scale * float(w[0]))


ESTIMATORS = (
    EstimatorInfo(L2SVC, L2SVMDual, "SVM with squared slacks"),
    EstimatorInfo(NCHSVC, ConvexHullsDual, "SVM with squared slacks as the distance between two convex hulls"),
    EstimatorInfo(MaxMinSVC, MaxMinSVM, "SVM with squared slacks that optimises γ of its Gaussian kernel"),
    EstimatorInfo(NuSVC, NuSVM, "nu-SVM: nu bounds the share of margin errors", {"intercept": "penalised"}),
)
