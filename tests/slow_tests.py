"""Which tests are slow, by measured time: reads pytest's table of durations and writes ``slow.txt``, one function a line.

``make durations`` runs it. A function's time is that of all its cases together; what takes `LIMIT` seconds or more is slow.
A module's fixture that is slow to set up is named by hand and kept: its time is charged to whichever test asks first. So is a
file whose imports are slow (PyTorch's): they are charged to nobody.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

#: Seconds of all cases of one test function: what is left takes a minute.
LIMIT = 0.15
LISTED = Path(__file__).with_name("slow.txt")
_ROW = re.compile(r"^\s*([0-9.]+)s (?:call|setup|teardown)\s+(\S+?::[^\[\s]+)")


def totals(lines: Iterable[str]) -> Counter[str]:
    """Seconds by test function, from the lines that ``pytest --durations=0`` prints."""
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
