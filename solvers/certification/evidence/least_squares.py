"""min ½||B z - c||² over a product of cones, by accelerated projected gradients with restarts.

The cones have cheap projections and the matrices are small: thousands of steps take milliseconds. The method restarts where step
and momentum point apart, which keeps it linear where the minimum is sharp.
(Beck, Teboulle: *A fast iterative shrinkage-thresholding algorithm*, 2009; O'Donoghue, Candès: *Adaptive restart*, 2015.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....models.arrays import FloatArray

__all__ = ["cone_least_squares"]

#: Steps at most, and those between two looks at the residual.
_STEPS, _LOOK = 4000, 50
#: Relative residual that counts as none, and the share of it that must go in `_LOOK` steps for another round.
_NONE, _PROGRESS = 1e-13, 0.999


def cone_least_squares(
    B: FloatArray, c: FloatArray, project: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """z in the cone and the residual c - B z.

    Parameters
    ----------
    B : ndarray (m, k)
    c : ndarray (m,)
    project : callable
        The nearest point of the (closed, convex) cone.
    """
    z = np.zeros(B.shape[1])
    norm = float(np.linalg.norm(B, 2)) if B.size else 0.0
    if not norm > 0.0 or not np.isfinite(norm):
        return z, c
    step, size = 1.0 / (norm * norm), float(np.linalg.norm(c))
    ahead, t, last = z, 1.0, np.inf
    for k in range(1, _STEPS + 1):
        moved = project(ahead - step * (B.T @ (B @ ahead - c)))
        if (ahead - moved) @ (moved - z) > 0.0:
            ahead, t = moved, 1.0
        else:
            later = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            ahead, t = moved + (t - 1.0) / later * (moved - z), later
        z = moved
        if k % _LOOK == 0:
            now = float(np.linalg.norm(c - B @ z))
            if now <= _NONE * size or now >= _PROGRESS * last:
                break
            last = now
    return z, c - B @ z
