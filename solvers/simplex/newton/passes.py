"""Loading of the compiled passes over kernel columns that Newton steps use, before the time limit counts."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ....models.kernels.tiles import ROUNDED
from . import loops as loops
from .loops import TRIANGLE_WIDTH as WIDTH, symmetric_counts, symmetric_rows

__all__ = ["PASSES_FROM", "load_passes"]

#: Points below which a run seldom comes to need them (then they are compiled in the run).
PASSES_FROM = 1000


@functools.cache
def load_passes(*, single: bool, triangle: np.dtype[Any] | None) -> None:
    """Load the passes over columns in float32 or float64, and those of the low-rank start's triangle with entries of a type."""
    one, short = np.zeros(1, dtype=np.int64), np.ones((1, 1), dtype=np.float32)
    if triangle is not None:
        room = np.empty(WIDTH, dtype=np.float32)
        for kind in (triangle, ROUNDED) if triangle == np.float32 else (triangle,):
            entries = np.zeros((1, 1), dtype=kind)
            if triangle == np.float32:
                symmetric_rows(entries, 0, 0, short[0], np.zeros(1), room)
            else:
                symmetric_counts(entries, short[0], 0, 0, short[0], np.zeros(1), room)
            loops.gather_rows(entries, one, one, entries.copy())
    rows = short if single else np.ones((1, 1))
    loops.add_rows(rows, one, rows[0], np.zeros(1), np.empty(loops.WIDTH, dtype=rows.dtype))
    loops.gather_rows(rows, one, one, rows.copy())
