"""Existence of exact Farkas multipliers near computed ones: a proof that the form has no point.

Computed multipliers violate the equations of unbounded variables by their rounding, and a proof needs them exactly. The positive
ones identify the participating rows. A correction in rational arithmetic, on the largest multipliers, satisfies the equations. A
row whose corrected multiplier is negative, and was little more than rounding, is omitted. If a slope falls on the side on which
its variable has no bound, the equation of that variable is added. The sign of one sum then decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from ...models.arrays import FloatArray
from ...models.program.cones import Nonnegative, Zero
from ...models.program.form import StandardForm
from .form import RationalForm, Vector, solve_linear

__all__ = ["farkas_exists"]

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
