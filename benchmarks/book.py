"""The book of margins: solve the planned instances that it lacks, and write its entries and its page.

    python benchmarks/book.py [--limit 5] [--only zero-one/] [--processor 900]

Instances that the book has are left as they are. Brooks's sets need MARGINOPT_DATA.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from marginopt import book
from marginopt.book.data import planned_instances
from marginopt.book.entries import load_entries, save_entries
from marginopt.book.solving import solved_entry
from marginopt.book.verification import book_page, verify_entry
from marginopt.errors import DataError

ENTRIES = Path(book.__file__).with_name("entries.jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "book.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=5.0, help="seconds a solve")
    parser.add_argument("--only", default="", help="names that begin so")
    parser.add_argument("--processor", type=float, default=900.0, help="processor seconds in all")
    a = parser.parse_args()
    entries = {entry.name: entry for entry in load_entries(ENTRIES if ENTRIES.exists() else None)}
    for k, planned in enumerate(planned_instances()):
        if planned.name in entries or not planned.name.startswith(a.only):
            continue
        if time.process_time() > a.processor:
            break
        try:
            entry = solved_entry(
                planned.name, planned.data, planned.model, planned.parameters, time_limit=a.limit, who="the marginopt developers"
            )
        except DataError as error:
            print(f"{planned.name}: {error}")
            continue
        if entry is None:
            print(f"{planned.name}: no point with a proved bound")
            continue
        verdict = verify_entry(entry)
        print(f"{verdict}, gap {entry.gap:.2g}, {entry.seconds:g} s", flush=True)
        if verdict.stands:
            entries[entry.name] = entry
        if k % 10 == 0:
            save_entries(ENTRIES, entries.values())
    save_entries(ENTRIES, entries.values())
    PAGE.write_text(book_page(load_entries(ENTRIES)), encoding="utf-8")


if __name__ == "__main__":
    main()
