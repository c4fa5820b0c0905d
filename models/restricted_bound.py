"""Proved bounds of a model under rows that a user adds, by multipliers of the rows and a bound of the model without them.

Used by changed models (``with_constraint``) and by `Margin`. f(w, ...) is the objective of the model without the added rows
F w + G t + g in cones, t free variables of these rows alone. For prices z (multipliers in the dual cones) with G'z = 0,

    min {f(w, ...) : rows} ≥ min {f(w, ...) - (F'z)'w} - g'z,

whatever the solver did. So a model that bounds f less a linear function of w, from its own structure, keeps its bound under rows
that a user adds, where the Lagrangian of the whole form proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from .arrays import FloatArray
from .program.cones import Nonnegative, Zero
from .program.form import Constraint, StandardForm
from .program.lagrangian import Bound
from .rounding import dot, gamma

#: Prices are multiples of this share of the largest one, so that sums of a few are exact.
_GRID = 2.0**-44


@dataclass(frozen=True, eq=False)
class Tilt:
    """A linear function h'w that is subtracted from an objective (a tilt perturbation), with the rounding error of h.

    Parameters
    ----------
    direction : ndarray (p,)
        h, as computed.
    error : ndarray (p,)
        Bounds of the rounding errors of the entries of h.
    """

    direction: FloatArray
    error: FloatArray


def restricted_bound(
    form: StandardForm,
    base: StandardForm,
    x: FloatArray,
    multipliers: Mapping[str, FloatArray],
    tilted: Callable[[Tilt], Bound | None],
) -> Bound | None:
    """Return a proved lower bound of a form that restricts ``base``; None if their objectives differ, or no bound is found.

    Parameters
    ----------
    form : StandardForm
        The program with further linear rows, bounds of w and free variables; its first blocks are those of the base.
    base : StandardForm
        The program without them, with a block ``w``. Added rows on its other blocks, or in other cones, are left out.
    x : ndarray (n,)
        A point near the form's optimum: the prices of added bounds of w are reduced costs there.
    multipliers : mapping of str to ndarray
        Multipliers of the form's constraints by label, of any quality: the prices of the added rows.
    tilted : callable
        Returns a proved lower bound of the base's objective less h'w, given h as a `Tilt`; None without one.
    """
    if not _same_objective(form, base):
        return None
    w, p = form.slices["w"], form.slices["w"].stop - form.slices["w"].start
    base_labels = {c.label for c in base.constraints}
    other_variables = np.ones(form.n, dtype=bool)
    other_variables[w] = other_variables[base.n :] = False
    added = [c for c in form.constraints if c.label not in base_labels and isinstance(c.cone, Nonnegative | Zero)]
    rows = [c for c in added if not c.F[:, np.flatnonzero(other_variables)].nnz and c.label in multipliers]
    prices = _balanced(rows, multipliers, slice(base.n, form.n))
    if prices is None:
        return None
    h, error, sides, error_sum = np.zeros(p), np.zeros(p), 0.0, 0.0
    for c, z in zip(rows, prices, strict=True):
        F = c.F[:, w]
        h += F.T @ z
        error += gamma(z.size + len(rows) + 4) * (abs(F).T @ np.abs(z))  # the sum over constraints may cancel
        side = dot(c.g, z)
        sides, error_sum = sides + side.value, error_sum + side.error + gamma(len(rows) + 2) * abs(side.value)
    lower, upper = form.lower[w], form.upper[w]
    ends = (lower != base.lower[w]) | (upper != base.upper[w])
    if ends.any():
        gradients = [c.rmatvec(np.asarray(multipliers[c.label])) for c in form.constraints if c.label in multipliers]
        reduced = np.where(ends, (form.gradient(x) - sum(gradients, np.zeros(form.n)))[w], 0.0)
        reduced = np.where((reduced > 0.0) & np.isinf(lower) | (reduced < 0.0) & np.isinf(upper), 0.0, reduced)
        minimiser = np.where(reduced > 0.0, lower, upper)
        value = dot(reduced, np.where(reduced == 0.0, 0.0, minimiser))
        h, sides, error_sum = (
            h + reduced,
            sides - value.value,
            error_sum + value.error + gamma(4) * (abs(value.value) + abs(sides)),
        )
        error += gamma(2) * np.abs(h)
    bound = tilted(Tilt(h, error))
    if bound is None or not np.isfinite(bound.value):
        return None
    rounding = error_sum + gamma(4) * (abs(bound.value) + abs(sides))
    return Bound(bound.value - sides - rounding, f"{bound.argument}, with the added rows at their prices", bound.error + rounding)


def _same_objective(form: StandardForm, base: StandardForm) -> bool:
    """Return whether both forms have the same objective, in which added variables have no cost."""
    if form.r != base.r or not np.array_equal(form.q[: base.n], base.q) or form.q[base.n :].any():
        return False
    if form.quadratic is None or base.quadratic is None:
        return form.quadratic is base.quadratic
    P, Q = form.quadratic.csc, base.quadratic.csc
    return bool(P.nnz == Q.nnz and not abs(P[: base.n, : base.n] - Q).sum())


def _balanced(rows: list[Constraint], multipliers: Mapping[str, FloatArray], extra: slice) -> list[FloatArray] | None:
    """Return prices in the dual cones for which G'z is exactly 0 on the extra variables; None if one pass of steps finds none."""
    prices = [np.asarray(multipliers[c.label], dtype=np.float64) for c in rows]
    prices = [np.maximum(z, 0.0) if isinstance(c.cone, Nonnegative) else z for c, z in zip(rows, prices, strict=True)]
    largest = max((float(np.abs(z).max(initial=0.0)) for z in prices), default=0.0)
    if not all(np.isfinite(z).all() and z.shape == (c.rows,) for c, z in zip(rows, prices, strict=True)) or largest > 1e300:
        return None
    if not largest > 0.0:
        return prices
    grid = 2.0 ** np.ceil(np.log2(largest)) * _GRID
    prices = [np.round(z / grid) * grid for z in prices]
    if extra.stop == extra.start:
        return prices
    blocks = [c.F[:, extra].tocsc() for c in rows]
    shared = [np.diff(G.tocsr().indptr) > 1 for G in blocks]  # rows of several extra variables: their prices are changed last
    for j in range(extra.stop - extra.start):
        entries = [(k, i, v) for k, G in enumerate(blocks) for i, v in _column(G, j)]
        remainder = float(_sum_at(prices, entries))
        for k, i, v in sorted(entries, key=lambda entry: (shared[entry[0]][entry[1]], -abs(prices[entry[0]][entry[1]]))):
            step = -remainder / v
            free = isinstance(rows[k].cone, Zero) or prices[k][i] + step >= 0.0
            if remainder and free and abs(v) == 1.0:
                prices[k][i] += step
                break
    columns = ([(k, i, v) for k, G in enumerate(blocks) for i, v in _column(G, j)] for j in range(extra.stop - extra.start))
    return None if any(_sum_at(prices, entries) for entries in columns) else prices


def _sum_at(prices: list[FloatArray], entries: list[tuple[int, int, float]]) -> Fraction:
    """Return Σ v z_ki, exactly."""
    return sum((Fraction(v) * Fraction(float(prices[k][i])) for k, i, v in entries), Fraction(0))


def _column(matrix: sp.csc_array, j: int) -> list[tuple[int, float]]:
    """Return the rows and values of a column that are not 0."""
    begin, end = int(matrix.indptr[j]), int(matrix.indptr[j + 1])
    return [(i, v) for i, v in zip(matrix.indices[begin:end].tolist(), matrix.data[begin:end].tolist(), strict=True) if v != 0.0]
