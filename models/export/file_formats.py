"""Reading and writing of standard forms as files (`read_form`, `write_form`), and the interface of the file formats.

The suffix of a file chooses its format.

Floating-point numbers are written so that they read back exactly. Formats that hold neither blocks nor labels get a sidecar,
``<file>.names.json``, with the names and the grouping; with it a file reads back to an equal form, without it to one block ``x``
and plain rows, with the names that the file gives. A sidecar belongs to one text, whose digest it holds. If another program saved
a file under the name, LP and MPS files keep the labels as long as the names agree; other formats ignore the sidecar. Compressed
files are read.
"""

from __future__ import annotations

import importlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from ...errors import DataError, ExportError, short_text
from ...files import READ_ERRORS, describe_read_error, read_text, split_lines, without_compression
from ..program.bridges import ConesToQuadraticRows
from ..program.cones import Feature
from ..program.form import FileName, StandardForm
from .layout import Layout, sidecar_path

#: Modules of this package that define ``FORMAT``.
_MODULES = ("npz", "lp", "mps", "mof", "cbf", "sdpa", "ptf", "nl", "qplib")

#: Cones that are written as quadratic rows in formats without cones.
_CONES_OF_ROWS = frozenset({Feature.SECOND_ORDER, Feature.ROTATED})

#: Words of writers for a program without a name.
_NO_NAMES = frozenset({"", "(null)", "blank", "model", "noname", "none", "unknown", "unnamed"})
#: Number of characters of a program's name that are kept.
_LONGEST_NAME = 80

#: A number as files have it, in ASCII digits; FORTRAN writes exponents with D.
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[ED][+-]?\d+)?|inf(?:inity)?)", re.IGNORECASE | re.ASCII)
#: A whole number of at most 18 digits.
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)


def is_number(word: str) -> bool:
    """Return whether a word of a file is a number."""
    return _NUMBER.fullmatch(word) is not None


def number_text(word: str, noun: str = "an entry", *, finite: bool = True) -> str:
    """Return a word of a file that denotes a number, with e for the D of a FORTRAN exponent; ``noun`` is for the error.

    Raises
    ------
    DataError
        The word is not a number, or with ``finite`` not a finite one.
    """
    if not is_number(word):
        raise DataError(f"{noun} must be a number, not {short_text(word[:40])}")
    text = word.translate({ord("d"): "e", ord("D"): "e"})
    if finite and not np.isfinite(float(text)):
        raise DataError(f"{noun} must be finite, not {word[:40]}")
    return text


def parse_number(word: str, noun: str = "an entry", *, finite: bool = True) -> float:
    """Return the number that a word of a file denotes."""
    return float(number_text(word, noun, finite=finite))


def parse_integer(word: str, noun: str = "a whole number") -> int:
    """Return the integer that a word of a file denotes; ``noun`` is for the error."""
    if not _WHOLE.fullmatch(word):
        raise DataError(f"{noun} is needed, not {short_text(word[:40])}")
    return int(word)


def parse_index(word: str | int, size: int, first: int = 0) -> int:
    """Return the index, from 0, of one of ``size`` entries that a file counts from ``first``."""
    place = (word if isinstance(word, int) else parse_integer(word)) - first
    if not 0 <= place < size:
        raise DataError(f"the index {word} is not one of {first} to {size - 1 + first}")
    return place


def signed_text(value: float) -> str:
    """Return sign and absolute value as two words, since readers of files differ on a number with a sign."""
    return f"{'-' if value < 0 else '+'} {abs(value):.17g}"


class InputFile:
    """A file that is being read: its text, the number of the current line for error messages, and its program's name so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 0
        self.problem_name = ""

    def take_name(self, text: str) -> None:
        """Keep the name of the program that the file states, unless it is a writer's word for a program without a name."""
        name = " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_LONGEST_NAME]
        self.problem_name = "" if name.lower() in _NO_NAMES else name

    @cached_property
    def text(self) -> str:
        """Return the text of the whole file."""
        return read_text(self.path)

    @cached_property
    def sidecar(self) -> Layout | None:
        """Return the layout in the file's sidecar, even if it was written with another text; None without a sidecar."""
        return Layout.load(self.path)

    @property
    def layout(self) -> Layout | None:
        """Return the layout in the file's sidecar if it was written with this text; else None."""
        return self.sidecar if self.sidecar is not None and self.sidecar.describes(self.text) else None

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text, and keep the number of the current one."""
        for number, line in enumerate(split_lines(self.text), 1):
            self.line = number
            yield line


class FileFormat(ABC):
    """The interface of a file format: what it can hold, and how it is written and read.

    Attributes
    ----------
    suffix : str
        The format's own suffix.
    also_read, also_written : tuple of str
        Other suffixes of files of this format that are read, and those that are written too.
    title : str
        Name of the format in messages.
    carries : frozenset of Feature
        Features of a form that the format can hold.
    """

    suffix: ClassVar[str]
    #: Other suffixes that files of this format may have when they are read.
    also_read: ClassVar[tuple[str, ...]] = ()
    #: Other suffixes under which files of this format are written too.
    also_written: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str]
    carries: ClassVar[frozenset[Feature]]

    @abstractmethod
    def write(self, form: StandardForm, path: Path) -> None:
        """Write a form whose features the format carries."""

    @abstractmethod
    def read(self, source: InputFile) -> StandardForm:
        """Read a file of this format."""


def file_formats() -> dict[str, FileFormat]:
    """Return every format by its suffix."""
    modules = [importlib.import_module(f"{__package__}.{name}") for name in _MODULES]
    return {module.FORMAT.suffix: module.FORMAT for module in modules}


def write_form(form: StandardForm, path: str | Path) -> Path:
    """Write a form in the format that the path's suffix names, and return the path.

    Second-order cones become quadratic rows of auxiliary variables where a format has such rows and no cones; the file then has
    no sidecar.

    Raises
    ------
    ExportError
        No format has the suffix, or it cannot hold a feature of the form.
    """
    target = Path(path)
    chosen = format_of(target)
    missing, as_rows = form.features - chosen.carries, takes_cones_as_rows(form, chosen)
    if as_rows:
        form = ConesToQuadraticRows(form).target
    elif missing:
        formats = file_formats().values()
        suffixes = [f.suffix for f in formats if form.features <= f.carries or takes_cones_as_rows(form, f)]
        features = " and ".join(sorted(f.value for f in missing))
        raise ExportError(
            f"{chosen.title} cannot carry {features}, which {form.name} has; formats that can: {', '.join(suffixes) or 'none'}",
            name=chosen.title,
            allowed=suffixes,
        )
    chosen.write(form, target)
    if as_rows:  # a layout would name products; the file's own rows are read as cones again
        sidecar_path(target).unlink()
    return target


def takes_cones_as_rows(form: StandardForm, kind: FileFormat) -> bool:
    """Return whether a format lacks only second-order and rotated cones for a form, and holds quadratic rows in their place."""
    missing = form.features - kind.carries
    return bool(missing) and missing <= _CONES_OF_ROWS and Feature.BILINEAR in kind.carries


def read_form(path: str | Path) -> StandardForm:
    """Return the form in a file, in the format that the path's suffix names.

    Raises
    ------
    DataError
        There is no such file, or it cannot be read; the error has the number of the line.
    ExportError
        No format has the suffix.
    """
    source = Path(path)
    if not source.exists():
        raise DataError(f"there is no file {source}", file=source)
    chosen = format_of(source, reading=True)
    reading = InputFile(source)
    try:
        form = _checked(chosen.read(reading))
    except READ_ERRORS as error:
        if isinstance(error, DataError) and error.file:
            raise
        prefix = "" if isinstance(error, DataError) else f"not a {chosen.title} file that can be read: "
        raise DataError(f"{prefix}{describe_read_error(error)}", file=source, line=reading.line) from error
    return form if form.name else form.replace(name=FileName(reading.problem_name or _stem(source, chosen)))


def _stem(path: Path, chosen: FileFormat) -> str:
    """Return the name of a file without its suffixes."""
    name = without_compression(path.name)
    suffixes = [suffix for suffix in (chosen.suffix, *chosen.also_read) if name.lower().endswith(suffix)]
    return name[: -len(max(suffixes, key=len))] or name


def _checked(form: StandardForm) -> StandardForm:
    """Return the form; raise DataError if it has no variables, or a lower bound +inf or upper bound -inf."""
    if not form.n:
        raise DataError("it declares no variable")
    wrong = (form.lower == np.inf) | (form.upper == -np.inf)
    if wrong.any():
        raise DataError(f"the variable {form.names()[int(np.argmax(wrong))]} has the lower bound +inf or the upper bound -inf")
    return form


def format_of(path: Path, *, reading: bool = False) -> FileFormat:
    """Return the format that a file is written in, or read as, by its suffix.

    Raises
    ------
    ExportError
        No format has the suffix.
    """
    formats = file_formats()
    for file_format in list(formats.values()):
        formats |= dict.fromkeys(file_format.also_read if reading else file_format.also_written, file_format)
    name = without_compression(path.name.lower()) if reading else path.name.lower()
    for suffix in sorted(formats, key=len, reverse=True):
        if name.endswith(suffix):
            return formats[suffix]
    advice = ""
    if not reading and without_compression(name) != name:
        advice = "; compressed files are read, and written by gzip"
    elif name.endswith(".tex"):
        advice = "; model.latex(standalone=True) is the text of a LaTeX document"
    raise ExportError(
        f"no file format for {short_text(path.name)}; the suffixes are {', '.join(sorted(formats))}{advice}", name="path"
    )
