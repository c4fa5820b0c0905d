"""The warm-up instance, whose solution loads the compiled kernels."""

from __future__ import annotations

import numpy as np

from ...models.views import ZeroOneProblem

__all__ = ["smallest_problem"]


def smallest_problem() -> ZeroOneProblem:
    """Return a problem of four points, the smallest nontrivial one: its solution calls every kernel."""
    rows = np.array([[1.0, 0.5, 0.1], [1.0, -0.4, 0.2], [-1.0, 0.3, 0.7], [-1.0, -0.2, -0.3]])
    return ZeroOneProblem(rows, np.full(4, 0.3), np.array([True, True, True]))
