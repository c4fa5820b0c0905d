"""Write the pages on which a reader's browser verifies entries of the book; each solves its instance anew for the log."""

from __future__ import annotations

import tempfile
from pathlib import Path

from marginopt import book, proofs
from marginopt.book import proof_page_path


def write_all(folder: Path) -> list[Path]:
    """Write the pages of all entries of the book that have one into a folder; return their paths."""
    pages = []
    for entry in book.load_entries():
        name = proof_page_path(entry)
        if name:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            pages.append(write_page(entry, path))
    return pages


def write_page(entry: book.Entry, path: Path) -> Path:
    """Solve the instance of an entry, write the page with its proof log to ``path``, and return the path."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl.gz"
        book.run_entry(entry, proof=log)
        return proofs.write_proof_page(log, path, title=entry.name)
