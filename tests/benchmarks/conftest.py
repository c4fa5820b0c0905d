"""Scripts of benchmarks/ run in the tests' process: most of what one costs as a process is to import the packages."""

from __future__ import annotations

import runpy
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def run_benchmark(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Callable[..., str]]:
    """Give a function that runs a script, by name and words, in the test's folder, and returns what its processes print."""
    imported = set(sys.modules)

    def run(script: str, *words: str) -> str:
        monkeypatch.setattr(sys, "argv", [script, *words])
        capfd.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runpy.run_path(str(FOLDER / script), run_name="__main__")
        return capfd.readouterr().out

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(FOLDER))
    yield run
    for name in set(sys.modules) - imported:  # other scripts have modules of the same names
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(FOLDER)):
            del sys.modules[name]
