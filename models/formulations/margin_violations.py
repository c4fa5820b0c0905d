"""The base class of `ZeroOneSVM` and `RampSVM`, whose points may violate their margins at a cost, with valid big-M constants.

The margin of point i is u_i = y_i x_i'w. z_i = 0 requires u_i ≥ 1 (less a slack, for the ramp), by a row u_i ≥ 1 - M_i z_i with
M_i from UB, the objective of a known feasible point. z_i = 1 costs λ_i (λ form), or at most κn of the z_i are 1 (κ form). A
*view* is the record of a problem that solvers read in place of the standard form.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np
import scipy.sparse as sp

from ...errors import UnsupportedModelError, count_text
from ..arrays import (
    BigM,
    BoolArray,
    FloatArray,
    Points,
    as_big_m,
    as_labels,
    as_points,
    as_positive,
    as_vector,
    row_norms_squared,
)
from ..explanation import PointExplanation, primal_weights, two_classes
from ..model import Model
from ..program.cones import Nonnegative
from ..program.form import Constraint, StandardForm
from ..program.lagrangian import Bound
from ..record import Parameter
from ..statement import Line, lam_sum_line, lam_text, plus
from ..views import ZeroOneProblem
from .features import check_intercept, dense_signed_rows
from .margin.activity_bounds import LEVEL_TOLERANCE, capped_bound, largest_valid


@dataclass(frozen=True, eq=False)
class ZeroOneBudget:
    """The problem min Σ_j d_j w_j² subject to a_i'w ≥ 1 for all but at most k points, the view of the κ form of `ZeroOneSVM`.

    Parameters
    ----------
    A : ndarray (n, p)
        Signed rows a_i = y_i x_i.
    budget : int
        k.
    penalised : ndarray of bool (p,)
        d_j, 0 or 1: False for a free intercept, whose column of A is y.
    """

    A: FloatArray
    budget: int
    penalised: BoolArray


#: Why the κ form has no big-M rows without a feasible point, and the remedies.
NO_BIG_M = (
    "no valid big-M is known in the κ form without a feasible point: give upper_bound= or incumbent= (the w of "
    "solve(model, 'zero-one-bb')), big_m=, or encoding='indicator'"
)
#: Relative distance within which κn counts as a whole number: 0.29 · 100 is below 29 in floating point.
_WHOLE = 1e-9


def allowed_violations(kappa: float, n: int) -> int:
    """Return ⌊κn⌋, with κn taken as whole where only rounding keeps it from being so."""
    return min(math.floor(kappa * n + _WHOLE * max(kappa * n, 1.0)), n)


@dataclass(frozen=True, eq=False)
class ViolationCosts:
    """The costs of violated margins: λ_i each (λ form), or no cost and at most ⌊κn⌋ of them (κ form).

    Parameters
    ----------
    point_costs : ndarray (n,)
        Cost of z_i = 1, zeros in the κ form. An optimal w with z_i = 1 has ||w||² ≤ UB less this cost, from which M_i follows.
    lam : float or ndarray (n,), optional
        λ as it was given; None in the κ form.
    kappa : float, optional
        κ; None in the λ form.
    subtracted_term : str
        The costs as the argument for M shows them, " - lam_i"; empty where they are 0.
    """

    point_costs: FloatArray
    lam: float | FloatArray | None
    kappa: float | None = None
    subtracted_term: str = " - lam_i"

    @property
    def max_violations(self) -> int | None:
        """Return ⌊κn⌋; None in the λ form."""
        return None if self.kappa is None else allowed_violations(self.kappa, self.point_costs.size)

    def objective_value(self, norm: float, violated: BoolArray) -> float:
        """Return the objective of a w with this ||w||² that violates these margins; infinite beyond the budget."""
        within_budget = self.max_violations is None or int(violated.sum()) <= self.max_violations
        return norm + float(self.point_costs[violated].sum()) if within_budget else np.inf

    def with_budget_row(self, form: StandardForm) -> StandardForm:
        """Return the form; in the κ form with the row ``budget``, ⌊κn⌋ - Σz ≥ 0."""
        if self.max_violations is None:
            return form
        row = np.zeros((1, form.n))
        row[0, form.slices["z"]] = -1.0
        budget = Constraint("budget", sp.csr_array(row), np.array([float(self.max_violations)]), Nonnegative(1))
        return form.replace(constraints=(*form.constraints, budget))

    def view(self, A: FloatArray, penalised: BoolArray) -> ZeroOneProblem | ZeroOneBudget:
        """Return the view of either form: signed rows, costs or budget, and the mask of the weights in the norm."""
        limit = self.max_violations
        return ZeroOneProblem(A, self.point_costs, penalised) if limit is None else ZeroOneBudget(A, limit, penalised)

    def objective_line(self, norm: Line) -> Line:
        """Return the printed objective: the line of ||w||² with the cost of violations."""
        return norm if self.lam is None else plus(norm, lam_sum_line(self.lam, Line("z_i", "z_i")))

    @property
    def budget_lines(self) -> tuple[Line, ...]:
        """Return the printed row that limits Σz in the κ form; empty in the λ form."""
        limit = Line("sum_i z_i <= kappa n", r"\textstyle\sum_{i=1}^n z_i \le \kappa n", "budget")
        return () if self.kappa is None else (limit,)

    @property
    def size_text(self) -> str:
        """Return λ or its range, or κ and ⌊κn⌋, as text."""
        if self.lam is not None:
            return lam_text(self.lam)
        assert self.max_violations is not None
        return f"kappa = {self.kappa:g}, at most {count_text(self.max_violations, 'violation')}"


def encoding_identity(encoding: str) -> Mapping[str, str]:
    """Return the entry of ``encoding`` in digests: "auto" is "bigm", the default of stored files."""
    return {"encoding": "bigm" if encoding == "auto" else encoding}


def margin_parameters(intercept: str) -> tuple[Parameter, ...]:
    """Return the command-line parameters of both `ZeroOneSVM` and `RampSVM`; ``intercept`` is the default of that parameter."""
    return (
        Parameter("big_m", "big-M, a number; auto: valid ones from the data", default="auto", words=("auto",)),
        Parameter("intercept", "whether the intercept is part of the norm", str, intercept, ("penalised", "free")),
        Parameter("encoding", "rows with M, or indicator constraints", str, "auto", ("auto", "bigm", "indicator")),
    )


class MarginViolationModel(Model):
    """Base class of linear classifiers with binaries z that mark violated margins: data, checks, ||w||², valid big-M constants.

    The notes of `ZeroOneSVM` and `RampSVM` say why the constants are valid.

    Parameters
    ----------
    X, y
        The rows that w multiplies (n, p), and labels -1, +1.
    big_m : "auto", float or ndarray (n,)
        M_i as given; "auto" for valid ones from the data.
    upper_bound : float, optional
        Objective of a known feasible point, which tightens M.
    intercept : {"penalised", "free"}
        Whether ||w||² contains the first coefficient.
    """

    X: Points
    y: FloatArray
    big_m: BigM
    upper_bound: float | None
    intercept: Literal["penalised", "free"]

    big_m_advice = "encoding='bigm' with big_m=, upper_bound= or incumbent= states rows with M instead"

    def _check_margins(self, X: Points) -> None:
        """Check and set the fields that both formulations have; ``X`` are the rows that w multiplies."""
        n = X.shape[0]
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, n))
        object.__setattr__(self, "big_m", as_big_m(self.big_m, n))
        if self.upper_bound is not None:
            object.__setattr__(self, "upper_bound", as_positive(self.upper_bound, "upper_bound", zero=True))
        check_intercept(self.intercept, X)

    # -- the norm -----------------------------------------------------------------------------------------------

    @property
    def free(self) -> bool:
        """Return whether the intercept is free: the first column's weight is no part of ||w||²."""
        return self.intercept == "free"

    @cached_property
    def penalised(self) -> BoolArray:
        """Return the mask of the weights in ||w||²."""
        mask = np.ones(self.X.shape[1], dtype=bool)
        mask[0] = not self.free
        return mask

    def squared_norm(self, w: FloatArray) -> float:
        """Return ||w||² of the penalised weights."""
        return float(w[self.penalised] @ w[self.penalised])

    def objective_with_margins(self, w: FloatArray, satisfied: BoolArray) -> float:
        """Return ||w||² plus the costs of the margins that w does not satisfy; infinite beyond the budget."""
        return self.cost.objective_value(self.squared_norm(w), ~satisfied)

    @property
    def norm_line(self) -> Line:
        """Return the printed ||w||² of the penalised weights."""
        if self.free:
            return Line("||w_(without intercept)||^2", r"\textstyle\sum_{j\ge 2} w_j^2")
        return Line("||w||^2", r"\|w\|_2^2")

    @cached_property
    def signed(self) -> FloatArray:
        """Return the signed rows y_i x_i, dense (n, p)."""
        return dense_signed_rows(self.X, self.y)

    def margins(self, w: FloatArray) -> FloatArray:
        """Return the margins u_i = y_i x_i'w."""
        return self.y * np.asarray(self.X @ w)

    @abstractmethod
    def objective(self, w: FloatArray) -> float:
        """Return the stated objective of a classifier."""

    @property
    def value_at_zero(self) -> float:
        """Return the objective of w = 0."""
        return self.objective(np.zeros(self.X.shape[1]))

    # -- bounds of w, and M ---------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def incumbent_value(self) -> float:
        """Return the feasible value UB behind M; infinite where no feasible point is known."""

    @property
    @abstractmethod
    def incumbent_source(self) -> str:
        """Return the source of UB in words."""

    @property
    @abstractmethod
    def cost(self) -> ViolationCosts:
        """Return the costs of violated margins."""

    @property
    @abstractmethod
    def uses_big_m(self) -> bool:
        """Return whether the form has rows with M_i."""

    @cached_property
    def _penalised_norms(self) -> FloatArray:
        """Return ||x_i|| of the penalised part."""
        rows = self.X[:, 1:] if self.free else self.X
        return np.sqrt(row_norms_squared(rows)) if rows.shape[1] else np.zeros(self.X.shape[0])

    @property
    def intercept_bound(self) -> float:
        """Return a bound of |b| that some optimal solution satisfies (free intercept); infinite where no UB is known."""
        return self._intercept_bound_at(self.incumbent_value) if np.isfinite(self.incumbent_value) else np.inf

    def _intercept_bound_at(self, value: float) -> float:
        """Return a bound of |b| of some optimal solution, if a feasible point has this value."""
        return 1.0 + float(self._penalised_norms.max(initial=0.0)) * float(np.sqrt(value))

    @cached_property
    def big_m_values(self) -> FloatArray:
        """Return the M_i in use: the given ones, or 1 + ||x_i|| √(UB - `cost.point_costs`), plus `intercept_bound` if b is free.

        Raises
        ------
        UnsupportedModelError
            No M is given and no feasible point is known (κ form).
        """
        n = self.X.shape[0]
        if self.given_big_m is not None:
            return as_vector(self.given_big_m, n, "big_m")
        if not np.isfinite(self.incumbent_value):
            raise UnsupportedModelError(NO_BIG_M)
        reach = np.sqrt(np.maximum(np.full(n, self.incumbent_value) - self.cost.point_costs, 0.0))
        valid = 1.0 + self._penalised_norms * reach
        return np.asarray(valid + self.intercept_bound if self.free else valid)

    def _valid_at(self, value: float) -> bool:
        """Return whether the given M cut off no point of at most this objective value."""
        margin = 1.0 + self._penalised_norms * np.sqrt(np.maximum(value - self.cost.point_costs, 0.0))
        if self.free:
            margin = margin + self._intercept_bound_at(value)
        valid = self.big_m_values >= margin * (1.0 - LEVEL_TOLERANCE)
        return bool(valid[self.cost.point_costs <= value].all())

    @property
    def big_m_argument(self) -> str:
        """Return why M is valid, in words."""
        if self.given_big_m is None and not np.isfinite(self.incumbent_value):
            return "M needs a known feasible point, and none is given: margins are given up by indicators"
        low, high = f"{self.big_m_values.min():.4g}", f"{self.big_m_values.max():.4g}"
        values = f"each {low}" if low == high else f"between {low} and {high}"
        if self.given_big_m is not None:
            return f"M given by the user (unproven), {values}"
        spent = self.cost.subtracted_term
        return (
            f"M_i = 1 + ||x_i|| sqrt(UB{spent}){' + |b|max' if self.free else ''} with UB = "
            f"{self.incumbent_value:.6g} ({self.incumbent_source}), {values}: M_i matters only where "
            f"z_i = 1, and an optimal w then has ||w||^2 <= UB{spent}"
        )

    @property
    def given_big_m(self) -> float | FloatArray | None:
        """Return M where the user gives it; None where it follows from the data."""
        return None if isinstance(self.big_m, str) else self.big_m

    @property
    def has_given_big_m(self) -> bool:
        """Return whether the user gives M and the form uses it."""
        return self.given_big_m is not None and self.uses_big_m

    @cached_property
    def _largest_valid(self) -> float:
        """Return the largest v up to which a given M is valid: M_i ≥ 1 + ||x_i|| √(v - λ_i) [+ |b|max] where λ_i ≤ v."""
        return largest_valid(self._valid_at)

    @property
    def cutoff(self) -> float:
        """Return the objective up to which the form holds every point: UB, or the largest value at which a given M is valid."""
        return self._largest_valid if self.has_given_big_m else self.incumbent_value

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the form's bound, capped at `cutoff` where M is given: costlier points may not be in the form."""
        bound = super().bound(x, multipliers)
        return capped_bound(bound, self.cutoff) if self.has_given_big_m else bound

    @property
    def loss_bounded_variables(self) -> tuple[int, ...]:
        """Return the indices of variables whose bounds hold for some optimal point only: (0,) for a free intercept, else ()."""
        return (0,) if self.free else ()

    # -- scores and explanations --------------------------------------------------------------------------------

    @property
    def has_margin_rows(self) -> bool:
        """Return whether the constraint ``margin`` has a row for every point: explanations then mark points on their margin."""
        return True

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the scores x'w of new rows."""
        return np.asarray(as_points(X, columns=self.X.shape[1]) @ values["w"])

    @property
    def given_points(self) -> FloatArray:
        """Return the rows that `decision_function` takes: X, unless X are images of them under a kernel."""
        return self.X

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return one row for each point with its score, margin and multiplier."""
        weights = primal_weights(multipliers, "margin", self.y.size)
        return two_classes(
            self.given_points, self.y, partial(self.decision_function, values), weights, 1.0 if self.has_margin_rows else None
        )
