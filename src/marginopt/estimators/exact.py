"""Classifiers of nonconvex problems, which branch and bound solves to the optimum or within a budget of nodes or seconds.

They are `ZeroOneSVC`, `RampSVC`, `ScoringSystemClassifier` and `SparseSVC`, all linear: f(x) = w'x + b is the decision function,
and y_i f(x_i) the margin of point i, which is violated if it is below 1. A point's weight s_i is sample weight × class weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..drawing import colour_of, new_axes
from ..errors import InputError, short_text
from ..models.arrays import FloatArray, Points, as_integer, as_positive, to_dense
from ..models.formulations.margin.model import Margin
from ..models.formulations.margin.parts_by_name import LOSSES, part_by_name
from ..models.formulations.margin.problems import as_fraction
from ..models.formulations.margin.regularisers import SquaredNorm
from ..models.formulations.margin.restrictions import Nonzero
from ..models.formulations.margin.scoring_system import PointsTable, ScoringSystem
from ..models.formulations.ramp import RampSVM
from ..models.formulations.zero_one import ZeroOneSVM
from ..models.model import Model
from ..solvers.certification.result import Result
from ..solvers.margin import MarginBB
from ..solvers.path import SolutionPath, path
from ..solvers.registry import SolverSpec
from .base import EstimatorInfo
from .classifier import BranchAndBoundClassifier, PreparedData
from .training import BinaryFit, single_or_list
from .training_set import BinaryProblem, FeatureSpace, Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class ZeroOneSVC(BranchAndBoundClassifier):
    """Linear classifier of the 0-1 loss, `marginopt.ZeroOneSVM`: min ||w||² + λ Σ s_i 1{y_i f(x_i) < 1}.

    It is (3) of Cepeda, Gómez and Han (2024). With ``kappa`` in place of ``lam``: min ||w||² with at most κn margins violated.

    Solved by exact branch and bound within a budget: ``result_.gap`` (of each problem) says how far the classifier can be from
    the optimum, and the bound is proved. A search that the budget ends gives its best classifier, without a warning.

    Parameters
    ----------
    lam : float, optional
        λ > 0, 1 where neither λ nor κ is given; s_i = sample weight × class weight multiplies it.
    intercept : {"penalised", "free"}
        Whether the intercept is part of ||w||² (as in Cepeda, Gómez and Han) or not (as in Brooks, 2011).
    solver : str
        "auto" is "zero-one-bb"; any solver of mixed-integer quadratic problems will do.
    tol : float
        Relative gap at which to stop.
    node_limit : int, optional
        Budget of nodes for each binary problem (the same on every machine); None: no limit, an exact answer.
    time_limit : float, optional
        Budget of seconds for each binary problem.
    verbose : bool
        Whether to print progress: marginopt's solvers on standard error, other solvers as they log.
    random_state : int
        Seed of the incumbent heuristic.
    kappa : float, optional
        κ in [0, 1], the share of the n points of each binary problem whose margin may be violated; without weights. A κ too
        small for any classifier is an error.
    multi_class, n_jobs, class_weight, standardise
        One against one ("ovo") or the rest ("ovr"); problems at a time; weights of classes; whether to scale features first.

    Attributes
    ----------
    coef_, intercept_ : ndarray (problems, p), (problems,)
        Of the original features, not the standardised ones.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        Model, result and certificate (lists for several problems); classes of each problem; labels; number of features.
    """

    lam: float | None = None
    _: KW_ONLY
    intercept: str = "penalised"
    tol: float | None = 1e-4
    node_limit: int | None = 10_000
    kappa: float | None = None

    def ambiguity(self, epsilon: float, within: float | None = None) -> tuple[float, float]:
        """Return proved bounds of the ambiguity at ε: the share of training points that some near-optimal classifier flips.

        Near-optimal classifiers have an objective of at most the optimum + ε Σ_i λ s_i. A flipped point has a margin of at least
        1 on the other side. Points count by their weights.

        Parameters
        ----------
        epsilon : float
            ε ≥ 0.
        within : float, optional
            Largest ε that the search for such classifiers covers; ε unless given.

        Returns
        -------
        tuple of float
            Lower and upper bound, in [0, 1]; equal where every prediction is decided.

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
        """Return the exact full-conformal set of each row: labels, the row's own among them with probability at least 1 - alpha.

        See `questions.conformal_sets`. The guarantee needs a new point that is exchangeable with the training points. The scaling
        of ``standardise``, a function of the training points alone, breaks that, and so do sample and class weights.

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

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: FeatureSpace) -> Model:
        intercept: Any = self.intercept
        if self.kappa is None:
            lam = 1.0 if self.lam is None else as_positive(self.lam, "lam")
            return ZeroOneSVM(X, y, lam=lam * cost, intercept=intercept)
        if self.lam is not None:
            raise InputError(
                f"give lam or kappa, not both; lam={short_text(self.lam)}, kappa={short_text(self.kappa)}", name="lam"
            )
        if (cost != 1.0).any():
            raise InputError(
                "kappa counts points: it takes no sample_weight or class_weight; give lam, or repeat the points", name="kappa"
            )
        return ZeroOneSVM(X, y, kappa=self.kappa, intercept=intercept)


@dataclass(eq=False, repr=False)
class RampSVC(BranchAndBoundClassifier):
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
        Whether to print progress: marginopt's solvers on standard error, other solvers as they log.
    random_state : int
        Seed of the starting points.
    multi_class, n_jobs, class_weight, standardise
        One against one ("ovo") or the rest ("ovr"); problems at a time; weights of classes; whether to scale features first.

    Attributes
    ----------
    coef_, intercept_ : ndarray (problems, p), (problems,)
        Of the original features, not the standardised ones.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        Model, result and certificate (lists for several problems); classes of each problem; labels; number of features.
    """

    lam: float = 1.0
    _: KW_ONLY
    intercept: str = "free"
    solver: Any = "margin-bb"
    tol: float | None = 1e-4
    node_limit: int | None = 2_000

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: FeatureSpace) -> Model:
        intercept: Any = self.intercept
        return RampSVM(X, y, lam=as_positive(self.lam, "lam") * cost, intercept=intercept)

    def _solver(self) -> Any:
        """Return the solver of the parameters, under its name; a box search within a budget takes any number of features."""
        return SolverSpec(self.solver, MarginBB(max_coefficients=2**31), {}) if self.solver == "margin-bb" else self.solver


@dataclass(eq=False, repr=False)
class ScoringSystemClassifier(BranchAndBoundClassifier):
    """Linear classifier with few whole coefficients, `marginopt.ScoringSystem`: SLIM, Ustun and Rudin, 2015, (4).

    It minimises the weighted share of misclassified points plus C0 for each feature in use.

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
        ≥ 0, the penalty of a feature: the share of the points' total weight that one more feature must classify correctly.
    subject_to : Restriction or sequence of Restriction
        Restrictions of each binary problem, such as ``mo.parity("gender")``, of the kinds that `ScoringSystem` takes.
    solver : str
        "auto" is "supports-bb"; for restrictions that it does not read, "margin-bb" up to five features, else a solver of
        mixed-integer linear problems, any of which will do: their bounds are claimed (``result_.bound_kind``).
    tol : float, optional
        Relative gap at which to stop.
    node_limit, time_limit : optional
        Budget of nodes, of seconds, for each binary problem.
    verbose : bool
        Whether to print progress: marginopt's solvers on standard error, other solvers as they log.
    random_state : int
        Seed of the incumbent heuristic.
    multi_class, n_jobs, class_weight
        One against one ("ovo") or the rest ("ovr"); problems solved at a time; factors of the weights by class.

    Attributes
    ----------
    coef_, intercept_ : ndarray (problems, p), (problems,)
        Whole numbers.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        Model, result and certificate (lists for several problems); classes of each problem; labels; number of features.

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
    #: Always False: points are for the original features.
    standardise: bool = field(default=False, init=False)

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: FeatureSpace) -> Model:
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


@dataclass(eq=False, repr=False)
class SparseSVC(BranchAndBoundClassifier):
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
        ℓ, a loss of the margin.
    curve : bool
        Whether to solve also for 1, ..., k - 1 features, each from the classifier and bound for one feature more.
    solver : str
        "auto" is "sparse-bb" where k binds; any solver that reads the problem ("scip", "gurobi").
    tol : float
        Relative gap at which to stop.
    node_limit, time_limit : optional
        Budget of nodes, of seconds, for each binary problem and each number of features.
    verbose : bool
        Whether to print progress: marginopt's solvers on standard error, other solvers as they log.
    random_state : int
        Seed of the solver; "sparse-bb" draws no random numbers.
    multi_class, n_jobs, class_weight, standardise
        One against one ("ovo") or the rest ("ovr"); problems at a time; weights of classes; whether to scale features first.

    Attributes
    ----------
    support_ : ndarray of int
        The features in use, of any binary problem.
    gap_ : float
        Relative gap, the largest of all binary problems.
    curve_ : SolutionPath
        With ``curve=True`` the results for 1, ..., min(k, p) features; a list in the order of ``pairs_`` where there are several
        problems. `draw_curve` draws it.
    coef_, intercept_ : ndarray (problems, p), (problems,)
        Of the original features, not the standardised ones.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        Model, result and certificate (lists for several problems); classes of each problem; labels; number of features.

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

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: FeatureSpace) -> Model:
        return self._problem_of(self._count, X, y, cost)

    def _problem_of(self, k: int, X: Points, y: FloatArray, cost: FloatArray) -> Margin:
        """Return the problem of at most k features; without a count where that does not bind."""
        loss = part_by_name(self.loss, LOSSES, "loss")
        if loss.linear_loss is None:
            raise InputError(f"loss must be 'hinge', 'squared-hinge' or 'logistic'; it is {short_text(self.loss)}", name="loss")
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
            self.curve_ = single_or_list(curves)
        return outcomes

    def _curve(self, data: PreparedData, pair: BinaryProblem, outcome: BinaryFit) -> SolutionPath:
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


ESTIMATORS = (
    EstimatorInfo(ZeroOneSVC, ZeroOneSVM, "linear classifier with the 0-1 loss, within a budget of nodes", {"node_limit": 2000}),
    EstimatorInfo(RampSVC, RampSVM, "linear classifier with the ramp loss, within a budget of nodes", {"node_limit": 20}),
    EstimatorInfo(ScoringSystemClassifier, ScoringSystem, "points to add up, few features, fewest errors", {"node_limit": 60}),
    EstimatorInfo(SparseSVC, Margin, "at most k features, with a proved bound", {"k": 2, "node_limit": 20}),
)
