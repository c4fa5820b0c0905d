"""Arrays on disk that are read piece by piece: where their numbers begin in a file, in .npy files and in npz archives."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ...errors import DataError
from ...files import READ_ERRORS, read_error

__all__ = ["Buffer", "StoredArray", "stored_in_npz", "stored_npy"]

_HEADERS: dict[tuple[int, int], Callable[[IO[bytes]], tuple[tuple[int, ...], bool, np.dtype[Any]]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class Buffer:
    """An array that is used again, and grows where more is asked for."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._array: npt.NDArray[Any] = np.empty(0, dtype=dtype)

    def first(self, count: int) -> npt.NDArray[Any]:
        """So many numbers; what was in them before may be gone."""
        if self._array.size < count:
            self._array = np.empty(count, dtype=self._array.dtype)
        return self._array[:count]


@dataclass(frozen=True)
class StoredArray:
    """An array in C order in a file, from a byte on.

    Read by plain reads and not through a memory map: the pages of a map count as memory of the process.
    """

    path: Path
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @cached_property
    def width(self) -> int:
        """Numbers of one row."""
        return math.prod(self.shape[1:])

    def opened(self) -> AbstractContextManager[IO[bytes]]:
        """The file, without a buffer of its own.

        Raises
        ------
        DataError
            It is gone, or shorter than it was.
        """
        try:
            handle = self.path.open("rb", buffering=0)
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {read_error(error)}") from None
        need = self.offset + self.shape[0] * self.width * self.dtype.itemsize
        if os.fstat(handle.fileno()).st_size < need:
            handle.close()
            raise DataError(f"{self.path} is shorter than its header says: {need:,} bytes are needed")
        return handle

    def read(self, handle: IO[bytes], start: int, stop: int, into: Buffer | None = None) -> npt.NDArray[Any]:
        """Rows from start to stop, into a buffer of this type where one is given."""
        count = (stop - start) * self.width
        flat = np.empty(count, dtype=self.dtype) if into is None else into.first(count)
        handle.seek(self.offset + start * self.width * self.dtype.itemsize)
        left = memoryview(flat.data).cast("B")
        while left.nbytes:
            got = handle.readinto(left)  # type: ignore[attr-defined]
            if not got:
                raise DataError(f"{self.path} ended while it was read")
            left = left[got:]
        return flat.reshape(stop - start, *self.shape[1:])

    def whole(self) -> npt.NDArray[Any]:
        """All of it, in memory."""
        with self.opened() as handle:
            return self.read(handle, 0, self.shape[0])


def stored_npy(path: Path) -> StoredArray:
    """The array of a .npy file.

    Raises
    ------
    DataError
        No such file, no .npy file, Fortran order, or no numbers.
    """
    try:
        with path.open("rb") as handle:
            return _header(path, handle, str(path))
    except READ_ERRORS as error:
        raise DataError(f"{path} cannot be read as npy: {read_error(error)}") from None


def stored_in_npz(path: Path) -> dict[str, StoredArray | None]:
    """The arrays of an npz archive by name; None for one that is compressed, so that it cannot be read by rows.

    Raises
    ------
    DataError
        No such file, or no npz archive.
    """
    members: dict[str, StoredArray | None] = {}
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as handle:
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                members[name] = None
                if member.compress_type == zipfile.ZIP_STORED:
                    handle.seek(member.header_offset + 26)  # lengths of name and extra field in the local header
                    lengths = handle.read(4)
                    skip = int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
                    handle.seek(member.header_offset + 30 + skip)
                    members[name] = _header(path, handle, f"{path}, array {name!r}")
    except READ_ERRORS as error:
        raise DataError(f"{path} cannot be read as npz: {read_error(error)}") from None
    return members


def _header(path: Path, handle: IO[bytes], what: str) -> StoredArray:
    version = np.lib.format.read_magic(handle)
    if version not in _HEADERS:
        raise DataError(f"{what}: npy version {version} is not known")
    shape, fortran, dtype = _HEADERS[version](handle)
    if dtype.hasobject or dtype.kind not in "biuf":
        raise DataError(f"{what} must hold real numbers; it holds {dtype}")
    if fortran and len(shape) > 1:
        raise DataError(f"{what} is stored by columns; save it by rows: numpy.save(path, numpy.ascontiguousarray(X))")
    return StoredArray(path, handle.tell(), tuple(int(k) for k in shape), dtype)
