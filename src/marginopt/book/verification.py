"""The check of an entry: data, point and value in rational arithmetic, and the evidence of the bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from ..errors import DataError, InputError
from ..solvers.proofs import check_proof
from .data import build_data, data_digest, stated_model
from .entries import EVIDENCE, Entry
from .exact import exact_bound, exact_value

__all__ = ["Verdict", "verify_entry"]

#: A value may be rounded up by this much of itself.
_ROUNDING = Fraction(1, 10**12)


@dataclass(frozen=True)
class Verdict:
    """The outcome of a check.

    Parameters
    ----------
    name : str
    stands : bool or None
        Whether the entry stands; None where its data are not on this machine.
    message : str
    value : Fraction or None
        Exact objective of the point.
    bound : Fraction or None
        Exact bound of the multipliers, or the bound of the log that was checked.
    """

    name: str
    stands: bool | None
    message: str
    value: Fraction | None = None
    bound: Fraction | None = None

    def __str__(self) -> str:
        word = {True: "stands", False: "REFUSED", None: "not checked"}[self.stands]
        return f"{self.name}: {word}: {self.message}"


def verify_entry(entry: Entry, log: str | Path | None = None) -> Verdict:
    """Check what an entry claims.

    The value is recomputed from the point in rational arithmetic, with every constraint, and so is a bound by multipliers.
    A bound by a log is checked where the log is given. A bound above the value is refused.

    Parameters
    ----------
    entry : Entry
    log : str or Path, optional
        The proof log of the entry's instance.

    Returns
    -------
    Verdict
    """
    try:
        X, y = build_data(entry.data)
    except DataError as error:
        return Verdict(entry.name, None, f"the data are not here: {error}")
    except InputError as error:
        return Verdict(entry.name, False, str(error))
    if data_digest(X, y) != entry.sha256:
        return Verdict(entry.name, False, "the data have another digest than the entry states")
    try:
        value = exact_value(entry.model, entry.parameters, X, y, entry.point)
        bound = None if not entry.multipliers else exact_bound(entry.parameters, X, y, entry.multipliers)
    except (InputError, KeyError, TypeError, ValueError) as error:
        return Verdict(entry.name, False, f"the point or the multipliers cannot be evaluated: {error}")
    fault = _fault(entry, value, bound)
    if fault:
        return Verdict(entry.name, False, fault, value, bound)
    if log is None:
        return Verdict(entry.name, True, f"value {float(value):.12g} exact; {_support(entry, bound)}", value, bound)
    report = check_proof(log, stated_model(entry.model, entry.parameters, X, y))
    if not report.valid:
        return Verdict(entry.name, False, f"the log is refused: {report.message}", value)
    if report.bound < entry.bound:
        return Verdict(entry.name, False, f"the log proves {report.bound:.17g}, less than the entry's bound", value)
    return Verdict(entry.name, True, f"value exact; the log proves {report.bound:.12g}", value, Fraction(report.bound))


def _fault(entry: Entry, value: Fraction, bound: Fraction | None) -> str:
    """Return the claims of an entry that its point and its evidence do not support; empty if there are none."""
    if not (math.isfinite(entry.value) and math.isfinite(entry.bound)):
        return "the value or the bound is not finite"
    if Fraction(entry.value) < value:
        return f"the entry claims the value {entry.value:.17g}; its point has {float(value):.17g}"
    if Fraction(entry.value) > value + abs(value) * _ROUNDING:
        return f"the entry states the value {entry.value:.17g}; its point has {float(value):.17g}, which is better"
    if entry.bound > entry.value:
        return f"the bound {entry.bound:.17g} is above the value {entry.value:.17g}"
    if entry.evidence not in EVIDENCE:
        return f"the evidence of a bound is one of {', '.join(EVIDENCE)}; it is {entry.evidence!r}"
    if entry.evidence == "log" and len(entry.log) != 64:
        return "the bound rests on a log without a digest"
    if entry.evidence == "multipliers" and entry.model != "hinge":
        return "multipliers prove bounds of the hinge loss alone"
    if entry.evidence == "multipliers" and bound is None:
        return "the bound rests on multipliers that are not there"
    if bound is not None and Fraction(entry.bound) > bound:
        return f"the entry claims the bound {entry.bound:.17g}; its multipliers prove {float(bound):.17g}"
    return ""


def _support(entry: Entry, bound: Fraction | None) -> str:
    if bound is not None:
        return f"bound {entry.bound:.12g} proved by its multipliers"
    if entry.evidence == "log":
        return f"bound {entry.bound:.12g} rests on the log {entry.log[:16]}, which `book run` makes again"
    return f"bound {entry.bound:.12g} rests on a certificate, which `book run` computes again"
