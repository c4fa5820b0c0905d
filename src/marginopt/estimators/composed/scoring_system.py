"""`ScoringSystemClassifier`: points to add up, exactly or within a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...display import Display, Displayed, Tabular
from ...errors import InputError
from ...models.arrays import FloatArray, Points, as_positive, to_dense
from ...models.formulations.margin.named.scoring_system import ScoringSystem
from ...models.formulations.margin.scoring_problem import as_fraction
from ...models.model import Model
from ...solvers.certification.result import Result
from ..classifier import SearchedClassifier
from ..record import EstimatorInfo
from ..spaces import Solution, Space

__all__ = ["ScoringSystemClassifier"]

# The table of points of a fitted scoring system.


@dataclass(frozen=True)
class PointsTable(Displayed, Tabular):
    """Points to add up, and the total above which one class is predicted.

    Parameters
    ----------
    classes : (str, str)
        The class predicted up to ``above``, and the one beyond it.
    points : sequence of (str, int)
        Features in use and their points, the largest in size first.
    above : int
        -ρ_0.
    standing : str
        Errors on the training points, and what is proved.
    """

    classes: tuple[str, str]
    points: Sequence[tuple[str, int]]
    above: int
    standing: str

    def __str__(self) -> str:
        width = max([len(name) for name, _ in self.points] + [len("feature")])
        lines = [f"{'feature':<{width}}  points"]
        lines += [f"{name:<{width}}  {points:+6d}" for name, points in self.points] or ["(none)"]
        lines.append(f"{self.classes[1]} if points times features add up to more than {self.above}, else {self.classes[0]}")
        return "\n".join([*lines, self.standing])

    __repr__ = __str__

    def records(self) -> Sequence[Mapping[str, str | int]]:
        """One row for each feature in use."""
        return [{"feature": name, "points": points} for name, points in self.points]

    def display(self) -> Display:
        """Return the notebook view."""
        rows = tuple((name, f"{points:+d}") for name, points in self.points)
        verdict = f"{self.classes[1]} above {self.above}, else {self.classes[0]}; {self.standing}"
        return Display(title=verdict, head=("feature", "points"), rows=rows, words=("feature",))


class ScoringSystemClassifier(SearchedClassifier):
    """Linear classifier with few whole coefficients, `marginopt.ScoringSystem`: SLIM, Ustun and Rudin, 2015, (4).

    Coefficients are points for each unit of a feature, so features are best whole numbers or yes and no
    (`sklearn.preprocessing.KBinsDiscretizer` makes such). ``points()`` is the table that a person adds up.

    Solved by exact branch and bound within a budget: ``result_.gap`` says how far the system can be from the optimum, and the
    bound is proved. A search that the budget ends gives its best system, without a warning.

    Parameters
    ----------
    coefficients : (int, int)
        Bounds of a coefficient.
    max_features : int, optional
        Most features in use.
    C0 : float
        ≥ 0: the share of the points (of their weight) that one more feature must put right.
    solver : str
        "auto" is "supports-bb"; any solver of mixed-integer linear problems will do.
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

    #: Points are for the features as they are.
    standardise = False

    def __init__(
        self,
        coefficients: tuple[int, int] = (-10, 10),
        *,
        max_features: int | None = None,
        C0: float = 0.01,
        solver: Any = "auto",
        tol: float | None = None,
        node_limit: int | None = None,
        time_limit: float | None = 60.0,
        verbose: bool = False,
        random_state: int = 0,
        multi_class: str = "ovo",
        n_jobs: int | None = None,
        class_weight: Any = None,
    ) -> None:
        self.coefficients = coefficients
        self.max_features = max_features
        self.C0 = C0
        self.solver = solver
        self.tol = tol
        self.node_limit = node_limit
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.multi_class = multi_class
        self.n_jobs = n_jobs
        self.class_weight = class_weight

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: Space) -> Model:
        as_positive(self.C0, "C0", zero=True)
        total = sum(map(as_fraction, cost.tolist()), Fraction())  # equal points are merged, so that N is their weight
        share = as_fraction(self.C0) * total / len(cost)
        return ScoringSystem(to_dense(X), y, self.coefficients, max_features=self.max_features, C0=share, weights=cost)

    @staticmethod
    def _solution(problem: Model, result: Result) -> Solution:
        w = np.rint(result.values["w"])
        return Solution(w[1:], float(w[0]))

    def points(self, feature_names: Sequence[str] | None = None) -> PointsTable:
        """The table of points of two classes.

        Raises
        ------
        InputError
            More than two classes (``problem_`` and ``coef_`` hold each problem's), or as many names as there are not features.
        """
        check_is_fitted(self)
        if self.classes_.size > 2:
            raise InputError(f"a table of points is for two classes; there are {self.classes_.size}")
        p = self.n_features_in_
        known = getattr(self, "feature_names_in_", None)
        names = [f"x{j}" for j in range(p)] if known is None else list(known)
        names = names if feature_names is None else [str(name) for name in feature_names]
        if len(names) != p:
            raise InputError(f"feature_names must hold {p} names; it holds {len(names)}")
        w = self.coef_[0].astype(int)
        used = sorted(np.flatnonzero(w), key=lambda j: (-abs(w[j]), j))
        result = self.result_
        problem = self.problem_.problem
        wrong = problem.weights[problem.errors(int(self.intercept_[0]), self.coef_[0])].sum() / problem.weights.sum()
        proved = "proved optimal" if result.solved and result.bound is not None else f"at most {result.gap:.1%} from the optimum"
        low, high = (str(c) for c in self.classes_.tolist())
        standing = f"{wrong:.1%} of the training points are wrong; {proved}"
        return PointsTable((low, high), [(names[j], int(w[j])) for j in used], -int(self.intercept_[0]), standing)


ESTIMATORS = (
    EstimatorInfo(ScoringSystemClassifier, ScoringSystem, "points to add up, few features, fewest errors", {"node_limit": 60}),
)
