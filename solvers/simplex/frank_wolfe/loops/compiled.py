"""Compilation of the Frank-Wolfe family's loops: as all others, with one stamp for their files."""

from __future__ import annotations

from pathlib import Path

from ....interface.numba_flags import FAST, Loops

__all__ = ["entry", "inner"]

_loops = Loops(FAST, Path(__file__).parent)
entry, inner = _loops.entry, _loops.inner
