"""The unit of an optimum of zero: the size of the objective's terms over one natural unit of each variable.

Multiply the data, and the units go along. Units come from the numbers that a problem states: boxes and constants of rows; the
rows hand them on to variables that have none; where nothing is constant, a quadratic term and what it is balanced with.
"""

from __future__ import annotations

import weakref

import numpy as np
import scipy.sparse as sp

from ...models.arrays import BoolArray, FloatArray
from ...models.program.form import StandardForm

__all__ = ["natural_units", "objective_scale"]

#: A coefficient below this share of the largest of its row says nothing of its variable's unit.
_COUNTS = 1e-6
#: How many rows a unit is handed on over.
_HANDS = 3
#: What was found for forms that still live: several points of one are judged.
_SCALES: weakref.WeakKeyDictionary[StandardForm, float] = weakref.WeakKeyDictionary()


def objective_scale(form: StandardForm) -> float:
    """max over j of |q_j| τ_j and ½P_jj τ_j², τ_j the natural unit of x_j (`natural_units`); computed once for each form."""
    if form not in _SCALES:
        unit = natural_units(form)
        _SCALES[form] = float(np.maximum(np.abs(form.q) * unit, 0.5 * _curvature(form) * unit**2).max(initial=0.0))
    return _SCALES[form]


def natural_units(form: StandardForm) -> FloatArray:
    """τ: the variable's box, or √(Σg²/ΣF_ij²) over its rows with g_i ≠ 0, and no more than |q_j|/P_jj, where its own linear and
    quadratic terms balance.

    Where none of these says anything: what its rows without a constant make of the units of their other variables,
    √(Σ_i max_k (F_ik τ_k)²/ΣF_ij²); before that, where there is not one unit, (max_i |F_ij| min_k |q_k|/|F_ik|)/P_jj, where the
    quadratic term balances the prices of its rows. Zero where nothing is said. Coefficients that are nothing beside the largest
    of their row do not count: a 1e-17 would make a unit of 1e17, which excuses any bound.
    """
    unit = _from_constants(form)
    asked = ((form.q != 0.0) | (_curvature(form) > 0.0)) & (unit == 0.0)
    if not asked.any():
        return unit
    F, g = form.rows_matrix()
    counted = _counted(F, np.concatenate([c.largest for c in form.constraints] or [np.zeros(0)]))
    weights = sp.csr_array((np.where(counted, np.abs(F.data), 0.0), F.indices, F.indptr), shape=F.shape)
    weights.eliminate_zeros()
    if not unit.any():
        unit = _from_prices(form, weights)
    for _ in range(_HANDS):
        if not unit.any() or not (asked & (unit == 0.0)).any():
            break
        unit = _handed_on(weights, g == 0.0, unit)
    return unit


def _curvature(form: StandardForm) -> FloatArray:
    return np.zeros(form.n) if form.quadratic is None else np.abs(form.quadratic.diagonal)


def _counted(F: sp.csr_array, largest: FloatArray) -> BoolArray:
    """Stored coefficients that are something beside the largest of their row."""
    return np.asarray(np.abs(F.data) > np.repeat(_COUNTS * largest, np.diff(F.indptr)))


def _from_constants(form: StandardForm) -> FloatArray:
    squares, sides = np.zeros(form.n), np.zeros(form.n)
    for c in form.constraints:
        if not c.g.any():
            continue
        side = np.repeat(c.g, np.diff(c.F.indptr))
        kept = (side != 0.0) & _counted(c.F, c.largest)
        squares += np.bincount(c.F.indices, kept * c.F.data**2, form.n)
        sides += np.bincount(c.F.indices, kept * side**2, form.n)
    unit = np.sqrt(np.divide(sides, squares, out=np.zeros(form.n), where=squares > 0.0))
    box = np.where(np.isfinite(form.lower) & np.isfinite(form.upper), form.upper - form.lower, 0.0)
    unit = np.where(box > 0.0, box, unit)
    curved = _curvature(form)
    told = (curved > 0.0) & (form.q != 0.0)
    own = np.divide(np.abs(form.q), curved, out=np.zeros(form.n), where=told)
    return np.where(told & ((unit == 0.0) | (own < unit)), own, unit)


def _from_prices(form: StandardForm, weights: sp.csr_array) -> FloatArray:
    """Units of variables with curvature beside the prices that the linear terms put on their rows."""
    curved, q = _curvature(form), np.abs(form.q)
    if not curved.any() or not q.any():
        return np.zeros(form.n)
    rows = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    offered = np.where(q[weights.indices] > 0.0, q[weights.indices] / weights.data, np.inf)
    price = np.full(weights.shape[0], np.inf)
    np.minimum.at(price, rows, offered)
    pull = np.zeros(form.n)
    np.maximum.at(pull, weights.indices, np.where(np.isfinite(price), price, 0.0)[rows] * weights.data)
    return np.divide(pull, curved, out=np.zeros(form.n), where=curved > 0.0)


def _handed_on(weights: sp.csr_array, free: BoolArray, unit: FloatArray) -> FloatArray:
    """Units of variables that have none, from rows without a constant whose others have some."""
    rows = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    largest = np.zeros(weights.shape[0])
    np.maximum.at(largest, rows, weights.data * unit[weights.indices])
    used = (free & (largest > 0.0))[rows] & (unit[weights.indices] == 0.0)
    squares = np.bincount(weights.indices[used], weights.data[used] ** 2, unit.size)
    sides = np.bincount(weights.indices[used], largest[rows[used]] ** 2, unit.size)
    return np.where(squares > 0.0, np.sqrt(np.divide(sides, squares, out=np.zeros(unit.size), where=squares > 0.0)), unit)
