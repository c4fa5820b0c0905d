"""How the loops of this folder are compiled: infinities are met here."""

from __future__ import annotations

from pathlib import Path

from ...interface.compiled import Loops

__all__ = ["entry", "inner"]

_loops = Loops({"reassoc", "contract", "nsz"}, Path(__file__).parent)
entry, inner = _loops.entry, _loops.inner
