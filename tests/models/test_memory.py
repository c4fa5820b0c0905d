"""What a process has held is its own."""

import subprocess
import sys

from marginopt.models.memory import most_held

CHILD = "from marginopt.models.memory import most_held; print(most_held())"
PARENT = f"""
import subprocess, sys
held = b"1" * (1 << 30)
print(subprocess.run([sys.executable, "-c", {CHILD!r}], capture_output=True, text=True, check=True).stdout)
"""


def test_what_another_process_held_does_not_count() -> None:
    """A process that holds 1 GiB starts one that holds little."""
    told = subprocess.run([sys.executable, "-c", PARENT], capture_output=True, text=True, check=True).stdout
    assert 1 << 20 < int(told) < 1 << 30


def test_what_was_held_counts() -> None:
    before = most_held()
    assert len(b"1" * (before + (64 << 20))) < most_held()
