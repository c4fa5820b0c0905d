"""PyTorch is optional: nothing of marginopt imports it before it is asked for, and its absence is our error."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys
import marginopt as mo
mo.NonparallelSVM, mo.estimators.L2SVC
print("torch" in sys.modules)
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Block())
from marginopt import *
assert "deep" in dir(mo)
for ask in (lambda: mo.deep.DeepNPSVC, lambda: mo.deep):
    try:
        ask()
    except mo.errors.MissingPackageError as error:
        print(error)
"""


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """Of a fresh process: whether PyTorch came with the rest, and the errors without it."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", CODE], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_without_torch_the_error_names_the_command(lines: list[str]) -> None:
    assert len(lines) == 3
    assert all('pip install "marginopt[deep]"' in line for line in lines[1:])


def test_torch_comes_with_the_deep_part_alone(lines: list[str]) -> None:
    assert lines[0] == "False"
