"""The parts of a `Margin` as a user gives them, checked: objects, names, one restriction or several."""

from __future__ import annotations

from collections.abc import Iterable

from ....errors import InputError
from .domains import Domain
from .losses.loss import Loss
from .naming import DOMAINS, LOSSES, REGULARISERS, AtMost, named
from .regularisers.regulariser import Regulariser
from .restrictions.restriction import Restriction

__all__ = ["checked_parts"]


def checked_parts(
    loss: object, regulariser: object, domain: object, subject_to: object
) -> tuple[Loss, Regulariser, Domain, tuple[Restriction, ...]]:
    """The four, parts in place of names.

    Raises
    ------
    InputError
        Something that is no such part, a name that is none, or a restriction of margins beside a loss that has none.
    """
    loss = named(loss, LOSSES, "loss")
    regulariser = named(regulariser, REGULARISERS, "regulariser")
    domain = named(domain, DOMAINS, "domain")
    if not isinstance(loss, Loss):
        raise _no_part("loss", loss)
    if not isinstance(regulariser, Regulariser):
        raise _no_part("regulariser", regulariser)
    if not isinstance(domain, Domain):
        raise _no_part("domain", domain)
    if not isinstance(subject_to, Restriction | Iterable):
        raise InputError(f"subject_to must be restrictions of marginopt.margin; it is {subject_to!r}{_meant(subject_to)}")
    restrictions = [subject_to] if isinstance(subject_to, Restriction) else list(subject_to)
    for given in restrictions:
        if not isinstance(given, Restriction):
            raise InputError(f"subject_to must hold restrictions of marginopt.margin; it holds {given!r}{_meant(given)}")
        if given.of_margins and not loss.labels:
            raise InputError(f"{type(given).__name__} speaks of margins y x'w, which {type(loss).__name__} does not have")
    return loss, regulariser, domain, tuple(restrictions)


def _no_part(what: str, given: object) -> InputError:
    return InputError(f"{what} must be a name or one of the parts of marginopt.margin; it is {given!r}{_meant(given)}")


def _meant(given: object) -> str:
    """Return the name that a misspelt one probably stands for."""
    if isinstance(given, type):
        return f"; that is the class, a part is {given.__name__}(...)"
    if isinstance(given, AtMost):
        return f"; at most {given.k} of what? at_most({given.k}).nonzero counts coefficients"
    if callable(given) or type(given).__module__.partition(".")[0] == "cvxpy":
        return "; expressions of CVXPY are added by model.with_constraint(...)"
    return ""
