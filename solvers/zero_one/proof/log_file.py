"""A proof log as a file: one JSON object in a line, gzip where the path ends in .gz, sealed by a digest of all lines."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

from ....errors import WriteError
from ....files import whole_file

__all__ = ["LogFile"]

#: Characters that are held back before they are written.
_HELD = 1 << 20
#: The highest levels take five times as long as the search and save a tenth.
_PACKED = 1


class LogFile:
    """Writes records as they come. The last one, the seal, is the SHA-256 of everything before it.

    The file is there once it is sealed and not before; a search that ends otherwise leaves what was there. A disk that fills
    raises nothing in the midst of the search: `fault` says so, and what is written after it is dropped.

    Parameters
    ----------
    path : str

    Attributes
    ----------
    fault : WriteError or None
        Why nothing will be at the path.

    Raises
    ------
    WriteError
        The path cannot be written.
    """

    def __init__(self, path: str) -> None:
        self.fault: WriteError | None = None
        self._digest = hashlib.sha256()
        self._held: list[str] = []
        self._size = 0
        self._target = whole_file(path)
        self._file = self._target.__enter__()
        self._packed = gzip.GzipFile(fileobj=self._file, mode="wb", compresslevel=_PACKED) if Path(path).suffix == ".gz" else None

    def write(self, records: list[dict[str, Any]]) -> None:
        """Append records."""
        self.write_text("".join(json.dumps(record) + "\n" for record in records))

    def write_text(self, text: str) -> None:
        """Append records that are lines of JSON already."""
        if self.fault is not None:
            return
        self._digest.update(text.encode())
        self._held.append(text)
        self._size += len(text)
        if self._size > _HELD:
            self._flush()

    def seal(self) -> None:
        """Write the seal and everything that was held back; the file takes its place."""
        self.write([{"sha256": self._digest.hexdigest()}])
        self._flush()
        if self.fault is None:
            try:
                if self._packed is not None:
                    self._packed.close()
                self._target.__exit__(None, None, None)
            except (OSError, WriteError) as error:
                self._fail(error)

    def _flush(self) -> None:
        text, self._held, self._size = "".join(self._held), [], 0
        if self.fault is not None:
            return
        try:
            (self._packed or self._file).write(text.encode())
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError | WriteError) -> None:
        """The part that was written goes away."""
        if isinstance(error, WriteError):  # the file has ended already
            self.fault = error
            return
        try:
            self._target.__exit__(type(error), error, error.__traceback__)
        except WriteError as said:
            self.fault = said
