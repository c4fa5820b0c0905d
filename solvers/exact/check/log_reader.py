"""Reader of proof logs for the checkers: verifies a log's seal, the SHA-256 in its last line, and yields its records one by one.

A log is plain text or gzip. The unpacked size is limited, since a small file can unpack to gigabytes.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from .arithmetic import InvalidProofError

#: Characters, and JSON values (at most 72 bytes each), to which a packed log may unpack: a base, and a number for each byte
#: of its file. Logs have two characters for each byte, and matrices of zeros and ones twenty.
_CHARACTERS, _VALUES = (2**22, 64), (10**6, 8)
#: Characters that begin a value in a line of JSON.
_BEGINS = (",", "[", "{")


@dataclass
class _Allowance:
    """The characters and JSON values that a packed log may still unpack to."""

    characters: int
    values: int

    @classmethod
    def of(cls, path: Path) -> _Allowance:
        """Return the allowance of a whole log."""
        size = path.stat().st_size
        return cls(*(base + share * size for base, share in (_CHARACTERS, _VALUES)))

    def spend(self, line: str) -> None:
        """Subtract a line; raise InvalidProofError if the allowance is exceeded."""
        self.characters -= len(line)
        self.values -= sum(line.count(mark) for mark in _BEGINS)
        if min(self.characters, self.values) < 0:
            raise InvalidProofError("the log unpacks to far more than its size: unpack it yourself, if you trust it")


def log_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a log, plain or packed; a line of a packed log must stay within the limits of a whole log of this size.

    Raises
    ------
    InvalidProofError
        A line holds more than a packed log of this size may hold in all: 61 packed kilobytes can take two gigabytes of memory
        once their JSON values are parsed.
    """
    if path.suffix != ".gz":
        with path.open(newline="", encoding="utf-8") as file:
            yield from file
        return
    allowance = _Allowance.of(path)
    with gzip.open(path, "rt", newline="", encoding="utf-8") as file:
        while line := file.readline(allowance.characters + 1):
            replace(allowance).spend(line)
            yield line


class SealedLog:
    """A log of one format whose seal has been verified: its last line is the SHA-256 of all lines before it.

    The file is read once for the seal and once for each call of `records`, one line in the memory.

    Parameters
    ----------
    path : Path
        Path of the file, packed by gzip if it ends in .gz.
    kind : str
        The format that the first record states.
    versions : tuple of int
        The versions that are read.
    streamed : bool
        Whether the records are used one by one; then only the lines of a packed log are limited in size, not the whole.
    cited : sequence of path-like
        Files of logs that this log may cite. Other cited logs are searched in the log's folder.

    Attributes
    ----------
    header, claim : dict
        The first record, and the last one before the seal.

    Raises
    ------
    InvalidProofError
        The first record is of another format or version, the seal does not fit or is not there, the claim states no bound, the
        header, the claim or the seal is not a JSON object, or a packed log unpacks to far more than its size.
    json.JSONDecodeError
        The header, the claim or the seal is not JSON.
    """

    def __init__(
        self, path: Path, kind: str, versions: tuple[int, ...], streamed: bool = False, cited: Sequence[str | Path] = ()
    ) -> None:
        self._path, self._kind, self._versions, self._streamed, self._cited = path, kind, versions, streamed, tuple(cited)
        #: Problem and proved bound of each cited log that has been verified, by SHA-256.
        self.proved: dict[str, Any] = {}
        allowance = None if streamed or path.suffix != ".gz" else _Allowance.of(path)
        digest = hashlib.sha256()
        first = before = last = ""
        self._lines = 0
        for line in log_lines(path):
            if allowance is not None:
                allowance.spend(line)
            digest.update(last.encode())
            first, before, last = first or line, last, line
            self._lines += 1
        self.header = _record(first or "{}")
        if self.header.get("format") != kind or self.header.get("version") not in versions:
            version_list = " or ".join(map(str, versions))
            raise InvalidProofError(f"this is not a proof log in the format {kind}, version {version_list}")
        seal, self.claim = _record(last), _record(before or "{}")
        if self._lines < 3 or "sha256" not in seal or "bound" not in self.claim:
            raise InvalidProofError("the log ends without its claim and its seal")
        if seal["sha256"] != digest.hexdigest():
            raise InvalidProofError("the seal does not fit: the log was changed or damaged after it was written")

    def cited_log(self, name: str, sha256: str) -> SealedLog:
        """Return a cited log: the first file with this SHA-256 among the given ones and that of this name in this log's folder.

        Raises
        ------
        InvalidProofError
            No such file has this SHA-256, or the file is not a sealed log of this format.
        """
        sibling = self._path.with_name(Path(name).name)
        for path in (*map(Path, self._cited), sibling):
            if path.is_file() and file_sha256(path) == sha256:
                log = SealedLog(path, self._kind, self._versions, self._streamed, self._cited)
                log.proved = self.proved
                return log
        state = "has another digest" if sibling.is_file() else "is not beside it"
        raise InvalidProofError(
            f"the cited log {Path(name).name} (sha256 {sha256[:16]}) {state}: give the cited logs, cited=[...]"
        )

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records between the header and the claim, one by one.

        Raises
        ------
        InvalidProofError
            A line is JSON, but not an object.
        json.JSONDecodeError
            A line is not JSON.
        """
        yield from map(_record, islice(log_lines(self._path), 1, self._lines - 2))


def stated_bound(path: str | Path) -> float:
    """Return the lower bound that a log claims, without verifying it; -inf if the file claims none."""
    try:
        claim, _seal = deque(log_lines(Path(path)), maxlen=2)
        bound = float(json.loads(claim)["bound"])
    except Exception:  # noqa: BLE001 - a file may be wrong in every way
        return -math.inf
    return bound if math.isfinite(bound) else -math.inf


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; raise OSError if it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _record(line: str) -> dict[str, Any]:
    record = json.loads(line)
    if not isinstance(record, dict):
        raise InvalidProofError("a line of the log is not an object")
    return record
