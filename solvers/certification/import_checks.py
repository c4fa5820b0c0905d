"""The verdict on an answer to an imported program: what its source says of the point, of the bound and of infeasibility."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...models.arrays import FloatArray
from ...models.importing.proof import Import, near_points
from ...models.model import Model
from ...models.program.form import StandardForm
from ..records.status import Status
from .certificate import Certificate, certify
from .verdict import Verdict

__all__ = ["compare_with_sources"]

#: Violation, beside the size of a row, up to which a point of the source counts as one of its feasible points.
_FEASIBLE = 1e-9
#: Share of the objective's terms by which a feasible point must beat a bound to refute it.
_BEATEN = 1e-6


def compare_with_sources(
    model: Model, form: StandardForm, x: FloatArray | None, certificate: Certificate | None, found: Verdict
) -> Verdict:
    """Return the verdict as the sources of a model's imports leave it.

    The import itself must agree with its source, the answer's point must be the same there and here, and no point that the
    source knows to be feasible may contradict infeasibility or lie below the bound.
    """
    imports = [record for record in model.imports if not record.changed]
    if not model.imports:
        return found
    remarks = [_differs(record, record.disagreement) for record in model.imports if record.disagreement]
    remarks += [_differs(record, text) for record in imports if x is not None and (text := record.at(x))]
    if not remarks and len(imports) == len(model.imports):
        remarks += list(_refuted(model, form, x, certificate, found.status))[:1]
    if remarks:
        status = found.status if found.status.stopped or found.status is Status.FAILED else Status.INACCURATE
        return Verdict(status, (*found.remarks, *dict.fromkeys(remarks)))
    if len(imports) < len(model.imports):
        names = ", ".join(dict.fromkeys(record.source.package for record in model.imports if record.changed))
        return Verdict(
            found.status, (*found.remarks, f"the program has changed in {names} since the import, which alone was compared")
        )
    return found


def _differs(record: Import, text: str) -> str:
    return f"{record.source.package} evaluates the program that was imported otherwise: {text}"


def _refuted(
    model: Model, form: StandardForm, x: FloatArray | None, certificate: Certificate | None, status: Status
) -> Iterator[str]:
    """Reasons why a claim of infeasibility, or a bound, is false."""
    bound = -np.inf if certificate is None or certificate.inner else certificate.bound
    if status is not Status.INFEASIBLE and not np.isfinite(bound):
        return
    starts = [np.zeros(form.n)] if x is None else [x, np.zeros(form.n)]
    for record in model.imports:
        known = record.known()
        starts += [known] if known is not None and known.size == form.n else []
        starts += [y for y in record.points if record.places is None]
    for y in near_points(form, starts):
        value = _value(model, form, y)
        if value is None:
            continue
        objective, size = value
        names = ", ".join(dict.fromkeys(record.source.package for record in model.imports))
        if status is Status.INFEASIBLE:
            yield f"{names} finds that a point violates no constraint: the program is not infeasible"
        if objective < bound - _BEATEN * size:
            yield f"{names} finds a feasible point of objective {objective:.10g} (minimised), below the bound {bound:.10g}"


def _value(model: Model, form: StandardForm, y: FloatArray) -> tuple[float, float] | None:
    """The objective of a point by the sources (and the formulation that was changed), and its size; None: infeasible."""
    if (y < form.lower).any() or (y > form.upper).any():
        return None
    total = size = 0.0
    if not model.unmodified.imports:
        base = model.unmodified.form
        certificate = certify(base, base.split(y[: base.n]))
        if not certificate.feasible(_FEASIBLE):
            return None
        total, size = certificate.objective, certificate.scale
    for record in model.imports:
        part = y if record.places is None else y[record.places]
        part = part[: record.source.form.n]
        theirs, ours = record.source.theirs(record.own(y)), record.source.ours(record.own(y))
        if not theirs.feasible(ours, _FEASIBLE) or not np.isfinite(theirs.objective):
            return None
        total, size = total + theirs.objective, size + ours.size
    return total, max(size, abs(total))
