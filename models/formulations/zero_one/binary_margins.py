"""Linear classifiers with a binary variable for every margin, and the constants M of its rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal, Protocol

import numpy as np
import scipy.sparse as sp

from ....errors import InputError, UnsupportedModelError
from ...arrays import (
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
from ...inspection.explanation import PointExplanation, primal_weights, two_classes
from ...model import Model
from ...program.cones import Nonnegative
from ...program.form import Constraint, StandardForm
from ...program.lagrangian import Bound
from ...record import Parameter
from ...statement import Line, plus
from ...views import ZeroOneProblem
from ..linear import first_column_is_one, price_words, priced_sum
from ..margin.activity_bounds import LEVEL, capped, largest_valid


class ViolationCost(Protocol):
    """The protocol of costs: the part of an objective value that a violated margin uses up."""

    @property
    def spent(self) -> FloatArray:
        """The part of the objective that each point costs if its margin is violated (n,); the norm is at most the rest."""

    @property
    def subtracted_term(self) -> str:
        """The term that the argument for M subtracts from UB, in words."""


@dataclass(frozen=True, eq=False)
class BigMConstants:
    """Valid M_i from a feasible value UB, by the argument in `ZeroOneSVM` and `RampSVM`.

    Parameters
    ----------
    X : array (n, p)
    free : bool
        Whether the first column's weight, an intercept, is not part of the norm.
    cost : ViolationCost
    feasible_value : float
        UB; infinite where no feasible point is known.
    given_constants : float or ndarray (n,), optional
        M as the user gives it, not proven.
    source : str
        Where UB comes from: of a point that was given, or of a trivial one.
    """

    X: Points
    free: bool
    cost: ViolationCost
    feasible_value: float
    given_constants: float | FloatArray | None
    source: str

    @cached_property
    def _norms(self) -> FloatArray:
        """||x_i|| of the penalised part."""
        rows = self.X[:, 1:] if self.free else self.X
        return np.sqrt(row_norms_squared(rows)) if rows.shape[1] else np.zeros(self.X.shape[0])

    @property
    def intercept_bound(self) -> float:
        """|b| of some optimal solution is at most this (free intercept)."""
        if not np.isfinite(self.feasible_value):
            return np.inf
        norms = np.sqrt(row_norms_squared(self.X[:, 1:])) if self.X.shape[1] > 1 else np.zeros(1)
        return 1.0 + float(norms.max()) * float(np.sqrt(self.feasible_value))

    @cached_property
    def big_m_values(self) -> FloatArray:
        """M_i in use: the given ones, or 1 + ||x_i|| √(UB - λ_i) [+ |b|max]."""
        n = self.X.shape[0]
        if self.given_constants is not None:
            return as_vector(self.given_constants, n, "big_m")
        if not np.isfinite(self.feasible_value):
            raise UnsupportedModelError(
                "no valid big-M is known in the κ form without a feasible point: give upper_bound= or incumbent= (the w of "
                "solve(model, 'zero-one-bb')), big_m=, or encoding='indicator'"
            )
        reach = np.sqrt(np.maximum(np.full(n, self.feasible_value) - self.cost.spent, 0.0))
        valid = 1.0 + self._norms * reach
        return np.asarray(valid + self.intercept_bound if self.free else valid)

    @cached_property
    def cutoff(self) -> float:
        """The largest value up to which a given M is valid: M_i ≥ 1 + ||x_i|| √(v - λ_i) [+ |b|max], λ_i ≤ v."""
        return largest_valid(self._valid_at)

    def _valid_at(self, value: float) -> bool:
        """Return whether no point that costs at most so much is cut off by the given M."""
        margin = 1.0 + self._norms * np.sqrt(np.maximum(value - self.cost.spent, 0.0))
        if self.free:
            margin = margin + 1.0 + float(self._norms.max(initial=0.0)) * float(np.sqrt(value))
        affordable = self.cost.spent <= value
        stated_constants = as_vector(self.given_constants, self.X.shape[0], "big_m")
        return bool((stated_constants >= margin * (1.0 - LEVEL))[affordable].all())

    @property
    def m_source(self) -> str:
        """The source of M, for reports."""
        return "given, unproven: audit the solution" if self.given_constants is not None else self.source

    @property
    def argument(self) -> str:
        """Why M is valid, in words."""
        if self.given_constants is None and not np.isfinite(self.feasible_value):
            return "M needs a known feasible point, and none is given: margins are given up by indicators"
        low, high = f"{self.big_m_values.min():.4g}", f"{self.big_m_values.max():.4g}"
        values = f"each {low}" if low == high else f"between {low} and {high}"
        if self.given_constants is not None:
            return f"M given by the user (unproven), {values}"
        spent = self.cost.subtracted_term
        return (
            f"M_i = 1 + ||x_i|| sqrt(UB{spent}){' + |b|max' if self.free else ''} with UB = "
            f"{self.feasible_value:.6g} ({self.source}), {values}: M_i matters only where "
            f"z_i = 1, and an optimal w then has ||w||^2 <= UB{spent}"
        )


def margin_parameters(intercept: str) -> tuple[Parameter, ...]:
    """The parameters that the two have in common, with the intercept's default."""
    return (
        Parameter("big_m", "big-M, a number; auto: valid ones from the data", default="auto", words=("auto",)),
        Parameter("intercept", "whether the intercept is part of the norm", str, intercept, ("penalised", "free")),
        Parameter("encoding", "rows with M, or indicator constraints", str, "bigm", ("bigm", "indicator")),
    )


class BinaryMargins(Model):
    """Data, checks, norm and valid big-M constants of a classifier w whose margins may be given up."""

    X: Points
    y: FloatArray
    big_m: BigM
    upper_bound: float | None
    intercept: Literal["penalised", "free"]

    def _check_margins(self, X: Points) -> None:
        """Check what the two have in common, and keep it as arrays; ``X`` are the rows that w multiplies."""
        n = X.shape[0]
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, n))
        object.__setattr__(self, "big_m", as_big_m(self.big_m, n))
        if self.upper_bound is not None:
            object.__setattr__(self, "upper_bound", as_positive(self.upper_bound, "upper_bound", zero=True))
        if self.intercept not in ("penalised", "free"):
            raise InputError(f"intercept must be 'penalised' or 'free'; it is {self.intercept!r}", name="intercept")
        if self.free and not first_column_is_one(X):
            raise InputError(
                "intercept='free' needs a first column of ones in X; Instance.prepared(intercept=True) puts it there",
                name="intercept",
            )

    # -- the norm -----------------------------------------------------------------------------------------------

    @property
    def free(self) -> bool:
        """Return whether the first column's weight, an intercept, is no part of the norm."""
        return self.intercept == "free"

    @cached_property
    def penalised(self) -> BoolArray:
        """The mask of the weights in the norm."""
        mask = np.ones(self.X.shape[1], dtype=bool)
        mask[0] = not self.free
        return mask

    def norm(self, w: FloatArray) -> float:
        """||w||² of the penalised weights."""
        return float(w[self.penalised] @ w[self.penalised])

    @property
    def norm_line(self) -> Line:
        """The same, in words."""
        if self.free:
            return Line("||w_(without intercept)||^2", r"\textstyle\sum_{j\ge 2} w_j^2")
        return Line("||w||^2", r"\|w\|_2^2")

    def margins(self, w: FloatArray) -> FloatArray:
        """u_i = y_i x_i'w."""
        return self.y * np.asarray(self.X @ w)

    @abstractmethod
    def objective(self, w: FloatArray) -> float:
        """Return the stated objective of a classifier."""

    @property
    def value_at_zero(self) -> float:
        """The losses of w = 0."""
        return self.objective(np.zeros(self.X.shape[1]))

    # -- how far w reaches --------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def incumbent_value(self) -> float:
        """The feasible value UB behind M."""

    @property
    @abstractmethod
    def incumbent_source(self) -> str:
        """The source of the incumbent, in words."""

    @property
    @abstractmethod
    def violation_cost(self) -> ViolationCost:
        """The share of a feasible value that a violated margin takes."""

    @cached_property
    def big_m_constants(self) -> BigMConstants:
        """The distance of w from a known point, and M."""
        return BigMConstants(
            self.X, self.free, self.violation_cost, self.incumbent_value, self.given_constants, self.incumbent_source
        )

    @property
    def intercept_bound(self) -> float:
        """|b| of some optimal solution is at most this (free intercept)."""
        return self.big_m_constants.intercept_bound

    @property
    def big_m_values(self) -> FloatArray:
        """M_i in use: the given ones, or the valid ones of the notes."""
        return self.big_m_constants.big_m_values

    @property
    @abstractmethod
    def uses_big_m(self) -> bool:
        """Return whether the form has rows with M_i."""

    @property
    def given_constants(self) -> float | FloatArray | None:
        """M where it is given; None where it follows from the data."""
        return None if isinstance(self.big_m, str) else self.big_m

    @property
    def stated_constants(self) -> bool:
        """Return whether M is given, and used."""
        return self.given_constants is not None and self.uses_big_m

    @property
    def cutoff(self) -> float:
        """The value behind M, or up to which a given M is valid."""
        return self.big_m_constants.cutoff if self.stated_constants else self.incumbent_value

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """The form's, up to the level of a given M: what costs more may not be in the form."""
        bound = super().bound(x, multipliers)
        return capped(bound, self.cutoff) if self.stated_constants else bound

    @property
    def loss_bounded(self) -> tuple[int, ...]:
        """A free intercept: its bound is that of some optimal point."""
        return (0,) if self.free else ()

    @property
    def m_source(self) -> str:
        """The source of M, for reports."""
        return self.big_m_constants.m_source

    # -- what a solution says -----------------------------------------------------------------------------------

    @property
    def has_margins(self) -> bool:
        """Return whether the constraint ``margin`` holds a row of every point, so that u_i = 1 is worth telling."""
        return True

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """x'w for new rows."""
        return np.asarray(as_points(X, columns=self.X.shape[1]) @ values["w"])

    @property
    def given_points(self) -> FloatArray:
        """Rows that `decision_function` takes: X, unless X are images of them."""
        return self.X

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Points by their margins."""
        weights = primal_weights(multipliers, "margin", self.y.size)
        return two_classes(
            self.given_points, self.y, partial(self.decision_function, values), weights, 1.0 if self.has_margins else None
        )


def as_prices(lam: float | FloatArray, n: int) -> float | FloatArray:
    """λ > 0: one number, or one for each point."""
    weights = as_vector(lam, n, "lam")
    if not (weights > 0).all():
        raise InputError(f"lam must be > 0; it is {weights.min():g}", name="lam")
    return float(weights[0]) if np.ndim(lam) == 0 else weights


#: κn is a whole number where it is within this of one: 0.29 · 100 in floating point is not.
_WHOLE = 1e-9


@dataclass(frozen=True, eq=False)
class ZeroOneBudget:
    """min Σ_j d_j w_j² subject to a_i'w ≥ 1 for all but at most k of the points: a view for algorithms.

    Parameters
    ----------
    A : ndarray (n, p)
        Signed rows a_i = y_i x_i.
    budget : int
        k.
    penalised : ndarray of bool (p,)
        d_j: False for a free intercept, whose column of A is y.
    """

    A: FloatArray
    budget: int
    penalised: BoolArray


def as_share(kappa: float) -> float:
    """κ checked to be in [0, 1]."""
    share = as_positive(kappa, "kappa", zero=True)
    if share > 1:
        raise InputError(f"kappa must be in [0, 1], a fraction of the points; it is {share:g}", name="kappa")
    return share


def budget_of(kappa: float, n: int) -> int:
    """⌊κn⌋, with κn taken as whole where only rounding keeps it from being so."""
    return min(math.floor(kappa * n + _WHOLE * max(kappa * n, 1.0)), n)


def with_budget(form: StandardForm, budget: int) -> StandardForm:
    """A form of the 0-1 loss, its z without cost, with the row ``budget``: k - Σz ≥ 0."""
    row = np.zeros((1, form.n))
    column = 0
    for block in form.blocks:
        size = int(np.prod(block.shape))
        if block.label == "z":
            row[0, column : column + size] = -1.0
        column += size
    limit = Constraint("budget", sp.csr_array(row), np.array([float(budget)]), Nonnegative(1))
    return form.replace(constraints=(*form.constraints, limit))


class Cost(ABC):
    """The abstract cost: how the n violations z enter the objective and the rows."""

    @property
    @abstractmethod
    def prices(self) -> FloatArray:
        """Cost of each z_i in the objective (n,)."""

    @property
    @abstractmethod
    def spent(self) -> FloatArray:
        """The part of a feasible value that a violated point takes, so that the norm cannot have it: valid M rests on it (n,)."""

    @abstractmethod
    def total(self, norm: float, violated: BoolArray) -> float:
        """Objective of a classifier of this norm that violates these margins."""

    @abstractmethod
    def limited(self, form: StandardForm) -> StandardForm:
        """The form with the row that limits z, where one does."""

    @abstractmethod
    def view(self, A: FloatArray, penalised: BoolArray) -> ZeroOneProblem | ZeroOneBudget:
        """Return the view that algorithms read: signed rows, costs, and the mask of the weights in the norm."""

    @abstractmethod
    def objective(self, norm: Line) -> Line:
        """The norm with the cost of violations, in words."""

    @property
    @abstractmethod
    def lines(self) -> tuple[Line, ...]:
        """The row that limits z in words, where one does."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Suffix of the title."""

    @property
    @abstractmethod
    def size(self) -> str:
        """The cost among the sizes."""

    @property
    @abstractmethod
    def subtracted_term(self) -> str:
        """The term that the argument for M subtracts from UB, in words."""


@dataclass(frozen=True, eq=False)
class Prices(Cost):
    """λ form: a violation costs λ_i; ``lam`` is how they were given."""

    weights: FloatArray
    lam: float | FloatArray

    @property
    def prices(self) -> FloatArray:
        """λ."""
        return self.weights

    @property
    def spent(self) -> FloatArray:
        """λ."""
        return self.weights

    def total(self, norm: float, violated: BoolArray) -> float:
        """||w||² + Σ λ_i over the violated."""
        return norm + float(self.weights[violated].sum())

    def limited(self, form: StandardForm) -> StandardForm:
        """The form itself."""
        return form

    def view(self, A: FloatArray, penalised: BoolArray) -> ZeroOneProblem:
        """`ZeroOneProblem`."""
        return ZeroOneProblem(A, self.weights, penalised)

    def objective(self, norm: Line) -> Line:
        """||w||² + λΣz."""
        return plus(norm, priced_sum(self.lam, Line("z_i", "z_i")))

    @property
    def lines(self) -> tuple[Line, ...]:
        """State no line."""
        return ()

    @property
    def title(self) -> str:
        """Return no addition to the title."""
        return ""

    @property
    def size(self) -> str:
        """λ, or its range."""
        return price_words(self.lam)

    @property
    def subtracted_term(self) -> str:
        """λ_i."""
        return " - lam_i"


@dataclass(frozen=True)
class Budget(Cost):
    """κ form: at most ``limit`` = ⌊κn⌋ of n margins are violated, at no cost."""

    kappa: float
    limit: int
    n: int

    @property
    def prices(self) -> FloatArray:
        """0."""
        return np.zeros(self.n)

    @property
    def spent(self) -> FloatArray:
        """0: UB bounds ||w||² itself."""
        return np.zeros(self.n)

    def total(self, norm: float, violated: BoolArray) -> float:
        """||w||², infinite beyond the budget."""
        return norm if int(violated.sum()) <= self.limit else np.inf

    def limited(self, form: StandardForm) -> StandardForm:
        """Return the form with the row ``budget``."""
        return with_budget(form, self.limit)

    def view(self, A: FloatArray, penalised: BoolArray) -> ZeroOneBudget:
        """`ZeroOneBudget`."""
        return ZeroOneBudget(A, self.limit, penalised)

    def objective(self, norm: Line) -> Line:
        """||w||²."""
        return norm

    @property
    def lines(self) -> tuple[Line, ...]:
        """Σz ≤ κn."""
        return (Line("sum_i z_i <= kappa n", r"\textstyle\sum_{i=1}^n z_i \le \kappa n", "budget"),)

    @property
    def title(self) -> str:
        """The limit."""
        return ", at most kappa n violations"

    @property
    def size(self) -> str:
        """κ and ⌊κn⌋."""
        return f"kappa = {self.kappa:g}, at most {self.limit} violations"

    @property
    def subtracted_term(self) -> str:
        """Return no addition: the budget takes no share of a known value."""
        return ""
