"""`KernelNPSVC`, the estimator of K-NPSVC++: nonparallel hyperplanes over learned features that all classes share.

Numbers of formulas are those of Zhang, Lai, Zhou and Liang, *NPSVC++* (2024); "released code" is that of these authors. (20) is
the step min ½τ'Qτ - γ Σ τ_l J_l over weights τ ≥ 0, Σ τ_l = 1, with the inner products Q of the gradients of the objectives J_l.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import scipy.linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..errors import InputError, short_text
from ..models.arrays import FloatArray, Points, as_integer, as_positive, as_share
from ..models.formulations.nonparallel.chebyshev import ChebyshevNPSVC
from ..models.kernels.kernels import RBF, Kernel, Linear, Precomputed
from ..solvers.certification.certificate import certify_by_model
from ..solvers.nonparallel.alternating import KernelNPSVCpp
from ..solvers.records import Answer, Options, Status
from .base import EstimatorInfo
from .nonparallel import HyperplaneClassifier
from .training import log_slow_solve


class _KernelMap(ABC):
    """A map of points to features whose inner products approximate a kernel."""

    @abstractmethod
    def features(self, X: Points) -> FloatArray:
        """Return the features, one row for each point, dense."""


@dataclass(frozen=True, eq=False)
class _Nystroem(_KernelMap):
    """Nyström's features k(x, Z)L^{-T} with LL' = k(Z, Z) + εI."""

    Z: Points  #: landmarks, drawn from the training points
    kernel: Kernel  #: k
    factor: FloatArray  #: L

    def features(self, X: Points) -> FloatArray:
        across = self.kernel.matrix(X, self.Z)
        return np.ascontiguousarray(scipy.linalg.solve_triangular(self.factor, across.T, lower=True).T)


@dataclass(frozen=True, eq=False)
class _Fourier(_KernelMap):
    """Random Fourier features √(2/m) cos(Ω'x + b) of m frequencies Ω and phases b, by scikit-learn's `RBFSampler`."""

    sampler: Any  #: the fitted sampler

    def features(self, X: Points) -> FloatArray:
        return np.ascontiguousarray(self.sampler.transform(X), dtype=np.float64)


def _fit_kernel_map(
    name: object, X: Points, kernel: Kernel, components: object, ridge: object, rng: np.random.RandomState
) -> _KernelMap:
    """Return the map of this name that approximates the kernel, fitted to the training points.

    Parameters
    ----------
    name : {"nystroem", "fourier"}
        The map.
    X : ndarray or csr_array (n, p)
        The training points.
    kernel : Kernel
        "fourier" needs `RBF`.
    components : int
        Features; at most n of Nyström's.
    ridge : float
        ε ≥ 0 of Nyström's.
    rng : RandomState
        Draws the landmarks or the frequencies.
    """
    if name not in ("nystroem", "fourier"):
        raise InputError(f"approximation must be 'nystroem', 'fourier' or None; it is {short_text(name)}", name="approximation")
    count = as_integer(components, "components", 1)
    if isinstance(kernel, Precomputed):
        raise InputError(
            "an approximation needs points, not a precomputed kernel matrix: give the kernel itself", name="approximation"
        )
    fitted = kernel.fitted(X)
    if name == "nystroem":
        return _nystroem(X, fitted, min(count, X.shape[0]), as_positive(ridge, "ridge", zero=True), rng)
    if not isinstance(fitted, RBF):
        raise InputError(
            f"approximation='fourier' is for kernel='rbf'; the kernel is {fitted.name}: give 'nystroem'", name="approximation"
        )
    from sklearn.kernel_approximation import RBFSampler

    return _Fourier(RBFSampler(gamma=float(fitted.gamma), n_components=count, random_state=rng).fit(X))


def _nystroem(X: Points, kernel: Kernel, count: int, ridge: float, rng: np.random.RandomState) -> _KernelMap:
    Z = X[np.sort(rng.choice(X.shape[0], size=count, replace=False))]
    matrix = kernel.matrix(Z, Z) + ridge * np.eye(count)
    try:
        return _Nystroem(Z, kernel, np.asarray(scipy.linalg.cholesky(matrix, lower=True)))
    except np.linalg.LinAlgError as error:
        raise InputError(
            f"the kernel matrix of the landmarks plus ridge = {ridge:g} is not positive definite: give a larger ridge"
        ) from error


@dataclass(eq=False, repr=False)
class KernelNPSVC(ClassNamePrefixFeaturesOutMixin, TransformerMixin, HyperplaneClassifier):  # type: ignore[misc]
    """K-NPSVC++: a hyperplane for each class over features P'ψ(x) that are learned for all of them, `marginopt.ChebyshevNPSVC`.

    Class l has f_l(x) = u_l'ψ(x), ψ(x) the features of the kernel, and weights v_l of the learned features. Its objective is J_l
    = ½Σ_{class l} f_l² + c Σ_{others} (1 - f_l)_+ + r1/2||u_l - Pv_l||² + r2/2||v_l||² + μ/2 Tr(P'SP), S from a graph of
    neighbours. The largest J_l is minimised over all u_l, v_l and P, P'P = I. Prediction (21): the nearest hyperplane, |f_l(x)| /
    sqrt(||u_l - Pv_l||² + ||v_l||²); with ``orientation="rest"`` the farthest.

    **Size.** O(n²) numbers: the kernel matrix, its factor and four more for all classes together, and for each class the square
    of the number of points that it is to be far from: at most 8n²(6 + K) bytes with ``orientation="one"`` (12.6 GB for n = 10,000
    and K = 10), about 8n²(7 + 1/K) with ``"rest"``, for classes of equal size. O(n³) operations. What would not fit is refused
    before anything is computed. Beyond that give an ``approximation``: with m components O(nm + Km²) numbers and O(nm²)
    operations.

    Parameters
    ----------
    kernel : {"rbf", "linear", "polynomial", "poly", "precomputed"}, Kernel or callable
        The kernel; with "precomputed", X is the kernel matrix (n × n).
    gamma : float or str
        γ of "rbf" and "polynomial"; "npsvc" is the paper's 1/(mean squared distance).
    degree, coef0 : int, float
        Degree and constant of "polynomial".
    c : float
        > 0, weight of the dissimilarity loss, that of the points that a hyperplane should be far from.
    r1, r2 : float, optional
        > 0: weights of ½||u_l - Pv_l||² and ½||v_l||²; 1/K if not given (released code).
    mu : float, optional
        μ ≥ 0, weight of the graph regulariser (A.12); 2/(n - 1) where not given (released code), 0 for a precomputed kernel.
    d : int, optional
        Number of learned features; min(2K, features - 1) where not given (released code).
    orientation : {"one", "rest"}
        Which points are near hyperplane l: those of class l, as printed, or all the others, the released code's default, which
        the published accuracies on sets of many classes need.
    intercept : float
        Added to the kernel, so that f has an intercept; 0 in the paper.
    ridge : float
        ε added to the kernel matrix's diagonal.
    neighbours : int, optional
        Neighbours of a point in the graph; ⌊log2 n⌋ where not given.
    dual_weight, eta, tau_weight : float
        γ of (20), the step length η of P along the common descent direction, and the share of the new τ in its update.
    classes_step : {"alternate", "joint"}
        How to update U = (u_1, .., u_K) and V = (v_1, .., v_K): one after the other, as printed, or at once.
    qp, stiefel : str
        Names of the solvers of the classes' box-constrained QPs, and of the step in P over P'P = I.
    max_iter : int
        Outer iterations.
    tol : float
        Pareto stationarity (see ``pareto_``) at which to stop.
    approximation : {None, "nystroem", "fourier"}
        Features in place of the kernel matrix: Nyström's (k(x, Z)L^{-T} at landmarks Z drawn from the training points,
        LL' = k(Z, Z) + εI), or random Fourier features (kernel "rbf" only).
    components : int
        Number of approximate features.
    dual_values : bool
        Whether ``history_`` has the dual value of the projection in each iteration, which costs a solve of its own.
    standardise : bool
        Bring every feature to mean 0 and deviation 1 first.
    random_state : int, RandomState or None
        Seed of the starting point and the approximate features.
    verbose : bool
        Whether to print progress.

    Attributes
    ----------
    classes_, n_features_in_
        The sorted labels, and the number of features, as in scikit-learn.
    n_iter_ : int
        Number of outer iterations.
    problem_ : ChebyshevNPSVC
        The model.
    model_ : ChebyshevNPSVC
        The same with the final P: a second-order cone program.
    certificate_ : Certificate
        Certificate of ``values_`` as a point of ``model_``.
    values_ : dict
        ρ (the largest weighted objective), U, V and the slacks.
    objectives_ : ndarray (K,)
        The objective J_l of each class.
    tau_ : ndarray (K,)
        Weights τ_l of the classes' objectives, from (20).
    pareto_ : float
        Pareto stationarity at the answer: the least norm of a convex combination Σ τ_l grad_l of the objectives' Riemannian
        gradients in the projection P, relative to the largest Euclidean gradient.
    history_ : list of dict
        J_l, their largest, τ and Pareto stationarity of every outer iteration, by name.
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    r1: float | None = None
    r2: float | None = None
    mu: float | None = None
    d: int | None = None
    orientation: Any = "one"
    neighbours: int | None = None
    dual_weight: float = 0.1
    eta: float = 0.1
    tau_weight: float = 0.75
    classes_step: Any = "alternate"
    qp: str = "boxqp"
    stiefel: str = "stiefel-bb"
    max_iter: int = 10
    tol: float = 1e-3
    approximation: Any = None
    components: int = 500
    dual_values: bool = False
    random_state: Any = 0

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        rows, labels, kernel = self._begin(X, y)
        self._check_steps()
        rng = check_random_state(self.random_state)
        self._features: _KernelMap | None = None
        if self.approximation is not None:
            self._features = _fit_kernel_map(self.approximation, rows, kernel, self.components, self.ridge, rng)
            rows, kernel = self._features.features(rows), Linear()
        model = self._model(rows, labels, kernel)
        with log_slow_solve(model, "kernel-npsvcpp", "a smaller max_iter= ends it earlier", bool(self.verbose)):
            raw = self._solve(model, int(rng.randint(2**31 - 1)))
        assert raw.values is not None
        assert isinstance(raw.model, ChebyshevNPSVC)
        self.problem_ = self._with_columns(model) if self._features is None else model
        self.model_, self.values_ = raw.model, dict(raw.values)
        self.certificate_ = certify_by_model(raw.model, self.values_, raw.multipliers)
        self.classes_ = model.classes
        self.n_iter_ = len(raw.history)
        self.objectives_ = raw.model.objectives(self.values_["U"], self.values_["V"])
        assert raw.stationarity is not None
        self.tau_, self.pareto_, self.history_ = raw.optimised_parameters["tau"], raw.stationarity, list(raw.history)
        if raw.status is Status.ITERATION_LIMIT and self.pareto_ > self.tol:
            warnings.warn(
                f"{self.n_iter_} iterations left a Pareto residual of {self.pareto_:.2g} > tol = {self.tol:g}: give a larger "
                "max_iter, or a larger tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _check_steps(self) -> None:
        """Check the parameters of Algorithm 1, which has other names for them."""
        for name in ("dual_weight", "eta"):
            as_positive(getattr(self, name), name, zero=True)
        as_share(self.tau_weight, "tau_weight")
        as_integer(self.max_iter, "max_iter", 1)
        if self.classes_step not in ("alternate", "joint"):
            raise InputError(
                f"classes_step must be 'alternate' or 'joint'; it is {short_text(self.classes_step)}", name="classes_step"
            )

    def _model(self, rows: Points, labels: np.ndarray, kernel: Kernel) -> ChebyshevNPSVC:
        K, n = max(np.unique(labels).size, 1), rows.shape[0]
        if isinstance(kernel, RBF) and n > 1 and isinstance(kernel.gamma, str) and _all_equal(rows):
            raise InputError("all rows of X are equal: no kernel can tell the classes apart", name="X")
        smooth = 0.0 if isinstance(kernel, Precomputed) else 2.0 / max(n - 1, 1)
        return ChebyshevNPSVC(
            rows, labels, c=self.c, r1=1.0 / K if self.r1 is None else self.r1, r2=1.0 / K if self.r2 is None else self.r2,
            mu=smooth if self.mu is None else self.mu, d=self.d, orientation=self.orientation, kernel=kernel,
            ridge=self.ridge, offset=self.intercept, neighbours=self.neighbours,
        )  # fmt: skip

    def _solve(self, model: ChebyshevNPSVC, seed: int) -> Answer:
        """Run Algorithm 1 without the general certificate, whose form would hold K copies of the rows."""
        algorithm = KernelNPSVCpp(
            gamma=self.dual_weight,
            eta=self.eta,
            weight=self.tau_weight,
            classes=self.classes_step,
            qp=self.qp,
            stiefel=self.stiefel,
            dual_values=self.dual_values,
        )
        progress = bool(self.verbose)
        options = Options(tol=self.tol, iteration_limit=self.max_iter, seed=seed, progress=progress, verbose=progress)
        return algorithm.run(model, options)

    def _rows(self, X: Points) -> Points:
        rows = super()._rows(X)
        return rows if self._features is None else self._features.features(rows)

    def _closeness(self, rows: Points) -> FloatArray:
        """Return minus the scores of (21); with ``orientation="rest"`` the scores, since the farthest hyperplane wins."""
        return self.model_.decision_function(self.values_, rows)

    def transform(self, X: Any) -> FloatArray:
        """Return the learned features P'ψ(x), n × d."""
        return self.model_.transform(self._rows(self._new_points(X)))

    @property
    def _n_features_out(self) -> int:
        """Number of learned features, for their names."""
        return 0 if self.model_.P is None else int(self.model_.P.shape[1])


def _all_equal(X: Points) -> bool:
    first = X[[0]]
    return bool(abs(X - (first if isinstance(X, np.ndarray) else X[np.zeros(X.shape[0], dtype=np.int64)])).max() == 0)


ESTIMATORS = (
    EstimatorInfo(
        KernelNPSVC,
        ChebyshevNPSVC,
        "nonparallel classifier of several classes with learned features",
        {"max_iter": 5, "tol": 0.05},
    ),
)
