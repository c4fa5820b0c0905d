"""Compilation flags of the exact solver's kernels, which keep proofs valid, and one cache stamp for all their files.

The kernels handle infinities and NaN, so the flags ``nnan`` and ``arcp`` of `solvers.interface.numba_flags` are not allowed.
Reassociation and contraction only reorder rounding: the kernels' error bounds hold for every order of summation.
"""

from __future__ import annotations

from pathlib import Path

from ...interface.numba_flags import Loops

__all__ = ["EPS", "entry", "inner"]

EPS = 2.0**-53
_loops = Loops({"reassoc", "contract", "nsz"}, Path(__file__).parent)
entry, inner = _loops.entry, _loops.inner
