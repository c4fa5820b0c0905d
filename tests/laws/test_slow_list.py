"""The list of slow tests names tests, or files, that exist: one that was renamed would come back to ``make quick`` unseen."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def functions(path: Path) -> set[str]:
    """Names of the test functions of a file; of methods with their class."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return names | {f"{c.name}::{f.name}" for c in classes for f in c.body if isinstance(f, ast.FunctionDef)}


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
