"""The memory that a process has held is its own."""

import subprocess
import sys

CHILD = "from marginopt.models.arrays import peak_memory; print(peak_memory())"
PARENT = f"""
import subprocess, sys
from marginopt.models.arrays import peak_memory
held = b"1" * (1 << 29)
print(subprocess.run([sys.executable, "-c", {CHILD!r}], capture_output=True, text=True, check=True).stdout, peak_memory())
"""


def test_what_another_process_held_does_not_count() -> None:
    """A process that holds 512 MiB starts one that holds little."""
    process = subprocess.run([sys.executable, "-c", PARENT], capture_output=True, text=True, check=True).stdout
    child, parent = map(int, process.split())
    assert 1 << 20 < child < 1 << 28 < parent
