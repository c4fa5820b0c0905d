"""The lines of a proof log, plain or packed, within a limit; the last one seals all others."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ....files import READ_LIMIT
from .arithmetic import InvalidProofError

__all__ = ["held_records", "lines"]

#: Characters of a line of a packed log at most: ten million numbers of the data.
_LONGEST = 2**28


def lines(path: Path) -> Iterator[str]:
    """One after the other: a log may be larger than the memory, but no line of a packed one is.

    Raises
    ------
    InvalidProofError
        A line is longer: four megabytes may unpack to four gigabytes in one.
    """
    packed = path.suffix == ".gz"
    with gzip.open(path, "rt", newline="") if packed else path.open(newline="") as file:
        while line := file.readline(_LONGEST if packed else -1):
            if packed and len(line) >= _LONGEST:
                raise InvalidProofError(f"a line unpacks to {_LONGEST:,} characters or more: unpack it yourself")
            yield line


def held_records(path: Path, kind: str, versions: tuple[int, ...]) -> list[dict[str, Any]]:
    """All records but the seal, which fits: it is the SHA-256 of their lines.

    Raises
    ------
    InvalidProofError
        The first record is of another format or version, the seal does not fit or is not there, a line is no object, or a packed
        log unpacks to more than `READ_LIMIT`.
    """
    held: list[str] = []
    size = 0
    for line in lines(path):
        held.append(line)
        size += len(line)
        if path.suffix == ".gz" and size > READ_LIMIT:
            raise InvalidProofError(f"the log unpacks to more than {READ_LIMIT:,} characters: unpack it yourself")
    parsed = [json.loads(line) for line in held]
    if not all(isinstance(record, dict) for record in parsed):
        raise InvalidProofError("a line of the log is not an object")
    if not parsed or parsed[0].get("format") != kind or parsed[0].get("version") not in versions:
        raise InvalidProofError(f"this is not a proof log in the format {kind}, version {' or '.join(map(str, versions))}")
    if len(parsed) < 3 or "sha256" not in parsed[-1] or "bound" not in parsed[-2]:
        raise InvalidProofError("the log ends without its claim and its seal")
    if parsed[-1]["sha256"] != hashlib.sha256("".join(held[:-1]).encode()).hexdigest():
        raise InvalidProofError("the seal does not fit: the log was changed or damaged after it was written")
    return parsed[:-1]
