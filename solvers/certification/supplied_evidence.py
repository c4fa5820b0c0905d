"""Evidence that a solver did not give, supplied from the data (`evidence`), and what the data say against its claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ...models.arrays import FloatArray
from ...models.program.cones import Nonnegative
from ...models.program.form import Constraint, StandardForm
from ...models.program.lagrangian import lagrangian
from ..records.answer import Answer, Status
from .certificate import Certificate, Certifier, certify, nonnegative
from .evidence import ByLabel, ConeRows, Rows, ScaledRows, interior
from .rays import Ray
from .verdict import conditions_met

__all__ = [
    "NOTE",
    "CompletedClaim",
    "certify_zero_objective",
    "complete_claim",
    "prove_zero_is_least",
    "unbounded_integer_ray",
    "with_multipliers",
]

#: A point that violates its rows by no more than this is feasible.
_FEASIBLE = 1e-9
#: A ray of the solver's whose residual is larger is none.
_ROUGH = 1e-2
#: Shares of inner multipliers that are tried.
_INWARDS = (1e-12, 1e-11, 1e-10, 1e-8, 1e-6)
_MOVED = "moved inwards by {:g}: the solver's are within rounding of a bound"
_NOTE = "by least squares: the solver gave none that bound the objective"


@dataclass(frozen=True, eq=False)
class CompletedClaim:
    """A claim of infeasibility or unboundedness: the answer with the best ray, its worth, and what speaks against the claim."""

    answer: Answer
    ray: Ray
    against: str = ""


def complete_claim(form: StandardForm, answer: Answer, ray: Ray) -> CompletedClaim:
    """Complete a claim of infeasibility or unboundedness with a ray that proves it where the solver's does not, or contradict it.

    Integers count as real numbers: Farkas multipliers of that relaxation leave no integers either.
    """
    if ray.proved and answer.status is Status.INFEASIBLE:
        return CompletedClaim(answer, ray)
    integer = bool(form.integer.any())
    rows = _rows(form.replace(integer=np.zeros(form.n, dtype=bool)) if integer else form)
    if rows is None or (integer and answer.status is Status.UNBOUNDED):
        return CompletedClaim(answer, ray)
    z, x = rows.farkas()
    empty = Ray() if z is None else Ray.of(form, Status.INFEASIBLE, z)
    if answer.status is Status.INFEASIBLE:
        if x is not None and not integer and _feasible(form, x):
            remark = (
                f"the solver says infeasible, and a point violates no constraint by more than {_FEASIBLE:g}: details['point']"
            )
            return CompletedClaim(replace(answer, details={**answer.details, "point": form.split(x)}), ray, remark)
        better = z is not None and not _false(ray) and (empty.proved or ray.residual is None)
        return CompletedClaim(replace(answer, farkas=z), empty) if better else CompletedClaim(answer, ray)
    if empty.proved:
        remark = "the solver says unbounded, and Farkas multipliers prove that there is no point: details['farkas multipliers']"
        return CompletedClaim(replace(answer, details={**answer.details, "farkas multipliers": z}), ray, remark)
    return _descent(form, rows, answer, ray)


def _false(ray: Ray) -> bool:
    """Return whether a ray was given that is none, and not one with the errors of a first-order method, beside which a proof
    counts.
    """
    return ray.residual is not None and not ray.residual <= _ROUGH


def _descent(form: StandardForm, rows: ScaledRows, answer: Answer, ray: Ray) -> CompletedClaim:
    """A ray of descent, or a bound that speaks against one."""
    if ray.proved:
        return CompletedClaim(answer, ray)
    d = rows.ray()
    if d is not None:
        own = Ray.of(form, Status.UNBOUNDED, d)
        better = not _false(ray) and (own.proved or ray.residual is None)
        return CompletedClaim(replace(answer, ray=form.split(d)), own) if better else CompletedClaim(answer, ray)
    bounding = rows.bounding()
    if bounding is None:
        return CompletedClaim(answer, ray)
    bound = lagrangian(form, bounding[2], bounding[0])
    if bound.condition or not np.isfinite(bound.value):
        return CompletedClaim(answer, ray)
    remark = f"the solver says unbounded, and multipliers bound the objective (minimised) by {bound.value:.6g}"
    return CompletedClaim(answer, ray, remark)


def unbounded_integer_ray(form: StandardForm) -> str:
    """Why a mixed-integer linear program with a point has no least value; empty where nothing says so.

    Along a rational direction of descent that the rows and bounds allow without end, whole multiples keep integers integers.
    """
    falls = ((form.q > 0.0) & np.isneginf(form.lower)) | ((form.q < 0.0) & np.isposinf(form.upper))
    if form.quadratic is not None or not form.integer.any() or not falls.any():
        return ""
    relaxed = form.replace(integer=np.zeros(form.n, dtype=bool))
    rows = Rows.of(relaxed)
    d = None if rows is None else rows.ray()
    if d is None or not Ray.of(relaxed, Status.UNBOUNDED, d).proved:
        return ""
    return f"the solver says optimal, and there is no least value: {Ray.moves(form.split(d))}"


def with_multipliers(
    certifier: Certifier,
    answer: Answer,
    values: Mapping[str, FloatArray],
    certificate: Certificate,
    tol: float,
    seconds: float | None = None,
) -> tuple[Answer, Certificate]:
    """Replace missing or useless multipliers by ones computed from the data if those yield a bound.

    Parameters
    ----------
    certifier : Certifier
        Of a model with a form.
    answer : Answer
    values : mapping of label to array
        The point that the certificate is of: the answer's, with the blocks that the model completes.
    certificate : Certificate
    tol : float
        Relative gap that an optimum is held to.
    seconds : float, optional
        That the search for multipliers deep inside their cones may take.
    """
    form = certifier.form
    if form is None or not certificate.wants_multipliers:
        return answer, certificate
    rows, x = _rows(form), form.join(values)
    inner = interior(form, x, seconds) if rows is None else rows.inner(x, seconds)
    if rows is None and inner is None:
        return answer, certificate
    # what a solver says, by conditions that are met or (of cones) at all, makes way for a proof of as much, not for any bound
    is_decided = not (rows is not None and rows.decides) and (answer.multipliers is not None or answer.bound is not None)
    met = conditions_met(certificate, tol) and certificate.feasible(_FEASIBLE)
    spoils, best = is_decided or met, (answer, certificate)
    for candidate in _own(form, answer, rows, inner, x):
        better = certifier(candidate, values)
        if _close(better, tol):
            return candidate, better
        if better.bound > best[1].bound and not spoils:
            best = candidate, better
    return best


def _own(form: StandardForm, answer: Answer, rows: ScaledRows | None, inner: ByLabel | None, x: FloatArray) -> Iterator[Answer]:
    """The answer with other multipliers, the best first: the solver's moved inwards, those of x, these moved inwards, any."""
    if answer.multipliers is not None and inner is not None:
        yield from _moved(form, answer, answer.multipliers, inner)
    multipliers = None if rows is None else rows.multipliers(x)
    if multipliers is not None:
        completed = replace(
            answer, multipliers=multipliers[0], reduced=multipliers[1], details={**answer.details, "multipliers": _NOTE}
        )
        yield completed
        if inner is not None:
            yield from _moved(form, completed, multipliers[0], inner)
    any_that_bound = None if rows is None else rows.bounding()
    if any_that_bound is not None:
        z, reduced, _ = any_that_bound
        yield replace(answer, multipliers=z, reduced=reduced, details={**answer.details, "multipliers": _NOTE})


def _moved(form: StandardForm, answer: Answer, z: Mapping[str, FloatArray], inner: Mapping[str, FloatArray]) -> Iterator[Answer]:
    """(1 - t)z + t z_inner, from t = 1e-12 on: slopes that must not be negative are then positive by more than they are rounded.

    The Lagrangian is concave in z, so this costs t times what the inner multipliers miss.
    """
    if any(np.shape(z[c.label]) != (c.rows,) for c in form.constraints if c.label in z):
        return
    for t in _INWARDS:
        mixed = {c.label: (1.0 - t) * z.get(c.label, np.zeros(c.rows)) + t * inner[c.label] for c in form.constraints}
        yield replace(answer, multipliers=mixed, details={**answer.details, "multipliers": _MOVED.format(t)})


def _close(certificate: Certificate, tol: float) -> bool:
    """Return whether the bound is as near to the objective as is asked."""
    objective, bound = certificate.objective, certificate.bound
    return bool(np.isfinite(bound)) and abs(objective - bound) <= tol * max(abs(objective), abs(bound))


def _rows(form: StandardForm) -> ScaledRows | None:
    """Its rows, as those can be used that find evidence about it."""
    rows = Rows.of(form)
    return ConeRows.of(form) if rows is None else rows


def _feasible(form: StandardForm, x: FloatArray) -> bool:
    return bool(np.isfinite(x).all()) and certify(form, form.split(x)).feasible(_FEASIBLE)


# An optimum of exactly zero: the point that attains it, and a bound of exactly zero, in place of a point and a bound beside
# it.
#
# An interior-point method ends at 1e-10 where the optimum is 0, and no relative gap says how good that is. Where the model
# knows a feasible point of objective zero (`Model.zero_objective_point`) and it is proved that no point costs less, that point
# is the answer. There are two proofs. No term of the objective is negative within the bounds. Or the point is the origin, where
# ½x'Px has the gradient 0: the objective is at least q'x there, the rows that are slack at the origin are left out, and the
# other rows have no constant, so a finite bound of it is zero (`models.program.lagrangian`). Neither proof asks how small a
# number is.

NOTE = "the point of objective zero, beside which the solver stopped"


def certify_zero_objective(certifier: Certifier, answer: Answer, values: Mapping[str, FloatArray]) -> Certificate | None:
    """Return the certificate of the model's point of objective zero, if it is proved that no point costs less; else None.

    Parameters
    ----------
    certifier : Certifier
        Without a form the model's own bound must be zero.
    answer : Answer
        Its multipliers are tried for the proof.
    values : mapping of label to array
        The point (`Model.zero_objective_point`).
    """
    form, certificate = certifier.form, certifier(answer, values)
    if not (certificate.objective == 0.0 and certificate.error == 0.0 and certificate.primal_residual == 0.0):
        return None
    if certificate.bound == 0.0:
        return certificate
    argument = "" if form is None or form.join(values).any() else prove_zero_is_least(form, answer.multipliers)
    return replace(certificate, bound=0.0, bound_error=0.0, argument=argument) if argument else None


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
