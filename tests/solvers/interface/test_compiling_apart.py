"""Seconds of compiling are no part of the seconds of solving, also where loops are compiled during the solve."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from numba.core import event

import marginopt as mo
from marginopt.solvers.linear.newton import LinearNewton


def test_loops_that_are_compiled_late_do_not_count_as_solving(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(30), rng.normal(size=(30, 2))])
    model = mo.HingeSVM(X, np.where(X[:, 1] > 0.0, 1.0, -1.0), 1.0)
    mo.solve(model, "linear-newton")  # whatever is there to compile
    advance, late = LinearNewton.advance, [0.5]

    def compiling(self: LinearNewton, state: Any, seconds: float) -> Any:
        with event.trigger_event("numba:compile"):
            time.sleep(late.pop() if late else 0.0)
        return advance(self, state, seconds)

    monkeypatch.setattr(LinearNewton, "advance", compiling)
    begin = time.perf_counter()
    result = mo.solve(model, "linear-newton")
    whole = time.perf_counter() - begin
    assert result.compile_seconds >= 0.5
    assert result.solve_seconds <= whole - 0.5
