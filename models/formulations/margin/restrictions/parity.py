"""Parity between groups: the covariance of membership and score is small, or shares of positive scores are close."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .....labelled import DataNames
from .....rows import Rows
from ....arrays import FloatArray, Points, as_positive, in_memory, to_dense
from ....margin_view import EqualRates
from ....program.cones import Zero
from ....statement import Line
from ..assembly import Affine, Assembly
from ..part import Classifier, Setting
from .restriction import Restriction
from .rows import covariances, memberships

__all__ = ["CountParity", "Parity"]


@dataclass(frozen=True, eq=False)
class _OfGroups(Restriction):
    """Fields that the rules about groups of points share: the groups, and the slack ε."""

    groups: Any
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", np.array(self.groups))
        object.__setattr__(self, "epsilon", as_positive(self.epsilon, "epsilon", zero=True))

    def located(self, names: DataNames, X: Points | Rows, y: FloatArray) -> Restriction:
        """Return the restriction with the column that ``groups`` names in place of the name."""
        if self.groups.ndim or self.groups.dtype.kind != "U":
            return self
        j = names.column(str(self.groups))
        column = in_memory(X, "a group by the name of its column")[:, [j]]
        return replace(self, groups=to_dense(column).reshape(-1))

    def check(self, p: int, y: FloatArray) -> None:
        """Check the number of groups."""
        memberships(self.groups, y.size)


@dataclass(frozen=True, eq=False)
class Parity(_OfGroups):
    """|cov(1{i in g}, x_i'w)| ≤ ε for each group g (one of two groups is enough): two linear rows.

    Zafar, Valera, Gomez Rodriguez, Gummadi: Fairness constraints, 2017, (6): a convex proxy of equal shares of positive answers.

    Parameters
    ----------
    groups : array_like (n,) or str
        The group of each point, any names; or the name of the column of X that holds it.
    epsilon : float
        ε ≥ 0.

    Raises
    ------
    InputError
        ε < 0; when the problem is stated: not one group for each point, one group alone, or no such column.
    """

    name = "parity"

    def add(self, builder: Assembly, context: Setting, errors: Affine | None, name: str) -> None:
        """Two rows for each group."""
        rows = context.w.under(covariances(context.X, self.groups, context.X.shape[0]))
        builder.require_nonnegative(f"{name} above", -rows + self.epsilon)
        builder.require_nonnegative(f"{name} below", rows + self.epsilon)

    def violation(self, X: FloatArray, y: FloatArray, w: FloatArray) -> float:
        """The largest excess over ε."""
        return float(np.maximum(np.abs(covariances(X, self.groups, X.shape[0]) @ w) - self.epsilon, 0.0).max())

    def lines(self) -> tuple[Line, ...]:
        """The rows."""
        e = f"{self.epsilon:g}"
        tex = rf"|\mathrm{{cov}}(\mathrm{{group}}, x^\top w)| \le {e}"
        return (Line(f"|cov(group, x'w)| <= {e}", tex, "parity above, parity below"),)


@dataclass(frozen=True, eq=False)
class CountParity(_OfGroups):
    """|share of positive scores in group g - that in group h| ≤ ε for any two groups, counted by binaries.

    d_i in {0, 1}; d_i = 1 requires x_i'w ≥ 0, d_i = 0 requires x_i'w ≤ 0, so that a score of zero counts on either side.

    Parameters
    ----------
    groups : array_like (n,) or str
        The group of each point, any names; or the name of the column of X that holds it.
    epsilon : float
        ε ≥ 0.

    Raises
    ------
    InputError
        ε < 0; when the problem is stated: not one group for each point, one group alone, or no such column.
    """

    name = "count parity"
    convex: ClassVar[bool] = False
    of_margins: ClassVar[bool] = True

    def add(self, builder: Assembly, context: Setting, errors: Affine | None, name: str) -> None:
        """d, its switches, and two rows for each two groups."""
        n = context.X.shape[0]
        d, scores, big_m = builder.binaries(f"{name} d", n), context.w.under(context.X), context.big_m(0.0)
        other = -d + 1.0
        if big_m is None:  # the switch of an indicator is a variable
            other = builder.binaries(f"{name} not d", n)
            builder.require(f"{name} either", d + other - 1.0, Zero(n))
        builder.switch(f"{name} positive", other, scores, big_m)
        builder.switch(f"{name} negative", d, -scores, big_m)
        rows = d.under(group_differences(self.groups, n))
        builder.require_nonnegative(f"{name} above", -rows + self.epsilon)
        builder.require_nonnegative(f"{name} below", rows + self.epsilon)

    def equal_rates(self, y: FloatArray) -> EqualRates:
        """Return the groups by number."""
        inside = memberships(self.groups, y.size)
        return EqualRates(inside.argmax(axis=0), y, self.epsilon)

    def blocks(self, classifier: Classifier, name: str) -> dict[str, FloatArray]:
        """d, and its complement where the switches are indicators; scores that count as 0 are on the side that suits."""
        scores, near = classifier.y * classifier.argument, 10.0 * classifier.near
        d = self.equal_rates(classifier.y).signs(scores, near).astype(np.float64)
        return {f"{name} d": d, f"{name} not d": 1.0 - d}

    def violation(self, X: FloatArray, y: FloatArray, w: FloatArray) -> float:
        """Return the excess over ε of the largest difference, scores within 1e-6 of zero counted to make it least."""
        scores = np.asarray(X @ w)
        return max(self.equal_rates(y).least_spread(scores > 1e-6, scores > -1e-6) - self.epsilon, 0.0)

    def lines(self) -> tuple[Line, ...]:
        """The rows."""
        e = f"{self.epsilon:g}"
        tex = rf"|\mathrm{{share}}_g(x^\top w \ge 0) - \mathrm{{share}}_h(x^\top w\ge 0)| \le {e}"
        return (Line(f"|share_g(x'w >= 0) - share_h(x'w >= 0)| <= {e}", tex, "count parity above, count parity below"),)


def group_differences(groups: Any, n: int) -> FloatArray:
    """Rows 1{i in g}/|g| - 1{i in h}/|h| for any two groups g, h."""
    inside = memberships(groups, n)
    means = inside / inside.sum(axis=1, keepdims=True)
    return np.array([means[g] - means[h] for g, h in itertools.combinations(range(len(means)), 2)])
