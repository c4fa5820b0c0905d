"""Answers whose point or multipliers are not as good as is said, made exact where the active constraints tell how.

Interior points stop where their errors are small beside the objective's terms, first-order methods earlier; where terms cancel,
or an optimum is degenerate, that is not enough for the certificate. Newton's method on what is active (`newton_polish`) gives a
point and multipliers that are good to rounding. They count only if the certificate, which sees nothing but the data, then proves
an optimum to the tolerance, near the answer that the solver gave; whoever reads the result is told.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Protocol

import numpy as np

from ...models.program.cones import Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ...models.program.form import StandardForm
from ..records.answer import Answer
from ..records.status import Status
from .certificate import Certificate
from .complete_claim import with_multipliers
from .evidence.newton_polish import newton_polish
from .verdict import conditions_met, verdict
from .zero_optimum import Values

__all__ = ["NOTE", "Sharpened", "refine_by_newton"]

NOTE = "made exact by Newton's method on the constraints that are active at the solver's point"
#: The answer, its point and their certificate.
Sharpened = tuple[Answer, Values, Certificate]
#: A point that violates its rows or the optimality conditions by more is none to begin at; the objective may move by this share.
_NEARLY = 1e-4
#: Variables and active rows: a step takes half a second then.
_LARGEST = 1200


class Judge(Protocol):
    """The certificate of an answer's multipliers at a point."""

    def __call__(self, own: Answer, at: Values) -> Certificate: ...


def refine_by_newton(
    form: StandardForm,
    given: Sharpened,
    judge: Judge,
    tol: float,
    seconds: float | None = None,
) -> Sharpened | None:
    """A proved optimum beside an answer that claims one and does not prove it; None where none is found, or there is one already.

    Parameters
    ----------
    given
        The answer that claims an optimum.
    judge : Judge
    tol : float
        Relative gap that an optimum is held to.
    seconds : float, optional
        That this may take.
    """
    answer, values, certificate = given
    if answer.status is not Status.OPTIMAL or answer.multipliers is None or _proved(answer, certificate, tol):
        return None
    if not _readable(form) or certificate.nonconvex or certificate.condition or certificate.inner:
        return None
    if not (certificate.feasible(_NEARLY) and conditions_met(certificate, _NEARLY)):
        return None  # what is no optimum by its own evidence stays what it is
    x = form.join(values)
    z = {c.label: np.ravel(answer.multipliers.get(c.label, np.zeros(c.rows))) for c in form.constraints}
    reduced = np.zeros(form.n) if answer.reduced is None else answer.reduced
    if any(z[c.label].shape != (c.rows,) or not np.isfinite(z[c.label]).all() for c in form.constraints):
        return None
    y, w, zeta = newton_polish(form, x, z, reduced, seconds, _LARGEST)
    if y is x:
        return None
    refined_answer = replace(answer, multipliers=w, reduced=zeta)
    for point, prices in ((y, refined_answer), (y, answer), (x, refined_answer)):
        at = form.split(point)
        refined = with_multipliers(form, prices, at, judge(prices, at), partial(judge, at=at), tol, seconds)
        moved = abs(refined[1].objective - certificate.objective)
        if _proved(*refined, tol) and moved <= _NEARLY * max(abs(certificate.objective), certificate.scale):
            return refined[0], at, refined[1]
    return None


def _proved(answer: Answer, certificate: Certificate, tol: float) -> bool:
    return bool(np.isfinite(certificate.bound)) and verdict(answer, certificate, tol).status is Status.OPTIMAL


def _readable(form: StandardForm) -> bool:
    """Real variables, cones that are polyhedral or of second order, a P that is a matrix."""
    if form.integer.any() or (form.quadratic is not None and form.quadratic.operator is not None):
        return False
    return all(isinstance(c.cone, (Zero, Nonnegative, SecondOrder, RotatedSecondOrder)) for c in form.constraints)
