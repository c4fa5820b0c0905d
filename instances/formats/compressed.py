"""Opening a data file, plain or compressed, with errors that name it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import DataError, InputError
from ...files import FAULTS, READ_LIMIT, fault

__all__ = ["read_bytes", "read_text", "stem", "suffix"]

COMPRESSED = (".bz2", ".gz", ".xz")


def as_path(path: str | os.PathLike[str]) -> Path:
    """Return a path, with ~ expanded."""
    try:
        return Path(path).expanduser()
    except TypeError:
        raise InputError(f"path must be a file name, got {path!r}") from None


def suffix(path: Path) -> str:
    """Return the suffix that says the format, in lower case, a compression suffix aside; "" if there is none."""
    name = path.name.lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return Path(name).suffix


def stem(path: Path) -> str:
    """Return the file's name without the suffixes of compression and format."""
    name = path.name
    if name.lower().endswith(COMPRESSED):
        name = Path(name).stem
    return Path(name).stem


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
    opened: dict[str, Callable[..., Any]] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
    unpack = opened.get(path.suffix.lower())
    try:
        if unpack is None:
            return path.read_bytes()
        with unpack(path) as packed:
            content: bytes = packed.read(READ_LIMIT + 1)
    except PermissionError:
        raise DataError(f"{path} cannot be read: permission denied") from None
    except FAULTS as error:
        raise DataError(f"{path} cannot be read: {fault(error)}") from None
    if len(content) > READ_LIMIT:
        raise DataError(f"{path} unpacks to more than {READ_LIMIT:,} bytes: unpack it yourself; plain files are read at any size")
    return content


def read_text(path: Path) -> str:
    """Read a whole file as UTF-8 text."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}; save it as UTF-8") from None
