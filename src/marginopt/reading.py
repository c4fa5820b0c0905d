# exempt (text): users' files
"""`read`: read a data set or a mathematical program from a file, by the file's suffix.

An npz file may be either; the names of its arrays decide.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .data_names import is_pandas_or_polars
from .errors import DataError, InputError
from .files import read_bytes, without_compression
from .instances import Instance, read as read_instance
from .instances.tables import Categories, Missing
from .models import StandardForm
from .models.export.file_formats import file_formats, read_form


def read(
    path: str | os.PathLike[str] | Any,
    label: str | int | None = None,
    name: str | None = None,
    *,
    missing: Missing = "refuse",
    categories: Categories = "refuse",
    leave_out: Sequence[str | int] = (),
) -> Instance | StandardForm:
    """Read a data set or a mathematical program, by the file's suffix, or a data frame.

    Parameters
    ----------
    path : str or path, or data frame of pandas or polars
        Programs: ``.lp .mps .qps .sif .cbf .nl .qplib .ptf .mof.json`` and the ``.npz`` that ``model.write`` makes. Data:
        ``.libsvm .svm .svmlight .csv .tsv .arff .parquet``, other ``.npz``. Each also with ``.bz2 .gz .xz`` behind it.
    label : str or int, optional
        Name or index of the column of labels; by default one named label, class, target or y, else the last.
    name : str, optional
        Name of the data set; by default the file's.
    missing : {"refuse", "drop", "median"}
        Treatment of empty cells in a frame, a CSV, ARFF or Parquet file: raise an error; drop their rows; fill in the column's
        median.
    categories : {"refuse", "indicators"}
        Treatment of columns of words: raise an error; replace each by 0/1 columns, one for each word (for two words, one for the
        second).
    leave_out : sequence of str or int
        Columns that are not features, by name or number.

    Returns
    -------
    Instance or StandardForm
        The data set, or the program.

    Raises
    ------
    DataError
        No such file, an unknown suffix, or a file that is not of its format.
    InputError
        A label or a name is given for a program.
    """
    if is_pandas_or_polars(path, "DataFrame"):
        return read_instance(path, label, name, missing=missing, categories=categories, leave_out=leave_out)
    file = Path(path)
    if not is_program(file):
        return read_instance(file, label, name, missing=missing, categories=categories, leave_out=leave_out)
    if label is not None or name is not None:
        raise InputError(f"{file} holds a program, which has no label column and keeps its own name", name="label")
    return read_form(file)


def is_program(file: Path) -> bool:
    """Return whether a file is one of a mathematical program, by its suffix, or by the arrays of an npz file."""
    lowered = without_compression(file.name.lower())
    if lowered.endswith(".npz"):
        return _holds_layout(file)
    formats = file_formats().values()
    return any(lowered.endswith(suffix) for file_format in formats for suffix in (file_format.suffix, *file_format.also_read))


def _holds_layout(file: Path) -> bool:
    """Return whether an archive has the array that only a `StandardForm` has; of damaged and missing files False, since the
    reader of data reports them.
    """
    try:
        with zipfile.ZipFile(file if file.suffix.lower() == ".npz" else io.BytesIO(read_bytes(file))) as archive:
            return "layout.npy" in archive.namelist()
    except (OSError, DataError, zipfile.BadZipFile):
        return False
