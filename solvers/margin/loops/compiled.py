"""Compilation of the loops of this folder, with infinities allowed. They call loops of the 0-1 loss's boxes."""

from __future__ import annotations

from pathlib import Path

from ...interface.numba_flags import Loops
from ...zero_one import loops

__all__ = ["EPS", "SINGLE", "entry", "inner"]

#: Half a unit in the last place of 1, in double and in single precision.
EPS, SINGLE = 2.0**-53, 2.0**-24
_loops = Loops({"reassoc", "contract", "nsz"}, Path(__file__).parent, Path(loops.__file__).parent)
entry, inner = _loops.entry, _loops.inner
