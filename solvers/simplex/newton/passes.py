"""The compiled passes over columns, loaded before the clock starts where Newton steps may need them."""

from __future__ import annotations

import functools

import numpy as np

from . import inexact_loops as loops
from .triangle_loops import WIDTH, symmetric_rows

__all__ = ["PASSES_FROM", "load_passes"]

#: Points below which a run seldom comes to need them (then they are compiled in the run).
PASSES_FROM = 1000


@functools.cache
def load_passes(*, single: bool, triangle: bool) -> None:
    """Load the passes over columns in float32 or float64, and the one of the low-rank start's triangle."""
    one, short = np.zeros(1, dtype=np.int64), np.ones((1, 1), dtype=np.float32)
    if triangle:
        symmetric_rows(short, 0, 0, short[0], np.zeros(1), np.empty(WIDTH, dtype=np.float32))
        loops.gather_rows(short, one, one, short.copy())
    rows = short if single else np.ones((1, 1))
    loops.add_rows(rows, one, rows[0], np.zeros(1), np.empty(loops.WIDTH, dtype=rows.dtype))
    loops.gather_rows(rows, one, one, rows.copy())
