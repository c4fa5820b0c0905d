"""Polishing of a mixed-integer point: round its integers, fix them, and solve for the other variables (interior-point method).

The certification of an answer (`solvers.judgement`) calls it: objectives of incumbents of different solvers then agree to 1e-9.
Candidates are ranked by recomputed certificates alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ..models.arrays import BoolArray, FloatArray, blas_threads
from ..models.model import BareForm, Model
from ..models.program.bridges import BoundsToRows
from ..models.program.cones import Nonnegative, Zero
from ..models.program.csr_rows import CSRRows
from ..models.program.form import Block, StandardForm
from ..models.program.quadratic import Quadratic
from .backends.clarabel import Clarabel
from .certification.certificate import Certificate, certify
from .records import Options

#: Rows and bounds with less slack than this, relative to 1 + their constant, count as active when their equations are solved.
_ACTIVE = 1e-6
#: Largest relative residual of a feasible point, and of a point that violates its rows by rounding only.
_FEASIBLE, _ROUNDED = 1e-9, 1e-12
#: Shares of the largest continuous entry below which an entry may be zero: but for rounding, and within a solver's tolerance.
_NEARLY_ZERO = (1e-12, 1e-6)
#: The same share if the objective is at most `_FEASIBLE`, to which the squares of such entries add next to nothing.
_SQUARED_NEARLY_ZERO = 1e-4
#: Largest number of coefficients of active rows whose equations are solved for a linear objective.
_LINEAR = 250_000
#: Relative difference of objectives that violated rows may explain.
_GAINED = 1e-7


def polish(
    form: StandardForm, values: Mapping[str, FloatArray], model: Model | None = None, seconds: float | None = None
) -> tuple[dict[str, FloatArray], str]:
    """Return a better point with the integers of this one, and a note on its origin; empty for the given point, rounded.

    Candidates are the given point with rounded integers, an interior point of the form with fixed integers (or of
    `Model.form_with_fixed_integers`, if the model has a simpler form), the solutions of its active set's equations, and each of
    these with zeros for small entries. If the model's objective jumps, each candidate is first replaced by a nearby point whose
    integers and cost exact arithmetic gives (`Model.exact_point`), so that integers may change. The best candidate that is
    feasible to 1e-9 is returned: the rounded input unless another is better by more than rounding. If no candidate is feasible,
    it is the one that violates its constraints least.

    Parameters
    ----------
    form : StandardForm
        The mixed-integer form.
    values : mapping of label to array
        The point, by block.
    model : Model, optional
        The model of the form, which may know a simpler form and evaluates its objective exactly.
    seconds : float, optional
        Limit of each interior-point solve; the last one is left out once they have passed.
    """
    begin, x = time.perf_counter(), form.join(values)
    rounded = x.copy()
    rounded[form.integer] = np.round(x[form.integer])
    candidates = [(rounded, "")]
    simpler = None if model is None else model.form_with_fixed_integers(values)
    if simpler is not None and model is not None:
        shapes = {block.label: block.shape for block in form.blocks}
        for y, source in _completed(simpler, seconds):
            blocks = {label: v for label, v in simpler.split(y).items() if np.shape(v) == shapes.get(label)}
            candidates.append((form.join(model.complete(blocks)), source))
    if not any(certify(form, form.split(point)).feasible(_FEASIBLE) for point, _ in candidates[1:]):
        candidates += _completed(form.with_integers_fixed(x), seconds)
    candidates += [(y, source) for point, source in candidates for y in _with_zeros(form, point)]
    best, source = _best(form, model, candidates)
    residues = _residues(form, best, _SQUARED_NEARLY_ZERO)
    left = None if seconds is None else seconds - (time.perf_counter() - begin)
    if (left is None or left > 0.0) and residues.any() and 0.0 < form.objective(best) <= _FEASIBLE:
        fixed = form.with_integers_fixed(np.where(residues, 0.0, best))
        fixed = fixed.with_bounds(np.where(residues, 0.0, fixed.lower), np.where(residues, 0.0, fixed.upper))
        best, source = _best(form, model, [(best, source), *_completed(fixed, left)])
    return form.split(best), f"integers fixed, the rest solved again by {source}" if source else ""


def _best(form: StandardForm, model: Model | None, candidates: list[tuple[FloatArray, str]]) -> tuple[FloatArray, str]:
    """Return the best feasible candidate, of those moved to exact points first; without one the least violated candidate."""
    groups: list[Iterator[tuple[Mapping[str, FloatArray], str]]] = [((form.split(point), source) for point, source in candidates)]
    if model is not None:
        groups.insert(0, ((_exact_values(form, model, point), source) for point, source in candidates))
    certified_points: list[tuple[Certificate, Mapping[str, FloatArray], str]] = []
    for group in groups:  # if no exact point is feasible, a candidate may be, within rounding
        certified = [(certify(form, values), values, source) for values, source in group]
        if any(c.feasible(_FEASIBLE) for c, _, _ in certified):
            _, values, source = certified[_best_feasible([c for c, _, _ in certified])]
            return form.join(values), source
        certified_points += certified
    _, values, source = min(certified_points, key=lambda entry: entry[0].primal_residual)
    return form.join(values), source


def _exact_values(form: StandardForm, model: Model, x: FloatArray) -> dict[str, FloatArray]:
    """Return the point near x with the exact cost of its coefficients: within a solver's tolerance x itself may cost less."""
    return model.exact_point(model.with_best_auxiliaries(form.split(x)))


def _completed(form: StandardForm, seconds: float | None) -> list[tuple[FloatArray, str]]:
    """Return the solutions of a form whose integers are fixed, with the fixed variables eliminated and put back."""
    if not (form.lower == form.upper).any():
        return _solutions(form, seconds)
    reduced, keep, offset = _eliminate(form)
    points = []
    for piece, source in _solutions(reduced, seconds) if keep.size else []:
        point = offset.copy()
        point[keep] = piece
        points.append((point, source))
    return points


def _with_zeros(form: StandardForm, x: FloatArray) -> Iterator[FloatArray]:
    """Yield the point with zeros for entries that are small relative to the largest continuous entry."""
    count = 0
    for share in _NEARLY_ZERO:
        small = _residues(form, x, share)
        if small.sum() > count:
            count = int(small.sum())
            yield np.where(small, 0.0, x)


def _residues(form: StandardForm, x: FloatArray, share: float) -> BoolArray:
    """Return the mask of nonzero continuous entries of at most ``share`` of the largest whose bounds allow zero."""
    largest = float(np.abs(x[~form.integer]).max(initial=0.0))
    return ~form.integer & (x != 0.0) & (np.abs(x) <= share * largest) & (form.lower <= 0.0) & (form.upper >= 0.0)


def _best_feasible(certificates: list[Certificate]) -> int:
    """Return the index of the feasible point of the least objective; one that violates rows by rounding may cost a little more.

    A later point must be better by more than rounding, so that an incumbent of exactly zero, which stands first, stays.
    """
    costs = {k: c.objective + (c.rounding if k else 0.0) for k, c in enumerate(certificates) if c.feasible(_FEASIBLE)}
    best = min(costs, key=lambda k: costs[k])
    allowed = costs[best] + _GAINED * abs(costs[best])
    exact = [k for k in costs if certificates[k].feasible(_ROUNDED) and costs[k] <= allowed + 2.0 * certificates[k].rounding]
    return min(exact, key=lambda k: costs[k], default=best)


def _solutions(form: StandardForm, seconds: float | None) -> list[tuple[FloatArray, str]]:
    """Return an interior point of a continuous form and, in time, the solutions on its active set, each with its origin."""
    begin = time.perf_counter()
    answer = Clarabel().run(BareForm(form), Options(tol=1e-9, time_limit=seconds))
    if answer.values is None:
        return []
    y = np.clip(form.join(answer.values), form.lower, form.upper)  # else an entry below zero may seem to cost less than nothing
    is_late = seconds is not None and time.perf_counter() - begin > seconds
    source = f"{Clarabel.info.name} {answer.version}"
    on_active_set = [] if is_late else _on_active_set(form, y)
    return [
        (y, source),
        *((np.clip(x, form.lower, form.upper), f"{source} and the equations of its active set") for x in on_active_set),
    ]


def _eliminate(form: StandardForm) -> tuple[StandardForm, np.ndarray, FloatArray]:
    """Remove the fixed variables of a form: an interior point has no interior otherwise."""
    keep = np.flatnonzero(form.lower < form.upper)
    offset = np.where(form.lower == form.upper, form.lower, 0.0)
    product = np.zeros(form.n) if form.quadratic is None else form.quadratic.product(offset)
    quadratic = None
    if form.quadratic is not None:
        P = form.quadratic.csc  # symmetric: its columns are its rows
        block = CSRRows(P.data, P.indices, P.indptr, form.n).take_rows(keep).take_columns(keep)
        columns = sp.csc_array((block.data, block.indices, block.indptr), shape=(keep.size, keep.size))
        quadratic = Quadratic(matrix=columns) if block.data.size else None
    constraints = tuple(
        replace(c, F=CSRRows.from_matrix(c.F).take_columns(keep).csr, g=c.value(offset)) for c in form.constraints
    )
    blocks = (Block(form.blocks[0].label, (keep.size,)),)  # a label that no constraint has
    reduced = form.replace(
        blocks=blocks,
        q=(form.q + product)[keep],
        r=form.r + float(form.q @ offset) + 0.5 * float(offset @ product),
        quadratic=quadratic,
        constraints=constraints,
        lower=form.lower[keep],
        upper=form.upper[keep],
        integer=np.zeros(keep.size, dtype=bool),
    )
    return reduced, keep, offset


def _on_active_set(form: StandardForm, x: FloatArray) -> list[FloatArray]:
    """Return the least solution of the equations of the (nearly) active constraints, and the solution nearest to x.

    The two differ if the equations leave a variable free, such as the slack of a point without a cost. A linear objective has
    only the nearest one. The list is empty for cones that are not polyhedral, and for many equations of a linear objective.
    """
    if any(not isinstance(c.cone, (Zero, Nonnegative)) for c in form.constraints):
        return []
    form = BoundsToRows(form).target if form.has_bounds else form
    F, g = form.rows_matrix()
    slack = np.asarray(F @ x + g)
    equal = form.rows_mask(Zero)
    active = equal | (slack < _ACTIVE * (1.0 + np.abs(g)))
    if form.quadratic is None and active.sum() * form.n > _LINEAR:
        return []
    B, b = F[np.flatnonzero(active)].toarray(), g[active]
    k = B.shape[0]
    with blas_threads(form.n + k, None):
        if form.quadratic is None:
            return [np.asarray(x - np.linalg.lstsq(B, slack[active], rcond=1e-13)[0])]
        system = np.block([[form.quadratic.csc.toarray(), B.T], [B, np.zeros((k, k))]])
        from_zero = np.concatenate([-form.q, -b])
        from_x = np.concatenate([-form.q - form.quadratic.product(x), -slack[active]])
        solution, step = np.linalg.lstsq(system, np.column_stack([from_zero, from_x]), rcond=1e-13)[0][: form.n].T
    return [solution, x + step]
