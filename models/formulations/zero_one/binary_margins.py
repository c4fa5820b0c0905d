"""Linear classifiers with a binary z_i for every margin, z_i = 1 where it is given up: what the 0-1 and the ramp loss share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Literal

import numpy as np

from ....errors import InputError
from ...arrays import BoolArray, FloatArray, Points, as_labels, as_points, as_positive, as_vector
from ...inspection.point_explanation import PointExplanation, priced, two_classes
from ...model import Bound, Model
from ...record import Parameter
from ...statement import Line
from ..linear import first_column_is_one
from .big_m import BigMConstants, Spending

__all__ = ["BinaryMargins", "as_prices", "margin_parameters"]


def margin_parameters(intercept: str) -> tuple[Parameter, ...]:
    """The parameters that the two have in common, with the intercept's default."""
    return (
        Parameter("M", "big-M; a valid one from the data where it is not given"),
        Parameter("intercept", "whether the intercept is part of the norm", str, intercept, ("penalised", "free")),
        Parameter("encoding", "rows with M, or indicator constraints", str, "bigm", ("bigm", "indicator")),
    )


class BinaryMargins(Model):
    """Data, checks, norm and valid big-M constants of a classifier w whose margins may be given up."""

    X: Points
    y: FloatArray
    M: float | FloatArray | None
    upper_bound: float | None
    intercept: Literal["penalised", "free"]

    def _check_margins(self, X: Points) -> None:
        """Check what the two have in common, and keep it as arrays; ``X`` are the rows that w multiplies."""
        n = X.shape[0]
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, n))
        if self.M is not None:
            big_m = as_vector(self.M, n, "M")
            if not (big_m >= 0).all():
                raise InputError(f"M must be ≥ 0; it is {big_m.min():g}")
            object.__setattr__(self, "M", float(big_m[0]) if np.ndim(self.M) == 0 else big_m)
        if self.upper_bound is not None:
            object.__setattr__(self, "upper_bound", as_positive(self.upper_bound, "upper_bound", zero=True))
        if self.intercept not in ("penalised", "free"):
            raise InputError(f"intercept must be 'penalised' or 'free'; it is {self.intercept!r}")
        if self.free and not first_column_is_one(X):
            raise InputError(
                "intercept='free' needs a first column of ones in X; Instance.prepared(intercept=True) puts it there"
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
    def spending(self) -> Spending:
        """The share of a feasible value that a violated margin takes."""

    @cached_property
    def reach(self) -> BigMConstants:
        """The distance of w from a known point, and M."""
        return BigMConstants(self.X, self.free, self.spending, self.incumbent_value, self.M, self.incumbent_source)

    @property
    def intercept_bound(self) -> float:
        """|b| of some optimal solution is at most this (free intercept)."""
        return self.reach.intercept_bound

    @property
    def big_m(self) -> FloatArray:
        """M_i in use: the given ones, or the valid ones of the notes."""
        return self.reach.big_m

    @property
    @abstractmethod
    def uses_big_m(self) -> bool:
        """Return whether the form has rows with M_i."""

    @property
    def stated_constants(self) -> bool:
        """Return whether M is given, and used."""
        return self.M is not None and self.uses_big_m

    @property
    def cutoff(self) -> float:
        """The value behind M, or up to which a given M is valid."""
        return self.reach.cutoff if self.stated_constants else self.incumbent_value

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """The form's, up to the level of a given M: what costs more may not be in the form."""
        bound = super().bound(x, multipliers)
        if not self.stated_constants or bound.value <= self.cutoff:
            return bound
        return replace(bound, value=self.cutoff, argument=f"{bound.argument}; up to the level of the given M")

    @property
    def unrestricted(self) -> tuple[int, ...]:
        """A free intercept: its bound is that of some optimal point."""
        return (0,) if self.free else ()

    @property
    def m_source(self) -> str:
        """The source of M, for reports."""
        return self.reach.m_source

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
        weights = priced(multipliers, "margin", self.y.size)
        return two_classes(self.given_points, self.y, partial(self.decision_function, values), weights, unit=self.has_margins)


def as_prices(lam: float | FloatArray, n: int) -> float | FloatArray:
    """λ > 0: one number, or one for each point.

    Raises
    ------
    InputError
        Another shape, or λ ≤ 0.
    """
    weights = as_vector(lam, n, "lam")
    if not (weights > 0).all():
        raise InputError(f"lam must be > 0; it is {weights.min():g}")
    return float(weights[0]) if np.ndim(lam) == 0 else weights
