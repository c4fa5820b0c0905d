"""Parity between groups: the covariance of membership and score is small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....arrays import FloatArray, as_positive
from ....statement import Line
from ..assembly import Affine, Assembly
from ..part import Setting
from .restriction import Restriction
from .rows import covariances

__all__ = ["Parity"]


@dataclass(frozen=True, eq=False)
class Parity(Restriction):
    """|cov(1{i in g}, x_i'w)| ≤ ε for each group g (one of two groups is enough): two linear rows.

    Zafar, Valera, Gomez Rodriguez, Gummadi: Fairness constraints, 2017, (6): a convex proxy of equal shares of positive answers.

    Parameters
    ----------
    groups : array_like (n,)
        The group of each point, any names.
    epsilon : float
        ε ≥ 0.

    Raises
    ------
    InputError
        ε < 0; not one group for each point, or one group alone (when the problem is compiled).
    """

    groups: Any
    epsilon: float = 0.0

    name = "parity"

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", np.array(self.groups))
        object.__setattr__(self, "epsilon", as_positive(self.epsilon, "epsilon", zero=True))

    def add(self, to: Assembly, at: Setting, errors: Affine | None, name: str) -> None:
        """Two rows for each group."""
        rows = at.w.under(covariances(at.X, self.groups, at.X.shape[0]))
        to.require_nonnegative(f"{name} above", -rows + self.epsilon)
        to.require_nonnegative(f"{name} below", rows + self.epsilon)

    def violation(self, X: FloatArray, y: FloatArray, w: FloatArray) -> float:
        """The largest excess over ε."""
        return float(np.maximum(np.abs(covariances(X, self.groups, X.shape[0]) @ w) - self.epsilon, 0.0).max())

    def lines(self) -> tuple[Line, ...]:
        """The rows."""
        e = f"{self.epsilon:g}"
        tex = rf"|\mathrm{{cov}}(\mathrm{{group}}, x^\top w)| \le {e}"
        return (Line(f"|cov(group, x'w)| <= {e}", tex, "parity above, parity below"),)
