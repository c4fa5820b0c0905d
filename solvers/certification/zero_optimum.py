"""An optimum of exactly zero: the point that attains it, and a bound of exactly zero, in place of a point and a bound beside it.

An interior-point method ends at 1e-10 where the optimum is 0, and no relative gap says how good that is. Where the model knows a
feasible point of objective zero (`models.model.Model.costless`) and it is proved that no point costs less, that point is the
answer. There are two proofs. No term of the objective is negative within the bounds. Or the point is the origin, where ½x'Px has
the gradient 0: the objective is at least q'x there, the rows that are slack at the origin are left out, and what remains has no
constant, so a finite bound of it is zero (`models.program.lagrangian`). Neither asks how small a number is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ...models.arrays import FloatArray
from ...models.program.cones import Nonnegative
from ...models.program.form import Constraint, StandardForm
from ...models.program.lagrangian import lagrangian
from ..records.answer import Answer
from .certificate import Certificate, Certifier, nonnegative
from .evidence.linear import Rows

__all__ = ["NOTE", "prove_zero_is_least", "zero_objective_point"]

NOTE = "the point of objective zero, beside which the solver stopped"


def zero_objective_point(certifier: Certifier, answer: Answer) -> tuple[Mapping[str, FloatArray], Certificate] | None:
    """Return the model's point of objective zero with its certificate, if it is proved that no point costs less; else None.

    Parameters
    ----------
    certifier : Certifier
        Without a form the model's own bound must be zero.
    answer : Answer
        Its multipliers are tried for the proof.
    """
    form, values = certifier.form, certifier.model.zero_objective_point()
    if values is None:
        return None
    certificate_at_zero = certifier(answer, values)
    if not (
        certificate_at_zero.objective == 0.0 and certificate_at_zero.error == 0.0 and certificate_at_zero.primal_residual == 0.0
    ):
        return None
    if certificate_at_zero.bound == 0.0:
        return values, certificate_at_zero
    argument = "" if form is None or form.join(values).any() else prove_zero_is_least(form, answer.multipliers)
    return (values, replace(certificate_at_zero, bound=0.0, bound_error=0.0, argument=argument)) if argument else None


def prove_zero_is_least(form: StandardForm, multipliers: Mapping[str, FloatArray] | None) -> str:
    """Return why no feasible point costs less than the origin, which is one; empty where that is not proved."""
    if nonnegative(form):
        return "no term of the objective is negative within the bounds"
    if form.r != 0.0 or (form.quadratic is not None and not form.convexity.exact):
        return ""
    cone = form.replace(
        quadratic=None,
        constraints=tuple(
            _tight(c) for c in form.constraints if c.cone.convex and (isinstance(c.cone, Nonnegative) or not c.g.any())
        ),
        lower=np.where(form.lower < 0.0, -np.inf, form.lower),
        upper=np.where(form.upper > 0.0, np.inf, form.upper),
        integer=np.zeros(form.n, dtype=bool),
    )
    labels = {c.label: c.rows for c in cone.constraints}
    z = {k: np.ravel(v) for k, v in (multipliers or {}).items() if np.size(v) == labels.get(k)}
    origin = np.zeros(form.n)
    if lagrangian(cone, origin, z).value == 0.0:
        return _ARGUMENT
    rows = Rows.of(cone)
    exact = None if rows is None else rows.bounding()
    return _ARGUMENT if exact is not None and lagrangian(cone, origin, exact[0]).value == 0.0 else ""


_ARGUMENT = "the objective's gradient at the origin descends in no direction that the rows active there allow"


def _tight(c: Constraint) -> Constraint:
    """The constraint without the rows that are slack at the origin: rows of zero stay in their places."""
    if not c.g.any():
        return c
    tight = sp.diags_array((c.g == 0.0).astype(np.float64))
    return Constraint(c.label, sp.csr_array(tight @ c.F), np.zeros(c.rows), c.cone, points=c.points)
