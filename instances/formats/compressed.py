"""Opening a data file, plain or compressed, with errors that name it."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import DataError, InputError
from ...files import read_bytes as _read_bytes, without_compression

__all__ = ["read_bytes", "read_text", "stem", "suffix"]


def as_path(path: str | os.PathLike[str]) -> Path:
    """Return a path, with ~ expanded."""
    try:
        return Path(path).expanduser()
    except TypeError:
        raise InputError(f"path must be a file name, got {path!r}") from None


def suffix(path: Path) -> str:
    """Return the suffix that says the format, in lower case, a compression suffix aside; "" if there is none."""
    return Path(without_compression(path.name.lower())).suffix


def stem(path: Path) -> str:
    """Return the file's name without the suffixes of compression and format."""
    return Path(without_compression(path.name)).stem


def read_bytes(path: Path) -> bytes:
    """Read a whole file, decompressed by its suffix.

    A compressed file is unpacked piece by piece and refused once it exceeds `marginopt.files.READ_LIMIT` bytes.

    Raises
    ------
    DataError
        Missing, not a file, not permitted, broken compression, or unpacking to more than the limit.
    """
    if not path.exists():
        raise DataError(f"no such file: {path}")
    if path.is_dir():
        raise DataError(f"{path} is a directory; the name of a data file is needed")
    return _read_bytes(path)


def read_text(path: Path) -> str:
    """Read a whole file as UTF-8 text."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}; save it as UTF-8") from None
