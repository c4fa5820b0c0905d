"""Rays of descent in rational arithmetic, beside computed ones: they exist, and the objective falls along them without end.

A computed direction misses equations, and P d = 0, by its rounding. What is zero of it but for rounding (entries, inequalities,
whole cones) is taken to be zero, and a correction of its other entries in rational arithmetic meets these equations. What is left
are signs, and squares of second-order cones.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...models.arrays import FloatArray
from ...models.program.cones import PSD, Zero
from ...models.program.entries import Entries
from ...models.program.form import Constraint, StandardForm
from .form import MOST_UNKNOWNS, RationalForm, Vector, solve_linear

__all__ = ["ray_exists"]

#: Multiplications of one elimination at most (a second, with the digits that data of 53 bits grow to), coefficients of the form.
_MOST = 60_000
#: What is below one of these shares of its terms is rounding.
_ROUNDING = (1e-9, 1e-6)
#: Depth inside a semidefinite cone, relative to the matrix, that no rounding of it takes away.
_DEEP = 1e-10


def ray_exists(form: StandardForm, d: FloatArray) -> bool:
    """Return whether an exact ray of descent is found beside this direction.

    False says nothing: there may be none, or the form is too large for rational arithmetic.
    """
    size = float(np.abs(d).max(initial=0.0))
    if not 0.0 < size < np.inf or _multiplications(form) > _MOST:
        return False
    rational = RationalForm(_recession(form))
    return any(_descends(rational, found) for share in _ROUNDING if (found := _corrected(rational, d / size, share)) is not None)


def _multiplications(form: StandardForm) -> int:
    """Of a product with every row, and of making P where it has a factor."""
    own, P = form.n + sum(c.F.nnz for c in form.constraints), form.quadratic
    if P is None:
        return own
    return own + (P.bytes // 16 if P.factor is None else int(np.square(Entries.of(P.factor).counts).sum()))


def _recession(form: StandardForm) -> StandardForm:
    """The form whose points are the directions in which a point may go on for ever."""
    return form.replace(
        constraints=tuple(replace(c, g=np.zeros(c.rows)) for c in form.constraints),
        lower=np.where(np.isfinite(form.lower), 0.0, -np.inf),
        upper=np.where(np.isfinite(form.upper), 0.0, np.inf),
        integer=np.zeros(form.n, dtype=bool),
        r=0.0,
    )


def _corrected(rational: RationalForm, d: FloatArray, share: float) -> Vector | None:
    """The direction nearby that meets exactly what it meets but for rounding; None where there is none, or too much to do."""
    form = rational.form
    d = np.where(np.abs(d) > share, np.clip(d, form.lower, form.upper), 0.0)
    equations = [row for row in rational.P if row]
    for c in form.constraints:
        zero = _zero(c, d, share)
        equations += [row for row, none in zip(rational.rows[c.label], zero.tolist(), strict=True) if none and row]
    exact = rational.point(d)
    missed = [-sum((v * exact[j] for j, v in row), Fraction(0)) for row in equations]
    if not any(missed):
        return exact
    chosen = np.argsort(-np.abs(d), kind="stable")[: min(MOST_UNKNOWNS, np.count_nonzero(d))].tolist()
    if len(equations) ** 2 * (len(chosen) + 1) > _MOST:
        return None
    entries = [dict(row) for row in equations]
    change = solve_linear([[row.get(j, Fraction(0)) for j in chosen] for row in entries], missed)
    if change is None:
        return None
    for j, delta in zip(chosen, change, strict=True):
        exact[j] += delta
    return exact


def _zero(c: Constraint, d: FloatArray, share: float) -> FloatArray:
    """The rows that are to be zero along d: of equations all, else those of a half-line or a cone that are rounding."""
    along, terms = np.abs(c.F @ d).reshape(-1, c.cone.block), (abs(c.F) @ np.abs(d)).reshape(-1, c.cone.block)
    none = along.max(axis=1, initial=0.0) <= share * terms.max(axis=1, initial=0.0)
    return np.repeat(none | isinstance(c.cone, Zero), c.cone.block)


def _descends(rational: RationalForm, d: Vector) -> bool:
    """Return whether d is a ray of descent, exactly."""
    form = rational.form
    if any(rational.P_times(d)) or any(rational.violations(d).values()):
        return False
    for c in form.constraints:
        if isinstance(c.cone, PSD):  # svec holds √2: its violation is no exact figure
            rows = np.array([float(v) for v in rational.value(c, d)])
            size = np.linalg.norm(c.cone.stacked(rows), axis=1)
            if not ((size == 0.0) | (c.cone.depth(rows) > _DEEP * size)).all():
                return False
    return rational.objective(d) < 0  # linear, since P d = 0 and r = 0
