"""Bounds of variables that the rows of a standard form imply, for the Lagrangian bound of variables without bounds of their own.

Every row v = F_i x + g_i has an interval, from its cone and from its terms F_ij x_j; every variable has one from its rows:

- inequalities have v ≥ 0, equalities v = 0; the head of a second-order cone is ≥ 0 and no entry of its tail is larger; rotated
  cones have entries of the tail up to √(2ab), heads a, b ≥ 0; exponential cones have y, z ≥ 0, power cones x, y ≥ 0;
- a semidefinite matrix V has V_ii ≥ 0 and V_ij² ≤ V_ii V_jj, so that a bound of its trace bounds all entries;
- where all terms of a row but one have finite ends (lower or upper), the last term has a finite end.

Each end is rounded outward by more than the rounding of the sums behind it, so that the box holds every feasible point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..arrays import BoolArray, FloatArray
from .cones import PSD, Nonnegative, RotatedSecondOrder, SecondOrder, Zero, svec_indices
from .exponential_cones import Exponential, Power
from .form import Constraint, StandardForm

#: Most rounds of propagation, most entries of the rows, and the share of a sum's terms by which an end is moved outward.
_ROUNDS, _MOST, _OUTWARD = 12, 200_000, 1e-10


@dataclass(frozen=True, eq=False)
class ImpliedBounds:
    """Bounds of the variables that hold at every feasible point of a form, derived from its rows.

    Parameters
    ----------
    lower, upper : ndarray (n,)
        The form's own bounds where they are finite, else those that the rows imply; infinite without either.
    derivation : str
        The blocks that get bounds and the constraints that imply them, in words.
    """

    lower: FloatArray
    upper: FloatArray
    derivation: str


def implied_bounds(form: StandardForm) -> ImpliedBounds | None:
    """Return the bounds that the rows imply; None if no infinite bound becomes finite, two ends cross, or the rows have too many
    entries.
    """
    if not form.constraints or not form.n:
        return None
    F, g = form.rows_matrix()
    F = F.copy()
    F.eliminate_zeros()
    if F.nnz > _MOST:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # ends that overflow or are NaN are not taken
        lower, upper, used = _propagated(form, F, g)
    new = (np.isfinite(lower) & ~np.isfinite(form.lower)) | (np.isfinite(upper) & ~np.isfinite(form.upper))
    if not new.any() or (lower > upper).any():
        return None
    lower, upper = (
        np.where(np.isfinite(form_end), form_end, end) for form_end, end in ((form.lower, lower), (form.upper, upper))
    )
    return ImpliedBounds(lower, upper, _derivation(form, new, used))


def _propagated(form: StandardForm, F: sp.csr_array, g: FloatArray) -> tuple[FloatArray, FloatArray, set[str]]:
    """Return the ends of all variables' intervals, and the labels of the rows that gave one."""
    lower, upper = form.lower.copy(), form.upper.copy()
    used: set[str] = set()
    for _ in range(_ROUNDS):
        before = np.isfinite(lower).sum() + np.isfinite(upper).sum()
        low, high = _activities(F, g, lower, upper)
        start = 0
        for c in form.constraints:
            part = slice(start, start + c.rows)
            low[part], high[part] = _in_cone(c, low[part], high[part])
            start += c.rows
        used |= _tighten(form, (F, g), (low, high), (lower, upper))
        if np.isfinite(lower).sum() + np.isfinite(upper).sum() == before:
            break
    return lower, upper, used


def _derivation(form: StandardForm, new: BoolArray, used: set[str]) -> str:
    blocks = [b.label for b in form.blocks if new[form.slices[b.label]].any()]
    rows = [c.label for c in form.constraints if c.label in used]
    return f"bounds of {', '.join(blocks[:4])} follow from {', '.join(rows[:6])}"


def _activities(F: sp.csr_array, g: FloatArray, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the interval of each F_i x + g_i over the box, rounded outward."""
    lows, highs, size = _terms(F, lower, upper)
    row = np.repeat(np.arange(g.size), np.diff(F.indptr))
    total = [np.bincount(row, weights=ends, minlength=g.size) + g for ends in (lows, highs)]
    margin = _OUTWARD * (np.bincount(row, weights=size, minlength=g.size) + np.abs(g))
    return total[0] - margin, total[1] + margin


def _terms(F: sp.csr_array, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the least and the largest value of each entry F_ij x_j, and the size of those that are finite."""
    a, b = F.data * lower[F.indices], F.data * upper[F.indices]
    lows, highs = np.minimum(a, b), np.maximum(a, b)
    size = np.where(np.isfinite(lows), np.abs(lows), 0.0) + np.where(np.isfinite(highs), np.abs(highs), 0.0)
    return lows, highs, size


def _in_cone(c: Constraint, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the intervals of a constraint's rows, narrowed by what the cone implies."""
    cone = c.cone
    if isinstance(cone, Zero):
        return np.zeros_like(low), np.zeros_like(high)
    if isinstance(cone, Nonnegative):
        return np.maximum(low, 0.0), high
    low, high = low.reshape(-1, cone.group_size).copy(), high.reshape(-1, cone.group_size).copy()
    if isinstance(cone, SecondOrder):
        low[:, 0] = np.maximum(low[:, 0], 0.0)
        _within(low, high, slice(1, None), high[:, :1])
    elif isinstance(cone, RotatedSecondOrder):
        low[:, :2] = np.maximum(low[:, :2], 0.0)
        _within(low, high, slice(2, None), np.sqrt(2.0 * _product(high[:, :1], high[:, 1:2])))
    elif isinstance(cone, Exponential):
        low[:, 1:] = np.maximum(low[:, 1:], 0.0)
    elif isinstance(cone, Power):
        low[:, :2] = np.maximum(low[:, :2], 0.0)
    elif isinstance(cone, PSD):
        i, j = svec_indices(cone.order)
        diagonal, off_diagonal = np.flatnonzero(i == j), np.flatnonzero(i != j)
        low[:, diagonal] = np.maximum(low[:, diagonal], 0.0)
        place = np.zeros(cone.order, dtype=np.intp)
        place[i[diagonal]] = diagonal
        _within(
            low, high, off_diagonal, np.sqrt(2.0 * _product(high[:, place[i[off_diagonal]]], high[:, place[j[off_diagonal]]]))
        )
    return low.ravel(), high.ravel()


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the product of upper ends, negative ones taken as zero; infinite where one factor is, even if the other is zero."""
    finite = np.isfinite(a) & np.isfinite(b)
    return np.where(finite, np.maximum(np.where(finite, a, 0.0), 0.0) * np.maximum(np.where(finite, b, 0.0), 0.0), np.inf)


def _within(low: FloatArray, high: FloatArray, columns: object, reach: FloatArray) -> None:
    """Narrow the intervals of these columns of each cone to |v| ≤ reach, rounded outward, in place."""
    reach = np.maximum(reach, 0.0) * (1.0 + _OUTWARD)
    low[:, columns] = np.maximum(low[:, columns], -reach)  # type: ignore[index]
    high[:, columns] = np.minimum(high[:, columns], reach)  # type: ignore[index]


def _tighten(
    form: StandardForm,
    rows: tuple[sp.csr_array, FloatArray],
    ends: tuple[FloatArray, FloatArray],
    box: tuple[FloatArray, FloatArray],
) -> set[str]:
    """Bound each variable by the rows whose other terms have an end, in place; return the labels of the rows that gave an end."""
    (F, g), (low, high), (lower, upper) = rows, ends, box
    lows, highs, size = _terms(F, lower, upper)
    row = np.repeat(np.arange(g.size), np.diff(F.indptr))
    margin = _OUTWARD * (np.bincount(row, weights=size, minlength=g.size) + np.abs(g))
    # low - g - Σ_others highs ≤ F_ij x_j ≤ high - g - Σ_others lows
    floor = low[row] - g[row] - _others(row, highs, g.size)
    ceiling = high[row] - g[row] - _others(row, lows, g.size)
    floor -= margin[row] + _OUTWARD * np.where(np.isfinite(floor), np.abs(low[row]), 0.0)
    ceiling += margin[row] + _OUTWARD * np.where(np.isfinite(ceiling), np.abs(high[row]), 0.0)
    up = F.data > 0.0
    below, above = np.where(up, floor, ceiling) / F.data, np.where(up, ceiling, floor) / F.data
    below, above = (np.where(np.isfinite(end), end, inf) for end, inf in ((below, -np.inf), (above, np.inf)))
    gives = (np.isfinite(below) & ~np.isfinite(lower[F.indices])) | (np.isfinite(above) & ~np.isfinite(upper[F.indices]))
    np.maximum.at(lower, F.indices, below - _OUTWARD * np.abs(np.where(np.isfinite(below), below, 0.0)))
    np.minimum.at(upper, F.indices, above + _OUTWARD * np.abs(np.where(np.isfinite(above), above, 0.0)))
    labels = np.repeat(np.arange(len(form.constraints)), [c.rows for c in form.constraints])
    return {form.constraints[k].label for k in np.unique(labels[row[gives]]).tolist()}


def _others(row: np.ndarray, ends: FloatArray, count: int) -> FloatArray:
    """Return, for each entry, the sum of the ends of the other entries of its row."""
    finite = np.isfinite(ends)
    total = np.bincount(row, weights=np.where(finite, ends, 0.0), minlength=count)
    infinite = np.bincount(row, weights=~finite, minlength=count)
    sign = np.sign(ends[~finite][0]) if not finite.all() else 0.0
    other_infinite = infinite[row] - ~finite
    return np.where(other_infinite > 0, sign * np.inf, total[row] - np.where(finite, ends, 0.0))
