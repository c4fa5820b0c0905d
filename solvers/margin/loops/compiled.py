"""Numba decorators of the compiled loops of `margin-bb`: the flags and the cache of `solvers.exact.loops`."""

from __future__ import annotations

from pathlib import Path

from ...exact.loops import loops_of

_loops = loops_of(Path(__file__).parent)
entry, inner = _loops.entry, _loops.inner
