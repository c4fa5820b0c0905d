"""Writers of proof logs: the sealed file of JSON lines, the base class of all log formats, and the text form of multipliers.

A log has one JSON object in a line, is gzip if its path ends in .gz, and ends with its *claim* (the bound that it proves) and its
*seal* (the SHA-256 of all lines before).
"""

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
from ...files import READ_ERRORS, atomic_file, describe_read_error
from ...models.arrays import FloatArray, IntArray

#: Characters that are buffered before they are written: one system call for each megabyte.
_BUFFERED = 1 << 20
#: Level of gzip's compression. The highest levels take five times as long as the search and save a tenth.
_PACKED = 1


@dataclass(frozen=True)
class LogPosition:
    """A position in an unfinished log, from which a later process continues it."""

    name: str  #: name of the part file
    size: int  #: bytes of the file up to the position
    digest: str  #: SHA-256 of the unpacked text in these bytes


class LogFile:
    """A proof log that is being written: records are appended, then `seal` puts the file in its place.

    The log appears at ``path`` when it is sealed; an older file stays until then. A full disk raises no error during the
    search: `write_error` holds it, and later records are discarded.

    With ``part`` the records are first written to that file, which a later process can continue from a `LogPosition`.

    Parameters
    ----------
    path : str
        Path of the finished log.
    part : Path, optional
        File of the records until the log is sealed.
    position : LogPosition, optional
        The end of the records of an earlier run that stay in ``part``; later ones are removed from it.

    Attributes
    ----------
    write_error : WriteError or None
        The error because of which no log will be at the path.
    keep_part : bool
        Whether ``part`` stays when the log is sealed or discarded, since a checkpoint refers to it.
    continued : bool
        Whether an earlier run began the log.

    Raises
    ------
    WriteError
        The path, or the part, cannot be written.
    DataError
        The part is not there, is damaged, or differs from the position's digest.
    """

    def __init__(self, path: str, part: Path | None = None, position: LogPosition | None = None) -> None:
        self.write_error: WriteError | None = None
        self.keep_part = self.continued = position is not None
        self._path, self._part = path, part
        self._digest = hashlib.sha256()
        self._buffer: list[str] = []
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
                while block := text.read(_BUFFERED):
                    self._digest.update(block)
        except READ_ERRORS as error:
            file.close()
            raise DataError(f"the proof's first part, {part}, is damaged: {describe_read_error(error)}", file=part) from error
        if self._digest.hexdigest() != position.digest:
            file.close()
            raise DataError(
                f"the proof's first part, {part}, differs from the checkpoint; give proof= with the suffix of the first run",
                file=part,
            )
        file.seek(0, os.SEEK_END)
        return file

    def write(self, records: list[dict[str, Any]]) -> None:
        """Append records, JSON objects."""
        self.write_text("".join(json.dumps(record) + "\n" for record in records))

    def write_text(self, text: str) -> None:
        """Append records that are lines of JSON already."""
        if self.write_error is not None:
            return
        self._digest.update(text.encode())
        self._buffer.append(text)
        self._size += len(text)
        if self._size > _BUFFERED:
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
        """Append the SHA-256 of all lines, flush, and move the file to ``path``; a part file is copied there instead."""
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
        """Copy the whole part file to the path."""
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
        text, self._buffer, self._size = "".join(self._buffer), [], 0
        if self.write_error is not None:
            return
        try:
            (self._packed or self._file).write(text.encode())
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError | WriteError) -> None:
        """Keep the error, and remove the unfinished file unless it is a part file, which `discard` removes."""
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
    """Base class of the writers of one log format: header, records during the search, at the end the claim and the seal.

    Parameters
    ----------
    file : LogFile
        The file of the log.
    header : dict
        The first record, which a continued log has already.
    """

    def __init__(self, file: LogFile, header: dict[str, Any]) -> None:
        self._file = file
        if not file.continued:
            file.write([header])

    @property
    def write_error(self) -> WriteError | None:
        """The error because of which no log will be at the path; None without one."""
        return self._file.write_error

    def sync(self) -> LogPosition | None:
        """Flush all records to the part file and return the position; None without a part file or after a write error."""
        return self._file.sync()

    def set_keep_part(self, keep: bool) -> None:
        """Set whether the part file stays when the log is sealed, since a checkpoint refers to it."""
        self._file.keep_part = keep

    def merge(self, text: str) -> None:
        """Append the lines of a worker about subtrees of this search; their nodes have their own range of numbers."""
        self._file.write_text(text)

    def discard(self) -> None:
        """Discard the log; no file is written to its path."""
        self._file.discard()

    def _seal(self, claim: dict[str, Any]) -> None:
        self._file.write([claim])
        self._file.seal()


#: The largest integer of a dual point, so that each takes four bytes.
_LARGEST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class DualPoint:
    """Dual multipliers α = numbers · 2^exponent as a log stores them: float64 holds them and sums of 2^22 of them exactly."""

    numbers: IntArray  #: (n,) integers from 0 to 2^31 - 1
    exponent: int  #: of the power of two

    @classmethod
    def nearest(cls, alpha: FloatArray, limits: FloatArray) -> DualPoint:
        """Return the point nearest to ``alpha`` (n,) within 0 ≤ α ≤ ``limits``, of the exponent that the largest entry needs."""
        alpha = np.clip(alpha, 0.0, limits)
        largest = float(alpha.max(initial=0.0))
        exponent = max(math.frexp(largest)[1] - 31, -900) if largest > 0.0 else 0
        numbers = np.minimum(np.rint(np.ldexp(alpha, -exponent)), np.floor(np.ldexp(limits, -exponent)))
        return cls(np.minimum(numbers, _LARGEST).astype(np.int64), exponent)

    @cached_property
    def alpha(self) -> FloatArray:
        """The multipliers as float64, (n,)."""
        return np.ldexp(self.numbers.astype(np.float64), self.exponent)

    @property
    def text(self) -> str:
        """The numbers, four bytes each, in base 64: the form in a record."""
        return base64.b64encode(self.numbers.astype("<i4").tobytes()).decode()
