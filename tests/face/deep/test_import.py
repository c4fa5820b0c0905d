"""PyTorch is optional: nothing of marginopt imports it before it is asked for, and its absence is our error."""

from __future__ import annotations

import subprocess
import sys


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_torch_the_error_names_the_command() -> None:
    code = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Block())
import marginopt as mo
from marginopt import *
assert "deep" in dir(mo)
for ask in (lambda: mo.deep.DeepNPSVC, lambda: mo.deep):
    try:
        ask()
    except mo.errors.MissingPackageError as error:
        print(error)
"""
    lines = run(code).splitlines()
    assert len(lines) == 2
    assert all('pip install "marginopt[deep]"' in line for line in lines)


def test_torch_comes_with_the_deep_part_alone() -> None:
    code = "import sys, marginopt as mo; mo.NonparallelSVM, mo.estimators.L2SVC; print('torch' in sys.modules)"
    assert run(code).strip() == "False"
