"""Arrays that stay in files and are read by rows (`StoredArray`), and converters to them from LIBSVM, Parquet and compressed npz.

`rows_on_disk` makes data sets of these arrays.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import os
import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ..errors import DataError, count_text, short_text
from ..files import READ_ERRORS, describe_read_error, unpack_limit
from .readers import (
    MAX_COLUMNS,
    check_libsvm,
    check_numbers,
    columns_without_index,
    import_pyarrow,
    libsvm_fault,
    normalise_line_ends,
)
from .tables import label_column

#: Readers of the headers of .npy files, by the version of the format.
_HEADERS: dict[tuple[int, int], Callable[[IO[bytes]], tuple[tuple[int, ...], bool, np.dtype[Any]]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class Buffer:
    """Memory for numbers of one type that every read uses again, and that grows on demand."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._array: npt.NDArray[Any] = np.empty(0, dtype=dtype)

    def first(self, count: int) -> npt.NDArray[Any]:
        """Return an array of ``count`` numbers, to be overwritten, at the start of the buffer, which grows if it is too small."""
        if self._array.size < count:
            self._array = np.empty(count, dtype=self._array.dtype)
        return self._array[:count]


@dataclass(frozen=True)
class StoredArray:
    """An array in C order that stays in a file, at some offset.

    It is read by plain reads and not through a memory map, whose pages count as memory of the process.

    Parameters
    ----------
    path : Path
        The file.
    offset : int
        Byte at which the numbers begin.
    shape : tuple of int
        Shape of the array, rows first.
    dtype : dtype
        Type of the numbers.
    """

    path: Path
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @cached_property
    def width(self) -> int:
        """Return the number of numbers in one row."""
        return math.prod(self.shape[1:])

    def open(self) -> AbstractContextManager[IO[bytes]]:
        """Open the file, unbuffered; `DataError` if it is shorter than the array."""
        try:
            handle = self.path.open("rb", buffering=0)
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {describe_read_error(error)}", file=self.path) from None
        size = self.offset + self.shape[0] * self.width * self.dtype.itemsize
        if os.fstat(handle.fileno()).st_size < size:
            handle.close()
            raise DataError(f"{self.path} is shorter than its header says: {size:,} bytes are needed", file=self.path)
        return handle

    def read(self, handle: IO[bytes], start: int, stop: int, buffer: Buffer | None = None) -> npt.NDArray[Any]:
        """Return the rows from ``start`` up to ``stop``, read into ``buffer`` if one of this dtype is given."""
        count = (stop - start) * self.width
        flat = np.empty(count, dtype=self.dtype) if buffer is None else buffer.first(count)
        handle.seek(self.offset + start * self.width * self.dtype.itemsize)
        remaining = memoryview(flat.data).cast("B")
        while remaining.nbytes:
            size = handle.readinto(remaining)  # type: ignore[attr-defined]
            if not size:
                raise DataError(f"{self.path} ended while it was read", file=self.path)
            remaining = remaining[size:]
        return flat.reshape(stop - start, *self.shape[1:])

    def load(self) -> npt.NDArray[Any]:
        """Return the whole array, read into memory."""
        with self.open() as handle:
            return self.read(handle, 0, self.shape[0])


def stored_npy(path: Path) -> StoredArray:
    """Return the array of a .npy file, to be read piece by piece."""
    try:
        with path.open("rb") as handle:
            return _header(path, handle, str(path))
    except READ_ERRORS as error:
        raise DataError(f"{path} cannot be read as npy: {describe_read_error(error)}", file=path) from None


def stored_in_npz(path: Path) -> dict[str, StoredArray | None]:
    """Return the arrays of an npz archive by name; None for a compressed array, which cannot be read by rows."""
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
        raise DataError(f"{path} cannot be read as npz: {describe_read_error(error)}", file=path) from None
    return members


def _header(path: Path, handle: IO[bytes], noun: str) -> StoredArray:
    version = np.lib.format.read_magic(handle)
    if version not in _HEADERS:
        raise DataError(f"{noun}: npy version {version} is not known")
    shape, fortran, dtype = _HEADERS[version](handle)
    if dtype.hasobject or dtype.kind not in "biuf":
        raise DataError(f"{noun} must hold real numbers; it holds {dtype}")
    if fortran and len(shape) > 1:
        raise DataError(f"{noun} is stored by columns; save it by rows: numpy.save(path, numpy.ascontiguousarray(X))")
    return StoredArray(path, handle.tell(), tuple(int(k) for k in shape), dtype)


#: Bytes of text that are parsed at once, and rows of Parquet.
_CHUNK, _BATCH = 2**24, 2**15
#: Functions that open compressed files, by suffix.
_OPENERS: dict[str, Callable[..., Any]] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}


class ArrayFolder:
    """The folder of unpacked arrays: the user's, or a temporary one that is deleted when this object is garbage-collected."""

    def __init__(self, directory: Path | None) -> None:
        self._given = directory

    @cached_property
    def path(self) -> Path:
        """Return the path of the folder; the first call makes it."""
        if self._given is not None:
            self._given.mkdir(parents=True, exist_ok=True)
            return self._given
        folder = tempfile.mkdtemp(prefix="marginopt-rows-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)


@dataclass
class _Column:
    """A file to which numbers of one type are appended."""

    path: Path
    handle: IO[bytes]
    dtype: np.dtype[Any]
    count: int = 0

    def append(self, values: Any) -> None:
        part = np.ascontiguousarray(values, dtype=self.dtype)
        self.handle.write(part.data)
        self.count += part.size

    def stored(self, width: int | None = None) -> StoredArray:
        shape = (self.count,) if width is None else (self.count // width, width)
        return StoredArray(self.path, 0, shape, self.dtype)


def _column(stack: ExitStack, folder: ArrayFolder, name: str, dtype: Any) -> _Column:
    path = folder.path / name
    return _Column(path, stack.enter_context(path.open("wb")), np.dtype(dtype))


def unpack_libsvm(path: Path, folder: ArrayFolder) -> tuple[StoredArray, StoredArray, StoredArray, int, list[npt.NDArray[Any]]]:
    """Convert LIBSVM text to CSR arrays on disk; return data, indices, indptr, number of columns, labels by pieces.

    Indices count from 0 if one of them is 0, else from 1.
    """
    from sklearn.datasets import load_svmlight_file

    labels: list[npt.NDArray[Any]] = []
    lines, smallest_index, largest_index = 0, MAX_COLUMNS, -1
    with ExitStack() as stack:
        data, indices = _column(stack, folder, "data", np.float64), _column(stack, folder, "indices", np.int32)
        indptr = _column(stack, folder, "indptr", np.int64)
        indptr.append([0])
        for text in _chunks(path):
            check_libsvm(path, text, lines)
            try:
                X, y = load_svmlight_file(io.BytesIO(text), zero_based=True)
            except READ_ERRORS as error:
                raise libsvm_fault(path, text, describe_read_error(error), lines) from None
            if X.nnz:
                smallest_index = min(smallest_index, int(X.indices.min()))
                largest_index = max(largest_index, int(X.indices.max()))
            if largest_index > MAX_COLUMNS:
                raise libsvm_fault(path, text, f"it has {count_text(largest_index, 'column', spec=',')}", lines)
            indptr.append(data.count + X.indptr[1:].astype(np.int64))
            data.append(X.data)
            indices.append(X.indices)
            labels.append(y)
            lines += text.count(b"\n")
    if largest_index < 0:
        raise DataError(f"{path} is not LIBSVM text: it has no 'index:value' anywhere", file=path)
    first = 0 if smallest_index == 0 else 1
    if first:
        _shift(indices, first)
    return data.stored(), indices.stored(), indptr.stored(), largest_index + 1 - first, labels


def _chunks(path: Path) -> Iterator[bytes]:
    """Yield the text of a file in pieces of whole lines."""
    opener = _OPENERS.get(path.suffix.lower())
    try:
        with path.open("rb") if opener is None else opener(path) as handle:
            tail, first = b"", True
            line_limit = math.inf if opener is None else unpack_limit(path.stat().st_size)
            while text := handle.read(_CHUNK):
                tail += text
                complete_lines = tail[:-1] if tail.endswith(b"\r") else tail  # the \n of a CRLF may follow
                cut = max(complete_lines.rfind(b"\n"), complete_lines.rfind(b"\r")) + 1
                if cut:
                    yield normalise_line_ends(tail[:cut], first)
                    tail, first = tail[cut:], False
                if len(tail) > line_limit:
                    raise DataError(f"{path} has a line of more than {line_limit:,} bytes: unpack it yourself", file=path)
            if tail.strip():
                yield normalise_line_ends(tail, first)
    except DataError:
        raise
    except READ_ERRORS as error:
        raise DataError(f"{path} cannot be read: {describe_read_error(error)}", file=path) from None


def _shift(indices: _Column, offset: int) -> None:
    """Subtract an offset from all indices of a file."""
    stored = indices.stored()
    with indices.path.open("r+b") as handle, stored.open() as reader:
        for start in range(0, indices.count, _CHUNK):
            part = stored.read(reader, start, min(start + _CHUNK, indices.count))
            handle.seek(start * indices.dtype.itemsize)
            handle.write((part - indices.dtype.type(offset)).data)


def unpack_parquet(
    path: Path, folder: ArrayFolder, label: str | int | None
) -> tuple[StoredArray, list[npt.NDArray[Any]], list[str]]:
    """Convert Parquet to a dense array on disk; return the rows without the label, the labels by pieces, the features' names."""
    pa, pq = import_pyarrow()
    labels: list[npt.NDArray[Any]] = []
    try:
        with pq.ParquetFile(path) as file, ExitStack() as stack:
            schema = file.schema_arrow
            places = columns_without_index(schema)
            names = [str(schema.names[j]) for j in places]
            target = label_column(str(path), names, len(names), label)
            features = [j for j in range(len(names)) if j != target]
            single = all(schema.field(places[j]).type == pa.float32() for j in features)
            rows = _column(stack, folder, "rows", np.float32 if single else np.float64)
            for table in file.iter_batches(batch_size=_BATCH):
                batch = table.select(places)
                check_numbers(path, batch, target, rows.count // max(len(features), 1))
                rows.append(np.column_stack([batch.column(j).to_numpy(zero_copy_only=False) for j in features]))
                labels.append(batch.column(target).to_numpy(zero_copy_only=False))
    except DataError:
        raise
    except (pa.ArrowException, *READ_ERRORS) as error:
        raise DataError(f"{path} cannot be read as Parquet: {describe_read_error(error)}", file=path) from None
    if not rows.count:
        raise DataError(f"{path} holds no rows of data", file=path)
    return rows.stored(len(features)), labels, [names[j] for j in features]


def unpack_member(path: Path, name: str, folder: ArrayFolder) -> StoredArray:
    """Write one compressed array of an npz archive as a .npy file, and return it."""
    target = folder.path / f"{name}.npy"
    try:
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as packed, target.open("wb") as out:
            while part := packed.read(_CHUNK):
                out.write(part)
    except READ_ERRORS as error:
        raise DataError(
            f"{path}, array {short_text(name)}, cannot be unpacked: {describe_read_error(error)}", file=path
        ) from None
    return stored_npy(target)
