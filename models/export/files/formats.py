"""Files: a form written by suffix and read back, by our own writers and readers; no solver is needed.

Floating-point numbers are written so that they read back exactly. Formats that know neither blocks nor our labels get a
sidecar, ``<file>.names.json``, with the names and the grouping; with it a file reads back to an equal form, without it to
one block ``x`` and plain rows.
"""

from __future__ import annotations

import importlib
import zipfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from ....errors import DataError, ExportError
from ...program.cones import Feature
from ...program.form import StandardForm

__all__ = ["FileFormat", "file_formats", "read_form", "write_form"]

#: Modules of this package that define ``FORMAT``.
_MODULES = ("npz", "lp", "mps", "mof", "cbf", "ptf", "nl", "qplib")


class FileFormat(ABC):
    """One file format: what it carries, how it is written and read."""

    suffix: ClassVar[str]
    title: ClassVar[str]
    carries: ClassVar[frozenset[Feature]]

    @abstractmethod
    def write(self, form: StandardForm, path: Path) -> None:
        """Write a form whose features the format carries."""

    @abstractmethod
    def read(self, path: Path) -> StandardForm:
        """Read a file of this format."""


def file_formats() -> dict[str, FileFormat]:
    """Every format by its suffix."""
    modules = [importlib.import_module(f"{__package__}.{name}") for name in _MODULES]
    return {module.FORMAT.suffix: module.FORMAT for module in modules}


def write_form(form: StandardForm, path: str | Path) -> Path:
    """Write a form in the format that the path's suffix names; returns the path.

    Raises
    ------
    ExportError
        Unknown suffix, or a format that cannot carry some feature of the form; says which formats can.
    """
    target = Path(path)
    chosen = _format_of(target)
    missing = form.features - chosen.carries
    if missing:
        able = ", ".join(f.suffix for f in file_formats().values() if form.features <= f.carries) or "none"
        what = " and ".join(sorted(f.value for f in missing))
        raise ExportError(f"{chosen.title} cannot carry {what}, which {form.name} has; formats that can: {able}")
    chosen.write(form, target)
    return target


def read_form(path: str | Path) -> StandardForm:
    """Read a form from a file by its suffix.

    Raises
    ------
    ExportError
        Unknown suffix.
    DataError
        No such file, or one that is not of its format.
    """
    source = Path(path)
    chosen = _format_of(source)
    if not source.exists():
        raise DataError(f"there is no file {source}")
    try:
        return chosen.read(source)
    except DataError as error:
        raise DataError(f"{source}: {error}") from error
    except StopIteration as error:
        raise DataError(f"{source} is not a {chosen.title} file that can be read: it ends too early") from error
    except (ValueError, KeyError, IndexError, TypeError, OverflowError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{source} is not a {chosen.title} file that can be read: {error}") from error


def _format_of(path: Path) -> FileFormat:
    formats = file_formats()
    for suffix in sorted(formats, key=len, reverse=True):
        if path.name.lower().endswith(suffix):
            return formats[suffix]
    raise ExportError(f"no file format for {path.name!r}; the suffixes are {', '.join(sorted(formats))}")
