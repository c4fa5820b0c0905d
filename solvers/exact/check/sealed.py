"""Reader of proof logs, plain or compressed, within a memory limit; the last line is the digest of all others."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from .arithmetic import InvalidProofError

__all__ = ["SealedLog", "lines"]

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
        """Return the allowance of a whole log."""
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


class SealedLog:
    """A log of one format whose seal fits: the last line is the SHA-256 of all others.

    The file is read once for the seal and once for each call of `records`, one line in the memory.

    Parameters
    ----------
    path : Path
    kind : str
        The format that the first record states.
    versions : tuple of int
        The versions that are read.
    streamed : bool
        Whether the records are used one by one, so that the whole of a packed log needs no limit.

    Attributes
    ----------
    header, claim : dict
        The first record, and the last one before the seal.

    Raises
    ------
    InvalidProofError
        The first record is of another format or version, the seal does not fit or is not there, the first or the last record is
        no object, or a packed log unpacks to far more than its size.
    """

    def __init__(self, path: Path, kind: str, versions: tuple[int, ...], streamed: bool = False) -> None:
        self._path = path
        allowance = None if streamed else _Allowance.of(path)
        digest = hashlib.sha256()
        first = before = last = ""
        self._lines = 0
        for line in lines(path):
            if allowance is not None:
                allowance.spend(line)
            digest.update(last.encode())
            first, before, last = first or line, last, line
            self._lines += 1
        self.header = _record(first or "{}")
        if self.header.get("format") != kind or self.header.get("version") not in versions:
            known = " or ".join(map(str, versions))
            raise InvalidProofError(f"this is not a proof log in the format {kind}, version {known}")
        seal, self.claim = _record(last), _record(before or "{}")
        if self._lines < 3 or "sha256" not in seal or "bound" not in self.claim:
            raise InvalidProofError("the log ends without its claim and its seal")
        if seal["sha256"] != digest.hexdigest():
            raise InvalidProofError("the seal does not fit: the log was changed or damaged after it was written")

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records between the header and the claim, one by one.

        Raises
        ------
        InvalidProofError
            A line is no object.
        """
        yield from map(_record, islice(lines(self._path), 1, self._lines - 2))


def _record(line: str) -> dict[str, Any]:
    record = json.loads(line)
    if not isinstance(record, dict):
        raise InvalidProofError("a line of the log is not an object")
    return record
