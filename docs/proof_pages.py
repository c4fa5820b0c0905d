"""The pages of the site on which a reader's browser verifies entries of the book, by logs that are made anew."""

from __future__ import annotations

import tempfile
from pathlib import Path

from marginopt import book, proofs
from marginopt.book import proof_page_path


def write(folder: Path) -> list[Path]:
    """Write the page of each entry that has one; return their paths."""
    pages = []
    for entry in book.load_entries():
        name = proof_page_path(entry)
        if name:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            pages.append(write_page(entry, path))
    return pages


def write_page(entry: book.Entry, path: Path) -> Path:
    """Solve an instance, and write the page of its log."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl.gz"
        book.run_entry(entry, proof=log)
        return proofs.write_proof_page(log, path, title=entry.name)
