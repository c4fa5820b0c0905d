"""The classifier of least norm that keeps given points: the hard-margin problem by non-negative least squares."""

from __future__ import annotations

import numpy as np

from ...errors import SolverError
from ...models.arrays import BoolArray, FloatArray

__all__ = ["least_norm"]

#: A free intercept's column is stretched by this, so that its square is a negligible part of the norm.
_STRETCH = 2.0**10
#: Margins this far below 1 are repaired by scaling w; further off the point is given up.
_REPAIR = 1e-6


def least_norm(A: FloatArray, penalised: BoolArray, near: FloatArray | None = None) -> tuple[FloatArray, FloatArray] | None:
    """min ||w||² subject to A w ≥ 1, and its multipliers; None where no w satisfies the rows (or only one of enormous norm).

    Lawson and Hanson's least distance programming (1974, chapter 23): with u ≥ 0 the solution of
    min ||A'u||² + (1'u - 1)² and ρ = 1 - 1'u its residual, w = A'u/ρ; the rows are inconsistent where ρ = 0. Few rows are
    active, so the problem is solved on a growing set of rows, those with the smallest margins of ``near`` first.

    Parameters
    ----------
    A : ndarray (k, p)
        Signed rows of the points to keep.
    penalised : ndarray of bool (p,)
        Which weights are part of the norm (a free intercept is priced at a millionth).
    near : ndarray (p,), optional
        A w whose margins order the rows.
    """
    k, p = A.shape
    scale = np.where(penalised, 1.0, _STRETCH)
    if k == 0:
        return np.zeros(p), np.zeros(0)
    rows = A * scale
    margins = A @ near if near is not None else np.zeros(k)
    chosen = np.zeros(k, dtype=bool)
    chosen[np.argsort(margins, kind="stable")[: 3 * p + 10]] = True
    while True:
        solved = _solve(rows[chosen])
        if solved is None:
            return None
        w, u = solved
        margins = rows @ w
        missed = np.flatnonzero(~chosen & (margins < 1.0 - 1e-9))
        if missed.size == 0:
            break
        chosen[missed[np.argsort(margins[missed], kind="stable")[: 2 * p + 10]]] = True
    lowest = float(margins.min())
    if lowest < 1.0 - _REPAIR:
        return None
    multipliers = np.zeros(k)
    multipliers[chosen] = u
    return np.asarray(w / min(lowest, 1.0)) * scale, multipliers


def _solve(rows: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    from scipy.optimize import nnls  # imported here: it is slow, and only incumbents need it

    E = np.vstack([rows.T, np.ones(rows.shape[0])])
    target = np.zeros(E.shape[0])
    target[-1] = 1.0
    try:
        u, _ = nnls(E, target)
    except RuntimeError as error:
        raise SolverError(f"non-negative least squares did not finish on {rows.shape[0]} rows: {error}") from error
    rest = 1.0 - float(u.sum())
    if rest <= 1e-12:
        return None
    return np.asarray(rows.T @ u) / rest, u / rest
