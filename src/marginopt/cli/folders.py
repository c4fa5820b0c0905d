"""A folder to write to, made before the work."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InputError

__all__ = ["folder_of"]


def folder_of(name: str, option: str) -> Path:
    """The folder, made where it is not there, and writable.

    Raises
    ------
    InputError
        It cannot be made, or not written to.
    """
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{option}: the folder {folder} cannot be made: {error}") from error
    if not os.access(folder, os.W_OK):
        raise InputError(f"{option}: nothing can be written to the folder {folder}")
    return folder
