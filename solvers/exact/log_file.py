"""A proof log as a file: one JSON object in a line, gzip where the path ends in .gz, sealed by a digest of all lines."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
import os
import shutil
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...errors import DataError, WriteError
from ...files import READ_ERRORS, atomic_file, read_error
from ...models.arrays import FloatArray, IntArray

#: Characters that are held back before they are written.
_HELD = 1 << 20
#: The highest levels take five times as long as the search and save a tenth.
_PACKED = 1


@dataclass(frozen=True)
class LogPosition:
    """The position of a log: bytes of its part file, and the SHA-256 of the text in them."""

    name: str
    size: int
    digest: str


class LogFile:
    """Writes records as they come. The last one, the seal, is the SHA-256 of everything before it.

    The log appears at ``path`` when it is sealed; until then an older file there stays. A full disk raises no error during the
    search: `write_error` holds it, and later records are discarded.

    With ``part`` the records are first written to that file, which a later process can continue from a `LogPosition`.

    Parameters
    ----------
    path : str
    part : Path, optional
        File of the records until the log is sealed.
    position : LogPosition, optional
        The end of the records of an earlier run that stay in ``part``; later ones are removed from it.

    Attributes
    ----------
    write_error : WriteError or None
        The error because of which no log will be at the path.
    keep_part : bool
        Whether ``part`` stays when the log is sealed, since a checkpoint refers to it.
    continued : bool
        Whether an earlier run began the log.

    Raises
    ------
    WriteError
        The path, or the part, cannot be written.
    DataError
        The part is not there, or differs from the position's digest.
    """

    def __init__(self, path: str, part: Path | None = None, position: LogPosition | None = None) -> None:
        self.write_error: WriteError | None = None
        self.keep_part = self.continued = position is not None
        self._path, self._part = path, part
        self._digest = hashlib.sha256()
        self._held: list[str] = []
        self._size = 0
        self._pack = Path(path).suffix == ".gz"
        self._target: AbstractContextManager[BinaryIO] | None = None
        if part is None:
            self._target = atomic_file(path)
            self._file = self._target.__enter__()
        else:
            self._file = self._opened(part, position)
        self._packed = self._packer()

    def _packer(self) -> gzip.GzipFile | None:
        """Return a packer without name and time in its header: equal logs are equal files, with equal digests."""
        return gzip.GzipFile("", "wb", _PACKED, self._file, mtime=0) if self._pack else None

    def _opened(self, part: Path, position: LogPosition | None) -> BinaryIO:
        try:
            if position is None:
                return part.open("w+b")
            file = part.open("r+b")
        except OSError as error:
            if position is not None:
                raise DataError(f"the proof's first part cannot be read: {part}: {error.strerror or error}", file=part) from error
            raise WriteError(f"{part} could not be written: {error.strerror or error}") from error
        try:
            file.truncate(position.size)
            with gzip.open(file) if self._pack else nullcontext(file) as text:
                while block := text.read(_HELD):
                    self._digest.update(block)
        except READ_ERRORS as error:
            file.close()
            raise DataError(f"the proof's first part, {part}, is damaged: {read_error(error)}", file=part) from error
        if self._digest.hexdigest() != position.digest:
            file.close()
            raise DataError(
                f"the proof's first part, {part}, differs from the checkpoint; give proof= with the suffix of the first run",
                file=part,
            )
        file.seek(0, os.SEEK_END)
        return file

    def write(self, records: list[dict[str, Any]]) -> None:
        """Append records."""
        self.write_text("".join(json.dumps(record) + "\n" for record in records))

    def write_text(self, text: str) -> None:
        """Append records that are lines of JSON already."""
        if self.write_error is not None:
            return
        self._digest.update(text.encode())
        self._held.append(text)
        self._size += len(text)
        if self._size > _HELD:
            self._flush()

    def sync(self) -> LogPosition | None:
        """Flush all records to the part file and return the position; None without a part file or after a write error."""
        if self._part is None:
            return None
        self._flush()
        if self.write_error is None:
            try:
                self._end_member()
                self._file.flush()
                os.fsync(self._file.fileno())
                position = LogPosition(self._part.name, self._file.tell(), self._digest.hexdigest())
                self._packed = self._packer()
                return position
            except OSError as error:
                self._fail(error)
        return None

    def _end_member(self) -> None:
        """End a gzip member: several, one after the other, are read as one file."""
        if self._packed is not None:
            self._packed.close()

    def seal(self) -> None:
        """Write the seal and everything that was held back; the file takes its place."""
        self.write([{"sha256": self._digest.hexdigest()}])
        self._flush()
        if self.write_error is None:
            try:
                self._end_member()
                if self._target is not None:
                    self._target.__exit__(None, None, None)
                else:
                    self._install()
            except (OSError, WriteError) as error:
                self._fail(error)

    def _install(self) -> None:
        """The part, whole, at the path."""
        assert self._part is not None
        self._file.seek(0)
        with atomic_file(self._path) as file:
            shutil.copyfileobj(self._file, file)
        self.discard()

    def discard(self) -> None:
        """Discard the log: nothing is written to ``path``, and the part file is removed unless a checkpoint refers to it."""
        if self._target is not None and self.write_error is None:
            error = WriteError(f"the log for {self._path} was dropped")
            with suppress(WriteError):
                self._target.__exit__(WriteError, error, None)
            self.write_error = error
        if self._part is not None:
            self._file.close()
            if not self.keep_part:
                self._part.unlink(missing_ok=True)

    def _flush(self) -> None:
        text, self._held, self._size = "".join(self._held), [], 0
        if self.write_error is not None:
            return
        try:
            (self._packed or self._file).write(text.encode())
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError | WriteError) -> None:
        """The part that was written goes away, but for one that a checkpoint refers to."""
        if isinstance(error, WriteError):  # the file has ended already
            self.write_error = error
        elif self._target is None:
            self.write_error = WriteError(f"{self._part} could not be written: {error.strerror or error}")
        else:
            try:
                self._target.__exit__(type(error), error, error.__traceback__)
            except WriteError as write_error:
                self.write_error = write_error


class LogWriter:
    """Writer of one format of logs: a header, then records as the search goes, last the claim and the seal.

    Parameters
    ----------
    file : LogFile
    header : dict
        The first record, which a continued log has already.
    """

    def __init__(self, file: LogFile, header: dict[str, Any]) -> None:
        self._file = file
        if not file.continued:
            file.write([header])

    @property
    def write_error(self) -> WriteError | None:
        """The reason why no log can be written to the path; None as long as it is written."""
        return self._file.write_error

    def sync(self) -> LogPosition | None:
        """Flush all records to the part file and return the position; None without a part file or after a write error."""
        return self._file.sync()

    def set_keep_part(self, keep: bool) -> None:
        """Keep the part file once the log is sealed, since a checkpoint refers to it, or remove it then."""
        self._file.keep_part = keep

    def merge(self, text: str) -> None:
        """Append lines that another process wrote about subtrees of this search: their nodes have numbers of their own."""
        self._file.write_text(text)

    def discard(self) -> None:
        """Discard the log: nothing is written to its path."""
        self._file.discard()

    def _seal(self, claim: dict[str, Any]) -> None:
        """Write the claim and the seal."""
        self._file.write([claim])
        self._file.seal()


# Dual points as proof logs hold them: whole multiples of a power of two, exact in float64.

#: The numbers are below this one.
_LARGEST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class DualPoint:
    """α = numbers · 2^exponent: exact in float64, and so is a sum of them that balances the classes."""

    numbers: IntArray
    exponent: int

    @classmethod
    def rounded(cls, alpha: FloatArray, limits: FloatArray) -> DualPoint:
        """Return the point nearest to ``alpha`` within 0 ≤ α ≤ ``limits``."""
        alpha = np.clip(alpha, 0.0, limits)
        largest = float(alpha.max(initial=0.0))
        exponent = max(math.frexp(largest)[1] - 31, -900) if largest > 0.0 else 0
        numbers = np.minimum(np.rint(np.ldexp(alpha, -exponent)), np.floor(np.ldexp(limits, -exponent)))
        return cls(np.minimum(numbers, _LARGEST).astype(np.int64), exponent)

    @cached_property
    def alpha(self) -> FloatArray:
        """α."""
        return np.ldexp(self.numbers.astype(np.float64), self.exponent)

    @property
    def text(self) -> str:
        """The numbers, four bytes each, in base 64."""
        return base64.b64encode(self.numbers.astype("<i4").tobytes()).decode()
