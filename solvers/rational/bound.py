"""The Lagrangian bound in rational arithmetic (`models.program.lagrangian` has the floating-point bound and the mathematics)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ...models.arrays import FloatArray
from ...models.program.cones import Nonnegative, Zero
from .form import MAX_UNKNOWNS, solve_linear

if TYPE_CHECKING:
    from .form import RationalForm, Vector

__all__ = ["lagrangian"]

Bounds = list[Fraction | None]


def lagrangian(rational: RationalForm, x: FloatArray, multipliers: Mapping[str, FloatArray]) -> Fraction | None:
    """Return the Lagrangian bound; see `RationalForm.bound`."""
    form = rational.form
    if not rational.convex:
        return None
    lower, upper = _propagated(rational)
    free = [j for j in range(form.n) if lower[j] is None and upper[j] is None]
    z = _clip(rational, multipliers)
    hat = rational.point(x)
    for _ in range(2):
        d = _slopes(rational, z)
        if _tangent(rational, hat, d, free):
            slope = [a + b for a, b in zip(rational.P_times(hat), d, strict=True)]
            corner = _corner(slope, lower, upper)
            if corner is not None:
                curved = sum((a * b for a, b in zip(rational.P_times(hat), hat, strict=True)), Fraction(0))
                return _constant(rational, z) + corner - curved / 2
        if not _correct(rational, z, hat, free):
            return None
    return None


def _clip(rational: RationalForm, multipliers: Mapping[str, FloatArray]) -> dict[str, Vector]:
    """Return the multipliers of the linear constraints, clipped into their dual cones; other multipliers are dropped."""
    z = {}
    for c in rational.form.constraints:
        values = multipliers.get(c.label)
        if values is None or not isinstance(c.cone, (Zero, Nonnegative)) or not np.isfinite(values).all():
            continue
        exact = [Fraction(v) for v in np.asarray(values, dtype=np.float64).tolist()]
        z[c.label] = exact if isinstance(c.cone, Zero) else [max(v, Fraction(0)) for v in exact]
    return z


def _slopes(rational: RationalForm, z: Mapping[str, Vector]) -> Vector:
    """Return q - Σ F_k'z_k."""
    d = [Fraction(v) for v in rational.form.q.tolist()]
    for label, prices in z.items():
        for row, price in zip(rational.rows[label], prices, strict=True):
            if price:
                for j, v in row:
                    d[j] -= v * price
    return d


def _constant(rational: RationalForm, z: Mapping[str, Vector]) -> Fraction:
    value = Fraction(rational.form.r)
    for c in rational.form.constraints:
        if c.label in z:
            value -= sum((p * Fraction(g) for p, g in zip(z[c.label], c.g.tolist(), strict=True) if g), Fraction(0))
    return value


def _tangent(rational: RationalForm, hat: Vector, d: Vector, free: list[int]) -> bool:
    """Move ``hat`` on the free variables until P hat + d vanishes there; return False if that is not possible."""
    if not free:
        return True
    if not rational.P:
        return all(d[j] == 0 for j in free)
    if len(free) > MAX_UNKNOWNS:
        return False
    places = {j: k for k, j in enumerate(free)}
    for j in free:
        hat[j] = Fraction(0)
    right = [-(sum((v * hat[i] for i, v in rational.P[j]), Fraction(0)) + d[j]) for j in free]
    block = [[Fraction(0)] * len(free) for _ in free]
    for k, j in enumerate(free):
        for i, v in rational.P[j]:
            if i in places:
                block[k][places[i]] = v
    solution = solve_linear(block, right)
    if solution is None:
        return False
    for j, v in zip(free, solution, strict=True):
        hat[j] = v
    return True


def _corner(slope: Vector, lower: Bounds, upper: Bounds) -> Fraction | None:
    """Return Σ min over [l_j, u_j] of slope_j x_j."""
    value = Fraction(0)
    for s, low, high in zip(slope, lower, upper, strict=True):
        if s:
            end = low if s > 0 else high
            if end is None:
                return None
            value += s * end
    return value


def _correct(rational: RationalForm, z: dict[str, Vector], hat: Vector, free: list[int]) -> bool:
    """Correct the non-zero multipliers so that free variables (of linear programs) have slope zero, exactly."""
    if rational.P or not free:
        return False
    priced = [(c.label, i) for c in rational.form.constraints if c.label in z for i, p in enumerate(z[c.label]) if p]
    priced.sort(key=lambda place: -abs(z[place[0]][place[1]]))
    priced = priced[:MAX_UNKNOWNS]
    d = _slopes(rational, z)
    rows = {place: dict(rational.rows[place[0]][place[1]]) for place in priced}
    A = [[rows[place].get(j, Fraction(0)) for place in priced] for j in free]
    change = solve_linear(A, [d[j] for j in free])
    if change is None:
        return False
    for (label, i), delta in zip(priced, change, strict=True):
        z[label][i] += delta
    linear = {c.label for c in rational.form.constraints if isinstance(c.cone, Nonnegative)}
    return all(p >= 0 for label in linear & z.keys() for p in z[label])


def _propagated(rational: RationalForm) -> tuple[Bounds, Bounds]:
    """Return the bounds with those that one linear row implies if all its other variables are bounded (a simplex: a_j ≤ 1)."""
    form = rational.form
    lower: Bounds = [Fraction(v) if np.isfinite(v) else None for v in form.lower.tolist()]
    upper: Bounds = [Fraction(v) if np.isfinite(v) else None for v in form.upper.tolist()]
    for c in form.constraints:
        if isinstance(c.cone, (Zero, Nonnegative)):
            for row, g in zip(rational.rows[c.label], c.g.tolist(), strict=True):
                _propagate(row, Fraction(g), lower, upper)
                if isinstance(c.cone, Zero):
                    _propagate([(j, -v) for j, v in row], -Fraction(g), lower, upper)
    return lower, upper


def _propagate(row: list[tuple[int, Fraction]], g: Fraction, lower: Bounds, upper: Bounds) -> None:
    """Tighten bounds by Σ v_j x_j + g ≥ 0: v_j x_j ≥ -g - Σ of the others' largest values."""
    tops = [(upper[j] if v > 0 else lower[j], v) for j, v in row]
    unknown = [k for k, (end, _) in enumerate(tops) if end is None]
    if len(unknown) > 1:
        return
    total = g + sum((end * v for end, v in tops if end is not None), Fraction(0))
    for k in unknown or range(len(row)):
        j, v = row[k]
        end = tops[k][0]
        others = total - (Fraction(0) if end is None else end * v)
        implied = -others / v
        if v > 0:
            lower[j] = implied if lower[j] is None else lower[j]
        else:
            upper[j] = implied if upper[j] is None else upper[j]
