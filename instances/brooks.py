"""Brooks's benchmark for the hard-margin (0-1) loss, as distributed with Santana, Serrano, Schiffer, Vidal 2025."""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..errors import DataError, InputError
from .formats.readers import as_path
from .instance import Instance
from .sampling import as_count
from .sources import DATA_VARIABLE, data_directory

__all__ = ["BROOKS_NAME", "brooks", "brooks_by_name"]

#: n, d, the letter A, T for training, and the number of the set.
BROOKS_NAME = re.compile(r"n(\d+)d(\d+)ATj(\d+)")
SOURCE = "Brooks 2011, type A; distributed with Santana, Serrano, Schiffer, Vidal 2025 (MIT licence)"


def brooks(n: int | None = None, d: int | None = None, path: str | os.PathLike[str] | None = None) -> Iterator[Instance]:
    """Yield the training sets of type A, in the order of n, d and number.

    Their problem is ½||w||² + C Σz with a free intercept; X holds the d features and no constant column.

    Parameters
    ----------
    n, d : int, optional
        Only the sets with n in {60, 100, 200, 500} rows, or d in {2, 5, 10} features.
    path : path, optional
        The archive; by default ``brooks/set-a.tar.bz2`` in the directory of ``MARGINOPT_DATA``.

    Raises
    ------
    DataError
        No archive, a broken one, a member that is not as its name says, or no set of this n and d.
    """
    n = None if n is None else as_count(n, "n")
    d = None if d is None else as_count(d, "d")
    archive = _archive(path)
    instances = []
    for name, text in _members(archive):
        match = BROOKS_NAME.fullmatch(name)
        if match is None:
            continue
        key = (int(match[1]), int(match[2]), int(match[3]))
        if n in (None, key[0]) and d in (None, key[1]):
            instances.append((key, name, text))
    if not instances:
        raise DataError(f"{archive} holds no set with n = {n or 'any'} and d = {d or 'any'}")
    return (_parse(archive, name, text, key[0], key[1]) for key, name, text in sorted(instances))


def brooks_by_name(name: str) -> Instance:
    """Load one set, such as ``n60d2ATj0``, from the archive in the directory of ``MARGINOPT_DATA``."""
    match = BROOKS_NAME.fullmatch(name)
    if match is None:
        raise InputError(f"a set of Brooks's benchmark is called like n60d2ATj0, got {name!r}")
    for instance in brooks(int(match[1]), int(match[2])):
        if instance.name == name:
            return instance
    raise DataError(f"the benchmark has no set {name}; it has five for each n and d, j0 to j4")


def _archive(path: str | os.PathLike[str] | None) -> Path:
    if path is not None:
        file = as_path(path)
    else:
        directory = data_directory()
        if directory is None:
            raise DataError(f"set {DATA_VARIABLE} to the directory that holds brooks/set-a.tar.bz2, or give path=")
        file = directory / "brooks" / "set-a.tar.bz2"
    if not file.is_file():
        raise DataError(f"no such file: {file}")
    return file


def _members(archive: Path) -> list[tuple[str, str]]:
    """Names and texts of all regular files; nothing is unpacked to disk."""
    texts = []
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                handle = tar.extractfile(member) if member.isfile() else None
                if handle is not None:
                    texts.append((Path(member.name).name, handle.read().decode("utf-8")))
    except (tarfile.TarError, OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{archive} cannot be read as a tar archive: {error}") from None
    return texts


def _parse(archive: Path, name: str, text: str, n: int, d: int) -> Instance:
    """First line n, second d, then label and features."""
    lines = text.split("\n")
    try:
        header = (int(lines[0]), int(lines[1]))
        rows = [[float(cell) for cell in line.split()] for line in lines[2:] if line.strip()]
    except (ValueError, IndexError) as error:
        raise DataError(f"{archive}, {name}: not n, d and rows of numbers: {error}") from None
    widths = {len(row) for row in rows}
    if header != (n, d) or len(rows) != n or widths != {d + 1}:
        raise DataError(
            f"{archive}, {name}: {n} rows of a label and {d} features are needed; its header says {header}, "
            f"it has {len(rows)} rows of {sorted(widths)} numbers"
        )
    table = np.array(rows)
    try:
        return Instance.from_labels(table[:, 1:], table[:, 0], name, SOURCE)
    except DataError as error:
        raise DataError(f"{archive}, {name}: {error}") from None
