"""The formats of a report, one file each, by their suffixes.

Nothing is listed by hand: every module here that defines ``FORMAT`` is found by looking.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from pathlib import Path

from ....errors import InputError
from .format import Format

__all__ = ["format_of", "formats"]


@functools.cache
def formats() -> Mapping[str, Format]:
    """Every format by its suffix."""
    modules = (importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__))
    records = (module.FORMAT for module in modules if hasattr(module, "FORMAT"))
    return {f.suffix: f for f in sorted(records, key=lambda f: f.rank)}


def format_of(path: str | Path) -> Format:
    """The format of a file by its suffix.

    Raises
    ------
    InputError
        No format has it.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in formats():
        known = ", ".join(f"{f.suffix} ({f.name})" for f in formats().values())
        raise InputError(f"a report is written by the suffix of its file, one of {known}; the path is {path}", name="path")
    return formats()[suffix]
