"""Words of the lines of an MPS file: between blanks, or in the fixed columns of the format's first version.

Old files have blanks in names, which only their columns tell apart: a line of ROWS that has not two words, or one of COLUMNS
that has neither three nor five, says that the whole file is of that kind.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["words_of"]

#: Where each of the six fields begins and ends.
_FIELDS = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))
#: Numbers of words that lines have where no name has a blank.
_WORDS = {"ROWS": (2,), "COLUMNS": (3, 5)}


def words_of(text: str) -> Callable[[str], list[str]]:
    """What takes a line of this file apart."""
    section = ""
    for raw in text.splitlines():
        if not raw.strip() or raw.startswith("*"):
            continue
        if not raw[0].isspace():
            section = raw.split()[0].upper()
        elif section in _WORDS and len(raw.split()) not in _WORDS[section]:
            return _fixed
    return str.split


def _fixed(raw: str) -> list[str]:
    """The fields in fixed columns, without empty ones."""
    fields = (raw[start:stop].strip() for start, stop in _FIELDS)
    return [field for field in fields if field]
