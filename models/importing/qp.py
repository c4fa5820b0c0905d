"""A quadratic program from arrays, with the arguments of qpsolvers."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ...errors import InputError
from ..arrays import FloatArray, as_array
from ..program.form import StandardForm
from .rows import RowProgram

__all__ = ["from_qp"]


def from_qp(
    P: Any,
    q: ArrayLike,
    G: Any = None,
    h: ArrayLike | None = None,
    A: Any = None,
    b: ArrayLike | None = None,
    lb: ArrayLike | None = None,
    ub: ArrayLike | None = None,
) -> StandardForm:
    """Return min ½x'Px + q'x subject to Gx ≤ h, Ax = b, lb ≤ x ≤ ub as a standard form.

    Parameters
    ----------
    P : array_like (n, n) or sparse, or None
        Symmetric; None for a linear program. Whether it is convex is said by ``form.inspect()``.
    q : array_like (n,)
    G, h
        Rows Gx ≤ h, labelled ``upper``.
    A, b
        Rows Ax = b, labelled ``equal``.
    lb, ub : array_like (n,) or float, optional
        Bounds; none where they are not given.

    Returns
    -------
    StandardForm
        One block ``x``.

    Raises
    ------
    InputError
        Shapes that do not fit, a matrix without its side, P that is not symmetric, numbers that are not finite (bounds may be
        infinite).
    """
    linear = np.atleast_1d(as_array(q, "q"))
    if linear.ndim != 1 or not linear.size or not np.isfinite(linear).all():
        raise InputError(f"q must hold one finite number for each variable; its shape is {np.shape(q)}")
    n = linear.size
    upper, equal = _rows("G", G, "h", h, n), _rows("A", A, "b", b, n)
    if not np.isfinite(equal[1]).all() or np.isneginf(upper[1]).any():
        raise InputError("b must be finite, and h above -inf: no x satisfies such rows")
    sizes = upper[1].size, equal[1].size
    program = RowProgram(
        name="quadratic program",
        variables=[f"x[{i}]" for i in range(n)],
        rows=["upper"] * sizes[0] + ["equal"] * sizes[1],
        P=None if P is None else _quadratic(P, n),
        q=linear,
        r=0.0,
        A=sp.csr_array(sp.vstack([upper[0], equal[0]], format="csr")),
        row_lower=np.concatenate([np.full(sizes[0], -np.inf), equal[1]]),
        row_upper=np.concatenate([upper[1], equal[1]]),
        lower=_bounds(lb, -np.inf, n, "lb"),
        upper=_bounds(ub, np.inf, n, "ub"),
        integer=np.zeros(n, dtype=bool),
    )
    return program.taken().form


def _matrix(value: Any, name: str) -> sp.csr_array:
    matrix = sp.csr_array(value if sp.issparse(value) else np.atleast_2d(as_array(value, name)), dtype=np.float64)
    if not np.isfinite(matrix.data).all():
        raise InputError(f"{name} must hold finite numbers")
    return matrix


def _rows(name: str, matrix: Any, side_name: str, side: ArrayLike | None, n: int) -> tuple[sp.csr_array, FloatArray]:
    if (matrix is None) != (side is None):
        raise InputError(f"{name} and {side_name} go together; one of them is missing")
    if matrix is None:
        return sp.csr_array((0, n)), np.zeros(0)
    rows, values = _matrix(matrix, name), np.atleast_1d(as_array(side, side_name))
    if rows.shape[1] != n or values.shape != (rows.shape[0],) or np.isnan(values).any():
        shapes = f"they have {rows.shape} and {values.shape}"
        raise InputError(f"{name} must have {n} columns and {side_name} one number a row; {shapes}")
    return rows, values


def _quadratic(P: Any, n: int) -> sp.csc_array:
    matrix = _matrix(P, "P")
    if matrix.shape != (n, n):
        raise InputError(f"P must have shape ({n}, {n}), as q has {n} entries; it has {matrix.shape}")
    difference = abs(matrix - matrix.T)
    if difference.nnz and difference.max() > 1e-12 * abs(matrix).max():
        raise InputError("P must be symmetric: give (P + P.T)/2, which has the same value at every x")
    return sp.csc_array(0.5 * (matrix + matrix.T))


def _bounds(bounds: ArrayLike | None, default: float, n: int, name: str) -> FloatArray:
    values = as_array(default if bounds is None else bounds, name)
    if values.shape not in ((), (1,), (n,)) or np.isnan(values).any():
        raise InputError(f"{name} must be one number or {n} numbers; its shape is {values.shape}")
    return np.array(np.broadcast_to(values, n), dtype=np.float64)
