"""Entries of the book of margins are instances that `benchmarks/book.py` plans."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from marginopt.book.entries import load_entries
from marginopt.instances import DATA_VARIABLE

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import book

_FILES = all((Path(os.environ.get(DATA_VARIABLE, "")) / folder).is_dir() for folder in ("slim", "fairness"))


def plan(files: bool) -> dict[str, dict[str, object]]:
    """Return data, model and parameters of the planned instances by name, as JSON has them."""
    instances = [json.loads(json.dumps(asdict(instance))) for instance in book.planned_instances(files)]
    for instance in instances:
        del instance["solver"]  # the one that the plan takes, which an entry need not have been proved by
    assert len({instance["name"] for instance in instances}) == len(instances)
    return {instance.pop("name"): instance for instance in instances}


@pytest.mark.parametrize(
    "files", [False, pytest.param(True, marks=pytest.mark.skipif(not _FILES, reason="needs slim/ and fairness/"))]
)
def test_entries_state_the_planned_instances(files: bool) -> None:
    """The digest of the data is compared where entries are verified, with that of the data stated here."""
    planned = plan(files)
    entries = [entry for entry in load_entries() if files or entry.model not in ("scoring", "balanced")]
    stated = {e.name: {"data": dict(e.data), "model": e.model, "parameters": dict(e.parameters)} for e in entries}
    assert len(stated) > 600
    assert stated == {name: planned.get(name) for name in stated}
