"""Compiled code on disk is fresh only where no file of its folder has changed."""

import os
import subprocess
import sys

COMPILED = """
from pathlib import Path

from marginopt.solvers.interface.compiled import Loops

loops = Loops({"contract"}, Path(__file__).parent)
"""
CALLER = "from .compiled import loops\nfrom .callee import twice\n\n@loops.entry\ndef run(x):\n    return twice(x)\n"
CALLEE = "from .compiled import loops\n\n\n@loops.inner\ndef twice(x: float) -> float:\n    return {factor} * x\n"


def test_an_edit_in_a_callee_is_seen_by_its_callers(tmp_path):
    package = tmp_path / "kernels"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "compiled.py").write_text(COMPILED)
    (package / "caller.py").write_text(CALLER)
    for factor in ("2.0", "3.0"):
        (package / "callee.py").write_text(CALLEE.format(factor=factor))
        command = [sys.executable, "-c", "from kernels.caller import run; print(run(1.0))"]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
        assert done.stdout.strip() == factor
    assert list((tmp_path / "cache").rglob("*.nbi"))
