"""Run one function in a process of its own, and return its result with seconds and peak memory: a cell of a scale table."""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from simplex import last_line, spent

__all__ = ["growth", "in_process", "installed", "row_of", "spent", "watched"]

SCRIPT = Path(__file__).parents[1] / "scale.py"
#: Columns that a cell may fill, and how they are written.
NUMBERS = {"seconds": ".2f", "cpu": ".2f", "peak_mb": ".0f", "gap": ".1e"}


def in_process(table: str, case: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the table's ``cell`` gives for a case, in a fresh process with one thread, or why it gave nothing."""
    return last_line([str(SCRIPT), "--cell", table, json.dumps(dict(case))], 1, 3 * case["limit"] + 300)


def watched(work: Callable[[dict[str, Any], Connection], None], case: dict[str, Any]) -> dict[str, Any]:
    """The last row that some work sends, in a fork that is killed at the case's limit of processor seconds (Linux).

    A peer inside its own code hears nothing: it is looked at from outside, five times a second, with the most that it has held.
    The seconds count from the first row, which is sent once the data are there; three times as many of wall time are given, too.
    """
    ours, its = multiprocessing.get_context("fork").Pipe()
    fork = multiprocessing.get_context("fork").Process(target=work, args=(case, its))
    fork.start()
    its.close()
    begin, wall, row, held = None, 0.0, {}, 0.0
    while fork.is_alive() or ours.poll():
        try:
            row = ours.recv() if ours.poll(0.2) else row
        except EOFError:
            break
        now, held = _processor(fork.pid), max(held, _held(fork.pid))
        if row and begin is None:
            begin, wall = now, time.perf_counter()
        seconds = time.perf_counter() - wall
        if begin is not None and (now - begin > case["limit"] or seconds > 3 * case["limit"] + 60):
            fork.kill()
            fork.join()
            last = f"{row['status']} had a gap of {row['gap']:.1e}" if "gap" in row else "no tolerance ended"
            status = f"killed after {now - begin:.0f} processor s; {last}"
            return {"seconds": seconds, "cpu": now - begin, "peak_mb": held, "status": status}
    fork.join()
    return row if "gap" in row else {"status": f"failed: exit code {fork.exitcode}", "peak_mb": held}


def _processor(pid: int | None) -> float:
    """Processor seconds of a process and its threads; 0 where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _held(pid: int | None) -> float:
    """MB that a process has held at most."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def installed(packages: Mapping[str, str]) -> list[str]:
    """The peers, named as their packages are, whose module is there; it says which are not."""
    rows = [peer for peer, module in packages.items() if importlib.util.find_spec(module) is not None]
    for peer in packages.keys() - set(rows):
        print(f"{peer} is not installed: pip install {peer}")
    return rows


def row_of(first: list[str], values: Mapping[str, Any]) -> str:
    """A line of the table: what names the cell, seconds, processor seconds, MB, gap and a note."""
    numbers = [format(values[k], how) if k in values else "" for k, how in NUMBERS.items()]
    return "| " + " | ".join([*first, *numbers, values.get("status", "")[:90]]) + " |"


def growth(head: list[str], rows: Iterable[tuple[tuple[str, ...], int, float]]) -> str:
    """A table of exponents: slopes of log processor seconds over log n, for each name that ended at two sizes or more."""
    ended = list(rows)
    lines = ["", "| " + " | ".join([*head, "sizes", "processor s grow as n to the"]) + " |", "|" + "---|" * (len(head) + 2)]
    for name in dict.fromkeys(name for name, _, _ in ended):
        sizes, spends = np.array([(n, cpu) for other, n, cpu in ended if other == name]).T
        if sizes.size > 1:
            slope = np.polyfit(np.log(sizes), np.log(spends), 1)[0]
            lines.append("| " + " | ".join([*name, f"{sizes.min():,.0f} to {sizes.max():,.0f}", f"{slope:.2f}"]) + " |")
    return "\n".join(lines) if len(lines) > 3 else ""
