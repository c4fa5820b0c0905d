"""Numba decorators `entry` and `inner` of the compiled loops of `margin-bb`, with the flags of `solvers.exact.loops`."""

from __future__ import annotations

from pathlib import Path

from ...exact.loops import loops_of

_loops = loops_of(Path(__file__).parent)
entry, inner = _loops.entry, _loops.inner
