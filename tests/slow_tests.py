"""Script of ``make durations``: reads pytest's table of durations and writes the slow tests to ``slow.txt``, one a line.

A test function is slow if all its cases together take `LIMIT` seconds or more. Slow fixtures of modules and files with slow
imports (PyTorch's) are added to slow.txt by hand and kept: pytest counts the time of a fixture with the first test that uses it,
and that of imports with none.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

#: Seconds from which on a test function is slow; all others together take a minute.
LIMIT = 0.15
#: The file of slow tests.
LISTED = Path(__file__).with_name("slow.txt")
_ROW = re.compile(r"^\s*([0-9.]+)s (?:call|setup|teardown)\s+(\S+?::[^\[\s]+)")


def totals(lines: Iterable[str]) -> Counter[str]:
    """Return the seconds of each test function, from the lines that ``pytest --durations=0`` prints."""
    seconds: Counter[str] = Counter()
    for line in lines:
        row = _ROW.match(line)
        if row:
            seconds[row[2]] += float(row[1])  # type: ignore[assignment]
    return seconds


def main(path: str) -> None:
    """Write slow.txt from a table of durations."""
    measured = totals(Path(path).read_text(encoding="utf-8").splitlines())
    by_hand = {name for name in LISTED.read_text(encoding="utf-8").split() if not name.split("::")[-1].startswith("test_")}
    slow = sorted(by_hand | {name for name, seconds in measured.items() if seconds >= LIMIT})
    LISTED.write_text("".join(f"{name}\n" for name in slow), encoding="utf-8")
    print(f"{len(slow)} functions of {LIMIT} s or more, {sum(measured[n] for n in slow):.0f} of {sum(measured.values()):.0f} s")


if __name__ == "__main__":
    main(sys.argv[1])
