"""How the kernels of the exact solver are compiled: flags that keep proofs valid, and one stamp for all their files.

Infinities and numbers that are none are met here, so that the flags of `solvers.interface.compiled` (``nnan``, ``arcp``) are not
allowed. Reassociation and contraction only reorder rounding: the kernels' error bounds hold for every order of summation.
"""

from __future__ import annotations

from pathlib import Path

from ...interface.compiled import Loops

__all__ = ["EPS", "entry", "inner"]

EPS = 2.0**-53
_loops = Loops({"reassoc", "contract", "nsz"}, Path(__file__).parent)
entry, inner = _loops.entry, _loops.inner
