"""The names of losses, regularisers and domains that `Margin` accepts, and the functions by which users state restrictions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from ....errors import InputError, unknown_name
from ...arrays import as_integer
from .conic_losses import Conic, StrongestConic
from .domains import Box, Domain, Integers, Reals
from .level_losses import EnclosingBall, NearestHulls, NuHinge, OneClass, SoftBall
from .loss import Loss
from .margin_losses import EpsilonInsensitive, Hat, Hinge, PairwiseHinge, Ramp, SquaredHinge, ZeroOne
from .regularisers import L0, L1, ElasticNet, NoRegulariser, Regulariser, SquaredNorm
from .restrictions import CountParity, ErrorBudget, Fixed, Keep, Nonzero, Parity
from .smooth_losses import ExponentialLoss, Huber, Logistic

P = TypeVar("P")

LOSSES: Mapping[str, Loss] = {
    "hinge": Hinge(),
    "squared-hinge": SquaredHinge(),
    "logistic": Logistic(),
    "exponential": ExponentialLoss(),
    "ramp": Ramp(),
    "hat": Hat(),
    "zero-one": ZeroOne(),
    "misclassified": ZeroOne(0.0),
    "conic": Conic(),
    "strongest-conic": StrongestConic(),
    "epsilon-insensitive": EpsilonInsensitive(),
    "squared-epsilon-insensitive": EpsilonInsensitive(squared=True),
    "huber": Huber(),
    "nu": NuHinge(),
    "one-class": OneClass(),
    "svdd": SoftBall(),
    "ball": EnclosingBall(),
    "nearest-hulls": NearestHulls(),
    "pairwise": PairwiseHinge(),
}
REGULARISERS: Mapping[str, Regulariser] = {
    "l2": SquaredNorm(),
    "half-l2": SquaredNorm(0.5),
    "l1": L1(),
    "elastic-net": ElasticNet(),
    "l0": L0(),
    "none": NoRegulariser(),
}
DOMAINS: Mapping[str, Domain] = {
    "reals": Reals(),
    "nonnegative": Box(0.0, math.inf),
    "box": Box(),
    "integers": Integers(),
}


def part_by_name(part: P | str, table: Mapping[str, P], noun: str) -> P:
    """Return the part of this name from a table of names; a part as it is."""
    if not isinstance(part, str):
        return part
    if part in table:
        return table[part]
    raise unknown_name(noun, part, table, "; or an object of marginopt.margin")


def parity(groups: Any, epsilon: float = 0.0, *, by: Literal["covariance", "counts"] = "covariance") -> Parity | CountParity:
    """Require that groups are treated alike: the covariance of score and membership is at most ε (`Parity`), a convex proxy.

    Or, ``by="counts"``, shares of positive scores differ by at most ε, with binaries (`CountParity`). ``groups`` is the group of
    each point, or the name or the index of a column.

    Parameters
    ----------
    groups : array_like (n,) or str
        Group of each point, or the name of a column.
    epsilon : float
        ε ≥ 0.
    by : {"covariance", "counts"}

    Returns
    -------
    Parity or CountParity
        A restriction for ``Margin(subject_to=...)``.

    Raises
    ------
    InputError
        Neither of the two.
    """
    kinds: Mapping[str, type[Parity] | type[CountParity]] = {"covariance": Parity, "counts": CountParity}
    if not isinstance(by, str) or by not in kinds:
        raise InputError(f"parity is by 'covariance' or by 'counts'; it is {by!r}", name="by")
    return kinds[by](groups, epsilon)


def keep(points: Any) -> Keep:
    """Require a margin of at least 1 of these points (indices, a mask, their names, or a class by name).

    Parameters
    ----------
    points : array_like of int, bool or names, or class name

    Returns
    -------
    Keep
    """
    return Keep(points)


def error_budget(points: Any, share: float) -> ErrorBudget:
    """Require that at most this share of a class (-1, +1, or its name) or of these points has a margin below 1.

    Parameters
    ----------
    points : array_like of int or bool, or class name
    share : float
        In [0, 1].

    Returns
    -------
    ErrorBudget
    """
    return ErrorBudget(points, share)


def fixed(w: Mapping[int | str, float]) -> Fixed:
    """Require these values of these coefficients, given by index or name of the column.

    Parameters
    ----------
    w : mapping of int or str to float

    Returns
    -------
    Fixed
    """
    return Fixed(w)


@dataclass(frozen=True)
class AtMost:
    """An upper bound k of a number that is still to be named: ``at_most(k).nonzero`` bounds that of non-zero coefficients."""

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", as_integer(self.k, "k"))

    @property
    def nonzero(self) -> Nonzero:
        """Return the restriction that at most k penalised coefficients are not zero."""
        return Nonzero(self.k)


def at_most(k: int) -> AtMost:
    """Return the first half of a bound: ``at_most(3).nonzero`` is a cardinality constraint on the penalised coefficients.

    Parameters
    ----------
    k : int
        k ≥ 0.

    Returns
    -------
    AtMost
        The bound, whose property ``nonzero`` is the restriction.

    Raises
    ------
    InputError
        k is no integer ≥ 0.
    """
    return AtMost(k)
