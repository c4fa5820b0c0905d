"""Compiled loops that several exact searches call, and the decorators that compile the loops of every exact search.

The loops handle infinities and NaN, so LLVM's fast-math flags ``nnan`` and ``arcp`` are not allowed. Reassociation and
contraction only change which intermediate results are rounded, and ``nsz`` drops the sign of zero: the loops' error bounds hold
for every order of summation.
"""

from __future__ import annotations

from pathlib import Path

from ...interface.numba_flags import Loops

#: Unit roundoff (largest relative rounding error) of double and of single precision.
EPS, EPS_SINGLE = 2.0**-53, 2.0**-24


def loops_of(folder: Path) -> Loops:
    """Return the decorators for the loops of a folder, which call one another and those of this folder."""
    return Loops({"reassoc", "contract", "nsz"}, folder, Path(__file__).parent)


_loops = loops_of(Path(__file__).parent)
#: Decorators of the loops of this folder: those that Python calls, and those that only loops call.
entry, inner = _loops.entry, _loops.inner
