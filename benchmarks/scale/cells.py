"""A cell of a table: some work on one problem, in a process of its own, with the most memory that it held."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from simplex import last_line, spent

__all__ = ["growth", "in_process", "installed", "row_of", "spent"]

SCRIPT = Path(__file__).parents[1] / "scale.py"
#: Columns that a cell may fill, and how they are written.
NUMBERS = {"seconds": ".2f", "cpu": ".2f", "peak_mb": ".0f", "gap": ".1e"}


def in_process(table: str, case: Mapping[str, Any]) -> dict[str, Any]:
    """What the table's ``cell`` gives for a case, in a fresh process with one thread, or why it gave nothing."""
    return last_line([str(SCRIPT), "--cell", table, json.dumps(dict(case))], 1, 3 * case["limit"] + 300)


def installed(packages: Mapping[str, str]) -> list[str]:
    """The peers, named as their packages are, whose module is there; it says which are not."""
    found = [peer for peer, module in packages.items() if importlib.util.find_spec(module) is not None]
    for peer in packages.keys() - set(found):
        print(f"{peer} is not installed: pip install {peer}")
    return found


def row_of(first: list[str], found: Mapping[str, Any]) -> str:
    """A line of the table: what names the cell, seconds, processor seconds, MB, gap and a note."""
    numbers = [format(found[k], how) if k in found else "" for k, how in NUMBERS.items()]
    return "| " + " | ".join([*first, *numbers, found.get("status", "")[:90]]) + " |"


def growth(head: list[str], found: Iterable[tuple[tuple[str, ...], int, float]]) -> str:
    """A table of exponents: slopes of log processor seconds over log n, for each name that ended at two sizes or more."""
    ended = list(found)
    lines = ["", "| " + " | ".join([*head, "sizes", "processor s grow as n to the"]) + " |", "|" + "---|" * (len(head) + 2)]
    for name in dict.fromkeys(name for name, _, _ in ended):
        sizes, spends = np.array([(n, cpu) for other, n, cpu in ended if other == name]).T
        if sizes.size > 1:
            slope = np.polyfit(np.log(sizes), np.log(spends), 1)[0]
            lines.append("| " + " | ".join([*name, f"{sizes.min():,.0f} to {sizes.max():,.0f}", f"{slope:.2f}"]) + " |")
    return "\n".join(lines) if len(lines) > 3 else ""
