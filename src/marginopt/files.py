# exempt (text): names of files
"""Write files atomically, and read files of unknown origin within limits of memory.

A file is written under a temporary name in the same folder and renamed when everything is on the disk: a kill or a full disk at
any moment leaves the old file, or none. A compressed file is unpacked to `unpack_limit` bytes at most, and an archive that
states more is refused before it is unpacked. Every layer may import this module.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import secrets
import stat
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from .errors import DataError, WriteError, short_text

#: Largest number of bytes to which a compressed file or an archive may unpack (1 GiB); plain files are read at any size.
READ_LIMIT = 2**30
#: Bytes to which any compressed text, and any archive of arrays, may unpack; a larger one, to this multiple of its size. Parsed
#: text takes ten times its bytes in memory, and data sets are packed to a twentieth at most.
_TEXT, _ARRAYS, _SHARE = 2**24, 2**26, 50
#: Suffixes of compressed files, which are unpacked when they are read.
COMPRESSED = (".bz2", ".gz", ".xz")
#: Members that an archive may have.
_MOST_MEMBERS = 100_000
#: Exceptions that parsers, numpy, zipfile and the decompressors raise on damaged files; readers turn them into `DataError`.
READ_ERRORS: tuple[type[Exception], ...] = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    RuntimeError,  # RecursionError, NotImplementedError
    MemoryError,
    OSError,
    EOFError,
    StopIteration,
    SyntaxError,
    tokenize.TokenError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)


def describe_read_error(error: BaseException) -> str:
    """Return a clause that says what is wrong in a damaged file, from the exception of its parser."""
    if isinstance(error, StopIteration | EOFError | IndexError):
        return "it ends too early, or a line of it has too few words"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, MemoryError | OverflowError):
        return "a size in it is larger than can be held"
    if isinstance(error, KeyError):
        return f"{error} is missing, or not declared before it is used"
    if isinstance(error, TypeError | AttributeError):
        return f"a part of it is of another kind than the format has there ({error})"
    return str(error) or f"it is damaged ({type(error).__name__})"


def check_target(path: str | os.PathLike[str], noun: str = "the file") -> Path:
    """Return the path; raise WriteError, which names the file as ``noun``, if no file can be written there.

    Callers check before a long computation.
    """
    target = _target(path)
    folder = target.parent
    if target.is_dir():
        raise WriteError(f"{noun} cannot be written: {target} is a folder; a file's name is needed", path=target)
    if not folder.is_dir():
        raise WriteError(f"{noun} cannot be written to {target}: there is no folder {folder}", path=target)
    if not os.access(target if target.exists() and not target.is_file() else folder, os.W_OK):
        raise WriteError(f"{noun} cannot be written to {target}: no permission to write in {folder}", path=target)
    return target


def _target(path: str | os.PathLike[str]) -> Path:
    """Return the path; raise WriteError for a null byte."""
    if "\0" in os.fspath(path):
        raise WriteError(f"{short_text(os.fspath(path))} cannot be the name of a file: it holds a null byte")
    return Path(path)


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file to write that replaces the one at ``path`` when the block ends, and only if it ends without an error.

    The new file has the permissions of the old one, and links are followed. Devices and pipes are written directly.
    """
    target = _target(path)
    try:
        target = Path(os.path.realpath(target))
        mode = target.stat().st_mode if target.exists() else None
        if mode is not None and not stat.S_ISREG(mode):
            with target.open("wb") as direct:
                yield direct
            return
        part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
        try:
            with part.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                part.chmod(stat.S_IMODE(mode))
            part.replace(target)
            _sync_folder(target.parent)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise WriteError(
            f"{Path(path)} could not be written: {error.strerror or error}; it is as it was before", path=path
        ) from error


def _sync_folder(folder: Path) -> None:
    """Write the folder's entries to the disk, if the system can: else a power cut may bring the old file back, whole."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        return  # file systems without folders that can be synchronised
    finally:
        os.close(handle)


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file, whole or not at all, as UTF-8; returns the path."""
    with atomic_file(path) as file:
        file.write(text.encode("utf-8"))
    return Path(path)


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write several text files as one version: after a kill, no old file is left beside the new first one, nor the reverse.

    All are written under temporary names first. Then the old files but the first are deleted, and all are renamed, the first one
    before the others. A full disk leaves the old files unchanged.
    """
    first = _target(next(iter(texts)))
    parts: dict[Path, Path] = {}
    try:
        for target, text in texts.items():
            part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
            parts[part] = target
            with part.open("xb") as file:
                file.write(text.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
        for target in list(texts)[1:]:
            target.unlink(missing_ok=True)
        for part, target in parts.items():
            part.replace(target)
        _sync_folder(first.parent)
    except OSError as error:
        raise WriteError(
            f"{first} could not be written: {error.strerror or error}; it is as it was before", path=first
        ) from error
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def write_arrays(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> Path:
    """Write arrays as a compressed npz file, whole or not at all; returns the path."""
    with atomic_file(path) as file:
        np.savez_compressed(file, **arrays)
    return Path(path)


def without_compression(name: str) -> str:
    """Return a file's name without a suffix of compression."""
    return next((name[: -len(suffix)] for suffix in COMPRESSED if name.lower().endswith(suffix)), name)


def unpack_limit(packed: int, small: int = _TEXT) -> int:
    """Return the bytes to which ``packed`` bytes may unpack: 50 times as many, at least ``small``, at most `READ_LIMIT`."""
    return min(READ_LIMIT, max(small, _SHARE * packed))


_OPENERS: Mapping[str, Callable[[Path], Any]] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}


def content_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's content, of any size; compressed files (`COMPRESSED`) are unpacked piece by piece."""
    file = Path(path)
    with _OPENERS.get(file.suffix.lower(), io.FileIO)(file) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _unpacked(file: Path) -> bytes:
    """Return the content of a file, decompressed by its suffix, piece by piece and within `unpack_limit`."""
    unpack = _OPENERS.get(file.suffix.lower())
    if unpack is None:
        return file.read_bytes()
    try:
        limit = unpack_limit(file.stat().st_size)
        with unpack(file) as packed:
            content: bytes = packed.read(limit + 1)
    except (FileNotFoundError, PermissionError):
        raise
    except READ_ERRORS as error:
        raise DataError(f"{file} cannot be read: {describe_read_error(error)}", file=file) from None
    if len(content) > limit:
        raise DataError(
            f"{file} unpacks to more than {limit:,} bytes: unpack it yourself; plain files are read at any size", file=file
        )
    return content


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file; compressed files (`COMPRESSED`) are unpacked."""
    file = Path(path)
    try:
        if file.is_dir():
            raise DataError(f"{file} is a directory; the name of a file is needed", file=file)
        return _unpacked(file)
    except FileNotFoundError:
        raise DataError(f"there is no file {file}", file=file) from None
    except PermissionError:
        raise DataError(f"{file} cannot be read: permission denied", file=file) from None
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        raise DataError(f"{file!s} cannot be read: {error}", file=file) from None


def parse_json(text: str) -> Any:
    """Return the value of a JSON text. A repeated name in one object is refused, since parsers differ in its meaning.

    Raises
    ------
    ValueError
        The text is no JSON.
    """
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return dict(pairs)


def replace_control_characters(value: Any) -> Any:
    """Return a JSON value with a space for each unprintable character in its strings, which could control a terminal."""
    if isinstance(value, str):
        return "".join(c if c.isprintable() else " " for c in value)
    if isinstance(value, dict):
        return {replace_control_characters(name): replace_control_characters(part) for name, part in value.items()}
    return [replace_control_characters(part) for part in value] if isinstance(value, list) else value


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the file as UTF-8 text."""
    raw = read_bytes(path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise DataError(f"it is not UTF-8 text: {error.reason} at byte {error.start}", file=path, line=line) from None


def split_lines(text: str) -> list[str]:
    """Return the lines of a file's text, ended by LF, CRLF or CR alone.

    `str.splitlines` ends lines at eight further characters, such as a form feed or U+2028. In file formats these are blanks or
    parts of names and comments, and what follows them in a comment would be read as a part of the program.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def read_arrays(path: str | os.PathLike[str], noun: str = "npz") -> dict[str, npt.NDArray[Any]]:
    """Return every array of an npz file, by name; the sizes that its headers state are added up before anything is unpacked.

    Parameters
    ----------
    path : str or Path
        The file, compressed or not.
    noun : str
        The expected kind of file, for the message.
    """
    content = read_bytes(path)
    if content.startswith(b"\x93NUMPY"):
        raise DataError(f"{path} holds a single array; {noun} is needed, an archive of several", file=path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if len(members) > _MOST_MEMBERS or len({m.filename for m in members}) < len(members):
                raise DataError(
                    f"{path} cannot be read as {noun}: its archive has {len(members)} members, or two of one name", file=path
                )
            total = sum(member.file_size for member in members)
            stored = sum(member.file_size for member in members if member.compress_type == zipfile.ZIP_STORED)
            limit = max(unpack_limit(len(content), _ARRAYS), min(stored, READ_LIMIT))
            if total > limit:
                raise DataError(
                    f"{path} unpacks to {total:,} bytes; archives of its size beyond {limit:,} bytes are not read: store the "
                    "arrays as plain files",
                    file=path,
                )
            return {member.filename.removesuffix(".npy"): read_member(archive, member) for member in members}
    except DataError as error:
        raise DataError(str(error) if error.file else f"{path} cannot be read as {noun}: {error}", file=path) from None
    except READ_ERRORS as error:
        raise DataError(f"{path} cannot be read as {noun}: {describe_read_error(error)}", file=path) from None


def _header(data: BinaryIO, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the type of an array from its header; the file then stands at its entries."""
    version = np.lib.format.read_magic(data)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in read:
        raise DataError(f"the array {short_text(name)} is of npy version {version}")
    shape, _, dtype = read[version](data)
    return shape, dtype


def has_objects(data: BinaryIO) -> bool:
    """Return whether the entries of an npy array are pickled objects; the stream is left after the header."""
    return bool(_header(data, "npy")[1].hasobject)


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """Return one array of an npz archive; raise DataError unless its header and the archive state the same number of bytes."""
    data = io.BytesIO(archive.read(member))
    shape, dtype = _header(data, member.filename)
    if dtype.hasobject:
        raise DataError(f"the array {short_text(member.filename)} holds pickled objects, which are not read")
    promised = int(dtype.itemsize)
    for size in shape:
        promised *= int(size)
    if promised != member.file_size - data.tell() or min(shape, default=0) < 0:
        raise DataError(
            f"the array {short_text(member.filename)} says shape {shape} of {dtype} and has other {member.file_size} bytes"
        )
    data.seek(0)
    return np.asarray(np.lib.format.read_array(data, allow_pickle=False))
