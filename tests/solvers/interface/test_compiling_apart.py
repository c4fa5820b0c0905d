"""Seconds of compiling are no part of the seconds of solving, also where loops are compiled during the solve."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest
from numba.core import event

import marginopt as mo
from marginopt.errors import MarginoptWarning
from marginopt.solvers import Status
from marginopt.solvers.interface.compile_times import compile_clock
from marginopt.solvers.linear.newton import LinearNewton
from marginopt.solvers.zero_one.algorithm import ZeroOneBB


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


@pytest.mark.parametrize("kind", ["numba:compile", "numba:compiler_lock"])
def test_code_that_is_compiled_or_loaded_late_does_not_use_up_the_time_limit(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(30), rng.normal(size=(30, 2))])
    model = mo.ZeroOneSVM(X, np.where(X[:, 1] > rng.normal(size=30), 1.0, -1.0), 1.0)
    mo.solve(model, "zero-one-bb")
    advance, late = ZeroOneBB.advance, [0.8]

    def loading(self: ZeroOneBB, state: Any, seconds: float) -> Any:
        with event.trigger_event(kind):
            time.sleep(late.pop() if late else 0.0)
        return advance(self, state, seconds)

    monkeypatch.setattr(ZeroOneBB, "advance", loading)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarginoptWarning)
        result = mo.solve(model, "zero-one-bb", time_limit=0.7)
    assert result.status is Status.OPTIMAL and result.solve_seconds < 0.7


def test_a_compilation_longer_than_the_time_limit_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginopt.solvers.interface.compile_times.MESSAGE_DELAY", 0.01)
    monkeypatch.setattr("marginopt.solvers.interface.compile_times._line_wanted", lambda progress: False)
    for limit, expected in ((0.02, 1), (100.0, 0), (None, 0)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with compile_clock("some-solver", False) as clock, compile_clock("inner", False) as inner:
                with event.trigger_event("numba:compile"):
                    time.sleep(0.05)
                for listener in (inner, clock):
                    listener.warn_beyond(limit)
        assert [warning.category for warning in caught] == [MarginoptWarning] * expected
