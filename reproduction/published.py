"""The published figures: CSV files of this package, facts as printed."""

from __future__ import annotations

import csv
import functools
from pathlib import Path

__all__ = ["published"]


@functools.cache
def published(name: str) -> tuple[dict[str, str], ...]:
    """The rows of ``facts/<name>.csv``, words as printed."""
    text = (Path(__file__).parent / "facts" / f"{name}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))
