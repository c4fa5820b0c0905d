"""The cardinality form of the 0-1-loss SVM: least norm with at most κn margins violated, Conic (3) with Σz ≤ κn for λΣz."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ....errors import InputError
from ...arrays import BoolArray, FloatArray, as_positive
from ...program.cones import Nonnegative
from ...program.form import Constraint, StandardForm

__all__ = ["ZeroOneBudget", "as_share", "budget_of", "with_budget"]

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
