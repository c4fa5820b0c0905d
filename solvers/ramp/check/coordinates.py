"""The problem in the coordinates of a log, w = T v, derived from the stated data in rational arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...zero_one.check.arithmetic import Array, InvalidProofError, round_down, round_up
from ...zero_one.check.box_problem import least_curvature, rotate
from .statement import Stated

__all__ = ["Problem", "in_coordinates"]


@dataclass(frozen=True, eq=False)
class Problem:
    """Margins are g_i'v ± e_i over the root box, squares at least Σ_j squares_j v_j², and what costs less than target is in it.

    Parameters
    ----------
    stated : Stated
    T : ndarray (p, p)
    g : ndarray (n, p)
    e : ndarray (n,)
    squares : ndarray (p,)
    half : ndarray (p,)
        The root box is from -half to half.
    target : float
    """

    stated: Stated
    T: Array
    g: Array
    e: Array
    squares: Array
    half: Array
    target: float


def in_coordinates(stated: Stated, T: Array, target: float) -> Problem:
    """The problem for a claimed bound ``target`` > 0.

    Raises
    ------
    InvalidProofError
        T is no rotation but for rounding, or mixes what it must not.
    """
    p, held = stated.curvature.size, stated.held
    if T.shape != (p, p) or not np.isfinite(T).all():
        raise InvalidProofError("T must be a finite square matrix")
    free = np.flatnonzero(~held)
    if free.size > 1 or T[~held][:, held].any() or T[held][:, ~held].any() or (free.size and T[free[0], free[0]] == 0.0):
        raise InvalidProofError("T mixes the intercept with other coefficients, or there are two")
    if free.size and not (np.abs(stated.A[:, free]) == 1.0).all():
        raise InvalidProofError("the intercept's column does not hold ±1")
    squares = _squares(stated, T)
    half = np.zeros(p)
    half[held] = _reach(stated, T, squares, target)[held]
    g, radius = rotate(stated.A, T)
    if free.size:
        corner = max(1.0, abs(1.0 - stated.width), abs(1.0 - stated.beyond) if stated.beyond < math.inf else 0.0)
        margins = (np.abs(g) + radius) @ half * (1.0 + (p + 4) * 2.0**-52)
        half[free] = round_up((corner + float(margins.max(initial=0.0))) * (1.0 + 2.0**-50) / abs(T[free[0], free[0]]))
    e = round_up(radius @ half * (1.0 + (p + 4) * 2.0**-52))
    return Problem(stated, T, g, e, squares, half, target)


def _squares(stated: Stated, T: Array) -> Array:
    """Squares of v of which those of w are no less: where they differ, T must be the identity."""
    held, d = stated.held, stated.curvature
    if not d.any() or np.array_equal(T, np.eye(d.size)):
        return d
    if np.ptp(d[held]) > 0.0:
        raise InvalidProofError("T turns coordinates whose squares differ")
    return np.where(held, round_down(d * least_curvature(T[np.ix_(held, held)])), 0.0)


def _reach(stated: Stated, T: Array, squares: Array, target: float) -> Array:
    """Bounds of |v_j| of points that cost less than the target: by their squares, and by the atoms.

    T⁻¹x = T'x + T⁻¹(I - TT')x, and ||T⁻¹|| ≤ (1 - δ)^-½ where δ is at least the norm of I - TT'.
    """
    with np.errstate(divide="ignore"):
        reach = round_up(np.sqrt(round_up(target / squares)))
    if not len(stated.atoms):
        return np.asarray(reach)
    held = stated.held
    inner = T[np.ix_(held, held)]
    rows = [[Fraction(x) for x in row] for row in inner.tolist()]
    squared = Fraction(0)
    for i, row in enumerate(rows):
        for j, other in enumerate(rows):
            squared += (sum((a * b for a, b in zip(row, other, strict=True)), Fraction(0)) - (i == j)) ** 2
    delta = math.nextafter(math.sqrt(math.nextafter(float(squared), math.inf)), math.inf)
    if delta >= 0.5:
        raise InvalidProofError("T is not close enough to a rotation")
    turned, radius = rotate(stated.atoms[:, held], inner)
    lengths = np.sqrt(round_up((stated.atoms**2).sum(axis=1) * (1.0 + 2.0**-40)))
    off = round_up(2.0 * delta * lengths[:, None] * (1.0 + 2.0**-40))
    span = round_up(round_up(np.abs(turned) + radius) + off).max(axis=0)
    reach[held] = np.minimum(reach[held], round_up(span * target))
    return np.asarray(reach)
