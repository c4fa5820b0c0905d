"""A cell of a table: some work on one problem, in a process of its own, with the most memory that it held."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["in_process", "installed", "row_of", "spent"]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
SCRIPT = Path(__file__).parents[1] / "scale.py"
#: Columns that a cell may fill, and how they are written.
NUMBERS = {"seconds": ".2f", "cpu": ".2f", "MB": ".0f", "gap": ".1e"}


def in_process(table: str, case: Mapping[str, Any]) -> dict[str, Any]:
    """What the table's ``cell`` gives for a case, in a fresh process with one thread, or why it gave nothing."""
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    command = [sys.executable, str(SCRIPT), "--cell", table, json.dumps(dict(case))]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3 * case["limit"] + 300)
    except subprocess.TimeoutExpired:
        return {"note": "stopped: far over the time limit"}
    if done.returncode:
        return {"note": (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1][:90]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def spent(begin: float, cpu: float) -> dict[str, float]:
    """Seconds since then, and the most that this process has held until now: looking at the answer comes after it."""
    seconds = {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu}
    from marginopt.models.memory import most_held

    return seconds | {"MB": most_held() / 2**20}


def installed(packages: Mapping[str, str]) -> list[str]:
    """The peers whose module is there; the others are named, with the package that brings it."""
    found = [peer for peer, module in packages.items() if importlib.util.find_spec(module) is not None]
    for peer in packages.keys() - set(found):
        print(f"{peer} is not installed: pip install {packages[peer]}")
    return found


def row_of(first: list[str], found: Mapping[str, Any]) -> str:
    """A line of the table: what names the cell, seconds, processor seconds, MB, gap and a note."""
    numbers = [format(found[k], how) if k in found else "" for k, how in NUMBERS.items()]
    return "| " + " | ".join([*first, *numbers, found.get("note", "")]) + " |"
