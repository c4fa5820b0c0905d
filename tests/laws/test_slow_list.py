"""The list of slow tests names tests, or files, that exist: one that was renamed would come back to ``make quick`` unseen."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def functions(path: Path) -> set[str]:
    """Names of the test functions of a file; of methods with their class."""
    names, owner = set(), ""
    for kind, name in re.findall(r"^(class|def|    def) (\w+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
        owner = {"class": name, "def": ""}.get(kind, owner)
        if kind != "class":
            names.add(f"{owner}::{name}" if kind.startswith(" ") and owner else name)
    return names


def test_every_slow_test_exists() -> None:
    listed = (ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").split()
    assert listed
    gone = []
    for line in listed:
        file, _, name = line.partition("::")
        path = ROOT / file
        if not path.exists() or (name and name not in functions(path)):
            gone.append(line)
    assert not gone, "make durations writes the list anew"
