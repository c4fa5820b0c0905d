"""The problem that compiled loops are loaded with."""

from __future__ import annotations

import numpy as np

from ...models.views import ZeroOneProblem

__all__ = ["smallest_problem"]


def smallest_problem() -> ZeroOneProblem:
    """Four points: the smallest problem that is not trivial, so that a search of it calls every loop."""
    rows = np.array([[1.0, 0.5, 0.1], [1.0, -0.4, 0.2], [-1.0, 0.3, 0.7], [-1.0, -0.2, -0.3]])
    return ZeroOneProblem(rows, np.full(4, 0.3), np.array([True, True, True]))
