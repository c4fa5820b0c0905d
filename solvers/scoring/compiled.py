"""Compilation of the search's loops: by IEEE 754.

Scores that are whole numbers are exact in whatever order they are summed; for others bounds leave room for rounding.
"""

from __future__ import annotations

from pathlib import Path

from ..interface.numba_flags import Loops

__all__ = ["entry", "inner"]

_loops = Loops(set(), Path(__file__).parent)
entry, inner = _loops.entry, _loops.inner
