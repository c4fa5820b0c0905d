"""Mixed-integer points re-solved with the integers fixed, so that incumbents of different solvers compare to 1e-9."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ..models.arrays import FloatArray
from ..models.bare_form import BareForm
from ..models.kernels.threads import blas_threads
from ..models.model import Model
from ..models.program.bridges import BoundsToRows
from ..models.program.cones import Nonnegative, Zero
from ..models.program.entries import Entries
from ..models.program.form import Block, Quadratic, StandardForm
from .backends.clarabel import Clarabel
from .certification.certificate import certify
from .records.options import Options

__all__ = ["Polished", "fix_integers", "polish", "polished"]

#: Rows and bounds with less slack than this, relative to 1 + their constant, count as active when their equations are solved.
_ACTIVE = 1e-6


def fix_integers(form: StandardForm, x: FloatArray) -> StandardForm:
    """The continuous form with the integer variables fixed at the nearest integers of x."""
    return form.with_integers(x)


@dataclass(frozen=True, eq=False)
class Polished:
    """The point that was chosen, and how it was found; the note is empty where it is the given one, rounded."""

    values: dict[str, FloatArray]
    note: str = ""


def polish(form: StandardForm, values: Mapping[str, FloatArray], model: Model | None = None) -> dict[str, FloatArray]:
    """The point of `polished`, without its note."""
    return polished(form, values, model).values


def polished(
    form: StandardForm, values: Mapping[str, FloatArray], model: Model | None = None, seconds: float | None = None
) -> Polished:
    """A point at least as good with the same integers: interior point, then the active set's equations.

    Where the model knows a simpler problem for fixed integers (`Model.with_integers`) that one is solved. Candidates are first
    counted in exact arithmetic where the model's objective jumps (`Model.recounted`). The point is the rounded input where the
    re-solve is not feasible to 1e-9 or not better; the choice is made by recomputed objectives and residuals only. ``seconds``
    limits both together, where the solve itself was limited: what is late is left out.
    """
    x = form.join(values)
    rounded = x.copy()
    rounded[form.integer] = np.round(x[form.integer])
    candidates = [(rounded, "")]
    simpler = None if model is None else model.with_integers(values)
    if simpler is not None and model is not None:
        candidates += [(form.join(model.complete(simpler.split(y))), how) for y, how in _solutions(simpler, seconds)]
    else:
        reduced, keep, offset = _eliminate(fix_integers(form, x))
        for piece, how in _solutions(reduced, seconds) if keep.size else []:
            whole = offset.copy()
            whole[keep] = piece
            candidates.append((whole, how))
    if model is not None:  # where no point counts as allowed, those stay that are allowed within rounding
        candidates = [*((form.join(model.recounted(form.split(point))), how) for point, how in candidates), *candidates]
    judged = [certify(form, form.split(point)) for point, _ in candidates]
    # what is not better by more than rounding is not better: an incumbent of exactly zero stays
    count = len(candidates) if model is None else len(candidates) // 2
    tight = [(k >= count, c.objective + (c.rounding if k else 0.0), k) for k, c in enumerate(judged) if c.feasible(1e-9)]
    best = min(tight)[2] if tight else int(np.argmin([c.primal_residual for c in judged]))
    point, how = candidates[best]
    return Polished(form.split(point), f"integers fixed, the rest solved again by {how}" if how else "")


def _solutions(form: StandardForm, seconds: float | None) -> list[tuple[FloatArray, str]]:
    """Points within a continuous form's bounds and who found them: an interior-point solver's, and, in time, its active set's."""
    begin = time.perf_counter()
    answer = Clarabel().run(BareForm(form), Options(tol=1e-9, time_limit=seconds))
    if answer.values is None:
        return []
    y = np.clip(form.join(answer.values), form.lower, form.upper)  # else what is below zero may seem to cost less than nothing
    late = seconds is not None and time.perf_counter() - begin > seconds
    on_active_set = None if late else _on_active_set(form, y)
    who = f"{Clarabel.info.name} {answer.version}"
    solutions = [(y, who)]
    return (
        solutions
        if on_active_set is None
        else [*solutions, (np.clip(on_active_set, form.lower, form.upper), f"{who} and the equations of its active set")]
    )


def _eliminate(form: StandardForm) -> tuple[StandardForm, np.ndarray, FloatArray]:
    """Remove the fixed variables of a form: an interior point has no interior otherwise."""
    keep = np.flatnonzero(form.lower < form.upper)
    offset = np.where(form.lower == form.upper, form.lower, 0.0)
    product = np.zeros(form.n) if form.quadratic is None else form.quadratic.product(offset)
    quadratic = None
    if form.quadratic is not None:
        P = form.quadratic.csc  # symmetric: its columns are its rows
        block = Entries(P.data, P.indices, P.indptr, form.n).at(keep).among(keep)
        columns = sp.csc_array((block.data, block.indices, block.indptr), shape=(keep.size, keep.size))
        quadratic = Quadratic(matrix=columns) if block.data.size else None
    constraints = tuple(replace(c, F=Entries.of(c.F).among(keep).csr, g=c.value(offset)) for c in form.constraints)
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


def _on_active_set(form: StandardForm, x: FloatArray) -> FloatArray | None:
    """Solve the equations of the constraints that are (nearly) active at x; None for cones that are not polyhedral."""
    if form.quadratic is None or any(not isinstance(c.cone, (Zero, Nonnegative)) for c in form.constraints):
        return None
    P = form.quadratic.csc.toarray()
    form = BoundsToRows(form).target if form.has_bounds else form
    F, g = form.rows_matrix()
    slack = np.asarray(F @ x + g)
    equal = np.concatenate([np.full(c.rows, isinstance(c.cone, Zero)) for c in form.constraints] or [np.zeros(0, bool)])
    active = equal | (slack < _ACTIVE * (1.0 + np.abs(g)))
    B, b = F[np.flatnonzero(active)].toarray(), g[active]
    k = B.shape[0]
    system = np.block([[P, B.T], [B, np.zeros((k, k))]])
    with blas_threads(len(system), None):
        solution = np.linalg.lstsq(system, np.concatenate([-form.q, -b]), rcond=1e-13)[0]
    return np.asarray(solution[: form.n])
