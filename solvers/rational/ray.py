"""Existence of exact rays of descent near computed ones: a proof that the objective is unbounded below on the form.

A computed direction violates equations, and P d = 0, by its rounding. Entries, inequalities and whole cones that are zero but for
rounding are set to zero. A correction of the other entries in rational arithmetic satisfies these equations. The signs, and
squares of second-order cones, then decide.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...models.arrays import FloatArray
from ...models.program.cones import PSD, Zero
from ...models.program.entries import Entries
from ...models.program.form import Constraint, StandardForm
from .form import MAX_UNKNOWNS, RationalForm, Vector, solve_linear

__all__ = ["ray_exists"]

#: Multiplications of one elimination at most (a second, with the digits that data of 53 bits grow to), coefficients of the form.
_MAX_OPERATIONS = 60_000
#: Values below one of these shares of their terms are rounding.
_ROUNDING = (1e-9, 1e-6)
#: Depth inside a semidefinite cone, relative to the matrix, above any rounding error of the depth.
_MIN_DEPTH = 1e-10


def ray_exists(form: StandardForm, d: FloatArray) -> bool:
    """Return whether an exact ray of descent is found near this direction.

    False proves nothing: there may be no ray, or the form is too large for rational arithmetic.
    """
    size = float(np.abs(d).max(initial=0.0))
    if not 0.0 < size < np.inf or _multiplications(form) > _MAX_OPERATIONS:
        return False
    rational = RationalForm(_recession(form))
    return any(
        _is_descent_ray(rational, corrected)
        for share in _ROUNDING
        if (corrected := _correct(rational, d / size, share)) is not None
    )


def _multiplications(form: StandardForm) -> int:
    """Return the multiplications of a product with every row, and of forming P if it has a factor."""
    per_product, P = form.n + sum(c.F.nnz for c in form.constraints), form.quadratic
    if P is None:
        return per_product
    return per_product + (P.bytes // 16 if P.factor is None else int(np.square(Entries.of(P.factor).counts).sum()))


def _recession(form: StandardForm) -> StandardForm:
    """Return the form of the recession cone, the directions in which every point may go on without end."""
    return form.replace(
        constraints=tuple(replace(c, g=np.zeros(c.rows)) for c in form.constraints),
        lower=np.where(np.isfinite(form.lower), 0.0, -np.inf),
        upper=np.where(np.isfinite(form.upper), 0.0, np.inf),
        integer=np.zeros(form.n, dtype=bool),
        r=0.0,
    )


def _correct(rational: RationalForm, d: FloatArray, share: float) -> Vector | None:
    """Return a nearby direction that exactly satisfies what d satisfies up to rounding; None if there is none, or the elimination
    is too large.
    """
    form = rational.form
    d = np.where(np.abs(d) > share, np.clip(d, form.lower, form.upper), 0.0)
    equations = [row for row in rational.P if row]
    for c in form.constraints:
        zero = _zero_rows(c, d, share)
        equations += [row for row, is_zero in zip(rational.rows[c.label], zero.tolist(), strict=True) if is_zero and row]
    exact = rational.point(d)
    missed = [-sum((v * exact[j] for j, v in row), Fraction(0)) for row in equations]
    if not any(missed):
        return exact
    chosen = np.argsort(-np.abs(d), kind="stable")[: min(MAX_UNKNOWNS, np.count_nonzero(d))].tolist()
    if len(equations) ** 2 * (len(chosen) + 1) > _MAX_OPERATIONS:
        return None
    entries = [dict(row) for row in equations]
    change = solve_linear([[row.get(j, Fraction(0)) for j in chosen] for row in entries], missed)
    if change is None:
        return None
    for j, delta in zip(chosen, change, strict=True):
        exact[j] += delta
    return exact


def _zero_rows(c: Constraint, d: FloatArray, share: float) -> FloatArray:
    """Return the rows that must be zero along d: of equations all, else those of a half-line or a cone that are rounding."""
    along, terms = np.abs(c.F @ d).reshape(-1, c.cone.block), (abs(c.F) @ np.abs(d)).reshape(-1, c.cone.block)
    is_zero = along.max(axis=1, initial=0.0) <= share * terms.max(axis=1, initial=0.0)
    return np.repeat(is_zero | isinstance(c.cone, Zero), c.cone.block)


def _is_descent_ray(rational: RationalForm, d: Vector) -> bool:
    """Return whether d is a ray of descent, exactly."""
    form = rational.form
    if any(rational.P_times(d)) or any(rational.violations(d).values()):
        return False
    for c in form.constraints:
        if isinstance(c.cone, PSD):  # svec holds √2: its violation is no exact number
            rows = np.array([float(v) for v in rational.value(c, d)])
            size = np.linalg.norm(c.cone.stacked(rows), axis=1)
            if not ((size == 0.0) | (c.cone.depth(rows) > _MIN_DEPTH * size)).all():
                return False
    return rational.objective(d) < 0  # linear, since P d = 0 and r = 0
