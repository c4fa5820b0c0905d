"""Opening a data file, plain or compressed, with errors that name it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from pathlib import Path

from ...errors import DataError, InputError

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

    Raises
    ------
    DataError
        Missing, not a file, not permitted, or broken compression.
    """
    if not path.exists():
        raise DataError(f"no such file: {path}")
    if path.is_dir():
        raise DataError(f"{path} is a directory; the name of a data file is needed")
    try:
        raw = path.read_bytes()
        match path.suffix.lower():
            case ".bz2":
                return bz2.decompress(raw)
            case ".gz":
                return gzip.decompress(raw)
            case ".xz":
                return lzma.decompress(raw)
            case _:
                return raw
    except PermissionError:
        raise DataError(f"{path} cannot be read: permission denied") from None
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None


def read_text(path: Path) -> str:
    """Read a whole file as UTF-8 text."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from None
