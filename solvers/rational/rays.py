"""Exact Farkas multipliers and rays of descent near computed ones: proofs of infeasibility and unboundedness.

Existence of exact Farkas multipliers near computed ones: a proof that the form has no point.

Computed multipliers violate the equations of unbounded variables by their rounding, and a proof needs them exactly. The positive
ones identify the participating rows. A correction in rational arithmetic, on the largest multipliers, satisfies the equations. A
row whose corrected multiplier is negative, and was little more than rounding, is omitted. If a slope falls on the side on which
its variable has no bound, the equation of that variable is added. The sign of one sum then decides.

Existence of exact rays of descent near computed ones: a proof that the objective is unbounded below on the form.

A computed direction violates equations, and P d = 0, by its rounding. Entries, inequalities and whole cones that are zero but for
rounding are set to zero. A correction of the other entries in rational arithmetic satisfies these equations. The signs, and
squares of second-order cones, then decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...models.arrays import FloatArray
from ...models.program.cones import PSD, Nonnegative, Zero
from ...models.program.entries import Entries
from ...models.program.form import Constraint, StandardForm
from .form import MAX_UNKNOWNS, RationalForm, Vector, solve_linear

__all__ = ["farkas_exists", "ray_exists"]

#: Multiplications of one elimination at most (a second, with the digits that data of 53 bits grow to), and corrections.
_MAX_OPERATIONS, _ROUNDS = 60_000, 6
#: Multipliers below this share of the largest are rounding.
_ROUNDING = 1e-11

_Row = tuple[dict[int, Fraction], Fraction, bool]


def farkas_exists(form: StandardForm, multipliers: Mapping[str, FloatArray]) -> bool:
    """Return whether exact Farkas multipliers of the linear rows, corrected from these, prove the form infeasible.

    False proves nothing: there may be no multipliers, or the form is too large for rational arithmetic.
    """
    if form.n + sum(c.F.nnz for c in form.constraints) > _MAX_OPERATIONS:
        return False
    rows, z = _rows(form.replace(quadratic=None), multipliers)
    if not z or not all(np.isfinite(part).all() for part in multipliers.values()):
        return False
    slopes = _slopes(form.n, rows, z)
    variables: set[int] = set()
    for _ in range(_ROUNDS):
        broken = {j for j in range(form.n) if not _has_bound(form, j, slopes[j])} | {j for j in variables if slopes[j]}
        negative = [i for i, value in z.items() if value < 0 and not rows[i][2]]
        if not broken and not negative:
            return _least_sum(form, rows, z, slopes) > 0
        for i in negative:
            del z[i]
        variables |= broken
        chosen = sorted(z, key=lambda i: (not rows[i][2], -abs(z[i])))  # pivots come from the first columns
        if len(variables) * len(variables) * (len(chosen) + 1) > _MAX_OPERATIONS or not chosen:
            return False
        slopes = _slopes(form.n, rows, z)
        equations = sorted(variables)
        columns = [[rows[i][0].get(j, Fraction(0)) for i in chosen] for j in equations]
        change = solve_linear(columns, [slopes[j] for j in equations])
        if change is None:
            return False
        z = {i: z[i] + delta for i, delta in zip(chosen, change, strict=True)}
        slopes = _slopes(form.n, rows, z)
    return False


def _rows(form: StandardForm, multipliers: Mapping[str, FloatArray]) -> tuple[list[_Row], dict[int, Fraction]]:
    """Return the linear rows (coefficients, constant, whether an equality), and the multipliers of the participating ones."""
    rational = RationalForm(form)
    rows: list[_Row] = []
    values: list[float] = []
    for c in form.constraints:
        if isinstance(c.cone, (Zero, Nonnegative)):
            equal, rows_of_c = isinstance(c.cone, Zero), zip(rational.rows[c.label], c.g.tolist(), strict=True)
            rows += [(dict(row), Fraction(g), equal) for row, g in rows_of_c]
            values += np.ravel(np.asarray(multipliers.get(c.label, np.zeros(c.rows)), dtype=np.float64)).tolist()
    threshold = _ROUNDING * max((abs(v) for v in values), default=0.0)
    return rows, {i: Fraction(v) for i, v in enumerate(values) if v > threshold or (rows[i][2] and v < -threshold)}


def _slopes(n: int, rows: list[_Row], z: Mapping[int, Fraction]) -> Vector:
    """Return -Σ F'z."""
    slopes = [Fraction(0)] * n
    for i, price in z.items():
        for j, v in rows[i][0].items():
            slopes[j] -= v * price
    return slopes


def _has_bound(form: StandardForm, j: int, slope: Fraction) -> bool:
    """Return whether the variable has a bound on the side on which its slope falls."""
    return slope == 0 or bool(np.isfinite(form.lower[j] if slope > 0 else form.upper[j]))


def _least_sum(form: StandardForm, rows: list[_Row], z: Mapping[int, Fraction], slopes: Vector) -> Fraction:
    """Return the least of -Σ z (F x + g) over the bounds: positive if no x satisfies every row."""
    value = -sum((price * rows[i][1] for i, price in z.items()), Fraction(0))
    for j, slope in enumerate(slopes):
        if slope:
            value += slope * Fraction(float(form.lower[j] if slope > 0 else form.upper[j]))
    return value


#: Multiplications of one elimination at most (a second, with the digits that data of 53 bits grow to), coefficients of the form.
_RAY_MAX_OPERATIONS = 60_000
#: Values below one of these shares of their terms are rounding.
_RAY_ROUNDING = (1e-9, 1e-6)
#: Depth inside a semidefinite cone, relative to the matrix, above any rounding error of the depth.
_MIN_DEPTH = 1e-10


def ray_exists(form: StandardForm, d: FloatArray) -> bool:
    """Return whether an exact ray of descent is found near this direction.

    False proves nothing: there may be no ray, or the form is too large for rational arithmetic.
    """
    size = float(np.abs(d).max(initial=0.0))
    if not 0.0 < size < np.inf or _multiplications(form) > _RAY_MAX_OPERATIONS:
        return False
    rational = RationalForm(_recession(form))
    return any(
        _is_descent_ray(rational, corrected)
        for share in _RAY_ROUNDING
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
    if len(equations) ** 2 * (len(chosen) + 1) > _RAY_MAX_OPERATIONS:
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
