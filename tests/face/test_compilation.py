"""Compiling ahead of time, timed apart from solving and said where somebody waits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from facts import about

import marginopt as mo
from marginopt.cli.main import main
from marginopt.compilation import compiled_solvers, example_models
from marginopt.errors import WriteError
from marginopt.solvers.interface.compile_times import CompileClock, _in_notebook, compile_clock

_FRESH = """
import json, sys
import numpy as np
import marginopt as mo
model = mo.BoxProgram(np.eye(2), np.array([1.0, -2.0]), np.zeros(2), np.ones(2), np.ones(2))
first, again = (mo.solve(model, "boxqp") for _ in range(2))
print(json.dumps([[r.status.name, r.compile_seconds, r.build_seconds] for r in (first, again)]))
print(first, file=sys.stderr)
"""


def test_what_has_no_compiled_loops_is_refused() -> None:
    with pytest.raises(mo.errors.InputError, check=about("solvers")):
        mo.warm_up("clarabel")
    with pytest.raises(mo.errors.InputError, check=about("zero-one-b")):
        mo.warm_up("zero-one-b")


def test_every_solver_with_loops_has_an_example_or_shares_them() -> None:
    """Those without a formulation of their own run on the loops of one that has."""
    bare = {name for name, solver in compiled_solvers().items() if not example_models(solver)}
    assert bare <= {"npsvc-mm"}  # on boxqp's


def test_the_command_tells_the_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warm-up", "boxqp", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert list(output) == ["boxqp"] and output["boxqp"] >= 0.0
    assert mo.warm_up("boxqp")["boxqp"] < 0.05  # nothing is left


def test_compiling_is_counted_by_itself_and_once(tmp_path: Path) -> None:
    """In a fresh cache the first run compiles, the second does not; building is what is left."""
    process = subprocess.run(
        [sys.executable, "-c", _FRESH],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    first, again = json.loads(process.stdout)
    assert first[0] == again[0] == "OPTIMAL"
    assert first[1] > 0.05 and again[1] == 0.0
    assert process.stderr
    assert any(tmp_path.rglob("*.nbi"))  # kept where the cache is


def test_a_line_where_progress_is_asked_for(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginopt.solvers.interface.compile_times.MESSAGE_DELAY", 0.0)
    for progress in (False, True):
        with compile_clock("some-solver", progress) as clock, compile_clock("inner", progress) as inner:
            for listener in (clock, inner):
                listener.on_start(None)
                listener.on_start(None)
                listener.on_end(None)
                listener.on_end(None)
        assert clock.seconds > 0.0
        output = capsys.readouterr().err
        assert ("some-solver" in output) is progress
        assert "inner" not in output  # solvers that call others have one line
    assert CompileClock.outermost is None


def test_how_long_it_takes_is_said_for_this_machine_and_no_longer_when_it_was_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("marginopt.solvers.interface.compile_times.MESSAGE_DELAY", 0.0)
    monkeypatch.setattr("marginopt.solvers.interface.compile_times.machine_slowdown", lambda: 2.0)
    for usual, expected in ((100.0, True), (1e-9, False), (0.0, False)):
        with compile_clock("some-solver", True, usual) as clock:
            clock.on_start(None)
            clock.on_end(None)
        shown = capsys.readouterr().err
        assert ("200 s" in shown) is expected and "1 function," in shown


def test_a_kernel_that_is_only_imported_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = type("ZMQInteractiveShell", (), {})()
    for inside in (None, shell):
        monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda result=inside: result))
        assert _in_notebook() is (inside is not None)


def test_warming_up_says_where_nothing_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginopt.code_cache.CodeCache.on_disk", False)
    with pytest.raises(WriteError):
        mo.warm_up("boxqp")
