"""The lines of a proof log, plain or packed, within a limit; the last one seals all others."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .arithmetic import InvalidProofError

__all__ = ["held_records", "lines"]

#: What a packed log may unpack to in the memory: so many characters and JSON values (at most 72 bytes each), whatever its size,
#: and for each byte of its file. Logs have two characters for each byte, and matrices of zeros and ones twenty.
_CHARACTERS, _VALUES = (2**22, 64), (10**6, 8)
#: What begins a value in a line of JSON.
_BEGINS = (",", "[", "{")


@dataclass
class _Allowance:
    """The share of a log that may still be held in memory: without limits for a plain one, which is as large as its file."""

    characters: float
    values: float

    @classmethod
    def of(cls, path: Path) -> _Allowance:
        """Return that of a whole log."""
        if path.suffix != ".gz":
            return cls(math.inf, math.inf)
        size = path.stat().st_size
        return cls(*(base + share * size for base, share in (_CHARACTERS, _VALUES)))

    def spend(self, line: str) -> None:
        """Take a line.

        Raises
        ------
        InvalidProofError
            The log has more characters or values than are allowed.
        """
        self.characters -= len(line)
        self.values -= sum(line.count(mark) for mark in _BEGINS) if self.values < math.inf else 0
        if min(self.characters, self.values) < 0:
            raise InvalidProofError("the log unpacks to far more than its size: unpack it yourself, if you trust it")


def lines(path: Path) -> Iterator[str]:
    """One after the other: a log may be larger than the memory, but no line of a packed one is.

    Raises
    ------
    InvalidProofError
        A line holds more than a packed log of this size may hold in all: 61 kilobytes can unpack to two gigabytes.
    """
    whole, packed = _Allowance.of(path), path.suffix == ".gz"
    with gzip.open(path, "rt", newline="", encoding="utf-8") if packed else path.open(newline="", encoding="utf-8") as file:
        while line := file.readline(int(whole.characters) + 1 if packed else -1):
            replace(whole).spend(line)
            yield line


def held_records(path: Path, kind: str, versions: tuple[int, ...]) -> list[dict[str, Any]]:
    """All records but the seal, which fits: it is the SHA-256 of their lines.

    Raises
    ------
    InvalidProofError
        The first record is of another format or version, the seal does not fit or is not there, a line is no object, or a packed
        log unpacks to far more than its size.
    """
    records: list[str] = []
    allowance = _Allowance.of(path)
    for line in lines(path):
        allowance.spend(line)
        records.append(line)
    parsed = [json.loads(line) for line in records]
    if not all(isinstance(record, dict) for record in parsed):
        raise InvalidProofError("a line of the log is not an object")
    if not parsed or parsed[0].get("format") != kind or parsed[0].get("version") not in versions:
        raise InvalidProofError(f"this is not a proof log in the format {kind}, version {' or '.join(map(str, versions))}")
    if len(parsed) < 3 or "sha256" not in parsed[-1] or "bound" not in parsed[-2]:
        raise InvalidProofError("the log ends without its claim and its seal")
    if parsed[-1]["sha256"] != hashlib.sha256("".join(records[:-1]).encode()).hexdigest():
        raise InvalidProofError("the seal does not fit: the log was changed or damaged after it was written")
    return parsed[:-1]
