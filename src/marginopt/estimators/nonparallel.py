"""`NonparallelSVC`, nonparallel classifiers without learned features: a hyperplane near each class and far from the others.

It covers the methods with which Zhang, Lai, Zhou and Liang, *NPSVC++* (2024), compare theirs in Table 2. With features ψ(x) of a
kernel, the hyperplane f(x) = u'ψ(x) = 0 of a class solves (2) of that paper,

    min over u of Σ_{class} ℓ_s(f(x_i)) + c Σ_{others} ℓ_d(f(x_i)) + r/2 ||u||² (+ μ/2 f'Lf, L the Laplacian of neighbours).
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..errors import InputError
from ..models.arrays import FloatArray, Points, as_integer, as_points, as_positive
from ..models.formulations.nonparallel.npsvc import NonparallelSVM
from ..models.kernels.kernels import Kernel, Precomputed
from ..solvers.box.descent import box_minimum
from ..solvers.nonparallel.majorise import Majorisation
from ..solvers.records import Options
from ..status_line import StatusLine
from .base import EstimatorInfo
from .classifier import PointsClassifier
from .training import log_slow_solve
from .training_set import Scaling, make_kernel


@dataclass(eq=False, repr=False)
class HyperplaneClassifier(PointsClassifier):
    """The base class of classifiers with a kernel and one hyperplane for each class; `_closeness` scores the classes.

    Parameters
    ----------
    gamma : float or str
        γ of the kernels "rbf" and "polynomial", or a rule for it; "npsvc" is 1/(mean squared distance of the points).
    degree, coef0 : int, float
        Degree and constant of the polynomial kernel.
    c : float
        > 0, weight of the loss of the other classes' points in a class's objective.
    intercept : float
        ≥ 0, the constant added to the kernel, so that f has an intercept; 0 for none.
    ridge : float
        ε ≥ 0 added to the kernel matrix's diagonal.
    standardise : bool
        Whether to scale features to mean 0 and deviation 1; not with a precomputed kernel.
    verbose : bool
        Whether to print progress on standard error.
    """

    _: KW_ONLY
    gamma: Any = "npsvc"
    degree: int = 2
    coef0: float = 0.0
    c: float = 1.0
    intercept: float = 0.0
    ridge: float = 1e-3
    standardise: bool = True
    verbose: bool = False

    def _begin(self, X: Any, y: Any) -> tuple[Points, np.ndarray, Kernel]:
        """Return the scaled points, the labels and the kernel."""
        points, labels = self._validated(X, y)
        as_positive(self.intercept, "intercept", zero=True)
        kernel = make_kernel(self.kernel, self.gamma, self.degree, self.coef0)
        plain = isinstance(kernel, Precomputed) or not self.standardise
        self._scaling = Scaling() if plain else Scaling.of(points, np.ones(points.shape[0]))
        return as_points(self._scaling.transform(points)), labels, kernel

    def _rows(self, X: Points) -> Points:
        """Return the scaled rows."""
        return as_points(self._scaling.transform(X))

    @abstractmethod
    def _closeness(self, rows: Points) -> FloatArray:
        """Return the closeness of points to each class's hyperplane (n × K); the largest wins."""

    def _scores(self, X: Points) -> FloatArray:
        closeness = self._closeness(self._rows(X))
        return closeness[:, 1] - closeness[:, 0] if self.classes_.size == 2 else closeness


@dataclass(eq=False, repr=False)
class NonparallelSVC(HyperplaneClassifier):
    """Nonparallel hyperplanes f_l(x) = u_l'ψ(x), `marginopt.NonparallelSVM` once for each class l; the nearest one wins.

    The distance is |f_l(x)|/||u_l||, with ψ(x) the features of the kernel. With ``loss="twsvm"`` it is the regularised TWSVM
    (Shao et al., 2011), ``"npsvm"`` NPSVM (Shao et al., 2014), ``"pinball"`` pinTWSVM (Xu et al., 2017), ``"capped"`` with
    ``manifold`` > 0 RMTBSVM (Zhang et al., 2023), as far as (2) and Table 1 of *NPSVC++* (2024) state them; ``"lstsvm"`` and
    ``"correntropy"`` are the rest of that table.

    Parameters
    ----------
    loss : {"twsvm", "lstsvm", "npsvm", "pinball", "correntropy", "capped"}
        The losses (ℓ_s(a), ℓ_d(a)), Table 1 there: ½a² and (s - a)_+; ½a² and ½(s - a)²; (|a| - ε)_+ and (s - a)_+; ½a² and
        max(s - a, -τ(s - a)); 1 - exp(-γ|a|) and (s - a)_+; min(|a|, ε) and (s - a)_+.
    kernel : {"rbf", "linear", "polynomial", "poly", "precomputed"}, Kernel or callable
        The kernel; with "precomputed", X is the kernel matrix (n × n).
    gamma : float or str
        γ of "rbf" and "polynomial"; "npsvc" is 1/(mean squared distance of the points).
    degree, coef0 : int, float
        Degree and constant of "polynomial".
    c : float
        c > 0, weight of the other classes' losses.
    r : float
        r > 0, weight of the norm of each hyperplane.
    margin : float
        s > 0 in ℓ_d, the value of f that points of the other classes should reach.
    epsilon, tau, decay : float
        ε, τ and γ (``decay``) of these losses.
    manifold : float
        μ ≥ 0 of the neighbour graph's regulariser; 0 for a precomputed kernel.
    intercept : float
        ≥ 0, the constant added to the kernel, so that f has an intercept; 0 for none.
    ridge : float
        ε added to the kernel matrix's diagonal.
    tol : float
        Relative duality gap of every class's problem; of the non-convex losses, stationarity.
    starts : int
        Number of starting points of the majorisation of the non-convex losses.
    standardise : bool
        Bring every feature to mean 0 and deviation 1 first.
    random_state : int
        Seed of the starting points.
    verbose : bool
        Whether to write a line for each class.

    Attributes
    ----------
    classes_, n_features_in_
        The sorted labels, and the number of features, as in scikit-learn.
    problems_ : tuple of NonparallelSVM
        One for each class.
    U_ : ndarray (features, K)
        The hyperplanes over the features of the kernel, one column for each class.
    objectives_ : ndarray (K,)
        Objective of each class's problem.
    gaps_ : ndarray (K,)
        Relative duality gap of each class's problem; of a non-convex one, of its majorant at the answer (0: stationary).
    """

    loss: Any = "twsvm"
    _: KW_ONLY
    kernel: Any = "rbf"
    r: float = 0.1
    margin: float = 1.0
    epsilon: float = 0.1
    tau: float = 0.5
    decay: float = 1.0
    manifold: float = 0.0
    tol: float = 1e-5
    starts: int = 1
    random_state: int = 0

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        rows, labels, kernel = self._begin(X, y)
        for name in ("decay", "tol"):
            as_positive(getattr(self, name), name)
        as_integer(self.starts, "starts", 1)
        unnamed = NonparallelSVM.one_per_class(
            rows, labels, loss=self.loss, c=self.c, r=self.r, margin=self.margin, epsilon=self.epsilon, tau=self.tau,
            gamma=self.decay, manifold=self.manifold, kernel=kernel, ridge=self.ridge,
            offset=self.intercept,
        )  # fmt: skip
        models = tuple(map(self._with_columns, unnamed))
        results = []
        line = StatusLine()
        for model in models:
            with log_slow_solve(model, "boxqp" if model.convex else "npsvc-mm", "a larger tol= ends it earlier", False):
                results.append(self._solved(model))
            for name in ("program", "all_rows"):  # its matrices, of the order of all points: one class's at a time
                vars(model).pop(name, None)
            if self.verbose:
                _, objective, gap = results[-1]
                line.write_line(f"{type(self).__name__}: class {model.target}, objective {objective:.6g}, relative gap {gap:.1e}")
        self.problems_ = models
        self.classes_ = np.asarray([model.target for model in models])
        self.U_ = np.column_stack([u for u, _, _ in results])
        self.objectives_, self.gaps_ = (np.array([one[k] for one in results]) for k in (1, 2))
        norms = np.linalg.norm(self.U_, axis=0)
        if (norms == 0.0).any():
            flat = ", ".join(map(str, self.classes_[norms == 0.0]))
            raise InputError(f"the hyperplane of class {flat} is u = 0, which has no distance: give a larger c or a smaller r")
        self._norms = norms
        worst = float(self.gaps_.max())
        if worst > 10.0 * self.tol:
            warnings.warn(
                f"a problem ended at a relative gap of {worst:.2g} > tol = {self.tol:g}: scale the data, or give larger tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _solved(self, model: NonparallelSVM) -> tuple[FloatArray, float, float]:
        """Return u, its objective, and its relative gap (stationarity of a non-convex problem)."""
        if model.convex:
            box = model.program.box
            lam, gap = box_minimum(box, None, self.tol)
            u = model.program.primal(lam)
            objective = model.objective(u)
            return u, objective, gap / max(abs(objective), 1e-12)
        raw = Majorisation(starts=self.starts).run(model, Options(tol=self.tol, seed=self.random_state))
        assert raw.values is not None
        assert raw.stationarity is not None
        u = np.asarray(raw.values["u"])
        return u, model.objective(u), raw.stationarity

    def _closeness(self, rows: Points) -> FloatArray:
        """Return -|f_l(x)|/||u_l||, largest for the nearest hyperplane."""
        return -(np.abs(self.problems_[0].features.project(self.U_, rows)) / self._norms)


ESTIMATORS = (
    EstimatorInfo(
        NonparallelSVC,
        NonparallelSVM,
        "a hyperplane for each class, near its points and far from the others: TWSVM, NPSVM, pinTWSVM, RMTBSVM by their losses",
    ),
)
