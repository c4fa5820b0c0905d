"""A proof log as a file: one JSON object in a line, gzip where the path ends in .gz, sealed by a digest of all lines."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

from ....errors import InputError

__all__ = ["LogFile"]

#: Characters that are held back before they are written.
_HELD = 1 << 20
#: The highest levels take five times as long as the search and save a tenth.
_PACKED = 1


class LogFile:
    """Writes records as they come. The last one, the seal, is the SHA-256 of everything before it.

    Parameters
    ----------
    path : str

    Raises
    ------
    InputError
        The path cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._digest = hashlib.sha256()
        self._held: list[str] = []
        self._size = 0
        try:
            self._path.write_bytes(b"")
        except OSError as error:
            raise InputError(f"proof must be a path that can be written; {path!r} cannot: {error}") from error

    def write(self, records: list[dict[str, Any]]) -> None:
        """Append records."""
        self.write_text("".join(json.dumps(record) + "\n" for record in records))

    def write_text(self, text: str) -> None:
        """Append records that are lines of JSON already."""
        self._digest.update(text.encode())
        self._held.append(text)
        self._size += len(text)
        if self._size > _HELD:
            self._flush()

    def _flush(self) -> None:
        text, self._held, self._size = "".join(self._held), [], 0
        if self._path.suffix == ".gz":
            with gzip.open(self._path, "at", compresslevel=_PACKED) as packed:
                packed.write(text)
        else:
            with self._path.open("at") as plain:
                plain.write(text)

    def seal(self) -> None:
        """Write the seal and everything that was held back."""
        self.write([{"sha256": self._digest.hexdigest()}])
        self._flush()
