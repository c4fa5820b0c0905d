"""`ZeroOneSVC`: the 0-1 loss, exactly, within a budget."""

from __future__ import annotations

from typing import Any

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
