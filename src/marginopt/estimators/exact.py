"""Classifiers of nonconvex problems, solved exactly or within a budget: `ZeroOneSVC`, `RampSVC`, `ScoringSystemClassifier`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError
from ..models.arrays import FloatArray, Points, as_positive, to_dense
from ..models.formulations.margin.problems import as_fraction
from ..models.formulations.margin.scoring_system import PointsTable, ScoringSystem
from ..models.formulations.ramp import RampSVM
from ..models.formulations.zero_one.model import ZeroOneSVM
from ..models.model import Model
from ..solvers.certification.result import Result
from ..solvers.margin import MarginBB
from .base import EstimatorInfo
from .classifier import SearchedClassifier
from .training_set import Solution, Space


@dataclass(eq=False, repr=False)
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

    lam: float | None = None
    _: KW_ONLY
    intercept: str = "penalised"
    tol: float | None = 1e-4
    node_limit: int | None = 10_000
    kappa: float | None = None

    def ambiguity(self, epsilon: float, within: float | None = None) -> tuple[float, float]:
        """Return the interval of the ambiguity at ε: the share of training points that some classifier predicts otherwise.

        The classifiers are those with an objective of at most the optimum + ε Σλ, and "otherwise" is with margin 1. Points count
        by their weights.

        Parameters
        ----------
        epsilon : float
        within : float, optional
            Passed to `questions.prediction_stability`; ε unless given.

        Returns
        -------
        tuple of float
            Proved ends of the interval, in [0, 1]; they are equal where every prediction is decided.

        Raises
        ------
        InputError
            Not fitted to two classes with ``lam``, or ε is negative.
        """
        from ..questions.stability import prediction_stability

        level = as_positive(epsilon, "epsilon", zero=True)
        model = self._two_class_problem()
        table = prediction_stability(model, within=level if within is None else within, time_limit=self.time_limit)
        copies = model.sample_weight / model.sample_weight.min()
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
        from ..questions.conformal import conformal_sets

        model = self._two_class_problem()
        if self.standardise or self.class_weight is not None:
            raise InputError("conformal sets treat all points alike: fit with standardise=False and without class_weight")
        rows = self._validate(X, accept_sparse=False, reset=False)
        lam = 1.0 if self.lam is None else float(self.lam)
        copies = np.rint(model.sample_weight / lam).astype(np.int64)
        if not np.array_equal(copies * lam, model.sample_weight):
            raise InputError("conformal sets treat all points alike: fit without sample_weight")
        points = ZeroOneSVM(
            np.repeat(np.asarray(model.X), copies, axis=0), np.repeat(model.y, copies), lam, intercept=model.intercept
        )
        sets = conformal_sets(points, np.column_stack([np.ones(len(rows)), rows]), alpha, time_limit=self.time_limit)
        return [self.classes_[mask] for mask in sets.contains]

    def _two_class_problem(self) -> ZeroOneSVM:
        """Return the λ problem of a classifier fitted to two classes."""
        check_is_fitted(self)
        # exempt (formulation): an estimator states one formulation; its exact answers are of the one with λ
        if not isinstance(self.problem_, ZeroOneSVM) or self.problem_.kappa is not None:
            raise InputError("this answer is of one binary problem with lam: fit two classes, without kappa")
        return self.problem_

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: Space) -> Model:
        intercept: Any = self.intercept
        if self.kappa is None:
            lam = 1.0 if self.lam is None else as_positive(self.lam, "lam")
            return ZeroOneSVM(X, y, lam=lam * cost, intercept=intercept)
        if self.lam is not None:
            raise InputError(f"give lam or kappa, not both; lam={self.lam!r}, kappa={self.kappa!r}", name="lam")
        if (cost != 1.0).any():
            raise InputError(
                "kappa counts points: it takes no sample_weight or class_weight; give lam, or repeat the points", name="kappa"
            )
        return ZeroOneSVM(X, y, kappa=self.kappa, intercept=intercept)


@dataclass(eq=False, repr=False)
class RampSVC(SearchedClassifier):
    """Linear classifier of the ramp loss, `marginopt.RampSVM`, Brooks (2011): min ||w||² + λ Σ s_i min((1 - y_i f(x_i))_+, 2).

    A point far on the wrong side costs no more than 2λ, so that outliers do not pull. Solved by exact branch and bound within a
    budget, as `ZeroOneSVC`: ``result_.gap`` (of each problem) says how far the classifier can be from the optimum, and the bound
    is proved. The classifier is the best of the convex-concave procedure from several starts and of the search. Beyond some six
    features the search proves little within any budget; ``solver="scip"`` or "gurobi" may prove more. Other heights, widths,
    regularisers and restrictions: `MarginClassifier`.

    Parameters
    ----------
    lam : float
        λ > 0; s_i = sample weight × class weight multiplies it. Brooks' C is λ/2.
    intercept : {"free", "penalised"}
        Whether the intercept is part of ||w||².
    solver : str
        "margin-bb", here for any number of features, or any solver that reads the problem ("scip", "gurobi", "auto").
    tol : float
        Relative gap at which to stop.
    node_limit : int, optional
        Budget of nodes for each binary problem (the same on every machine); None: no limit, an exact answer.
    time_limit : float, optional
        Budget of seconds for each binary problem.
    verbose : bool
        Whether solvers tell of their progress: ours on standard error, others in their own words where they print.
    random_state : int
        Seed of the starts.
    multi_class, n_jobs, class_weight, standardise
        As `L2SVC`.

    Attributes
    ----------
    coef_, intercept_ : ndarray (problems, p), (problems,)
        For rows as they come.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        See `ModelClassifier`.
    """

    lam: float = 1.0
    _: KW_ONLY
    intercept: str = "free"
    solver: Any = "margin-bb"
    tol: float | None = 1e-4
    node_limit: int | None = 2_000

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: Space) -> Model:
        intercept: Any = self.intercept
        return RampSVM(X, y, lam=as_positive(self.lam, "lam") * cost, intercept=intercept)

    def _solver(self) -> Any:
        """Return the solver of the parameters; a box search within a budget takes any number of features."""
        return MarginBB(max_coefficients=2**31) if self.solver == "margin-bb" else self.solver


@dataclass(eq=False, repr=False)
class ScoringSystemClassifier(SearchedClassifier):
    """Linear classifier with few whole coefficients, `marginopt.ScoringSystem`: SLIM, Ustun and Rudin, 2015, (4).

    Coefficients are points for each unit of a feature, so features are best whole numbers or yes and no
    (`sklearn.preprocessing.KBinsDiscretizer` makes such). ``points()`` is the table that a person adds up.

    Solved by exact branch and bound within a budget: ``result_.gap`` says how far the system can be from the optimum, and the
    bound of "supports-bb" and "margin-bb" is proved. A search that the budget ends gives its best system, without a warning.

    Parameters
    ----------
    coefficients : (int, int)
        Bounds of a coefficient.
    max_features : int, optional
        Most features in use.
    C0 : float
        ≥ 0: the share of the points (of their weight) that one more feature must put right.
    subject_to : Restriction or sequence of Restriction
        As `MarginClassifier`, of the kinds that `ScoringSystem` takes.
    solver : str
        "auto" is "supports-bb"; for restrictions that it does not read, "margin-bb" up to five features, else a solver of
        mixed-integer linear problems, any of which will do: their bounds are claimed (``result_.bound_kind``).
    tol : float, optional
        Relative gap at which to stop.
    node_limit, time_limit : optional
        Budget of nodes, of seconds, for each binary problem.
    verbose : bool
        Whether solvers tell of their progress: ours on standard error, others in their own words where they print.
    random_state : int
        Seed of the descents for incumbents.
    multi_class, n_jobs, class_weight
        As `L2SVC`.

    Attributes
    ----------
    coef_, intercept_ : ndarray (problems, p), (problems,)
        Whole numbers.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        See `ModelClassifier`.

    Examples
    --------
    >>> model = mo.estimators.ScoringSystemClassifier(max_features=3).fit(X, y)  # doctest: +SKIP
    >>> print(model.points())  # doctest: +SKIP
    """

    coefficients: tuple[int, int] = (-10, 10)
    _: KW_ONLY
    max_features: int | None = None
    C0: float = 0.01
    subject_to: Any = ()
    tol: float | None = None
    time_limit: float | None = 60.0
    standardise: bool = field(default=False, init=False)  # points are for the features as they are

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: Space) -> Model:
        as_positive(self.C0, "C0", zero=True)
        total = sum(map(as_fraction, cost.tolist()), Fraction())  # equal points are merged, so that N is their weight
        share = as_fraction(self.C0) * total / len(cost)
        subject_to = self._without_names(self.subject_to, X, y)
        return ScoringSystem(
            to_dense(X), y, self.coefficients, max_features=self.max_features, C0=share, sample_weight=cost,
            subject_to=subject_to,
        )  # fmt: skip

    @staticmethod
    def _solution(problem: Model, result: Result) -> Solution:
        w = np.rint(result.values["w"])
        return Solution(w[1:], float(w[0]))

    def points(self, feature_names: Sequence[str] | None = None) -> PointsTable:
        """Return the table of points of a classifier of two classes.

        Raises
        ------
        InputError
            More than two classes (``problem_`` and ``coef_`` hold each problem's), or as many names as there are not features.
        """
        check_is_fitted(self)
        if self.classes_.size > 2:
            raise InputError(f"a table of points is for two classes; there are {self.classes_.size}", name="y")
        p = self.n_features_in_
        column_names = getattr(self, "feature_names_in_", None)
        names = [f"x{j}" for j in range(p)] if column_names is None else list(column_names)
        names = names if feature_names is None else [str(name) for name in feature_names]
        if len(names) != p:
            raise InputError(f"feature_names must hold {p} names; it holds {len(names)}", name="feature_names")
        result, problem = self.result_, self.problem_
        status_text = "optimal" if result.solved and result.bound is not None else f"at most {result.gap:.1%} from the optimum"
        low, high = (str(c) for c in self.classes_.tolist())
        table = problem.points_table({"w": np.concatenate([self.intercept_[:1], self.coef_[0]])}, names)
        return replace(table, classes=(low, high), status_text=f"{table.status_text}; {status_text} ({result.bound_kind})")


ESTIMATORS = (
    EstimatorInfo(ZeroOneSVC, ZeroOneSVM, "linear classifier with the 0-1 loss, within a budget of nodes", {"node_limit": 2000}),
    EstimatorInfo(RampSVC, RampSVM, "linear classifier with the ramp loss, within a budget of nodes", {"node_limit": 20}),
    EstimatorInfo(ScoringSystemClassifier, ScoringSystem, "points to add up, few features, fewest errors", {"node_limit": 60}),
)
