"""The kernels' compiled code on disk is fresh only where none of their files has changed."""

import os
import subprocess
import sys
from pathlib import Path

from marginopt.solvers.zero_one.kernels import compiled

CALLER = "from .compiled import entry\nfrom .callee import twice\n\n\n@entry\ndef run(x: float) -> float:\n    return twice(x)\n"
CALLEE = "from .compiled import inner\n\n\n@inner\ndef twice(x: float) -> float:\n    return {factor} * x\n"


def test_an_edit_in_a_callee_is_seen_by_its_callers(tmp_path):
    package = tmp_path / "kernels"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "compiled.py").write_text(Path(compiled.__file__).read_text(encoding="utf-8"))
    (package / "caller.py").write_text(CALLER)
    for factor in ("2.0", "3.0"):
        (package / "callee.py").write_text(CALLEE.format(factor=factor))
        command = [sys.executable, "-c", "from kernels.caller import run; print(run(1.0))"]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
        assert done.stdout.strip() == factor
    assert list((tmp_path / "cache").rglob("*.nbi"))
