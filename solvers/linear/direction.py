"""Newton directions: by a factor where a p × p matrix is worth it, by conjugate gradients where it is not."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ...models.arrays import FloatArray
from .passes import curvature_times, squares_of_columns
from .state import LinearState

__all__ = ["MOST_COLUMNS", "newton_direction"]

#: Columns up to which second derivatives are summed up to a matrix.
MOST_COLUMNS = 2_000
#: Residual of conjugate gradients, and products at most.
_RESIDUAL, _PRODUCTS = 0.1, 60


def newton_direction(state: LinearState, H: FloatArray | None) -> FloatArray:
    """s with (2μI + Σ d_i x_i x_i')s = -∇; H is the sum where it was made.

    Raises
    ------
    numpy.linalg.LinAlgError
        The matrix is not positive definite to rounding.
    """
    mu = state.problem.mu
    if H is None:
        return _by_products(state)
    H[np.diag_indices(state.w.size)] += 2.0 * mu
    scale = 1.0 / np.sqrt(np.diagonal(H))
    factor = scipy.linalg.cho_factor(H * scale[:, None] * scale[None, :], lower=True, overwrite_a=True, check_finite=False)
    found: FloatArray = -scale * scipy.linalg.cho_solve(factor, scale * state.gradient, check_finite=False)
    return found


def _by_products(state: LinearState) -> FloatArray:
    """Conjugate gradients, preconditioned by the diagonal; one pass over the rows for each product."""
    view, curved, room = state.problem, state.curved, state.room
    diagonal = 2.0 * view.mu + squares_of_columns(view, curved, room)
    x, r = np.zeros(state.w.size), -state.gradient
    z = r / diagonal
    direction, rz = z.copy(), float(r @ z)
    enough = _RESIDUAL**2 * rz
    state.passes += 1
    for _ in range(_PRODUCTS):
        product = 2.0 * view.mu * direction + curvature_times(view, curved, direction, room)
        state.passes += 1
        length = rz / float(direction @ product)
        x += length * direction
        r -= length * product
        z = r / diagonal
        after = float(r @ z)
        if after <= enough:
            break
        direction = z + (after / rz) * direction
        rz = after
    return x
