"""`MarginClassifier`: any composition of parts, as an estimator."""

from __future__ import annotations

from typing import Any

from ...errors import InputError
from ...models.arrays import FloatArray, Points, as_positive
from ...models.formulations.margin.losses.loss import Loss
from ...models.formulations.margin.model import Margin
from ...models.formulations.margin.naming import LOSSES, named
from ...models.model import Model
from ..classifier import SearchedClassifier
from ..record import EstimatorInfo
from ..spaces import Space

__all__ = ["MarginClassifier"]


class MarginClassifier(SearchedClassifier):
    """Linear classifier of a composed problem, `marginopt.Margin`: min R(w) + λ Σ s_i ℓ(y_i f(x_i)).

    Parameters
    ----------
    loss : Loss or str
        A loss of margins of `marginopt.margin`, or its name: "hinge", "squared-hinge", "ramp", "zero-one", "nu".
    regulariser : Regulariser or str
        Or its name: "l2", "half-l2", "l1", "elastic-net", "none".
    lam : float
        λ > 0; s_i = sample weight × class weight multiplies it.
    intercept : {"penalised", "free"}
    domain : Domain or str
        Of intercept and coefficients, the intercept first. Of the standardised features, unless
        ``standardise=False``.
    subject_to : sequence of Restriction
        Restrictions that name no points: each problem has its own.
    solver : str
        "auto", or any solver that reads the problem.
    tol : float, optional
    node_limit : int, optional
        Budget of nodes for each binary problem of a loss with jumps (the same on every machine).
    time_limit : float, optional
        Seconds for each binary problem; a search that one of the two ends gives its best classifier, without a warning.
    verbose : bool
        Whether solvers tell of their progress: ours on standard error, others in their own words where they print.
    random_state : int
        Seed of the solver.
    multi_class, n_jobs, class_weight, standardise
        As `L2SVC`.

    Attributes
    ----------
    coef_, intercept_ : ndarray (problems, p), (problems,)
        For rows as they come.
    problem_, result_, certificate_, pairs_, classes_, n_features_in_
        As every classifier's here.

    Raises
    ------
    InputError
        When it is fitted: λ ≤ 0, an unknown name, a loss that is not one of margins.
    """

    def __init__(
        self,
        loss: Any = "hinge",
        regulariser: Any = "l2",
        *,
        lam: float = 1.0,
        intercept: str = "penalised",
        domain: Any = "reals",
        subject_to: Any = (),
        solver: Any = "auto",
        tol: float | None = None,
        node_limit: int | None = None,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: int = 0,
        multi_class: str = "ovo",
        n_jobs: int | None = None,
        class_weight: Any = None,
        standardise: bool = True,
    ) -> None:
        self.loss = loss
        self.regulariser = regulariser
        self.lam = lam
        self.intercept = intercept
        self.domain = domain
        self.subject_to = subject_to
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
        loss: Loss = named(self.loss, LOSSES, "loss")
        if not loss.labels:
            raise InputError(f"{type(loss).__name__} is no loss of margins, so it makes no classifier; use mo.Margin itself")
        lam = as_positive(self.lam, "lam")
        intercept: Any = self.intercept
        return Margin(X, y, loss, self.regulariser, intercept, lam * cost, self.domain, self.subject_to)


ESTIMATORS = (EstimatorInfo(MarginClassifier, Margin, "any loss and regulariser, composed"),)
