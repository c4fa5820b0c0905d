"""A feasible point of a model that costs no exact solve: what gaps begin with."""

from __future__ import annotations

import numpy as np

from ..models.arrays import FloatArray
from ..models.model import Model
from ..solvers.records.options import Options
from .composed.points import allowed, parts_of

__all__ = ["known_point"]


def known_point(model: Model, options: Options) -> tuple[FloatArray, float] | None:
    """w and its true objective; None where none is known.

    w = 0 where a problem from parts allows it.
    """
    composed = parts_of(model)
    if composed is None:
        return None
    w = np.zeros(composed.points.shape[1])
    return (w, composed.objective(w)) if allowed(composed, w) else None
