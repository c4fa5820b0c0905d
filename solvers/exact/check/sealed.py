"""Reader of proof logs, plain or compressed, within a memory limit; the last line is the digest of all others."""

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

#: What a packed log may unpack to in the memory: so many characters and JSON values (at most 72 bytes each), whatever its size,
#: and for each byte of its file. Logs have two characters for each byte, and matrices of zeros and ones twenty.
_CHARACTERS, _VALUES = (2**22, 64), (10**6, 8)
#: What begins a value in a line of JSON.
_BEGINS = (",", "[", "{")


@dataclass
class _Allowance:
    """The share of a packed log that may still be held in memory."""

    characters: int
    values: int

    @classmethod
    def of(cls, path: Path) -> _Allowance:
        """Return the allowance of a whole log."""
        size = path.stat().st_size
        return cls(*(base + share * size for base, share in (_CHARACTERS, _VALUES)))

    def spend(self, line: str) -> None:
        """Take a line."""
        self.characters -= len(line)
        self.values -= sum(line.count(mark) for mark in _BEGINS)
        if min(self.characters, self.values) < 0:
            raise InvalidProofError("the log unpacks to far more than its size: unpack it yourself, if you trust it")


def lines(path: Path) -> Iterator[str]:
    """Yield the lines one after the other: a log may be larger than the memory, but no line of a packed one is.

    Raises
    ------
    InvalidProofError
        A line holds more than a packed log of this size may hold in all: 61 kilobytes can unpack to two gigabytes.
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
    cited : sequence of path-like
        Files of logs that this one may cite. Others are looked for beside it.

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

    def __init__(
        self, path: Path, kind: str, versions: tuple[int, ...], streamed: bool = False, cited: Sequence[str | Path] = ()
    ) -> None:
        self._path, self._kind, self._versions, self._streamed, self._cited = path, kind, versions, streamed, tuple(cited)
        #: What was proved by cited logs, by digest: a log that several logs cite is verified once.
        self.proved: dict[str, Any] = {}
        allowance = None if streamed or path.suffix != ".gz" else _Allowance.of(path)
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
            version_list = " or ".join(map(str, versions))
            raise InvalidProofError(f"this is not a proof log in the format {kind}, version {version_list}")
        seal, self.claim = _record(last), _record(before or "{}")
        if self._lines < 3 or "sha256" not in seal or "bound" not in self.claim:
            raise InvalidProofError("the log ends without its claim and its seal")
        if seal["sha256"] != digest.hexdigest():
            raise InvalidProofError("the seal does not fit: the log was changed or damaged after it was written")

    def cited_log(self, name: str, sha256: str) -> SealedLog:
        """Return a log that this one cites: a given file of this digest, or the file of this name beside this log."""
        sibling = self._path.with_name(Path(name).name)
        for path in (*map(Path, self._cited), sibling):
            if path.is_file() and digest_of(path) == sha256:
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
            A line is no object.
        """
        yield from map(_record, islice(lines(self._path), 1, self._lines - 2))


def stated_bound(path: str | Path) -> float:
    """Return the lower bound that a log claims, without verifying it; -inf where the file states none."""
    try:
        claim, _seal = deque(lines(Path(path)), maxlen=2)
        bound = float(json.loads(claim)["bound"])
    except Exception:  # noqa: BLE001 - a file may be wrong in every way
        return -math.inf
    return bound if math.isfinite(bound) else -math.inf


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file; raise OSError if it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _record(line: str) -> dict[str, Any]:
    record = json.loads(line)
    if not isinstance(record, dict):
        raise InvalidProofError("a line of the log is not an object")
    return record
