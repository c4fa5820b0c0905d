"""The parts of a `Margin` as users state them: losses, regularisers and domains by name, and functions that make restrictions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from ....errors import InputError, short_text, unknown_name
from ...arrays import as_integer
from .conic_losses import Conic, StrongestConic
from .group_losses import GroupLosses
from .level_losses import EnclosingBall, NearestHulls, NuHinge, OneClass, SoftBall
from .loss import Loss
from .margin_losses import EpsilonInsensitive, Hat, Hinge, PairwiseHinge, Ramp, SquaredHinge, ZeroOne
from .part import Box, Domain, Integers, Reals
from .regularisers import L0, L1, ElasticNet, NoRegulariser, Regulariser, SquaredNorm
from .restrictions import CountParity, ErrorBudget, Fixed, Keep, Nonzero, Parity, Restriction
from .smooth_losses import ExponentialLoss, Huber, Logistic

P = TypeVar("P")

#: Losses by the names that `Margin` takes in place of objects, with their default parameters.
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
#: Regularisers by their names.
REGULARISERS: Mapping[str, Regulariser] = {
    "l2": SquaredNorm(),
    "half-l2": SquaredNorm(0.5),
    "l1": L1(),
    "elastic-net": ElasticNet(),
    "l0": L0(),
    "none": NoRegulariser(),
}
#: Domains of the coefficients by their names.
DOMAINS: Mapping[str, Domain] = {
    "reals": Reals(),
    "nonnegative": Box(0.0, math.inf),
    "box": Box(),
    "integers": Integers(),
}


def part_by_name(part: P | str, table: Mapping[str, P], noun: str) -> P:
    """Return the part of this name from a table of names; return a part itself. ``noun`` is its kind in the error message."""
    if not isinstance(part, str):
        return part
    if part in table:
        return table[part]
    raise unknown_name(noun, part, table, "; or an object of marginopt.margin")


def parity(groups: Any, epsilon: float = 0.0, *, by: Literal["covariance", "counts"] = "covariance") -> Parity | CountParity:
    """Require that groups are treated alike: |covariance of score and membership| ≤ ε for each group (`Parity`), a convex proxy.

    With ``by="counts"`` the shares of positive scores differ by at most ε, which takes binaries (`CountParity`).

    Parameters
    ----------
    groups : array_like (n,), str or int
        The group of each point; or the name or the index of the column that holds it. Each word of a column that
        `marginopt.read` turned into indicators is a group.
    epsilon : float
        ε ≥ 0.
    by : {"covariance", "counts"}
        What must be alike: covariances, or shares of positive scores.

    Returns
    -------
    Parity or CountParity
        A restriction for ``Margin(subject_to=...)``.

    Raises
    ------
    InputError
        ``by`` is neither of the two words, or ε < 0.
    """
    kinds: Mapping[str, type[Parity] | type[CountParity]] = {"covariance": Parity, "counts": CountParity}
    if not isinstance(by, str) or by not in kinds:
        raise InputError(f"parity is by 'covariance' or by 'counts'; it is {short_text(by)}", name="by")
    return kinds[by](groups, epsilon)


def keep(points: Any) -> Keep:
    """Require a margin of at least 1 of these points (indices, a mask, their names, or a class by name).

    Parameters
    ----------
    points : array_like of int, bool or names, or class name
        The points, or the class of all of them.

    Returns
    -------
    Keep
    """
    return Keep(points)


def error_budget(points: Any, share: float) -> ErrorBudget:
    """Require that at most this share of a class (-1, +1, or its name) or of these points has a margin below 1.

    Parameters
    ----------
    points : array_like of int, bool or names, or class (-1, +1 or name)
        The points, or the class of all of them.
    share : float
        The largest share, in [0, 1].

    Returns
    -------
    ErrorBudget
    """
    return ErrorBudget(points, share)


def fixed(w: Mapping[int | str, float]) -> Fixed:
    """Require these values of these coefficients, given by index or name of the column, which stands for all its indicators.

    Parameters
    ----------
    w : mapping of int or str to float
        The value of each fixed coefficient.

    Returns
    -------
    Fixed
    """
    return Fixed(w)


@dataclass(frozen=True)
class AtMost:
    """The result of `at_most`: an upper bound k, whose property ``nonzero`` is the restriction to k non-zero coefficients."""

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", as_integer(self.k, "k"))

    @property
    def nonzero(self) -> Nonzero:
        """Return the restriction `Nonzero`: at most k penalised coefficients are not zero."""
        return Nonzero(self.k)


def at_most(k: int) -> AtMost:
    """Return the bound k, for restrictions such as ``at_most(3).nonzero``, a cardinality constraint on penalised coefficients.

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


def as_parts(
    loss: object, regulariser: object, domain: object, subject_to: object, groups: object
) -> tuple[Loss, Regulariser, Domain, tuple[Restriction, ...]]:
    """Return loss, regulariser, domain and restrictions as parts, from the arguments of `Margin`: parts or their names.

    Raises
    ------
    InputError
        An argument that is no part and no name of one, groups without a loss for each, or losses without groups.
    """
    loss = _checked_loss(loss, groups)
    regulariser = part_by_name(regulariser, REGULARISERS, "regulariser")
    domain = part_by_name(domain, DOMAINS, "domain")
    if not isinstance(regulariser, Regulariser):
        raise _no_part("regulariser", regulariser)
    if not isinstance(domain, Domain):
        raise _no_part("domain", domain)
    if not isinstance(subject_to, Restriction | Iterable):
        raise InputError(
            f"subject_to must be restrictions of marginopt.margin; it is {short_text(subject_to)}{_advice(subject_to)}",
            name="subject_to",
        )
    restrictions = [subject_to] if isinstance(subject_to, Restriction) else list(subject_to)
    for restriction in restrictions:
        if not isinstance(restriction, Restriction):
            raise InputError(
                "subject_to must hold restrictions of marginopt.margin; "
                f"it holds {short_text(restriction)}{_advice(restriction)}",
                name="subject_to",
            )
        if restriction.needs_margins and not loss.reads_class_labels:
            raise InputError(
                f"{type(restriction).__name__} speaks of margins y x'w, which {type(loss).__name__} does not have",
                name="restrictions",
            )
    return loss, regulariser, domain, tuple(restrictions)


def _checked_loss(loss: object, groups: object) -> Loss:
    if isinstance(loss, GroupLosses):  # the model is made again from its fields
        loss = loss.losses
    if (groups is not None) != isinstance(loss, Mapping):
        raise InputError(
            "a loss for each group, loss={name: loss, ...}, and groups=, the group of each point, go together", name="groups"
        )
    if not isinstance(loss, Mapping):
        part = part_by_name(loss, LOSSES, "loss")
        if not isinstance(part, Loss):
            raise _no_part("loss", part)
        return part
    losses = {str(name): part_by_name(one, LOSSES, "loss") for name, one in loss.items()}
    for one in losses.values():
        if not isinstance(one, Loss):
            raise _no_part("loss", one)
    return GroupLosses(losses, groups)  # type: ignore[arg-type]


def _no_part(noun: str, value: object) -> InputError:
    return InputError(
        f"{noun} must be a name or one of the parts of marginopt.margin; it is {short_text(value)}{_advice(value)}", name=noun
    )


def _advice(value: object) -> str:
    """Return the end of a message that says how a wrong argument of a known kind is stated; empty for others."""
    if isinstance(value, type):
        return f"; that is the class, a part is {value.__name__}(...)"
    if isinstance(value, Domain):
        return '; that is a domain; LinearRows({"age": 1}, 0.0) states a sign, fixed({"age": 0}) a value'
    if isinstance(value, AtMost):
        return f"; at most {value.k} of what? at_most({value.k}).nonzero counts coefficients"
    # exempt (text): the module of an object that is no part, which may be CVXPY's
    if callable(value) or type(value).__module__.partition(".")[0] == "cvxpy":
        return "; expressions of CVXPY are added by model.with_constraint(...)"
    return ""
