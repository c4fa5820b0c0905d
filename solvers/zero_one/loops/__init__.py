"""Compiled loops of `zero-one-bb`, and the decorators that compile them with the flags of `solvers.exact.loops`."""

from __future__ import annotations

from pathlib import Path

from ...exact.loops import loops_of

_loops = loops_of(Path(__file__).parent)
#: Decorators that compile a loop which Python calls, and one which only loops call.
entry, inner = _loops.entry, _loops.inner
