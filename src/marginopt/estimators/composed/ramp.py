"""`RampSVC`: the ramp loss, exactly, within a budget."""

from __future__ import annotations

from typing import Any

from ...models.arrays import FloatArray, Points, as_positive
from ...models.formulations.ramp import RampSVM
from ...models.model import Model
from ...solvers.margin import MarginBB
from ..classifier import SearchedClassifier
from ..record import EstimatorInfo
from ..spaces import Space

__all__ = ["RampSVC"]


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

    def __init__(
        self,
        lam: float = 1.0,
        *,
        intercept: str = "free",
        solver: Any = "margin-bb",
        tol: float | None = 1e-4,
        node_limit: int | None = 2_000,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: int = 0,
        multi_class: str = "ovo",
        n_jobs: int | None = None,
        class_weight: Any = None,
        standardise: bool = True,
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

    def _problem(self, X: Points, y: FloatArray, cost: FloatArray, space: Space) -> Model:
        intercept: Any = self.intercept
        return RampSVM(X, y, lam=as_positive(self.lam, "lam") * cost, intercept=intercept)

    def _asked(self) -> Any:
        """Boxes within a budget have no need to refuse features."""
        return MarginBB(max_coefficients=2**31) if self.solver == "margin-bb" else self.solver


ESTIMATORS = (
    EstimatorInfo(RampSVC, RampSVM, "linear classifier with the ramp loss, within a budget of nodes", {"node_limit": 20}),
)
