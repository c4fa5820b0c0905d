"""The cost of violated margins, and the form that bounds their number.

The cost of violated margins: λ_i each, or nothing up to a budget of ⌊κn⌋.

The cardinality form of the 0-1-loss SVM: least norm with at most κn margins violated, Conic (3) with Σz ≤ κn for λΣz.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ....errors import InputError
from ...arrays import BoolArray, FloatArray, as_positive
from ...program.cones import Nonnegative
from ...program.form import Constraint, StandardForm
from ...statement import Line, plus
from ...views import ZeroOneProblem
from ..linear import price_words, priced_sum

__all__ = ["Budget", "Cost", "Prices", "ZeroOneBudget", "as_share", "budget_of", "with_budget"]

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
    """κ checked to be in [0, 1].

    Raises
    ------
    InputError
    """
    share = as_positive(kappa, "kappa", zero=True)
    if share > 1:
        raise InputError(f"kappa must be in [0, 1], a fraction of the points; it is {share:g}")
    return share


def budget_of(kappa: float, n: int) -> int:
    """⌊κn⌋, with κn taken as whole where only rounding keeps it from being so."""
    return min(math.floor(kappa * n + _WHOLE * max(kappa * n, 1.0)), n)


def with_budget(form: StandardForm, budget: int) -> StandardForm:
    """A form of the 0-1 loss, its z without cost, with the row ``budget``: k - Σz ≥ 0."""
    row = np.zeros((1, form.n))
    at = 0
    for block in form.blocks:
        size = int(np.prod(block.shape))
        if block.label == "z":
            row[0, at : at + size] = -1.0
        at += size
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
    def known(self) -> str:
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
        """No line."""
        return ()

    @property
    def title(self) -> str:
        """No addition to the title."""
        return ""

    @property
    def size(self) -> str:
        """λ, or its range."""
        return price_words(self.lam)

    @property
    def known(self) -> str:
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
    def known(self) -> str:
        """No addition: the budget takes no share of a known value."""
        return ""
