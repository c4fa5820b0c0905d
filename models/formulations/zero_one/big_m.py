"""The distance of an optimal w from known points, and the big-M constants that follow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from ....errors import UnsupportedModelError
from ...arrays import FloatArray, Points, as_vector, row_norms_squared

__all__ = ["BigMConstants", "Spending"]

#: Relative accuracy of the level of a given M, and the value beyond which none is looked for.
_LEVEL, _HUGE = 1e-12, 1e280


class Spending(Protocol):
    """The share of a feasible value that a violated margin takes."""

    @property
    def spent(self) -> FloatArray:
        """The part of a feasible value that each point takes, so that the norm cannot have it (n,)."""

    @property
    def known(self) -> str:
        """The same, in words: a suffix of UB."""


@dataclass(frozen=True, eq=False)
class BigMConstants:
    """Valid M_i from a feasible value UB, by the argument in `ZeroOneSVM` and `RampSVM`.

    Parameters
    ----------
    X : array (n, p)
    free : bool
        Whether the first column's weight, an intercept, is not part of the norm.
    cost : Spending
    known : float
        UB; infinite where no feasible point is known.
    given : float or ndarray (n,), optional
        M as the user gives it, not proven.
    source : str
        Where UB comes from: of a point that was given, or of a trivial one.
    """

    X: Points
    free: bool
    cost: Spending
    known: float
    given: float | FloatArray | None
    source: str

    @cached_property
    def _norms(self) -> FloatArray:
        """||x_i|| of the penalised part."""
        rows = self.X[:, 1:] if self.free else self.X
        return np.sqrt(row_norms_squared(rows)) if rows.shape[1] else np.zeros(self.X.shape[0])

    @property
    def intercept_bound(self) -> float:
        """|b| of some optimal solution is at most this (free intercept)."""
        if not np.isfinite(self.known):
            return np.inf
        norms = np.sqrt(row_norms_squared(self.X[:, 1:])) if self.X.shape[1] > 1 else np.zeros(1)
        return 1.0 + float(norms.max()) * float(np.sqrt(self.known))

    @cached_property
    def big_m(self) -> FloatArray:
        """M_i in use: the given ones, or 1 + ||x_i|| √(UB - λ_i) [+ |b|max].

        Raises
        ------
        UnsupportedModelError
            No feasible point is known.
        """
        n = self.X.shape[0]
        if self.given is not None:
            return as_vector(self.given, n, "M")
        if not np.isfinite(self.known):
            raise UnsupportedModelError(
                "no valid big-M is known in the κ form without a feasible point: give upper_bound= or incumbent= (the w of "
                "solve(model, 'zero-one-bb')), M=, or encoding='indicator'"
            )
        reach = np.sqrt(np.maximum(np.full(n, self.known) - self.cost.spent, 0.0))
        valid = 1.0 + self._norms * reach
        return np.asarray(valid + self.intercept_bound if self.free else valid)

    @cached_property
    def cutoff(self) -> float:
        """The largest value up to which a given M is valid: M_i ≥ 1 + ||x_i|| √(v - λ_i) [+ |b|max], λ_i ≤ v."""
        high = 1.0
        while high < _HUGE and self._valid_at(high):
            high *= 16.0
        if high >= _HUGE:
            return np.inf
        low = 0.0
        while high - low > _LEVEL * high:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._valid_at(middle) else (low, middle)
        return low

    def _valid_at(self, value: float) -> bool:
        """Return whether no point that costs at most so much is cut off by the given M."""
        margin = 1.0 + self._norms * np.sqrt(np.maximum(value - self.cost.spent, 0.0))
        if self.free:
            margin = margin + 1.0 + float(self._norms.max(initial=0.0)) * float(np.sqrt(value))
        affordable = self.cost.spent <= value
        stated_constants = as_vector(self.given, self.X.shape[0], "M")
        return bool((stated_constants >= margin * (1.0 - _LEVEL))[affordable].all())

    @property
    def m_source(self) -> str:
        """The source of M, for reports."""
        return "given, unproven: audit the solution" if self.given is not None else self.source

    @property
    def argument(self) -> str:
        """Why M is valid, in words."""
        if self.given is None and not np.isfinite(self.known):
            return "M needs a known feasible point: none is given, so that only solvers without a form can read this model"
        M = self.big_m
        if self.given is not None:
            return f"M given by the user (unproven), between {M.min():.4g} and {M.max():.4g}"
        spent = self.cost.known
        return (
            f"M_i = 1 + ||x_i|| sqrt(UB{spent}){' + |b|max' if self.free else ''} with UB = "
            f"{self.known:.6g} ({self.source}), between {M.min():.4g} and {M.max():.4g}: M_i matters only where "
            f"z_i = 1, and an optimal w then has ||w||^2 <= UB{spent}"
        )
