"""Answers whose point or multipliers are not as good as is said, made exact where the active constraints tell how.

Interior points stop where their errors are small beside the objective's terms, first-order methods earlier; where terms cancel,
or an optimum is degenerate, that is not enough for the certificate. Newton's method on what is active (`newton_polish`) gives a
point and multipliers that are good to rounding. They count only if the certificate, which sees nothing but the data, then proves
an optimum to the tolerance, near the answer that the solver gave; whoever reads the result is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from ...models.arrays import FloatArray
from ...models.program.cones import Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from ...models.program.form import StandardForm
from ..records.answer import Answer
from .certificate import Certificate, Certifier
from .complete_claim import with_multipliers
from .evidence.newton_polish import newton_polish
from .verdict import conditions_met, proves_optimum

__all__ = ["NOTE", "Refined", "refine_by_newton"]

NOTE = "made exact by Newton's method on the constraints that are active at the solver's point"
#: The answer, its point and their certificate.
Refined: TypeAlias = tuple[Answer, Mapping[str, FloatArray], Certificate]
#: A point that violates its rows or the optimality conditions by more is none to begin at; the objective may move by this share.
_NEARLY = 1e-4
#: Variables and active rows: a step takes half a second then.
_LARGEST = 1200


def refine_by_newton(certifier: Certifier, given: Refined, tol: float, seconds: float | None = None) -> Refined | None:
    """Return a proved optimum beside an answer with multipliers that claims one and does not prove it; None where none is found.

    Parameters
    ----------
    certifier : Certifier
    given
        The answer that claims an optimum, its point and their certificate.
    tol : float
        Relative gap that an optimum is held to.
    seconds : float, optional
        That this may take.
    """
    (answer, values, certificate), form = given, certifier.form
    if form is None or answer.multipliers is None:
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
        refined = with_multipliers(certifier, prices, at, certifier(prices, at), tol, seconds)
        moved = abs(refined[1].objective - certificate.objective)
        if proves_optimum(*refined, tol) and moved <= _NEARLY * max(abs(certificate.objective), certificate.scale):
            return refined[0], at, refined[1]
    return None


def _readable(form: StandardForm) -> bool:
    """Real variables, cones that are polyhedral or of second order, a P that is a matrix."""
    if form.integer.any() or (form.quadratic is not None and form.quadratic.operator is not None):
        return False
    return all(isinstance(c.cone, (Zero, Nonnegative, SecondOrder, RotatedSecondOrder)) for c in form.constraints)
